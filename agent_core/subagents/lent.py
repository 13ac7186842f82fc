"""What a parent lends its sub-agent: its toolbox, with what is the sub-agent's own in it.

What it may do is never more than its parent may: the same rules, mode, walls, hooks and grants, and fewer tools.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final

from agent_core import events, names
from agent_core.cancel import CancelScope
from agent_core.messages import ToolCall
from agent_core.ports.asking import Asker, Decided, Question, Reply
from agent_core.ports.means import TodoItem
from agent_core.ports.tools import Tool
from agent_core.records import dataclass
from agent_core.safety.policy import Situation
from agent_core.session.services import SessionServices
from agent_core.spill import FOLDER, Results
from agent_core.store.audit import for_the_record, is_worth_a_row
from agent_core.subagents.definitions import Definition
from agent_core.tools.seen_files import SeenFiles
from agent_core.tools.toolbox import Toolbox

KEPT_FROM: Final = frozenset(
    {
        names.SUBAGENT,
        names.AGENT_LIST,
        names.DELEGATE_TASK,
        names.ASK_USER,
        names.EXIT_PLAN,
        names.GOAL_DONE,
        names.MEMORY_SAVE,
        names.MEMORY,
        names.SKILL_MANAGE,
    }
)
"""Tools that no sub-agent has: they delegate further, speak to the person, act on the session or on later ones (SUB-05,
SUB-08)."""


def tools_for(tools: Mapping[str, Tool], definition: Definition) -> dict[str, Tool]:
    """Those of a session's tools that its sub-agent has. "mcp" and "mcp:NAME" allow the tools of servers."""
    allowed, denied = definition.allowed_tools, definition.denied_tools

    def is_allowed(tool: Tool) -> bool:
        called = (tool.name, tool.toolset, tool.toolset.partition(":")[0])
        return denied.isdisjoint(called) and (allowed is None or not allowed.isdisjoint(called))

    return {name: tool for name, tool in tools.items() if name not in KEPT_FROM and is_allowed(tool)}


@dataclass(frozen=True, slots=True)
class Borrower:
    """Who is lent to."""

    session_id: str
    label: str
    """What a person who is asked reads: "agent-2 reviewer"."""
    scope: CancelScope
    asks: Callable[[Question], AbstractContextManager[None]]
    """Told of what it asks a person; entered while it waits for the answer."""
    tell: Callable[[events.Event], None]
    """Tells whoever looks at it."""
    sees_images: bool
    auto_approve: bool
    """What the sandbox contains is not asked about, and what would leave it is refused."""


def lent(box: Toolbox, to: Borrower, definition: Definition, services: SessionServices) -> Toolbox:
    """The toolbox of a sub-agent's turn: what it changes in files belongs to its parent's turn; what was decided about
    its calls is on record in its own session."""
    workspace = str(box.context.workspace)

    def record(decided: Decided) -> None:
        if is_worth_a_row(decided):
            keep = services.store.audit.stage if decided.call_id else services.store.audit.add
            keep(to.session_id, workspace, for_the_record(decided, services.redact))

    def started(call: ToolCall) -> None:
        to.tell(events.ToolStarted(call.id))

    def progress(call: ToolCall, text: str) -> None:
        to.tell(events.ToolProgress(call.id, text))

    def situation() -> Situation:
        now = box.situation()
        return replace(now, policy="never") if to.auto_approve and now.policy == "untrusted" else now

    return replace(
        box,
        tools=tools_for(box.tools, definition),
        context=replace(
            box.context,
            cancel=to.scope,
            asker=_AskingFor(box.context.asker, to),
            todos=Plan(),
            files=SeenFiles(),
            sees_images=to.sees_images,
        ),
        situation=situation,
        started=started,
        progress=progress,
        record=record,
        results=Results(services.result_bounds, services.data_home / FOLDER),
    )


@dataclass(frozen=True, slots=True)
class _AskingFor:
    """The parent's asker; the person reads who asks."""

    asker: Asker
    who: Borrower

    def ask(self, question: Question, cancel: CancelScope) -> Reply:
        with self.who.asks(question):
            return self.asker.ask(replace(question, agent=self.who.label), cancel)


class Plan:
    """A sub-agent's own todo list: it ends with its run (ports.TodoList)."""

    def __init__(self) -> None:
        self._items: tuple[TodoItem, ...] = ()

    def read(self) -> tuple[TodoItem, ...]:
        return self._items

    def write(self, items: tuple[TodoItem, ...]) -> None:
        self._items = items
