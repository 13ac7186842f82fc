"""/mcp: how the servers are, what they offer and wrote; and the form that one of them may put before a person."""

import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from agent_core.errors import ConfigError
from agent_core.extras.server_desk import ServerView
from agent_core.mcp.config import Source, read
from agent_core.mcp.words import ToolInfo
from agent_core.servers import FormField, ServerRow
from nanoherm_tui.i18n import set_language, t
from nanoherm_tui.overlays.form import FormScreen
from nanoherm_tui.overlays.servers import ServersScreen
from nanoherm_tui.words.servers import lines, problems
from tests.fakes.model_server import Reply
from tests.tui.overlay_app import OverlayApp, rows, shown
from tests.tui.test_app import Stage

FORMS = Path(__file__).parents[1] / "fakes" / "mcp_form_server.py"
VIEWS = (
    ServerView(
        ServerRow("git", "ready", place="/home/me/.nanohermes/config.yaml:3", address="uvx mcp-server-git",
                  title="Git 1.2", protocol="2025-11-25", tools=2, trusted=True),
        (ToolInfo("log", "Show the log", "Newest \x1b[31mfirst."), ToolInfo("commit")),
        ("The tool tasks was left out: it works only as a task.\x1b[2J",),
        ("listening on stdio",),
    ),
    ServerView(ServerRow("issues", "login", "http", "f:1", "https://h/mcp", problem="It wants a log-in.")),
    ServerView(ServerRow("files", "failed", place="f:2", problem="It has ended.", retry_at=2e12)),
    ServerView(ServerRow("slow", "starting", place="f:2", address="npx slow")),
    ServerView(ServerRow("theirs", "untrusted", place=".mcp.json:1", address="node x.js")),
    ServerView(ServerRow("日本語のサーバー", "off", "sse", "f:3", "https://h/" + "x" * 300)),
)  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", [(80, 24), (200, 60), (50, 16)])
async def test_servers_are_listed_in_every_size_and_opened_to_their_tools_and_noise(language, size):
    set_language(language)
    app = OverlayApp()
    async with app.run_test(size=size) as pilot:
        app.push_screen(ServersScreen(lines(VIEWS, "/home/me")))
        await pilot.pause()
        assert {cell_len(row) for row in rows(app)} == {size[0]}
        for name in ("git", "issues", "files", "slow", "theirs", "日本語のサーバー"):
            assert name in shown(app)
        assert "Show the log" not in shown(app)
        await pilot.press("enter")
        await pilot.pause()
        assert "Show the log" in shown(app)
        assert f"Enter {t('dock.hint_fold')}" in shown(app)
        assert "! The tool tasks was left out" in shown(app)
        assert "listening on stdio" in shown(app)
        assert "\x1b" not in shown(app)
        assert {cell_len(row) for row in rows(app)} == {size[0]}
        await pilot.press("enter")
        await pilot.pause()
        assert "Show the log" not in shown(app)


async def test_a_key_does_what_makes_sense_for_the_server_at_hand_and_nothing_else():
    app, done = OverlayApp(), []
    async with app.run_test(size=(100, 40)) as pilot:
        screen = ServersScreen(lines(VIEWS, "/home/me"))
        screen.act = lambda what, name: done.append((what, name))
        app.push_screen(screen)
        await pilot.pause()
        for _ in VIEWS:
            await pilot.press("r", "l", "e", "down")
        assert done == [
            ("restart", "git"), ("switch", "git"),
            ("login", "issues"), ("switch", "issues"),
            ("restart", "files"), ("switch", "files"),
            ("restart", "slow"), ("switch", "slow"),
            ("switch", "日本語のサーバー"),
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "of_project", "told"),
    [
        ("colour: blue", False, "~/c.yaml:4：没有 mcp_servers.git.colour 这个键。"),
        ("tymeout: 3", False, "~/c.yaml:4：没有 mcp_servers.git.tymeout 这个键。是不是 timeout？"),
        ("timeout: 30000", False, "~/c.yaml:2：git 的 timeout 30000 被当作毫秒；这里的单位是秒。"),
        ("trust: true", True, "~/c.yaml:2：trust 只能写在用户自己的配置里："),
    ],
)
def test_what_is_wrong_in_a_file_is_told_in_chinese_alone(text, of_project, told):
    set_language("zh")
    data = f"mcp_servers:\n  git:\n    command: a\n    {text}\n".encode()
    result = read([Source("/home/me/c.yaml", data, of_project=of_project)], {}, Path("/home/me"))
    [problem] = problems(result.problems, "/home/me")
    assert problem.words.startswith(told)
    assert " is " not in problem.words


