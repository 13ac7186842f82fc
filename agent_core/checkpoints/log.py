"""Keeps what one turn changes in files (ports.ChangeLog)."""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

from agent_core.checkpoints.looks import Looks
from agent_core.checkpoints.records import FOLDER, NOTHING, UNKNOWN, NamedTurn, Records, State, file_state, link_state
from agent_core.errors import StoreError
from agent_core.rollback import ChangeBy
from agent_core.sandbox.policy import Box

log = logging.getLogger(__name__)


class TurnLog:
    """`records` opens the record, when there is something to put in. Safe to use from several threads."""

    def __init__(self, records: Callable[[], Records], looks: Looks, turn: NamedTurn, owner: str, most: int) -> None:
        """`most`: bytes of a file that is kept."""
        self._records = records
        self._looks = looks
        self._turn = turn
        self._owner = owner
        self._most = most
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self.has_recorded = False
        """Whether there is something of this turn to look through and to bound."""
        self._unsure: list[tuple[int, bytes, State]] = []
        """Changes that tools were about to make: id, path, what was there."""
        self._told_wide = False

    def file(self, path: Path, before: bytes | None, after: bytes | None, mode: int | None = None) -> None:
        """See ports.ChangeLog."""
        is_link = mode is not None and stat.S_ISLNK(mode)
        was = NOTHING if before is None else link_state(before) if is_link else file_state(before, mode)
        now = NOTHING if after is None else file_state(after, None if is_link else mode)
        blobs = {state.digest: data for state, data in ((was, before), (now, after)) if data is not None}
        why = ""
        if before is not None and len(before) > self._most:
            was, why, blobs = UNKNOWN, "too_large", {}
        raw = os.fsencode(path)
        made: list[tuple[bytes, ChangeBy, State, State, str]] = []
        if after is not None:
            made = [(folder, "tool", NOTHING, FOLDER, "") for folder in _missing_above(raw)]
        try:
            records = self._records()
            ids = records.add(self._turn, [*made, (raw, "tool", was, now, why)], blobs, durable=True)
            self.has_recorded = True
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                "changes_not_kept",
                f"The file was not changed: what it was cannot be kept in the record of changes ({error}). Free some "
                "space and check the rights of the checkpoints folder, or set checkpoints.enabled to false.",
                error=str(error),
            ) from error
        if why == "":
            with self._lock:
                self._unsure.append((ids[-1], raw, was))

    def command(self, box: Box, *, beside: bool = False) -> Callable[[], None]:
        """See ports.ChangeLog. What cannot be recorded is logged: the command runs all the same."""
        if box.mode == "read-only":
            return lambda: None
        workspace = self._turn[2]
        try:
            found = self._looks.before_command(workspace, self._began)
            if found == "wide":
                self._tell_wide(workspace)
                return lambda: None
            self.settle()
            records = self._records()
            doubt = "beside" if beside else "unwatched" if found == "earlier" else ""
            window = records.open_window(self._turn, self._owner, doubt)
            self.has_recorded = True
        except (sqlite3.Error, OSError) as error:
            log.warning("what a command changes is not recorded: %s", error)
            return lambda: None

        def ended() -> None:
            try:
                self._records().close_window(window, time.time_ns())
            except (sqlite3.Error, OSError) as error:
                log.warning("the end of a command is not recorded: %s", error)
            self._looks.soon(workspace)

        return ended

    def close(self) -> None:
        """The turn is over."""
        try:
            self.settle()
        except (sqlite3.Error, OSError) as error:
            log.warning("the record of changes: %s", error)

    def settle(self) -> None:
        """Forget what tools were about to change and did not. Raises sqlite3.Error, OSError."""
        with self._lock:
            unsure, self._unsure = self._unsure, []
        never = [id_ for id_, path, was in unsure if _is_still(path, was, self._most)]
        if never:
            self._records().forget(never)

    def _tell_wide(self, workspace: str) -> None:
        """What commands change in a home folder, or in all of the machine, is not looked at: that is said once."""
        with self._lock:
            told, self._told_wide = self._told_wide, True
        if not told:
            records = self._records()
            change: tuple[bytes, ChangeBy, State, State, str] = (
                os.fsencode(workspace).rstrip(b"/") + b"/", "command", UNKNOWN, UNKNOWN, "too_wide"
            )  # fmt: skip
            records.add(self._turn, [change], {})
            self.has_recorded = True


def _missing_above(path: bytes) -> list[bytes]:
    """The folders above a path that are not there, the outermost first."""
    missing: list[bytes] = []
    folder = os.path.dirname(path)
    while folder not in (b"/", b"") and not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return missing[::-1]


def _is_still(path: bytes, was: State, most: int) -> bool:
    """Whether a path is as it was before a change of it was recorded."""
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return False
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file_state(file.read(status.st_size + 1), status.st_mode).same(was)
    except FileNotFoundError:
        return was == NOTHING
    except OSError:
        return False
