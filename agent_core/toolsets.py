"""Named groups of the built-in tools, for switching them off and on together (TOOL-12)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from agent_core import names
from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Toolset:
    name: str
    tools: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    """Other sets that belong to it."""


TOOLSETS: Final[tuple[Toolset, ...]] = (
    Toolset(
        "files",
        (
            names.READ_FILE,
            names.WRITE_FILE,
            names.EDIT_FILE,
            names.APPLY_PATCH,
            names.LIST_DIR,
            names.GREP,
            names.GLOB,
        ),
    ),
    Toolset(
        "commands",
        (names.RUN_COMMAND, names.TASK_START, names.TASK_LIST, names.TASK_OUTPUT, names.TASK_KILL),
    ),
    Toolset("web", (names.WEB_FETCH, names.WEB_SEARCH)),
    Toolset("git", (names.GIT_STATUS, names.GIT_DIFF, names.GIT_COMMIT)),
    Toolset("planning", (names.TODO_WRITE, names.TODO_READ)),
    Toolset("talk", (names.ASK_USER, names.SESSION_SEARCH)),
    Toolset("memory", (names.MEMORY_SAVE, names.MEMORY_SEARCH, names.MEMORY)),
    Toolset("skills", (names.SKILLS_LIST, names.SKILL, names.SKILL_MANAGE)),
    Toolset("agents", (names.SUBAGENT, names.AGENT_LIST, names.DELEGATE_TASK)),
    Toolset("all", includes=("files", "commands", "web", "git", "planning", "talk", "memory", "skills", "agents")),
)
SHOWN: Final = tuple(one for one in TOOLSETS if one.tools)
"""Those with tools of their own: each tool is in one of them."""
ALIASES: Final = {"delegation": "agents", "file": "files", "terminal": "commands", "todo": "planning", "nano": "all"}
"""Names that Hermes has for them."""
FIXED: Final = frozenset({names.EXIT_PLAN, names.GOAL_DONE})
"""The ways out of a mode: never switched off."""

NOT_OFFERED: Final = frozenset({names.DELEGATE_TASK})
"""Off until a person switches them on: no request gets longer by them. A call of one is taken all the same."""

ALL_NAMES: Final = tuple(name for one in TOOLSETS for name in (one.name, *one.tools))
"""What a person may call them."""

_BY_NAME: Final = {one.name: one for one in TOOLSETS}


def tools_of(name: str) -> frozenset[str]:
    """The tools that a name stands for: of a set with all that it includes, of a tool, of a Hermes name of either.

    Empty for a name of nothing that could be switched.
    """
    if is_of_servers(name):  # which there are only a session knows
        return frozenset({name})
    found = _BY_NAME.get(ALIASES.get(name, name))
    if found is not None:
        return frozenset(found.tools).union(*(tools_of(other) for other in found.includes))
    switched = tools_of("all")
    return frozenset((name,) if name in switched else names.TOOL_ALIASES.get(name, ())) & switched


def tools_named(words: Iterable[str]) -> frozenset[str]:
    """All tools that `words` stand for; one that stands for none, as a set of Hermes that is not here, is no error."""
    plain = (word.strip() for word in words)
    return frozenset().union(*(tools_of(word if is_of_servers(word) else word.lower()) for word in plain))


def in_order(tools: Collection[str]) -> tuple[str, ...]:
    """`tools` as they stand in the sets: what is stored does not depend on the order of switching."""
    ours = tuple(tool for one in SHOWN for tool in one.tools if tool in tools)
    return (*ours, *sorted(name for name in tools if is_of_servers(name)))


def is_of_servers(name: str) -> bool:
    """Whether it names tools of MCP servers: all, those of one, or one of them."""
    return name == names.MCP_SET or name.startswith((f"{names.MCP_SET}:", names.MCP_PREFIX))


def is_off(tool: str, toolset: str, off: Collection[str]) -> bool:
    """Whether a tool is switched off: by its name, its set, or the set that its set is in."""
    return tool in off or (toolset != "" and (toolset in off or toolset.partition(":")[0] in off))
