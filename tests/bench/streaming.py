"""What an answer costs while it streams in: CPU by its length, by the session's, by what it is made of; frames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nanoherm_tui.limits import SESSIONS_WIDE
from tests.bench.bars import Bar
from tests.bench.content import end_of
from tests.bench.lab import ESC, LONG, SHORT, Lab
from tests.bench.terminal import ROWS

RATE = 40_000
"""Characters a second. Fast, so that the whole takes minutes; some thousand deltas a second."""

_MOVE = re.compile(rb"\x1b\[(\d+);(\d+)H")


@dataclass(frozen=True, slots=True)
class Stream:
    cpu: float
    """Seconds of the whole program, from the first delta until the answer stands and is stored."""
    frames: float
    """Frames a second that drew new text."""


def stream(lab: Lab, kind: str, kb: int, messages: int = SHORT) -> Stream:
    with lab.program(messages=messages) as terminal:
        lab.read_all(terminal)
        terminal.send(ESC)
        terminal.quiet()
        mark = lab.ask(terminal, kind, kb, RATE)
        before = terminal.cpu()
        began, ended = lab.go()
        terminal.wait_for(end_of(mark))
        terminal.quiet(0.5)
        used = terminal.cpu() - before
        moments = [when for when, drawn in terminal.frames(began, ended) if is_of_stream(drawn)]
    return Stream(used, rate(moments))


def rate(moments: Sequence[float]) -> float:
    return (len(moments) - 1) / (moments[-1] - moments[0])


def is_of_stream(drawn: bytes) -> bool:
    """Whether a frame drew new text: something right of the session list, and more than the clock does.

    Four times a second the clock steps the running marks: in the list, above the composer, and in the status line.
    """
    places = [(int(row), int(column)) for row, column in _MOVE.findall(drawn)]
    rows = {row for row, column in places if row < ROWS and column > SESSIONS_WIDE}
    return len(rows) > 2 or (bool(rows) and all(row < ROWS for row, _ in places))


def _ratio(lab: Lab, large: tuple[str, int, int], small: tuple[str, int, int]) -> float:
    return lab.once(stream, *large).cpu / lab.once(stream, *small).cpu


def _adverse(kind: str) -> Bar:
    return Bar(
        f"stream: 200 KB, one {kind} ÷ mixed, CPU",
        2.2,
        "×",
        lambda lab: _ratio(lab, (kind, 200, SHORT), ("mixed", 200, SHORT)),
    )


BARS = (
    Bar("stream: 200 KB ÷ 100 KB, CPU", 2.3, "×",
        lambda lab: _ratio(lab, ("mixed", 200, SHORT), ("mixed", 100, SHORT))),
    Bar("stream: 400 KB ÷ 200 KB, CPU", 2.3, "×",
        lambda lab: _ratio(lab, ("mixed", 400, SHORT), ("mixed", 200, SHORT))),
    Bar("stream: at 20,000 messages ÷ at 200, CPU", 1.3, "×",
        lambda lab: _ratio(lab, ("mixed", 200, LONG), ("mixed", 200, SHORT))),
    *map(_adverse, ("fence", "list", "table", "line")),
    Bar("stream: frames", 25.0, "/s", lambda lab: lab.once(stream, "mixed", 200, SHORT).frames),
)  # fmt: skip
