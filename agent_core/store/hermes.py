"""Sessions of a Hermes database, read without writing a byte beside it. Source: SESS-12 to SESS-15."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agent_core.errors import StoreError
from agent_core.messages import Message, ToolResult
from agent_core.store.db import APPLICATION_ID
from agent_core.store.imports import Incoming, checked, from_openai, moment

# What is taken from each table where it is there: releases differ in their columns.
_SESSION: Final = ("id", "title", "cwd", "model", "started_at", "ended_at")
_MESSAGE: Final = ("role", "content", "tool_call_id", "tool_calls", "tool_name", "finish_reason", "reasoning",
                   "reasoning_content", "effect_disposition", "timestamp")  # fmt: skip
_UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


def read_database(path: Path) -> list[Incoming]:
    """All sessions with messages, the oldest first.

    Raises StoreError "import_ours" for a database of this program, "import_unknown" for any other that is not Hermes',
    and "import_unreadable" when it is damaged or in use.
    """
    try:
        with _opened(path) as c:
            (application,) = c.execute("PRAGMA application_id").fetchone()
            if application == APPLICATION_ID:
                raise StoreError(
                    "import_ours",
                    f"{path} is a database of this program. `nanoherm-tui sessions export` in its home writes files "
                    "that can be imported; `sessions check --repair` saves what a damaged one holds.",
                    path=str(path),
                )
            sessions, messages = _columns(c, "sessions", _SESSION), _columns(c, "messages", _MESSAGE)
            if "id" not in sessions or not {"role", "content"} <= set(messages):
                raise StoreError("import_unknown", f"{path} is no database of Hermes'.", path=str(path))
            order = " ORDER BY started_at" if "started_at" in sessions else ""
            found = c.execute(f"SELECT {', '.join(sessions)} FROM sessions{order}").fetchall()
            all_of_them = [_session(c, dict(zip(sessions, row, strict=True)), messages) for row in found]
    except sqlite3.Error as error:
        raise StoreError(
            "import_unreadable", f"{path} cannot be read ({error}). Close Hermes, then try again.", path=str(path)
        ) from error
    return [session for session in all_of_them if session.messages or session.lost]


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that changes nothing where the database is.

    One with a journal of writes cannot be read without touching what lies beside it: a copy of both is read then.
    """
    journal = path.with_name(path.name + "-wal")
    with tempfile.TemporaryDirectory(prefix="nanoherm-import-") as folder:
        query = "mode=ro&immutable=1"
        if journal.exists() and journal.stat().st_size:
            copy = Path(folder) / "state.db"
            shutil.copyfile(path, copy)
            shutil.copyfile(journal, copy.with_name("state.db-wal"))
            path, query = copy, "mode=rw"
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?{query}", uri=True)
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        try:
            yield connection
        finally:
            connection.close()


def _columns(c: sqlite3.Connection, table: str, wanted: tuple[str, ...]) -> list[str]:
    there = {name for _, name, *_ in c.execute(f"PRAGMA table_info({table})")}
    return [name for name in wanted if name in there]


def _session(c: sqlite3.Connection, about: dict[str, Any], columns: list[str]) -> Incoming:
    rows = c.execute(
        f"SELECT {', '.join(columns)} FROM messages WHERE session_id = ? ORDER BY rowid", (about["id"],)
    ).fetchall()
    conversation: list[Message] = []
    lost = 0
    for row in rows:
        try:
            message = _message(dict(zip(columns, row, strict=True)))
        except _UNREADABLE:
            lost += 1
            continue
        if message is not None and not message.is_empty:
            conversation.append(message)
    return Incoming(
        f"hermes:{about['id']}",
        tuple(conversation),
        lost,
        title=_string(about.get("title")),
        workspace=_string(about.get("cwd")),
        model=_string(about.get("model")),
        created=moment(about.get("started_at")),
        updated=moment(about.get("ended_at")),
    )


def _message(row: dict[str, Any]) -> Message | None:
    """A row as a message; None for one that is no part of the conversation."""
    if row["role"] == "session_meta":
        return None
    content = row["content"]
    if isinstance(content, str) and content.startswith("[{"):
        try:
            content = json.loads(content)  # text and images; else a text that looks like it
        except (ValueError, RecursionError):
            pass
    calls = row.get("tool_calls")
    made = from_openai({**row, "content": content, "tool_calls": json.loads(calls) if calls else None})
    result = made.result
    if result is not None:
        unknown = row.get("effect_disposition") == "unknown"
        outcome = ToolResult(result.call_id, result.name, result.text, effect="unknown" if unknown else "done")
        made = Message("tool", made.text, created=made.created, result=outcome)
    return checked(made)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
