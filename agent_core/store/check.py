"""Looks through everything that is stored, says what is damaged and where, and mends it. The original always stays.

`examine` changes nothing and needs no lock. `repair` first makes a copy; a file that SQLite cannot read whole is put
aside and what can be read of it goes into a new one.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import field
from pathlib import Path
from typing import Final, Literal

from agent_core import limits
from agent_core.errors import StoreError
from agent_core.messages import from_json
from agent_core.records import dataclass
from agent_core.store import index_child
from agent_core.store.db import (
    APPLICATION_ID,
    Database,
    is_damage,
    latest_schema,
    latest_version,
    readable,
    schema,
)
from agent_core.store.owner import life_of
from agent_core.store.salvage import Salvaged, salvage
from agent_core.store.undo import TURN_START

Code = Literal[
    "damaged", "unreadable", "kept_out", "counts", "orphans", "index", "spill_missing", "set_aside", "foreign", "newer"
]

_SPILL_NAME: Final = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}\.txt")
_TEXTS: Final = ("id", "title", "workspace", "model", "provider", "mode", "todos", "goal", "seen", "persona")
_SHARED_FIRST: Final = 0x4000_0002  # SQLite's shared locks are on these bytes
_SHARED_SIZE: Final = 510
_SAVED: Final = "salvaged:"  # key in state_meta of a set-aside file that has been read
_MENDED: Final = frozenset({"damaged", "unreadable", "counts", "orphans", "index", "set_aside"})


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be."""

    code: Code
    text: str
    """What, and where."""
    session: str = ""
    """Id of the session it is in; empty: in none, or in all."""
    uid: str = ""
    """Of the message."""

    @property
    def can_be_mended(self) -> bool:
        return self.code in _MENDED


