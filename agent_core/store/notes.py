"""Notes beside the conversation: drafts, texts that wait, comments on changes, what was seen last. They outlive a
killed program.

A session has a row only from its first message on, so a note may belong to one that never came to be. The next start
in the same folder takes such a note over, unless the program that wrote it still runs.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Sequence
from typing import TypeAlias

from agent_core.errors import StoreError
from agent_core.messages import Comment, FileDiff, View, clean_surrogates, diff_from_json, diff_to_json
from agent_core.records import dataclass
from agent_core.store.db import LOCKED, Database
from agent_core.store.owner import life_of, pid_of

Texts: TypeAlias = tuple[tuple[str, str], ...]
"""(uid of the message it will be, text), oldest first."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What is typed and not sent; "" forgets it."""

    session_id: str
    workspace: str
    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """What is sent and has not begun its turn, or has come back and is in no draft yet."""

    session_id: str
    workspace: str
    texts: Texts


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest message the person has had before their eyes."""

    session_id: str
    message_uid: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What requests are to make of a message, chosen while a turn runs, which takes it over at its next step."""

    session_id: str
    message_uid: str
    view: View


@dataclass(frozen=True, slots=True)
class Commented:
    """The comments that are not sent yet, in the order in which they were begun; () forgets them."""

    session_id: str
    comments: tuple[Comment, ...]


Note = Draft | Waiting | Seen | Wanted | Commented


class Notes:
    """The notes of all sessions. Safe to use from any thread; blocks on the disk."""

    def __init__(self, database: Database, owner: str) -> None:
        self._db = database
        self._owner = owner

    def keep(self, notes: Sequence[Note]) -> None:
        """Write all of `notes`, in order, in one transaction. Raises StoreError; then none of them is written.

        It does not wait long for another program: whoever keeps notes tries again later.
        """

        def work(c: sqlite3.Connection) -> None:
            for note in notes:
                self._keep(c, note)

        self._db.write(work, "activity")

    def _keep(self, c: sqlite3.Connection, note: Note) -> None:
        if isinstance(note, Seen):
            c.execute("UPDATE sessions SET seen = ? WHERE id = ?", (note.message_uid, note.session_id))
            return
        if isinstance(note, Wanted):
            row = (note.view, note.session_id, note.message_uid)
            c.execute("UPDATE messages SET view = ? WHERE session_id = ? AND uid = ?", row)
            return
        if isinstance(note, Commented):
            c.execute("DELETE FROM hunk_comments WHERE session_id = ?", (note.session_id,))
            if note.comments:
                of = (note.session_id, clean_surrogates(_to_json(note.comments)), note.session_id)
                c.execute(
                    "INSERT INTO hunk_comments SELECT ?, ? WHERE EXISTS (SELECT 1 FROM sessions WHERE id = ?)", of
                )
            return
        if isinstance(note, Draft):
            table, column, value = "drafts", "text", clean_surrogates(note.text)
            empty = not value
        else:
            table, column, value = "pending", "texts", clean_surrogates(json.dumps(note.texts, ensure_ascii=False))
            empty = not note.texts
        if empty:
            c.execute(f"DELETE FROM {table} WHERE session_id = ?", (note.session_id,))
            return
        c.execute(
            f"INSERT OR REPLACE INTO {table} (session_id, workspace, owner, updated, {column}) VALUES (?, ?, ?, ?, ?)",
            (note.session_id, clean_surrogates(note.workspace), self._owner, time.time(), value),
        )

    def draft(self, session_id: str, workspace: str) -> str:
        """The draft of a session; for one without a row in the store also what was left behind in its workspace.

        What was left behind belongs to this session from then on.
        """
        with self._db.read() as c:
            found = c.execute("SELECT text FROM drafts WHERE session_id = ?", (session_id,)).fetchone()
            if found is not None:
                return str(found[0])
            if _is_stored(c, session_id) or not self._left_behind(c, workspace):
                return ""

        def adopt(c: sqlite3.Connection) -> str:
            left = self._left_behind(c, workspace)
            text = "\n\n".join(text for _, text in left)
            for owner_id, _ in left:
                for table in ("drafts", "pending"):
                    c.execute(f"DELETE FROM {table} WHERE session_id = ?", (owner_id,))
            self._keep(c, Draft(session_id, workspace, text))
            return text

        try:
            return self._db.write(adopt, "activity")
        except StoreError as error:
            if error.code not in LOCKED:
                raise
            return ""  # a later start finds it

    def waiting(self, session_id: str) -> Texts:
        """The texts that waited in a session when its program ended, without those that had begun their turn."""
        with self._db.read() as c:
            found = c.execute("SELECT owner, texts FROM pending WHERE session_id = ?", (session_id,)).fetchone()
            if found is None or (found[0] != self._owner and _lives(found[0])):
                return ()
            begun = {
                uid
                for uid, _ in json.loads(found[1])
                if c.execute("SELECT 1 FROM messages WHERE session_id = ? AND uid = ?", (session_id, uid)).fetchone()
            }
        return tuple((uid, text) for uid, text in json.loads(found[1]) if uid not in begun)

    def comments(self, session_id: str) -> tuple[Comment, ...]:
        """The comments of a session that are not sent yet."""
        with self._db.read() as c:
            found = c.execute("SELECT comments FROM hunk_comments WHERE session_id = ?", (session_id,)).fetchone()
        return _from_json(found[0]) if found is not None else ()

    def _left_behind(self, c: sqlite3.Connection, workspace: str) -> list[tuple[str, str]]:
        """(session id, text) of what sessions without a row left in a folder, oldest first."""
        found: list[tuple[float, str, str]] = []
        for table, column in (("pending", "texts"), ("drafts", "text")):
            rows = c.execute(
                f"SELECT session_id, owner, updated, {column} FROM {table} WHERE workspace = ? "
                "AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = session_id)",
                (clean_surrogates(workspace),),
            ).fetchall()
            for session_id, owner, updated, value in rows:
                if owner == self._owner or _lives(owner):
                    continue
                text = value if table == "drafts" else "\n".join(text for _, text in json.loads(value))
                found.append((updated, session_id, text))
        return [(session_id, text) for _, session_id, text in sorted(found)]


def _to_json(comments: Sequence[Comment]) -> str:
    plain = [{**diff_to_json(FileDiff(one.path, (one.hunk,), 0, 0)), "text": one.text} for one in comments]
    return json.dumps(plain, ensure_ascii=False)


def _from_json(text: str) -> tuple[Comment, ...]:
    read = ((diff_from_json(one), one["text"]) for one in json.loads(text))
    return tuple(Comment(diff.path, diff.hunks[0], words) for diff, words in read)


def _is_stored(c: sqlite3.Connection, session_id: str) -> bool:
    return c.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is not None


def _lives(owner: str) -> bool:
    """Whether the program that wrote a note still runs.

    One of our own number does not: in a container every program may have the same.
    """
    return pid_of(owner) != os.getpid() and life_of(owner) == "lives"
