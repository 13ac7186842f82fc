"""Every pane and overlay of the program, each in the state a picture should show.

A view brings a fresh stage to its state, once, on a large screen; then it is looked at in every size and theme.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from textual.events import Paste
from textual.widgets import TextArea

from agent_core import events, intents
from agent_core.errors import ConfigError
from agent_core.events import Envelope
from agent_core.extras.server_desk import ServerView
from agent_core.grants_file import CommandGrant
from agent_core.mcp import login
from agent_core.mcp.words import ToolInfo
from agent_core.names import Mode
from agent_core.ports import Decided, Question
from agent_core.sandbox.policy import Box
from agent_core.servers import FormField, ServerRow
from agent_core.services import Containment
from agent_core.text import diff
from agent_core.worktrees import Worktree
from nanoherm_tui import commands, remarks, symbols
from nanoherm_tui.commands import servers, worktree
from nanoherm_tui.commands.looking import preview
from nanoherm_tui.overlays.consent import ConsentScreen
from nanoherm_tui.overlays.form import FormScreen
from nanoherm_tui.overlays.frame import Overlay
from nanoherm_tui.overlays.memory import MemoryScreen
from nanoherm_tui.overlays.rewind import RewindScreen
from nanoherm_tui.overlays.rollback import RollbackScreen
from nanoherm_tui.overlays.servers import ServersScreen
from nanoherm_tui.overlays.setup import SetupScreen
from nanoherm_tui.overlays.trust import TrustScreen
from screenshots import (
    background,
    composer_acts,
    content,
    dock_acts,
    inbox_acts,
    memory_files,
    session_acts,
    skill_files,
)
from screenshots.stage import Stage

Act = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class View:
    name: str
    act: Act
    """Brings the stage to its state."""
    follow: Act | None = None
    """Done again in every size: shows the pane that does not fit beside the others."""
    stage: dict[str, Any] = field(default_factory=dict)
    """How the stage is set."""


async def _nothing(stage: Stage) -> None:
    pass


async def _dock(stage: Stage) -> None:
    commands.run(stage.app, "focus_dock")
    await stage.settle()


async def _sessions(stage: Stage) -> None:
    commands.run(stage.app, "focus_sessions")
    await stage.settle()


# -- the conversation ---------------------------------------------------------------------------------------------


async def _work(stage: Stage) -> None:
    """The repair done, other sessions at work, the changes in the dock."""
    await _others_at_work(stage)
    stage.app.dock.show_diffs(stage.app.view.diffs)
    stage.clock.now += 1
    stage.send("run")
    await stage.asked()
    stage.app.conversations.send(intents.Answer(stage.app.approval.current.id, "once"))
    await stage.until(lambda: stage.app.view.model.running, "the running command")
    stage.app.conversations.reload()
    await _time_passes(stage, 12)


async def _time_passes(stage: Stage, seconds: float) -> None:
    stage.clock.now += seconds
    stage.app._tick()
    await stage.settle()


async def _others_at_work(stage: Stage) -> None:
    """Of the other sessions one asks, one has failed, one has ended unread."""
    rows = {row.title: row.id for row in stage.app.conversations.rows}
    titles = [title for title, _, _ in stage.words.others]
    app, front = stage.app, stage.app.view.session
    for title, part in ((titles[0], "report"), (titles[3], "break"), (titles[1], "short")):
        stage.clock.now += 1  # the list is in the order of what happened last
        app.conversations.show(stage.host.open(rows[title]))
        await stage.until(lambda: app.view.loaded, title)
        view = app.view
        stage.send(part)
        state = {"report": "asking", "break": "failed", "short": "idle"}[part]
        if part == "short":
            app.conversations.show(front)
        await stage.until(lambda view=view, state=state: view.stored and view.state == state, f"{title}: {state}")
        await stage.until(lambda view=view, part=part: part != "short" or view.unread, "an unread answer")
    app.conversations.show(front)
    await stage.settle()


async def _stream(stage: Stage) -> None:
    stage.send("stream")
    began = stage.words.story[:-12]  # the newest word is held back until it is whole
    await stage.until(lambda: stage.app.view.model.entries[-1].text.startswith(began), "the streamed text")
    await _time_passes(stage, 7)


async def _thought(stage: Stage) -> None:
    stage.send("think")
    await stage.until(lambda: stage.app.view.model.running, "a thought")
    await stage.settle()


async def _find(stage: Stage) -> None:
    commands.run(stage.app, "focus_transcript")
    await stage.press("slash", *"parse")
    await stage.settle()


async def _selection(stage: Stage) -> None:
    commands.run(stage.app, "focus_transcript")
    await stage.press("G", "k", "k", "v", "down", "down", "e")
    await stage.settle()


async def _new_lines(stage: Stage) -> None:
    """An answer that came while an earlier part of the session was read."""
    stage.send("long")
    await stage.until(lambda: stage.app.view.usage.total_tokens and stage.app.view.state == "idle", "an answer")
    stage.send("long")
    await stage.until(lambda: stage.app.view.state == "running", "a turn")
    commands.run(stage.app, "focus_transcript")
    await stage.press("g")
    await stage.until(lambda: stage.app.view.state == "idle", "a long answer")
    await stage.settle()


async def _errors(stage: Stage) -> None:
    stage.send("break")
    await stage.until(lambda: stage.app.view.state == "failed", "a failure")
    await stage.command("/undo many")
    await stage.command("/theme solarized")
    await stage.settle()


async def _details(stage: Stage) -> None:
    commands.run(stage.app, "details")
    await stage.settle()


async def _own_command(stage: Stage) -> None:
    """A command of the person's own, done; another one being written."""
    await stage.command("!ls src/ledger")
    await stage.until(lambda: any(call.name == "shell" and call.text for call in stage.app.view.calls.values()), "ls")
    await stage.write("!git log --oneline")


