"""delegate_task: sub-agents that work beside the conversation, as Hermes has them. Source: SUB-06, SUB-07.

A call answers at once with the names of who was set to work; when all of one call have ended, what they came to begins
a turn. The work itself is done by who makes the tool (extras/agents.py): here is what a model reads and sends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from agent_core import limits
from agent_core.delegation import AgentRow
from agent_core.errors import ToolFailure
from agent_core.messages import ImagePart
from agent_core.names import DELEGATE_TASK, SUBAGENT
from agent_core.ports.actions import Effect, NoAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.records import dataclass
from agent_core.text.ansi import clean

from . import base
from .delegate import bounded_words, listed
from .read import picture_in


@dataclass(frozen=True, slots=True)
class Task:
    """What a model wants done in the background."""

    goal: str
    """The sub-agent's first message."""
    context: str = ""
    schema: dict[str, Any] | None = None
    """What its answer has to be, as JSON Schema."""
    images: tuple[ImagePart, ...] = ()
    group: str = ""
    """A label for those that belong together: the list and the results show it, and `stop` and `steer` take it for
    all of them. Hermes does not say what a group is; nothing else follows from it."""


class Desk(Protocol):
    """Who has the sub-agents of a session."""

    def spawn(self, tasks: Sequence[Task], ctx: ToolContext) -> Sequence[AgentRow]:
        """Set them to work. Returns at once. Raises ToolFailure, StoreError."""
        ...

    def rows(self) -> Sequence[AgentRow]:
        """All of the session's. Raises StoreError."""
        ...

    def named(self, name: str) -> Sequence[AgentRow]:
        """Those of an id or of a group. Raises StoreError."""
        ...

    def tell(self, agent_id: str, text: str) -> bool:
        """For its next step; False: it has ended."""
        ...

    def give_up(self, agent_id: str) -> bool:
        """Stop one; False: it has ended."""
        ...


_TEXT: Final[dict[str, Any]] = {"type": "string"}
_ACTIONS: Final = ("spawn", "list", "steer", "stop")
_SCHEMA: Final = base.schema(
    [],
    tasks=base.prop(
        "array",
        "With spawn: one sub-agent each",
        items={
            "type": "object",
            "properties": {
                "goal": base.prop("string", "What to do, and what to report"),
                "context": base.prop("string", "What it should know: paths, findings, decisions"),
                "output_schema": base.prop("object", "JSON Schema that its answer has to fit"),
                "images": base.prop("array", "Paths of images to show it", items=_TEXT),
                "group": base.prop("string", "A label for several that belong together"),
            },
            "required": ["goal"],
        },
    ),
    goal=base.prop("string", "In place of tasks: one"),
    context=base.prop("string", "For all of them"),
    action=base.prop("string", "spawn without one", enum=list(_ACTIONS)),
    subagent_id=base.prop("string", "With steer and stop: which one, or a group"),
    message=base.prop("string", "With steer: what it is told at its next step"),
)


def delegate_task(desk: Desk) -> Tool:
    """The tool, for a session's sub-agents."""

    def prepare(args: Args, ctx: ToolContext) -> Prepared:
        action = _action(args)
        if action == "list":
            return base.prepared(NoAction(), lambda: listed(desk.rows()))
        if action != "spawn":
            return base.prepared(NoAction(), _acting(desk, action, args))
        tasks = _tasks(args)

        def run() -> ToolOutput:
            return _begun(desk.spawn([_task(one, args, ctx) for one in tasks], ctx))

        return base.prepared(NoAction(), run)

    return Tool(
        DELEGATE_TASK,
        "Set sub-agents to work in the background: the call answers at once with their ids, and when all of it have "
        "ended their results come as a new message. Each has a context of its own and sees nothing of this "
        "conversation: say all it needs. Let no two change the same files, and do not wait or poll: go on with other "
        "work, or end your turn.",
        _SCHEMA,
        lambda args: Effect("write" if _action_of(args) == "spawn" else "none"),
        subject,
        prepare,
        off_with=SUBAGENT,
    )


def _action_of(args: Args) -> str:
    """As a model may leave it out."""
    action = args.get("action")
    if isinstance(action, str) and action.strip():
        return action.strip().lower()
    if not args.get("subagent_id"):
        return "spawn"
    return "steer" if args.get("message") else "stop"


