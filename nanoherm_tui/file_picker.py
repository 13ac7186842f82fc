"""The files of the workspace in view, for the list above the composer: asked on the loop, answered on the loop."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nanoherm_tui import limits

if TYPE_CHECKING:
    from agent_core.workspace.index import Answer, FileIndex

T = TypeVar("T")


class FilePicker:
    """What overlays.mention.Files wants, over an index that begins with the first question."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = contextvars.copy_context()  # Textual finds its app in it
        self._root: Path | None = None
        self._make: Callable[[Path], FileIndex] | None = None
        self._index: FileIndex | None = None
        self._recent: deque[str] = deque(maxlen=limits.RECENT_FILES)
        self._known_changes = 0

    def show(self, root: Path, make: Callable[[Path], FileIndex]) -> None:
        """From now on it is the files of this workspace, in which a session works. `make`: gives their index."""
        self._make, self._known_changes = make, 0
        if root != self._root:
            self.close()
            self._root = root
            self._recent.clear()

    def taken(self, path: str) -> None:
        """It was used just now: written into a message, opened or changed. Relative to the workspace."""
        if path in self._recent:
            self._recent.remove(path)
        self._recent.appendleft(path)

    def changed(self, paths: Sequence[str]) -> None:
        """All changes of files in the session, the last one first: those it was not told yet count as used just now."""
        fresh, self._known_changes = len(paths) - self._known_changes, len(paths)
        for path in reversed([*islice(paths, max(0, min(fresh, limits.RECENT_FILES)))]):
            self.taken(path)

    def ask(self, query: str, then: Callable[[Answer], None]) -> None:
        if (index := self._open()) is not None:
            index.ask(query, self._here(then), self._recent)

    def rest(self) -> None:
        if self._index is not None:
            self._index.rest()

    def count_lines(self, path: str, then: Callable[[int | None], None]) -> None:
        if (index := self._open()) is not None:
            index.count_lines(path, self._here(then))

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    def _open(self) -> FileIndex | None:
        if self._index is None and self._root is not None and self._make is not None:
            self._index = self._make(self._root)
        return self._index

    def _here(self, then: Callable[[T], None]) -> Callable[[T], None]:
        """`then`, to be called from another thread and run on the loop."""

        def bring(value: T) -> None:
            try:
                self._loop.call_soon_threadsafe(then, value, context=self._context)
            except RuntimeError:  # the loop has ended
                pass

        return bring