# -- questions ----------------------------------------------------------------------------------------------------


async def _command_asks(stage: Stage) -> None:
    stage.send("run")
    await stage.asked()
    await _time_passes(stage, 9)


async def _edit_asks(stage: Stage) -> None:
    stage.send("report")
    await stage.asked()
    await _time_passes(stage, 9)


async def _edit_asks_in_dock(stage: Stage) -> None:
    await _edit_asks(stage)
    await _dock(stage)
    await stage.asked()


async def _hunks_refused(stage: Stage) -> None:
    """Of a change of several files two hunks are refused; one file moves."""
    old, new = "src/ledger/util.py", "src/ledger/工具.py"
    made = replace(diff.build(new, None, "ZERO = 0\n"), old_path=old)
    dates = diff.build("src/ledger/dates.py", content.DATES_BEFORE, content.DATES_AFTER)
    diffs = (dates, made, diff.build(old, "ZERO = 0\n", None))
    grant = "every change of a file in the workspace"
    stage.app.approval.ask(Question("edit", "", "mode ask", diffs=diffs, grant=grant), stage.clock.now + 291)
    await stage.asked()
    for key in ("0.1", "1.0"):
        stage.app.approval.toggle_hunk(diffs, key, by_mouse=True)
    await stage.settle()


async def _hunks_in_dock(stage: Stage) -> None:
    """The dock in front, the cursor at a refused hunk."""
    await _dock(stage)
    await stage.asked()
    await stage.press("left_square_bracket", "left_square_bracket", "right_square_bracket")
    await stage.settle()


async def _tools(stage: Stage) -> None:
    stage.app.conversations.send(intents.SetOptions(tools_off=("web_search", "git_status", "git_diff", "git_commit")))
    await stage.until(lambda: stage.app.view.options.tools_off is not None, "the tools that are off")
    commands.run(stage.app, "tools")
    await stage.until(lambda: len(stage.app.screen_stack) > 1, "the list")
    await stage.press("down", "down")
    await stage.settle()


async def _memory(stage: Stage, words: str = "", *keys: str) -> None:
    memory_files.make(stage.app.host, stage.workspace, stage.language, stage.clock.now)
    commands.run(stage.app, "memory", words)

    def listed() -> bool:
        return isinstance(stage.app.screen, MemoryScreen) and bool(stage.app.screen.found.memories)

    await stage.until(listed, "the list")
    await stage.press("down", "down", *keys)
    await stage.settle()


async def _memory_searched(stage: Stage) -> None:
    await _memory(stage, {"en": "search install", "zh": "search 安装"}[stage.language], "up", "up", "slash")


async def _memory_edited(stage: Stage) -> None:
    await _memory(stage, "", "e")


async def _memory_forgotten(stage: Stage) -> None:
    """One that another builds on."""
    await _memory(stage, "", "end", "d")
    await stage.until(lambda: len(stage.app.host.memory.list()) == 5, "one less")
    await stage.settle()


async def _memory_none(stage: Stage) -> None:
    commands.run(stage.app, "memory")
    await stage.until(lambda: len(stage.app.screen_stack) > 1, "the list")
    await stage.settle()


async def _memory_waits(stage: Stage) -> None:
    memory_files.make(stage.app.host, stage.workspace, stage.language, stage.clock.now)
    commands.run(stage.app, "memory", "pending")
    await stage.until(lambda: len(stage.app.screen_stack) > 1, "the change")
    await stage.settle()


async def _skills(stage: Stage) -> None:
    skill_files.make(stage.home, stage.language)
    commands.run(stage.app, "skills")
    await stage.until(lambda: len(stage.app.screen_stack) > 1, "the list")
    await stage.press("down", "down")
    await stage.settle()


