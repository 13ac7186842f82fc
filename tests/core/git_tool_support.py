"""The git tools as a session has them, in the real sandbox too."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_core.confinement import Confinement
from agent_core.errors import ToolFailure
from agent_core.ports.tools import ToolContext
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox.probe import layers
from tests.core.git_support import commit, git
from tests.core.tool_support import call, context

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
_LACKS = "" if layers().can_confine else f"the kernel here cannot confine commands: {layers().why}"
confining = pytest.mark.skipif(bool(_LACKS), reason=_LACKS)


@contextmanager
def confined_context(tmp_path: Path, ctx: ToolContext) -> Iterator[ToolContext]:
    """The workspace of `ctx` in the real sandbox."""
    walls = Confinement(ctx.workspace, tmp_path / "home", tmp_path / "own", lambda: nothing_more)
    yield context(tmp_path, confine=walls.policy)
    walls.close()


def refusal(ctx: ToolContext, tool: str, **args) -> ToolFailure:
    with pytest.raises(ToolFailure) as error:
        call(ctx, tool, **args)
    return error.value


def begin_merge(ws: Path) -> None:
    """Leave two branches behind that conflict in a.txt; on main."""
    git(ws, "checkout", "-q", "-b", "other")
    commit(ws, "theirs", {"a.txt": "theirs\n"})
    git(ws, "checkout", "-q", "main")
    commit(ws, "ours", {"a.txt": "ours\n"})
