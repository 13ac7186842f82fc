"""The cards of tool calls, of a person's own commands and of sub-agents that came back. Pure: data in, a card out."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from agent_core.limits import PREVIEW_LINES, SUBJECT_CHARS
from agent_core.names import DELEGATE_TASK, SHELL, SUBAGENT
from agent_core.safety.redact import redact
from nanoherm_tui.text import clean, one_line
from nanoherm_tui.transcript.blocks import Card

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_core.delegation import AgentRow
    from agent_core.events import ToolFinished
    from agent_core.messages import ShellRun, ToolCall, ToolResult
    from agent_core.ports.tools import Args


@lru_cache(maxsize=1)
def _subjects() -> dict[str, Callable[[Args], str]]:
    # Here, so that a first frame does not wait for the tools.
    from agent_core.tools import delegate, delegate_task, skill
    from agent_core.tools.builtin import builtin_tools

    ours = {SUBAGENT: delegate.subject, DELEGATE_TASK: delegate_task.subject, **skill.SUBJECTS}
    return ours | {tool.name: tool.subject for tool in builtin_tools()}


def default_subject(call: ToolCall) -> str:
    """The subject of a stored call's card, as its tool gave it when it ran: on one line, keys taken out."""
    of_tool = _subjects().get(call.name)
    if of_tool is not None:
        subject = of_tool(call.arguments)
    else:
        subject = next((v for v in call.arguments.values() if isinstance(v, str)), "")
    return redact(one_line(subject))[:SUBJECT_CHARS]


def stored_card(call: ToolCall | None, result: ToolResult, subject: Callable[[ToolCall], str]) -> Card:
    """The card of a stored call; `call` is None where only its result was stored."""
    if call is None:
        return finished(Card(0, one_line(result.name), ""), result)
    return finished(Card(0, one_line(call.name), subject(call)), result)


def shell_card(run: ShellRun) -> Card:
    """A command that the person ran."""
    return finished(Card(0, SHELL, one_line(run.command)[:SUBJECT_CHARS]), run.result)


def returned_card(agents: Sequence[AgentRow]) -> Card:
    """What sub-agents in the background came to: who they were, how many did it, and what the others say."""
    good = sum(row.state == "done" for row in agents)
    others = [f"{row.id}: {row.preview}" for row in agents if row.state != "done" and row.preview]
    return Card(
        0,
        DELEGATE_TASK,
        one_line(", ".join(f"{row.id} {row.task}" for row in agents))[:SUBJECT_CHARS],
        "done" if good == len(agents) else "failed",
        f"{good} of {len(agents)} done",
        max((row.ended - row.started for row in agents if row.ended is not None), default=0.0),
        rows=tuple(one_line(line) for line in others[:PREVIEW_LINES]),
    )


def finished(card: Card, result: ToolFinished | ToolResult) -> Card:
    """The card of a call that has come to its result."""
    preview = () if result.ok else tuple(clean(line).replace("\n", " ") for line in result.preview[:PREVIEW_LINES])
    return replace(
        card,
        state="done" if result.ok else "failed",
        outcome=one_line(result.outcome),
        seconds=result.seconds,
        progress="",
        started=0.0,
        rows=preview,
    )
