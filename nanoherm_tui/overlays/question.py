"""A question as rows: everything a person has to know to answer it, and nothing of it cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from agent_core.names import NOT_REVIEWED
from agent_core.records import dataclass
from agent_core.sandbox.policy import UNCONFINED
from agent_core.text.diff import moves
from nanoherm_tui.i18n import phrase, t
from nanoherm_tui.overlays.plan_text import Spans, plan_rows
from nanoherm_tui.panes.hunks import Left, hunk_keys, left_of
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, one_line, shorten_home, visible, width, wrap, wrap_code_spans
from nanoherm_tui.words.kept_titles import kept_title
from nanoherm_tui.words.memory import in_words
from nanoherm_tui.words.rules import rule_words

if TYPE_CHECKING:
    from agent_core.messages import FileDiff
    from agent_core.ports.asking import Question

KEPT_LINES: Final = 3  # of what is kept for later sessions, shown in the question itself
LABEL: Final = 10  # cells of the column of labels
_VERBS: Final = {"create": "approval.create", "edit": "approval.change", "delete": "approval.delete"}
_ONE: Final = {
    "create": "approval.create_one",
    "edit": "approval.edit_one",
    "delete": "approval.delete_one",
    "move": "approval.move_one",
}
_MANY: Final = {
    "create": "approval.create_many",
    "edit": "approval.edit_many",
    "delete": "approval.delete_many",
    "move": "approval.move_many",
}

Kind = Literal["value", "muted", "strong", "warn", "choice", "file", "left out"]


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One row of the panel's text: a label (first rows only) and words."""

    words: str
    label: str = ""
    kind: Kind = "value"
    choice: int = -1
    added: int = 0
    removed: int = 0
    spans: Spans = ()
    """The words again, with how each is drawn, where they are Markdown."""


def _whole(line: str, cells: int) -> list[str]:
    """One line as rows of at most `cells`, nothing left out."""
    spans, hang = wrap_code_spans(line, cells)
    return [(" " * hang if start else "") + line[start:end] for start, end in spans]


def _labelled(label: str, words: str, cells: int, *, exact: bool) -> list[QuestionRow]:
    lines = words.split("\n")
    wrapped = [piece for line in lines for piece in (_whole(line, cells) if exact else wrap(line, cells))]
    return [QuestionRow(piece, label if index == 0 else "") for index, piece in enumerate(wrapped)]


def always_rows(question: Question, pattern: str, cells: int) -> list[QuestionRow]:
    """What "always" would write and where it holds: `pattern` exactly, its characters that hide shown."""
    room = max(4, cells - LABEL)
    if question.kind == "web":
        holds = t("approval.holds_search" if question.query else "approval.holds_host")
        return [
            *_of_kind("strong", _labelled(t("approval.always_label"), visible(pattern), room, exact=True)),
            *_of_kind("muted", _labelled("", holds, room, exact=False)),
            *_of_kind("muted", _labelled("", t("approval.kept_host"), room, exact=False)),
        ]
    if question.kind == "server":
        return [
            *_of_kind("strong", _labelled(t("approval.always_label"), visible(pattern), room, exact=True)),
            *_of_kind("muted", _labelled("", t("approval.holds_tool"), room, exact=False)),
            *_of_kind("muted", _labelled("", t("approval.kept_host"), room, exact=False)),
        ]
    exact = pattern == question.command
    holds = t("approval.holds_exact" if exact else "approval.holds_all")
    here = t("approval.here_exact" if exact else "approval.here_all")
    kept = t("approval.kept", here=here, sandbox=phrase("questions", question.sandbox))
    return [
        *_of_kind("strong", _labelled(t("approval.always_label"), visible(pattern), room, exact=True)),
        *_of_kind("muted", _labelled("", holds, room, exact=False)),
        *_of_kind("muted", _labelled("", kept, room, exact=False)),
    ]


def _of_kind(kind: Kind, rows: list[QuestionRow]) -> list[QuestionRow]:
    return [replace(row, kind=kind) for row in rows]


