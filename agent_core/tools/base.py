"""What every tool shares: reading its arguments, the path door, and the words around a result."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Literal

from agent_core import files, limits
from agent_core.errors import ToolFailure
from agent_core.ports.actions import Action, Effect
from agent_core.ports.tools import Args, Prepared, ToolContext, ToolOutput
from agent_core.records import dataclass
from agent_core.safety.hidden import nothing_more
from agent_core.safety.paths import Op, PathRules, PathVerdict, classify
from agent_core.text import diff, encoding
from agent_core.text.coerce import OTHER_NAMES

# -- arguments ----------------------------------------------------------------------------------------------------
# They have passed coercion against the tool's schema, but a tool stands by itself: a wrong one is a ToolFailure.


def text(args: Args, name: str, default: str | None = None) -> str:
    """A string argument. Raises ToolFailure when it is missing (without a default) or of another type."""
    value = args.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise ToolFailure(f'"{name}" must be a string.', code="invalid_arguments", outcome="invalid arguments")
    return value


def number(args: Args, name: str, default: int, low: int, high: int) -> int:
    """A whole number argument, brought into low..high."""
    value = args.get(name)
    if value is None:
        return default
    if not isinstance(value, (int, float)) or isinstance(value, bool) or value != value:
        raise ToolFailure(f'"{name}" must be a number.', code="invalid_arguments", outcome="invalid arguments")
    return int(max(low, min(high, value)))


def flag(args: Args, name: str, default: bool = False) -> bool:
    """A true or false argument, or the default."""
    value = args.get(name, default)
    if value is None or isinstance(value, bool):
        return default if value is None else value
    raise ToolFailure(f'"{name}" must be true or false.', code="invalid_arguments", outcome="invalid arguments")


def subject(args: Args, *names: str) -> str:
    """The first of these arguments that is there, as a card's subject. Bears any arguments."""
    for name in names:
        value = _as_sent(args, name)
        if isinstance(value, str) and value:
            return value
    return ""


def _as_sent(args: Args, name: str) -> Any:
    """An argument before coercion, which may have come under another agent's name."""
    if args.get(name) is not None:
        return args[name]
    return next((args[other] for other, ours in OTHER_NAMES.items() if ours == name and other in args), None)


def paths_effect(kind: str, args: Args, default: str = "") -> Effect:
    """The effect of a tool whose argument "path" says what it touches."""
    path = _as_sent(args, "path")
    known = path if isinstance(path, str) and path else default
    return Effect("write" if kind == "write" else "read", (known,) if known else ())


def prepared(
    action: Action,
    run: Callable[[], ToolOutput],
    *,
    path_verdict: Literal["allow", "ask"] = "allow",
    path_rule: str = "",
) -> Prepared:
    """A worked-out call that is no command and so runs in no box."""
    return Prepared(action, lambda box: run(), path_verdict, path_rule)


# -- schemas ------------------------------------------------------------------------------------------------------


