"""memory.json: a list of what is remembered, one object each, found by its words (engine bm25).

The file is the user's to read and edit: what nobody here knows in it survives, and one that cannot be understood is
refused with its line, never taken for an empty one. Source: MEM-01, MEM-07, MEM-09.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from agent_core import limits
from agent_core.errors import MemoryFailure
from agent_core.knowledge import MEMORY_KINDS, Memory
from agent_core.memory import gate, store_file
from agent_core.memory.forgotten import Forgotten
from agent_core.memory.recall import Recall
from agent_core.messages import new_id
from agent_core.shared_file import signature

Entry = dict[str, Any]
"""One object of the file. Its fields: id, kind, text, created_at, source_session; and where they say something: scope,
origin, verified, observed, derived."""
Document = list[Entry]

_ORIGINS: Final[tuple[Literal["person", "model", "distilled"], ...]] = ("person", "model", "distilled")
_LATEST: Final = 1e11  # seconds since the epoch; a later time is none


class Entries:
    """The store of the engine bm25: `Memories`. Reads the file when it has changed."""

    def __init__(self, path: Path, redact: Callable[[str], str], recall: Recall | None = None) -> None:
        self.path = path
        self._redact = redact
        self._recall = recall or Recall()
        self._forgotten = Forgotten(path.parent)
        self.withheld = 0
        self._lock = threading.RLock()
        self._seen: object = None
        self._memories: tuple[Memory, ...] = ()

    # -- reading -------------------------------------------------------------------------------------------------

    def list(self) -> tuple[Memory, ...]:
        """As `Memories.list`."""
        with self._lock:
            seen = (signature(self.path), self._forgotten.signature())
            if seen != self._seen:
                # The signature is of before the read: a change in between is seen as one the next time.
                self._memories, self._seen = tuple(map(_memory, self._load())), seen
            return self._memories

    def search(self, query: str, limit: int, workspace: str | None = None) -> tuple[Memory, ...]:
        """As `Memories.search`."""
        return self._recall.find(query, self.list(), limit, workspace)

    def _load(self) -> Document:
        entries, gone = _parsed(store_file.load(self.path), self.path), self._forgotten.ids()
        kept = [entry for entry in entries if entry["id"] not in gone]
        self.withheld = len(entries) - len(kept)
        return kept

    # -- writing -------------------------------------------------------------------------------------------------

    def add(self, memory: Memory) -> Memory | None:
        """As `Memories.add`."""
        text = gate.admitted(memory.text, self._redact)
        kept = replace(
            memory,
            id=memory.id or new_id(),
            text=text,
            created=memory.created if memory.id else memory.created or round(time.time(), 3),
            observed=self._redact(memory.observed),
        )

        def edit(entries: Document) -> bool:
            if any(entry["id"] == kept.id or gate.same(entry["text"]) == text for entry in entries):
                return False
            self._forgotten.discard(kept.id)
            entries.append(_entry(kept))
            return True

        return kept if self._change(edit) else None

    def edit(self, id: str, text: str) -> Memory:
        """As `Memories.edit`."""
        text = gate.admitted(text, self._redact)

        def edit(entries: Document) -> bool:
            entry = _find(entries, id)
            if any(gate.same(other["text"]) == text for other in entries if other is not entry):
                raise MemoryFailure("memory_twice", "Another memory says exactly this. Forget one of them instead.")
            entry.update(text=text, verified=True)
            return True

        self._change(edit)
        return next(memory for memory in self.list() if memory.id == id)

    def forget(self, id: str) -> tuple[Memory, ...]:
        """As `Memories.forget`."""

        marked = False

        def edit(entries: Document) -> bool:
            nonlocal marked
            entries.remove(_find(entries, id))
            self._forgotten.add(id)  # first: a kill in between leaves it forgotten
            marked = True
            return True

        try:
            self._change(edit)
        except MemoryFailure:
            if marked:  # its text is still there, so that it must be possible to forget it again
                with suppress(MemoryFailure):
                    self._forgotten.discard(id)
            raise
        return tuple(memory for memory in self.list() if id in memory.derived)

    def _change(self, edit: Callable[[Document], bool]) -> bool:
        """Have `edit` change the entries as they are now, and write them when it says so. Raises MemoryFailure."""
        with self._lock, store_file.alone(self.path):
            entries = self._load()
            if not edit(entries):
                return False
            text = json.dumps(entries, indent=1, ensure_ascii=False) + "\n"
            if len(text.encode("utf-8", "replace")) > limits.MEMORY_FILE:
                raise MemoryFailure(
                    "memory_full",
                    f"{self.path} would be larger than {limits.MEMORY_FILE // limits.MB} MB. Forget something first.",
                    path=str(self.path),
                )
            store_file.save(self.path, text)
            return True


def _find(entries: Document, id: str) -> Entry:
    found = next((entry for entry in entries if entry["id"] == id), None)
    if found is None:
        raise MemoryFailure("memory_unknown", f"There is no memory {id!r}; it may have been forgotten.", id=id)
    return found


# -- from and to JSON -----------------------------------------------------------------------------------------------


def _parsed(text: str, path: Path) -> Document:
    """The entries of the file's text, each with an id. Raises MemoryFailure with the line of what is wrong."""

    def refuse(what: str, at: int) -> NoReturn:
        raise store_file.broken(path, what, text.count("\n", 0, at) + 1)

    if not text.strip():
        return []
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        refuse(f"is no JSON ({error.msg})", error.pos)
    except RecursionError:
        refuse("is no JSON that anybody would write: it is nested too deeply", 0)
    except ValueError:  # of thousands of digits
        refuse("is no JSON that anybody would write: a number in it is too long", 0)
    if not isinstance(found, list):
        refuse("is no JSON list", 0)
    ids: set[str] = set()
    for number, entry in enumerate(found):
        if wrong := _wrong(entry):
            refuse(f"has something wrong in entry {number + 1}: {wrong}", _place(text, number))
        if "id" not in entry:  # written by hand: always the same one, until it is stored
            made = hashlib.sha256(entry["text"].encode("utf-8", "replace")).hexdigest()[:12]
            entry["id"] = next(f"{made}{n or ''}" for n in range(number + 1) if f"{made}{n or ''}" not in ids)
        if entry["id"] in ids:
            refuse(f'has something wrong in entry {number + 1}: its "id" is that of another one', _place(text, number))
        ids.add(entry["id"])
    return found


