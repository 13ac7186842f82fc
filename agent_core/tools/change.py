"""The one place where tools change files: what is to become of each is worked out first, then all is done or nothing.

What is shown to a person, what may be left out of it, and what is written are made from the same `Change`s.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from agent_core import files, limits
from agent_core.errors import StoreError, ToolFailure
from agent_core.messages import FileDiff
from agent_core.ports.actions import EditAction
from agent_core.ports.tools import Prepared, ToolContext, ToolOutput
from agent_core.records import dataclass
from agent_core.safety import redact
from agent_core.safety.paths import PathRules, PathVerdict
from agent_core.text import diff, encoding

from . import base

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """What becomes of one place in the file system."""

    verdict: PathVerdict
    before: files.FileContent | None
    """What was read; None: nothing is there."""
    after: bytes | None
    """None: it is removed."""
    text: str | None = None
    """`after` as text; None where it is none."""
    old_text: str | None = None
    """`before` as text."""
    like: files.FileContent | None = None
    """What a new file takes its permissions and its owner from."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one file becomes. A move has two steps."""

    steps: tuple[Step, ...]
    diffs: tuple[FileDiff, ...]
    told: str
    """For the model, when it has been done."""
    outcome: str
    less: Callable[[frozenset[int]], Change | None] = lambda refused: None
    """The same without these hunks of its first diff; None: nothing is left. What has one hunk has no other answer."""


# -- the kinds ------------------------------------------------------------------------------------------------------


def creation(verdict: PathVerdict, content: str, like: base.TextFile | None = None) -> Change:
    """A file where there is none, in the encoding and with the permissions of `like`.

    Raises ToolFailure when it could not be written.
    """
    change = diff.build(verdict.shown, None, content)
    lines = base.count(change.added, "line")
    data = _encoded(content, encoding.UTF8 if like is None else like.decoded, verdict)
    step = Step(verdict, None, data, content, like=None if like is None else like.content)
    return Change((step,), (change,), f"Created {verdict.shown} ({lines}).", f"new, {lines}")


def edit(file: base.TextFile, new: str) -> Change | None:
    """`new` (with the line ends it shall have) in place of a file's content; None: that is what it has.

    Raises ToolFailure when the file's encoding lacks a character of it, or when a mark would take a key's place.
    """
    old, verdict = file.decoded.text, file.verdict
    data = _rewritten(file, new, verdict)
    if files.digest(data) == file.digest:
        return None
    change = diff.build(verdict.shown, old, new)
    stat = diff.stat(change)

    def less(refused: frozenset[int]) -> Change | None:
        return edit(file, diff.without(old, new, refused, len(change.hunks)))

    step = Step(verdict, file.content, data, new, old)
    return Change((step,), (change,), f"Changed {verdict.shown} ({stat}).", stat, less)


def removal(verdict: PathVerdict, content: files.FileContent, text: str | None) -> Change:
    """A file, or a link, that is to go. `verdict` is one of "delete". `text`: the content, where it is text."""
    change = _removed(verdict, text)
    kind = "the link " if content.is_link else ""
    lines = base.count(change.removed, "line") if text else ""  # of what is no text, or empty, there are none
    told = f"Removed {kind}{verdict.shown} ({lines})." if lines else f"Removed {kind}{verdict.shown}."
    outcome = f"removed, {lines}" if lines else "removed"
    return Change((Step(verdict, content, None, None, text),), (change,), told, outcome)


def moving(
    source: PathVerdict, file: base.TextFile | files.FileContent, target: PathVerdict, new: str | None
) -> Change:
    """A file in another place, where nothing is; `new`: with this content, None: as it is.

    A move that changes nothing else is shown as a file that is made and one that is removed, another one as the change
    of its content. Refusing all hunks refuses the move.
    """
    content = file if isinstance(file, files.FileContent) else file.content
    old = None if isinstance(file, files.FileContent) else file.decoded.text
    told = f"Moved {source.shown} to {target.shown}"
    if isinstance(file, files.FileContent) or new is None or new == old:
        data, text = content.data, old
        made = diff.build(target.shown, None, old or "")
        diffs: tuple[FileDiff, ...] = (replace(made, old_path=source.shown), _removed(source, old))
        told, outcome = f"{told}.", "moved"
    else:
        data, text = _rewritten(file, new, target), new
        diffs = (replace(diff.build(target.shown, old, new), old_path=source.shown),)
        stat = diff.stat(diffs[0])
        told, outcome = f"{told} ({stat}).", f"moved, {stat}"

    def less(refused: frozenset[int]) -> Change | None:
        hunks = len(diffs[0].hunks)
        if len(diffs) > 1 or old is None or new is None or len(refused) >= hunks:
            return None
        return moving(source, file, target, diff.without(old, new, refused, hunks))

    steps = (Step(target, None, data, text, old, like=content), Step(source, content, None, None, old))
    return Change(steps, diffs, told, outcome, less)


