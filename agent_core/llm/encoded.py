"""The part of a conversation that has been sent before, kept as the bytes it became.

A request holds the whole history, but only its end is new: to map and encode all of it again at every step would cost
more with each message. This room stands between the client and a wire and knows no wire by name. What it gives is,
byte for byte, what the wire's own mapping of everything gives.

It relies on this, and looks whether it is so before it keeps anything: with the same settings and system text, what a
wire makes of the messages before a boundary does not depend on those after it, provided that these come to at least
three messages on the wire, two of them not the model's (the marks of prompt caching stand on the last ones), and use
other call ids. A boundary is
where an answer is followed by what the person says next; inside a turn also where results are followed by the model's
next reply, as long as no other message of the person's has come (older reasoning may then be left out).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_core import limits
from agent_core.llm.providers import Preset
from agent_core.llm.wire import Quirks, Wire, encode
from agent_core.messages import Message
from agent_core.ports.model import LlmRequest
from agent_core.records import dataclass

_KEPT = 3
"""Messages on the wire that a boundary has behind it."""
_MARKED = 2
"""Of them, those that are not the model's: marks stand on the last two such messages (chat_completions.marked)."""
_GAIN = 16
"""Messages that make it worth while to move a boundary."""


@dataclass(frozen=True, slots=True)
class _Prefix:
    """What the first messages became."""

    messages: tuple[Message, ...] = ()
    data: bytes = b""
    """The elements on the wire, with commas between them."""
    at: int = 0
    """How many elements (the system message) come before them."""
    ids: frozenset[str] = frozenset()
    """The ids of their calls, where a wire's ids depend on those before."""
    said: Message | None = None
    """The person's newest message, when the boundary lies in the turn that it began."""

    def begins(self, history: tuple[Message, ...]) -> bool:
        # Mostly these are the same objects, of which no more than the identity is looked at.
        return self.messages == history[: len(self.messages)]


_NOTHING = _Prefix()


class EncodedHistory:
    """Encodes the requests of one conversation to one server. Used by one thread at a time."""

    def __init__(self, wire: Wire, preset: Preset) -> None:
        self._wire = wire
        self._preset = preset
        self._settings: tuple[Any, ...] = ()
        self._settled = self._running = _NOTHING
        """Up to a boundary between turns, and to one in the running turn."""

    def encode(self, request: LlmRequest, model: str, quirks: Quirks) -> bytes:
        """The same bytes as `encode(wire.body(request, model, quirks, preset))`."""
        first = next((i for i, m in enumerate(request.messages) if m.role != "system"), len(request.messages))
        system, history = request.messages[:first], request.messages[first:]
        settings = (model, quirks, replace(request, messages=(), turn="", aside=""), tuple(m.text for m in system))
        if settings != self._settings:
            self._settings, self._settled, self._running = settings, _NOTHING, _NOTHING

        def mapped(begin: int) -> dict[str, Any]:
            return self._wire.body(replace(request, messages=system + history[begin:]), model, quirks, self._preset)

        prefix = self._known(history, quirks)
        body = mapped(len(prefix.messages))
        elements = body.get(self._wire.history)
        if prefix.messages and not (isinstance(elements, list) and _are_enough(elements[prefix.at :])):
            prefix = _NOTHING
            body = mapped(0)
            elements = body.get(self._wire.history)
        if not isinstance(elements, list):
            return encode(body)
        parts = [encode(element) for element in elements]
        self._learn(prefix, history, mapped, elements, parts, quirks)
        if prefix.messages:
            parts.insert(prefix.at, prefix.data)
        return _object(body, self._wire.history, parts)

    def _known(self, history: tuple[Message, ...], quirks: Quirks) -> _Prefix:
        """The longest kept beginning of `history`."""
        for prefix in (self._running, self._settled):
            if (
                prefix.messages
                and (prefix.said is None or prefix.said is _newest_said(history))
                and prefix.begins(history)
                and prefix.ids.isdisjoint(_ids(history[len(prefix.messages) :], quirks))
            ):
                return prefix
        return _NOTHING

    def _learn(
        self,
        prefix: _Prefix,
        history: tuple[Message, ...],
        mapped: Callable[[int], dict[str, Any]],
        elements: list[Any],
        parts: list[bytes],
        quirks: Quirks,
    ) -> None:
        """Move the boundaries on, after `prefix` and what follows it have become `elements` and, encoded, `parts`."""

        def longer(end: int, said: Message | None) -> _Prefix | None:
            if end < len(prefix.messages) + _GAIN:
                return None
            rest: list[Any] = mapped(end)[self._wire.history]
            at = _place(elements, rest, prefix)
            if at is None or not _are_enough(rest[at:]):
                return None
            new = parts[at : len(parts) - (len(rest) - at)]
            data = b",".join([prefix.data, *new] if prefix.messages else new)
            if len(data) > limits.ENCODED_HISTORY:
                return None
            ids = prefix.ids | _ids(history[len(prefix.messages) : end], quirks)
            return _Prefix(history[:end], data, at, ids, said)

        if prefix is not self._running or not prefix.messages:
            self._settled = longer(_boundary(history, _between_turns), None) or prefix
            self._running = _NOTHING
        said = _newest_said(history)
        if said is not None:
            self._running = longer(_boundary(history, _in_a_turn), said) or self._running


