"""The slash commands, line by line: the same table as the screen's, and what of it is the screen's alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final

from agent_core.errors import AgentError
from nanoherm_tui.actions import BY_SLASH, SLASH_ACTIONS, Action, Slash, SlashProblem, complete_slash, parse_slash
from nanoherm_tui.i18n import t
from nanoherm_tui.plain.words import head, pair
from nanoherm_tui.text import one_line, visible
from nanoherm_tui.words.arguments import written

if TYPE_CHECKING:
    from agent_core.knowledge import Typed
    from nanoherm_tui.plain.face import Face

# Each is `function` of a room of this package, given the face and the argument, stripped.
_ROOMS: Final[Mapping[str, tuple[str, ...]]] = {
    "commands": ("help",),
    "sessions": (
        "new", "sessions", "fork", "rename", "delete", "restore", "export", "clear", "undo", "redo", "rewind", "retry",
        "search", "worktree",
    ),
    "line": ("quit", "steer", "queue", "redirect", "editor", "image", "snippet", "copy", "vim"),
    "comparing": ("compare",),
    "setup": ("setup",),
    "settings": (
        "mode", "plan_mode", "goal", "model", "persona", "temperature", "effort", "tools", "language", "settings",
        "trust", "no_sandbox", "compact",
    ),
    "looking": (
        "diff", "tasks", "agents", "inbox", "context", "permissions", "usage", "insights", "disk", "doctor", "rollback",
    ),
    "keeping": ("servers", "memory", "skills"),
    "learning": ("keys", "tour"),
}  # fmt: skip
ROOM_OF: Final[Mapping[str, str]] = {name: room for room, several in _ROOMS.items() for name in several}
"""The room of each action that works line by line; what is not in it means nothing here, and `plain.no_ID` says why."""
ARGUMENTS: Final[Mapping[str, str]] = {
    "tasks": "[output|end|keep|let id]",
    "agents": "[id text|stop id]",
    "inbox": "[n]",
    "context": "[drop|pin|back n]",
    "permissions": "[back n]",
}
"""What follows these here, where the screen has keys."""


def parse(text: str, typed: Sequence[Typed] = ()) -> Slash | SlashProblem | None:
    """Read a line as a slash command; None: it is none."""
    parsed = parse_slash(text, typed)
    if isinstance(parsed, SlashProblem) and parsed.key == "slash.takes_none":
        action = BY_SLASH[parsed.params["name"]]
        if action.id in ARGUMENTS:
            return Slash(action, text.partition(" ")[2].strip())
    return parsed


def complete(start: str, typed: Sequence[Typed]) -> list[str]:
    """The names of commands that work here and that a line may become."""
    found = complete_slash(start, typed)
    return [one.slash if isinstance(one, Action) else one.name for one in found if _is_here(one)]


def _is_here(one: Action | Typed) -> bool:
    return not isinstance(one, Action) or one.id in ROOM_OF


def run(face: Face, text: str) -> None:
    """Do what a slash command says; `text` is all that was typed. Raises AgentError."""
    parsed = parse(text)
    if not isinstance(parsed, Slash):
        return
    action = parsed.action
    room = ROOM_OF.get(action.id)
    if room is None:
        face.say(t(f"plain.no_{action.id}"))
        return
    getattr(import_module(f"nanoherm_tui.plain.{room}"), action.id)(face, parsed.argument)


def help(face: Face, argument: str) -> None:
    """Every command with a few words, and how things are typed."""
    face.say(t("plain.help_typing"))
    face.say(*(_help_line(action) for action in SLASH_ACTIONS if action.id in ROOM_OF))
    know_typed(face)
    if face.typed_commands:
        face.say(head(t("palette.typed")))
        face.say(*(f"  /{one.name}  {one_line(visible(one.description))}".rstrip() for one in face.typed_commands))


def know_typed(face: Face) -> None:
    """Look what can be typed behind a slash here; files may have changed since the last time."""
    try:
        face.typed_commands = face.host.typed(face.session.id).all
    except AgentError as error:  # the program's own commands work all the same
        face.say_error(error)


def _help_line(action: Action) -> str:
    argument = written(ARGUMENTS.get(action.id, action.argument))
    argument = f" {argument}" if argument else ""
    remark = t("plain.help_here" if action.id == "help" else action.help)
    return f"  /{action.slash}{argument}  {pair(t(action.title), remark)}"
