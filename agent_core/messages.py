"""The conversation, as data. Everything here is frozen and goes to JSON and back unchanged (`to_json`, `from_json`)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import field, fields, replace
from typing import Any, Final, Literal

from agent_core.delegation import AgentRow
from agent_core.records import dataclass

Role = Literal["system", "user", "assistant", "tool"]
EffectState = Literal["none", "started", "done", "unknown"]
"""What a tool call has done to the world: nothing (a read, a refusal, never started), begun, finished, or not known."""


Origin = Literal["", "steer", "queue", "note", "summary", "shell", "agents"]
"""Where a message comes from that the person did not simply send. "summary": it stands for what was compacted;
"agents": what sub-agents in the background have come to."""

View = Literal["", "dropped", "pinned"]
"""What the person wants a request to make of a message: what the program thinks best; a short remark in its place; all
of it for good, also where a summary stands for what is around it. What a summary stands for is in Message.covers."""


def new_id() -> str:
    """A fresh id for a message, turn or question: 32 hex digits."""
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Media types of images that servers take."""


@dataclass(frozen=True, slots=True)
class ImagePart:
    media_type: str
    data: str
    """Base64, without the data: prefix."""


Part = TextPart | ImagePart


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model asked for.

    `arguments` is the decoded object. When what came was not one, `arguments` is empty, `arguments_error` says why,
    and the call is answered with that error, never run.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    arguments_error: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the server's own that must be sent back with this call (a Gemini thought signature)."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request. None means the server did not say, which is not the same as 0."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        def plus(a: int | None, b: int | None) -> int | None:
            return b if a is None else a if b is None else a + b

        return Usage(
            plus(self.prompt_tokens, other.prompt_tokens),
            plus(self.completion_tokens, other.completion_tokens),
            plus(self.total_tokens, other.total_tokens),
            plus(self.cached_tokens, other.cached_tokens),
            plus(self.reasoning_tokens, other.reasoning_tokens),
            plus(self.cache_write_tokens, other.cache_write_tokens),
        )


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: Literal["same", "add", "remove"]
    text: str
    """Without its line end."""
    old_line: int | None = None
    new_line: int | None = None
    end: str = "\n"
    """Its line end; empty: the file ends without one."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """A run of changes with its context; line numbers count from 1."""

    old_start: int
    new_start: int
    lines: tuple[DiffLine, ...]
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """What the person says about a hunk. `path` as in FileDiff."""

    path: str
    hunk: Hunk
    text: str


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What a change does to one file. `path` is as a person would write it: relative inside the workspace."""

    path: str
    hunks: tuple[Hunk, ...]
    added: int
    removed: int
    change: Literal["create", "edit", "delete"] = "edit"
    omitted_lines: int = 0
    """Lines left out of `hunks` by limits.DIFF_LINES; `added` and `removed` count them all."""
    lines_after: int = 0
    """Lines the file has then; 0 in records of older versions too."""
    versions: tuple[str, str] = ("", "")
    """Names of the file's text before and after (`text.diff.version`); empty where there is no file, or no record."""
    old_path: str = ""
    """Where the file was before, when the change moves it. A move that leaves the content as it is has two diffs, the
    file made and the file removed; the one made has this."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every place it changes."""
        return (self.path, self.old_path) if self.old_path else (self.path,)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call came to: `text` for the model, the rest for people and for the store."""

    call_id: str
    name: str
    text: str
    ok: bool = True
    effect: EffectState = "none"
    outcome: str = ""
    """A few words for the tool card: "212 lines", "2 failed", "refused"."""
    preview: tuple[str, ...] = ()
    """Lines worth showing on a failed card."""
    diffs: tuple[FileDiff, ...] = ()
    seconds: float = 0.0
    images: tuple[ImagePart, ...] = ()
    """On their way to the message that keeps the result: there they are its parts."""


@dataclass(frozen=True, slots=True)
class ShellRun:
    """A command that the person ran themself, and what came of it."""

    command: str
    result: ToolResult
    """Its name is names.SHELL; `text` is the exit code and the output, as on the card."""
    private: bool = False
    """The model is never told of it."""


@dataclass(frozen=True, slots=True)
class Covered:
    """What a summary stands for: the conversation up to a message, which stays in the history."""

    through: str
    """The id of the last message it stands for."""
    messages: int
    """How many messages the newest compaction took out of requests."""
    kept: tuple[str, ...] = ()
    """Ids of messages in that part which requests hold all the same, word for word."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """What a rollback of files did, or taking one back (`redo`), for whoever shows the note that tells the model of it.

    Of `paths` and of `left`, those left as they are with their reasons, the first limits.ROLLED_BACK_NAMED.
    """

    paths: tuple[str, ...]
    left: tuple[str, ...] = ()
    redo: bool = False
    more: tuple[int, int] = (0, 0)
    """How many of each there are beside these."""


STOPPED: Final = "stopped"


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    text: str = ""
    id: str = field(default_factory=new_id)
    created: float = field(default_factory=time.time)
    """Seconds since the epoch."""
    parts: tuple[ImagePart, ...] = ()
    """Images that come with a user message's text, or with a result."""
    tool_calls: tuple[ToolCall, ...] = ()
    result: ToolResult | None = None
    """Set on role "tool" only; `text` is the same as `result.text`."""
    reasoning: str = ""
    reasoning_seconds: float = 0.0
    """How long the reasoning took to arrive."""
    interrupted: bool = False
    """The text was cut short: by a stop, a connection that broke, or the end of the program."""
    origin: Origin = ""
    """What brought a user message about; a "note" is the program's own remark to the model."""
    shell: ShellRun | None = None
    """Set on origin "shell" only; `text` is empty then, and what the model is told follows from this."""
    finish: str = ""
    """Why it ended, in the server's word; STOPPED where somebody stopped it."""
    model: str = ""
    usage: Usage | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the server's own that must be sent back with this message (reasoning_details, reasoning_content)."""
    view: View = ""
    """What requests make of it. The store keeps it beside the message, as it changes."""
    covers: Covered | None = None
    """Set on origin "summary" only. The newest summary of a history counts, so an undo gives back what it stood for."""
    rollback: Rollback | None = None
    """Set on origin "note" only, of a rollback: a person is shown this, in their language."""
    agents: tuple[AgentRow, ...] = ()
    """Set on origin "agents" only: whose results these are, as they had ended."""
    added: str = ""
    """What the model is told behind `text`: what a typed command stands for, what the files it names hold. A person is
    shown `text` alone."""

    @property
    def is_stopped(self) -> bool:
        """Somebody stopped it; one that is cut short otherwise broke off by itself."""
        return self.interrupted and self.finish == STOPPED

    @property
    def is_empty(self) -> bool:
        """True when there is nothing a server could be given: such a message is never stored."""
        return not (self.text or self.tool_calls or self.parts or self.result or self.shell)

    @property
    def starts_turn(self) -> bool:
        """True for what the person asked, and for what sub-agents brought back; a steer belongs to the turn it came
        in."""
        return self.role == "user" and self.origin in ("", "queue", "agents")


