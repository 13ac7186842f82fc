"""What every action of the table does. Keys, palette and slash commands all end here."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import events, intents
from agent_core.errors import AgentError
from agent_core.names import MODES
from nanoherm_tui import interrupt, limits, terminal
from nanoherm_tui.actions import BY_ID
from nanoherm_tui.i18n import LANGUAGES, t
from nanoherm_tui.layout import Wish
from nanoherm_tui.overlays.confirm import ConfirmScreen
from nanoherm_tui.overlays.frame import Overlay
from nanoherm_tui.overlays.help import HelpScreen
from nanoherm_tui.overlays.palette import PaletteItem, PaletteScreen, action_items
from nanoherm_tui.overlays.setup import Provider, SetupScreen, SetupValues

if TYPE_CHECKING:
    from agent_core.store.sessions import SessionRow
    from nanoherm_tui.app import NanohermApp

_BEFORE_THE_CORE = frozenset({"interrupt", "quit", "redraw", "help", "toggle_dock", "toggle_sessions", "next_pane"})
"""What can be done in the moment between the first frame and the core's opening."""

SETUP_CODES = frozenset({"no_provider", "no_key", "unknown_provider", "auth", "network"})
"""Errors that the setup view can mend: with these a turn leads there instead of ending in words alone."""


def run(app: NanohermApp, action_id: str, argument: str = "") -> None:
    """Do what the action with this id does. `argument` is a slash command's, stripped."""
    if not app.ready and action_id not in _BEFORE_THE_CORE:
        return
    name, _, given = BY_ID[action_id].run.partition("(")
    _COMMANDS[name](app, argument or given.rstrip(")").strip("'"))


def needs_setup(app: NanohermApp, error: events.ErrorRaised) -> bool:
    """True when this error is better met by the setup view: nothing has ever been answered with this set-up."""
    if error.code not in SETUP_CODES:
        return False
    never_answered = all(view.usage.total_tokens is None for view in app.views.values())
    return error.code != "network" or never_answered


# -- panes and overlays -------------------------------------------------------------------------------------------


def palette(app: NanohermApp, argument: str) -> None:
    _choose(app, "", _palette_items(app))


def _palette_items(app: NanohermApp) -> list[PaletteItem]:
    return [
        *action_items(app.keymap),
        *_mode_items(app),
        *_theme_items(app),
        *_session_items(app),
        *_language_items(),
    ]


def _mode_items(app: NanohermApp) -> list[PaletteItem]:
    modes = app.view.session.modes if app.view is not None else MODES
    return [PaletteItem(f"mode:{mode}", "mode", mode, t(f"modes.{mode}"), keywords="mode") for mode in modes]


def _theme_items(app: NanohermApp) -> list[PaletteItem]:
    return [PaletteItem(f"theme:{name}", "theme", name, keywords="theme") for name in app.themes]


def _language_items() -> list[PaletteItem]:
    return [
        PaletteItem(f"language:{code}", "language", t(f"languages.{code}"), keywords=f"language {code}")
        for code in LANGUAGES
    ]


def _session_items(app: NanohermApp) -> list[PaletteItem]:
    return [PaletteItem(f"session:{row.id}", "session", row.title or t("sessions.untitled"), row.workspace)
            for row in app.rows]  # fmt: skip


def _choose(app: NanohermApp, kind: str, items: list[PaletteItem], current: str = "") -> None:
    before = app.look.theme.name

    def chosen(item_id: str | None) -> None:
        if app.look.theme.name != before and item_id != f"theme:{app.look.theme.name}":
            app.use_theme(before)  # what was previewed goes when it was not chosen
        if item_id is None:
            app.composer.focus()
            return
        app.recent = [item_id, *(i for i in app.recent if i != item_id)][: limits.RECENT_CHOICES]
        kind, colon, value = item_id.partition(":")
        if colon:
            _TAKERS[kind](app, value)
        else:
            run(app, item_id)

    app.open_overlay(PaletteScreen(items, kind=kind, recent=app.recent, current=current), chosen)


def show_help(app: NanohermApp, argument: str) -> None:
    app.open_overlay(HelpScreen(app.keymap, focused=_focused_context(app)))


