"""Calls a person who looks elsewhere: a question waits, or a turn that took long has ended. And the window's title.

What is told is the title of a session and what it wants, no more: a notification is kept where everybody can read it.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agent_core import events, names
from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.compat.whole_app import write_terminal
from nanoherm_tui.i18n import t
from nanoherm_tui.symbols import STILL, is_ascii, sym
from nanoherm_tui.terminal import notes as terminal_notes

if TYPE_CHECKING:
    from textual.timer import Timer

    from nanoherm_tui.app import NanohermApp
    from nanoherm_tui.session_view import SessionView

Reason = Literal["asks", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether somebody looks at this window."""

    told: bool = False
    """The terminal has reported that it got or lost the keyboard. Many never do."""
    focused: bool = True
    last_input: float = float("-inf")
    """When a key, a click or a paste came, in monotonic seconds."""

    def misses(self, since: float, now: float) -> float | None:
        """Seconds until it is to be asked again whether a person has missed what happened at `since`; 0: they have.

        None: they have seen it: they typed since then, or stayed at the window for a moment. A terminal that does not
        report is judged by its keys alone.
        """
        if self.told and not self.focused:
            return 0.0
        if self.last_input > since:
            return None
        if self.told:
            left = since + limits.NOTE_SEEN - now
            return left if left > 0 else None
        return max(0.0, since + limits.NOTE_UNSEEN - now)


@dataclass(frozen=True, slots=True)
class Call:
    """Something a person should know of, as long as it is so."""

    reason: Reason
    session: str
    key: str
    """The question's id, or the turn's."""
    since: float
    """Monotonic seconds."""


def calls(view: SessionView, happened: Iterable[events.Event], after: float, now: float) -> list[Call]:
    """What a person should know of what has happened in a session. `after`: seconds from which a turn took long."""
    found = []
    for event in happened:
        if isinstance(event, events.QuestionAsked):
            found.append(Call("asks", view.id, event.question.id, now))
        elif isinstance(event, events.TurnFinished) and event.outcome != "interrupted" and event.seconds >= after:
            found.append(Call("failed" if event.outcome == "failed" else "done", view.id, event.turn_id, now))
    return found


def is_so(call: Call, view: SessionView | None) -> bool:
    """Whether `call` still holds: the question waits, the session rests."""
    if view is None:
        return False
    if call.reason == "asks":
        return any(waiting.question.id == call.key for waiting in view.waiting)
    return not view.turn_started and not view.queued


def note_words(told: Sequence[tuple[Reason, str]]) -> str:
    """What a notification says of these reasons and titles of sessions, the newest last; a question comes first."""
    reason, title = next((one for one in told if one[0] == "asks"), told[-1])
    words = t(f"notify.{reason}", title=title or t("notify.untitled"))
    return t("notify.more", words=words, n=len(told) - 1) if len(told) > 1 else words


def window_title(views: Iterable[SessionView], here: SessionView | None) -> str:
    """A mark for the state, and the session's title; a question of any session comes before everything else."""
    asking = [view for view in views if view.waiting]
    view = here if here in asking or not asking else asking[0]
    if view is None:
        return names.APP
    title = view.title or names.APP
    if asking:
        n = sum(len(one.waiting) for one in asking)
        return f"{sym('asks')} {t('notify.title_asks') if n == 1 else t('notify.title_ask', n=n)} - {title}"
    if view.turn_started:
        return f"{sym('running') if is_ascii() else STILL} {title}"
    if view.state == "failed":
        return f"{sym('failed')} {title}"
    return f"{title} - {names.APP}" if view.title else names.APP


