"""Reads rows, asks the KIND's adapter about each, and counts. See the package's docstring for the interface."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from agent_core.errors import AgentError

from . import Skip

Row = dict[str, Any]
Check = Callable[[Row], str]


class UsageError(Exception):
    """The kind, the path or a row of it cannot be used; nothing was judged."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one row."""

    id: str
    status: Literal["passed", "failed", "crashed", "skipped"]
    reason: str = ""


def adapter(kind: str) -> ModuleType:
    """Return the module of `kind`; UsageError if there is none."""
    name = f"{__package__}.{kind}"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", kind) or importlib.util.find_spec(name) is None:
        raise UsageError(f"no such kind: {kind}")
    module = importlib.import_module(name)
    if not hasattr(module, "check") and not hasattr(module, "opened"):
        raise UsageError(f"no such kind: {kind}")
    return module


def load(path: Path) -> list[Row]:
    """Read the rows of a JSON Lines file, or of a folder with one JSON object a file; UsageError if that fails."""
    try:
        if path.is_dir():
            texts = [(str(file), file.read_text("utf-8")) for file in sorted(path.glob("*.json"))]
        else:
            # Not splitlines(): a JSON string may hold U+2028 and its kin unescaped.
            lines = path.read_text("utf-8").split("\n")
            texts = [(f"{path}:{number}", line) for number, line in enumerate(lines, 1) if line.strip()]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    rows: list[Row] = []
    for place, text in texts:
        try:
            row = json.loads(text)
        except ValueError as error:
            raise UsageError(f"{place}: {error}") from error
        if not isinstance(row, dict) or not isinstance(row.get("id"), str):
            raise UsageError(f"{place}: a row is an object with an id")
        rows.append(row)
    if not rows:
        raise UsageError(f"{path}: no rows")
    return rows


def outcomes(module: ModuleType, path: Path, only: Iterable[str] = (), *, as_root: bool = False) -> Iterator[Outcome]:
    """Judge the rows of `path` whose id matches one of the globs `only` (all without one), in order."""
    globs = tuple(only)
    rows = [row for row in load(path) if not globs or any(fnmatchcase(row["id"], glob) for glob in globs)]
    if not rows:
        raise UsageError(f"no id matches {' '.join(globs)}")
    binds: Callable[[Row], bool] = getattr(module, "binds", lambda row: True)
    with _check(module, path, as_root) as check:
        for row in rows:
            yield _judge(check, row) if binds(row) else Outcome(row["id"], "skipped")


@contextmanager
def _check(module: ModuleType, path: Path, as_root: bool) -> Iterator[Check]:
    if hasattr(module, "opened"):
        with module.opened(path, as_root=as_root) as check:
            yield check
    else:
        yield module.check


def _judge(check: Check, row: Row) -> Outcome:
    try:
        wrong = check(row)
    except Skip as skip:
        return Outcome(row["id"], "skipped", str(skip))
    except AgentError as error:
        return Outcome(row["id"], "failed", f"{type(error).__name__}: {error}")
    except Exception as error:  # the one place where a row's exception becomes a result
        return Outcome(row["id"], "crashed", f"{type(error).__name__}: {error}")
    return Outcome(row["id"], "failed", wrong) if wrong else Outcome(row["id"], "passed")
