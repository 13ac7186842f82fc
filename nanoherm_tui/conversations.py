"""The sessions that are open, and what the panes show of the one in view.

Made when the first frame is shown: of all that is loaded here nothing is needed before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from agent_core import events, intents
from agent_core.errors import AgentError, crash
from nanoherm_tui import i18n, limits
from nanoherm_tui.agent_looks import AgentLooks
from nanoherm_tui.attention import Attention
from nanoherm_tui.bridge import Bridge
from nanoherm_tui.commands import remarks, trust
from nanoherm_tui.commands.panes import focus_pane
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.list_tab import LISTS
from nanoherm_tui.resting import Resting
from nanoherm_tui.session_view import Part, SessionView
from nanoherm_tui.summary import session_items
from nanoherm_tui.words.sandbox import why_none

if TYPE_CHECKING:
    import asyncio

    from agent_core.events import Envelope
    from agent_core.messages import Comment, Message
    from agent_core.session.live import LiveSession
    from agent_core.store.rows import SessionRow
    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.panes.comments import Comments

log = logging.getLogger(__name__)


class Conversations:
    """Lives on the screen's thread."""

    def __init__(self, app: NanohermApp, loop: asyncio.AbstractEventLoop) -> None:
        self._app = app
        self.bridge = Bridge(loop, self.deliver, app.end_with)
        self.bridge.interval = max(limits.BATCH_SECONDS, 1 / app.frame_rate)
        self.looks = AgentLooks(app, self.bridge)
        """At sub-agents, whose transcripts stand in the place of the session's."""
        self.attention = Attention(app)
        self.resting = Resting(app)
        self.views: dict[str, SessionView] = {}
        """By session id."""
        self.view: SessionView | None = None
        """The one the panes show."""
        self.rows: list[SessionRow] = []
        """What is stored, the newest first."""
        self.deleted: list[str] = []
        """Ids of sessions deleted in this run, the newest last."""
        self._held: list[events.Event] = []
        self._jump: tuple[str, tuple[str, ...], str] | None = None
        self._no_sandbox_told = False
        self._on_the_way = 0
        """Sessions that were asked for and are not here yet."""
        self._for_next: list[intents.Steer | intents.Queue] = []

    # -- which one ------------------------------------------------------------------------------------------------

    def bring(self, make: Callable[[], LiveSession], then: Callable[[LiveSession], None] | None = None) -> None:
        """Have the desk make a session, then show it, or do `then`. What is written meanwhile is for that one."""
        self._on_the_way += 1
        draft = self._app.composer.text

        def made() -> LiveSession | AgentError:
            try:
                return make()
            except AgentError as error:
                return error
            except Exception as error:  # what was sent meanwhile waits for an answer, whatever it is
                log.exception("a session could not be had")
                return crash(error)

        def come(result: LiveSession | AgentError) -> None:
            self._on_the_way -= 1
            if isinstance(result, AgentError):
                self.tell_error(result)
            else:
                typed = self._typed_since(draft)
                (then or self.show)(result)
                if typed:
                    self._app.composer.insert(typed)
            if not self._on_the_way:
                self._send_held(failed=isinstance(result, AgentError))

        self._app.desk.do(made, come)

    def _typed_since(self, draft: str) -> str:
        """Take what was typed behind `draft` out of the composer: the session that was to come is whom it is for."""
        composer = self._app.composer
        text = composer.text
        if text == draft or not text.startswith(draft):
            return ""
        composer.text = draft
        return text[len(draft) :]

    def _send_held(self, *, failed: bool) -> None:
        waiting, self._for_next = self._for_next, []
        for intent in waiting:
            if failed:  # it was not for the session that is still in view
                self._app.composer.bring_back(intent.text)
            else:
                self.send(intent)

    def show(self, session: LiveSession) -> None:
        """Bring a session to the front; its view is made on first sight."""
        app = self._app
        view = self.views.get(session.id)
        if view is None or view.session is not session:
            view = SessionView(session, title=session.title, mode=session.mode)
            self.views[session.id] = view
            self.bridge.watch(session)
        session.start()  # it may rest
        before, first = self.view, self.view is None
        if self.view is not None and self.view is not view:
            self.mark_seen()
            self.looks.forget_shown()
            app.approval.clear()
            app.dock.clear()
        if self.view is not view:
            app.composer.forget_typed()
        self.view = view
        if before is not None and before is not view:
            self.resting.left(before)
        app.dock.use_comments(view.comments)
        app.files.show(session.workspace, app.host.files.index)
        view.unread = False
        if app.composer.show_draft(view.id):
            app.desk.do(lambda: app.host.draft(view.id), lambda text: self._draft_known(view, text))
        if not view.comments.restored:  # after the draft, into which they may go
            app.desk.do(partial(app.host.comments, view.id), partial(self._comments_known, view))
        app.transcript.show(view.model, seen=next((row.seen for row in self.rows if row.id == view.id), ""))
        app.greet()
        for waiting in view.waiting:
            app.approval.ask(waiting.question, waiting.deadline)
        self._show(view, {"status", "list", "title", "plan", "tasks", "pending", "diffs", "error", "returned"})
        trust.look_at(app, session.workspace)
        begin = partial(app.host.begin_servers, session.id)
        app.set_timer(limits.SERVERS_BEGIN, lambda: app.desk.do_beside(begin, lambda _: None))
        if first and app.focused_context != "composer":
            return  # somebody has gone to another pane already
        focus_pane(app, "composer")  # also from under a list that covers it
        app.call_after_refresh(self._jump_now)

    def bring_earlier(self) -> None:
        """Read what the session in view holds before what is shown of it."""
        view = self.view
        if view is None:
            return
        first = view.model.first

        def come(messages: Sequence[Message]) -> None:
            if view.model.first != first or not view.model.earlier:
                return  # the history has become another one meanwhile
            view.prepend(messages)
            if view is self.view:
                self.looks.back()
                self._app.transcript.prepend(messages)
            else:
                view.model.prepend(messages)
            self._jump_now()

        self._app.desk.do(lambda: self._app.host.earlier(view.id, first), come)

    def _draft_known(self, view: SessionView, text: str) -> None:
        self._app.composer.restore(view.id, text)
        if view is self.view:
            self._take_returned(view)
        self._app.greet()

    def _comments_known(self, view: SessionView, kept: tuple[Comment, ...]) -> None:
        more = bool(view.comments)  # somebody was quicker than the disk
        view.comments.restore(kept)
        if more:
            self.keep_comments(view.comments)
        if view is self.view:
            self._app.dock.stale()

    def keep_comments(self, comments: Comments) -> None:
        """Have comments kept on disk, with the session that they belong to."""
        view = next((view for view in self.views.values() if view.comments is comments), None)
        if view is not None and comments.restored:
            from agent_core.messages import Comment

            kept = [Comment(path, hunk, words) for (path, hunk), words in comments.to_keep()]
            self._app.host.keep_comments(view.id, kept)

    def jump(self, session_id: str, names: tuple[str, ...], words: str) -> None:
        """When this session is shown and loaded, show its entry with one of `names` and mark `words` there."""
        self._jump = (session_id, names, words)

    def placed(self) -> None:
        """The transcript has a size: a jump may have waited for it."""
        self._jump_now()

    def _jump_now(self) -> None:
        if self._jump is None or self.view is None or self.view.id != self._jump[0] or not self.view.loaded:
            return
        if not self._app.transcript.is_placed:
            return  # its first message has just made room for it: `placed` comes next
        _, names, words = self._jump
        self.looks.back()
        if self._app.transcript.jump(names, words):
            focus_pane(self._app, "transcript")
        elif self.view.model.earlier:
            self.bring_earlier()  # it lies before what is loaded
            return
        else:
            self._app.hint(t("search.gone"))
        self._jump = None

    def mark_seen(self) -> None:
        """Have it written down how far the session in view has been seen."""
        if self.looks.shown is not None:  # what is seen is not this session
            return
        if self.view is not None and self.view.stored and (uid := self._app.transcript.last_seen):
            self._app.host.mark_seen(self.view.id, uid)

    def forget(self, session_id: str) -> None:
        self.views.pop(session_id, None)
        self.bridge.forget(session_id)
        self.looks.forget(session_id)

    def reload(self) -> None:
        """Read again what is stored."""
        self._app.desk.do(self._app.host.sessions, self._loaded)

    def _loaded(self, rows: list[SessionRow]) -> None:
        self.rows = rows
        self._show_list()

    # -- what happens in them -------------------------------------------------------------------------------------

    def deliver(self, batch: Sequence[Envelope]) -> None:
        """One batch of events: the transcript in view, then the panes whose content has changed."""
        if not self._app.is_running:  # the screen is being taken down: its panes are no longer in it
            self.bridge.close()
            return
        for session_id, happened in _pieces(batch):
            view = self.views.get(session_id)
            if view is None:
                self.looks.deliver(session_id, happened)
                continue
            if view is self.view and not view.loaded:
                self._hold(happened)
            changed = view.take(happened)
            if view.rewind_due and not view.session.busy:
                view.session.send(intents.Rewind(view.rewind_to))
                view.rewind_to, view.rewind_due = "", False
            if view is self.view:
                self._in_view(happened)
            else:
                for event in happened:
                    view.model.apply(event)
                if any(isinstance(event, events.HistoryChanged) for event in happened):
                    self.resting.left(view)
            if isinstance(happened[-1], events.Resting):
                self.resting.rests(view)
            if changed:
                self._show(view, changed)
            self.attention.follow(view, happened)
            if any(isinstance(event, events.TurnFinished | events.ModeChanged) for event in happened):
                self._app.look_at_containment()
            if any(isinstance(event, events.TurnFinished) for event in happened):
                if view is self.view:
                    view.unread = False
                    self.mark_seen()
                    for event in happened:
                        if isinstance(event, events.TurnFinished):
                            remarks.turn_ended(self._app, view, event)
                self.reload()

    def _hold(self, happened: Sequence[events.Event]) -> None:
        """What is told before the history comes would go with what stood there until then: it is told again."""
        for event in happened:
            if isinstance(event, events.HistoryChanged):
                return
            if isinstance(event, events.Notice | events.ErrorRaised):
                self._held.append(event)

    def _in_view(self, happened: Sequence[events.Event]) -> None:
        app = self._app
        self._to_transcript(happened)
        for event in happened:
            if isinstance(event, events.QuestionAsked):
                app.approval.ask(event.question, event.deadline)
            elif isinstance(event, events.QuestionClosed):
                app.approval.close(event.question_id)
            elif isinstance(event, events.Notice) and event.code == "trust_changed":
                trust.show(app, "")
        if any(isinstance(event, events.HistoryChanged) for event in happened):
            held, self._held = self._held, []
            self._to_transcript(held)
            app.set_timer(limits.GC_AFTER, app.collecting.settle)
            app.call_after_refresh(self._jump_now)  # when the transcript has its place
            self.tell_no_sandbox()
        app.greet()

    def _to_transcript(self, happened: Sequence[events.Event]) -> None:
        """Show what happened in the session in view; out of sight while a sub-agent is looked at."""
        if self.looks.shown is None:
            self._app.transcript.apply(happened)
        elif self.view is not None:
            for event in happened:
                self.view.model.apply(event)

    def _show(self, view: SessionView, changed: set[Part]) -> None:
        app = self._app
        if "list" in changed:
            self._show_list()
            self.attention.name_window()
            app.ticking.keep()
        if view is not self.view:
            return
        if "status" in changed or "mode" in changed:
            app.show_status()
            app.composer.set_state(view.state)
        if "consent" in changed:
            from nanoherm_tui.commands.consent import mode_to_confirm

            mode_to_confirm(app, view)
        if "title" in changed:
            self._show_title(view)
            app.desk.do(view.look_at_branch, lambda _: self._show_title(view))
        if "options" in changed and view.asked is not None and view.options == view.asked[0]:
            app.hint(view.asked[1])
            view.asked = None
        if "plan" in changed:
            app.dock.show_plan(view.plan)
        if "tasks" in changed:
            app.dock.show_tasks(view.tasks)
            app.dock.show_agents(view.agents)
            self.looks.renewed(view)
            app.ticking.keep()
        if "files" in changed:
            changed_files, view.rolled_back = view.rolled_back, []
            app.files.changed(changed_files)
        if "context" in changed:
            app.dock.context_changed()
        if "diffs" in changed:
            app.files.changed([path for diff in view.diffs for path in diff.paths])
        if "diffs" in changed and not view.waiting:
            # Not away from somebody who is reading something else there.
            app.dock.show_diffs(view.diffs, bring=bool(view.diffs) and not app.dock.holds_focus)
        app.dock.lists_changed([name for name in LISTS if name in changed])
        if "pending" in changed:
            app.show_pending()
            app.composer.set_held(*((view.held.pid, view.held.since) if view.held else (0, 0.0)))
        if "returned" in changed and app.composer.is_restored:
            self._take_returned(view)
        if "error" in changed:
            errors, view.errors = view.errors, []
            from nanoherm_tui.commands.settings import needs_setup, setup

            if any(needs_setup(app, error) for error in errors):
                last = errors[-1]
                setup(app, i18n.tell(last.code, last.params, last.text), str(last.params.get("provider", "")))

    def _take_returned(self, view: SessionView) -> None:
        """Texts that came back go into the draft, once that holds what the disk had."""
        returned, view.returned = view.returned, []
        for text in returned:
            self._app.composer.bring_back(text)
        if returned:  # on disk as part of the draft before they are gone from what waits
            self._app.host.keep_draft(view.id, self._app.composer.text)
        for text in returned:
            view.session.send(intents.TextTaken(text))

    def _show_title(self, view: SessionView) -> None:
        if view is self.view:
            self._app.title_row.update(view.title, str(view.session.workspace), view.branch)

    def _show_list(self) -> None:
        here = self.view.id if self.view is not None else ""
        self._app.sessions_pane.update(session_items(self.rows, self.views.values(), here), here)

    # -- what the program says in them ----------------------------------------------------------------------------

    def tell_no_sandbox(self) -> None:
        """Say once that nothing confines commands here; in an empty session the greeting does."""
        held, view = self._app.held, self.view
        if held is None or not held.has_none or held.accepted or self._no_sandbox_told:
            return
        if view is not None and view.loaded and view.model.entries:
            self._no_sandbox_told = True
            self.tell("unconfined", t("app.no_sandbox", why=why_none(held)))

    def tell(self, code: str, english: str, *, warning: bool = True, **params: Any) -> None:
        """Put a notice of the program's own into the transcript in view."""
        self._put(events.Notice(code, english, "warning" if warning else "info", params))

    def tell_error(self, error: AgentError) -> None:
        self._put(events.ErrorRaised(error.code, error.text, error.params))

    def _put(self, event: events.Notice | events.ErrorRaised) -> None:
        """Show an event of the program's own; one that comes before the session's history waits for it."""
        if self.view is None or not self.view.loaded:
            self._held.append(event)
        else:
            if self.looks.shown is not None or not self._app.transcript.at_end:  # it comes below what is in view
                self._app.hint(i18n.tell(event.code, event.params, event.text))
            self._to_transcript([event])
            self._app.greet()

    # -- what the user says ---------------------------------------------------------------------------------------

    def say(self, intent: intents.Steer | intents.Queue) -> None:
        """Give a message to the session in view, or to the one that is on its way."""
        if self._on_the_way:
            self._for_next.append(intent)
        else:
            self.send(intent)

    def send(self, intent: intents.Intent) -> bool:
        """Tell the session in view; False when there is none yet."""
        if self.view is None:
            return False
        self.view.session.send(intent)
        return True

    @property
    def busy(self) -> bool:
        """Something runs in one of them."""
        return any(view.session.busy or view.turn_started for view in self.views.values())

    @property
    def questions(self) -> int:
        """How many questions wait for an answer."""
        return sum(len(view.waiting) for view in self.views.values())


def _pieces(batch: Sequence[Envelope]) -> Iterator[tuple[str, list[events.Event]]]:
    """What happened, by session, in order; going to rest ends a piece: what comes behind it is of another life."""
    for session_id, group in groupby(batch, key=lambda envelope: envelope.session_id):
        piece: list[events.Event] = []
        for envelope in group:
            piece.append(envelope.event)
            if isinstance(envelope.event, events.Resting):
                yield session_id, piece
                piece = []
        if piece:
            yield session_id, piece
