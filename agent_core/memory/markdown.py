"""MEMORY.md and USER.md: two short texts that a model is told whole (engine markdown).

Entries are separated by a line that holds only the section sign. A file has room for so many characters and is never
trimmed: what would not fit is refused, and whoever writes has to shorten or take out something first.
Source: MEM-11, MEM-12, MEM-14, NUM-32.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from agent_core import limits
from agent_core.errors import MemoryFailure
from agent_core.knowledge import Memory
from agent_core.memory import gate, store_file
from agent_core.memory.forgotten import Forgotten
from agent_core.memory.recall import Recall
from agent_core.records import dataclass
from agent_core.shared_file import signature

Target = Literal["memory", "user"]
Action = Literal["add", "replace", "remove"]
FILES: Final[dict[Target, str]] = {"memory": "MEMORY.md", "user": "USER.md"}
"""Notes of the model's, and what it knows of the user."""
Room = Mapping[Target, int]
"""Characters of all entries of a file, with what separates them."""
ROOM: Final[Room] = {"memory": limits.MEMORY_NOTES, "user": limits.MEMORY_USER}
_BETWEEN: Final = "\n§\n"
_SEPARATOR: Final = re.compile(r"^[ \t]*§[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a change. `old` is a part of the one entry that is meant; `text` takes its place, or is added."""

    action: Action
    text: str = ""
    old: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What the entries of a file were, and are after a change."""

    target: Target
    before: tuple[str, ...]
    after: tuple[str, ...]


# -- pure ---------------------------------------------------------------------------------------------------------


def parse(text: str) -> tuple[str, ...]:
    """The entries of a file's text; the same one twice counts once."""
    pieces = (piece.strip() for piece in _SEPARATOR.split(text.replace("\r\n", "\n")))
    return tuple(dict.fromkeys(piece for piece in pieces if piece))


def formed(entries: Sequence[str]) -> str:
    """The text of a file with these entries."""
    return _BETWEEN.join(entries) + "\n" if entries else ""


def size(entries: Sequence[str]) -> int:
    """Characters that count towards a file's room."""
    return len(_BETWEEN.join(entries))


def applied(
    target: Target, entries: tuple[str, ...], operations: Sequence[Operation], room: Room = ROOM
) -> tuple[str, ...]:
    """The entries after all steps, whose texts the gate has passed.

    The room is judged at the end alone, so that taking out and adding in one go works. What is over it already may
    still be made shorter. Raises MemoryFailure; then nothing of it is to be done.
    """
    after = list(entries)
    for step in operations:
        if step.action != "add":
            at = _meant(target, after, step.old)
            after[at : at + 1] = [step.text] if step.action == "replace" else []
        elif step.text not in after:
            after.append(step.text)
    kept = tuple(dict.fromkeys(after))
    if size(kept) > room[target] and size(kept) >= size(entries):
        raise MemoryFailure(
            "memory_room",
            f"{FILES[target]} would have {size(kept):,} characters; it has room for {room[target]:,}. Nothing was "
            "changed. Shorten, merge or take out entries first, in the same call if you like.",
            file=FILES[target],
            chars=size(kept),
            most=room[target],
        )
    return kept


def _meant(target: Target, entries: Sequence[str], old: str) -> int:
    found = [at for at, entry in enumerate(entries) if old.strip() and old.strip() in entry]
    exact = [at for at in found if entries[at] == old.strip()]
    if len(found) != 1 and len(exact) != 1:
        how = "No entry" if not found else f"More than one entry ({len(found)})"
        raise MemoryFailure(
            "memory_which",
            f'{how} of {FILES[target]} has "{old.strip()[:80]}". Name a part that stands in one entry alone.',
            file=FILES[target],
            old=old.strip()[:80],
        )
    return (exact or found)[0]


def usage(entries: Sequence[str], most: int) -> str:
    """How full a file is that has room for `most` characters, in words for the model."""
    used = size(entries)
    return f"{100 * used // most}% - {used:,}/{most:,} characters"


# -- the files ----------------------------------------------------------------------------------------------------


class Pages:
    """The store of the engine markdown: `Memories`, and changes in several steps. A memory's id is made of its text."""

    def __init__(self, folder: Path, redact: Callable[[str], str], room: Room = ROOM) -> None:
        self.folder = folder
        self.room = room
        self._redact = redact
        self._recall = Recall()
        self._forgotten = Forgotten(folder.parent)
        self.withheld = 0
        self._lock = threading.RLock()
        self._seen: object = None
        self._memories: tuple[Memory, ...] = ()

    def path(self, target: Target) -> Path:
        return self.folder / FILES[target]

    def entries(self, target: Target) -> tuple[str, ...]:
        """As they are in the file now, without what a person has forgotten. Raises MemoryFailure."""
        gone = self._forgotten.ids()
        return tuple(text for text in self._written(target) if _id(target, text) not in gone)

    def _written(self, target: Target) -> tuple[str, ...]:
        return parse(store_file.load(self.path(target), limits.MEMORY_PAGE))

    def plan(self, target: Target, operations: Sequence[Operation]) -> Change:
        """What a change would do; writes nothing. Raises MemoryFailure."""
        return self._planned(target, self._admitted(operations, target))

    def change(
        self,
        target: Target,
        operations: Sequence[Operation],
        seen: tuple[str, ...] | None = None,
        *,
        forgets: str = "",
    ) -> Change:
        """Do it. `seen`: the entries that it was approved for; others by now are refused. `forgets`: the id of an entry
        that a person takes out by it. Raises MemoryFailure."""
        steps, path = self._admitted(operations, target), self.path(target)
        with self._lock, store_file.alone(path):
            change = self._planned(target, steps)
            if seen is not None and change.before != seen:
                raise MemoryFailure(
                    "memory_changed", f"{path.name} has changed meanwhile. Look at it, and try again.", file=path.name
                )
            if change.after != change.before:
                if forgets:
                    self._forgotten.add(forgets)  # first: a kill in between leaves it forgotten
                try:
                    self._forgotten.discard(*(_id(target, text) for text in change.after if text not in change.before))
                    store_file.save(path, formed(change.after))
                except MemoryFailure:
                    if forgets:  # it is still there, so that it must be possible to forget it again
                        with suppress(MemoryFailure):
                            self._forgotten.discard(forgets)
                    raise
            return change

    def _planned(self, target: Target, steps: Sequence[Operation]) -> Change:
        before = self.entries(target)
        if any(len(entry) > self.room[target] for entry in before):
            raise self._drifted(target)
        return Change(target, before, applied(target, before, steps, self.room))

    def _drifted(self, target: Target) -> MemoryFailure:
        """Somebody has written what nobody here would: it is kept aside, and not touched."""
        path = self.path(target)
        text = store_file.load(path, limits.MEMORY_PAGE)
        mark = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]  # the same content is kept once
        copy = path.with_name(f"{path.name}.{mark}.bak")
        if not copy.exists():
            store_file.save(copy, text)
        return MemoryFailure(
            "memory_drifted",
            f"{path} holds an entry longer than the whole file may be: something else has written there. Nothing was "
            f"changed; a copy is {copy.name}. Shorten it by hand, or part it by lines that hold only §.",
            path=str(path),
            copy=copy.name,
        )

    def _admitted(self, operations: Sequence[Operation], target: Target) -> tuple[Operation, ...]:
        return tuple(
            step if step.action == "remove" else Operation(step.action, self._text(step.text, target), step.old)
            for step in operations
        )

    def _text(self, text: str, target: Target) -> str:
        text = gate.admitted(text, self._redact, self.room[target])
        if _SEPARATOR.search(text):
            raise MemoryFailure(
                "memory_section",
                "A line that holds only § separates entries: it cannot stand inside one. Leave it out.",
            )
        return text

    # -- Memories ------------------------------------------------------------------------------------------------

    def list(self) -> tuple[Memory, ...]:
        """As `Memories.list`."""
        with self._lock:
            seen = (*(signature(self.path(target)) for target in FILES), self._forgotten.signature())
            if seen != self._seen:
                self._memories = tuple(memory_of(target, text) for target in FILES for text in self.entries(target))
                self.withheld = sum(len(self._written(target)) for target in FILES) - len(self._memories)
                self._seen = seen
            return self._memories

    def search(self, query: str, limit: int, workspace: str | None = None) -> tuple[Memory, ...]:
        """As `Memories.search`; all of it holds everywhere."""
        return self._recall.find(query, self.list(), limit, workspace)

    def add(self, memory: Memory) -> Memory | None:
        """As `Memories.add`: a preference is about the user, all else a note. What else a memory says is not kept."""
        target: Target = "user" if memory.kind == "preference" else "memory"
        text = self._text(memory.text, target)
        change = self.change(target, (Operation("add", text),))
        return memory_of(target, text) if change.after != change.before else None

    def edit(self, id: str, text: str) -> Memory:
        """As `Memories.edit`."""
        target, old = self._find(id)
        text = self._text(text, target)
        if text != old and text in self.entries(target):
            raise MemoryFailure("memory_twice", "Another memory says exactly this. Forget one of them instead.")
        self.change(target, (Operation("replace", text, old),))
        return memory_of(target, text)

    def forget(self, id: str) -> tuple[Memory, ...]:
        """As `Memories.forget`; nothing is known to build on an entry."""
        target, old = self._find(id)
        self.change(target, (Operation("remove", old=old),), forgets=id)
        return ()

    def _find(self, id: str) -> tuple[Target, str]:
        entries = ((target, text) for target in FILES for text in self.entries(target))
        found = next((one for one in entries if _id(*one) == id), None)
        if found is None:
            raise MemoryFailure("memory_unknown", f"There is no memory {id!r}; it may have been forgotten.", id=id)
        return found


