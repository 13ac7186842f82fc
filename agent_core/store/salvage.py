"""What can still be read of a damaged database, put into a whole one. The damaged file is only read."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from agent_core import limits
from agent_core.messages import from_json
from agent_core.names import MODES
from agent_core.records import dataclass
from agent_core.store.db import Database, readable
from agent_core.store.pages import Value, rows, with_header
from agent_core.store.undo import TURN_START

log = logging.getLogger(__name__)

_ID: Final = re.compile(r"[0-9a-f]{32}")
_ROLES: Final = frozenset({"system", "user", "assistant", "tool"})
_LAST: Final = 1 << 40  # above any row id there is
# Each with a rowid; the others are small and read as far as they go.
_MAIN: Final = ("sessions", "messages")

# SQLite's own words about a spoiled name may be no text.
_FAILURES: Final = (sqlite3.Error, UnicodeDecodeError)

Row = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What came of one file."""

    sessions: int
    messages: int
    unreadable: int
    """Messages whose body is spoiled."""
    short: tuple[tuple[str, str, int], ...]
    """(session id, title, messages it had and has no more)."""


def salvage(damaged: Path, into: Database) -> Salvaged:
    """Copy every session that is not in `into` from a damaged database. Raises StoreError and OSError."""
    with tempfile.TemporaryDirectory(prefix=f"{into.path.name}.new-{os.getpid()}-", dir=into.path.parent) as folder:
        copy = Path(folder) / "damaged.db"
        shutil.copyfile(damaged, copy)
        if not _has_tables(copy):
            copy.write_bytes(with_header(copy.read_bytes()))
        journal = damaged.with_name(damaged.name + "-wal")
        if journal.exists():
            shutil.copyfile(journal, copy.with_name("damaged.db-wal"))
        _take_in_journal(copy)
        with into.read() as c:
            columns = {
                table: [name for _, name, *_ in c.execute(f"PRAGMA table_info({table})")]
                for (table,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            }
            there = {id_ for (id_,) in c.execute("SELECT id FROM sessions")}
        found = _Found(columns, there)
        found.by_tables(copy)
        found.by_pages(copy.read_bytes())
    return into.write(found.put)


def _has_tables(copy: Path) -> bool:
    """Whether SQLite can tell from the file's beginning what is in it."""
    try:
        with closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True)) as c:
            return bool(c.execute("SELECT name FROM sqlite_master").fetchone())
    except _FAILURES:
        return False


def _take_in_journal(copy: Path) -> None:
    """What was committed last stands in the journal."""
    try:
        c = sqlite3.connect(copy)
        try:
            c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            c.close()
    except _FAILURES as error:
        log.warning("the journal of a damaged database cannot be used: %s", error)


