"""Walks through the program in a real tmux, as a user would, and keeps a picture of each step.

    make screenshots            all walks, 120x36 and 200x60, pictures beside this file

Needs tmux and, for the text in the pictures, the DejaVu and Noto CJK fonts.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from screenshots.render import save_png
from tests.fakes.model_server import ModelServer, Reply

HERE = Path(__file__).parent
ROOT = HERE.parent
SETTINGS = """\
set -g default-terminal "tmux-256color"
set -ga terminal-overrides ",*:RGB"
set -g status off
set -s escape-time 10
"""


class Tmux:
    """One tmux session of a fixed size on its own socket, ended with the `with` block."""

    def __init__(self, columns: int, rows: int, command: str, env: dict[str, str], folder: Path, walk: str) -> None:
        self.columns, self.rows, self.walk = columns, rows, walk
        self.number = 0
        self._socket = f"pictures-{os.getpid()}-{walk}-{time.monotonic_ns()}"
        settings = folder / "tmux.conf"
        settings.write_text(SETTINGS)
        words = " ".join(f"{key}='{value}'" for key, value in env.items())
        self._tmux("-f", str(settings), "new-session", "-d", "-x", str(columns), "-y", str(rows),
                   f"cd {ROOT} && env {words} {command}; echo; echo EXIT $?; sleep 600")  # fmt: skip

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(["tmux", "-L", self._socket, *arguments], check=True, capture_output=True, text=True)
        return done.stdout

    def keys(self, *keys: str, pause: float = 0.4) -> None:
        self._tmux("send-keys", *keys)
        time.sleep(pause)

    def text(self, words: str) -> None:
        self._tmux("send-keys", "-l", words)
        time.sleep(0.4)

    def wait(self, *words: str, seconds: float = 60.0) -> None:
        """Wait for all of `words`, wherever they are wrapped."""
        end = time.monotonic() + seconds
        wanted = [re.sub(r"\s", "", w) for w in words]
        while time.monotonic() < end:
            screen = re.sub(r"\s|▐", "", self._tmux("capture-pane", "-p"))
            if all(w in screen for w in wanted):
                return
            time.sleep(0.1)
        raise SystemExit(f"{self.walk}: no {words} on\n{self._tmux('capture-pane', '-p')}")

    def picture(self, name: str) -> None:
        """Keep the screen as it is."""
        self.number += 1
        captured = self._tmux("capture-pane", "-e", "-N", "-p")
        target = HERE / f"{self.walk}-{self.columns}x{self.rows}-{self.number:02d}-{name}.png"
        save_png(captured, self.columns, self.rows, target)
        print(target.name, flush=True)

    def __enter__(self) -> Tmux:
        return self

    def __exit__(self, *exc: object) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], check=False, capture_output=True)


def environment(home: Path, **more: str) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    return {"HOME": str(home), "NANOHERMES_HOME": str(home / ".nanohermes"), "LANG": "C.UTF-8",
            "COLORTERM": "truecolor", **more}  # fmt: skip


def demo(columns: int, rows: int) -> None:
    """The demo from `make run` to the repaired test: one run refused and later given, quit, resume."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        env = environment(folder / "home")
        with Tmux(columns, rows, "make run ARGS=--demo", env, folder, "demo") as screen:
            screen.wait("Scripted demo, not an AI.", "fix it.", seconds=300)
            screen.picture("greeting")
            screen.keys("C-c")
            screen.text("测试失败了：购物车的折扣算错了。请找出原因并修好。")
            screen.picture("chinese-in-the-composer")
            screen.keys("Enter")
            screen.wait("Run this command?", "y once")
            time.sleep(1.0)
            screen.picture("a-command-asks")
            screen.keys("n")
            screen.text("先不要运行")
            screen.picture("refusing-with-words")
            screen.keys("Enter")
            screen.wait("Change shop/cart.py?")
            time.sleep(1.0)
            screen.picture("an-edit-asks")
            screen.keys("y")
            screen.wait("Run this command?", "改动已写入")
            time.sleep(1.0)
            screen.picture("the-command-asks-again")
            screen.keys("y")
            screen.wait("已修复", "6 passed", "Message, /command")
            screen.picture("repaired")
            screen.keys("C-t", pause=0.8)
            screen.picture("plan")
            screen.text("/exit")
            screen.keys("Enter")
            screen.wait("--resume", "EXIT")
            screen.picture("quit")
        with Tmux(columns, rows, "make run ARGS='--demo -r 测试失败'", env, folder, "demo") as screen:
            screen.number = 9
            screen.wait("已修复")
            screen.picture("resumed")


