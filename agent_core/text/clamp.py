"""Cutting text to a number of bytes, with a mark that says so."""

from __future__ import annotations

from typing import Literal

from agent_core import limits


def clamp(
    text: str, limit: int = limits.TOOL_RESULT, keep: Literal["head", "both"] = "head", total: int | None = None
) -> str:
    """Cut `text` to at most `limit` UTF-8 bytes on character boundaries; "both" keeps head and tail.

    Where something is left out stands `... [truncated: showing X of Y bytes]`, which counts inside the limit. A limit
    too small for that mark cuts without it. `total`: the bytes there had been, where `text` is itself what was kept
    of a longer one. Sources: LIM-01, LIM-11.
    """
    if len(text) * 4 <= limit:
        return text
    # Lone surrogates come from file names; they must not make cutting fail.
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    # Room is kept for the longest mark there can be; the counts in it are known only after the cut.
    total = max(total or 0, len(data))
    room = limit - len(_mark(total, total, keep))
    if room <= 0:
        return _decode(data[: _back(data, max(limit, 0))])
    head = _back(data, room if keep == "head" else room // 2)
    tail = len(data) if keep == "head" else _forward(data, len(data) - (room - room // 2))
    return _decode(data[:head]) + _mark(head + len(data) - tail, total, keep) + _decode(data[tail:])


def clamp_characters(text: str, limit: int) -> str:
    """Head and tail of `text`, at most `limit` characters with the mark between them, which counts bytes as ever."""
    if len(text) <= limit:
        return text
    total = _size(text)
    room = max(0, limit - len(_mark(total, total, "both")))
    head, tail = text[: room // 2], text[len(text) - (room - room // 2) :]
    return head + _mark(_size(head) + _size(tail), total, "both") + tail


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _mark(shown: int, total: int, keep: str) -> str:
    return f"\n... [truncated: showing {shown} of {total} bytes]" + ("\n" if keep == "both" else "")


def _back(data: bytes, at: int) -> int:
    """The nearest start of a character at or before `at`."""
    while 0 < at < len(data) and data[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _forward(data: bytes, at: int) -> int:
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += 1
    return at


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
