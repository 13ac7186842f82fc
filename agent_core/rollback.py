"""What turns changed in files, and taking that back, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from agent_core.records import dataclass

ChangeBy = Literal["tool", "command"]
FileState = Literal["undoable", "changed_since", "not_kept", "undone"]
"""Whether a change can be taken back: it can; somebody changed the file since; its old content was not kept (too large,
too much, not looked at in time); it is taken back already."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """What one turn did to one file."""

    path: str
    """As a person writes it: relative to the workspace."""
    change: Literal["create", "edit", "delete"]
    by: ChangeBy
    state: FileState = "undoable"
    why: str = ""
    """Of a state that is not "undoable": the reason in words. Of one that is: what is doubtful of it."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One turn that changed files."""

    turn_id: str
    """The id of the user message that began the turn."""
    text: str
    """What was asked for, its first line."""
    when: float
    """Seconds since the epoch."""
    files: tuple[ChangedFile, ...]

    @property
    def undone(self) -> bool:
        """All that could be taken back is."""
        return any(file.state == "undone" for file in self.files) and not any(
            file.state == "undoable" for file in self.files
        )


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """What a rollback would do to one file."""

    path: str
    does: Literal["restore", "remove", "recreate", "leave"]
    """Put an older content in its place, remove what was created, make it again, or leave it as it is."""
    why: str = ""
    """Of "leave": the reason in words. Else what is doubtful of it."""
    by: ChangeBy = "tool"
    only_named: bool = False
    """It may be the person's own change: it is done only where this file is named."""

    @property
    def acts(self) -> bool:
        """It is done unless somebody says otherwise."""
        return self.does != "leave" and not self.only_named


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """What it would do to bring the files back to what they were before a turn. Nothing has been touched yet."""

    turn_id: str
    files: tuple[PlannedFile, ...]

    @property
    def acts(self) -> tuple[PlannedFile, ...]:
        """What is done where no files are named."""
        return tuple(file for file in self.files if file.acts)


REASONS: Final[Mapping[str, str]] = {
    "changed_since": "changed since",
    "between": "changed by somebody else between these turns",
    "too_large": "not kept: the file is too big",
    "too_much": "not kept: there was too much to keep",
    "too_wide": "not looked at: the folder is a home folder or the whole machine",
    "too_many": "not looked at: the folder has too many files",
    "secret": "not kept: it may hold keys",
    "special": "not a regular file",
    "unreadable": "not kept: it could not be read",
    "too_early": "not kept: it had not been looked at when the command ran",
    "unwatched": "may lose an edit of yours",
    "beside": "may be your own change",
    "made_room": "not kept any more: newer ones took its room",
    "refused": "not allowed there",
    "failed": "could not be written",
}
"""Why a file is left as it is: the words of PlannedFile.why and ChangedFile.why by names that a face may translate."""
