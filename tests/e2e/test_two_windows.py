"""One session in two windows: the second one says who has it, reads along, waits or goes on in a copy.

The first window is a real start, not a copy of a warm interpreter: ordinary use as people have it.
"""

import os
import re
import signal
import sys
import time

from tests.e2e import warm
from tests.e2e.screen import KEYS, ROOT, Screen, home_env
from tests.fakes.model_server import ModelServer, Reply


class Model:
    """Answers a message that says "slow" when it is let go, any other at once."""

    def __init__(self):
        self.released = False

    def __call__(self, body, number):
        last = str(body["messages"][-1]["content"])
        if last.endswith("slow"):  # messages of the user in a row come as one
            end = time.monotonic() + 30
            while not self.released and time.monotonic() < end:
                time.sleep(0.02)
            return Reply("The slow answer.")
        return Reply(f"Answer to {last.split()[-1]}.")


def server_env(home, server):
    return home_env(home, NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")


def window(home, workspace, server, *args, **more):
    return Screen(list(args), env=server_env(home, server), cwd=workspace, **more)


def test_a_second_window_waits_and_goes_on_from_what_the_first_has_stored(home, workspace):
    model = Model()
    with ModelServer(model) as server, window(home, workspace, server, fresh=True) as first:
        first.wait_for("Message, /command")
        first.submit("one")
        first.wait_for("Answer to one.")
        first.submit("be slow")
        first.until(lambda: len(server.requests) == 2)
        with window(home, workspace, server, "-c", columns=80, rows=24) as second:
            second.wait_for(
                "Answer to one.", "be slow", f"In use by process {first.pid} since", "/fork goes on in a copy"
            )
            second.submit("two")
            second.until(lambda: re.search(r"queued +two", second.text))
            second.wait_for("takes back what was sent")
            second.send(KEYS["esc"])
            second.wait_for("Enter waits for its end", "› two")
            second.send(KEYS["enter"])
            second.wait_for("takes back what was sent")
            script = warm.run(
                [sys.executable, "-m", "nanoherm_tui", "-p", "-c", "three"],
                env={**os.environ, **server_env(home, server), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"},
                cwd=workspace,
            )
            assert (script.returncode, script.stdout) == (75, ""), "a script is told to try again later"
            assert f"in use by process {first.pid}" in script.stderr
            assert len(server.requests) == 2, "nothing is asked while the first one runs"
            model.released = True
            second.wait_for("The slow answer.", "Answer to two.")
            second.wait_for("In use by", gone=True)
            first.wait_for("The slow answer.")
            first.submit("three")
            first.wait_for("Answer to two.", "Answer to three.")
        assert [m["content"] for m in server.requests[-1]["messages"][1:]] == [
            "one", "Answer to one.", "be slow", "The slow answer.", "two", "Answer to two.", "three",
        ]  # fmt: skip


def test_a_window_that_was_killed_holds_nobody_up_and_a_fork_does_not_wait(home, workspace):
    model = Model()
    with ModelServer(model) as server, window(home, workspace, server) as first:
        first.wait_for("Message, /command")
        first.submit("one")
        first.wait_for("Answer to one.")
        first.submit("be slow")
        first.until(lambda: len(server.requests) == 2)
        with window(home, workspace, server, "-c", "--set", "display.language=zh") as second:
            second.wait_for(f"进程 {first.pid} 从", "在副本里继续")
            second.submit("/fork")
            second.wait_for("one (fork)")
            second.wait_for("在副本里继续", gone=True)
            second.submit("mine")
            second.wait_for("Answer to mine.")
            os.kill(first.pid, signal.SIGKILL)
            second.submit("/resume one")
            second.until(lambda: re.search(r"^ +one +\S*/", second.text, re.MULTILINE))
            second.still()
            second.submit("next")
            second.wait_for("Answer to next.")
            model.released = True
