"""The palette, and lists of one kind of thing: what is offered, and what choosing one does."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from agent_core.names import MODES
from nanoherm_tui import limits
from nanoherm_tui.actions import BY_ID
from nanoherm_tui.commands import run, snippets, typed
from nanoherm_tui.commands.sessions import open_by_id
from nanoherm_tui.commands.settings import choose_language, choose_mode, choose_theme
from nanoherm_tui.i18n import LANGUAGES, t
from nanoherm_tui.overlays.palette import PaletteItem, PaletteScreen, action_items
from nanoherm_tui.terminal.colours import AUTO

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp


def palette(app: NanohermApp, argument: str) -> None:
    def items() -> list[PaletteItem]:
        return [
            *action_items(app.keymap),
            *typed.items(app),
            *mode_items(app),
            *theme_items(app),
            *session_items(app),
            *language_items(),
        ]

    def known() -> None:
        if screen in app.screen_stack:
            screen.offer(items(), in_use(app))

    screen = choose(app, "", items(), in_use(app))
    typed.look(app, known)


def in_use(app: NanohermApp) -> frozenset[str]:
    """Ids of the items that stand for what is chosen now."""
    here = {f"theme:{app.themes.chosen}"}
    if app.view is not None:
        here |= {f"mode:{app.view.mode}", f"session:{app.view.id}"}
    return frozenset(here)


def mode_items(app: NanohermApp) -> list[PaletteItem]:
    modes = app.view.session.modes if app.view is not None else MODES
    return [PaletteItem(f"mode:{mode}", "mode", mode, t(f"modes.{mode}"), keywords="mode") for mode in modes]


def theme_items(app: NanohermApp) -> list[PaletteItem]:
    auto = PaletteItem(f"theme:{AUTO}", "theme", AUTO, t("themes.auto"), keywords="theme")
    return [auto, *(PaletteItem(f"theme:{name}", "theme", name, keywords="theme") for name in app.themes.all)]


def language_items() -> list[PaletteItem]:
    return [
        PaletteItem(f"language:{code}", "language", t(f"languages.{code}"), keywords=f"language {code}")
        for code in LANGUAGES
    ]


def session_items(app: NanohermApp) -> list[PaletteItem]:
    return [
        PaletteItem(f"session:{row.id}", "session", row.title or t("sessions.untitled"), row.workspace)
        for row in app.conversations.rows
    ]


def choose(
    app: NanohermApp, kind: str, items: list[PaletteItem], current: frozenset[str] = frozenset()
) -> PaletteScreen:
    """Offer `items`, or those of one kind; do what the chosen one stands for. Gives the list that is shown."""
    before = app.look.theme.name

    def chosen(item_id: str | None) -> None:
        if app.look.theme.name != before and item_id != f"theme:{app.look.theme.name}":
            app.theming.use(before)  # what was previewed goes when it was not chosen
        if item_id is None:
            app.composer.focus()
            return
        app.kept_look.chose(item_id)
        name, colon, value = item_id.partition(":")
        if colon:
            take = _TAKERS.get(name) or getattr(import_module("nanoherm_tui.commands.answering"), f"take_{name}")
            take(app, value)
        elif BY_ID[item_id].argument_required:
            app.composer.begin_command(BY_ID[item_id].slash)
        else:
            run(app, item_id)

    recent = app.kept_look.recent[: limits.RECENT_CHOICES]
    screen = PaletteScreen(items, kind=kind, recent=recent, current=current)
    app.open_overlay(screen, chosen)
    return screen


# What a palette item's id stands for, by what is before its colon; an action's id has none.
_TAKERS: dict[str, Callable[[NanohermApp, str], None]] = {
    "mode": choose_mode,
    "theme": choose_theme,
    "language": choose_language,
    "session": open_by_id,
    "typed": typed.take,
    "snippet": snippets.take,
}
