"""What this program keeps on the disk, and which sessions take how much of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, get_args

from agent_core import spill
from agent_core.config.paths import Places
from agent_core.records import dataclass
from agent_core.store.rows import SessionSize
from agent_core.store.sessions import Store

Part = Literal["database", "damaged", "spill", "checkpoints", "history", "logs", "cache", "other"]


@dataclass(frozen=True, slots=True)
class DiskReport:
    """Sizes in bytes."""

    parts: tuple[tuple[Part, int], ...]
    """"database": sessions, their messages and drafts; "damaged": databases that were set aside; "spill": long outputs;
    "checkpoints": what turns changed in files; "cache": what may be deleted at any time."""
    sessions: tuple[SessionSize, ...]
    """The largest first, deleted ones that can still be brought back too."""

    @property
    def total(self) -> int:
        return sum(size for _, size in self.parts)


def disk_report(places: Places, store: Store) -> DiskReport:
    """Look at everything in our home. Raises StoreError; what cannot be read there counts as nothing."""
    sizes: dict[Part, int] = dict.fromkeys(get_args(Part), 0)
    for entry in _entries(places.data_home):
        sizes[_part(entry.name, places)] += _size(entry)
    return DiskReport(tuple(sizes.items()), tuple(store.sizes()))


def _part(name: str, places: Places) -> Part:
    database = places.state_db.name
    if name.startswith(f"{database}.corrupt-"):
        return "damaged"
    if name in (database, f"{database}-wal", f"{database}-shm"):
        return "database"
    known: dict[str, Part] = {
        spill.FOLDER: "spill",
        spill.PRIVATE: "spill",
        "checkpoints": "checkpoints",
        places.history_file.name: "history",
        places.logs_dir.name: "logs",
        places.cache_dir.name: "cache",
    }
    return known.get(name, "other")


def _size(entry: os.DirEntry[str]) -> int:
    try:
        if not entry.is_dir(follow_symlinks=False):
            return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
    return sum(map(_size, _entries(Path(entry.path))))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
