"""`nanoherm-tui trust`: see what a folder brings that would act, and accept or refuse it."""

from __future__ import annotations

import argparse
import os
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import names
from agent_core.config.paths import find_places
from agent_core.desk.trusting import Trusting
from agent_core.grants_file import GrantsFile
from agent_core.text.printable import printable
from nanoherm_tui.subcommands.common import ended, opened, say, without_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_core.config.paths import Places
    from agent_core.desk.trusting import Answer
    from agent_core.ports.asking import Decided
    from agent_core.trust import Standing

_WORDS = {
    "none": "nothing here would act.",
    "new": "not trusted: none of this does anything.",
    "changed": "has changed since it was trusted: none of this does anything.",
    "trusted": "trusted: this acts.",
    "refused": "never to be trusted: none of this does anything.",
}


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        f"{names.APP} trust",
        description="What a folder's own files would do: settings, hooks, MCP servers, commands, agents, skills. Shows "
        "it and asks; nothing of it does anything before. A change of these files asks again.",
        epilog="exit codes: 0 it is trusted, or there is nothing to trust; 1 it is not trusted; with --show, --revoke "
        "and --never 0",
    )
    p.add_argument("folder", nargs="?", default=".", metavar="DIR", help="the folder (default: this one)")
    how = p.add_mutually_exclusive_group()
    how.add_argument("--show", action="store_true", help="show it and ask nothing")
    how.add_argument("--yes", action="store_true", help="accept what is shown, for scripts")
    how.add_argument("--never", action="store_true", help="never trust this folder, and do not ask again")
    how.add_argument("--revoke", action="store_true", help="take back what was answered")
    return p


def main(arguments: Sequence[str]) -> int:
    """Show, ask, and keep the answer. Returns the exit code."""
    args = parser().parse_args(arguments)
    folder = Path(args.folder)
    if not folder.is_dir():
        return say(f"{folder} is not a folder.", names.EXIT_USAGE)
    return ended(lambda: _run(args, find_places(folder, os.environ)))


def _run(args: argparse.Namespace, places: Places) -> int:
    hide, _ = without_keys(places)

    def record(root: Path, decided: Decided) -> None:
        with opened(places) as store:
            store.audit.add("", str(root), decided)

    trusting = Trusting(places, os.environ, GrantsFile(places.grants_file), hide, record)
    standing = trusting.look()
    _print(standing)
    answer: Answer | None = None
    if args.never or args.revoke:
        answer = "never" if args.never else "forget"
    elif args.yes or (not args.show and standing.state != "trusted" and standing.offer.acts and _agrees()):
        answer = "trust"
    if answer is None or (answer == "trust" and not standing.offer.acts):
        return names.EXIT_OK if args.show or standing.state in ("none", "trusted") else names.EXIT_FAILED
    trusting.answer(standing, answer)
    if answer != "trust":
        return say("never trusted from now on." if answer == "never" else "what was answered is taken back.")
    now = trusting.look()
    if now.state != "trusted":
        return say("the files have changed meanwhile. Look again.", names.EXIT_FAILED)
    return say("trusted, until one of these files changes.")


def _print(standing: Standing) -> None:
    print(f"{printable(str(standing.offer.root))}: {_WORDS[standing.state]}")
    for name, rows in groupby(standing.offer.rows, key=lambda row: row.name):
        mark = "  (changed)" if name in standing.changed else ""
        print(f"\n{name}{mark}")
        for row in rows:
            print(f"  {row.what:8} {row.words}")
    gone = [name for name in standing.changed if name not in standing.offer.digests]
    if gone:
        print(f"\ngone: {', '.join(map(printable, gone))}")
    sys.stdout.flush()


def _agrees() -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        say("nobody is here to ask. --yes accepts what is shown.")
        return False
    try:
        return input("\nTrust it? Only yes accepts: ").strip().lower() in ("y", "yes")
    except (EOFError, KeyboardInterrupt):
        print()
        return False
