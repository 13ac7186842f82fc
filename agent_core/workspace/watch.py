"""Which folders below one change: the near end of watch_child.py."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.process.spawner import spawn

_CHILD: Final = str(Path(__file__).with_name("watch_child.py"))
_READ: Final = 64 * limits.KB

Changes = Mapping[str, Sequence[str]]
"""Folders, "" or with a slash at the end, and the names that came or went in them; a .gitignore also when written."""


class WatchEnded(Exception):
    """Nothing is told any more; says why."""


class Watch:
    """Watches all that is below a folder, in a program of its own. Raises OSError when that cannot be started."""

    def __init__(self, root: str) -> None:
        options = (round(limits.INDEX_STEP * 1000), limits.INDEX_REST, limits.INDEX_CHANGES)
        argv = (sys.executable, "-I", "-W", "ignore", _CHILD, root, *map(str, options))
        self._process = spawn(argv, Path("/"), {}, stdin=subprocess.PIPE)
        assert self._process.stdout is not None
        self.fd: int = self._process.stdout.fileno()
        """Readable when there is something to `read`."""
        self._begun = b""

    def read(self) -> list[Changes | None]:
        """What has been told, the oldest first; None: anything may have changed. Waits while there is nothing.

        Raises WatchEnded.
        """
        data = os.read(self.fd, _READ)
        if not data:
            raise WatchEnded(self._reason())
        *lines, self._begun = (self._begun + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def _reason(self) -> str:
        """The last line of what the program has written of its end."""
        assert self._process.stderr is not None
        lines = os.read(self._process.stderr.fileno(), _READ).decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "the watching program has ended")

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()
