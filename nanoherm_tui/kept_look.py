"""What the next start is to look like: which panes stand open, what was chosen lately, which remarks were shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from nanoherm_tui import limits
from nanoherm_tui.remembered import recall, remember

if TYPE_CHECKING:
    from nanoherm_tui.app import NanohermApp

R = TypeVar("R")


class KeptLook:
    """Of one app. It is read before the first frame, and written when something of it has changed."""

    def __init__(self, app: NanohermApp, file: Path) -> None:
        self._app = app
        self._file = file
        self._values = recall(file)
        self.recent: list[str] = [item for item in self.value("recent", list) or () if isinstance(item, str)]
        """Ids of palette items chosen lately, newest first."""

    def value(self, name: str, kind: type[R]) -> R | None:
        """What was kept by this name; None when there is nothing, or nothing of this kind."""
        value = self._values.get(name)
        return value if isinstance(value, kind) else None

    def chose(self, item_id: str) -> None:
        """A palette item was chosen: it is offered first from now on."""
        self.recent = [item_id, *(i for i in self.recent if i != item_id)][: limits.RECENT_CHOICES]
        self.keep()

    def keep(self) -> None:
        """Have it written, if it has changed."""
        app = self._app
        now = {
            "sessions": app.wish.sessions,
            "dock": app.wish.dock,
            "dock_look": app.dock.state() if app.furnished else self.value("dock_look", dict),
            "recent": self.recent,
            "remarks": app.remarks.shown,
        }
        if now != self._values:
            self._values = now
            app.desk.do(lambda: remember(self._file, now))
