"""The walls around one command. What is held to a policy is started by the sandbox's launcher or not at all."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.errors import SandboxError
from agent_core.sandbox import cgroup
from agent_core.sandbox.policy import SandboxPolicy

if TYPE_CHECKING:
    from agent_core.sandbox.launch import Launch


class CommandWalls:
    """What stands around one command while it runs. Without a policy: nothing."""

    def __init__(self, argv: Sequence[str], cwd: Path, policy: SandboxPolicy | None) -> None:
        self.argv: Sequence[str] = argv
        self.env: Mapping[str, str] = {}
        self.pass_fds: Sequence[int] = ()
        self.leaf: Path | None = None
        self._groups: tuple[Path, ...] = ()
        self._launch: Launch | None = None
        self._namespace = 0
        self._lock = threading.Lock()
        self._kept: int | None = None
        self._closed = False
        if policy is None:
            return
        from agent_core.sandbox.launch import prepare  # no start waits for it

        if policy.cgroups:
            try:
                joined = cgroup.leaf(policy.cgroups)
            except OSError as error:  # the group was removed by somebody; its bounds are not for us to leave out
                raise SandboxError(
                    "sandbox_cgroup", f"The command's control group could not be made: {error}. Nothing was run."
                ) from error
            self._groups, self.leaf = joined, joined[0]
            policy = replace(policy, cgroups=joined)
        try:
            self._launch = prepare(argv, cwd, policy)
        except BaseException:
            self.close()
            raise
        self.argv, self.pass_fds = self._launch.argv, self._launch.pass_fds
        self.env = self._launch.env

    @property
    def namespace(self) -> int:
        """The mount namespace of all that comes from the command; 0: it has none of its own."""
        with self._lock:
            if not self._namespace and self._launch is not None and not self._closed:
                self._namespace = self._launch.namespace
            return self._namespace

    def keep_namespace(self, pid: int) -> None:
        """While a descriptor of it is open, no other mount namespace gets its number. `pid` is a process in it."""
        with self._lock, suppress(OSError):
            if self._kept is None and not self._closed:
                self._kept = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)

    def started(self, process: subprocess.Popen[bytes]) -> None:
        """Right after the launcher was started, which waits for it. Raises SandboxError; the process is ended then."""
        try:
            for group in self._groups:
                cgroup.join(group, process.pid)
        except OSError as error:
            process.kill()
            process.wait()
            raise SandboxError(
                "sandbox_cgroup", f"The command's control group could not be joined: {error}. Nothing was run."
            ) from error

    def hand_over(self) -> list[tuple[str, int]]:
        """Copies of what keeps names free, by their paths: who has them releases the names. Ours are closed.

        Raises OSError when there is no descriptor left for one: the names stay ours then.
        """
        if self._launch is None:
            return []
        with ExitStack() as made:
            copies: list[tuple[str, int]] = []
            for place in self._launch.places:
                copies.append((str(place.path), os.dup(place.descriptor)))
                made.callback(os.close, copies[-1][1])
            self._launch.hand_over()
            made.pop_all()
        return copies

    def check(self) -> None:
        """After the process has ended by itself. Raises SandboxError or OSError when the command was not started.

        After `close` nobody can tell any more, and nothing is raised.
        """
        with self._lock:
            failure = self._launch.failure() if self._launch is not None and not self._closed else None
        if failure is not None:
            raise failure

    def close(self) -> None:
        """When everything has ended."""
        with self._lock:
            if self._kept is not None and not self._closed:
                os.close(self._kept)
            self._closed = True
            if self._launch is not None:
                self._launch.close()
        if self.leaf is not None:
            cgroup.remove((self.leaf,))
