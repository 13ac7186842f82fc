"""The sessions that are open here: which one is in view, and what they tell."""

from __future__ import annotations

import time
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING

from agent_core import events, intents
from agent_core.errors import AgentError
from agent_core.records import dataclass
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.question import time_left, title
from nanoherm_tui.plain.words import Teller, pair
from nanoherm_tui.session_view import SessionView
from nanoherm_tui.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agent_core.session import LiveSession
    from nanoherm_tui.plain.face import Face
    from nanoherm_tui.session_view import Waiting


@dataclass(slots=True)
class Open:
    """A session that is open here."""

    view: SessionView
    teller: Teller


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

    @property
    def busy(self) -> bool:
        """A turn runs in the one in view."""
        if self.current is None:
            return False
        view = self.current.view
        return view.session.busy or bool(view.turn_started)

    @property
    def last_answer(self) -> str:
        """What the model said last in the one in view, as Markdown."""
        return self.current.teller.last_answer if self.current is not None else ""

    @property
    def next_word(self) -> float:
        """When the next of them has something to say of what takes long, in monotonic seconds."""
        return min((one.teller.waits.next for one in self.all.values()), default=float("inf"))

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
            face.say(t("plain.session_again", title=one_line(one.view.title) or t("sessions.untitled")))
        if self.current is not None and self.current is not one:
            self.current.view.session.send(intents.Rest())  # nothing runs in it: `switch`
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

    def switch(self, make: Callable[[], LiveSession]) -> None:
        """Go on in another session; not under a running turn, whose questions nobody would hear."""
        face = self._face
        if self.busy:
            face.say(t("plain.busy"))
            return
        self.show(make())
        face.say(t("plain.now_in", folder=face.shown_path(face.session.workspace)))

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
        """Take what has happened, as lines; those of a session that is not in view name it."""
        face = self._face
        for one in list(self.all.values()):
            here = one is self.current
            for envelope in one.view.session.mailbox.drain():
                lines = self._take(one, envelope.event)
                face.say(*(lines if here else [pair(one_line(one.view.title), line) for line in lines if line]))
            face.say(*(one.teller.waits.due(time.monotonic()) if here else ()))

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
            lines = [asks_elsewhere(event)]
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


def asks_elsewhere(event: events.QuestionAsked) -> str:
    """What a session out of view asks, how long it waits, and the way there."""
    left = time_left(event.deadline, time.time())
    return t("plain.asks_elsewhere", title=title(event.question), time=left, command="/inbox")
