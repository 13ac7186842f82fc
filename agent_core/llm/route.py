"""Who answers: the first choice, or one of those that stand in for it when it cannot.

What stands in does so for the rest of the turn; each turn begins with the first choice again, unless that rests after a
failure. A model that a person chose is alone in its plan: its failure is told, not hidden. Source: LLM-20 to LLM-24,
LLM-30.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

from agent_core.cancel import CancelScope
from agent_core.credentials import Secret
from agent_core.errors import ConfigError, Interrupted, ProviderError
from agent_core.llm import ladder
from agent_core.llm.client import ModelClient
from agent_core.llm.panel import Panel
from agent_core.llm.providers import Endpoint, ProviderOptions
from agent_core.llm.resting import KeyRing, Resting
from agent_core.ports.model import Delta, DeltaSink, LlmReply, LlmRequest
from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """Who may be asked, as the config, the environment and .env say now."""

    endpoints: tuple[Endpoint, ...]
    """The first choice, then what may stand in for it, in order."""
    options: ProviderOptions
    min_switch_reset: float = 0.0
    """A first choice that asks to slow down for no longer than these seconds is waited for (LLM-24)."""
    problems: tuple[ConfigError, ...] = ()
    """Why some of those that are configured to stand in cannot."""
    missing: ConfigError | None = None
    """Why the configured model cannot be asked at all: `endpoints` are those that stand in for it then."""


class Router:
    """An LlmClient over the models of a plan; `make_plan` is asked at the start of each turn. See ports.LlmClient."""

    def __init__(
        self,
        make_plan: Callable[[], Plan],
        resting: Resting,
        answered: Callable[[Endpoint], None] = lambda endpoint: None,
        panel: Panel | None = None,
    ) -> None:
        """`answered` is told who has given a reply; `panel` asks those that advise the acting model of a mixture.

        Raises what `make_plan` does.
        """
        self._make_plan = make_plan
        self._resting = resting
        self._answered = answered
        self._panel = panel
        self._plan = make_plan()
        self._turn: str | None = None
        self._at = 0
        self._servers: list[_Server] = []

    @property
    def first(self) -> Endpoint:
        """The first choice."""
        return self._plan.endpoints[0]

    def complete(self, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        """One reply, from whoever can give it. Raises ProviderError, ConfigError, Interrupted."""
        if self._turn is None or request.turn != self._turn:
            self._begin(request.turn, sink)
        waited = False
        while True:
            endpoint = self._plan.endpoints[self._at]
            try:
                asked = self._advised(endpoint, request, sink, cancel)
                reply = self._client(endpoint).complete(replace(asked, model=endpoint.model), sink, cancel)
            except ProviderError as error:
                if not ladder.leads_on(error):
                    raise
                following = next_one(self._plan, self._at, self._left)
                if following is None:
                    self._resting.failed(_name(endpoint), error.retry_after or 0.0)
                    raise
                if error.params.get("delivered"):
                    sink(Delta("reset"))
                if self._at == 0 and not waited and worth_waiting(error, self._plan.min_switch_reset):
                    waited = True
                    _wait(error, endpoint, sink, cancel)
                    continue
                self._resting.failed(_name(endpoint), error.retry_after or 0.0)
                for problem in self._plan.problems if self._at == 0 else ():
                    sink(Delta("retry", problem.text, {"notice": "no_stand_in", "code": problem.code}))
                self._at = following
                sink(switch(self._plan.endpoints[following], endpoint, error))
            else:
                self._resting.succeeded(_name(endpoint))
                self._answered(endpoint)
                return reply

    def close(self) -> None:
        """Close all connections. A request in flight, if there is one, ends with an error."""
        for known in self._servers:
            known.client.close()
        if self._panel is not None:
            self._panel.close()

    def _advised(self, endpoint: Endpoint, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmRequest:
        if endpoint.mixture is None or self._panel is None:
            return request
        return self._panel.advised(endpoint.mixture, request, sink, cancel)

    def _begin(self, turn: str, sink: DeltaSink) -> None:
        """A turn begins: settings and keys as they are now, and the first choice unless it rests."""
        if self._turn is not None:
            self._plan = self._make_plan()
        self._turn, self._at = turn, first_one(self._plan, self._left)
        if self._plan.missing is not None:
            sink(switch_from_missing(self._plan.endpoints[self._at], self._plan.missing))
        elif self._at:
            sink(switch(self._plan.endpoints[self._at], self._plan.endpoints[0], None, self._left(0)))

    def _left(self, index: int) -> float:
        return self._resting.left(_name(self._plan.endpoints[index]))

    def _client(self, endpoint: Endpoint) -> ModelClient:
        """The client of this server, with the keys as they are now. It is kept, for what it has learned."""
        server = replace(endpoint, model="", key=None, more_keys=(), mixture=None)
        for known in self._servers:
            if (known.server, known.options) == (server, self._plan.options):
                known.ring.renew(endpoint.keys)
                return known.client
        ring = KeyRing(endpoint.keys, endpoint.base_url, self._resting, lambda: self._keys_now(endpoint))
        client = ModelClient(endpoint, self._plan.options, keys=ring)
        self._servers.append(_Server(server, self._plan.options, client, ring))
        return client

    def _keys_now(self, endpoint: Endpoint) -> tuple[Secret, ...]:
        """The keys for an address as they are in the environment and in .env at this moment."""
        try:
            endpoints = self._make_plan().endpoints
        except ConfigError:  # there are none any more
            return ()
        return next((found.keys for found in endpoints if found.base_url == endpoint.base_url), ())


@dataclass(frozen=True, slots=True)
class _Server:
    server: Endpoint
    """Without model and keys."""
    options: ProviderOptions
    client: ModelClient
    ring: KeyRing


def first_one(plan: Plan, left: Callable[[int], float]) -> int:
    """Which of the plan a turn begins with: the first that does not rest; if all do, the first choice after all."""
    return next((i for i in range(len(plan.endpoints)) if not left(i)), 0)


def next_one(plan: Plan, failed: int, left: Callable[[int], float]) -> int | None:
    """Who is asked when the one at `failed` has failed: the next that does not rest, else the next at all."""
    after = range(failed + 1, len(plan.endpoints))
    return next((i for i in after if not left(i)), next(iter(after), None))


def worth_waiting(error: ProviderError, min_switch_reset: float) -> bool:
    """Whether a first choice that asks to slow down is waited for rather than left (LLM-24)."""
    return error.kind == "rate_limit" and error.retry_after is not None and error.retry_after <= min_switch_reset


# Why a model is left, by the kind of its error: the case that a face translates, and the words.
_WHY = {
    "rate_limit": ("fallback_rate_limit", "asks to slow down"),
    "quota": ("fallback_quota", "says that the account is used up"),
    "auth": ("fallback_auth", "does not accept the key"),
    "not_found": ("fallback_not_found", "does not know the model or the address"),
    "tools_unsupported": ("fallback_tools_unsupported", "cannot use tools"),
    "network": ("fallback_network", "cannot be reached"),
    "timeout": ("fallback_timeout", "did not answer in time"),
}


def switch(to: Endpoint, instead: Endpoint, error: ProviderError | None, rests: float = 0.0) -> Delta:
    """What to tell when another model answers; without `error` the first choice rests for `rests` seconds more."""
    names = {"provider": to.names[0], "model": to.names[1], "label": to.shown, "instead": instead.shown}
    if error is None:
        minutes = max(1, round(rests / 60))
        text = f"{instead.shown} failed lately and is left alone for {minutes} min more. {to.shown} answers instead."
        return Delta("switch", text, {**names, "notice": "fallback_resting", "minutes": minutes})
    case, why = _WHY.get(error.kind, ("", "failed"))
    text = f"{instead.label} {why}. {to.shown} ({to.label}) answers instead of {instead.shown} for this turn."
    who = {"who": instead.label, "by": to.label}
    return Delta("switch", text, {**names, **who, "notice": "fallback", "case": case, "code": error.code})


def switch_from_missing(to: Endpoint, missing: ConfigError) -> Delta:
    """What to tell when the configured model cannot even be asked."""
    names = {"provider": to.names[0], "model": to.names[1], "label": to.shown}
    text = f"{missing.text} {to.shown} ({to.label}) answers meanwhile."
    return Delta("switch", text, {**names, "notice": "fallback_missing", "code": missing.code})


def _wait(error: ProviderError, endpoint: Endpoint, sink: DeltaSink, cancel: CancelScope) -> None:
    seconds = error.retry_after or 0.0
    text = f"{endpoint.label} asks to slow down. Waiting {seconds:.0f} s for {endpoint.model}."
    params = {"notice": "waiting_for", "code": error.code, "model": endpoint.model, "wait_s": round(seconds, 1)}
    sink(Delta("retry", text, params))
    if cancel.wait(seconds):
        raise Interrupted


def _name(endpoint: Endpoint) -> Hashable:
    """What rests: with another key it is another thing, so that a mended one is asked at once."""
    return endpoint.provider, endpoint.base_url, endpoint.model, endpoint.keys
