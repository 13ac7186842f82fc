"""The person's own shell commands (!, !!) of one session: run beside its turns, joined to the history between steps."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from agent_core import events, messages, shell, spill
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, StoreError, crash
from agent_core.intents import Shell
from agent_core.messages import Message, new_id
from agent_core.mind.conversation import Conversation
from agent_core.names import SHELL
from agent_core.records import dataclass
from agent_core.session.outbox import Outbox
from agent_core.session.record import SessionRecord
from agent_core.session.services import SessionServices
from agent_core.session.worker import Worker

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Command:
    """One that runs."""

    subject: str
    private: bool
    scope: CancelScope
    thread: threading.Thread
    started: bool = False


class OwnCommands:
    """Safe to use from any thread.

    `begun` is called when one begins, `ended(stopped)` when one has come to its end, both under the session's lock;
    `placeable` when one waits for its place in the history.
    """

    def __init__(
        self,
        services: SessionServices,
        record: SessionRecord,
        outbox: Outbox,
        begun: Callable[[], None],
        ended: Callable[[bool], None],
        placeable: Callable[[], None],
    ) -> None:
        self._services = services
        self._record = record
        self._outbox = outbox
        self._begun = begun
        self._ended = ended
        self._placeable = placeable
        self._running: dict[str, _Command] = {}
        """By call id."""
        self._done: list[Message] = []
        """Those that have ended and wait for a step boundary; the store has them."""

    @property
    def are_running(self) -> bool:
        return bool(self._running)

    @property
    def are_over(self) -> bool:
        """None runs, and those that ran have their places in the history."""
        return not self._running and not self._done

    @property
    def scopes(self) -> list[CancelScope]:
        return [command.scope for command in self._running.values()]

    @property
    def threads(self) -> list[threading.Thread]:
        return [command.thread for command in self._running.values()]

    def start(self, intent: Shell, worker: Worker) -> None:
        """Run a command on a thread of its own; `worker` is the session's now."""
        subject = shell.subject(intent.command, self._services.redact)
        if not subject:
            return
        call_id, scope = new_id(), CancelScope()
        with self._outbox.lock:
            thread = threading.Thread(
                target=self._run, args=(call_id, intent, scope, worker), name="shell", daemon=True
            )
            self._running[call_id] = _Command(subject, intent.private, scope, thread)
            self._begun()
            self._outbox.emit(events.ToolQueued(call_id, SHELL, subject, intent.private))
        thread.start()

    def give_up(self) -> None:
        """Those that run are neither waited for nor heard of any more. Under the session's lock."""
        self._running.clear()

    def place(self, conversation: Conversation) -> None:
        """Give those that have ended their place in the history. On the worker's thread, at a step boundary."""
        while True:
            with self._outbox.lock:
                if not self._done:
                    return
                message = self._done.pop(0)
            try:
                conversation.place(message)
            except StoreError:
                with self._outbox.lock:
                    self._done.insert(0, message)
                raise

    def left_to_run(self) -> tuple[str, ...]:
        """The history is read now, with those that have ended: the call ids of the ones that have not."""
        with self._outbox.lock:
            self._done.clear()
            return tuple(self._running)

    def tell_again(self, history: events.HistoryChanged) -> None:
        """A history was told, whose cards are all there are now: those of commands that are not in it come again.

        Under the session's lock.
        """
        emit = self._outbox.emit
        ended = {message.shell.result.call_id for message in history.messages if message.shell is not None}
        for call_id, command in self._running.items():
            if call_id not in ended:
                emit(events.ToolQueued(call_id, SHELL, command.subject, command.private))
                if command.started:
                    emit(events.ToolStarted(call_id))
        for run in (message.shell for message in self._done):  # those that have ended just now
            if run is not None and run.result.call_id not in ended | self._running.keys():
                subject = shell.subject(run.command, self._services.redact)
                emit(events.ToolQueued(run.result.call_id, SHELL, subject, run.private))
                emit(events.finished(run.result))

    def _run(self, call_id: str, intent: Shell, scope: CancelScope, worker: Worker) -> None:
        try:
            # A stop also ends the waiting for a database that another program holds.
            with self._services.store.database.while_not(lambda: scope.cancelled):
                result = self._carry_out(call_id, intent, scope, worker)
        except Exception as error:  # the thread's own end: the card must come to one too
            failure = error if isinstance(error, AgentError) else crash(error)
            log.warning("shell command: %s", failure.text, exc_info=failure is not error)
            result = messages.ToolResult(call_id, SHELL, failure.text, ok=False, outcome="failed")
        with self._outbox.lock:
            worker.emit(events.finished(result))
            if self._running.pop(call_id, None) is not None and worker.is_current:
                self._ended(scope.cancelled)

    def _carry_out(self, call_id: str, intent: Shell, scope: CancelScope, worker: Worker) -> messages.ToolResult:
        """Note the command down, run it, have it stored. Raises AgentError."""
        services, lock = self._services, self._outbox.lock
        self._record.make()
        with self._record.lock:  # who reads the history would take it for one that a crash cut off
            command = shell.recorded(intent.command, services.redact)
            services.store.shell_started(self._record.id, call_id, command, intent.private)
        with lock:
            if call_id in self._running:
                self._running[call_id] = replace(self._running[call_id], started=True)
            worker.emit(events.ToolStarted(call_id))
        run = shell.run(
            self._where(intent.private), call_id, intent.command, intent.private, scope,
            lambda line: worker.emit(events.ToolProgress(call_id, line)),
        )  # fmt: skip
        if worker.is_current:
            message = messages.shell(run)
            if services.store.put_aside(self._record.id, message):
                with lock:
                    self._done.append(message)
                    self._placeable()
        return run.result

    def _where(self, private: bool) -> shell.ShellPlace:
        services = self._services
        return shell.ShellPlace(
            self._record.workspace,
            services.backend(lambda box: None),
            services.command_env,
            services.command_timeout,
            services.data_home / (spill.PRIVATE if private else spill.FOLDER),
            services.redact,
            tuple(services.keys()),
        )