async def test_what_is_wrong_in_the_files_stands_below_the_servers_and_is_none_of_them():
    set_language("en")
    app, done = OverlayApp(), []
    said = "/home/me/.nanohermes/config.yaml:9: mcp_servers.git.tymeout is not known." + " x" * 20 + " the end"
    async with app.run_test(size=(80, 24)) as pilot:
        wrong = problems([ConfigError("mcp_unknown_key", said, file="f")], "/home/me")
        screen = ServersScreen(lines(VIEWS, "/home/me"), wrong)
        screen.act = lambda what, name: done.append((what, name))
        app.push_screen(screen)
        await pilot.pause()
        assert "! ~/.nanohermes/config.yaml:9: mcp_servers.git.tymeout is n⋯" in shown(app)
        assert "In the files that name them" in shown(app)
        assert {cell_len(row) for row in rows(app)} == {80}
        await pilot.press("end", "r", "l", "e", "enter")
        await pilot.pause()
        assert done == []
        assert "x the end" in shown(app), "whole below the list"
        screen.show(lines(VIEWS, "/home/me"))
        await pilot.pause()
        assert "tymeout" not in shown(app)


async def test_what_has_changed_is_shown_while_it_is_open_and_the_cursor_stays():
    app = OverlayApp()
    async with app.run_test(size=(100, 40)) as pilot:
        screen = ServersScreen(lines(VIEWS[1:], "/home/me"))
        screen.look_again = lambda: screen.show(lines(VIEWS, "/home/me"))
        app.push_screen(screen)
        await pilot.pause()
        await pilot.press("down")
        screen.look_again()
        await pilot.pause()
        assert "Git 1.2" not in shown(app)
        assert "It wants a log-in." in shown(app)


FIELDS = (
    FormField("who", "Name", required=True, description="As it is shown."),
    FormField("age", "Age", "whole", default=30),
    FormField("plan", "Plan", "choice", choices=(("free", "Free"), ("paid", "Paid"))),
    FormField("tags", "Tags", "choices", choices=(("a", "A"), ("b", "B"))),
    FormField("news", "News", "flag", default=True),
)


async def test_a_form_is_filled_in_and_sent_only_when_what_has_to_be_there_is():
    app = OverlayApp()
    async with app.run_test(size=(80, 40)) as pilot:
        app.push_screen(FormScreen("srv", "Who are you?", FIELDS), app.results.append)
        await pilot.pause()
        await pilot.press("s")
        await pilot.pause()
        assert "Name has to be filled in." in shown(app)
        await pilot.press("enter", *"Ann", "enter", "down")
        await pilot.press("enter", "ctrl+a", "ctrl+k", *"x", "enter")
        await pilot.pause()
        assert "no number" in shown(app)
        await pilot.press("enter")
        await pilot.press("ctrl+a", "ctrl+k", *"31", "enter")
        await pilot.press("enter", *"99", "escape")  # left as it was
        await pilot.press("down", "down", "down", "enter")  # Paid
        await pilot.press("down", "down", "enter", "down", "enter", "down", "enter")  # A, B, News
        await pilot.press("s")
        await pilot.pause()
        assert app.results == [{"who": "Ann", "age": 31, "plan": "paid", "tags": ["a", "b"], "news": False}]


async def test_a_form_that_is_left_is_declined():
    app = OverlayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(FormScreen("srv", "Who?", FIELDS), app.results.append)
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert app.results == [None]


async def test_a_server_asks_in_the_middle_of_a_call_and_is_told_what_was_filled_in(tmp_path):
    config = {"mcp_servers": {"forms": {"command": sys.executable, "args": [str(FORMS)], "trust": True}}}
    replies = [Reply(calls=[("mcp_forms_signup", {})]), Reply(text="Done.")]
    async with Stage(tmp_path, replies, **config) as stage:
        app = stage.app
        await stage.until(lambda: stage.host.servers.rows(app.view.session.workspace)[0].state == "ready")
        await stage.type("sign me up")
        for wanted in ("server", "form"):
            await stage.until(lambda kind=wanted: app.approval.display and app.approval.current.kind == kind)
            await stage.until(lambda: app.approval.armed)
            await stage.pilot.press("y")
        await stage.until(lambda: isinstance(app.screen, FormScreen))
        await stage.pilot.press("enter", *"Ann", "enter")
        await stage.pilot.press("s")
        await stage.until(lambda: stage.state == "idle" and "Done." in stage.transcript())
        assert '"name": "Ann"' in stage._server.requests[-1]["messages"][-1]["content"]
        await stage.type("/mcp")
        await stage.until(lambda: isinstance(app.screen, ServersScreen))
        assert [line.words for line in app.screen.servers] == ["runs"]
