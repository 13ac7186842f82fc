"""edit_fuzzy_own: as edit_fuzzy, with `after` and `n`. `after` was read back in text mode: its line ends are LF."""

from __future__ import annotations

from typing import Any

from .edit_fuzzy import edited


def check(row: dict[str, Any]) -> str:
    text, count = edited(row)
    if "\r\n" in row["text"] and "\r\n" not in row["after"]:
        text = text.replace("\r\n", "\n")
    return "" if (text, count) == (row["after"], row["n"]) else f"{count} replaced, {text[:200]!r}"
