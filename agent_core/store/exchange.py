"""A session as a document: Markdown to read, JSON to keep, a NanoHermes array. Pure: rows and messages in, text out."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from agent_core import messages
from agent_core.messages import FileDiff, Message, ShellRun, ToolCall, ToolResult
from agent_core.names import APP, SHELL_END, SHELL_HEAD
from agent_core.store.audit import Entry
from agent_core.store.rows import SessionRow

FORMAT: Final = f"{APP}/session"
FORMAT_VERSION: Final = 1

FORMS: Final = ("markdown", "json", "html", "nanohermes")
_ENDINGS: Final = {".nano.json": "nanohermes", ".json": "json", ".html": "html", ".htm": "html"}

_SIGNS: Final = {"add": "+", "remove": "-", "same": " "}
# Exported text may be shown by `cat`: what would act on a terminal, or turn the reading direction, is spelled out.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def form_of(name: str) -> str:
    """The form that a file's name asks for; Markdown unless its ending says otherwise."""
    return next((form for ending, form in _ENDINGS.items() if name.lower().endswith(ending)), "markdown")


def export(form: str, row: SessionRow, conversation: Sequence[Message], decisions: Sequence[Entry] = ()) -> str:
    """The session in one of FORMS. `decisions`, the newest first, are kept in JSON only: the others are for reading."""
    if form == "html":
        from agent_core.store.html_export import export_html

        return export_html(row, conversation)
    if form == "nanohermes":
        return export_nanohermes(conversation)
    return export_json(row, conversation, decisions) if form == "json" else export_markdown(row, conversation)


def export_json(row: SessionRow, conversation: Sequence[Message], decisions: Sequence[Entry] = ()) -> str:
    """The session with every field of every message; `messages.from_json` reads each one back.

    What was decided in it is told, the oldest first, and never read back: a record is made where things happen.
    """
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "session": {
            "id": row.id,
            "title": row.title,
            "workspace": row.workspace,
            "model": row.model,
            "provider": row.provider,
            "mode": row.mode,
            "created": row.created,
            "updated": row.updated,
            "prompt_tokens": row.prompt_tokens,
            "completion_tokens": row.completion_tokens,
        },
        "messages": [messages.to_json(message) for message in conversation],
        "decisions": [asdict(entry.decided) for entry in reversed(decisions)],
    }
    return messages.clean_surrogates(json.dumps(document, ensure_ascii=False, indent=2)) + "\n"


def export_nanohermes(conversation: Sequence[Message]) -> str:
    """The conversation as NanoHermes keeps one: an array of chat messages, images as data URLs (SESS-01, SESS-05).

    Commands that the model is not told of are left out, and summaries: all they stand for is there.
    """
    array = [entry for message in conversation for entry in _chat_messages(message)]
    return messages.clean_surrogates(json.dumps(array, ensure_ascii=False, indent=2)) + "\n"


