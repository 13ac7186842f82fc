"""Looking at a sub-agent: its whole transcript, live and stored, read as the session's own, and the way back."""

import threading

import pytest

from tests.fakes.model_server import Reply
from tests.tui.test_app import Stage
from tests.tui.test_tasks import shown

WORDS = "The parser is in dates.py, and its tests stand beside it. " * 6


def is_child(body):
    return "# You are a sub-agent" in body["messages"][0]["content"]


class Play:
    """A session that hands one task to the explorer, which looks, then writes until it is let go, then answers."""

    def __init__(self):
        self.free = threading.Event()

    def __call__(self, body, number):
        messages = body["messages"]
        if not is_child(body):
            asks = messages[-1]["role"] == "user"
            job = {"name": "explorer", "task": "Find the 解析器"}
            return Reply(calls=[("subagent", job)]) if asks else Reply("It is in dates.py.")
        if len(messages) == 2:
            return Reply("I look.", calls=[("grep", {"pattern": "parse"})])
        if not self.free.is_set() and messages[-1]["role"] == "tool":
            return Reply(WORDS, piece=10, held=self.free)
        return Reply(f"Told: {messages[-1]['content']}")


@pytest.fixture
def play():
    return Play()


async def write(stage, text):
    stage.app.composer.focus()
    await stage.type(text)


def title(stage):
    row = stage.app.title_row
    return "".join(segment.text for segment in row.paint(row.size.width)[0])


def above_the_draft(stage):
    rows = stage.app.query_one("AddresseeRow")
    return " ".join("".join(s.text for s in strip) for strip in rows.paint(max(rows.size.width, 40)))


async def test_one_at_work_is_read_live_told_something_and_left_again(tmp_path, play):
    (tmp_path / "dates.py").write_text("def parse(): ...\n")
    async with Stage(tmp_path, play, size=(150, 40), **{"delegation.builtin_agents": True}) as stage:
        app = stage.app
        await stage.type("find it")
        await stage.until(lambda: [one.state for one in app.view.agents] == ["running"])
        with pytest.raises(Exception, match="at work in this session"):
            stage.host.open(app.view.agents[0].session_id)
        await stage.type("/agents")
        await stage.until(lambda: app.focused_context == "dock")
        await stage.pilot.press("enter")
        await stage.until(lambda: "The parser is" in stage.transcript())
        assert app.view.agents[0].state == "running", "what it writes is read as it comes"
        read = stage.transcript()
        assert "Find the 解析器" in read
        assert "grep" in read
        assert "find it" not in read, "the session's own transcript stands behind"
        assert "explorer Find the 解析器" in title(stage)
        assert "To agent-1 explorer" in above_the_draft(stage)
        await write(stage, "only the tests")
        await stage.until(lambda: app.composer.text == "")
        play.free.set()
        await stage.until(lambda: stage.state == "idle")
        await stage.until(lambda: "Told: only the tests" in stage.transcript())
        assert "agent-1 explorer has ended" in above_the_draft(stage)
        assert app.transcript.at_end
        await write(stage, "too late")
        await stage.until(lambda: app.composer.text == "too late")
        assert app.view.steers == app.view.queued == ()
        app.composer.text = ""
        await stage.pilot.press("escape")
        await stage.until(lambda: "It is in dates.py." in stage.transcript())
        assert app.focused_context == "dock", "back to where the look began"
        assert above_the_draft(stage).strip() == ""
        assert len(app.conversations.rows) <= 1, "it stands in no list of sessions"
        assert app.view.usage.prompt_tokens == 500, "two requests of the session's, three of its sub-agent's"


async def test_one_that_has_ended_is_read_from_the_store_with_its_results_and_found_in(tmp_path, play):
    play.free.set()
    (tmp_path / "dates.py").write_text("def parse(): ...\n")
    async with Stage(tmp_path, play, size=(80, 24), **{"delegation.builtin_agents": True}) as stage:
        app = stage.app
        await stage.type("find it")
        await stage.until(lambda: stage.state == "idle" and app.view.agents)
        await write(stage, "/agents 1")
        await stage.until(lambda: "Find the 解析器" in stage.transcript())
        assert app.focused_context == "transcript"
        assert app.transcript.find("I look")
        card = next(entry for entry in app.transcript.model.entries if entry.kind == "card")
        app.transcript.post_message(app.transcript.OpenRequested(card.id))
        await stage.until(lambda: app.panes.dock == "over" and "parse" in "\n".join(shown(app.dock)))
        await stage.pilot.press("f3", "escape")
        await stage.until(lambda: "It is in dates.py." in stage.transcript())
        assert app.focused_context == "composer"


async def test_x_twice_stops_the_one_that_is_read_and_esc_stops_nothing(tmp_path, play):
    async with Stage(tmp_path, play, size=(120, 30), **{"delegation.builtin_agents": True}) as stage:
        app = stage.app
        await stage.type("find it")
        await stage.until(lambda: [one.state for one in app.view.agents] == ["running"])
        await write(stage, "/agents 1")
        await stage.until(lambda: "The parser is" in stage.transcript())
        await stage.pilot.press("escape")
        assert stage.state == "running"
        await write(stage, "/agents 1")
        await stage.until(lambda: "The parser is" in stage.transcript())
        await stage.pilot.press("x", "x")
        await stage.until(lambda: [one.state for one in app.view.agents] == ["interrupted"])
        await stage.until(lambda: stage.state == "idle")
        assert "find it" not in stage.transcript(), "it stays in view"
