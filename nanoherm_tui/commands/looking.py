"""Looking at a file of the workspace in the dock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.errors import AgentError
from nanoherm_tui.i18n import tell
from nanoherm_tui.panes.preview import Preview

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp


def preview(app: NanohermApp, path: str, first: int, last: int) -> None:
    """Show the file, or why it is not shown. `first` and `last`: the lines that matter; 0: none do."""
    view = app.view
    if view is None:
        return

    def read() -> Preview:
        try:
            return Preview(path, first, last, app.host.preview(view.id, path, first or 1))
        except AgentError as error:
            return Preview(path, first, last, problem=tell(error.code, error.params, error.text))

    def show(preview: Preview) -> None:
        if app.view is view:
            app.dock.show_preview(preview)
            app.show_pane("dock")
            if app.panes.dock == "over":  # the draft is behind it: keys go where they are seen
                app.dock.focus()

    app.desk.do(read, show)
