"""What becomes of calls that a crash left without a result. Pure.

A read is dropped: nothing came of it, and the model asks again. What may have changed something stays, and its result
says that nobody knows, so that it is not simply repeated. Source: INT-09.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from agent_core import messages, names
from agent_core.messages import Message, ShellRun, ToolCall, ToolResult
from agent_core.records import dataclass

# Kinds of ports.Effect that leave nothing behind when they are cut short.
HARMLESS_KINDS: Final = frozenset({"none", "read", "person"})
# Tools that never change anything: a call of theirs is dropped even when it had not begun, which says no kind.
HARMLESS_TOOLS: Final = frozenset(
    {names.READ_FILE, names.LIST_DIR, names.GREP, names.GLOB, names.TODO_READ, names.SESSION_SEARCH, names.ASK_USER}
)

NOT_RUN = "[interrupted] This call was not run: the program ended before it began. Call it again if it is still needed."
UNKNOWN = (
    "[interrupted] The program ended while this call was under way. It may have taken effect in whole, in part or not "
    "at all. Check what is there before you repeat it."
)
LOST_AGENT = (
    "[interrupted] The program ended while this sub-agent was at work, so there is no report. What it had done by then "
    "stays done; agent_list shows its steps and its last words. Check what is there before you start another."
)


@dataclass(frozen=True, slots=True)
class Effect:
    """A call that had begun; `started` in seconds since the epoch."""

    call_id: str
    name: str
    kind: str
    subject: str
    started: float


def mend(stored: Sequence[Message], open_effects: Mapping[str, str]) -> list[Message]:
    """`stored` with exactly one result for each call, in call order, right after the message that asked for them.

    `open_effects` maps the id of a call that had begun to its kind. Calls without a result are dropped when they are
    reads, with their message when it says nothing else; others get a result that says what is known of them. Results
    that no call asked for are left out. Messages that need no mending are the same objects.
    """
    out: list[Message] = []
    for block in _blocks(stored):
        head, rest = block[0], block[1:]
        results: dict[str, list[Message]] = {}
        for message in block:
            if message.result is not None:
                results.setdefault(message.result.call_id, []).append(message)
        calls: list[ToolCall] = []
        answers: list[Message] = []
        for call in head.tool_calls:
            waiting = results.get(call.id)
            answer = waiting.pop(0) if waiting else _interrupted(call, open_effects.get(call.id))
            if answer is not None:
                calls.append(call)
                answers.append(answer)
        if len(calls) < len(head.tool_calls):
            head = _without_dropped(head, tuple(calls))
        if head.role != "tool" and not head.is_empty:
            out.append(head)
        out += answers
        out.extend(message for message in rest if message.role != "tool")
    return out


def cut_off(effect: Effect, private: bool) -> Message:
    """What is known of a command of the person's own that ran when the program ended."""
    result = ToolResult(effect.call_id, effect.name, UNKNOWN, ok=False, effect="unknown", outcome="interrupted")
    return replace(messages.shell(ShellRun(effect.subject, result, private)), created=effect.started)


def has_all_results(rows: Iterable[tuple[str, str | None]]) -> bool:
    """True when `mend` without open effects would leave a conversation as it is.

    `rows` are its messages in order: the role, and an assistant's calls as JSON or the call id of a result; "" for a
    message that cannot be read.
    """
    waiting: list[str] = []
    for role, told in rows:
        if told == "":
            return False
        if role == "tool":
            if not waiting or waiting.pop(0) != told:
                return False
        elif waiting:
            return False
        elif role == "assistant" and told:
            waiting = [call["id"] for call in json.loads(told)]
    return not waiting


def _blocks(stored: Sequence[Message]) -> Iterable[list[Message]]:
    """Each assistant message with what follows it, up to the next; what comes before the first is a block too."""
    block: list[Message] = []
    for message in stored:
        if message.role == "assistant" and block:
            yield block
            block = []
        block.append(message)
    if block:
        yield block


def _without_dropped(head: Message, calls: tuple[ToolCall, ...]) -> Message:
    if calls:
        return replace(head, tool_calls=calls)
    # What a server wants back with its reasoning was meant to stand before calls.
    return replace(head, tool_calls=(), extra={}, interrupted=True)


def _interrupted(call: ToolCall, kind: str | None) -> Message | None:
    """A result for a call that has none, or None to drop the call. `kind` is None when it had not begun."""
    if kind in HARMLESS_KINDS or (kind is None and call.name in HARMLESS_TOOLS):
        return None
    if kind is None:
        result = ToolResult(call.id, call.name, NOT_RUN, ok=False, outcome="not run")
    else:
        text = LOST_AGENT if call.name == names.SUBAGENT else UNKNOWN
        result = ToolResult(call.id, call.name, text, ok=False, effect="unknown", outcome="interrupted")
    return messages.tool(result)
