"""A model server as the rest of the program sees it: what is asked of it, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from agent_core.cancel import CancelScope
from agent_core.messages import Message, ToolCall, Usage
from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class ToolSchema:
    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments: type, properties, required, enum, items, default only."""


@dataclass(frozen=True, slots=True)
class LlmRequest:
    messages: tuple[Message, ...]
    """The system message first. The client maps them to its wire; it never changes them."""
    tools: tuple[ToolSchema, ...] = ()
    model: str = ""
    """Empty: the client's own."""
    stream: bool = True
    temperature: float | None = None
    reasoning_effort: str | None = None
    max_tokens: int | None = None
    tool_choice: str | None = None
    """None = "auto" when there are tools."""
    cache_ttl: Literal["", "5m", "1h"] = "5m"
    """How long a server that wants to be told shall remember the request; empty: not at all (CFG-09)."""
    lasting: int = 0
    """How many characters of the first system message stay, while the rest may change from turn to turn."""
    advised: bool = False
    """It is a step of a turn: other models may be asked for advice on it first (llm/panel.py)."""
    aside: str = ""
    """What stands in front of a message of the person's and is none of their words: not for those others (MEM-06)."""
    turn: str = ""
    """The turn it belongs to: with a new one, what was tried in place of the first choice is forgotten (LLM-22)."""


Finish = Literal["stop", "tool_calls", "length", "content_filter"]


@dataclass(frozen=True, slots=True)
class LlmReply:
    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    finish: Finish = "stop"
    model: str = ""
    provider: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """To be sent back with the assistant message (Message.extra)."""
    dropped_tool_calls: int = 0
    """Calls whose arguments were cut by the output limit; they are not in `tool_calls` and must not be run."""

    @property
    def is_empty(self) -> bool:
        return not (self.text.strip() or self.tool_calls)


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply while it arrives.

    kind "text", "reasoning": more of it. "tool": a call is being written, `text` is its name so far; "arguments": more
    of that call's arguments. "reset": a retry begins, what was delivered is void. "retry": `text` says why and what
    happens next in plain words. "switch": from here on another model answers, `text` says who, instead of whom and why;
    `params` has its provider and model.

    Of models that are asked beside it for advice: "ask_beside": one is about to be, `params` has its provider, model
    and request; "paid_beside": `params` has the reply, to be booked; "advice": `text` says what came of all of them.
    """

    kind: Literal[
        "text", "reasoning", "tool", "arguments", "reset", "retry", "switch", "ask_beside", "paid_beside", "advice"
    ]
    text: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


DeltaSink = Callable[[Delta], None]


class LlmClient(Protocol):
    """One model server. Safe to use from one thread at a time."""

    def complete(self, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        """One reply, retries included.

        Raises ProviderError when no usable reply can be had, Interrupted within a second of `cancel`.
        """
        ...

    def close(self) -> None: ...


class Line(Protocol):
    """A model to talk to, and its names."""

    @property
    def client(self) -> LlmClient: ...
    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
