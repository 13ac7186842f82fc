"""Engines that search the web, as data: how each is asked, and where in its answer the results stand.

Source: MISC-01. Names are those of Hermes, with ours beside them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.credentials import Secret
from agent_core.errors import ToolFailure
from agent_core.lookup import WebHit
from agent_core.names import SEARCH_KEYS
from agent_core.records import dataclass
from agent_core.text.ansi import clean
from agent_core.text.printable import printable
from agent_core.web.door import Ask, Door, Page, fetch
from agent_core.web.page import decode


@dataclass(frozen=True, slots=True)
class Asked:
    """What one search needs."""

    query: str
    limit: int
    key: str = ""
    base: str = ""
    """The address of the person's own server."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One kind of search engine."""

    name: str
    host: str
    """Empty: the person's own server, whose address is in the config."""
    request: Callable[[Asked], Ask]
    read: Callable[[Page], Sequence[WebHit]]
    """Raises _Unread for an answer that is not as it should be, _Barred for one that is no answer at all."""
    keys: tuple[str, ...] = ()
    """Variables that may hold the key it wants, the usual one first; empty: it wants none."""
    also: tuple[str, ...] = ()
    """Other names of it."""
    hint: Mapping[int, str] = field(default_factory=dict)
    """What a status means with this engine, and the way out."""


class _Unread(Exception):
    """The answer could not be read: what was missing."""


class _Barred(Exception):
    """The engine takes the program for a robot and wants a person to prove otherwise."""


# -- reading JSON -------------------------------------------------------------------------------------------------


def _json(*path: str, title: str = "title", url: str = "url", snippet: str) -> Callable[[Page], Sequence[WebHit]]:
    """A reader of the list at `path`, in which each result has these fields."""

    def read(page: Page) -> Sequence[WebHit]:
        try:
            answer: Any = json.loads(page.content)
        except (ValueError, RecursionError):
            raise _Unread("it is no JSON") from None
        if not isinstance(answer, dict) or "query" not in answer:  # all of them repeat what they were asked
            raise _Unread("it does not say what was asked")
        found = answer
        for name in path:
            found = found.get(name, {}) if isinstance(found, dict) else None
        if found == {}:  # an engine that found nothing may leave the list out
            return []
        if not isinstance(found, list):
            raise _Unread(f"there is no list of {'.'.join(path)} in it")
        rows = [row for row in found if isinstance(row, dict)]
        hits = [_hit(row.get(title), row.get(url), row.get(snippet)) for row in rows]
        if rows and not any(hits):
            raise _Unread(f"its results have no {url}")
        return [hit for hit in hits if hit is not None]

    return read


_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,200}>")


def _hit(title: object, url: object, snippet: object) -> WebHit | None:
    """One result, bounded and without control bytes; None for what leads nowhere on the web."""
    if not isinstance(url, str) or not re.match(r"https?://", url, re.IGNORECASE):
        return None
    words = [_words(text if isinstance(text, str) else "") for text in (title, snippet)]
    return WebHit(
        words[0][: limits.WEB_SEARCH_TITLE] or "(no title)",
        printable(url[: limits.URL_CHARS]),
        words[1][: limits.WEB_SEARCH_SNIPPET],
    )


def _words(text: str) -> str:
    """A line of text out of what may have tags and entities in it."""
    from html import unescape

    plain = text[: 8 * limits.WEB_SEARCH_SNIPPET]
    return " ".join(clean(unescape(_TAG.sub("", plain))).split())


# -- reading DuckDuckGo's page ------------------------------------------------------------------------------------


class _Results(HTMLParser):
    """The results in a page of html.duckduckgo.com."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[dict[str, str]] = []
        self.is_page = False
        """It looks like a page of that engine."""
        self.says_none = False
        self.is_challenge = False
        self._into = ""
        self._tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = {name: value or "" for name, value in attrs}
        classes = set(about.get("class", "").split())
        self.is_page |= "results" in classes or about.get("id") == "links"
        self.says_none |= "no-results" in classes
        self.is_challenge |= any("anomaly" in about.get(name, "") for name in ("action", "class", "id", "src"))
        if "result__a" in classes:
            self.rows.append({"url": _led_to(about.get("href", "")), "title": "", "snippet": ""})
            self._into, self._tag = "title", tag
        elif "result__snippet" in classes and self.rows:
            self._into, self._tag = "snippet", tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._tag:
            self._into = ""

    def handle_data(self, data: str) -> None:
        if self._into and self.rows:
            self.rows[-1][self._into] += data


def _led_to(link: str) -> str:
    """Where a link of a result leads: it goes by the engine's own counter, with the address in it. Empty: an advert."""
    try:
        url = urljoin("https://duckduckgo.com/", link)
        parts = urlsplit(url)
    except ValueError:  # brackets around no address, and the like
        return ""
    if parts.hostname and (parts.hostname == "duckduckgo.com" or parts.hostname.endswith(".duckduckgo.com")):
        return next(iter(parse_qs(parts.query).get("uddg", ())), "") if parts.path == "/l/" else ""
    return url


def _duckduckgo(page: Page) -> Sequence[WebHit]:
    parser = _Results()
    parser.feed(decode(page.content)[: limits.WEB_SEARCH_PAGE])
    hits = [hit for row in parser.rows if (hit := _hit(row["title"], row["url"], row["snippet"])) is not None]
    if hits:
        return hits
    if parser.is_challenge or page.status == 202:
        raise _Barred
    if not parser.says_none and not (parser.rows and parser.is_page):
        raise _Unread("its page has neither results nor the words that there are none")
    return []


# -- the engines --------------------------------------------------------------------------------------------------


def _searxng(asked: Asked) -> Ask:
    return Ask(f"{asked.base.rstrip('/')}/search?{urlencode({'q': asked.query, 'format': 'json'})}")


