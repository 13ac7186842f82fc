"""What turns changed in files, and taking that back, in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui.i18n import phrase, t
from nanoherm_tui.text import age, one_line, visible

if TYPE_CHECKING:
    from agent_core.rollback import ChangedFile, Checkpoint


def files_words(count: int) -> str:
    return t("rollback.file") if count == 1 else t("rollback.files", n=count)


def why_words(why: str) -> str:
    """Why a file is left as it is, in the interface's language."""
    return phrase("left_because", one_line(why))


def turn_words(checkpoint: Checkpoint) -> str:
    """What was asked for."""
    return one_line(checkpoint.text) or t("rollback.no_text")


def turn_side(checkpoint: Checkpoint, now: float) -> str:
    """How many files it changed, or that all is rolled back; and how long ago."""
    what = t("rollback.undone") if checkpoint.undone else files_words(len(checkpoint.files))
    return f"{what}   {age(now - checkpoint.when)}"


def changed_words(file: ChangedFile) -> str:
    """What was done to a file, and why it cannot be taken back."""
    words = f"{t(f'rollback.did_{file.change}')} {visible(file.path)}"
    return t("rollback.because", change=words, why=state_words(file)) if state_words(file) else words


def state_words(file: ChangedFile) -> str:
    """Why it cannot be taken back, or what is doubtful; empty: it can."""
    if file.state == "undoable" and not file.why:
        return ""
    return why_words(file.why) or t("rollback.undone")
