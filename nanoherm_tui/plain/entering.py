"""What a line that was typed means: a command, a command of the shell, a message. Functions of the face."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_core import intents
from nanoherm_tui.actions import Slash, SlashProblem
from nanoherm_tui.panes.entered import OneMoreImage, ShellCommand, entered
from nanoherm_tui.plain import commands
from nanoherm_tui.words.arguments import told

if TYPE_CHECKING:
    from nanoherm_tui.plain.face import Face


def is_command(face: Face, text: str) -> bool:
    return isinstance(commands.parse(text.strip(), face.typed_commands), Slash)


def take_message(face: Face, text: str) -> None:
    """Do what it means."""
    face.history.add(text)
    face.source.remember((text,))
    if text.startswith("/"):
        commands.know_typed(face)
        if is_command(face, text):
            face.do(lambda: commands.run(face, text))
            return
    made = entered(text, text.partition("\n")[0], face.typed_commands)
    if isinstance(made, SlashProblem):
        face.say(told(made))
    elif isinstance(made, ShellCommand):
        if made.command:
            face.session.send(intents.Shell(made.command, made.private))
    elif isinstance(made, OneMoreImage):
        face.draft.put(f"{made.images} ")
        command = made.command
        face.do(lambda: commands.run(face, command))
    else:
        face.session.send(intents.Steer(text))
