"""ask_user: a question only the person can answer."""

from __future__ import annotations

from agent_core import limits
from agent_core.errors import ToolFailure
from agent_core.names import ASK_USER
from agent_core.ports.actions import Effect, NoAction
from agent_core.ports.asking import Question, Reply
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput

from . import base


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    text = base.text(args, "question").strip()
    if not text:
        raise ToolFailure("The question is empty.", outcome="invalid arguments")
    choices = args.get("choices") or []
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise ToolFailure('"choices" must be a list of strings.', outcome="invalid arguments")
    if len(choices) > limits.ASK_CHOICES:
        raise ToolFailure(f"At most {limits.ASK_CHOICES} choices.", outcome="invalid arguments")
    question = Question(
        "ask_user",
        "Question",
        text=text,
        choices=tuple(" ".join(choice.split()) for choice in choices if choice.strip()),
        decisions=("once", "refuse"),
        call_id=ctx.call_id,
    )
    return base.prepared(NoAction(), lambda: _shown(ctx.asker.ask(question, ctx.cancel)))


def _shown(reply: Reply) -> ToolOutput:
    if reply.by == "unattended":
        text = "Nobody is there to answer. Decide yourself with the safest assumption, and say what you assumed."
        return ToolOutput(text, "nobody there", ok=False)
    if reply.by == "timeout":
        text = "Nobody answered in time. Do what does not depend on the answer, then say what is still open."
        return ToolOutput(text, "not answered", ok=False)
    if reply.decision == "refuse":
        words = f" They say: {reply.text}" if reply.text else ""
        return ToolOutput(f"The user does not want to answer.{words}", "declined")
    return ToolOutput(f"The user answers: {reply.text or 'yes'}", "answered")


TOOL = Tool(
    ASK_USER,
    "Ask the user something only they can decide. Do not ask for permission to use a tool; that is asked for you.",
    base.schema(
        ["question"],
        question=base.prop("string"),
        choices=base.prop("array", "Suggested answers", items={"type": "string"}),
    ),
    lambda args: Effect("person"),
    lambda args: base.subject(args, "question"),
    _prepare,
)
