"""The dock's lists: memory, MCP servers, and turns of which one file is taken back."""

import time

import pytest

from agent_core.knowledge import Memory
from agent_core.rollback import ChangedFile, Checkpoint
from nanoherm_tui import i18n
from nanoherm_tui.panes.bodies import plain
from nanoherm_tui.panes.dock import Dock
from nanoherm_tui.panes.list_tab import Ask
from nanoherm_tui.panes.memory_tab import OfSession
from nanoherm_tui.panes.tab_titles import pages, title_row
from nanoherm_tui.panes.turns_tab import TurnsTab
from nanoherm_tui.words.servers import ServerLine, SmallLine
from tests.fakes.model_server import Reply
from tests.tui.panes_app import PaneApp, lines
from tests.tui.test_app import Stage

TOLD = Memory("m1", "preference", "Use uv, 不用 pip.", 1.0, source="other")
MADE = Memory("m2", "fact", "Tests need a display.", time.time(), source="here", origin="model")
TURNS = (
    Checkpoint("u2", "第二次", time.time(), (ChangedFile("a.txt", "edit", "tool"),)),
    Checkpoint(
        "u1",
        "first",
        1.0,
        (
            ChangedFile("a.txt", "create", "tool"),
            ChangedFile("gone.bin", "delete", "command", "not_kept", "not kept: the file is too big"),
        ),
    ),
)
SERVERS = (
    ServerLine("git", "ready", "in use", "1 tool, stdio", ("git-mcp",), (SmallLine("log", ("log",)),)),
    ServerLine("off", "off", "switched off", "", ("x",), url=True),
    ServerLine("issues", "login", "wants a log-in", "http", ("https://h/mcp",), url=True),
)


class Lists(PaneApp):
    """A dock with what its lists asked for."""

    def __init__(self, *panes):
        super().__init__(*panes)
        self.asked = []

    def on_list_tabs_asked(self, message):
        self.asked.append((message.name, message.ask))


def filled(dock):
    dock.memory.show(OfSession((TOLD,), (MADE,), 7))
    dock.servers.show(SERVERS, ())
    dock.turns.show(TURNS, True)
    for name in ("memory", "servers", "turns"):
        dock.list_shown(name)


def shown(dock):
    return [row[:-1].rstrip() for row in lines(dock)]


def asked(app):
    return [ask for _, ask in app.asked if ask.what != "look"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [(11, [3]), (9, [1, 1, 1]), (10, [2, 1]), (1, [1, 1, 1]), (100, [3])],
)
def test_titles_are_dealt_out_to_pages_that_depend_on_the_width_alone(cells, expected):
    assert [len(page) for page in pages(["abc", "def", "ghi"], cells)] == expected


def test_signs_lead_from_page_to_page_and_figures_stand_only_where_there_is_room():
    titles = {"a": "abc", "b": "def", "c": "ghi"}
    row = title_row(titles, {}, "a", 10)
    assert [(title.text, title.tab, title.start) for title in row] == [("abc", "a", 0), ("def", "b", 5), ("⋯", "c", 9)]
    assert [(title.text, title.tab) for title in title_row(titles, {}, "c", 10)] == [("⋯", "b"), ("ghi", "c")]
    assert [title_row(titles, {"a": "abc 12"}, "a", cells)[0].text for cells in (13, 14)] == ["abc", "abc 12"]


async def test_a_list_is_asked_for_when_it_comes_to_the_front_and_anew_only_there():
    dock = Dock()
    app = Lists(dock)
    async with app.run_test(size=(60, 12)) as pilot:
        dock.lists_changed(["turns"])
        await pilot.pause()
        assert app.asked == []
        dock.focus()
        await pilot.press("7")
        assert app.asked == [("memory", Ask("look"))]
        dock.lists_changed(["memory"])
        await pilot.pause()
        assert len(app.asked) == 1, "it is on its way"
        dock.list_shown("memory")
        await pilot.pause()
        assert len(app.asked) == 2, "what came was no longer the newest"


async def test_a_memory_is_opened_forgotten_by_the_second_press_and_taken_back():
    dock = Dock()
    app = Lists(dock)
    async with app.run_test(size=(60, 20)) as pilot:
        filled(dock)
        dock.focus()
        await pilot.press("7")
        assert shown(dock)[2] == "  Told in this turn"
        assert "Use uv, 不用 pip." in shown(dock)[3]
        await pilot.press("j", "enter")
        assert any("written by the model" in row or "by the model" in row for row in shown(dock))
        await pilot.press("d", "k", "d")
        assert asked(app) == [], "another row was asked about meanwhile"
        await pilot.press("d")
        assert asked(app) == [Ask("forget", "m1")]
        dock.memory.forgotten(TOLD)
        await pilot.press("u")
        assert asked(app)[1:] == [Ask("take_back", "m1")]
        assert dock.memory.take_back("m1") is TOLD
        assert dock.memory.take_back("m1") is None


