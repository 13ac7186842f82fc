"""The sub-agents of one session: a board of them, a gate before them, and a way to have one do something."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager

from agent_core import events, intents, limits
from agent_core.cancel import CancelScope
from agent_core.delegation import AgentRow, AgentState
from agent_core.errors import AgentError, Interrupted, StoreError
from agent_core.mind.turn import TurnTools
from agent_core.ports.tools import ToolContext
from agent_core.session.services import Seat, SessionServices
from agent_core.store.children import Birth
from agent_core.subagents.board import Board, preview
from agent_core.subagents.gate import Gate
from agent_core.subagents.order import CrewOptions, Done, Order
from agent_core.subagents.run import Run
from agent_core.subagents.words import stopped_words
from agent_core.text.ansi import clean

log = logging.getLogger(__name__)


class Crew:
    """Safe to use from several threads."""

    def __init__(self, services: SessionServices, seat: Seat, options: Callable[[], CrewOptions]) -> None:
        """`options` is asked for each sub-agent."""
        self._services = services
        self._seat = seat
        self._options = options
        self._gate = Gate()
        self.board = Board(
            lambda rows: seat.emit(events.AgentsChanged(rows)),
            lambda: services.store.children.of(seat.session_id),
            lambda text: seat.emit(events.TextReturned(text)),
        )

    def run(self, order: Order, call: ToolContext, entered: Callable[[], None] = lambda: None) -> Done:
        """Have it done; returns when the sub-agent has ended, however it did. `call` is that of the parent's turn.
        `entered` is called when it has its number and is on record.

        Raises StoreError when nothing can be known of the session's sub-agents.
        """
        with call.cancel.child() as scope:
            row = self._listed(order, scope)

            def work() -> Done:
                parent = self._seat.turn()
                if parent is None:  # the turn that asked for it was given up
                    raise Interrupted
                known = self._on_record(row, parent.toolbox.situation().mode)
                entered()
                return self._go(known, order, parent, scope, call.progress)

            return self._to_its_end(row, work)

    def enlist(self, order: Order, scope: CancelScope, mode: str) -> AgentRow:
        """Note one that is to work in the background; `work` has it done. Raises StoreError: there is none then."""
        row = self._listed(order, scope, background=True)
        try:
            return self._on_record(row, mode)
        except StoreError as error:
            self._ended(row.id, "failed", error.text)
            raise

    def work(
        self, row: AgentRow, order: Order, scope: CancelScope, parent: Callable[[], AbstractContextManager[TurnTools]]
    ) -> Done:
        """Have one done that was enlisted; returns when it has ended, however it did. `parent`: what it works with."""

        def work() -> Done:
            with parent() as turn:
                return self._go(row, order, turn, scope, lambda text: None)

        return self._to_its_end(row, work)

    def drop(self, row: AgentRow, why: str) -> None:
        """One that was enlisted cannot be done."""
        self._ended(row.id, "failed", why)

    def _listed(self, order: Order, scope: CancelScope, *, background: bool = False) -> AgentRow:
        task = self._services.redact(" ".join(clean(order.task).split()))[: limits.SUBJECT_CHARS]
        group = self._services.redact(order.group)
        return self.board.add(order.definition.name, task, scope, group=group, background=background)

    def _on_record(self, row: AgentRow, mode: str) -> AgentRow:
        """Before it waits: what was asked for is on record, whatever becomes of it. Raises StoreError."""
        birth = Birth(row.id, row.name, row.task, str(self._seat.workspace), mode, row.group, row.background)
        session_id = self._services.store.children.begin(self._seat.session_id, birth)
        return self.board.change(row.id, session_id=session_id)

    def _go(
        self, row: AgentRow, order: Order, parent: TurnTools, scope: CancelScope, progress: Callable[[str], None]
    ) -> Done:
        """Raises AgentError for what goes wrong before it begins, Interrupted when it is stopped before."""
        options = self._options()
        with self._gate.place(scope, options.at_once):
            return Run(self._services, self._seat, options, self.board, row, order, parent, scope, progress).run()

    def _to_its_end(self, row: AgentRow, work: Callable[[], Done]) -> Done:
        """The one place where what goes wrong with one becomes how it has ended."""
        try:
            done = work()
        except Interrupted:
            words = stopped_words(self.board, row.id)
            return Done(self._ended(row.id, "interrupted"), words)
        except AgentError as error:
            return Done(self._ended(row.id, "failed", error.text), f"[failed] {error.text}")
        except BaseException:
            self._ended(row.id, "failed")
            raise
        if (told := _told_cost(self._services, self._seat.session_id)) is not None:
            self._seat.emit(told)
        return done

    def _ended(self, agent_id: str, state: AgentState, words: str = "") -> AgentRow:
        """It has ended without a turn that came to an end."""
        row = self.board.end(agent_id, state=state, preview=preview(self._services.redact(words)))
        if row.session_id:
            try:
                self._services.store.children.end(row.session_id, row)
            except StoreError as error:
                log.warning("how %s ended was not stored: %s", row.id, error)
        return row

    def heed(self, intent: intents.Intent) -> None:
        """What a person wants of one. Returns at once."""
        if isinstance(intent, intents.StopAgent):
            self.board.stop(intent.agent_id)
        elif isinstance(intent, intents.SteerAgent):
            self.board.steer(intent.agent_id, intent.text)

    def close(self) -> None:
        """The session is closed: all of them are stopped."""
        self.board.close()


def _told_cost(services: SessionServices, session_id: str) -> events.UsageLoaded | None:
    """What a session has used with its children, for who shows it."""
    try:
        spent = services.store.costs.spent(session_id)
    except StoreError:  # the next request tells it
        return None
    return events.UsageLoaded(spent.usage, spent.cost, spent.is_partial)