def _focused_context(app: NanohermApp) -> str:
    for name, pane in (("transcript", app.transcript), ("sessions", app.sessions_pane), ("dock", app.dock)):
        if pane.has_focus:
            return name
    return "composer"


def toggle_sessions(app: NanohermApp, argument: str) -> None:
    show = app.panes.sessions == "hidden"
    over = Wish(sessions=show, dock=False if show and app.panes.dock == "over" else app.wish.dock)
    app.wish = over
    app.arrange()
    (app.sessions_pane if show else app.composer).focus()


def toggle_dock(app: NanohermApp, argument: str) -> None:
    show = app.panes.dock == "hidden"
    app.wish = Wish(sessions=False if show and app.panes.sessions == "over" else app.wish.sessions, dock=show)
    app.arrange()
    (app.dock if show else app.composer).focus()


def next_pane(app: NanohermApp, argument: str) -> None:
    panes = [app.composer, app.approval, app.transcript, app.dock, app.sessions_pane]
    shown = [p for p in panes if p.display and all(a.display for a in p.ancestors if hasattr(a, "display"))]
    here = next((i for i, p in enumerate(shown) if p.has_focus or p.has_focus_within), -1)
    shown[(here + 1) % len(shown)].focus()


def focus_pane(app: NanohermApp, name: str) -> None:
    if name == "sessions":
        app.wish = replace(app.wish, sessions=True)
    elif name == "dock":
        app.wish = replace(app.wish, dock=True)
    app.arrange()
    panes = {"sessions": app.sessions_pane, "transcript": app.transcript, "composer": app.composer, "dock": app.dock}
    panes[name].focus()


def details(app: NanohermApp, argument: str) -> None:
    app.transcript.toggle_details()


def show_plan(app: NanohermApp, argument: str) -> None:
    app.dock.show_tab("plan")
    if app.panes.dock == "hidden":
        app.wish = replace(app.wish, dock=True)
        app.arrange()


def show_diff(app: NanohermApp, argument: str) -> None:
    if app.view is not None:
        app.dock.show_diffs(app.view.diffs)
    if app.panes.dock == "hidden":
        app.wish = replace(app.wish, dock=True)
        app.arrange()


def redraw(app: NanohermApp, argument: str) -> None:
    app.refresh(layout=True)
    app.screen.refresh()


def suspend(app: NanohermApp, argument: str) -> None:
    with app.suspend():
        terminal.stop_process_group()
    redraw(app, "")


# -- stopping and leaving -----------------------------------------------------------------------------------------


def press_ctrl_c(app: NanohermApp, argument: str) -> None:
    """Ctrl+C: the table is in interrupt.py."""
    now, view = time.monotonic(), app.view
    selected = app.screen.get_selected_text() or app.composer.selected_text
    moment = interrupt.Moment(
        view.state if view is not None else "idle",
        now,
        *app.last_ctrl_c,
        selection=bool(selected),
        draft=not app.composer.is_empty,
    )
    step = interrupt.ctrl_c(moment)
    if step in ("hint", "quit") and isinstance(app.screen, Overlay):
        app.screen.action_close()
        step = "nothing"
    app.last_ctrl_c = now, step
    if step in ("stop", "abandon") and view is not None:
        view.session.send(intents.Interrupt(abandon=step == "abandon"))
    elif step == "copy":
        copy(app, selected or "")
    elif step == "clear_draft":
        app.composer.clear_to_history()
    elif step == "quit":
        app.exit(0)
    elif step == "hint":
        app.hint(t("app.again_to_quit", key="Ctrl+C"))


def press_escape(app: NanohermApp) -> None:
    """Esc outside an overlay: stop the turn, drop the selection, or back to the composer."""
    view = app.view
    if view is None:
        return
    moment = interrupt.Moment(view.state, time.monotonic(), selection=bool(app.screen.selections))
    step = interrupt.escape(moment)
    if step == "stop":
        view.session.send(intents.Interrupt())
    elif step == "clear_selection":
        app.screen.clear_selection()
    else:
        if not app.panes.transcript:
            app.wish = Wish(
                sessions=False if app.panes.sessions == "over" else app.wish.sessions,
                dock=False if app.panes.dock == "over" else app.wish.dock,
            )
            app.arrange()
        app.composer.focus()


