"""What holds for every built-in tool, whatever it is called with: tried through the real rules, on a real disk."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_core import limits, names, toolsets
from agent_core.background import Task, TaskOutput
from agent_core.cancel import CancelScope
from agent_core.errors import ToolFailure
from agent_core.grants import Grants
from agent_core.llm.chat_completions import Quirks, body_of
from agent_core.llm.providers import PRESETS
from agent_core.messages import ToolCall
from agent_core.names import MODES, TOOL_ALIASES
from agent_core.ports.asking import Reply
from agent_core.ports.commands import ExecResult
from agent_core.ports.model import LlmRequest
from agent_core.ports.tools import Tool
from agent_core.safety.policy import Situation
from agent_core.safety.shell_trust import TrustContext
from agent_core.text.ansi import clean
from agent_core.text.coerce import coerce
from agent_core.tools.builtin import builtin_tools
from agent_core.tools.call import run_call
from agent_core.tools.toolbox import Toolbox, toolbox_of
from agent_core.web.door import Door
from agent_core.web.engines import ENGINES, Chosen
from agent_core.web.session import SessionWeb, WebOptions
from tests.core import git_support, image_support
from tests.core.session_support import Table, say
from tests.rows import each_row

from .tool_support import context

TOOLS = {tool.name: tool for tool in builtin_tools()}

# -- any arguments ------------------------------------------------------------------------------------------------


class Idle:
    """Runs nothing and says what such a program may say: this is no place to run made-up commands."""

    def execute(self, command, cwd, **_) -> ExecResult:
        return ExecResult(0, "out\033[31m\n" * 3_000, "err\a", 0.0)


class IdleTasks:
    """As Idle, for commands in the background."""

    def __init__(self) -> None:
        self.read_to: dict[str, int] = {}

    def start(self, command, cwd, **_):
        return Task("t1", "s1", clean(command, keep=""), str(cwd), "workspace-write", 7, 0.0)

    def list(self):
        return (self.start("sleep 1", "/ws"),)

    def when_ended(self, task_id, call):
        call()

    def saw_end(self, task):
        pass

    def output(self, task_id, start, limit):
        task = self.kill(task_id)
        text = "line of output\n" * 5_000
        return TaskOutput(replace(task, output_bytes=len(text)), text[start : start + limit], start, len(text))

    def kill(self, task_id):
        if task_id != "t1":
            raise ToolFailure(f"There is no task {task_id!r}.", outcome="not found")
        return replace(self.start("sleep 1", "/ws"), state="killed", ended=1.0)


class Yes:
    """Agrees to everything, at times without some hunks."""

    def __init__(self, refused) -> None:
        self.refused = refused

    def ask(self, question, cancel):
        return Reply("once", refused=self.refused if question.kind == "edit" else ())


def nowhere(host: str) -> list[str]:
    raise OSError("no network here")


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A workspace with what may be in one, in its own repository, and a place beside it; each example has a copy."""
    root = tmp_path_factory.mktemp("world")
    ws = git_support.repository(root / "ws", {"f.txt": "a\nb\n", "d/g.txt": "中文\n", "a.py": "def f():\n    pass\n"})
    git_support.git(ws, "gc", "-q")  # a copy of few files is quickly made
    for name in ("hooks", "info", "branches", "logs"):
        shutil.rmtree(ws / ".git" / name, ignore_errors=True)
    (ws / "f.txt").write_text("a\nc\n")
    (ws / ".env").write_text("KEY=1\n")
    (ws / "bin").write_bytes(b"\0\xff" * 50)
    (ws / "old.txt").write_bytes("第一行\n".encode("gb18030"))
    (ws / "long.txt").write_text("x" * 50_000 + "\n" + "y\n" * 5_000 + "\033[2J\n")
    (ws / "i.png").write_bytes(image_support.image(8, 8))
    (ws / "名 字.md").write_text("# 题\n")
    (ws / "link").symlink_to("../outside/secret.txt")
    (ws / "out").symlink_to("../outside")
    (root / "outside").mkdir()
    (root / "outside/secret.txt").write_text("not yours\n")
    return root


