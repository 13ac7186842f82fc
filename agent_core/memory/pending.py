"""Writes to memory and to skills that wait for a person: one file each in our home, which only the user may read.

What a write would do is kept as data that its own room understands; here it is only listed, handed over and forgotten.
Source: MEM-17, MEM-18, SKILL-10.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from agent_core import limits
from agent_core.errors import MemoryFailure
from agent_core.knowledge import Pending
from agent_core.messages import FileDiff, diff_from_json, diff_to_json
from agent_core.plain_files import atomic_write, read_regular
from agent_core.records import dataclass

log = logging.getLogger(__name__)

FOLDER: Final = "pending"
"""Of our home."""
What = Literal["memory", "skill"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Staged:
    """A write that waits, with what its room needs to carry it out."""

    pending: Pending
    data: Mapping[str, Any]


class PendingWrites:
    """Safe to use from several threads and programs: each write is a file of its own, written in one step."""

    def __init__(self, data_home: Path) -> None:
        self._folder = data_home / FOLDER

    def add(self, what: What, title: str, diff: FileDiff, data: Mapping[str, Any], source: str = "") -> Pending:
        """Put a write aside. `data` is JSON, and is given back as it is. Raises MemoryFailure."""
        if len(self._names()) >= limits.PENDING:
            raise MemoryFailure(
                "pending_full",
                f"{limits.PENDING} writes wait for a person already. Nothing was kept: have some answered first.",
                most=limits.PENDING,
            )
        pending = Pending(secrets.token_hex(3), what, title, diff, round(time.time(), 3), source)
        document = {
            "what": what,
            "title": title,
            "diff": diff_to_json(diff),
            "made": pending.made,
            "source": source,
            "data": dict(data),
        }
        try:
            atomic_write(self._file(pending.id), json.dumps(document, ensure_ascii=False).encode())
        except OSError as error:
            raise _failed(self._folder, error) from error
        return pending

    def list(self, what: What | None = None) -> tuple[Pending, ...]:
        """What waits, the oldest first. What cannot be read is left out, and noted in the log."""
        found = []
        for name in self._names():
            try:
                staged = self._read(name)
            except MemoryFailure as failure:
                log.warning("%s", failure.text)
                continue
            if staged is not None and what in (None, staged.pending.what):
                found.append(staged.pending)
        return tuple(sorted(found, key=lambda pending: (pending.made, pending.id)))

    def get(self, id: str, what: What | None = None) -> Staged:
        """The write of this id, or of the one id that begins so. Raises MemoryFailure."""
        names = [name for name in self._names() if id and name.startswith(id.lower())]
        staged = self._read(names[0]) if len(names) == 1 else None
        if staged is None or what not in (None, staged.pending.what):
            raise MemoryFailure("no_pending", f"Nothing waits under {id!r}. List what does.", id=id)
        return staged

    def approve(self, id: str, carry_out: Callable[[Staged], T], what: What | None = None) -> T:
        """Have a write carried out, and forget it then. Raises MemoryFailure, and what `carry_out` raises: it waits on
        in that case."""
        staged = self.get(id, what)
        done = carry_out(staged)
        self._forget(staged.pending.id)
        return done

    def reject(self, id: str, what: What | None = None) -> Pending:
        """Forget a write. Raises MemoryFailure when there is none."""
        pending = self.get(id, what).pending
        self._forget(pending.id)
        return pending

    def _names(self) -> tuple[str, ...]:
        try:
            return tuple(sorted(name[:-5] for name in os.listdir(self._folder) if _is_ours(name)))
        except OSError:
            return ()

    def _file(self, id: str) -> Path:
        return self._folder / f"{id}.json"

    def _read(self, id: str) -> Staged | None:
        file = self._file(id)
        try:
            data = read_regular(file, limits.CONFIG_FILE, follow=False)
        except OSError as error:
            raise _failed(file, error) from error
        if data is None:  # answered meanwhile
            return None
        try:
            j = json.loads(data)
            diff = diff_from_json(j["diff"])
            pending = Pending(id, j["what"], j["title"], diff, float(j["made"]), j["source"])
            return Staged(pending, dict(j["data"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            text = f"{file} cannot be understood ({type(error).__name__}). Look at it, or remove it."
            raise MemoryFailure("pending_broken", text, path=str(file)) from error

    def _forget(self, id: str) -> None:
        try:
            self._file(id).unlink(missing_ok=True)
        except OSError as error:
            raise _failed(self._file(id), error) from error


def _is_ours(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def _failed(path: Path, error: OSError) -> MemoryFailure:
    text = f"{path} cannot be used: {error.strerror or error}. Look at its rights."
    return MemoryFailure("pending_unusable", text, path=str(path))
