"""Builds the index of what can be searched, and cuts queries into words, as a program of its own.

    python -I -W ignore index_child.py STATE_DB INDEX_DB CACHE_FOLDER

A program, because jieba takes most of a second and 100 MB to load and cutting holds the interpreter: the screen never
waits for it. Reads one JSON object a line: {"id": N, "cut": [RUN, ...]} is answered with {"id": N, "words": [[WORD,
...], ...]}, where "all" is true with the shorter words inside long ones; {"id": N, "sync": true, "keys": [SECRET,
...]} brings the index up to what the database holds, and tells {"id": N, "left": MESSAGES} now and then and {"id": N,
"done": true} at its end, or {"id": N, "error": WORDS}. Cutting is answered between two slices of a sync. Ends with its
input, or when nobody has asked for long.

The database is only read. The index is a file of its own that may be deleted at any time: it holds each message's
words, cut by `text.tokenize`, and jieba's, and what is needed to take them out again. A session whose stamp is the one
it had is up to date; of any other the messages are compared one by one, so nothing depends on how they came or went.
"""

from __future__ import annotations

import json
import marshal
import os
import queue
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

if __package__ in (None, ""):  # started by its path, isolated from everything that the environment may name
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from agent_core import limits
from agent_core.messages import from_json
from agent_core.safety.redact import redact
from agent_core.store.passages import passages
from agent_core.text.tokenize import grams, han, pieces

VERSION: Final = 2
"""Of the index: one of another version is made anew."""

SESSIONS: Final = "SELECT id, revision || '/' || message_count || '/' || updated || '/' || title FROM sessions"
"""What tells that a session has changed: (id, stamp)."""

_SCHEMA: Final = (
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID",
    # `uid` is empty for a session's title. `words` is what FTS5 has to be told to forget; NULL: nothing to be found.
    "CREATE TABLE docs (id INTEGER PRIMARY KEY, session TEXT NOT NULL, uid TEXT NOT NULL, "
    "edits INTEGER NOT NULL DEFAULT 0, words BLOB, UNIQUE (session, uid))",
    "CREATE VIRTUAL TABLE messages_fts USING fts5 (grams, words, content = '', tokenize = 'ascii')",
    # jieba's words and whole identifiers say more than pairs of characters and parts.
    "INSERT INTO messages_fts (messages_fts, rank) VALUES ('rank', 'bm25(1.0, 1.5)')",
)

STORED: Final = "SELECT uid, edits, id FROM messages WHERE session_id = ?"
INDEXED: Final = "SELECT uid, edits FROM docs WHERE session = ? AND uid != ''"
"""What tells that a message has changed: (uid, edits)."""

CutWords = Callable[[str], Iterable[str]]


def terms(text: str, cut: CutWords) -> tuple[str, str]:
    """The columns `grams` and `words` of a text: its pieces in order, and what they are or make as a whole."""
    small: list[str] = []
    whole: list[str] = []
    for piece in pieces(text):
        if piece.is_run:
            small += grams(piece.text)
            whole += (word for run in han(piece.text) if len(run) > 1 for word in cut(run) if len(word) > 1)
        else:
            small += piece.parts
            if len(piece.parts) > 1 and len(piece.whole) <= limits.SEARCH_WORD:
                whole.append(piece.whole)
    return " ".join(small), " ".join(whole)


