"""What may be done without being asked: grants, modes, a folder that is trusted, commands without walls."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Final

from agent_core import intents
from agent_core.grants_file import CommandGrant
from agent_core.names import Mode
from agent_core.ports.asking import Decided
from agent_core.sandbox.policy import Box
from agent_core.session.services import Containment
from nanoherm_tui import commands
from nanoherm_tui.overlays.consent import ConsentScreen
from nanoherm_tui.overlays.trust import TrustScreen
from screenshots.stage import Stage
from screenshots.views.view import Act, View


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


async def _permissions_taken(stage: Stage) -> None:
    """A grant is taken back and can be given again."""
    await _permissions(stage)
    await stage.press(*["down"] * 4, "d")
    await stage.settle()


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


def _bring(stage: Stage, release: str) -> None:
    """Give the folder something of everything that acts; `release` is the text of its command."""
    ours = stage.workspace / ".nanohermes"
    hook = {"matcher": "write_file,edit_file", "command": "./scripts/format --changed --quiet && ./scripts/check docs"}
    files = {
        "config.yaml": "model: {base_url: 'http://models.example.org/v1'}\nagent: {max_turns: 200}\n",
        "hooks.json": json.dumps({"hooks": {"PostToolUse": [hook], "SessionStart": [{"command": "./scripts/hello"}]}}),
        "mcp.json": json.dumps({"servers": {"db": {"command": "npx", "args": ["-y", "db-server", "--read-only"]}}}),
        "commands/release.md": release,
    }
    for name, text in files.items():
        (ours / name).parent.mkdir(parents=True, exist_ok=True)
        (ours / name).write_text(text)


async def _trust(stage: Stage, release: str = "Prepare a release.\n") -> None:
    """The folder brings something, and it is asked whether it is trusted."""
    _bring(stage, release)
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
    workspace = stage.app.view.session.workspace
    await stage.until(lambda: stage.host.trusting.look(workspace).state == "trusted", "the answer")
    await stage.until(lambda: not isinstance(stage.app.screen, TrustScreen), "the end of the question")
    await _trust(stage, "Prepare a release, and push it.\n")


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


BARE: Final = Containment(why="landlock_create_ruleset: ENOSYS", missing=("landlock", "mount view"))


VIEWS: Final[tuple[View, ...]] = (
    View("permissions", _permissions, stage={"approvals.deny": ["git push --force*", "*--no-verify*"]}),
    View("permissions-taken", _permissions_taken),
    View("trust", _trust),
    View("trust-changed", _trust_changed),
    View("mode-auto", _mode_asked("auto")),
    View("mode-goal", _mode_asked("goal")),
    View("mode-auto-free", _mode_asked("auto"), stage={"held": replace(BARE, accepted=True)}),
    View("no-sandbox", _no_sandbox, stage={"held": BARE}),
    View("no-sandbox-accepted", _no_sandbox, stage={"held": replace(BARE, accepted=True)}),
    View("status-goal", _goal, stage={"held": Containment(kernel=True, network=True, missing=("mount view",))}),
    View("status-yolo", _alone, stage={"held": Containment("danger-full-access"), "yolo": True}),
)
