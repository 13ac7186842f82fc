"""What only a person may decide, how that is asked, and what was decided in the end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from agent_core.cancel import CancelScope
from agent_core.intents import Decision
from agent_core.messages import FileDiff, new_id
from agent_core.records import dataclass
from agent_core.servers import FormField


@dataclass(frozen=True, slots=True)
class Question:
    """Something only a person may decide. Without a person the answer is no."""

    kind: Literal["command", "edit", "read", "web", "ask_user", "plan", "server", "keep", "form", "visit"]
    """"server": call a tool of an MCP server; "keep": write to memory or a skill; "form": fill in what a server asks;
    "visit": open an address that a server names."""
    title: str
    """What will happen, one line: "Run a command", "Change src/dates.py"."""
    rule: str = ""
    """The name of the rule that stopped it: "mode ask", "dangerous: recursive removal"."""
    command: str = ""
    cwd: str = ""
    path: str = ""
    """The file that would be read."""
    lends: tuple[str, ...] = ()
    """Names of the variables that commands would get with it."""
    url: str = ""
    """The page that would be fetched, whole."""
    query: str = ""
    """What the web would be searched for."""
    host: str = ""
    """Whom that goes to, as a person reads it."""
    server: str = ""
    """The MCP server that is meant, or asks."""
    tool: str = ""
    """The tool of it, by its title and name."""
    form: tuple[FormField, ...] = ()
    agent: str = ""
    """The sub-agent that asks: "agent-2 reviewer"; empty: the session itself."""
    sandbox: str = ""
    """What the command would run in, in words (Box.words); empty: it is none."""
    diffs: tuple[FileDiff, ...] = ()
    text: str = ""
    """The plan, what ask_user asks, or why a command asks."""
    choices: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ("once", "session", "refuse")
    grant: str = ""
    """What "session" would allow, spelled out."""
    pattern: str = ""
    """What "always" would write into the grants, as `Answer.pattern` may change it; empty: it is not offered."""
    call_id: str = ""
    id: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True)
class Reply:
    """`decision` is refuse also for a timeout or when nobody is there; `by` tells which."""

    decision: Decision
    text: str = ""
    by: Literal["person", "timeout", "unattended", "interrupt"] = "person"
    pattern: str = ""
    """With "always": what is granted (Answer.pattern)."""
    refused: tuple[str, ...] = ()
    """Hunks that are left out (Answer.refused)."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Of a form, by field (Answer.values)."""


class Asker(Protocol):
    def ask(self, question: Question, cancel: CancelScope) -> Reply:
        """Wait for a person's answer. Raises Interrupted when the turn is stopped meanwhile."""
        ...


DecidedBy = Literal["rules", "grant", "person", "reviewer", "hook", "timeout", "unattended", "interrupt"]


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision about something that was to be done, for the record: what, by which rule, who, when."""

    kind: Literal["command", "edit", "read", "web", "server", "keep", "tool", "mode", "grant", "trust"]
    what: str
    """The command, the paths, the mode, the pattern: without keys and control bytes, bounded."""
    verdict: Literal["allow", "refuse"]
    rule: str
    by: DecidedBy
    cwd: str = ""
    sandbox: str = ""
    """What a command was to run in (Box.words)."""
    call_id: str = ""
    when: float = field(default_factory=time.time)
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Review:
    """What the auxiliary model says about a command that would be asked about (APPR-11)."""

    verdict: Literal["approve", "deny", "escalate"]
    text: str = ""
    """Why, where that is known: one line, cleaned."""
