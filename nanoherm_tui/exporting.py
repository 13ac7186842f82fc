"""The file that a session is exported to."""

from __future__ import annotations

import re
from pathlib import Path

from agent_core.errors import AgentError


def slug(title: str) -> str:
    return re.sub(r"[^\w]+", "-", title).strip("-")[:40] or "session"


def write_new(path: Path, text: str) -> Path:
    """Write a file that does not exist yet, with a number in its name when one does. Raises AgentError."""
    for number in range(100):
        target = path if not number else path.with_stem(f"{path.stem}-{number}")
        try:
            with target.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            continue
        except OSError as error:
            words = f"{target}: {error.strerror}. Name another place: /export PATH."
            raise AgentError("export_failed", words) from error
        return target
    raise AgentError("export_failed", f"{path} and 99 numbered names exist. Name another: /export PATH.")
