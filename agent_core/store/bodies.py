"""Messages in the database: how they are read, written, and put in another order."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from typing import TypeAlias

from agent_core import messages
from agent_core.messages import Message
from agent_core.names import SHELL
from agent_core.records import dataclass
from agent_core.store.changes import revision
from agent_core.store.mending import Effect, cut_off, mend

log = logging.getLogger(__name__)

Messages: TypeAlias = list[Message]
PRIVATE = "private"  # kind of the effect of a shell command that the model is not told of


@dataclass(frozen=True, slots=True)
class Loaded:
    """A conversation as stored: its messages, the place each of them has, and its revision."""

    messages: Messages
    positions: list[int]
    revision: int


def end_of(history: Sequence[Message], most: int) -> int:
    """Where the end of a history begins, of `most` messages or fewer: with a turn, in a very long one with a step."""
    if len(history) < most:
        return 0
    places = range(max(0, len(history) - most), len(history))
    turn = next((at for at in places if history[at].starts_turn), None)
    return turn if turn is not None else next((at for at in places if history[at].role == "assistant"), 0)


BODIES = "SELECT uid, CAST(body AS BLOB), view, position FROM messages WHERE session_id = ?1 AND position IS NOT NULL"
CALLS = """
    SELECT role, CASE WHEN NOT json_valid(body) THEN '' WHEN role = 'assistant' THEN json_extract(body, '$.tool_calls')
        WHEN role = 'tool' THEN json_extract(body, '$.result.call_id') END
    FROM messages WHERE session_id = ? AND position IS NOT NULL ORDER BY position
"""
"""Of each message its role, and an assistant's calls as JSON or a result's call id; "" for one that cannot be read."""


def load(c: sqlite3.Connection, session_id: str) -> Loaded:
    number = revision(c, session_id)
    rows = c.execute(f"{BODIES} ORDER BY position", (session_id,))
    found, positions = [], []
    for uid, body, view, position in rows:
        message = parse_row(session_id, uid, body, view)
        if message is not None:
            found.append(message)
            positions.append(position)
    return Loaded(found, positions, number)


def load_end(c: sqlite3.Connection, session_id: str, most: int) -> tuple[Messages, int]:
    rows = c.execute(f"{BODIES} ORDER BY position DESC LIMIT ?", (session_id, most)).fetchall()
    parsed = [(at, parse_row(session_id, uid, body, view)) for uid, body, view, at in reversed(rows)]
    found = [(at, message) for at, message in parsed if message is not None]
    found = found[end_of([message for _, message in found], most) :]
    first = found[0][0] if found else 0
    (earlier,) = c.execute(
        "SELECT count(*) FROM messages WHERE session_id = ? AND position < ?", (session_id, first)
    ).fetchone()
    return [message for _, message in found], earlier


def load_aside(c: sqlite3.Connection, session_id: str) -> list[Message]:
    """Shell commands that were put aside and have no place yet."""
    rows = c.execute(
        "SELECT uid, CAST(body AS BLOB), view FROM messages "
        "WHERE session_id = ? AND position IS NULL AND undone IS NULL "
        "AND origin = 'shell' ORDER BY id",
        (session_id,),
    ).fetchall()
    return [message for row in rows if (message := parse_row(session_id, *row)) is not None]


def load_begun(c: sqlite3.Connection, session_id: str) -> list[Message]:
    """The reply that had begun when the program was killed: nothing has come behind what it answers."""
    rows = c.execute(
        "SELECT CAST(body AS BLOB) FROM begun_replies b WHERE session_id = ?1 AND behind = "
        "(SELECT uid FROM messages WHERE session_id = ?1 AND position IS NOT NULL ORDER BY position DESC LIMIT 1)",
        (session_id,),
    ).fetchall()
    return [message for (body,) in rows if (message := parse_row(session_id, messages.new_id(), body, "")) is not None]


def parse_row(session_id: str, uid: str, body: bytes, view: messages.View) -> Message | None:
    """A message from its row; None when its body cannot be read. Its id is the row's: copies share their bodies."""
    try:
        data = json.loads(body.decode("utf-8"))
        data["id"] = uid
        if view:
            data["view"] = view
        return messages.from_json(data)
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        # One spoiled row must not take the whole conversation with it.
        log.warning("message %s of session %s cannot be read: %s", uid, session_id, e)
        return None


def mended_from(loaded: Loaded, effects: Sequence[Effect], aside: Sequence[Message]) -> list[Message]:
    """The conversation with one result a call, then the person's own commands that ended, or were cut off."""
    kinds = {effect.call_id: effect.kind for effect in effects if effect.name != SHELL}
    return [
        *mend(loaded.messages, kinds),
        *aside,
        *(cut_off(effect, effect.kind == PRIVATE) for effect in effects if effect.name == SHELL),
    ]


@contextmanager
def snapshot(c: sqlite3.Connection) -> Iterator[None]:
    """Everything that is read inside is of one moment."""
    c.execute("BEGIN")
    try:
        yield
    finally:
        if c.in_transaction:  # SQLite may have ended it itself, and its reason is the one to be told
            c.execute("ROLLBACK")


def insert(c: sqlite3.Connection, session_id: str, message: Message, body: str, position: int | None) -> bool:
    cursor = c.execute(
        "INSERT INTO messages (session_id, uid, position, role, origin, created, body, view) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session_id, uid) DO NOTHING",
        (session_id, message.id, position, message.role, message.origin, message.created, body, message.view),
    )
    return cursor.rowcount == 1


def next_position(c: sqlite3.Connection, session_id: str) -> int:
    (last,) = c.execute("SELECT max(position) FROM messages WHERE session_id = ?", (session_id,)).fetchone()
    return 1 if last is None else int(last) + 1


def rearrange(c: sqlite3.Connection, session_id: str, loaded: Loaded, mended: Sequence[Message]) -> None:
    """Make `mended` the conversation, from the first difference on.

    What it lacks of what was loaded goes; rows that could not be read stay, set aside.
    """
    pairs = zip(loaded.messages, mended, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
    base = loaded.positions[same - 1] if same else 0
    c.execute("UPDATE messages SET position = NULL WHERE session_id = ? AND position > ?", (session_id, base))
    old = {message.id: message for message in loaded.messages[same:]}
    for position, message in enumerate(mended[same:], base + 1):
        was = old.pop(message.id, None)
        if was is None and insert(c, session_id, message, body_of(message), position):
            continue
        place = (position, session_id, message.id)
        c.execute("UPDATE messages SET position = ? WHERE session_id = ? AND uid = ?", place)
        if was is not None and was is not message:
            c.execute(
                "UPDATE messages SET body = ?, edits = edits + 1 WHERE session_id = ? AND uid = ?",
                (body_of(message), session_id, message.id),
            )
    c.executemany("DELETE FROM messages WHERE session_id = ? AND uid = ?", [(session_id, uid) for uid in old])


def body_of(message: Message) -> str:
    """The message as JSON. Control characters, NUL too, are escaped by JSON and so come back as they were."""
    message = replace(message, view="") if message.view else message  # it has a column
    return messages.clean_surrogates(json.dumps(messages.to_json(message), ensure_ascii=False, separators=(",", ":")))
