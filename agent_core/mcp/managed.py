"""One MCP server in use: started when it is needed, left alone when it fails, its tools known before it runs.

It is started at its first call, or in the background when nothing is known of its tools (R14). One that cannot be
started is tried a few times, then left alone for ever longer; one that gives no answers gets no calls for a while
(MCP-12). That a program which has ended is started anew is the client's doing (R7).
"""

from __future__ import annotations

import fnmatch
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.mcp.cache import Known, ServerCache
from agent_core.mcp.protocol import Era
from agent_core.mcp.words import (
    Answered,
    CallResult,
    Elicit,
    Elicitation,
    PromptInfo,
    ResourceInfo,
    ServerConfig,
    ServerFailure,
    ServerInfo,
    ToolInfo,
)
from agent_core.ports.asking import Asker, Question
from agent_core.records import dataclass
from agent_core.servers import ServerState

log = logging.getLogger(__name__)

T = TypeVar("T")

LASTING: Final = frozenset(
    {
        "mcp_command", "mcp_folder", "mcp_sandbox", "mcp_version", "mcp_handshake", "mcp_slow_start", "mcp_endpoint",
        "mcp_redirect", "mcp_key",
    }
)  # fmt: skip
"""Codes of failures that trying again at once does not mend."""
ANSWERED: Final = frozenset({"mcp_error", "mcp_wants", "mcp_result", "mcp_rounds", "mcp_too_large"})
"""Codes of failures in which the server did answer."""


