"""What a session has for its tools beside commands: a plan, what files held, earlier sessions, the web."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from agent_core.cancel import CancelScope
from agent_core.lookup import SearchEngine, WebHit, WebPlace, WebText
from agent_core.records import dataclass
from agent_core.sandbox.policy import Box, SandboxPolicy


@dataclass(frozen=True, slots=True)
class Goal:
    """What mode goal works towards. `evidence` is what the model showed when it declared it reached."""

    text: str = ""
    state: Literal["", "open", "reached", "given_up"] = ""
    """Empty: there was never one."""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class TodoItem:
    text: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"


class TodoList(Protocol):
    """The session's plan; writing it also tells the listeners."""

    def read(self) -> tuple[TodoItem, ...]: ...
    def write(self, items: tuple[TodoItem, ...]) -> None: ...


class ChangeLog(Protocol):
    """Keeps what a turn changes in files, so that it can be taken back. Safe to use from several threads."""

    def file(self, path: Path, before: bytes | None, after: bytes | None, mode: int | None = None) -> None:
        """A tool is about to turn one content of a file into another; None: there is no file. To be called before it.

        `path`: resolved. `mode`: the permissions of what is there. Raises StoreError when it cannot be kept durably;
        then nothing may be changed.
        """
        ...

    def command(self, box: Box, *, beside: bool = False) -> Callable[[], None]:
        """A command that may write is about to run; what it gives is to be called when the command has ended.

        What changes in the workspace between the two is the turn's; of one that runs `beside` the conversation it may
        as well be the person's. May wait a moment for files to be looked at.
        """
        ...


class NoChangeLog:
    """Keeps nothing."""

    def file(self, path: Path, before: bytes | None, after: bytes | None, mode: int | None = None) -> None:
        return None

    def command(self, box: Box, *, beside: bool = False) -> Callable[[], None]:
        return lambda: None


class Web(Protocol):
    """What a session asks of the web. Safe to use from several threads."""

    def place(self, url: str) -> WebPlace:
        """Judge an address without asking anybody. Raises ToolFailure when it is never fetched."""
        ...

    def kept(self, url: str) -> WebText | None:
        """The page, when it has been read in this session and is still held."""
        ...

    def page(
        self, place: WebPlace, cancel: CancelScope, sandbox: SandboxPolicy | None, may_visit: Callable[[str], bool]
    ) -> WebText:
        """Fetch the page; a person has agreed. `sandbox`: for the program that reads it. `may_visit`: whether a
        redirect to another host may be followed. Raises Interrupted, ToolFailure."""
        ...

    def engine(self) -> SearchEngine:
        """Who would be asked. Raises ToolFailure when none can be."""
        ...

    def check_words(self, words: str) -> None:
        """Raise ToolFailure for a query that would tell a key to whoever is asked."""
        ...

    def search(self, query: str, limit: int, cancel: CancelScope) -> tuple[WebHit, ...]:
        """The best results. Raises Interrupted, ToolFailure."""
        ...


class FileMemory(Protocol):
    """Which content of a file the model has seen, by hash: a write over anything else is refused.

    What changed while a command of the session's own ran is taken for its doing (tools.base.check_seen).
    """

    def saw(self, path: Path, digest: str) -> None: ...
    def seen(self, path: Path) -> str | None: ...

    def rolled_back(self, path: Path) -> bool:
        """Did the model know this file until the user rolled it back, or took that back, and has not read it since?"""
        ...

    def ran(self, since: int, until: int) -> None:
        """A command of the session's own has run; times in ns since the epoch."""
        ...

    def ran_at(self, when: int) -> bool:
        """Did such a command run at that time?"""
        ...


@dataclass(frozen=True, slots=True)
class PastPassage:
    """What an earlier session says: one row, free of keys."""

    title: str
    """Of the session; empty: it has none."""
    folder: str
    """The workspace of that session."""
    when: float
    """Seconds since the epoch."""
    speaker: str
    """user, assistant, thought, summary, title, or the name of a tool."""
    text: str
