"""Which content of a file the model knows, and when commands of its own ran."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path

from agent_core import limits


class SeenFiles:
    """Content hashes of what the model has seen in this session (ports.FileMemory)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[Path, str] = {}
        self._rolled_back: set[Path] = set()
        self._ran: deque[tuple[int, int]] = deque(maxlen=limits.OWN_COMMANDS)

    def saw(self, path: Path, digest: str) -> None:
        with self._lock:
            self._seen[path] = digest
            self._rolled_back.discard(path)

    def seen(self, path: Path) -> str | None:
        with self._lock:
            return self._seen.get(path)

    def roll_back(self, path: Path) -> None:
        """A rollback changed this file, or its redo did: the model no longer knows it, and is told so."""
        with self._lock:
            if self._seen.pop(path, None) is not None:
                self._rolled_back.add(path)

    def rolled_back(self, path: Path) -> bool:
        with self._lock:
            return path in self._rolled_back

    def ran(self, since: int, until: int) -> None:
        with self._lock:
            self._ran.append((since, until))

    def ran_at(self, when: int) -> bool:
        with self._lock:
            return any(since <= when <= until for since, until in self._ran)
