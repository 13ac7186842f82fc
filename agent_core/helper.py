"""A program of our own that is given bytes, answers and ends: what those bytes do to a parser is done to it alone.

Such a program is a file beside this one. It bounds its own memory and its processor time by its last two arguments,
reads standard input to its end, and writes a line of JSON, an object, and behind it any bytes.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agent_core.cancel import CancelScope
from agent_core.errors import SandboxError
from agent_core.process.running import alarm, running
from agent_core.records import dataclass
from agent_core.sandbox.policy import SandboxPolicy

_ENV: Final = {"PATH": os.defpath, "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a helper gave."""

    about: dict[str, Any]
    """The object of its first line; empty when it ended before it had said anything: by its bounds, or by a fall."""
    out: bytes
    """What came behind it, at most as many bytes as were asked for."""
    is_cut: bool
    """There was more."""
    is_late: bool
    """Its time was over before it had said all; an answer that is late is none."""


def ask(
    program: str,
    words: Sequence[str],
    data: bytes,
    *,
    memory: int,
    seconds: float,
    most: int,
    cancel: CancelScope | None = None,
    sandbox: SandboxPolicy | None = None,
) -> Answer:
    """Start the file `program` with `words`, give it `data`, and read its answer: `most` bytes behind the first line.

    `memory`: the bytes it bounds itself to. `seconds`: after them it is killed. `sandbox`: what it is held to beside
    that; None: a box of its own in which nothing can be written, where the kernel can confine. Raises Interrupted,
    SandboxError when it cannot be held so, and OSError when it cannot be started.
    """
    argv = (sys.executable, "-I", "-W", "ignore", program, *words, str(memory), str(math.ceil(seconds)))
    scope = CancelScope(cancel) if cancel is not None else CancelScope()
    line, out = b"", b""
    with tempfile.TemporaryFile() as given:
        given.write(data)
        given.flush()
        os.lseek(given.fileno(), 0, os.SEEK_SET)
        try:
            with (
                scope,
                _held(sandbox) as box,
                running(argv, Path("/"), _ENV, scope, box, given.fileno()) as child,
                alarm(time.monotonic() + seconds, scope),
            ):
                assert child.stdout is not None
                with open(child.stdout.fileno(), "rb", closefd=False) as pipe:
                    line = pipe.readline(most)
                    out = pipe.read(most + 1)
                if len(out) <= most:
                    child.wait()  # only of one that has ended is it known whether it was held as it had to be
        except SandboxError:
            if not scope.cancelled:  # else it was killed before it was held, and has read nothing
                raise
    if cancel is not None:
        cancel.check()
    try:
        about = json.loads(line)
    except ValueError:
        about = {}
    return Answer(about if isinstance(about, dict) else {}, out[:most], len(out) > most, scope.cancelled)


@contextmanager
def _held(sandbox: SandboxPolicy | None) -> Iterator[SandboxPolicy | None]:
    """What a helper is held to. Raises OSError."""
    from agent_core.sandbox.probe import layers  # no start waits for it

    if sandbox is not None or not layers().can_confine:
        yield sandbox
        return
    with tempfile.TemporaryDirectory() as folder:
        yield SandboxPolicy((), Path(folder).resolve())
