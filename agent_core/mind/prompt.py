"""The system prompt in three tiers (CFG-10): stable, context, volatile.

The stable tier is the same for every session on this machine and so the longest cacheable prefix; the context tier
holds the project's own guidance; the volatile tier is frozen when the session opens, so that the prompt is byte-equal
between turns and after a resume. A switch of the mode changes its end; switched back, it is the same again.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.names import MODES, Mode
from agent_core.plain_files import read_regular
from agent_core.ports.extras import Guidance
from agent_core.records import dataclass
from agent_core.text.printable import printable

NONE: Final = Guidance()


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


def base(
    environment: Environment, context: str = "", identity: str = "", persona: str = "", guidance: Guidance = NONE
) -> str:
    """The system prompt but for the sentence of the mode, which alone changes while a session goes on.

    `context`: the fenced text of the context files, may be empty. `identity` replaces the built-in first paragraph
    (SOUL.md); `persona` is the text of the chosen one; `guidance` is what the extras say.
    """
    volatile = "\n".join(
        [
            "# Environment",
            f"- System: {environment.system}",
            f"- Workspace (the root of everything you may change): {environment.workspace}",
            f"- Git: {environment.git}",
            f"- Date at the start of this conversation: {environment.date}",
            *([f"- {environment.shell_notes}"] if environment.shell_notes else []),
        ]
    )
    manner = persona and f"# Manner\n{persona}"
    stable = (identity or text("identity"), manner, text("rules"), guidance.stable)
    parts = (*stable, context, guidance.frozen, volatile)
    return "\n\n".join(part for part in parts if part)


_MODE = "# Mode\n"


def with_mode(base: str, mode: Mode, goal: str = "") -> str:
    """The whole system prompt; with `goal`, what mode goal works towards."""
    # Quoted line by line, so that no goal can pass for another part of the prompt.
    quoted = "".join(f"\n> {line}" for line in goal.splitlines())
    ending = f"\nThe goal:{quoted}" if mode == "goal" and goal else ""
    return f"{base}\n\n{_MODE}{text(f'mode_{mode}')}{ending}"


def lasting(prompt: str) -> int:
    """How many characters of `prompt` stay when the mode is switched: what a server remembers of them stays good."""
    return max(0, prompt.rfind(f"\n\n{_MODE}"))


def fingerprint(
    environment: Environment, context: str, identity: str, persona: str, guidance: Guidance, others: Sequence[str]
) -> str:
    """What a system prompt is made from, but for the date and the branch: equal ones need no new prompt (LOOP-16).

    What was frozen counts: a memory that was forgotten between two runs is not told again.

    `others`: what else belongs to it (the model, the tools).
    """
    lasting = base(replace(environment, git="", date=""), context, identity, persona, guidance)
    modes = [text(f"mode_{mode}") for mode in MODES]
    return hashlib.sha256("\0".join([lasting, *modes, *others]).encode("utf-8", "surrogatepass")).hexdigest()


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
        try:
            # A worktree or submodule has a file that points to its real directory.
            target = _line(folder / ".git").partition("gitdir:")[2].strip()
            head = _line(folder / target / "HEAD" if target else folder / ".git" / "HEAD")
        except OSError:
            continue
        if head:
            return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else head[:10]
    return ""


def _line(file: Path) -> str:
    """The first line of a small file, fit to show; "" when there is none. A cloned repository may hold anything."""
    text = (read_regular(file, limits.GIT_HEAD) or b"").decode("utf-8", "replace")
    return printable(text.partition("\n")[0].strip())[: limits.SUBJECT_CHARS]
