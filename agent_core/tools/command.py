"""run_command: a shell command, run to its end."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import SandboxError, ToolFailure
from agent_core.names import NEEDS, RUN_COMMAND, Needs
from agent_core.ports.actions import CommandAction, Effect
from agent_core.ports.commands import ExecResult, TerminalBackend
from agent_core.ports.tools import Args, Prepared, ResultBounds, Tool, ToolContext, ToolOutput
from agent_core.sandbox.policy import Box
from agent_core.spill import FOLDER, NANO, Spill, block
from agent_core.text import command_outcome, kept_out
from agent_core.text.ansi import clean
from agent_core.text.clamp import clamp

from . import base


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    most = limits.COMMAND_TIMEOUT_MAX
    wanted = base.number(args, "timeout", round(ctx.command_timeout), 1, 10**9)
    if wanted > most and ctx.tasks is not None:
        from . import tasks  # it builds on this room

        remark = (
            f"[run_command waits {most:.0f} s at most and {wanted} were asked for, so the command was started in the "
            "background.]"
        )
        return prepared(args, ctx, lambda command, folder, box: tasks.started(command, folder, box, ctx, remark))
    return prepared(args, ctx, lambda command, folder, box: to_end(command, folder, box, float(min(wanted, most)), ctx))


def prepared(args: Args, ctx: ToolContext, run: Callable[[str, Path, Box], ToolOutput]) -> Prepared:
    """A call with a command, its folder and what it needs; `run` is given the command, the folder and the box."""
    command = checked(base.text(args, "command"))
    folder = _folder(base.text(args, "cwd", ".") or ".", ctx)
    asked = base.text(args, "needs", "")
    needs: Needs = next((known for known in NEEDS if known == asked), "")
    return Prepared(
        CommandAction(command, str(folder), needs),
        lambda box: run(command, folder, box),
        seal=lambda box: sealed(command, folder, ctx.env, box),
    )


def changing(box: Box, ctx: ToolContext, *, beside: bool = False) -> Callable[[], None]:
    """A command is about to run, maybe `beside` the conversation; what this gives is to be called when it has ended, to
    know what it changed."""
    done, since = ctx.changes.command(box, beside=beside), time.time_ns()

    def ended() -> None:
        ctx.files.ran(since, time.time_ns())
        done()

    return ended


def to_end(
    command: str, folder: Path, box: Box, timeout: float, ctx: ToolContext, way_out: str | None = None
) -> ToolOutput:
    """Run a command that was allowed, and have what it changes kept. As `execute`; `way_out`: None, the usual one."""
    ended = changing(box, ctx)
    left: list[str] = []
    try:
        return execute(
            command,
            folder,
            timeout,
            box=box,
            backend=ctx.backend,
            left=left.append,
            env=ctx.env,
            cancel=ctx.cancel,
            spill=Spill(ctx.data_home / FOLDER, ctx.keys(), ctx.bounds.most),
            progress=ctx.progress,
            bounds=ctx.bounds,
            way_out=_way_out(ctx) if way_out is None else way_out,
        )
    finally:
        if left and ctx.tasks is not None:  # what it left goes on, and may go on changing files
            ctx.tasks.when_ended(left[0], changing(box, ctx, beside=True))
        ended()


def sealed(command: str, folder: Path, env: Mapping[str, str], box: Box) -> str:
    """A digest of what decides what a command does: its text, its folder as it is on disk, environment, box (A6)."""
    try:
        status = os.stat(folder)
        identity = f"{status.st_dev}:{status.st_ino}"
    except OSError as error:
        identity = f"gone: {error.errno}"
    parts = [command, str(folder), identity, box.words, *(f"{name}={env[name]}" for name in sorted(env))]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def checked(command: str) -> str:
    """`command`, when a shell can be given it. Raises ToolFailure."""
    if not command.strip():
        raise ToolFailure("The command is empty.", outcome="invalid arguments")
    try:
        size = len(command.encode("utf-8"))
    except UnicodeEncodeError:
        raise ToolFailure(
            "The command holds half a character (a lone surrogate).", outcome="invalid arguments"
        ) from None
    if "\0" in command or size > limits.COMMAND_BYTES:
        raise ToolFailure(
            f"A command has no NUL and at most {limits.COMMAND_BYTES // limits.KB} KB. "
            "Write a script with write_file and run that.",
            outcome="invalid arguments",
        )
    return command


def _folder(path: str, ctx: ToolContext) -> Path:
    verdict = base.judged("read", path, ctx)
    if not any(verdict.path.is_relative_to(root) for root in (ctx.workspace, *ctx.add_dirs)):
        raise ToolFailure(
            f"cwd must lie in the workspace; {verdict.shown} does not. The command itself may name other places.",
            outcome="invalid arguments",
        )
    if not verdict.path.is_dir():
        if verdict.path == ctx.workspace:
            raise ToolFailure(f"The workspace {verdict.path} is gone; no command can run there.", outcome="not found")
        raise ToolFailure(f"cwd: {verdict.shown} is not a folder.", outcome="invalid arguments")
    return verdict.path


def execute(
    command: str,
    folder: Path,
    timeout: float,
    *,
    box: Box,
    backend: TerminalBackend,
    env: Mapping[str, str],
    cancel: CancelScope,
    spill: Spill,
    progress: Callable[[str], None],
    bounds: ResultBounds = NANO,
    way_out: str = "",
    left: Callable[[str], object] = lambda task: None,
) -> ToolOutput:
    """Run `command` in `folder` for at most `timeout` seconds. Raises ToolFailure when it cannot be started.

    `progress` is called with the newest line of its output, now and then; `spill` is closed at the end. `way_out`:
    what to do when the sandbox may have stopped it, `{needs}` standing for what it would have needed. `left` is called
    with the name of the task that its children have become, where some outlive it.
    """
    newest_line = _progress(progress, spill.without_keys)

    def on_output(text: str) -> None:
        spill.add(text)
        newest_line(text)

    try:
        result = backend.execute(command, folder, box=box, timeout=timeout, env=env, cancel=cancel, on_output=on_output)
    except OSError as error:
        raise ToolFailure(
            f"The command could not be started: {error.strerror or error}.", code="not_started"
        ) from error
    except SandboxError as error:
        raise ToolFailure(f"The command was not run: {error.text}", code=error.code, outcome="no sandbox") from error
    finally:
        spill.close()
    if result.left_as:
        left(result.left_as)
    return shown(command, result, timeout, spill, bounds, _kept_out(box, command, result, way_out))


def _way_out(ctx: ToolContext) -> str:
    if ctx.mode == "plan":
        return "Put what needs more into the plan."
    if ctx.can_ask:
        return 'If it must have more, call again with needs="{needs}".'
    return "Nobody can be asked for more: do what can be done without it, and say what was left out."


def _kept_out(box: Box, command: str, result: ExecResult, way_out: str) -> str:
    """What the model is told where the sandbox may have stopped a command; it is never run anew by itself (A8)."""
    code = -1 if result.exit_code is None else result.exit_code
    lack = kept_out.missing(box, command, code, f"{clean(result.stdout)}\n{clean(result.stderr)}")
    if lack is None or result.interrupted:
        return ""
    walls = box.words if box.network else f"{box.words}, no network"
    words = (f"It ran in the sandbox ({walls}), which may be why.", lack.instead, way_out.format(needs=lack.needs))
    return f"[{' '.join(filter(None, words))}]"


def _progress(show: Callable[[str], None], hide: Callable[[str], str]) -> Callable[[str], None]:
    """A sink that shows the newest line of the output, now and then.

    Output comes in any pieces, and a key in it is known by what stands before: so a window of whole lines goes through
    `hide`, and a word that may still grow waits.
    """
    next_time = time.monotonic() + limits.COMMAND_PROGRESS_EVERY
    recent = ""
    whole = True  # nothing was cut off at the window's beginning

    def on_output(text: str) -> None:
        nonlocal next_time, recent, whole
        whole = whole and len(recent) + len(text) <= limits.PROGRESS_CHARS
        recent = (recent + text)[-limits.PROGRESS_CHARS :]
        now = time.monotonic()
        if now < next_time:
            return
        window = clean(recent).replace("\r", "\n")
        if not whole:
            window = window.partition("\n")[2]
        finished = max(window.rfind("\n"), window.rfind(" ")) + 1
        lines = [line for line in hide(window[:finished]).split("\n") if line.strip()]
        if lines:
            next_time = now + limits.COMMAND_PROGRESS_EVERY
            show(lines[-1].strip()[: limits.SUBJECT_CHARS])

    return on_output


def shown(
    command: str,
    result: ExecResult,
    timeout: float,
    spill: Spill | None = None,
    bounds: ResultBounds = NANO,
    remark: str = "",
) -> ToolOutput:
    """The result of a command for the model and for its card. `spill` may hold the whole of its output in a file.

    `remark` ends it: one line of the program's own.
    """
    stdout, stderr = clean(result.stdout).strip("\n"), clean(result.stderr).strip("\n")
    ok = result.exit_code == 0 or (
        result.exit_code is not None and command_outcome.is_harmless(command, result.exit_code)
    )
    head = _how_it_ended(command, result, timeout)
    kept = spill.head if spill is not None else ""
    room = (bounds.preview if kept else bounds.most) - limits.NOTE_BYTES
    room -= len(f"{head}{kept}".encode("utf-8", "replace")) if bounds.preview == bounds.most else 0
    parts = [head, *_streams(stdout, stderr, room, result)]
    if spill is not None and kept:
        parts = [head, block(spill, "\n".join(parts[1:]))]
    if result.left_running:
        pids = ", ".join(map(str, result.left_running[: limits.LEFT_RUNNING_NAMED]))
        if result.left_as:
            parts.append(
                f"[still running, as task {result.left_as} now: process {pids}. task_output reads what it writes, "
                "task_kill ends it]"
            )
        else:
            parts.append(f"[still running when the command had ended, and ended with it: process {pids}]")
    wanted = command_outcome.wanted_input(f"{stdout}\n{stderr}") if not ok else ""
    parts += [f"[{wanted}]"] if wanted and not result.interrupted else []
    if remark:
        parts.append(remark)
    return ToolOutput(
        "\n".join(parts),
        _outcome(result, stdout, stderr),
        ok,
        effect="done" if result.exit_code is not None else "unknown",
        preview=() if ok else command_outcome.telling_lines(stdout, stderr),
    )


def _how_it_ended(command: str, result: ExecResult, timeout: float) -> str:
    took = f"{result.seconds:.1f} s"
    if result.interrupted:
        return f"[interrupted] The user stopped the command after {took}; what it had done by then is done."
    if result.timed_out:
        return (
            f"[timed out] The command did not end within {timeout:.0f} s and was ended. A server or a watcher never "
            "ends: start it with task_start. If it only needs the time, use task_start too, or ask for a longer "
            f"timeout (at most {limits.COMMAND_TIMEOUT_MAX:.0f}). If it may have waited for input, give it that on its "
            "command line: nobody can type here."
        )
    if result.keyless:
        return (
            f"[ended] The command waited for keys, as an editor does, and was ended after {took}: nobody can press "
            "one. Change files with edit_file or write_file, and give what it asks for on its command line."
        )
    if result.exit_code is None:
        return f"ended by signal {result.signal} after {took}"
    meaning = command_outcome.shell_meaning(result.exit_code) or command_outcome.meaning(
        command, result.exit_code, f"{result.stdout}\n{result.stderr}"
    )
    return f"exit code {result.exit_code} ({meaning + ', ' if meaning else ''}{took})"


def _streams(stdout: str, stderr: str, room: int, result: ExecResult) -> list[str]:
    """Both streams within `room` bytes. Errors matter most: they get up to half, more when the rest is short."""
    out_size, err_size = len(stdout.encode("utf-8", "replace")), len(stderr.encode("utf-8", "replace"))
    room -= limits.STREAM_LABELS
    err_room = max(room // 2, room - out_size)
    parts = []
    if stdout:
        parts.append(clamp(stdout, room - min(err_size, err_room), "both", result.stdout_bytes))
    if stderr:
        parts += ["[stderr]", clamp(stderr, err_room, "both", result.stderr_bytes)]
    return parts or ["(no output)"]


def _outcome(result: ExecResult, stdout: str, stderr: str) -> str:
    if result.interrupted:
        return "stopped"
    if result.timed_out:
        return "timed out"
    if result.keyless:
        return "waited for keys"
    if result.exit_code is None:
        return f"signal {result.signal}"
    return command_outcome.summary(f"{stdout}\n{stderr}") or f"exit {result.exit_code}"


TOOL = Tool(
    RUN_COMMAND,
    "Run a shell command (sh -c) and wait for it. No input, no terminal; each call starts anew, so cd does not last. "
    "For files prefer the file tools; for what goes on running, as a server, task_start.",
    base.schema(
        ["command"],
        command=base.prop("string"),
        cwd=base.prop("string", "Folder in the workspace to run in"),
        timeout=base.prop("integer", "Seconds, default 180; above 600 it becomes a background task"),
        needs=base.prop(
            "string",
            "What it needs beyond the sandbox, only after that stopped it; the user is asked",
            enum=list(NEEDS),
        ),
    ),
    lambda args: Effect("command"),
    lambda args: base.subject(args, "command"),
    _prepare,
    seconds=lambda args: base.number(args, "timeout", 0, 0, int(limits.COMMAND_TIMEOUT_MAX)),
)
