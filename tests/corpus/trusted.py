"""Commands that run unasked, and those that must not.

The corpus speaks of a workspace that is the current directory, a PATH of root-owned directories only, and a repository
whose configuration names no helper.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent_core.safety.shell_trust import TrustContext, is_trusted_command


@contextmanager
def opened(path: Path, *, as_root: bool) -> Iterator[Callable[[dict[str, Any]], str]]:
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "home" / "workspace"
        workspace.mkdir(parents=True)
        ctx = TrustContext(workspace, "/usr/local/bin:/usr/bin:/bin", workspace.parent, git_is_plain=True)

        def check(row: dict[str, Any]) -> str:
            verdict = is_trusted_command(row["input"], ctx)
            found = "trusted" if verdict.ok else "untrusted"
            right = found in (row["expected"], row.get("alt"))
            return "" if right else f"{found} ({verdict.rule}), not {row['expected']}: {row['input']}"

        yield check
