"""The panel that asks: what would happen, by which rule it was stopped, and the keys that decide.

It stands between transcript and composer and cannot catch what is being typed: it never takes the keyboard while keys
come or a draft is open, a letter answers only when it stands alone, and Enter approves nothing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import TextArea

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import Keymap, show
from nanoherm_tui.overlays.approval_field import ApprovalField, choice_number
from nanoherm_tui.overlays.approval_hunks import WaitingHunks
from nanoherm_tui.overlays.approval_parts import ApprovalHead, ApprovalKeys, ApprovalText
from nanoherm_tui.overlays.approval_words import (
    DECISIONS,
    Chosen,
    Stage,
    answer_words,
    dock_words,
    offered,
    stage_keys,
)
from nanoherm_tui.overlays.arming import Arming
from nanoherm_tui.overlays.held_key import HeldKey
from nanoherm_tui.overlays.question import time_left, title, wants_words
from nanoherm_tui.panes.dock import Dock
from nanoherm_tui.panes.draft import DraftBar
from nanoherm_tui.panes.hunks import hunk_keys
from nanoherm_tui.panes.keys import PaneKeys

if TYPE_CHECKING:
    from agent_core.intents import Decision
    from agent_core.messages import FileDiff
    from agent_core.ports.asking import Question
    from nanoherm_tui.panes.composer import Composer

_NARROW: Final = 60  # columns under which the answers are one word each
_TICK: Final = 0.1  # seconds between two looks at the clocks
# -- the panel ----------------------------------------------------------------------------------------------------


Answer = Literal["", "once", "session", "always", "refuse", "edit", "hunk"]
"""What a letter would do: decide, open the command for editing, go to the hunks; empty: nothing."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    question: Question
    deadline: float