@dataclass(frozen=True, slots=True)
class Report:
    file: Path
    sessions: int = 0
    messages: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Nothing is wrong that mending would put right."""
        return not any(problem.can_be_mended or problem.code in ("foreign", "newer") for problem in self.problems)


@dataclass(frozen=True, slots=True)
class Where:
    """The files of one home."""

    state: Path
    index: Path
    spill_folders: tuple[Path, ...] = ()


@dataclass(slots=True)
class Repair:
    """What `repair` did, in sentences, and how things stand then."""

    done: list[str] = field(default_factory=list)
    copy: Path | None = None
    """Where the state before is kept."""
    report: Report | None = None


# -- looking ----------------------------------------------------------------------------------------------------------


def examine(where: Where) -> Report:
    """Look through a home's database, its index and its long outputs. Changes nothing, waits for nobody.

    Raises StoreError "store_failed" when the file cannot be opened at all.
    """
    state = where.state
    aside = [
        Problem(
            "set_aside",
            f"{file.name} was damaged and put aside. --repair brings back what can be read of it.",
        )
        for file in _set_aside_files(state)
    ]
    if not state.exists() or state.stat().st_size == 0:
        return Report(state, problems=tuple(aside))
    try:
        with closing(_reading(state)) as c:
            refused = _not_ours(state, c)
            if refused is not None:
                return Report(state, problems=(refused,))
            aside = [p for p, file in zip(aside, _set_aside_files(state), strict=True) if not _is_saved(c, file)]
            problems = [
                *_structure(c),
                *_bodies(c),
                *_rows_texts(c),
                *_counts(c),
                *_orphans(c),
                *_spills(c, where.spill_folders),
            ]
            problems += _index(c, where.index)
            (sessions,) = c.execute("SELECT count(*) FROM sessions WHERE deleted_at IS NULL").fetchone()
            (messages,) = c.execute("SELECT count(*) FROM messages WHERE position IS NOT NULL").fetchone()
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter from SQLite's own words about a spoiled name
        too_long = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_TOOBIG  # a row tells a length that none has
        if isinstance(error, sqlite3.Error) and not (too_long or is_damage(error)):
            words = f"{state} cannot be looked at: {error}. Check the disk and the rights of the file."
            raise StoreError("store_failed", words, path=str(state)) from error
        damage = Problem("damaged", f"{state.name} cannot be read whole: {error}.")
        return Report(state, problems=(damage, *aside))
    return Report(state, sessions, messages, (*problems, *aside))


def _reading(file: Path) -> sqlite3.Connection:
    c = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=limits.SQLITE_BUSY)
    c.text_factory = readable
    return c


def _not_ours(state: Path, c: sqlite3.Connection) -> Problem | None:
    (application,) = c.execute("PRAGMA application_id").fetchone()
    (version,) = c.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION_ID and version > latest_version():
        return Problem("newer", f"{state} was written by a newer version of this program. Update to check it.")
    if (application, version) == (APPLICATION_ID, latest_version()):
        return None
    if schema(c) == latest_schema():
        return Problem("damaged", f"{state.name} is this version's; the numbers in its header are wrong.")
    if application != APPLICATION_ID:
        return Problem("foreign", f"{state} is a database of another program. Nothing in it was looked at.")
    raise StoreError(
        "store_older",
        f"{state} was written by an older version. Start the program once: it brings the file up to date.",
    )


def _structure(c: sqlite3.Connection) -> Iterator[Problem]:
    for (words,) in c.execute(f"PRAGMA integrity_check({limits.CHECK_PROBLEMS})"):
        if words != "ok":
            yield Problem("damaged", f"The file is damaged: {' '.join(str(words).split())}")


def _bodies(c: sqlite3.Connection) -> Iterator[Problem]:
    """Messages whose content is spoiled: they are missing from their conversations."""
    for session, uid, body, position in c.execute("SELECT session_id, uid, CAST(body AS BLOB), position FROM messages"):
        try:
            from_json(json.loads(body.decode("utf-8")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
            if position is None:
                yield Problem("kept_out", f"A message that cannot be read ({reason}) is kept apart.", session, uid)
            else:
                yield Problem("unreadable", f"A message cannot be read ({reason}).", session, uid)


def _rows_texts(c: sqlite3.Connection) -> Iterator[Problem]:
    """Rows of sessions whose texts are no texts any more: with them no list of sessions could be read."""
    for session, *values in c.execute(f"SELECT {', '.join(f'CAST({name} AS BLOB)' for name in _TEXTS)} FROM sessions"):
        try:
            b"".join((session, *(value or b"" for value in values))).decode("utf-8")
        except UnicodeDecodeError:
            words = "A text in the session's row cannot be read."
            yield Problem("unreadable", words, session.decode("utf-8", "replace"))


def _counts(c: sqlite3.Connection) -> Iterator[Problem]:
    for session, *counts in c.execute(
        "SELECT s.id, s.message_count, s.turn_count, s.tool_call_count, count(m.id), "
        f"coalesce(sum(m.{TURN_START}), 0), coalesce(sum(m.role = 'tool'), 0) "
        "FROM sessions s LEFT JOIN messages m ON m.session_id = s.id AND m.position IS NOT NULL GROUP BY s.id"
    ):
        for name, said, there in zip(("messages", "turns", "tool results"), counts[:3], counts[3:], strict=True):
            if said != there:
                yield Problem("counts", f"The session's row says {said} {name}; there are {there}.", session)


def _orphans(c: sqlite3.Connection) -> Iterator[Problem]:
    for session, number in c.execute(
        "SELECT session_id, count(*) FROM messages m WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = m.session_id) "
        "GROUP BY session_id"
    ):
        yield Problem("orphans", f"{number} messages belong to a session that is not there.", session)


def _spills(c: sqlite3.Connection, folders: Sequence[Path]) -> Iterator[Problem]:
    """Long outputs that a conversation speaks of and that are gone: the oldest go when there are too many."""
    if not folders:
        return
    there = {file.name for folder in folders if folder.is_dir() for file in folder.iterdir()}
    missing: dict[str, set[str]] = {}
    for session, body in c.execute("SELECT session_id, body FROM messages WHERE instr(body, '.txt')"):
        gone = set(_SPILL_NAME.findall(str(body))) - there
        if gone:
            missing.setdefault(session, set()).update(gone)
    for session, names in missing.items():
        words = f"{len(names)} long outputs are not kept any more; their beginnings and ends are in the conversation."
        yield Problem("spill_missing", words, session)


def _index(c: sqlite3.Connection, index: Path) -> list[Problem]:
    """Whether the search index says what the database holds, of the sessions it thinks it knows."""
    if not index.exists():
        return []
    try:
        with closing(_reading(index)) as i:
            (version,) = i.execute("PRAGMA user_version").fetchone()
            if version != index_child.VERSION:
                return []  # made anew by the next search
            if i.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return [Problem("index", "The search index is damaged.")]
            known = set(i.execute("SELECT id, stamp FROM sessions"))
            fresh = {id_ for id_, stamp in c.execute(index_child.SESSIONS).fetchall() if (id_, stamp) in known}
            held = {row for row in i.execute("SELECT session, uid, edits FROM docs WHERE uid != ''") if row[0] in fresh}
            stored = {row for row in c.execute("SELECT session_id, uid, edits FROM messages") if row[0] in fresh}
            (words,) = i.execute("SELECT count(*) FROM docs WHERE words IS NOT NULL").fetchone()
            (rows,) = i.execute("SELECT count(*) FROM messages_fts_docsize").fetchone()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return [Problem("index", f"The search index cannot be read: {error}.")]
    wrong = len(held ^ stored) + abs(words - rows)
    return [Problem("index", f"The search index differs from the database in {wrong} messages.")] if wrong else []


def _set_aside_files(state: Path) -> list[Path]:
    found = state.parent.glob(f"{state.name}.corrupt-*")
    return sorted(file for file in found if not file.name.endswith(("-wal", "-shm")))


def _is_saved(c: sqlite3.Connection, file: Path) -> bool:
    return c.execute("SELECT 1 FROM state_meta WHERE key = ?", (_SAVED + file.name,)).fetchone() is not None


# -- mending ----------------------------------------------------------------------------------------------------------


def repair(where: Where) -> Repair:
    """Mend what `examine` finds. Raises StoreError when another program uses the file, or it is not ours."""
    before = examine(where)
    result = Repair()
    codes = {problem.code for problem in before.problems}
    if codes & {"foreign", "newer"}:
        raise StoreError("store_foreign", before.problems[0].text, path=str(where.state))
    if not any(problem.can_be_mended for problem in before.problems):
        result.report = before
        return result
    if "damaged" in codes:
        _rebuild(where.state, result)
    elif codes & {"unreadable", "counts", "orphans"}:
        result.copy = _copy(where.state)
        _mend_rows(where.state, result)
    if _set_aside_files(where.state):
        _bring_back(where.state, result)
    if "index" in codes:
        for suffix in ("", "-wal", "-shm"):
            where.index.with_name(where.index.name + suffix).unlink(missing_ok=True)
        result.done.append("The search index was removed; the next search makes it anew.")
    result.report = examine(where)
    return result


def _rebuild(state: Path, result: Repair) -> None:
    """Put what can be read of a damaged file into a new one, which takes its place."""
    _check_alone(state)
    _clear_left(state)
    fresh, aside = state.with_name(f"{state.name}.new-{os.getpid()}"), _name(state, "corrupt")
    try:
        with closing(Database.open(fresh)) as database:
            saved = salvage(state, database)
            _note_saved(database, aside)
        _check_alone(state)
        for suffix in ("-wal", "-shm", ""):
            old = state.with_name(state.name + suffix)
            if old.exists():
                old.rename(aside.with_name(aside.name + suffix))
        fresh.rename(state)
    finally:
        for suffix in ("", "-wal", "-shm"):
            fresh.with_name(fresh.name + suffix).unlink(missing_ok=True)
    result.copy = aside
    result.done.append(f"{state.name} was damaged. It is kept as {aside.name}; {_words(saved)}")
    result.done += _lost(saved)


def _clear_left(state: Path) -> None:
    """What a repair that was killed had not finished is in nobody's way, but it takes room."""
    for left in state.parent.glob(f"{state.name}.new-*"):
        pid = re.match(r"\d+", left.name.removeprefix(f"{state.name}.new-"))
        if pid is None or life_of(pid[0]) == "lives":
            continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _bring_back(state: Path, result: Repair) -> None:
    """Sessions of files that were put aside, as far as they are not there."""
    with closing(Database.open(state)) as database:
        for file in _set_aside_files(state):
            with database.read() as c:
                if _is_saved(c, file):
                    continue
            saved = salvage(file, database)
            _note_saved(database, file)
            result.done.append(f"From {file.name}, which stays: {_words(saved)}")
            result.done += _lost(saved)