def _removed(verdict: PathVerdict, text: str | None) -> FileDiff:
    """Of a file that is no text only that it goes can be shown."""
    change = diff.build(verdict.shown, text or "", None)
    return change if text is not None else replace(change, versions=("", ""))


def _rewritten(file: base.TextFile, new: str, verdict: PathVerdict) -> bytes:
    """The bytes of a file's new text, in its encoding. Raises ToolFailure."""
    if new.count(redact.MARK) > file.decoded.text.count(redact.MARK):
        raise ToolFailure(
            f"The new text of {verdict.shown} holds {redact.MARK}, which stands for a key you are not shown: writing "
            "it would destroy the key. Change the lines around it with edit_file. Nothing was changed.",
            code="redacted",
            outcome="would destroy a key",
        )
    return _encoded(new, file.decoded, verdict)


def _encoded(content: str, like: encoding.Decoded, verdict: PathVerdict) -> bytes:
    """The bytes to write. What could not be written is refused here, before anybody is asked about it."""
    data = encoding.encode(content, like)
    if len(data) > limits.WRITE_FILE:
        raise ToolFailure(
            f"{verdict.shown} would be {len(data):,} bytes; files of at most {limits.WRITE_FILE:,} bytes are written. "
            "Make it with a command.",
            code="too_large",
            outcome="too large",
        )
    return data


# -- doing it -------------------------------------------------------------------------------------------------------


def prepared(changes: Sequence[Change], ctx: ToolContext, note: str = "") -> Prepared:
    """The call that makes all of `changes`, or none. `note` is for the model, after what was done."""
    verdicts = [step.verdict for change in changes for step in change.steps]
    telling = next((verdict for verdict in verdicts if verdict.verdict == "ask"), verdicts[0])
    action = EditAction(tuple(one for change in changes for one in change.diffs))

    def without(refused: frozenset[str]) -> Prepared:
        left = [kept for change, keys in _by_change(changes, refused) if (kept := _less(change, keys)) is not None]
        if not left:
            raise ToolFailure("Nothing is left of the change. Nothing was written.", outcome="refused")
        return prepared(left, ctx)

    return replace(
        base.prepared(action, lambda: _make(changes, ctx, note), **base.path_verdict(telling)), without=without
    )


def _by_change(changes: Sequence[Change], refused: frozenset[str]) -> list[tuple[Change, frozenset[tuple[int, int]]]]:
    """Each change with the refused hunks of its own diffs, as (diff, hunk)."""
    keys = {(int(file), int(hunk)) for file, _, hunk in (key.partition(".") for key in refused)}
    out, first = [], 0
    for change in changes:
        own = frozenset((file - first, hunk) for file, hunk in keys if 0 <= file - first < len(change.diffs))
        out.append((change, own))
        first += len(change.diffs)
    return out


def _less(change: Change, refused: frozenset[tuple[int, int]]) -> Change | None:
    if not refused:
        return change
    if any(file for file, _ in refused):
        return None  # the file that goes when it is moved
    return change.less(frozenset(hunk for _, hunk in refused))


def _make(changes: Sequence[Change], ctx: ToolContext, note: str) -> ToolOutput:
    rules = base.rules(ctx)
    # What is removed goes last: whoever looks meanwhile, or after a crash, finds a moved file in one place at least.
    steps = sorted((step for change in changes for step in change.steps), key=lambda step: step.after is None)
    for step in steps if len(steps) > 1 else ():
        try:
            files.check(step.verdict, rules, None if step.before is None else step.before.digest)
        except ToolFailure as failure:
            raise _none_changed(failure, steps) from failure
    for step in steps:
        before = step.before
        ctx.changes.file(
            step.verdict.path,
            None if before is None else before.data,
            step.after,
            None if before is None else before.mode,
        )
    left = _do_all(steps, rules)
    if left is not None:
        return ToolOutput(left, "failed", ok=False, effect="unknown")
    for step in steps:
        if step.after is not None:
            base.saw(step.verdict, files.digest(step.after), step.text or "", ctx)
    told = "\n".join(change.told for change in changes) + note
    checked = ctx.after_edit([step.verdict.path for step in steps if step.after is not None], ctx)
    rewritten = {step.verdict.path: now for step in steps if (now := _now(step, rules)) is not None}
    diffs = [one for change in changes for one in change.diffs]
    for step in steps:
        if (file := rewritten.get(step.verdict.path)) is not None:
            told += f"\n{_rewriting(step, file, ctx)}"
            diffs = [_final(one, step, file) for one in diffs]
    outcome = changes[0].outcome.replace(diff.stat(changes[0].diffs[0]), diff.stat(diffs[0]))
    if len(changes) > 1:
        added, removed = sum(one.added for one in diffs), sum(one.removed for one in diffs)
        outcome = f"{len(changes)} files, +{added} -{removed}"
    outcome += ", checks failed" if checked.failed else ""
    told += f"\n{checked.text}" if checked.text else ""
    return ToolOutput(told, outcome, effect="done", diffs=tuple(diffs))


