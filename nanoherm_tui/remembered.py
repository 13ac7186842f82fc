"""What the screen remembers from one run to the next: which panes stand open, what was chosen lately.

A small JSON file, read before the first frame. It is a convenience: one that is missing, broken or cannot be written
costs nothing else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from nanoherm_tui.limits import REMEMBERED_FILE


def recall(path: Path) -> dict[str, Any]:
    """What was remembered; empty when there is nothing that can be read."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(REMEMBERED_FILE))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(path: Path, values: Mapping[str, Any]) -> None:
    """Replace what is remembered. Writes a file: not on the screen's thread."""
    text = json.dumps(values, ensure_ascii=False)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError:  # a full or read-only disk: the next start has the defaults
        with suppress(OSError):
            temporary.unlink()
