"""The record of decisions: what a tool was to do, whether it was let, by which rule, by whom, and when (A2, A7).

Rows are only ever added. A decision about a call is written with the call's start, so that it is on disk before the
call acts, or with its result when it never began; neither needs a write of its own. The other decisions (a mode, a
grant, trust) are written at once. A plain read that the rules allow is none: nobody would find the others among them.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

from agent_core import limits
from agent_core.messages import clean_surrogates
from agent_core.ports.asking import Decided
from agent_core.records import dataclass
from agent_core.store.db import Database
from agent_core.text.ansi import clean
from agent_core.text.printable import printable


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the record."""

    id: int
    """Grows with every decision."""
    session_id: str
    """Empty: it was made outside of a session."""
    workspace: str
    decided: Decided


Entries: TypeAlias = list[Entry]  # `list` is a method below


class Audit:
    """The decisions of all sessions. Safe to use from any thread.

    Methods but `stage` block on the disk and raise StoreError.
    """

    def __init__(self, database: Database) -> None:
        self._db = database
        self._lock = threading.Lock()
        self._staged: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
        """Rows by session and call, until the call's start or its result is stored."""

    def add(self, session_id: str, workspace: str, decided: Decided) -> None:
        """Write a decision down; it is on disk when this returns. `session_id` may be empty."""
        row = _row(session_id, workspace, decided)
        self._db.write(lambda c: c.execute(_INSERT, row))

    def stage(self, session_id: str, workspace: str, decided: Decided) -> None:
        """Have a decision about a call written with the call's start or its result, whichever is stored first."""
        with self._lock:
            rows = self._staged.setdefault((session_id, decided.call_id), [])
            rows.append(_row(session_id, workspace, decided))

    def put(self, c: sqlite3.Connection, session_id: str, call_id: str) -> None:
        """Inside a transaction of the store's: write what is staged for a call. `written` follows its commit."""
        with self._lock:
            rows = tuple(self._staged.get((session_id, call_id), ()))
        c.executemany(_INSERT, rows)

    def written(self, session_id: str, call_id: str) -> None:
        """What was staged for a call is on disk."""
        with self._lock:
            self._staged.pop((session_id, call_id), None)

    def list(
        self,
        session_id: str | None = None,
        limit: int | None = limits.DECISIONS_LISTED,
        *,
        before: int | None = None,
        since: float = 0.0,
        kind: str | None = None,
        verdict: str | None = None,
    ) -> Entries:
        """Decisions, the newest first, at most `limit` (None: all); of one session, one kind, one verdict where given.

        `before`: only those older than the entry with this id. `since`: seconds since the epoch.
        """
        asked = {"session_id": session_id, "kind": kind, "verdict": verdict}
        given = {name: value for name, value in asked.items() if value is not None}
        tests = [f"{name} = ?" for name in given] + ["created >= ?"]
        values: list[object] = [*given.values(), since]
        if before is not None:
            tests.append("id < ?")
            values.append(before)
        select = f"SELECT id, {', '.join(_COLUMNS)} FROM decisions WHERE {' AND '.join(tests)} ORDER BY id DESC LIMIT ?"
        with self._db.read() as c:
            return [_entry(*row) for row in c.execute(select, (*values, -1 if limit is None else limit)).fetchall()]


def is_worth_a_row(decided: Decided) -> bool:
    """Whether it was decided at all: what only reads, or only writes the plan, and nobody stopped, was not."""
    plain = decided.kind in ("read", "tool") and decided.verdict == "allow" and decided.by == "rules"
    return not plain


def for_the_record(decided: Decided, redact: Callable[[str], str]) -> Decided:
    """`decided` as it may be stored: without keys, control characters escaped, bounded."""
    return replace(
        decided,
        what=_plain(decided.what, redact),
        rule=_plain(decided.rule, redact),
        cwd=_plain(decided.cwd, redact),
    )


def _plain(text: str, redact: Callable[[str], str]) -> str:
    seen = clean(text)
    # A key with terminal sequences in it shows as one only without them.
    shown = redact(seen) if redact(seen) != seen else redact(text)
    lines = "\n".join(printable(line) for line in shown.split("\n"))
    left_out = len(lines) - limits.DECISION_CHARS
    return lines if left_out <= 0 else f"{lines[: limits.DECISION_CHARS]}… ({left_out:,} more characters)"


_COLUMNS: Final = (
    "session_id", "workspace", "created", "kind", "what", "cwd", "sandbox", "verdict", "rule", "decided_by", "call_id",
)  # fmt: skip
_INSERT: Final = f"INSERT INTO decisions ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"


def _row(session_id: str, workspace: str, decided: Decided) -> tuple[Any, ...]:
    texts = (decided.kind, decided.what, decided.cwd, decided.sandbox, decided.verdict, decided.rule, decided.by,
             decided.call_id)  # fmt: skip
    return (session_id or None, clean_surrogates(workspace), decided.when, *map(clean_surrogates, texts))


def _entry(id_: int, session_id: str | None, workspace: str, created: float, *texts: Any) -> Entry:
    kind, what, cwd, sandbox, verdict, rule, by, call_id = texts
    decided = Decided(kind, what, verdict, rule, by, cwd, sandbox, call_id, created)
    return Entry(id_, session_id or "", workspace, decided)
