"""task_start, task_list, task_output, task_kill: commands that run beside the conversation."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.background import Task
from agent_core.errors import SandboxError, ToolFailure
from agent_core.names import NEEDS, TASK_KILL, TASK_LIST, TASK_OUTPUT, TASK_START
from agent_core.ports.actions import Effect, NoAction
from agent_core.ports.commands import TaskRunner
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.sandbox.policy import Box
from agent_core.text import command_outcome

from . import base, command

_HOW_TO_READ: Final = "task_output reads what it writes, task_kill ends it. You are told when it ends."


# -- task_start ---------------------------------------------------------------------------------------------------


def _prepare_start(args: Args, ctx: ToolContext) -> Prepared:
    return command.prepared(args, ctx, lambda text, folder, box: started(text, folder, box, ctx))


def started(text: str, folder: Path, box: Box, ctx: ToolContext, remark: str = "") -> ToolOutput:
    """Begin `text` in the background, and look for a moment whether it ends at once. Raises ToolFailure."""
    tasks = _tasks(ctx)
    done = command.changing(box, ctx, beside=True)
    try:
        task = tasks.start(text, folder, box=box, env=ctx.env, ended=done)
    except OSError as error:
        done()
        raise ToolFailure(
            f"The command could not be started: {error.strerror or error}.", code="not_started"
        ) from error
    except SandboxError as error:
        done()
        raise ToolFailure(f"The command was not run: {error.text}", code=error.code, outcome="no sandbox") from error
    except BaseException:
        done()
        raise
    task = _until_ended(tasks, task.id, limits.TASK_FIRST_LOOK, ctx) or task
    if task.state == "running":
        head = f"Task {task.id} has begun and runs on in the background ({task.box}). {_HOW_TO_READ}"
    else:
        head = _how(task)
    text, _ = _unread(tasks, task, ctx, len(head.encode()) + len(remark.encode()))
    return ToolOutput(
        "\n".join(part for part in (remark, head, text) if part), _outcome(task), _is_well(task), effect="done"
    )


# -- task_list ----------------------------------------------------------------------------------------------------


def _prepare_list(args: Args, ctx: ToolContext) -> Prepared:
    return base.prepared(NoAction(), lambda: _list(ctx))


def _list(ctx: ToolContext) -> ToolOutput:
    tasks = _tasks(ctx).list()
    if not tasks:
        return ToolOutput("No task was started in this session.", base.count(0, "task"))
    lines: list[str] = []
    begins: list[tuple[int, Task]] = []
    for task in reversed(tasks):
        begins.append((len(lines), task))
        kept = ", kept by the user" if task.kept else ""
        origin = ", left behind by a command" if task.origin == "promoted" else ""
        lines.append(f"{_how(task)} {task.output_bytes:,} bytes of output{kept}{origin}.")
        if task.newest:
            lines.append(f"  newest: {base.cut_line(task.newest, limits.MATCH_LINE_CHARS)}")
    fit = base.bounded(lines, ctx.bounds.most - limits.NOTE_BYTES)
    for line, task in begins:
        if line < fit:
            _tasks(ctx).saw_end(task)
    rest = [f"[{len(lines) - fit} more lines]"] if fit < len(lines) else []
    return ToolOutput("\n".join([*lines[:fit], *rest]), base.count(len(tasks), "task"))


# -- task_output --------------------------------------------------------------------------------------------------


def _prepare_output(args: Args, ctx: ToolContext) -> Prepared:
    task_id = base.text(args, "task")
    since = base.number(args, "since", -1, -1, 2**62)
    wait = base.number(args, "wait", 0, 0, limits.TASK_WAIT)
    return base.prepared(NoAction(), lambda: _output(task_id, since, wait, ctx))


def _output(task_id: str, since: int, wait: float, ctx: ToolContext) -> ToolOutput:
    tasks = _tasks(ctx)
    at = since if since >= 0 else tasks.read_to.get(task_id, 0)
    task = _until_more(tasks, task_id, at, wait, ctx)
    head = _how(task)
    if since >= 0:
        tasks.read_to[task_id] = since
    text, size = _unread(tasks, task, ctx, len(head.encode()), skip=since < 0)
    if not text:
        waited = f" in {wait:.0f} s" if wait and task.state == "running" else ""
        hint = " Ask again with wait, or do something else meanwhile." if task.state == "running" and not wait else ""
        text = f"(no new output{waited}){hint}"
    return ToolOutput(f"{head}\n{text}", _outcome(task) if task.state != "running" else base.count(size, "byte"))


def _until_more(tasks: TaskRunner, task_id: str, at: int, seconds: float, ctx: ToolContext) -> Task:
    """The task once it has ended or has written something behind `at`, or after `seconds`. Raises Interrupted."""
    deadline = time.monotonic() + seconds
    while True:
        piece = tasks.output(task_id, at, limits.TASK_CONTEXT)
        if piece.text or piece.task.state != "running" or time.monotonic() >= deadline:
            return piece.task
        if ctx.cancel.wait(limits.TASK_POLL):
            ctx.cancel.check()


def _until_ended(tasks: TaskRunner, task_id: str, seconds: float, ctx: ToolContext) -> Task | None:
    """The task once it has ended, or after `seconds`, or when the turn is stopped."""
    deadline = time.monotonic() + seconds
    while True:
        task = tasks.output(task_id, 0, 1).task
        if task.state != "running" or time.monotonic() >= deadline or ctx.cancel.wait(limits.TASK_POLL):
            return task


def _unread(tasks: TaskRunner, task: Task, ctx: ToolContext, used: int, skip: bool = True) -> tuple[str, int]:
    """What the model has not read, with words about what is left out; and how many bytes of output that is.

    `skip`: of more than a result holds the newest is given, since that says most of something that runs.
    """
    room = max(ctx.bounds.most - used - limits.NOTE_BYTES, limits.NOTE_BYTES)
    at = tasks.read_to.get(task.id, 0)
    notes: list[str] = []
    piece = tasks.output(task.id, at, room)
    total = max(task.output_bytes, piece.task.output_bytes)
    if skip and total - piece.next > limits.NOTE_BYTES:
        piece = tasks.output(task.id, total - room, room)
    tasks.read_to[task.id] = piece.next
    tasks.saw_end(task)
    if piece.start > at:
        kept = tasks.output(task.id, 0, 4).start
        gone = f"of those, all from byte {kept} on are kept: since={max(at, kept)} reads them"
        notes.append(f"[{piece.start - at:,} bytes of output left out before this; {gone}]")
    # A lone character may be a key's beginning and more than a byte: what is shown is bounded once more by the result.
    text = "\n".join([*notes, piece.text.strip("\n")]) if piece.text.strip() else "\n".join(notes)
    if piece.next < total and not skip:
        text += f"\n[more: since={piece.next} goes on, {total - piece.next:,} bytes]"
    return text, piece.next - piece.start


# -- task_kill ----------------------------------------------------------------------------------------------------


def _prepare_kill(args: Args, ctx: ToolContext) -> Prepared:
    task_id = base.text(args, "task")
    return base.prepared(NoAction(), lambda: _kill(task_id, ctx))


def _kill(task_id: str, ctx: ToolContext) -> ToolOutput:
    tasks = _tasks(ctx)
    before = tasks.output(task_id, 0, 1).task
    task = tasks.kill(task_id)
    tasks.saw_end(task)
    if task.state == "running":
        raise ToolFailure(
            f"Task {task_id} was told to end and could not be killed yet; something of it belongs to another user, or "
            "hangs in the kernel.",
            code="not_killed",
        )
    already = "It had ended before. " if before.state != "running" else ""
    text, _ = _unread(tasks, task, ctx, limits.NOTE_BYTES)
    return ToolOutput("\n".join(filter(None, (already + _how(task), text))), _outcome(task), effect="done")


# -- shared -------------------------------------------------------------------------------------------------------


def _tasks(ctx: ToolContext) -> TaskRunner:
    if ctx.tasks is None:
        raise ToolFailure("Nothing can run in the background here. Use run_command.", code="no_tasks")
    return ctx.tasks


def _how(task: Task) -> str:
    from agent_core.jobs.words import how_it_is

    meaning = ""
    if task.state == "ended" and task.exit_code:
        code = task.exit_code
        meaning = command_outcome.shell_meaning(code) or command_outcome.meaning(task.command, code) or ""
    return f"{how_it_is(task)} ({meaning}.)" if meaning else how_it_is(task)


def _outcome(task: Task) -> str:
    if task.state == "running":
        return "running"
    if task.state in ("killed", "closed", "lost"):
        return task.state
    return f"signal {task.signal}" if task.signal is not None else f"exit {task.exit_code}"


def _is_well(task: Task) -> bool:
    return task.state in ("running", "killed", "closed") or (
        task.exit_code is not None and (not task.exit_code or command_outcome.is_harmless(task.command, task.exit_code))
    )


_TASK: Final = base.prop("string", "Its id, as t1")

START_TOOL: Final = Tool(
    TASK_START,
    "Start a shell command that runs on beside the conversation: a server, a watcher, a long build. Gives its id.",
    base.schema(
        ["command"],
        command=base.prop("string"),
        cwd=base.prop("string", "Folder in the workspace to run in"),
        needs=base.prop("string", "As in run_command", enum=list(NEEDS)),
    ),
    lambda args: Effect("command"),
    lambda args: base.subject(args, "command"),
    _prepare_start,
)

LIST_TOOL: Final = Tool(
    TASK_LIST,
    "List the commands in the background, those that have just ended too.",
    base.schema([]),
    lambda args: Effect("none"),
    lambda args: "",
    _prepare_list,
)

OUTPUT_TOOL: Final = Tool(
    TASK_OUTPUT,
    "Read what a command in the background has written since you last looked.",
    base.schema(
        ["task"],
        task=_TASK,
        since=base.prop("integer", "From this byte on instead; 0: all that is kept"),
        wait=base.prop("integer", f"Seconds to wait for more, at most {limits.TASK_WAIT}"),
    ),
    lambda args: Effect("none"),
    lambda args: base.subject(args, "task"),
    _prepare_output,
    seconds=lambda args: base.number(args, "wait", 0, 0, limits.TASK_WAIT),
)

KILL_TOOL: Final = Tool(
    TASK_KILL,
    "End a command in the background.",
    base.schema(["task"], task=_TASK),
    lambda args: Effect("command"),
    lambda args: base.subject(args, "task"),
    _prepare_kill,
)
