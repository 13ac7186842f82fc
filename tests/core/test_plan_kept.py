"""The plan of a session is what it was after a compaction, in another program, and after a compaction there."""

from __future__ import annotations

import os
import time

import pytest

from agent_core import events, intents
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.mind import compaction
from agent_core.ports.means import TodoItem
from tests.fakes.model_server import ModelServer, Reply

FIRST = [{"text": "mend the parser", "status": "in_progress"}, {"text": "写测试", "status": "pending"}]
SECOND = [{"text": "mend the parser", "status": "completed"}, {"text": "写测试", "status": "in_progress"}]
TURNS = 7  # enough that there is something to compact


class Model:
    """Writes the plan where it is asked to, summarises where it is asked to, and keeps what it was shown."""

    def __init__(self):
        self.plan, self.shown, self.summarised = FIRST, "", ""

    def __call__(self, body, number):
        last = body["messages"][-1]
        text = last["content"] if isinstance(last["content"], str) else str(last["content"])
        if "tools" not in body:
            self.summarised = text
            return Reply(text="# Goal\nMend the parser.")
        self.shown = "\n".join(str(message.get("content")) for message in body["messages"])
        return Reply(calls=[("todo_write", {"items": self.plan})]) if text == "plan" else Reply(text="Well.")


class Program:
    """A host, as one start of the program has it, and the events of its one session."""

    def __init__(self, folder, server, session_id=""):
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "NANOHERMES_BASE_URL": server.base_url}
        self.host = Host(Launch(folder / "work", env | {"NANOHERMES_MODEL": "m"}, {}))
        self.session = self.host.open(session_id) if session_id else self.host.new()
        self.seen = []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.host.close()

    def do(self, intent, until):
        self.seen.clear()
        self.session.send(intent)
        end = time.monotonic() + 30
        while not any(isinstance(event, until) for event in self.seen) or self.session.state != "idle":
            assert time.monotonic() < end, self.seen
            self.seen += [envelope.event for envelope in self.session.mailbox.drain()]
            time.sleep(0.005)

    def say(self, text):
        self.do(intents.Submit(text), events.TurnFinished)

    def compact(self):
        self.do(intents.Compact(), events.CompactionFinished)

    @property
    def plan(self):
        """What the dock is told."""
        return [event.items for event in self.seen if isinstance(event, events.PlanChanged)]


def test_the_plan_survives_compaction_restart_and_resume_and_an_old_one_does_not_come_back(tmp_path):
    (tmp_path / "work").mkdir()
    first, second = (tuple(TodoItem(**item) for item in items) for items in (FIRST, SECOND))
    with ModelServer(model := Model()) as server:
        with Program(tmp_path, server) as program:
            program.say("plan")
            assert program.plan == [first]
            for number in range(TURNS):
                program.say(f"question {number}")
            program.compact()
            session_id = program.session.id
        with Program(tmp_path, server, session_id) as program:
            program.say("go on")
            assert program.plan == [first]  # before anything was asked of the model
            assert "# The todo list at this point\n[>] mend the parser\n[ ] 写测试\n" in model.shown
            model.plan = SECOND
            program.say("plan")
            for number in range(TURNS):
                program.say(f"question {number}")
            program.compact()
            assert "The record of what came before" in model.summarised
            assert "# The todo list" not in model.summarised
            program.say("go on")
            assert model.shown.count("# The todo list") == 1
            assert "# The todo list at this point\n[x] mend the parser\n[>] 写测试\n" in model.shown
        with Program(tmp_path, server, session_id) as program:
            program.say("go on")
            assert program.plan == [second]
        assert server.violations == []


@pytest.mark.parametrize("summary", ["", "So far.", "# The todo list at this point\n\nquoted"])
def test_a_plan_is_added_to_a_summary_and_taken_off_it_again(summary):
    assert compaction.without_plan(summary) == summary
    assert compaction.without_plan(compaction.with_plan(summary, [TodoItem("a\n", "pending")])) == summary
