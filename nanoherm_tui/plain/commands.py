"""The slash commands, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui.actions import Slash, parse_slash

if TYPE_CHECKING:
    from nanoherm_tui.plain.face import Face


def run(face: Face, text: str) -> None:
    parsed = parse_slash(text)
    if isinstance(parsed, Slash) and parsed.action.id == "quit":
        face.leave()
