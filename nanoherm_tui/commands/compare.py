"""Two sessions side by side: which are meant, reading them, and opening one of them at the place that was looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui.commands.sessions import open_by_id
from nanoherm_tui.compared import Both, names_in, which_two
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.compare import CompareScreen, Place

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.transcript.pairs import Aligned
    from nanoherm_tui.words.compare import Facts


def compare(app: NanohermApp, argument: str) -> None:
    """The sessions with these titles or ids, the one in view and another, or the one in view and its fork's origin.

    With none of that, another one is asked for.
    """
    here = app.view.id if app.view is not None else ""
    names = names_in(argument)
    if not names and not (app.view is not None and app.view.stored):
        app.hint(t("compare.name_two"))
        return

    def which() -> Both | None:
        return which_two(app.host, here, names)

    def known(both: Both | None) -> None:
        if both is None:
            _offer(app, here)
        else:
            side_by_side(app, both)

    app.desk.do(which, known)


def _offer(app: NanohermApp, here: str) -> None:
    from nanoherm_tui.commands.choose import session_items
    from nanoherm_tui.overlays.palette import PaletteScreen

    items = [item for item in session_items(app) if item.id != f"session:{here}"]
    if not items:
        app.hint(t("compare.nothing"))
        return

    def chosen(item_id: str | None) -> None:
        if item_id is not None:
            side_by_side(app, (here, item_id.partition(":")[2]))

    app.open_overlay(PaletteScreen(items, kind="session"), chosen)


def side_by_side(app: NanohermApp, both: Both) -> None:
    """Read two sessions beside whatever else is done, then show them."""
    if both[0] == both[1]:
        app.hint(t("compare.same"))
        return

    def read() -> tuple[tuple[Facts, Facts], Aligned]:
        from agent_core.store.compare import compare as read_both
        from nanoherm_tui.transcript.pairs import align
        from nanoherm_tui.words.compare import facts

        comparison = read_both(app.host.store, *both)
        aligned = align(comparison.left.messages, comparison.right.messages, comparison.equal)
        return (facts(comparison, 0), facts(comparison, 1)), aligned

    def show(found: tuple[tuple[Facts, Facts], Aligned]) -> None:
        app.hint("")
        app.open_overlay(CompareScreen(*found), opened)

    def opened(place: Place | None) -> None:
        if place is None:
            return
        session_id, entry = place
        if entry:
            app.conversations.jump(session_id, (entry,), "")
        open_by_id(app, session_id)

    app.hint(t("compare.reading"))
    app.desk.do_beside(read, show)


def tell_marked(app: NanohermApp, session_id: str) -> None:
    """A session was marked in the list, or the mark was taken away again: say what the next key does."""
    title = next((row.title for row in app.conversations.rows if row.id == session_id), "")
    words = t("compare.marked", title=title or t("sessions.untitled")) if session_id else t("compare.unmarked")
    app.hint(words)
