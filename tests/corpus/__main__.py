"""The command line of the corpus runner; see the package's docstring."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from . import runner

LABEL = {"failed": "FAILED", "crashed": "CRASH", "skipped": "SKIPPED"}


def main(argv: list[str] | None = None) -> int:
    """Run one kind over one path; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description="Run a corpus over the product.")
    parser.add_argument("kind", metavar="KIND")
    parser.add_argument("path", metavar="PATH", type=Path)
    parser.add_argument("--only", metavar="GLOB", nargs="+", action="extend", default=[], help="row ids to run")
    parser.add_argument("--as-root", action="store_true", help="sandbox: keep root's rights")
    args = parser.parse_args(argv)
    counts: Counter[str] = Counter()
    try:
        for outcome in runner.outcomes(runner.adapter(args.kind), args.path, args.only, as_root=args.as_root):
            counts[outcome.status] += 1
            if outcome.reason:
                # Rows hold control characters on purpose; they must not reach the terminal.
                print(f"{LABEL[outcome.status]} {outcome.id}: {ascii(outcome.reason)[1:-1]}", flush=True)
    except runner.UsageError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    failed = counts["failed"] + counts["crashed"]
    print(f"{counts['passed']} passed, {failed} failed, {counts['skipped']} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
