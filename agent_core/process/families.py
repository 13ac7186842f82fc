"""A command with everything that came from it, and its end."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_core import limits
from agent_core.process.guard import MARKER, guard
from agent_core.process.proc import (
    HAS_PROC,
    POLL,
    Member,
    environ_of,
    group_exists,
    ignoring_gone,
    is_becoming,
    namespace_of,
    process_ids,
    stat_of,
)
from agent_core.process.spawner import spawn
from agent_core.process.walls import CommandWalls
from agent_core.sandbox import cgroup
from agent_core.sandbox.policy import SandboxPolicy


class Family:
    """A command's shell and everything that came from it.

    A descendant is known by its session or group, by its parent, or, when it left both (setsid) and its parent is
    gone, by the marker in its environment. One that was confined is known for sure, whatever it does: by the leaf of
    a control group and by its mount namespace, where it has them.
    """

    def __init__(self, process: subprocess.Popen[bytes], marker: str, walls: CommandWalls) -> None:
        self.process = process
        self.walls = walls
        self._leaf = walls.leaf
        self.marker = marker
        self._marker = f"{MARKER}={marker}".encode()
        stat = stat_of(process.pid)
        self._since = stat[4] if stat is not None else 0
        self._known: set[Member] = set()

    def members(self) -> tuple[Member, ...]:
        """The living descendants, the shell itself excepted; empty where there is no /proc."""
        shell = self.process.pid
        found: dict[int, Member] = {}
        others: list[tuple[int, int, Member]] = []
        for pid in process_ids():
            stat = stat_of(pid)
            if pid == shell or stat is None or stat[0] in "ZX":
                continue
            _, parent, group, session, started = stat
            member = Member(pid, started)
            if session == shell or group == shell or member in self._known:
                found[pid] = member
            elif started >= self._since:
                others.append((pid, parent, member))
        inside = set(cgroup.members(self._leaf)) if self._leaf is not None else set()
        namespace = self.walls.namespace
        for pid, _, member in others:
            environ = environ_of(pid)
            if pid in inside or self._marker in environ or (namespace and self._is_in(namespace, pid, environ)):
                found[pid] = member
        grown = True
        while grown:
            grown = False
            for pid, parent, member in others:
                if pid not in found and parent in found:
                    found[pid] = member
                    grown = True
        self._known.update(found.values())
        return tuple(found[pid] for pid in sorted(found))

    def _is_in(self, namespace: int, pid: int, environ: bytes) -> bool:
        """Whether a process is in the command's mount namespace, by its number, which the kernel may use again.

        So whoever bears the mark of another command is not, and the first one found keeps the number ours.
        """
        if namespace_of(pid) != namespace or f"{MARKER}=".encode() in environ:
            return False
        self.walls.keep_namespace(pid)
        return True

    def signal(self, number: int) -> bool:
        """Signal the group and every member outside it; True while anything is alive."""
        if number == signal.SIGKILL and self._leaf is not None:
            cgroup.kill(self._leaf)
        members = self.members()
        running = self.process.poll() is None
        if running or group_exists(self.process.pid):
            ignoring_gone(os.killpg, self.process.pid, number)
        for member in members:
            stat = stat_of(member.pid)
            if stat is not None and stat[4] == member.started and stat[2] != self.process.pid:
                ignoring_gone(os.kill, member.pid, number)
        return running or bool(members)

    def alive(self) -> bool:
        if self.process.poll() is None:
            return True
        return bool(self.members()) if HAS_PROC else group_exists(self.process.pid)

    def wait_gone(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.alive():
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL)
        return True

    def finish(self, grace: float) -> None:
        """After TERM: wait out the grace (seconds), then KILL until nothing is left.

        KILL is repeated, since a fork may race a sweep, but not for ever: what became another user's stays.
        """
        if not self.wait_gone(grace):
            deadline = time.monotonic() + limits.COMMAND_KILL_WAIT
            while time.monotonic() < deadline and self.signal(signal.SIGKILL) and not self.wait_gone(POLL * 4):
                pass
        self.close()

    def close(self) -> None:
        """Forget it, and take down its walls. To be called once."""
        families.discard(self)
        self.walls.close()


def start_family(
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    sandbox: SandboxPolicy | None = None,
    stdin: int = subprocess.DEVNULL,
) -> Family:
    """Start a command that ends with the program. Raises OSError, SandboxError; then nothing runs."""
    marker = guard.new_mark()
    guard.watch()
    walls = CommandWalls(argv, cwd, sandbox)
    try:
        started = {**env, **walls.env, MARKER: marker}
        process = spawn(walls.argv, cwd, started, stdin=stdin, pass_fds=walls.pass_fds)
        walls.started(process)
    except BaseException:
        walls.close()
        raise
    family = Family(process, marker, walls)
    families.add(family)
    return family


def kill_marked(marker: str) -> None:
    """Kill whatever bears this mark; for what nobody watches any more. The empty mark is nobody's.

    One round is not enough: a process may be forked behind the round, and one that is just becoming another program
    shows no environment. So it goes on until a round has found neither, for limits.COMMAND_KILL_WAIT seconds at most.
    """
    mark = f"{MARKER}={marker}".encode()
    deadline = time.monotonic() + limits.COMMAND_KILL_WAIT
    while marker and _kill_round(mark) and time.monotonic() < deadline:
        time.sleep(POLL / 5)


def _kill_round(mark: bytes) -> bool:
    """Kill what bears the mark now; whether there may be more."""
    more = False
    for pid in process_ids():
        environ = environ_of(pid)
        if mark in environ.split(b"\0"):
            ignoring_gone(os.kill, pid, signal.SIGKILL)
            more = True
        elif not environ and is_becoming(pid):
            more = True
    return more


class Leftover:
    """What has outlived its command and is to go on: its processes, and the pipes that they hold.

    Whoever takes it has it watched (jobs/relay.py), reads the pipes, and calls `close` when all of it has ended.
    """

    def __init__(self, family: Family, pids: tuple[int, ...], pipes: tuple[int, int]) -> None:
        self._family = family
        self.pids = pids
        self.pipes = pipes
        """Descriptors; they are the command's result's, to be copied."""

    @property
    def marker(self) -> str:
        return self._family.marker

    def members(self) -> list[tuple[int, int]]:
        """Ids and starts (ticks since boot) of its processes."""
        return [(member.pid, member.started) for member in self._family.members()]

    @property
    def namespace(self) -> int:
        return self._family.walls.namespace

    def move(self) -> tuple[Path, ...]:
        """Out of the session's control group into one of its own, which is given; none where it is in none."""
        leaf = self._family.walls.leaf
        return cgroup.move_apart(leaf) if leaf is not None else ()

    def hand_over(self) -> list[tuple[str, int]]:
        """See CommandWalls.hand_over."""
        return self._family.walls.hand_over()

    def keep(self, keep: bool) -> None:
        """Whether the end of the program is to spare it."""
        if keep:
            families.discard(self._family)
            guard.spare(self.marker)
        else:
            families.add(self._family)

    def close(self) -> None:
        self._family.close()


class Families:
    """The families that still run, so that none outlives the program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: set[Family] = set()

    def add(self, family: Family) -> None:
        with self._lock:
            self._all.add(family)

    def discard(self, family: Family) -> None:
        with self._lock:
            self._all.discard(family)

    def kill_all(self) -> None:
        with self._lock:
            families = list(self._all)
        for family in families:
            family.signal(signal.SIGKILL)


families = Families()
atexit.register(families.kill_all)


def kill_all() -> None:
    """Kill every command that still runs, at once. For leaving the program; also registered with atexit."""
    families.kill_all()
    guard.dismiss()
