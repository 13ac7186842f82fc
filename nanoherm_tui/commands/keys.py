"""The editor of the keymap: what is changed is written to the user's config and counts with the next key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent_core.errors import AgentError
from nanoherm_tui.actions import BY_ID
from nanoherm_tui.i18n import series, t, tell
from nanoherm_tui.keymap import load_keymap
from nanoherm_tui.text import shorten_home, visible
from nanoherm_tui.words import key_changes

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.overlays.keys import KeysScreen


def show(app: NanohermApp, argument: str) -> None:
    """Open it; what is typed behind the command is looked for."""
    app.desk.do(lambda: problems(app), lambda wrong: _open(app, wrong, argument))


def problems(app: NanohermApp) -> tuple[str, ...]:
    """What is wrong with the config's `keymap`. Not on the screen's thread."""
    return key_changes.wrong_in(app.host.config, str(app.host.places.home))


def _open(app: NanohermApp, wrong: Sequence[str], query: str) -> None:
    from nanoherm_tui.overlays.keys import KeysScreen

    screen = KeysScreen(app.keymap, app.host.config.get("keymap"), wrong, query)
    screen.save = lambda keys: _save(app, screen, keys)
    screen.reset_all = lambda: _save(app, screen, None)
    screen.export = lambda: _export(app, screen)
    app.open_overlay(screen)


def _export(app: NanohermApp, screen: KeysScreen) -> None:
    app.copy(key_changes.as_yaml(app.keymap))
    screen.show(app.keymap, app.host.config.get("keymap"), [t("keys.exported")])


def _save(app: NanohermApp, screen: KeysScreen, keys: Mapping[str, Sequence[str] | None] | None) -> None:
    """Write the keys of actions, None for the default ones; instead of the mapping None: of all."""
    changes: dict[str, Any] = {"keymap": None}
    if keys is not None:
        written = {name: None if own is None else key_changes.written(own) for name, own in keys.items()}
        changes = {f"keymap.{name}": value for name, value in written.items()}

    def work() -> tuple[str, tuple[str, ...]]:
        failed = ""
        try:
            app.host.save_settings(changes)
        except AgentError as error:  # told in the editor itself: what is behind it is not seen
            failed = tell(error.code, error.params, error.text)
        return failed, problems(app)

    def done(result: tuple[str, tuple[str, ...]]) -> None:
        failed, wrong = result
        config = app.host.config.get("keymap")
        keymap, app.keymap_problems = load_keymap(config)
        app.use_keymap(keymap)
        file = visible(shorten_home(str(app.host.places.config_file), str(app.host.places.home)))
        if failed:
            screen.show(app.keymap, config, [failed, *wrong], wrong=True)
        elif keys is None:
            screen.show(app.keymap, config, [t("keys.all_default"), *wrong], wrong=bool(wrong))
        else:
            words = [t("keys.saved", file=file, action=t(BY_ID[name].title), keys=_names(app, name)) for name in keys]
            screen.show(app.keymap, config, [*words, *wrong], wrong=bool(wrong))

    app.desk.do(work, done)


def _names(app: NanohermApp, name: str) -> str:
    from nanoherm_tui.keymap import show as key_name

    return series(map(key_name, app.keymap.keys(name))) or "-"
