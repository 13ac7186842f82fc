"""The door to everything that later sessions are told: no route around it (MEM-14, MEM-22)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from agent_core import limits
from agent_core.errors import MemoryFailure
from agent_core.safety.inject import scan
from agent_core.text.ansi import clean


def admitted(text: str, redact: Callable[[str], str], most: int = limits.MEMORY_CHARS) -> str:
    """`text` as it may be kept: trimmed, in NFC, without control bytes and keys.

    Raises MemoryFailure for what is empty, longer than `most` characters, or reads like an order to a model.
    """
    text = redact(unicodedata.normalize("NFC", clean(text)).strip())
    if not text:
        raise MemoryFailure("memory_empty", "There is nothing to remember: the text is empty. Give a sentence.")
    if len(text) > most:
        raise MemoryFailure(
            "memory_long",
            f"The text has {len(text):,} characters; a memory has at most {most:,}. Say it shorter, or as several.",
            chars=len(text),
            most=most,
        )
    if found := scan(text, "memory"):
        what = f"{found[0].rule}: {found[0].words}" if found[0].words else found[0].rule
        raise MemoryFailure(
            "memory_refused",
            f"This is not remembered: it reads like an attempt to steer the model ({what}). Say it as a plain fact.",
            rule=found[0].rule,
            words=found[0].words,
        )
    return text


def same(text: str) -> str:
    """By what two texts are the same memory (MEM-07)."""
    return unicodedata.normalize("NFC", text).strip()
