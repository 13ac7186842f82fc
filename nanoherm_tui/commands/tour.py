"""The tour: shown at the very first start and with /tour, left with Esc, by writing, or when something is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui.panes.tour import TourCard

if TYPE_CHECKING:
    from textual import events

    from nanoherm_tui.app import NanohermApp


def show(app: NanohermApp, argument: str) -> None:
    """Begin, from the first card on."""
    leave(app)
    fresh = app.view is not None and not app.view.stored
    app.tour = TourCard(app.keymap, demo=app.host.model.state.demo and fresh)
    app.query_one("#main").mount(app.tour, before=app.composer)
    app.composer.guide = lambda event: take_key(app, event)


def leave(app: NanohermApp) -> None:
    if app.tour is not None:
        app.tour.remove()
        app.tour = app.composer.guide = None


def go_on(app: NanohermApp) -> None:
    """To the next card; behind the last one there is the end."""
    if app.tour is not None:
        if app.tour.is_last:
            leave(app)
        else:
            app.tour.go_on()


def take_key(app: NanohermApp, event: events.Key) -> bool:
    """Look at a key of the composer's first. True: it was for the tour.

    Tab goes on and Esc leaves; what writes or sends leaves too and goes its way; what leads somewhere is tried.
    """
    runs = app.view is not None and app.view.session.busy
    if event.key == "tab" and not (runs and not app.composer.is_empty):  # there it queues
        go_on(app)
        return True
    if event.key == "escape":
        leave(app)
        return not runs  # a turn that runs is stopped by it all the same
    if event.is_printable or event.key in ("enter", "backspace", "delete"):
        leave(app)
    return False