def _chat_messages(message: Message) -> list[dict[str, Any]]:
    if message.origin == "summary":
        return []
    if message.shell is not None:
        run = message.shell
        text = f"{SHELL_HEAD}\n$ {run.command}\n{run.result.text}\n{SHELL_END}"
        return [] if run.private else [{"role": "user", "content": text}]
    if message.result is not None:
        return [{"role": "tool", "tool_call_id": message.result.call_id, "content": _content(message)}]
    out = {"role": message.role, "content": _content(message)}
    if message.reasoning:
        out["reasoning_content"] = message.reasoning
    if message.tool_calls:
        out["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    return [out]


def _content(message: Message) -> Any:
    """The text, or a list of it and the images."""
    if not message.parts:
        return message.text
    images = [f"data:{part.media_type};base64,{part.data}" for part in message.parts]
    text = [{"type": "text", "text": message.text}] if message.text else []
    return [*text, *({"type": "image_url", "image_url": {"url": image}} for image in images)]


def export_markdown(row: SessionRow, conversation: Sequence[Message]) -> str:
    """The session as a document for people: each message under a heading, calls with their arguments and results."""
    parts = [f"# {one_line(row.title) or 'Untitled session'}"]
    parts.append("\n".join(f"- {name}: {one_line(value)}" for name, value in facts(row).items()))
    calls: dict[str, ToolCall] = {}
    for message in conversation:
        calls |= {call.id: call for call in message.tool_calls}
        parts += _message(message, calls)
    return safe("\n\n".join(parts)) + "\n"


def facts(row: SessionRow) -> dict[str, str]:
    """What is said of a session before its messages."""
    known = {
        "Workspace": row.workspace,
        "Model": row.model,
        "Mode": row.mode,
        "Started": time_of(row.created),
        "Last used": time_of(row.updated),
        "Session": row.id,
    }
    return {name: value for name, value in known.items() if value}


def _message(message: Message, calls: Mapping[str, ToolCall]) -> list[str]:
    """The paragraphs of one message."""
    if message.result is not None:
        shown = [f"[image: {one_line(part.media_type)}]" for part in message.parts]
        return [*_result(message.result, calls.get(message.result.call_id)), *shown]
    if message.shell is not None:
        return _shell(message.shell)
    if message.role == "system":
        return []
    notes = [
        "while it was working" if message.origin == "steer" else "",
        "stopped" if message.is_stopped else "broken off" if message.interrupted else "",
    ]
    note = ", ".join(n for n in notes if n)
    out = []
    if message.reasoning.strip():
        out.append(_quote(message.reasoning))
    if message.text.strip():
        out.append(message.text.strip("\n"))
    out += [f"[image: {one_line(part.media_type)}]" for part in message.parts]
    return [f"## {speaker(message)}{f' ({note})' if note else ''}", *out] if out else []


def speaker(message: Message) -> str:
    """Whose a message is, as a reader of an export is told."""
    if message.role == "assistant":
        return "Assistant"
    others = {
        "summary": "Summary of what came before",
        "note": "Note of the program",
        "agents": "What sub-agents in the background came to",
    }
    return others.get(message.origin, "You")


def _result(result: ToolResult, call: ToolCall | None) -> list[str]:
    """A call and what came of it. They are told together, in the order in which the results were stored."""
    state = one_line(result.outcome) or ("done" if result.ok else "failed")
    out = [f"### {one_line(result.name)}: {state}"]
    if call is not None and call.arguments:
        out.append(_fence(json.dumps(dict(call.arguments), ensure_ascii=False, indent=2), "json"))
    for diff in result.diffs:
        out.append(_fence(_diff(diff), "diff"))
    if result.text.strip():
        out.append(_fence(result.text.strip("\n"), "text"))
    return out


def _shell(run: ShellRun) -> list[str]:
    """A command of the person's own, and what it gave."""
    note = " (not told to the model)" if run.private else ""
    return [f"## You ran a command{note}", _fence(run.command, "sh"), *_result(run.result, None)]


def _diff(diff: FileDiff) -> str:
    lines = [f"{diff.path}: {diff.change}, {diff.added} added, {diff.removed} removed"]
    for hunk in diff.hunks:
        lines.append(f"@@ -{hunk.old_start} +{hunk.new_start} @@ {hunk.heading}".rstrip())
        lines += [_SIGNS[line.kind] + line.text for line in hunk.lines]
    if diff.omitted_lines:
        lines.append(f"... {diff.omitted_lines} more lines")
    return "\n".join(lines)


def _fence(text: str, language: str) -> str:
    """`text` in a code block whose fence is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip("\n").split("\n"))


def one_line(text: str) -> str:
    return " ".join(text.split())


def time_of(seconds: float) -> str:
    """A moment in the machine's own time, its distance from UTC beside it."""
    return datetime.datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")


def safe(text: str) -> str:
    """`text` without what would act on a terminal, turn the reading direction, or could not be encoded."""
    text = messages.clean_surrogates(text).replace("\r\n", "\n")
    return _UNSAFE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)