async def _skills_none(stage: Stage) -> None:
    commands.run(stage.app, "skills")
    await stage.until(lambda: len(stage.app.screen_stack) > 1, "the list")
    await stage.settle()


async def _skill_waits(stage: Stage) -> None:
    waits = skill_files.make(stage.home, stage.language)
    commands.run(stage.app, "skills", f"diff {waits.id}")
    await stage.until(lambda: len(stage.app.screen_stack) > 1, "the change")
    await stage.settle()


async def _refusing(stage: Stage) -> None:
    await _edit_asks(stage)
    await stage.press("n")
    await stage.focused("approval-field")
    await stage.press(*"Not now")
    await stage.settle()


async def _editing_command(stage: Stage) -> None:
    await _command_asks(stage)
    await stage.press("e")
    await stage.focused("approval-field")


def _question(command: str, sandbox: str, rule: str, pattern: str = "") -> Act:
    """A command asks that runs in this sandbox."""

    async def act(stage: Stage) -> None:
        question = Question(
            "command", "Run a command", rule, command, str(stage.workspace), sandbox, pattern=pattern or command,
            decisions=("once", "session", "always", "refuse"), grant="this exact command, in this folder",
        )  # fmt: skip
        stage.app.approval.ask(question, stage.clock.now + 291)
        await stage.asked()

    return act


def _web_asks(*keys: str, url: str = "", query: str = "", host: str = "") -> Act:
    """A page or a search asks; then these keys are pressed."""

    async def act(stage: Stage) -> None:
        grant = "every search there" if query else "every page of this host"
        question = Question(
            "web", "", "the web", url=url, query=query, host=host, grant=grant, pattern=host.split(" ")[0],
            decisions=("once", "session", "always", "refuse"),
        )  # fmt: skip
        stage.app.approval.ask(question, stage.clock.now + 291)
        await stage.asked()
        await stage.press(*keys)
        if keys:
            await stage.until(lambda: stage.app.approval._keys.armed, "the second w")
        await stage.settle()

    return act


def _log_in(*, waits: bool) -> Act:
    """A server wants a log-in: before the browser opens, or while it is awaited."""

    async def act(stage: Stage) -> None:
        form = (FormField("address", "Address"),) if waits else ()
        asked = login.OPENED if waits else login.TO_LOG_IN
        question = Question(
            "visit", "Log in", url=_LOGIN_PAGE, host="login.example.org", server="issues", text=asked, form=form,
            decisions=("once", "refuse"),
        )  # fmt: skip
        stage.app.approval.ask(question, stage.clock.now + 291)
        if waits:
            await stage.focused("approval-field")
        else:
            await stage.asked()
        await stage.settle()

    return act


_LOGIN_PAGE = (
    "https://login.example.org/authorize?response_type=code&client_id=nanoherm-4f1c&redirect_uri=http%3A%2F%2F127.0.0.1"
    "%3A41805%2Fcallback&state=BuYx1nsb66JrPafYgRN82A0HNstv9wG-_6CvMLRTXh8&code_challenge=_IxQweazxSx3B_U82M-Lcr7FS5z"
    "Yh5QEPPYcPP2UPnM&code_challenge_method=S256&resource=https%3A%2F%2Fissues.example.org%2Fmcp&scope=read%20write"
)
_PAGE = "https://docs.example.org/3.2/guide/streams.html#defaults"


def _always(*keys: str) -> Act:
    """What "always" would write is shown; then these keys are pressed."""

    async def act(stage: Stage) -> None:
        await _question("git push origin main", "workspace-write, network", "leaves the sandbox", "git push *")(stage)
        await stage.press("w")
        await stage.until(lambda: stage.app.approval.has_focus, "what is written")
        await stage.press(*keys)
        await stage.until(lambda: stage.app.approval._keys.armed, "the second w")
        await stage.settle()

    return act


async def _permissions(stage: Stage) -> None:
    """Something of everything that can be allowed, and some decisions."""
    host, view = stage.host, stage.app.view
    place, now = str(view.session.workspace), stage.clock.now
    networked = Box("workspace-write", network=True)
    host.grants.add(CommandGrant("git push", True, networked, place, program="/usr/bin/git", when=now - 90_000))
    host.grants.add(CommandGrant("make report && make clean", False, Box("workspace-write"), place, place, when=now))
    host.grants.confirm_mode(place, "auto")
    view.session.grants.grant_command("python -m pytest -q", place, Box("workspace-write"))
    view.session.grants.grant_edits()
    rows = [
        ("ls -la", "allow", "trusted", "rules"),
        ("python -m pytest -q", "allow", "mode ask", "person"),
        ("git push --force", "refuse", "dangerous: git", "person"),
        ("curl https://example.org", "refuse", "leaves the sandbox", "timeout"),
    ]
    for age, (what, verdict, rule, by) in enumerate(reversed(rows)):
        decided = Decided("command", what, verdict, rule, by, place, "workspace-write", when=now - 60 * (4 - age))
        host.store.audit.add(view.id, place, decided)
    commands.run(stage.app, "permissions")
    await stage.until(lambda: len(stage.app.screen_stack) > 1, "the list")
    await stage.settle()


