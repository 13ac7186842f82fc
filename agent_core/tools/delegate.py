"""subagent: hand work to a sub-agent and wait for what comes of it. agent_list: the board of them.

The work itself is done by who makes the tools (extras/agents.py): here is what a model reads and sends.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from agent_core import limits
from agent_core.delegation import AgentRow
from agent_core.errors import ToolFailure
from agent_core.names import AGENT_LIST, SUBAGENT
from agent_core.ports.actions import Effect, NoAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.records import dataclass

from . import base


@dataclass(frozen=True, slots=True)
class Job:
    """What a model wants done, and by whom."""

    name: str
    """As the model wrote it; empty: it named nobody."""
    task: str
    context: str = ""


Delegate = Callable[[Sequence[Job], ToolContext], ToolOutput]
"""Have the jobs done, side by side; gives what came of them."""


def subagent(kinds: Sequence[tuple[str, str]], check: Callable[[str], None], run: Delegate) -> Tool:
    """The tool for sub-agents of these kinds: name and description. `check` raises ToolFailure for a name of none."""

    def prepare(args: Args, ctx: ToolContext) -> Prepared:
        jobs = _jobs(args)
        for job in jobs:
            check(job.name)
        return base.prepared(NoAction(), lambda: run(jobs, ctx))

    listed = "".join(f"\n- {name}: {description}" for name, description in kinds)
    return Tool(
        SUBAGENT,
        "Hand a task to a sub-agent and get its result. It works with a context of its own and sees nothing of this "
        "conversation: say all it needs. For work that can be described and reported in a few sentences, as a search "
        "through many files. Calls in one reply run side by side; let no two change the same files.\n"
        f"Sub-agents:{listed}",
        base.schema(
            [],
            name=base.prop("string", "Which sub-agent"),
            task=base.prop("string", "What to do, and what to report"),
            context=base.prop("string", "What it should know: paths, findings, decisions"),
            tasks=base.prop(
                "array",
                "In place of task: several",
                items={
                    "type": "object",
                    "properties": {"name": _TEXT, "task": _TEXT, "context": _TEXT},
                    "required": ["task"],
                },
            ),
        ),
        lambda args: Effect("write"),  # of no known path: it may run beside others, and a crash leaves it in doubt
        subject,
        prepare,
        seconds=lambda args: limits.AGENT_CALL,
    )


_TEXT: dict[str, Any] = {"type": "string"}


def _jobs(args: Args) -> list[Job]:
    """What is asked for, also as Hermes' delegate_task spells it (SUB-06). Raises ToolFailure."""
    given = args.get("tasks") or [args]
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise ToolFailure('"tasks" must be a list of objects with a task.', outcome="invalid arguments")
    if len(given) > limits.AGENTS_A_CALL:
        raise ToolFailure(f"At most {limits.AGENTS_A_CALL} tasks in one call.", outcome="invalid arguments")
    return [_job(one, args) for one in given]


def _job(one: Args, args: Args) -> Job:
    task = base.text({"task": one.get("task") or one.get("goal")}, "task", "").strip()
    context = base.text(one, "context", "") or base.text(args, "context", "")
    bounded_words(task, context, "task")
    return Job(base.text(one, "name", "") or base.text(args, "name", ""), task, context)


def bounded_words(task: str, context: str, called: str) -> None:
    """Raises ToolFailure when there is no task, or too much of it or of its context. `called`: its argument."""
    if not task:
        raise ToolFailure(f"Say what is to be done, as {called}.", outcome="invalid arguments")
    for name, value in ((called, task), ("context", context)):
        if len(value) > limits.AGENT_TASK:
            text = f"The {name} has more than {limits.AGENT_TASK:,} characters. Name files in place of their content."
            raise ToolFailure(text, outcome="invalid arguments")


def subject(args: Args) -> str:
    """The card's subject of a call of `subagent`."""
    tasks = args.get("tasks")
    if isinstance(tasks, list) and tasks:
        return f"{len(tasks)} tasks"
    task = base.subject(args, "task", "goal")
    name = base.subject(args, "name")
    return f"{name}: {task}" if name and task else task or name


def agent_list(rows: Callable[[], Sequence[AgentRow]]) -> Tool:
    """The tool that shows the board."""
    return Tool(
        AGENT_LIST,
        "The sub-agents of this session: state, steps, and the beginning of each result.",
        base.schema([]),
        lambda args: Effect("none"),
        lambda args: "",
        lambda args, ctx: base.prepared(NoAction(), lambda: listed(rows())),
    )


def listed(rows: Sequence[AgentRow]) -> ToolOutput:
    """The board as a model reads it."""
    lines = [_line(row) for row in rows]
    return ToolOutput("\n".join(lines) or "There were no sub-agents yet.", base.count(len(rows), "agent"))


def _line(row: AgentRow) -> str:
    took = f", {row.ended - row.started:.0f} s" if row.ended is not None else ""
    said = f"\n  {row.preview}" if row.preview else ""
    took += f", no sign of life for {time.time() - row.quiet:.0f} s" if row.quiet else ""
    group = f" [{row.group}]" if row.group else ""
    return f"{row.id} {row.name}{group}: {row.state}, {base.count(row.steps, 'step')}{took}. {row.task}{said}"
