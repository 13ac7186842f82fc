"""A program of our own that is asked things, a line of JSON each, and answers when it can."""

from __future__ import annotations

import itertools
import json
import logging
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from agent_core.process.spawner import spawn
from agent_core.records import dataclass

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Asked:
    """A request that is under way."""

    left: int = 0
    answer: dict[str, Any] = field(default_factory=dict)
    done: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> dict[str, Any]:
        """The answer; empty when it has not come by then."""
        self.done.wait(seconds)
        return self.answer


class LineChild:
    """A program that answers requests, one JSON object a line: started when it is asked, and anew when it has ended."""

    def __init__(self, argv: Sequence[str], name: str) -> None:
        """`name`: what the program does, for the log: "indexing"."""
        self._argv = tuple(argv)
        self._name = name
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._asked: dict[int, Asked] = {}
        self._numbers = itertools.count(1)

    def ask(self, **request: Any) -> Asked:
        """Send a request. Its answer is an error when the program cannot be started or ends meanwhile."""
        asked, number = Asked(), next(self._numbers)
        with self._lock:
            line = json.dumps({"id": number, **request}).encode() + b"\n"
            for _ in range(2):  # one that has just ended of itself is started anew
                try:
                    if self._process is None:
                        self._start()
                    assert self._process is not None
                    assert self._process.stdin is not None
                    self._asked[number] = asked
                    self._process.stdin.write(line)
                    self._process.stdin.flush()
                    return asked
                except OSError as error:
                    log.warning("the %s program cannot be asked: %s", self._name, error)
                    self._asked.pop(number, None)
                    self._give_up()
        asked.answer = self._gone()
        asked.done.set()
        return asked

    def _give_up(self) -> None:
        """It hears nothing any more: who waits for its answers waits in vain. Under the lock."""
        child, self._process = self._process, None
        if child is not None:
            child.kill()
        for asked in self._asked.values():
            asked.answer = self._gone()
            asked.done.set()
        self._asked.clear()

    def _start(self) -> None:
        self._process = spawn(self._argv, Path("/"), {}, stdin=subprocess.PIPE)
        threading.Thread(target=self._listen, args=(self._process,), name=self._name, daemon=True).start()
        threading.Thread(target=self._drain, args=(self._process,), name=f"{self._name}-errors", daemon=True).start()

    def _listen(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout is not None
        with open(child.stdout.fileno(), "rb", closefd=False) as lines:
            for line in lines:
                try:
                    self._take(json.loads(line))
                except ValueError:
                    log.warning("the %s program wrote %r", self._name, line[:200])
        child.wait()
        with self._lock:
            if self._process is not child:
                return
            self._process = None
            for asked in self._asked.values():
                asked.answer = self._gone()
                asked.done.set()
            self._asked.clear()

    def _take(self, answer: dict[str, Any]) -> None:
        with self._lock:
            asked = self._asked.get(answer["id"])
            if asked is None:
                return
            if "left" in answer:
                asked.left = answer["left"]
                return
            del self._asked[answer["id"]]
        asked.answer = answer
        asked.done.set()

    def close(self) -> None:
        with self._lock:
            child, self._process = self._process, None
            waiting, self._asked = list(self._asked.values()), {}
        if child is not None:
            child.kill()
            child.wait()
        for asked in waiting:
            asked.answer = self._gone()
            asked.done.set()

    def _gone(self) -> dict[str, Any]:
        return {"error": f"the {self._name} program has ended"}

    def _drain(self, child: subprocess.Popen[bytes]) -> None:
        """What it writes of its own failure belongs in the log, and must not fill the pipe."""
        assert child.stderr is not None
        with open(child.stderr.fileno(), "rb", closefd=False) as lines:
            for line in lines:
                log.warning("%s: %s", self._name, line.decode("utf-8", "replace").rstrip()[:500])
