"""Ctrl+C, Ctrl+D, and the end of the input."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agent_core import intents, names
from nanoherm_tui import interrupt, limits
from nanoherm_tui.i18n import t
from nanoherm_tui.words.leaving import leaving_words

if TYPE_CHECKING:
    from nanoherm_tui.interrupt import Step
    from nanoherm_tui.plain.face import Face


class Stopping:
    """What was pressed last decides what the same key does next."""

    def __init__(self, face: Face) -> None:
        self._face = face
        self._last_press: tuple[float, Step] = (float("-inf"), "nothing")
        self._last_leave = float("-inf")

    def press(self, typed: str) -> None:
        """Ctrl+C: stop the turn; clear the line, `typed`; twice in an empty one, leave."""
        face, now = self._face, time.monotonic()
        is_answer = face.questions.is_open
        draft = bool(typed or face.draft.goes_on) and not is_answer
        step = interrupt.ctrl_c(interrupt.Moment(face.state, now, *self._last_press, draft=draft))
        self._last_press = now, step
        if step in ("hint", "quit") and face.questions.leave_choice():
            face.say(t("plain.choice_left"))
        elif step in ("stop", "abandon"):
            if typed and not is_answer:
                face.draft.put(typed)
            face.session.send(intents.Interrupt(abandon=step == "abandon"))
        elif step == "clear_draft":
            face.clear_line(typed)
        elif step == "quit":
            face.exit_code = names.EXIT_OK
        elif step == "hint":
            face.say(self._words() or t("app.again_to_quit", key="Ctrl+C"))

    def leave(self) -> None:
        """End the program; where what cannot be seen would end with it, only the second time."""
        words, now = self._words(), time.monotonic()
        if words and self._face.source.is_terminal and now - self._last_leave > limits.TOLD_HINT:
            self._last_leave = now
            self._face.say(words)
        else:
            self._face.exit_code = names.EXIT_OK

    def _words(self) -> str:
        opened = self._face.opened
        views = [one.view for one in opened.all.values()]
        return leaving_words(views, opened.current.view if opened.current is not None else None)
