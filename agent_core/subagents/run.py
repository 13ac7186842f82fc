"""One run of a sub-agent: a turn of its own in a session of its own. Source: SUB-04, SUB-09 to SUB-12, LOOP-21.

It has its own conversation, seen files, plan and steps, and a stop nested in that of its parent's call. What it uses
counts towards its parent's budget.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from agent_core import events, limits
from agent_core.cancel import CancelScope
from agent_core.delegation import AgentRow, AgentState
from agent_core.errors import StoreError
from agent_core.messages import Message, new_id, user
from agent_core.mind import prompt, turn_lease, view
from agent_core.mind.agent import TurnEnd, run_turn
from agent_core.mind.conversation import Conversation
from agent_core.mind.meter import Meter
from agent_core.mind.turn import TurnTools
from agent_core.mind.turn_lease import TurnLease
from agent_core.names import BLIND, Mode
from agent_core.ports.asking import Question
from agent_core.ports.extras import Guidance
from agent_core.ports.model import LlmReply
from agent_core.session.compactor import Compactor, Means
from agent_core.session.outbox import Outbox
from agent_core.session.services import Connection, Seat, SessionServices
from agent_core.store.lease import lost
from agent_core.subagents import answers
from agent_core.subagents.board import Board, preview
from agent_core.subagents.lent import Borrower, lent
from agent_core.subagents.life import Life, awaited
from agent_core.subagents.order import CrewOptions, Done, Order, first_message
from agent_core.subagents.quiet import Quiet
from agent_core.subagents.words import late_words, stopped_words
from agent_core.text.ansi import clean

log = logging.getLogger(__name__)


class Run:
    """Of the sub-agent `row`, for a parent whose turn works with `parent`. Run once."""

    def __init__(
        self,
        services: SessionServices,
        seat: Seat,
        options: CrewOptions,
        board: Board,
        row: AgentRow,
        order: Order,
        parent: TurnTools,
        scope: CancelScope,
        progress: Callable[[str], None],
    ) -> None:
        """`progress` is told what it does, one line at a time."""
        self._services = services
        self._seat = seat
        self._options = options
        self._board = board
        self._row = row
        self._order = order
        self._parent = parent
        self._scope = scope
        self._progress = progress
        self._tokens = 0
        self._outbox = Outbox(row.session_id)
        self._quiet = Quiet(options.quiet_seconds, scope, self._is_silent)
        self._life = Life()
        self._saying: list[str] = []
        """What its model has said in the reply that is under way."""
        self._called: dict[str, str] = {}
        self._at_work: dict[str, str] = {}
        """Its calls, and those of them that run: what each does."""
        self._turn: TurnTools | None = None
        self._lease: TurnLease | None = None

    def run(self) -> Done:
        """Run it to its end, or until it was stopped and does not end. Raises AgentError for what goes wrong before it
        begins."""
        return awaited(f"{self._row.id}-turn", self._run, self._scope, self._give_up)

    def _run(self) -> Done:
        services = self._services
        connection, is_parents = self._connect()
        with ExitStack() as kept:
            kept.callback(connection.client.close)
            session_id = self._row.session_id
            self._life.keep(lambda: self._begins(connection))
            self._lease = lease = kept.enter_context(
                turn_lease.held(services.store.leases, session_id, self._scope, lambda holder: None,
                                allowed=lambda: self._life.keep(lambda: None))
            )  # fmt: skip
            self._turn = turn = self._tools(session_id, connection, is_parents)
            steps = self._order.definition.max_steps or self._options.max_steps
            with self._quiet:
                end = self._answer(turn, steps)
            turn.meter.end()
            code = end.error.code if end.error is not None else ""
            self._hear(events.TurnFinished("", end.outcome, end.steps, end.seconds, end.text, code))
            if lease.lost:
                raise lost()
            if end.outcome != "completed":  # a reply that was cut is no answer, but all that there is
                end = replace(end, text=_said_last(turn.conversation) or end.text)
            state, head = self._ending(end, steps)
            why = end.error.text if end.error is not None else head
            return self._life.end(lambda: self._done(state, head, end.text.strip(), end.steps, why))

    def _begins(self, connection: Connection) -> None:
        self._services.store.children.connected(self._row.session_id, connection.model, connection.provider)
        self._board.hear(self._row.id, self._outbox.mailbox)
        self._row = self._board.change(self._row.id, state="running", model=connection.model)

    def _answer(self, turn: TurnTools, steps: int) -> TurnEnd:
        """Its turn; an answer that has to fit a schema and does not is asked for once more."""
        ask, schema = self._compactor(turn).ask, self._order.schema
        sees = turn.toolbox.context.sees_images
        end = run_turn(turn, first_message(self._order, sees), self._steers, steps, ask)
        if schema is None or end.outcome != "completed":
            return end
        text, found = answers.looked_at(end.text, schema)
        if found:
            more = run_turn(
                turn, user(answers.again(found), origin="steer"), self._steers, max(1, steps - end.steps), ask
            )
            end = replace(more, steps=end.steps + more.steps, seconds=end.seconds + more.seconds)
            if end.outcome != "completed":
                return end
            text, found = answers.looked_at(end.text, schema)
        return replace(end, text=f"{answers.remark(found)}\n{text}" if found else text)

    # -- what it begins with ------------------------------------------------------------------------------------

    def _connect(self) -> tuple[Connection, bool]:
        """Its model, and whether that is the parent's. Raises ConfigError."""
        connect, wanted, provider = self._services.connect, self._order.definition.model, ""
        if not wanted:
            wanted, provider = self._options.model, self._options.provider
        if wanted or provider:
            return connect(wanted, provider, self._options.fallbacks), False
        row = self._services.store.get(self._seat.session_id)
        if row.model_chosen:
            return connect(row.model, row.provider), True
        return connect(""), True  # with what stands in for it, as the parent has it

    def _mode(self) -> Mode:
        return self._parent.toolbox.situation().mode

    def _tools(self, session_id: str, connection: Connection, is_parents: bool) -> TurnTools:
        services, parent, turn_id, base = self._services, self._parent, new_id(), self._prompt()
        meter = Meter(services.store.costs, session_id, services.price, services.budget, window=services.window)
        meter.begin(*connection.answers)
        sees = services.sees(connection.provider, connection.model) is not False
        to = Borrower(
            session_id,
            f"{self._row.id} {self._row.name}",
            self._scope,
            self._asking,
            self._hear,
            sees,
            self._options.auto_approve,
        )
        box = lent(parent.toolbox, to, self._order.definition, services)
        return TurnTools(
            self._quiet.listened(connection.client),
            Conversation(services.store, session_id, [], services.redact),
            replace(box, record=lambda decided: self._life.keep(lambda: box.record(decided))),
            self._hear,
            self._scope,
            lambda: prompt.with_mode(base, _freedom(self._mode())),
            lambda: replace(parent.settings() if is_parents else services.request, turn=turn_id),
            meter,
            services.window(connection.provider, connection.model) or connection.context_window,
            guard=services.guard,
            batch_timeout=services.batch_timeout,
        )

    def _prompt(self) -> str:
        services, workspace = self._services, self._seat.workspace
        context, _ = services.context(workspace)
        own = f"{prompt.text('subagent')}\n\n# Your part: {self._row.name}\n{self._order.definition.prompt}"
        return prompt.base(prompt.look_around(workspace), context, services.identity(), guidance=Guidance(own))

    def _compactor(self, turn: TurnTools) -> Compactor:
        services = self._services

        def fixed() -> dict[str, int]:
            tools = "".join(f"{tool.name}{tool.description}{tool.parameters}" for tool in turn.toolbox.schemas())
            return {"system": view.token_count(turn.system_prompt()), "tools": view.token_count(tools)}

        means = Means(services.store.views, services.connect, turn.toolbox.context.todos.read, fixed, lambda: None)
        return Compactor(services.compaction, means)

    # -- while it runs ------------------------------------------------------------------------------------------

    def _steers(self) -> list[Message]:
        return [user(text, origin="steer") for text in self._board.take_steers(self._row.id)]

    @contextmanager
    def _asking(self, question: Question) -> Iterator[None]:
        self._hear(events.QuestionAsked(question, 0.0))  # asked by its parent, which knows until when
        try:
            with self._quiet.held():
                yield
        finally:
            self._hear(events.QuestionClosed(question.id, "refuse", ""))  # answered: how shows in the result

    def _is_silent(self, since: float) -> None:
        with self._life.held() as counts:
            if counts:
                self._board.change(self._row.id, quiet=since)

    def _hear(self, event: events.Event) -> None:
        with self._life.held() as counts:
            if counts:
                self._quiet.heard(event)
                self._outbox.emit(event)
                self._note(event)

    def _note(self, event: events.Event) -> None:
        match event:
            case events.TextDelta(text):
                self._saying.append(text)
            case events.AssistantMessage() | events.PartialDropped():
                self._saying.clear()
            case events.QuestionAsked(question):
                self._does(f"asks: {question.title}")
            case events.StepStarted(step):
                self._row = self._board.change(self._row.id, steps=step, doing="")
            case events.ToolQueued(call_id, name, subject):
                self._called[call_id] = self._does(f"{name} {subject}")
            case events.ToolStarted(call_id):
                self._at_work[call_id] = self._called.get(call_id, "")
            case events.ToolEnded(call_id) | events.ToolFinished(call_id):
                self._at_work.pop(call_id, None)
            case events.UsageReported(usage):
                self._tokens += (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
                self._row = self._board.change(self._row.id, tokens=self._tokens)
            case events.ModelChanged(model):
                self._row = self._board.change(self._row.id, model=model)
            case events.Notice(code, text):
                if code == BLIND:
                    self._services.went_blind(str(event.params["provider"]), str(event.params["model"]))
                if code == "retry":
                    self._does(text)
            case _:
                pass

    def _does(self, words: str) -> str:
        doing = " ".join(self._services.redact(clean(words)).split())[: limits.SUBJECT_CHARS]
        self._row = self._board.change(self._row.id, doing=doing)
        self._progress(f"{self._row.id}: {doing}")
        return doing

    # -- its end ------------------------------------------------------------------------------------------------

    def _done(self, state: AgentState, head: str, said: str, steps: int, why: str) -> Done:
        """Note how it has ended. `head`: how, for who asked for it; `said`: its answer, or its last words."""
        text = said if state == "done" else f"{head}\nWhat it said last:\n{said}" if said else head
        # Of one that failed a person reads why first; that one was stopped they know.
        shown = why if state == "failed" else said
        row = self._board.end(self._row.id, state=state, steps=steps, preview=preview(self._services.redact(shown)))
        self._services.store.children.end(row.session_id, row)
        self._progress(f"{row.id}: {state}")
        return Done(row, text)

    def _give_up(self) -> Done | None:
        """It was stopped and does not end: what it has said last is what it came to. None: it has just ended.

        From the thread that waits for it. Nothing its own threads do is stored or told from now on.
        """
        if not self._life.give_up():
            return None
        log.warning("%s did not end when it was stopped, and was given up", self._row.id)
        self._quiet.end()
        said = "".join(self._saying).strip()
        if self._turn is not None:
            self._turn.conversation.close()
            said = self._settled(self._turn, said) or _said_last(self._turn.conversation)
        state, head = self._stopped()
        if self._lease is not None:
            self._lease.let_go()
        self._outbox.emit(events.TurnFinished("", "interrupted", self._row.steps, 0.0, said))
        return self._done(state, f"{head} {late_words(self._at_work.values())}", said, self._row.steps, head)

    def _settled(self, turn: TurnTools, said: str) -> str:
        """What it had `said` when it was given up is kept and counted, as that of a request that was cut; gives it."""
        try:
            if said:
                message = Message("assistant", self._services.redact(said), interrupted=True)
                self._services.store.append(turn.conversation.session_id, message)
                turn.meter.book(LlmReply())  # it was paid for, but nobody says how much
            turn.meter.end()
        except StoreError as error:  # no reason not to tell of its end
            log.warning("the last words of %s were not stored: %s", self._row.id, error)
        finally:
            turn.meter.close()
        return said

    def _ending(self, end: TurnEnd, steps: int) -> tuple[AgentState, str]:
        if end.outcome == "completed":
            return "done", ""
        if end.outcome == "interrupted" or self._quiet.has_stopped:
            return self._stopped()
        if end.error is not None:
            return "failed", f"[failed] {end.error.text}"
        return "failed", f"[not finished] It has used all of its {steps} steps. Give what is left as a smaller task."

    def _stopped(self) -> tuple[AgentState, str]:
        if self._quiet.has_stopped:
            return "failed", f"[timed out] It showed no sign of life for {self._quiet.seconds:.0f} s and was stopped."
        if self._lease is not None and self._lease.lost:
            return "failed", f"[failed] {lost().text}"
        return "interrupted", stopped_words(self._board, self._row.id)


def _said_last(conversation: Conversation) -> str:
    return next((m.text for m in reversed(tuple(conversation)) if m.role == "assistant" and m.text.strip()), "")


def _freedom(mode: Mode) -> Mode:
    """The mode whose sentence tells a sub-agent how free it is: a goal is its parent's to declare reached."""
    return "auto" if mode == "goal" else mode
