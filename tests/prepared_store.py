"""A new database in a test is a copy of one that was made once: to make its tables takes ten times as long.

The whole way stays for tests of the schema (`made_anew`) and for programs that tests start.
"""

import contextlib
import tempfile
from pathlib import Path

from agent_core.store import db

_MAKE = db._make_private


def _made() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        db.Database.open(path).close()
        return path.read_bytes()


@contextlib.contextmanager
def copied():
    """Within it an empty database file is filled with the tables of the newest version as soon as it is made."""
    ready = _made()

    def make(path):
        _MAKE(path)
        if path.stat().st_size == 0:
            path.write_bytes(ready)

    db._make_private = make
    try:
        yield
    finally:
        db._make_private = _MAKE


@contextlib.contextmanager
def made_anew():
    """Within it every database is made as the program makes its first one."""
    before, db._make_private = db._make_private, _MAKE
    try:
        yield
    finally:
        db._make_private = before