def _sandbox_rows(question: Question, room: int) -> list[QuestionRow]:
    """What the command would run in; what gives it more than the workspace is a warning."""
    mode, _, network = question.sandbox.partition(", ")
    if mode == UNCONFINED.words:
        return _of_kind("warn", _labelled(t("approval.sandbox"), t("approval.free"), room, exact=False))
    words = t("approval.with_network" if network else "approval.without_network", sandbox=mode)
    rows = _labelled(t("approval.sandbox"), words, room, exact=False)
    return _of_kind("warn", rows) if network else rows


def question_rows(question: Question, cells: int, refused: frozenset[str] = frozenset()) -> list[QuestionRow]:
    """Everything a person has to know to answer, wrapped to `cells` (labels included) and never cut.

    `refused`: hunks that are left out of a change.
    """
    room = max(4, cells - LABEL)
    rows: list[QuestionRow] = []
    for label, words in (("agent", question.agent), ("server", question.server), ("tool", question.tool)):
        if words:
            rows += _labelled(t(f"approval.{label}"), visible(words).replace("\n", "\\n"), room, exact=True)
    if question.command:
        rows += _labelled(t("approval.command"), visible(question.command), room, exact=True)
    if question.cwd:
        where = shorten_home(visible(question.cwd), str(Path.home()))
        rows += _labelled(t("approval.cwd"), where, room, exact=True)
    if question.sandbox:
        rows += _sandbox_rows(question, room)
    if question.lends:
        rows += _of_kind("strong", _labelled(t("approval.lends"), visible(", ".join(question.lends)), room, exact=True))
    if question.path:
        label = t("approval.lends_to" if question.lends else "approval.file")
        rows += _labelled(label, visible(question.path).replace("\n", "\\n"), room, exact=True)
    for label, words in (("url", question.url), ("query", question.query), ("host", question.host)):
        if words and (label != "url" or question.kind != "visit"):
            rows += _labelled(t(f"approval.{label}"), visible(words).replace("\n", "\\n"), room, exact=True)
    moved = moves(question.diffs)
    for number, diff in enumerate(question.diffs):
        if number not in moved.values():
            rows += _file_rows(diff, left_of(diff, number, refused), room, is_whole=number not in moved)
            if question.kind == "keep" and diff.added + diff.removed <= KEPT_LINES:
                rows += _changed_rows(diff, room)
    if question.kind == "command" and question.text:  # the core's words; those of a plan or a question are the model's
        why = "\n".join(_reason(line) for line in clean(question.text).split("\n"))
        rows += _labelled(t("approval.reason"), why, room, exact=False)
    elif question.kind == "visit" and question.text:
        rows += _labelled(t("approval.reason"), clean(phrase("questions", question.text)), room, exact=False)
    elif question.kind == "plan" and question.text:
        rows += [
            QuestionRow("".join(words for words, _ in spans), spans=spans)
            for spans in plan_rows(clean(question.text), cells)
        ]
    elif question.text:
        rows += [QuestionRow(piece) for line in clean(question.text).split("\n") for piece in wrap(line, cells)]
    for index, choice in enumerate(question.choices):
        pieces = wrap(one_line(choice), max(4, cells - 5))
        rows += [QuestionRow(p, str(index + 1) if n == 0 else "", "choice", index) for n, p in enumerate(pieces)]
    if question.kind == "visit":  # last: an address to log in at is longer than a small screen
        rows += _labelled(t("approval.url"), visible(question.url).replace("\n", "\\n"), room, exact=True)
    if question.rule:
        rows += _labelled(t("approval.rule"), clean(rule_words(question.rule)), room, exact=False)
    nothing_left = bool(refused) and len(refused) == len(hunk_keys(question.diffs))
    if question.grant and "session" in question.decisions and not nothing_left:
        granted = clean(phrase("questions", question.grant))
        rows += _of_kind("muted", _labelled(t("approval.grant"), granted, room, exact=False))
    return rows


def _file_rows(diff: FileDiff, left: Left, room: int, *, is_whole: bool) -> list[QuestionRow]:
    """What would be done to a file, and how many lines of it. Not `is_whole`: it moves as it is."""
    label = t("approval.left_out") if left.is_nothing else t(_VERBS[diff.change])
    if diff.old_path:
        verb = label if left.is_nothing else t("approval.move")
        old = _labelled(verb, visible(diff.old_path).replace("\n", "\\n"), room, exact=True)
        new = replace(diff, old_path="")
        if is_whole:
            return [*_labels(old, left), *_named(t("approval.move_to"), new, left, room)]
        new_rows = _labelled(t("approval.move_to"), visible(new.path).replace("\n", "\\n"), room, exact=True)
        return [*_labels(old, left), *_labels(new_rows, left)]
    return _named(label, diff, left, room)


