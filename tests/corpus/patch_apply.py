"""patch_apply: the tool itself in a folder with the files of a row, which the model has read.

A row has the files before, the patch, whether it is applied, and the files after. Whether the last line of a file made
by "*** Add File" has a line end is not compared: the format has no word for it, and rows were taken from a program that
leaves it out. That ours has one is tested in tests/core/test_change.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent_core.errors import ToolFailure
from agent_core.ports.tools import ToolContext
from tests.core.tool_support import call, context


def binds(row: dict[str, Any]) -> bool:
    return bool(row.get("stable", "judge" not in row)) or row.get("judge") == "strict"


@contextmanager
def opened(path: Path, *, as_root: bool) -> Iterator[Callable[[dict[str, Any]], str]]:
    with TemporaryDirectory() as folder:
        numbers = iter(range(1_000_000))

        def check(row: dict[str, Any]) -> str:
            scene = Path(folder) / str(next(numbers))
            scene.mkdir()
            return _check(row, context(scene))

        yield check


def _check(row: dict[str, Any], ctx: ToolContext) -> str:
    for name, content in row["before"].items():
        place = ctx.workspace / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode())
        call(ctx, "read_file", path=name)
    try:
        said = call(ctx, "apply_patch", patch=row["patch"])
    except ToolFailure as failure:
        if row["ok"]:
            return f"refused: {failure.text[:200]}"
    else:
        if not row["ok"]:
            return f"applied: {said.text[:200]}"
    files = (place for place in ctx.workspace.rglob("*") if place.is_file())
    after = {str(place.relative_to(ctx.workspace)): place.read_bytes().decode() for place in files}
    wanted = dict(row["after"])
    for name in wanted.keys() - row["before"].keys():
        if f"Add File: {name}\n" in row["patch"] and after.get(name) == f"{wanted[name]}\n":
            after[name] = wanted[name]
    return "" if after == wanted else f"{after!r:.300}"
