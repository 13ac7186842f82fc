"""An image from the clipboard, by the desktop's own program. Runs programs, so it is not for the screen's thread."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError
from agent_core.process.running import alarm, running

_TYPES: Final = ("image/png", "image/jpeg", "image/webp", "image/bmp", "image/gif")
"""What is asked for, best first."""
_MAC_SCRIPT: Final = ("osascript", "-e", "the clipboard as «class PNGf»")
_MAC_ANSWER: Final = re.compile(rb"\xc2\xabdata PNGf([0-9A-F]+)\xc2\xbb")
NAME: Final = "clipboard"
_TEXT: Final = "Text is pasted by the terminal's own key, often Ctrl+Shift+V or Cmd+V."
"""Who presses the key for images mostly has a text there."""


def read(env: Mapping[str, str], platform: str = sys.platform) -> bytes:
    """The image on the clipboard, within limits.CLIPBOARD_SECONDS. Raises AgentError with the reason if there is none.

    A clipboard is of the desktop that the user sits at: through SSH there is none but that of a forwarded display.
    """
    board = _Clipboard(env)
    display = env.get("DISPLAY", "")
    remote = bool(env.get("SSH_CONNECTION") or env.get("SSH_TTY"))
    if platform == "darwin" and not remote:
        data = board.of_a_mac()
    elif env.get("WAYLAND_DISPLAY") and not remote:
        data = board.typed(("wl-paste", "--list-types"), ("wl-paste", "--no-newline", "--type"))
    elif display and not (remote and display.startswith(":")):
        xclip = ("xclip", "-selection", "clipboard", "-o", "-t")
        data = board.typed((*xclip, "TARGETS"), xclip)
    elif remote:
        raise AgentError(
            "clipboard_remote",
            "The clipboard is on the other machine and cannot be read through SSH. Copy the file here and add it with "
            f"/image PATH. {_TEXT}",
        )
    else:
        raise AgentError(
            "clipboard_none",
            f"There is no desktop here, and so no clipboard with images. Add a file with /image PATH. {_TEXT}",
        )
    if not data:
        raise AgentError("clipboard_no_image", f"There is no image on the clipboard. {_TEXT}")
    return data


class _Clipboard:
    """The programs that read it, all of them within one time."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._deadline = time.monotonic() + limits.CLIPBOARD_SECONDS

    def typed(self, types: Sequence[str], one: Sequence[str]) -> bytes:
        """The image by a program that first says which types there are, then gives one."""
        offered = set(self._run(types).decode("utf-8", "replace").split())
        wanted = next((name for name in _TYPES if name in offered), "")
        return self._run((*one, wanted)) if wanted else b""

    def of_a_mac(self) -> bytes:
        if shutil.which("pngpaste", path=self._env.get("PATH", "")):
            return self._run(("pngpaste", "-"))
        answer = _MAC_ANSWER.search(self._run(_MAC_SCRIPT))
        return bytes.fromhex(answer[1].decode("ascii")) if answer is not None and len(answer[1]) % 2 == 0 else b""

    def _run(self, argv: Sequence[str]) -> bytes:
        """What the program writes, not more than an image may have and one byte. Raises AgentError."""
        program = shutil.which(argv[0], path=self._env.get("PATH", ""))
        if program is None:
            text = f"{argv[0]} is missing, the program that reads the clipboard here. Install it, or use /image PATH. "
            text += _TEXT
            raise AgentError("clipboard_program", text, program=argv[0])
        most = 2 * limits.IMAGE_FILE + limits.KB if argv is _MAC_SCRIPT else limits.IMAGE_FILE + 1
        late = CancelScope()
        try:
            with (
                late,
                running((program, *argv[1:]), Path("/"), self._env, late) as child,
                alarm(self._deadline, late),
            ):
                assert child.stdout is not None
                with open(child.stdout.fileno(), "rb", closefd=False) as pipe:
                    data = pipe.read(most)
        except OSError as error:
            why = error.strerror or os.strerror(error.errno or 0)
            raise AgentError("clipboard_failed", f"{argv[0]} could not be started: {why}.", program=argv[0]) from error
        if late.cancelled:
            raise AgentError("clipboard_slow", f"{argv[0]} did not answer in time.", program=argv[0])
        return data
