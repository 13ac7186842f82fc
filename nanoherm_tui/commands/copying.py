"""Text for the clipboard that no pane has under its cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp


def copy_answer(app: NanohermApp, argument: str) -> None:
    if app.view is not None:
        app.copy(app.view.model.last_answer())
