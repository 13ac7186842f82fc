"""Who answers in the session, and how: model, persona, temperature, effort; and what that has used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent_core import intents
from agent_core.events import OptionsChanged
from agent_core.names import EFFORTS
from nanoherm_tui import limits
from nanoherm_tui.commands import choose
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.palette import PaletteItem

if TYPE_CHECKING:
    from agent_core.desk.models import Listed
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.overlays.palette import Kind

CONFIGURED = "default"
"""What is typed for "as the config says"."""
TEMPERATURES = ("0", "0.2", "0.5", "0.7", "1")
"""Those that are offered; any other can be typed."""


# -- the model ----------------------------------------------------------------------------------------------------


def choose_model(app: NanohermApp, name: str) -> None:
    if name:
        app.conversations.send(intents.SetModel("" if name == CONFIGURED else name))
    elif app.view is not None:
        app.desk.do(app.host.models.listed_before, lambda known: _offer_models(app, known))


def take_model(app: NanohermApp, chosen: str) -> None:
    """`chosen`: "provider model", as the ids of the list have it; "" is the configured one."""
    provider, _, model = chosen.partition(" ")
    app.conversations.send(intents.SetModel(model, provider))


def _offer_models(app: NanohermApp, known: Sequence[Listed]) -> None:
    """Offer what is known at once; what the servers list joins it when they have answered."""
    if not known:
        from nanoherm_tui.commands.settings import setup

        setup(app, "")
        return
    first = app.host.model.state.endpoint
    model, provider = app.view.answering if app.view is not None else ("", "")
    if not model and first is not None:
        provider, model = first.names
    current = frozenset({f"model:{provider} {model}"})
    screen = choose.choose(app, "model", _model_items(app, known), current)

    def listed(found: Sequence[Listed]) -> None:
        app.models_seen = tuple(f"{one.provider}/{model}" for one in found for model in one.models)
        if screen in app.screen_stack:
            screen.offer(_model_items(app, found), current)
        for one in found:
            if not one.models:
                app.conversations.tell("no_model_list", t("app.no_model_list", label=one.label))

    app.desk.do_beside(app.host.models.listed, listed)


def _model_items(app: NanohermApp, known: Sequence[Listed]) -> list[PaletteItem]:
    configured = PaletteItem("model:", "model", t("app.as_configured"), app.host.model.state.label)
    offers = Counter(model for one in known for model in one.models)  # a narrow list does not say whose each is
    return [
        configured,
        *(
            PaletteItem(
                f"model:{one.provider} {model}",
                "model",
                model if offers[model] == 1 else f"{one.provider}/{model}",
                t("app.not_listed", label=one.label) if one.problem else one.label,
                keywords=one.provider,
            )
            for one in known
            for model in one.models
        ),
    ]


# -- how it answers -----------------------------------------------------------------------------------------------


def choose_persona(app: NanohermApp, name: str) -> None:
    if name:
        take_persona(app, "" if name == "none" else name)
        return
    personas = app.host.personas()
    if not personas:
        app.conversations.tell("no_personas", t("app.no_personas"))
        return
    none = PaletteItem("persona:", "persona", t("app.no_persona"))
    own = app.host.get_settings().get("personalities")
    items = [
        PaletteItem(f"persona:{name}", "persona", name, text if name in own else t(f"personas.{name}"))
        for name, text in personas.items()
    ]
    _offer(app, "persona", [none, *items], _options(app).persona)


def take_persona(app: NanohermApp, name: str) -> None:
    _set(app, "persona", name or t("app.no_persona"), persona=name)


def choose_temperature(app: NanohermApp, figure: str) -> None:
    if figure:
        take_temperature(app, "" if figure in (CONFIGURED, "off") else figure)
        return
    items = [PaletteItem(f"temperature:{figure}", "temperature", figure) for figure in TEMPERATURES]
    now = _options(app).temperature
    _offer(app, "temperature", [_as_configured("temperature"), *items], "" if now is None else f"{now:g}")


def take_temperature(app: NanohermApp, figure: str) -> None:
    try:
        temperature = float(figure) if figure else None
    except ValueError:
        temperature = -1.0  # the session says what is allowed
    _set(app, "temperature", figure or t("app.as_configured"), temperature=temperature)


def choose_effort(app: NanohermApp, level: str) -> None:
    if level:
        take_effort(app, "" if level == CONFIGURED else level)
        return
    items = [PaletteItem(f"effort:{level}", "effort", level) for level in EFFORTS]
    _offer(app, "effort", [_as_configured("effort"), *items], _options(app).reasoning_effort)


def take_effort(app: NanohermApp, level: str) -> None:
    _set(app, "effort", level or t("app.as_configured"), reasoning_effort=level)


def _as_configured(kind: Kind) -> PaletteItem:
    return PaletteItem(f"{kind}:", kind, t("app.as_configured"))


def _options(app: NanohermApp) -> OptionsChanged:
    return app.view.options if app.view is not None else OptionsChanged()


def _set(app: NanohermApp, action: str, value: str, **change: Any) -> None:
    set_option(app, t("app.is_set", name=t(f"actions.{action}"), value=value), **change)


def set_option(app: NanohermApp, told: str, **change: Any) -> None:
    """Change one of the settings; the view has it at once, so that the next change knows of it.

    What it is now is `told` when the session has agreed.
    """
    options = replace(_options(app), **change)
    if app.view is not None:
        app.view.options = options
        app.view.asked = (options, told) if told else None
    wanted = intents.SetOptions(options.persona, options.temperature, options.reasoning_effort, options.tools_off)
    app.conversations.send(wanted)


def _offer(app: NanohermApp, kind: Kind, items: list[PaletteItem], current: str) -> None:
    choose.choose(app, kind, items, frozenset({f"{kind}:{current}"}))


# -- what it has used ---------------------------------------------------------------------------------------------


def show_usage(app: NanohermApp, argument: str) -> None:
    if app.view is None:
        return
    from nanoherm_tui.overlays.usage import UsageScreen

    session_id = app.view.id
    app.desk.do(lambda: app.host.usage(session_id), lambda usage: app.open_overlay(UsageScreen(usage)))


def show_insights(app: NanohermApp, argument: str) -> None:
    """What all sessions have used, as plots: of the last days, where a number of them is given."""
    if argument and not (argument.isascii() and argument.isdigit() and 0 < int(argument) <= limits.INSIGHT_DAYS):
        app.conversations.tell("insights_usage", t("insights.usage"))
        return
    from nanoherm_tui.overlays.insights import InsightScreen
    from nanoherm_tui.words.insight_plots import pictured

    screen = InsightScreen(int(argument)) if argument else InsightScreen()

    def ask(days: int) -> None:  # some seconds over a hundred thousand messages
        app.desk.do_beside(lambda: pictured(app.host.insights(days)), screen.show)

    screen.on_ask = ask
    app.open_overlay(screen)
