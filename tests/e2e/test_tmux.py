"""In a real tmux, where many of its users live: keys, colours and size arrive, and the pane is whole afterwards."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from tests.e2e.screen import ROOT, home_env

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Pane:
    def __init__(self, folder, command, env, columns, rows):
        self._socket = f"nanoherm-test-{time.monotonic_ns()}"
        words = [f"{key}={value}" for key, value in env.items()]
        self.run("-f", os.devnull, "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(folder),
                 "env", *words, "sh", "-c", f"{command}; echo EXIT $?; sleep 60")  # fmt: skip

    def run(self, *arguments):
        done = subprocess.run(["tmux", "-L", self._socket, *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    def wait_for(self, *words, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.run("capture-pane", "-p")
            if all(word in text for word in words):
                return text
            time.sleep(0.05)
        raise AssertionError(f"no {words} on\n{text}")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], check=False, capture_output=True)


@pytest.mark.parametrize(("columns", "rows"), [pytest.param(120, 36, marks=pytest.mark.long), (80, 24)])
def test_it_runs_in_tmux(tmp_path, columns, rows):
    env = {**home_env(tmp_path / "home"), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    command = f"{sys.executable} -m nanoherm_tui --demo"
    with Pane(tmp_path, command, env, columns, rows) as pane:
        pane.wait_for("Scripted demo, not an AI.", "demo (scripted)")
        pane.run("send-keys", "C-c")
        pane.run("send-keys", "-l", "你好，世界")
        pane.wait_for("你好，世界")
        pane.run("send-keys", "M-Enter")
        pane.run("send-keys", "-l", "第二行")
        shown = pane.wait_for("你好，世界", "第二行")
        assert max(len(line) for line in shown.splitlines()) <= columns
        pane.run("send-keys", "F1")
        pane.wait_for("Help")
        pane.run("send-keys", "Escape")
        time.sleep(0.3)
        pane.run("send-keys", "C-c")
        time.sleep(0.3)
        pane.run("send-keys", "C-d")
        text = pane.wait_for("EXIT 0")
        assert "demo (scripted)" not in text
