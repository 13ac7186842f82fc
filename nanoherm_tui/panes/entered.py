"""What Enter makes of a draft: the user's own shell command, a command of the program, or a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core.records import dataclass
from agent_core.text.image_refs import leading
from nanoherm_tui.actions import Slash, SlashProblem, parse_slash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_core.knowledge import Typed


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A draft that runs as the user's own command. A `private` one is not told to the model."""

    command: str
    private: bool


def shell_command(draft: str) -> ShellCommand | None:
    """Read a draft that begins with "!" or "!!"; None for any other. The command may still be empty."""
    if not draft.startswith("!"):
        return None
    private = draft.startswith("!!")
    return ShellCommand(draft[2 if private else 1 :].strip(), private)


@dataclass(frozen=True, slots=True)
class Command:
    """One of the program's own."""

    text: str


@dataclass(frozen=True, slots=True)
class OneMoreImage:
    """The command /image, behind images that stay in the draft."""

    images: str
    command: str


@dataclass(frozen=True, slots=True)
class Said:
    """A message."""


Entered = ShellCommand | Command | OneMoreImage | Said | SlashProblem


def entered(text: str, first_line: str, typed: Sequence[Typed]) -> Entered:
    """Read a draft that is sent. `text`: all of it; `typed`: what can be typed beside the program's own commands.

    `first_line` is as it was typed, and decides: the text of a paste behind a chip is never a command.
    """
    shell = shell_command(text) if first_line.startswith("!") else None
    if shell is not None:
        return shell
    images, behind = leading(text)
    more = parse_slash(behind) if images else None
    if isinstance(more, Slash) and more.action.id == "image":
        return OneMoreImage(images, behind)
    command = parse_slash(text, typed) if first_line.startswith("/") else None
    if isinstance(command, SlashProblem):
        return command
    return Said() if command is None else Command(text)
