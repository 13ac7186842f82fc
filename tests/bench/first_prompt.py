"""The first prompt of a new session, without a screen: `python -m tests.bench.first_prompt FOLDER`.

Prints JSON: when it was submitted (monotonic seconds), to be compared with when its request came to the server.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.events import StateChanged


def main() -> None:
    host = Host(Launch(Path(sys.argv[1]), dict(os.environ), {}))
    host.model.settle()
    session = host.new()
    ended = threading.Event()
    session.mailbox.listen(lambda urgent: ended.set())
    submitted = time.monotonic()
    host.submit(session.id, "bench line 0.1 0 MARKMARK")
    while not any(
        isinstance(one.event, StateChanged) and one.event.state in ("idle", "failed") for one in session.mailbox.drain()
    ):
        ended.clear()
        ended.wait(1.0)
    print(json.dumps({"submitted": submitted}))
    host.close()


if __name__ == "__main__":
    main()
