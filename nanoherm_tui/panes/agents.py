"""Rows of sub-agents: in the dock's tab of tasks, and above the transcript of the one that is looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import Row, Span
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import duration, one_line

if TYPE_CHECKING:
    from agent_core.delegation import AgentRow

_TIME: Final = 8  # cells of how long it has run, as on a tool card
_MARK: Final = 2  # cells of the state's symbol and the blank behind it
_ROOM_FOR_COUNTS: Final = 48  # cells from which on steps and tokens stand in the row
_AT_WORK: Final = ("waiting", "running")


def at_work(agent: AgentRow) -> bool:
    """It has not ended."""
    return agent.state in _AT_WORK


def can_look(agent: AgentRow) -> bool:
    """It has begun: there is something to read."""
    return bool(agent.session_id) and agent.state != "waiting"


def count_at_work(agents: Iterable[AgentRow]) -> int:
    """How many have not ended."""
    return sum(map(at_work, agents))


def agent_row(agent: AgentRow, frame: int, now: float, cells: int, key: str = "") -> Row:
    """State, number (what /agents calls it), name and task; how it ended, what it has used, how long it has run."""
    took = duration((agent.ended or now) - agent.started, running=True)
    right = [Span(took.rjust(_TIME), "muted")]
    if cells >= _ROOM_FOR_COUNTS and agent.steps:
        right.insert(0, Span(f"  {_used(agent)}", "muted"))
    if agent.state in ("waiting", "failed", "interrupted"):
        colour = "fail" if agent.state == "failed" else "muted"
        right.insert(0, Span(t(f"agents.{agent.state}"), colour))
    number, name = agent.id.rpartition("-")[2], one_line(agent.name)
    left = (
        _mark(agent, frame),
        Span(f" {number} ", "muted"),
        Span(name, bold=True),
        *([Span(f" [{one_line(agent.group)}]", "muted")] if agent.group else ()),
        Span(f" {one_line(agent.task)}"),
    )
    return Row(left, tuple(right), key=key)


def agent_rows(agents: Sequence[AgentRow], prefix: str, frame: int, now: float, cells: int) -> list[Row]:
    """The newest first; below one that runs what it does, below another the beginning of what it came to."""
    rows: list[Row] = []
    for agent in reversed(agents):
        rows.append(agent_row(agent, frame, now, cells, f"{prefix}{agent.id}"))
        if words := _below(agent, now):
            rows.append(Row((Span(" " * _MARK), Span(words, "muted")), margin=_MARK))
    return rows


def _below(agent: AgentRow, now: float) -> str:
    """What stands below a row: what it does, or that it seems to do nothing, or what it came to."""
    if not at_work(agent):
        return one_line(agent.preview)
    doing = one_line(agent.doing)
    if not agent.quiet:
        return doing
    quiet = t("agents.quiet", took=duration(now - agent.quiet))
    return t("agents.quiet_in", quiet=quiet, doing=doing) if doing else quiet


def plain_agents(agents: Sequence[AgentRow], now: float) -> str:
    """The list as text."""
    return "".join(
        f"{agent_row(agent, 0, now, _ROOM_FOR_COUNTS).text}\t{t(f'agents.{agent.state}')}\t{one_line(agent.preview)}\n"
        for agent in reversed(agents)
    )


def _used(agent: AgentRow) -> str:
    steps = t("agents.step") if agent.steps == 1 else t("agents.steps", n=agent.steps)
    return f"{steps} {_thousands(agent.tokens)}" if agent.tokens else steps


def _thousands(count: int) -> str:
    return str(count) if count < 1_000 else f"{count / 1_000:.1f}k" if count < 100_000 else f"{count // 1_000}k"


def _mark(agent: AgentRow, frame: int) -> Span:
    if agent.state == "running":
        return Span(sym("running", frame), "accent", bold=True, mark=True)
    if agent.state == "waiting":
        return Span(sym("waiting"), "muted", bold=True, mark=True)
    if agent.state == "done":
        return Span(sym("done"), "ok", bold=True, mark=True)
    return Span(sym("failed"), "fail" if agent.state == "failed" else "muted", bold=True, mark=True)
