"""How the MCP servers are, put in words. Pure but for the clock."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from agent_core.records import dataclass
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.text import clean, shorten_home, visible

if TYPE_CHECKING:
    from agent_core.errors import ConfigError
    from agent_core.extras.server_desk import ServerView
    from agent_core.servers import ServerState


MARKS: Final[dict[ServerState, tuple[str, str]]] = {  # symbol and role; without one it is muted
    "off": ("waiting", ""),
    "untrusted": ("asks", "warn"),
    "invalid": ("failed", "fail"),
    "idle": ("waiting", ""),
    "starting": ("running", "accent"),
    "ready": ("done", "ok"),
    "failed": ("failed", "fail"),
    "login": ("asks", "warn"),
}
CAN_START: Final[frozenset[ServerState]] = frozenset({"idle", "starting", "ready", "failed"})
"""In which of its states a server can be started anew."""
_CAN_LOG_IN: Final[frozenset[ServerState]] = frozenset({"idle", "ready", "failed", "login"})


@dataclass(frozen=True, slots=True)
class ServerLine:
    """A server in words, and what it shows when it is opened."""

    name: str
    state: ServerState
    words: str
    """How it is."""
    side: str
    detail: tuple[str, ...]
    below: tuple[SmallLine, ...] = ()
    """Its tools, and what it wrote."""
    url: bool = False
    """It may want a log-in."""

    @property
    def can_log_in(self) -> bool:
        """A person can log in there now."""
        return self.url and self.state in _CAN_LOG_IN


@dataclass(frozen=True, slots=True)
class SmallLine:
    """A tool, why one cannot be used, or a line that a server wrote."""

    words: str
    detail: tuple[str, ...]
    side: str = ""
    is_head: bool = False
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class ProblemLine:
    """What is wrong in a file that names servers."""

    words: str


def lines(views: Sequence[ServerView], home: str) -> list[ServerLine]:
    return [_line(view, home) for view in views]


def problems(found: Sequence[ConfigError], home: str) -> list[ProblemLine]:
    told = (clean(tell(problem.code, problem.params, problem.text)) for problem in found)
    return [ProblemLine(words.replace(f"{home}/", "~/")) for words in told]


def _line(view: ServerView, home: str) -> ServerLine:
    row = view.row
    words = t(f"servers.state_{row.state}")
    if row.retry_at > time.time() and row.state != "login":  # that waits for a person
        words = t("servers.again_in", state=words, n=max(1, round(row.retry_at - time.time())))
    facts = "   ".join(filter(None, (visible(row.title), row.protocol, t("servers.trusted") if row.trusted else "")))
    detail = (
        *((clean(tell(row.code, row.params, row.problem)),) if row.problem else ()),
        *((facts,) if facts else ()),
        visible(row.address),
        t("servers.from", place=shorten_home(visible(row.place), home)),
    )
    below = [
        SmallLine(visible(tool.name), _tool_detail(tool.name, tool.title, tool.description), visible(tool.title))
        for tool in view.tools
    ]
    below += [SmallLine(clean(words), (clean(words),), is_warning=True) for words in view.warnings]
    if view.noise:
        below.append(SmallLine(t("servers.wrote"), (t("servers.wrote_text"),), is_head=True))
        below += [SmallLine(clean(line), (clean(line),)) for line in view.noise]
    count = _count(row.tools)
    side = t("servers.side", tools=count, transport=row.transport) if count else row.transport
    has_url = row.transport != "stdio"
    return ServerLine(row.name, row.state, words, side, tuple(filter(None, detail)), tuple(below), has_url)


def _tool_detail(name: str, title: str, text: str) -> tuple[str, ...]:
    heading = t("text.pair", name=visible(name), value=visible(title)) if title else visible(name)
    said = " ".join(clean(text).split())
    return (heading, said) if said not in ("", name) else (heading,)


def _count(tools: int) -> str:
    return "" if not tools else t("servers.one_tool") if tools == 1 else t("servers.tools", n=tools)