class _Found:
    """Rows by their names, each once; the tables' own before those that only the pages still have."""

    def __init__(self, columns: dict[str, list[str]], there: set[str]) -> None:
        self._columns, self._there = columns, there
        self._sessions: dict[str, Row] = {}
        self._messages: dict[tuple[str, str], Row] = {}
        self._others: dict[str, list[Row]] = {}

    # -- reading ----------------------------------------------------------------------------------------------------

    def by_tables(self, file: Path) -> None:
        try:
            c = sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)
            c.text_factory = readable
        except _FAILURES:
            return
        try:
            for table, names in self._columns.items():
                try:
                    has = {name for _, name, *_ in c.execute(f"PRAGMA table_info({table})")}
                    wanted = [name for name in names if name in has]
                    if wanted:
                        self._read(c, table, wanted)
                except _FAILURES as error:
                    log.warning("table %s of a damaged database cannot be read: %s", table, error)
        finally:
            c.close()

    def _read(self, c: sqlite3.Connection, table: str, names: Sequence[str]) -> None:
        select = f"SELECT {', '.join(names)} FROM {table}"
        if table in _MAIN:
            for values in _in_pieces(c, f"{select} NOT INDEXED WHERE rowid BETWEEN ? AND ?"):
                self._take(table, dict(zip(names, values, strict=True)))
            return
        kept = self._others.setdefault(table, [])
        for values in c.execute(select):
            kept.append(dict(zip(names, values, strict=True)))

    def by_pages(self, data: bytes) -> None:
        """Rows are told from each other by what stands in them: no page says which table it belongs to."""
        for row_id, values in rows(data):
            for table in _MAIN:
                names = self._columns[table]
                # A row from before a column was added is shorter.
                row = dict(zip(names, values, strict=False))
                if table == "messages" and row.get("id") is None:
                    row["id"] = row_id
                if len(values) <= len(names):
                    self._take(table, row)

    def _take(self, table: str, row: Row) -> None:
        if table == "sessions" and _is_session(row):
            self._sessions.setdefault(str(row["id"]), row)
        elif table == "messages" and _is_message(row):
            self._messages.setdefault((str(row["session_id"]), str(row["uid"])), row)

    # -- writing ----------------------------------------------------------------------------------------------------

    def put(self, c: sqlite3.Connection) -> Salvaged:
        by_session: dict[str, list[Row]] = {}
        for (session, _), row in self._messages.items():
            by_session.setdefault(session, []).append(row)
        wanted = (self._sessions.keys() | by_session.keys()) - self._there
        unreadable = messages = 0
        short: list[tuple[str, str, int]] = []
        for session in sorted(wanted):
            said = by_session.get(session, [])
            about = self._sessions.get(session) or _unknown(session, said)
            had = about.get("message_count")
            self._insert(c, "sessions", about)
            good = 0
            for row in sorted(said, key=_place):
                readable = _is_readable(row["body"])
                unreadable += not readable
                row = {**row, "id": None, "position": row["position"] if readable else None}
                if not self._insert(c, "messages", row):  # two say they stand at one place
                    self._insert(c, "messages", {**row, "position": None})
                elif row["position"] is not None:
                    good += 1
            messages += good
            c.execute(
                "UPDATE sessions SET (message_count, turn_count, tool_call_count) = "
                f"(SELECT count(*), coalesce(sum({TURN_START}), 0), coalesce(sum(role = 'tool'), 0) FROM messages "
                "WHERE session_id = ?1 AND position IS NOT NULL) WHERE id = ?1",
                (session,),
            )
            if isinstance(had, int) and had > good:
                short.append((session, str(about.get("title") or ""), had - good))
        for table, kept in self._others.items():
            for row in kept:
                owner = row.get("session_id") or row.get("conversation_id")
                if owner not in self._there:
                    # The record's rows are numbered by the database they are in.
                    self._insert(c, table, {**row, "id": None} if table == "decisions" else row)
        return Salvaged(len(wanted), messages, unreadable, tuple(short))

    def _insert(self, c: sqlite3.Connection, table: str, row: Row) -> bool:
        names = [name for name in self._columns[table] if row.get(name) is not None]
        marks = ", ".join("?" * len(names))
        try:
            done = c.execute(
                f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({marks})", [row[name] for name in names]
            )
        except sqlite3.IntegrityError as error:
            log.warning("a row of %s could not be saved: %s", table, error)
            return False
        return done.rowcount == 1


def _in_pieces(c: sqlite3.Connection, select: str) -> Iterator[tuple[Any, ...]]:
    """All rows of a table but those that lie on spoiled pages: what cannot be read whole is read in halves.

    Where an inner page is spoiled that would never end; the rest is left to the pages themselves.
    """
    ranges = [(-1, _LAST)]
    failed = 0
    while ranges and failed < limits.SALVAGE_TRIES:
        low, high = ranges.pop()
        try:
            yield from c.execute(select, (low, high)).fetchall()
        except _FAILURES:
            failed += 1
            if low < high:
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]


def _is_session(row: Row) -> bool:
    return (
        isinstance(row.get("id"), str)
        and bool(_ID.fullmatch(str(row["id"])))
        and isinstance(row.get("workspace"), str)
        and row.get("mode") in MODES
        and isinstance(row.get("created"), int | float)
        and isinstance(row.get("updated"), int | float)
    )


def _is_message(row: Row) -> bool:
    return (
        isinstance(row.get("session_id"), str)
        and bool(_ID.fullmatch(str(row["session_id"])))
        and isinstance(row.get("uid"), str)
        and row.get("role") in _ROLES
        and isinstance(row.get("body"), str)
        and isinstance(row.get("position"), int | None)
        and isinstance(row.get("created"), int | float)
    )


def _is_readable(body: Value) -> bool:
    try:
        from_json(json.loads(str(body)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


def _unknown(session: str, said: Sequence[Row]) -> Row:
    """A session whose own row is lost."""
    times = [row["created"] for row in said if isinstance(row["created"], int | float)]
    return {
        "id": session,
        "title": "Recovered session",
        "workspace": str(Path.home()),
        "mode": "ask",
        "created": min(times, default=0.0),
        "updated": max(times, default=0.0),
    }


def _place(row: Row) -> tuple[bool, int, int]:
    position, id_ = row["position"], row.get("id")
    return position is None, position if isinstance(position, int) else 0, id_ if isinstance(id_, int) else 0
