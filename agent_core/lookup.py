"""What is asked of the web and what comes back, as data."""

from __future__ import annotations

from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class WebPlace:
    """A page's address, judged as far as it can be without a look-up: that alone would tell somebody its name."""

    url: str
    """As it will be sent."""
    host: str
    """In ASCII: what grants are for."""
    shown: str
    """The host as a person reads it; an international name in both of its forms."""
    rule: str = ""
    """Why a person must be asked whatever else allows it; empty: nothing says so."""


@dataclass(frozen=True, slots=True)
class WebText:
    """A page that was fetched, as text. Without control bytes; still nothing but data."""

    url: str
    """Where it came from in the end."""
    title: str
    text: str
    cut: bool = False
    """The page was longer than what is taken of one."""
    status: int = 200


@dataclass(frozen=True, slots=True)
class SearchEngine:
    """Who is asked when the web is searched."""

    name: str
    host: str
    chosen: bool
    """The person has named it, or has given its key."""


@dataclass(frozen=True, slots=True)
class WebHit:
    title: str
    url: str
    snippet: str = ""
