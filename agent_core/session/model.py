"""Whom a session talks to: the model that was chosen last, connected when it is first needed, told to the listener."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agent_core import events
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError
from agent_core.intents import SetModel, SetOptions
from agent_core.ports.model import DeltaSink, LlmClient, LlmReply, LlmRequest
from agent_core.session.outbox import Outbox
from agent_core.session.record import SessionRecord
from agent_core.session.services import Connection, SessionServices
from agent_core.session.settings import SessionSettings
from agent_core.session.worker import Worker


class SessionModel:
    """The connection itself is the worker's; what has a `worker` is called on its thread, the rest from any."""

    def __init__(
        self, services: SessionServices, record: SessionRecord, settings: SessionSettings, outbox: Outbox
    ) -> None:
        self.prompt_key: tuple[str, ...] = ("", "", "")
        """What the prompt also depends on: model, provider, the text of the persona."""
        self._services = services
        self._record = record
        self._settings = settings
        self._outbox = outbox
        self._wanted: SetModel | None = None
        """A choice that no request has been made with yet."""

    @property
    def named(self) -> tuple[str, str]:
        """The model of the last turn and its provider."""
        model, provider, *_ = self.prompt_key
        return model, provider

    def choose(self, wanted: SetModel) -> None:
        """Have the next request go to another model."""
        with self._outbox.lock:
            self._wanted = wanted

    def set_options(self, wanted: SetOptions) -> bool:
        """Take over persona, temperature and effort; False when they cannot be had, which the listener is told."""
        try:
            changed = self._settings.take(wanted)
        except AgentError as error:
            self._outbox.tell_failure(error)
            self._outbox.emit(self._settings.event())  # as it is, for those that have gone ahead
            return False
        self.prompt_key = (*self.prompt_key[:2], self._settings.persona)
        self._outbox.emit(changed)
        return True

    def connected(self, worker: Worker) -> Connection:
        """The connection for the next request, with what is known of the model's window by now."""
        connection = worker.connection
        if connection is None:
            try:
                connection = worker.connection = self._connect(*self._settings.chosen)
            except AgentError as error:
                # Not kept: the next turn tries again. The message is stored all the same, and the turn says why.
                return Connection(_Unconnected(error), "", "", "")
            self.tell(worker, connection)
        self._settings.store(self._record.id, connection.model, connection.provider)
        window = self._services.window(connection.provider, connection.model)
        if window and window != connection.context_window:
            connection = worker.connection = replace(connection, context_window=window)
        return connection

    def window(self, worker: Worker | None) -> int | None:
        """How many tokens the model takes that the next request goes to, connected or not yet. Reads files."""
        connection = worker.connection if worker is not None else None
        if connection is None:
            model, provider = self._settings.chosen
            return self._services.window(provider, model)
        return self._services.window(connection.provider, connection.model) or connection.context_window

    def begin(self, worker: Worker) -> Connection:
        """A turn begins: `connected`, and what the prompt depends on follows it."""
        connection = self.connected(worker)
        self._follow(connection)
        worker.meter.begin(*connection.answers)
        return connection

    def line(self, worker: Worker) -> LlmClient:
        """Whoever the session talks to at each request: one that is chosen in a running turn has its next one."""
        return _Line(lambda: self.connected(worker).client)

    def change(self, worker: Worker, *, in_turn: bool) -> None:
        """Talk to the model that was chosen last. Raises AgentError when it cannot be set up; all is as it was then."""
        with self._outbox.lock:
            wanted, self._wanted = self._wanted, None
        if wanted is None:
            return
        connection = self._connect(wanted.model, wanted.provider)
        before, worker.connection = worker.connection, connection
        if before is not None:
            before.client.close()
        chosen = (connection.model, connection.provider) if wanted.model else ("", "")
        self._settings.choose_model(*chosen)
        if in_turn:
            worker.meter.begin(*connection.answers)
        self._follow(connection)
        self.tell(worker, connection)
        if self._record.stored:
            self._settings.store(self._record.id, connection.model, connection.provider)

    def tell(self, worker: Worker, connection: Connection) -> None:
        worker.emit(events.ModelChanged(connection.model, connection.provider, connection.label))

    def tell_used(self, worker: Worker) -> None:
        """What was chosen for a stored session, and what it has used, for who opens it."""
        model, provider = self._settings.chosen
        if model and worker.connection is None:
            worker.emit(events.ModelChanged(model, provider, model))
        if not self._settings.is_usual:
            worker.emit(self._settings.event())
        spent = self._services.store.costs.spent(self._record.id)
        if spent.models:
            worker.emit(events.UsageLoaded(spent.usage, spent.cost, spent.is_partial))

    def _connect(self, model: str, provider: str) -> Connection:
        return self._services.connect(model, provider) if provider else self._services.connect(model)

    def _follow(self, connection: Connection) -> None:
        self.prompt_key = connection.model, connection.provider, self._settings.persona


class _Line:
    """See `SessionModel.line`."""

    def __init__(self, client: Callable[[], LlmClient]) -> None:
        self._client = client

    def complete(self, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        return self._client().complete(request, sink, cancel)

    def close(self) -> None:
        self._client().close()


class _Unconnected:
    """Stands for a model that could not be set up; every request fails with the reason."""

    def __init__(self, error: AgentError) -> None:
        self._error = error

    def complete(self, request: LlmRequest, sink: DeltaSink, cancel: CancelScope) -> LlmReply:
        raise self._error

    def close(self) -> None:
        pass