def _are_enough(rest: Sequence[Any]) -> bool:
    """Whether nothing before these elements depends on them."""
    return len(rest) >= _KEPT and sum(element.get("role") != "assistant" for element in rest) >= _MARKED


def _place(elements: list[Any], rest: list[Any], prefix: _Prefix) -> int | None:
    """How many elements of `rest` come before those it lacks of `elements`; None when it is not its two ends."""
    for at in (prefix.at,) if prefix.messages else range(min(2, len(rest)) + 1):
        behind = len(rest) - at
        if elements[:at] == rest[:at] and elements[len(elements) - behind :] == rest[at:]:
            return at
    return None


def _object(body: Mapping[str, Any], name: str, parts: Sequence[bytes]) -> bytes:
    """`body` encoded, the array under `name` made of `parts`. These may be megabytes: they are copied once."""
    pieces = [b"{"]
    for key, value in body.items():
        pieces += (b"," if len(pieces) > 1 else b"", encode(key), b":")
        if key == name:
            pieces.append(b"[")
            for number, part in enumerate(parts):
                pieces += (b",", part) if number else (part,)
            pieces.append(b"]")
        else:
            pieces.append(encode(value))
    pieces.append(b"}")
    return b"".join(pieces)


def _boundary(history: Sequence[Message], fits: Callable[[Message, Message], bool]) -> int:
    """The last place between two messages that `fits`, with enough behind it; 0 when there is none.

    The results of a round, and what the person says next to them, may be one message on the wire.
    """
    behind, after = 0, ""
    for place in range(len(history) - 1, 0, -1):
        who = "model" if history[place].role == "assistant" else "person"
        behind += who != after
        after = who
        if behind >= _KEPT and fits(history[place - 1], history[place]):
            return place
    return 0


def _between_turns(before: Message, after: Message) -> bool:
    whole = before.role == "assistant" and not before.tool_calls and bool(before.text.strip())
    return whole and after.role == "user"


def _in_a_turn(before: Message, after: Message) -> bool:
    return before.role == "tool" and after.role == "assistant"


def _newest_said(history: Sequence[Message]) -> Message | None:
    return next((message for message in reversed(history) if message.role == "user"), None)


def _ids(messages: Sequence[Message], quirks: Quirks) -> frozenset[str]:
    """Ids of calls which, on the wire, depend on those before them: where ids are kept, only empty ones do."""
    ids = (call.id for message in messages for call in message.tool_calls)
    return frozenset(call_id for call_id in ids if quirks.id_rule != "keep" or not call_id)
