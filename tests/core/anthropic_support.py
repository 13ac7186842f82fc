"""Requests of the wire of Anthropic, put together for tests."""

from __future__ import annotations

from typing import Any

from agent_core.llm.anthropic_messages import body_of
from agent_core.llm.anthropic_reply import BLOCKS
from agent_core.llm.providers import Preset
from agent_core.llm.wire import Quirks
from agent_core.messages import Message, ToolCall, ToolResult, tool, user
from agent_core.ports.model import LlmRequest, ToolSchema

PLAIN = Quirks(id_rule="safe")
ANY = Preset("x", "X")
TOOL = ToolSchema("grep", "Searches.", {"type": "object"})
CALL = ToolCall("c1", "grep", {"q": 1})
HI = user("Hi")


def body(*messages: Message, model: str = "claude-sonnet-4-5", quirks: Quirks = PLAIN, **fields: Any) -> dict[str, Any]:
    return body_of(LlmRequest(messages or (HI,), **{"cache_ttl": "", **fields}), model, quirks, ANY)


def result(call_id: str, text: str = "ok", ok: bool = True) -> Message:
    return tool(ToolResult(call_id, "grep", text, ok=ok))


THOUGHT = {"type": "thinking", "thinking": "Hm", "signature": "s1"}
SEALED = {"type": "redacted_thinking", "data": "xyz"}


def thought(text: str, *kept: dict[str, Any], calls: tuple[ToolCall, ...] = (), model: str = "m") -> Message:
    return Message("assistant", text, tool_calls=calls, model=model, extra={BLOCKS: list(kept)})
