"""What the model can use and knows: tools, memory, skills."""

from __future__ import annotations

from typing import Final

from agent_core import intents
from nanoherm_tui import commands
from nanoherm_tui.overlays.memory import MemoryScreen
from screenshots import memory_files, skill_files
from screenshots.stage import Stage
from screenshots.views.view import View


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


VIEWS: Final[tuple[View, ...]] = (
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
)
