"""What was forgotten, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanoherm_tui.i18n import t
from nanoherm_tui.kept_titles import kept_title
from nanoherm_tui.text import cut, one_line, visible

if TYPE_CHECKING:
    from agent_core.knowledge import Memory
    from agent_core.memory.desk import Forgotten

_SHORT: Final = 48  # cells of what was forgotten, where more is to be said


def all_forgotten(done: Forgotten, gone: Sequence[Memory]) -> str:
    """What was forgotten, and that what was made from it is gone too."""
    said = one_line(visible(done.memory.text))
    return t("memory.forgotten_all", text=said, n=len(gone) + len(done.waiting)) if done.left else forgotten_words(done)


def forgotten_words(done: Forgotten) -> str:
    """What was forgotten, and what was made from it and is still there."""
    said = one_line(visible(done.memory.text))
    left = [*(visible(one.text) for one in done.built_on_it), *(kept_title(one.title) for one in done.waiting)]
    if not left:
        return t("memory.forgotten", text=said)
    return t("memory.forgotten_with", text=cut(said, _SHORT), n=len(left), left=one_line("; ".join(left)))
