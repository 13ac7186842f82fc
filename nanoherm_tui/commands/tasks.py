"""Commands in the background: looking at them, ending them, letting them outlive the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core import intents
from agent_core.errors import AgentError
from nanoherm_tui.commands.panes import focus_pane
from nanoherm_tui.i18n import tell
from nanoherm_tui.panes.task_output import Piece

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp


def show(app: NanohermApp, argument: str) -> None:
    """Bring the dock's tab to the front; the keys that end and keep are there."""
    app.dock.show_tab("tasks")
    focus_pane(app, "dock")


def kill(app: NanohermApp, task_id: str) -> None:
    app.conversations.send(intents.KillTask(task_id))


def keep(app: NanohermApp, task_id: str, wanted: bool) -> None:
    app.conversations.send(intents.KeepTask(task_id, wanted))


def read_output(app: NanohermApp, task_id: str, start: int, end: int) -> None:
    """Give the dock a task's output from byte `start` up to byte `end`, or tell it why there is none."""
    view = app.view
    if view is None:
        return

    def read() -> Piece | AgentError:
        first, at, texts = None, start, []
        try:
            while at < end:
                got = app.host.tasks.output(view.id, task_id, at, end - at)
                first = got.start if first is None else first
                over = max(0, got.next - end)  # no character is given in parts: of the last one there may be more
                texts.append(got.text.encode()[:-over].decode(errors="ignore") if over else got.text)
                if got.next <= at:
                    break
                at = min(got.next, end)
        except AgentError as error:
            return error
        return Piece(start if first is None else first, at, "".join(texts))

    def come(found: Piece | AgentError) -> None:
        if app.view is not view:
            return
        if isinstance(found, AgentError):
            app.dock.output_failed(task_id, tell(found.code, found.params, found.text))
        else:
            app.dock.show_output(task_id, found)

    app.desk.do(read, come)
