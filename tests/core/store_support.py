"""Messages for tests of the store."""

from __future__ import annotations

from agent_core.messages import (
    Message,
    ToolCall,
    ToolResult,
    tool,
)


def asks(*ids: str, name: str = "grep") -> Message:
    return Message("assistant", "", tool_calls=tuple(ToolCall(i, name, {"pattern": "x"}) for i in ids))


def answer(call_id: str, text: str = "found", name: str = "grep") -> Message:
    return tool(ToolResult(call_id, name, text))
