"""What a person has allowed for the length of a session. Exact: a command's text and folder, a file's path."""

from __future__ import annotations

import threading

from agent_core.ports import Action, CommandAction, EditAction, ReadAction


class Grants:
    """The grants of one session. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._commands: set[tuple[str, str]] = set()
        self._changed: set[str] = set()
        self._read: set[str] = set()
        self._edits = False

    def grant(self, action: Action, path_asked: bool = False) -> None:
        """Remember a "this session" answer. `path_asked`: a path rule asked, so only these very paths are meant."""
        match action:
            case CommandAction(command, cwd):
                self.grant_command(command, cwd)
            case ReadAction(path):
                self.grant_path(path, read_only=True)
            case EditAction(diffs) if path_asked:
                for diff in diffs:
                    self.grant_path(diff.path)
            case EditAction():
                self.grant_edits()

    def grant_command(self, command: str, cwd: str) -> None:
        """Exactly this text in exactly this folder."""
        with self._lock:
            self._commands.add((command, cwd))

    def grant_edits(self) -> None:
        """Every change of a file that no path rule asks about."""
        with self._lock:
            self._edits = True

    def grant_path(self, path: str, *, read_only: bool = False) -> None:
        """This file, as actions write its path: also where a path rule asks."""
        with self._lock:
            (self._read if read_only else self._changed).add(path)

    def covers(self, action: Action, path_asked: bool = False) -> bool:
        """Whether everything `action` does has been granted."""
        with self._lock:
            match action:
                case CommandAction(command, cwd):
                    return (command, cwd) in self._commands
                case ReadAction(path):
                    return path in self._read or path in self._changed
                case EditAction(diffs):
                    if self._edits and not path_asked:
                        return True
                    return bool(diffs) and all(diff.path in self._changed for diff in diffs)
            return False
