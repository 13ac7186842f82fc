"""A session of 20,000 messages against one of 200: to open it, to page in it, to resize the window over it."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from tests.bench.bars import Bar
from tests.bench.lab import (
    END,
    ENTER,
    HOME,
    LAST,
    LONG,
    PAGE_DOWN,
    PAGE_UP,
    SHORT,
    TITLES,
    Lab,
    read_report,
)
from tests.bench.terminal import ROWS, Terminal

PAGES = 10
ENDS = 5
SIZES = (80, 160, 80, 160, 80, 160)
STORM = 20
STORM_GAP = 0.02
"""Seconds between two sizes of a window that is dragged."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Seconds."""

    opened: float
    """From Enter to the last message on the screen: the file is read, too."""
    shown: float
    """Of that, from the moment the screen has the history."""
    paged: float
    """Medians of Page Up, Page Down, Home and End, added up."""
    resized: float
    """Median, until nothing more is drawn."""
    stormed: float
    """From the first of STORM sizes until nothing more is drawn."""


def visit(lab: Lab, messages: int) -> Visit:
    """Open a stored session from another, new one."""
    report = lab.folder / "report.json"
    with lab.program(report=report) as terminal:
        since = len(terminal.raw)
        terminal.send(f"/resume {TITLES[messages]}")
        terminal.quiet()
        entered = terminal.send(ENTER)
        there = terminal.wait_for(LAST, since)
        terminal.quiet(1.0)
        batches = read_report(terminal, report)["batches"]
        came = next(start for start, _, kinds, _ in batches if start > entered and "HistoryChanged" in kinds)
        lab.read_all(terminal)
        paged = 0.0
        for key, times in ((PAGE_UP, PAGES), (PAGE_DOWN, PAGES // 2)):
            paged += statistics.median(terminal.settled(terminal.send(key)) for _ in range(times))
        ends = [[terminal.settled(terminal.send(key)) for key in (HOME, END)] for _ in range(ENDS)]
        paged += sum(map(statistics.median, zip(*ends, strict=True)))
        resized = statistics.median(terminal.settled(terminal.resize(columns, ROWS), 0.4) for columns in SIZES)
        stormed = statistics.median(storm(terminal) for _ in range(ENDS))
    return Visit(there - entered, there - came, paged, resized, stormed)


def storm(terminal: Terminal) -> float:
    """A window that is dragged to and fro; gives the seconds until all is drawn."""
    begun = time.monotonic()
    for number in range(1, STORM + 1):
        terminal.resize(*((100 + 8 * (number % 7), ROWS - number % 5) if number < STORM else (160, ROWS)))
        time.sleep(STORM_GAP)
    return terminal.settled(begun, 0.4)


def _ratio(lab: Lab, field: str) -> float:
    long: float = getattr(lab.once(visit, LONG), field)
    short: float = getattr(lab.once(visit, SHORT), field)
    return long / short


BARS = (
    Bar("open: 20,000 messages ÷ 200, from history to screen", 2.5, "×", lambda lab: _ratio(lab, "shown")),
    Bar("open: 20,000 messages, from Enter to screen", 0.5, "s", lambda lab: lab.once(visit, LONG).opened),
    Bar("page: 20,000 messages ÷ 200", 1.5, "×", lambda lab: _ratio(lab, "paged")),
    Bar("resize 80 ↔ 160: 20,000 messages ÷ 200", 2.0, "×", lambda lab: _ratio(lab, "resized")),
    Bar("resize 20 times: 20,000 messages ÷ 200", 2.0, "×", lambda lab: _ratio(lab, "stormed")),
)
