"""A program that is killed in the middle of a write, a rollback or a redo: what is left can always be taken back."""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from agent_core.checkpoints.keeper import Checkpoints, Options
from agent_core.safety.paths import PathRules
from tests.core.checkpoint_support import snapshot

ROOT = Path(__file__).resolve().parents[2]
FILES = ("a.txt", "b.txt", "new/c.txt", "gone.txt", "turned", "turned/in")

PROGRAM = """
    import os, signal, sys
    from pathlib import Path
    from agent_core.checkpoints import put_back
    from agent_core.checkpoints.keeper import Checkpoints, Options
    from agent_core.safety.paths import PathRules

    base, what, steps = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    ws, home = base / "ws", base / "home"
    kept = Checkpoints(home, home, Options, lambda ws: PathRules(ws, home, home), lambda text: text)
    real, done = put_back.put, []

    def put(*args, **options):
        if len(done) == steps:
            os.kill(os.getpid(), signal.SIGKILL)
        done.append(args)
        return real(*args, **options)

    put_back.put = put
    if what == "write":
        with kept.turn("s", "u1", ws, "a turn") as turn:
            turn.file(ws / "a.txt", b"old a", b"new a", 0o644)
            os.kill(os.getpid(), signal.SIGKILL)
    elif what == "redo":
        kept.redo("s")
    else:
        kept.roll_back("s", "u1")
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Place:
    def __init__(self, base: Path):
        self.base, self.ws, self.home = base, base / "ws", base / "home"
        self.ws.mkdir()
        self.home.mkdir()
        for name in ("a.txt", "b.txt", "gone.txt", "turned"):
            (self.ws / name).write_bytes(b"old " + name[:1].encode())
            (self.ws / name).chmod(0o644)
        self.before = snapshot(self.ws)

    def opened(self) -> Checkpoints:
        return Checkpoints(
            self.home, self.home, Options, lambda ws: PathRules(ws, self.home, self.home), lambda text: text
        )

    def turn(self, kept):
        with kept.turn("s", "u1", self.ws, "a turn") as turn:
            for name in FILES:
                path = self.ws / name
                old = path.read_bytes() if path.exists() else None
                new = None if name in ("gone.txt", "turned") else b"new " + name.encode()
                turn.file(path, old, new, None if old is None else path.stat().st_mode)
                path.parent.mkdir(exist_ok=True)
                if new is None:
                    path.unlink()
                else:
                    path.write_bytes(new)
        self.after = snapshot(self.ws)

    def killed(self, what, steps=0):
        argv = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(self.base), what, str(steps)]
        assert subprocess.run(argv, cwd=ROOT, timeout=60, check=False).returncode == -signal.SIGKILL


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.mark.parametrize("steps", [0, 1, 3, 5])
def test_a_rollback_that_is_killed_is_ended_by_the_next_and_taken_back_in_whole(place, steps):
    kept = place.opened()
    place.turn(kept)
    kept.close()
    place.killed("roll_back", steps)
    kept = place.opened()
    assert len(kept.plan("s", "u1").acts) == len(FILES) - steps
    kept.roll_back("s", "u1")
    assert snapshot(place.ws) == place.before
    while kept.redo("s") is not None:
        pass
    assert snapshot(place.ws) == place.after
    assert len(kept.plan("s", "u1").acts) == len(FILES)
    kept.close()


@pytest.mark.parametrize("steps", [0, 1, 3, 5])
def test_after_a_redo_that_is_killed_the_list_is_true_and_both_ways_are_open(place, steps):
    kept = place.opened()
    place.turn(kept)
    kept.roll_back("s", "u1")
    kept.close()
    place.killed("redo", steps)
    kept = place.opened()
    states = [file.state for file in kept.list("s")[0].files]
    assert sorted(states) == ["undoable"] * steps + ["undone"] * (len(FILES) - steps)
    kept.roll_back("s", "u1")
    assert snapshot(place.ws) == place.before
    while kept.redo("s") is not None:
        pass
    assert snapshot(place.ws) == place.after
    kept.close()


def test_a_write_that_was_recorded_and_never_came_is_nothing_to_take_back(place):
    place.killed("write")
    kept = place.opened()
    assert snapshot(place.ws) == place.before
    assert kept.plan("s", "u1").files == ()
    (place.ws / "a.txt").write_bytes(b"mine")
    assert kept.plan("s", "u1").acts == (), "what the person writes later is not the turn's"
    kept.close()