def user(text: str, parts: tuple[ImagePart, ...] = (), origin: Origin = "") -> Message:
    return Message("user", text, parts=parts, origin=origin)


def shell(run: ShellRun) -> Message:
    return Message("user", origin="shell", shell=run)


def tool(result: ToolResult) -> Message:
    return Message("tool", result.text, parts=result.images, result=replace(result, images=()))


# -- JSON ---------------------------------------------------------------------------------------------------------
# Written out rather than generated: the shapes are few, the store depends on them, and unknown keys must not break
# a newer program's database for an older one.


def result_to_json(r: ToolResult) -> dict[str, Any]:
    out: dict[str, Any] = {"call_id": r.call_id, "name": r.name, "text": r.text, "ok": r.ok, "effect": r.effect}
    if r.outcome:
        out["outcome"] = r.outcome
    if r.preview:
        out["preview"] = list(r.preview)
    if r.diffs:
        out["diffs"] = [diff_to_json(d) for d in r.diffs]
    if r.seconds:
        out["seconds"] = round(r.seconds, 3)
    return out


def result_from_json(j: Mapping[str, Any]) -> ToolResult:
    return ToolResult(
        call_id=j["call_id"],
        name=j["name"],
        text=j["text"],
        ok=j.get("ok", True),
        effect=j.get("effect", "none"),
        outcome=j.get("outcome", ""),
        preview=tuple(j.get("preview", ())),
        diffs=tuple(diff_from_json(d) for d in j.get("diffs", ())),
        seconds=j.get("seconds", 0.0),
    )


def shell_to_json(s: ShellRun) -> dict[str, Any]:
    out: dict[str, Any] = {"command": s.command, "result": result_to_json(s.result)}
    if s.private:
        out["private"] = True
    return out


def shell_from_json(j: Mapping[str, Any]) -> ShellRun:
    return ShellRun(j["command"], result_from_json(j["result"]), j.get("private", False))


def diff_to_json(d: FileDiff) -> dict[str, Any]:
    return {
        "path": d.path,
        "change": d.change,
        "added": d.added,
        "removed": d.removed,
        "omitted_lines": d.omitted_lines,
        "lines_after": d.lines_after,
        **({"versions": list(d.versions)} if any(d.versions) else {}),
        **({"old_path": d.old_path} if d.old_path else {}),
        "hunks": [
            {
                "old_start": h.old_start,
                "new_start": h.new_start,
                "heading": h.heading,
                "lines": [_line_to_json(line) for line in h.lines],
            }
            for h in d.hunks
        ],
    }


def _line_to_json(line: DiffLine) -> list[str | int | None]:
    usual: list[str | int | None] = [line.kind, line.text, line.old_line, line.new_line]
    return usual if line.end == "\n" else [*usual, line.end]