def _note_saved(database: Database, file: Path) -> None:
    """What is deleted from now on does not come back from that file."""
    database.write(lambda c: c.execute("INSERT OR REPLACE INTO state_meta VALUES (?, '')", (_SAVED + file.name,)))


def _words(saved: Salvaged) -> str:
    spoiled = f", {saved.unreadable} more are spoiled" if saved.unreadable else ""
    return f"{saved.sessions} sessions with {saved.messages} messages could be read{spoiled}."


def _lost(saved: Salvaged) -> list[str]:
    return [f'Session {id_[:8]} "{title}" has lost {number} messages.' for id_, title, number in saved.short]


def _mend_rows(state: Path, result: Repair) -> None:
    def work(c: sqlite3.Connection) -> list[str]:
        done: list[str] = []
        orphans = {problem.session for problem in _orphans(c)}
        for session in orphans:
            c.execute(
                "INSERT INTO sessions (id, title, workspace, created, updated) SELECT session_id, 'Recovered session', "
                "?, min(created), max(created) FROM messages WHERE session_id = ?",
                (str(Path.home()), session),
            )
            done.append(f"Messages without a session have one again: {session[:8]}.")
        spoiled = [problem for problem in _bodies(c) if problem.code == "unreadable"]
        for problem in spoiled:
            c.execute(
                "UPDATE messages SET position = NULL WHERE session_id = ? AND uid = ?", (problem.session, problem.uid)
            )
            c.execute("UPDATE sessions SET revision = revision + 1 WHERE id = ?", (problem.session,))
        if spoiled:
            done.append(f"{len(spoiled)} messages that cannot be read are out of their conversations; the rows stay.")
        for problem in list(_rows_texts(c)):
            for name in _TEXTS[1:]:
                (value,) = c.execute(
                    f"SELECT CAST({name} AS BLOB) FROM sessions WHERE id = ?", (problem.session,)
                ).fetchone() or (None,)
                if value is not None:
                    readable = value.decode("utf-8", "replace")
                    c.execute(f"UPDATE sessions SET {name} = ? WHERE id = ?", (readable, problem.session))
            done.append(f"The row of session {problem.session[:8]} can be read again.")
        wrong = {problem.session for problem in _counts(c)}
        for session in wrong:
            c.execute(
                "UPDATE sessions SET (message_count, turn_count, tool_call_count) = "
                f"(SELECT count(*), coalesce(sum({TURN_START}), 0), coalesce(sum(role = 'tool'), 0) FROM messages "
                "WHERE session_id = ?1 AND position IS NOT NULL) WHERE id = ?1",
                (session,),
            )
        if wrong:
            done.append(f"The counts of {len(wrong)} sessions are right again.")
        return done

    with closing(Database.open(state)) as database:
        result.done += database.write(work)


def _copy(state: Path) -> Path:
    """The state as it is, journal included, in one file beside it."""
    copy = _name(state, "before-repair")
    os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(_reading(state)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


def _name(state: Path, what: str) -> Path:
    stem = f"{state.name}.{what}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    return next(file for n in range(1_000) if not (file := state.with_name(stem + (f"-{n}" if n else ""))).exists())


def _check_alone(state: Path) -> None:
    """Nobody else may have a file open that is replaced: they would go on writing into the one that is put aside.

    Whoever has it open holds a shared lock on it as long; SQLite itself would change the file to find out. Raises
    StoreError "store_in_use".
    """
    fd = os.open(state, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
    except OSError as error:
        raise StoreError(
            "store_in_use", f"{state} is open in another program. Close it, then repair.", path=str(state)
        ) from error
    finally:
        os.close(fd)
