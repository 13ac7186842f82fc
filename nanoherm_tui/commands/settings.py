"""The mode of the session, and settings of the program: theme, language, the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core import events, intents
from agent_core.errors import AgentError
from agent_core.names import MODES
from nanoherm_tui import symbols
from nanoherm_tui.i18n import LANGUAGES, series, t, tell
from nanoherm_tui.terminal.colours import AUTO
from nanoherm_tui.words.setup import told

if TYPE_CHECKING:
    from agent_core.names import Mode
    from agent_core.session.live import LiveSession
    from nanoherm_tui.app import NanohermApp

SETUP_CODES = frozenset({"no_provider", "no_key", "unknown_provider", "auth", "network"})
"""Errors that the setup view can mend: with these a turn leads there instead of ending in words alone."""


def needs_setup(app: NanohermApp, error: events.ErrorRaised) -> bool:
    """True when this error is better met by the setup view.

    A network that fails is, as long as nothing has been answered in any session that is open, and nobody types. One of
    another provider that only the config knows is not: that view could not mend it.
    """
    if error.code not in SETUP_CODES:
        return False
    provider, endpoint = str(error.params.get("provider", "")), app.host.model.state.endpoint
    if endpoint is not None and error.code != "unknown_provider":
        ours = provider in ("", endpoint.provider, endpoint.label)
        if not ours and _preset_name(provider) is None:
            return False
    views = app.conversations.views.values()
    answered = any(view.usage.total_tokens is not None or view.model.last_answer() for view in views)
    return error.code != "network" or not (answered or app.composer.text)


# -- the session --------------------------------------------------------------------------------------------------


def next_mode(app: NanohermApp, argument: str) -> None:
    if app.view is not None:
        modes, now = app.view.session.modes, app.view.mode_in_turn
        set_mode(app, modes[(modes.index(now) + 1) % len(modes)] if now in modes else modes[0])


def set_mode(app: NanohermApp, mode: Mode, *, confirmed: bool = False) -> None:
    """Ask the session in view for this mode; it may want a person's word first."""
    if app.view is not None:
        app.view.asked_mode = mode
        app.view.session.send(intents.SetMode(mode, confirmed))


def choose_mode(app: NanohermApp, name: str) -> None:
    if app.view is None:
        return
    mode = next((m for m in MODES if m == name), None)
    if not name:
        _choose(app, "mode")
    elif mode is None:
        app.conversations.tell("unknown_mode", t("app.unknown_mode", name=name, modes=series(app.view.session.modes)))
    else:
        set_mode(app, mode)


def _choose(app: NanohermApp, kind: str) -> None:
    from nanoherm_tui.commands import choose

    items = {"mode": choose.mode_items, "theme": choose.theme_items}.get(kind)
    choose.choose(app, kind, items(app) if items else choose.language_items(), choose.in_use(app))


def plan_mode(app: NanohermApp, argument: str) -> None:
    choose_mode(app, "plan")


def goal(app: NanohermApp, text: str) -> None:
    """Work towards a goal, give it up ("off"), or say what it is."""
    if app.view is None:
        return
    if not text:
        app.hint(t("app.goal_is", goal=app.view.goal) if app.view.goal else t("app.no_goal"))
    elif text.lower() in ("off", "none"):
        app.view.session.send(intents.SetGoal(""))
    else:
        app.view.session.send(intents.SetGoal(text))
        app.transcript.action_end()


# -- the program --------------------------------------------------------------------------------------------------


def choose_theme(app: NanohermApp, name: str) -> None:
    if not name:
        _choose(app, "theme")
    elif app.themes.theme(name) is None:
        app.conversations.tell(
            "unknown_theme", t("app.unknown_theme", name=name, themes=series([AUTO, *app.themes.all]))
        )
    else:
        app.theming.use(name)
        app.themes.choose(name)
        app.desk.do(lambda: app.host.save_settings({"display.theme": name}))


def choose_language(app: NanohermApp, choice: str) -> None:
    if choice not in (*LANGUAGES, "auto"):
        _choose(app, "language")
        return
    app.use_language(choice)
    app.desk.do(lambda: app.host.save_settings({"display.language": choice}))


def toggle_ascii(app: NanohermApp, argument: str) -> None:
    on = not symbols.ascii_is_forced()
    symbols.set_ascii(True if on else None)
    app.refresh_look()
    app.desk.do(lambda: app.host.save_settings({"display.ascii": on}))


def toggle_motion(app: NanohermApp, argument: str) -> None:
    on = not symbols.motion_is_reduced()
    symbols.set_reduced_motion(on)
    app.refresh_look()
    app.desk.do(lambda: app.host.save_settings({"display.reduced_motion": on}))


def _preset_name(provider: str) -> str | None:
    """The preset of this name or label, as an error names it."""
    from agent_core.llm.providers import PRESETS

    return next((p.name for p in PRESETS.values() if provider and provider in (p.name, p.label)), None)


def setup(app: NanohermApp, problem: str, provider: str = "") -> None:
    """Open the setup view. `problem`: why it opens by itself; `provider`: whose that is, by name or label."""
    from agent_core.llm.providers import PRESETS
    from nanoherm_tui.overlays.setup import Provider, SetupScreen, SetupValues

    if any(isinstance(screen, SetupScreen) for screen in app.screen_stack):
        return
    providers = [
        Provider(p.name, p.label, p.base_url, p.key_env[0] if p.key_env else "", p.needs_key, p.default_model)
        for p in PRESETS.values()
    ]
    endpoint = app.host.model.state.endpoint
    start, failed = None, _preset_name(provider)
    if failed is not None and (endpoint is None or failed != endpoint.provider):
        start = SetupValues(failed, "", "", "")
    elif endpoint is not None:  # one that only the config knows is a custom server here
        name = endpoint.provider if endpoint.provider in PRESETS else "custom"
        start = SetupValues(name, endpoint.base_url, "", endpoint.model)
    screen = SetupScreen(providers, problem=problem, start=start)

    def test(values: SetupValues) -> None:
        app.desk.do(
            lambda: app.host.model.try_out(values.provider, values.key, values.model, values.base_url),
            lambda health: screen.show_result(health.ok, told(health)),
        )

    def save(values: SetupValues) -> None:
        def saved(error: AgentError | None) -> None:
            if error is not None:
                screen.show_result(False, tell(error.code, error.params, error.text))
                return
            screen.dismiss()

            def begin(session: LiveSession) -> None:
                draft, app.composer.text = app.composer.text, ""
                app.conversations.show(session)
                if draft:  # what was to be said when there was no model to hear it
                    app.composer.bring_back(draft)

            app.conversations.bring(app.host.new, begin)

        def work() -> AgentError | None:
            try:
                app.host.save_setup(values.provider, values.key, values.model, values.base_url)
            except AgentError as error:  # told in the view itself: what is behind it is not seen
                return error
            return None

        app.desk.do(work, saved)

    screen.on_test, screen.on_save = test, save
    app.open_overlay(screen)