def leave(app: NanohermApp, argument: str) -> None:
    app.exit(0)


# -- sessions -----------------------------------------------------------------------------------------------------


def new_session(app: NanohermApp, argument: str) -> None:
    app.desk.do(app.host.new, app.show_session)


def open_session(app: NanohermApp, title: str) -> None:
    if not title:
        _choose(app, "session", _session_items(app))
        return

    def found(row: SessionRow) -> None:
        open_by_id(app, row.id)

    app.desk.do(lambda: app.host.find(title), found)


def open_by_id(app: NanohermApp, session_id: str) -> None:
    live = app.host.live(session_id)
    if live is not None:
        app.show_session(live)
    else:
        app.desk.do(lambda: app.host.open(session_id), app.show_session)


def clear_session(app: NanohermApp, argument: str) -> None:
    view = app.view
    if view is None or not view.stored:
        return

    def sure(yes: bool | None) -> None:
        if yes:
            app.forget_session(view.id)
            app.desk.do(lambda: app.host.reset(view.id), app.show_session)

    app.open_overlay(ConfirmScreen(t("app.clear_title"), t("app.clear_text")), sure)


def delete_session(app: NanohermApp, argument: str) -> None:
    if app.view is not None:
        delete(app, app.view.id)


def delete(app: NanohermApp, session_id: str) -> None:
    view = app.views.get(session_id)
    title = next((row.title for row in app.rows if row.id == session_id), view.title if view else "")
    if view is not None and not view.stored:
        return

    def gone(_: None) -> None:
        app.reload_sessions()
        if app.view is not None and app.view.id == session_id:
            new_session(app, "")

    def sure(yes: bool | None) -> None:
        if yes:
            app.forget_session(session_id)
            app.desk.do(lambda: app.host.delete(session_id), gone)

    app.open_overlay(ConfirmScreen(t("app.delete_title", title=title), t("app.delete_text")), sure)


def rename_session(app: NanohermApp, title: str) -> None:
    if app.view is not None:
        app.view.session.send(intents.Rename(title))


def undo_turns(app: NanohermApp, argument: str) -> None:
    if app.view is None:
        return
    if argument and not (argument.isdecimal() and int(argument) > 0):
        app.tell("undo_number", t("app.undo_number", given=argument))
        return
    app.view.session.send(intents.Undo(int(argument or 1)))


def export_session(app: NanohermApp, argument: str) -> None:
    view = app.view
    if view is None or not view.stored:
        app.tell("nothing_to_export", t("app.nothing_to_export"))
        return
    target = Path(argument).expanduser() if argument else Path(f"{_slug(view.title)}.md")
    target = app.host.places.workspace / target

    def write() -> Path:
        text = app.host.export(view.id, "json" if target.suffix == ".json" else "markdown")
        return _write_new(target, text)

    app.desk.do(write, lambda path: app.tell("exported", t("app.exported", path=path), warning=False))


def _slug(title: str) -> str:
    return re.sub(r"[^\w]+", "-", title).strip("-")[:40] or "session"


def _write_new(path: Path, text: str) -> Path:
    """Write a file that does not exist yet, with a number in its name when one does. Raises AgentError."""
    for number in range(100):
        target = path if not number else path.with_stem(f"{path.stem}-{number}")
        try:
            with target.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            continue
        except OSError as error:
            words = f"{target}: {error.strerror}. Name another place: /export PATH."
            raise AgentError("export_failed", words) from error
        return target
    raise AgentError("export_failed", f"{path} and 99 numbered names exist. Name another: /export PATH.")


# -- settings of the session and of the program -------------------------------------------------------------------


def next_mode(app: NanohermApp, argument: str) -> None:
    if app.view is not None:
        modes = app.view.session.modes
        app.view.session.send(intents.SetMode(modes[(modes.index(app.view.mode) + 1) % len(modes)]))


def choose_mode(app: NanohermApp, name: str) -> None:
    if app.view is None:
        return
    mode = next((m for m in MODES if m == name), None)
    if not name:
        _choose(app, "mode", _mode_items(app), f"mode:{app.view.mode}")
    elif mode is None:
        app.tell("unknown_mode", t("app.unknown_mode", name=name, modes=", ".join(app.view.session.modes)))
    else:
        app.view.session.send(intents.SetMode(mode))


