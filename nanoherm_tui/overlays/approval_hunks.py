"""The hunks of the changes that wait: which of them the person leaves out, and the dock in which they are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanoherm_tui.panes.hunks import hunk_keys

if TYPE_CHECKING:
    from agent_core.ports.asking import Question
    from nanoherm_tui.keymap import Keymap
    from nanoherm_tui.panes.dock import Dock

_STEPS: Final = {"dock_previous_hunk": -1, "dock_next_hunk": 1}
_TOGGLE: Final = "dock_unfold_or_page"


class WaitingHunks:
    """Refusals are kept by question, so that they are there again when another session has been looked at."""

    def __init__(self) -> None:
        self.docks: Sequence[Dock] = ()
        self._refused: dict[str, frozenset[str]] = {}

    def refused(self, question: Question | None) -> frozenset[str]:
        return self._refused.get(question.id, frozenset()) if question is not None else frozenset()

    def total(self, question: Question | None) -> int:
        return len(hunk_keys(question.diffs)) if question is not None else 0

    def all_refused(self, question: Question | None) -> bool:
        refused = self.refused(question)
        return bool(refused) and len(refused) == self.total(question)

    def toggle(self, question: Question, key: str) -> None:
        self._refused[question.id] = self.refused(question) ^ {key}

    def forget(self, question_id: str) -> None:
        """The question waits no more."""
        self._refused.pop(question_id, None)

    # -- what is said of them ----------------------------------------------------------------------------------------

    def words(self, question: Question, keys: Sequence[str] | None = None) -> str:
        """What the person has said of the hunks of a change, as a text; of those in `keys`, else of all."""
        return self.docks[0].words_on(question.diffs, keys) if self.docks else ""

    def said(self, question: Question, keys: Sequence[str] | None = None) -> None:
        """The model is told that now."""
        for dock in self.docks[:1]:
            dock.said(question.diffs, keys)

    # -- the dock ----------------------------------------------------------------------------------------------------

    @property
    def dock(self) -> Dock | None:
        """The one on the screen that shows the change."""
        return next((dock for dock in self.docks if dock.shows_waiting_change), None)

    @property
    def has_focus(self) -> bool:
        return any(dock.has_focus for dock in self.docks)

    def show(self, question: Question | None, keys: tuple[tuple[str, str], ...], *, armed: bool) -> None:
        """Have the docks show what is refused, and the keys that answer."""
        for dock in self.docks:
            dock.show_refused(self.refused(question))
            # Beside a panel that shows all there is they would say the same twice.
            dock.show_answers(keys if dock.shows_waiting_change or dock.has_focus else (), armed)

    def takes(self, keymap: Keymap, key: str) -> bool:
        """Whether a key would move between the hunks that are seen, or refuse one."""
        action = keymap.action(key, "dock")
        return self.dock is not None and (action in _STEPS or action == _TOGGLE)

    def do(self, keymap: Keymap, key: str) -> bool:
        """Do what a key does to the hunks in the dock. False: nothing, and it was not taken."""
        dock = self.dock
        if dock is None or not self.takes(keymap, key):
            return False
        action = keymap.action(key, "dock")
        if action == _TOGGLE:
            dock.action_toggle_hunk()
        else:
            dock.action_hunk(_STEPS[action])
        return True

    def labels(self, keymap: Keymap) -> str:
        """The keys, as they are named; empty where the change is not seen or has but one hunk."""
        dock = self.dock
        if dock is None or len(dock.hunks) < 2:
            return ""
        return " ".join(filter(None, (keymap.label(action) for action in (*_STEPS, _TOGGLE))))