def _servers() -> list[ServerView]:
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
    words = "/home/you/.nanohermes/config.yaml:14: mcp_servers.issues.tymeout is not known. Did you mean timeout?"
    wrong = servers.problems([ConfigError("mcp_unknown_key", words)], "/home/you")
    screen = ServersScreen(servers.lines(_servers(), "/home/you"), wrong)
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


async def _permissions_taken(stage: Stage) -> None:
    """A grant is taken back and can be given again."""
    await _permissions(stage)
    await stage.press(*["down"] * 4, "d")
    await stage.settle()


async def _draft_open(stage: Stage) -> None:
    """A question that waits behind a draft."""
    await _command_asks(stage)
    await stage.write(stage.words.queued)


async def _person_asked(stage: Stage) -> None:
    stage.send("ask")
    await stage.asked()
    await stage.focused("approval-field")


async def _plan_asked(stage: Stage) -> None:
    await stage.command("/mode plan")
    await stage.until(lambda: stage.app.view.mode == "plan", "mode plan")
    stage.send("plan")
    await stage.asked()


# -- the dock -----------------------------------------------------------------------------------------------------


async def _result(stage: Stage) -> None:
    failed = next(call_id for call_id, call in stage.app.view.calls.items() if not call.ok)
    stage.app.open_call(failed)
    await stage.settle()


async def _result_find(stage: Stage) -> None:
    await _result(stage)
    await _dock(stage)
    await stage.press("slash", *"assert", "enter")
    await stage.settle()


async def _diff(stage: Stage) -> None:
    stage.app.dock.restore({"split": False})
    commands.run(stage.app, "diff")
    await stage.settle()


async def _diff_split(stage: Stage) -> None:
    stage.app.dock.restore({"split": True})
    commands.run(stage.app, "diff")
    await stage.settle()


async def _diff_unfolded(stage: Stage) -> None:
    await _diff(stage)
    await _dock(stage)
    await stage.press("f", "enter")
    await stage.shown("return instant.isoformat")


async def _plan(stage: Stage) -> None:
    commands.run(stage.app, "show_plan")
    await stage.settle()


async def _context(stage: Stage) -> None:
    """What fills the window: one message dropped, one pinned."""
    commands.run(stage.app, "context")
    await stage.until(lambda: stage.app.dock.cursor is not None, "the messages")
    await stage.press("d", "j", "p", "j")
    await stage.until(lambda: "pinned" in {item.view for item in stage.app.dock.report.items}, "a pinned one")
    await stage.settle()


async def _agents(stage: Stage) -> None:
    """Sub-agents, one of each state, above a command in the background."""
    app, view = stage.app, stage.app.view
    agents = background.agents(stage.language, stage.clock.now)
    tasks = background.tasks(view.id, stage.clock.now, str(view.session.workspace))[-1:]
    told = (events.AgentsChanged(agents), events.TasksChanged(tasks))
    app.conversations.deliver([Envelope(view.id, 0, stage.clock.now, event) for event in told])
    commands.run(app, "agents")
    await stage.shown("explorer")


async def _transcript(stage: Stage) -> None:
    commands.run(stage.app, "focus_transcript")
    await stage.settle()


async def _agent(stage: Stage) -> None:
    """The transcript of one of them, in the place of the session's."""
    said = background.account(stage.language), 0
    patch.object(stage.host, "agent_said", lambda session_id: said).start()  # for good: the stage goes with it
    await _agents(stage)
    await stage.press("j", "enter")
    await stage.shown("src/report.py")


async def _tasks(stage: Stage) -> None:
    """Commands in the background, one of each state."""
    app, view = stage.app, stage.app.view
    tasks = background.tasks(view.id, stage.clock.now, str(view.session.workspace))
    app.conversations.deliver([Envelope(view.id, 0, stage.clock.now, events.TasksChanged(tasks))])
    commands.run(app, "tasks")
    await stage.shown("make docs")


async def _task_output(stage: Stage) -> None:
    """What one of them writes, at its end."""
    await _tasks(stage)
    served = stage.app.view.tasks[0]
    patch.object(
        stage.host.tasks, "output", lambda _, task_id, start, limit: background.output(served, start, limit)
    ).start()  # for good: the stage goes with it
    await stage.press("G", "enter")
    await stage.shown("12:01:29")


async def _task_ending(stage: Stage) -> None:
    await _tasks(stage)
    await stage.press("x")
    await stage.settle()


