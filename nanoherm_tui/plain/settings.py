"""Commands about how the session works and what the program does by default. Each is a function of the face."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent_core import intents
from agent_core.config import settings as config_settings
from agent_core.desk.options import tools_off
from agent_core.errors import AgentError
from agent_core.names import EFFORTS, MODES
from agent_core.toolsets import SHOWN, in_order, tools_named, tools_of
from nanoherm_tui import i18n
from nanoherm_tui.i18n import LANGUAGES, series, t
from nanoherm_tui.plain import consents
from nanoherm_tui.plain.words import head, mode_line, options_line
from nanoherm_tui.text import count, one_line, visible

if TYPE_CHECKING:
    from agent_core.config.settings import Setting
    from agent_core.desk.models import Listed
    from agent_core.desk.tool_list import ToolEntry
    from nanoherm_tui.plain.face import Face

CONFIGURED = "default"
"""What is typed for "as the config says"."""


def mode(face: Face, name: str) -> None:
    modes = face.session.modes
    wanted = next((one for one in MODES if one == name), None)
    if not name:
        face.say(mode_line(face.view.mode), *(f"  /mode {one}  {t(f'modes.{one}')}" for one in modes))
    elif wanted is None:
        face.say(t("app.unknown_mode", name=visible(name), modes=series(modes)))
    else:
        face.session.send(intents.SetMode(wanted))


def plan_mode(face: Face, argument: str) -> None:
    mode(face, "plan")


def goal(face: Face, text: str) -> None:
    """Work until this is reached; `off` gives it up; without a word, what it is."""
    if text:
        face.session.send(intents.SetGoal("" if text == "off" else text))
    elif face.view.goal:
        face.say(t("app.goal_is", goal=one_line(face.view.goal)))
    else:
        face.say(t("app.no_goal"))


def compact(face: Face, focus: str) -> None:
    face.session.send(intents.Compact(focus))
    if face.session.busy:
        face.say(t("context.later"))


def trust(face: Face, argument: str) -> None:
    consents.show_trust(face)


def no_sandbox(face: Face, argument: str) -> None:
    consents.no_sandbox(face)


# -- who answers, and how ---------------------------------------------------------------------------------------------


def model(face: Face, name: str) -> None:
    """Set the model; without a name, the present one and those that can be had."""
    if name:
        face.session.send(intents.SetModel("" if name == CONFIGURED else name))
        return
    face.say(t("plain.model", model=one_line(face.view.model_label)))

    def listed(found: Sequence[Listed]) -> None:
        for one in found:
            if one.models:
                face.say(
                    head(one_line(one.label)), *(f"  /model {one.provider}/{visible(name)}" for name in one.models)
                )
            else:
                face.say(t("app.no_model_list", label=one_line(one.label)))

    face.beside(face.host.models.listed, listed)


def persona(face: Face, name: str) -> None:
    if name:
        _set(face, persona="" if name == "none" else name)
        return
    face.say(options_line(face.view.options))
    own = face.host.get_settings().get("personalities")
    for one, text in face.host.personas().items():
        face.say(f"  /persona {visible(one)}  {one_line(text) if one in own else t(f'personas.{one}')}")


def temperature(face: Face, figure: str) -> None:
    if not figure:
        face.say(options_line(face.view.options))
        return
    try:
        value = None if figure in (CONFIGURED, "off") else float(figure)
    except ValueError:
        value = -1.0  # the session says what is allowed
    _set(face, temperature=value)


def effort(face: Face, level: str) -> None:
    if not level:
        face.say(options_line(face.view.options), *(f"  /effort {one}" for one in (CONFIGURED, *EFFORTS)))
        return
    _set(face, reasoning_effort="" if level == CONFIGURED else level)


def _set(face: Face, **change: Any) -> None:
    wanted = replace(face.view.options, **change)
    face.session.send(intents.SetOptions(wanted.persona, wanted.temperature, wanted.reasoning_effort, wanted.tools_off))


def tools(face: Face, argument: str) -> None:
    """The list, or what is typed: "off web", "on git_commit todo", "default"."""
    word, *rest = argument.split() or [""]
    chosen = face.view.options.tools_off
    off = tools_named(tools_off(face.host.config)) if chosen is None else frozenset(chosen)
    if not word:
        face.say(*_tool_lines(face.host.tools(face.session.id), off))
    elif word == CONFIGURED and not rest:
        _set(face, tools_off=None)
    elif word in ("on", "off") and rest:
        if unknown := next((name for name in rest if not tools_of(name.lower())), ""):
            face.say(t("tools.unknown", name=visible(unknown), names=series(one.name for one in SHOWN)))
            return
        named = tools_named(rest)
        _set(face, tools_off=in_order(off - named if word == "on" else off | named))
    else:
        face.say(t("tools.usage"))


def _tool_lines(entries: Sequence[ToolEntry], off: frozenset[str]) -> list[str]:
    lines = []
    for toolset in dict.fromkeys(entry.toolset for entry in entries):
        lines.append(head(visible(toolset)))
        for entry in (one for one in entries if one.toolset == toolset):
            state = f", {t('tools.is_off')}" if entry.name in off else ""
            lines.append(f"  {visible(entry.name)}, {t('tools.costs', n=count(entry.tokens))}{state}")
    return lines


# -- the program ------------------------------------------------------------------------------------------------------


def language(face: Face, choice: str) -> None:
    if choice not in (*LANGUAGES, "auto"):
        face.say(*(f"  /language {code}  {t(f'languages.{code}')}" for code in LANGUAGES))
        return
    i18n.set_language(choice)
    face.host.save_settings({"display.language": choice})
    face.say(t("app.is_set", name=t("actions.language"), value=choice))


def settings(face: Face, argument: str) -> None:
    """Those in which the words stand; the name of one shows it, and with a value behind it sets it."""
    found = face.host.look_at_settings()
    name, _, text = argument.partition(" ")
    named = next((one for one in found if one.key.name == name), None)
    if named is None:
        words = argument.casefold().split()
        fitting = [one for one in found if all(word in _searched(one) for word in words)]
        face.say(*([_setting(face, one) for one in fitting] or [t("settings.none")]))
    elif not text.strip():
        face.say(_setting(face, named), f"  {_about(named)}", f"  {named.key.allowed}")
    else:
        _change(face, named, text.strip())


def _about(one: Setting) -> str:
    """What it does, in the person's language; its English stands in the table of settings alone."""
    return i18n.texts(i18n.language()).get(f"setting_docs.{one.key.name}", one.key.doc)


