"""What can be taken back, decided from the record of changes and from what is at their paths now. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final, Literal

from agent_core.checkpoints.records import FOLDER, NOTHING, Change, State
from agent_core.records import dataclass
from agent_core.rollback import ChangeBy

DOUBTS: Final = ("beside", "unwatched")
"""What may be said of a change although the state before it is known, the graver first."""


@dataclass(frozen=True, slots=True)
class Chain:
    """What turns did to one path, in the order in which they did it; at least one change."""

    path: bytes
    changes: tuple[Change, ...]

    @property
    def before(self) -> State:
        return self.changes[0].before

    @property
    def after(self) -> State:
        return self.changes[-1].after

    @property
    def by(self) -> ChangeBy:
        return self.changes[0].by

    @property
    def change(self) -> Literal["create", "edit", "delete"]:
        if self.before == NOTHING:
            return "create"
        return "delete" if self.after == NOTHING else "edit"

    @property
    def is_empty(self) -> bool:
        """Nothing came of it: made and removed again, or changed and changed back."""
        return self.before.same(self.after)


def chains(changes: Iterable[Change]) -> list[Chain]:
    """The changes by their paths, where a file was at some time, in the order of the paths."""
    found: dict[bytes, list[Change]] = {}
    for change in changes:
        found.setdefault(change.path, []).append(change)
    return [Chain(path, tuple(found[path])) for path in sorted(found) if not all(map(is_of_folder, found[path]))]


def is_of_folder(change: Change) -> bool:
    """A folder came or went, and no file was there before or is there now."""
    return {change.before, change.after} == {FOLDER, NOTHING}


_CACHES: Final = frozenset(
    {b"__pycache__", b".mypy_cache", b".ruff_cache", b".pytest_cache", b".hypothesis", b"node_modules", b".cache"}
)


def is_cache(path: bytes) -> bool:
    """It lies where programs keep what they can make again: people look for their own files first."""
    return not _CACHES.isdisjoint(path.split(b"/"))


def folders(changes: Iterable[Change]) -> tuple[list[bytes], list[bytes]]:
    """Folders that turns have made and those that they have removed, each with those inside others last.

    Not where a file was at some time: that is a chain's.
    """
    first: dict[bytes, State] = {}
    last: dict[bytes, State] = {}
    changes = tuple(changes)
    of_files = {change.path for change in changes if not is_of_folder(change)}
    for change in changes:
        if change.path not in of_files:
            first.setdefault(change.path, change.before)
            last[change.path] = change.after
    made = sorted(path for path in first if first[path] == NOTHING and last[path] == FOLDER)
    removed = sorted(path for path in first if first[path] == FOLDER and last[path] == NOTHING)
    return made, removed


Fate = Literal["restore", "remove", "recreate", "leave", "nothing"]
""""nothing": it is as it was before these turns."""


def fate(chain: Chain, present: State, has: Callable[[str], bool]) -> tuple[Fate, str]:
    """What a rollback would do to a path that is `present` now, and a key of rollback.REASONS: of "leave" why, else
    what is doubtful of it, if anything is.

    `has`: whether the content with a digest is kept. A file is touched only when it is exactly what the last of the
    changes left, and when nobody else has changed it between them: their change would be lost.
    """
    target = chain.before
    if not target.is_known:
        return "leave", chain.changes[0].why or "too_early"
    if present.same(target):
        return "nothing", ""
    if not chain.after.is_known:
        return "leave", _reason(chain.changes[-1], "special")
    if (gap := _gap(chain.changes)) is not None:
        return "leave", gap
    if not present.same(chain.after):
        return "leave", "changed_since"
    if target.what[:2] in ("f:", "l:") and not has(target.digest):
        return "leave", "made_room"
    doubts = {change.why for change in chain.changes if change.before.is_known}
    doubt = next((doubt for doubt in DOUBTS if doubt in doubts), "")
    if target == NOTHING:
        return "remove", doubt
    return ("recreate" if present == NOTHING else "restore"), doubt


def _reason(change: Change, default: str) -> str:
    return change.why if change.why not in ("", *DOUBTS) else default


def _gap(changes: Sequence[Change]) -> str | None:
    """Where one change did not begin with what the one before had left: why. The same change may be recorded twice."""
    for earlier, later in pairwise(changes):
        if not later.before.is_known:
            if later.why != "made_room":
                return later.why or "too_early"
        elif not (later.before.same(earlier.after) or _same_change(earlier, later)):
            return "between"
    return None


def _same_change(one: Change, other: Change) -> bool:
    return one.before.same(other.before) and one.after.same(other.after)
