"""The wires there are, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from agent_core.llm import anthropic_messages, chat_completions, responses
from agent_core.llm.providers import WireName
from agent_core.llm.wire import Wire

WIRES: Mapping[WireName, Wire] = MappingProxyType(
    {wire.name: wire for wire in (chat_completions.WIRE, anthropic_messages.WIRE, responses.WIRE)}
)
