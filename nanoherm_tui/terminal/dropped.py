"""What a terminal types when files are dropped on it: their paths, quoted in one way or another."""

from __future__ import annotations

import re
import shlex
from typing import Final
from urllib.parse import unquote, urlsplit

from agent_core.text.kinds import IMAGE_NAMES

_SEVERAL: Final = re.compile(r"[\n\\]| [/~'\"]| file:")
_LONGEST: Final = 4_096  # characters; more is a text, not a few paths


def image_paths(text: str) -> tuple[str, ...]:
    """The paths of image files that a pasted text consists of; empty when it is anything else.

    Absolute ones only, or below the home: a word with a dot in it is no path. Whether the files are there is not
    looked at.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST or "\0" in text:
        return ()
    # Blanks that nobody has escaped belong to the one name.
    if text.startswith(("/", "~/")) and text.lower().endswith(IMAGE_NAMES) and not _SEVERAL.search(text):
        return (text,)
    try:
        words = shlex.split(text)
    except ValueError:
        return ()
    paths = tuple(_path(word) for word in words)
    return paths if paths and all(path.lower().endswith(IMAGE_NAMES) for path in paths) else ()


def _path(word: str) -> str:
    if word.startswith("file:"):
        try:
            address = urlsplit(word)
        except ValueError:  # brackets around no address
            return ""
        return unquote(address.path) if address.netloc in ("", "localhost") else ""
    return word if word.startswith(("/", "~/")) else ""