async def test_a_server_shows_its_tools_and_is_started_anew_where_it_can_be():
    dock = Dock()
    app = Lists(dock)
    async with app.run_test(size=(60, 12)) as pilot:
        filled(dock)
        dock.focus()
        await pilot.press("8")
        assert shown(dock)[2].startswith("▐ ▸ ✓ git  in use")
        await pilot.press("enter")
        assert "      log" in shown(dock)[4]
        await pilot.press("r")
        assert asked(app) == [Ask("restart", "git")]
        await pilot.press("l", "j", "r", "l")
        assert len(asked(app)) == 1, "a program of this machine has no log-in; one that is switched off has nothing"
        assert "log in" not in shown(dock)[-1]
        await pilot.press("j", "r", "l")
        assert asked(app)[1:] == [Ask("log_in", "issues")], "what would start it anew is the log-in"
        assert "l log in" in shown(dock)[-1]


async def test_a_turn_folds_and_one_file_of_it_is_taken_back_by_the_second_press():
    dock = Dock()
    app = Lists(dock)
    async with app.run_test(size=(70, 16)) as pilot:
        filled(dock)
        dock.focus()
        await pilot.press("9")
        assert shown(dock)[2].startswith("▐ ▾ 第二次")
        assert shown(dock)[4].startswith("  ▸ first")
        assert "changed a.txt" in shown(dock)[3]
        await pilot.press("j", "j", "enter", "j", "u")
        assert asked(app) == []
        assert "u again removes the file, with what a later turn changed in it" in " ".join(shown(dock))
        await pilot.press("u", "enter", "j", "u")
        assert asked(app) == [
            Ask("undo_file", "u1", "a.txt"),
            Ask("change", "u1", "a.txt"),
            Ask("told", "not kept: the file is too big"),
        ]
        await pilot.press("r", "k", "k", "u")
        assert asked(app)[3:] == [Ask("redo"), Ask("undo_turn", "u1")]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (80, [("created a.txt", ""), ("deleted gone.bin", "not kept: the file is too big")]),
        (40, [("created a.txt", ""), ("deleted gone.bin", ""), ("not kept: the file is too", ""), ("big", "")]),
    ],
)
def test_why_a_file_cannot_be_taken_back_is_told_whole_beside_it_or_below(cells, expected):
    tab = TurnsTab()
    tab.show(TURNS[1:], False)
    assert [(plain(row.left).strip(), plain(row.right)) for row in tab.rows(cells)[1:]] == expected


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_lists_fit_any_size(language):
    i18n.set_language(language)
    dock = Dock()
    async with Lists(dock).run_test(size=(76, 20)) as pilot:
        filled(dock)
        dock.memory.open.add("made:m2")
        dock.servers.open.add("git")
        for width, height in [(76, 20), (41, 12), (21, 9), (11, 3), (4, 2), (1, 1)]:
            await pilot.resize_terminal(width, height)
            for tab in ("memory", "servers", "turns"):
                dock.show_tab(tab)
                await pilot.pause()
                assert len(lines(dock)) == height


async def test_one_file_is_taken_back_and_given_again_while_what_somebody_changed_since_stays(tmp_path):
    files = [{"path": "a.md", "content": "agent\n"}, {"path": "b.md", "content": "agent\n"}]
    calls = [("write_file", one) for one in files]
    async with Stage(tmp_path, [Reply(calls=calls), Reply(text="Done.")]) as stage:
        app, work = stage.app, tmp_path / "work"
        await stage.type("write them")
        for _ in files:
            await stage.until(lambda: stage.state == "idle" or app.approval.current is not None)
            while stage.state == "asking" and (question := app.approval.current) is not None:
                app.approval._answer("session", "")
                await stage.until(lambda question=question: app.approval.current is not question)
        await stage.until(lambda: stage.state == "idle" and (work / "b.md").exists())
        (work / "b.md").write_text("mine\n")
        app.dock.focus()
        await stage.pilot.press("9")
        await stage.until(lambda: any("created a.md" in row for row in shown(app.dock)))
        assert any("b.md" in row and "changed since" in row for row in shown(app.dock))
        await stage.pilot.press("j", "enter")
        await stage.until(lambda: app.dock.tab == "diff" and any("+ agent" in row for row in shown(app.dock)))
        await stage.pilot.press("9", "u", "u")
        await stage.until(lambda: not (work / "a.md").exists())
        await stage.until(lambda: any("a.md" in row and "rolled back" in row for row in shown(app.dock)))
        assert (work / "b.md").read_text() == "mine\n"
        await stage.pilot.press("r")
        await stage.until(lambda: len(app.screen_stack) > 1)
        await stage.until(lambda: app.screen._armed)
        await stage.pilot.press("enter")
        await stage.until((work / "a.md").exists)
