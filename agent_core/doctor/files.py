"""The program's own files: its home, what only the user may read, the sessions."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from agent_core import limits
from agent_core.doctor.check import Case, Check
from agent_core.names import APP
from agent_core.store.db import APPLICATION_ID, latest_version
from agent_core.text.printable import printable


def home(case: Case) -> Iterator[Check]:
    home, shown = case.places.data_home, case.short(case.places.data_home)
    if not home.exists():
        above = next(folder for folder in home.parents if folder.exists())
        if os.access(above, os.W_OK | os.X_OK):
            yield Check("home", "Home", "ok", f"{shown} is made at the first start.")
        else:
            yield Check("home", "Home", "fail", f"{shown} cannot be made: {above} is closed to you.", _HOME_FIX)
        return
    if not home.is_dir() or not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Check("home", "Home", "fail", f"{shown} is no folder that you may write.", _HOME_FIX)
        return
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        text = f"Others may {'change' if mode & 0o022 else 'look into'} {shown} (mode {mode:04o})."
        yield Check("home", "Home", "fail" if mode & 0o022 else "warn", text, f"chmod 700 {shown}")
    else:
        yield Check("home", "Home", "ok", f"{shown}, yours alone.")


_HOME_FIX: Final = "Give yourself the rights, or set NANOHERMES_HOME to a folder of yours."


_PRIVATE: Final = (".env", "grants.json", "credentials.json")


def private_files(case: Case) -> Iterator[Check]:
    good = []
    for name in _PRIVATE:
        file = case.places.data_home / name
        try:
            found = file.stat()
        except FileNotFoundError:
            continue
        shown, mode = case.short(file), stat.S_IMODE(found.st_mode)
        if found.st_uid != os.geteuid():
            yield Check("private", "Private files", "fail", f"{shown} belongs to somebody else.", f"Look at {shown}.")
        elif mode & 0o077:
            text = f"Others may {'change' if mode & 0o022 else 'read'} {shown} (mode {mode:04o})."
            yield Check("private", "Private files", "fail", text, f"chmod 600 {shown}")
        else:
            good.append(name)
    if good:
        yield Check("private", "Private files", "ok", f"{', '.join(good)}: yours alone.")
    problem = case.grants.read().problem
    if problem is not None:
        yield Check("grants", "Grants", "fail", problem.text, f"Correct {case.short(case.places.grants_file)}.")


def sessions(case: Case) -> Iterator[Check]:
    state, shown = case.places.state_db, case.short(case.places.state_db)
    for file in sorted(state.parent.glob(f"{state.name}.corrupt-*")) if state.parent.is_dir() else ():
        if not file.name.endswith(("-wal", "-shm")):
            text = f"{file.name} was damaged and put aside."
            yield Check("store_aside", "Sessions", "warn", text, f"{APP} sessions check --repair")
    if not state.exists() or state.stat().st_size == 0:
        yield Check("store", "Sessions", "ok", f"{shown} is made at the first start.")
        return
    repair = f"{APP} sessions check --repair"
    try:
        uri = f"{state.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=limits.SQLITE_BUSY)) as c:
            (application,) = c.execute("PRAGMA application_id").fetchone()
            (version,) = c.execute("PRAGMA user_version").fetchone()
            (verdict,) = c.execute("PRAGMA quick_check(1)").fetchone()
            (journal,) = c.execute("PRAGMA journal_mode").fetchone()
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter from SQLite's own words about a spoiled name
        yield Check("store", "Sessions", "fail", f"{shown} cannot be read: {error}.", repair)
        return
    if application != APPLICATION_ID and (application or version):
        text = f"{shown} is a database of another program."
        yield Check("store", "Sessions", "fail", text, "Move it away, or set NANOHERMES_HOME to another folder.")
    elif verdict != "ok":
        yield Check("store", "Sessions", "fail", f"{shown} is damaged: {printable(str(verdict))}", repair)
    elif version > latest_version():
        text = f"{shown} was written by a newer version (schema {version}; this one knows {latest_version()})."
        yield Check("store", "Sessions", "fail", text, "Update the program.")
    elif not os.access(state, os.W_OK):
        yield Check("store", "Sessions", "fail", f"You may not write {shown}.", f"chmod u+w {shown}")
    elif journal != "wal":
        text = f"{shown} is in journal mode {journal}; the next start makes that WAL."
        yield Check("store", "Sessions", "warn", text, "Start the program once.")
    else:
        old = "" if version == latest_version() else "; the next start brings it up to date"
        yield Check("store", "Sessions", "ok", f"{shown}: sound, schema {version}, WAL{old}.")


def search(case: Case) -> Iterator[Check]:
    with closing(sqlite3.connect(":memory:")) as c:
        try:
            c.execute("CREATE VIRTUAL TABLE t USING fts5 (a)")
        except sqlite3.OperationalError as error:
            fix = "Use a Python whose SQLite has FTS5; nearly every distribution's has."
            yield Check("fts5", "Search", "fail", f"SQLite here has no FTS5 ({error}).", fix)
        else:
            yield Check("fts5", "Search", "ok", "SQLite has FTS5.")
