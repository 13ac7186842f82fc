"""Whether the screen answers while an answer streams in: the loop's lag, keys, the peace of who reads further up."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.bars import Bar
from tests.bench.lab import ALT_2, PAGE_UP, SHORT, Lab, read_report
from tests.bench.terminal import Terminal

KB, RATE = 200, 20_000
KEY_EVERY = 0.1
DRAFT = "zq9"
"""Stands in the composer before the keys."""
LETTERS = "bcdfghjklmnpqrstvwxyz"
AWAY_KB = 60
_MOVE = re.compile(rb"\x1b\[(\d+);\d+H")
DELTAS = {"TextDelta"}


@dataclass(frozen=True, slots=True)
class Typed:
    """Milliseconds."""

    key: float
    lag: float
    worst_lag: float


def typed(lab: Lab) -> Typed:
    """Type while a long answer streams in: a letter, a backspace, a letter."""
    report = lab.folder / "report.json"
    with lab.program(messages=SHORT, report=report) as terminal:
        lab.ask(terminal, "mixed", KB, RATE)
        terminal.send(DRAFT)
        time.sleep(0.5)
        caret = int(_MOVE.findall(bytes(terminal.raw))[-1])
        keys: list[tuple[float, str]] = []
        over = threading.Event()
        hand = threading.Thread(target=_type, args=(terminal, keys, over))
        hand.start()
        try:
            began, ended = lab.go()
        finally:
            over.set()
            hand.join()
        terminal.quiet(0.5)
        lags = [late for when, late in read_report(terminal, report)["lags"] if began <= when <= ended]
        frames = [(when, drawn_in(caret, drawn)) for when, drawn in terminal.frames(began, time.monotonic())]
    waits = answers(keys, [frame for frame in frames if frame[1]])
    return Typed(1000 * percentile(waits, 0.99), 1000 * percentile(lags, 0.99), 1000 * max(lags))


def _type(terminal: Terminal, keys: list[tuple[float, str]], over: threading.Event) -> None:
    """Note (when, what its frame must draw in the draft's row) of each key."""
    number = 0
    while not over.wait(KEY_EVERY):
        letter = LETTERS[number // 2 % len(LETTERS)]
        key, shown = (letter, letter) if number % 2 == 0 else ("\x7f", " ")
        keys.append((terminal.send(key), shown))
        number += 1


def drawn_in(row: int, frame: bytes) -> str:
    """What a frame draws in a row, which only keys change: the caret's last move there draws nothing."""
    found = re.finditer(rb"\x1b\[%d;\d+H((?:\x1b\[[0-9;]*m|[^\x1b])+)" % row, frame)
    return "".join(Terminal.plain(match[1]) for match in found)


def answers(keys: Sequence[tuple[float, str]], frames: Sequence[tuple[float, str]]) -> list[float]:
    """How long each key waited for the first frame that shows what it did, or what a later key did.

    Raises TimeoutError when a key was never answered.
    """
    waits: list[float] = []
    for when, text in frames:
        sent = [i for i, (at, shown) in enumerate(keys) if at <= when and shown in text and i >= len(waits)]
        if sent:
            waits += [when - at for at, _ in keys[len(waits) : sent[-1] + 1]]
    if not keys or len(waits) < len(keys):
        raise TimeoutError(f"{len(waits)} of {len(keys)} keys showed on the screen")
    return waits


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[round(share * (len(ordered) - 1))]


def rows_drawn_while_away(lab: Lab) -> float:
    """Rows of the transcript that text deltas have repainted while the window stood further up.

    The count of new lines below, drawn over the last row, begins with the first delta and then steps with the clock:
    the batches before it stands are left out.
    """
    report = lab.folder / "report.json"
    with lab.program(messages=SHORT, report=report) as terminal:
        lab.ask(terminal, "mixed", AWAY_KB, RATE)
        terminal.send(ALT_2)
        time.sleep(0.3)  # a key that comes with the one before still goes to the composer
        terminal.send(PAGE_UP)
        time.sleep(0.3)
        began, ended = lab.go()
        terminal.quiet(0.5)
        batches = read_report(terminal, report)["batches"]
    of_deltas = [(start, rows) for start, _, kinds, rows in batches if set(kinds) == DELTAS]
    counted = [rows for start, rows in of_deltas if began + 0.5 <= start <= ended]
    if len(counted) < 10:
        raise TimeoutError(f"only {len(counted)} batches of deltas came")
    return float(sum(counted))


BARS = (
    Bar("loop lag while streaming, p99", 50.0, "ms", lambda lab: lab.once(typed).lag, strict=True),
    Bar("loop lag while streaming, longest", 250.0, "ms", lambda lab: lab.once(typed).worst_lag, strict=True),
    Bar("key to frame while streaming, p99", 100.0, "ms", lambda lab: lab.once(typed).key),
    Bar("scrolled up: transcript rows drawn by deltas", 0.0, "rows", lambda lab: lab.once(rows_drawn_while_away)),
)
