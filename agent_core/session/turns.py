"""A session's turns and compactions, run on its worker with everything they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agent_core import events
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, Interrupted, StoreError
from agent_core.events import Event, Outcome, TurnFinished
from agent_core.intents import Rollback, RollbackRedo, SetView
from agent_core.knowledge import Expansion
from agent_core.messages import Message, new_id, user
from agent_core.mind import context
from agent_core.mind.conversation import Conversation
from agent_core.names import BLIND, ApprovalPolicy, Mode
from agent_core.ports.asking import Asker
from agent_core.ports.extras import EndedTurn
from agent_core.ports.means import ChangeLog
from agent_core.session.compactor import Compactor, Means
from agent_core.session.history import SessionHistory
from agent_core.session.hooks import SessionHooks
from agent_core.session.kit import Kit
from agent_core.session.model import SessionModel
from agent_core.session.outbox import Outbox
from agent_core.session.own_commands import OwnCommands
from agent_core.session.prompt import SessionPrompt
from agent_core.session.record import SessionRecord
from agent_core.session.returns import SessionReturns
from agent_core.session.rollback import SessionRollback
from agent_core.session.services import SessionServices
from agent_core.session.settings import SessionSettings
from agent_core.session.waiting import PendingTexts
from agent_core.session.worker import Worker
from agent_core.store.lease import lost
from agent_core.store.notes import Wanted
from agent_core.text.image_refs import without

if TYPE_CHECKING:  # what only a turn needs comes with the first one: no start waits for it
    from agent_core.mind.agent import TurnEnd
    from agent_core.mind.turn import TurnTools
    from agent_core.tools.toolbox import Toolbox


_REPLYING = (events.TextDelta, events.ReasoningDelta, events.AssistantMessage, events.ToolQueued)
"""What tells that a model has begun to answer."""


class SessionTurns:
    """`ways` is asked at each call for mode and approval policy; `leave_mode` is what a tool may do about the mode.

    What has a `worker` is called on its thread, the rest from any.
    """

    def __init__(
        self,
        services: SessionServices,
        record: SessionRecord,
        settings: SessionSettings,
        outbox: Outbox,
        commands: OwnCommands,
        texts: PendingTexts,
        asker: Asker,
        ways: Callable[[], tuple[Mode, ApprovalPolicy]],
        leave_mode: Callable[[Mode], Mode],
    ) -> None:
        self.model = SessionModel(services, record, settings, outbox)
        self.history = SessionHistory(services, record, outbox, commands, texts, self._tell_read)
        self.kit = Kit(services, record.id, record.workspace, outbox.emit)
        self.rollback = SessionRollback(services, record, self.kit.files)
        self.hooks = SessionHooks(services, record.id, record.workspace, outbox.emit)
        self.returns = SessionReturns(self.kit, outbox.emit)
        self.kit.apart = self.apart
        self.prompt = SessionPrompt(services, record.id, self.kit, outbox.emit)
        views, todos = services.store.views, self.kit.todos.read
        self.compactor = Compactor(
            services.compaction,
            Means(views, services.connect, todos, self._fixed_tokens, self.prompt.renew, self.hooks.compacting),
        )
        self._services = services
        self._record = record
        self._settings = settings
        self._outbox = outbox
        self._commands = commands
        self._texts = texts
        self._asker = asker
        self._ways = ways
        self._leave_mode = leave_mode
        self._ended: EndedTurn | None = None
        """The turn that has just come to its end."""
        self._mode_kept: Mode | None = None
        """The mode that the store has, as far as this turn knows."""
        self._views: list[SetView] = []
        """What the person wants requests to make of messages, until it is stored."""

    # -- a turn -------------------------------------------------------------------------------------------------

    def run(self, message: Message, rewind: str, worker: Worker, scope: CancelScope) -> TurnFinished:
        """Run the turn that `message` begins, in the place of the message `rewind` and all behind it; "" = at the end.

        Never raises. How it ended is returned, to be told when the session is ready for the next one.
        """
        turn_id = new_id()
        worker.emit(events.TurnStarted(turn_id))
        try:
            # A stop also ends the waiting for a database that another program holds.
            with self._services.store.database.while_not(lambda: scope.cancelled):
                end = self._run(message, rewind, worker, scope, turn_id)
        except Interrupted:  # before the turn could begin
            return TurnFinished(turn_id, "interrupted", 0, 0.0)
        except Exception as error:  # whatever went wrong before the turn began; the turn itself never raises
            code = worker.tell_failure(error)
            finished = TurnFinished(turn_id, "interrupted" if scope.cancelled else "failed", 0, 0.0, error_code=code)
        else:
            code = end.error.code if end.error is not None else ""
            finished = TurnFinished(turn_id, end.outcome, end.steps, end.seconds, end.text, code)
        ended, self._ended = self._ended, None
        if ended is not None:
            self.kit.ended(ended)
        if code == lost().code:  # which stops the turn as a person would, but nobody did
            return replace(finished, outcome="failed")
        return finished

    def _run(self, message: Message, rewind: str, worker: Worker, scope: CancelScope, turn_id: str) -> TurnEnd:
        """The turn itself. Raises AgentError for what goes wrong before it begins, and when the lease was lost."""
        from agent_core.mind.agent import run_turn
        from agent_core.mind.turn import Aside

        is_persons = message.origin != "agents"  # what others wrote names no images, files or commands
        message = self._with_images(message, worker) if is_persons else message
        self._mode_kept = self._ways()[0]  # the worker has stored every earlier one
        self._record.make(without(message.text))
        with self.history.lease(worker, scope) as lease, ExitStack() as kept:
            if rewind:
                message = self.history.rewind(message, rewind, worker)
            conversation = worker.conversation
            assert conversation is not None
            self._commands.place(conversation)
            added = self.hooks.begin(message.text, worker.emit, scope)
            self.kit.settle(scope)
            turn = self._tools(worker, conversation, scope, turn_id, kept.enter_context(self.rollback.keeping(message)))
            if added:
                conversation.add(user(added, origin="note"))
            self._task_news(conversation)
            if news := self.prompt.news():
                conversation.add(user(news, origin="note"))
                worker.emit(events.Notice("context_changed", "The guidance files have changed; the model is told."))
            if news := self.prompt.extras_news():
                conversation.add(user(news, origin="note"))
            self.returns.place(conversation, message)
            if self._ways()[0] == "goal":
                self.kit.goal.begin(message.text if is_persons else "")
            self.kit.turn = turn  # what is typed may ask a server, which ends with the turn
            message = self._expanded(message, turn, worker) if is_persons else message
            begun = [text for extra in self.kit.extras if (text := extra.begin(message.text, scope))]
            turn, before = replace(turn, aside=Aside("\n\n".join(begun), message.id)), len(conversation)
            self.kit.turn = turn
            end = run_turn(
                turn, message, lambda: self._at_boundary(worker, turn), self._services.max_steps, self.compactor.ask,
                self._onward,
            )  # fmt: skip
            self.returns.begun(conversation, message)
        self.hooks.ended(end.outcome, end.text, scope)
        said = tuple(conversation)[before:]
        self._ended = EndedTurn(
            turn_id,
            is_persons and end.outcome == "completed",
            message.text,
            end.text,
            said,
            *self.model.named,
            worker.stood_in_for,
        )
        if lease.lost and end.error is None:
            raise lost()
        return end

    def _onward(self, worked: bool) -> str | events.Notice:
        """Whether the turn that has come to an answer is to go on: only in mode goal."""
        return self.kit.goal.onward(worked) if self._ways()[0] == "goal" else ""

    def _tools(
        self,
        worker: Worker,
        conversation: Conversation,
        scope: CancelScope,
        turn_id: str,
        changes: ChangeLog | None = None,
    ) -> TurnTools:
        from agent_core.mind.turn import TurnTools

        connection = self.model.begin(worker)
        sees = self._services.sees(connection.provider, connection.model) is not False
        asker = self.hooks.notifying(self.kit.goal.listening(self._asker), scope)
        toolbox = self._toolbox(scope, asker, worker.emit, self._leave_mode, changes)
        toolbox = replace(toolbox, context=replace(toolbox.context, sees_images=sees))

        def telling(event: Event) -> None:
            if isinstance(event, _REPLYING):
                self.rollback.reply_began()
            if isinstance(event, events.Notice) and event.code == BLIND:
                self._services.went_blind(str(event.params["provider"]), str(event.params["model"]))
            worker.stood_in_for |= isinstance(event, events.ModelChanged)
            worker.emit(event)

        return TurnTools(
            self.model.line(worker),
            conversation,
            replace(toolbox, tools=self.prompt.in_order(toolbox.tools, self.model.prompt_key)),
            telling,
            scope,
            self._system_prompt,
            partial(self._settings.request, turn_id),
            worker.meter,
            connection.context_window,
            worker.cut,
            self._services.guard,
            self._services.batch_timeout,
        )

    def _toolbox(
        self,
        scope: CancelScope,
        asker: Asker,
        emit: Callable[[Event], None],
        leave_mode: Callable[[Mode], Mode],
        changes: ChangeLog | None,
    ) -> Toolbox:
        """The kit's tools behind the person's switches and hooks."""
        return replace(
            self.kit.toolbox(self._record.workspace, scope, asker, emit, self._ways, leave_mode, changes),
            off=lambda: self._settings.tools_off | self.kit.refused,
            refuse=self.kit.refuse,
            veto=self.hooks.veto(scope),
            remark=self.hooks.remark(scope),
        )

    @contextmanager
    def apart(self, scope: CancelScope, words: str) -> Iterator[TurnTools]:
        """As in Seat.apart. The same rules, asked anew at each call: a mode that is entered later holds here too."""
        turn = self.kit.turn
        if turn is None:
            raise Interrupted
        emit = self._outbox.emit
        with self.rollback.keeping_apart(words) as changes:
            toolbox = self._toolbox(scope, self.hooks.notifying(self._asker, scope), emit, lambda left: left, changes)
            yield replace(turn, toolbox=toolbox, emit=emit, cancel=scope)

    def _at_boundary(self, worker: Worker, turn: TurnTools) -> list[Message]:
        """Between two steps: the commands the person ran join the history; gives the steers that came."""
        if worker.is_current and worker.conversation is not None:
            self._commands.place(worker.conversation)
            self._task_news(worker.conversation)
            self.store_views(worker)
            try:
                if (mode := self._ways()[0]) != self._mode_kept:  # a killed program must not come back in the other one
                    self._services.store.set_mode(self._record.id, mode)
                    self._mode_kept = mode
                self.model.change(worker, in_turn=True)
            except AgentError as error:  # the turn goes on with the one it has
                worker.tell_failure(error)
        with self._outbox.lock:
            if not worker.is_current:
                return []
            self._texts.forget_stored(worker.conversation)
            worker.cut.mend()
            steers = self._texts.hand_steers()
        if not steers:
            return []
        had, said = worker.conversation.images_of_turn() if worker.conversation is not None else 0, []
        for steer in steers:
            steer = self._with_images(steer, worker, had)
            had += len(steer.parts)
            try:
                steer = self._expanded(steer, turn, worker)
            except Interrupted:
                pass  # it is kept as it was typed, and the turn ends at its next step
            except AgentError as error:  # the turn goes on; what was typed says what was meant
                worker.tell_failure(error)
            said.append(steer)
        return said

    def _expanded(self, message: Message, turn: TurnTools, worker: Worker) -> Message:
        """The message with what the typed command and the references in it stand for. Raises AgentError."""
        if not message.text.startswith("/") and "@" not in message.text:
            return message
        from agent_core.session.expanding import expanded

        def expand(text: str) -> Expansion | None:
            return self._services.expand(self._record.id, self._record.workspace, text)

        # While the person is asked, what they have sent stands where it waits: it joins the conversation afterwards.
        return expanded(message, expand, turn.toolbox, turn.cancel, worker.emit, self._texts.hold_up)

    def _with_images(self, message: Message, worker: Worker, had: int = 0) -> Message:
        """What the person said, with the images that it names, `had` being those of its turn so far.

        Of those it cannot have the person is told.
        """
        found = self._services.attach(message, had)
        for problem in found.problems:
            worker.emit(events.Notice(problem.code, problem.text, "warning", problem.params))
        return found.message

    def after(self, finished: TurnFinished, worker: Worker) -> None:
        """Have the history read anew when the store has refused something of the turn."""
        if finished.error_code.startswith(("store_", "session_")):
            worker.conversation = None  # a call's result may be missing in it
            if finished.error_code == lost().code:
                with suppress(StoreError):
                    self.history.load(worker)  # what was on its way is not in the session

    def compact(self, focus: str, worker: Worker, scope: CancelScope) -> Outcome:
        """Compact between two turns. Never raises."""
        try:
            with self._services.store.database.while_not(lambda: scope.cancelled), self.history.lease(worker, scope):
                assert worker.conversation is not None
                self.hooks.look(worker.emit)
                self.compactor.compact(self._tools(worker, worker.conversation, scope, new_id()), focus)
        except Interrupted:
            return "interrupted"
        except Exception as error:  # told, and the session can be used again
            worker.tell_failure(error)
            return "interrupted" if scope.cancelled else "failed"
        return "completed"

    def roll_back(self, intent: Rollback | RollbackRedo, worker: Worker, scope: CancelScope) -> Outcome:
        """Bring files back between two turns, or take that back. Never raises."""
        try:
            with self._services.store.database.while_not(lambda: scope.cancelled), self.history.lease(worker, scope):
                assert worker.conversation is not None
                self.rollback.run(intent, worker.conversation, worker.emit)
        except Interrupted:
            return "interrupted"
        except Exception as error:  # told, and the session can be used again
            worker.tell_failure(error)
            return "interrupted" if scope.cancelled else "failed"
        return "completed"

    # -- rest ---------------------------------------------------------------------------------------------------

    @property
    def are_over(self) -> bool:
        """Nothing is left to do for them: no view to be stored, nothing that runs beside them, nothing to be learnt.
        Does not block."""
        tasks = self.kit.tasks
        beside = (tasks is not None and tasks.run) or self.returns.are_at_work or self.returns.wanted
        return not (self._views or self.kit.is_learning or beside)

    def let_go(self, worker: Worker) -> None:
        """Until the next one: the connection, the extras, the prompt, the walls. All of them are made anew then."""
        connection, worker.connection = worker.connection, None
        if connection is not None:
            connection.client.close()
        self.prompt.let_go()
        self.kit.let_go()
        self._services.rests(self._record.id)

    # -- what a request holds -----------------------------------------------------------------------------------

    def set_view(self, wanted: SetView, *, in_turn: bool) -> None:
        """Note what the person drops, pins or gives back; `store_views` makes it so.

        In a turn that may take long: a killed program must not lose it.
        """
        with self._outbox.lock:
            self._views.append(wanted)
            if in_turn:
                for uid in wanted.message_ids:
                    self._services.keep(Wanted(self._record.id, uid, wanted.view))
            self._outbox.emit(events.ViewChanged(wanted.message_ids, wanted.view))

    def store_views(self, worker: Worker) -> None:
        """What the person dropped, pinned or gave back acts on the next request."""
        while worker.conversation is not None:
            with self._outbox.lock:
                if not self._views:
                    return
                wanted = self._views[0]
            try:
                worker.conversation.set_view(wanted.message_ids, wanted.view)
            except StoreError as error:  # no reason to end a turn
                worker.tell_failure(error)
            with self._outbox.lock:  # only now: until then `report` counts it as wanted
                self._views = [waiting for waiting in self._views if waiting is not wanted]

    def report(self, worker: Worker | None) -> context.Report:
        """What fills the model's window now, and what the person wants of it. Reads files."""
        with self._outbox.lock:
            wanted = {uid: intent.view for intent in self._views for uid in intent.message_ids}
        conversation = worker.conversation if worker is not None else None
        return context.report(
            list(conversation) if conversation is not None else [],
            wanted,
            self._fixed_tokens(),
            self.compactor.factor,
            self.model.window(worker),
        )

    def _system_prompt(self) -> str:
        mode, _ = self._ways()
        text = self.prompt.text(mode, self.model.prompt_key, self.kit.goal.words)
        self.prompt.save()
        return text

    def _fixed_tokens(self) -> Mapping[str, int]:
        mode, _ = self._ways()
        return self.prompt.fixed(mode, self.model.prompt_key, self._settings.tools_off)

    def _task_news(self, conversation: Conversation) -> None:
        """The model hears of commands in the background that have ended."""
        if self.kit.tasks is not None:
            with self.kit.tasks.news() as news:
                if news:
                    conversation.add(user(news, origin="note"))

    def _tell_read(self, worker: Worker) -> None:
        """A stored conversation was read: the plan, what was chosen and what was used belong to it."""
        if self.kit.tasks is not None:
            self.kit.tasks.find()
        self.kit.todos.load(self._services.store.todos(self._record.id))
        self.kit.goal.load(self._services.store.goal(self._record.id))
        if agents := self._services.store.children.of(self._record.id):
            worker.emit(events.AgentsChanged(agents))
            if not self.returns.are_at_work:
                self.returns.found(len(self._services.store.delegations.left(self._record.id)))
        self.model.tell_used(worker)
