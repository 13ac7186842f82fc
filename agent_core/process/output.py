"""The output of a process: bounded while it is read, in the thread that asks."""

from __future__ import annotations

import codecs
import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import IO, Final, Literal

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.process.keyless import Keyless
from agent_core.process.proc import POLL

_CHUNK: Final = 64 * limits.KB
_MARKER_ROOM: Final = 80  # the truncation marker counts inside the limit


class HeadTail:
    """Keeps the first and the last bytes of a stream of any length in bounded memory."""

    def __init__(self, limit: int) -> None:
        self._head_room = limit // 2
        self._tail_room = limit - self._head_room
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        # Trimmed only now and then, so that many small pieces cost linear time.
        if len(self._tail) > 2 * self._tail_room:
            del self._tail[: -self._tail_room]

    def text(self) -> str:
        """What was kept, as text. A cut is marked, and never splits a character (LIM-02, LIM-11)."""
        if len(self._head) + len(self._tail) == self.total <= self._head_room + self._tail_room:
            return (self._head + self._tail).decode("utf-8", "replace")
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        tail = bytes(self._tail[-(self._tail_room - _MARKER_ROOM) :])
        while tail and tail[0] & 0xC0 == 0x80:
            tail = tail[1:]
        shown = len(self._head) + len(tail)
        marker = f"\n... [truncated: showing {shown} of {self.total} bytes]\n"
        return head + marker + tail.decode("utf-8", "replace")


class Wake:
    """A file descriptor that any thread may make readable, also after it was closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._open = True

    def set(self) -> None:
        with self._lock:
            if self._open:
                try:
                    os.write(self._writer, b"x")
                except BlockingIOError:  # full is as readable as it gets
                    pass

    def close(self) -> None:
        with self._lock:
            if self._open:
                self._open = False
                os.close(self.reader)
                os.close(self._writer)


class Drain:
    """Reads both pipes of a process in the calling thread, into bounded buffers.

    It is made before the process, so that for want of a descriptor nothing is started.
    """

    def __init__(self, on_output: Callable[[str], None] | None) -> None:
        """Raises OSError."""
        self._selector = selectors.DefaultSelector()
        self._on_output = on_output
        self._buffers: Mapping[IO[bytes], HeadTail] = {}
        self._pidfd: int | None = None

    def follow(self, process: subprocess.Popen[bytes], buffers: Mapping[IO[bytes], HeadTail]) -> None:
        """Read this one's pipes from now on, each into its buffer; `close` closes them."""
        self._process, self._buffers = process, buffers
        self._decoders = {pipe: codecs.getincrementaldecoder("utf-8")("replace") for pipe in buffers}
        self._pipes = {pipe.fileno(): pipe for pipe in buffers}
        for pipe in buffers:
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ)
        if hasattr(os, "pidfd_open"):
            try:
                self._pidfd = os.pidfd_open(process.pid)
                self._selector.register(self._pidfd, selectors.EVENT_READ)
            except OSError:  # an old kernel: the exit is polled for
                self._pidfd = None

    def until_exit(
        self, deadline: float, wake: int, cancel: CancelScope, keyless: Keyless | None = None
    ) -> Literal["exit", "timeout", "cancel", "keyless"]:
        """Read until the process ends, the deadline (monotonic seconds) passes, or `cancel` made `wake` readable.

        With `keyless`, also until it waits for a key.
        """
        self._selector.register(wake, selectors.EVENT_READ)
        look = time.monotonic() + limits.COMMAND_LOOK
        try:
            while True:
                if cancel.cancelled:
                    return "cancel"
                if self._process.poll() is not None:
                    return "exit"
                now = time.monotonic()
                left = deadline - now
                if left <= 0:
                    return "timeout"
                if keyless is not None:
                    if now >= look:
                        if keyless.waits():
                            return "keyless"
                        look = now + limits.COMMAND_LOOK
                    left = min(left, max(look - now, 0.0))
                self._step(left if self._pidfd is not None else min(left, POLL))
        finally:
            self._selector.unregister(wake)

    def for_seconds(self, seconds: float) -> None:
        """Read what is there, waiting up to `seconds` for the pipes to close."""
        if self._pidfd is not None and self._pidfd in self._selector.get_map():
            self._selector.unregister(self._pidfd)
        deadline = time.monotonic() + seconds
        while self._selector.get_map():
            left = max(deadline - time.monotonic(), 0)
            if not self._step(left) or not left:
                return

    def _step(self, timeout: float) -> bool:
        """Wait for one round of events and read; False when there was none."""
        events = self._selector.select(timeout)
        for key, _ in events:
            pipe = self._pipes.get(key.fd)
            if pipe is not None:
                self._read(pipe)
        return bool(events)

    def _read(self, pipe: IO[bytes]) -> None:
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if data:
            self._buffers[pipe].add(data)
        else:
            self._selector.unregister(pipe)
        if self._on_output is not None:
            text = self._decoders[pipe].decode(data, final=not data)
            if text:
                self._on_output(text)

    def close(self) -> None:
        self._selector.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
        for pipe in self._buffers:
            pipe.close()
