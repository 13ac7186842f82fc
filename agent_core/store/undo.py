"""Taking the end of a conversation out, and putting it back. Functions inside a transaction of the store's.

What was taken out stays in the file, without a place in the conversation, until something new is said. Source: INT-04.
"""

from __future__ import annotations

import sqlite3

from agent_core.errors import StoreError
from agent_core.names import SHELL

TURN_START = "role = 'user' AND origin IN ('', 'queue', 'agents')"  # the same test as Message.starts_turn


def take_out_turns(c: sqlite3.Connection, session_id: str, turns: int) -> int:
    """Take the last `turns` user turns out; returns how many there were to take.

    A turn is a user message and everything after it; a steer belongs to the turn it came in. Raises StoreError
    "bad_undo" when `turns` is not positive.
    """
    if turns < 1:
        raise StoreError("bad_undo", f"Cannot undo {turns} turns. Give a number from 1 up.", turns=turns)
    starts = c.execute(
        f"SELECT position FROM messages WHERE session_id = ? AND position IS NOT NULL AND {TURN_START} "
        "ORDER BY position DESC LIMIT ?",
        (session_id, min(turns, 2**62)),
    ).fetchall()
    if starts:
        _take_out(c, session_id, starts[-1][0])
    return len(starts)


def take_out_from(c: sqlite3.Connection, session_id: str, uid: str) -> int:
    """Take a message and everything after it out; returns how many turns began there.

    Raises StoreError "no_message" when the conversation does not hold it.
    """
    found = c.execute(
        "SELECT position FROM messages WHERE session_id = ? AND uid = ? AND position IS NOT NULL", (session_id, uid)
    ).fetchone()
    if found is None:
        raise StoreError("no_message", "That message is not in the session any more. Choose another one.", uid=uid)
    (turns,) = c.execute(
        f"SELECT count(*) FROM messages WHERE session_id = ? AND position >= ? AND {TURN_START}",
        (session_id, found[0]),
    ).fetchone()
    _take_out(c, session_id, found[0])
    return int(turns)


def put_back(c: sqlite3.Connection, session_id: str) -> int:
    """Put back what was taken out last, in its order, at the end; returns how many turns; 0: nothing is there."""
    (newest,) = c.execute(
        "SELECT max(undone) FROM messages WHERE session_id = ? AND undone IS NOT NULL", (session_id,)
    ).fetchone()
    if newest is None:
        return 0
    (turns,) = c.execute(
        f"SELECT count(*) FROM messages WHERE session_id = ? AND undone = ? AND {TURN_START}", (session_id, newest)
    ).fetchone()
    # By their order rather than their old places: those may have been counted anew meanwhile.
    (first,) = c.execute(
        "SELECT min(undone_position) FROM messages WHERE session_id = ? AND undone = ?", (session_id, newest)
    ).fetchone()
    (last,) = c.execute(
        "SELECT coalesce(max(position), 0) FROM messages WHERE session_id = ?", (session_id,)
    ).fetchone()
    c.execute(
        "UPDATE messages SET position = undone_position + ?, undone = NULL, undone_position = NULL "
        "WHERE session_id = ? AND undone = ?",
        (last + 1 - first, session_id, newest),
    )
    return int(turns)


def forget_undone(c: sqlite3.Connection, session_id: str) -> None:
    """Something new is said: what was taken out before goes for good."""
    c.execute("DELETE FROM messages WHERE session_id = ? AND undone IS NOT NULL", (session_id,))


def _take_out(c: sqlite3.Connection, session_id: str, position: int) -> None:
    (newest,) = c.execute(
        "SELECT coalesce(max(undone), 0) FROM messages WHERE session_id = ? AND undone IS NOT NULL", (session_id,)
    ).fetchone()
    c.execute(
        "UPDATE messages SET position = NULL, undone_position = position, undone = ? "
        "WHERE session_id = ? AND position >= ?",
        (newest + 1, session_id, position),
    )
    # A command of the person's own may still run.
    c.execute("DELETE FROM open_effects WHERE session_id = ? AND name != ?", (session_id, SHELL))
