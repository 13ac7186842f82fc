"""Python, the packages, and the programs beside it that this one uses."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.doctor.check import Case, Check, Patient
from agent_core.names import APP
from agent_core.process.command import run_program
from agent_core.sandbox.env import child_env
from agent_core.text.printable import printable

_PYTHON: Final = (3, 11)


def python(case: Case) -> Iterator[Check]:
    version = ".".join(map(str, case.patient.python))
    text = f"{version}, SQLite {sqlite3.sqlite_version}, {case.patient.system} {platform.release()}"
    if case.patient.python < _PYTHON:
        yield Check("python", "Python", "fail", text, "Install Python 3.11 or newer, then the program with it.")
    else:
        yield Check("python", "Python", "ok", text)


def packages(case: Case) -> Iterator[Check]:
    try:
        wanted = metadata.requires(APP) or []
    except metadata.PackageNotFoundError:
        yield Check("packages", "Packages", "skip", "The program runs from its sources; nobody noted what it needs.")
        return
    wrong = []
    for requirement in wanted:
        match = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?(?:==([^;,\s]+))?", requirement)
        if match is None or "extra ==" in requirement:
            continue
        try:
            there = metadata.version(match[1])
        except metadata.PackageNotFoundError:
            wrong.append(f"{match[1]} is missing")
            continue
        if match[2] and there != match[2]:
            wrong.append(f"{match[1]} is {there}, not {match[2]}")
    if wrong:
        yield Check("packages", "Packages", "fail", "; ".join(wrong) + ".", f"Install {APP} anew.")
    else:
        yield Check("packages", "Packages", "ok", "All that it needs is there.")


def tools(case: Case) -> Iterator[Check]:
    for name, package, without in (
        ("git", "git", "the agent cannot commit or look at what has changed"),
        ("rg", "ripgrep", "searching files is slower"),
    ):
        found = program(name, case.patient)
        if found is None:
            yield Check(name, name, "warn", f"Not found: {without}.", f"Install {package}.")
            continue
        result = run_program(
            (found, "--version"), Path("/"), env=child_env(case.env), timeout=limits.DOCTOR_PROGRAM,
            cancel=CancelScope(),
        )  # fmt: skip
        words = printable(result.stdout.partition("\n")[0])[: limits.SUBJECT_CHARS]
        if result.exit_code == 0 and words:
            yield Check(name, name, "ok", f"{words} ({printable(found)})")
        else:
            yield Check(name, name, "warn", f"{printable(found)} --version fails.", f"Install {package} anew.")


def program(name: str, patient: Patient) -> str | None:
    """The file a program's name means, but none of the project's: nothing of it is run."""
    project = (patient.places.project_root or patient.places.workspace).resolve()
    folders = [
        folder
        for folder in patient.env.get("PATH", "").split(os.pathsep)
        if os.path.isabs(folder) and not Path(folder).resolve().is_relative_to(project)
    ]
    found = shutil.which(name, path=os.pathsep.join(folders)) if folders else None
    inside = found is not None and Path(found).resolve().is_relative_to(project)
    return None if inside else found
