"""What a person may type after "/" that becomes a message: commands/*.md, /init, skills, prompts of servers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from agent_core import custom_commands
from agent_core.config.paths import Places
from agent_core.custom_commands import Commands
from agent_core.errors import AgentError
from agent_core.knowledge import Expansion, Typed
from agent_core.ports.extras import Typing
from agent_core.records import dataclass
from agent_core.trust import Standing

INIT: Final = "init"
_TYPED: Final = re.compile(r"/(\w[\w.:-]*)(?:\s+(.*))?\Z", re.DOTALL)
_INIT: Final = Typed(INIT, "write a first AGENTS.md from what the project contains", "[what matters]", place="built-in")


@dataclass(frozen=True, slots=True)
class TypedList:
    """All that can be typed in a session, by name, and what a person should know of files that cannot."""

    all: tuple[Typed, ...] = ()
    problems: tuple[AgentError, ...] = ()


@dataclass(frozen=True, slots=True)
class TypedCommands:
    """Looks anew each time: a file that was written a moment ago is there. Safe to use from several threads."""

    look: Callable[[Path], tuple[Places, Standing]]
    """Where a workspace's files are, and which of the project's a person has accepted."""
    extras: Callable[[str], Iterable[object]]
    """What a session has beside the built-in tools."""
    init: Callable[[Path, str], str]
    """The text of /init for a workspace, with what was typed behind it. Raises AgentError."""

    def list(self, session_id: str, workspace: Path) -> TypedList:
        """What can be typed in a session. Reads files. Of one name a file counts before a skill or a prompt."""
        places, standing = self.look(workspace)
        commands = custom_commands.commands(places, standing.accepted("command"))
        problems: tuple[AgentError, ...] = commands.problems
        if standing.state == "changed" and any(file.kind == "command" for file in standing.offer.files):
            problems = (*problems, standing.problem)  # else a command that was there is unknown, and nobody says why
        found = {INIT: _INIT}
        for command in commands.all:
            found[command.name] = Typed(
                command.name, command.description, command.hint, place=command.place, path=command.path
            )
        for source in self._sources(session_id):
            for typed in source.typed():
                found.setdefault(typed.name, typed)
        return TypedList(tuple(found[name] for name in sorted(found)), problems)

    def expand(self, session_id: str, workspace: Path, text: str) -> Expansion | None:
        """What a text stands for; None when it begins with no name there is. Reads files. Raises AgentError."""
        match = _TYPED.match(text.rstrip())
        if match is None:
            return None
        name, argument = match[1], (match[2] or "").strip()
        if (command := self._commands(workspace).find(name)) is not None:
            return Expansion(name, command.text(argument), refers=True)
        if name == INIT:
            return Expansion(name, self.init(workspace, argument))
        for source in self._sources(session_id):
            if any(typed.name == name for typed in source.typed()):
                return Expansion(name, source.expand(name, argument))
        return None

    def _commands(self, workspace: Path) -> Commands:
        places, standing = self.look(workspace)
        return custom_commands.commands(places, standing.accepted("command"))

    def _sources(self, session_id: str) -> Iterable[Typing]:
        return (extra for extra in self.extras(session_id) if isinstance(extra, Typing))
