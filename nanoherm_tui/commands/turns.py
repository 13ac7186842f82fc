"""What is said to a turn that runs, and turns that are said again, otherwise, or taken out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core import intents
from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.overlays.rewind import Rewound


def steer(app: NanohermApp, text: str) -> None:
    """Tell the turn at its next step; without one, begin one."""
    app.conversations.send(intents.Steer(text))


def queue(app: NanohermApp, text: str) -> None:
    """Say it when the turn has ended; without one, begin one."""
    app.conversations.send(intents.Queue(text))


def redirect(app: NanohermApp, text: str) -> None:
    """Cut the answer that is being written and go on with this; what was said so far stays."""
    app.conversations.send(intents.Redirect(text))


def retry(app: NanohermApp, argument: str) -> None:
    """The last turn once more, from its beginning."""
    app.conversations.send(intents.Retry())


def redo(app: NanohermApp, argument: str) -> None:
    """Put back what was taken out last."""
    app.conversations.send(intents.Redo())


def rewind(app: NanohermApp, argument: str) -> None:
    """Choose a message of one's own, to send another in its place or to take it out with all that followed."""
    view = app.view
    if view is None:
        return
    if view.session.busy:
        app.hint(t("rewind.busy"))
        return
    said = view.session.said()
    if not said:
        app.hint(t("rewind.empty"))
        return

    def chosen(choice: Rewound | None) -> None:
        if choice is None or app.view is not view:
            return
        if choice.how == "take_out":
            view.session.send(intents.Rewind(choice.message_id))
            app.hint(t("rewind.taken_out", command="/redo"))
            return
        text = next(one.text for one in said if one.id == choice.message_id)
        app.composer.write_instead(choice.message_id, text)

    from nanoherm_tui.overlays.rewind import RewindScreen

    app.open_overlay(RewindScreen(said), chosen)
