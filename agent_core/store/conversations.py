"""The conversations of sessions: what is said, what a crash leaves behind, what is undone, the plan and the goal.

Source: SESS-15, INT-04, INT-09.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence

from agent_core import messages
from agent_core.errors import StoreError
from agent_core.messages import Message
from agent_core.names import SHELL
from agent_core.ports.means import Goal, TodoItem
from agent_core.store.audit import Audit
from agent_core.store.bodies import (
    BODIES,
    CALLS,
    PRIVATE,
    Messages,
    body_of,
    insert,
    load,
    load_aside,
    load_begun,
    load_end,
    mended_from,
    next_position,
    parse_row,
    rearrange,
    snapshot,
)
from agent_core.store.changes import Changes, check, count, revision
from agent_core.store.children import clear_children
from agent_core.store.db import LOCKED, Budget, Database
from agent_core.store.delegations import clear_delegations
from agent_core.store.lease import Leases
from agent_core.store.mending import Effect, has_all_results
from agent_core.store.owner import life_of
from agent_core.store.rows import clean, recount, used_now
from agent_core.store.undo import forget_undone, put_back, take_out_from, take_out_turns

log = logging.getLogger(__name__)

Check = Callable[[], None]
"""Called inside the transaction, before anything is written: raises StoreError when the writer has been given up.

