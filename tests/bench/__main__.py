"""`python -m tests.bench [--only GLOB] [--quick]`: the evidence that the screen never lags.

Every figure comes from the real program in a real pty against a model server on the loopback. Three rounds, each of
which measures everything once, so that what else the machine does falls on all alike. Most bars are ratios inside one
round; a bar is missed when two of three rounds miss it. The long life, eight minutes, is lived in the first alone. Exit
code 1 when any is missed. A whole run takes about twenty minutes; keep the machine quiet meanwhile.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from fnmatch import fnmatch

from tests.bench import (
    answers,
    checkpoints,
    finding,
    launcher,
    liveness,
    long_life,
    memory,
    opening,
    picker,
    remembering,
    resting,
    search,
    starting,
    streaming,
    turns,
)
from tests.bench.bars import Result, table
from tests.bench.lab import open_lab

ROOMS = (
    opening,
    memory,
    streaming,
    liveness,
    resting,
    picker,
    turns,
    search,
    finding,
    answers,
    launcher,
    checkpoints,
    remembering,
    starting,
    long_life,
)
BARS = tuple(bar for room in ROOMS for bar in room.BARS)
ROUNDS = 3


def main() -> int:
    p = argparse.ArgumentParser("python -m tests.bench", description="Measure the program against its bars.")
    p.add_argument("--only", metavar="GLOB", default="*", help="only bars whose name fits, such as 'stream*'")
    p.add_argument("--quick", action="store_true", help="one round instead of three")
    args = p.parse_args()
    results = [Result(bar) for bar in BARS if fnmatch(bar.name, args.only)]
    if not results:
        names = "\n  ".join(bar.name for bar in BARS)
        print(f"No bar fits {args.only!r}. There are:\n  {names}", file=sys.stderr)
        return 2
    begun, load = time.monotonic(), os.getloadavg()[0]
    with open_lab() as lab:
        with lab.program():
            pass  # the first start reads everything from disk: it is not measured
        for number in range(1 if args.quick else ROUNDS):
            lab.next_round()
            for result in results:
                if number and result.bar.long:
                    continue
                _progress(f"round {number + 1}: {result.bar.name}")
                try:
                    result.values.append(result.bar.measure(lab))
                except TimeoutError as problem:
                    result.problems.append(str(problem))
    _progress("")
    print(table(results))
    for result in results:
        for problem in result.problems:
            print(f"\n{result.bar.name}: {problem}")
    seconds = time.monotonic() - begun
    print(f"\n{seconds:.0f} s on {os.cpu_count()} cores; load before {load:.1f}, after {os.getloadavg()[0]:.1f}")
    return int(any(result.failed for result in results))


def _progress(words: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{words}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the lab's folder goes, and its server
    sys.exit(main())
