"""The path door: each row's scene is built on disk, its path judged, and what is allowed is really done.

What must hold beside the verdict: nothing outside the workspace changes, even while the scene is changed between the
judgement and the write (`race`).
"""

from __future__ import annotations

import os
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_core import files
from agent_core.errors import ToolFailure
from agent_core.safety.paths import Op, PathRules, PathVerdict, classify

STRICT = {"allow": 0, "ask": 1, "deny": 2}
PATCH_HEADER = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to): (.*)", re.S)
PATCH_OP: dict[str, Op] = {"Add File": "write", "Update File": "write", "Delete File": "delete", "Move to": "write"}


def check(row: dict[str, Any]) -> str:
    """Judge one row; "" when it holds."""
    with tempfile.TemporaryDirectory() as top:
        root = Path(top).resolve()
        places = {"$WS": root / "ws", "$OUT": root / "out", "$HOME": root / "home"}
        for place in places.values():
            place.mkdir()
        rules = PathRules(places["$WS"], places["$HOME"], places["$HOME"] / ".nanohermes")
        for step in row.get("setup", []):
            _build(*(_fill(text, places) for text in step))
        text = row["input"].replace("$WS", str(places["$WS"])).replace("$OUT", str(places["$OUT"]))
        before = _content(places["$OUT"])
        verdicts = [(op, classify(op, path, rules)) for op, path in _operations(row["op"], text)]
        got = max((verdict.verdict for _, verdict in verdicts), key=STRICT.__getitem__)
        for op, verdict in verdicts:
            if got != "deny":
                _carry_out(op, verdict, rules, [_fill(step, places) for step in row.get("race", [])])
        if _content(places["$OUT"]) != before:
            return "something outside the workspace changed"
        return _compare(row, got, text, verdicts[0][1], places["$WS"])


def _compare(row: dict[str, Any], got: str, text: str, verdict: PathVerdict, workspace: Path) -> str:
    alt = row.get("alt")
    literal = got == "allow" and verdict.path == workspace / text
    unchanged = alt == "allow-if-outside-unchanged" and got == "allow"  # check() has looked outside
    if got in (row["expected"], alt) or unchanged or (alt == "literal" and literal):
        return ""
    return f"{got} ({verdict.rule or 'no rule'})"


def _operations(op: str, text: str) -> Iterator[tuple[Op, str]]:
    match op:
        case "rename":
            old, new = text.split(" -> ")
            yield "delete", old
            yield "write", new
        case "patch":
            header = PATCH_HEADER.fullmatch(text)
            assert header, text
            yield PATCH_OP[header[1]], header[2]
        case "read" | "write" | "delete" | "glob":
            yield op, text
        case _:
            raise ValueError(op)


def _carry_out(op: Op, verdict: PathVerdict, rules: PathRules, race: list[str]) -> None:
    """Do what was allowed, the attacker's steps in between; a refusal at that point is as good as one before."""
    content = None
    try:
        content = files.read(verdict, rules)
    except ToolFailure:
        pass
    _race(race)
    try:
        if op == "write":
            files.write(verdict, rules, b"new", content.digest if content else None)
        elif op == "delete" and content:
            files.delete(verdict, rules, content.digest)
    except ToolFailure:
        pass


def _race(steps: list[str]) -> None:
    queue = list(steps)
    while queue:
        match queue.pop(0):
            case "rename":
                os.rename(queue.pop(0), queue.pop(0))
            case "unlink":
                os.unlink(queue.pop(0))
            case "symlink":
                path = queue.pop(0)
                os.symlink(queue.pop(0), path)
            case other:
                raise ValueError(other)


def _build(kind: str, path: str, detail: str = "") -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    match kind:
        case "file":
            Path(path).write_text(detail)
        case "dir":
            os.makedirs(path, exist_ok=True)
        case "symlink":
            os.symlink(detail, path)
        case "hardlink":
            os.link(detail, path)
        case "fifo":
            os.mkfifo(path)
        case "socket":
            # Bound by a short relative name: a socket's path has 108 bytes at most.
            here = os.getcwd()
            os.chdir(os.path.dirname(path))
            try:
                with socket.socket(socket.AF_UNIX) as bound:
                    bound.bind(os.path.basename(path))
            finally:
                os.chdir(here)
        case "sparse":
            with open(path, "wb") as file:
                file.truncate(int(detail))
        case _:
            raise ValueError(kind)


def _fill(text: str, places: dict[str, Path]) -> str:
    for name, place in places.items():
        text = text.replace(name, str(place))
    return text


def _content(folder: Path) -> dict[str, bytes | str]:
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        regular = path.is_file() and not path.is_symlink()
        found[str(path)] = path.read_bytes() if regular else str(os.lstat(path).st_mode)
    return found