class Dictionary:
    """jieba, loaded with the first Chinese word, silent, its cache where the program keeps its own."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._tokenizer: Any = None

    def _load(self) -> Any:
        if self._tokenizer is None:
            sys.modules["pkg_resources"] = None  # type: ignore[assignment]  # jieba does without, in half the time
            import jieba

            jieba.setLogLevel(100)
            self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
            tokenizer = jieba.Tokenizer()
            tokenizer.tmp_dir, tokenizer.cache_file = str(self._cache), "jieba.cache"
            try:
                # At once: jieba reads its cache word by word from the file, in three times the time.
                tokenizer.FREQ, tokenizer.total = marshal.loads((self._cache / tokenizer.cache_file).read_bytes())
                tokenizer.initialized = True
            except (OSError, ValueError, TypeError, EOFError):
                tokenizer.initialize()  # which makes the cache
            self._tokenizer = tokenizer
        return self._tokenizer

    def cut(self, run: str) -> list[str]:
        """The words that make up a run, once over."""
        words: list[str] = self._load().lcut(run)
        return words

    def cut_all(self, run: str) -> list[str]:
        """The same, and the shorter words inside long ones."""
        words: list[str] = self._load().lcut_for_search(run)
        return words


class Index:
    """The index file, for writing. Raises sqlite3.Error; a damaged file is replaced when it is opened."""

    def __init__(self, file: Path, cut: CutWords) -> None:
        self._cut = cut
        try:
            self._open(file)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            for suffix in ("", "-wal", "-shm"):
                file.with_name(file.name + suffix).unlink(missing_ok=True)
            self._open(file)

    def _open(self, file: Path) -> None:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self.db = sqlite3.connect(file, timeout=limits.SEARCH_LOCKED, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")  # a power cut costs the latest words, which come again
        self.db.execute("BEGIN IMMEDIATE")
        (version,) = self.db.execute("PRAGMA user_version").fetchone()
        if version != VERSION:
            tables = self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (name,) in tables:
                if name in ("sessions", "docs", "messages_fts"):
                    self.db.execute(f"DROP TABLE {name}")
            for statement in _SCHEMA:
                self.db.execute(statement)
            self.db.execute(f"PRAGMA user_version = {VERSION:d}")
        self.db.execute("SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'a'").fetchone()
        self.db.execute("COMMIT")

    def sync(self, state: sqlite3.Connection, keys: Sequence[str]) -> Iterator[int]:
        """Make the index agree with the database, the session used last first. Yields how many messages are left.

        Each step is a transaction of its own, and what is done stays done. Other programs may do the same meanwhile:
        who changes what is known of a session takes its stamp away; it comes back when all is as it should be.
        """
        stamps = dict(state.execute(f"{SESSIONS} ORDER BY updated DESC").fetchall())
        known = dict(self.db.execute("SELECT id, stamp FROM sessions").fetchall())
        for session in known.keys() - stamps.keys():
            self._forget(session, None)
        changed = [session for session, stamp in stamps.items() if known.get(session) != stamp]
        todo: dict[str, list[int]] = {}
        for session in changed:
            todo[session] = self._differences(state, session)
        left = sum(map(len, todo.values()))
        for session, rows in todo.items():
            for at in range(0, len(rows), limits.SEARCH_SLICE):
                part = rows[at : at + limits.SEARCH_SLICE]
                self._add(state, session, part, keys)
                left -= len(part)
                yield left
            self._end(state, session, stamps[session], keys)

    def _differences(self, state: sqlite3.Connection, session: str) -> list[int]:
        """Forget the messages that are gone; the row ids of those that are new."""
        stored = {(uid, edits): row for uid, edits, row in state.execute(STORED, (session,))}
        have = set(self.db.execute(INDEXED, (session,)))
        if gone := have - stored.keys():
            self._forget(session, {uid for uid, _ in gone})
        return sorted((row for which, row in stored.items() if which not in have), reverse=True)

    def _forget(self, session: str, uids: Iterable[str] | None) -> None:
        """Take messages out of the index, or with None all that is known of a session."""
        self._begin(session)
        if uids is None:
            rows = self.db.execute("SELECT id, words FROM docs WHERE session = ?", (session,)).fetchall()
        else:
            select = "SELECT id, words FROM docs WHERE session = ? AND uid = ?"
            rows = [row for uid in uids for row in self.db.execute(select, (session, uid))]
        for id_, words in rows:
            self._remove(id_, words)
        self.db.execute("COMMIT")

    def _begin(self, session: str) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        self.db.execute("DELETE FROM sessions WHERE id = ?", (session,))

    def _remove(self, id_: int, words: bytes | None) -> None:
        if words is not None:
            columns = zlib.decompress(words).decode().split("\n")
            self.db.execute(
                "INSERT INTO messages_fts (messages_fts, rowid, grams, words) VALUES ('delete', ?, ?, ?)",
                (id_, *columns),
            )
        self.db.execute("DELETE FROM docs WHERE id = ?", (id_,))

    def _add(self, state: sqlite3.Connection, session: str, rows: Sequence[int], keys: Sequence[str]) -> None:
        """Index messages by their row ids. One that cannot be read is noted as having nothing to be found."""
        made = []
        for row in rows:
            select = "SELECT uid, edits, CAST(body AS BLOB) FROM messages WHERE id = ? AND session_id = ?"
            found = state.execute(select, (row, session)).fetchone()
            if found is not None:
                made.append((found[0], found[1], self._columns(found[2], keys)))
        self._begin(session)
        for uid, edits, columns in made:
            self._put(session, uid, edits, columns)
        self.db.execute("COMMIT")

    def _columns(self, body: bytes, keys: Sequence[str]) -> tuple[str, str]:
        try:
            texts = [passage.text for passage in passages(from_json(json.loads(body.decode("utf-8"))))]
        except (ValueError, KeyError, TypeError, AttributeError):
            return "", ""
        return terms("\n".join(redact(text, keys) for text in texts), self._cut)

    def _put(self, session: str, uid: str, edits: int, columns: tuple[str, str]) -> None:
        words = zlib.compress("\n".join(columns).encode()) if any(columns) else None
        put = self.db.execute(
            "INSERT INTO docs (session, uid, edits, words) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (session, uid, edits, words),
        )
        if put.rowcount and words is not None:  # else another program has been faster
            self.db.execute(
                "INSERT INTO messages_fts (rowid, grams, words) VALUES (?, ?, ?)", (put.lastrowid, *columns)
            )

    def _end(self, state: sqlite3.Connection, session: str, stamp: str, keys: Sequence[str]) -> None:
        """Index the title, and note that a session is up to date, if it is."""
        found = state.execute("SELECT title FROM sessions WHERE id = ?", (session,)).fetchone()
        columns = terms(redact(found[0], keys), self._cut) if found is not None else ("", "")
        self.db.execute("BEGIN IMMEDIATE")
        old = self.db.execute("SELECT id, words FROM docs WHERE session = ? AND uid = ''", (session,)).fetchone()
        if old is not None:
            self._remove(*old)
        self._put(session, "", 0, columns)
        if {(uid, edits) for uid, edits, _ in state.execute(STORED, (session,))} == set(
            self.db.execute(INDEXED, (session,))
        ):
            self.db.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?)", (session, stamp))
        self.db.execute("COMMIT")


class Program:
    """Answers requests, those for words first."""

    def __init__(self, state: Path, index: Path, cache: Path) -> None:
        self._state, self._file = state, index
        self._dictionary = Dictionary(cache)
        self._index: Index | None = None
        self._syncs: list[dict[str, Any]] = []
        self._requests: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._requests.put(line)
        os._exit(0)  # who asked is gone; a transaction that is under way is as if it had not begun

    def run(self) -> None:
        while True:
            if not self._syncs:
                try:
                    self._take(self._requests.get(timeout=limits.SEARCH_IDLE))
                except queue.Empty:
                    return
            self._take_waiting()
            if self._syncs:
                self._sync()

    def _take_waiting(self) -> None:
        while True:
            try:
                self._take(self._requests.get_nowait())
            except queue.Empty:
                return

    def _take(self, line: str) -> None:
        request = json.loads(line)
        if "cut" in request:
            cut = self._dictionary.cut_all if request.get("all") else self._dictionary.cut
            words = [cut(run) for run in request["cut"]]
            _tell(id=request["id"], words=words)
        else:
            self._syncs.append(request)

    def _sync(self) -> None:
        """Do what all waiting requests want, which is the same."""
        asked, self._syncs = self._syncs, []
        ids = [request["id"] for request in asked]
        told = 0.0
        try:
            index = self._index = self._index or Index(self._file, self._dictionary.cut_all)
            state = sqlite3.connect(f"{self._state.resolve().as_uri()}?mode=ro", uri=True, timeout=limits.SQLITE_BUSY)
            state.text_factory = lambda data: data.decode("utf-8", "replace")  # as the store reads it
            try:
                for left in index.sync(state, asked[-1]["keys"]):
                    self._take_waiting()
                    if time.monotonic() - told > 0.1:
                        told = time.monotonic()
                        for id_ in (*ids, *(request["id"] for request in self._syncs)):
                            _tell(id=id_, left=left)
            finally:
                state.close()
        except (sqlite3.Error, OSError) as error:
            if self._index is not None and self._index.db.in_transaction:
                self._index.db.execute("ROLLBACK")
            self._index = None  # opened anew by the next one, and made anew when it is damaged
            for id_ in ids:
                _tell(id=id_, error=str(error))
        else:
            for id_ in ids:
                _tell(id=id_, done=True)


def _tell(**answer: Any) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    Program(*map(Path, sys.argv[1:])).run()
