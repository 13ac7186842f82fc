"""`nanoherm-tui audit`: what was decided about what the agent was to do, for the shell and for scripts."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_core import names
from agent_core.config.paths import find_places
from nanoherm_tui.subcommands.common import GAP, add_json, ended, opened, positive, print_table, say, without_keys
from nanoherm_tui.text import cut, one_line, visible, width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_core.config.paths import Places
    from agent_core.store.audit import Entry

_KINDS: Final = ("command", "edit", "read", "web", "server", "keep", "tool", "mode", "grant", "trust")
_UNITS: Final = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_LISTED: Final = 50
_ROOMY: Final = 120  # columns from which on a terminal has room for the session and the sandbox too
_LEAST: Final = 12  # cells of the rule and of what it was about, however narrow the terminal is


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        f"{names.APP} audit",
        description="Decisions about what the agent was to do, the newest first: what, by which rule, who, when. Reads "
        "that the rules allow are not among them.",
    )
    p.add_argument("--session", metavar="ID", help="only of one session: its id, the start of one, or its title")
    p.add_argument(
        "--since", type=_since, metavar="TIME", help="only since a date (2030-01-31), or for 30m, 12h, 2d, 1w"
    )
    p.add_argument("--refused", action="store_true", help="only what was refused")
    p.add_argument("--kind", choices=_KINDS, help="only decisions of one kind")
    p.add_argument("-n", type=positive, default=_LISTED, metavar="N", help=f"at most so many (default: {_LISTED})")
    add_json(p)
    return p


def _since(text: str) -> float:
    """Seconds since the epoch."""
    ago = re.fullmatch(r"(\d{1,6})([mhdw])", text.strip())
    if ago is not None:
        return time.time() - int(ago[1]) * _UNITS[ago[2]]
    try:
        return datetime.datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError("write a date such as 2030-01-31, or 30m, 12h, 2d, 1w") from None


def main(arguments: Sequence[str]) -> int:
    """Print the record. Returns the exit code."""
    args = parser().parse_args(arguments)
    return ended(lambda: _run(args, find_places(Path.cwd(), os.environ)))


def _run(args: argparse.Namespace, places: Places) -> int:
    redact, _ = without_keys(places)
    with opened(places) as store:
        session = store.find(args.session, str(places.workspace)).id if args.session else None
        entries = store.audit.list(
            session, args.n, since=args.since or 0.0, kind=args.kind, verdict="refuse" if args.refused else None
        )
    if args.json:
        for entry in entries:
            print(json.dumps(_about(entry, redact), ensure_ascii=False))
    elif entries:
        print_table(_fitted([_HEAD, *(_row(entry, redact) for entry in entries)]))
    else:
        say("no decisions that fit.")
    return names.EXIT_OK


def _about(entry: Entry, redact: Callable[[str], str]) -> dict[str, Any]:
    decided = entry.decided
    when = datetime.datetime.fromtimestamp(decided.when).astimezone()
    return {
        "id": entry.id,
        "time": when.isoformat(timespec="seconds"),
        "session": entry.session_id,
        "workspace": entry.workspace,
        "kind": decided.kind,
        "what": redact(decided.what),
        "cwd": decided.cwd,
        "sandbox": decided.sandbox,
        "verdict": decided.verdict,
        "rule": decided.rule,
        "by": decided.by,
        "call_id": decided.call_id,
    }


_HEAD: Final = ("WHEN", "SESSION", "DECISION", "BY", "RULE", "SANDBOX", "WHAT")


def _row(entry: Entry, redact: Callable[[str], str]) -> tuple[str, ...]:
    decided = entry.decided
    cells = (
        _when(decided.when),
        entry.session_id[:8] or "-",
        f"{decided.verdict} {decided.kind}",
        decided.by,
        decided.rule or "-",
        decided.sandbox or "-",
        redact(decided.what),
    )
    return tuple(visible(one_line(cell)) for cell in cells)


def _when(seconds: float) -> str:
    """The time of today, day and time otherwise; the year where it is another one."""
    when, now = datetime.datetime.fromtimestamp(seconds), datetime.datetime.now()
    if when.date() == now.date():
        return when.strftime("%H:%M:%S")
    return when.strftime("%m-%d %H:%M" if when.year == now.year else "%Y-%m-%d")


def _fitted(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows as a terminal has room for them; whole in a file or a pipe."""
    columns = shutil.get_terminal_size((0, 0)).columns  # also what COLUMNS says
    if not columns:
        return list(rows)
    if columns < _ROOMY:
        rows = [(when, decision, by, rule, what) for when, _, decision, by, rule, _, what in rows]
    at = rows[0].index("RULE")
    widths = [max(width(cell) for cell in column) for column in zip(*rows, strict=True)]
    room = columns - sum(widths[:at]) - sum(widths[at + 1 : -1]) - (len(widths) - 1) * len(GAP)
    rule = min(widths[at], max(room // 3, _LEAST))
    what = max(room - rule, _LEAST)
    return [(*row[:at], cut(row[at], rule), *row[at + 1 : -1], cut(row[-1], what)) for row in rows]
