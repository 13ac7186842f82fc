"""The sub-agents of one session: a board of them, a gate before them, and a way to have one do something."""

from __future__ import annotations

from collections.abc import Callable

from agent_core import events, intents, limits
from agent_core.errors import AgentError, Interrupted
from agent_core.ports import ToolContext
from agent_core.services import Seat, SessionServices
from agent_core.subagents.board import Board, preview
from agent_core.subagents.gate import Gate
from agent_core.subagents.run import STOPPED, CrewOptions, Done, Order, Run, told_cost
from agent_core.text.ansi import clean


class Crew:
    """Safe to use from several threads."""

    def __init__(self, services: SessionServices, seat: Seat, options: Callable[[], CrewOptions]) -> None:
        """`options` is asked for each sub-agent."""
        self._services = services
        self._seat = seat
        self._options = options
        self._gate = Gate()
        self.board = Board(
            lambda rows: seat.emit(events.AgentsChanged(rows)), lambda: services.store.children.of(seat.session_id)
        )

    def run(self, order: Order, call: ToolContext) -> Done:
        """Have it done; returns when the sub-agent has ended, however it did. `call` is that of the parent's turn.

        Raises StoreError when nothing can be known of the session's sub-agents.
        """
        services, board, parent = self._services, self.board, self._seat.turn()
        task = services.redact(" ".join(clean(order.task).split()))[: limits.SUBJECT_CHARS]
        with call.cancel.child() as scope:
            row = board.add(order.definition.name, task, scope)
            try:
                if parent is None:  # the turn that asked for it was given up
                    raise Interrupted
                with self._gate.place(scope):
                    run = Run(services, self._seat, self._options(), board, row, order, parent, scope, call.progress)
                    done = run.run()
            except Interrupted:
                return Done(board.end(row.id, state="interrupted"), STOPPED)
            except AgentError as error:
                return Done(board.end(row.id, state="failed", preview=preview(error.text)), f"[failed] {error.text}")
            except BaseException:
                board.end(row.id, state="failed")
                raise
        if (told := told_cost(services, self._seat.session_id)) is not None:
            self._seat.emit(told)
        return done

    def heed(self, intent: intents.Intent) -> None:
        """What a person wants of one. Returns at once."""
        if isinstance(intent, intents.StopAgent):
            self.board.stop(intent.agent_id)
        elif isinstance(intent, intents.SteerAgent):
            self.board.steer(intent.agent_id, intent.text)

    def close(self) -> None:
        """The session is closed: all of them are stopped."""
        self.board.close()