def _searched(one: Setting) -> str:
    return f"{one.key.name} {one.key.doc} {_about(one)}".casefold()


def _setting(face: Face, one: Setting) -> str:
    value = visible(one_line(config_settings.in_words(one.value))) or "-"
    if one.source.startswith("/"):
        place = face.shown_path(one.source) + (f":{one.line}" if one.line else "")
    else:
        place = t(f"settings.from_{one.source.replace(' ', '_')}")
    return f"{one.key.name} = {value} ({place})"


def _change(face: Face, one: Setting, text: str) -> None:
    """Write it; `default` takes it out of the file. What loosens a guard is asked about first."""
    from nanoherm_tui.setting_values import problem  # it knows the themes, and loads what draws them

    name = one.key.name
    try:
        value = None if text == CONFIGURED else config_settings.typed(one.key, [text])
    except ValueError as error:
        raise AgentError("setting_not_taken", f"{name}: {error}") from error
    if value is not None and (wrong := problem(one.key, value, face.host.places)):
        raise AgentError("setting_not_taken", f"{name}: {wrong}")

    def write() -> None:
        face.host.save_settings({name: value})
        if name.startswith(("model.", "fallback")):
            face.host.look_again()
        if name == "display.language":
            i18n.set_language(face.host.config.get(name))
        now = next(found for found in face.host.look_at_settings() if found.key.name == name)
        face.say(_setting(face, now))

    if config_settings.loosens(one.key, value, one.value):
        sure = t("settings.sure", key=name, value=visible(text))
        face.ask(
            consents.yes_or_no(["", sure], t("confirm.do"), t("confirm.keep"), lambda: face.do(write), lambda: None)
        )
    else:
        write()