def _brave(asked: Asked) -> Ask:
    return Ask(
        f"https://api.search.brave.com/res/v1/web/search?{urlencode({'q': asked.query, 'count': asked.limit})}",
        headers={"X-Subscription-Token": asked.key, "Accept": "application/json"},
    )


def _tavily(asked: Asked) -> Ask:
    return Ask(
        "https://api.tavily.com/search",
        "POST",
        {"Authorization": f"Bearer {asked.key}", "Content-Type": "application/json"},
        json.dumps({"query": asked.query, "max_results": asked.limit}).encode(),
    )


ENGINES: Final[tuple[Engine, ...]] = (
    Engine(
        "searxng",
        "",
        _searxng,
        _json("results", snippet="content"),
        hint={403: 'Its settings.yml must list json under "search: formats:".'},
    ),
    Engine(
        "brave",
        "api.search.brave.com",
        _brave,
        _json("web", "results", snippet="description"),
        keys=SEARCH_KEYS["brave"],
        also=("brave-free",),
    ),
    Engine(
        "tavily",
        "api.tavily.com",
        _tavily,
        _json("results", snippet="content"),
        keys=SEARCH_KEYS["tavily"],
        hint={432: "The plan's searches are used up.", 433: "The plan's searches are used up."},
    ),
    Engine(
        "duckduckgo",
        "html.duckduckgo.com",
        lambda asked: Ask(f"https://html.duckduckgo.com/html/?q={quote(asked.query, safe='')}"),
        _duckduckgo,
        also=("ddgs", "ddg"),
    ),
)
"""In the order in which they are taken when none is chosen: the person's own, those with a key, the open one."""


def named(name: str) -> Engine | None:
    """The engine of that name."""
    return next((engine for engine in ENGINES if name in (engine.name, *engine.also)), None)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The engine that is asked, with what it needs."""

    engine: Engine
    key: Secret | None = None
    base: str = ""
    by_person: bool = True
    """They have named it, or given what it needs."""


def choose(name: str, base: str, key_of: Callable[[Sequence[str]], Secret | None]) -> Chosen:
    """The engine that is configured, or the first that could be asked.

    `name`: web.search_backend. `base`: web.searxng_url. `key_of` looks variables up. Raises ToolFailure "search_setup"
    with what is missing, for the person.
    """
    if not name:
        for engine in ENGINES:
            key = key_of(engine.keys) if engine.keys else None
            if key is not None or (not engine.host and base):
                return Chosen(engine, key, base)
        return Chosen(ENGINES[-1], by_person=False)
    wanted = named(name)
    if wanted is None:
        known = ", ".join(engine.name for engine in ENGINES)
        raise _not_set_up(f"web.search_backend is {printable(name)[:40]}; known are {known}")
    if not wanted.host and not base:
        raise _not_set_up(f"web.search_backend is {wanted.name}, but web.searxng_url is not set")
    key = key_of(wanted.keys) if wanted.keys else None
    if wanted.keys and key is None:
        raise _not_set_up(f"web.search_backend is {wanted.name}, but {wanted.keys[0]} is not set")
    return Chosen(wanted, key, base)


def _not_set_up(why: str) -> ToolFailure:
    return ToolFailure(
        f"The web cannot be searched: {why}. Tell the user; fetch pages you know the address of instead.",
        code="search_setup",
        outcome="not set up",
    )


# -- searching ----------------------------------------------------------------------------------------------------


def search(query: str, limit: int, chosen: Chosen, door: Door, cancel: CancelScope) -> tuple[WebHit, ...]:
    """The first results, at most `limit`. Raises Interrupted, ToolFailure in words for a model."""
    engine = chosen.engine
    ask = engine.request(Asked(query, limit, chosen.key.reveal() if chosen.key else "", chosen.base))
    page = fetch(ask, door, cancel, agreed=True, follows=lambda came_from, target: False)
    if page.status >= 400 or (page.status not in (200, 202)):
        raise _failed(engine, page)
    try:
        found = engine.read(page)
    except _Barred:
        raise ToolFailure(
            f"{engine.name} takes this program for a robot and wants a person to solve a riddle. Trying again makes it "
            "worse. Tell the user that the key of an engine (BRAVE_SEARCH_API_KEY, TAVILY_API_KEY) or a SearXNG of "
            "their own (web.searxng_url) would help; fetch pages you know the address of instead.",
            code="search_barred",
            outcome="riddle",
        ) from None
    except _Unread as unread:
        raise ToolFailure(
            f"The answer of {engine.name} could not be read: {unread}. That is not the same as no results: it may have "
            "changed how it answers. Fetch pages you know the address of instead.",
            code="search_unread",
            outcome="unreadable",
        ) from None
    unique = {hit.url: hit for hit in reversed(found)}
    return tuple(hit for hit in found if unique.get(hit.url) is hit)[:limit]


def _failed(engine: Engine, page: Page) -> ToolFailure:
    """A status that is no answer, in words."""
    status, name = page.status, engine.name
    if status in engine.hint:
        why = engine.hint[status]
    elif status in (401, 403) and engine.keys:
        why = f"It does not take the key in {engine.keys[0]}. Tell the user."
    elif status == 429:
        wait = page.headers.get("retry-after", "").strip()
        when = f" It says to wait {wait} seconds." if wait.isdecimal() else ""
        why = f"Too many searches in a short time, or the plan's are used up.{when} Do not try again before."
    elif status >= 500:
        why = "It has trouble of its own. Try once more later."
    else:
        why = "Fetch pages you know the address of instead."
    return ToolFailure(
        f"{name} refused the search (HTTP {status}). {why}", code="search_failed", outcome=f"HTTP {status}"
    )
