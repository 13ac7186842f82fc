"""The lease of a turn: waited for before the turn begins, renewed by a thread while it runs, given back at its end.

Source: LOOP-15, SESS-40.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import StoreError
from agent_core.store.lease import Holder, Lease, Leases, in_use

log = logging.getLogger(__name__)


class TurnLease:
    """A lease that is kept alive. When it is lost, the turn's scope is cancelled and the store takes nothing more."""

    def __init__(self, leases: Leases, lease: Lease, scope: CancelScope, refresh: float) -> None:
        self.lost = False
        self._leases = leases
        self._lease = lease
        self._scope = scope
        self._refresh = refresh
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name=f"lease-{lease.session_id[:8]}", daemon=True)
        self._keeper.start()

    def let_go(self) -> None:
        """Have the lease given back soon. Never blocks."""
        self._over.set()

    def end(self) -> None:
        """Give the lease back."""
        self._over.set()
        self._keeper.join()

    def _keep(self) -> None:
        while not self._over.wait(self._refresh):
            if not self._leases.renew(self._lease):
                self.lost = True
                self._scope.cancel()
                self._over.wait()  # until then whatever the turn still wants to store is refused
        try:
            self._leases.release(self._lease)
        except StoreError as error:  # it ends with this program, or with its time
            log.warning("the lease of session %s was not given back: %s", self._lease.session_id, error)


@contextmanager
def held(
    leases: Leases,
    session_id: str,
    scope: CancelScope,
    waiting: Callable[[Holder], None],
    patience: float = limits.LEASE_WAIT,
    refresh: float = limits.LEASE_REFRESH,
    allowed: Callable[[], None] = lambda: None,
) -> Iterator[TurnLease]:
    """Hold the lease of a session; while another program has it, wait for up to `patience` seconds.

    `waiting` is called at each look at who has it; `allowed` raises when the turn was given up. Raises StoreError
    "session_in_use" when that lasts too long, Interrupted when `scope` is cancelled meanwhile.
    """
    deadline = time.monotonic() + patience
    got = leases.acquire(session_id, allowed)
    while not isinstance(got, Lease):
        waiting(got)
        if time.monotonic() >= deadline:
            raise in_use(got)
        scope.wait(limits.LEASE_LOOK)
        scope.check()
        got = leases.holder(session_id) or leases.acquire(session_id, allowed)
    lease = TurnLease(leases, got, scope, refresh)
    try:
        yield lease
    finally:
        lease.end()