class Attention:
    """Lives on the screen's thread."""

    def __init__(self, app: NanohermApp) -> None:
        self._app = app
        self._choice: terminal_notes.Choice = "auto"
        self._after = 0.0
        """Seconds from which the end of a turn is told."""
        self._title = ""
        self._told = False
        self._waiting: list[Call] = []
        self._timer: Timer | None = None
        self._last = float("-inf")
        self._asked = False
        """The terminal was asked what it is."""
        for name in ("display.notify", "display.notify_after"):
            self.use(name, app.setting(name))

    def use(self, setting: str, value: Any) -> None:
        """From now on hold to this value of a setting."""
        if setting == "display.notify":
            self._choice = value
        elif setting == "display.notify_after":
            self._after = value
        else:
            self._use_title(value)

    # -- who is called ------------------------------------------------------------------------------------------------

    def window_tells(self) -> None:
        """The terminal has reported that the window got or lost the keyboard: it can."""
        self._told = True
        self._consider()

    @property
    def presence(self) -> Presence:
        return Presence(self._told, self._app.app_focus, self._app.last_input)

    def follow(self, view: SessionView, happened: Sequence[events.Event]) -> None:
        """Look at what has happened in a session, in view or not."""
        if self._choice == "off":
            return
        found = calls(view, happened, self._after, time.monotonic())
        if found:
            self._waiting += found
            self._consider()

    def _consider(self) -> None:
        """Drop what is over or was seen; call for what was missed; look again when more may have been."""
        now, presence, views = time.monotonic(), self.presence, self._app.conversations.views
        missed: list[Call] = []
        later: list[tuple[float, Call]] = []
        for call in self._waiting:
            wait = presence.misses(call.since, now) if is_so(call, views.get(call.session)) else None
            if wait is None:
                continue
            # What comes together is told together, and no faster than somebody can look.
            due = max(wait, call.since + limits.NOTE_GATHER - now, self._last + limits.NOTE_PAUSE - now)
            if due <= 0:
                missed.append(call)
            else:
                later.append((due, call))
        self._waiting = [call for _, call in later]
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if missed:
            self._last = now
            self._call(note_words([(call.reason, self._named(views[call.session])) for call in missed]))
        if later:
            self._timer = self._app.set_timer(min(due for due, _ in later) + limits.NOTE_SLACK, self._consider)

    def _named(self, view: SessionView) -> str:
        return self._app.host.redact(view.title)

    def _call(self, words: str) -> None:
        choice, env = self._choice, os.environ
        if not env.get("TMUX") or choice == "bell":
            if terminal_notes.wants_name(choice, env) and not self._asked:
                self._asked = True
                self._write(terminal_notes.ASK_NAME)
                self._app.set_timer(limits.TERMINAL_FIRST, lambda: self._notify(words))
            else:
                self._notify(words)
            return

        def through_tmux() -> str:
            from nanoherm_tui.terminal.clipboard import wrapped
            from nanoherm_tui.terminal.tmux import ask_tmux

            how = terminal_notes.way(choice, env, ask_tmux(shutil.which, env))
            sequence = terminal_notes.note(how, words)
            return sequence if how == "bell" else wrapped(sequence, env)

        self._app.desk.do_beside(through_tmux, self._write)

    def _notify(self, words: str) -> None:
        how = terminal_notes.way(self._choice, os.environ, name=self._app.terminal_name)
        self._write(terminal_notes.note(how, words))

    def _write(self, sequence: str) -> None:
        write_terminal(self._app, sequence)

    # -- the title ----------------------------------------------------------------------------------------------------

    def _use_title(self, on: bool) -> None:
        """Take the window's title, or give the one before back."""
        app, on = self._app, on and terminal_notes.has_title(os.environ)
        if on != app.names_window:
            app.names_window, app.window_title, self._title = on, "", ""
            self._write(terminal_notes.KEEP_TITLE if on else terminal_notes.GIVE_TITLE_BACK)
            self.name_window()

    def name_window(self) -> None:
        """Have the window's title say what is, if it says something else."""
        if not self._app.names_window:
            return
        conversations = self._app.conversations
        words = window_title(conversations.views.values(), conversations.view)
        if words != self._title:
            self._title = words
            self._app.window_title = terminal_notes.title(self._app.host.redact(words))
            self._write(self._app.window_title)
