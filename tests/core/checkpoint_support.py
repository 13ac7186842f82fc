"""A workspace with a record of what is changed in it, for the tests of checkpoints."""

import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_core import limits
from agent_core.checkpoints import child as checkpoint_child
from agent_core.checkpoints.keeper import Checkpoints, Options
from agent_core.line_child import Asked
from agent_core.safety.paths import PathRules
from agent_core.sandbox.policy import Box

WRITING = Box("workspace-write")


class Here:
    """Looks at files in this process: what the program of its own does, without the time that it takes to start."""

    def __init__(self, folder: Path):
        self.folder, self.looks = folder, 0

    def ask(self, look):
        self.looks += 1
        asked = Asked(answer=checkpoint_child.look(self.folder, look))
        asked.done.set()
        return asked

    def close(self):
        pass


class Slow:
    """Has not looked by the time that anybody waits for it."""

    def ask(self, look):
        return Asked()


class Desk:
    """A workspace with a record of what is changed in it."""

    def __init__(self, tmp_path: Path, options=None, add_dirs=(), here=True):
        self.ws, self.home = tmp_path / "ws", tmp_path / "home"
        self.own = self.home / ".nanohermes"
        for folder in (self.ws, self.own):
            folder.mkdir(parents=True, exist_ok=True)
        self.options, self.add_dirs, self.here = options or Options(), add_dirs, here
        self.number = 0
        self.kept = self.again()

    def again(self) -> Checkpoints:
        """The program starts anew."""
        kept = self.kept = Checkpoints(
            self.home,
            self.own,
            lambda: self.options,
            lambda ws: PathRules(ws, self.home, self.own, add_dirs=self.add_dirs),
            lambda text: text.replace("sk-secret", "[REDACTED]"),
        )
        if self.here:
            kept._looks._child = Here(kept.folder)
        return kept

    def turn(self, name="", session="s", workspace=None):
        self.number += 1
        return self.kept.turn(session, name or f"u{self.number}", workspace or self.ws, f"turn {self.number}")

    def run(self, turn, command, box=WRITING):
        """Run a shell command as a tool does, and let the clock of the files go on before and after."""
        end = turn.command(box)
        tick()
        subprocess.run(["sh", "-c", command], cwd=self.ws, check=True)
        end()
        tick()

    def command(self, command, name=""):
        """A turn with one command."""
        with self.turn(name) as turn:
            self.run(turn, command)

    def write(self, turn, path, content, mode=None):
        """What file tools do: told first, then done."""
        file = self.ws / path
        before = file.read_bytes() if file.exists() else None
        turn.file(file, before, content, mode if before is None else file.stat().st_mode)
        if content is None:
            file.unlink()
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def plan(self, name, session="s"):
        return [(file.path, file.does, file.why) for file in self.kept.plan(session, name).files]

    def listed(self, session="s"):
        return [
            (point.turn_id, [(f.path, f.change, f.by, f.state) for f in point.files])
            for point in self.kept.list(session)
        ]


@contextmanager
def desks(folder: Path) -> Iterator[Callable[..., Desk]]:
    """Makes desks in a folder, and closes what they keep at the end."""
    made: list[Desk] = []

    def make(*args, **options) -> Desk:
        made.append(Desk(folder, *args, **options))
        return made[-1]

    yield make
    for one in made:
        one.kept.close()


def fill(ws):
    (ws / "a.txt").write_text("A\n")
    (ws / "b.txt").write_text("B\n" * 1000)
    (ws / "empty").write_bytes(b"")
    (ws / "sub" / "deep").mkdir(parents=True)
    (ws / "sub" / "one.py").write_bytes(b"one\r\n\xff\x00")
    (ws / "sub" / "deep" / "two.py").write_text("two")
    (ws / "to_a").symlink_to("a.txt")
    (ws / "字 \n.txt").write_text("odd name")
    (ws / "run.sh").write_text("#!/bin/sh\n")
    (ws / "run.sh").chmod(0o640)


def tick():
    """The kernel counts the times of files in ticks; two things that tests want apart are some ticks apart."""
    time.sleep(3 * limits.CHECKPOINT_CLOCK / 1e9)


def snapshot(root: Path):
    """All that is below a folder: kinds, permissions, contents."""
    found = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            found[str(path.relative_to(root))] = ("link", os.readlink(path))
        elif stat.S_ISREG(status.st_mode):
            found[str(path.relative_to(root))] = ("file", stat.S_IMODE(status.st_mode), path.read_bytes())
        else:
            found[str(path.relative_to(root))] = ("other", stat.S_IFMT(status.st_mode))
    return found
