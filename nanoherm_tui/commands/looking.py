"""Looking in the dock at what stands in files: those of the workspace, and kept outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core import names
from agent_core.errors import AgentError
from agent_core.spill import BLOCK_START, SpillPage, find_note
from agent_core.text.kinds import IMAGE_NAMES
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.panes.image import Picture
from nanoherm_tui.panes.output import Result
from nanoherm_tui.panes.preview import Preview
from nanoherm_tui.text import clean

if TYPE_CHECKING:
    from agent_core.messages import FileDiff
    from agent_core.workspace.preview import FileLines
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.calls import Call


def preview(app: NanohermApp, path: str, first: int, last: int) -> None:
    """Show the file, or why it is not shown. `first` and `last`: the lines that matter; 0: none do."""
    view = app.view
    if view is None:
        return
    if path.lower().endswith(IMAGE_NAMES) and not first:
        app.files.taken(path)
        _show(app, Picture(path))
        return

    def read() -> Preview:
        try:
            return Preview(path, first, last, app.host.files.preview(view.id, path, first or 1))
        except AgentError as error:
            return Preview(path, first, last, problem=tell(error.code, error.params, error.text))

    def show(preview: Preview) -> None:
        if app.view is view:
            if preview.file is not None:
                app.files.taken(path)
            _show(app, preview)

    app.desk.do(read, show)


def open_call(app: NanohermApp, call_id: str, words: str = "") -> None:
    """Show a tool call's result, or its changes, in the dock, at `words` where they stand there.

    A hit of the search may stand in what the tool was asked, which the dock shows of changes alone: that is told.
    """
    if app.view is None:
        return
    calls = app.conversations.looks.calls
    shown = (app.view.calls if calls is None else calls).get(call_id)
    if shown is None:
        return
    if is_image_read(shown):
        preview(app, shown.subject, 0, 0)
        return
    question = app.approval.current
    if question is not None and question.diffs and question.call_id == call_id:
        app.dock.show_tab("diff")  # where its changes wait for the answer
    elif shown.diffs:
        app.dock.show_diffs(shown.diffs)
    else:
        app.dock.show_result(call_result(shown))
    app.show_pane("dock")
    if words:
        app.dock.look_for(words, lambda: app.hint(t("search.in_call", tool=clean(shown.name))))


def show_kept(app: NanohermApp, name: str, words: str) -> None:
    """Show the image of a chip. `words`: its name, size and kind."""
    if app.view is not None:
        _show(app, Picture(words.rsplit(" ", 2)[0], name))


def _show(app: NanohermApp, preview: Preview | Picture) -> None:
    app.dock.show_preview(preview)
    app.show_pane("dock")
    if app.panes.dock == "over":  # the draft is behind it: keys go where they are seen
        app.dock.focus()


def draw(app: NanohermApp, picture: Picture, columns: int, rows: int) -> None:
    """Give the dock an image in so many cells, or tell it why there is none."""
    view = app.view
    if view is None:
        return
    ground = app.look.theme.colour("panel").removeprefix("#")
    ground = ground if len(ground) == 6 else "000000"  # an ansi theme: it is told of in words

    def work() -> Picture:
        try:
            if not picture.kept:
                return replace(picture, drawing=app.host.files.draw(view.id, picture.path, columns, rows, ground))
            return replace(picture, drawing=app.host.images.draw(picture.kept, picture.path, columns, rows, ground))
        except AgentError as error:
            return replace(picture, drawing=None, problem=tell(error.code, error.params, error.text))

    def show(drawn: Picture) -> None:
        if app.view is view:
            app.dock.show_drawing(drawn)

    app.desk.do_beside(work, show)


def is_image_read(call: Call) -> bool:
    """Whether a call has read an image: that is looked at rather than what the model was told of it."""
    return call.name == names.READ_FILE and call.ok and call.text.startswith("[image ")


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
            return app.host.files.spill_page(name, page)
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
    app.desk.do(lambda: app.host.files.spill_text(name), lambda text: app.copy(clean(text)))


def read_unchanged(app: NanohermApp, change: FileDiff) -> None:
    """Give the dock the lines that a change left as they were, or tell it why they are not known."""
    view = app.view
    if view is None:
        return

    def read() -> FileLines | AgentError:
        try:
            return app.host.files.unchanged_lines(view.id, change.path, change.versions)
        except AgentError as error:
            return error

    def show(found: FileLines | AgentError) -> None:
        if isinstance(found, AgentError):
            app.dock.show_lines(change, None, tell(found.code, found.params, found.text))
        else:
            app.dock.show_lines(change, found)

    app.desk.do(read, show)
