"""The program in a real tmux, asked for and driven as tests.e2e.screen.Screen is.

A private server, without the user's configuration; its client is in a pty of its own, so keys travel through tmux as a
user's do. What the screen holds is what tmux says it holds.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.e2e.screen import PATIENCE, ROOT, Screen, Watched

HAS_TMUX = shutil.which("tmux") is not None

_MODES = ("mouse_any_flag", "mouse_sgr_flag", "mouse_all_flag", "mouse_standard_flag", "mouse_button_flag",
          "alternate_on", "keypad_flag", "keypad_cursor_flag", "insert_flag")  # fmt: skip
_SERIAL = iter(range(1_000_000))


class Tmux(Watched):
    """`with Tmux([...args], env=..., cwd=...) as screen`: the program in a pane that fills its window.

    `command` is run in place of the program; either is always started `fresh`. The pane stays after its end, so its
    last screen can be looked at.
    """

    def __init__(self, args=(), *, env=None, cwd=None, columns=120, rows=36, command=None, fresh=True):
        self._socket = f"nanoherm-test-{os.getpid()}-{next(_SERIAL)}"
        self._folder = Path(tempfile.mkdtemp(prefix="nanoherm-tmux-"))
        self._written = self._folder / "written"
        self._seen: tuple[tuple[int, int] | None, list[str]] = (None, [])
        """How much had been written, to the pane and to its user, when the lines were these."""
        command = list(command or [sys.executable, "-m", "nanoherm_tui", *args])
        words = {"PYTHONPATH": str(ROOT), "COLORTERM": "truecolor", "LANG": "C.UTF-8", **(env or {})}
        # The pane's bytes are kept from the first one on: the program waits until somebody listens. A shell notes how
        # it ended, which tmux does not always hear.
        inner = f"echo $$ > {self._folder}/pid; exec {shlex.join(command)}"
        wait = (
            f"while [ ! -e {self._folder}/go ]; do sleep 0.01; done; "
            f"sh -c {shlex.quote(inner)}; echo $? > {self._folder}/half; mv {self._folder}/half {self._folder}/code"
        )
        start = ["set", "-g", "status", "off", ";", "set", "-g", "remain-on-exit", "on", ";",
                 "set", "-g", "default-terminal", "tmux-256color", ";", "set", "-s", "escape-time", "20", ";",
                 "set", "-s", "extended-keys", "on", ";", "set", "-g", "focus-events", "on", ";",
                 "set", "-g", "set-titles", "off", ";", "set", "-g", "remain-on-exit-format", "", ";",
                 "new-session", "-c", str(cwd or ROOT), *(w for k, v in words.items() for w in ("-e", f"{k}={v}")),
                 "sh", "-c", wait]  # fmt: skip
        self.outer = Screen(
            command=["tmux", "-L", self._socket, "-f", os.devnull, "start-server", ";", *start],
            columns=columns,
            rows=rows,
            env={"TMUX": ""},
        )
        try:
            self.until(lambda: self._run("list-panes", check=False).strip())
            self._run("pipe-pane", "-O", f"cat > {self._written}")
            self.until(self._written.exists)
            (self._folder / "go").touch()
        except BaseException:
            self.__exit__()
            raise

    def _run(self, *arguments: str, check: bool = True) -> str:
        command = ["tmux", "-L", self._socket, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=check, timeout=20)
        return done.stdout

    def _ask(self, name: str) -> str:
        return self._run("display-message", "-p", f"#{{{name}}}").rstrip("\n")

    # -- looking --

    @property
    def lines(self) -> list[str]:
        # To ask tmux is to start a program. Measured first: what comes meanwhile is asked for again.
        written = self._written.stat().st_size, len(self.outer.raw)
        if written != self._seen[0]:
            rows = self._run("capture-pane", "-p").split("\n")[:-1]
            self._seen = written, [row.rstrip() for row in rows]
        return list(self._seen[1])

    @property
    def raw(self) -> bytes:
        """What the program wrote, from its first byte on."""
        return self._written.read_bytes()

    @property
    def cursor(self) -> tuple[int, int]:
        x, y = self._run("display-message", "-p", "#{cursor_x} #{cursor_y}").split()
        return int(x), int(y)

    @property
    def title(self) -> str:
        return self._ask("pane_title")

    @property
    def program(self) -> int:
        pid = self._folder / "pid"
        self.until(lambda: pid.exists() and pid.read_text().strip())
        return int(pid.read_text())

    @property
    def user(self) -> Screen:
        """The terminal in front of the user: its `raw` is what tmux sends it."""
        return self.outer

    def modes(self) -> dict[str, str]:
        """What tmux says of the pane's terminal modes."""
        values = self._run("display-message", "-p", " ".join(f"#{{{name}}}" for name in _MODES)).split(" ")
        return dict(zip(_MODES, (value.strip() for value in values), strict=True))

    # -- doing --

    def send(self, keys: str | bytes, settle: float = 0.0) -> None:
        """To tmux, as the user's terminal sends it; tmux translates for the pane."""
        self.outer.send(keys)
        if settle:
            self.rest(settle)

    def inject(self, data: bytes) -> None:
        """To the program itself, byte for byte, in one piece: what tmux would not let through unchanged."""
        path = self._folder / "injected"
        path.write_bytes(data)
        self._run("load-buffer", str(path), ";", "paste-buffer", "-r", "-d")

    def resize(self, columns: int, rows: int) -> None:
        self.outer.resize(columns, rows)

    def signal(self, number: int) -> None:
        os.kill(self.program, number)

    # -- the end --

    def hang_up(self) -> None:
        """Close the terminal under the program: the pane goes, and with it its server."""
        self._run("kill-server", check=False)

    @property
    def alive(self) -> bool:
        return self.wait_exit(0.0) is None

    def wait_exit(self, seconds: float = PATIENCE) -> int | None:
        """The exit code as a shell gives it, or None when it still runs after `seconds`."""
        end = time.monotonic() + seconds
        while not (self._folder / "code").exists():
            if time.monotonic() >= end:
                return None
            time.sleep(0.02)
        return int((self._folder / "code").read_text())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        # The end of the server hangs up the pane; what does not end by that is killed.
        noted = self._folder / "pid"
        pid = int(noted.read_text()) if noted.exists() else 0
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], check=False, capture_output=True, timeout=20)
        self.outer.__exit__(*exc)
        end = time.monotonic() + 3.0
        while pid and _runs(pid) and time.monotonic() < end:
            time.sleep(0.02)
        if pid and _runs(pid):
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self._folder, ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
