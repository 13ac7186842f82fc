"""The dock's tab of tasks shows sub-agents: the list, what one has said, stopping one, telling one something."""

from dataclasses import replace

import pytest

from agent_core import events
from agent_core.delegation import AgentRow
from agent_core.messages import Message, ToolCall, ToolResult, tool, user
from nanoherm_tui import i18n
from nanoherm_tui.panes import tasks as tab
from nanoherm_tui.panes.agents import Account, Line, account_rows, agent_row, lines_of
from nanoherm_tui.panes.dock import Dock
from nanoherm_tui.session_view import SessionView
from nanoherm_tui.summary import status_info
from nanoherm_tui.text import width
from tests.fakes.model_server import Reply
from tests.tui.panes_app import PaneApp
from tests.tui.test_app import Stage
from tests.tui.test_tasks import NOW, SERVER, Clock, shown


def agent(number=1, state="running", **more):
    ended = {} if state in ("waiting", "running") else {"ended": NOW - 2}
    values = {"session_id": f"s{number}", "steps": 3, "tokens": 12_345, **ended, **more}
    return AgentRow(f"agent-{number}", "explorer", "Where is 日期 parsed?", state, NOW - 12, **values)


ALL = (
    agent(1, "done", preview="In dates.py:12."),
    agent(2, "failed", preview="The account has no credit left."),
    agent(3, "interrupted", steps=0, tokens=0),
    agent(4, doing="grep parse_date"),
    agent(5, "waiting", steps=0, tokens=0, session_id=""),
)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(tab, "time", clock)
    return clock


class AgentsApp(PaneApp):
    """Keeps what the tab asks for."""

    def on_agents_part_account_requested(self, message):
        self.posted.append(("account", message.agent.id))

    def on_agents_part_stop_requested(self, message):
        self.posted.append(("stop", message.agent_id))

    def on_tasks_tab_kill_requested(self, message):
        self.posted.append(("kill", message.task_id))


async def opened(pilot, dock, agents=ALL, tasks=()):
    dock.show_tasks(tasks)
    dock.show_agents(agents)
    dock.focus()
    await pilot.press("4")
    await pilot.pause()


async def test_each_stands_with_its_state_its_task_and_what_it_has_used_the_newest_first():
    dock = Dock()
    async with AgentsApp(dock).run_test(size=(76, 20)) as pilot:
        await opened(pilot, dock, tasks=(SERVER,))
        rows = shown(dock)
    assert rows[0] == "Result   Diff   Plan   Tasks 3   Context   File"
    heads = [row for row in rows[2:] if "explorer" in row]
    assert [row[0] for row in heads] == ["◦", "⠋", "✗", "✗", "✓"]
    ends = ["waits", "3 steps 12.3k", "stopped", "failed  3 steps 12.3k", "3 steps 12.3k"]
    for row, words, took in zip(heads, ends, (12, 12, 10, 10, 10), strict=True):
        assert row.endswith(f"{words}{f'{took} s'.rjust(8)}"), row
        assert width(row) == 72, "right-aligned"
    assert "  grep parse_date" in rows
    assert "  The account has no credit left." in rows
    assert rows.index("") < next(n for n, row in enumerate(rows) if row.startswith("⠋ npm run dev"))


@pytest.mark.parametrize("cells", [10, 24, 36, 47, 48, 120])
@pytest.mark.parametrize("state", ["waiting", "running", "done", "failed", "interrupted"])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_row_is_made_for_every_width(cells, state, language):
    i18n.set_language(language)
    row = agent_row(agent(1, state), 0, NOW, cells)
    right = "".join(span.text for span in row.right)
    assert width(right) <= max(cells, 24), "what stands at the right leaves room for the rest"
    assert ("12.3k" in right) == (cells >= 48)


async def test_x_stops_one_that_is_at_work_at_the_second_press():
    dock = Dock()
    app = AgentsApp(dock)
    async with app.run_test(size=(76, 20)) as pilot:
        await opened(pilot, dock)
        await pilot.press("j", "x")
        assert "x again stops it" in " ".join(shown(dock))
        await pilot.press("x")
        assert app.posted == [("stop", "agent-4")]
        await pilot.press("j", "x", "x")
        assert app.posted == [("stop", "agent-4")], "what has ended cannot be stopped"


async def test_enter_shows_what_one_has_said_and_done_and_follows_it():
    dock = Dock()
    app = AgentsApp(dock)
    async with app.run_test(size=(60, 12)) as pilot:
        await opened(pilot, dock)
        await pilot.press("j", "enter")
        await pilot.pause()
        assert app.posted == [("account", "agent-4")]
        said = tuple(Line("call", f"grep word_{n}", True, "no match") for n in range(30))
        dock.show_account(Account("agent-4", (Line("told", "Where?"), *said)))
        await pilot.pause()
        rows = shown(dock)
        assert rows[2].startswith("⠋ 4 explorer Where is"), "in view wherever the rest is scrolled to"
        assert any(row.startswith("✓ grep word_29") and row.endswith("no match") for row in rows)
        app.posted.clear()
        dock.show_agents((*ALL[:3], agent(4, doing="read_file a.py"), ALL[4]))
        await pilot.pause()
        assert app.posted == [("account", "agent-4")], "asked for again when something has changed"
        dock.show_account(Account("agent-4", (Line("told", "Where?"), *said, Line("said", "In dates.py."))))
        await pilot.pause()
        assert "  In dates.py." in shown(dock)
        dock.show_account(Account("agent-1", (Line("said", "another's"),)))
        await pilot.pause()
        assert "another's" not in " ".join(shown(dock))
        await pilot.press("escape")
        assert dock.cursor_key == "task:agent-4"


