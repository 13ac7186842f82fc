"""Run a program to its end, and commands in their box."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import SandboxError
from agent_core.ports.commands import ExecResult
from agent_core.process.families import Family, Leftover, start_family
from agent_core.process.keyless import Keyless
from agent_core.process.output import Drain, HeadTail, Wake
from agent_core.process.proc import POLL
from agent_core.records import dataclass
from agent_core.sandbox.policy import UNCONFINED, Box, SandboxPolicy


def run_program(
    argv: Sequence[str],
    cwd: Path,
    *,
    env: Mapping[str, str],
    timeout: float,
    cancel: CancelScope,
    on_output: Callable[[str], None] | None = None,
    stdin: int = subprocess.DEVNULL,
    stream_limit: int = limits.COMMAND_STREAM,
    sandbox: SandboxPolicy | None = None,
    leave: Callable[[Leftover], str] | None = None,
) -> ExecResult:
    """Run a program to its end, its time limit (seconds) or `cancel`, whichever is first.

    Both streams are drained all the time, whatever is kept of them (LIM-10). A child that outlives the program and
    holds a pipe is waited for no longer than limits.COMMAND_PIPE_GRACE, named in `left_running`, and ended (TERM,
    then KILL). On cancel this returns at once while the ending goes on. `on_output` gets the output as it arrives,
    in this thread. `stdin`: empty, or a descriptor of a file. `sandbox`: what it is held to; None: nothing. `leave`
    may take what outlived the program and give it a name (ExecResult.left_as); then it is not ended. One that waits for
    keys is ended (ExecResult.keyless).

    Raises OSError when the program cannot be started, SandboxError when it cannot be confined as it had to be: then
    nothing has run, and nothing is tried without (A8).
    """
    started = time.monotonic()
    streams = (HeadTail(stream_limit), HeadTail(stream_limit))
    left: tuple[int, ...] = ()
    left_as = ""
    # Made before the program: without a descriptor for them nothing is started.
    with closing(Wake()) as wake, closing(Drain(on_output)) as drain:
        family = start_family(argv, cwd, env, sandbox, stdin)
        process = family.process
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            drain.follow(process, dict(zip((process.stdout, process.stderr), streams, strict=True)))
            with cancel.closing(wake.set):
                keyless = Keyless(lambda: (process.pid, *(member.pid for member in family.members())))
                ended = drain.until_exit(started + timeout, wake.reader, cancel, keyless)
                if ended == "exit":
                    family.walls.check()
                    left = _linger(family, drain)
                    if left and leave is not None:
                        pipes = (process.stdout.fileno(), process.stderr.fileno())
                        left_as = leave(Leftover(family, left, pipes))
                if ended == "exit" and not left:
                    family.close()
                elif not left_as:
                    grace = limits.COMMAND_TERM_GRACE
                    family.signal(signal.SIGTERM)
                    if ended == "timeout":
                        # A program that tidies up on TERM may still say something useful.
                        drain.until_exit(time.monotonic() + grace, wake.reader, cancel)
                        grace = 0
                    threading.Thread(target=family.finish, args=(grace,), name="reaper", daemon=True).start()
                drain.for_seconds(0)
        except BaseException:  # `on_output` raised: nothing may be left running behind it
            family.signal(signal.SIGKILL)
            family.close()
            raise
    code = process.poll() if ended == "exit" else None
    return ExecResult(
        exit_code=code if code is not None and code >= 0 else None,
        stdout=streams[0].text(),
        stderr=streams[1].text(),
        seconds=time.monotonic() - started,
        timed_out=ended == "timeout",
        keyless=ended == "keyless",
        interrupted=ended == "cancel",
        signal=-code if code is not None and code < 0 else None,
        stdout_bytes=streams[0].total,
        stderr_bytes=streams[1].total,
        left_running=left,
        left_as=left_as,
    )


def _linger(family: Family, drain: Drain) -> tuple[int, ...]:
    """Give what outlived the program a moment to end by itself; the ids of what did not."""
    deadline = time.monotonic() + limits.COMMAND_PIPE_GRACE
    members = family.members()
    while members and time.monotonic() < deadline:
        time.sleep(POLL)
        drain.for_seconds(0)
        members = family.members()
    # Without descendants the pipes hold only what has been written already.
    drain.for_seconds(0 if members else limits.COMMAND_PIPE_GRACE)
    return tuple(member.pid for member in members)


@dataclass(frozen=True, slots=True)
class LocalBackend:
    """Commands on this machine, in the box they are given (ports.TerminalBackend)."""

    confine: Callable[[Box], SandboxPolicy | None] = lambda box: None
    """The policy of a box; None: it sets no bounds. Raises SandboxError when it cannot be made."""
    adopt: Callable[[Leftover, str, Path, Box], str] | None = None
    """Take what outlives a command, which it is given with its folder and box, and give it a name; "": it cannot."""

    def execute(
        self,
        command: str,
        cwd: Path,
        *,
        box: Box,
        timeout: float,
        env: Mapping[str, str],
        cancel: CancelScope,
        on_output: Callable[[str], None] | None = None,
    ) -> ExecResult:
        argv, policy = ("/bin/sh", "-c", command), self.confine(box)
        if policy is None and box != UNCONFINED:
            raise SandboxError("no_sandbox", "This machine cannot confine commands, and it had to be confined.")
        adopt, leave = self.adopt, None
        if adopt is not None:
            leave = lambda leftover: adopt(leftover, command, cwd, box)  # noqa: E731
        return run_program(
            argv, cwd, env=env, timeout=timeout, cancel=cancel, on_output=on_output, sandbox=policy, leave=leave
        )
