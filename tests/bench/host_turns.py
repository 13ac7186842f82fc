"""Turns of a stored session without a screen: `python -m tests.bench.host_turns SESSION COUNT ANSWER_KB`.

Prints JSON: the CPU seconds of each turn, and when each was submitted (monotonic seconds).
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.events import Event, HistoryChanged, StateChanged
from agent_core.session.live import LiveSession

PAUSE = 0.3
"""Seconds between turns: what the program writes behind one is not counted to the next."""


def main() -> None:
    session_id, count, kb = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    host = Host(Launch(Path.cwd(), dict(os.environ), {"compression.enabled": False}))
    session = host.open(session_id)
    came = threading.Event()
    session.mailbox.listen(lambda urgent: came.set())
    _until(session, came, lambda event: isinstance(event, HistoryChanged))
    cpu, submitted = [], []
    for _ in range(count):
        time.sleep(PAUSE)
        used = time.process_time()
        submitted.append(time.monotonic())
        host.submit(session_id, f"bench line {kb} 0 MARKMARK")
        _until(session, came, lambda event: isinstance(event, StateChanged) and event.state in ("idle", "failed"))
        time.sleep(PAUSE)
        cpu.append(time.process_time() - used)
    print(json.dumps({"cpu": cpu, "submitted": submitted}))
    host.close()


def _until(session: LiveSession, came: threading.Event, wanted: Callable[[Event], bool]) -> None:
    while True:
        came.clear()
        if any(wanted(envelope.event) for envelope in session.mailbox.drain()):
            return
        if not came.wait(60.0):
            raise TimeoutError("the session has fallen silent")


if __name__ == "__main__":
    main()
