"""The settings page: what holds, changed in the user's config, and at once where the screen itself is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_core.errors import AgentError
from nanoherm_tui import symbols
from nanoherm_tui.commands import run
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.setting_values import choices
from nanoherm_tui.theming import safe_diffs

if TYPE_CHECKING:
    from agent_core.config.settings import Setting
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.overlays.settings import SettingsScreen

_MODEL = ("model.", "fallback")
"""Settings that decide which model new sessions ask."""


def show(app: NanohermApp, argument: str) -> None:
    """Open it; what is typed behind the command is looked for."""
    app.desk.do(app.host.look_at_settings, lambda found: _open(app, found, argument))


def _open(app: NanohermApp, found: tuple[Setting, ...], query: str) -> None:
    from nanoherm_tui.overlays.settings import SettingsScreen

    screen = SettingsScreen(found, str(app.host.places.home), query, lambda key: choices(key, app.themes.all))
    screen.save = lambda name, value: _save(app, screen, name, value)
    screen.edit_keys = lambda: run(app, "keys")
    app.open_overlay(screen)


def _save(app: NanohermApp, screen: SettingsScreen, name: str, value: Any) -> None:
    from nanoherm_tui.overlays.settings import acts, origin, value_words

    home, ours = str(app.host.places.home), str(app.host.places.config_file)

    def work() -> tuple[tuple[Setting, ...], str]:
        problem = ""
        try:
            app.host.save_settings({name: value})
            if name.startswith(_MODEL):
                app.host.look_again()
        except AgentError as error:  # told in the page itself: what is behind it is not seen
            problem = tell(error.code, error.params, error.text)
        return app.host.look_at_settings(), problem

    def done(result: tuple[tuple[Setting, ...], str]) -> None:
        found, problem = result
        one = next(one for one in found if one.key.name == name)
        if problem:
            screen.show(found, problem, wrong=True)
            return
        _act(app, name, one.value)
        if value is None and one.is_default:
            words = t("settings.is_default", key=name, value=value_words(one), acts=acts(one.key))
        elif one.source != ours:
            words = t("settings.overruled", key=name, value=value_words(one), origin=origin(one, home))
        else:
            place = origin(one, home)
            words = t("settings.saved", place=place, key=name, value=value_words(one), acts=acts(one.key))
        screen.show(found, words, wrong=value is not None and one.source != ours)

    app.desk.do(work, done)


def _act(app: NanohermApp, name: str, value: Any) -> None:
    """What is the screen's own acts at once."""
    if name == "display.theme" and app.themes.theme(value) is not None:
        app.theming.use(value)
        app.themes.choose(value)
    elif name == "display.language":
        app.use_language(value)
    elif name == "display.ascii":
        symbols.set_ascii(True if value else None)
    elif name == "display.composer_keys":
        app.composer.vim = value == "vim"
    elif name == "display.reduced_motion":
        symbols.set_reduced_motion(value)
    elif name == "display.diff_colours":
        safe_diffs.use(value)
        app.theming.reload()
    elif name == "display.fps":
        app.use_frame_rate(value)
    elif name == "display.hints":
        app.remarks.on = value
    elif name in ("display.notify", "display.notify_after", "display.title"):
        app.conversations.attention.use(name, value)
    if name.startswith("display."):
        app.refresh_look()
        for screen in app.screen_stack[1:]:
            if hasattr(screen, "refresh_look"):
                screen.refresh_look()
