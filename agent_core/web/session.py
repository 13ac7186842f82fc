"""What one session asks of the web: pages, with the ones it has read, and searches (ports.Web)."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import ToolFailure
from agent_core.lookup import SearchEngine, WebHit, WebPlace, WebText
from agent_core.records import dataclass
from agent_core.safety import urls
from agent_core.safety.urls import Target
from agent_core.sandbox.policy import SandboxPolicy
from agent_core.text.printable import printable
from agent_core.web import engines as web_search
from agent_core.web import page as web_page
from agent_core.web.door import Ask, Door, fetch, foresee
from agent_core.web.engines import Chosen


@dataclass(frozen=True, slots=True)
class WebOptions:
    """How the web is reached and searched; one for a program."""

    door: Door
    engine: Callable[[], Chosen]
    """As it is configured now. May read files. Raises ToolFailure."""
    keys: Callable[[], Iterable[str]] = lambda: ()
    """What is told to nobody, by its value."""


class SessionWeb:
    """Safe to use from several threads."""

    def __init__(self, options: WebOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._pages: OrderedDict[str, WebText] = OrderedDict()
        self._size = 0

    def place(self, url: str) -> WebPlace:
        """Judge an address without asking anybody. Raises ToolFailure when it is never fetched."""
        self._check_keys(url)
        verdict = foresee(url, self._options.door)
        if verdict.verdict == "deny" or verdict.target is None:
            raise ToolFailure(verdict.text, code="url_refused", outcome="refused", rule=verdict.rule)
        target = verdict.target
        self._check_keys(target.url)
        return WebPlace(target.url, target.host, _in_both_forms(target.host), verdict.rule)

    def kept(self, url: str) -> WebText | None:
        """The page, when it has been read in this session and is still held."""
        with self._lock:
            return self._pages.get(url)

    def page(
        self, place: WebPlace, cancel: CancelScope, sandbox: SandboxPolicy | None, may_visit: Callable[[str], bool]
    ) -> WebText:
        """Fetch the page. `may_visit`: whether a redirect to another host may be followed. Raises Interrupted,
        ToolFailure."""

        def follows(came_from: Target, target: Target) -> bool:
            return _same_site(came_from.host, target.host) or may_visit(target.host)

        got = fetch(Ask(place.url), self._options.door, cancel, agreed=True, follows=follows)
        title, text, cut = web_page.read(got.content, got.headers, got.url, cancel, sandbox, cut=got.cut)
        page = WebText(got.url, title, text, cut, got.status)
        if got.status < 400:
            self._keep(place.url, page)
        return page

    def engine(self) -> SearchEngine:
        """Who would be asked. Raises ToolFailure when none can be."""
        chosen = self._options.engine()
        host = chosen.engine.host
        if not host:
            own = _own_server(chosen.base)
            host = own.host if own.port in (80, 443) else f"{own.host}:{own.port}"
        return SearchEngine(chosen.engine.name, host, chosen.by_person)

    def search(self, query: str, limit: int, cancel: CancelScope) -> tuple[WebHit, ...]:
        """The best results. Raises Interrupted, ToolFailure."""
        chosen, door = self._options.engine(), replace(self._options.door, most=limits.WEB_SEARCH_BODY)
        if not chosen.engine.host:
            # The person's own server may stand on this machine; nothing else there is reached by that.
            door = replace(door, own=frozenset({_own_server(chosen.base).origin}))
        return web_search.search(query, limit, chosen, door, cancel)

    def check_words(self, words: str) -> None:
        """Raise ToolFailure for a query that would tell a key to whoever is asked."""
        self._check_keys(words)
        if self._options.door.hide(words) != words:  # also what only its name makes one
            raise ToolFailure(_KEY_TEXT, code="url_refused", outcome="refused", rule="key in the query")

    def _check_keys(self, text: str) -> None:
        """Raise ToolFailure for what is a key by its value or its shape. What is only called one is asked about."""
        hide, keys = self._options.door.hide, tuple(self._options.keys())
        for spelled in (text, unquote(text), unquote(unquote(text))):
            known = any(len(key) >= limits.SECRET_CHARS and key.lower() in spelled.lower() for key in keys)
            if known or any(hide(piece) != piece for piece in _PIECES.split(spelled)):
                raise ToolFailure(_KEY_TEXT, code="url_refused", outcome="refused", rule="key in the URL")

    def _keep(self, url: str, page: WebText) -> None:
        with self._lock:
            for name in {url, page.url}:
                before = self._pages.pop(name, None)
                self._size += len(page.text) - (len(before.text) if before is not None else 0)
                self._pages[name] = page
            while self._size > limits.PAGES_KEPT and len(self._pages) > 1:
                self._size -= len(self._pages.popitem(last=False)[1].text)


_PIECES: Final = re.compile(r"[/?&=;#:@\s]+")
_KEY_TEXT: Final = (
    "Refused: there is what looks like a key or a password in it, and whoever is asked would have it. Leave it out. "
    "What needs a key is not for this tool."
)


def _own_server(base: str) -> Target:
    """The person's own search server. Raises ToolFailure when the setting is no URL."""
    target = urls.parse(base)
    if not isinstance(target, Target):
        raise ToolFailure(
            f"The web cannot be searched: web.searxng_url is wrong. {target.text} Tell the user.",
            code="search_setup",
            outcome="not set up",
        )
    return target


def _same_site(one: str, other: str) -> bool:
    """Whether both are a host and its www."""
    return one.removeprefix("www.") == other.removeprefix("www.")


def _in_both_forms(host: str) -> str:
    """A host as a person reads it; one with letters beyond ASCII also as it is written there."""
    if "xn--" not in host:
        return host
    import idna

    try:
        return f"{printable(idna.decode(host))} ({host})"
    except (idna.IDNAError, UnicodeError):
        return host
