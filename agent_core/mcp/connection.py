"""The connection to one server: made when it is needed, anew when it has ended, and no more than so often."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.mcp import handshake, protocol
from agent_core.mcp.handshake import Agreed, Kind, OldTransport
from agent_core.mcp.lane import Lane
from agent_core.mcp.protocol import Era, Refused
from agent_core.mcp.words import ServerConfig, ServerFailure, ServerInfo, Transport
from agent_core.text.ansi import clean

State = Literal["idle", "starting", "ready", "failed", "login"]
"""Not started yet, or ended; being started; in use; could not be started; it wants a log-in first."""


class Connection:
    """Safe to use from several threads: one of them connects, the others wait for it."""

    def __init__(
        self,
        config: ServerConfig,
        make: Callable[[Kind], Transport],
        redact: Callable[[str], str],
        *,
        elicits: bool,
        hint: Era,
        offer: str,
        on_state: Callable[[], None],
    ) -> None:
        """`make` gives a connection of a kind that is still to be made; `elicits`: a person can be asked."""
        self.config = config
        self._make = make
        self._redact = redact
        self._elicits = elicits
        self._hint: Era = hint
        self._offer = offer
        self._on_state = on_state
        self._starting = Lane()
        self._lock = threading.Lock()
        self._transport: Transport | None = None
        self._restarts: deque[float] = deque()
        self._state: State = "idle"
        self._last_noise: tuple[str, ...] = ()
        self._closed = False
        self.agreed = Agreed("", ServerInfo())
        """What was agreed on when it was connected last; no era: it never was."""
        self.problem = ""
        """Why the last start failed; empty when it did not."""

    @property
    def state(self) -> State:
        with self._lock:
            if self._state == "ready" and (self._transport is None or not self._transport.alive):
                return "idle"
            return self._state

    def noise(self) -> tuple[str, ...]:
        """What the server wrote that was no message, fit to be shown."""
        transport = self._transport
        lines = transport.noise() if transport is not None else self._last_noise
        return tuple(clean(self._redact(line)) for line in lines)

    def open(self, cancel: CancelScope) -> Transport:
        """The connection, made where there is none. Raises ServerFailure with what the server wrote last, Interrupted.

        A start takes at most config.startup_timeout seconds.
        """
        with self._starting.held(cancel):
            with self._lock:
                transport = self._transport
                if self._closed:
                    raise self._stopped()
            if transport is not None and transport.alive:
                return transport
            if transport is not None:
                self._drop(transport)
            if self.agreed.era:  # it was there before
                self._count_restart()
            self._set("starting")
            try:
                return self._connect(cancel)
            except ServerFailure as failure:
                self.tell(failure)
                self.problem = failure.text
                self._set("login" if failure.code == "mcp_login" else "failed")
                raise
            except BaseException:
                self._set("idle")
                raise

    def begin_again(self, transport: Transport, cancel: CancelScope) -> None:
        """A new session over the same connection: the server has lost the one there was (R19)."""
        with self._starting.held(cancel):
            transport.agreed("")
            self._agree(transport, time.monotonic() + self.config.startup_timeout, cancel)
            self._listen(transport)

    def close(self) -> None:
        """End it; a program is given twice limits.MCP_CLOSE to go. Nothing is started after that."""
        with self._lock:
            self._closed = True
            transport, self._transport = self._transport, None
            self._state = "idle"
        if transport is not None:
            transport.close()
            self._last_noise = transport.noise()

    def tell(self, failure: ServerFailure) -> None:
        """Make a failure one that may be told: without control bytes and keys, bounded."""
        failure.text = self.told(failure.text)
        failure.args = (failure.text,)
        failure.params = {
            name: self.told(value) if isinstance(value, str) else value for name, value in failure.params.items()
        }

    def told(self, text: str) -> str:
        return clean(self._redact(text))[: limits.TOOL_ERROR_CHARS]

    # -- one start ----------------------------------------------------------------------------------------------------

    def _connect(self, cancel: CancelScope) -> Transport:
        deadline = time.monotonic() + self.config.startup_timeout
        first: ServerFailure | None = None
        for kind in handshake.kinds(self.config):
            transport = self._make(kind)
            try:
                with self._lock:
                    if self._closed:
                        raise self._stopped()
                    self._transport = transport
                transport.connect(cancel)
                self._agree(transport, deadline, cancel)
            except BaseException as error:
                with self._lock:
                    self._transport = None
                self._drop(transport)
                if isinstance(error, OldTransport):  # the last way has none that is older
                    first = error.failure
                    continue
                if isinstance(error, ServerFailure) and first is not None:
                    raise first from error
                raise
            self._set("ready")
            self._listen(transport)
            return transport
        assert first is not None
        raise first

    def _agree(self, transport: Transport, deadline: float, cancel: CancelScope) -> None:
        try:
            self.agreed = handshake.agree(
                transport,
                self.config,
                hint=self._hint,
                offer=self._offer,
                elicits=self._elicits,
                deadline=deadline,
                cancel=cancel,
            )
        except Refused as refusal:
            self._hint = ""
            name, why = self.config.name, f"{refusal.said or 'it did not say why'} (error {refusal.number})"
            text = f"The server {name} refused the handshake: {why}."
            raise ServerFailure("mcp_handshake", text, server=name, why=why) from refusal
        except ServerFailure as failure:
            self._hint = ""
            if failure.code == "mcp_timeout":
                raise handshake.too_slow(self.config, transport.noise()) from failure
            raise
        self._hint, self.problem = self.agreed.era, ""

    def _count_restart(self) -> None:
        """Raises ServerFailure when it has been started anew too often (R7)."""
        now = time.monotonic()
        while self._restarts and now - self._restarts[0] > limits.MCP_RESTART_SPAN:
            self._restarts.popleft()
        if len(self._restarts) >= limits.MCP_RESTARTS:
            times, minutes = limits.MCP_RESTARTS, round(limits.MCP_RESTART_SPAN / 60)
            raise ServerFailure(
                "mcp_restarts",
                f"The server {self.config.name} has ended {times} times within {minutes} minutes and is left alone for"
                " now. Look at what it wrote, and restart it by /mcp.",
                server=self.config.name,
                times=times,
                minutes=minutes,
            )
        self._restarts.append(now)

    def _listen(self, transport: Transport) -> None:
        """Have the server tell of changes, where it says that it does; an old one may ask a person the same way."""
        agreed = self.agreed
        wanted = handshake.changes(agreed.info.capabilities)
        if agreed.era == "modern" and wanted:
            transport.listen(protocol.with_meta({"notifications": wanted}, agreed.declared))
        elif agreed.era == "legacy" and (wanted or agreed.declared):
            transport.listen({})

    def _set(self, state: State) -> None:
        with self._lock:
            if self._state == state or self._closed:
                return
            self._state = state
        self._on_state()

    def _drop(self, transport: Transport) -> None:
        self._last_noise = transport.noise()
        threading.Thread(target=transport.close, name="mcp-close", daemon=True).start()

    def _stopped(self) -> ServerFailure:
        return ServerFailure("mcp_closed", f"The server {self.config.name} was stopped.", server=self.config.name)