def _action(args: Args) -> str:
    action = _action_of(args)
    if action not in _ACTIONS:
        raise _invalid(f"action is one of {', '.join(_ACTIONS)}.")
    return action


def _tasks(args: Args) -> list[Args]:
    """What is asked for; raises ToolFailure before anything begins."""
    given = args.get("tasks") or [args]
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise _invalid('"tasks" must be a list of objects with a goal.')
    if len(given) > limits.AGENTS_A_CALL:
        raise _invalid(f"At most {limits.AGENTS_A_CALL} tasks in one call.")
    for one in given:
        bounded_words(base.text(one, "goal", "").strip(), _context(one, args), "goal")
        if len(_images(one)) > limits.IMAGES_A_TURN:
            raise _invalid(f"At most {limits.IMAGES_A_TURN} images for one sub-agent.")
        _shape(one)
    return given


def _task(one: Args, args: Args, ctx: ToolContext) -> Task:
    """With its images, which are read. Raises ToolFailure, Interrupted."""
    group = " ".join(clean(base.text(one, "group", "")).split())[: limits.TASK_GROUP]
    images = tuple(picture_in(path, ctx).part for path in _images(one))
    return Task(base.text(one, "goal", "").strip(), _context(one, args), _shape(one), images, group)


def _context(one: Args, args: Args) -> str:
    return base.text(one, "context", "") or base.text(args, "context", "")


def _images(one: Args) -> list[str]:
    given = one.get("images") or []
    if not isinstance(given, list) or not all(isinstance(path, str) for path in given):
        raise _invalid('"images" must be a list of paths.')
    return given


def _shape(one: Args) -> dict[str, Any] | None:
    schema = one.get("output_schema")
    if schema is None or schema == {}:
        return None
    if not isinstance(schema, dict):
        raise _invalid('"output_schema" must be a JSON Schema, an object.')
    if len(json.dumps(schema)) > limits.AGENT_SCHEMA:
        raise _invalid(f"output_schema has more than {limits.AGENT_SCHEMA // limits.KB} KB.")
    return schema


def _begun(rows: Sequence[AgentRow]) -> ToolOutput:
    lines = [f"{row.id}: {row.task}" + (f" [{row.group}]" if row.group else "") for row in rows]
    text = "Set to work in the background; their results come as a message when all of these have ended:\n"
    return ToolOutput(text + "\n".join(lines), base.count(len(rows), "agent"), effect="done")


def _acting(desk: Desk, action: str, args: Args) -> Callable[[], ToolOutput]:
    """What `steer` and `stop` do. Raises ToolFailure for a call that cannot be meant."""
    name, words = base.text(args, "subagent_id", "").strip(), base.text(args, "message", "").strip()
    if not name:
        raise _invalid("Say which sub-agent, or which group, as subagent_id.")
    if action == "steer" and not words:
        raise _invalid("Say what it is to be told, as message.")
    if len(words) > limits.AGENT_TASK:
        raise _invalid(f"The message has more than {limits.AGENT_TASK:,} characters.")

    def run() -> ToolOutput:
        there = desk.named(name)
        if not there:
            known = ", ".join(row.id for row in desk.rows()[-limits.NEAR_NAMES :]) or "none"
            text = f"There is no sub-agent and no group {name[: limits.PROBLEM_CHARS]}. There are: {known}."
            raise ToolFailure(text, code="no_such_agent", outcome="no such agent")
        lines = []
        for row in there:
            reached = desk.tell(row.id, words) if action == "steer" else desk.give_up(row.id)
            how = "is told at its next step" if action == "steer" else "is being stopped; what it said last comes back"
            lines.append(f"{row.id} {how}." if reached else f"{row.id} has ended before: {row.state}.")
        return ToolOutput("\n".join(lines), base.count(len(lines), "agent"))

    return run


def _invalid(text: str) -> ToolFailure:
    return ToolFailure(text, code="invalid_arguments", outcome="invalid arguments")


def subject(args: Args) -> str:
    """The card's subject: the goal, or how many, or what is done to which."""
    action = _action_of(args)
    if action != "spawn":
        return " ".join(word for word in (action, base.subject(args, "subagent_id")) if word)
    tasks = args.get("tasks")
    if isinstance(tasks, list) and len(tasks) > 1:
        return f"{len(tasks)} tasks"
    one = tasks[0] if isinstance(tasks, list) and tasks and isinstance(tasks[0], dict) else args
    return base.subject(one, "goal")
