"""Sessions from files: our own export, a NanoHermes array, JSON Lines of either, a Hermes database.

Files may be damaged: what can be read of one comes, and what cannot is counted. Whatever a file says is data: keys are
taken out, control bytes too, ids are new, fields that a server wants back are dropped, and no mode or model of it
decides anything here. Source: SESS-01, SESS-05, SESS-13.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, get_args

from agent_core import limits
from agent_core.errors import StoreError
from agent_core.messages import (
    PICTURES,
    DiffLine,
    FileDiff,
    Hunk,
    ImagePart,
    Message,
    Origin,
    Role,
    ShellRun,
    ToolCall,
    ToolResult,
    View,
    clean_surrogates,
    from_json,
    new_id,
)
from agent_core.records import dataclass
from agent_core.safety.redact import redact as redact_shapes
from agent_core.store.exchange import FORMAT
from agent_core.text.ansi import clean
from agent_core.text.nesting import is_deeper

Redact = Callable[[str], str]

_SQLITE: Final = b"SQLite format 3\0"
_ROLES: Final[dict[str, Role]] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool",
    "function": "tool",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Incoming:
    """One session as a file has it."""

    source: str
    """What tells it from every other: the same file gives the same again."""
    messages: tuple[Message, ...]
    lost: int = 0
    """Lines or messages that could not be read."""
    title: str = ""
    workspace: str = ""
    model: str = ""
    provider: str = ""
    created: float = 0.0
    updated: float = 0.0
    """Seconds since the epoch; 0: not known."""


def read_file(path: Path, redact: Redact = redact_shapes) -> list[Incoming]:
    """The sessions in a file, free of what `redact` knows to be secret.

    Raises StoreError "import_unreadable", "import_too_large", or "import_unknown" when nothing in it is a message.
    """
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:  # a pipe is not waited for
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise StoreError("import_unreadable", f"{path} is no file. Name another one.", path=str(path))
            if file.read(len(_SQLITE)) == _SQLITE:
                from agent_core.store.hermes import read_database

                return [harmless(session, redact) for session in read_database(path)]
            file.seek(0)
            data = file.read(limits.IMPORT_FILE + 1)
    except OSError as error:
        words = f"{path} cannot be read: {error.strerror or error}. Name another file."
        raise StoreError("import_unreadable", words, path=str(path)) from error
    if len(data) > limits.IMPORT_FILE:
        size = limits.IMPORT_FILE // limits.MB
        raise StoreError("import_too_large", f"{path} is larger than {size} MB. Split it first.", path=str(path))
    session = read_text(data, path.stem)
    if not session.messages:
        raise StoreError(
            "import_unknown",
            f"{path} holds no session: neither an export of this program, a JSON array or lines of messages, nor a "
            "Hermes database.",
            path=str(path),
        )
    return [harmless(session, redact)]


def read_text(data: bytes, name: str) -> Incoming:
    """The session in a JSON document, a JSON array or JSON lines; `name` is its title when it has none."""
    source = f"file:{hashlib.sha256(data).hexdigest()}"
    # A power cut leaves blocks of NUL bytes: what stands around them is as it was written.
    text = data.replace(b"\0", b"").decode("utf-8-sig", "replace")
    values, lost = _values(text)
    about: Mapping[str, Any] = {}
    messages: list[Message] = []
    for value in values:
        if isinstance(value, dict) and "role" not in value:
            found = value.get("session")
            about = found if isinstance(found, dict) else about
            continue
        message = _message(value)
        if message is None:
            lost += 1
        elif not message.is_empty:
            messages.append(message)
    if isinstance(about.get("id"), str):
        source = f"{FORMAT}:{about['id']}:{source}"
    return Incoming(
        source,
        tuple(messages),
        lost,
        title=_string(about.get("title")) or name,
        workspace=_string(about.get("workspace")),
        model=_string(about.get("model")),
        provider=_string(about.get("provider")),
        created=moment(about.get("created")),
        updated=moment(about.get("updated")),
    )


def _values(text: str) -> tuple[list[Any], int]:
    """The values a text holds: those in an array or in a document's "messages", else one a line; and how many broke.

    A document comes first without its messages.
    """
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        if isinstance(whole, list):
            return whole, 0
        if isinstance(whole, dict) and isinstance(whole.get("messages"), list):
            return [{k: v for k, v in whole.items() if k != "messages"}, *whole["messages"]], 0
        return [whole], 0
    stripped = text.lstrip()
    if stripped.startswith("[") or '"messages": [' in stripped[: 16 * limits.KB]:
        return _salvaged(text)
    values, lost = [], 0
    for line in text.split("\n"):
        if line.strip():
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError):
                lost += 1
    return values, lost


def _salvaged(text: str) -> tuple[list[Any], int]:
    """The objects of a spoiled array or document that can still be read, one after the other."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    lost = 0
    key = text.find('"messages"')
    at = text.find("[", key if 0 <= key < 16 * limits.KB else 0) + 1
    if at > 1 and '"session"' in text[:at]:
        start = text.find("{", text.find('"session"'))
        try:
            values.append({"session": decoder.raw_decode(text, start)[0]})
        except (ValueError, RecursionError):
            pass
    while (start := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            lost += 1
            # On to what may be the next message: inside a broken one nothing has a role of its own.
            following = text.find('"role"', start + 1)
            following = text.find('"role"', following + 1) if following >= 0 else -1
            at = text.rfind("{", start + 1, following) if following >= 0 else len(text)
            at = len(text) if at < 0 else at
        else:
            values.append(value)
    return values, lost


# -- messages -------------------------------------------------------------------------------------------------------


def _message(value: Any) -> Message | None:
    """A message of ours, or one as OpenAI's chat interface has them; None when it is neither."""
    if not isinstance(value, dict):
        return None
    try:
        return checked(from_json(value) if "id" in value and "content" not in value else from_openai(value))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def from_openai(value: Mapping[str, Any]) -> Message:
    """A chat message. Raises KeyError, TypeError or ValueError when it is none."""
    role = _ROLES[value["role"]]
    text, parts = _content(value.get("content"))
    created = moment(value.get("timestamp") or value.get("created"))
    if role == "tool":
        result = ToolResult(
            _string(value.get("tool_call_id")), _string(value.get("name") or value.get("tool_name")), text
        )
        return Message("tool", text, created=created, parts=parts, result=result)
    calls = tuple(map(_call, value.get("tool_calls") or ())) if role == "assistant" else ()
    reasoning = value.get("reasoning_content") or value.get("reasoning") or ""
    return Message(
        role,
        text,
        created=created,
        parts=parts,
        tool_calls=calls,
        reasoning=reasoning if isinstance(reasoning, str) else "",
        finish=_string(value.get("finish_reason")),
    )


def _content(content: Any) -> tuple[str, tuple[ImagePart, ...]]:
    """The text of a message's content, and the images in it that came as data URLs."""
    if content is None or isinstance(content, str):
        return content or "", ()
    texts: list[str] = []
    images: list[ImagePart] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif "image_url" in part:
            image = part["image_url"]
            url = image["url"] if isinstance(image, dict) else image
            head, comma, data = url.partition(";base64,")
            if comma and head.removeprefix("data:") in PICTURES:
                images.append(ImagePart(head.removeprefix("data:"), data))
            else:
                texts.append(f"[image: {url[: limits.SUBJECT_CHARS]}]")
    return "\n".join(texts), tuple(images)


def _call(value: Mapping[str, Any]) -> ToolCall:
    function = value["function"]
    given = function.get("arguments") or "{}"
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except ValueError as error:
        return ToolCall(value.get("id") or new_id(), function["name"], {}, f"they cannot be read ({error})")
    if not isinstance(arguments, dict):
        return ToolCall(value.get("id") or new_id(), function["name"], {}, "they are no JSON object")
    return ToolCall(value.get("id") or new_id(), function["name"], arguments)


def checked(message: Message) -> Message:
    """`message`, if each of its fields is what it should be. Raises ValueError: every room relies on that."""
    result, run = message.result, message.shell
    strings = [message.text, message.reasoning, message.finish, message.model]
    strings += [field for part in message.parts for field in (part.media_type, part.data)]
    strings += [field for call in message.tool_calls for field in (call.id, call.name)]
    for outcome in (result, run.result if run is not None else None):
        if outcome is not None:
            strings += [outcome.call_id, outcome.name, outcome.text, outcome.outcome, *outcome.preview]
            _check_diffs(outcome.diffs)
            _number(outcome.seconds)
    if run is not None:
        strings.append(run.command)
    if not all(isinstance(string, str) for string in strings):
        raise ValueError("a text is none")
    if (
        message.role not in get_args(Role)
        or message.origin not in get_args(Origin)
        or message.view not in get_args(View)
    ):
        raise ValueError("an unknown role, origin or view")
    if (message.role == "tool") != (result is not None) or (message.origin == "shell") != (run is not None):
        raise ValueError("a result without its role")
    if not all(isinstance(call.arguments, dict) for call in message.tool_calls):
        raise ValueError("arguments that are no object")
    if any(is_deeper(call.arguments, limits.ARGUMENTS_DEPTH) for call in message.tool_calls):
        raise ValueError("arguments that are nested too deeply")
    _number(message.created)
    _number(message.reasoning_seconds)
    json.dumps([dict(call.arguments) for call in message.tool_calls], allow_nan=False)
    # One that servers refuse would have them refuse the whole conversation.
    parts = tuple(part for part in message.parts if part.media_type in PICTURES and _is_base64(part.data))
    cut = bool(message.interrupted)
    return replace(message, parts=parts, agents=(), created=moment(message.created), interrupted=cut)


def _check_diffs(diffs: Sequence[FileDiff]) -> None:
    for diff in diffs:
        lines = [line for hunk in diff.hunks for line in hunk.lines]
        strings = [diff.path, *diff.versions, *(hunk.heading for hunk in diff.hunks)]
        strings += [field for line in lines for field in (line.text, line.end)]
        if not all(isinstance(string, str) for string in strings):
            raise ValueError("a text is none")
        if diff.change not in ("create", "edit", "delete") or any(line.kind not in _KINDS for line in lines):
            raise ValueError("an unknown kind of change")
        for number in (diff.added, diff.removed, diff.omitted_lines, diff.lines_after):
            _number(number)
        for hunk in diff.hunks:
            _number(hunk.old_start)
            _number(hunk.new_start)
        for line in lines:
            _number(line.old_line or 0)
            _number(line.new_line or 0)


_NUMBER: Final = 1e15  # no line, second or count is above it; NaN is not below
_KINDS: Final = frozenset({"same", "add", "remove"})


def _number(value: Any) -> None:
    if not isinstance(value, int | float) or not abs(value) < _NUMBER:
        raise ValueError("a number is none")


def _is_base64(data: str) -> bool:
    try:
        return bool(binascii.a2b_base64(data, strict_mode=True))
    except (binascii.Error, ValueError):
        return False


def moment(value: Any) -> float:
    """Seconds since the epoch of a number or an ISO time; 0 for anything else and for what no calendar holds."""
    if isinstance(value, str):
        import datetime

        try:
            value = datetime.datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**34:
        return 0.0
    return float(value)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


# -- made harmless --------------------------------------------------------------------------------------------------


def harmless(session: Incoming, redact: Redact) -> Incoming:
    """`session` with new ids, without keys and control bytes, in the order and the time it had."""

    def words(text: str) -> str:
        return redact(clean(clean_surrogates(text)))

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            return words(value)
        if isinstance(value, dict):
            return {words(str(key)): plain(inner) for key, inner in value.items()}
        return [plain(inner) for inner in value] if isinstance(value, list) else value

    def result(given: ToolResult, call_id: str) -> ToolResult:
        diffs = tuple(_diff(diff, words) for diff in given.diffs)
        preview = tuple(map(words, given.preview))
        # Nothing says what a call of another program did here.
        return ToolResult(call_id, words(given.name) or "tool", words(given.text), bool(given.ok), given.effect,
                          words(given.outcome), preview, diffs, given.seconds)  # fmt: skip

    ids: dict[str, str] = {}

    def fresh(message: Message) -> Message:
        calls = []
        for call in message.tool_calls:
            ids[call.id] = new_id()
            error = words(call.arguments_error) if call.arguments_error else None
            calls.append(ToolCall(ids[call.id], words(call.name), plain(dict(call.arguments)), error))
        text = words(message.text)
        outcome = message.result and result(message.result, ids.get(message.result.call_id) or new_id())
        run = message.shell and ShellRun(
            words(message.shell.command), result(message.shell.result, new_id()), bool(message.shell.private)
        )
        return replace(
            message, id=new_id(), text=outcome.text if outcome else text, tool_calls=tuple(calls), result=outcome,
            shell=run, reasoning=words(message.reasoning), model=words(message.model), finish=words(message.finish),
            extra={},
        )  # fmt: skip

    conversation = [fresh(message) for message in session.messages if message.role != "system"]
    conversation = [message for message in conversation if not message.is_empty]  # control bytes may be all it was
    began = session.created or next((m.created for m in conversation if m.created), 0.0) or time.time()
    return replace(
        session,
        messages=tuple(_dated(conversation, began)),
        title=words(session.title).replace("\n", " ")[: limits.SUBJECT_CHARS],
        workspace=clean(session.workspace),
        model=words(session.model),
        provider=words(session.provider),
        created=began,
        updated=session.updated or max((m.created for m in conversation), default=0.0) or began,
    )


def _diff(diff: FileDiff, words: Redact) -> FileDiff:
    hunks = tuple(
        Hunk(
            hunk.old_start,
            hunk.new_start,
            tuple(DiffLine(x.kind, words(x.text), x.old_line, x.new_line, x.end) for x in hunk.lines),
            words(hunk.heading),
        )
        for hunk in diff.hunks
    )
    return replace(diff, path=words(diff.path), hunks=hunks)


def _dated(messages: Iterable[Message], began: float) -> Iterator[Message]:
    """Messages without a time get that of the one before."""
    last = began
    for message in messages:
        last = message.created or last
        yield replace(message, created=last)
