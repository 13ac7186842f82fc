"""What a long session takes to be open: memory against its text, and the time until its end can be read."""

from __future__ import annotations

import json
import statistics

from tests.bench.bars import Bar
from tests.bench.content import history
from tests.bench.lab import ENTER, LAST, LONG, TITLES, Lab

MB = 1_000_000
SETTLED = 4.0
"""Seconds without output after which what opening needed for a moment has been given back."""
STARTS = 3


def text_of(messages: int) -> float:
    """MB of UTF-8 in a stored session's texts: what was said, thought, asked of tools and given by them."""
    size = 0
    for message in history(messages):
        size += len(message.text.encode()) + len(message.reasoning.encode())
        size += sum(len(json.dumps(dict(call.arguments)).encode()) for call in message.tool_calls)
    return size / MB


def opened(lab: Lab) -> float:
    """PSS that opening the long session adds to a program at rest, by the session's text."""
    with lab.program() as terminal:
        terminal.quiet(SETTLED)
        before, since = terminal.pss(), len(terminal.raw)
        terminal.settled(terminal.send(f"/resume {TITLES[LONG]}"))
        terminal.send(ENTER)
        terminal.wait_for(LAST, since)
        terminal.quiet(SETTLED)
        return (terminal.pss() - before) / text_of(LONG)


def resumed(lab: Lab) -> float:
    """Seconds from the start of the program with -r to the end of the long session on the screen."""
    times = []
    for _ in range(STARTS):
        with lab.program(messages=LONG) as terminal:
            times.append(terminal.wait_for(LAST) - terminal.started)
    return statistics.median(times)


BARS = (
    Bar("open: 20,000 messages, PSS by their text", 1.5, "×", opened),
    Bar("resume: 20,000 messages, from start to their end on the screen", 0.5, "s", resumed),
)
