"""Whose turn it is in a session: a lease that one program holds while it runs a turn there.

Whoever holds it may change the conversation; others may read. Each change is made in one transaction with a look at the
lease (`fence`), so that a program that lost it, because it was stopped for long, writes nothing over what the next one
does. Source: SESS-40.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable

from agent_core import limits
from agent_core.errors import StoreError
from agent_core.records import dataclass
from agent_core.store.db import LOCKED, Database
from agent_core.store.owner import Life, life_of, pid_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Holder:
    """Another program that runs a turn in a session."""

    pid: int
    since: float
    """Seconds since the epoch."""


def machine_seconds() -> float:
    """Seconds that all programs of this machine count alike and that nobody can set: also while it slept.

    Where there is no such clock, seconds since the epoch.
    """
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.time() if boot is None else time.clock_gettime(boot)


@dataclass(slots=True, eq=False)
class Lease:
    """One that this program was given, for one turn."""

    session_id: str
    expiry: float
    """By `machine_seconds`; 0: it is lost."""


class Leases:
    """The leases of one program. Safe to use from any thread."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Callable[[], float] = machine_seconds,
        life: Callable[[str], Life] = life_of,
    ) -> None:
        self._db = database
        self._owner = owner
        self._clock = clock
        self._life = life
        self._lock = threading.Lock()
        self._ours: dict[str, Lease] = {}
        """By session, the newest: a turn that was given up may still have an older one."""

    def acquire(self, session_id: str, allowed: Callable[[], None] = lambda: None) -> Lease | Holder:
        """The lease of a session, or the other program that has it. Raises StoreError, and what `allowed` raises.

        What a killed program held, and what nobody renewed in time, is taken at once. `allowed` is asked in the
        transaction, so that a turn that was given up never takes the lease of the one that came after it.
        """

        def work(c: sqlite3.Connection) -> Lease | Holder:
            allowed()
            other = self._other(c, session_id)
            if other is not None:
                return other
            expiry = self._clock() + limits.LEASE_TTL
            c.execute(
                "INSERT OR REPLACE INTO session_turn_leases (conversation_id, holder, acquired_at, expires_at) "
                "VALUES (?, ?, ?, ?)",
                (session_id, self._owner, time.time(), expiry),
            )
            lease = Lease(session_id, expiry)
            with self._lock:  # in the transaction: the newest here is the newest there
                made.append((lease, self._ours.get(session_id)))
                self._ours[session_id] = lease
            return lease

        made: list[tuple[Lease, Lease | None]] = []
        """With what was ours before it; several when the transaction was tried again."""
        try:
            return self._db.write(work, "transcript")
        except BaseException:  # it could not be committed: the disk may be full
            with self._lock:
                if made and self._ours.get(session_id) is made[-1][0]:
                    del self._ours[session_id]
                    if (before := made[0][1]) is not None:
                        self._ours[session_id] = before
            raise

    def renew(self, lease: Lease) -> bool:
        """Hold a lease for longer; False: it is lost, and nothing more is written under it. Raises no error.

        A database that others hold counts as a missed beat as long as the next one comes before the lease ends.
        """

        def work(c: sqlite3.Connection) -> float:
            expiry = self._clock() + limits.LEASE_TTL
            renewed = c.execute(
                "UPDATE session_turn_leases SET expires_at = ? WHERE conversation_id = ? AND holder = ?",
                (expiry, lease.session_id, self._owner),
            )
            return expiry if renewed.rowcount else 0.0

        if not lease.expiry or not self._is_newest(lease):
            return False
        try:
            lease.expiry = self._db.write(work, "activity")
        except StoreError as error:
            log.warning("the lease of session %s was not renewed: %s", lease.session_id, error)
            if error.code not in LOCKED or self._clock() + limits.LEASE_REFRESH >= lease.expiry:
                lease.expiry = 0.0
        return lease.expiry > 0

    def release(self, lease: Lease) -> None:
        """Give a lease back. Raises StoreError; it then ends by itself."""
        with self._lock:
            if self._ours.get(lease.session_id) is not lease:
                return
            del self._ours[lease.session_id]

        def work(c: sqlite3.Connection) -> None:
            with self._lock:
                if lease.session_id in self._ours:  # another turn of this program has taken it meanwhile
                    return
            mine = (lease.session_id, self._owner)
            c.execute("DELETE FROM session_turn_leases WHERE conversation_id = ? AND holder = ?", mine)

        self._db.write(work, "activity")

    def _is_newest(self, lease: Lease) -> bool:
        with self._lock:
            return self._ours.get(lease.session_id) is lease

    def is_ours(self, session_id: str) -> bool:
        """This program runs a turn in the session now. Does not block."""
        with self._lock:
            return session_id in self._ours

    def holder(self, session_id: str) -> Holder | None:
        """The other program that runs a turn in a session now. Raises StoreError."""
        with self._db.read() as c:
            return self._other(c, session_id)

    def fence(self, c: sqlite3.Connection, session_id: str) -> None:
        """Part of every change of a conversation: raises StoreError when the change is not ours to make.

        Code "session_in_use": another program runs a turn there. "session_turn_lease_lost": this one did, and its
        lease has gone to another.
        """
        with self._lock:
            lease = self._ours.get(session_id)
        if lease is None:
            other = self._other(c, session_id)
            if other is not None:
                raise in_use(other)
            return
        ours = "SELECT 1 FROM session_turn_leases WHERE conversation_id = ? AND holder = ?"
        if not lease.expiry or not c.execute(ours, (session_id, self._owner)).fetchone():
            raise lost()

    def _other(self, c: sqlite3.Connection, session_id: str) -> Holder | None:
        found = c.execute(
            "SELECT holder, acquired_at, expires_at FROM session_turn_leases WHERE conversation_id = ?", (session_id,)
        ).fetchone()
        if found is None:
            return None
        holder, since, expiry = found
        if holder == self._owner or expiry <= self._clock() or self._life(holder) == "gone":
            return None
        return Holder(pid_of(holder), since)


def in_use(other: Holder) -> StoreError:
    """The error of a change that has to wait for another program's turn."""
    since = time.strftime("%H:%M", time.localtime(other.since))
    return StoreError(
        "session_in_use",
        f"The session is in use by process {other.pid} since {since}. Try again when its turn has ended, or /fork to "
        "go on in a copy.",
        pid=other.pid,
        since=since,
    )


def lost() -> StoreError:
    """The error of a turn whose lease went to another program."""
    return StoreError(
        "session_turn_lease_lost",
        "Session turn lease lost: this turn stood still for so long that another program took the session over. "
        "Nothing more of it is stored. Send the message again when that program has ended its turn.",
    )
