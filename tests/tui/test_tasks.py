"""The dock's tab of commands in the background: the list, the output as it grows, ending and keeping."""

from dataclasses import replace

import pytest

from agent_core import intents
from agent_core.background import Task, TaskOutput
from nanoherm_tui import i18n, limits
from nanoherm_tui.panes import tasks as tab
from nanoherm_tui.panes.dock import Dock
from nanoherm_tui.panes.status import StatusInfo, status_row
from nanoherm_tui.panes.tabbed import TABS
from nanoherm_tui.panes.task_output import OutputWindow, Piece, Wanted
from nanoherm_tui.panes.task_rows import output_rows
from nanoherm_tui.text import width
from nanoherm_tui.words.leaving import leaving_words
from tests.fakes.model_server import Reply
from tests.rows import each_row
from tests.tui.panes_app import PaneApp, lines
from tests.tui.test_app import Stage

NOW = 1_000_000.0


def task(id="t1", command="pytest -q", **more):
    return Task(id, "s", command, "/src/shop", "workspace-write", 77, NOW - 12, **more)


SERVER = task("t1", "npm run dev", newest="ready on http://127.0.0.1:5173", output_bytes=40)
FAILED = task("t2", state="ended", ended=NOW - 2, exit_code=1)
PASSED = task("t3", "make docs", state="ended", ended=NOW - 9, exit_code=0)
KILLED = task("t4", "sleep 600", state="killed", ended=NOW - 4, signal=15)
LOST = task("t5", "watch 中文 " * 20, state="lost", ended=NOW)
ALL = (SERVER, FAILED, PASSED, KILLED, LOST)


