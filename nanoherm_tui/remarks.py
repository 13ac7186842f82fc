"""Remarks at the right moment: what can be done with something that is met for the first times. One table.

A remark stands in the row under the draft while that is blank, once the keys rest, and goes with the next key. Each is
shown `limits.REMARK_TIMES` times, and once in a run; `display.hints` switches them off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from nanoherm_tui.keymap import Keymap


@dataclass(frozen=True, slots=True)
class Remark:
    """`remarks.NAME` is what it says."""

    name: str
    keys: tuple[str, ...] = ()
    """Actions whose keys its words name, by their ids; without one of them it is not shown."""


TABLE: Final[tuple[Remark, ...]] = (
    Remark("paste", ("expand_paste",)),  # a long paste became a chip
    Remark("question", ("edit_command", "refuse")),  # something is asked
    Remark("hunks", ("dock_previous_hunk", "dock_next_hunk", "dock_unfold_or_page")),  # changes of several places are
    Remark("long_turn", ("new", "toggle_sessions")),  # a turn runs for longer than anybody watches
    Remark("changes", ("toggle_dock", "dock_previous_hunk", "dock_next_hunk")),  # a turn has changed files
    Remark("stopped", ()),  # a turn was stopped
    Remark("context", ()),  # the context is nearly full
)
BY_NAME: Final = {remark.name: remark for remark in TABLE}


class Remarks:
    """Which were shown how often: `shown`, by their names, as it was remembered."""

    def __init__(self, shown: Mapping[str, object], *, on: bool) -> None:
        self.on = on
        self.shown = {name: n for name, n in shown.items() if name in BY_NAME and isinstance(n, int)}
        self._met: set[str] = set()
        """What was met in this run: shown, or waiting to be."""

    def meet(self, name: str) -> bool:
        """What it is about is there. True: it is to be shown; that is so once in a run."""
        if not self.on or name in self._met or self.shown.get(name, 0) >= limits.REMARK_TIMES:
            return False
        self._met.add(name)
        return True

    def told(self, name: str) -> None:
        self.shown = {**self.shown, name: self.shown.get(name, 0) + 1}

    def missed(self, name: str) -> None:
        """There was no room or no rest for it: another time."""
        self._met.discard(name)


def words(name: str, keymap: Keymap) -> str:
    """What it says, with the user's keys; "" when it names one that does not exist."""
    keys = {action: keymap.label(action) for action in BY_NAME[name].keys}
    return t(f"remarks.{name}", **keys) if all(keys.values()) else ""
