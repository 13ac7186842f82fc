"""MCP servers, and the forms they ask with."""

from __future__ import annotations

from typing import Final

from agent_core.errors import ConfigError
from agent_core.extras.server_desk import ServerView
from agent_core.mcp.words import ToolInfo
from agent_core.servers import FormField, ServerRow
from nanoherm_tui.commands import servers
from nanoherm_tui.overlays.form import FormScreen
from nanoherm_tui.overlays.servers import ServersScreen
from screenshots.stage import Stage
from screenshots.views.view import View


def one_of_each() -> list[ServerView]:
    """One of each kind."""
    home = "/home/you/.nanohermes/config.yaml"
    tools = (
        ToolInfo("search", "Search", "Finds issues by words, labels and people."),
        ToolInfo("close", "Close", "Closes one with a reason."),
    )
    rows = (
        ServerRow("issues", "ready", "http", f"{home}:12", "https://issues.example.org/mcp", "Issues 2.1", "2025-11-25",
                  len(tools), trusted=True),
        ServerRow("files", "starting", place=f"{home}:8", address="npx -y @example/server-files ~/notes", tools=14),
        ServerRow("search", "login", "http", f"{home}:17", "https://search.example.org/mcp",
                  problem="search wants a log-in, which needs a person: run `/mcp login search`"),
        ServerRow("db", "failed", place=f"{home}:20", address="mcp-db",
                  problem="The command of the server db is not installed."),
        ServerRow("shop", "untrusted", place="/home/you/shop/.mcp.json:3", address="node tools/server.js"),
        ServerRow("old", "off", "sse", f"{home}:24", "https://old.example.org/sse"),
    )  # fmt: skip
    return [ServerView(row, tools if row.name == "issues" else (), (), ("listening",) * (row.name == "issues"))
            for row in rows]  # fmt: skip


async def _mcp(stage: Stage) -> None:
    place, key = "/home/you/.nanohermes/config.yaml:14", "mcp_servers.issues.tymeout"
    words = f"{place}: {key} is not known. Did you mean timeout?"
    told = {"case": "mcp_unknown_key_near", "place": place, "key": key, "near": "timeout"}
    wrong = servers.problems([ConfigError("mcp_unknown_key", words, **told)], "/home/you")
    screen = ServersScreen(servers.lines(one_of_each(), "/home/you"), wrong)
    stage.app.open_overlay(screen)
    await stage.pilot.pause()
    await stage.press("enter", "down")
    await stage.settle()


async def _form(stage: Stage) -> None:
    fields = (
        FormField("project", "Project", required=True, description="The key of the project, as in SHOP-12."),
        FormField("title", "Title", default="parse_date fails on 2024-02-30"),
        FormField("kind", "Kind", "choice", choices=(("bug", "Bug"), ("wish", "Wish"))),
        FormField("mail", "Tell everybody", "flag", default=True),
    )
    stage.app.open_overlay(FormScreen("issues", "A new issue needs some more facts.", fields))
    await stage.settle()


VIEWS: Final[tuple[View, ...]] = (
    View("servers", _mcp),
    View("form", _form),
)
