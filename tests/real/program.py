"""The program without a screen, as a process: what it was asked, what it said, what it kept."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import struct
import sys
import threading
import time
from pathlib import Path

from agent_core.store.sessions import Store
from tests.e2e import warm
from tests.e2e.screen import ROOT, home_env
from tests.fakes.model_server import ModelServer, Reply


def environment(home, base_url, **more):
    ours = home_env(home, NANOHERMES_BASE_URL=base_url, NANOHERMES_MODEL="test-model", **more)
    return {**os.environ, "PYTHONPATH": str(ROOT), **ours}


APPROVED = """
from dataclasses import replace
from agent_core.desk import house
from agent_core.session import questions
from agent_core.ports.asking import Reply
_launch = house.Launch
house.Launch = lambda *given, **more: replace(_launch(*given, **more), unattended=False)
questions.Questions.ask = lambda self, question, cancel: Reply("once")
"""
"""A prologue: somebody is there and says yes to everything."""


class Program:
    """One headless run. `with Program(...) as program:`; it is ended at the end, if it has not."""

    def __init__(self, home, workspace, base_url, *arguments, prologue="", under=(), **more):
        """`prologue` is Python that runs first, in the same process; `under` the command that starts it."""
        code = f"import sys\n{prologue}\nfrom nanoherm_tui.cli import program\nsys.exit(program(sys.argv[1:]))"
        argv = [*under, sys.executable, "-c", code, "--output-format", "json", *arguments]
        self.process = warm.popen(argv, cwd=workspace, env=environment(home, base_url, **more))
        self.code = None
        self.result = {}
        self.said = ""
        """What a person was told: standard error."""

    def wait(self, seconds=30.0):
        out, self.said = self.process.communicate(timeout=seconds)
        self.code = self.process.returncode
        self.result = json.loads(out) if out.strip() else {}
        assert "Traceback" not in self.said, self.said
        return self

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.wait()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def run(home, workspace, base_url, *arguments, **more):
    """A whole run."""
    with Program(home, workspace, base_url, *arguments, **more) as program:
        return program.wait()


def kept(home):
    """(role, text) of each message of the newest session, as it is on disk."""
    store = Store.open(home / ".nanohermes" / "state.db")
    try:
        assert store.warnings == ()
        (newest, *_) = store.list()
        return [(message.role, message.text) for message in store.messages(newest.id)]
    finally:
        store.close()


def kept_draft(home):
    """The draft that is on disk; of one session, as each test has."""
    with contextlib.closing(sqlite3.connect(home / ".nanohermes" / "state.db")) as database:
        return "".join(text for (text,) in database.execute("SELECT text FROM drafts"))


def goes_on(home, workspace, text="What now?"):
    """The next start continues the session; gives what its request told the model, without the system prompt.

    The server refuses what real ones refuse: a call without its result, roles out of order, nothing to say.
    """
    with ModelServer([Reply(text="I go on.")]) as server:
        done = run(home, workspace, server.base_url, "-c", "-p", text)
        assert (done.code, server.violations) == (0, []), done.said
        assert done.result["text"] == "I go on."
    return server.requests[0]["messages"][1:]


def until(condition, seconds=40.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.03)  # a look at all processes costs a third of that


def processes_with(word):
    """Ids of living processes with `word` in their command line, this one not among them."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid, line = int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if word.encode() in line and state != "Z" and pid != os.getpid():
                found.append(pid)
    return found


def reset(connection):
    """End a connection as a cut network does: no orderly close, what is on its way is lost."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Relay:
    """A TCP relay in front of a server that stops passing the answer on after `limit` bytes and says nothing."""

    def __init__(self, base_url, limits):
        self._target = int(base_url.split(":")[2].split("/")[0])
        self._limits = list(limits)
        self._open = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._target))
            self._open += [near, far]
            limit = self._limits.pop(0) if len(self._limits) > 1 else self._limits[0]
            threading.Thread(target=self._pass_on, args=(near, far, None), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(far, near, limit), daemon=True).start()

    @staticmethod
    def _pass_on(source, target, limit):
        passed = 0
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                if limit is not None:
                    data = data[: max(0, limit - passed)]
                passed += len(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exc):
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