def plan_mode(app: NanohermApp, argument: str) -> None:
    choose_mode(app, "plan")


def choose_model(app: NanohermApp, name: str) -> None:
    if app.view is None:
        return
    if name:
        app.view.session.send(intents.SetModel(name))
        return
    endpoint = app.host.model.endpoint
    if endpoint is None:
        setup(app, "")
        return

    def models_known(names: tuple[str, ...]) -> None:
        if not names:
            app.tell("no_model_list", t("app.no_model_list", label=endpoint.label))
            return
        _choose(app, "model", [PaletteItem(f"model:{n}", "model", n) for n in names], f"model:{endpoint.model}")

    app.desk.do(lambda: app.host.model_health().models, models_known)


def choose_theme(app: NanohermApp, name: str) -> None:
    if not name:
        _choose(app, "theme", _theme_items(app), f"theme:{app.look.theme.name}")
    elif name not in app.themes:
        app.tell("unknown_theme", t("app.unknown_theme", name=name, themes=", ".join(app.themes)))
    else:
        app.use_theme(name)
        app.saved_theme = name
        app.desk.do(lambda: app.host.save_settings({"display.theme": name}))


def language(app: NanohermApp, choice: str) -> None:
    if choice not in (*LANGUAGES, "auto"):
        _choose(app, "language", _language_items())
        return
    app.use_language(choice)
    app.desk.do(lambda: app.host.save_settings({"display.language": choice}))


def setup(app: NanohermApp, problem: str) -> None:
    if any(isinstance(screen, SetupScreen) for screen in app.screen_stack):
        return
    from agent_core.llm.providers import PRESETS

    providers = [
        Provider(p.name, p.label, p.base_url, p.key_env[0] if p.key_env else "", p.needs_key, p.default_model)
        for p in PRESETS.values()
    ]
    endpoint = app.host.model.endpoint
    start = SetupValues(endpoint.provider, endpoint.base_url, "", endpoint.model) if endpoint is not None else None
    screen = SetupScreen(providers, problem=problem, start=start)

    def test(values: SetupValues) -> None:
        app.desk.do(
            lambda: app.host.test_setup(values.provider, values.key, values.model, values.base_url),
            lambda health: screen.show_result(health.ok, health.text),
        )

    def save(values: SetupValues) -> None:
        def saved(_: object) -> None:
            screen.dismiss()
            new_session(app, "")

        app.desk.do(lambda: app.host.save_setup(values.provider, values.key, values.model, values.base_url), saved)

    screen.on_test, screen.on_save = test, save
    app.open_overlay(screen)


# -- the clipboard ------------------------------------------------------------------------------------------------


def copy(app: NanohermApp, text: str) -> None:
    if text:
        app.copy_to_clipboard(text)
        app.screen.clear_selection()
        app.hint(t("app.copied", n=len(text)))


def copy_answer(app: NanohermApp, argument: str) -> None:
    if app.view is not None:
        copy(app, app.view.model.last_answer())


# What a palette item's id stands for, by what is before its colon; an action's id has none.
_TAKERS: dict[str, Callable[[NanohermApp, str], None]] = {
    "mode": choose_mode,
    "theme": choose_theme,
    "language": language,
    "session": open_by_id,
    "model": choose_model,
}

_COMMANDS: dict[str, Callable[[NanohermApp, str], None]] = {
    "palette": palette,
    "next_mode": next_mode,
    "help": show_help,
    "toggle_sessions": toggle_sessions,
    "toggle_dock": toggle_dock,
    "next_pane": next_pane,
    "focus_pane": focus_pane,
    "new_session": new_session,
    "details": details,
    "show_plan": show_plan,
    "redraw": redraw,
    "suspend": suspend,
    "interrupt": press_ctrl_c,
    "leave": leave,
    "clear_session": clear_session,
    "open_session": open_session,
    "choose_mode": choose_mode,
    "plan_mode": plan_mode,
    "choose_model": choose_model,
    "choose_theme": choose_theme,
    "language": language,
    "setup": setup,
    "undo_turns": undo_turns,
    "rename_session": rename_session,
    "delete_session": delete_session,
    "export_session": export_session,
    "copy_answer": copy_answer,
    "show_diff": show_diff,
}