def schema(required: Sequence[str], **properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments."""
    return {"type": "object", "properties": properties, "required": list(required)}


def prop(type_: str, description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": type_, **({"description": description} if description else {}), **more}


# -- paths and files ----------------------------------------------------------------------------------------------


def rules(ctx: ToolContext) -> PathRules:
    """What the paths of a call are judged against, the deny-read list as it stands now."""
    hidden = ctx.hidden() if ctx.hidden is not None else nothing_more
    return PathRules(ctx.workspace, ctx.home, ctx.data_home, ctx.read_paths, ctx.add_dirs, ctx.safe_roots, hidden)


def judged(op: Op, path: str, ctx: ToolContext) -> PathVerdict:
    """The verdict on a path that is allowed or may be asked about. Raises ToolFailure when it is denied."""
    verdict = classify(op, path, rules(ctx))
    if verdict.verdict == "deny":
        raise ToolFailure(verdict.text, code="denied", outcome="refused", rule=verdict.rule)
    return verdict


def path_verdict(verdict: PathVerdict) -> dict[str, Any]:
    """The fields of Prepared that carry a verdict on."""
    return {"path_verdict": "ask" if verdict.verdict == "ask" else "allow", "path_rule": verdict.rule}


def search_verdict(verdict: PathVerdict, ctx: ToolContext) -> dict[str, Any]:
    """As `path_verdict`, for a search of everything below: a whole home or the whole machine is asked about first."""
    if verdict.verdict == "allow" and (ctx.home.resolve().is_relative_to(verdict.path) and verdict.path.is_dir()):
        return {"path_verdict": "ask", "path_rule": "searches a whole home folder or more"}
    return path_verdict(verdict)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file as it is now."""

    verdict: PathVerdict
    content: files.FileContent
    decoded: encoding.Decoded

    @property
    def digest(self) -> str:
        return self.content.digest

    @property
    def lines(self) -> list[str]:
        """Without line ends; no empty one after the last."""
        return encoding.lines_of(encoding.plain_newlines(self.decoded))

    @property
    def searched_lines(self) -> list[str]:
        """As search programs count them: a line feed alone ends one."""
        return encoding.lines_of(self.decoded.text)


def read_text(verdict: PathVerdict, path_rules: PathRules) -> TextFile:
    """The content of a text file that is to be changed. Raises ToolFailure as files.read does, or "binary"."""
    return as_text(verdict, read_to_change(verdict, path_rules))


def read_to_change(verdict: PathVerdict, path_rules: PathRules) -> files.FileContent:
    """A file that is to be changed, moved or removed. Raises ToolFailure as files.read does."""
    try:
        return files.read(verdict, path_rules, limits.READ_FILE)
    except ToolFailure as failure:
        if failure.code != "too_large":
            raise
        raise ToolFailure(
            f"{verdict.shown} is {failure.params['size']:,} bytes; files of at most {limits.READ_FILE:,} bytes are "
            "changed, moved or removed by this tool. Use a command: sed -i, a script, mv or rm.",
            code="too_large",
            outcome="too large",
        ) from failure


def as_text(verdict: PathVerdict, content: files.FileContent) -> TextFile:
    """A file's content as text. Raises ToolFailure with code "binary"."""
    try:
        decoded = encoding.decode(content.data)
    except ToolFailure as failure:
        raise ToolFailure(f"{verdict.shown}: {failure.text}", code=failure.code, outcome=failure.outcome) from None
    return TextFile(verdict, content, decoded)


class _SeenTexts:
    """Texts of files by the digest of their content, the latest ones, to say what changed since they were read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._size = 0

    def put(self, digest: str, content: str) -> None:
        with self._lock:
            self._size += len(content) - len(self._texts.pop(digest, ""))
            self._texts[digest] = content
            while self._size > limits.SEEN_TEXTS:
                self._size -= len(self._texts.popitem(last=False)[1])

    def get(self, digest: str) -> str | None:
        with self._lock:
            return self._texts.get(digest)


_seen_texts = _SeenTexts()


def saw(verdict: PathVerdict, digest: str, content: str, ctx: ToolContext) -> None:
    """Note that the model knows this content of the file."""
    ctx.files.saw(verdict.path, digest)
    _seen_texts.put(digest, content)


def check_seen(file: TextFile, ctx: ToolContext, *, quotes: bool = False) -> str:
    """Refuse to change a file whose present content the model has not seen. Gives a note for it, mostly none.

    Where the difference to what it has seen is short, the refusal shows it, and with that the model has seen it. What
    a command of the session's own did is no refusal for a change that `quotes` what it changes, but a note with that
    difference. Whose doing it was is told by when the file changed last: while such a command ran, and not since. The
    kernel keeps that time (ctime), and no program can set it. A user's save in that very time is taken for the
    command's; it is shown all the same, and a change that quotes finds its place in what was saved.
    """
    shown = file.verdict.shown
    seen = ctx.files.seen(file.verdict.path)
    if seen == file.digest:
        return ""
    if ctx.files.rolled_back(file.verdict.path):
        raise ToolFailure(
            f"{shown} has been changed since you read it: the user rolled it back, or took a rollback of it back. "
            "Nothing was written. Read it first, then change it.",
            code="unseen_file",
            outcome="rolled back",
        )
    if seen is None:
        raise ToolFailure(
            f"{shown} exists and you have not read it, or not since this session was last opened. Read it first, then "
            "change it.",
            code="unseen_file",
            outcome="not read yet",
        )
    start = f"{shown} has changed since you read it (by the user, a command or another program). Nothing was written. "
    # A protected file is shown only to whom a person lets read it; this is no reading.
    before = _seen_texts.get(seen) if file.verdict.verdict == "allow" else None
    changes = None if before is None else changed_lines(shown, before, file.decoded.text)
    if changes is None:
        text = start + "Read it again and make your change to what is there now."
    else:
        saw(file.verdict, file.digest, file.decoded.text, ctx)
        if quotes and ctx.files.ran_at(file.content.changed):
            return f"\n{shown} had been changed by a command of yours since you read it:\n{changes}"
        text = f"{start}This changed:\n{changes}\nIf your change is still right, make it again; keep what changed."
    raise ToolFailure(text, code="stale_file", outcome="changed meanwhile")


def changed_lines(shown: str, before: str, after: str) -> str | None:
    """The difference between two texts of a file as lines of a diff; None when that is too long to be shown."""
    change = diff.build(shown, before, after)
    lines = []
    for hunk in change.hunks:
        lines.append(f"@@ line {hunk.new_start} @@")
        lines += [f"{_SIGNS[line.kind]}{cut_line(line.text, limits.MATCH_LINE_CHARS)}" for line in hunk.lines]
    return "\n".join(lines) if lines and len(lines) <= limits.SEEN_DIFF_LINES and not change.omitted_lines else None


_SIGNS = {"same": " ", "add": "+", "remove": "-"}


# -- words --------------------------------------------------------------------------------------------------------


def count(n: int, noun: str, plural: str = "") -> str:
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def cut_line(line: str, limit: int) -> str:
    """`line`, cut with a note when it is longer than `limit` characters."""
    return line if len(line) <= limit else f"{line[:limit]} ... [{len(line) - limit:,} more characters]"


def bounded(lines: Sequence[str], limit: int) -> int:
    """How many of `lines` fit into `limit` bytes, line ends included."""
    used = 0
    for number_, line in enumerate(lines):
        used += len(line.encode("utf-8", "replace")) + 1
        if used > limit:
            return number_
    return len(lines)
