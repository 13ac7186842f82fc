"""Search over the text of all sessions: the near end of index_child.py, and the asking.

The index follows the database: each search first looks whether a session has changed and has the child bring the index
up to date, for which it waits a moment. It then asks the index, which readers never wait for, and shows of what it
finds only what is in a conversation now. Source: SESS-18, MISC-21.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.errors import StoreError
from agent_core.line_child import LineChild
from agent_core.messages import from_json
from agent_core.records import dataclass
from agent_core.search_filters import Filters
from agent_core.store import index_child
from agent_core.store.children import CHILD
from agent_core.store.db import Database, explain
from agent_core.store.narrowing import Candidate, choices, narrow, of_messages, sessions_of
from agent_core.store.passages import Passage, passages, snippet
from agent_core.store.query import Query, parse
from agent_core.store.rows import SessionRow
from agent_core.store.sessions import Store

log = logging.getLogger(__name__)

_CHILD: Final = index_child.__file__
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_ANY: Final = Filters()


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A message in which everything that was looked for stands; the best comes first, one of a tool's card."""

    session: SessionRow
    message_uid: str
    """Empty: the session's title is what was found."""
    speaker: str
    """user, assistant, thought, summary, title, or the name of the tool whose card shows it."""
    call_id: str
    """The call whose card shows it; empty: none."""
    created: float
    """Seconds since the epoch."""
    snippet: str
    """The passage around the hit on one row, free of keys and control characters."""
    marks: tuple[tuple[int, int], ...]
    """The hits in it: (first character, end)."""
    found: str
    """The first of them as it is written there."""
    rank: float
    """FTS5's bm25; less is better."""
    by_agent: bool = False
    """The session is a sub-agent's."""
    around: str = ""
    """The lines around the first hit, free of keys and control characters."""
    around_marks: tuple[tuple[int, int], ...] = ()
    """The hits in those."""


@dataclass(frozen=True, slots=True)
class Found:
    hits: tuple[SearchHit, ...]
    left: int = 0
    """Messages that are not in the index yet."""
    behind: bool = False
    """The index cannot be brought up to date: what was written lately is not found."""
    total: int = 0
    """How many hits there are: messages, where not all are shown; 0: they were not to be counted."""
    is_more: bool = False
    """Or even more than `total`."""


@dataclass(frozen=True, slots=True)
class _Asking:
    """One query, with all that narrows it down."""

    query: Query
    filters: Filters
    limit: int
    leave_out: str
    agents: bool
    size: int


@cache
def has_fts5() -> bool:
    """Whether this machine's SQLite can search."""
    with closing(sqlite3.connect(":memory:")) as c:
        try:
            c.execute("CREATE VIRTUAL TABLE t USING fts5 (a)")
        except sqlite3.OperationalError:
            return False
    return True


