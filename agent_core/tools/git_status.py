"""git_status, and what the git tools share: the repository of the workspace, and the names of its files."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_core import limits
from agent_core.errors import SandboxError, ToolFailure
from agent_core.git.changes import Change, Changes, changes
from agent_core.git.reader import Repository, repository
from agent_core.names import GIT_STATUS
from agent_core.ports.actions import Effect, ReadAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.safety.paths import PathVerdict
from agent_core.sandbox.policy import READ_ONLY, SandboxPolicy
from agent_core.text.printable import printable

from . import base

ANOTHERS = "the repository's data lies elsewhere"
"""The rule: `.git` leads to a repository that does not know this work tree, so a person is asked before it is read."""


def opened(ctx: ToolContext, shown: Sequence[PathVerdict] = ()) -> Repository:
    """The repository of the workspace, for reading. Raises ToolFailure.

    `shown`: files that are read with a person's consent, and so are not hidden from git.
    """
    return repository(ctx.workspace, ctx.env, ctx.cancel, _box(ctx, shown))


def _box(ctx: ToolContext, shown: Sequence[PathVerdict]) -> SandboxPolicy | None:
    try:
        policy = ctx.confine(READ_ONLY)
    except SandboxError:  # this machine cannot: then git is held by what is switched off
        return None
    wanted = {verdict.path for verdict in shown}
    return policy and replace(policy, hidden=tuple(path for path in policy.hidden if path not in wanted))


def reading(repo: Repository, shown: PathVerdict | None = None) -> dict[str, Any]:
    """The fields of Prepared that carry a verdict on: of what is read, or that the repository may be another's."""
    if shown is not None and shown.verdict == "ask":
        return {"path_verdict": "ask", "path_rule": shown.rule}
    return {} if repo.is_its_own else {"path_verdict": "ask", "path_rule": ANOTHERS}


def name_of(path: str, repo: Repository) -> str:
    """A path that git gave, as it is named from the workspace, fit to be shown."""
    named = posixpath.relpath(posixpath.join(repo.top, path), repo.folder)
    return printable(named + "/" if path.endswith("/") else named)


def literal(place: Path, repo: Repository) -> str:
    """A path as git is to take it: as it is spelled, and no option. Raises ToolFailure outside the repository."""
    if not place.is_relative_to(repo.top):
        raise ToolFailure(
            f"{printable(str(place))} lies outside the repository {printable(str(repo.top))}.",
            code="outside_repository",
            outcome="not found",
        )
    return f":(literal){os.path.relpath(place, repo.folder)}"


def place_of(path: str, repo: Repository) -> Path:
    return repo.top / path


def head(found: Changes, repo: Repository) -> str:
    """Where the work tree stands: branch, commit, upstream."""
    at = found.commit[: limits.GIT_SHORT]
    where = f"On branch {printable(found.branch)}" if found.branch else f"Detached at {at}"
    if not found.commit:
        where += ", which has no commit yet"
    elif found.branch:
        where += f" at {at}"
    if found.upstream:
        apart = [f"{count} {word}" for count, word in ((found.ahead, "ahead"), (found.behind, "behind")) if count]
        where += f"; upstream {printable(found.upstream)}: {', '.join(apart) or 'the same'}"
    return where + "."


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    repo = opened(ctx)
    return base.prepared(ReadAction("."), lambda: _run(repo), **reading(repo))


def _run(repo: Repository) -> ToolOutput:
    found = changes(repo)
    lines = [head(found, repo)]
    for word in found.under_way:
        lines.append(f"A {word} is under way.")
    if repo.top != repo.folder:
        lines.append(f"The repository's top is {os.path.relpath(repo.top, repo.folder)}.")
    if repo.is_shallow:
        lines.append("The clone is shallow: older commits are not here.")
    if repo.is_sparse:
        lines.append("The checkout is sparse: some tracked files are not here.")
    parts = (
        ("Conflicts", found.conflicts),
        ("Staged", found.staged),
        ("Not staged", found.unstaged),
        ("Not tracked", found.untracked),
    )
    for title, part in parts:
        if part:
            lines += [f"{title} ({len(part):,}{'+' if found.cut else ''}):", *_listed(part, repo)]
    if found.clean:
        lines.append("Nothing to commit, the work tree is clean.")
    if found.cut:
        lines.append("[there is more that was not read; look at a folder with run_command: git status -- FOLDER]")
    if repo.filters:
        lines.append(f"[content filters were not run: {', '.join(map(printable, repo.filters))}]")
    count = len({change.path for _, part in parts for change in part})
    return ToolOutput("\n".join(lines), "clean" if found.clean else f"{count:,} changed")


def _listed(part: Sequence[Change], repo: Repository) -> list[str]:
    lines = []
    for change in part[: limits.GIT_NAMES]:
        name = name_of(change.path, repo)
        if change.before:
            name = f"{name_of(change.before, repo)} -> {name}"
        lines.append(f"  {change.word}: {name}" if change.word else f"  {name}")
    if len(part) > limits.GIT_NAMES:
        lines.append(f"  [and {len(part) - limits.GIT_NAMES:,} more]")
    return lines


TOOL = Tool(
    GIT_STATUS,
    "Branch, upstream, what is staged, changed, untracked or in conflict, and whether a merge or rebase is under way.",
    base.schema([]),
    lambda args: Effect("read", (".",)),
    lambda args: "",
    _prepare,
)