def _do_all(steps: Sequence[Step], rules: PathRules) -> str | None:
    """Do all steps. When one fails, those before it are taken back and its failure is raised (ToolFailure).

    Where that cannot be done either, what has happened is given in words for the model.
    """
    made = [(step.verdict, folder) for step in steps if step.after is not None and step.before is None
            for folder in files.missing_folders(step.verdict)]  # fmt: skip
    for number, step in enumerate(steps):
        try:
            _do(step, rules)
        except ToolFailure as failure:
            left = [done.verdict.shown for done in reversed(steps[:number]) if not _take_back(done, rules)]
            for verdict, folder in made:
                with suppress(ToolFailure):  # not made yet, made by two of them, or used by somebody since
                    files.remove_folder(verdict, rules, folder)
            if left:
                return f"{failure.text}\nAnd these are changed already and could not be put back: {', '.join(left)}."
            raise _none_changed(failure, steps) from failure
    return None


def _none_changed(failure: ToolFailure, steps: Sequence[Step]) -> ToolFailure:
    """The failure of one step, with what became of all."""
    what = "Nothing" if len(steps) == 1 else "None of the files"
    text = f"{failure.text} {what} was changed."
    return ToolFailure(text, code=failure.code, outcome=failure.outcome, **failure.params)


def _do(step: Step, rules: PathRules) -> None:
    if step.after is not None:
        expect = None if step.before is None else step.before.digest
        files.write(step.verdict, rules, step.after, expect, step.like)
    elif step.before is not None:
        files.delete(step.verdict, rules, step.before.digest)


def _take_back(step: Step, rules: PathRules) -> bool:
    """Bring back what was there before a step that has been done; whether that succeeded."""
    try:
        if step.before is None:
            if step.after is not None:
                files.delete(step.verdict, rules, files.digest(step.after))
        elif step.before.is_link:
            files.make_link(step.verdict, rules, step.before.data)
        else:
            now = None if step.after is None else files.digest(step.after)
            files.write(step.verdict, rules, step.before.data, now, step.before)
    except ToolFailure as failure:
        log.warning("a change could not be taken back: %s", failure.text)
        return False
    return True


# -- what the project's own commands made of it ---------------------------------------------------------------------


def _now(step: Step, rules: PathRules) -> base.TextFile | None:
    """A written file as it is now, if it is text and something else than what was written."""
    if step.after is None or step.text is None:
        return None
    try:
        file = base.read_text(step.verdict, rules)
    except ToolFailure:
        return None  # gone, or no text any more: what is said of it stands, and the next change will find out
    return file if file.digest != files.digest(step.after) else None


def _rewriting(step: Step, file: base.TextFile, ctx: ToolContext) -> str:
    """A note for the model on a file that the project's own commands have rewritten; with it, it knows the file."""
    shown, now = step.verdict.shown, file.decoded.text
    try:
        ctx.changes.file(step.verdict.path, step.after, file.content.data, file.content.mode)
    except StoreError as error:  # it has happened; a rollback will find that the file was changed since
        log.warning("what the project's own commands did to %s is not kept: %s", shown, error.text)
    changes = base.changed_lines(shown, step.text or "", now) if step.verdict.verdict == "allow" else None
    base.saw(step.verdict, file.digest, now, ctx)
    start = f"{shown} was then rewritten by the project's own commands"
    if changes is not None:
        return f"{start}:\n{changes}"
    difference = diff.build(shown, step.text, now)
    return f"{start} ({diff.stat(difference)} lines); read it again before you quote from it."


def _final(shown: FileDiff, step: Step, file: base.TextFile) -> FileDiff:
    """The diff of a file up to what it is now."""
    if shown.path != step.verdict.shown or shown.change == "delete":
        return shown
    start = None if shown.change == "create" else step.old_text
    return replace(diff.build(shown.path, start, file.decoded.text), old_path=shown.old_path)