class Clock:
    """Stands in for the module `time` where the rows are made."""

    def __init__(self):
        self.now = NOW

    def time(self):
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The time that the rows are made at."""
    clock = Clock()
    monkeypatch.setattr(tab, "time", clock)
    return clock


class TasksApp(PaneApp):
    """Keeps what the tab asks for."""

    def on_tasks_tab_output_requested(self, message):
        self.posted.append(("output", message.task_id, message.start, message.end))

    def on_tasks_tab_kill_requested(self, message):
        self.posted.append(("kill", message.task_id))

    def on_tasks_tab_keep_requested(self, message):
        self.posted.append(("keep", message.task_id, message.keep))


def shown(dock):
    return [row[2:-2].rstrip() for row in lines(dock)]


async def opened(pilot, dock, tasks=ALL):
    dock.show_tasks(tasks)
    dock.focus()
    await pilot.press("4")
    await pilot.pause()


# -- the list -----------------------------------------------------------------------------------------------------


async def test_the_newest_task_is_first_with_its_state_how_it_ended_and_its_time():
    dock = Dock()
    async with TasksApp(dock).run_test(size=(64, 16)) as pilot:
        await opened(pilot, dock)
        rows = shown(dock)
    assert rows[0] == "Result Diff Plan Tasks 1 Context File Memory Servers Turns"
    assert rows[2].startswith("✗ watch 中文 watch")
    assert "⋯" in rows[2]
    assert rows[2].endswith("lost, its end is not known    12 s")
    assert [row.split("  ", 1)[0] for row in rows[3:7]] == [
        "✗ sleep 600",
        "✓ make docs",
        "✗ pytest -q",
        "⠋ npm run dev",
    ]
    ends = [("ended on request", "8 s"), ("", "3 s"), ("exit code 1", "10 s"), ("", "12 s")]
    for row, (words, took) in zip(rows[3:7], ends, strict=True):
        assert row.endswith(words + took.rjust(8)), row
        assert len(row) == 60, "right-aligned"
    assert rows[7] == "  ready on http://127.0.0.1:5173"


@pytest.mark.parametrize(("language", "words"), [("en", "ended with the program"), ("zh", "随程序结束")])
def test_what_ended_with_the_program_is_not_said_to_have_been_asked_to(language, words):
    i18n.set_language(language)
    try:
        assert tab.outcome(replace(KILLED, state="closed")) == words
    finally:
        i18n.set_language("en")


async def test_without_tasks_one_muted_line_says_so():
    dock = Dock()
    async with TasksApp(dock).run_test(size=(40, 8)) as pilot:
        await opened(pilot, dock, ())
        assert shown(dock)[1] == "No tasks and no sub-agents."


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("cells", [36, 45, 49, 76])
async def test_the_tabs_fit_also_where_tasks_run(language, cells):
    i18n.set_language(language)
    dock = Dock()
    async with TasksApp(dock).run_test(size=(cells + 4, 10)) as pilot:
        for tasks in ((), (SERVER,), tuple(replace(SERVER, id=f"t{n}") for n in range(12))):
            await opened(pilot, dock, tasks)
            seen = set()
            for _ in TABS:
                head = shown(dock)[0]
                title = i18n.t(f"dock.{dock.tab}")
                assert title in head
                assert width(head) <= cells
                seen |= {tab for tab in TABS if i18n.t(f"dock.{tab}") in head}
                at = width(head[: head.index(title)])
                front = dock.tab
                await pilot.click(dock, offset=(2 + at, 0))
                assert dock.tab == front, "a click is where the title stands"
                await pilot.press("right")
            assert seen == set(TABS)


async def test_marks_step_and_seconds_count_and_nothing_else_is_painted(clock):
    dock = Dock()
    async with TasksApp(dock).run_test(size=(60, 12)) as pilot:
        await opened(pilot, dock)
        builds, paints = dock.builds, dock.paints
        dock.show_tasks(tuple(replace(each) for each in ALL))
        await pilot.pause()
        assert dock.paints == paints, "the same tasks are nothing new"
        assert dock.ticks
        dock.tick(1)
        await pilot.pause()
        assert shown(dock)[6].startswith("⠙ npm run dev")
        clock.now += 3
        dock.tick(2)
        await pilot.pause()
        assert shown(dock)[6].endswith("15 s")
        assert dock.builds == builds, "one row is painted, none made anew"
        dock.show_tasks((replace(SERVER, state="ended", ended=NOW + 3, exit_code=0), *ALL[1:]))
        await pilot.pause()
        assert "Tasks 1" not in shown(dock)[0].replace("Tasks   ", "")
        assert not dock.ticks
        paints = dock.paints
        dock.tick(3)
        await pilot.pause()
        assert dock.paints == paints


async def test_a_newer_line_is_painted_in_its_place_and_the_cursor_stays_at_its_task():
    dock = Dock()
    async with TasksApp(dock).run_test(size=(60, 12)) as pilot:
        await opened(pilot, dock)
        await pilot.press("G")
        assert dock.cursor_key == "task:t1"
        builds = dock.builds
        dock.show_tasks((replace(SERVER, newest="GET / 200"), *ALL[1:]))
        await pilot.pause()
        assert shown(dock)[7] == "  GET / 200"
        assert dock.builds == builds
        dock.show_tasks((*ALL, task("t6", "tail -f log")))
        await pilot.pause()
        assert dock.cursor_key == "task:t1"
        assert shown(dock)[2].startswith("⠋ tail -f log")


async def test_while_another_tab_is_in_front_the_title_alone_tells_and_nothing_is_asked_for():
    dock = Dock()
    app = TasksApp(dock)
    async with app.run_test(size=(60, 12)) as pilot:
        dock.show_tasks(())
        await pilot.pause()
        builds = dock.builds
        dock.show_tasks(ALL)
        await pilot.pause()
        assert "Tasks 1" in shown(dock)[0]
        assert dock.builds == builds
        assert not dock.ticks
        assert app.posted == []


# -- ending and keeping -------------------------------------------------------------------------------------------


async def test_x_ends_a_running_task_at_the_second_press_and_only_there():
    dock = Dock()
    app = TasksApp(dock)
    async with app.run_test(size=(70, 14)) as pilot:
        await opened(pilot, dock)
        await pilot.press("x", "x")
        assert app.posted == [], "what has ended cannot be ended"
        await pilot.press("G", "x")
        assert "x again ends it" in " ".join(shown(dock))
        await pilot.press("k", "j")
        assert "again ends it" not in " ".join(shown(dock)), "another task was looked at meanwhile"
        await pilot.press("x")
        assert app.posted == []
        await pilot.press("x")
        assert app.posted == [("kill", "t1")]


async def test_the_question_whether_to_end_it_passes(monkeypatch):
    monkeypatch.setattr(limits, "TOLD_HINT", 0.05)
    dock = Dock()
    app = TasksApp(dock)
    async with app.run_test(size=(70, 14)) as pilot:
        await opened(pilot, dock, (SERVER,))
        await pilot.press("x")
        await pilot.pause(0.2)
        assert "again ends it" not in " ".join(shown(dock))
        await pilot.press("x")
        assert app.posted == []


async def test_a_kept_task_says_so_in_words_and_the_key_takes_it_back():
    dock = Dock()
    app = TasksApp(dock)
    async with app.run_test(size=(70, 14)) as pilot:
        await opened(pilot, dock, (SERVER,))
        assert "K keep after the program ends" in " ".join(shown(dock))
        await pilot.press("K")
        dock.show_tasks((replace(SERVER, kept=True),))
        await pilot.pause()
        assert shown(dock)[3] == "  kept: goes on after the program ends"
        assert "K end with the program" in " ".join(shown(dock))
        await pilot.press("K")
        assert app.posted == [("keep", "t1", True), ("keep", "t1", False)]


# -- the output ---------------------------------------------------------------------------------------------------


class Writer:
    """A task that writes, and answers what is asked of its output as the core does."""

    def __init__(self, dock, app, task):
        self.dock, self.app, self.task, self.data, self.dropped = dock, app, task, b"", 0

    def writes(self, text):
        self.data += text.encode()
        self.task = replace(self.task, output_bytes=len(self.data))
        self.dock.show_tasks((self.task,))

    def output(self, start, limit):
        start = max(start, self.dropped)
        piece = self.data[start : start + limit]
        return TaskOutput(self.task, piece.decode(), start, start + len(piece))

    async def answers(self, pilot):
        """Give what is asked for until nothing more is. Returns how often something was."""
        for count in range(1_000):
            await pilot.pause()
            asked = [one for one in self.app.posted if one[0] == "output"]
            self.app.posted = [one for one in self.app.posted if one[0] != "output"]
            if not asked:
                return count
            for _, task_id, start, end in asked:
                assert end - start <= limits.TASK_PIECE
                got = self.output(start, end - start)
                self.dock.show_output(task_id, Piece(got.start, got.next, got.text))
        raise AssertionError("it never stops asking")


def numbered(first, last):
    return "".join(f"line {n}\n" for n in range(first, last))


async def writing(pilot, dock, app, text):
    writer = Writer(dock, app, replace(SERVER, output_bytes=0))
    writer.writes(text)
    dock.focus()
    await pilot.press("4", "enter")
    await writer.answers(pilot)
    return writer


async def test_enter_opens_the_output_at_its_end_and_follows_it():
    dock = Dock()
    app = TasksApp(dock)
    async with app.run_test(size=(60, 16)) as pilot:
        writer = await writing(pilot, dock, app, numbered(0, 100))
        rows = shown(dock)
        assert rows[2] == "⠋ npm run dev                                       12 s"
        assert "line 99" in rows
        writer.writes(numbered(100, 130))
        await writer.answers(pilot)
        assert "line 129" in shown(dock)
        await pilot.press("escape")
        assert shown(dock)[2].startswith("⠋ npm run dev"), "back at the list"
        assert dock.cursor_key == "task:t1"


async def test_whoever_looks_further_up_is_left_alone_until_they_are_at_the_end_again():
    dock = Dock()
    app = TasksApp(dock)
    async with app.run_test(size=(60, 16)) as pilot:
        writer = await writing(pilot, dock, app, numbered(0, 100))
        await pilot.press("pageup")
        before = shown(dock)[3:-3]
        builds = dock.builds
        for n in range(100, 104):
            writer.writes(numbered(n, n + 1))
            assert await writer.answers(pilot) == 0
        assert shown(dock)[3:-3] == before
        assert dock.builds == builds
        assert "G to the end, there is more" in " ".join(shown(dock))
        await pilot.press("G")
        await writer.answers(pilot)
        assert "line 103" in shown(dock)
        writer.writes("the last\n")
        await writer.answers(pilot)
        assert "the last" in shown(dock)


async def test_of_a_large_output_a_window_is_kept_and_older_output_comes_without_moving_what_is_read(monkeypatch):
    monkeypatch.setattr(limits, "TASK_PIECE", 512)
    monkeypatch.setattr(limits, "TASK_KEPT", 2_048)
    dock = Dock()
    app = TasksApp(dock)
    async with app.run_test(size=(60, 20)) as pilot:
        total = 600
        writer = await writing(pilot, dock, app, numbered(0, total))
        assert f"line {total - 1}" in shown(dock)
        assert len(dock.rows) < 100, "a piece, not all of it"
        await pilot.press("g")
        top = shown(dock)[3:12]
        first = next(int(row.split()[1]) for row in top if row.startswith("line ") and row != top[-1])
        assert await writer.answers(pilot) >= 1
        seen = shown(dock)
        assert f"line {first + 1}" in seen, "what was read stays in view"
        for _ in range(12):
            await pilot.press("g")
            await writer.answers(pilot)
        assert f"line {total - 1}" not in "\n".join(row.text for row in dock.rows)
        assert len(dock.rows) < 400, "the newest gives way to the oldest"
        await pilot.press("G")
        for _ in range(200):
            if not await writer.answers(pilot):
                break
            await pilot.press("G")
        assert f"line {total - 1}" in shown(dock)


async def test_output_is_data_and_an_error_is_said():
    dock = Dock()
    app = TasksApp(dock)
    async with app.run_test(size=(60, 16)) as pilot:
        await writing(pilot, dock, app, "[bold]not markup[/] \x1b[31mred\x1b[0m 中文 wide\n")
        rows = "\n".join(shown(dock))
        assert "[bold]not markup[/]" in rows
        assert "中文 wide" in rows
        assert "\x1b" not in rows
        dock.output_failed("t1", "No such task.")
        await pilot.pause()
        assert "No such task." in "\n".join(shown(dock))


async def test_a_task_that_goes_while_its_output_is_shown_leads_back_to_the_list():
    dock = Dock()
    app = TasksApp(dock)
    async with app.run_test(size=(60, 16)) as pilot:
        await writing(pilot, dock, app, numbered(0, 9))
        dock.show_tasks((PASSED,))
        await pilot.pause()
        assert shown(dock)[2].startswith("✓ make docs")
        dock.clear()
        await pilot.pause()
        assert shown(dock)[2] == "No tasks and no sub-agents."


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (20, 6), (1, 1)], ids=str)
async def test_it_fits_any_size(size):
    dock = Dock()
    app = TasksApp(dock)
    async with app.run_test(size=size) as pilot:
        writer = await writing(pilot, dock, app, numbered(0, 50) + "很长的一行，" * 80)
        lines(dock)
        await pilot.press("escape")
        dock.show_tasks((*ALL[1:], writer.task))
        await pilot.pause()
        lines(dock)


# -- the whole app, with commands that run ------------------------------------------------------------------------

SCRIPT = "i=0; while [ $i -lt 6000 ]; do echo line $i 中文; i=$((i+1)); done; echo ready; cat > /dev/null; sleep 600"


def starts(body, number):
    """Begins a command in the background, then says so."""
    if body["messages"][-1]["role"] == "tool":
        return Reply(text="It runs.")
    return Reply(calls=[("task_start", {"command": SCRIPT, "description": "serve"})])


class Serving(Stage):
    """A command runs in the background of the session in view."""

    async def __aenter__(self):
        await super().__aenter__()
        self.app.view.session.send(intents.SetMode("auto", confirmed=True))
        await self.until(lambda: self.app.view.mode == "auto")
        await self.type("serve it")
        await self.until(lambda: self.app.view.tasks and self.state == "idle", 30)
        return self

    @property
    def task(self):
        return self.app.view.tasks[0]

    def dock_rows(self):
        return shown(self.app.dock)

    def status(self):
        return self.app.status.render_line(0).text


async def test_a_real_command_is_listed_read_back_to_its_beginning_kept_and_ended(tmp_path):
    async with Serving(tmp_path, starts) as stage:
        app, dock = stage.app, stage.app.dock
        assert "1 task" in stage.status()
        await stage.type("/tasks")
        await stage.until(lambda: dock.cursor_key == f"task:{stage.task.id}")
        assert app.ticking.runs, "its mark steps"
        await stage.pilot.press("enter")
        await stage.until(lambda: "ready" in stage.dock_rows())
        window = dock._window
        for _ in range(200):
            if not window.has_older and window.text.startswith("line 0 "):
                break
            await stage.pilot.press("g")
            await stage.pilot.pause(0.02)
        lines = window.text.splitlines()
        whole = [f"line {n} 中文" for n in range(6000)]
        assert lines[:-1] == whole[: len(lines) - 1], "piece joins piece, whatever byte they were cut at"
        await stage.pilot.press("K")
        await stage.until(lambda: stage.task.kept)
        assert not leaving_words([app.view], app.view)
        await stage.pilot.press("K")
        await stage.until(lambda: not stage.task.kept)
        await stage.pilot.press("x", "x")
        await stage.until(lambda: stage.task.state == "killed")
        await stage.until(lambda: not app.ticking.runs)
        assert "1 task" not in stage.status()


class _View:
    """What is asked of a session's view when the program is left."""

    def __init__(self, busy=False, tasks=(), agents=()):
        self.session, self.tasks, self.agents = self, tasks, agents
        self.busy = busy


