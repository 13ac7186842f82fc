"""A session's row in the store: made with its first message, and its title."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from agent_core.events import TitleChanged
from agent_core.names import Mode
from agent_core.session.outbox import Outbox
from agent_core.session.services import SessionServices
from agent_core.session.settings import SessionSettings
from agent_core.store.rows import SessionRow


class SessionRecord:
    """May be used from any thread. `lock` is held while the row is made, or what belongs to it is read or noted."""

    def __init__(
        self,
        services: SessionServices,
        row: SessionRow,
        outbox: Outbox,
        settings: SessionSettings,
        mode: Callable[[], Mode],
        *,
        stored: bool,
    ) -> None:
        self.id = row.id
        self.workspace = Path(row.workspace)
        self.stored = stored
        self.title = row.title
        self.lock = threading.Lock()
        self._services = services
        self._outbox = outbox
        self._settings = settings
        self._mode = mode

    def make(self, first_words: str = "") -> None:
        """See that the session is in the store, and has a title once there are words for one."""
        from agent_core.text.title import title_of  # its patterns take longer than a start has

        store = self._services.store
        with self.lock:
            if not self.title and (title := title_of(self._services.redact(first_words))):
                self.title = title
                self._outbox.emit(TitleChanged(title))
                if self.stored:
                    store.rename(self.id, title)
            if not self.stored:
                store.create(str(self.workspace), session_id=self.id, mode=self._mode(), title=self.title)
                self.stored = True
                self._settings.store(self.id)

    def rename(self, title: str) -> None:
        from agent_core.text.title import cut_title

        with self.lock:
            self.title = cut_title(self._services.redact(title))
            if self.stored:
                self._services.store.rename(self.id, self.title)
        self._outbox.emit(TitleChanged(self.title))
