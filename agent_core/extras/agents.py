"""Sub-agents as an extra of a session: its tools, made from the definitions that count when a turn begins."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Sequence

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.delegation import AgentRow
from agent_core.errors import AgentError, ToolFailure
from agent_core.events import Notice
from agent_core.messages import Message
from agent_core.ports.extras import EndedTurn, Guidance
from agent_core.ports.tools import Tool, ToolContext, ToolOutput
from agent_core.records import dataclass
from agent_core.session.mailbox import Mailbox
from agent_core.session.services import Seat, SessionServices
from agent_core.subagents.beside import Beside
from agent_core.subagents.crew import Crew
from agent_core.subagents.definitions import ANYTHING, Definition, Found, chosen, shipped
from agent_core.subagents.order import CrewOptions, Done, Order
from agent_core.tools import base, delegate
from agent_core.tools.delegate_task import Task, delegate_task


class AgentsExtra:
    """ports.Extra, ports.Returning. `found` reads the definitions that count now; without any nothing is offered."""

    def __init__(
        self,
        services: SessionServices,
        seat: Seat,
        found: Callable[[], Found],
        options: Callable[[], CrewOptions],
    ) -> None:
        self._seat = seat
        self._found = found
        self._crew = Crew(services, seat, options)
        self._beside = Beside(services, seat, self._crew)
        self._background = delegate_task(_Desk(self._crew, self._beside, self._worker))
        self.heard: Callable[[str], Mailbox | None] = self._crew.board.heard
        """Of a sub-agent that is at work, by its id: what it has told since it began, and tells from now on."""
        self._lock = threading.Lock()
        self._told: set[str] = set()
        seat.heed(self._crew.heed)

    # -- ports.Extra --------------------------------------------------------------------------------------------

    def tools(self) -> tuple[Tool, ...]:
        found = self._found()
        self._tell(found.problems)
        definitions = found.definitions[: limits.AGENTS_DEFINED]
        if not definitions:
            return (self._background,)
        kinds = [(one.name, one.description) for one in definitions]

        def check(name: str) -> None:
            _meant(definitions, name)

        def run(jobs: Sequence[delegate.Job], ctx: ToolContext) -> ToolOutput:
            return self._run([Order(_meant(definitions, job.name), job.task, job.context) for job in jobs], ctx)

        listing = delegate.agent_list(lambda: self._crew.board.rows)
        return delegate.subagent(kinds, check, run), listing, self._background

    def guidance(self) -> Guidance:
        return Guidance()

    def news(self) -> str:
        return ""

    def begin(self, text: str, cancel: CancelScope) -> str:
        return ""

    def ended(self, turn: EndedTurn) -> None:
        pass

    def close(self) -> None:
        self._beside.close()
        self._crew.close()

    # -- ports.Returning ----------------------------------------------------------------------------------------

    @property
    def is_at_work(self) -> bool:
        return self._beside.is_at_work

    @property
    def has_come(self) -> bool:
        return self._beside.has_come

    def returned(self) -> tuple[Message, ...]:
        return self._beside.returned()

    def told(self, message_ids: Collection[str]) -> None:
        self._beside.told(message_ids)

    # -- a call -------------------------------------------------------------------------------------------------

    def _run(self, orders: Sequence[Order], ctx: ToolContext) -> ToolOutput:
        if len(orders) == 1:
            return _output([self._crew.run(orders[0], ctx)])
        done: queue.SimpleQueue[tuple[int, Done | BaseException]] = queue.SimpleQueue()

        def work(number: int, order: Order, entered: threading.Event) -> None:
            try:
                done.put((number, self._crew.run(order, ctx, entered.set)))
            except BaseException as error:  # raised where somebody waits
                done.put((number, error))
            finally:
                entered.set()

        for number, order in enumerate(orders):
            entered = threading.Event()
            args = (number, order, entered)
            threading.Thread(target=work, args=args, name=f"agent-call-{number}", daemon=True).start()
            entered.wait()  # they have their numbers in the order of the tasks
        came = dict(done.get() for _ in orders)
        for result in came.values():
            if isinstance(result, BaseException):
                raise result
        return _output([result for _, result in sorted(came.items()) if isinstance(result, Done)])

    def _worker(self) -> Definition:
        """Who does what is asked for without a name: the definition for any task, else the one of the program's."""
        found = {one.name.casefold(): one for one in (*shipped().definitions, *self._found().definitions)}
        return found[ANYTHING]

    def _tell(self, problems: Sequence[AgentError]) -> None:
        """What is wrong with definitions, each once."""
        for problem in problems:
            with self._lock:
                if problem.text in self._told:
                    continue
                self._told.add(problem.text)
            self._seat.emit(Notice(problem.code, problem.text, "warning", problem.params))


@dataclass(frozen=True, slots=True)
class _Desk:
    """delegate_task.Desk."""

    crew: Crew
    beside: Beside
    worker: Callable[[], Definition]

    def spawn(self, tasks: Sequence[Task], ctx: ToolContext) -> Sequence[AgentRow]:
        worker = self.worker()
        orders = [Order(worker, one.goal, one.context, one.schema, one.images, one.group) for one in tasks]
        ctx.cancel.check()
        return self.beside.spawn(orders)

    def rows(self) -> Sequence[AgentRow]:
        return self.crew.board.rows

    def named(self, name: str) -> Sequence[AgentRow]:
        return self.crew.board.named(name)

    def tell(self, agent_id: str, text: str) -> bool:
        return self.crew.board.tell(agent_id, text)

    def give_up(self, agent_id: str) -> bool:
        return self.crew.board.give_up(agent_id)


def _meant(definitions: Sequence[Definition], name: str) -> Definition:
    """Raises ToolFailure."""
    found = chosen(definitions, name)
    if found is None:
        there = ", ".join(one.name for one in definitions)
        text = f"There is no sub-agent {name[: limits.PROBLEM_CHARS]}." if name else "Say which sub-agent, as name."
        raise ToolFailure(f"{text} There are: {there}.", code="no_such_agent", outcome="no such agent")
    return found


def _output(done: Sequence[Done]) -> ToolOutput:
    """What came of one call's sub-agents, in the order they were asked for."""
    parts = [f"[{one.row.id} {one.row.name}: {one.row.state}, {base.count(one.row.steps, 'step')}]\n{one.text}"
             for one in done]  # fmt: skip
    good = sum(one.row.state == "done" for one in done)
    if len(done) == 1:
        row = done[0].row
        how = base.count(row.steps, "step") if good else "stopped" if row.state == "interrupted" else "failed"
    else:
        how = f"{good} of {len(done)} done"
    previews = tuple(one.row.preview for one in done if one.row.preview)
    return ToolOutput("\n\n".join(parts), how, ok=good == len(done), effect="done", preview=previews)