async def _file(stage: Stage) -> None:
    preview(stage.app, "src/ledger/dates.py", 32, 37)
    await stage.shown("def parse_date")


def _chart(stage: Stage) -> Path:
    """An image in the workspace: bars of a chart."""
    from PIL import Image, ImageDraw

    view = stage.app.view
    assert view is not None
    picture = Image.new("RGB", (800, 500), "white")
    pen = ImageDraw.Draw(picture)
    for number, height in enumerate((120, 260, 180, 390, 310, 440, 220)):
        pen.rectangle((40 + number * 105, 470 - height, 115 + number * 105, 470), fill=(60, 80 + 20 * number, 190))
    pen.line((30, 30, 30, 470, 770, 470), fill="black", width=6)
    path = Path(view.session.workspace, "chart.png")
    picture.save(path)
    return path


async def _image(stage: Stage) -> None:
    preview(stage.app, _chart(stage).name, 0, 0)
    await stage.shown("800x500 PNG")


# -- the composer -------------------------------------------------------------------------------------------------


async def _image_chips(stage: Stage) -> None:
    view = stage.app.view
    assert view is not None
    await stage.write(stage.words.queued + " ")
    stage.app.composer.add_image(stage.app.host.images.take_file(_chart(stage), "docs/chart.png"))
    await stage.settle()


async def _chips(stage: Stage) -> None:
    await stage.write(stage.words.queued + "\n")
    area = stage.app.query_one("#draft", TextArea)
    area.move_cursor(area.document.end)
    area.post_message(Paste(content.FAILED_RUN))
    await stage.settle()
    await stage.press("ctrl+j", *"OK?")
    await stage.settle()


async def _history(stage: Stage) -> None:
    await stage.press("ctrl+r", *("test" if stage.language == "en" else "测试"))
    await stage.settle()


async def _mention(stage: Stage) -> None:
    await stage.write("@da")
    await stage.shown("src/ledger/dates.py")


async def _mention_lines(stage: Stage) -> None:
    await stage.write("@src/ledger/dates.py#30-45")
    await stage.shown("30")


async def _slash(stage: Stage) -> None:
    await stage.write("/re")
    await stage.settle()


async def _slash_own(stage: Stage) -> None:
    """Commands of one's own behind those of the program."""
    (folder := stage.home / ".nanohermes" / "commands" / "deps").mkdir(parents=True)
    (folder / "update.md").write_text(
        "---\ndescription: update one dependency, run the tests\nargument-hint: <name>\n---\n"
    )
    await stage.write("/de")
    await stage.until(lambda: bool(stage.app.composer.typed), "what can be typed")
    await stage.settle()


async def _slash_values(stage: Stage) -> None:
    await stage.write("/theme n")
    await stage.settle()


async def _long_draft(stage: Stage) -> None:
    await stage.write("\n".join([stage.words.fix, "", stage.words.where, "", *stage.words.todos] * 2))


async def _held(stage: Stage) -> None:
    """Another program runs a turn in the session."""
    stage.app.view.session.tell(events.HeldElsewhere(4242, stage.clock.now - 240))
    await stage.until(lambda: stage.app.view.held, "who has it")
    await stage.settle()


async def _pending(stage: Stage) -> None:
    await _stream(stage)
    session = stage.app.view.session
    session.send(intents.Steer(stage.words.steer))
    session.send(intents.Queue(stage.words.queued))
    await stage.until(lambda: stage.app.view.steers and stage.app.view.queued, "waiting texts")
    await stage.settle()


async def _stopping(stage: Stage) -> None:
    """The moment between Ctrl+C and the end of the turn, which is too short to be caught."""
    await _stream(stage)
    stage.app.conversations.deliver([Envelope(stage.app.view.id, 0, 0.0, events.StateChanged("stopping"))])
    await stage.settle()


# -- sessions and overlays ----------------------------------------------------------------------------------------


async def _list(stage: Stage) -> None:
    await _others_at_work(stage)
    await _sessions(stage)
    await stage.press("j")
    await stage.settle()


async def _deleted(stage: Stage) -> None:
    await _sessions(stage)
    await stage.press("j", "d")
    await stage.shown("/restore")


def _overlay(command: str, *keys: str) -> Act:
    """The view of an overlay that a command opens, and keys pressed in it."""

    async def act(stage: Stage) -> None:
        commands.run(stage.app, command)
        await stage.until(lambda: isinstance(stage.app.screen, Overlay), command)
        await stage.settle()
        await stage.press(*keys)
        await stage.settle()

    return act


def _tour(steps: int) -> Act:
    """The tour, so many cards on."""

    async def act(stage: Stage) -> None:
        await _fresh(stage)
        commands.run(stage.app, "tour")
        await stage.settle()
        await stage.press(*["tab"] * steps)
        await stage.settle()

    return act


