"""The clipboard: by the desktop's own tool, through tmux, through the terminal (OSC 52), else as a file.

What is tried depends on where the program runs, and the result says what is known: a terminal never answers whether
it took an OSC 52. Runs programs and writes files, so it is not for the screen's thread.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from agent_core.errors import AgentError
from agent_core.plain_files import atomic_write
from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.terminal.signals import in_browser

How = Literal["native", "tmux", "osc52", "browser", "file"]

FILE_NAME = "clipboard.txt"
_NO_CLIPBOARD = ("linux", "dumb", "")
"""TERMs that have no clipboard to send a text to: the Linux console, and no terminal at all."""


@dataclass(frozen=True, slots=True)
class Copied:
    """Where a text has gone."""

    how: How
    detail: str
    """The tool that took it, or the file it was written to; empty for the terminal."""
    characters: int
    sequence: str = ""
    """What is still to be written to the terminal, in one piece."""


@dataclass(frozen=True, slots=True)
class _Tool:
    argv: tuple[str, ...]
    encoding: str = "utf-8"


_WAYLAND = (_Tool(("wl-copy", "--type", "text/plain")),)
_X11 = (_Tool(("xclip", "-selection", "clipboard", "-in")), _Tool(("xsel", "--clipboard", "--input")))
_MAC = (_Tool(("pbcopy",)),)
# UTF-16 with its mark is the one encoding that clip.exe does not take for the machine's code page.
_WINDOWS = (_Tool(("clip.exe",), "utf-16"),)


def copy(text: str, env: Mapping[str, str], folder: Path) -> Copied:
    """Put `text` on the clipboard, within limits.CLIPBOARD_SECONDS.

    `folder` takes the file when there is no other way. Raises AgentError when not even that can be written.
    """
    deadline = time.monotonic() + limits.CLIPBOARD_SECONDS
    size = len(text)
    for tool in native_tools(env):
        if _feed(tool.argv, text.encode(tool.encoding, "replace"), env, deadline):
            return Copied("native", tool.argv[0], size)
    data = text.encode("utf-8", "replace")
    if env.get("TMUX"):
        if _tmux_passes_on(env, deadline) and _feed(("tmux", "load-buffer", "-w", "-"), data, env, deadline):
            return Copied("tmux", "terminal", size)
        if _tmux_option("allow-passthrough", env, deadline) not in ("on", "all") and _feed(
            ("tmux", "load-buffer", "-"), data, env, deadline
        ):
            return Copied("tmux", "", size)
    if len(data) <= limits.OSC52_BYTES and env.get("TERM", "") not in _NO_CLIPBOARD:
        how: How = "browser" if in_browser(env) else "osc52"
        return Copied(how, "", size, wrapped(osc52(data), env))
    return Copied("file", str(_write(folder / FILE_NAME, data)), size)


def native_tools(env: Mapping[str, str], platform: str = sys.platform) -> tuple[_Tool, ...]:
    """The tools of the desktop that the user sits at, best first; none that would fill another machine's clipboard."""
    if in_browser(env):
        return ()
    remote = bool(env.get("SSH_CONNECTION") or env.get("SSH_TTY"))
    display = env.get("DISPLAY", "")
    if remote:
        # A forwarded display has a host before its colon; ":0" is the screen of the machine logged in to.
        return _X11 if display.partition(":")[0] else ()
    if platform == "darwin":
        return _MAC
    tools: tuple[_Tool, ...] = ()
    if env.get("WAYLAND_DISPLAY"):
        tools += _WAYLAND
    if display:
        tools += _X11
    if env.get("WSL_DISTRO_NAME"):
        tools += _WINDOWS
    return tools


def osc52(data: bytes) -> str:
    """The sequence that asks a terminal to put `data` on its clipboard."""
    return f"\x1b]52;c;{base64.b64encode(data).decode('ascii')}\x07"


def wrapped(sequence: str, env: Mapping[str, str]) -> str:
    """`sequence` so that a multiplexer around the program hands it to the terminal unread."""
    if env.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if env.get("STY") or env.get("TERM", "").startswith("screen"):
        size = limits.SCREEN_STRING
        return "".join(f"\x1bP{sequence[at : at + size]}\x1b\\" for at in range(0, len(sequence), size))
    return sequence


def _tmux_passes_on(env: Mapping[str, str], deadline: float) -> bool:
    """Whether tmux may set the terminal's clipboard; `off` is somebody's wish."""
    return _tmux_option("set-clipboard", env, deadline) in ("on", "external")


def _tmux_option(name: str, env: Mapping[str, str], deadline: float) -> str:
    """The value of an option; empty when this tmux does not know it."""
    done = _run(("tmux", "show-options", "-gv", name), None, env, deadline)
    return done.stdout.decode("ascii", "replace").strip() if done is not None and not done.returncode else ""


def _feed(argv: Sequence[str], data: bytes, env: Mapping[str, str], deadline: float) -> bool:
    """Whether a program took `data` on its standard input and ended well."""
    done = _run(argv, data, env, deadline)
    return done is not None and done.returncode == 0


def _run(
    argv: Sequence[str], data: bytes | None, env: Mapping[str, str], deadline: float
) -> subprocess.CompletedProcess[bytes] | None:
    """Run a program of the user's PATH; None when it is not there, fails to start or takes too long."""
    program = shutil.which(argv[0], path=env.get("PATH", ""))
    left = deadline - time.monotonic()
    if program is None or left <= 0:
        return None
    try:
        return subprocess.run(
            [program, *argv[1:]],
            input=b"" if data is None else data,
            # Tools that stay to serve the clipboard keep what they inherit open: nobody may wait for its end.
            stdout=subprocess.PIPE if data is None else subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            timeout=left,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _write(path: Path, data: bytes) -> Path:
    try:
        atomic_write(path, data)
    except OSError as error:
        words = f"Not copied: no clipboard was found, and {path} cannot be written: {error.strerror}."
        raise AgentError("copy_failed", words) from error
    return path
