"""Bytes → server-sent events, incrementally.

Lines end at LF, CRLF or CR and nowhere else: `str.splitlines` and `httpx.iter_lines` also split at U+2028, U+0085 and
others, which may stand raw inside JSON.
"""

from __future__ import annotations

import codecs
import json
import re

from agent_core import limits
from agent_core.errors import AgentError
from agent_core.records import dataclass

_LINE_END = re.compile("\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `name` is its type ("" = message), `data` its data lines joined by LF."""

    data: str
    name: str = ""
    id: str = ""
    retry: int | None = None
    """Milliseconds, when the server set the reconnection time."""


class EventTooLarge(AgentError):
    """One event is larger than the limit; nothing of it is kept."""

    def __init__(self, limit: int) -> None:
        super().__init__("event_too_large", f"The server sent one event of more than {limit} bytes.", limit=limit)


class EventReader:
    """Feed it what the network gives; it returns the events that became complete. Linear in the bytes fed.

    `lenient` also takes what home-grown model gateways send: a bare JSON line without `data:`, events with a single
    line end between them, told by a first data line that is a whole JSON object by itself, and fields that are indented
    or written with capitals.
    """

    def __init__(self, *, lenient: bool = False, limit: int = limits.SSE_EVENT) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lenient = lenient
        self._limit = limit
        self._line: list[str] = []
        self._data: list[str] = []
        self._size = 0
        """Characters held in `_line` and `_data`."""
        self._name = ""
        self._id = ""
        self._retry: int | None = None
        self._first = True
        self._after_cr = False

    def feed(self, data: bytes) -> list[Event]:
        """Raises EventTooLarge."""
        return self._take(self._decoder.decode(data))

    def end(self) -> list[Event]:
        """The stream is over: what is still held, if it is an event. The last line needs no line end."""
        events = self._take(self._decoder.decode(b"", True))
        if self._line:
            events += self._end_line()
        return events + self._dispatch()

    def _take(self, text: str) -> list[Event]:
        if not text:
            return []
        if self._first:
            self._first = False
            text = text.removeprefix("\ufeff")
        if self._after_cr:  # the line ended at the CR already; its LF is not another line
            self._after_cr = False
            text = text.removeprefix("\n")
        events: list[Event] = []
        start = 0
        for match in _LINE_END.finditer(text):
            self._hold(text[start : match.start()])
            events += self._end_line()
            start = match.end()
        self._after_cr = text.endswith("\r")
        self._hold(text[start:])
        return events

    def _hold(self, text: str) -> None:
        if text:
            self._line.append(text)
            self._count(len(text))

    def _count(self, characters: int) -> None:
        self._size += characters
        if self._size > self._limit:
            raise EventTooLarge(self._limit)

    def _end_line(self) -> list[Event]:
        line = "".join(self._line)
        self._line.clear()
        self._size -= len(line)
        if not line:
            return self._dispatch()
        if self._lenient:
            line = line.lstrip()
        if not line or line.startswith(":"):
            return []
        if self._lenient and line[0] in "{[<":
            return [*self._dispatch(), Event(line)]
        name, _, value = line.partition(":")
        name = name.lower() if self._lenient else name
        value = value.removeprefix(" ")
        events: list[Event] = []
        if name == "data":
            if self._lenient and len(self._data) == 1 and _is_whole(self._data[0]):
                events = self._dispatch()
            self._data.append(value)
            self._count(len(value) + 1)
        elif name == "event":
            self._name = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self._retry = int(value[:9])
        return events

    def _dispatch(self) -> list[Event]:
        data, name, retry = self._data, self._name, self._retry
        self._data, self._name, self._retry = [], "", None
        self._size -= sum(map(len, data)) + len(data)
        return [Event("\n".join(data), name, self._id, retry)] if data else []


def _is_whole(line: str) -> bool:
    """True when `line` can be an event by itself: a JSON object, or the end marker of model servers."""
    text = line.strip()
    if text == "[DONE]":
        return True
    if not (text.startswith("{") and text.endswith("}")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
