"""Rows read from the pages of a SQLite file themselves, whatever is broken above them. Pure: bytes in, rows out.

Where an inner page or the header is spoiled SQLite cannot find what lies below. The leaf pages hold the rows all the
same: each is looked at by itself. Pages that are free are left out, as what was deleted must stay so.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from agent_core import limits

_MAGIC: Final = b"SQLite format 3\0"
_HEADER: Final = struct.Struct(">16sH6B9I32xI4x")
_TABLE_LEAF: Final = 0x0D
_USUAL_SIZE: Final = 4096
_SIZES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes of an integer by its serial type

Value = str | bytes | int | float | None


def rows(data: bytes) -> Iterator[tuple[int, list[Value]]]:
    """(row id, values) of every row of a table with row ids that can still be read. What cannot is left out."""
    size, reserved = _USUAL_SIZE, 0
    if data.startswith(_MAGIC):
        (size,) = struct.unpack_from(">H", data, 16)
        size, reserved = 65_536 if size == 1 else size, data[20]
    if size < 512 or size & (size - 1):
        size, reserved = _USUAL_SIZE, 0
    pages = _Pages(data, size, size - reserved)
    free = pages.free()
    for number in range(1, len(data) // size + 1):
        if number not in free:
            yield from pages.leaf(number)


def with_header(data: bytes) -> bytes:
    """`data` with the first hundred bytes of a file as this program makes them; what is free is as it says, if it can.

    Behind a spoiled header all may be well.
    """
    pages = len(data) // _USUAL_SIZE
    trunk, free = struct.unpack_from(">II", data.ljust(_HEADER.size, b"\0"), 32)
    if not (0 < trunk <= pages and 0 < free < pages):
        trunk = free = 0
    # A journal beside it, units as usual, the change and the schema counted once, schema format 4, UTF-8.
    header = _HEADER.pack(_MAGIC, _USUAL_SIZE, 2, 2, 0, 64, 32, 32, 1, pages, trunk, free, 1, 4, 0, 0, 1, 1)
    return header + data[_HEADER.size :]


class _Pages:
    def __init__(self, data: bytes, size: int, usable: int) -> None:
        self._data, self._size, self._usable = data, size, usable
        self._count = len(data) // size

    def free(self) -> set[int]:
        """Numbers of the pages that hold nothing any more."""
        free: set[int] = set()
        if not self._data.startswith(_MAGIC):
            return free
        (trunk,) = struct.unpack_from(">I", self._data, 32)
        while 0 < trunk <= self._count and trunk not in free:
            free.add(trunk)
            at = (trunk - 1) * self._size
            following, count = struct.unpack_from(">II", self._data, at)
            count = min(count, self._usable // 4 - 2)
            free.update(struct.unpack_from(f">{count}I", self._data, at + 8))
            trunk = following
        return free

    def leaf(self, number: int) -> Iterator[tuple[int, list[Value]]]:
        base = (number - 1) * self._size
        head = base + (100 if number == 1 else 0)
        if self._data[head] != _TABLE_LEAF:
            return
        (cells,) = struct.unpack_from(">H", self._data, head + 3)
        for cell in range(min(cells, self._size // 4)):
            try:
                (offset,) = struct.unpack_from(">H", self._data, head + 8 + 2 * cell)
                yield self._row(base + offset, base + self._usable)
            except (ValueError, IndexError, struct.error):
                continue

    def _row(self, at: int, end: int) -> tuple[int, list[Value]]:
        length, at = _varint(self._data, at)
        row_id, at = _varint(self._data, at)
        if length > limits.SALVAGE_ROW:
            raise ValueError("longer than any row")
        return row_id, _record(self._payload(length, at, end))

    def _payload(self, length: int, at: int, end: int) -> bytes:
        """The bytes of a row, those on overflow pages too."""
        usable = self._usable
        here = length
        if length > usable - 35:
            least = (usable - 12) * 32 // 255 - 23
            here = least + (length - least) % (usable - 4)
            here = here if here <= usable - 35 else least
        if at + here > end:
            raise ValueError("outside of its page")
        parts = [self._data[at : at + here]]
        if here < length:
            (following,) = struct.unpack_from(">I", self._data, at + here)
            left = length - here
            while left > 0:
                if not 0 < following <= self._count:
                    raise ValueError("an overflow page that is not there")
                base = (following - 1) * self._size
                (following,) = struct.unpack_from(">I", self._data, base)
                part = min(left, usable - 4)
                parts.append(self._data[base + 4 : base + 4 + part])
                left -= part
        return b"".join(parts)


def _record(payload: bytes) -> list[Value]:
    head, at = _varint(payload, 0)
    if not 0 < head <= len(payload):
        raise ValueError("no record")
    values: list[Value] = []
    body = head
    while at < head:
        kind, at = _varint(payload, at)
        value, size = _value(payload, body, kind)
        values.append(value)
        body += size
    if body > len(payload):
        raise ValueError("shorter than its record")
    return values


def _value(payload: bytes, at: int, kind: int) -> tuple[Value, int]:
    """A value and how many bytes it takes."""
    if kind in (0, 8, 9):
        return (None if kind == 0 else kind - 8), 0
    if kind in _SIZES:
        size = _SIZES[kind]
        return int.from_bytes(payload[at : at + size], "big", signed=True), size
    if kind == 7:
        number: Any = struct.unpack_from(">d", payload, at)[0]
        return number, 8
    if kind < 12:
        raise ValueError("no such type")
    size = (kind - 12) // 2
    raw = payload[at : at + size]
    return (raw.decode("utf-8", "replace") if kind % 2 else raw), size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(9):
        byte = data[at + place]
        if place == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            return value, at + place + 1
    raise ValueError("no number")
