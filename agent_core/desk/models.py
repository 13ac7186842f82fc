"""Which models may be asked: who answers in a session, what that costs, and what there is to choose from."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agent_core import limits
from agent_core.errors import ConfigError
from agent_core.llm import mixtures, prices, providers
from agent_core.llm.prices import Price
from agent_core.llm.providers import Endpoint, ProviderOptions
from agent_core.llm.resting import Resting
from agent_core.records import dataclass
from agent_core.session.services import Connection

if TYPE_CHECKING:
    from agent_core.llm.discover import Health
    from agent_core.llm.route import Plan
    from agent_core.ports.model import LlmClient


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What the configuration says, as plain values."""

    options: ProviderOptions
    fallbacks: Sequence[Any] = ()
    """The entries of fallback_providers."""
    fallback_model: str = ""
    min_switch_reset: float = 0.0
    named: bool = False
    """The model was named on the command line: nothing stands in for it."""
    window: int | None = None
    """Tokens a model takes, where the user says so."""
    hour_cache: bool = False
    """Servers are asked to keep what they cache for an hour."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The models of one provider, to choose from."""

    provider: str
    label: str
    models: tuple[str, ...] = ()
    problem: str = ""
    """Why there are none; empty: there are some."""


class Models:
    """Of one program run. Safe to use from any thread."""

    def __init__(
        self,
        settings: Callable[[], ModelSettings],
        env: Mapping[str, str],
        read_dotenv: Callable[[], Mapping[str, str]],
        found: Callable[[], Endpoint | None],
        resting: Resting | None = None,
        clock: Callable[[], float] = time.monotonic,
        redact: Callable[[str], str] = lambda text: text,
    ) -> None:
        """`read_dotenv` reads the .env files anew. `found`: the local server that was found when none is configured.

        `redact` takes keys out of what models that advise are shown, and of what they say.
        """
        self._settings = settings
        self._env = env
        self._read_dotenv = read_dotenv
        self._found = found
        self._resting = resting or Resting()
        self._clock = clock
        self._redact = redact
        self._lock = threading.Lock()
        self._free = {("demo", "demo")}
        """Provider and name of models that run on this machine."""
        self._lists: dict[tuple[str, str], tuple[float, Health]] = {}
        """What servers answered, by provider and address, and when."""
        self._blind: set[tuple[str, str]] = set()
        """Provider and name of models whose server has refused images."""
        self._asked: set[tuple[str, str]] = set()
        """Those that were asked how much their models take."""

    # -- who answers ----------------------------------------------------------------------------------------------

    def connect(self, model: str, provider: str = "", stand_ins: Sequence[Any] = ()) -> Connection:
        """A new client; see services.Connect. What is configured now counts for as long as it lives, but for keys."""
        from agent_core.llm.panel import Panel
        from agent_core.llm.route import Router  # the wires come with it: with the first turn, not with the program

        settings = self._settings()

        def open_adviser(slot: mixtures.Slot) -> LlmClient:
            return Router(lambda: self._advisers_plan(settings, slot), self._resting)

        def window(mixture: mixtures.Mixture) -> int | None:
            return self.window_of(mixtures.MOA, mixture.name)

        panel = Panel(open_adviser, self._redact, window) if settings.options.mixtures else None
        make_plan = partial(self.plan, settings, model, provider, stand_ins)
        router = Router(make_plan, self._resting, self._has_answered, panel)
        first = router.first
        takes = self.window_of(first.provider, first.model)
        behind = (first.provider, first.model) if first.mixture is not None else None
        return Connection(router, *first.names, first.shown, takes, behind)

    def _advisers_plan(self, settings: ModelSettings, slot: mixtures.Slot) -> Plan:
        """One model of a mixture, alone, with its keys as they are now. Raises ConfigError."""
        from agent_core.llm.route import Plan

        options, dotenv = settings.options, self._read_dotenv()
        first, _ = self._first(options, dotenv)
        return self._known(Plan((providers.adviser(slot, first, options, self._env, dotenv),), options))

    def _has_answered(self, endpoint: Endpoint) -> None:
        """Let the server say how much its models take, if nobody else does; one that has trouble is not asked."""
        name = endpoint.provider, endpoint.base_url
        if name in self._asked or self.window_of(endpoint.provider, endpoint.model) is not None:
            return
        self._asked.add(name)
        threading.Thread(target=self._ask, args=(endpoint,), name="models", daemon=True).start()

    def plan(self, settings: ModelSettings, model: str = "", provider: str = "", stand_ins: Sequence[Any] = ()) -> Plan:
        """Who may be asked, with the keys as they are now (LLM-30). Raises ConfigError.

        A model that was chosen, in the session or on the command line, is alone (LLM-21) but for these `stand_ins`.
        """
        from agent_core.llm.route import Plan

        options, dotenv = settings.options, self._read_dotenv()
        first, missing = self._first(options, dotenv)
        if model or provider:
            chosen = self._chosen(model, provider, first, options, dotenv)
            others, problems = providers.stand_ins(stand_ins, "", chosen, options, self._env, dotenv)
            return self._known(Plan((chosen, *others), options, settings.min_switch_reset, problems))
        others, problems = ((), ()) if settings.named else self._stand_ins(settings, first, dotenv)
        endpoints = others if first is None else (first, *others)
        if not endpoints:
            assert missing is not None
            raise missing
        return self._known(Plan(endpoints, options, settings.min_switch_reset, problems, missing))

    def _first(self, options: ProviderOptions, dotenv: Mapping[str, str]) -> tuple[Endpoint | None, ConfigError | None]:
        """The configured model, or why it cannot be asked; where none is, the local server that was found."""
        try:
            return providers.resolve(options, self._env, dotenv), None
        except ConfigError as error:
            found = self._found() if error.code == "no_provider" else None
            return found, None if found is not None else error

    def _chosen(
        self, model: str, provider: str, first: Endpoint | None, options: ProviderOptions, dotenv: Mapping[str, str]
    ) -> Endpoint:
        if first is None:
            alone = replace(options, model=model, provider=provider or options.provider)
            return providers.resolve(alone, self._env, dotenv)
        return providers.another(model, provider, first, options, self._env, dotenv, self._listed(first))

    def _stand_ins(
        self, settings: ModelSettings, first: Endpoint | None, dotenv: Mapping[str, str]
    ) -> tuple[tuple[Endpoint, ...], tuple[ConfigError, ...]]:
        return providers.stand_ins(
            settings.fallbacks, settings.fallback_model, first, settings.options, self._env, dotenv
        )

    def _known(self, plan: Plan) -> Plan:
        self._note_free(plan.endpoints)
        return plan

    def _note_free(self, endpoints: Sequence[Endpoint]) -> None:
        with self._lock:
            for endpoint in endpoints:
                if endpoint.preset.local:  # not all on this machine: a proxy to paid models may stand there
                    self._free.add((endpoint.provider, endpoint.model))

    # -- what it costs, how much it takes -------------------------------------------------------------------------

    def price(self, provider: str, model: str) -> Price | None:
        """What a model costs: as the config says, nothing on this machine, else as was known at a date."""
        settings = self._settings()
        provider, model = _acting(provider, model, settings.options)
        entry = settings.options.providers.get(provider)
        overrides = entry.get("prices") if isinstance(entry, Mapping) else None
        found = prices.price_of(provider, model, overrides if isinstance(overrides, Mapping) else None)
        if found is not None and found.as_of == "config":
            return found
        with self._lock:
            if (provider, model) in self._free:
                return prices.FREE
        return prices.for_an_hour(found) if found is not None and settings.hour_cache else found

    def window_of(self, provider: str, model: str) -> int | None:
        """How many tokens a model takes: as the config says, as its server has told, or as was known at a date.

        `model` "": the configured one, which is looked up on the disk.
        """
        settings = self._settings()
        if settings.window:
            return settings.window
        if not model:
            first, _ = self._first(settings.options, self._read_dotenv())
            if first is None:
                return None
            provider, model = first.provider, first.model
        provider, model = _acting(provider, model, settings.options)
        with self._lock:
            lists = [health for (name, _), (_, health) in self._lists.items() if name == provider]
        told = next((window for health in lists if (window := health.windows.get(model))), None)
        return told or prices.context_of(provider, model)

    def sees(self, provider: str, model: str) -> bool | None:
        """Whether a model can be shown images: as the config says, as its server has shown or told; None: not known."""
        mode = self._settings().options.images
        if mode != "auto":
            return mode == "native"
        provider, model = _acting(provider, model, self._settings().options)
        with self._lock:
            if (provider, model) in self._blind:
                return False
            lists = [health for (name, _), (_, health) in self._lists.items() if name == provider]
        return next((told for health in lists if (told := health.sees.get(model)) is not None), None)

    def went_blind(self, provider: str, model: str) -> None:
        """Its server has refused images."""
        with self._lock:
            self._blind.add((provider, model))

    # -- what there is to choose from -----------------------------------------------------------------------------

    def listed(self) -> tuple[Listed, ...]:
        """The models of the first choice's provider, then of every other that has a key or needs none.

        All are asked at once; takes at most about limits.HEALTH_TIMEOUT. An answer counts for limits.MODELS_KEPT.
        """
        endpoints = self._endpoints()
        threads = [threading.Thread(target=self._ask, args=(e,), name="models", daemon=True) for e in endpoints]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + limits.HEALTH_TIMEOUT + 1.0
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return self.listed_before(endpoints)

    def listed_before(self, endpoints: Sequence[Endpoint] | None = None) -> tuple[Listed, ...]:
        """The same, of what is known without asking anybody; reads the .env files."""
        out: list[Listed] = []
        for endpoint in self._endpoints() if endpoints is None else endpoints:
            with self._lock:
                _, health = self._lists.get((endpoint.provider, endpoint.base_url), (0.0, None))
            models = health.models[: limits.MODELS_LISTED] if health is not None else ()
            if endpoint.model and endpoint.model not in models:
                models = (endpoint.model, *models)
            problem = health.text if health is not None and not health.models else ""
            out.append(Listed(endpoint.provider, endpoint.label, models, problem))
        if presets := tuple(self._settings().options.mixtures.presets):
            out.append(Listed(mixtures.MOA, mixtures.LABEL, presets))
        return tuple(out)

    def _endpoints(self) -> list[Endpoint]:
        """The first choice, and every other provider that can be asked: configured ones, then those with a key."""
        settings, dotenv = self._settings(), self._read_dotenv()
        first, _ = self._first(settings.options, dotenv)
        out = [first] if first is not None else []
        names = [*settings.options.providers, *(p.name for p in providers.PRESETS.values() if p.needs_key)]
        for name in dict.fromkeys(names):
            try:
                endpoint = providers.beside(name, settings.options, self._env, dotenv)
            except ConfigError:  # no key, no address: not set up
                continue
            if all((e.provider, e.base_url) != (endpoint.provider, endpoint.base_url) for e in out):
                out.append(endpoint)
        self._note_free(out)
        return out[: limits.PROVIDERS_LISTED]

    def _ask(self, endpoint: Endpoint) -> None:
        from agent_core.llm import discover

        name = endpoint.provider, endpoint.base_url
        with self._lock:
            when, health = self._lists.get(name, (0.0, None))
        if health is not None and health.models and self._clock() - when < limits.MODELS_KEPT:
            return
        answer = discover.check(endpoint)
        with self._lock:
            self._lists[name] = (self._clock(), answer)

    def _listed(self, endpoint: Endpoint) -> tuple[str, ...]:
        with self._lock:
            _, health = self._lists.get((endpoint.provider, endpoint.base_url), (0.0, None))
        return health.models if health is not None else ()


def _acting(provider: str, model: str, options: ProviderOptions) -> tuple[str, str]:
    """Who answers, when the names are those of a mixture of agents: its acting model."""
    mixture = options.mixtures.presets.get(model) if provider == mixtures.MOA else None
    if mixture is None or mixture.aggregator is None:
        return provider, model
    preset = providers.known(mixture.aggregator.provider)
    return preset.name if preset is not None else mixture.aggregator.provider, mixture.aggregator.model
