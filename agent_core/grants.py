"""What a person has allowed: for the length of a session in memory, for good in the file of grants.

A session's grant is exact: a command's text and folder, a file's path, a host of the web. One for good is exact too,
or a prefix that every part of a compound command must have. Each holds in the box it was given in and in narrower ones,
never in a wider one.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import limits
from agent_core.errors import ConfigError
from agent_core.grants_file import CommandGrant, Grant, GrantsFile, HostGrant, ServerGrant, Written, covers_host
from agent_core.ports.actions import Action, CommandAction, EditAction, ReadAction, ServerAction, WebAction
from agent_core.records import dataclass
from agent_core.sandbox.policy import UNCONFINED, Box

if TYPE_CHECKING:
    from agent_core.safety.prefixes import Plain


@dataclass(frozen=True, slots=True)
class Scope:
    """Where the grants of a session are good, and what they have to know of it."""

    workspace: Path
    session: str = ""
    path: str = ""
    """PATH of commands: which program a bare name is."""
    file: GrantsFile | None = None
    """None: nothing is allowed for good."""
    is_trusted: Callable[[str, Path], bool] = lambda command, folder: False
    """A command only reads, by its text; such parts need no grant."""
    redact: Callable[[str], str] = lambda text: text
    record: Callable[[Grant], None] = lambda grant: None
    """Told of a grant for good before it is written. Raises StoreError; it is then not written."""
    tell: Callable[[ConfigError], None] = lambda error: None
    """The file cannot be used: said once, and again when the reason is another one."""


@dataclass(frozen=True, slots=True)
class SessionGrants:
    """What the session's grants are, to be shown; `revoke` takes one of these back."""

    commands: tuple[tuple[str, str, Box], ...] = ()
    """(command, folder, the widest box it may run in)."""
    edits: bool = False
    """Every change of a file that no path rule asks about."""
    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    hosts: tuple[tuple[str, bool], ...] = ()
    """(host, whether it is asked to search): else its pages."""
    servers: tuple[tuple[str, str, str], ...] = ()
    """(MCP server, its tool, which server that is: ServerAction.identity)."""


