"""The tools of one session and the rules that stand before them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.grants import Grants
from agent_core.messages import ToolCall
from agent_core.names import TOOL_ALIASES
from agent_core.ports.actions import CommandAction, Effect
from agent_core.ports.asking import Decided, Review
from agent_core.ports.model import ToolSchema
from agent_core.ports.tools import Args, Tool, ToolContext, ToolOutput
from agent_core.records import dataclass
from agent_core.safety import policy
from agent_core.safety.shell_trust import TrustContext
from agent_core.spill import Results
from agent_core.text.ansi import clean
from agent_core.text.coerce import coerce, loosely
from agent_core.tools import alias, misnamed
from agent_core.toolsets import is_off

Reviewing = Callable[[CommandAction, policy.Verdict, CancelScope], Review]
"""Raises Interrupted, and AgentError REVIEWER_BREAKER."""

OnStart = Callable[[ToolCall, Effect], None]
"""Called when a call has been allowed and is about to act; raises StoreError when that cannot be noted."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of one session and the rules that stand before them. Safe to use from several threads."""

    tools: Mapping[str, Tool]
    context: ToolContext
    situation: Callable[[], policy.Situation]
    """Read at each call, so that a switched mode acts on the next step."""
    grants: Grants
    trust: Callable[[Path], TrustContext]
    """For the folder a command would run in."""
    redact: Callable[[str], str]
    mode: Callable[[], str] | None = None
    """The mode alone: a request asks for it, and does not wait for what else the situation is made of."""
    off: Callable[[], Collection[str]] = frozenset
    """The tools that the person has switched off, as they are at each call: neither offered nor run."""
    refuse: Callable[[str], None] = lambda name: None
    """Have a tool left out from now on: the model's server refuses requests that hold it."""
    deny: Callable[[], Iterable[str]] = tuple
    """The user's patterns of commands that are never run, as they are when a command is judged."""
    listed: Callable[[str], bool] = lambda host: False
    """Whether the user's config lets a host of the web be asked (web.allow_hosts)."""
    started: Callable[[ToolCall], None] = lambda call: None
    """Tells the listener that the call begins."""
    progress: Callable[[ToolCall, str], None] = lambda call, text: None
    veto: Callable[[ToolCall, str, Args], str] = lambda call, name, arguments: ""
    """Asked when the rules would let a call pass, before a person is: why a hook forbids it; empty: it may run."""
    remark: Callable[[ToolCall, str, Args, ToolOutput], str] = lambda call, name, arguments, output: ""
    """What a hook says of a result, for the model; empty: nothing."""
    review: Reviewing | None = None
    """Asked about a command before a person is (approvals.mode smart)."""
    record: Callable[[Decided], None] = lambda decided: None
    """Has a decision written down: one about a call with the call's start (`on_start`), or with its result when it
    never began; another at once. Raises StoreError."""
    results: Results | None = None
    """What bounds those of the turn by `context.bounds`; None: each by itself."""

    def schemas(self) -> tuple[ToolSchema, ...]:
        mode = self.mode() if self.mode is not None else self.situation().mode
        off = self.off()
        there = (t for t in self.tools.values() if not is_off(t.name, t.toolset, off))
        return tuple(tool.schema for tool in there if not tool.modes or mode in tool.modes)

    def find(self, call: ToolCall) -> Tool | None:
        """The tool a call means: by its name, by a Hermes alias, by a name that is written otherwise.

        Of an alias with several targets it is the one whose arguments fit best. What may be a misspelling is taken
        for the one name near it only when all arguments fit that tool. Source: LOOP-18.
        """
        found = self._named(call.name, call.arguments)
        if found is None:
            found = self._named(misnamed.same_but_for_style(call.name, self._names), call.arguments)
        if found is None and call.arguments_error is None:
            tool = self.tools.get(misnamed.near(call.name, self.tools))
            if tool is not None and not tool.foreign and not coerce(call.arguments, tool.parameters)[1]:
                found = tool
        return found

    def _named(self, name: str, arguments: Args) -> Tool | None:
        if name in self.tools:
            return self.tools[name]
        return alias.meant(name, arguments, self.tools)

    @property
    def _names(self) -> tuple[str, ...]:
        return (*self.tools, *TOOL_ALIASES)

    def effect(self, call: ToolCall) -> Effect:
        """What a call touches; its paths are those of the disk, so that two names of one file are known as one."""
        tool = self.find(call)
        if tool is None or call.arguments_error is not None:
            return Effect("none")
        effect = tool.effect(call.arguments)
        return replace(effect, paths=tuple(self._on_disk(path) for path in effect.paths))

    def _on_disk(self, path: str) -> str:
        if path.startswith("~/"):
            path = os.path.join(self.context.home, path[2:])
        try:
            return os.path.realpath(os.path.join(self.context.workspace, path))
        except (OSError, ValueError):  # a NUL, or links without end: no file that a tool would open
            return path

    def name(self, call: ToolCall) -> str:
        """The name of the tool a call means, or what it named when there is none."""
        tool = self.find(call)
        return call.name if tool is None else tool.name

    @property
    def room(self) -> int:
        """Bytes that one result may have."""
        return self.context.bounds.most

    def longest(self, calls: Sequence[ToolCall]) -> float:
        """The longest time, in seconds, that one of these calls has asked for."""
        asked = 0.0
        for call in calls:
            tool = self.find(call)
            if tool is None or call.arguments_error is not None:
                continue
            arguments, problems = fitted(tool, call.arguments)
            if not problems:
                seconds = tool.seconds(arguments)
                if not seconds and tool.effect(arguments).kind == "command":
                    seconds = self.context.command_timeout
                asked = max(asked, seconds)
        return asked

    def subject(self, call: ToolCall) -> str:
        """One line for the tool card, free of control bytes and keys."""
        tool = self.find(call)
        raw = tool.subject(call.arguments) if tool is not None else ""
        return self.redact(" ".join(clean(raw).split()))[: limits.SUBJECT_CHARS]


def fitted(tool: Tool, arguments: Args) -> tuple[Args, tuple[str, ...]]:
    """The arguments as the tool takes them, and what is wrong with them."""
    return (loosely(arguments, tool.parameters), ()) if tool.foreign else coerce(arguments, tool.parameters)


def toolbox_of(tools: Sequence[Tool]) -> dict[str, Tool]:
    return {tool.name: tool for tool in tools}
