"""Which tools the model is offered in this session: chosen from a list, or typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.desk.options import tools_off
from agent_core.toolsets import SHOWN, in_order, tools_named, tools_of
from nanoherm_tui.commands.answering import CONFIGURED, set_option
from nanoherm_tui.i18n import series, t

if TYPE_CHECKING:
    from agent_core.desk.tool_list import ToolEntry
    from nanoherm_tui.app import NanohermApp


def show(app: NanohermApp, argument: str) -> None:
    """Open the list, or do what is typed: "off web", "on git_commit todo", "default"."""
    if app.view is None:
        return
    word, *rest = argument.split() or [""]
    if not word:
        view = app.view.id
        app.desk.do(lambda: app.host.tools(view), lambda entries: _open(app, entries))
    elif word == CONFIGURED and not rest:
        _set(app, None, t("app.as_configured"))
    elif word in ("on", "off") and rest:
        _switch(app, word == "on", rest)
    else:
        app.conversations.tell("tools_usage", t("tools.usage"))


def off_now(app: NanohermApp) -> frozenset[str]:
    """The tools that are switched off in the session in view."""
    chosen = app.view.options.tools_off if app.view is not None else None
    return _configured(app) if chosen is None else frozenset(chosen)


def _configured(app: NanohermApp) -> frozenset[str]:
    return tools_named(tools_off(app.host.config))


def _open(app: NanohermApp, entries: tuple[ToolEntry, ...]) -> None:
    from nanoherm_tui.overlays.tools import ToolsScreen

    screen = ToolsScreen(entries, off_now(app), _configured(app))
    screen.switch = lambda off: _set(app, off)
    app.open_overlay(screen)


def _switch(app: NanohermApp, on: bool, names: list[str]) -> None:
    unknown = next((name for name in names if not tools_of(name.lower())), "")
    if unknown:
        there = series(one.name for one in SHOWN)
        app.conversations.tell("no_such_tool", t("tools.unknown", name=unknown, names=there))
        return
    tools = tools_named(names)
    off = off_now(app) - tools if on else off_now(app) | tools
    _set(app, off, series(in_order(off)) or t("tools.none_off"))


def _set(app: NanohermApp, off: frozenset[str] | None, told: str = "") -> None:
    set_option(app, t("tools.off_are", tools=told) if told else "", tools_off=None if off is None else in_order(off))
