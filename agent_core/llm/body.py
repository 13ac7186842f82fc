"""The bytes of a reply → what the reply builder takes. What the content type says is not believed (LLM wire rule 7).

A reply is an event stream, JSON documents one a line, or one JSON document, whatever was asked for.
"""

from __future__ import annotations

import re
from typing import Any

from agent_core import limits
from agent_core.errors import ProviderError
from agent_core.llm.arguments import parse_json
from agent_core.llm.wire import Builder
from agent_core.llm.words import failure
from agent_core.ports.model import Delta
from agent_core.sse import Event, EventReader, EventTooLarge

_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_EVENT_FIELD = re.compile(rb"(?::|(?:data|event|id|retry)(?::|[\r\n]|$))")


class BodyReader:
    """Feed it pieces of the body; it feeds `builder` and returns the deltas."""

    def __init__(self, builder: Builder, who: str) -> None:
        self._builder = builder
        self._who = who
        self._events: EventReader | None = None
        self._buffer = bytearray()
        """The body so far, until it is known to be an event stream."""
        self._is_document = False
        self._looked_at_first_line = False
        self._odd = False
        """The body began with something that is no event stream."""
        self._seen = 0
        self.done = False
        """The end marker has come; what follows is ignored."""

    def feed(self, data: bytes) -> list[Delta]:
        """Raises ProviderError for a reply that reports a failure, is too large, or is not what the format allows."""
        self._seen += len(data)
        if self._seen > limits.REPLY_BYTES:
            mb = limits.REPLY_BYTES // limits.MB
            raise failure("protocol", self._who, "protocol_size", mb=mb, retryable=False)
        if self._events is not None:
            return self._take(data)
        self._buffer += data
        if not self._is_document:
            if len(self._buffer) < len(_BOM) and _BOM.startswith(self._buffer):
                return []
            start = self._buffer.removeprefix(_BOM).lstrip(_BLANK)
            if not start:
                self._buffer.clear()  # blank lines keep the connection open while the request waits (rule 9)
                return []
            self._is_document = bytes(start[:1]) in (b"{", b"[", b'"', b"<")
            if not self._is_document:
                return self._begin_events(start)
        return self._begin_events(bytes(self._buffer)) if self._is_one_a_line() else []

    def end(self) -> list[Delta]:
        """The body has ended cleanly."""
        if self._events is not None:
            try:
                return self._handle_all(self._events.end())
            except _CutEvent:
                return []  # cut in the middle of its last event: the builder knows whether the reply was over
        text = self._buffer.decode("utf-8", "replace").removeprefix("\ufeff").strip()
        if not text:
            return []
        try:
            document = parse_json(text)
        except ValueError:
            if text.startswith("<"):
                raise failure("protocol", self._who, "protocol_page") from None
            raise self._protocol("a reply that is not whole JSON") from None
        if not isinstance(document, list):
            return self._builder.feed_document(document)
        return [delta for chunk in document for delta in self._builder.feed(chunk)]  # a stream as one array

    def check_end(self) -> None:
        """Raises ProviderError "protocol" when nothing of the body was an event at all."""
        if self._odd and self._builder.progress == 0 and not (self.done or self._builder.finished):
            raise self._protocol("a text instead of a reply")

    def _is_one_a_line(self) -> bool:
        """True when the body is JSON documents one a line. Told once, when something follows the first line."""
        if self._looked_at_first_line:
            return False
        buffer = self._buffer.removeprefix(_BOM).lstrip(_BLANK)
        first, newline, rest = buffer.partition(b"\n")
        if not newline or not rest.strip(_BLANK):
            return False
        self._looked_at_first_line = True
        try:
            return isinstance(parse_json(first.decode("utf-8", "replace")), dict)
        except ValueError:
            return False

    def _begin_events(self, data: bytes | bytearray) -> list[Delta]:
        self._odd = not self._is_document and _EVENT_FIELD.match(data[:6]) is None and not b"data:".startswith(data[:5])
        self._events = EventReader(lenient=True)
        self._buffer = bytearray()
        return self._take(bytes(data))

    def _take(self, data: bytes) -> list[Delta]:
        assert self._events is not None
        try:
            events = self._events.feed(data)
        except EventTooLarge as error:
            raise failure("protocol", self._who, what=f"one event of more than {limits.SSE_EVENT} bytes") from error
        try:
            return self._handle_all(events)
        except _CutEvent:
            # Never left out silently: a part of a call's arguments could be in it (rule 6).
            raise self._protocol("an event that is not valid JSON") from None

    def _handle_all(self, events: list[Event]) -> list[Delta]:
        deltas: list[Delta] = []
        for event in events:
            data = event.data.strip().removeprefix("data:").strip()  # said twice by some that pass a stream on
            is_ping = event.name == "ping"
            if self.done or not data or (is_ping and not data.startswith("{")):
                continue
            if data == "[DONE]":
                self.done = True
                self._builder.done()
                continue
            chunk = self._decoded(data, event.name == "error")
            if is_ping:
                continue
            if event.name and isinstance(chunk, dict):
                chunk.setdefault("type", event.name)  # some servers say what an event is in its name alone
            deltas += self._builder.feed(chunk)
        return deltas

    def _decoded(self, data: str, is_error: bool) -> Any:
        try:
            chunk = parse_json(data)
        except ValueError:
            if is_error:
                return {"error": data}
            if data.startswith("<"):
                raise failure("protocol", self._who, "protocol_page") from None
            raise _CutEvent from None
        if is_error and isinstance(chunk, dict) and not chunk.get("error"):
            return {"error": chunk or "unknown error"}
        return chunk

    def _protocol(self, what: str) -> ProviderError:
        return failure("protocol", self._who, what=what)


class _CutEvent(Exception):
    """An event's data is not JSON."""
