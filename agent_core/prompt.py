"""The system prompt in three tiers (CFG-10): stable, context, volatile.

The stable tier is the same for every session on this machine and so the longest cacheable prefix; the context tier
holds the project's own guidance; the volatile tier is frozen when the session opens, so that the prompt is byte-equal
between turns. Only a switch of the mode changes it.
"""

from __future__ import annotations

import datetime
import os
import platform
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from agent_core.names import Mode


@dataclass(frozen=True, slots=True)
class Environment:
    """What the model is told about where it works."""

    system: str
    workspace: str
    git: str
    """The branch, or "not a git repository"."""
    date: str
    """ISO date of the session's start."""
    shell_notes: str = ""


@cache
def text(name: str) -> str:
    """The prompt text `prompts/<name>.md`, without its final newline."""
    return resources.files("agent_core").joinpath("prompts", f"{name}.md").read_text("utf-8").rstrip("\n")


def build(environment: Environment, mode: Mode, context: str = "", identity: str = "") -> str:
    """The whole system prompt.

    `context`: the fenced text of the context files, may be empty. `identity` replaces the built-in first paragraph
    (SOUL.md).
    """
    volatile = "\n".join(
        [
            "# Environment",
            f"- System: {environment.system}",
            f"- Workspace (the root of everything you may change): {environment.workspace}",
            f"- Git: {environment.git}",
            f"- Date at the start of this conversation: {environment.date}",
            *([f"- {environment.shell_notes}"] if environment.shell_notes else []),
            "",
            "# Mode",
            text(f"mode_{mode}"),
        ]
    )
    return "\n\n".join(part for part in (identity or text("identity"), text("rules"), context, volatile) if part)


def look_around(workspace: Path, shell_notes: str = "") -> Environment:
    """The environment of a session that opens now in `workspace`. Never raises."""
    return Environment(
        system=f"{platform.system()} {platform.release()}, {os.environ.get('SHELL', 'sh')}",
        workspace=str(workspace),
        git=f"branch {branch}" if (branch := git_branch(workspace)) else "not a git repository",
        date=datetime.date.today().isoformat(),
        shell_notes=shell_notes,
    )


def git_branch(workspace: Path) -> str:
    """The checked-out branch, or "" outside a repository. Reads .git itself: no process, no repository config."""
    for folder in (workspace, *workspace.parents):
        dot_git = folder / ".git"
        try:
            if dot_git.is_file():  # a worktree or submodule points to its real directory
                target = dot_git.read_text("utf-8", "replace")[:4096].partition("gitdir:")[2].strip()
                dot_git = (folder / target) if target else dot_git
            head = (dot_git / "HEAD").read_text("utf-8", "replace")[:4096].strip()
        except OSError:
            continue
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:10]
    return ""
