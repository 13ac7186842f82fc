"""Snippets: looked up anew each time somebody begins to write one, chosen from a list, put into the draft."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from agent_core.errors import StoreError
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.palette import PaletteItem
from nanoherm_tui.text import one_line, shorten_home

if TYPE_CHECKING:
    from agent_core.snippets import Snippets
    from nanoherm_tui.app import NanohermApp


def look(app: NanohermApp, then: Callable[[], None] = lambda: None) -> None:
    """Have the composer know what there is; files may have changed since the last time."""
    view = app.view
    if view is None:
        return

    def work() -> Snippets | None:
        try:
            return app.host.snippets(view.id)
        except StoreError:  # the session was closed meanwhile
            return None

    def known(found: Snippets | None) -> None:
        if app.view is not view or found is None:
            return
        for problem in found.problems:
            if problem.text not in app.typed_told:  # once of each
                app.typed_told.add(problem.text)
                app.conversations.tell(problem.code, problem.text, **problem.params)
        app.composer.snippets = found.all
        then()

    app.desk.do(work, known)


def insert(app: NanohermApp, name: str) -> None:
    """Put the snippet of this name at the caret; without one, or with an unknown one, show what there is."""
    look(app, lambda: _insert(app, name))


def _insert(app: NanohermApp, name: str) -> None:
    known = {one.name: one for one in app.composer.snippets}
    if name in known:
        app.composer.put_snippet(known[name])
    elif name:
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        words = t("snippets.unknown_nearest", name=name, nearest=near[0]) if near else t("snippets.unknown", name=name)
        app.hint(words)
    elif known:
        from nanoherm_tui.commands.choose import choose

        choose(app, "snippet", items(app))
    else:
        places = app.host.places
        path = shorten_home(str(places.data_home / "snippets.yaml"), str(places.home))
        app.hint(t("snippets.none", path=path))


def items(app: NanohermApp) -> list[PaletteItem]:
    return [
        PaletteItem(f"snippet:{one.name}", "snippet", one.name, one_line(one.text)) for one in app.composer.snippets
    ]


def take(app: NanohermApp, name: str) -> None:
    """One was chosen from the list."""
    app.composer.focus()
    _insert(app, name)