@each_row(
    ("busy", "in_view", "tasks", "words"),
    [
        ((False, False), 0, (), ""),
        ((True, False), 0, (), ""),  # the one somebody looks at
        ((True, False), 1, (), "Again quits, and stops the turn of another session."),
        ((True, True, True), 1, (), "Again quits, and stops the turns of 2 other sessions."),
        ((False, False), 1, ALL, "Again quits, and ends 1 task."),
        ((True, False), 1, ALL, "Again quits. Stopped turns of other sessions: 1; ended tasks: 1."),
    ],
)
def test_whoever_leaves_is_told_what_ends_that_nobody_sees(busy, in_view, tasks, words):
    views = [_View(one, tasks if at == 0 else ()) for at, one in enumerate(busy)]
    assert leaving_words(views, views[in_view]) == words


async def test_quitting_says_first_what_ends_with_the_program(tmp_path):
    async with Serving(tmp_path, starts) as stage:
        await stage.pilot.press("ctrl+c")
        assert "Again quits, and ends 1 task" in stage.status()
        stage.app.hint("")
        await stage.pilot.press("ctrl+d")
        assert stage.app.is_running
        assert "Again quits, and ends 1 task" in stage.status()
        await stage.pilot.press("ctrl+d")
        await stage.until(lambda: not stage.app.is_running)


