"""Windows whose page has gone without a word, as when a line breaks. Each waits a while for its page to come back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agent_core.records import dataclass
from nanoherm_tui import limits

if TYPE_CHECKING:
    from nanoherm_tui.browser.window import Window


@dataclass(frozen=True, slots=True)
class _Kept:
    window: Window
    ends: asyncio.Task[None]


class KeptWindows:
    """By the key that a page has made up for its window. What a program writes meanwhile waits in its terminal."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, key: str, window: Window) -> None:
        self._kept[key] = _Kept(window, asyncio.create_task(self._end_later(key)))

    def take(self, key: str) -> Window | None:
        """The window, for a page that is there again; None: it has ended."""
        kept = self._kept.pop(key, None)
        if kept is None:
            return None
        kept.ends.cancel()
        return kept.window

    async def close(self) -> None:
        """End all of them."""
        windows = [window for key in tuple(self._kept) if (window := self.take(key)) is not None]
        await asyncio.gather(*(window.close() for window in windows))

    async def _end_later(self, key: str) -> None:
        await asyncio.sleep(limits.WEB_KEEPS)
        await self._kept.pop(key).window.close()
