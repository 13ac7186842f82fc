"""How a question is answered: at once, with words, with an edited command, or for good once its rule was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual import events
from textual.widgets import TextArea

from nanoherm_tui.overlays.approval_face import ApprovalFace
from nanoherm_tui.overlays.approval_field import choice_number
from nanoherm_tui.overlays.approval_messages import Answered, QuestionShown
from nanoherm_tui.overlays.held_key import HeldKey
from nanoherm_tui.overlays.question import wants_words

if TYPE_CHECKING:
    from agent_core.intents import Decision
    from agent_core.ports.asking import Question
    from nanoherm_tui.keymap import Keymap
    from nanoherm_tui.overlays.approval_words import Stage

Answer = Literal["", "once", "session", "always", "refuse", "edit", "hunk"]
"""What a letter would do: decide, open the command for editing, go to the hunks; empty: nothing."""


class ApprovalAnswering(ApprovalFace):
    """A panel whose questions are answered: each leaves with `Answered`, and the next one comes into view."""

    def __init__(self, keymap: Keymap | None = None, *, id: str | None = None) -> None:
        super().__init__(keymap, id=id)
        self._choosing_hunks = ""
        """The question whose hunks the person went to from the draft: there they are taken and refused at once."""
        self._held: HeldKey[Answer] = HeldKey(self, self._stood_alone)

    def _show(self) -> None:
        """Bring the first waiting question into view, or hide."""
        self._held.drop()
        unsent = self._field.text.strip() if self._use in ("refuse", "answer") else ""
        if unsent and self._composer is not None:
            self._composer.bring_back(unsent)  # the question went while its answer was being written
        self._close_field()
        self._leave()
        self.arming.asked()
        question = self.current
        self.display = question is not None
        if self._clock is not None:
            # Nothing wakes up while nothing waits.
            (self._clock.resume if question is not None else self._clock.pause)()
        self._text.show(question, refused=self.refused)
        if question is not None and wants_words(question):
            self._open_field("answer", "", focus=False)
        self._tick()
        self._show_keys()
        if question is None:
            self._hunks.show(None, (), armed=False)
        self.post_message(QuestionShown(question))

    # -- answers ------------------------------------------------------------------------------------------------------

    def _stood_alone(self, does: Answer, key: str) -> None:
        if does == "hunk":
            self._choose_hunks(key)
        elif does == "always" and self._use == "always":
            self._answer("always", "", self._pattern)
        elif does:
            self._decide(does)

    def _choose_hunks(self, key: str) -> None:
        """A key of the dock's was typed into an empty draft: it acts there, and so do those that follow."""
        question, dock = self.current, self._hunks.dock
        if question is None or dock is None:
            return
        dock.focus()
        self._choosing_hunks = question.id
        self._hunks.do(self.keymap, key)

    def _decide(self, decision: Decision | Literal["edit"]) -> None:
        question = self.current
        if question is None:
            return
        if decision == "edit":
            self._open_field("edit", question.command)
        elif decision == "refuse" and question.kind == "visit":
            self._answer("refuse", "")  # nobody would read why
        elif decision == "refuse" or self._refuses_all:
            self._open_field("refuse", self._hunks.words(question))
        elif decision == "always":
            self._open_always(question)
        else:
            self._answer(decision, "")

    def _answer(self, decision: Decision, text: str, pattern: str = "") -> None:
        question = self.current
        if question is None:
            return
        refused = tuple(sorted(self.refused)) if decision != "refuse" else ()
        if decision == "refuse":
            self._hunks.said(question)
        elif refused and not text:
            text = self._hunks.words(question, refused)
            self._hunks.said(question, refused)
        del self._waiting[0]
        self._hunks.forget(question.id)
        self._close_field()
        self.post_message(Answered(question.id, decision, text, pattern, refused))
        self._show()

    # -- always -------------------------------------------------------------------------------------------------------

    def _open_always(self, question: Question) -> None:
        """Show exactly what would be written; only the same key again, after a while without keys, writes it."""
        self._use = "always"
        self._patterns = tuple(dict.fromkeys(filter(None, (question.pattern, question.command))))
        self._second.asked()
        self._text.show(question, self._pattern, self.refused)
        self._come_forward(self)
        self._show_keys()

    def _always_key(self, event: events.Key, question: Question) -> bool:
        """A key while that is shown. True: it goes no further."""
        armed = self._second.armed(draft_empty=True)
        self._second.key()
        action = self.keymap.action(event.key, "approval")
        if event.key in ("up", "down", "pageup", "pagedown"):
            return False
        if event.key == "tab" and len(self._patterns) > 1:
            self._patterns = (*self._patterns[1:], self._patterns[0])
            self._text.show(question, self._pattern, self.refused)
        elif event.key == "escape" or (action in self._offered(question) and action != "allow_always"):
            self._close_field()
            self.arming.asked()
            self._leave()
        elif self._held or (event.character and event.is_printable and action != "allow_always"):
            self._type_on(event)
        elif action == "allow_always" and armed and event.character:
            self._held.hold("always", event)
        self._show_keys()
        return True

    def _type_on(self, event: events.Key) -> None:
        """These letters begin a message: it goes into the draft, and nothing was agreed to."""
        letters = [self.keymap.label("allow_always"), self._held.character]
        letters.append(event.character if event.character and event.is_printable else "")
        self._close_field()
        self._leave()
        if self._composer is not None:
            self._composer.insert("".join(letters))

    # -- the field ----------------------------------------------------------------------------------------------------

    def _open_field(self, use: Stage, text: str, *, focus: bool = True) -> None:
        self._use = use
        self._went_back = False
        self._field.open(use, text, self.current)
        self._text.stand_above(field=True)
        if focus:
            self._come_forward(self._field)
        self._show_keys()

    def _close_field(self) -> None:
        if self._use == "always":
            self._held.drop()
            self._patterns = ()
            self._text.show(self.current, refused=self.refused)
        self._use = ""
        self._field.close()
        self._text.stand_above(field=False)

    def field_key(self, event: events.Key) -> bool:
        """A key in the field; True when it is no text."""
        question = self.current
        if question is None:
            return False
        self.arming.key()
        key = event.key.replace("+\r", "+enter")
        if key == "escape" and self._use == "answer" and question.kind == "visit":
            self._field.load_text("")  # half an address is no draft
            self._answer("refuse", "")
        elif key == "escape":
            self._leave()
            if self._use == "answer":
                self._went_back = True
            else:
                self._close_field()
            self._show_keys()
        elif self._use == "edit" and self.keymap.action(key, "approval") == "run_edited":
            edited = self._field.text.strip()
            if edited:
                self._answer("once", "" if edited == question.command.strip() else edited)
        elif self.keymap.action(key, "composer") == "newline":
            self._field.type_in("\n")
        elif key == "enter" and self._use == "refuse":
            self._answer("refuse", self._field.text.strip())
        elif key == "enter" and self._use == "answer":
            if words := self._field.answer(question, self._text.marked):
                self._answer("once", words)
        elif key in ("up", "down") and self._use == "answer" and question.choices and not self._field.text:
            step = 1 if key == "down" else -1
            self._text.mark((self._text.marked + step) % len(question.choices) if self._text.marked >= 0 or step > 0
                            else len(question.choices) - 1)  # fmt: skip
        elif key in ("pageup", "pagedown"):
            self._text.scroll_rows(self._text.rows_in_view * (1 if key == "pagedown" else -1))
        else:
            return False
        return True

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        question = self.current
        if self._use == "answer" and question is not None:
            typed = self._field.text.strip()
            if typed:  # an arrow's mark stays while nothing is typed
                self._text.mark(choice_number(typed, question))
        self._field.fit()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
