"""The tools as a person chooses among them: in their sets, with what each costs a request."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from typing import Literal

from agent_core.mind import view
from agent_core.ports.tools import Tool
from agent_core.records import dataclass
from agent_core.toolsets import SHOWN, tools_of


@dataclass(frozen=True, slots=True)
class ToolEntry:
    name: str
    toolset: str
    text: str
    """What the model is told of it."""
    size: int
    """Bytes of its schema in a request."""
    tokens: int
    """About how many tokens that is."""
    modes: tuple[str, ...] = ()
    """Where it is offered; empty: in every mode."""
    problem: Literal["", "no_git"] = ""
    """Why it cannot work on this machine."""


def tool_list(tools: Iterable[Tool], path: str) -> tuple[ToolEntry, ...]:
    """Those of `tools` that can be switched, in the order of the sets, those of servers last.

    `path`: where commands are looked for.
    """
    there = {tool.name: tool for tool in tools}
    no_git = shutil.which("git", path=path) is None
    entries = []
    sets = [(one.name, [there[name] for name in one.tools if name in there]) for one in SHOWN]
    others = dict.fromkeys(tool.toolset for tool in there.values() if tool.toolset)
    sets += [(name, [tool for tool in there.values() if tool.toolset == name]) for name in others]
    for name, members in sets:
        for tool in members:
            schema = schema_of(tool)
            entries.append(
                ToolEntry(
                    tool.name,
                    name,
                    tool.description,
                    len(schema.encode("utf-8", "surrogatepass")),
                    view.token_count(schema),
                    tool.modes,
                    "no_git" if no_git and tool.name in tools_of("git") else "",
                )
            )
    return tuple(entries)


def schema_of(tool: Tool) -> str:
    """What a request says of a tool, as JSON in one line; a wire may put other words around it."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return json.dumps({"type": "function", "function": function}, ensure_ascii=False, default=dict)
