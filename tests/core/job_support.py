"""One session's commands in the background, for tests."""

from __future__ import annotations

import os
import time
from pathlib import Path

from agent_core.jobs.registry import Jobs
from agent_core.safety.redact import redact
from agent_core.sandbox.env import child_env
from agent_core.sandbox.policy import UNCONFINED

ENV = child_env(os.environ)
SECRET = "sk-live-0123456789abcdefghijABCDEFGHIJ"


def heard(session) -> str:
    """What the model is told of what has ended."""
    with session.news() as news:
        return news


class Desk:
    """One session's tasks, and what was told of them."""

    def __init__(self, home: Path, keys=()):
        self.told: list = []
        self.jobs = Jobs(home / "tasks", lambda text: redact(text, keys), lambda: keys)
        self.session = self.jobs.of("s1", self.told.append)
        self.cwd = home

    def start(self, command, ended=lambda: None):
        return self.session.start(command, self.cwd, box=UNCONFINED, env=ENV, confine=lambda box: None, ended=ended)

    def until(self, task_id, ok, seconds=15):
        deadline = time.monotonic() + seconds
        while not ok(task := next(task for task in self.session.list() if task.id == task_id)):
            assert time.monotonic() < deadline, task
            time.sleep(0.03)
        return task

    def ended(self, task_id):
        return self.until(task_id, lambda task: task.state != "running")

    def written(self, task_id, text):
        deadline = time.monotonic() + 15
        while text not in (got := self.session.output(task_id, 0, 4000).text):
            assert time.monotonic() < deadline, got
            time.sleep(0.03)
