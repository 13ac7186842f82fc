"""`nanoherm-tui doctor`: what is in order here, what is not, and what mends it. Runs nothing of a project."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_core import names
from agent_core.config.paths import find_places
from nanoherm_tui.subcommands.common import GAP, add_json, ended, tell
from nanoherm_tui.text import fit, visible, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_core.doctor.check import Check, Examination, Patient
    from nanoherm_tui.terminal.probe import Ask

_STATE: Final = 4  # cells of the longest word for a state
_TITLE: Final = 18  # of the longest title
_WIDE: Final = 120  # columns, where nobody says how many there are
_NARROW: Final = 24  # cells the words have in the narrowest terminal
_COLOURS: Final = {"ok": "32", "warn": "33", "fail": "1;31", "skip": "2"}


def further(patient: Patient, ask: Ask | None = None) -> tuple[tuple[str, Examination], ...]:
    """Checks of the face's own, by title, after those of the core. `ask`: who asks the terminal, if not they."""
    from agent_core.doctor.programs import program
    from nanoherm_tui.terminal import check as terminal_check

    return (("Terminal", lambda: terminal_check.look(lambda name: program(name, patient), patient.env, ask)),)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        f"{names.APP} doctor",
        description="What is in order on this machine, what is not, and what mends it. Nothing is changed, nothing of "
        "a project is run. Exit code 1 when something should be mended.",
    )
    p.add_argument("--offline", action="store_true", help="do not ask the model server whether it is there")
    p.add_argument("--servers", action="store_true", help="start the MCP servers and list their tools")
    add_json(p)
    return p


def main(arguments: Sequence[str]) -> int:
    """Look at everything and say what was found. Returns the exit code."""
    args = parser().parse_args(arguments)
    return ended(lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    from agent_core.doctor.check import Patient, has_problem
    from agent_core.doctor.examination import examine

    patient = Patient(find_places(Path.cwd(), os.environ), os.environ, online=not args.offline)
    found: list[Check] = []
    more = list(further(patient))
    if args.servers:
        from nanoherm_tui.subcommands import mcp

        more.append(("MCP servers connect", lambda: mcp.connect(patient.places)))
    for check in examine(patient, more):
        found.append(check)
        if not args.json:
            for line in _lines(check):
                print(line, flush=True)  # some checks take seconds; what is known is shown
    code = names.EXIT_FAILED if has_problem(found) else names.EXIT_OK
    if args.json:
        tell({"checks": [asdict(check) for check in found], "ok": code == names.EXIT_OK})
    else:
        print(f"\n{summary(found)}")
    return code


def _lines(check: Check) -> Iterator[str]:
    """The rows of one check, the fix under it."""
    columns = shutil.get_terminal_size((0, 0)).columns or _WIDE
    indent = _STATE + _TITLE + 2 * len(GAP)
    room = max(columns - indent, _NARROW)
    state = fit(check.state, _STATE)
    if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        state = f"\x1b[{_COLOURS[check.state]}m{state}\x1b[0m"
    first, *more = wrap(visible(check.text), room)
    yield f"{state}{GAP}{fit(check.title, _TITLE)}{GAP}{first}".rstrip()
    if check.fix:
        more += [f"> {line}" if at == 0 else f"  {line}" for at, line in enumerate(wrap(visible(check.fix), room - 2))]
    for line in more:
        yield f"{' ' * indent}{line}".rstrip()


def summary(found: Sequence[Check]) -> str:
    """How much is wrong, in a few words."""
    counts = (("problem", "fail"), ("warning", "warn"))
    numbers = [(word, sum(check.state == state for check in found)) for word, state in counts]
    parts = [f"{number} {word if number == 1 else word + 's'}" for word, number in numbers if number]
    return f"{' and '.join(parts)}." if parts else "Nothing is wrong."
