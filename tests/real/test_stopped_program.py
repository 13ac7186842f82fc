"""A program that was stopped, by Ctrl+Z or with its whole machine, does not take its own absence for silence."""

import os
import signal
import subprocess
import sys
import threading
import time

from agent_core import limits
from tests.e2e.screen import ROOT
from tests.fakes.model_server import ModelServer, Reply

IDLE = 3.0
"""Seconds; a busy machine needs some of them for the answer."""
ASK = """
import sys
from agent_core.cancel import CancelScope
from agent_core.llm.client import make_client
from agent_core.llm.providers import ProviderOptions, resolve
from agent_core.messages import user
from agent_core.ports.model import LlmRequest

options = ProviderOptions(base_url=sys.argv[1], model="m", idle_timeout=float(sys.argv[2]), max_attempts=1)
client = make_client(resolve(options, {}, {}), options)
print("asks", flush=True)
print(client.complete(LlmRequest((user("Hi"),)), lambda delta: None, CancelScope()).text)
"""


def test_an_answer_that_comes_after_a_stop_longer_than_the_idle_time_is_taken():
    stopped = IDLE + limits.STOPPED_FROM + 0.3
    goes_on = threading.Event()

    def reply(body, number):
        goes_on.wait(60)
        return Reply(text="Here I am.")

    with ModelServer(reply) as server:
        program = subprocess.Popen([sys.executable, "-c", ASK, server.base_url, str(IDLE)], cwd=ROOT, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == "asks\n"
            end = time.monotonic() + 20
            while not server.requests and time.monotonic() < end:
                time.sleep(0.01)
            os.kill(program.pid, signal.SIGSTOP)
            time.sleep(stopped)
            os.kill(program.pid, signal.SIGCONT)
            goes_on.set()
            said, wrong = program.communicate(timeout=20)
        finally:
            program.kill()
            program.wait()
    assert said == "Here I am.\n", wrong[-300:]
