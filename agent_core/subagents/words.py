"""What is told of a sub-agent that did not come to an answer by itself. Source: SUB-10."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agent_core import limits
from agent_core.subagents.board import Board

GIVEN_UP: Final = "[interrupted] It was stopped by your own call."
ENDED_WITH_IT: Final = "[interrupted] The program ended, or the session was closed, before it had."
STOPPED: Final = "[interrupted] The user stopped this sub-agent. Do not start it again unless they ask for it."


def stopped_words(board: Board, agent_id: str) -> str:
    """Of one that was stopped; asked before its end is on the board."""
    if board.was_given_up(agent_id):
        return GIVEN_UP
    return ENDED_WITH_IT if board.is_closed else STOPPED


def late_words(at_work: Iterable[str]) -> str:
    """Of one that did not end when it was stopped. `at_work`: the calls that were running, one line each."""
    gone = f"[timed out] It did not end within {limits.AGENT_COLLECT:.0f} s of that and was given up."
    if not (running := ", ".join(filter(None, at_work))):
        return gone
    return f"{gone} It was at: {running}. What that did, and may still do, is not known: check before it is done again."