class Search:
    """Safe to use from any thread. Nothing is started before the first search."""

    def __init__(
        self,
        store: Store,
        index: Path,
        cache_folder: Path,
        redact: Callable[[str], str] = lambda text: text,
        keys: Callable[[], Iterable[str]] = lambda: (),
    ) -> None:
        """`index` is a file that may be deleted at any time; `keys` what `redact` knows to be secret by its value."""
        self._store = store
        self._db: Database = store.database
        self._index = index
        self._redact, self._keys = redact, keys
        argv = (sys.executable, "-I", "-W", "ignore", _CHILD, *map(str, (self._db.path, index, cache_folder)))
        self._child = LineChild(argv, "indexing")
        self._lock = threading.Lock()
        self._reader: sqlite3.Connection | None = None
        self._left = 0
        """Messages that were missing in the index when it was last asked."""

    def warm(self) -> None:
        """Somebody is about to search: bring the index up to date meanwhile. Does not block."""
        if has_fts5():
            self._child.ask(sync=True, keys=list(self._keys()))
            self._child.ask(cut=[])

    def find(
        self,
        text: str,
        workspace: str | None = None,
        limit: int = limits.SEARCH_HITS,
        *,
        leave_out: str = "",
        agents: bool = True,
        size: int = limits.SEARCH_SNIPPET,
        wait: float = limits.SEARCH_WAIT,
        filters: Filters = _ANY,
        count: bool = False,
    ) -> Found:
        """The best messages of all sessions, or of those of one workspace, without those of the session `leave_out`.

        With `agents` those of sub-agents come behind all others: what came of their work is in the session they worked
        for. `filters` narrow down what is ranked, not what is shown of it; with `count` `Found.total` is known.

        Waits `wait` seconds for what has been written lately; `Found.left` tells of the rest. Nothing that can be
        typed is wrong; an empty query finds nothing. Raises StoreError.
        """
        if not has_fts5():
            raise StoreError(
                "search_missing",
                "This Python's SQLite cannot search texts (FTS5 is missing). Everything else works; use a Python "
                "whose SQLite has FTS5 to search.",
            )
        query = parse(text, self._cut)
        if not query.match:
            return Found(())
        left, behind = self._catch_up(wait)
        with self._lock:
            try:
                asking = _Asking(query, filters if workspace is None else replace(filters, workspace=workspace),
                                 limit, leave_out, agents, size)  # fmt: skip
                hits = self._ask(asking)
                # Where there are no more than asked for, these are all; of more, messages are counted, not looked at.
                more = count and len(hits) >= limit
                total, is_more = self._count(asking) if more else (len(hits) if count else 0, False)
            except sqlite3.Error as error:
                self._close_reader()
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
                    raise explain(self._index, error) from error
                # It is made from what the database holds: away with it.
                self._child.close()
                for suffix in ("", "-wal", "-shm"):
                    self._index.with_name(self._index.name + suffix).unlink(missing_ok=True)
                log.warning("the search index was damaged (%s) and is made anew", error)
                self._child.ask(sync=True, keys=list(self._keys()))
                return Found((), max(1, left))
        return Found(tuple(hits), left, behind, total and max(total, len(hits)), is_more)

    def choices(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The folders and the models of all sessions, those used last first. Raises StoreError."""
        with self._db.read() as c:
            return choices(c)

    def words(self, runs: Sequence[str], wait: float) -> list[list[str]] | None:
        """The words of each run of Chinese characters, long ones with the shorter ones inside; None: not within `wait`
        seconds."""
        answer = self._child.ask(cut=list(runs), all=True).wait(wait)
        words: list[list[str]] | None = answer.get("words")
        return words

    def close(self) -> None:
        self._child.close()
        with self._lock:
            self._close_reader()

    # -- the child --------------------------------------------------------------------------------------------------

    def _cut(self, runs: Sequence[str]) -> list[list[str]] | None:
        answer = self._child.ask(cut=list(runs)).wait(limits.SEARCH_CUT)
        words: list[list[str]] | None = answer.get("words")
        return words

    def _catch_up(self, wait: float) -> tuple[int, bool]:
        """Have the index brought up to date: the messages still missing after `wait` seconds, and whether it failed.

        Raises StoreError "search_index" when there is none and none can be made.
        """
        if self._is_fresh():
            return 0, False
        asked = self._child.ask(sync=True, keys=list(self._keys()))
        answer = asked.wait(wait)
        if "error" in answer:
            log.warning("the search index cannot be brought up to date: %s", answer["error"])
            if not self._index.exists():
                raise StoreError(
                    "search_index",
                    f"The search index {self._index} cannot be made: {answer['error']}. Check the disk and the rights "
                    "of its folder.",
                    path=str(self._index),
                )
            return 0, True  # what was indexed before can still be found
        # The child tells between two steps, which one who waits for less may miss: then it is what was told last.
        self._left = 0 if "done" in answer else asked.left or self._left or 1
        return self._left, False

    def _is_fresh(self) -> bool:
        with self._db.read() as c:
            stored = c.execute(index_child.SESSIONS).fetchall()
        with self._lock:
            try:
                return set(self._open().execute("SELECT id, stamp FROM sessions")) == set(stored)
            except sqlite3.Error:  # not made yet, or of another version
                self._close_reader()
                return False

    # -- asking -----------------------------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        if self._reader is None:
            self._reader = sqlite3.connect(
                f"{self._index.resolve().as_uri()}?mode=ro",
                uri=True,
                timeout=limits.SQLITE_BUSY,
                isolation_level=None,
                check_same_thread=False,
            )
        return self._reader

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _ask(self, asking: _Asking) -> list[SearchHit]:
        index = self._made()
        if index is None:
            return []
        own, of_agents = self._sessions(asking)
        hits: list[SearchHit] = []
        for most in (limits.SEARCH_CANDIDATES, -1):
            ranked = index.execute(
                "SELECT session, uid, rank FROM (SELECT rowid AS doc, rank FROM messages_fts "
                "WHERE messages_fts MATCH ? ORDER BY rank LIMIT ?) JOIN docs ON docs.id = doc ORDER BY rank, doc DESC",
                (asking.query.match, most),
            ).fetchall()
            hits = self._hits(asking, [found for found in ranked if found[0] in own], asking.limit)
            if len(hits) < asking.limit and of_agents:
                theirs = [found for found in ranked if found[0] in of_agents]
                hits += (replace(hit, by_agent=True) for hit in self._hits(asking, theirs, asking.limit - len(hits)))
            if len(hits) >= asking.limit or len(ranked) < limits.SEARCH_CANDIDATES:
                break
        return hits

    def _count(self, asking: _Asking) -> tuple[int, bool]:
        """How many messages fit, and whether there may be more than were looked at."""
        index = self._made()
        if index is None:
            return 0, False
        found = index.execute(
            "SELECT session, uid, 0.0 FROM (SELECT rowid AS doc FROM messages_fts WHERE messages_fts MATCH ? LIMIT ?) "
            "JOIN docs ON docs.id = doc",
            (asking.query.match, limits.SEARCH_COUNTED),
        ).fetchall()
        own, of_agents = self._sessions(asking)
        with self._db.read() as c:
            fit = narrow(c, [one for one in found if one[0] in own or one[0] in of_agents], asking.filters)
        return len(fit), len(found) == limits.SEARCH_COUNTED

    def _made(self) -> sqlite3.Connection | None:
        """The index; None while the child is about to make it."""
        if not self._index.exists():
            return None
        index = self._open()
        is_there = index.execute("SELECT 1 FROM sqlite_master WHERE name = 'messages_fts'").fetchone()
        return index if is_there else None

    def _sessions(self, asking: _Asking) -> tuple[Set[str], Set[str]]:
        """Ids of the sessions in which is looked: the person's, and those of sub-agents."""
        with self._db.read() as c:
            sources = sessions_of(c, asking.filters, asking.leave_out)
        own = {id_ for id_, source in sources.items() if source != CHILD}
        return own, sources.keys() - own if asking.agents else frozenset()

    def _hits(self, asking: _Asking, ranked: Sequence[Candidate], limit: int) -> list[SearchHit]:
        """What the index has found, as far as it is in a conversation now and fits; of a tool's card the best of it."""
        hits: list[SearchHit] = []
        rows: dict[str, SessionRow] = {}
        cards: set[tuple[str, str]] = set()
        with self._db.read() as c:
            for session, uid, rank in narrow(c, ranked, asking.filters) if of_messages(asking.filters) else ranked:
                try:
                    row = rows[session] = rows.get(session) or self._store.get(session)
                except StoreError:  # deleted meanwhile
                    continue
                found, created = _passages(c, session, uid) if uid else ([Passage("title", row.title)], row.updated)
                found = [_clean(passage, self._redact) for passage in found]
                if not found:
                    continue
                shown = snippet(found, asking.query.needles, asking.size)
                where = shown.passage
                if where.call_id:
                    if (session, where.call_id) in cards:  # a call's words and its result's: one card shows both
                        continue
                    cards.add((session, where.call_id))
                hits.append(
                    SearchHit(
                        row, uid, where.speaker, where.call_id, created, shown.text, shown.marks, shown.found, rank,
                        around=shown.around, around_marks=shown.around_marks,
                    )
                )  # fmt: skip
                if len(hits) == limit:
                    break
        return hits


def _passages(c: sqlite3.Connection, session: str, uid: str) -> tuple[list[Passage], float]:
    """What can be found in a message, if it is in the conversation."""
    found = c.execute(
        "SELECT body, created FROM messages WHERE session_id = ? AND uid = ? AND position IS NOT NULL", (session, uid)
    ).fetchone()
    if found is None:
        return [], 0.0
    try:
        return passages(from_json(json.loads(found[0]))), found[1]
    except (ValueError, KeyError, TypeError, AttributeError):  # spoiled since it was indexed
        return [], 0.0


def _clean(passage: Passage, redact: Callable[[str], str]) -> Passage:
    return Passage(passage.speaker, redact(passage.text), passage.call_id)
