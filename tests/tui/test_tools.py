"""/tools: the list of tools with what they cost, switching them there and by typing."""

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from agent_core.desk.tool_list import tool_list
from agent_core.tools.builtin import builtin_tools
from agent_core.toolsets import SHOWN, tools_of
from nanoherm_tui.i18n import set_language, texts
from nanoherm_tui.overlays.tools import ToolsScreen, tool_rows
from tests.fakes.model_server import Reply
from tests.tui.overlay_app import OverlayApp, rows, shown
from tests.tui.test_app import Stage

ENTRIES = tool_list(builtin_tools(), "/usr/bin:/bin")
NONE = frozenset()
TOOL = builtin_tools()[0]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_set_and_every_tool_has_its_words(language):
    table = texts(language)
    wanted = {f"tools.set_{one.name}" for one in SHOWN} | {f"tools.{name}" for name in tools_of("all")}
    assert wanted - set(table) == set()


def test_a_set_costs_what_its_tools_cost_and_one_that_is_partly_off_less():
    off = frozenset({"web_search", "git_status", "git_diff", "git_commit"})
    found = {row.name: row for row in tool_rows(ENTRIES, off)}
    cost = {entry.name: entry.tokens for entry in ENTRIES}
    assert (found["web"].state, found["web"].side) == ("partly", f"{cost['web_fetch']} tokens")
    assert (found["git"].state, found["git"].side) == ("off", "off")
    assert (found["files"].state, found["web_fetch"].state, found["web_search"].state) == ("on", "on", "off")
    assert all(cost.values())


def test_what_cannot_work_here_is_listed_with_the_reason():
    found = {row.name: row.warning for row in tool_rows(tool_list(builtin_tools(), "/nowhere"), NONE)}
    assert found["git_commit"] == "git is not installed"
    assert found["read_file"] == ""


async def test_space_switches_the_row_at_hand_and_r_goes_back_to_the_config():
    app, switched = OverlayApp(), []
    screen = ToolsScreen(ENTRIES, frozenset({"web_search"}), frozenset({"web_search"}))
    screen.switch = switched.append
    async with app.run_test(size=(100, 44)) as pilot:
        app.push_screen(screen)
        await pilot.pause()
        whole = sum(entry.tokens for entry in ENTRIES)
        assert f"of {whole} tokens a request" in shown(app)
        assert "as configured" not in shown(app)
        await pilot.press("down", "space")  # read_file
        await pilot.press("up", "space")  # files, of which the rest is on
        await pilot.press("space")
        await pilot.pause()
        assert switched == [
            {"web_search", "read_file"},
            {"web_search"} | tools_of("files"),
            {"web_search"},
        ]
        row = next(y for y, text in enumerate(rows(app)) if "web_search" in text and "search the web" in text)
        await pilot.click(offset=(30, row))
        await pilot.pause()
        assert switched[-1] == NONE
        await pilot.press("r")
        assert switched[-1] is None
        assert "off" in next(text for text in rows(app) if "web_search" in text and "search the web" in text)
        await pilot.press("escape")
        await pilot.pause()
        assert len(app.screen_stack) == 1


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_list_fits_every_size_and_its_end_can_be_reached(language):
    set_language(language)
    app = OverlayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(ToolsScreen(ENTRIES, NONE, NONE))
        for size in ((80, 24), (40, 10), (200, 60), (3, 2)):
            await pilot.resize_terminal(*size)
            await pilot.press("g", "G")
            await pilot.pause()
            assert {cell_len(row) for row in rows(app)} == {size[0]}
            if size != (3, 2):
                assert "session_search" in shown(app), size
                assert not re.search(r"  \S{0,2}⋯ ", shown(app)), "a description of which a letter is left says nothing"


async def test_what_is_switched_by_typing_acts_on_the_next_request_and_is_seen_in_the_list(tmp_path):
    async with Stage(tmp_path, [Reply(text="one"), Reply(text="two")], size=(100, 44)) as stage:
        app = stage.app
        await stage.type("/tools off web todo")
        await stage.until(lambda: "Tools that are off" in app._hint)
        assert "web_fetch, web_search, todo_write, todo_read" in app._hint
        await stage.type("hi")
        await stage.until(lambda: stage.state == "idle" and app.view.usage.total_tokens)
        names = {tool["function"]["name"] for tool in stage._server.requests[-1]["tools"]}
        assert "web_fetch" not in names
        assert "todo_write" not in names
        assert "read_file" in names
        off = ("web_search", "todo_write", "todo_read", "delegate_task")  # the last is off until it is wanted
        await stage.type("/tools on web_fetch")
        await stage.until(lambda: app.view.options.tools_off == off)
        await stage.type("/tools")
        await stage.until(lambda: isinstance(app.screen, ToolsScreen))
        at = [row.name for _, row in app.screen._list._rows].index("todo_read")
        await stage.pilot.press("g", *["down"] * at, "space", "escape")
        await stage.until(lambda: app.view.options.tools_off == ("web_search", "todo_write", "delegate_task"))
        for typed, said in (("/tools off nonsense", "no set of tools"), ("/tools sideways", "/tools off web")):
            await stage.type(typed)
            await stage.until(lambda said=said: said in " ".join(stage.transcript().split()))
        # A persona or a temperature that is set later leaves them as they are.
        await stage.type("/temperature 0.5")
        await stage.until(lambda: app.view.options.temperature == 0.5)
        assert app.view.options.tools_off == ("web_search", "todo_write", "delegate_task")
        await stage.type("/tools default")
        await stage.until(lambda: app.view.options.tools_off is None)


def test_tools_of_servers_stand_below_the_others_and_go_by_the_name_of_their_server():
    servers = [
        replace(TOOL, name="mcp_git_log", description="Show\x1b[2J the log.", toolset="mcp:git"),
        replace(TOOL, name="mcp_git_add", description="Add.", toolset="mcp:git"),
    ]
    entries = tool_list((*builtin_tools(), *servers), "/usr/bin:/bin")
    assert [entry.name for entry in entries][-2:] == ["mcp_git_log", "mcp_git_add"]
    for off, states in (
        ((), ["on", "on", "on"]),
        (("mcp_git_add",), ["partly", "on", "off"]),
        (("mcp:git",), ["off", "off", "off"]),
        (("mcp",), ["off", "off", "off"]),
    ):
        found = tool_rows(entries, frozenset(off))[-3:]
        assert [row.name for row in found] == ["mcp:git", "mcp_git_log", "mcp_git_add"]
        assert [row.state for row in found] == states
    assert found[0].tools == ("mcp:git", "mcp_git_log", "mcp_git_add")
    assert found[1].words.startswith("Show")
    assert "\x1b" not in found[1].words
