"""The system prompt and the tools are the same bytes from turn to turn and after a kill, over real HTTP."""

from __future__ import annotations

import datetime
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from agent_core import events, intents, limits
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.errors import StoreError
from agent_core.mind import prompt
from agent_core.tools.builtin import builtin_tools
from tests.core.session_support import Table, say
from tests.fakes.model_server import ModelServer, Reply

THREE_TURNS_AND_A_KILL = """
import os, signal, sys, time
from pathlib import Path
from agent_core import events, intents
from agent_core.desk.host import Host
from agent_core.desk.house import Launch

work, home, url = sys.argv[1:]
env = {"HOME": home, "PATH": "/usr/bin:/bin", "NANOHERMES_BASE_URL": url, "NANOHERMES_MODEL": "test-model"}
session = Host(Launch(Path(work), env, {})).new()
for turn in range(3):
    session.send(intents.Submit(f"turn {turn}"))
    while not any(isinstance(e.event, events.TurnFinished) for e in session.mailbox.drain()):
        time.sleep(0.01)
print(session.id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


class World:
    def __init__(self, tmp_path, server):
        self.work, self.home, self.server = tmp_path / "work", tmp_path / "home", server
        self.work.mkdir()
        env = {"NANOHERMES_BASE_URL": server.base_url, "NANOHERMES_MODEL": "test-model"}
        self.env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", **env}

    def killed_after_three_turns(self):
        script = [sys.executable, "-c", THREE_TURNS_AND_A_KILL, self.work, self.home, self.server.base_url]
        ended = subprocess.run([str(word) for word in script], capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        return ended.stdout.strip()

    def host(self):
        return Host(Launch(self.work, self.env, {}))

    def sent(self, at=-1):
        body = self.server.requests[at]
        return json.dumps([body["messages"][0], body["tools"]]).encode()


def turn(session, text):
    session.send(intents.Submit(text))
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for envelope in session.mailbox.drain():
            if isinstance(envelope.event, events.TurnFinished):
                return envelope.event
        time.sleep(0.01)
    raise AssertionError("the turn does not end")


@pytest.fixture
def world(tmp_path):
    with ModelServer([Reply(text="An answer.")]) as server:
        yield World(tmp_path, server)


def another_day(monkeypatch):
    class Later(datetime.date):
        @classmethod
        def today(cls):
            return cls(2031, 2, 3)

    monkeypatch.setattr(prompt.datetime, "date", Later)


def test_they_are_the_same_over_turns_a_kill_and_a_resume_on_another_day_and_branch(world, monkeypatch):
    (world.work / ".git").mkdir()
    (world.work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (world.work / "AGENTS.md").write_text("Use tabs.\n")
    session_id = world.killed_after_three_turns()
    (world.work / ".git" / "HEAD").write_text("ref: refs/heads/other\n")
    another_day(monkeypatch)
    host = world.host()
    session = host.open(session_id)
    assert turn(session, "after the kill").outcome == "completed"
    assert len(world.server.requests) == 4
    assert {world.sent(at) for at in range(4)} == {world.sent(0)}
    assert b"Use tabs." in world.sent()
    assert b"branch main" in world.sent()

    session.send(intents.SetMode("plan"))
    turn(session, "in another mode")
    other = world.sent()
    assert b"Mode plan" in other
    assert b"exit_plan" in other
    session.send(intents.SetMode("ask"))
    turn(session, "and back")
    assert world.sent() == world.sent(0)
    session.send(intents.SetMode("plan"))
    turn(session, "once more")
    assert world.sent() == other
    host.close()


def test_what_a_resumed_session_cannot_send_again_is_made_anew(world):
    (world.work / "AGENTS.md").write_text("Use tabs.\n")
    session_id = world.killed_after_three_turns()
    (world.work / "AGENTS.md").write_text("Use blanks.\n")
    host = world.host()
    turn(host.open(session_id), "go on")
    assert b"Use blanks." in world.sent()
    assert b"Use tabs." not in world.sent()
    assert "system prompt" not in str(world.server.requests[-1]["messages"][1:])
    host.close()


def test_guidance_that_changes_meanwhile_is_told_by_a_message_until_the_next_compaction(world):
    rules = world.work / "AGENTS.md"
    rules.write_text("Use tabs.\n")
    host = world.host()
    session = host.new()
    turn(session, "one")
    rules.write_text("Use blanks.\n")
    turn(session, "two")
    turn(session, "three")
    assert world.sent() == world.sent(0)
    told = [m["content"] for m in world.server.requests[-1]["messages"] if "Use blanks." in m["content"]]
    assert len(told) == 1
    assert told[0].endswith("two")
    for n in range(4):
        turn(session, f"more {n}")
    session.send(intents.Compact())
    turn(session, "after it")
    assert b"Use blanks." in world.sent()
    assert b"Use tabs." not in world.sent()
    again = world.sent()
    rules.unlink()
    turn(session, "no rules")
    assert world.sent() == again
    assert "The guidance files are gone" in world.server.requests[-1]["messages"][-1]["content"]
    assert world.server.violations == []
    host.close()


def test_the_tools_keep_the_order_they_were_sent_in_first_and_a_late_one_comes_last(tmp_path):
    table = Table(tmp_path, say("An answer."))
    table.turn("one")
    names = [tool.name for tool in table.model.requests[-1].tools]
    table.session.close()
    table.session.join(5)
    table.services = replace(table.services, tools=lambda: builtin_tools()[::-1])
    table.session = table.open(table.session.id, stored=True)
    table.seen.clear()
    table.turn("two")
    assert [tool.name for tool in table.model.requests[-1].tools] == names
    late = replace(table.services.tools()[0], name="a_late_one")
    ordered = table.session._turns.prompt.in_order(
        {"a_late_one": late, **dict.fromkeys(names, late)}, ("m", "test", "")
    )
    assert list(ordered)[-1] == "a_late_one"


def test_a_prompt_that_cannot_be_kept_fails_no_turn(tmp_path, monkeypatch):
    table = Table(tmp_path, say("An answer."))

    def full(session_id, sent):
        raise StoreError("store_full", "The disk is full.")

    monkeypatch.setattr(table.store.views, "keep_prompt", full)
    assert table.turn("one").outcome == "completed"
    assert table.turn("two", count=2).outcome == "completed"
    assert len({request.messages[0].text for request in table.model.requests}) == 1
    assert table.store.views.prompt(table.session.id).identity == ""


def test_the_first_request_of_a_session_is_small(world):
    """System prompt and tools, without context files: what every request of a small model holds."""
    host = world.host()
    turn(host.new(), "hello")
    host.close()
    assert len(world.sent()) <= 16 * limits.KB


def test_a_guidance_file_that_is_made_meanwhile_is_told_and_what_is_wrong_with_one_is_said_once(tmp_path):
    table = Table(tmp_path, say("ok"))
    unused, cut = (
        events.Notice(code, text, "warning")
        for code, text in (("context_many", "CLAUDE.md is not used."), ("context_cut", "AGENTS.md is cut."))
    )
    state = {"text": "", "notices": (unused,)}
    table.services = replace(table.services, context=lambda workspace: (state["text"], state["notices"]))
    table.session = table.open(table.session.id, stored=False)
    table.turn("one")
    state |= {"text": "Use tabs.", "notices": (unused, cut)}
    table.turn("two", 2)
    table.turn("three", 3)
    assert [event for event in table.of(events.Notice) if event.level == "warning"] == [unused, cut]
    asked = [message.text for message in table.model.requests[-1].messages[1:] if "Use tabs." in message.text]
    assert len(asked) == 1
    assert asked[0].startswith("[The guidance files have changed since this conversation began.")
