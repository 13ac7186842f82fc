"""What the desk hands to every session: plain values, functions, and the services that all sessions share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_core import limits
from agent_core.names import ApprovalPolicy
from agent_core.ports import LlmClient, LlmRequest, TerminalBackend, Tool
from agent_core.store.notes import Note
from agent_core.store.sessions import Store


@dataclass(frozen=True, slots=True)
class Connection:
    """A model to talk to, and what to call it. `label` says so when it is a scripted demo."""

    client: LlmClient
    provider: str
    model: str
    label: str
    context_window: int | None = None


@dataclass(frozen=True, slots=True)
class SessionServices:
    """What the desk hands to every session."""

    store: Store
    connect: Callable[[str], Connection]
    """A new client for a model ("" = the configured one). Raises ConfigError."""
    tools: tuple[Tool, ...]
    backend: TerminalBackend
    home: Path
    data_home: Path
    command_env: Mapping[str, str]
    redact: Callable[[str], str]
    context: Callable[[Path], tuple[str, tuple[str, ...]]]
    """The fenced text of a workspace's context files, and notices about them."""
    identity: Callable[[], str] = lambda: ""
    keys: Callable[[], Iterable[str]] = lambda: ()
    """What `redact` knows to be secret by its value."""
    keep: Callable[[Note], None] = lambda note: None
    """Have a note written down soon. Never blocks."""
    sandboxed: bool = False
    unattended: bool = False
    policy: ApprovalPolicy = "untrusted"
    deny: tuple[str, ...] = ()
    """Patterns of commands that are never run (approvals.deny)."""
    approval_timeout: float = limits.APPROVAL_TIMEOUT
    command_timeout: float = limits.COMMAND_TIMEOUT
    respect_gitignore: bool = True
    max_steps: int = limits.MAX_STEPS
    request: LlmRequest = field(default_factory=lambda: LlmRequest(()))
