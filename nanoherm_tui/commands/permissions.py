"""What is allowed and what was decided: shown, taken back and given again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui.overlays.permissions import PermissionsScreen
from nanoherm_tui.words.permissions import Section, sections

if TYPE_CHECKING:
    from agent_core.desk.permissions import Allowed
    from nanoherm_tui.app import NanohermApp


def show(app: NanohermApp, argument: str) -> None:
    """Open the list; what is taken back there acts on the next call."""
    view = app.view
    if view is None:
        return
    session = view.id

    def look() -> list[Section]:
        return sections(app.host.permissions(session), str(app.host.places.home))

    def open_list(found: list[Section]) -> None:
        screen = PermissionsScreen(found)

        def change(allowed: Allowed, given: bool) -> None:
            do = app.host.give_back if given else app.host.take_back
            app.desk.do(lambda: do(session, allowed), lambda _: app.look_at_containment())
            app.desk.do(look, screen.show)  # also when it could not be changed: the list says what is

        screen.take_back = lambda allowed: change(allowed, False)
        screen.give_back = lambda allowed: change(allowed, True)
        app.open_overlay(screen)

    app.desk.do(look, open_list)
