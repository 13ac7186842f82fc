"""What the screen's thread calls never waits for the disk, not even while another program holds the store."""

import subprocess
import sys
import time

import pytest

from agent_core import events, intents
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from tests.fakes.model_server import ModelServer, Reply

HELD = 2.0
LIMIT = 0.05

HOLD = """
import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("BEGIN IMMEDIATE")
c.execute("UPDATE sessions SET title = title")
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def opened(tmp_path):
    """A program with one stored session that rests and a new one."""
    (tmp_path / "work").mkdir()
    with ModelServer([Reply(text="Hello.")]) as server:
        env = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "NANOHERMES_BASE_URL": server.base_url,
               "NANOHERMES_MODEL": "m"}  # fmt: skip
        host = Host(Launch(tmp_path / "work", env, {}))
        session = host.new()
        session.send(intents.Submit("hi"))
        end = time.monotonic() + 10
        while time.monotonic() < end and (session.busy or not session.stored):
            time.sleep(0.01)
        assert session.state == "idle"
        yield host, session, host.new()
        host.close()


@pytest.fixture
def held(opened):
    """Another program holds the store until the test is over."""
    host = opened[0]
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(host.places.state_db)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout.readline() == b"held\n"
    yield other
    other.communicate(b"\n", timeout=10)


CALLS = {
    "keep_draft": lambda host, old, new: host.keep_draft(old.id, "typed"),
    "keep_draft of a new session": lambda host, old, new: host.keep_draft(new.id, "typed"),
    "keep a long draft": lambda host, old, new: host.keep_draft(old.id, "long " * 200_000),
    "mark_seen": lambda host, old, new: host.mark_seen(old.id, "uid"),
    "live": lambda host, old, new: host.live(old.id),
    "rename": lambda host, old, new: old.send(intents.Rename("name")),
    "mode": lambda host, old, new: host.set_mode(old.id, "plan"),
    "policy": lambda host, old, new: old.send(intents.SetPolicy("always")),
    "model": lambda host, old, new: old.send(intents.SetModel("m")),
    "undo": lambda host, old, new: old.send(intents.Undo()),
    "shell": lambda host, old, new: old.send(intents.Shell("true")),
    "long shell": lambda host, old, new: old.send(intents.Shell("true " + "x" * 1_000_000)),
    "submit": lambda host, old, new: host.submit(new.id, "go"),
    "steer": lambda host, old, new: new.send(intents.Steer("and this")),
    "queue": lambda host, old, new: new.send(intents.Queue("then that")),
    "take back": lambda host, old, new: new.send(intents.TakeBack()),
    "taken": lambda host, old, new: new.send(intents.TextTaken("then that")),
    "answer": lambda host, old, new: new.send(intents.Answer("nothing asked", "once")),
    "stop": lambda host, old, new: host.stop(new.id),
    "give up": lambda host, old, new: new.send(intents.Interrupt(abandon=True)),
    "state": lambda host, old, new: (old.state, old.title, old.busy, old.stored, old.modes, old.mode),
    "drain": lambda host, old, new: (old.mailbox.drain(), new.mailbox.drain()),
    "close": lambda host, old, new: new.close(),
}


def test_nothing_that_the_screen_calls_waits_for_a_held_store(opened, held):
    host, old, new = opened
    begun = time.monotonic()
    slow = {}
    for name, call in CALLS.items():
        # The best of three: a busy machine may stop us once, a store that is waited for stops us each time.
        times = []
        for _ in range(3):
            start = time.monotonic()
            call(host, old, new)
            times.append(time.monotonic() - start)
        if min(times) > LIMIT:
            slow[name] = times
    assert slow == {}
    time.sleep(max(0.0, HELD - (time.monotonic() - begun)))
    assert not host.flush_notes(0.1), "the store was held all the time"


def test_what_was_sent_meanwhile_is_done_once_the_store_is_free(opened, held):
    host, old, new = opened
    new.send(intents.Submit("while it was held"))
    host.keep_draft(old.id, "typed meanwhile")
    time.sleep(0.5)
    held.stdin.write(b"\n")
    held.stdin.flush()
    end = time.monotonic() + 15
    seen = []
    while time.monotonic() < end and not any(isinstance(e, events.TurnFinished) for e in seen):
        seen += [envelope.event for envelope in new.mailbox.drain()]
        time.sleep(0.01)
    assert [m.text for m in host.store.messages(new.id)] == ["while it was held", "Hello."]
    assert host.flush_notes(15)
    assert host.draft(old.id) == "typed meanwhile"
