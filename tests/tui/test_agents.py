"""The dock's tab of tasks shows sub-agents: the list, what can be done with one, stopping it."""

from dataclasses import replace

import pytest

from agent_core import events
from agent_core.delegation import AgentRow
from nanoherm_tui import i18n
from nanoherm_tui.panes import tasks as tab
from nanoherm_tui.panes.agents import agent_row, agent_rows
from nanoherm_tui.panes.dock import Dock
from nanoherm_tui.session_view import SessionView
from nanoherm_tui.summary import status_info
from nanoherm_tui.text import width
from tests.rows import each_row
from tests.tui.panes_app import PaneApp
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

    def on_tasks_tab_look_requested(self, message):
        self.posted.append(("look", message.agent.id))

    def on_tasks_tab_stop_requested(self, message):
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
    assert rows[0] == "Result  Diff  Plan  Tasks 3  Context  File  Memory  Servers  Turns"
    heads = [row for row in rows[2:] if "explorer" in row]
    assert [row[0] for row in heads] == ["◦", "⠋", "✗", "✗", "✓"]
    ends = ["waits", "3 steps 12.3k", "stopped", "failed  3 steps 12.3k", "3 steps 12.3k"]
    for row, words, took in zip(heads, ends, (12, 12, 10, 10, 10), strict=True):
        assert row.endswith(f"{words}{f'{took} s'.rjust(8)}"), row
        assert width(row) == 72, "right-aligned"
    assert "  grep parse_date" in rows
    assert "  The account has no credit left." in rows
    assert rows.index("") < next(n for n, row in enumerate(rows) if row.startswith("⠋ npm run dev"))


@each_row("cells", [10, 24, 36, 47, 48, 120])
@each_row("state", ["waiting", "running", "done", "failed", "interrupted"])
@each_row("language", ["en", "zh"])
def test_a_row_is_made_for_every_width(cells, state, language):
    i18n.set_language(language)
    row = agent_row(agent(1, state, group="调查"), 0, NOW, cells)
    right = "".join(span.text for span in row.right)
    assert width(right) <= max(cells, 24), "what stands at the right leaves room for the rest"
    assert ("12.3k" in right) == (cells >= 48)


def test_a_group_stands_behind_the_name_and_a_long_silence_below():
    i18n.set_language("en")
    quiet = agent(1, doing="grep x", group="survey", quiet=NOW - 480)
    rows = [row.text for row in agent_rows((quiet, replace(quiet, doing="")), "", 0, NOW, 80)]
    assert "explorer [survey] Where" in rows[0]
    assert [row.strip() for row in rows[1::2]] == ["no sign of life for 8m 00s", "no sign of life for 8m 00s: grep x"]


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


async def test_enter_asks_for_what_one_says_and_a_waiting_one_offers_nothing_to_read():
    dock = Dock()
    app = AgentsApp(dock)
    async with app.run_test(size=(60, 14)) as pilot:
        await opened(pilot, dock)
        assert "Enter look" not in " ".join(shown(dock)), "the newest waits"
        await pilot.press("j")
        assert "Enter look" in " ".join(shown(dock))
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted == [("look", "agent-4")]
        assert dock.cursor_key == "task:agent-4"


async def test_another_session_has_other_agents():
    dock = Dock()
    async with AgentsApp(dock).run_test(size=(60, 12)) as pilot:
        await opened(pilot, dock)
        await pilot.press("j")
        dock.clear()
        await pilot.pause()
        assert shown(dock)[2] == "No tasks and no sub-agents."


def test_events_of_agents_count_as_running_in_the_status_line():
    view = SessionView(None)
    changed = view.take([events.AgentsChanged((agent(1), agent(2)))])
    assert changed == {"status", "tasks"}
    assert status_info(view, "m", "", 0, None).tasks == 2
    assert view.take([events.AgentsChanged((agent(1), replace(agent(2), doing="x")))]) == {"tasks"}
