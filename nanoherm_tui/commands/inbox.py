"""The inbox: the questions that wait in any session, and the way to each of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agent_core import intents
from nanoherm_tui.commands.panes import focus_pane
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.inbox import Asked, InboxScreen
from nanoherm_tui.text import one_line

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.session_view import SessionView


def show(app: NanohermApp, argument: str) -> None:
    """Open the list, if anything waits."""
    views = app.conversations.views
    if not app.conversations.questions:
        app.hint(t("app.nothing_asked"))
        return

    def refuse(asked: Sequence[Asked]) -> None:
        for one in asked:
            if (view := views.get(one.session)) is not None:
                view.session.send(intents.Answer(one.question.id, "refuse"))

    screen = InboxScreen(lambda: waiting(views.values()), time.time)
    screen.refuse = refuse
    app.open_overlay(screen, lambda asked: go(app, asked) if asked is not None else None)


def waiting(views: Iterable[SessionView]) -> list[Asked]:
    """What waits, session by session: the one whose time is over first comes first, as do its questions."""
    found = [
        [Asked(view.id, one_line(view.title) or t("inbox.untitled"), one.question, one.deadline)
         for one in sorted(view.waiting, key=lambda one: one.deadline)]
        for view in views if view.waiting
    ]  # fmt: skip
    return [one for group in sorted(found, key=lambda group: group[0].deadline) for one in group]


def go(app: NanohermApp, asked: Asked) -> None:
    """Bring the session to the front, and this question of it; it is answered there, after a while without keys."""
    view = app.conversations.views.get(asked.session)
    if view is None:
        return
    if view is not app.view:
        app.conversations.show(view.session)
    else:
        focus_pane(app, "composer")
    app.approval.bring(asked.question.id)
