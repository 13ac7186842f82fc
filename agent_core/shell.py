"""A command that the person runs themself (`!` in the composer).

No rule stands before it and nobody is asked: the person typed it, as they would at their own prompt, and asking
somebody whether they meant what they have just entered teaches them to say yes without reading. What a model, a tool
or a file says never becomes such a command: only the intent `Shell` does, and only a face sends it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import ToolFailure
from agent_core.messages import ShellRun, ToolResult
from agent_core.names import SHELL
from agent_core.ports.commands import TerminalBackend
from agent_core.ports.tools import ToolOutput
from agent_core.records import dataclass
from agent_core.sandbox.policy import UNCONFINED
from agent_core.spill import Spill
from agent_core.text.ansi import clean
from agent_core.text.clamp import clamp


@dataclass(frozen=True, slots=True)
class ShellPlace:
    """Where and how the commands of a session run: as those of its model do, but for the rules."""

    folder: Path
    backend: TerminalBackend
    env: Mapping[str, str]
    timeout: float
    spill: Path
    """The folder for outputs that no result can hold."""
    redact: Callable[[str], str]
    keys: Iterable[str] = ()
    """What that knows to be secret by its value."""


def run(
    place: ShellPlace, call_id: str, command: str, private: bool, cancel: CancelScope, progress: Callable[[str], None]
) -> ShellRun:
    """Run `command` to its end. Never raises for what it does; its text is bounded and without keys.

    `progress` is called with the newest line of its output, now and then.
    """
    from agent_core.tools import command as tool  # with its rules: no start waits for them

    begun = time.monotonic()
    try:
        output = tool.execute(
            tool.checked(command),
            place.folder,
            place.timeout,
            box=UNCONFINED,  # as at their own prompt
            backend=place.backend,
            env=place.env,
            cancel=cancel,
            spill=Spill(place.spill, place.keys),
            progress=lambda line: progress(place.redact(line)),
        )
    except ToolFailure as failure:
        output = ToolOutput(failure.text, failure.outcome or "failed", ok=False)
    result = ToolResult(
        call_id,
        SHELL,
        clamp(place.redact(output.text), limits.TOOL_RESULT, "both"),
        output.ok,
        output.effect,
        place.redact(clean(output.outcome)),
        tuple(place.redact(clean(line)) for line in output.preview),
        seconds=round(time.monotonic() - begun, 3),  # as it is stored
    )
    return ShellRun(recorded(command, place.redact), result, private)


def recorded(command: str, redact: Callable[[str], str]) -> str:
    """The command as it is stored and told: without control bytes and keys; of a very long one head and tail."""
    return clamp(redact(clean(command)), limits.TOOL_RESULT, "both")


def subject(command: str, redact: Callable[[str], str]) -> str:
    """The command's beginning on one line, for its card: without control bytes and keys."""
    return redact(" ".join(clean(command[: limits.SHELL_SUBJECT]).split()))[: limits.SUBJECT_CHARS]
