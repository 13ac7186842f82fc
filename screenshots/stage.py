"""The program itself, running in this process: a real core and store in a scratch home, a model on the loopback."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from unittest.mock import patch

from agent_core import intents
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.desk.walls import WallsDesk
from agent_core.session.services import Containment
from nanoherm_tui import i18n, limits, symbols
from nanoherm_tui.app import NanohermApp
from nanoherm_tui.history import History
from nanoherm_tui.i18n import Language
from nanoherm_tui.opening import Start
from screenshots import content, frame
from screenshots.clock import held
from screenshots.frame import Frame
from tests.fakes.model_server import ModelServer

_PATIENCE: Final = 30.0
"""Seconds until something that never comes is given up."""
HELD: Final = Containment(kernel=True)
_WINDOW: Final = 40_000  # tokens of context; with the usage of content.py a third is full


class NeverCame(AssertionError):
    """What a view waits for did not come."""


class Stage:
    """`async with Stage("zh", (200, 60)) as stage`: the app, a session in view, and what a view needs to act."""

    def __init__(
        self,
        language: Language,
        size: tuple[int, int],
        *,
        stored: bool = True,
        model: str = "server",
        held: Containment = HELD,
        yolo: bool = False,
        **config: Any,
    ) -> None:
        """`stored`: with the sessions of content.py, the first of them opened. `model`: server, demo, or none.

        `held`: how far commands are said to be confined.
        """
        self._held, self._yolo = held, yolo
        self.language = language
        self.words = content.WORDS[language]
        self.prompts = content.prompts(language)
        self._size, self._stored, self._model = size, stored, model
        # No remarks: they come when the keys have rested for a while.
        fixed = {"display.language": language, "display.theme": "nanoherm-dark", "display.hints": False}
        self._config = {**fixed, **config}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._set()
        except BaseException:  # a stage that never came about leaves nothing behind either
            await self._stack.aclose()
            raise
        return self

    async def _set(self) -> None:
        enter = self._stack.enter_context
        self.clock = enter(held())
        scratch = Path(tempfile.mkdtemp(prefix="nanoherm-pictures-"))
        self._stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        self.home = scratch / "home"
        self.workspace = content.make_project(self.home, self.language)
        # Running marks stand at their first step.
        enter(patch.object(limits, "TICK_SECONDS", 3_600.0))
        env = {"HOME": str(self.home), "PATH": f"{self.home / 'bin'}:/usr/bin:/bin", "LANG": "C.UTF-8"}
        enter(patch.dict(os.environ, {**env, "COLORTERM": "truecolor", "TERM": "xterm-256color", "LC_ALL": ""}))
        for name in ("NO_COLOR", "COLORFGBG", "TMUX"):
            os.environ.pop(name, None)
        if self._model == "server":
            server = enter(ModelServer(content.model(self.language)))
            env |= {"NANOHERMES_BASE_URL": server.base_url, "NANOHERMES_MODEL": "coder-30b"}
            self._config["model.context_length"] = _WINDOW
        elif self._model == "none":
            env |= {"NANOHERMES_MODEL": "coder-30b", "NANOHERMES_BASE_URL": "ftp://coder"}
        enter(patch.object(WallsDesk, "containment", lambda walls: self._held))
        self.host = Host(Launch(self.workspace, env, self._config, yolo=self._yolo, demo=self._model == "demo"))
        self._stack.callback(self.host.close)
        self._stack.callback(_calm)
        main = content.fill_store(self.host.store, self.clock, self.home, self.language) if self._stored else ""
        session = self.host.open(main) if main else None
        history = History(self.host.places.history_file)
        for entry in self.words.history:
            history.add(entry)
        self.app = NanohermApp(Start(self.host.places, self.host.config, lambda: (self.host, session)))
        self.pilot = await self._stack.enter_async_context(self.app.run_test(size=self._size))
        await self.until(lambda: self.app.view is not None and self.app.view.loaded, "the session")
        await self.until(
            lambda: not self._stored or len(self.app.conversations.rows) > len(self.words.others), "the list"
        )
        await self.settle()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    # -- what a view does ---------------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for it. Raises NeverCame."""
        end = time.monotonic() + _PATIENCE
        while not condition():
            if time.monotonic() > end:
                raise NeverCame(what)
            await asyncio.sleep(0.01)

    async def settle(self) -> None:
        """Wait until everything that was to be drawn is drawn."""
        await self.pilot.pause()
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def write(self, text: str) -> None:
        """Write text into the draft, all at once."""
        self.app.composer.text = ""
        self.app.composer.insert(text)
        await self.settle()

    async def command(self, text: str) -> None:
        await self.write(text)
        await self.press("enter")

    def send(self, part: str) -> None:
        """Begin the turn in which the model plays this part."""
        self.app.conversations.send(intents.Submit(self.prompts[part]))

    async def shown(self, words: str) -> None:
        """Wait until these words are somewhere on the screen, all in one row."""
        await self.until(lambda: words in str(self.take()), words)
        await self.settle()

    async def focused(self, id: str) -> None:
        await self.until(lambda: self.app.focused is not None and self.app.focused.id == id, id)
        await self.settle()

    async def asked(self) -> None:
        """Wait for a question that a letter would answer."""
        await self.until(lambda: self.app.approval.display and self.app.approval.armed, "a question")
        await self.settle()

    async def resize(self, size: tuple[int, int]) -> None:
        if size == tuple(self.app.size):
            return
        await self.pilot.resize_terminal(*size)
        await self.settle()

    async def use_theme(self, name: str) -> None:
        if name != self.app.look.theme.name:
            self.app.theming.use(name)
            await self.settle()

    def take(self) -> Frame:
        return frame.take(self.app)


def _calm() -> None:
    """Leave the rooms that remember a choice for the whole process as a test expects them."""
    symbols.set_ascii(None)
    symbols.set_reduced_motion(False)
    i18n.set_language("en")
