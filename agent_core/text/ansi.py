"""Taking terminal control out of text that programs, models and servers produced."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# ECMA-48, 7 and 8 bit. A string sequence that never ends loses its introducer only: the text after it must not vanish.
_SEQUENCE: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|\Z)"  # control sequences: colours, cursor, modes
    # Titles, links, device strings. None goes past where the next may begin: many that never end would each be looked
    # for to the end of the text.
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"  # character sets
    r"|\x1b[0-~]?"  # two-character escapes, and a lone escape
    r"|[\x80-\x9f]"  # what is left of the 8-bit controls
)
_MAY_HAVE: Final = re.compile(r"[\x1b\x80-\x9f]")
# Programs that write UTF-8 use no 8-bit controls: the letter right behind a stray one is text to be shown.
_STRAY: Final = re.compile(r"\x9b(?=[@-~])")
_OVERSTRIKE: Final = re.compile(r"[^\n\x08]\x08")


def strip_ansi(text: str) -> str:
    """`text` without terminal escape sequences, in linear time. Other control characters stay."""
    return _SEQUENCE.sub("", text) if _MAY_HAVE.search(text) else text


def clean(text: str, keep: str = "\n\t") -> str:
    """`text` as a person would have seen it at last: no escape sequences, no control characters but those in `keep`.

    CRLF becomes LF; of a line overwritten by carriage returns (a progress bar) the last state stays, of one overwritten
    once by less than it held both do; backspaces take back one character. Lone surrogates, which no encoder accepts,
    become U+FFFD.
    """
    text = strip_ansi(_STRAY.sub("", text))
    if "\r" in text and "\r" not in keep:
        text = "\n".join(_overwritten(line) if "\r" in line else line for line in text.split("\n"))
    if "\x08" in text:
        text = _OVERSTRIKE.sub("", text)
    return _unwanted(keep).sub(_replacement, text)


def _overwritten(line: str) -> str:
    states = [state for state in line.split("\r") if state]
    if len(states) == 2 and len(states[1]) < len(states[0]):
        return "\n".join(states)  # the end of the first can still be seen, and is no progress bar's
    return states[-1] if states else ""


@lru_cache(maxsize=8)
def _unwanted(keep: str) -> re.Pattern[str]:
    controls = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in keep]
    return re.compile(f"[{re.escape(''.join(controls))}\ud800-\udfff]")


def _replacement(match: re.Match[str]) -> str:
    return "\ufffd" if match[0] >= "\ud800" else ""
