"""Overlays that need nothing made for them: the palette, help, settings, keys."""

from __future__ import annotations

from typing import Final

from nanoherm_tui import remarks
from screenshots.stage import Stage
from screenshots.views.view import View, overlay


async def _remark(stage: Stage) -> None:
    stage.app.composer.remark(remarks.words("changes", stage.app.keymap))
    await stage.settle()


VIEWS: Final[tuple[View, ...]] = (
    View("palette", overlay("palette")),
    View("palette-search", overlay("palette", *"mod")),
    View("palette-themes", overlay("theme")),
    View("palette-nothing", overlay("palette", *"qqqq")),
    View("help", overlay("help")),
    View("help-filter", overlay("help", *"copy")),
    View("confirm", overlay("clear")),
    View("disk", overlay("disk")),
    View("settings", overlay("settings")),
    View("settings-choice", overlay("settings", *"approvals.mode", "enter")),
    View("settings-refused", overlay("settings", *"max_turns", "enter", "end", *" or so", "enter")),
    View("keys", overlay("keys")),
    View("keys-search", overlay("keys", *"session")),
    View("keys-pressed", overlay("keys", "down", "enter", "ctrl+s", "f9")),
    View("keys-taken", overlay("keys", *"/new", "enter", "f2")),
    View("remark", _remark),
    View("palette-effort", overlay("effort")),
)
