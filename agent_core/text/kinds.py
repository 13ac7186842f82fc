"""What a file is, from its first bytes: for what is said of one that is no text."""

from __future__ import annotations

from typing import Final

_STARTS: Final = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\1\0", "an icon"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, or a document or package that is one inside"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ\0", "xz-compressed data"),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed data"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program or library (ELF)"),
    (b"MZ", "a Windows program or library"),
    (b"\xcf\xfa\xed\xfe", "a program or library (Mach-O)"),
    (b"\xca\xfe\xba\xbe", "a Java class or a universal Mac program"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document"),
    (b"ID3", "an MP3 sound"),
    (b"OggS", "an Ogg sound or film"),
    (b"fLaC", "a FLAC sound"),
    (b"\x1aE\xdf\xa3", "a Matroska or WebM film"),
)
_BMP_HEADERS: Final = (b"\x0c\0\0\0", b"\x28\0\0\0", b"\x6c\0\0\0", b"\x7c\0\0\0")
"""The size of a BMP's second header: "BM" alone begins many a text."""
_IMAGES: Final = {f"a {kind} image": kind for kind in ("PNG", "JPEG", "GIF", "WebP", "BMP")}
IMAGE_NAMES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
"""How the names of files end whose images can be shown."""


def kind_of(data: bytes) -> str:
    """What the beginning of a file says it is, with its article; empty when it says nothing known."""
    if data[:4] == b"RIFF" and len(data) >= 12:
        return {b"WEBP": "a WebP image", b"WAVE": "a WAV sound", b"AVI ": "an AVI film"}.get(data[8:12], "")
    if data[4:8] == b"ftyp":
        return "an AVIF or HEIC image" if data[8:12] in (b"avif", b"heic", b"mif1") else "an MP4 film or sound"
    if data[:2] == b"BM" and data[14:18] in _BMP_HEADERS:
        return "a BMP image"
    if data[257:262] == b"ustar":
        return "a tar archive"
    return next((words for start, words in _STARTS if data.startswith(start)), "")


def image_kind(data: bytes) -> str:
    """PNG, JPEG, GIF, WebP or BMP, by the first bytes; empty for anything else."""
    return _IMAGES.get(kind_of(data), "")


def is_svg(data: bytes) -> bool:
    """A drawing in text, whatever its name is."""
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith(b"<svg") or (start.startswith((b"<?xml", b"<!--", b"<!doctype svg")) and b"<svg" in start)
