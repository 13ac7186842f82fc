"""Names and paths as people may see them."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """`text` with control, invisible and undecodable code points written as escapes, for showing a path."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() and unicodedata.category(c) not in ("Cf", "Zl", "Zp") else _escape(c) for c in text
    )


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
