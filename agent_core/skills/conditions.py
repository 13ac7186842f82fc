"""What a skill needs, as its frontmatter says it, and what of that is not there. Pure.

Platforms, tools and programs as Hermes spells them: `platforms`, `metadata.hermes.requires_tools` and
`requires_toolsets`, `fallback_for_tools` and `fallback_for_toolsets`, `prerequisites.commands` and `env_vars`,
`required_environment_variables`. Source: SKILL-11.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from agent_core import limits
from agent_core.knowledge import Unmet
from agent_core.records import dataclass
from agent_core.toolsets import tools_of

_PLATFORMS: Final = {"macos": "darwin", "mac": "darwin", "osx": "darwin", "windows": "win32", "win": "win32"}
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")


@dataclass(frozen=True, slots=True)
class Needs:
    platforms: tuple[str, ...] = ()
    """As written; empty: any."""
    tools: tuple[str, ...] = ()
    """Tools and sets of them it cannot do without."""
    stands_in_for: tuple[str, ...] = ()
    """Tools and sets of them that make it needless when they are there."""
    variables: tuple[str, ...] = ()
    """Of the environment; its commands are given them."""
    programs: tuple[str, ...] = ()


NOTHING: Final = Needs()


def needs_of(meta: Mapping[str, Any]) -> Needs:
    """What frontmatter asks for. What it does not spell as expected asks for nothing."""
    hermes = _mapping(_mapping(meta.get("metadata")).get("hermes"))
    before = _mapping(meta.get("prerequisites"))
    variables = [*_texts(meta.get("required_environment_variables")), *_texts(before.get("env_vars"))]
    return Needs(
        _texts(meta.get("platforms")),
        (*_texts(hermes.get("requires_tools")), *_texts(hermes.get("requires_toolsets"))),
        (*_texts(hermes.get("fallback_for_tools")), *_texts(hermes.get("fallback_for_toolsets"))),
        tuple(dict.fromkeys(name for name in variables if _VARIABLE.match(name)))[: limits.SKILL_VARIABLES],
        _texts(before.get("commands")),
    )


def closed(needs: Needs, platform: str, tools: Collection[str]) -> tuple[Unmet, ...]:
    """Why a skill is of no use here at all: then it is not offered. `platform` as sys.platform, `tools` by name."""
    out = []
    if needs.platforms and not any(_is_platform(name, platform) for name in needs.platforms):
        out.append(Unmet("platform", ", ".join(needs.platforms)))
    out += [Unmet("tool", name) for name in needs.tools if not tools_of(name.lower()) & set(tools)]
    there = [name for name in needs.stands_in_for if tools_of(name.lower()) & set(tools)]
    if there:
        out.append(Unmet("stands_in", ", ".join(there)))
    return tuple(out)


def missing(needs: Needs, has_variable: Callable[[str], bool], has_program: Callable[[str], bool]) -> tuple[Unmet, ...]:
    """What a skill that is offered still lacks."""
    return (
        *(Unmet("variable", name) for name in needs.variables if not has_variable(name)),
        *(Unmet("program", name) for name in needs.programs if not has_program(name)),
    )


def _is_platform(name: str, platform: str) -> bool:
    name = name.lower()
    return platform.startswith(_PLATFORMS.get(name, name)) or name in ("all", "any")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> tuple[str, ...]:
    """A text, or a list of texts or of mappings with a `name`, as texts."""
    given = value if isinstance(value, list) else [value]
    names = (_mapping(one).get("name") if isinstance(one, Mapping) else one for one in given)
    return tuple(name.strip() for name in names if isinstance(name, str) and name.strip())