class ApprovalPanel(Widget, can_focus=True):
    """The questions that wait, one at a time, oldest first. Hidden while there is none."""

    class Answered(Message):
        """The person has decided; the question has left the panel.

        `text`: the words of a refusal, the reply to ask_user, or the edited command.
        """

        def __init__(
            self,
            question_id: str,
            decision: Decision,
            text: str = "",
            pattern: str = "",
            refused: tuple[str, ...] = (),
        ) -> None:
            super().__init__()
            self.question_id = question_id
            self.decision: Decision = decision
            self.text = text
            self.pattern = pattern
            """What is granted for good."""
            self.refused = refused
            """Hunks of an allowed change that are left out, as in `intents.Answer`."""

    class QuestionShown(Message):
        """Another question is in view (its diff belongs in the dock), or none any more."""

        def __init__(self, question: Question | None) -> None:
            super().__init__()
            self.question = question

    def __init__(self, keymap: Keymap | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.keymap = keymap or Keymap()
        self.arming = Arming()
        self._second = Arming()
        """Whether the key that confirms what "always" writes would count: it is no answer to a letter typed before."""
        self._patterns: tuple[str, ...] = ()
        """What "always" may write, the shown one first."""
        self._composer: Composer | None = None
        self._hunks = WaitingHunks()
        self._choosing_hunks = ""
        """The question whose hunks the person went to from the draft: there they are taken and refused at once."""
        self._panes: list[PaneKeys] = []
        self._waiting: list[_Waiting] = []
        self._held: HeldKey[Answer] = HeldKey(self, self._stood_alone)
        self._clock: Timer | None = None
        self._screen_height = 0
        self._use: Stage = ""
        self._bar = DraftBar()
        self._bar.role, self._bar.lit = "warn", True
        self._head, self._text, self._keys = ApprovalHead(), ApprovalText(), ApprovalKeys()
        self._field = ApprovalField(self.field_key)
        self.display = False

    def compose(self) -> ComposeResult:
        with Horizontal(id="approval-row"):
            yield self._bar
            with Vertical(id="approval-body"):
                yield self._head
                yield self._text
                yield self._field
                yield self._keys

    def on_mount(self) -> None:
        self._field.display = False
        self.screen.screen_layout_refresh_signal.subscribe(self, self._follow_screen)
        self._clock = self.set_interval(_TICK, self._tick, pause=True)

    def _follow_screen(self, screen: Screen[object]) -> None:
        """On a short screen the blank rows go."""
        if self._screen_height != screen.size.height:
            self._screen_height = screen.size.height
            self.set_class(screen.size.height < limits.SHORT, "-short")
            self._text.refresh(layout=True)
            self._keys.refresh(layout=True)

    # -- what the app calls ------------------------------------------------------------------------------------------

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
        self._waiting.append(_Waiting(question, deadline))
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

    @property
    def current(self) -> Question | None:
        return self._waiting[0].question if self._waiting else None

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def armed(self) -> bool:
        """A letter would answer now, or the field has the keyboard."""
        return bool(self._waiting) and (self._field.has_focus or self.arming.armed(draft_empty=self._draft_empty))

    # -- hunks -------------------------------------------------------------------------------------------------------

    @property
    def refused(self) -> frozenset[str]:
        """The hunks of the question in view that the person has refused."""
        return self._hunks.refused(self.current)

    @property
    def _refuses_all(self) -> bool:
        return self._hunks.all_refused(self.current)

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

    def refresh_look(self) -> None:
        """Theme or language have changed."""
        self._text.show(self.current, self._pattern, self.refused)
        self._field.refresh_look()
        self._show_keys()
        for widget in (self._bar, self._head, self._keys):
            widget.refresh()

    # -- showing -----------------------------------------------------------------------------------------------------

    @property
    def _draft_empty(self) -> bool:
        return self._composer is None or self._composer.is_empty

    @property
    def _at_hand(self) -> bool:
        """The keyboard is where a letter answers: here, at the composer or a pane, with no overlay over it."""
        here = self._composer is None or self._composer.holds_focus or self._at_pane or self.has_focus
        return here and self.app.screen is self.screen

    @property
    def _at_pane(self) -> bool:
        return any(pane.has_focus and not pane.uses_letters for pane in self._panes)

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
        self.post_message(self.QuestionShown(question))

    def _leave(self) -> None:
        """Give the keyboard back to the composer if it is here."""
        self.arming.explicit = False
        if self._composer is not None and (self.has_focus or self._field.has_focus):
            self._composer.focus()

    def _tick(self) -> None:
        """Follow the clocks; repaint only what has changed."""
        if not self._waiting:
            return
        if not self._at_hand:
            self.arming.key()  # what is typed elsewhere, in an overlay say, is typing too
        first = self._waiting[0]
        count = t("approval.count", n=1, total=len(self._waiting)) if len(self._waiting) > 1 else ""
        left = t("approval.left", time=time_left(first.deadline, time.time()))
        words = title(first.question, self.refused)
        right = "   ".join(filter(None, (count, left)))
        if (words, right) != (self._head.words, self._head.right):
            self._head.words, self._head.right = words, right
            self._head.refresh()
        self._show_keys()
        if self._may_focus_field():
            self._field.focus()

    def _may_focus_field(self) -> bool:
        """A question that wants words takes the keyboard once nobody is typing and no draft is open.

        It leaves it with a pane, unless it follows from an answer: an address that a log-in waits for is no message.
        """
        question, composer = self.current, self._composer
        return (
            self._use == "answer"
            and question is not None
            and self.armed
            and not self.arming.explicit
            and composer is not None
            and (composer.holds_focus or (question.kind == "visit" and self._at_pane))
            and not self._went_back
        )

    _went_back = False
    """Esc sent the keyboard back to the composer: this question does not take it again by itself."""

    def _show_keys(self) -> None:
        question = self.current
        if question is None:
            return
        armed = self._second.armed(draft_empty=True) if self._use == "always" else self.armed
        chosen, narrow = self._chosen, self.size.width < _NARROW
        actions = self._offered(question) if not self._use else []
        label = self.keymap.label
        if self._use:
            keys = stage_keys(self._use, question, self.keymap, self._patterns)
        else:
            keys = [(label(action), answer_words(action, question, chosen, narrow=narrow)) for action in actions]
        note = ""
        if not armed:
            typing = self._use == "always" or (self._draft_empty and self._at_hand)
            note = t("approval.pause") if typing else t("approval.draft_open", key=label("next_pane"))
        below = self._text.hidden_below
        warning = ""
        if below:
            page = show("pagedown")
            warning = t("approval.below", n=below, key=page) if below > 1 else t("approval.below_one", key=page)
        divides = question.kind == "edit"
        if (divides or (question.kind == "keep" and self._hunks.dock is None)) and not self._use:
            keys.append(self._way_to_changes())
        answers = tuple((label(action), dock_words(action, question, chosen, narrow=narrow)) for action in actions)
        self._hunks.show(question, answers, armed=armed and self._hunks.has_focus)
        state = (tuple(keys), armed, note, warning)
        shown = self._keys
        if state != (shown.keys, shown.armed, shown.note, shown.warning):
            shown.keys, shown.armed, shown.note, shown.warning = state
            shown.refresh(layout=True)

    def _way_to_changes(self) -> tuple[str, str]:
        """Where they are seen the keys that choose among them, if there is a choice; else the key that shows them."""
        if self._hunks.dock is None:
            return self.keymap.label("toggle_dock"), t("approval.see_diff")
        return self._hunks.labels(self.keymap), t("approval.choose_hunks")

    @property
    def _chosen(self) -> Chosen:
        return Chosen(len(self.refused), self._hunks.total(self.current))

    def _offered(self, question: Question) -> list[str]:
        """The actions that may answer this question."""
        return offered(question, self._chosen)

    # -- keys --------------------------------------------------------------------------------------------------------

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
        self.post_message(self.Answered(question.id, decision, text, pattern, refused))
        self._show()

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
        steps = {"up": -1, "down": 1, "pageup": -self._text.size.height, "pagedown": self._text.size.height}
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

    # -- always ------------------------------------------------------------------------------------------------------

    @property
    def _pattern(self) -> str:
        """What "always" would write, while that is shown."""
        return self._patterns[0] if self._patterns else ""

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
        action = self._action(event)
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

    # -- the field ---------------------------------------------------------------------------------------------------

    def _open_field(self, use: Stage, text: str, *, focus: bool = True) -> None:
        self._use = use
        self._went_back = False
        self._field.open(use, text, self.current)
        if focus:
            self._come_forward(self._field)
        self._show_keys()

    def _come_forward(self, part: Widget) -> None:
        """Have the keyboard in the panel, or in a part of it."""
        if not all(node.display for node in self.ancestors_with_self if isinstance(node, Widget)):
            # The dock stands over the whole screen: it makes room.
            self.call_later(self.app.run_action, "command('toggle_dock')")
        self.call_later(part.focus)

    def _close_field(self) -> None:
        if self._use == "always":
            self._held.drop()
            self._patterns = ()
            self._text.show(self.current, refused=self.refused)
        self._use = ""
        self._field.close()

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
            self._text.scroll_rows(self._text.size.height * (1 if key == "pagedown" else -1))
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
