"""Starting a relay: what it is given, and what became of it."""

from __future__ import annotations

import marshal
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from agent_core import limits
from agent_core.errors import SandboxError
from agent_core.jobs.files import read_state
from agent_core.process.families import Leftover
from agent_core.process.guard import MARKER
from agent_core.process.spawner import spawn
from agent_core.records import dataclass
from agent_core.sandbox import cgroup
from agent_core.sandbox.policy import Apart, SandboxPolicy
from agent_core.store.owner import place

_RELAY: Final = "agent_core.jobs.relay"


@dataclass(frozen=True, slots=True)
class Start:
    """A task that has begun."""

    pid: int
    """Of the command's shell."""
    relay: subprocess.Popen[bytes]
    control: int
    """A descriptor by which the relay is told things; closing it tells that the program is gone."""


def begin(
    folder: Path,
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    walls: Apart | None,
) -> Start:
    """Start `argv` under a relay that writes to `folder`; None: without walls.

    Raises OSError and SandboxError; then nothing runs, and what was made for the walls is gone.
    """
    from agent_core.sandbox.launch import prepare  # no start waits for it

    with ExitStack() as stack:
        plan = _plan(folder, cwd)
        if walls is None:
            plan |= {"argv": _bytes(argv), "env": _pairs(env)}
            return _relay(plan, None, stack)
        stack.callback(os.close, walls.held)
        undo = stack.enter_context(ExitStack())
        undo.callback(_take_back, walls.policy)
        groups = _leaf(walls.policy.cgroups)
        policy = replace(walls.policy, cgroups=groups)
        launch = stack.enter_context(prepare(argv, cwd, policy))
        plan |= {
            "argv": _bytes(launch.argv),
            "env": _pairs({**env, **launch.env}),
            "launcher": True,
            "pass": list(launch.pass_fds),
            "tmp": os.fsencode(policy.tmp),
            "held": [walls.held],
            "places": [(os.fsencode(name.path), name.descriptor) for name in launch.places],
            "groups": _bytes(map(str, groups)),
            "remove": _bytes(map(str, (groups[0], *walls.policy.cgroups) if groups else ())),
        }
        begun = _relay(plan, policy, stack)
        undo.pop_all()  # from here on it is the relay's to remove
        launch.hand_over()
        launch.wait(limits.TASK_START)
        failure = launch.failure() if _has_ended(folder, begun) else None
        if failure is not None:
            os.close(begun.control)
            begun.relay.wait(limits.TASK_START)
            raise failure
        return begun


def take_in(folder: Path, leftover: Leftover) -> Start:
    """Start a relay for what has outlived a command in the foreground. Raises OSError and SandboxError."""
    with ExitStack() as stack:
        members = leftover.members()
        if not members:
            raise OSError(3, "it has just ended")
        groups = leftover.move()
        readers = [os.dup(pipe) for pipe in leftover.pipes]
        for reader in readers:
            stack.callback(os.close, reader)
        names = leftover.hand_over()
        for _, descriptor in names:
            stack.callback(os.close, descriptor)
        mark = f"{MARKER}={leftover.marker}".encode()
        plan = _plan(folder, Path("/")) | {
            "foster": (members, mark, leftover.namespace),
            "readers": readers,
            "places": [(os.fsencode(path), descriptor) for path, descriptor in names],
            "groups": _bytes(map(str, groups[:1])),
            "remove": _bytes(map(str, groups)),
        }
        return _relay(plan, None, stack)


def _plan(folder: Path, cwd: Path) -> dict[str, Any]:
    return {
        "folder": os.fsencode(folder),
        "cwd": os.fsencode(cwd),
        "launcher": False,
        "foster": None,
        "readers": [],
        "pass": [],
        "tmp": b"",
        "held": [],
        "places": [],
        "groups": [],
        "remove": [],
        "keep": limits.TASK_OUTPUT,
        "room": limits.TASK_FILE,
        "grace": limits.TASK_GRACE,
        "grace_alone": limits.TASK_GRACE_ALONE,
        "boot": place() or "-",
    }


def _relay(plan: dict[str, Any], policy: SandboxPolicy | None, stack: ExitStack) -> Start:
    """Start the relay and wait until it has started the command. Raises OSError, SandboxError."""
    from agent_core.sandbox.probe import layers
    from agent_core.sandbox.program import helper, memory

    writable = (*policy.writable, policy.tmp) if policy is not None else ()
    argv, code = helper(_RELAY, writable, can_pin=policy is not None and layers().mount_view)
    data = memory(marshal.dumps(plan, 4))
    stack.callback(os.close, data)
    control = os.path.join(os.fsdecode(plan["folder"]), "control")
    os.mkfifo(control, 0o600)
    reader = os.open(control, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    stack.callback(os.close, reader)
    writer = os.open(control, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    places = [descriptor for _, descriptor in plan["places"]]
    passed = [code, data, *plan["pass"], *plan["held"], *plan["readers"], *places]
    try:
        relay = spawn([*argv, str(data)], Path("/"), {}, stdin=reader, pass_fds=passed)
        words = _first_words(relay)
    except BaseException:
        os.close(writer)
        raise
    if words.startswith("started "):
        return Start(int(words.split()[1]), relay, writer)
    os.close(writer)  # by which it learns that what it may have started is to end
    try:
        relay.wait(limits.TASK_CLOSE)
    except subprocess.TimeoutExpired:
        relay.kill()
        relay.wait()
    if words.startswith("failed "):
        number = int(words.split()[1])
        raise OSError(number, os.strerror(number))
    reason = words.strip().splitlines()[-1:] or ["it ended without a word"]
    raise OSError(0, f"the program that watches it could not start: {reason[0][:200]}")


def _first_words(relay: subprocess.Popen[bytes]) -> str:
    """What the relay says of the start, or, where it failed itself, why."""
    assert relay.stdout is not None
    assert relay.stderr is not None
    deadline, said = time.monotonic() + limits.TASK_START, {relay.stdout: b"", relay.stderr: b""}
    with relay.stdout, relay.stderr, selectors.DefaultSelector() as open_ones:  # select() knows 1,024 descriptors only
        for stream in said:
            open_ones.register(stream, selectors.EVENT_READ, stream)
        while open_ones.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in open_ones.select(left):
                data = os.read(key.fd, 4096)
                said[key.data] += data
                if not data:
                    open_ones.unregister(key.data)
        return (said[relay.stdout] or said[relay.stderr]).decode("utf-8", "replace")


def _has_ended(folder: Path, begun: Start) -> bool:
    state = read_state(folder)
    return state.exit_code is not None or state.signal is not None or begun.relay.poll() is not None


def _leaf(groups: tuple[Path, ...]) -> tuple[Path, ...]:
    try:
        return cgroup.leaf(groups) if groups else ()
    except OSError as error:
        raise SandboxError(
            "sandbox_cgroup", f"The command's control group could not be made: {error}. Nothing was run."
        ) from error


def _take_back(policy: SandboxPolicy) -> None:
    """Nothing was started: what was made for it goes."""
    cgroup.remove(policy.cgroups)
    shutil.rmtree(policy.tmp, ignore_errors=True)


def _bytes(words: Any) -> list[bytes]:
    return [os.fsencode(word) for word in words]


def _pairs(env: Mapping[str, str]) -> dict[bytes, bytes]:
    """An environment for posix_spawn. Raises OSError for what no program can be given."""
    for name, value in env.items():
        if "\0" in name + value or "=" in name:
            raise OSError(22, "cannot be passed to a program")
    return {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