async def _remark(stage: Stage) -> None:
    stage.app.composer.remark(remarks.words("changes", stage.app.keymap))
    await stage.settle()


async def _usage(stage: Stage) -> None:
    """What two models have used: of one the price is known, of the other it is not."""
    for n, model in enumerate(("", "coder-480b"), 1):
        if model:
            stage.app.conversations.send(intents.SetModel(model))
            await stage.until(lambda: stage.app.view.answering[0] == "coder-480b", "the other model")
        stage.send("short")
        used = n * content.TOKENS
        await stage.until(
            lambda used=used: stage.app.view.usage.total_tokens == used and stage.app.view.state == "idle", "an answer"
        )
    await _overlay("usage")(stage)


async def _setup_tested(stage: Stage) -> None:
    await _overlay("setup")(stage)
    screen = stage.app.screen
    assert isinstance(screen, SetupScreen)
    screen.show_result(False, "No answer from 127.0.0.1:8080 (connection refused). Start the server, or change it.")
    await stage.settle()


async def _folders(stage: Stage) -> None:
    await _overlay("new_in")(stage)
    await stage.press("shift+tab")
    await stage.shown("notes")


def _worktrees() -> tuple[Worktree, ...]:
    place = Path.home()
    return (
        Worktree(place / "shop-fix-dates", "fix/dates", "1", changed=3, unmerged=1),
        Worktree(place / "shop-日期", "日期", "2"),
        Worktree(place / "shop-side-1", "side-1", "3", is_missing=True),
    )


async def _worktree_list(stage: Stage) -> None:
    worktree.offer(stage.app, _worktrees())
    await stage.settle()


async def _worktree_remove(stage: Stage) -> None:
    worktree.ask_first(stage.app, _worktrees()[0], lambda: None)
    await stage.settle()


def _rollback(*keys: str) -> Act:
    """Files that are rolled back, after these keys."""

    async def act(stage: Stage) -> None:
        said = stage.app.view.session.said()
        turns = background.turns(stage.language, stage.clock.now, said[-1].id)
        screen = RollbackScreen(turns)
        screen.ask_plan = lambda turn_id: screen.show_plan(background.plan(turn_id))
        screen.ask_diff = lambda _, path: screen.show_diff(path, background.diff())
        stage.app.open_overlay(screen)
        await stage.settle()
        await stage.press(*keys)
        await stage.pilot.pause(0.7)  # an Enter that acts counts by then, and is drawn so
        await stage.settle()

    return act


async def _rolled_back(stage: Stage) -> None:
    plan = background.plan("")
    left = tuple(f"{file.path}: {file.why}" for file in plan.files if file.does == "leave")
    told = events.FilesRolledBack("", tuple(file.path for file in plan.acts), left)
    stage.app.conversations.deliver([Envelope(stage.app.view.id, 0, stage.clock.now, told)])
    await stage.settle()


async def _rewind_what(stage: Stage) -> None:
    """Conversation, files, or both."""
    await _overlay("rewind")(stage)
    screen = stage.app.screen
    assert isinstance(screen, RewindScreen)
    turn = stage.app.view.session.said()[-1].id
    screen.ask_plan = lambda turn_id: screen.show_plan(background.plan(turn_id))
    screen.show_turns(background.turns(stage.language, stage.clock.now, turn))
    await stage.press("enter", "down", "down")
    await stage.settle()


async def _fresh(stage: Stage) -> None:
    await stage.until(lambda: stage.host.model.state.settled, "a model")
    await stage.settle()


async def _ascii(stage: Stage) -> None:
    symbols.set_ascii(True)
    await _edit_asks(stage)


def _mode_asked(mode: Mode) -> Act:
    """The question before a mode that acts alone."""

    async def act(stage: Stage) -> None:
        stage.app.view.session.send(intents.SetMode(mode))
        await _consent(stage)

    return act


async def _consent(stage: Stage) -> None:
    def asked() -> bool:
        screen = stage.app.screen
        return isinstance(screen, ConsentScreen) and screen.armed

    await stage.until(asked, "the question")
    await stage.pilot.pause(0.2)  # the keys are drawn as ones that count
    await stage.settle()


async def _trust(stage: Stage) -> None:
    """The folder brings something of everything that acts."""
    ours = stage.workspace / ".nanohermes"
    hook = {"matcher": "write_file,edit_file", "command": "./scripts/format --changed --quiet && ./scripts/check docs"}
    files = {
        "config.yaml": "model: {base_url: 'http://models.example.org/v1'}\nagent: {max_turns: 200}\n",
        "hooks.json": json.dumps({"hooks": {"PostToolUse": [hook], "SessionStart": [{"command": "./scripts/hello"}]}}),
        "mcp.json": json.dumps({"servers": {"db": {"command": "npx", "args": ["-y", "db-server", "--read-only"]}}}),
        "commands/release.md": "Prepare a release.\n",
    }
    for name, text in files.items():
        (ours / name).parent.mkdir(parents=True, exist_ok=True)
        (ours / name).write_text(text)
    commands.run(stage.app, "trust")

    def asked() -> bool:
        return isinstance(stage.app.screen, TrustScreen) and stage.app.screen.armed

    await stage.until(asked, "the question")
    await stage.pilot.pause(0.2)  # the keys are drawn as ones that count
    await stage.settle()


