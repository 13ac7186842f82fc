"""Looking in the dock at what stands in files: those of the workspace, and kept outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core import names
from agent_core.errors import AgentError
from agent_core.spill import BLOCK_START, SpillPage, find_note
from nanoherm_tui.i18n import tell
from nanoherm_tui.panes.output import Result
from nanoherm_tui.panes.preview import Preview
from nanoherm_tui.text import clean

if TYPE_CHECKING:
    from agent_core.messages import FileDiff
    from agent_core.preview import FileLines
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.session_view import Call


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
            if preview.file is not None:
                app.files.taken(path)
            app.show_pane("dock")
            if app.panes.dock == "over":  # the draft is behind it: keys go where they are seen
                app.dock.focus()

    app.desk.do(read, show)


def call_result(call: Call) -> Result:
    """A tool call's result for the dock; one that was kept in a file is read from there.

    A command's result says how it ended before it says where its output is; any other begins with that.
    """
    is_command = call.name in (names.RUN_COMMAND, names.SHELL)
    spilled = find_note(call.text) if is_command or call.text.startswith(BLOCK_START) else None
    return Result(call.name, call.subject, call.text, call.ok, spilled)


def read_page(app: NanohermApp, name: str, page: int) -> None:
    """Give the dock a page of a kept output, or tell it why there is none."""

    def read() -> SpillPage | AgentError:
        try:
            return app.host.spill_page(name, page)
        except AgentError as error:
            return error

    def show(found: SpillPage | AgentError) -> None:
        if isinstance(found, AgentError):
            app.dock.page_failed(name, tell(found.code, found.params, found.text))
        else:
            app.dock.show_page(found)

    app.desk.do(read, show)


def copy_output(app: NanohermApp, name: str) -> None:
    """Copy all of a kept output."""
    app.desk.do(lambda: app.host.spill_text(name), lambda text: app.copy(clean(text)))


def read_unchanged(app: NanohermApp, change: FileDiff) -> None:
    """Give the dock the lines that a change left as they were, or tell it why they are not known."""
    view = app.view
    if view is None:
        return

    def read() -> FileLines | AgentError:
        try:
            return app.host.unchanged_lines(view.id, change.path, change.versions)
        except AgentError as error:
            return error

    def show(found: FileLines | AgentError) -> None:
        if isinstance(found, AgentError):
            app.dock.show_lines(change, None, tell(found.code, found.params, found.text))
        else:
            app.dock.show_lines(change, found)

    app.desk.do(read, show)
