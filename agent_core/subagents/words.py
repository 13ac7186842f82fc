"""What is told of a sub-agent that did not come to an answer by itself. Source: SUB-10."""

from __future__ import annotations

from typing import Final

from agent_core.subagents.board import Board

GIVEN_UP: Final = "[interrupted] It was stopped by your own call."
ENDED_WITH_IT: Final = "[interrupted] The program ended, or the session was closed, before it had."
STOPPED: Final = "[interrupted] The user stopped this sub-agent. Do not start it again unless they ask for it."


def stopped_words(board: Board, agent_id: str) -> str:
    """Of one that was stopped; asked before its end is on the board."""
    if board.was_given_up(agent_id):
        return GIVEN_UP
    return ENDED_WITH_IT if board.is_closed else STOPPED
