"""Which model new turns will use: the configured one, a local server that answers, or the scripted demo."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agent_core.errors import ConfigError
from agent_core.llm import providers
from agent_core.llm.providers import Endpoint, ProviderOptions
from agent_core.records import dataclass
from agent_core.session.services import Connection

if TYPE_CHECKING:
    from agent_core.llm.discover import Health


@dataclass(frozen=True, slots=True)
class ModelState:
    """Which model new turns will use. `problem` says why there is none; `demo` that it is the scripted stand-in."""

    label: str
    endpoint: Endpoint | None = None
    demo: bool = False
    problem: ConfigError | None = None
    settled: bool = True
    """False while local servers are still being looked for."""


DEMO = ModelState("demo (scripted)", demo=True)


class ModelChoice:
    """Of one program run. Safe to use from any thread."""

    def __init__(
        self,
        asked: Callable[[], ProviderOptions],
        env: Mapping[str, str],
        dotenv: Callable[[], Mapping[str, str]],
        *,
        demo: bool,
    ) -> None:
        """`asked` and `dotenv`: what the config and the .env files said when they were read last.

        `demo`: the scripted demo is used whatever is configured.
        """
        self._asked = asked
        self._env = env
        self._dotenv = dotenv
        self._demo = demo
        self._listeners: list[Callable[[ModelState], None]] = []
        self._lock = threading.Lock()
        self.state = self._resolve()

    def listen(self, listener: Callable[[ModelState], None]) -> None:
        """Have `listener` called, in any thread, whenever the model changes."""
        self._listeners.append(listener)

    def _resolve(self) -> ModelState:
        """The configured provider, or what is missing; without any, unsettled: a local server may be there."""
        if self._demo:
            return DEMO
        try:
            endpoint = providers.resolve(self._asked(), self._env, self._dotenv())
        except ConfigError as error:
            if error.code == "no_provider":
                return ModelState("", settled=False)
            return ModelState("", problem=error)
        return ModelState(endpoint.shown, endpoint)

    def settle(self) -> ModelState:
        """Settle an unsettled model: a local server that answers, else the demo. Takes up to limits.PROBE_TIMEOUT."""
        while not (unsettled := self.state).settled:
            from agent_core.llm import discover

            found = discover.find_local_server()
            self._set(ModelState(found.model, found) if found is not None else DEMO, unsettled)
        return self.state

    def look_again(self) -> ModelState:
        """Begin anew with what the config says now."""
        self._set(self._resolve())
        return self.settle()

    def _set(self, state: ModelState, instead_of: ModelState | None = None) -> None:
        """`instead_of`: nothing is put in the place of another state, which was chosen meanwhile."""
        with self._lock:
            if instead_of is not None and self.state is not instead_of:
                return
            self.state = state
        for listener in self._listeners:
            listener(state)

    def connect_demo(self) -> Connection:
        """A client of the scripted demo."""
        from agent_core.demo.transport import demo_endpoint, demo_transport
        from agent_core.llm.client import make_client

        client = make_client(demo_endpoint(), self._asked(), transport=demo_transport())
        return Connection(client, "demo", "demo", DEMO.label)

    def health(self) -> Health:
        """Ask the current model's server whether it is there."""
        from agent_core.llm import discover

        state = self.settle()
        if state.endpoint is None:
            text = state.problem.text if state.problem else "The scripted demo is in use; no model is connected."
            return discover.Health(False, state.problem.code if state.problem else "demo", text, ())
        return discover.check(state.endpoint)

    def try_out(self, provider: str, key: str, model: str, base_url: str = "") -> Health:
        """Ask a provider's server whether it is there and takes this key, without storing anything.

        An empty `key`: the one that would be used then, from the environment or the .env files. An empty `model`: the
        provider's usual one, else the first that the server offers; the answer's `params` have it.
        """
        from agent_core.llm import discover

        tried = ProviderOptions(model=model, provider=provider, base_url=base_url)
        env, dotenv = ({providers.ENV_API_KEY: key}, {}) if key else (_keys(self._env), _keys(self._dotenv()))
        try:
            endpoint = providers.server_of(tried, env, dotenv)
        except ConfigError as error:
            return discover.Health(False, error.code, error.text, params=error.params)
        return discover.check(endpoint)


def _keys(variables: Mapping[str, str]) -> dict[str, str]:
    """`variables` without those that say which server and which model."""
    return {
        name: value for name, value in variables.items() if name not in (providers.ENV_BASE_URL, providers.ENV_MODEL)
    }


def check_address(provider: str, base_url: str) -> None:
    """Raises ConfigError "bad_base_url" where `base_url` cannot be the address of a server."""
    preset = providers.PRESETS.get(provider)
    if preset is not None and base_url:
        providers.normal_url(base_url, preset)