STUBBORN = "trap '' INT TERM; sleep 100"


def stops(columns: int, rows: int) -> None:
    """Ctrl+C in the middle of a stream and of a command that ignores it, over a loopback server."""
    story = "".join(f"第 {n} 段：流式输出的文字，每一段都说明一点。Some English in between.\n\n" for n in range(400))

    def reply(body: dict, number: int) -> Reply:
        asked = [m for m in body["messages"] if m["role"] == "user"][-1]["content"]
        if "story" in asked:
            return Reply(text=story, piece=6, gap=0.02)
        if "command" in asked and body["messages"][-1]["role"] == "user":
            return Reply(text="I run it.", calls=[("run_command", {"command": STUBBORN})])
        return Reply(text="好的，继续。The session goes on after each stop.")

    with tempfile.TemporaryDirectory() as scratch, ModelServer(reply) as server:
        folder = Path(scratch)
        (folder / "work").mkdir()
        env = environment(folder / "home", NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")
        with Tmux(columns, rows, f"make run ARGS='-C {folder / 'work'}'", env, folder, "stops") as screen:
            screen.wait("test-model")
            screen.text("tell me a long story")
            screen.keys("Enter")
            screen.wait("第12段")
            screen.picture("mid-stream")
            screen.keys("C-c")
            screen.wait("Message, /command", seconds=3)
            screen.picture("stopped-mid-stream")
            screen.text("run the stubborn command")
            screen.keys("Enter")
            screen.wait("Run this command?")
            time.sleep(1.0)
            screen.picture("stubborn-command-asks")
            screen.keys("y")
            screen.wait("running")
            time.sleep(2.0)
            screen.picture("stubborn-command-runs")
            screen.keys("C-c")
            screen.wait("Message, /command", seconds=3)
            screen.picture("stubborn-command-stopped")
            screen.text("go on")
            screen.keys("Enter")
            screen.wait("好的，继续。")
            screen.picture("goes-on")
            assert server.violations == [], server.violations


def faces(columns: int, rows: int) -> None:
    """Overlays and themes over one finished session."""
    answer = (
        "## 原因\n`parse_date` 只取前 19 个字符，**时区** 被丢掉了。\n\n- 保留偏移\n- 统一换算成 UTC\n\n"
        "```python\ndef parse_date(text: str) -> datetime:\n    value = datetime.fromisoformat(text.strip())\n"
        "    return value.astimezone(UTC)\n```\n\n"
        "| 输入 | 修改前 | 修改后 |\n|---|---|---|\n| 02:30+02:00 | 02:30 | 00:30 UTC |\n"
    )
    replies = [
        Reply(reasoning="the offset is read, then thrown away", calls=[("list_dir", {"path": "."})]),
        Reply(text=answer),
    ]
    with tempfile.TemporaryDirectory() as scratch, ModelServer(replies) as server:
        folder = Path(scratch)
        (folder / "ledger").mkdir()
        (folder / "ledger" / "日期.py").write_text("x = 1\n")
        env = environment(folder / "home", NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")
        with Tmux(columns, rows, f"make run ARGS='-C {folder / 'ledger'}'", env, folder, "faces") as screen:
            screen.wait("test-model")
            screen.text("parse_date 丢掉了时区，请修好。")
            screen.keys("Enter")
            screen.wait("原因", "00:30 UTC", "Message, /command")
            screen.picture("answer")
            screen.keys("C-p")
            screen.picture("palette")
            screen.keys("Escape")
            screen.keys("F1")
            screen.picture("help")
            screen.keys("Escape")
            screen.text("/setup")
            screen.keys("Enter", pause=0.8)
            screen.picture("setup")
            screen.keys("Escape")
            for theme in ("nanoherm-light", "high-contrast", "ansi"):
                screen.text(f"/theme {theme}")
                screen.keys("Enter", pause=0.8)
                screen.picture(theme)
            screen.text("/theme nanoherm-light")
            screen.keys("Enter")
            screen.text("/language zh")
            screen.keys("Enter", pause=0.8)
            screen.keys("F2", pause=0.8)
            screen.picture("light-chinese")


WALKS = {"demo": demo, "stops": stops, "faces": faces}


def main(names: list[str]) -> None:
    for name in names or WALKS:
        for old in HERE.glob(f"{name}-*.png"):
            old.unlink()
        for columns, rows in ((120, 36), (200, 60)):
            WALKS[name](columns, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
