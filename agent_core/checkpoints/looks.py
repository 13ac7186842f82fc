"""Has the files of workspaces looked at, by child.py: when, and how long a command waits for it."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Literal

from agent_core import limits
from agent_core.checkpoints import child as checkpoint_child
from agent_core.checkpoints.records import Records
from agent_core.line_child import Asked, LineChild
from agent_core.records import dataclass
from agent_core.workspace.index import is_too_wide

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LookOptions:
    """Bytes that are kept of one file and of a workspace; what is hidden (files.deny_read) where."""

    file: int
    tree: int
    deny_read: tuple[str, ...] = ()
    add_dirs: tuple[Path, ...] = ()


@dataclass(slots=True)
class _Looked:
    """How the looking at a workspace goes."""

    patience: float = field(default_factory=lambda: limits.CHECKPOINT_WAIT)
    took: float | None = None
    since: float = 0.0
    """When the last look that has ended was asked for (monotonic)."""
    asked: list[tuple[float, Asked]] = field(default_factory=list)

    def harvest(self) -> None:
        for when, asked in [one for one in self.asked if one[1].done.is_set()]:
            self.asked.remove((when, asked))
            if "seconds" in asked.answer:
                self.took, self.since = asked.answer["seconds"], max(self.since, when)
            else:
                log.warning("files could not be looked at: %s", asked.answer.get("error"))


Found = Literal["now", "earlier", "wide"]
"""When a workspace was last looked at before a command: right before it, some time before or never, or it never is."""


class Looks:
    """All of one program. Safe to use from several threads."""

    def __init__(self, home: Path, data_home: Path, folder: Path, options: Callable[[], LookOptions]) -> None:
        self._home, self._data_home = home, data_home
        self._options = options
        self._lock = threading.RLock()
        self._looked: dict[str, _Looked] = {}
        argv = (sys.executable, "-I", "-W", "ignore", checkpoint_child.__file__, str(folder))
        self._child = LineChild(argv, "checkpoints")
        self._closed = False

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._child.close()

    def before_command(self, workspace: str, since: float) -> Found:
        """Have a workspace looked at before a command changes it; waits a moment. `since`: when the turn began
        (monotonic)."""
        if self._is_wide(workspace):
            return "wide"
        with self._lock:
            looked = self._looked.setdefault(workspace, _Looked())
            looked.harvest()
            is_quick = looked.took is not None and looked.took <= limits.CHECKPOINT_GLANCE
            if not is_quick and looked.since >= since:
                return "earlier"  # what changed since that look is not known: another would take too long
            free = limits.CHECKPOINT_GLANCE if is_quick else 0.0
            wait = max(looked.patience, free)  # also a quick one: the program may have to start
        began = time.monotonic()
        answer = self._ask(workspace).wait(wait) if wait > 0 else {}
        if "error" in answer:  # the program had ended without anybody's having seen it: it is started anew
            answer = self._ask(workspace).wait(max(0.0, began + wait - time.monotonic()))
        with self._lock:
            looked.harvest()
            looked.patience -= min(looked.patience, max(0.0, time.monotonic() - began - free))
        return "now" if "seconds" in answer else "earlier"

    def soon(self, workspace: str) -> None:
        """Have it looked at, without waiting."""
        if not self._is_wide(workspace):
            self._ask(workspace)

    def settle(self, records: Records) -> None:
        """Wait until what commands have changed is recorded, but no longer than limits.CHECKPOINT_LIST."""
        wanted = [place for place in records.workspaces() if not self._is_wide(place)]
        deadline = time.monotonic() + limits.CHECKPOINT_LIST
        for asked in [self._ask(place) for place in wanted]:
            asked.wait(max(0.0, deadline - time.monotonic()))

    def _ask(self, workspace: str) -> Asked:
        options = self._options()
        with self._lock:
            if self._closed:
                asked = Asked(answer={"error": "the program ends"})
                asked.done.set()
                return asked
            asked = self._child.ask(
                look={
                    "workspace": workspace,
                    "home": str(self._home),
                    "data_home": str(self._data_home),
                    "deny_read": list(options.deny_read),
                    "roots": [workspace, *map(str, options.add_dirs)],
                    "file": options.file,
                    "tree": options.tree,
                }
            )
            self._looked.setdefault(workspace, _Looked()).asked.append((time.monotonic(), asked))
        return asked

    def _is_wide(self, workspace: str) -> bool:
        return is_too_wide(Path(workspace), self._home)