Whoever writes to the session after that finds either all of it or nothing, and nothing comes later.
"""


class Conversations:
    """What was said in all sessions. Safe to use from any thread; every change is on disk before its method returns.

    Methods that are given the id of a session that does not exist raise StoreError "no_session".
    """

    def __init__(self, database: Database, owner: str, leases: Leases, audit: Audit) -> None:
        self._db = database
        self._owner = owner
        self.leases = leases
        self.audit = audit
        self._changes = Changes(database, leases)

    def append(self, session_id: str, message: Message, allowed: Check = lambda: None) -> None:
        """Store `message` at the end. A message that is stored already (same id) or empty is not stored again.

        A result also closes its call's open effect, and takes what was decided about the call along if that was not
        stored with its start. Nothing is stored when `allowed` raises.
        """
        if message.is_empty:
            return
        body = body_of(message)
        call_id = message.result.call_id if message.result is not None else None

        def work(c: sqlite3.Connection) -> None:
            allowed()
            if call_id is not None:
                self.audit.put(c, session_id, call_id)
            if not insert(c, session_id, message, body, next_position(c, session_id)):
                return
            forget_undone(c, session_id)
            if call_id is not None:
                c.execute(
                    "DELETE FROM open_effects WHERE session_id = ? AND call_id = ?",
                    (session_id, messages.clean_surrogates(call_id)),
                )
            if message.role == "assistant":
                c.execute("DELETE FROM begun_replies WHERE session_id = ?", (session_id,))
            c.execute(
                "UPDATE sessions SET updated = ?, message_count = message_count + 1, turn_count = turn_count + ?, "
                "tool_call_count = tool_call_count + ? WHERE id = ?",
                (used_now(c, session_id), int(message.starts_turn), int(message.role == "tool"), session_id),
            )

        self._changes.make(session_id, work, "transcript")
        if call_id is not None:
            self.audit.written(session_id, call_id)

    def reply_begun(self, session_id: str, message: Message | None, allowed: Check = lambda: None) -> None:
        """Keep what the model has said so far of a reply, in place of what was kept before; None: it does not count.

        `recover` makes it the conversation's end if no reply was stored. Does not wait long for another program.
        """
        body = body_of(message) if message is not None else ""

        def work(c: sqlite3.Connection) -> None:
            allowed()
            check(c, session_id)
            self.leases.fence(c, session_id)
            c.execute("DELETE FROM begun_replies WHERE session_id = ?", (session_id,))
            if message is not None:
                c.execute(
                    "INSERT INTO begun_replies SELECT session_id, uid, ? FROM messages "
                    "WHERE session_id = ? AND position IS NOT NULL ORDER BY position DESC LIMIT 1",
                    (body, session_id),
                )

        self._db.write(work, "activity")

    def effect_started(
        self, session_id: str, call_id: str, name: str, kind: str, allowed: Check = lambda: None
    ) -> None:
        """Note that a call begins now, and what was decided about it.

        Until its result is stored, a crash leaves its effect unknown.
        """
        self._begin(session_id, call_id, name, kind, "", allowed)

    def shell_started(self, session_id: str, call_id: str, command: str, private: bool) -> None:
        """Note that a command of the person's own begins now; after a crash `recover` tells of it."""
        self._begin(session_id, call_id, SHELL, PRIVATE if private else "command", command)

    def _begin(
        self, session_id: str, call_id: str, name: str, kind: str, subject: str, allowed: Check = lambda: None
    ) -> None:
        def work(c: sqlite3.Connection) -> None:
            allowed()
            check(c, session_id)
            if name != SHELL:  # the person may run a command of their own beside another program's turn
                self.leases.fence(c, session_id)
            c.execute(
                "INSERT OR REPLACE INTO open_effects (session_id, call_id, name, kind, subject, owner, started) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (session_id, messages.clean_surrogates(call_id), clean(name), kind, clean(subject), self._owner,
                 time.time()),
            )  # fmt: skip
            self.audit.put(c, session_id, call_id)

        self._db.write(work, "transcript")
        self.audit.written(session_id, call_id)

    def put_aside(self, session_id: str, message: Message) -> bool:
        """Store the message of a finished shell command where it disturbs no step; `place` gives it its position.

        False, and nothing is stored, when `recover` has already told of the command as one that was cut off.
        """
        run = message.shell
        assert run is not None
        body, call_id = body_of(message), run.result.call_id

        def work(c: sqlite3.Connection) -> bool:
            check(c, session_id)
            begun = c.execute("DELETE FROM open_effects WHERE session_id = ? AND call_id = ?", (session_id, call_id))
            return begun.rowcount == 1 and insert(c, session_id, message, body, None)

        return self._db.write(work, "transcript")

    def place(self, session_id: str, uid: str, allowed: Check = lambda: None) -> None:
        """Make a message that was put aside the conversation's last. One that has its place keeps it."""

        def work(c: sqlite3.Connection) -> None:
            allowed()
            placed = c.execute(
                "UPDATE messages SET position = ? WHERE session_id = ? AND uid = ? AND position IS NULL",
                (next_position(c, session_id), session_id, uid),
            )
            if placed.rowcount:
                forget_undone(c, session_id)
                recount(c, session_id)

        self._changes.make(session_id, work, "transcript")

    def messages(self, session_id: str) -> Messages:
        """The conversation as stored. A row that cannot be read is left out and logged."""
        with self._db.read() as c:
            return load(c, session_id).messages

    def end(self, session_id: str, most: int) -> tuple[Messages, int]:
        """The last messages of the conversation as stored, `most` or fewer, and how many come before them.

        They begin with a turn or a step, so that no result is without its call.
        """
        with self._db.read() as c, snapshot(c):
            return load_end(c, session_id, most)

    def before(self, session_id: str, uid: str) -> Messages:
        """What the conversation holds before the message `uid`, as stored."""
        with self._db.read() as c:
            rows = c.execute(
                f"{BODIES} AND position < (SELECT position FROM messages WHERE session_id = ?1 AND uid = ?2) "
                "ORDER BY position",
                (session_id, uid),
            )
            return [m for uid, body, view, _ in rows if (m := parse_row(session_id, uid, body, view)) is not None]

    def read_along(self, session_id: str, most: int) -> tuple[Messages, int]:
        """The end of the conversation as another program's turn has it so far, and how many come before; see `end`.

        Nothing is mended, its calls are under way. The person's own commands that have no place in it yet come last.
        """
        with self._db.read() as c, snapshot(c):
            number = revision(c, session_id)
            found, earlier = load_end(c, session_id, most)
            aside = load_aside(c, session_id)
        self._changes.loaded(session_id, number)
        return [*found, *aside], earlier

    def has_moved(self, session_id: str) -> bool:
        """Whether the conversation is another one than this program has loaded or made."""
        with self._db.read() as c:
            return not self._changes.is_known(session_id, revision(c, session_id))

    def recover(self, session_id: str, running: Collection[str] = (), budget: Budget = "activity") -> Messages:
        """The conversation made fit for the next request; what had to be mended is stored too. Source: INT-09.

        Only for a session without a running turn of this program: a call under way would be taken for one that a crash
        cut off. `running` are the call ids of the person's own commands that still run. Raises StoreError
        "session_in_use" when it is another program that runs a turn there. When others hold the database for longer
        than the budget "activity", what was mended is given all the same; until it is stored, `has_moved` is true.
        """
        with self._db.read() as c, snapshot(c):
            loaded = load(c, session_id)
            effects = self._left_open(c, session_id, running)
            behind = [*load_begun(c, session_id), *load_aside(c, session_id)]
        mended = mended_from(loaded, effects, behind)
        if not effects and mended == loaded.messages:
            self._changes.loaded(session_id, loaded.revision)
            return loaded.messages

        def work(c: sqlite3.Connection) -> tuple[Messages, int]:
            self.leases.fence(c, session_id)
            now = loaded if loaded.revision == revision(c, session_id) else load(c, session_id)
            effects = self._left_open(c, session_id, running)
            mended = mended_from(now, effects, [*load_begun(c, session_id), *load_aside(c, session_id)])
            c.execute("DELETE FROM begun_replies WHERE session_id = ?", (session_id,))
            c.executemany(
                "DELETE FROM open_effects WHERE session_id = ? AND call_id = ?",
                [(session_id, effect.call_id) for effect in effects],
            )
            if mended == now.messages:
                return now.messages, now.revision
            rearrange(c, session_id, now, mended)
            recount(c, session_id)
            return mended, count(c, session_id)

        try:
            mended, number = self._db.write(work, budget)
        except StoreError as error:
            if budget != "activity" or error.code not in LOCKED:
                raise
            log.warning("session %s is not mended yet: %s", session_id, error)
        else:
            self._changes.loaded(session_id, number)
        return mended

    def is_whole(self, session_id: str, running: Collection[str] = ()) -> bool:
        """True when `recover` would find nothing to mend. Looks at the calls and results of the conversation alone."""
        with self._db.read() as c, snapshot(c):
            number = revision(c, session_id)
            if self._left_open(c, session_id, running) or load_aside(c, session_id) or load_begun(c, session_id):
                return False
            if not has_all_results(c.execute(CALLS, (session_id,))):
                return False
        self._changes.loaded(session_id, number)
        return True

    def _left_open(self, c: sqlite3.Connection, session_id: str, running: Collection[str]) -> list[Effect]:
        """Calls that have begun and have no result, without commands that a person runs now, here or elsewhere."""
        rows = c.execute(
            "SELECT call_id, name, kind, subject, started, owner FROM open_effects WHERE session_id = ? "
            "ORDER BY started",
            (session_id,),
        ).fetchall()
        return [
            Effect(*row)
            for *row, owner in rows
            if row[0] not in running and not (row[1] == SHELL and owner != self._owner and life_of(owner) == "lives")
        ]

    def undo(self, session_id: str, turns: int = 1) -> int:
        """Take the last `turns` user turns out of the conversation; returns how many there were to take.

        They stay in the file, for `redo`, until something new is said. Raises StoreError "bad_undo". Source: INT-04.
        """
        return self._rearranged(session_id, lambda c: take_out_turns(c, session_id, turns))

    def rewind(self, session_id: str, message_id: str) -> int:
        """Take a message and everything after it out, as `undo` does; returns how many turns began there.

        Raises StoreError "no_message" when the conversation does not hold it.
        """
        return self._rearranged(session_id, lambda c: take_out_from(c, session_id, message_id))

    def redo(self, session_id: str) -> int:
        """Put back what the last `undo` or `rewind` took out; returns how many turns, 0 when there is nothing."""
        return self._rearranged(session_id, lambda c: put_back(c, session_id))

    def _rearranged(self, session_id: str, move: Callable[[sqlite3.Connection], int]) -> int:
        def work(c: sqlite3.Connection) -> int:
            turns = move(c)
            recount(c, session_id)
            return turns

        return self._changes.make(session_id, work)

    def reset(self, session_id: str) -> None:
        """Empty the conversation, with its plan, its sub-agents and the comments on its changes; the session, its title
        and its usage stay."""

        def work(c: sqlite3.Connection) -> None:
            c.execute("UPDATE sessions SET todos = '[]', goal = '{}' WHERE id = ?", (session_id,))
            c.execute("DELETE FROM messages WHERE session_id = ?", (session_id,))
            c.execute("DELETE FROM open_effects WHERE session_id = ?", (session_id,))
            c.execute("DELETE FROM hunk_comments WHERE session_id = ?", (session_id,))
            c.execute("DELETE FROM begun_replies WHERE session_id = ?", (session_id,))
            clear_children(c, session_id)
            clear_delegations(c, session_id)
            recount(c, session_id)

        self._changes.make(session_id, work)

    def set_todos(self, session_id: str, items: Sequence[TodoItem]) -> None:
        plain = [{"text": messages.clean_surrogates(item.text), "status": item.status} for item in items]
        text = json.dumps(plain, ensure_ascii=False)

        def work(c: sqlite3.Connection) -> None:
            c.execute("UPDATE sessions SET todos = ? WHERE id = ?", (text, session_id))

        self._changes.make(session_id, work, "transcript")

    def todos(self, session_id: str) -> tuple[TodoItem, ...]:
        with self._db.read() as c:
            check(c, session_id)
            (text,) = c.execute("SELECT todos FROM sessions WHERE id = ?", (session_id,)).fetchone()
        return tuple(TodoItem(**item) for item in json.loads(text))

    def set_goal(self, session_id: str, goal: Goal) -> None:
        text = json.dumps({"text": goal.text, "state": goal.state, "evidence": goal.evidence}, ensure_ascii=False)

        def work(c: sqlite3.Connection) -> None:
            c.execute("UPDATE sessions SET goal = ? WHERE id = ?", (text, session_id))

        self._changes.make(session_id, work, "transcript")

    def goal(self, session_id: str) -> Goal:
        with self._db.read() as c:
            check(c, session_id)
            (text,) = c.execute("SELECT goal FROM sessions WHERE id = ?", (session_id,)).fetchone()
        return Goal(**json.loads(text))
