"""Which memories a person has forgotten: an old copy of the store that is put back does not bring them in again.

Ids and times alone, never a text, in a file beside the stores, so that a copy of a store does not hold it. MEM-21.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.memory import store_file
from agent_core.shared_file import signature

NAME: Final = "memory.json.forgotten"
"""Of our home; both engines have it: an id of the one is never one of the other."""


class Forgotten:
    """Safe to change from several programs: two files of one engine are changed at the same time."""

    def __init__(self, data_home: Path) -> None:
        self._path = data_home / NAME

    def ids(self) -> frozenset[str]:
        """Reads the file. Raises MemoryFailure when it cannot be understood."""
        return frozenset(self._load())

    def add(self, id: str) -> None:
        """It is forgotten; the oldest leave where there are too many. Raises MemoryFailure."""
        with store_file.alone(self._path):
            known = {**self._load(), id: round(time.time(), 3)}
            self._save(dict(list(known.items())[-limits.MEMORY_FORGOTTEN :]))

    def discard(self, *ids: str) -> None:
        """They are remembered again. Raises MemoryFailure."""
        if self.ids().isdisjoint(ids):  # mostly; what is being remembered is forgotten by nobody else meanwhile
            return
        with store_file.alone(self._path):
            self._save({id: when for id, when in self._load().items() if id not in ids})

    def signature(self) -> object:
        """Changes when the file does."""
        return signature(self._path)

    def _load(self) -> dict[str, object]:
        text = store_file.load(self._path)
        try:
            found = json.loads(text or "{}")
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise store_file.broken(self._path, "is no JSON object")
        return found

    def _save(self, known: dict[str, object]) -> None:
        store_file.save(self._path, json.dumps(known, indent=1, ensure_ascii=False) + "\n")
