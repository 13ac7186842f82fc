"""Which panes stand where at which size. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from agent_core.records import dataclass
from nanoherm_tui import limits

Side = Literal["sessions", "dock"]
Place = Literal["side", "over", "hidden"]


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user wants to see.

    A pane beside the transcript and a pane over it are two wishes: what was opened over a small screen does not cover
    the transcript when another day's screen is small again.
    """

    sessions: bool | None = None
    """Beside the transcript; None = whatever suits the width."""
    dock: bool | None = None
    over: Side | None = None
    """Where it cannot stand beside it, this one is open over it."""


@dataclass(frozen=True, slots=True)
class Layout:
    sessions: Place
    sessions_width: int
    dock: Place
    dock_width: int
    title: bool
    """The transcript's title row is shown."""

    @property
    def transcript(self) -> bool:
        return "over" not in (self.sessions, self.dock)

    def place(self, pane: Side) -> Place:
        return self.sessions if pane == "sessions" else self.dock


def lay_out(width: int, height: int, wish: Wish) -> Layout:
    """The layout of a screen of `width` × `height` cells.

    From 140 columns sessions and dock stand beside the transcript; from 110 the dock does when there is room; below,
    a pane that is asked for opens over the transcript.
    """
    wide = width >= limits.WIDE
    sessions, dock = _place("sessions", width, height, wish), _place("dock", width, height, wish)
    if dock == "over":
        sessions = "hidden"
    sessions_width = limits.SESSIONS_WIDE if wide else limits.SESSIONS_MEDIUM
    dock_width = round(width * (limits.DOCK_SHARE_WIDE if wide else limits.DOCK_SHARE_MEDIUM))
    return Layout(sessions, sessions_width, dock, dock_width, title=not _small(width, height))


def shown(wish: Wish, pane: Side, width: int, height: int) -> Wish:
    """The wish of somebody who wants to see `pane` at this size."""
    if not _fits_beside(pane, width, height):
        return replace(wish, over=pane)
    return replace(wish, sessions=True) if pane == "sessions" else replace(wish, dock=True)


def hidden(wish: Wish, pane: Side, width: int, height: int) -> Wish:
    """The wish of somebody who has seen enough of `pane` at this size."""
    over = None if wish.over == pane else wish.over
    if not _fits_beside(pane, width, height):
        return replace(wish, over=over)
    return replace(wish, sessions=False, over=over) if pane == "sessions" else replace(wish, dock=False, over=over)


def _small(width: int, height: int) -> bool:
    return width < limits.NARROW or height < limits.SHORT


def _fits_beside(pane: Side, width: int, height: int) -> bool:
    return not _small(width, height) and (pane == "sessions" or width >= limits.DOCK_BESIDE)


def _place(pane: Side, width: int, height: int, wish: Wish) -> Place:
    if not _fits_beside(pane, width, height):
        return "over" if wish.over == pane else "hidden"
    wanted = wish.sessions if pane == "sessions" else wish.dock
    if wanted is None:
        wanted = width >= (limits.WIDE if pane == "sessions" else limits.DOCK_BESIDE)
    return "side" if wanted or wish.over == pane else "hidden"