async def _trust_changed(stage: Stage) -> None:
    """It was trusted and has changed."""
    await _trust(stage)
    await stage.press("t")
    await stage.until(
        lambda: stage.host.trusting.look(stage.app.view.session.workspace).state == "trusted", "the answer"
    )
    (stage.workspace / ".nanohermes/commands/release.md").write_text("Prepare a release, and push it.\n")
    await _trust(stage)


async def _no_sandbox(stage: Stage) -> None:
    await stage.until(lambda: stage.app.held is not None, "what confines commands")
    commands.run(stage.app, "no_sandbox")
    await _consent(stage)


async def _goal(stage: Stage) -> None:
    """Mode goal at work."""
    stage.app.view.session.send(intents.SetMode("goal", confirmed=True))
    await stage.until(lambda: stage.app.view.mode == "goal", "mode goal")
    stage.app.view.goal = {"en": "all tests pass, with no test left out", "zh": "所有测试通过，一个也不跳过"}[
        stage.language
    ]
    stage.app.show_status()
    await stage.settle()


async def _alone(stage: Stage) -> None:
    stage.app.view.session.send(intents.SetMode("auto", confirmed=True))
    await stage.until(lambda: stage.app.view.mode == "auto", "mode auto")
    await stage.settle()


_BARE: Final = Containment(why="landlock_create_ruleset: ENOSYS", missing=("landlock", "mount view"))
_FRESH: Final = {"stored": False}

