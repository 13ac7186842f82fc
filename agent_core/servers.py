"""MCP servers and how they are, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from agent_core.records import dataclass

ServerState = Literal["off", "untrusted", "invalid", "idle", "starting", "ready", "failed", "login"]
"""Switched off; of a project that is not trusted; its entry is wrong; not started yet, or ended; being started; in
use; could not be started, or went away; it wants a log-in first."""


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A server as it was when it was looked at. Texts are free of keys and control bytes."""

    name: str
    state: ServerState
    transport: Literal["stdio", "http", "sse"] = "stdio"
    place: str = ""
    """Where it is configured, as a person reads it."""
    address: str = ""
    """Its command line or its URL, without keys."""
    title: str = ""
    """What the server calls itself, with its version."""
    protocol: str = ""
    """The revision that was agreed on."""
    tools: int = 0
    resources: bool = False
    prompts: bool = False
    trusted: bool = False
    required: bool = False
    problem: str = ""
    """Why it cannot be used, and the way out."""
    code: str = ""
    """Of the problem, with its parameters: by them it is told in other languages. Empty: its text is all there is."""
    params: Mapping[str, Any] = field(default_factory=dict)
    retry_at: float = 0.0
    """When it may be tried again, seconds since the epoch; 0: at once."""


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a form that a server has a person fill in."""

    name: str
    title: str
    kind: Literal["text", "number", "whole", "flag", "choice", "choices"] = "text"
    description: str = ""
    required: bool = False
    default: str | float | bool | tuple[str, ...] | None = None
    choices: tuple[tuple[str, str], ...] = ()
    """(value, title) pairs."""
