"""What notes of the transcript say of files that were rolled back and of what was remembered. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.rollback import REASONS
from nanoherm_tui.text import one_line
from nanoherm_tui.transcript.blocks import Note

if TYPE_CHECKING:
    from agent_core.events import Remembered
    from agent_core.messages import Rollback


def rolled_back(done: Rollback) -> list[Note]:
    """Which files are others now, and which were left and why."""
    notes: list[Note] = []
    more_paths, more_left = done.more
    if done.paths or not done.left:
        word = "rollback.nothing_done" if not done.paths else "rollback.redone" if done.redo else "rollback.done"
        lines = tuple((one_line(path), "") for path in done.paths)
        notes.append(Note(0, "", word=word, params={"command": "/rollback redo"}, lines=lines, more=more_paths))
    if done.left:
        notes.append(Note(0, "", "warning", word="rollback.left", lines=tuple(map(_left, done.left)), more=more_left))
    return notes


def _left(words: str) -> tuple[str, str]:
    """A path and the reason behind it; either may have a colon in it."""
    line = one_line(words)
    why = next((why for why in REASONS.values() if line.endswith(f": {why}")), "")
    return (line.removesuffix(f": {why}"), why) if why else (line, "")


def remembered(event: Remembered) -> list[Note]:
    """What is kept for later sessions now, or is to be, and what is not any more."""
    told = ("told_waits", "told_gone_waits") if event.pending else ("told", "told_gone")
    rows = [(word, one) for word, several in zip(told, (event.memories, event.gone), strict=True) for one in several]
    return [Note(0, "", word=f"memory.{word}", params={"text": one_line(one.text)}) for word, one in rows]
