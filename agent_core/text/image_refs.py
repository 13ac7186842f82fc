"""Images that a text refers to: "[image 3f9a2c41d0e8b7a6 shot.png 800x600 PNG]", by the content of a kept copy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

REFERENCE: Final = re.compile(r"\[image ([0-9a-f]{16}) ([^\[\]\n]{1,200})\]")
"""The name of the copy; the image's own name, its size and its kind."""
_MADE_HERE: Final = re.compile(r"\[image(?:: | [0-9a-f]{16} )[^\[\]\n]{1,180} \d+x\d+ (?:PNG|JPEG|GIF|WebP|BMP)\]")
_LEADING: Final = re.compile(rf"(?:{REFERENCE.pattern}\s+)*")
_NAMED: Final = re.compile(r"\[image(?:: | [0-9a-f]{16} )[^\[\]\n]{1,200}\]")


def plain(text: str) -> str:
    """`text` as a person and a model read it: references without what names the copies."""
    return REFERENCE.sub(r"[image: \2]", text) if "[image " in text else text


def leading(text: str) -> tuple[str, str]:
    """The references that `text` begins with, and what comes behind them."""
    found = _LEADING.match(text)
    assert found is not None  # it matches nothing too
    return found[0], text[found.end() :]


def without(text: str) -> str:
    """`text` without the images it names; all of it when it says nothing else."""
    rest = _NAMED.sub(" ", text) if "[image" in text else text
    return rest.strip() or text


def between(text: str, change: Callable[[str], str]) -> str:
    """`text` with what stands around its images' names changed: "token: " before one makes no secret of it.

    A name that `change` would change by itself is text like any other.
    """
    pieces, at = [], 0
    for found in _MADE_HERE.finditer(text) if "[image" in text else ():
        if change(found[0]) == found[0]:
            pieces += [change(text[at : found.start()]), found[0]]
            at = found.end()
    return "".join([*pieces, change(text[at:])])


def count(text: str) -> int:
    """How many images `text` refers to."""
    return len({name for name, _ in REFERENCE.findall(text)}) if "[image " in text else 0
