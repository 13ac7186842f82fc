"""Decodes one image, as a program of its own: what a picture can do to its decoder ends here.

    python -I child.py fit SIDE MOST_PIXELS MOST_BYTES SECONDS < IMAGE
    python -I child.py cells COLUMNS ROWS GROUND MOST_PIXELS MOST_BYTES SECONDS < IMAGE

Writes a line of JSON, and behind it the bytes that it tells of: with "fit" the image anew, as PNG or JPEG, whichever
is smaller, no side longer than SIDE, turned as its camera says, without anything but its pixels; with "cells" seven
bytes for each cell of a terminal (`cells`), on the ground RRGGBB. What it refuses it says as {"refused": reason}. It
bounds its own memory to MOST_BYTES and its time to SECONDS. Imports only the standard library and Pillow.
"""

from __future__ import annotations

import io
import json
import resource
import sys
import warnings
from typing import Any, Final

FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
SCANS: Final = 100  # of one JPEG: encoders make about ten, and each may be told in a few bytes to go over all pixels
QUALITY: Final = 85
SEE_THROUGH: Final = 2 << 20  # bytes of a PNG that is kept for what can be seen through it
# Pixels of a cell, as bits: 1 upper left, 2 upper right, 4 lower left, 8 lower right. The halves above and below are
# missing: their glyphs are two cells wide in some terminals.
PARTS: Final = (0b0000, 0b1010, 0b0001, 0b0010, 0b0100, 0b1000, 0b1001)


class Refused(Exception):
    """The image is not taken; its text is the reason's name."""


def opened(data: bytes, most: int) -> Any:
    """The image, not decoded yet. Raises Refused."""
    from PIL import Image, UnidentifiedImageError

    if data.startswith(b"\xff\xd8") and data.count(b"\xff\xda") > SCANS:
        raise Refused("undecodable")
    Image.MAX_IMAGE_PIXELS = None  # the size is looked at here, before anything is decoded
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError:
        raise Refused("undecodable") from None
    width, height = image.size
    if not width or not height:
        raise Refused("empty")
    if width * height > most:
        raise Refused("too_many_pixels")
    return image


def fitted(image: Any, width: int, height: int) -> Any:
    """Its pixels in RGB or RGBA, upright, scaled down to fit."""
    from PIL import Image, ImageOps

    if image.format == "JPEG":
        image.draft(None, (width, height))  # decoded at a fraction of its size where that is enough
    if image.mode.startswith("I"):  # 16 bits of grey
        image = image.convert("I").point(lambda value: value / 256).convert("L")
    elif image.mode in ("P", "PA", "LA") or "transparency" in image.info:
        image = image.convert("RGBA")
    elif image.mode not in ("L", "RGB", "RGBA"):
        image = image.convert("RGB")
    image = ImageOps.exif_transpose(image)
    image.thumbnail((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)
    return image if image.mode == "RGBA" else image.convert("RGB")


def is_turned(image: Any) -> bool:
    """Whether the camera lay on its side."""
    return image.getexif().get(0x0112, 1) in (5, 6, 7, 8)


def written(image: Any) -> tuple[str, bytes]:
    """Media type and bytes, the smaller ones of PNG and JPEG."""
    png = io.BytesIO()
    see_through = image.mode == "RGBA" and image.getextrema()[3][0] < 255
    image = image if see_through else image.convert("RGB")
    image.info.clear()
    image.save(png, "PNG")
    if see_through and png.tell() <= SEE_THROUGH:
        return "image/png", png.getvalue()
    jpeg = io.BytesIO()
    if see_through:
        from PIL import Image

        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    image.save(jpeg, "JPEG", quality=QUALITY)
    smaller = not see_through and png.tell() <= jpeg.tell()
    return ("image/png", png.getvalue()) if smaller else ("image/jpeg", jpeg.getvalue())


def fit(data: bytes, side: int, most: int) -> tuple[dict[str, Any], bytes]:
    image = opened(data, most)
    about = {"kind": image.format}
    size = image.size[::-1] if is_turned(image) else image.size
    image = fitted(image, side, side)
    media_type, out = written(image)
    return {**about, "width": size[0], "height": size[1], "sent": image.size, "media_type": media_type}, out


def cells(data: bytes, columns: int, rows: int, ground: str, most: int) -> tuple[dict[str, Any], bytes]:
    """The image in cells of two by two pixels, a cell being twice as high as wide.

    Of each cell: the index in PARTS of the pixels that have the first of its two colours, then the two colours.
    """
    from PIL import Image

    image = opened(data, most)
    size = image.size[::-1] if is_turned(image) else image.size
    image = fitted(image, columns * 4, rows * 4)
    shrink = min(1.0, columns / image.width, rows * 2 / image.height)
    across, down = max(1, round(image.width * shrink)), max(1, round(image.height * shrink / 2))
    image = image.resize((across * 2, down * 2), Image.Resampling.BOX if shrink == 1.0 else Image.Resampling.LANCZOS)
    if image.mode == "RGBA":
        below = Image.new("RGBA", image.size, f"#{ground}")
        image = Image.alpha_composite(below, image)
    raw = image.convert("RGB").tobytes()
    line = across * 2 * 3
    out = bytearray()
    for top in range(0, len(raw), 2 * line):
        for left in range(top, top + line, 6):
            places = (left, left + 3, left + line, left + line + 3)
            out += cell([(raw[at], raw[at + 1], raw[at + 2]) for at in places])
    return {"kind": image.format, "width": size[0], "height": size[1], "across": across, "down": down}, bytes(out)


Pixel = tuple[int, int, int]


def cell(four: list[Pixel]) -> bytes:
    """The part and the two colours that come nearest to four pixels."""
    if four[0] == four[1] == four[2] == four[3]:
        return bytes((0, *four[0], *four[0]))
    best, best_miss = b"", float("inf")
    for index, part in enumerate(PARTS):
        one = [p for bit, p in enumerate(four) if part >> bit & 1]
        other = [p for bit, p in enumerate(four) if not part >> bit & 1]
        colours = [mean(one or other), mean(other)]
        miss = sum((a - b) ** 2 for p in one for a, b in zip(p, colours[0], strict=True))
        miss += sum((a - b) ** 2 for p in other for a, b in zip(p, colours[1], strict=True))
        if miss < best_miss:
            best, best_miss = bytes((index, *colours[0], *colours[1])), miss
    return best


def mean(pixels: list[Pixel]) -> Pixel:
    red, green, blue = (sum(channel) // len(pixels) for channel in zip(*pixels, strict=True))
    return red, green, blue


def main(what: str, *given: str) -> None:
    *numbers, most_bytes, seconds = given
    resource.setrlimit(resource.RLIMIT_DATA, (int(most_bytes),) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds),) * 2)
    warnings.simplefilter("ignore")
    data = sys.stdin.buffer.read()
    try:
        if what == "fit":
            about, out = fit(data, int(numbers[0]), int(numbers[1]))
        else:
            about, out = cells(data, int(numbers[0]), int(numbers[1]), numbers[2], int(numbers[3]))
    except Refused as refused:
        about, out = {"refused": str(refused)}, b""
    except MemoryError:
        about, out = {"refused": "too_many_pixels"}, b""
    except Exception:  # whatever a decoder says of bytes that anybody may have written: it is no image
        about, out = {"refused": "undecodable"}, b""
    sys.stdout.buffer.write(json.dumps(about).encode() + b"\n" + out)


if __name__ == "__main__":
    main(*sys.argv[1:])
