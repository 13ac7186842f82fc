"""What a turn costs us: our own CPU, and the time from the key to the request, by the session's length.

A turn is a short question and a short streamed answer, from Enter until both are stored and drawn. The model server is
another process. Nothing is compacted here, so that each request holds all that was said.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass

from tests.bench.bars import Bar
from tests.bench.content import end_of
from tests.bench.lab import ENTER, FEW, MANY, Lab

TURNS = 8
"""Measured ones. They make the session longer, so there are not many; the first turn, which loads what it needs, is
left out."""
ANSWER_KB = 0.2
CALM = 0.6
"""Seconds without output after which a turn is over: the last clock step and the notes have been written."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Medians of milliseconds."""

    cpu: float
    """Of the whole program, without what it uses in as much time at rest."""
    to_request: float
    """From Enter, or from Host.submit, to the request's arrival at the server."""


def on_screen(lab: Lab, messages: int) -> Turns:
    """Turns of the real program in a terminal."""
    cpu, entered = [], []
    before = len(lab.arrivals())
    with lab.program("--set", "compression.enabled=false", messages=messages) as terminal:
        at_rest = terminal.cpu()
        terminal.quiet(CALM)
        at_rest = terminal.cpu() - at_rest
        for _ in range(TURNS + 1):
            mark, since = lab.mark(), len(terminal.raw)
            terminal.settled(terminal.send(f"bench line {ANSWER_KB} 0 {mark}"), gap=0.1)
            used = terminal.cpu()
            entered.append(terminal.send(ENTER))
            terminal.wait_for(end_of(mark), since)
            terminal.quiet(CALM)
            cpu.append(terminal.cpu() - used - at_rest)
    came = lab.arrivals()[before:]
    if len(came) != len(entered):
        raise TimeoutError(f"{len(came)} requests for {len(entered)} turns")
    waits = [there - key for key, there in zip(entered, came, strict=True)]
    return Turns(1000 * statistics.median(cpu[1:]), 1000 * statistics.median(waits[1:]))


def on_host(lab: Lab, messages: int) -> Turns:
    """The same without a screen: the core alone, as the headless face uses it."""
    before = len(lab.arrivals())
    with lab.home() as home:
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.host_turns", lab.sessions[messages], str(TURNS + 1), str(ANSWER_KB)],
            cwd=lab.folder / "work", env=lab.environment(home), capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip
    if done.returncode:
        raise TimeoutError(done.stderr[-500:])
    seen = json.loads(done.stdout)
    waits = [there - sent for sent, there in zip(seen["submitted"], lab.arrivals()[before:], strict=True)]
    return Turns(1000 * statistics.median(seen["cpu"][1:]), 1000 * statistics.median(waits[1:]))


BARS = (
    Bar("turn: CPU at 10 messages, program", 30.0, "ms", lambda lab: lab.once(on_screen, FEW).cpu),
    Bar("turn: CPU at 10 messages, core alone", 30.0, "ms", lambda lab: lab.once(on_host, FEW).cpu),
    Bar("turn: CPU at 2,000 messages ÷ at 10, program", 2.0, "×",
        lambda lab: lab.once(on_screen, MANY).cpu / lab.once(on_screen, FEW).cpu),
    Bar("turn: CPU at 2,000 messages ÷ at 10, core alone", 2.0, "×",
        lambda lab: lab.once(on_host, MANY).cpu / lab.once(on_host, FEW).cpu),
    Bar("turn: from Enter to the request", 20.0, "ms", lambda lab: lab.once(on_screen, FEW).to_request),
    Bar("turn: from Host.submit to the request", 20.0, "ms", lambda lab: lab.once(on_host, FEW).to_request),
    Bar("turn: from Enter to the request at 2,000 messages", 20.0, "ms",
        lambda lab: lab.once(on_screen, MANY).to_request),
)  # fmt: skip
