"""A server that is a program of ours: messages over its input and output, one a line (R1 to R9).

Four threads serve it: what is written never waits in the thread that asks, its output and its error stream are read all
the time, and its end is noticed at once.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import SandboxError
from agent_core.mcp import environment, protocol
from agent_core.mcp.calls import Calls, Ears, too_large
from agent_core.mcp.frames import Frames, Headers, Lines, TooLarge
from agent_core.mcp.handshake import last_words
from agent_core.mcp.words import Json, ServerConfig, ServerFailure
from agent_core.process.held import Held
from agent_core.sandbox.policy import SandboxPolicy

log = logging.getLogger(__name__)

_CHUNK = 256 * limits.KB


class Stdio:
    """One run of a server's program (words.Transport)."""

    def __init__(
        self,
        config: ServerConfig,
        workspace: Path,
        environ: Mapping[str, str],
        keys: tuple[str, ...],
        confine: Callable[[], SandboxPolicy | None] | None,
        ears: Ears,
    ) -> None:
        self._config = config
        self._workspace = workspace
        self._environ = environ
        self._keys = keys
        self._confine = confine
        self._calls = Calls(ears, self._send)
        self._frames: Frames = Headers() if config.framing == "content-length" else Lines()
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._held: Held | None = None
        self._alive = False
        self._closing = False
        self._lock = threading.Lock()
        self._noise: deque[str] = deque(maxlen=limits.MCP_NOISE)
        self._errors = bytearray()
        self._readers: list[threading.Thread] = []

    # -- words.Transport ----------------------------------------------------------------------------------------------

    def connect(self, cancel: CancelScope) -> None:
        cancel.check()
        env = environment.environment(self._config, self._environ, self._keys)
        cwd = environment.folder(self._config, self._workspace)
        argv = environment.program(self._config, env, cwd)
        try:
            held = Held(argv, cwd, env, self._walls())
        except (OSError, SandboxError) as error:
            raise self._not_started(error) from error
        with self._lock:
            self._held = held
            self._alive = not self._closing
        child = held.process
        # Each runs before those that wait for it: a program that ends at once is over before the last has begun.
        self._readers = [self._thread(self._read, child), self._thread(self._drain, child)]
        reads, drains = self._readers
        for thread in (drains, reads, self._thread(self._write, child), self._thread(self._watch, child)):
            thread.start()
        if self._closing:
            held.end(limits.MCP_CLOSE)
            raise self._stopped()

    def request(
        self,
        method: str,
        params: Json,
        *,
        timeout: float,
        cancel: CancelScope,
        on_progress: Callable[[str], None] | None = None,
        headers: Json | None = None,
    ) -> Json:
        cancel.check()
        with self._calls.under_way(method, on_progress, self._send) as waiting:
            self._send(waiting.message(params))
            return self._calls.wait(waiting, timeout, cancel)

    def notify(self, method: str, params: Json) -> None:
        self._send(protocol.notification(method, params))

    def agreed(self, version: str) -> None:
        """Its messages are the same in all revisions."""

    def listen(self, params: Json) -> None:
        if params and self._alive:  # the answer comes when the server has no more to tell
            with contextlib.suppress(ServerFailure):
                self._send(self._calls.open("subscriptions/listen").message(params))

    @property
    def alive(self) -> bool:
        return self._alive

    def noise(self) -> tuple[str, ...]:
        errors = bytes(self._errors[-limits.MCP_STDERR :]).decode("utf-8", "replace")
        return (*self._noise, *errors.splitlines())

    def close(self) -> None:
        with self._lock:
            if self._closing:
                return
            self._closing = True
            self._alive = False
            held = self._held
        self._outgoing.put(None)
        self._calls.fail(self._stopped(), over=True)
        if held is not None:
            held.end(limits.MCP_CLOSE)

    # -- its threads --------------------------------------------------------------------------------------------------

    def _walls(self) -> SandboxPolicy | None:
        if not self._config.sandbox:
            return None
        policy = self._confine() if self._confine is not None else None
        if policy is None:
            raise SandboxError("no_sandbox", "this machine cannot confine it, and its setting `sandbox` says it has to")
        return policy

    def _thread(
        self, run: Callable[[subprocess.Popen[bytes]], None], child: subprocess.Popen[bytes]
    ) -> threading.Thread:
        return threading.Thread(target=run, args=(child,), name=f"mcp-{self._config.name}", daemon=True)

    def _send(self, message: Json) -> None:
        self._outgoing.put(self._frames.frame(protocol.encode(message)))

    def _write(self, child: subprocess.Popen[bytes]) -> None:
        """Writes what is to be written, whole messages one after another; the end of the list closes the input."""
        assert child.stdin is not None
        with child.stdin as out, contextlib.suppress(OSError):  # who does not read any more has ended, or will
            while (data := self._outgoing.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[out.write(view) or 0 :]

    def _read(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout is not None
        with child.stdout as stream:
            while data := os.read(stream.fileno(), _CHUNK):
                self._feed(data)
        with contextlib.suppress(subprocess.TimeoutExpired):  # it will have ended; if not, it is of no use any more
            child.wait(limits.MCP_LAST_WORDS)
        self._over(child)

    def _feed(self, data: bytes) -> None:
        """In a frame of its own: nothing holds a message of megabytes until the next one comes."""
        for line in self._frames.feed(data):
            self._take(line)

    def _take(self, line: bytes | TooLarge) -> None:
        if isinstance(line, TooLarge):
            self._calls.fail(too_large(self._config.name, limits.MCP_LINE))
            return
        messages = protocol.decode(line)
        if messages is None:
            self._noise.append(line[: 4 * limits.MCP_NOISE_LINE].decode("utf-8", "replace")[: limits.MCP_NOISE_LINE])
            return
        for message in messages:
            self._calls.take(message)

    def _drain(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stderr is not None
        with child.stderr as stream:
            while data := os.read(stream.fileno(), _CHUNK):
                self._errors += data
                if len(self._errors) > 2 * limits.MCP_STDERR:
                    del self._errors[: -limits.MCP_STDERR]

    def _watch(self, child: subprocess.Popen[bytes]) -> None:
        """Notices its end also where something it has started still holds its output."""
        child.wait()
        self._readers[0].join(limits.MCP_LAST_WORDS)
        self._over(child)

    def _over(self, child: subprocess.Popen[bytes]) -> None:
        """It has ended, or closed its output: whatever is under way has failed (R7)."""
        with self._lock:
            if self._closing or not self._alive:
                return
            self._alive = False
        self._readers[1].join(limits.MCP_LAST_WORDS)
        self._calls.fail(self._end(child), over=True)
        self._outgoing.put(None)
        assert self._held is not None
        self._held.end(limits.MCP_CLOSE)

    def _stopped(self) -> ServerFailure:
        name = self._config.name
        return ServerFailure("mcp_closed", f"The server {name} was stopped.", server=name)

    def _not_started(self, error: Exception) -> ServerFailure:
        name = self._config.name
        code = "mcp_sandbox" if isinstance(error, SandboxError) else "mcp_start"
        return ServerFailure(code, f"The server {name} could not be started: {error}.", server=name, why=str(error))

    def _end(self, child: subprocess.Popen[bytes]) -> ServerFailure:
        name = self._config.name
        failure = self._held.failure() if self._held is not None and child.poll() is not None else None
        if failure is not None:
            return self._not_started(failure)
        code = child.poll()
        how = "it closed its output" if code is None else f"signal {-code}" if code < 0 else f"exit code {code}"
        said = last_words(self.noise())
        return ServerFailure("mcp_ended", f"The server {name} has ended: {how}.{said}", server=name, how=how, said=said)
