"""A shell that notes the terminal's settings, runs one program of Python's as a job of its own, and notes them again.

    python -m tests.e2e.job_shell [-m MODULE | SCRIPT] ARGUMENTS...

In place of bash where nothing is stopped and brought back: the program is a fork of this one, so that a shell that is a
warm copy (warm.py) has a warm program. Writes what `stty -g` says to the files `before` and `after`, and the exit code
as bash has it.
"""

import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path


def note(name: str) -> None:
    Path(name).write_bytes(subprocess.run(["stty", "-g"], capture_output=True, check=True).stdout)


def to_foreground() -> None:
    """Make this process's group the one that the terminal's keys go to."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # it is in the background as yet
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)


def become(what: str, *rest: str) -> None:
    """Go on as the interpreter does with these arguments."""
    if what == "-m":
        sys.argv = list(rest)
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [what, *rest]
        runpy.run_path(what, run_name="__main__")


def main(*program: str) -> None:
    note("before")
    job = os.fork()
    if not job:
        os.setpgid(0, 0)
        to_foreground()
        become(*program)
        return
    _, status = os.waitpid(job, 0)
    to_foreground()
    note("after")
    code = os.waitstatus_to_exitcode(status)
    print("EXIT", code if code >= 0 else 128 - code, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
