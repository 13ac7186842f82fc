"""A list of texts that acts at once: as the files say it when it is asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from agent_core.config.load import UNUSABLE, Config


class LiveTexts:
    """The value of `key`, a list of texts, as `load` has it after any of `files` has changed. Any thread may ask.

    While a file cannot be understood, or this key in it, what it said before holds too: a slip of the pen in a list of
    what is forbidden must not allow it.
    """

    def __init__(self, key: str, files: Sequence[Path], load: Callable[[], Config]) -> None:
        self._key = key
        self._files = files
        self._load = load
        self._lock = threading.Lock()
        self._seen: object = None
        self._texts: tuple[str, ...] = ()

    def __call__(self) -> tuple[str, ...]:
        with self._lock:
            seen = tuple(_signature(file) for file in self._files)
            if seen != self._seen:
                config = self._load()
                texts = tuple(config.get(self._key))
                if any(w.code in UNUSABLE or w.key.startswith(self._key) for w in config.warnings):
                    texts = tuple(dict.fromkeys((*self._texts, *texts)))
                self._seen, self._texts = seen, texts
            return self._texts


def _signature(file: Path) -> object:
    """Changes when the file does."""
    try:
        status = os.stat(file)
    except OSError as error:
        return error.errno
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
