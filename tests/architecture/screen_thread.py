"""What the screen's thread opens, connects, starts or waits for. Run as a script: prints a line for each offence.

A whole session with the demo, every action among it, runs in Textual's pilot; an audit hook watches the thread of the
loop. The hook cannot be taken away again, so this has a process of its own.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from agent_core.config.load import load
from agent_core.config.paths import find_places
from agent_core.demo import transport
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from nanoherm_tui.actions import ACTIONS
from nanoherm_tui.app import NanohermApp
from nanoherm_tui.opening import Start

ROOT = Path(__file__).parents[2]
OURS = (str(ROOT / "nanoherm_tui"), str(ROOT / "agent_core"))

WATCHED = frozenset(
    {
        "open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "os.chmod", "os.truncate",
        "socket.connect", "socket.getaddrinfo", "socket.gethostbyname",
        "subprocess.Popen", "os.fork", "os.exec", "os.posix_spawn", "os.system",
        "sqlite3.connect", "time.sleep",
    }
)  # fmt: skip

ALLOWED = {
    "a module on its first use": "<frozen importlib._bootstrap>",
    "the words of a language, once each": "nanoherm_tui/i18n.py",
    "Textual's style sheets, once at the start": "textual/css/stylesheet.py",
    "the history: bounded, read at the start so that Up works soon": "nanoherm_tui/history.py",
}
"""Reason → a file in the stack. Settings, themes and what was remembered are read before the loop begins."""

LEFT_OUT = {
    "quit": "ends the session",
    "suspend": "stops this process",
    "editor": "gives the terminal away; nothing is drawn meanwhile",
}
ANSWERS = {"approval", "composer", "running"}
"""Contexts whose keys are pressed on the way, not one after the other."""

offences: dict[str, str] = {}
_watching: list[int] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in WATCHED or threading.get_ident() not in _watching:
        return
    frames = [frame for frame, _ in traceback.walk_stack(sys._getframe(1))]  # innermost first; reads no source
    if any(f.f_code.co_filename.endswith(part) for part in ALLOWED.values() for f in frames):
        return
    ours = [_place(frame) for frame in frames if frame.f_code.co_filename.startswith(OURS)]
    if ours:
        offences.setdefault(f"{event} in {ours[0]}", f"{str(arguments[:1])[:160]}: {' < '.join(ours)}")


def _place(frame: FrameType) -> str:
    code = frame.f_code
    return f"{os.path.relpath(code.co_filename, ROOT)}:{frame.f_lineno} {code.co_name}"


async def _until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        await asyncio.sleep(0.02)


async def session(folder: Path) -> int:
    """Use the program for a while; gives the number of actions that were done."""
    (folder / "work").mkdir()
    env = {"HOME": str(folder / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TMPDIR": str(folder)}
    places = find_places(folder / "work", env)
    config = load(places, env, {})

    def open_host() -> tuple[Host, None]:
        return Host(Launch(folder / "work", env, {}, demo=True)), None

    app = NanohermApp(Start(places, config, open_host))
    _watching.append(threading.get_ident())
    async with app.run_test(size=(160, 30)) as pilot:
        await _until(lambda: app.view is not None and app.view.loaded)
        view = app.view
        assert view is not None
        await _until(lambda: bool(app.composer.text))  # the demo writes a first message
        await pilot.press("enter")
        deadline = time.monotonic() + 60
        while view.state != "idle" or view.usage.total_tokens is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the demo's turn has not ended: {view.state}")
            if view.waiting:
                waiting = view.waiting[0].question.id
                await asyncio.sleep(0.6)  # a question takes a letter only after a while
                await pilot.press("y")
                await _until(lambda waiting=waiting: not any(w.question.id == waiting for w in view.waiting))
            await asyncio.sleep(0.02)
        await pilot.press(*"a message that goes on", "ctrl+c", "up", "ctrl+r", "escape", "ctrl+c")
        await pilot.press(
            "@", *"cart", "tab", "ctrl+c", "alt+2", "k", "k", "enter", "slash", *"cart", "enter", "escape"
        )
        done = 0
        for action in ACTIONS:
            if action.context in ANSWERS or action.id in LEFT_OUT:
                continue
            app.action_command(action.id)
            await pilot.pause(0.01)
            deadline = time.monotonic() + 30
            while len(app.screen_stack) > 1:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{app.screen} of {action.id} does not close")
                await pilot.press("escape")
                await pilot.pause(0.02)
            done += 1
        await pilot.pause(0.5)
        await _until(lambda: app.view is not None and app.view.state == "idle")
        _watching.clear()
    if app.ready:
        app.host.close()  # as `run` does, when there is no screen any more
    return done


def main() -> int:
    transport.PIECE_SECONDS, transport.THINK_SECONDS = 0.003, 0.05  # nobody reads along
    with tempfile.TemporaryDirectory(prefix="nanoherm-watch-") as name:
        sys.addaudithook(_watch)
        done = asyncio.run(session(Path(name)))
    for offence, stack in offences.items():
        print(f"{offence}\n    {stack}")
    print(f"{done} actions, {len(offences)} offences")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
