"""What a sub-agent is asked to do, what the config says of all of them, and what comes back. Source: SUB-06, SUB-12."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_core import limits
from agent_core.delegation import AgentRow
from agent_core.messages import ImagePart, Message, user
from agent_core.records import dataclass
from agent_core.subagents import answers
from agent_core.subagents.definitions import Definition


@dataclass(frozen=True, slots=True)
class CrewOptions:
    """What the config says of sub-agents."""

    model: str = ""
    """Of those that name none; empty: the provider's usual one, without a provider the parent's."""
    provider: str = ""
    max_steps: int = limits.AGENT_STEPS
    auto_approve: bool = False
    """delegation.subagent_auto_approve (SUB-08)."""
    quiet_seconds: float = 0.0
    """Without a sign of life for so long one is stopped (delegation.child_timeout_seconds); 0: never."""
    fallbacks: tuple[Any, ...] = ()
    """What stands in for a model that is not the parent's: entries as in fallback_providers (SUB-12)."""
    at_once: int = limits.AGENTS_AT_ONCE
    """How many of a session run side by side (SUB-03, SUB-07)."""


@dataclass(frozen=True, slots=True)
class Order:
    """What one is asked to do."""

    definition: Definition
    task: str
    context: str = ""
    schema: Mapping[str, Any] | None = None
    """What its answer has to be, as JSON Schema; None: words."""
    images: tuple[ImagePart, ...] = ()
    group: str = ""
    """What the model calls those that belong together; one line."""


@dataclass(frozen=True, slots=True)
class Done:
    """How one has ended, and what is told of it."""

    row: AgentRow
    text: str


def first_message(order: Order, sees: bool) -> Message:
    """Its turn begins with: the task, and what comes with it; images for a model that `sees`."""
    parts = [order.task.strip()]
    if context := order.context.strip():
        parts.append(f"# What you should know\n{context}")
    if order.schema is not None:
        parts.append(answers.wanted(order.schema))
    if order.images and not sees:
        parts.append(f"[{len(order.images)} images came with this. You cannot be shown images: say so in your result.]")
    return user("\n\n".join(parts), order.images if sees else ())
