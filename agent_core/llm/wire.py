"""What differs between the wires, as one record of functions each; `wires.WIRES` lists them.

A wire is a way to ask a model server and to understand its reply. Which one a server speaks is a field of its Preset.
The client knows none of them by name: how a request is sent, read, timed and tried again is the same for all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from agent_core.errors import ProviderError
from agent_core.llm.providers import IdRule, Preset, WireName
from agent_core.messages import clean_surrogates
from agent_core.ports.model import Delta, LlmReply, LlmRequest
from agent_core.records import dataclass

Tools = Mapping[str, Mapping[str, Any]]
"""The offered tools' parameter schemas by name."""


@dataclass(frozen=True, slots=True)
class Quirks:
    """What one model on one server wants. Begins with the preset's; grows when a request is refused.

    A wire ignores what it has no place for.
    """

    id_rule: IdRule = "keep"
    max_tokens_field: str = "max_tokens"
    max_tokens_swapped: bool = False
    """The field's other name has been tried already."""
    system_role: Literal["system", "developer", "user"] = "system"
    """"user": there is no such role; the text goes before the first user message."""
    strict_tools: bool = False
    plain_schemas: bool = False
    """Of tools: one type at each place, no choice between schemas."""
    dropped: frozenset[str] = frozenset()
    """Optional fields of the request, or of assistant messages, that are not sent."""
    fill_reasoning: bool = False
    """Every assistant message with calls carries reasoning_content, empty if there was none."""
    reply_after_results: bool = False
    """A user message may not follow the results of calls at once."""
    swapped: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the request that are sent with another value than asked for, because the server named one it takes."""


class Builder(Protocol):
    """Takes the objects of a reply as they come; gives deltas at once and the reply in the end.

    Every method that takes data raises ProviderError when it reports a failure or is not what the format allows.
    """

    late: str
    """Set by `finish`: the end of the reply's text that was held back and has not been shown."""
    progress: int
    """Counts the pieces of content that have come, shown or held back: text, reasoning, calls."""

    @property
    def finished(self) -> bool:
        """True once the server has named a reason to finish: a connection that breaks now breaks nothing."""
        ...

    @property
    def partial_text(self) -> str: ...
    @property
    def partial_reasoning(self) -> str: ...

    def feed(self, chunk: Any) -> list[Delta]:
        """Take the decoded data of one event of a stream."""
        ...

    def feed_document(self, document: Any) -> list[Delta]:
        """Take a whole reply, as servers send it without streaming."""
        ...

    def done(self) -> None:
        """The end marker has come."""
        ...

    def finish(self) -> LlmReply:
        """The reply. Raises ProviderError "truncated" when what came is not known to be all of it."""
        ...


@dataclass(frozen=True, slots=True)
class Wire:
    """One wire."""

    name: WireName
    path: str
    """Where requests go, below the server's address."""
    quirks: Callable[[Preset], Quirks]
    """What a preset's models want before any of them has refused something."""
    body: Callable[[LlmRequest, str, Quirks, Preset], dict[str, Any]]
    """(request, model, quirks, preset) → the request's JSON object."""
    adapted: Callable[[Quirks, Mapping[str, Any], ProviderError], Quirks | None]
    """(quirks, refused body, error) → other quirks that may satisfy the server, None when it is not about a field.

    Never the same ones again, so that asking anew ends."""
    builder: Callable[[str, Tools, str], Builder]
    """(who, for error texts; the offered tools; the key, to be masked in error texts)."""
    history: str = "messages"
    """The field of the body that holds the conversation as an array; see llm/encoded.py for what it relies on."""


def encode(body: object) -> bytes:
    """`body`, or a part of one, as UTF-8 JSON. Lone surrogates, refused by some even escaped, become U+FFFD."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)
    return clean_surrogates(text).encode("utf-8")