async def test_whoever_reads_further_up_is_not_taken_to_the_end():
    dock = Dock()
    app = AgentsApp(dock)
    async with app.run_test(size=(60, 12)) as pilot:
        await opened(pilot, dock, (agent(4),))
        await pilot.press("enter")
        said = tuple(Line("call", f"grep word_{n}", True) for n in range(40))
        dock.show_account(Account("agent-4", said))
        await pilot.pause()
        await pilot.press("pageup")
        before = shown(dock)[4:-3]
        dock.show_account(Account("agent-4", (*said, Line("said", "more"))))
        await pilot.pause()
        assert shown(dock)[4:-3] == before


async def test_one_that_has_no_session_yet_cannot_be_looked_into():
    dock = Dock()
    app = AgentsApp(dock)
    async with app.run_test(size=(60, 12)) as pilot:
        await opened(pilot, dock, (ALL[4],))
        await pilot.press("enter")
        assert app.posted == []
        assert "Enter look" not in " ".join(shown(dock))


async def test_another_session_has_other_agents():
    dock = Dock()
    async with AgentsApp(dock).run_test(size=(60, 12)) as pilot:
        await opened(pilot, dock)
        await pilot.press("j", "enter")
        dock.clear()
        await pilot.pause()
        assert shown(dock)[2] == "No tasks and no sub-agents."


def test_stored_messages_become_lines_with_what_came_of_each_call():
    calls = (ToolCall("1", "grep", {"pattern": "x"}), ToolCall("2", "read_file", {"path": "a.py"}))
    messages = [
        user("Look"),
        user("a remark of the program's", origin="note"),
        Message("assistant", "I look.", tool_calls=calls),
        tool(ToolResult("1", "grep", "…", ok=False, outcome="no match")),
        user("only tests", origin="steer"),
    ]
    assert lines_of(messages) == (
        Line("told", "Look"),
        Line("said", "I look."),
        Line("call", "grep x", False, "no match"),
        Line("call", "read_file a.py", None, ""),
        Line("told", "only tests"),
    )


@pytest.mark.parametrize("cells", [1, 8, 40])
def test_what_it_says_is_data_and_fits(cells):
    evil = "\x1b]0;title\x07[bold]红[/] " * 5
    account = Account("a", (Line("told", evil), Line("said", evil), Line("call", evil, None, "\x1b[31mx")), 3, "gone")
    for row in account_rows(account, cells, 0):
        assert "\x1b" not in row.text + "".join(span.text for span in row.right)
    assert any("[bold]" in row.text for row in account_rows(account, 60, 0)), "no markup"


async def test_a_sub_agent_is_seen_told_and_its_result_read_in_the_program(tmp_path):
    def reply(body, number):
        messages = body["messages"]
        if "# You are a sub-agent" not in messages[0]["content"]:
            asks = messages[-1]["role"] == "user"
            job = {"name": "explorer", "task": "Find the parser"}
            return Reply(calls=[("subagent", job)]) if asks else Reply("It is in dates.py.")
        if len(messages) == 2:
            return Reply("I look.", calls=[("grep", {"pattern": "parse"})], hang=0.7)
        return Reply(f"Told: {messages[-1]['content']}")

    async with Stage(tmp_path, reply, **{"delegation.builtin_agents": True}) as stage:
        await stage.type("find it")
        await stage.until(lambda: [one.state for one in stage.app.view.agents] == ["running"])
        assert stage.host.live(stage.app.view.agents[0].session_id) is None
        with pytest.raises(Exception, match="at work in this session"):
            stage.host.open(stage.app.view.agents[0].session_id)
        await stage.type("/agents agent-1 only the tests")
        await stage.until(lambda: stage.state == "idle" and "It is in dates.py." in stage.transcript())
        await stage.type("/agents")
        await stage.until(lambda: stage.app.focused_context == "dock")
        await stage.pilot.press("enter")
        dock = stage.app.dock
        await stage.until(lambda: any("Told: only the tests" in row for row in shown(dock)))
        assert any(row.startswith("› Find the parser") for row in shown(dock))
        assert len(stage.app.conversations.rows) <= 1, "it stands in no list of sessions"
        assert stage.app.view.usage.prompt_tokens == 400, "two requests of the session's, two of its sub-agent's"


def test_events_of_agents_count_as_running_in_the_status_line():
    view = SessionView(None)
    changed = view.take([events.AgentsChanged((agent(1), agent(2)))])
    assert changed == {"status", "tasks"}
    assert status_info(view, "m", "", 0, None).tasks == 2
    assert view.take([events.AgentsChanged((agent(1), replace(agent(2), doing="x")))]) == {"tasks"}
