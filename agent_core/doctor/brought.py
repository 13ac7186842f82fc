"""What the project, and others, bring: trust, servers, hooks, skills, sub-agents. Nothing of it is run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

from agent_core import limits
from agent_core.doctor.check import Case, Check
from agent_core.hooks import names as names_of_hooks
from agent_core.hooks import users_hooks
from agent_core.mcp import config as mcp_config
from agent_core.names import APP
from agent_core.text.printable import printable


def project(case: Case) -> Iterator[Check]:
    standing = case.standing
    root = case.short(standing.offer.root)
    if standing.asks:
        yield Check("trust", "This folder", "warn", standing.line, f"{APP} trust {root}")
    elif standing.state == "trusted":
        yield Check("trust", "This folder", "ok", f"{root} is trusted: {', '.join(sorted(standing.offer.digests))}.")
    elif standing.state == "refused":
        yield Check("trust", "This folder", "ok", f"{root} is never trusted: nothing of it acts.")
    else:
        yield Check("trust", "This folder", "ok", "It brings nothing that acts.")


def servers(case: Case) -> Iterator[Check]:
    """What the files name. None is started."""
    from agent_core.extras.server_desk import sources

    env = {**case.config.dotenv, **case.env}
    found = mcp_config.read(sources(case.places, case.standing), env, case.places.home)
    for problem in found.problems:
        yield Check("servers", "MCP server", "warn", problem.text, "Correct that line.")
    for config in found.servers:
        shown = printable(config.name)
        if config.name in found.held:
            text = f"{shown} waits until this folder is trusted."
            yield Check("servers", "MCP server", "ok", text)
        elif config.problem:
            yield Check("servers", "MCP server", "warn", config.problem, "Correct its entry.")
        elif not config.enabled:
            yield Check("servers", "MCP server", "ok", f"{shown} is switched off.")
        elif config.command and not _can_be_found(config.command, case):
            text = f"{shown}: its program {printable(config.command)[: limits.SUBJECT_CHARS]} is not found."
            yield Check("servers", "MCP server", "warn", text, "Install it, or correct mcp_servers in the config.")
        else:
            yield Check("servers", "MCP server", "ok", f"{shown} is configured. {APP} doctor --servers starts it.")


def _can_be_found(command: str, case: Case) -> bool:
    if "/" in command:
        return os.access(os.path.expanduser(command), os.X_OK)
    return shutil.which(command, path=case.env.get("PATH", "")) is not None


def hooks(case: Case) -> Iterator[Check]:
    """The user's own. None is run."""
    found = users_hooks(case.places, case.config.mapping("hooks"))
    for problem in found.problems:
        yield Check("hooks", "Hooks", "fail", problem.text, "Correct that line: until then the hook does not run.")
    if found.hooks:
        words = "; ".join(names_of_hooks(found.hooks))
        yield Check("hooks", "Hooks", "ok", f"{len(found.hooks)}: {words}")


def skills(case: Case) -> Iterator[Check]:
    """Whether every SKILL.md can be understood; of a project's, those that are accepted."""
    from agent_core.skills.discover import Finder, checked

    config = case.config
    if not config.get("skills.enabled"):
        yield Check("skills", "Skills", "skip", "Switched off (skills.enabled).")
        return
    more = case.places.folders(config.get("skills.external_dirs"))
    shelf = Finder().look(case.places, case.standing, more)
    every = (*shelf.skills, *shelf.hidden)
    wrong = [(found, problem) for found in every for problem in checked(found)]
    for found, problem in wrong:
        text = f"{case.short(found.file)}:{problem.line}: {printable(problem.text)}"
        yield Check("skills", "Skills", "warn", text, f"See all: {APP} skills check")
    if not wrong:
        count = f"{len(every)} skill{'' if len(every) == 1 else 's'}: every SKILL.md can be read."
        yield Check("skills", "Skills", "ok", count if every else "None are there.")


def sub_agents(case: Case) -> Iterator[Check]:
    """Whether every definition of a sub-agent can be used; of a project's, those that are accepted."""
    from agent_core.subagents import definitions

    config = case.config
    if not config.get("delegation.enabled"):
        yield Check("sub-agents", "Sub-agents", "skip", "Switched off (delegation.enabled).")
        return
    with_shipped = config.get("delegation.builtin_agents")
    found = definitions.counting(case.places, case.standing, case.patient.subagents_file, with_shipped=with_shipped)
    for problem in found.problems:
        yield Check("sub-agents", "Sub-agents", "warn", problem.text, "Correct that file: the others work without it.")
    if beyond := found.definitions[limits.AGENTS_DEFINED :]:
        text = f"More than {limits.AGENTS_DEFINED}: {', '.join(one.name for one in beyond)} cannot be called."
        yield Check("sub-agents", "Sub-agents", "warn", text, "Take some out.")
    count = len(found.definitions)
    if count and not beyond:
        words = ", ".join(one.name for one in found.definitions)
        yield Check("sub-agents", "Sub-agents", "ok", f"{count}: {words}")
    elif not count and not found.problems:
        yield Check("sub-agents", "Sub-agents", "ok", "None are defined.")
