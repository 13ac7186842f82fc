"""Where a refusal's words, an answer or an edited command are written, in the panel that asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.draft import DraftArea

if TYPE_CHECKING:
    from agent_core.ports.asking import Question
    from nanoherm_tui.overlays.approval_words import Stage


class ApprovalField(DraftArea):
    """`took` is called with each key first; True: it was no text. `grown` is told of how many rows it has."""

    def __init__(self, took: Callable[[events.Key], bool], grown: Callable[[int], None]) -> None:
        super().__init__(id="approval-field")
        self._took, self._grown = took, grown

    async def _on_key(self, event: events.Key) -> None:
        if self._took(event):
            event.stop()
            event.prevent_default()

    def on_resize(self) -> None:
        self.call_after_refresh(self.fit)  # once the text is wrapped to the new width

    def open(self, use: Stage, text: str, question: Question | None) -> None:
        """Stand there with `text`, the caret behind it."""
        self.load_text(text)
        self.move_cursor(self.document.end)
        visits = question is not None and question.kind == "visit"
        words = {
            "refuse": t("approval.why"),
            "answer": t("approval.paste_here" if visits else "approval.answer_here"),
        }
        self.placeholder = words.get(use, "")
        self.display = True
        self.fit()

    def close(self) -> None:
        self.load_text("")
        self.fit()
        self.display = False

    def fit(self) -> None:
        """As many rows as the text needs, up to a quarter of the screen."""
        rows = max(1, min(self.rows, max(1, self.app.size.height // 4)))
        height = self.styles.height
        if height is None or height.value != rows:
            self.styles.height = rows
            self._grown(rows)

    def answer(self, question: Question, marked: int) -> str:
        """The choice whose number was typed, else the words, else the choice that is marked (-1: none)."""
        words = self.text.strip()
        number = choice_number(words, question)
        if number >= 0:
            return question.choices[number]
        return question.choices[marked] if not words and 0 <= marked < len(question.choices) else words


def choice_number(words: str, question: Question) -> int:
    """The choice that `words` names by its number, counted from 0; -1 when it names none."""
    number = int(words) if words.isascii() and words.isdecimal() and len(words) < 4 else 0
    return number - 1 if 1 <= number <= len(question.choices) else -1
