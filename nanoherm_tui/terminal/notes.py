"""How a terminal is told that somebody is wanted: bell, OSC 9, OSC 777; and the title of its window. Pure.

Where a sequence is not known to show anything the bell is rung: a notification that nobody sees is lost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

from agent_core import names
from nanoherm_tui import limits
from nanoherm_tui.text import cut, one_line

if TYPE_CHECKING:
    from nanoherm_tui.terminal.tmux import Tmux

Way = Literal["bell", "osc9", "osc777"]
Choice = Literal["auto", "bell", "osc9", "osc777", "off"]

BELL: Final = "\x07"
ASK_NAME: Final = "\x1b[>0q"
"""XTVERSION; a terminal that does not know it says nothing."""
_END: Final = "\x1b\\"  # of a sequence: the other end there is would ring where it is not known

_KNOWN: Final[tuple[tuple[re.Pattern[str], Way], ...]] = (
    (re.compile(r"iterm", re.IGNORECASE), "osc9"),
    # kitty since 0.24. rxvt needs an extension for it, Windows Terminal a version of 2026: they get the bell.
    (re.compile(r"\b(?:wezterm|ghostty|kitty|foot|contour|warp)", re.IGNORECASE), "osc777"),
)
_NO_TITLE: Final = ("linux", "dumb", "")
"""TERMs without a window: the Linux console would print what it does not know."""


def known(*signs: str) -> Way:
    """The way to notify that the first terminal named by `signs` has; the bell for one that is not known."""
    return next((way for sign in signs for pattern, way in _KNOWN if pattern.search(sign)), "bell")


def way(choice: Choice, env: Mapping[str, str], tmux: Tmux | None = None, name: str = "") -> Way:
    """How to notify here, as `choice` wants it. `tmux`: what that says, inside it; `name`: what the terminal has said.

    Where a multiplexer would not hand a sequence on the bell is rung, which marks its window.
    """
    if env.get("TMUX"):
        if tmux is None or not tmux.hands_on:
            return "bell"
        signs: tuple[str, ...] = (tmux.name, tmux.terminal)
    elif env.get("STY"):
        return "bell"
    elif name:  # it knows better than what the environment was left with, and comes over ssh too
        signs = (name,)
    else:
        # TERM first: a terminal sets it anew, the others may be left over from the one that it was started in.
        signs = (env.get("TERM", ""), env.get("TERM_PROGRAM", ""), env.get("LC_TERMINAL", ""))
    return known(*signs) if choice == "auto" else "bell" if choice == "off" else choice


def wants_name(choice: Choice, env: Mapping[str, str]) -> bool:
    """Whether a terminal that the environment does not tell of is worth asking: it may know more than the bell."""
    around = env.get("TMUX") or env.get("STY") or not has_title(env)
    return choice == "auto" and not around and way(choice, env) == "bell"


def note(how: Way, words: str) -> str:
    """The sequence that shows `words`, made harmless. They never come first: "4;" would be some terminals' progress."""
    body = cut(one_line(words), limits.NOTE_CELLS).replace(";", ",")
    if how == "osc9":
        return f"\x1b]9;{names.APP}: {body}{_END}"
    if how == "osc777":
        return f"\x1b]777;notify;{names.APP};{body}{_END}"
    return BELL


def has_title(env: Mapping[str, str]) -> bool:
    """Whether the terminal has a window with a title."""
    return env.get("TERM", "") not in _NO_TITLE


def title(words: str) -> str:
    """The sequence that names the window."""
    return f"\x1b]2;{cut(one_line(words), limits.WINDOW_TITLE)}{_END}"


KEEP_TITLE: Final = "\x1b[22;2t"
"""The terminal remembers the title that the window had."""
GIVE_TITLE_BACK: Final = f"\x1b]2;{_END}\x1b[23;2t"
"""Ours goes, also where none was remembered; then the one before comes back."""
