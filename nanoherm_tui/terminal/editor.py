"""The user's own editor for a draft: which one, and one text through it. It has the terminal while it runs."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agent_core.errors import AgentError
from nanoherm_tui import limits

FALLBACKS: Final = ("vi", "nano", "vim", "micro", "emacs")


def command(environment: Mapping[str, str]) -> list[str]:
    """The editor's words: $VISUAL, else $EDITOR, else one that is installed. Raises AgentError."""
    for name in ("VISUAL", "EDITOR"):
        if wanted := environment.get(name, "").strip():
            try:
                words = shlex.split(wanted)
            except ValueError as error:
                reason = str(error)
                text = f"${name} cannot be read as a command: {reason}. Set it to a program and its options."
                raise AgentError("editor_quotes", text, name=name, reason=reason) from None
            if shutil.which(words[0], path=environment.get("PATH")) is None:
                text = f"${name} names {words[0]}, which is not installed. Set ${name} to an editor that is."
                raise AgentError("editor_missing", text, name=name, program=words[0])
            return words
    for program in FALLBACKS:
        if shutil.which(program, path=environment.get("PATH")):
            return [program]
    raise AgentError("editor_none", "No editor is installed. Set $EDITOR to the one to use.")


def edit(text: str, words: list[str]) -> str:
    """`text` as it is when the editor has ended, without one line end at its end. Blocks as long as it runs.

    The file is the user's alone and is gone afterwards. Raises AgentError: the editor could not be started or ended
    with an error, or what it left cannot be read.
    """
    program = words[0]
    try:
        with tempfile.TemporaryDirectory(prefix="nanoherm-", ignore_cleanup_errors=True) as folder:  # 0700
            path = Path(folder) / "message.md"
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(text.encode("utf-8", "replace"))
            status = _run([*words, str(path)])
            if status:
                failed = f"{program} ended with {status}. The draft is as it was."
                raise AgentError("editor_failed", failed, program=program, status=status)
            with path.open("rb") as file:
                data = file.read(limits.EDITED + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        failed = f"{program}: {reason}. The draft is as it was."
        raise AgentError("editor_error", failed, program=program, reason=reason) from error
    if len(data) > limits.EDITED:
        mb = limits.EDITED >> 20
        raise AgentError("editor_too_long", f"The file is larger than {mb} MB. The draft is as it was.", mb=mb)
    edited = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return edited.removesuffix("\n")


def _run(words: list[str]) -> int:
    """Run the editor in the terminal. Ctrl+C is for it alone; it hears the signal as any program does."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)  # ignoring it would be inherited
    try:
        return subprocess.run(words, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)