def _changed_rows(diff: FileDiff, room: int) -> list[QuestionRow]:
    """The lines that come and go: a memory is one sentence, and nobody opens a pane for that."""
    signs = {"add": "+ ", "remove": f"{sym('removed')} "}
    changed = [line for hunk in in_words(diff).hunks for line in hunk.lines if line.kind in signs]
    return [row for line in changed for row in _labelled("", signs[line.kind] + visible(line.text), room, exact=True)]


def _labels(rows: list[QuestionRow], left: Left) -> list[QuestionRow]:
    return _of_kind("muted", rows) if left.is_nothing else rows


def _named(label: str, diff: FileDiff, left: Left, room: int) -> list[QuestionRow]:
    """A path and its figures."""
    figures = 4 + len(str(left.added)) + len(str(left.removed))
    pieces = _whole(visible(diff.path).replace("\n", "\\n"), room)
    if width(pieces[-1]) + figures > room:
        pieces.append("")  # the figures have a row of their own
    labels = [label, *("" for _ in pieces[1:])]
    kind: Kind = "left out" if left.is_nothing else "file"
    *above, (last, its_label) = zip(pieces, labels, strict=True)
    rows = [QuestionRow(piece, name, "muted" if left.is_nothing else "value") for piece, name in above]
    return [*rows, QuestionRow(last, its_label, kind, added=left.added, removed=left.removed)]


def _reason(line: str) -> str:
    """Why a command asks, "removes recursively: rm -r x", in the interface's language; any other text as it is."""
    why, colon, part = line.partition(": ")
    said = phrase("questions", why)
    if why == NOT_REVIEWED:
        part = phrase("questions", part)
    if said == why:
        return line
    return t("approval.rule_named", kind=said, name=part) if colon else said


def title(question: Question, refused: frozenset[str] = frozenset()) -> str:
    """The panel's heading, one line. `refused`: hunks that are left out of a change."""
    if question.kind == "command" and question.command:
        if question.sandbox == UNCONFINED.words:
            return t("approval.run_free")
        return t("approval.run_networked" if question.sandbox.endswith(", network") else "approval.run_command")
    if question.kind == "ask_user":
        return t("approval.ask_user")
    if question.kind == "plan":
        return t("approval.plan")
    if question.lends:
        return t("approval.lend")
    if question.kind == "read" and question.path:
        return t("approval.read_file")
    if question.kind == "web":
        return t("approval.search_web" if question.query else "approval.fetch_page")
    if question.kind == "server":
        return t("approval.call_tool")
    if question.kind == "form":
        return t("approval.form")
    if question.kind == "visit":
        return t("approval.visited" if wants_words(question) else "approval.visit")
    if question.kind == "keep":
        return kept_title(question.title)
    if question.kind == "edit" and question.diffs:
        return _edit_title(question.diffs, refused)
    return visible(question.title).replace("\n", "\\n")


def _edit_title(diffs: tuple[FileDiff, ...], refused: frozenset[str]) -> str:
    total = len(hunk_keys(diffs))
    if refused and len(refused) < total:
        return t("approval.apply_hunks", n=total - len(refused), total=total)
    if refused:
        return t("approval.apply_none")
    gone = moves(diffs).values()
    files = [diff for number, diff in enumerate(diffs) if number not in gone]
    verbs = {"move" if diff.old_path else diff.change for diff in files}
    verb = verbs.pop() if len(verbs) == 1 else "edit"
    if len(files) > 1:
        return t(_MANY[verb], n=len(files))
    return t(_ONE[verb], path=visible(files[0].old_path or files[0].path).replace("\n", "\\n"))


def wants_words(question: Question) -> bool:
    """Whether the answer is written, not a key."""
    return question.kind == "ask_user" or (question.kind == "visit" and bool(question.form))


def time_left(deadline: float, now: float) -> str:
    """Minutes and seconds until `deadline` (both in seconds since the epoch), never negative."""
    left = max(0, int(deadline - now + 0.999))
    return f"{left // 60}:{left % 60:02d}"
