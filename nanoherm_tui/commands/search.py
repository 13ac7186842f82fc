"""Searching all sessions, and going to what was found."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_core.errors import AgentError, crash
from agent_core.search_filters import read
from nanoherm_tui import i18n, limits
from nanoherm_tui.overlays.search import SearchScreen
from nanoherm_tui.overlays.search_hits import Answer, Hit

if TYPE_CHECKING:
    from agent_core.store.search import Search, SearchHit
    from nanoherm_tui.app import NanohermApp

log = logging.getLogger(__name__)


def search(app: NanohermApp, query: str) -> None:
    """Ask what to look for in all sessions; Enter goes to the hit."""
    screen = SearchScreen(query)
    workspace = str(app.view.session.workspace if app.view is not None else app.host.places.workspace)

    def tell(answer: Answer) -> None:
        app.call_later(screen.show, answer)

    asker = Asker(app.host.searching, workspace, tell)
    screen.on_ask = asker.ask
    app.desk.do_beside(app.host.searching.choices, lambda found: screen.offer(*found))

    def chosen(hit: Hit | None) -> None:
        asker.close()
        if hit is not None:
            go_to(app, hit)

    app.open_overlay(screen, chosen)


def go_to(app: NanohermApp, hit: Hit) -> None:
    """Open the hit's session and show the place."""
    from nanoherm_tui.commands.sessions import open_by_id

    if hit.message:
        names = (hit.call,) if hit.call else (hit.message, f"{hit.message}-thought")
        app.conversations.jump(hit.session, names[::-1] if hit.speaker == "thought" else names, hit.found)
    open_by_id(app, hit.session)


class Asker:
    """Asks for the newest query on a thread of its own, and again while the index grows."""

    def __init__(self, search: Search, workspace: str, tell: Callable[[Answer], None]) -> None:
        """`tell` is called with each answer, on that thread."""
        self._search, self._workspace, self._tell = search, workspace, tell
        self._changed = threading.Condition()
        self._wanted: str | None = None
        self._closed = False
        threading.Thread(target=self._run, name="searching", daemon=True).start()

    def ask(self, query: str) -> None:
        """Does not block; an earlier query that has not been answered is forgotten."""
        with self._changed:
            self._wanted = query
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        self._search.warm()
        while (wanted := self._next()) is not None:
            wait = limits.SEARCH_FIRST
            while True:
                answer = self._answer(wanted, wait)
                if self._is_old(wanted):
                    break
                self._tell(answer)
                if not answer.left:
                    break
                wait = limits.SEARCH_AGAIN

    def _next(self) -> str | None:
        """The next query; None when nobody asks any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._wanted is not None or self._closed)
            wanted, self._wanted = self._wanted, None
            return None if self._closed else wanted

    def _is_old(self, wanted: str) -> bool:
        with self._changed:
            return self._closed or self._wanted not in (None, wanted)

    def _answer(self, query: str, wait: float) -> Answer:
        begun = time.monotonic()
        asked = read(query, self._workspace)
        try:
            found = self._search.find(asked.words, wait=wait, filters=asked.filters, count=True)
        except AgentError as error:
            return Answer(query, asked.words, problem=i18n.tell(error.code, error.params, error.text))
        except Exception as error:  # the thread must survive whatever one query does
            log.exception("a search failed")
            return Answer(query, asked.words, problem=crash(error).text)
        return Answer(
            query,
            asked.words,
            tuple(map(_row, found.hits)),
            found.left,
            time.monotonic() - begun,
            found.behind,
            total=found.total,
            is_more=found.is_more,
        )


def _row(hit: SearchHit) -> Hit:
    return Hit(
        hit.session.id,
        hit.session.title,
        hit.session.workspace,
        hit.message_uid,
        hit.call_id,
        hit.speaker,
        hit.created,
        hit.snippet,
        hit.marks,
        hit.found,
        hit.by_agent,
        hit.session.model,
        hit.around,
        hit.around_marks,
    )
