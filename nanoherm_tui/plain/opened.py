"""The sessions that are open here: which one is in view, and what they tell."""

from __future__ import annotations

import time
from dataclasses import field
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from agent_core import events, intents
from agent_core.errors import AgentError
from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.question import time_left, title
from nanoherm_tui.plain.meanwhile import Meanwhile
from nanoherm_tui.plain.teller import Teller
from nanoherm_tui.plain.words import pair
from nanoherm_tui.session_view import SessionView
from nanoherm_tui.text import duration, one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_core.ports.asking import Question
    from agent_core.session.live import LiveSession
    from nanoherm_tui.plain.face import Face
    from nanoherm_tui.session_view import Waiting


@dataclass(slots=True)
class Open:
    """A session that is open here."""

    view: SessionView
    teller: Teller
    meanwhile: Meanwhile = field(default_factory=Meanwhile)

    @property
    def name(self) -> str:
        return one_line(self.view.title) or t("sessions.untitled")


class Opened:
    """All of them. One is in view as soon as `show` was called."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self.all: dict[str, Open] = {}
        self.current: Open | None = None
        self.deleted: list[str] = []
        """Ids of sessions that were deleted in this run, the newest last."""
        self.last_outcome: events.TurnFinished | None = None
        """How the last turn in view did."""
        self._folders: set[Path] = set()
        self._rest_asked = 0.0
        """When those out of view were last asked to rest, in monotonic seconds."""
        self._reminded: set[str] = set()
        """Questions out of view whose end was told to be near."""

    @property
    def busy(self) -> bool:
        """A turn runs in the one in view."""
        return self.current is not None and _at_work(self.current)

    @property
    def goes_on(self) -> bool:
        """In one of them a turn runs, or something beside the turns whose result begins one."""
        return any(one.view.session.goes_on for one in self.all.values())

    @property
    def last_answer(self) -> str:
        """What the model said last in the one in view, as Markdown."""
        return self.current.teller.last_answer if self.current is not None else ""

    @property
    def next_word(self) -> float:
        """When there is something to say of what takes long or of a question out of view, or somebody to be asked to
        rest, in monotonic seconds."""
        ends = [w.deadline for _, w in self.waiting_elsewhere() if w.question.id not in self._reminded]
        near = min(ends, default=float("inf")) - limits.PLAIN_REMIND - time.time() + time.monotonic()
        rest = self._rest_asked + limits.SESSION_ASKED if self._may_rest else float("inf")
        return min(near, rest, self.current.teller.waits.next if self.current is not None else float("inf"))

    @property
    def _may_rest(self) -> list[Open]:
        """Those out of view that have nothing to do and nothing to tell. One that still learns from its turn does not
        rest when it is asked."""
        awake = [one for one in self.all.values() if one is not self.current and one.view.loaded]
        return [one for one in awake if one.meanwhile.is_empty and not (_at_work(one) or one.view.waiting)]

    def show(self, session: LiveSession) -> None:
        """Go on in this session."""
        face = self._face
        face.draft.save()
        one = self.all.get(session.id)
        if one is None or one.view.session is not session:
            label = face.host.model.state.label
            view = SessionView(session, title=session.title, mode=session.mode, model_label=label)
            one = self.all[session.id] = Open(view, Teller(view))
            session.mailbox.listen(lambda urgent: face.source.wake())
        elif self.current is not one and one.view.loaded:
            face.say(t("plain.session_again", title=one.name), *one.meanwhile.take())
            if _at_work(one) and one.view.turn_started:
                face.say(t("plain.goes_on", took=duration(time.monotonic() - one.view.turn_started)))
        self.current = one
        session.start()  # it may rest; then it tells its end again
        face.draft.begin("")
        try:
            face.draft.begin(face.host.draft(session.id))
        except AgentError as error:
            face.say_error(error)
        self._look_at_trust(session.workspace)
        Thread(target=partial(face.host.begin_servers, session.id), name="servers", daemon=True).start()
        face.typed_commands = ()

    def _leave(self, one: Open) -> None:
        """What runs there goes on out of view, and what it asks is said to wait; else it rests."""
        if _at_work(one):
            self._face.say(pair(one.name, t("plain.goes_on_beside")))
        for waits in one.view.waiting:
            self._face.say(pair(one.name, asks_elsewhere(waits.question, waits.deadline)))
        one.view.session.send(intents.Rest())  # one at work does not, and is asked again

    def switch(self, make: Callable[[], LiveSession]) -> None:
        """Go on in another session. A turn that runs in this one goes on."""
        session, left = make(), self.current
        if left is not None and left.view.session is not session:
            self._leave(left)
        self._face.say(t("plain.now_in", folder=self._face.shown_path(session.workspace)))
        self.show(session)

    def forget(self, session_id: str) -> None:
        self.all.pop(session_id, None)

    def _look_at_trust(self, workspace: Path) -> None:
        if workspace in self._folders:
            return
        self._folders.add(workspace)
        standing = self._face.host.trusting.look(workspace)
        if standing.asks:
            from nanoherm_tui.plain.consents import trust

            self._face.ask(trust(self._face, standing, workspace))

    def waiting_elsewhere(self) -> list[tuple[Open, Waiting]]:
        """Questions of the sessions that are not in view."""
        return [(one, waits) for one in self.all.values() if one is not self.current for waits in one.view.waiting]

    # -- what they tell ----------------------------------------------------------------------------------------------

    def gather(self) -> None:
        """Take what has happened, as lines; those of a session that is not in view name it, or wait."""
        face = self._face
        for one in list(self.all.values()):
            here, came = one is self.current, one.view.session.mailbox.drain()
            for envelope in came:
                lines = self._take(one, envelope.event)
                if not here:
                    lines = [pair(one.name, line) for line in one.meanwhile.sort(envelope.event, lines) if line]
                face.say(*lines)
            if here:
                face.say(*one.teller.waits.due(time.monotonic()))
        self._remind()
        if time.monotonic() - self._rest_asked >= limits.SESSION_ASKED:
            self._rest_asked = time.monotonic()
            for one in self._may_rest:
                one.view.session.send(intents.Rest())

    def _remind(self) -> None:
        """Of questions out of view whose end is near."""
        for one, waits in self.waiting_elsewhere():
            id = waits.question.id
            if id not in self._reminded and waits.deadline - time.time() <= limits.PLAIN_REMIND:
                self._reminded.add(id)
                self._face.say(pair(one.name, asks_elsewhere(waits.question, waits.deadline)))

    def _take(self, one: Open, event: events.Event) -> list[str]:
        view, face, here = one.view, self._face, one is self.current
        lines = one.teller.tell(event)
        view.take((event,))
        if isinstance(event, events.HistoryChanged):
            if event.messages:
                face.host.mark_seen(view.id, event.messages[-1].id)
        elif isinstance(event, events.AssistantMessage) and here:
            face.host.mark_seen(view.id, event.message_id)
        elif isinstance(event, events.TurnFinished) and here:
            self.last_outcome = event
        elif isinstance(event, events.QuestionAsked) and not here:
            lines = [asks_elsewhere(event.question, event.deadline)]
            if event.deadline - time.time() <= limits.PLAIN_REMIND:
                self._reminded.add(event.question.id)  # its end is near from the beginning
        elif isinstance(event, events.QuestionClosed):
            face.questions.closed(event.question_id)
        elif isinstance(event, events.Resting):
            if here:  # it was come back to meanwhile
                view.session.start()
                lines = []
            else:
                view.put_away()
        elif isinstance(event, events.ModeToConfirm) and here:
            from nanoherm_tui.plain.consents import confirm_mode

            face.ask(confirm_mode(face, event))
        for text in view.returned:
            face.draft.bring_back(text)
            view.session.send(intents.TextTaken(text))
        view.returned.clear()
        view.errors.clear()
        return lines


def _at_work(one: Open) -> bool:
    return one.view.session.busy or bool(one.view.turn_started)


def asks_elsewhere(question: Question, deadline: float) -> str:
    """What a session out of view asks, how long it waits, and the way there. `deadline`: seconds since the epoch."""
    left = time_left(deadline, time.time())
    return t("plain.asks_elsewhere", title=title(question), time=left, command="/inbox")
