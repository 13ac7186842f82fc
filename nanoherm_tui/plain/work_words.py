"""What runs beside the turn, in words: commands in the background, and sub-agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanoherm_tui.i18n import t
from nanoherm_tui.plain.words import listed, pair
from nanoherm_tui.text import duration, one_line

if TYPE_CHECKING:
    from agent_core.background import Task
    from agent_core.delegation import AgentRow

_AT_WORK: Final = ("waiting", "running")


def task_outcome(task: Task) -> str:
    """How a command in the background is, in words."""
    if task.state == "running":
        return t("transcript.running")
    if task.state != "ended":
        return t(f"tasks.{task.state}")
    return t("tasks.signal", n=task.signal) if task.signal else t("tasks.exit", n=task.exit_code or 0)


def task_line(task: Task, now: float) -> str:
    took = duration((task.ended or now) - task.started)
    kept = f" ({t('tasks.kept')})" if task.kept and task.state == "running" else ""
    return pair(f"{task.id} {listed((task_outcome(task), took))}", f"{one_line(task.command)}{kept}")


def task_lines(before: Sequence[Task], now: Sequence[Task]) -> list[str]:
    """Commands in the background that have begun, ended, or are to outlive the program."""
    known = {task.id: task for task in before}
    lines = []
    for task in now:
        was = known.get(task.id)
        command = one_line(task.command)
        if was is None and task.state == "running":
            lines.append(t("plain.task_begins", id=task.id, command=command))
        elif was is not None and was.state != task.state:
            lines.append(t("plain.task_ended", id=task.id, outcome=task_outcome(task), command=command))
        elif was is not None and was.kept != task.kept and task.state == "running":
            lines.append(t("plain.task_kept" if task.kept else "plain.task_let_go", id=task.id))
    return lines


def agent_line(agent: AgentRow, now: float) -> str:
    took = duration((agent.ended or now) - agent.started)
    steps = t("agents.step") if agent.steps == 1 else t("agents.steps", n=agent.steps)
    facts = listed([t(f"agents.{agent.state}"), took, steps])
    says = one_line(agent.doing if agent.state in _AT_WORK else agent.preview)
    return pair(f"{agent.id} {one_line(agent.name)} ({facts})", one_line(agent.task)) + (f". {says}" if says else "")


def agent_lines(before: Sequence[AgentRow], now: Sequence[AgentRow]) -> list[str]:
    """Sub-agents that have begun or ended."""
    known = {agent.id: agent.state for agent in before}
    lines = []
    for agent in now:
        was, who = known.get(agent.id, ""), f"{agent.id} {one_line(agent.name)}"
        if was == agent.state:
            continue
        if agent.state in _AT_WORK:
            if was != "waiting" or agent.state == "running":
                lines.append(t(f"plain.agent_{agent.state}", who=who, task=one_line(agent.task)))
        else:
            state, said = t(f"agents.{agent.state}"), one_line(agent.preview)
            lines.append(t("plain.agent_ended", who=who, state=state, text=said).rstrip(" :："))
    return lines
