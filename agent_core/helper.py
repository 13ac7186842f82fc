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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agent_core import process
from agent_core.cancel import CancelScope
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
    that. Raises Interrupted, SandboxError when it cannot be held so, and OSError when it cannot be started.
    """
    argv = (sys.executable, "-I", "-W", "ignore", program, *words, str(memory), str(math.ceil(seconds)))
    scope = CancelScope(cancel) if cancel is not None else CancelScope()
    with tempfile.TemporaryFile() as given:
        given.write(data)
        given.flush()
        os.lseek(given.fileno(), 0, os.SEEK_SET)
        with (
            scope,
            process.running(argv, Path("/"), _ENV, scope, sandbox, given.fileno()) as child,
            process.alarm(time.monotonic() + seconds, scope),
        ):
            assert child.stdout is not None
            with open(child.stdout.fileno(), "rb", closefd=False) as pipe:
                line = pipe.readline(most)
                out = pipe.read(most + 1)
            if len(out) <= most:
                child.wait()  # only of one that has ended is it known whether it was held as it had to be
    if cancel is not None:
        cancel.check()
    try:
        about = json.loads(line)
    except ValueError:
        about = {}
    return Answer(about if isinstance(about, dict) else {}, out[:most], len(out) > most, scope.cancelled)