# -- the window of pieces -----------------------------------------------------------------------------------------


def test_pieces_that_do_not_touch_are_not_joined_and_what_is_gone_is_not_asked_for_again():
    window = OutputWindow("t1", 0)
    assert window.wanted(at_top=True, at_end=True) is None, "nothing is written yet"
    window.grown(100)
    assert window.wanted(at_top=True, at_end=True) == Wanted(0, 100)
    assert window.wanted(at_top=True, at_end=True) is None, "it is on its way"
    window.take(Piece(40, 100, "x" * 60))  # the first 40 bytes are not kept any more
    assert not window.has_older
    assert window.wanted(at_top=True, at_end=True) is None
    window.grown(100 + 2 * limits.TASK_KEPT)
    far = window.wanted(at_top=True, at_end=True)
    assert far.end == 100 + 2 * limits.TASK_KEPT
    assert far.end - far.start <= limits.TASK_PIECE, "so far behind it begins anew at the end"
    window.take(Piece(far.start, far.end, "y"))
    assert window.text == "y"
    assert window.has_older
    older = window.wanted(at_top=True, at_end=True)
    assert older.end == far.start
    window.take(Piece(far.start, far.start, ""))  # dropped meanwhile
    assert not window.has_older
    assert window.text == "y"


def test_an_answer_without_anything_is_no_reason_to_ask_again_at_once():
    window = OutputWindow("t1", 10)
    window.wanted(at_top=True, at_end=True)
    window.take(Piece(0, 0, ""))
    assert window.wanted(at_top=True, at_end=True) is None
    window.grown(12)
    assert window.wanted(at_top=True, at_end=True) is not None