_ALL: Final[tuple[View, ...]] = (
    View("main", _work),
    View("streaming", _stream),
    View("thinking", _thought),
    View("details", _details),
    View("find", _find),
    View("selection", _selection),
    View("new-lines", _new_lines),
    View("errors", _errors),
    View("own-command", _own_command),
    View("approval-command", _command_asks),
    View("approval-edit", _edit_asks),
    View("approval-edit-dock", _edit_asks_in_dock, _dock),
    View("approval-hunks", _hunks_refused),
    View("approval-hunks-dock", _hunks_refused, _hunks_in_dock),
    View("approval-refusing", _refusing),
    View("approval-editing", _editing_command),
    View("approval-draft", _draft_open),
    View("approval-network", _question("git push origin main", "workspace-write, network", "leaves the sandbox")),
    View("approval-free", _question("systemctl --user restart shop", "no sandbox", "leaves the sandbox")),
    View("approval-page", _web_asks(url=_PAGE, host="docs.example.org")),
    View("approval-page-always", _web_asks("w", url=_PAGE, host="docs.example.org")),
    View("approval-login", _log_in(waits=False)),
    View("approval-login-waits", _log_in(waits=True)),
    View("approval-search", _web_asks(query="tidal streams 潮汐 timeout", host="search.example.org")),
    View("approval-always", _always()),
    View("approval-exactly", _always("tab")),
    View("approval-question", _person_asked),
    View("approval-plan", _plan_asked),
    View("agent", _agent, _transcript),
    View("dock-result", _result, _dock),
    View("dock-find", _result_find, _dock),
    View("dock-diff", _diff, _dock),
    View("dock-split", _diff_split, _dock),
    View("dock-unfolded", _diff_unfolded, _dock),
    View("dock-plan", _plan, _dock),
    View("dock-tasks", _tasks, _dock),
    View("dock-agents", _agents, _dock),
    View("dock-task-output", _task_output, _dock),
    View("dock-task-ending", _task_ending, _dock),
    View("dock-context", _context, _dock),
    View("dock-comment", dock_acts.writing, dock_acts.go_on),
    View("dock-comments", dock_acts.commented, _dock),
    View("dock-memory", dock_acts.memory, _dock),
    View("dock-servers", dock_acts.servers(_servers), _dock),
    View("dock-turns", dock_acts.turns, _dock),
    View("dock-file", _file, _file),
    View("dock-image", _image, _dock),
    View("dock-empty", _nothing, _dock, {"stored": False}),
    View("composer-chips", _chips),
    View("composer-images", _image_chips),
    View("composer-long", _long_draft),
    View("composer-history", _history),
    View("composer-mention", _mention),
    View("composer-lines", _mention_lines),
    View("composer-slash", _slash),
    View("composer-own", _slash_own),
    View("composer-values", _slash_values),
    View("composer-vim", composer_acts.vim_normal),
    View("composer-vim-lines", composer_acts.vim_lines),
    View("composer-snippets", composer_acts.snippet_names),
    View("composer-snippet-places", composer_acts.snippet_places),
    View("composer-pending", _pending),
    View("composer-held", _held),
    View("composer-stopping", _stopping),
    View("sessions", _list, _sessions),
    View("sessions-empty", _nothing, _sessions, _FRESH),
    View("sessions-deleted", _deleted),
    View("palette", _overlay("palette")),
    View("palette-search", _overlay("palette", *"mod")),
    View("palette-themes", _overlay("theme")),
    View("palette-nothing", _overlay("palette", *"qqqq")),
    View("help", _overlay("help")),
    View("help-filter", _overlay("help", *"copy")),
    View("setup", _overlay("setup")),
    View("setup-failed", _setup_tested),
    View("folders", _folders),
    View("worktrees", _worktree_list),
    View("worktree-remove", _worktree_remove),
    View("rename", _overlay("rename")),
    View("rewind", _overlay("rewind")),
    View("rewind-what", _rewind_what),
    View("rollback", _rollback()),
    View("rollback-files", _rollback("enter", "down", "space", "down", "down")),
    View("rollback-asking", _rollback("enter", "enter")),
    View("rollback-diff", _rollback("enter", "d")),
    View("rolled-back", _rolled_back),
    View("search", session_acts.search),
    View("search-narrowed", session_acts.narrowed),
    View("search-nothing", session_acts.nothing),
    View("compare", session_acts.compare),
    View("rewind-chosen", _overlay("rewind", "enter")),
    View("confirm", _overlay("clear")),
    View("usage", _usage, stage={"providers": content.PRICES, "budget.tokens": 2_000_000}),
    View("disk", _overlay("disk")),
    View("inbox", inbox_acts.inbox),
    View("inbox-all", inbox_acts.refusing_all),
    View("inbox-elsewhere", inbox_acts.elsewhere),
    View("permissions", _permissions, stage={"approvals.deny": ["git push --force*", "*--no-verify*"]}),
    View("permissions-taken", _permissions_taken),
    View("servers", _mcp),
    View("form", _form),
    View("settings", _overlay("settings")),
    View("settings-choice", _overlay("settings", *"approvals.mode", "enter")),
    View("settings-refused", _overlay("settings", *"max_turns", "enter", "end", *" or so", "enter")),
    View("keys", _overlay("keys")),
    View("keys-search", _overlay("keys", *"session")),
    View("keys-pressed", _overlay("keys", "down", "enter", "ctrl+s", "f9")),
    View("keys-taken", _overlay("keys", *"/new", "enter", "f2")),
    View("tour", _tour(1), stage=_FRESH),
    View("tour-last", _tour(5), stage=_FRESH),
    View("tour-demo", _tour(0), stage={"stored": False, "model": "demo"}),
    View("remark", _remark),
    View("insights", session_acts.used),
    View("insights-below", session_acts.insights_below),
    View("insights-nothing", session_acts.insights, stage={"stored": False}),
    View("tools", _tools),
    View("memory", _memory),
    View("memory-searched", _memory_searched),
    View("memory-edited", _memory_edited),
    View("memory-forgotten", _memory_forgotten),
    View("memory-none", _memory_none),
    View("memory-waits", _memory_waits),
    View("skills", _skills),
    View("skills-none", _skills_none),
    View("skills-waits", _skill_waits),
    View("trust", _trust),
    View("trust-changed", _trust_changed),
    View("palette-effort", _overlay("effort")),
    View("welcome", _fresh, stage=_FRESH),
    View("welcome-demo", _fresh, stage={"stored": False, "model": "demo"}),
    View("welcome-no-model", _fresh, stage={"stored": False, "model": "none"}),
    View("mode-auto", _mode_asked("auto")),
    View("mode-goal", _mode_asked("goal")),
    View("mode-auto-free", _mode_asked("auto"), stage={"held": replace(_BARE, accepted=True)}),
    View("no-sandbox", _no_sandbox, stage={"held": _BARE}),
    View("no-sandbox-accepted", _no_sandbox, stage={"held": replace(_BARE, accepted=True)}),
    View("status-goal", _goal, stage={"held": Containment(kernel=True, network=True, missing=("mount view",))}),
    View("status-yolo", _alone, stage={"held": Containment("danger-full-access"), "yolo": True}),
    View("welcome-no-sandbox", _fresh, stage={"stored": False, "held": _BARE}),
    View("welcome-demo-no-sandbox", _fresh, stage={"stored": False, "model": "demo", "held": _BARE}),
    View("ascii", _ascii),
)
VIEWS: Final[dict[str, View]] = {view.name: view for view in _ALL}
"""By name."""
