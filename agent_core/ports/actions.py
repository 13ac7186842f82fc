"""What a call touches and would do, as the schedule, the rules and a person judge it."""

from __future__ import annotations

from typing import Literal

from agent_core.messages import FileDiff
from agent_core.names import Needs
from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Effect:
    """What a call touches, told from its arguments alone: for scheduling, interrupts, and recovery after a crash."""

    kind: Literal["none", "read", "write", "command", "person"]
    paths: tuple[str, ...] = ()
    """As given in the arguments; calls with a common path are run one after the other if one writes."""


@dataclass(frozen=True, slots=True)
class ReadAction:
    path: str
    lends: tuple[str, ...] = ()
    """Names of variables of the person's that the session's commands get with it: a skill wants them."""


@dataclass(frozen=True, slots=True)
class EditAction:
    diffs: tuple[FileDiff, ...]


@dataclass(frozen=True, slots=True)
class CommandAction:
    command: str
    cwd: str
    needs: Needs = ""
    """What it is said to need beyond the sandbox."""


@dataclass(frozen=True, slots=True)
class NoAction:
    """Nothing that a rule could stop: the todo list, a question to the person."""


@dataclass(frozen=True, slots=True)
class WebAction:
    """Something is asked of a server on the web, by the program itself."""

    url: str
    """The page, or what is searched for."""
    host: str
    """Whom it goes to: what a grant is for."""
    is_search: bool = False
    shown: str = ""
    """The host as a person reads it, where that is something else."""


@dataclass(frozen=True, slots=True)
class ServerAction:
    """A tool of an MCP server is called: the server is a program of the user's, outside the sandbox."""

    server: str
    tool: str
    """By the server's own name."""
    identity: str = ""
    """A digest of what the server is: its command or its address. A grant is for that one, not for whatever has its
    name."""
    title: str = ""
    arguments: str = ""
    """As a person reads them."""
    trusted: bool = False
    """The user trusts the server (`trust: true`): only then its own words about a tool lower anything (R30)."""
    reads: bool = False
    """A trusted server says that it only reads."""
    destroys: bool = False
    """The server says that it may destroy something."""


@dataclass(frozen=True, slots=True)
class KeepAction:
    """Something is written that later sessions are told: a memory, a skill."""

    title: str
    """One line: what it would do."""
    diffs: tuple[FileDiff, ...] = ()
    asks: bool = True
    """A person is to see it first; else it is done and shown."""
    is_note: bool = False
    """A memory: a text for models alone, no file that anybody works with."""


Action = ReadAction | EditAction | CommandAction | WebAction | ServerAction | KeepAction | NoAction
