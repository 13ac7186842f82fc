"""The wires there are, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from agent_core.errors import ProviderError
from agent_core.llm import anthropic_messages, chat_completions, responses
from agent_core.llm.providers import WireName
from agent_core.llm.refusal import said
from agent_core.llm.wire import Wire

WIRES: Mapping[WireName, Wire] = MappingProxyType(
    {wire.name: wire for wire in (chat_completions.WIRE, anthropic_messages.WIRE, responses.WIRE)}
)


def wire_asked_for(wire: Wire, error: ProviderError) -> Wire | None:
    """The one other wire whose path a server names when it refuses a request over `wire`.

    OpenAI takes calls from its newer models over /v1/responses only, and says so; what else it serves, and whoever
    else serves its models, still answers chat completions.
    """
    if error.kind not in ("bad_request", "not_found", "tools_unsupported"):
        return None
    text = said(error)
    named = [w for w in WIRES.values() if w is not wire and re.search(rf"\bv1/{re.escape(w.path)}\b", text)]
    return named[0] if len(named) == 1 else None