# -- the status line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tasks", "cells", "words"), [(0, 120, ""), (1, 120, "1 task"), (3, 120, "3 tasks"), (3, 40, "")]
)
def test_the_status_line_counts_running_tasks_where_there_is_room(tasks, cells, words):
    info = StatusInfo(sandbox="workspace-write", model="coder", tokens_in=1, tokens_out=1, context_percent=3)
    row = status_row(replace(info, tasks=tasks), 0, cells)
    text = row.text + "".join(span.text for span in row.right)
    assert ("task" in text) == bool(words)
    assert words in text
    assert "3%" in text


def test_while_output_comes_only_new_lines_are_laid_out_and_another_width_is_laid_out_anew():
    window, shown_task = OutputWindow("t1", 10_000), task("t1")
    text = "".join(f"line {n} with words enough to be wrapped\n" for n in range(50))
    window.wanted(at_top=False, at_end=True)
    window.take(Piece(0, len(text), text))
    first = output_rows(shown_task, window, 30)
    window.wanted(at_top=False, at_end=True)
    window.take(Piece(len(text), len(text) + 9, "one more\n"))
    second = output_rows(shown_task, window, 30)
    assert [row.text for row in second[:-1]] == [row.text for row in first]
    assert second[-1].text == "one more"
    heads = next(index for index, row in enumerate(first) if row.text.startswith("line 0"))
    assert all(one is other for one, other in zip(first[heads:], second[heads:-1], strict=True))
    assert len(output_rows(shown_task, window, 60)) < len(second)