class Peer(Protocol):
    """A connection to one server, as client.Client is."""

    @property
    def state(self) -> ServerState: ...
    @property
    def info(self) -> ServerInfo: ...
    @property
    def era(self) -> Era: ...
    @property
    def warnings(self) -> Sequence[str]: ...
    def connect(self, cancel: CancelScope) -> ServerInfo: ...
    def list_tools(self, cancel: CancelScope) -> Sequence[ToolInfo]: ...
    def list_resources(self, cancel: CancelScope) -> Sequence[ResourceInfo]: ...
    def list_templates(self, cancel: CancelScope) -> Sequence[ResourceInfo]: ...
    def list_prompts(self, cancel: CancelScope) -> Sequence[PromptInfo]: ...
    def read_resource(self, uri: str, cancel: CancelScope) -> CallResult: ...
    def get_prompt(self, name: str, arguments: Mapping[str, str], cancel: CancelScope) -> CallResult: ...
    def call(
        self,
        tool: ToolInfo,
        arguments: Mapping[str, Any],
        cancel: CancelScope,
        on_progress: Callable[[str], None] | None = None,
    ) -> CallResult: ...
    def noise(self) -> Sequence[str]: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a new connection is given. The functions return at once."""

    config: ServerConfig
    workspace: Path
    hint: Era
    """The era that was found the last time (R12)."""
    elicit: Elicit
    tools_changed: Callable[[], None]
    state_changed: Callable[[], None]


Make = Callable[[Wiring], Peer]
"""A connection that is not connected yet. Raises ServerFailure."""


class Managed:
    """Safe to use from several threads. `changed` is called, in any thread, when its row would be another one."""

    def __init__(
        self,
        config: ServerConfig,
        make: Make,
        cache: ServerCache,
        folder: Path,
        changed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`folder`: the workspace it is started in, where its entry names no other."""
        self.config = config
        self._make, self._cache, self._workspace, self._folder = make, cache, folder, str(folder)
        self._changed, self._clock = changed, clock
        self._woken = threading.Condition()
        self._scope = CancelScope()
        self._peer: Peer | None = None
        self._known: Known | None = None
        self._looked = False
        self._starter: threading.Thread | None = None
        self._tries = 0
        """Starts that have come to an end, well or badly."""
        self._failure: ServerFailure | None = None
        self._cooled = 0
        self._retry_at = 0.0
        self._unanswered = 0
        self._closed_until = 0.0
        self._stale: threading.Timer | None = None
        self._listing = False
        self._noise: tuple[str, ...] = ()
        """Of the connection before this one."""
        self._askers: list[Asker] = []
        self._lane = threading.Lock()

    # -- how it is ------------------------------------------------------------------------------------------------

    @property
    def state(self) -> ServerState:
        with self._woken:
            if self._peer is not None:
                return self._peer.state
            if self._starter is not None:
                return "starting"
            if self._failure is not None:
                return "login" if self._failure.code == "mcp_login" else "failed"
            return "idle"

    @property
    def failure(self) -> ServerFailure | None:
        """Why it cannot be used; None while it can."""
        with self._woken:
            return self._failure if self._peer is None else None

    @property
    def problem(self) -> str:
        """Why it cannot be used, and the way out; empty while it can."""
        failure = self.failure
        return failure.text if failure is not None else ""

    @property
    def retry_in(self) -> float:
        """Seconds after which it may be started again, or gets calls again; 0: at once."""
        with self._woken:
            return max(0.0, self._retry_at - self._clock(), self._closed_until - self._clock())

    @property
    def known(self) -> Known | None:
        """What it has said of itself, now or the last time; None: nothing is known. Reads a file once."""
        with self._woken:
            if not self._looked:
                self._looked = True
                self._known = self._known or self._cache.read(self.config, self._folder)
            return self._known

    @property
    def tools(self) -> tuple[ToolInfo, ...] | None:
        """Those it offers that the config lets through; None: not known yet."""
        known = self.known
        return None if known is None else tuple(tool for tool in known.tools if taken(self.config, tool.name))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What of its tools cannot be used, and why; known while it runs."""
        with self._woken:
            return tuple(self._peer.warnings) if self._peer is not None else ()

    def noise(self) -> tuple[str, ...]:
        """What it wrote beside messages, the newest last: for a person."""
        with self._woken:
            peer, before = self._peer, self._noise
        return (*before, *peer.noise())[-limits.MCP_NOISE :] if peer is not None else before

    # -- starting -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start it in the background unless it runs, is being started, or is left alone for now. Does not wait."""
        with self._woken:
            if self._peer is None and self._starter is None and self._clock() >= self._retry_at:
                self._start(limits.MCP_TRIES)

    def restart(self) -> None:
        """End it and start it again at once, whatever went wrong before. Does not wait."""
        with self._woken:
            peer = self._peer
            self._drop(peer)
            self._failure, self._cooled, self._retry_at, self._closed_until, self._unanswered = None, 0, 0.0, 0.0, 0
            if self._starter is None:
                self._start(1)
        if peer is not None:
            threading.Thread(target=peer.close, name=f"mcp-end-{self.config.name[:30]}", daemon=True).start()

    def wait(self, seconds: float, cancel: CancelScope) -> bool:
        """Wait until it is no longer being started; True when it can be used. Raises Interrupted."""
        with cancel.closing(self._wake), self._woken:
            self._woken.wait_for(lambda: self._starter is None or cancel.cancelled, seconds)
            cancel.check()
            return self._peer is not None

    def connected(self, cancel: CancelScope) -> Peer:
        """The connection; it is made when there is none. Raises ServerFailure, Interrupted."""
        with cancel.closing(self._wake), self._woken:
            if self._peer is None and self._starter is None:
                if self._failure is not None and self._clock() < self._retry_at:
                    raise self._left_alone(self._failure)
                self._start(1)
            tries = self._tries
            while self._peer is None and self._tries == tries and not cancel.cancelled:
                self._woken.wait(self.config.startup_timeout + limits.MCP_CLOSE)
                if self._starter is None:
                    break
            cancel.check()
            if self._peer is not None:
                return self._peer
            raise self._failure or ServerFailure("mcp_ended", f"The MCP server {self.config.name} has ended.")

    def _left_alone(self, failure: ServerFailure) -> ServerFailure:
        if failure.code == "mcp_login":
            return failure
        seconds = max(1, round(self._retry_at - self._clock()))
        text = f"{failure.text} It is tried again in {seconds} s, or at once with /mcp restart {self.config.name}."
        return ServerFailure(failure.code, text, **failure.params)

    def _wake(self) -> None:
        with self._woken:
            self._woken.notify_all()

    def _start(self, tries: int) -> None:
        """Under the lock."""
        if self._scope.cancelled:
            return
        name = f"mcp-start-{self.config.name[:30]}"
        self._starter = threading.Thread(target=self._starting, args=(tries,), name=name, daemon=True)
        self._starter.start()
        self._tell()

    def _starting(self, tries: int) -> None:
        for attempt in range(tries):
            last = attempt == tries - 1
            try:
                peer, known = self._made()
            except Interrupted:
                self._ended(None)
                return
            except Exception as error:  # a server's answers must not end what serves the others
                failure = error if isinstance(error, ServerFailure) else _crash(self.config, error)
                last = last or failure.code in LASTING or failure.code.startswith("mcp_login")
                self._failed(failure, last)
                if last or self._scope.wait(limits.MCP_PAUSE * 2**attempt):
                    self._ended(None if last else self._failure)
                    return
            else:
                self._begun(peer, known)
                self._learn_prompts(peer)
                return

    def _made(self) -> tuple[Peer, Known]:
        known = self.known
        hint: Era = known.era if known is not None else ""
        wiring = Wiring(self.config, self._workspace, hint, self._elicit, self._tools_changed, self._tell)
        peer = self._make(wiring)
        try:
            peer.connect(self._scope)
            tools = tuple(peer.list_tools(self._scope))
            return peer, Known(peer.info, tools, peer.era, known.prompts if known is not None else ())
        except BaseException:
            with self._woken:
                self._noise = tuple(peer.noise())
            peer.close()
            raise

    def _begun(self, peer: Peer, known: Known) -> None:
        self._cache.write(self.config, self._folder, known)
        with self._woken:
            ended = self._scope.cancelled
            if not ended:
                self._peer, self._known, self._looked = peer, known, True
                self._failure, self._cooled, self._retry_at = None, 0, 0.0
            self._starter = None
            self._tries += 1
            self._woken.notify_all()
        if ended:
            peer.close()
            return
        self._tell()

    def _learn_prompts(self, peer: Peer) -> None:
        """Have its prompts, which a person may type. Calls may begin before that."""
        if "prompts" not in peer.info.capabilities:
            return
        try:
            prompts = tuple(peer.list_prompts(self._scope))
        except (ServerFailure, Interrupted) as error:  # its tools can be used all the same
            if not self._scope.cancelled:
                log.warning("the prompts of the MCP server %s could not be listed: %s", self.config.name, error)
            return
        with self._woken:
            known = self._known
            if known is None or known.prompts == prompts:
                return
            self._known = known = replace(known, prompts=prompts)
        self._cache.write(self.config, self._folder, known)
        self._tell()

    def _failed(self, failure: ServerFailure, last: bool) -> None:
        with self._woken:
            self._failure = failure
            if last:
                self._retry_at = self._clock() + min(limits.MCP_COOL_FIRST * 2**self._cooled, limits.MCP_COOL_MOST)
                self._cooled += 1
                self._starter = None
            self._tries += 1
            self._woken.notify_all()
        self._tell()

    def _ended(self, failure: ServerFailure | None) -> None:
        with self._woken:
            self._starter = None
            self._failure = failure or self._failure
            self._woken.notify_all()

    def _drop(self, peer: Peer | None) -> None:
        """Under the lock: this connection is no longer used."""
        if peer is not None and self._peer is peer:
            self._peer, self._noise = None, tuple(peer.noise())

    def _tell(self) -> None:
        try:
            self._changed()
        except Exception:  # who listens must not end what serves the servers
            log.exception("telling of the MCP server %s failed", self.config.name)

    def close(self) -> None:
        """End it. Takes as long as its program takes to go."""
        self._scope.cancel()
        with self._woken:
            peer, timer, self._stale = self._peer, self._stale, None
            self._peer = None
            self._woken.notify_all()
        if timer is not None:
            timer.cancel()
        if peer is not None:
            peer.close()

    # -- its tools ------------------------------------------------------------------------------------------------

    def _tools_changed(self) -> None:
        """The server says so, perhaps many times in a row: it is asked once."""
        with self._woken:
            if self._stale is None and not self._scope.cancelled:
                self._stale = threading.Timer(limits.MCP_DEBOUNCE, self._list_anew)
                self._stale.daemon = True
                self._stale.start()

    def _list_anew(self) -> None:
        with self._woken:
            peer, self._stale, self._listing = self._peer, None, True
        try:
            if peer is None:
                return
            tools = tuple(peer.list_tools(self._scope))
            with self._woken:
                prompts = self._known.prompts if self._known is not None else ()
                self._known = known = Known(peer.info, tools, peer.era, prompts)
            self._cache.write(self.config, self._folder, known)
            self._learn_prompts(peer)
        except (ServerFailure, Interrupted) as error:  # those it had are offered on
            log.warning("the tools of the MCP server %s could not be listed anew: %s", self.config.name, error)
        finally:
            with self._woken:
                self._listing = False
                self._woken.notify_all()
            self._tell()

    def settle(self, seconds: float, cancel: CancelScope) -> None:
        """Wait for a list of tools that the server says has changed. Raises Interrupted."""
        with cancel.closing(self._wake), self._woken:
            self._woken.wait_for(lambda: (self._stale is None and not self._listing) or cancel.cancelled, seconds)
            cancel.check()

    # -- calls ----------------------------------------------------------------------------------------------------

    def call(
        self,
        tool: ToolInfo,
        arguments: Mapping[str, Any],
        asker: Asker,
        cancel: CancelScope,
        on_progress: Callable[[str], None] | None = None,
    ) -> CallResult:
        """Call a tool; what the server asks meanwhile is asked by `asker`. Raises ServerFailure, Interrupted."""
        return self.ask(lambda peer: peer.call(tool, arguments, cancel, on_progress), asker, cancel)

    def ask(self, what: Callable[[Peer], T], asker: Asker, cancel: CancelScope) -> T:
        """Have something of the server, one call after the other (R35). Raises ServerFailure, Interrupted."""
        with self._turn(cancel), self._asking(asker):
            self._check_open()
            peer = self.connected(cancel)
            try:
                result = what(peer)
            except ServerFailure as failure:
                self._count(failure, peer)
                raise
            with self._woken:
                self._unanswered, self._closed_until = 0, 0.0
            return result

    @contextmanager
    def _turn(self, cancel: CancelScope) -> Iterator[None]:
        while not self._lane.acquire(timeout=limits.MCP_CANCEL / 5):
            cancel.check()
        try:
            cancel.check()
            yield
        finally:
            self._lane.release()

    @contextmanager
    def _asking(self, asker: Asker) -> Iterator[None]:
        self._askers.append(asker)
        try:
            yield
        finally:
            self._askers.pop()

    def _elicit(self, asked: Elicitation, cancel: CancelScope) -> Answered:
        """What the server asks goes to whoever has called it; when nobody has, the answer is no."""
        asker = next(iter(self._askers), None)
        if asker is None:
            return Answered("decline")
        name = self.config.name
        reply = asker.ask(
            Question(
                asked.kind,
                f"The MCP server {name} asks",
                server=name,
                text=asked.message,
                form=asked.form,
                url=asked.url,
                decisions=("once", "refuse"),
            ),
            cancel,
        )
        if reply.decision == "refuse":
            return Answered("decline" if reply.by in ("person", "unattended") else "cancel")
        return Answered("accept", reply.values)

    def _check_open(self) -> None:
        """Raises ServerFailure while a server that gave no answers is left alone. The first call after that tries."""
        with self._woken:
            left = self._closed_until - self._clock()
        if left > 0:
            raise ServerFailure(
                "mcp_breaker",
                f"The MCP server {self.config.name} gave no answer {limits.MCP_BREAK_AFTER} times in a row. It is "
                f"tried again in {max(1, round(left))} s, or at once with /mcp restart {self.config.name}.",
                server=self.config.name,
            )

    def _count(self, failure: ServerFailure, peer: Peer) -> None:
        """A call failed: one the server has answered says nothing against it."""
        if failure.code in ANSWERED:
            return
        with self._woken:
            self._unanswered += 1
            if self._unanswered >= limits.MCP_BREAK_AFTER:
                self._closed_until = self._clock() + limits.MCP_BREAK
            if failure.code == "mcp_login":
                self._failure = failure
                self._drop(peer)
                self._retry_at = self._clock() + limits.MCP_COOL_FIRST
        self._tell()


def taken(config: ServerConfig, tool: str) -> bool:
    """Whether the config lets this tool through: what is named to be taken is, whatever else is said."""
    if config.include:
        return any(fnmatch.fnmatchcase(tool, pattern) for pattern in config.include)
    return not any(fnmatch.fnmatchcase(tool, pattern) for pattern in config.exclude)


def _crash(config: ServerConfig, error: Exception) -> ServerFailure:
    log.exception("the MCP server %s could not be started", config.name, exc_info=error)
    text = f"The MCP server {config.name} could not be started: {type(error).__name__}. The log has the details."
    return ServerFailure("mcp_crash", text)
