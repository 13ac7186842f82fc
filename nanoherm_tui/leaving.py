"""The end of the process: at once, when all is kept, closed and told.

To take an interpreter apart, object by object, needs a tenth of a second and more, in which the shell waits for it;
the kernel takes all of it back without that. What is registered with atexit, and threads that are no daemons, come
first as ever.

cli.py imports this before anything that registers itself with atexit: what was registered first is called last.
"""

from __future__ import annotations

import atexit
import os
import sys

_codes: list[int] = []


def with_code(code: int) -> int:
    """`code`, with which this process ends when it leaves by sys.exit as the next thing that it does."""
    _codes.append(code)
    return code


def _leave() -> None:
    if not _codes:  # an exception, or no program of ours: the interpreter knows the code
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):  # nobody reads any more: the interpreter says so, with its own code
        return
    os._exit(_codes[-1])


atexit.register(_leave)