@contextmanager
def copied(world: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("ws", "outside"):
            shutil.copytree(world / name, f"{folder}/{name}", symlinks=True)
        os.mkfifo(f"{folder}/ws/pipe")
        yield Path(folder)


def snapshot(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """All that is below a folder: kind, permissions, content or target.

    But for the index of git: `git diff` notes in it how files were when it looked, where no sandbox keeps it from that.
    """
    found = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            kind = stat.S_IFMT(status.st_mode)
            content = b""
            if kind == stat.S_IFREG:
                content = Path(path).read_bytes()
            elif kind == stat.S_IFLNK:
                content = os.fsencode(os.readlink(path))
            found[os.path.relpath(path, root)] = (kind, stat.S_IMODE(status.st_mode), content)
    found.pop(".git/index", None)
    return found


TEXTS = st.text(max_size=12) | st.sampled_from(
    [
        ".", "..", "/", "~", "", " ", "f.txt", "d", "d/g.txt", "a.py", ".env", "bin", "old.txt", "long.txt", "i.png",
        "名 字.md", "link", "out/secret.txt", "out", "pipe", "new.txt", "n/e/w.txt", ".git/config", "/etc/shadow",
        "../outside/secret.txt", "*.txt", "**", "[", "(", "a", "b", "y", "HEAD", "HEAD~9", "--output=f", "diff", "t1",
        "a\0b", "\ud800", "\033[2J\a", "x" * 300, "x" * 200_000, "1", "true", "[]", "sleep 1", "rm -rf x", "write",
        "https://example.com/", "http://127.0.0.1/", "http://[::1", "file:///etc/passwd", "t9",
    ]
)  # fmt: skip
PATCHES = st.sampled_from(
    [
        "*** Begin Patch\n*** Update File: f.txt\n-c\n+d\n*** End Patch",
        "*** Begin Patch\n*** Add File: n/new.txt\n+中\n*** Delete File: d/g.txt\n*** End Patch",
        "*** Begin Patch\n*** Update File: f.txt\n*** Move to: m.txt\n-a\n+z\n*** End Patch",
        "*** Begin Patch\n*** Add File: ../outside/x\n+y\n*** End Patch",
        "*** Begin Patch\n*** Delete File: link\n*** Delete File: a.py\n*** End Patch",
        "--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n",
        "*** Begin Patch\n*** Update File: pipe\n+x\n*** End Patch",
    ]
)
NUMBERS = st.sampled_from([0, 1, -1, 2, 7, 100, 10**9, 10**30, -(10**30)])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def values(schema: Mapping[str, Any], name: str = "") -> st.SearchStrategy[Any]:
    """What fits a part of a schema, in its type at least."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "string":
            return PATCHES | TEXTS if name == "patch" else TEXTS
        case "integer":
            return NUMBERS
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(values(schema["items"]), max_size=3)
        case _:
            return arguments(schema)


def arguments(schema: Mapping[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    parts = {name: values(part, name) for name, part in schema["properties"].items()}
    required = {name: parts[name] for name in schema["required"]}
    optional = {name: part for name, part in parts.items() if name not in required}
    return st.fixed_dictionaries(required, optional=optional)


def spoilt(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Anything under the names of its arguments, and under others."""
    return st.dictionaries(st.sampled_from([*tool.parameters["properties"], "file_path", "other"]), JSON, max_size=5)


def holds(world: Path, tool: Tool, args: dict[str, Any], mode: str, unattended: bool, refused: tuple[str, ...]) -> None:
    """Call the tool and check all that is promised of any call."""
    with copied(world) as folder:
        door = Door(resolve=nowhere, has_network=lambda: False)
        ctx = context(
            folder, backend=Idle(), asker=Yes(refused), tasks=IdleTasks(), sees_images=True,
            web=SessionWeb(WebOptions(door, lambda: Chosen(ENGINES[-1]))),
        )  # fmt: skip
        for name in ("f.txt", "a.py", "d/g.txt"):
            ctx.files.saw(ctx.workspace / name, "0" * 64)
        situation = Situation(mode, "untrusted", unattended, kernel=True)
        box = Toolbox(
            toolbox_of(builtin_tools()), ctx, lambda: situation, Grants(),
            lambda place: TrustContext(place, "/usr/bin:/bin", ctx.home, git_is_plain=True), lambda text: text,
        )  # fmt: skip
        before = {name: snapshot(folder / name) for name in ("ws", "outside", "home")}
        kinds = []

        def started(call, effect):
            kinds.append(effect.kind)
            assert snapshot(folder / "ws") == before["ws"], "it changed something before it was to act"

        result = run_call(box, ToolCall("c1", tool.name, args), CancelScope(), started)
        assert result.outcome != "crashed", result.text
        assert result.name == tool.name
        assert result.text
        assert len(result.text.encode("utf-8", "surrogatepass")) <= limits.TOOL_RESULT
        for line in (result.outcome, box.subject(ToolCall("c1", tool.name, args)), *result.preview):
            assert clean(line, keep="") == line
        assert len(kinds) <= 1
        after = {name: snapshot(folder / name) for name in before}
        assert after["outside"] == before["outside"]
        assert after["home"] == before["home"]
        if kinds != ["write"] or mode == "plan":
            assert after["ws"] == before["ws"]
        if not result.ok and result.effect == "none":
            assert after["ws"] == before["ws"], "what has failed left something behind"


CALLS = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}
REFUSED = st.sampled_from([(), (), ("0.0",), ("0.0", "1.0"), ("9.9", "x")])
MODE = st.sampled_from(MODES)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_whatever_a_tool_is_called_with_there_is_a_result_within_its_bounds(world, tool):
    @settings(max_examples=4, **CALLS)
    @given(arguments(tool.parameters) | spoilt(tool), MODE, st.booleans(), REFUSED)
    def any_call(args, mode, unattended, refused):
        holds(world, tool, args, mode, unattended, refused)

    any_call()


@pytest.mark.long
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_so_there_is_in_many_tries(world, tool):
    @settings(max_examples=400, **CALLS)
    @given(arguments(tool.parameters) | spoilt(tool), MODE, st.booleans(), REFUSED)
    def any_call(args, mode, unattended, refused):
        holds(world, tool, args, mode, unattended, refused)

    any_call()


@settings(max_examples=100, **CALLS)
@given(st.sampled_from(sorted(TOOLS)), st.data())
def test_what_a_call_touches_and_its_subject_are_known_from_any_arguments(name, data):
    tool = TOOLS[name]
    args = data.draw(spoilt(tool))
    assert isinstance(tool.subject(args), str)
    assert tool.effect(args).kind in ("none", "read", "write", "command", "person")
    fitting, problems = coerce(args, tool.parameters)
    if not problems:
        assert 0 <= tool.seconds(fitting) <= limits.COMMAND_TIMEOUT_MAX


# -- what a model is told of them ---------------------------------------------------------------------------------


def test_the_tools_and_their_order():
    """It never changes: what a server remembers of a request's beginning stays good. New ones come where they belong
    once, before a release."""
    assert list(TOOLS) == [
        names.READ_FILE, names.WRITE_FILE, names.EDIT_FILE, names.APPLY_PATCH, names.LIST_DIR, names.GREP, names.GLOB,
        names.RUN_COMMAND, names.TODO_WRITE, names.TODO_READ, names.GIT_STATUS, names.GIT_DIFF, names.GIT_COMMIT,
        names.ASK_USER, names.EXIT_PLAN, names.GOAL_DONE, names.SESSION_SEARCH, names.TASK_START, names.TASK_LIST,
        names.TASK_OUTPUT, names.TASK_KILL, names.WEB_FETCH, names.WEB_SEARCH,
    ]  # fmt: skip


TYPES = {"string", "integer", "boolean", "array", "object"}
PLAIN = {
    "path", "content", "new_text", "old_text", "edits", "pattern", "ignore_case", "command", "items", "text", "status",
    "revision", "paths", "mode", "message", "question", "query", "limit", "url", "offset",
}  # fmt: skip
"""Arguments that say what they are by their name and the tool's own description."""


@each_row("tool", TOOLS.values(), ids=TOOLS)
def test_a_schema_is_one_that_every_server_takes(tool):
    """The subset that the strictest of them share: draft 2020-12 without references and alternatives (TOOL-28)."""
    assert re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_]{0,63}", tool.name)
    assert 10 < len(tool.description) < 500
    assert tool.parameters["type"] == "object"
    depths = [0]

    def check(part: Mapping[str, Any], depth: int) -> None:
        depths.append(depth)
        assert set(part) <= {"type", "properties", "required", "enum", "items", "default", "description"}
        assert part["type"] in TYPES
        assert ("properties" in part) == (part["type"] == "object")
        assert ("items" in part) == (part["type"] == "array")
        assert set(part.get("required", ())) <= set(part.get("properties", ()))
        if "enum" in part:
            assert part["type"] == "string"
            assert all(isinstance(one, str) and one for one in part["enum"])
        if "default" in part:
            assert not coerce({"x": part["default"]}, {"type": "object", "properties": {"x": part}, "required": []})[1]
        for name, inner in part.get("properties", {}).items():
            assert re.fullmatch(r"[a-z][a-z_]{0,40}", name)
            assert name in PLAIN or inner.get("description"), name
            check(inner, depth + 1)
        if "items" in part:
            check(part["items"], depth + 1)

    check(tool.parameters, 0)
    assert max(depths) <= 5
    assert json.loads(json.dumps(tool.parameters)) == tool.parameters


