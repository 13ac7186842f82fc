"""Asks the terminal what it can do: one round of questions, answered by itself within milliseconds or not at all.

No mode is switched on, nobody is waited for, and what is written is gone afterwards. A terminal that does not answer a
first short question is asked nothing else: an answer that comes late would be keys to whatever reads next.
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Final, Protocol

from agent_core.records import dataclass
from nanoherm_tui import limits

SAMPLES: Final[Mapping[str, str]] = {
    "Chinese": "中文",
    "accents": "e\u0301a\u0308",
    "symbols": "⠋✓▸",
    "emoji": "😀",
    "emoji by a selector": "❤\ufe0f",
    "joined emoji": "👩\u200d💻",
    "flags": "🇨🇳",
    "ambiguous": "·×…",
}
"""What is measured by where the cursor stands behind it."""

HELD_FRAMES: Final = 2026
PASTE: Final = 2004
MOUSE: Final = 1006
FOCUS: Final = 1004
MODES: Final = (HELD_FRAMES, PASTE, MOUSE, FOCUS)

_WHAT_ARE_YOU: Final = "\x1b[c"  # every terminal answers it, so its answer ends a round
_COLOUR: Final = "1:2:3"  # one that no palette has


@dataclass(frozen=True, slots=True)
class Answers:
    """What the terminal said. What it did not answer is None, or not in the mapping."""

    name: str = ""
    """What it calls itself, with its version."""
    widths: Mapping[str, int] = field(default_factory=dict)
    """Cells each of SAMPLES takes; empty when not all were told."""
    modes: Mapping[int, bool] = field(default_factory=dict)
    """Of MODES: whether it has them."""
    kitty_keys: bool = False
    """It speaks kitty's keyboard protocol."""
    modified_keys: bool = False
    """It speaks xterm's modifyOtherKeys."""
    true_colour: bool | None = None
    """Whether it keeps a colour of 24 bits as it is."""


class Ask(Protocol):
    """`ask`, or one who has asked already."""

    def __call__(self, term: str, *, in_screen: bool) -> Answers | None: ...


def questions(term: str, *, in_screen: bool) -> str:
    """All of them, in the order they are answered in.

    The Linux console prints what it does not know. GNU screen (`in_screen`) hands on the question for a colour unread.
    """
    asked = ["\r"]
    if term != "linux":
        asked += ["\x1b[?u", *(f"\x1b[?{mode}$p" for mode in MODES), "\x1b[>0q"]
        asked += ["\x1b[?4m\x1b[m"]  # some take the question for an underline
        if not in_screen:
            asked += [f"\x1b[48:2::{_COLOUR}m\x1bP$qm\x1b\\\x1b[m", "\x1b[48;2;1;2;3m\x1bP$qm\x1b\\\x1b[m"]
    asked += [f"\r\x1b[K{sample}\x1b[6n" for sample in SAMPLES.values()]
    return "".join([*asked, "\r\x1b[K", _WHAT_ARE_YOU])


_ENDED = re.compile(rb"\x1b\[\?[0-9;]*c")
_NAME = re.compile(r"\x1bP>\|([^\x00-\x1f\x7f-\x9f]{0,80})")
_CURSOR = re.compile(r"\x1b\[[0-9]+;([0-9]+)R")
_MODE = re.compile(r"\x1b\[\?([0-9]+);([0-9])\$y")
_KITTY = re.compile(r"\x1b\[\?[0-9]+u")
_MODIFIED = re.compile(r"\x1b\[>4;[0-9]*m")
_STYLE = re.compile(r"\x1bP([01])\$r([0-9:;]*)m?")


def read(data: bytes) -> Answers:
    """The answers in what a terminal sent for `questions`; keys that were typed meanwhile are passed over."""
    text = data.decode("utf-8", "replace")
    name = _NAME.search(text)
    columns = [int(column) for column in _CURSOR.findall(text)]
    styles = _STYLE.findall(text)
    kept = any(re.search(r"(?:^|[;:])48[;:]2[;:]+1[;:]2[;:]3(?:[;:]|$)", style) for _, style in styles)
    return Answers(
        name=name[1].strip() if name else "",
        widths={what: column - 1 for what, column in zip(SAMPLES, columns, strict=True)}
        if len(columns) == len(SAMPLES)
        else {},
        modes={int(mode): state != "0" for mode, state in _MODE.findall(text)},
        kitty_keys=_KITTY.search(text) is not None,
        modified_keys=_MODIFIED.search(text) is not None,
        # "1" and a style without the colour: it was made another one. "0": it does not tell styles at all.
        true_colour=kept if any(valid == "1" for valid, _ in styles) else None,
    )


def cannot_ask() -> str:
    """Why nothing can be asked here, as words; empty when it can."""
    try:
        if not (os.isatty(0) and os.isatty(1)):
            return "The input or the output is no terminal."
        if os.tcgetpgrp(0) != os.getpgrp():
            return "The program runs in the background."
    except OSError:
        return "The terminal is gone."
    return ""


def ask(term: str, *, in_screen: bool) -> Answers | None:
    """What the terminal on standard input and output answers; None when it does not, or goes away meanwhile.

    Takes at most limits.TERMINAL_ANSWERS seconds. To be called when `cannot_ask` says nothing, and when nobody else
    reads the input. Keys that are typed meanwhile are lost.
    """
    end = time.monotonic() + limits.TERMINAL_ANSWERS
    sys.stdout.flush()
    try:
        with _silent(0):
            if not _round(_WHAT_ARE_YOU, min(end, time.monotonic() + limits.TERMINAL_FIRST)):
                return None
            return read(_round(questions(term, in_screen=in_screen), end))
    except (OSError, termios.error):
        return None


def _round(asked: str, end: float) -> bytes:
    """Write `asked` and read up to the answer that ends a round, or until `end`."""
    os.write(1, asked.encode())
    data = b""
    while not _ENDED.search(data) and len(data) < limits.TERMINAL_ANSWER_BYTES:
        left = end - time.monotonic()
        if left <= 0 or not select.select([0], [], [], left)[0]:
            break
        more = os.read(0, 4096)
        if not more:
            break
        data += more
    return data


_WAIT: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP, signal.SIGHUP)


@contextmanager
def _silent(fd: int) -> Iterator[None]:
    """No echo and no lines, then as it was before. Signals wait so long: none may leave the terminal like this."""
    before = termios.tcgetattr(fd)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _WAIT)
    try:
        tty.setcbreak(fd, termios.TCSADRAIN)
        yield
    finally:
        # What came too late or is no answer must not be a command to the shell.
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