def title(target: Target, operations: Sequence[Operation]) -> str:
    """One line: what a change would do."""
    return f"Change {FILES[target]}: {counted(operations)}"


def counted(operations: Sequence[Operation]) -> str:
    """What a change is made of, in few words."""
    words = {"add": "added", "replace": "replaced", "remove": "removed"}
    counts = {action: sum(step.action == action for step in operations) for action in words}
    return ", ".join(f"{count} {words[action]}" for action, count in counts.items() if count)


def _id(target: Target, text: str) -> str:
    return hashlib.sha256(f"{target}\n{text}".encode("utf-8", "replace")).hexdigest()[:12]


def memory_of(target: Target, text: str) -> Memory:
    """An entry as a memory."""
    # The files do not say who wrote an entry or when. Both are the user's to read and edit.
    return Memory(_id(target, text), "preference" if target == "user" else "fact", text, origin="model")


def told(pages: Pages) -> dict[Target, list[str]]:
    """The entries of each file as a session is told of them. Raises MemoryFailure."""
    return {target: as_told(pages.entries(target), pages.room[target]) for target in FILES}


def is_told(text: str, row: str, most: int) -> bool:
    """Whether `row` of `as_told` is this entry itself."""
    try:
        return gate.admitted(text, str, most) == row
    except MemoryFailure:
        return False


def as_told(entries: Sequence[str], most: int) -> list[str]:
    """Entries as a model is told of them, of a file with room for `most` characters; a remark stands in place of what
    it is not told."""
    rows: list[str] = []
    used = 0
    for number, text in enumerate(entries, 1):
        try:
            row = gate.admitted(text, str, most)
        except MemoryFailure as failure:  # written by hand or by another program: no gate has seen it
            why = "it is too long" if failure.code == "memory_long" else "it reads like orders to you"
            row = f"[Entry {number} is not told: {why}. The user can look at it.]"
        used += len(row) + len(_BETWEEN)
        if used > most + len(_BETWEEN):
            rows.append(f"[{len(entries) - number + 1} more are not told: the file is over its room.]")
            break
        rows.append(row)
    return rows
