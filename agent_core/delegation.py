"""Sub-agents at work, as data (SUB-02)."""

from __future__ import annotations

from typing import Literal

from agent_core.records import dataclass

AgentState = Literal["waiting", "running", "done", "failed", "interrupted"]
"""Waiting: for one of the places at the gate."""


@dataclass(frozen=True, slots=True)
class AgentRow:
    """A sub-agent as it was when it was looked at. Texts are free of keys and control bytes."""

    id: str
    """Unique in its session: "agent-1"."""
    name: str
    """Of its definition."""
    task: str
    """One line."""
    state: AgentState
    started: float
    """Seconds since the epoch."""
    ended: float | None = None
    session_id: str = ""
    """Its own session, a child of the one that asked for it; empty before it has one."""
    model: str = ""
    steps: int = 0
    tokens: int = 0
    """Sent and received, so far."""
    doing: str = ""
    """What it does now, one line: "grep parse_date"."""
    preview: str = ""
    """The beginning of its result: at most limits.AGENT_PREVIEW characters, one line."""
    group: str = ""
    """What the model calls those that belong together; one line."""
    quiet: float = 0.0
    """Since when it has shown no sign of life, once that is long, in seconds since the epoch; 0: it lives."""
    background: bool = False
    """It works beside the turns, and its result begins one."""
