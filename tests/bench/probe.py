"""The program with a watch on its loop: `python -m tests.bench.probe REPORT [arguments of the program]`.

Notes how late the loop wakes a task that sleeps, and when each batch of events was delivered and how many rows of the
transcript it had repainted. SIGUSR1 writes all that, and how many widgets there are, to the file REPORT as JSON; times
are monotonic seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from agent_core.events import Envelope
from nanoherm_tui import cli
from nanoherm_tui.app import NanohermApp
from nanoherm_tui.conversations import Conversations

NAP = 0.005

lags: list[tuple[float, float]] = []
"""(when, seconds late)"""
batches: list[tuple[float, float, list[str], int]] = []
"""(start, end, the kinds of events, rows marked for repainting)"""


async def _nap_and_look() -> None:
    while True:
        began = time.monotonic()
        await asyncio.sleep(NAP)
        now = time.monotonic()
        lags.append((now, now - began - NAP))


def _write(report: Path, app: NanohermApp) -> None:
    half = report.with_suffix(".half")
    widgets = sum(len(screen.query("*")) for screen in app.screen_stack)
    half.write_text(json.dumps({"lags": lags, "batches": batches, "widgets": widgets}))
    os.replace(half, report)


def main() -> int:
    report, arguments = Path(sys.argv[1]), sys.argv[2:]
    mounted, deliver = NanohermApp.on_mount, Conversations.deliver
    tasks: list[asyncio.Task[None]] = []
    apps: list[NanohermApp] = []

    def on_mount(app: NanohermApp) -> None:
        apps.append(app)
        mounted(app)
        loop = asyncio.get_running_loop()
        tasks.append(loop.create_task(_nap_and_look()))
        loop.add_signal_handler(signal.SIGUSR1, _write, report, app)

    def watched(conversations: Conversations, batch: Sequence[Envelope]) -> None:
        counters = apps[0].transcript.counters
        rows, began = counters.rows, time.monotonic()
        deliver(conversations, batch)
        kinds = sorted({type(envelope.event).__name__ for envelope in batch})
        batches.append((began, time.monotonic(), kinds, counters.rows - rows))

    NanohermApp.on_mount = on_mount  # type: ignore[method-assign]
    Conversations.deliver = watched  # type: ignore[method-assign]
    return cli.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
