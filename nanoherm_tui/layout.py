"""Which panes stand where at which size. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nanoherm_tui import limits


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user wants to see; None = whatever suits the width."""

    sessions: bool | None = None
    dock: bool | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    sessions: Literal["side", "over", "hidden"]
    sessions_width: int
    dock: Literal["side", "over", "hidden"]
    dock_width: int
    title: bool
    """The transcript's title row is shown."""

    @property
    def transcript(self) -> bool:
        return "over" not in (self.sessions, self.dock)


def lay_out(width: int, height: int, wish: Wish) -> Layout:
    """The layout of a screen of `width` × `height` cells.

    From 140 columns sessions and dock stand beside the transcript; from 110 the dock does when there is room; below,
    a pane that is asked for opens over the transcript.
    """
    wide = width >= limits.WIDE
    small = width < limits.NARROW or height < limits.SHORT
    sessions_wanted = wide if wish.sessions is None else wish.sessions
    dock_wanted = width >= limits.DOCK_BESIDE if wish.dock is None else wish.dock
    sessions: Literal["side", "over", "hidden"] = "hidden"
    dock: Literal["side", "over", "hidden"] = "hidden"
    if sessions_wanted:
        sessions = "over" if small else "side"
    if dock_wanted and sessions != "over":
        dock = "side" if width >= limits.DOCK_BESIDE and not small else "over"
    sessions_width = limits.SESSIONS_WIDE if wide else limits.SESSIONS_MEDIUM
    if sessions == "side" and dock == "over":
        sessions = "hidden"
    dock_width = round(width * (limits.DOCK_SHARE_WIDE if wide else limits.DOCK_SHARE_MEDIUM))
    return Layout(sessions, sessions_width, dock, dock_width, title=not small)