def _wrong(entry: object) -> str:
    """What of an entry means nothing, in words; "" when all is well."""
    if not isinstance(entry, dict):
        return "it is no object"
    if not isinstance(entry.get("text"), str) or not entry["text"].strip():
        return '"text" must be a text'
    if entry.get("kind", "fact") not in MEMORY_KINDS:
        return f'"kind" must be one of {", ".join(MEMORY_KINDS)}'
    for name in ("id", "source_session", "scope", "observed"):
        if not isinstance(entry.get(name, ""), str):
            return f'"{name}" must be a text'
    if entry.get("id", "x") == "":
        return '"id" must not be empty'
    return ""


def _place(text: str, number: int) -> int:
    """Where the entry of a list begins, for its line. The text has been read as JSON."""
    decoder, at = json.JSONDecoder(), text.index("[") + 1
    for _ in range(number + 1):
        while text[at] in " \t\r\n,":
            at += 1
        begin = at
        _, at = decoder.raw_decode(text, at)
    return begin


def _memory(entry: Entry) -> Memory:
    created, derived, origin = entry.get("created_at", 0.0), entry.get("derived"), entry.get("origin")
    is_time = isinstance(created, int | float) and not isinstance(created, bool) and 0 <= created < _LATEST
    return Memory(
        id=entry["id"],
        kind=entry.get("kind", "fact"),
        text=entry["text"],
        created=float(created) if is_time else 0.0,
        source=entry.get("source_session", ""),
        scope=entry.get("scope", ""),
        origin=next((one for one in _ORIGINS if one == origin), "person"),
        verified=entry.get("verified") is True,
        observed=entry.get("observed", ""),
        derived=tuple(one for one in derived if isinstance(one, str)) if isinstance(derived, list) else (),
    )


def _entry(memory: Memory) -> Entry:
    entry: Entry = {
        "id": memory.id,
        "kind": memory.kind,
        "text": memory.text,
        "created_at": memory.created,
        "source_session": memory.source,
        "scope": memory.scope,
        "origin": memory.origin,
        "verified": memory.verified,
    }
    if memory.observed:
        entry["observed"] = memory.observed
    if memory.derived:
        entry["derived"] = list(memory.derived)
    return entry
