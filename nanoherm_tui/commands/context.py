"""What fills the model's window: looking at it, making it less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core import intents
from nanoherm_tui.commands.panes import focus_pane
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.output import Result
from nanoherm_tui.words.context import item_name

if TYPE_CHECKING:
    from agent_core.messages import Message, View
    from agent_core.mind.context import Item, Report
    from nanoherm_tui.app import NanohermApp


def show(app: NanohermApp, argument: str) -> None:
    """Bring the dock's tab to the front; the keys that drop and pin are there."""
    app.dock.show_tab("context")
    focus_pane(app, "dock")


def compact(app: NanohermApp, focus: str) -> None:
    """Have the older part of the conversation summarised; `focus` says what the summary should keep above all."""
    if app.conversations.send(intents.Compact(focus)) and app.view is not None and app.view.session.busy:
        app.hint(t("context.later"))


def report(app: NanohermApp) -> None:
    """Give the dock what fills the window of the session in view."""
    view = app.view
    if view is None:
        app.dock.show_context(None)
        return

    def come(report: Report) -> None:
        if app.view is view:
            app.dock.show_context(report)
        else:
            app.dock.show_context(None)
            app.dock.context_changed()

    app.desk.do(view.session.context, come)


def set_view(app: NanohermApp, message_id: str, wanted: View) -> None:
    app.conversations.send(intents.SetView((message_id,), wanted))


def open_item(app: NanohermApp, item: Item) -> None:
    """Show a message whole: a tool's as its card does, others as text."""
    view = app.view
    if view is None:
        return
    if item.call_id in view.calls:
        from nanoherm_tui.commands.looking import open_call

        open_call(app, item.call_id)
        return

    def come(message: Message | None) -> None:
        if message is not None and app.view is view:
            app.dock.show_result(Result(item_name(item), "", message.text, True))
            app.show_pane("dock")

    app.desk.do(lambda: view.session.message(item.message_id), come)
