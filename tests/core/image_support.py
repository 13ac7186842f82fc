"""Images made for a test: ordinary ones and hostile ones."""

from __future__ import annotations

import base64
import io
import struct
import zlib
from typing import Any

from PIL import Image

from agent_core.messages import ImagePart


def image(width: int, height: int, kind: str = "PNG", mode: str = "RGB", colour: Any = "teal", **how: Any) -> bytes:
    """An image of one colour."""
    out = io.BytesIO()
    Image.new(mode, (width, height), colour).save(out, kind, **how)
    return out.getvalue()


def noise(width: int, height: int, kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.effect_noise((width, height), 80).convert("RGB").save(out, kind)
    return out.getvalue()


def png_that_says(width: int, height: int) -> bytes:
    """A PNG whose header promises so many pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(b"\0" * 1_000_000, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def opened(part: ImagePart) -> Image.Image:
    """What a model is given, decoded."""
    return Image.open(io.BytesIO(base64.b64decode(part.data)))
