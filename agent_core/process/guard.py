"""What ends a killed program's commands: a small shell that knows them by their mark."""

from __future__ import annotations

import logging
import os
import subprocess
import threading
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Final

from agent_core.process.proc import HAS_PROC, POLL
from agent_core.process.spawner import spawn
from agent_core.sandbox import cgroup

log = logging.getLogger(__name__)

MARKER: Final = "NANOHERM_COMMAND"
"""Environment variable by which descendants that left their session are found again."""

_GUARD: Final = """
trap '' HUP INT TERM
spared=
while read -r word mark; do
    case $word in
        farewell) exit 0 ;;
        spare) spared="$spared $mark" ;;
    esac
done
before=1
for try in 1 2 3 4; do
    found=
    for file in $(grep -lsF "$1" /proc/[0-9]*/environ /proc/[0-9]*/mountinfo; grep -lsF "$2" /proc/[0-9]*/cgroup); do
        pid=${file#/proc/}
        pid=${pid%/*}
        for mark in $spared; do
            grep -qsF "$mark" "/proc/$pid/environ" "/proc/$pid/mountinfo" && continue 2
        done
        kill -KILL "$pid" 2>/dev/null && found=1
    done
    [ "$found$before" ] || exit 0
    before=$found
    sleep 0.2
done
"""


class Guard:
    """A small shell that outlives the program by a moment and ends what its commands leave when it was killed.

    A killed program can end nothing itself, and the kernel's death signal reaches direct children alone. The shell
    waits for the end of a pipe; the word farewell tells it that there is nothing to do, others whom to spare. What has
    put off the mark in its environment is known by that of its mounts, or by its control group. Two rounds have to find
    nothing: what is being forked, or is becoming another program, shows itself in the next one only.
    """

    def __init__(self) -> None:
        self.id = uuid.uuid4().hex
        """What the markers of the program's commands begin with."""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._spared: list[str] = []
        """Told anew to one that takes the place of another."""

    def new_mark(self) -> str:
        """The mark of one more program, in its environment (MARKER)."""
        return f"{self.id}-{uuid.uuid4().hex}"

    def watch(self) -> None:
        """See that it runs. Without /proc, or a shell, commands are run unguarded."""
        with self._lock:
            if not HAS_PROC or (self._process is not None and self._process.poll() is None):
                return
            argv = ["/bin/sh", "-c", _GUARD, "guard", self.id, f"/{cgroup.name_of(os.getpid())}"]
            try:
                process = spawn(argv, Path("/"), {"PATH": os.defpath}, stdin=subprocess.PIPE)
            except OSError as error:
                log.warning("commands are not guarded: %s", error)
                return
            for stream in (process.stdout, process.stderr):  # it says nothing
                if stream is not None:
                    stream.close()
            self._process = process
            for marker in self._spared:
                self._say(f"spare {marker}")

    def spare(self, marker: str) -> None:
        """What bears this mark outlives the program."""
        with self._lock:
            self._spared.append(marker)
            self._say(f"spare {marker}")

    def _say(self, words: str) -> None:
        """To the shell, if it is there. Under the lock."""
        with suppress(OSError):
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.write(f"{words}\n".encode())

    def dismiss(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with suppress(OSError):  # it is gone already
            process.stdin.write(b"farewell\n")
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL)


guard = Guard()
