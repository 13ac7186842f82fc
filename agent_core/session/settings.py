"""What a person has chosen for one session: its model, persona, temperature, how much the model thinks (LLM-35)."""

from __future__ import annotations

import json
from dataclasses import replace

from agent_core import limits
from agent_core.errors import AgentError
from agent_core.events import OptionsChanged
from agent_core.intents import SetOptions
from agent_core.names import EFFORTS
from agent_core.ports.model import LlmRequest
from agent_core.session.services import SessionServices
from agent_core.store.rows import TOOLS_OFF, SessionRow
from agent_core.toolsets import in_order, tools_named


class SessionSettings:
    """May be used from any thread; what is changed acts on the next request."""

    def __init__(self, services: SessionServices, row: SessionRow) -> None:
        self._services = services
        self._options = SetOptions(row.persona, row.temperature, row.reasoning_effort, _kept(row.model_config))
        self._keeps = services.model_named and row.model_chosen
        """What was chosen once gives way to the model of this run, and stays stored."""
        self._chosen = (row.model, row.provider) if row.model_chosen and not self._keeps else ("", "")
        self._stored: tuple[object, ...] = (row.model, row.provider, row.model_chosen)
        self._stored_options = self._options

    @property
    def chosen(self) -> tuple[str, str]:
        """The model that was chosen for the session, and its provider; empty: the configured one."""
        return self._chosen

    @property
    def is_usual(self) -> bool:
        """Nothing was chosen."""
        return self._options == SetOptions()

    def choose_model(self, model: str, provider: str) -> None:
        """A model was chosen and is there; "" = the configured one."""
        self._chosen, self._keeps = (model, provider), False

    def take(self, wanted: SetOptions) -> OptionsChanged:
        """Take over a person's choice; gives what to tell. Raises AgentError "unknown_persona", "bad_temperature" or
        "bad_effort"."""
        personas = self._services.personas()
        if wanted.persona and wanted.persona not in personas:
            there = ", ".join(personas) or "none; the config's `personalities` has their texts by name"
            raise AgentError(
                "unknown_persona", f'There is no persona "{wanted.persona[:60]}". There are: {there}.',
                name=wanted.persona[:60], personas=there,
            )  # fmt: skip
        if wanted.temperature is not None and not 0.0 <= wanted.temperature <= limits.TEMPERATURE_MAX:
            raise AgentError(
                "bad_temperature", f"The temperature is a number from 0 to {limits.TEMPERATURE_MAX:g}.",
                most=f"{limits.TEMPERATURE_MAX:g}",
            )  # fmt: skip
        if wanted.reasoning_effort and wanted.reasoning_effort not in EFFORTS:
            raise AgentError(
                "bad_effort", f"The effort is one of {', '.join(EFFORTS)}.", efforts=EFFORTS
            )  # fmt: skip
        if wanted.tools_off is not None:
            wanted = replace(wanted, tools_off=in_order(tools_named(wanted.tools_off)))
        self._options = wanted
        return self.event()

    def event(self) -> OptionsChanged:
        options = self._options
        return OptionsChanged(options.persona, options.temperature, options.reasoning_effort, options.tools_off)

    @property
    def persona(self) -> str:
        """The text of the chosen persona, for the system prompt; one that is not configured any more has none."""
        return self._services.personas().get(self._options.persona, "")

    @property
    def tools_off(self) -> frozenset[str]:
        """The tools that are switched off now."""
        chosen = self._options.tools_off
        return tools_named(self._services.tools_off) if chosen is None else frozenset(chosen)

    def request(self, turn: str) -> LlmRequest:
        """What every request of a turn has in common."""
        options, usual = self._options, self._services.request
        return replace(
            usual,
            turn=turn,
            temperature=usual.temperature if options.temperature is None else options.temperature,
            reasoning_effort=options.reasoning_effort or usual.reasoning_effort,
        )

    def store(self, session_id: str, model: str = "", provider: str = "") -> None:
        """Write down what has changed; `model` and `provider` are the first choice now. Raises StoreError."""
        store = self._services.store
        if self._options != self._stored_options:
            options = self._options
            store.set_options(
                session_id, options.persona, options.temperature, options.reasoning_effort, options.tools_off
            )
            self._stored_options = options
        now = (model, provider, bool(self._chosen[0]))
        if model and now != self._stored and not self._keeps:
            store.set_model(session_id, model, provider, chosen=bool(self._chosen[0]))
            self._stored = now


def _kept(model_config: str) -> tuple[str, ...] | None:
    """The tools that are switched off by a session's stored settings; None where they say nothing, or nonsense."""
    try:
        kept = json.loads(model_config or "{}")
    except ValueError:
        return None
    off = kept.get(TOOLS_OFF) if isinstance(kept, dict) else None
    if not isinstance(off, list):
        return None
    return in_order(tools_named(name for name in off if isinstance(name, str)))
