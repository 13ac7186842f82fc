"""`nanoherm-tui insights`: what was used over days: tokens, dollars, tools, hours."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import names
from agent_core.config.paths import find_places
from agent_core.store.insights import insights
from nanoherm_tui import limits
from nanoherm_tui.subcommands.common import add_json, ended, opened, positive, tell
from nanoherm_tui.words.insights import insight_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_core.config.paths import Places


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        f"{names.APP} insights",
        description="What was used: sessions, turns, tokens and dollars by model, days, tools and how often they "
        "failed, the busiest hours.",
    )
    p.add_argument("--days", type=_days, default=0, metavar="N", help="the last N days (default: all there is)")
    add_json(p)
    return p


def _days(text: str) -> int:
    return min(positive(text), limits.INSIGHT_DAYS)


def main(arguments: Sequence[str]) -> int:
    """Sum up and print. Returns the exit code."""
    args = parser().parse_args(arguments)
    return ended(lambda: _run(args, find_places(Path.cwd(), os.environ)))


def _run(args: argparse.Namespace, places: Places) -> int:
    with opened(places) as store:
        found = insights(store.database, args.days)
    if args.json:
        spent = found.spent
        return tell(asdict(found) | {"tokens": spent.tokens, "requests": spent.requests, "cost": spent.cost,
                                     "at_least": spent.is_partial})  # fmt: skip
    for line in insight_lines(found):
        print(line)
    return names.EXIT_OK
