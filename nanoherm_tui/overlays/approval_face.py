"""What the panel that asks shows: the first question that waits, and the keys that would answer it now."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import Keymap, show
from nanoherm_tui.overlays.approval_field import ApprovalField
from nanoherm_tui.overlays.approval_hunks import WaitingHunks
from nanoherm_tui.overlays.approval_parts import ApprovalHead, ApprovalKeys, ApprovalText
from nanoherm_tui.overlays.approval_words import Chosen, Stage, answer_words, dock_words, offered, stage_keys
from nanoherm_tui.overlays.arming import Arming
from nanoherm_tui.overlays.question import time_left, title
from nanoherm_tui.panes.draft import DraftBar

if TYPE_CHECKING:
    from agent_core.ports.asking import Question
    from nanoherm_tui.panes.composer import Composer
    from nanoherm_tui.panes.keys import PaneKeys

_NARROW: Final = 60  # columns under which the answers are one word each
_TICK: Final = 0.1  # seconds between two looks at the clocks


@dataclass(frozen=True, slots=True)
class Waiting:
    question: Question
    deadline: float
    """In seconds since the epoch."""


class ApprovalFace(Widget):
    """The base of the panel: its parts, and what has to be known of the question in view to show it."""

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
        self._panes: list[PaneKeys] = []
        self._waiting: list[Waiting] = []
        self._clock: Timer | None = None
        self._screen_height = 0
        self._use: Stage = ""
        self._bar = DraftBar()
        self._bar.role, self._bar.lit = "warn", True
        self._head, self._text, self._keys = ApprovalHead(), ApprovalText(), ApprovalKeys()
        self._field = ApprovalField(self.field_key, self._text.make_room)
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

    def field_key(self, event: events.Key) -> bool:
        """A key in the field; True when it is no text."""
        return False

    # -- what is asked, and whether a letter would answer -------------------------------------------------------------

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

    @property
    def refused(self) -> frozenset[str]:
        """The hunks of the question in view that the person has refused."""
        return self._hunks.refused(self.current)

    @property
    def _refuses_all(self) -> bool:
        return self._hunks.all_refused(self.current)

    @property
    def _chosen(self) -> Chosen:
        return Chosen(len(self.refused), self._hunks.total(self.current))

    def _offered(self, question: Question) -> list[str]:
        """The actions that may answer this question."""
        return offered(question, self._chosen)

    @property
    def _pattern(self) -> str:
        """What "always" would write, while that is shown."""
        return self._patterns[0] if self._patterns else ""

    # -- showing ------------------------------------------------------------------------------------------------------

    def refresh_look(self) -> None:
        """Theme or language have changed."""
        self._text.show(self.current, self._pattern, self.refused)
        self._field.refresh_look()
        self._show_keys()
        for widget in (self._bar, self._head, self._keys):
            widget.refresh()

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
        self._text.tell(warning if self._text.is_apart else "")
        if self._text.is_apart:
            warning = ""
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

    # -- where the keyboard is ----------------------------------------------------------------------------------------

    def _leave(self) -> None:
        """Give the keyboard back to the composer if it is here."""
        self.arming.explicit = False
        if self._composer is not None and (self.has_focus or self._field.has_focus):
            self._composer.focus()

    def _come_forward(self, part: Widget) -> None:
        """Have the keyboard in the panel, or in a part of it."""
        if not all(node.display for node in self.ancestors_with_self if isinstance(node, Widget)):
            # The dock stands over the whole screen: it makes room.
            self.call_later(self.app.run_action, "command('toggle_dock')")
        self.call_later(part.focus)
