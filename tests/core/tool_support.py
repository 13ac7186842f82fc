"""A tool's surroundings for tests: a real workspace, real processes, a person who answers from a list."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent_core.cancel import CancelScope
from agent_core.ports.asking import Question, Reply
from agent_core.ports.means import TodoItem
from agent_core.ports.tools import Prepared, Tool, ToolContext, ToolOutput
from agent_core.process.command import LocalBackend
from agent_core.sandbox.env import child_env
from agent_core.sandbox.policy import UNCONFINED
from agent_core.tools.builtin import builtin_tools
from agent_core.tools.seen_files import SeenFiles

TOOLS: dict[str, Tool] = {tool.name: tool for tool in builtin_tools()}


class Todos:
    def __init__(self) -> None:
        self.items: tuple[TodoItem, ...] = ()

    def read(self) -> tuple[TodoItem, ...]:
        return self.items

    def write(self, items: tuple[TodoItem, ...]) -> None:
        self.items = items


class Person:
    """Answers each question with the next reply; without one, nobody is there."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.questions: list[Question] = []

    def ask(self, question: Question, cancel: CancelScope) -> Reply:
        self.questions.append(question)
        return self.replies.pop(0) if self.replies else Reply("refuse", by="unattended")


def context(tmp_path: Path, **changes: Any) -> ToolContext:
    """A context whose workspace, home and own home are three folders below `tmp_path`."""
    folders = {name: tmp_path / name for name in ("ws", "home", "own")}
    for folder in folders.values():
        folder.mkdir(exist_ok=True)
    values: dict[str, Any] = {
        "workspace": folders["ws"].resolve(),
        "home": folders["home"],
        "data_home": folders["own"],
        "cancel": CancelScope(),
        "asker": Person(),
        "backend": LocalBackend(),
        "todos": Todos(),
        "files": SeenFiles(),
        "env": child_env(os.environ) | {"HOME": str(folders["home"])},
    }
    return ToolContext(**{**values, **changes})


def prepare(ctx: ToolContext, name: str, **args: Any) -> Prepared:
    return TOOLS[name].prepare(args, ctx)


def call(ctx: ToolContext, name: str, **args: Any) -> ToolOutput:
    return prepare(ctx, name, **args).run(UNCONFINED)


def later(seconds: float, action: Callable[[], None]) -> None:
    """Do it from another thread after a while."""
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()