def test_the_first_request_of_a_session_is_small(tmp_path):
    table = Table(tmp_path, say("hello"))
    table.turn("hi")
    [request] = table.model.requests
    table.session.close()
    assert {tool.name for tool in request.tools} >= set(TOOLS) - {names.EXIT_PLAN, names.GOAL_DONE}
    assert size(request) <= 16 * limits.KB


def size(request: LlmRequest) -> int:
    """In bytes, as one of the wires would send it."""
    return len(json.dumps(body_of(request, "m", Quirks(), PRESETS["openai"])).encode())


# -- other names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("called", "args", "meant"),
    [
        ("terminal", {"command": "ls"}, names.RUN_COMMAND),
        ("patch", {"path": "f", "old_string": "a", "new_string": "b"}, names.EDIT_FILE),
        ("patch", {"mode": "replace", "path": "f", "old_string": "a", "new_string": "b"}, names.EDIT_FILE),
        ("patch", {"mode": "patch", "patch": "*** Begin Patch"}, names.APPLY_PATCH),
        ("search_files", {"pattern": "x", "target": "content", "file_glob": "*.py"}, names.GREP),
        ("search_files", {"pattern": "*.py", "target": "files"}, names.GLOB),
        ("todo", {"todos": [{"id": "1", "content": "x", "status": "pending"}]}, names.TODO_WRITE),
        ("todo", {}, names.TODO_READ),
        ("todo_list", {"todos": []}, names.TODO_WRITE),
        ("web_extract", {"urls": ["https://example.com/"]}, names.WEB_FETCH),
        ("clarify", {"question": "which?", "choices": ["a", "b"]}, names.ASK_USER),
        ("process", {"action": "list"}, names.TASK_LIST),
        ("process", {"action": "poll", "session_id": "t1"}, names.TASK_OUTPUT),
        ("process", {"action": "log", "session_id": "t1", "offset": 0}, names.TASK_OUTPUT),
        ("process", {"action": "wait", "session_id": "t1", "timeout": 5}, names.TASK_OUTPUT),
        ("process", {"action": "kill", "session_id": "t1"}, names.TASK_KILL),
        ("process_manage", {"action": "kill", "session_id": "t1"}, names.TASK_KILL),
    ],
)
def test_the_names_and_arguments_of_hermes_find_the_tool_that_does_it(tmp_path, called, args, meant):
    assert called in TOOL_ALIASES
    box = Toolbox(TOOLS, context(tmp_path), lambda: None, Grants(), lambda place: None, lambda text: text)
    assert box.name(ToolCall("c1", called, args)) == meant


def test_every_other_name_leads_to_a_tool_that_there_is():
    assert {target for targets in TOOL_ALIASES.values() for target in targets} <= set(TOOLS) | set(toolsets.ALL_NAMES)
    assert not set(TOOL_ALIASES) & set(TOOLS)
