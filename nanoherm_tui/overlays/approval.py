"""The panel that asks: what would happen, by which rule it was stopped, and the keys that decide.

It stands between transcript and composer and cannot catch what is being typed: it never takes the keyboard while keys
come or a draft is open, a letter answers only when it stands alone, and Enter approves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from textual import events

from nanoherm_tui.overlays import approval_messages
from nanoherm_tui.overlays.approval_answering import Answer, ApprovalAnswering
from nanoherm_tui.overlays.approval_face import Waiting
from nanoherm_tui.overlays.approval_words import DECISIONS
from nanoherm_tui.panes.dock import Dock
from nanoherm_tui.panes.hunks import hunk_keys
from nanoherm_tui.panes.keys import PaneKeys

if TYPE_CHECKING:
    from agent_core.messages import FileDiff
    from agent_core.ports.asking import Question
    from nanoherm_tui.panes.composer import Composer


class ApprovalPanel(ApprovalAnswering, can_focus=True):
    """The questions that wait, one at a time, oldest first. Hidden while there is none."""

    Answered: TypeAlias = approval_messages.Answered
    QuestionShown: TypeAlias = approval_messages.QuestionShown

    # -- what the app calls -------------------------------------------------------------------------------------------

    def attach(self, composer: Composer) -> None:
        """Stand before `composer`: its keys come here first, and the keyboard goes back to it.

        While a question waits each letter has one meaning, so those of the panes come here too.
        """
        self._composer = composer
        composer.key_filter = self.take_key
        self._hunks.docks = list(self.screen.query(Dock))
        self._panes = list(self.screen.query(PaneKeys))
        for pane in self._panes:
            pane.key_filter = self.take_pane_key
        for dock in self._hunks.docks:
            dock.toggle_hunk = self.toggle_hunk

    def ask(self, question: Question, deadline: float) -> None:
        """Add a question; `deadline` is in seconds since the epoch."""
        if any(w.question.id == question.id for w in self._waiting):
            return
        self._waiting.append(Waiting(question, deadline))
        if len(self._waiting) == 1:
            self._show()
        else:
            self._tick()

    def close(self, question_id: str) -> None:
        """The question is answered, timed out or void. Unknown ids are no error: it may have left already."""
        self._hunks.forget(question_id)
        index = next((i for i, w in enumerate(self._waiting) if w.question.id == question_id), None)
        if index is None:
            return
        del self._waiting[index]
        if index == 0:
            self._show()
        else:
            self._tick()

    def window_tells(self) -> None:
        """The window has got or lost the keyboard: what is typed around that may be meant for another one."""
        self.arming.key()

    def bring(self, question_id: str) -> None:
        """Show this of the waiting questions first: somebody came to it. It is answered after a while without keys."""
        index = next((i for i, w in enumerate(self._waiting) if w.question.id == question_id), -1)
        if index > 0:
            self._waiting.insert(0, self._waiting.pop(index))
            self._show()
        elif index == 0:
            self.arming.asked()

    def clear(self) -> None:
        """Drop all questions without an answer."""
        if self._waiting:
            self._waiting.clear()
            self._show()

    def toggle_hunk(self, diffs: tuple[FileDiff, ...], key: str, *, by_mouse: bool = False) -> None:
        """Refuse a hunk of `diffs`, or take it again. By a key only when a letter would answer too.

        Nothing happens when `diffs` are no longer what is asked about.
        """
        question = self.current
        if question is None or self._use or question.diffs != diffs or key not in hunk_keys(diffs):
            return
        if question.kind != "edit":  # what is kept for later sessions is agreed to as a whole
            return
        if not (by_mouse or self.armed or self._choosing_hunks == question.id):
            return
        self._hunks.toggle(question, key)
        self._text.show(question, refused=self.refused)
        self._tick()

    # -- keys ---------------------------------------------------------------------------------------------------------

    def take_key(self, event: events.Key) -> bool:
        """A key on its way to the composer. True: it was an answer, or goes no further."""
        question = self.current
        if question is None:
            return False
        if self._use == "always" and self._draft_empty:
            return self._always_key(event, question)
        if self._held and self._resolve_held(event):
            return True
        armed = self.arming.armed(draft_empty=self._draft_empty)
        self.arming.key()
        self._choosing_hunks = ""
        if not self._draft_empty:
            return False
        if event.key == "tab":
            self.focus()
            return True
        answer = self._meant(event, question)
        if self._use or not armed or not answer or not event.character:
            self._show_keys()
            return False
        self._held.hold(answer, event)
        return True

    def _meant(self, event: events.Key, question: Question) -> Answer:
        action = self._action(event)
        if action in self._offered(question):
            return DECISIONS.get(action) or "edit"
        return "hunk" if self._hunks.takes(self.keymap, event.key) else ""

    def _action(self, event: events.Key) -> str:
        return self.keymap.action(event.key, "approval")

    def take_pane_key(self, event: events.Key) -> bool:
        """A key on its way to a pane. True: it was an answer, or a letter that could be one and begins a message."""
        question = self.current
        if question is None or self._use or not self._at_pane:
            return False
        letter = self._action(event) in self._offered(question)
        if not self._held and not letter:
            return False
        if self.take_key(event):
            return True
        if letter and event.character and self._composer is not None:
            self._composer.insert(event.character)
        return letter

    def _resolve_held(self, event: events.Key) -> bool:
        """Another key has come while a letter waited to be alone. True: the key is used up."""
        letter = self._held.character
        if self._held.does != "hunk" and self._held.confirmed_by(event):
            # "y" and Enter by hand: the letter is the answer, Enter only the habit.
            self._held.release()
            return True
        self._held.drop()
        if self._composer is not None:
            self._composer.insert(letter)
        return False

    async def _on_key(self, event: events.Key) -> None:
        """Keys while the panel itself has the keyboard, which only an explicit key or click gives it."""
        question = self.current
        if question is None:
            return
        if self._use == "always" and self._always_key(event, question):
            event.stop()
            event.prevent_default()
            return
        armed = self.armed
        self.arming.key()
        action = self.keymap.action(event.key, "approval")
        steps = {"up": -1, "down": 1, "pageup": -self._text.rows_in_view, "pagedown": self._text.rows_in_view}
        if event.key == "escape":
            self._leave()
        elif event.key in steps:
            self._text.scroll_rows(steps[event.key])
            self._show_keys()
        elif not armed:  # typed while the window came back: it may be meant for another one
            self._show_keys()
        elif not self._use and action in self._offered(question):
            self._decide(DECISIONS.get(action) or "edit")
        elif not self._use and self._hunks.do(self.keymap, event.key):
            pass
        else:
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """A paste is text, whatever has the keyboard."""
        event.stop()
        if self._composer is not None:
            self._composer.focus()
            self._composer.insert(event.text.replace("\r\n", "\n").replace("\r", "\n"))

    # -- the keyboard -------------------------------------------------------------------------------------------------

    def on_focus(self, event: events.Focus) -> None:
        if event.from_app_focus:
            self.arming.came_back()
        else:
            self.arming.gone_to()
        self._bar.refresh()
        if self._use not in ("", "always"):
            self._field.focus()
        self._show_keys()

    def on_blur(self) -> None:
        self.arming.explicit = False
        if self._use == "always":
            self._close_field()
        self._show_keys()
