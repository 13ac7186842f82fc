"""What is typed behind a slash and becomes a message: commands of one's own, skills, prompts of servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_core.errors import AgentError
from nanoherm_tui.actions import BY_SLASH
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.palette import PaletteItem
from nanoherm_tui.overlays.slash import about, place_of

if TYPE_CHECKING:
    from agent_core.desk.typed_commands import TypedList
    from nanoherm_tui.app import NanohermApp


def look(app: NanohermApp, then: Callable[[], None] = lambda: None) -> None:
    """Have the composer know what can be typed in the session in view; files may have changed since the last time."""
    view = app.view
    if view is None:  # the composer asks again with the first session
        return

    def work() -> TypedList:
        from agent_core.desk.typed_commands import TypedList

        try:
            return app.host.typed(view.id)
        except AgentError as error:  # the program's own commands work all the same
            return TypedList(problems=(error,))

    def known(found: TypedList) -> None:
        if app.view is not view:
            return
        app.composer.typed = found.all
        _tell_problems(app, found)
        then()

    app.desk.do(work, known)


def _tell_problems(app: NanohermApp, found: TypedList) -> None:
    """Say once of each file why it is no command, and which ones a command of the program hides."""
    for problem in found.problems:
        if problem.text not in app.typed_told:
            app.typed_told.add(problem.text)
            app.conversations.tell(problem.code, problem.text, **problem.params)
    for one in found.all:
        if one.path and one.name.lower() in BY_SLASH and one.path not in app.typed_told:
            app.typed_told.add(one.path)
            app.conversations.tell("command_clash", t("typed.clash", path=one.path, name=one.name))


def items(app: NanohermApp) -> list[PaletteItem]:
    """Those that are known, for the palette."""
    return [
        PaletteItem(f"typed:{one.name}", "typed", f"/{one.name}", about(one), place_of(one), keywords=one.kind)
        for one in app.composer.typed
        if one.name.lower() not in BY_SLASH
    ]


def take(app: NanohermApp, name: str) -> None:
    """One was chosen: it is sent, or written when something may follow."""
    one = next((one for one in app.composer.typed if one.name == name), None)
    if one is None or one.hint:
        app.composer.begin_command(name)
    else:
        app.composer.post_message(app.composer.Submitted(f"/{name}", "send"))
        app.composer.focus()