class Grants:
    """The grants of one session. Safe to use from several threads."""

    def __init__(self, scope: Scope | None = None) -> None:
        self._scope = scope or Scope(Path("/"))
        self._lock = threading.Lock()
        self._commands: dict[tuple[str, str], Box] = {}
        self._changed: set[str] = set()
        self._read: set[str] = set()
        self._hosts: set[tuple[str, bool]] = set()
        self._servers: set[tuple[str, str, str]] = set()
        self._edits = False
        self._told = ""

    # -- granting ------------------------------------------------------------------------------------------------

    def grant(self, action: Action, path_asked: bool = False, box: Box | None = None) -> None:
        """Remember a "this session" answer. `path_asked`: a path rule asked, so only these very paths are meant.

        `box`: what a command was to run in, as the person was told.
        """
        match action:
            case CommandAction(command, cwd):
                self.grant_command(command, cwd, box or _box_of(action))
            case ReadAction(path, lends) if not lends:
                self.grant_path(path, read_only=True)
            case WebAction(_, host, is_search) if is_search or not path_asked:
                with self._lock:
                    self._hosts.add((host, is_search))
            case ServerAction(server, tool, identity):
                with self._lock:
                    self._servers.add((server, tool, identity))
            case EditAction(diffs) if path_asked:
                for path in (path for diff in diffs for path in diff.paths):
                    self.grant_path(path)
            case EditAction():
                self.grant_edits()

    def grant_command(self, command: str, cwd: str, box: Box = UNCONFINED) -> None:
        """Exactly this text in exactly this folder."""
        with self._lock:
            before = self._commands.get((command, cwd), box)
            self._commands[(command, cwd)] = before if _within(box, before) else box

    def grant_edits(self) -> None:
        """Every change of a file that no path rule asks about."""
        with self._lock:
            self._edits = True

    def grant_path(self, path: str, *, read_only: bool = False) -> None:
        """This file, as actions write its path: also where a path rule asks."""
        with self._lock:
            (self._read if read_only else self._changed).add(path)

    def grant_always(self, action: Action, pattern: str = "", box: Box | None = None) -> None:
        """Remember an "always" answer for good; where it cannot be written down, that is told, and it holds till then.

        `pattern`: what the person saw, one of `patterns_for`; empty: the first of them. Any other one grants exactly
        this command for the session only. Raises StoreError.
        """
        self.grant(action, box=box)
        if self._scope.file is None:
            return
        wanted: Grant | None = None
        if isinstance(action, CommandAction):
            wanted = self._always(action, pattern, box or _box_of(action))
        elif isinstance(action, WebAction) and pattern in ("", action.host):
            wanted = HostGrant(action.host, action.is_search, time.time(), self._scope.session)
        elif isinstance(action, ServerAction) and pattern in ("", f"{action.server}: {action.tool}"):
            wanted = ServerGrant(action.server, action.tool, action.identity, time.time(), self._scope.session)
        if wanted is None:
            return
        self._scope.record(wanted)
        try:
            self._scope.file.add(wanted)
        except ConfigError as problem:
            self._scope.tell(problem)

    def pattern_for(self, action: Action, box: Box | None = None) -> str:
        """What "always" would write: "git push *" for whatever begins so, else the exact text. Empty: not offered."""
        return next(iter(self.patterns_for(action, box)), "")

    def patterns_for(self, action: Action, box: Box | None = None) -> tuple[str, ...]:
        """All that may be written for an action, the one to offer first."""
        if isinstance(action, WebAction) and self._scope.file is not None:
            return (action.host,)
        if isinstance(action, ServerAction) and self._scope.file is not None:
            return (f"{action.server}: {action.tool}",)
        if not isinstance(action, CommandAction) or self._scope.file is None:
            return ()
        command = action.command
        if not command.strip() or len(command) > limits.GRANT_CHARS or self._scope.redact(command) != command:
            return ()  # a key has no business in the file
        if not command.isprintable() and "\n" not in command:
            return ()
        prefix = self._prefix(action, box or _box_of(action))
        return (prefix.pattern, command) if prefix is not None and prefix.pattern != command else (command,)

    def _always(self, action: CommandAction, pattern: str, box: Box) -> CommandGrant | None:
        offered = self.patterns_for(action, box)
        if not offered or (pattern and pattern not in offered):
            return None
        chosen = pattern or offered[0]
        if chosen != action.command:
            return self._prefix(action, box)
        scope = self._scope
        # In a folder outside the workspace it is bound to that folder alone.
        workspace = str(scope.workspace) if _is_below(action.cwd, scope.workspace) else ""
        return CommandGrant(chosen, False, box, workspace, action.cwd, "", time.time(), scope.session)

    def _prefix(self, action: CommandAction, box: Box) -> CommandGrant | None:
        """The prefix that would cover this command, if it is one to be offered."""
        from agent_core.safety import prefixes  # they come with the first question: no start waits for them

        scope = self._scope
        prefix = prefixes.proposed(action.command, leaving=box.network)
        program = _found(prefix.split()[0], scope.path) if prefix else ""
        if not program or not _is_below(action.cwd, scope.workspace):
            return None
        if box.network and _is_below(program, scope.workspace):
            return None  # the model can write the program itself
        return CommandGrant(prefix, True, box, str(scope.workspace), "", program, time.time(), scope.session)

    # -- asking --------------------------------------------------------------------------------------------------

    def covers(self, action: Action, path_asked: bool = False, box: Box | None = None) -> bool:
        """Whether everything `action` does has been granted, in the box that it would run in."""
        with self._lock:
            match action:
                case CommandAction(command, cwd):
                    granted = self._commands.get((command, cwd))
                    if granted is not None and _within(box or _box_of(action), granted):
                        return True
                case ReadAction(path, lends):
                    return not lends and (path in self._read or path in self._changed)
                case WebAction(_, host, is_search):
                    if path_asked and not is_search:  # it is about this one address
                        return False
                    if (host, is_search) in self._hosts:
                        return True
                case ServerAction(server, tool, identity):
                    if (server, tool, identity) in self._servers:
                        return True
                case EditAction(diffs):
                    if self._edits and not path_asked:
                        return True
                    return bool(diffs) and all(self._changed.issuperset(diff.paths) for diff in diffs)
                case _:
                    return False
        if isinstance(action, WebAction):
            granted_hosts = self._written().hosts
            return any(
                one.is_search == action.is_search and covers_host(one.host, action.host) for one in granted_hosts
            )
        if isinstance(action, ServerAction):
            called = (action.server, action.tool, action.identity)
            return any((one.server, one.tool, one.identity) == called for one in self._written().servers)
        return self._for_good(action, box or _box_of(action))

    def _written(self) -> Written:
        written = self._scope.file.read() if self._scope.file is not None else Written()
        self._tell(written.problem)
        return written

    def _for_good(self, action: CommandAction, box: Box) -> bool:
        written = self._written()
        workspace = self._scope.workspace
        here = ("", str(workspace)) if _is_below(action.cwd, workspace) else ("",)
        good = [one for one in written.commands if one.workspace in here and _within(box, one.box)]
        if any(not one.prefix and one.text == action.command and one.cwd in ("", action.cwd) for one in good):
            return True
        return self._by_prefixes(action, [one for one in good if one.prefix])

    def _by_prefixes(self, action: CommandAction, good: list[CommandGrant]) -> bool:
        """Every part of the command has one of these prefixes, or only reads; one at least has a prefix."""
        if not good:
            return False
        from agent_core.safety import prefixes
        from agent_core.safety.danger import detect

        commands = prefixes.plain_commands(action.command)
        if not commands or detect(action.command) is not None:
            return False
        folders, used = [Path(action.cwd)], False
        for command in commands:
            if command.words[0] == "cd":
                folder = self._entered(folders[-1], command)
                if folder is None:
                    return False
                folders.append(folder)  # which of them it is in then hangs on whether `cd` was run
            elif any(self._is_meant(one, command) for one in good):
                used = True
            elif not all(self._scope.is_trusted(command.text, folder) for folder in folders):
                return False
        return used

    def _is_meant(self, grant: CommandGrant, command: Plain) -> bool:
        from agent_core.safety import prefixes

        if not prefixes.covers(grant.text, command):
            return False
        return not grant.program or _found(command.words[0], self._scope.path) == grant.program

    def _entered(self, folder: Path, command: Plain) -> Path | None:
        """The folder of the workspace that a plain `cd` goes to."""
        if len(command.words) != 2 or command.words[1].startswith(("-", "~", "+")) or "*" in command.words[1]:
            return None
        entered = Path(os.path.realpath(folder / command.words[1]))
        return entered if entered.is_dir() and _is_below(str(entered), self._scope.workspace) else None

    def _tell(self, problem: ConfigError | None) -> None:
        """Say that the file cannot be used, once."""
        text = "" if problem is None else problem.text
        with self._lock:
            if text == self._told:
                return
            self._told = text
        if problem is not None:
            self._scope.tell(problem)

    # -- looking, taking back ------------------------------------------------------------------------------------

    def session(self) -> SessionGrants:
        """What the session's grants are now."""
        with self._lock:
            commands = tuple((*command, box) for command, box in self._commands.items())
            return SessionGrants(
                commands,
                self._edits,
                tuple(sorted(self._changed)),
                tuple(sorted(self._read)),
                tuple(sorted(self._hosts)),
                tuple(sorted(self._servers)),
            )

    def revoke(self, which: SessionGrants) -> None:
        """Take back what `which` names; it asks again from the next call on."""
        with self._lock:
            for command, cwd, _ in which.commands:
                self._commands.pop((command, cwd), None)
            self._edits = self._edits and not which.edits
            self._changed -= set(which.changed)
            self._read -= set(which.read)
            self._hosts -= set(which.hosts)
            self._servers -= set(which.servers)

    def give_back(self, which: SessionGrants) -> None:
        """Undo `revoke`."""
        with self._lock:
            self._commands |= {(command, cwd): box for command, cwd, box in which.commands}
            self._edits = self._edits or which.edits
            self._changed |= set(which.changed)
            self._read |= set(which.read)
            self._hosts |= set(which.hosts)
            self._servers |= set(which.servers)


def _box_of(action: CommandAction) -> Box:
    """What a command of these needs runs in at the most, where nobody says it."""
    if action.needs == "everything":
        return UNCONFINED
    return Box("workspace-write", action.needs == "network")


_WIDTH = ("read-only", "workspace-write", "danger-full-access")


def _within(box: Box, granted: Box) -> bool:
    """Whether `box` gives nothing that `granted` does not."""
    return _WIDTH.index(box.mode) <= _WIDTH.index(granted.mode) and (granted.network or not box.network)


def _is_below(path: str, workspace: Path) -> bool:
    real = os.path.realpath(path)
    return real == str(workspace) or real.startswith(str(workspace).rstrip("/") + "/")


def _found(program: str, path: str) -> str:
    """The file that a command word is; empty when there is none, or when it depends on the folder."""
    if "/" in program:
        return os.path.realpath(program) if program.startswith("/") else ""
    for folder in path.split(os.pathsep):
        file = os.path.join(folder, program)
        if not folder.startswith("/"):
            return ""
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return os.path.realpath(file)
    return ""
