"""Bytes of a server's output → the bytes of its messages, linear in what comes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Protocol

from agent_core import limits

_LENGTH: Final = re.compile(rb"content-length:\s*(\d{1,12})\s*", re.IGNORECASE)
_HEADER: Final = re.compile(rb"[A-Za-z-]+:\s")


class TooLarge(Exception):
    """A message is larger than limits.MCP_LINE. What is left of it is thrown away as it comes."""


class Frames(Protocol):
    """One way to tell where a message ends."""

    def frame(self, message: bytes) -> bytes:
        """A message as it is written."""
        ...

    def feed(self, data: bytes) -> Iterator[bytes | TooLarge]:
        """The messages, or lines that may be none, that became complete."""
        ...


class Lines:
    """One message a line; only LF ends one, and a CR before it is none of it (R2)."""

    def __init__(self, limit: int = limits.MCP_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def frame(self, message: bytes) -> bytes:
        return message + b"\n"

    def feed(self, data: bytes) -> Iterator[bytes | TooLarge]:
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._hold(piece)
            line, size = b"".join(self._parts), self._size
            self._parts.clear()
            self._size = 0
            if size > self._limit:
                yield TooLarge()
            elif (line := line.removesuffix(b"\r")) and not line.isspace():
                yield line
        self._hold(rest)

    def _hold(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            self._parts.clear()
        elif piece:
            self._parts.append(piece)


class Headers:
    """A header with the length before each message, as language servers have it (`framing`)."""

    def __init__(self, limit: int = limits.MCP_LINE) -> None:
        self._limit = limit
        self._held = bytearray()
        self._length: int | None = None
        """Of the message that follows; None: still among the headers."""
        self._named = 0
        """What the headers so far say of it."""
        self._skip = 0

    def frame(self, message: bytes) -> bytes:
        return b"Content-Length: %d\r\n\r\n" % len(message) + message

    def feed(self, data: bytes) -> Iterator[bytes | TooLarge]:
        self._held += data
        while True:
            if self._skip:
                gone = min(self._skip, len(self._held))
                del self._held[:gone]
                self._skip -= gone
                if self._skip:
                    return
            if self._length is not None:
                if len(self._held) < self._length:
                    return
                message = bytes(self._held[: self._length])
                del self._held[: self._length]
                self._length = None
                yield message
                continue
            end = self._held.find(b"\n")
            if end < 0:
                if len(self._held) > self._limit:
                    self._held.clear()
                return
            line = bytes(self._held[:end]).rstrip(b"\r")
            del self._held[: end + 1]
            if found := _LENGTH.fullmatch(line):
                self._named = int(found[1])
            elif not line and self._named:
                length, self._named = self._named, 0
                if length > self._limit:
                    self._skip = length
                    yield TooLarge()
                else:
                    self._length = length
            elif line and not _HEADER.match(line):
                yield line
