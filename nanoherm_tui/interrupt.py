"""What Ctrl+C and Esc do, decided in one place. Pure: the situation in, the step out.

A running turn is always what Ctrl+C stops; it never quits while one runs, and never approves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent_core.records import dataclass
from nanoherm_tui import limits

if TYPE_CHECKING:
    from agent_core.events import SessionState

Step = Literal["stop", "abandon", "copy", "clear_selection", "clear_draft", "hint", "quit", "rewind", "nothing"]


@dataclass(frozen=True, slots=True)
class Moment:
    """When a key is pressed. Times are monotonic seconds; `last` and `last_step` tell of the same key's last press."""

    state: SessionState
    now: float
    last: float = float("-inf")
    last_step: Step = "nothing"
    selection: bool = False
    draft: bool = False

    def again(self, step: Step) -> bool:
        """The last press did `step` a moment ago: only then does this one go further."""
        return self.last_step == step and self.now - self.last <= limits.AGAIN_SECONDS


def ctrl_c(moment: Moment) -> Step:
    if moment.state in ("running", "asking"):
        return "stop"
    if moment.state == "stopping":
        return "abandon" if moment.again("stop") else "stop"
    if moment.selection:
        return "copy"
    if moment.draft:
        return "clear_draft"
    return "quit" if moment.again("hint") else "hint"


def escape(moment: Moment, writing: bool = False) -> Step:
    """Esc in the composer or the transcript; an open approval panel handles its own.

    `writing`: the composer has the keyboard. Twice in an empty one leads back to what was said before.
    """
    if moment.state == "running":
        return "stop"
    if moment.selection:
        return "clear_selection"
    if not writing or moment.draft or moment.state not in ("idle", "failed"):
        return "nothing"
    return "rewind" if moment.again("hint") else "hint"
