"""There is one door to files and one to the web: no tool reaches either by any other way (F2, W1)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "agent_core"
TOOLS = sorted((CORE / "tools").glob("*.py"))

FILE_CALLS = {
    "open",
    "fdopen",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "unlink",
    "rename",
    "replace_with",
}
FILE_CALLS |= {"mkdir", "makedirs", "rmdir", "rmtree", "remove", "removedirs", "symlink", "symlink_to", "link", "chmod"}
FILE_CALLS |= {"copy", "copy2", "copyfile", "copytree", "move", "touch", "hardlink_to", "truncate", "mkstemp"}
NETWORK = {"httpx", "httpcore", "socket", "urllib.request", "http.client", "ftplib", "smtplib", "requests"}

THE_DOORS = {"read_text": {"base"}}
"""A name that is also a door's: by whom it may be called."""

WEB_ROOMS = {"llm", "mcp", "demo", "web/door.py"}
"""The model client and its scripted stand-in, MCP servers behind a URL, and the door for everything else."""


def calls(path: Path) -> Iterator[tuple[str, str, int]]:
    """Each call: what is called, on which name, and its line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                yield node.func.id, "", node.lineno
            elif isinstance(node.func, ast.Attribute):
                owner = node.func.value.id if isinstance(node.func.value, ast.Name) else "?"
                yield node.func.attr, owner, node.lineno


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("path", TOOLS, ids=lambda path: path.stem)
def test_no_tool_opens_or_changes_a_file_by_itself(path):
    found = [
        f"{path.name}:{line} {owner}.{name}"
        for name, owner, line in calls(path)
        if name in FILE_CALLS and owner not in THE_DOORS.get(name, ())
    ]
    assert found == []


def test_no_tool_talks_to_the_network_by_itself():
    assert [(path.name, name) for path in TOOLS for name in imports(path) if name in NETWORK] == []


def test_only_the_rooms_of_the_web_import_an_http_library():
    rooms = {
        path.relative_to(CORE).as_posix()
        for path in CORE.rglob("*.py")
        if any(name.partition(".")[0] in ("httpx", "httpcore") for name in imports(path))
    }
    assert {room for room in rooms if WEB_ROOMS.isdisjoint((room, room.partition("/")[0]))} == set()


@pytest.mark.parametrize("source", ["open('x')", "Path('x').write_text('')", "os.unlink('x')", "shutil.rmtree('x')"])
def test_the_check_sees_such_calls(source, tmp_path):
    (tmp_path / "tool.py").write_text(source)
    with pytest.raises(AssertionError):
        test_no_tool_opens_or_changes_a_file_by_itself(tmp_path / "tool.py")