def diff_from_json(j: Mapping[str, Any]) -> FileDiff:
    return FileDiff(
        path=j["path"],
        change=j.get("change", "edit"),
        added=j.get("added", 0),
        removed=j.get("removed", 0),
        omitted_lines=j.get("omitted_lines", 0),
        lines_after=j.get("lines_after", 0),
        versions=(j["versions"][0], j["versions"][1]) if "versions" in j else ("", ""),
        old_path=j.get("old_path", ""),
        hunks=tuple(
            Hunk(h["old_start"], h["new_start"], tuple(DiffLine(*line) for line in h["lines"]), h.get("heading", ""))
            for h in j.get("hunks", ())
        ),
    )


def call_to_json(c: ToolCall) -> dict[str, Any]:
    out: dict[str, Any] = {"id": c.id, "name": c.name, "arguments": dict(c.arguments)}
    if c.arguments_error is not None:
        out["arguments_error"] = c.arguments_error
    if c.extra:
        out["extra"] = dict(c.extra)
    return out


def call_from_json(j: Mapping[str, Any]) -> ToolCall:
    return ToolCall(j["id"], j["name"], j.get("arguments", {}), j.get("arguments_error"), j.get("extra", {}))


USAGE_FIELDS = (
    "prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "reasoning_tokens", "cache_write_tokens"
)  # fmt: skip


def usage_to_json(u: Usage) -> dict[str, Any]:
    return {k: v for k in USAGE_FIELDS if (v := getattr(u, k)) is not None}


def usage_from_json(j: Mapping[str, Any]) -> Usage:
    return Usage(**{k: j[k] for k in USAGE_FIELDS if k in j})


def rollback_to_json(r: Rollback) -> dict[str, Any]:
    out: dict[str, Any] = {"paths": list(r.paths), "more": list(r.more)}
    if r.left:
        out["left"] = list(r.left)
    if r.redo:
        out["redo"] = True
    return out


def rollback_from_json(j: Mapping[str, Any]) -> Rollback:
    paths, left = j.get("more", (0, 0))
    return Rollback(tuple(j["paths"]), tuple(j.get("left", ())), j.get("redo", False), (paths, left))


def agent_to_json(row: AgentRow) -> dict[str, Any]:
    return {f.name: value for f in fields(row) if (value := getattr(row, f.name)) != f.default}


def agent_from_json(j: Mapping[str, Any]) -> AgentRow:
    return AgentRow(**{f.name: j[f.name] for f in fields(AgentRow) if f.name in j})


def to_json(m: Message) -> dict[str, Any]:
    """`m` as plain data; fields at their default are left out."""
    out: dict[str, Any] = {"role": m.role, "id": m.id, "created": m.created}
    for key in ("text", "added", "reasoning", "interrupted", "origin", "finish", "model", "view"):
        if value := getattr(m, key):
            out[key] = value
    if m.reasoning_seconds:
        out["reasoning_seconds"] = round(m.reasoning_seconds, 3)
    if m.parts:
        out["parts"] = [{"media_type": p.media_type, "data": p.data} for p in m.parts]
    if m.tool_calls:
        out["tool_calls"] = [call_to_json(c) for c in m.tool_calls]
    if m.result is not None:
        out["result"] = result_to_json(m.result)
    if m.shell is not None:
        out["shell"] = shell_to_json(m.shell)
    if m.usage is not None:
        out["usage"] = usage_to_json(m.usage)
    if m.extra:
        out["extra"] = dict(m.extra)
    if m.covers is not None:
        out["covers"] = {"through": m.covers.through, "messages": m.covers.messages, "kept": list(m.covers.kept)}
    if m.rollback is not None:
        out["rollback"] = rollback_to_json(m.rollback)
    if m.agents:
        out["agents"] = [agent_to_json(row) for row in m.agents]
    return out


def from_json(j: Mapping[str, Any]) -> Message:
    """The inverse of `to_json`. Raises KeyError or TypeError when `j` is not of that shape."""
    return Message(
        role=j["role"],
        text=j.get("text", ""),
        id=j["id"],
        created=j.get("created", 0.0),
        parts=tuple(ImagePart(p["media_type"], p["data"]) for p in j.get("parts", ())),
        tool_calls=tuple(call_from_json(c) for c in j.get("tool_calls", ())),
        result=result_from_json(j["result"]) if "result" in j else None,
        reasoning=j.get("reasoning", ""),
        reasoning_seconds=j.get("reasoning_seconds", 0.0),
        interrupted=j.get("interrupted", False),
        origin=j.get("origin", ""),
        shell=shell_from_json(j["shell"]) if "shell" in j else None,
        finish=j.get("finish", ""),
        model=j.get("model", ""),
        usage=usage_from_json(j["usage"]) if "usage" in j else None,
        extra=j.get("extra", {}),
        view=j.get("view", ""),
        covers=Covered(c["through"], c["messages"], tuple(c["kept"])) if (c := j.get("covers")) else None,
        rollback=rollback_from_json(j["rollback"]) if "rollback" in j else None,
        added=j.get("added", ""),
        agents=tuple(map(agent_from_json, j.get("agents", ()))),
    )


def clean_surrogates(text: str) -> str:
    """`text` with pairs of surrogate halves joined and lone ones replaced by U+FFFD, so that it can be encoded."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
