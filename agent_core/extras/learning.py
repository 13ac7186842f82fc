"""What is made of turns that have ended: on a thread of its own, behind the session's back but before its eyes.

A turn that begins has the model for itself: what is under way is given up and tried again after it.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, Interrupted, MemoryFailure
from agent_core.events import Event
from agent_core.knowledge import Memory
from agent_core.mind import distil
from agent_core.mind.meter import Meter
from agent_core.ports.extras import EndedTurn
from agent_core.ports.model import Line
from agent_core.tools.remember import Keeping

log = logging.getLogger(__name__)


class Learner:
    """Of one session. Safe to use from several threads.

    `connect` gives a new client for a model, by provider and name; `meter` is the learner's own.
    """

    def __init__(
        self, keeping: Keeping, connect: Callable[[str, str], Line], meter: Meter, emit: Callable[[Event], None]
    ) -> None:
        self.known: tuple[Memory, ...] = ()
        """What the turn that runs was told."""
        self._keeping = keeping
        self._connect = connect
        self._meter = meter
        self._emit = emit
        self._lock = threading.Lock()
        self._left: deque[tuple[EndedTurn, tuple[Memory, ...]]] = deque(maxlen=limits.DISTIL_WAITING)
        self._scope: CancelScope | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def learn(self, turn: EndedTurn) -> None:
        """Look at a turn soon. Returns at once."""
        if not distil.is_worth_it(turn):
            return
        with self._lock:
            if self._closed:
                return
            self._left.append((turn, self.known))
            if self._scope is None:
                self._scope = CancelScope()
                self._thread = threading.Thread(
                    target=self._run, args=(self._scope, self._thread), name="distil", daemon=True
                )
                self._thread.start()

    @property
    def is_learning(self) -> bool:
        """A turn is being looked at."""
        with self._lock:
            return self._scope is not None

    def give_way(self) -> None:
        """A turn begins. What is looked at is looked at again when it has ended."""
        with self._lock:
            if self._scope is not None:
                self._scope.cancel()
                self._scope = None

    def close(self) -> None:
        """The session is closed."""
        with self._lock:
            self._closed = True
            self._left.clear()
        self.give_way()
        if self._thread is not None:
            self._thread.join(limits.DISTIL_CLOSE)

    def _run(self, scope: CancelScope, before: threading.Thread | None) -> None:
        """`before`: the one that gave way may still be at the turn that is the first here; it may even keep it."""
        if before is not None:
            before.join()
        with scope:
            while True:
                with self._lock:
                    if scope.cancelled:
                        return
                    if not self._left:
                        self._scope = None
                        return
                    turn, known = self._left[0]
                try:
                    self._keep(turn, self._distilled(turn, known, scope), scope)
                except Interrupted:
                    return
                except AgentError as error:  # a session does not need it
                    log.warning("a turn was not distilled: %s: %s", error.code, error.text)
                except Exception:  # the thread goes on: whatever went wrong with this turn
                    log.exception("distilling a turn crashed")
                with self._lock:
                    if self._left and self._left[0][0] is turn:
                        self._left.popleft()

    def _distilled(
        self, turn: EndedTurn, known: tuple[Memory, ...], scope: CancelScope
    ) -> tuple[tuple[Memory, bool], ...]:
        def connect() -> Line:
            return self._connect(turn.model, turn.provider)

        return distil.distil(turn, known, connect, self._meter, self._keeping.redact, self._emit, scope)

    def _keep(self, turn: EndedTurn, made: tuple[tuple[Memory, bool], ...], scope: CancelScope) -> None:
        keeping = self._keeping
        scope.check()
        for memory, everywhere in made:
            memory = replace(memory, source=keeping.session, scope="" if everywhere else keeping.workspace)
            try:
                if not keeping.asks():
                    if (kept := keeping.memories.add(memory)) is not None:
                        keeping.tell(kept, False)
                        keeping.memories.search(kept.text, 1)  # what it takes to find it is done here, not in a turn
                elif keeping.stage is not None:
                    keeping.stage(memory)
                    keeping.tell(memory, True)
            except MemoryFailure as failure:
                log.info("not remembered: %s", failure.text)


class Learns:
    """What an extra has that makes something of turns that have ended. `learner` None: nobody does."""

    def __init__(self, learner: Learner | None) -> None:
        self._learner = learner

    def ended(self, turn: EndedTurn) -> None:
        if self._learner is not None:
            self._learner.learn(turn)

    @property
    def is_learning(self) -> bool:
        return self._learner is not None and self._learner.is_learning

    def close(self) -> None:
        if self._learner is not None:
            self._learner.close()
