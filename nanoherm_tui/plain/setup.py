"""Connecting a model in lines: which provider, its address, the key (not shown), the model; tried before it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import phrase, t
from nanoherm_tui.plain.consents import yes_or_no
from nanoherm_tui.plain.greeting import model_lines
from nanoherm_tui.plain.questions import Choice
from nanoherm_tui.plain.sessions import numbered
from nanoherm_tui.plain.words import head, pair
from nanoherm_tui.text import one_line, visible
from nanoherm_tui.words.setup import told

if TYPE_CHECKING:
    from agent_core.desk.model_choice import ModelState
    from agent_core.llm.discover import Health
    from agent_core.llm.providers import Preset
    from nanoherm_tui.plain.face import Face


@dataclass(frozen=True, slots=True)
class Written:
    """What was typed so far."""

    preset: Preset
    address: str = ""
    key: str = ""
    model: str = ""


def setup(face: Face, argument: str) -> None:
    """Ask for all of it, one after the other; nothing is kept before the end."""
    from agent_core.llm.providers import PRESETS

    if not face.source.is_terminal:
        face.say(t("plain.instead_setup"))
        return
    presets = list(PRESETS.values())
    rows = [f"{phrase('providers', one.label)}, {one.base_url}".removesuffix(", ") for one in presets]
    numbered(face, head(t("setup.provider")), rows, lambda at: _ask_address(face, Written(presets[at])))


def _ask(
    face: Face, name: str, hint: str, then: Callable[[str], object], *, must: str = "", secret: bool = False
) -> None:
    """Ask for one value; an empty line takes what the hint says. `must`: what to say where there has to be one."""

    def take(said: str) -> bool:
        if must and not said:
            face.say(must)
            return False
        then(said)
        return True

    prompt = pair(f"{t(f'setup.{name}')} ({hint})" if hint else t(f"setup.{name}"), "")
    lines = (t("setup.stored"),) if secret else ()
    face.ask(Choice(lines, prompt, take, consents=False, enter_answers=True, secret=secret))


def _ask_address(face: Face, written: Written) -> None:
    known = written.preset.base_url
    must = "" if known else t("setup.no_address")
    hint = known or t("setup.address_hint")
    _ask(face, "address", hint, lambda said: _ask_key(face, replace(written, address=said)), must=must)


def _ask_key(face: Face, written: Written) -> None:
    preset = written.preset
    if not preset.needs_key:
        hint = t("setup.key_optional")
    else:
        hint = t("setup.key_env", name=preset.key_env[0]) if preset.key_env else t("setup.key_hint")
    _ask(face, "key", hint, lambda said: _ask_model(face, replace(written, key=said)), secret=True)


def _ask_model(face: Face, written: Written) -> None:
    hint = written.preset.default_model or t("setup.model_hint")

    def then(said: str) -> None:
        _try_out(face, replace(written, model=said or written.preset.default_model))

    _ask(face, "model", hint, then)


def _try_out(face: Face, written: Written) -> None:
    """Ask the server, tell what it said, and offer to keep it."""
    name = written.preset.name

    def tried(health: Health) -> None:
        face.say(told(health))
        if health.models:
            face.say(
                t("plain.server_has", n=len(health.models)),
                *(f"  {one_line(visible(model))}" for model in health.models[: limits.PLAIN_LISTED]),
            )
        face.ask(yes_or_no((), t("setup.save"), t("confirm.keep"), lambda: _save(face, written), lambda: None))

    face.say(t("setup.testing"))
    face.beside(lambda: face.host.model.try_out(name, written.key, written.model, written.address), tried)


def _save(face: Face, written: Written) -> None:
    def saved(state: ModelState) -> None:
        face.say(*model_lines(state))
        if state.problem is None:
            face.opened.switch(face.host.new)

    name = written.preset.name
    face.say(t("setup.saving"))
    face.beside(lambda: face.host.save_setup(name, written.key, written.model, written.address), saved)
