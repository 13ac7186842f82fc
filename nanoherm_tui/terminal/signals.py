"""The terminal around the program: signals, suspending, and what is said after the screen is gone."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Final

from agent_core import names

EXIT_BY_SIGNAL = {signal.SIGTERM: names.EXIT_TERMINATED, signal.SIGHUP: 128 + signal.SIGHUP}

IN_BROWSER: Final = "NANOHERMES_WINDOW"
"""The variable that says, with the value BROWSER, that the terminal is one on a page of a browser."""
BROWSER: Final = "browser"


def in_browser(env: Mapping[str, str]) -> bool:
    """Whether nobody sits at this machine's desktop or shell for the program: its terminal is a page of a browser."""
    return env.get(IN_BROWSER) == BROWSER


def on_end_signals(loop: asyncio.AbstractEventLoop, leave: Callable[[int], None]) -> None:
    """Have `leave` called with an exit code on the signals that end a program: the terminal is given back whole.

    SIGINT comes from outside only: Ctrl+C is a key to this program.
    """
    for number, code in EXIT_BY_SIGNAL.items():
        loop.add_signal_handler(number, leave, code)

    def interrupted(number: int, frame: FrameType | None) -> None:
        if loop.is_closed():
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(leave, names.EXIT_INTERRUPTED)

    _on_hangup(lambda: loop.call_soon_threadsafe(leave, EXIT_BY_SIGNAL[signal.SIGHUP]))
    # No handler of the loop's: while the user's editor has the terminal, Ctrl+C there is not ours, and the loop would
    # hear of it afterwards.
    signal.signal(signal.SIGINT, interrupted)


def _on_hangup(leave: Callable[[], object]) -> None:
    """Have `leave` called, on a thread of its own, when the terminal goes away.

    The signal that tells of it goes to the session's leader and what it has in front: a program behind a wrapper that
    was killed hears nothing, and its input would be at its end for ever, read again and again.
    """
    ours = sys.__stdin__
    keys = ours.fileno() if ours is not None and not ours.closed else -1
    if keys < 0 or not os.isatty(keys):
        return
    gone = select.poll()
    gone.register(keys, 0)  # no event but the end, which is always told

    def wait() -> None:
        gone.poll()
        with suppress(RuntimeError):  # the loop has ended before
            leave()

    threading.Thread(target=wait, name="hangup", daemon=True).start()


def stop_process_group() -> None:
    """Stop this program and what started it in the same job (make, a wrapper), as Ctrl+Z does elsewhere."""
    os.kill(0, signal.SIGSTOP)


def say_how_to_resume(session_id: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        print(f"{names.APP} --resume {session_id[:8]}   continues this session", file=sys.stderr, flush=True)
