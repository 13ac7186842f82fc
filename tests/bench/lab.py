"""Where the benchmarks run: a model server, homes with stored sessions, and the program started in them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from agent_core.store.sessions import Store
from tests.bench.content import FIRST, begin_of, history
from tests.bench.terminal import Terminal
from tests.e2e.screen import home_env

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
FEW, SHORT, MANY, LONG = 8, 200, 2_000, 20_000
TITLES = {FEW: "hardly begun", SHORT: "the short history", MANY: "a day of work", LONG: "the long history"}
LAST = "end of history"
SETTLE = 1.0
"""Seconds without output after which the program has started."""

ALT_2 = "\x1b2"  # to the transcript
ESC = "\x1b"  # back to the composer
ENTER, PAGE_UP, PAGE_DOWN, HOME, END = "\r", "\x1b[5~", "\x1b[6~", "\x1b[H", "\x1b[F"


@dataclass(slots=True)
class Lab:
    """One benchmark's things. `once` keeps what a round has measured already, for bars that compare the same run."""

    folder: Path
    base_url: str
    sessions: dict[int, str]
    """Ids of the stored sessions by their number of messages."""
    known: dict[Any, Any] = field(default_factory=dict)
    serial: int = 0

    def once(self, measure: Callable[..., T], *arguments: object) -> T:
        """`measure(self, *arguments)`, at most once in a round."""
        key = (measure, arguments)
        if key not in self.known:
            self.known[key] = measure(self, *arguments)
        result: T = self.known[key]
        return result

    def next_round(self) -> None:
        self.known.clear()

    def mark(self) -> str:
        """A word that is nowhere on the screen yet.

        Only cells that differ are written: a word of letters that stood nowhere near before arrives in one piece.
        """
        self.serial += 1
        return "".join(random.choices("JKQX" if self.serial % 2 else "VWYZ", k=8))

    @contextlib.contextmanager
    def program(self, *arguments: str, messages: int | None = None, report: Path | None = None) -> Iterator[Terminal]:
        """The program in a home of its own, started and at rest; in a stored session when `messages` says which.

        With `report` it runs under the probe.
        """
        module = ["tests.bench.probe", str(report)] if report is not None else ["nanoherm_tui"]
        resume = ["-r", self.sessions[messages]] if messages is not None else []
        argv = [sys.executable, "-m", *module, *resume, *arguments]
        with self.home() as home, Terminal(argv, self.environment(home), self.folder / "work") as terminal:
            terminal.first_words()
            if messages is not None:
                terminal.wait_for(LAST)
            terminal.quiet(SETTLE)
            yield terminal

    @contextlib.contextmanager
    def home(self) -> Iterator[Path]:
        """A home of its own with the stored sessions, for one run."""
        home = Path(tempfile.mkdtemp(dir=self.folder))
        shutil.copytree(self.folder / "home", home, dirs_exist_ok=True)
        yield home
        shutil.rmtree(home)

    def environment(self, home: Path) -> dict[str, str]:
        ours = home_env(home, NANOHERMES_BASE_URL=self.base_url, NANOHERMES_MODEL="bench")
        # An installed program has its bytecode: a start that compiles is no start to measure.
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor",
                "LANG": "C.UTF-8", **ours}  # fmt: skip

    def read_all(self, terminal: Terminal) -> None:
        """Have the whole conversation read and laid out, as going to its beginning does; ends at its end, there."""
        terminal.send(ALT_2)
        terminal.quiet()
        since = len(terminal.raw)
        terminal.send(HOME)
        terminal.wait_for(FIRST, since)
        terminal.quiet()
        terminal.send(END)
        terminal.quiet()

    def ask(self, terminal: Terminal, kind: str, kb: int, rate: int) -> str:
        """Send the message that makes the server stream; gives its mark. With a rate the stream waits for `go`."""
        mark = self.mark()
        since = len(terminal.raw)
        terminal.settled(terminal.send(f"bench {kind} {kb} {rate} {mark}"), gap=0.05)
        terminal.send(ENTER)
        if rate:
            terminal.wait_for(begin_of(mark), since)
            time.sleep(0.5)
        return mark

    def go(self) -> tuple[float, float]:
        """Let the stream begin and wait for its end; gives both moments."""
        times = self._get("go")
        return times["began"], times["ended"]

    def arrivals(self) -> list[float]:
        """When each request for an answer has come to the server."""
        moments: list[float] = self._get("arrivals")
        return moments

    def _get(self, name: str) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.base_url.removesuffix('/v1')}/{name}", timeout=300) as answer:
            return json.load(answer)


def read_report(terminal: Terminal, report: Path) -> dict[str, Any]:
    """What the probe of a program has seen so far."""
    report.unlink(missing_ok=True)
    terminal.signal(signal.SIGUSR1)
    end = time.monotonic() + 10.0
    while not report.exists():
        if time.monotonic() > end:
            raise TimeoutError("the probe wrote no report")
        time.sleep(0.01)
    data: dict[str, Any] = json.loads(report.read_text())
    return data


@contextlib.contextmanager
def open_lab() -> Iterator[Lab]:
    """A lab in a temporary folder; server and folder are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="nanoherm-bench-") as name:
        folder = Path(name)
        (folder / "work").mkdir()
        store = Store.open(folder / "home" / ".nanohermes" / "state.db")
        sessions = {}
        for count, title in TITLES.items():
            sessions[count] = store.create(str(folder / "work"), title=title, model="bench").id
            for message in history(count):
                store.append(sessions[count], message)
        store.close()
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.server"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            yield Lab(folder, f"http://127.0.0.1:{port}/v1", sessions)
        finally:
            server.terminate()
            server.wait(5.0)
