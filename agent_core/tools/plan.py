"""todo_write, todo_read: the session's list of steps. exit_plan: a plan, put before the person. goal_done: the end
of mode goal."""

from __future__ import annotations

from typing import Final, Literal

from agent_core import limits
from agent_core.errors import ToolFailure
from agent_core.names import EXIT_PLAN, GOAL_DONE, TODO_READ, TODO_WRITE
from agent_core.ports.actions import Effect, NoAction
from agent_core.ports.asking import Question
from agent_core.ports.means import TodoItem
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput

from . import base

Status = Literal["pending", "in_progress", "completed", "cancelled"]
_MARKS: Final[dict[Status, str]] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


def _prepare_write(args: Args, ctx: ToolContext) -> Prepared:
    items = _items(args)

    def run() -> ToolOutput:
        ctx.todos.write(items)
        return _shown(items)

    return base.prepared(NoAction(), run)


def _items(args: Args) -> tuple[TodoItem, ...]:
    given = args.get("items")
    if not isinstance(given, list):
        raise ToolFailure('"items" must be a list of {text, status}.', outcome="invalid arguments")
    if len(given) > limits.TODO_ITEMS:
        raise ToolFailure(f"At most {limits.TODO_ITEMS} items; join some.", outcome="invalid arguments")
    items = []
    for number, item in enumerate(given, 1):
        if not isinstance(item, dict) or not isinstance(item.get("text"), str) or not item["text"].strip():
            raise ToolFailure(f"Item {number} needs a text.", outcome="invalid arguments")
        wanted = item.get("status") or "pending"
        status = next((known for known in _MARKS if known == wanted), None)
        if status is None:
            raise ToolFailure(f"Item {number}: status is one of {', '.join(_MARKS)}.", outcome="invalid arguments")
        items.append(TodoItem(" ".join(item["text"].split())[: limits.TODO_CHARS], status))
    return tuple(items)


def _prepare_read(args: Args, ctx: ToolContext) -> Prepared:
    return base.prepared(NoAction(), lambda: _shown(ctx.todos.read()))


def _shown(items: tuple[TodoItem, ...]) -> ToolOutput:
    if not items:
        return ToolOutput("The list is empty.", "empty")
    done = sum(item.status == "completed" for item in items)
    lines = [f"{_MARKS[item.status]} {item.text}" for item in items]
    return ToolOutput("\n".join(lines), f"{done} of {len(items)} done")


def _prepare_exit(args: Args, ctx: ToolContext) -> Prepared:
    plan = base.text(args, "plan").strip()
    if not plan:
        raise ToolFailure("The plan is empty. Write what will be done, step by step.", outcome="invalid arguments")

    def run() -> ToolOutput:
        question = Question("plan", "Approve the plan", text=plan, decisions=("once", "refuse"), call_id=ctx.call_id)
        reply = ctx.asker.ask(question, ctx.cancel)
        words = f" The user adds: {reply.text}" if reply.text else ""
        if reply.decision != "refuse":
            mode = ctx.leave_mode("plan")
            return ToolOutput(
                f"The plan is approved and plan mode is over; this is mode {mode} now. Carry it out.{words}", "approved"
            )
        if reply.by != "person":
            return ToolOutput(
                "Nobody answered, so the plan is not approved and plan mode goes on. "
                "End your turn with the plan as your answer.",
                "not answered",
                ok=False,
            )
        reason = f" The user says: {reply.text}" if reply.text else ""
        return ToolOutput(f"The plan is not approved; stay in plan mode and revise it.{reason}", "not approved")

    return base.prepared(NoAction(), run)


def _prepare_done(args: Args, ctx: ToolContext) -> Prepared:
    evidence = base.text(args, "evidence").strip()
    # One word shows nothing; a language without blanks needs a few characters for as much.
    if len(evidence) < limits.GOAL_EVIDENCE or (evidence.isascii() and len(evidence.split()) < 2):
        raise ToolFailure(
            "That shows nothing. Say what you checked and what came of it: the command that was run and its result, "
            "the files that are there now.",
            outcome="no evidence",
        )

    def run() -> ToolOutput:
        ctx.goal_reached(evidence)
        mode = ctx.leave_mode("goal")
        left = [item.text for item in ctx.todos.read() if item.status in ("pending", "in_progress")]
        open_steps = f" Still open on the list: {'; '.join(left)}. Say so." if left else ""
        return ToolOutput(
            f"The goal is declared reached; this is mode {mode} now.{open_steps} "
            "End with a short answer: the result, how it was checked, what is left.",
            "goal reached" + (f", {base.count(len(left), 'step')} open" if left else ""),
        )

    return base.prepared(NoAction(), run)


TODO_WRITE_TOOL = Tool(
    TODO_WRITE,
    "Keep the list of steps of a larger task; each call replaces the whole list. One item in_progress at a time.",
    base.schema(
        ["items"],
        items=base.prop(
            "array",
            items=base.schema(
                ["text", "status"], text={"type": "string"}, status={"type": "string", "enum": list(_MARKS)}
            ),
        ),
    ),
    lambda args: Effect("none"),
    lambda args: base.count(len(args["items"]), "item") if isinstance(args.get("items"), list) else "",
    _prepare_write,
)

TODO_READ_TOOL = Tool(
    TODO_READ, "Read the list of steps.", base.schema([]), lambda args: Effect("none"), lambda args: "", _prepare_read
)

EXIT_PLAN_TOOL = Tool(
    EXIT_PLAN,
    "Show the user your finished plan and ask to carry it out. Only for plans, not for questions.",
    base.schema(["plan"], plan=base.prop("string", "The whole plan in Markdown")),
    lambda args: Effect("person"),
    lambda args: next((line.strip("# ") for line in base.subject(args, "plan").split("\n") if line.strip("# ")), ""),
    _prepare_exit,
    modes=("plan",),
)

GOAL_DONE_TOOL = Tool(
    GOAL_DONE,
    "Declare the goal reached, once you have checked that it is.",
    base.schema(["evidence"], evidence=base.prop("string", "What you checked, and what came of it")),
    lambda args: Effect("none"),
    lambda args: base.subject(args, "evidence").strip().split("\n")[0],
    _prepare_done,
    modes=("goal",),
)
