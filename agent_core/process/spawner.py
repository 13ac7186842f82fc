"""The one thread that starts every child.

It is one thread and lives long, because the kernel's parent-death signal follows the thread that forked. No Python runs
between fork and exec; the death signal itself is set by the program that is started (the sandbox launcher), not here.
"""

from __future__ import annotations

import errno
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_core.records import dataclass


@dataclass(slots=True)
class _Request:
    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdin: int
    pass_fds: Sequence[int]
    done: threading.Event
    process: subprocess.Popen[bytes] | None = None
    error: Exception | None = None


class _Spawner:
    """The one thread that starts children. It lives as long as the program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def spawn(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: int, pass_fds: Sequence[int]
    ) -> subprocess.Popen[bytes]:
        request = _Request(argv, cwd, env, stdin, pass_fds, threading.Event())
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="spawner", daemon=True)
                self._thread.start()
        self._requests.put(request)
        request.done.wait()
        if request.error is not None:
            raise request.error
        assert request.process is not None
        return request.process

    def _serve(self) -> None:
        while True:
            request = self._requests.get()
            try:
                request.process = subprocess.Popen(
                    request.argv,
                    cwd=request.cwd,
                    env=dict(request.env),
                    stdin=request.stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    close_fds=True,
                    pass_fds=request.pass_fds,
                    bufsize=0,
                )
            except ValueError as error:  # a NUL or a lone surrogate: nothing the system could start
                request.error = OSError(errno.EINVAL, f"cannot be passed to a program: {error}")
            except Exception as error:  # handed to the thread that asked
                request.error = error
            request.done.set()


_spawner = _Spawner()


def spawn(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    *,
    stdin: int = subprocess.DEVNULL,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start `argv` in a session of its own, both its output streams piped and unbuffered. Raises OSError.

    `stdin`: empty, subprocess.PIPE, or a descriptor to read from; `pass_fds`: descriptors that it inherits.
    """
    return _spawner.spawn(argv, cwd, env, stdin, pass_fds)
