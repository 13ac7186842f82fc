"""The board: which sub-agents a session has had, how each is, and the way to stop or steer one. Source: SUB-02, SUB-09.

Rows are told to the listener as a whole. What changes with every call is told at most every limits.AGENT_TOLD seconds,
a state at once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.delegation import AgentRow
from agent_core.records import dataclass
from agent_core.session.mailbox import Mailbox
from agent_core.text.ansi import clean

Rows = tuple[AgentRow, ...]


@dataclass(slots=True)
class _Live:
    """One that has not ended."""

    scope: CancelScope
    steers: list[str]
    heard: Mailbox | None = None
    """All that its turn has told, for whoever looks at it; None: it waits for its place."""
    words: list[str] = field(default_factory=list)
    """As `steers`, of the model that asked for it: what comes too late is nobody's."""
    given_up: bool = False
    """That model has stopped it."""


class Board:
    """Of one session. Safe to use from several threads; nothing here blocks but the first `add`, which may read."""

    def __init__(
        self,
        tell: Callable[[Rows], None],
        earlier: Callable[[], Rows] = tuple,
        give_back: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`earlier`: the rows of the session's last run; asked once. May raise StoreError. `give_back` takes texts of
        the person's that came too late."""
        self._tell = tell
        self._give_back = give_back
        self._earlier = earlier
        self._lock = threading.Lock()
        self._rows: dict[str, AgentRow] | None = None
        self._live: dict[str, _Live] = {}
        self._told = 0.0
        self._later: threading.Timer | None = None
        self._closed = False

    @property
    def rows(self) -> Rows:
        """All that are shown, the newest last. The first call may read. Raises StoreError."""
        with self._lock:
            return tuple(self._known().values())

    def _known(self) -> dict[str, AgentRow]:
        if self._rows is None:
            # One that was at work then is not any more: this board did not begin it.
            rows = (row if row.ended is not None else replace(row, state="interrupted", ended=row.started)
                    for row in self._earlier())  # fmt: skip
            self._rows = {row.id: replace(row, preview=preview(row.preview)) for row in rows}
        return self._rows

    def add(self, name: str, task: str, scope: CancelScope, *, group: str = "", background: bool = False) -> AgentRow:
        """A sub-agent has been asked for; it waits for its place. Raises StoreError."""
        with self._lock:
            rows = self._known()
            numbers = [int(last) for row_id in rows if (last := row_id.rpartition("-")[2]).isdecimal()]
            agent_id = f"agent-{max(numbers, default=0) + 1}"
            row = AgentRow(agent_id, name, task, "waiting", time.time(), group=group, background=background)
            rows[row.id] = row
            self._live[row.id] = _Live(scope, [])
            ended = [row_id for row_id in rows if row_id not in self._live]
            for row_id in ended[: max(0, len(rows) - limits.AGENTS_SHOWN)]:
                del rows[row_id]
            closed = self._closed
        if closed:
            scope.cancel()
        self._say(at_once=True)
        return row

    def change(self, agent_id: str, **fields: Any) -> AgentRow:
        """Put fields of a row; gives it as it is now."""
        with self._lock:
            rows = self._known()
            before = rows[agent_id]
            rows[agent_id] = row = replace(before, **fields)
            at_once = row.state != before.state or row.quiet != before.quiet
        if row != before:
            self._say(at_once)
        return row

    def end(self, agent_id: str, **fields: Any) -> AgentRow:
        """It has ended: how, and when. Texts for it that it has not taken go back to the person."""
        with self._lock:
            live = self._live.pop(agent_id, None)
        row = self.change(agent_id, ended=time.time(), doing="", quiet=0.0, **fields)
        for text in live.steers if live is not None else ():
            self._give_back(text)
        return row

    def hear(self, agent_id: str, heard: Mailbox) -> None:
        """Its turn begins, and tells into `heard` until it has ended."""
        with self._lock:
            self._live[agent_id].heard = heard

    def heard(self, agent_id: str) -> Mailbox | None:
        """What one that is at work has told since it began, and what it tells from now on; None: it is not at work."""
        with self._lock:
            live = self._live.get(agent_id)
            return live.heard if live is not None else None

    # -- what a person does -------------------------------------------------------------------------------------

    def stop(self, agent_id: str) -> None:
        """Stop one; what has ended stays as it is."""
        with self._lock:
            live = self._live.get(agent_id)
        if live is not None:
            live.scope.cancel()

    def steer(self, agent_id: str, text: str) -> None:
        """Give one that has not ended a text for its next step; else the person has it again."""
        with self._lock:
            live = self._live.get(agent_id)
            if live is not None and text.strip():
                live.steers.append(text)
        if live is None and text.strip():
            self._give_back(text)

    def take_steers(self, agent_id: str) -> list[str]:
        with self._lock:
            live = self._live.get(agent_id)
            if live is None:
                return []
            taken, live.steers, live.words = [*live.steers, *live.words], [], []
            return taken

    # -- what the model does that asked for them -----------------------------------------------------------------

    def named(self, name: str) -> Rows:
        """Those that an id means, or the label of a group; none: there are none."""
        wanted = name.strip().casefold()
        return tuple(row for row in self.rows if wanted and wanted in (row.id.casefold(), row.group.casefold()))

    def give_up(self, agent_id: str) -> bool:
        """Stop one; False when it has ended."""
        with self._lock:
            live = self._live.get(agent_id)
            if live is None:
                return False
            live.given_up = True
        live.scope.cancel()
        return True

    def was_given_up(self, agent_id: str) -> bool:
        """It has not ended, and the model has stopped it."""
        with self._lock:
            live = self._live.get(agent_id)
            return live is not None and live.given_up

    def tell(self, agent_id: str, text: str) -> bool:
        """Give one a text for its next step; False when it has ended."""
        with self._lock:
            live = self._live.get(agent_id)
            if live is None:
                return False
            live.words.append(text)
            return True

    @property
    def is_closed(self) -> bool:
        """The session is closed."""
        return self._closed

    def close(self) -> None:
        """The session is closed: every one is stopped, one that comes late too."""
        with self._lock:
            self._closed = True
            scopes = [live.scope for live in self._live.values()]
            if self._later is not None:
                self._later.cancel()
        for scope in scopes:
            scope.cancel()

    # -- telling ------------------------------------------------------------------------------------------------

    def _say(self, at_once: bool) -> None:
        with self._lock:
            if self._closed and not at_once:
                return
            wait = self._told + limits.AGENT_TOLD - time.monotonic()
            if not at_once and wait > 0:
                if self._later is None:
                    self._later = threading.Timer(wait, self._say, (True,))
                    self._later.daemon = True
                    self._later.start()
                return
            if self._later is not None:
                self._later.cancel()
                self._later = None
            self._told = time.monotonic()
            # Under the lock, so that an older board never comes behind a newer one.
            self._tell(tuple((self._rows or {}).values()))


def preview(text: str) -> str:
    """The beginning of a result: one line of at most limits.AGENT_PREVIEW characters (NUM-16)."""
    return " ".join(clean(text[: limits.AGENT_PREVIEW * 8]).split())[: limits.AGENT_PREVIEW]
