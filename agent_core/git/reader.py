"""git as a reader: what a repository says, asked so that nothing it says of programs is run.

A repository's configuration is data that came with it, and even `git status` runs what it names: fsmonitor, clean
filters, textconv, hooks, a fetch of what is missing. Here all of that is switched off by name, nothing is locked or
fetched, and the sandbox holds git beside that. Source: section 4.5 of the security notes.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import SandboxError, ToolFailure
from agent_core.git.linked_worktree import link_of
from agent_core.process.running import alarm, running
from agent_core.records import dataclass
from agent_core.sandbox.policy import SandboxPolicy
from agent_core.text.ansi import clean
from agent_core.text.printable import printable
from agent_core.workspace import scan

_OFF: Final[Mapping[str, str]] = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "false",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "gpg.program": "false",
    "log.showSignature": "false",
    "log.mailmap": "false",  # this and the next read a file to its end, whatever it is
    "diff.orderFile": "/dev/null",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
    "status.submoduleSummary": "false",
    "maintenance.auto": "false",
    # What only changes how things are written, so that they can be read.
    "color.ui": "false",
    "core.quotePath": "false",
    "core.safecrlf": "false",
    "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false",
    "log.showRoot": "true",
    "diff.relative": "false",  # names are taken from the top, also those that are left out
    "diff.ignoreSubmodules": "dirty",
    "diff.submodule": "short",
    "diff.colorMoved": "false",
    "status.renames": "true",
}
_ENV: Final[Mapping[str, str]] = {
    "LC_ALL": "C.UTF-8",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # before git 2.45 this is what keeps it from fetching
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}
_PASSED_ON: Final = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR")
_NOTHING: Final = "NANOHERM_NOTHING"  # an empty variable: a driver's name may have a "=", which "-c" would cut
_FILTER: Final = re.compile(r"filter\.(.+)\.(clean|smudge|process|required)", re.DOTALL)

NOT_SHOWN_TO_PROGRAMS: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty")
"""Options of every command that shows a difference."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one git command gave."""

    code: int
    out: bytes
    complaint: str
    cut: bool = False
    """There was more than was read, or it took longer than it may; `code` means nothing then."""

    @property
    def items(self) -> list[str]:
        """The parts of an output with `-z`; of one that was cut only the whole ones."""
        parts = self.out.split(b"\0")
        return [os.fsdecode(part) for part in parts[:-1]]

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository that can be asked: where it lies, and how git is to be called in it."""

    folder: Path
    """Where the commands run."""
    top: Path
    """The top of its work tree."""
    git_dir: Path
    common: Path
    is_shallow: bool
    is_sparse: bool
    filters: tuple[str, ...]
    """Names of the content filters that are known to git here (`lfs`); for reading all are switched off."""
    own_filters: tuple[str, ...]
    """Those of them that the repository's own configuration names."""
    is_its_own: bool
    """Its data lies below its top, or belongs to it by a link that is true both ways; else it is another's."""
    program: str
    env: Mapping[str, str]
    cancel: CancelScope
    sandbox: SandboxPolicy | None

    def ask(self, *words: str, limit: int = limits.GIT_READ) -> Said:
        """Run a command that reads. Raises ToolFailure when git cannot be started, Interrupted on cancel.

        What it says is not judged here. `words`: as git takes them; what comes from others has been made a name or a
        path that cannot be an option.
        """
        return _run(self, (*_without(self.filters), *words), limit)

    def change(self, *words: str, seconds: float = limits.GIT_SECONDS) -> Said:
        """Run a command that changes something, which a person has asked for. Raises ToolFailure when it failed.

        Programs that the person's own configuration names are run, those that the repository names are not.
        """
        said = _run(self, (*_without(self.own_filters), *words), limits.GIT_READ, seconds)
        if said.code:
            raise ToolFailure(f"git {words[0]} failed: {words_of(said)}", code="git_failed", outcome="git failed")
        return said

    def must(self, *words: str, limit: int = limits.GIT_READ) -> Said:
        """As `ask`; raises ToolFailure with git's words when it failed, and when it took too long."""
        said = self.ask(*words, limit=limit)
        if said.code and not said.cut:
            raise ToolFailure(f"git {words[0]} failed: {words_of(said)}", code="git_failed", outcome="git failed")
        return said

    def commit(self, revision: str) -> str:
        """The hash of the commit a revision names. Raises ToolFailure for what is none.

        Only hashes go to the other commands: so no revision is an option, a path, or the content of a file.
        """
        if revision.startswith("-") or "\0" in revision or len(revision) > limits.GIT_REVISION:
            raise _no_commit(revision)
        said = self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        found = said.text.strip()
        if said.code or not re.fullmatch(r"[0-9a-f]{40,64}", found):
            raise _no_commit(revision)
        return found

    @property
    def has_commits(self) -> bool:
        return self.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}").code == 0


def _no_commit(revision: str) -> ToolFailure:
    return ToolFailure(
        f"There is no commit {printable(revision[: limits.GIT_REVISION])}. A revision is a branch, a tag, a hash or "
        "HEAD~2. A file as it was in a commit: run_command with git show COMMIT:PATH.",
        code="no_such_revision",
        outcome="no such revision",
    )


def repository(
    folder: Path, env: Mapping[str, str], cancel: CancelScope, sandbox: SandboxPolicy | None = None
) -> Repository:
    """The repository that `folder` (resolved) lies in. Raises ToolFailure, Interrupted; starts git twice.

    `env`: of commands; only a few of its names are passed on. `sandbox`: what git is held to; None: nothing.
    """
    program = scan.find_program("git", env, folder)
    if program is None:
        raise ToolFailure("git is not installed here, or not on PATH.", code="no_git", outcome="no git")
    top = _top_of(folder)
    if top is None:
        raise ToolFailure(
            f"{folder} is in no git repository. If there should be one, ask the user before you run git init.",
            code="no_repository",
            outcome="no repository",
        )
    kept = {name: env[name] for name in _PASSED_ON if name in env}
    bare = Repository(
        folder, top, top / ".git", top / ".git", False, False, (), (), True, program, {**kept, **_ENV, _NOTHING: ""},
        cancel, sandbox,
    )  # fmt: skip
    found = bare.ask(
        "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir",
        "--is-shallow-repository",
    )  # fmt: skip
    places = os.fsdecode(found.out).split("\n")
    if found.code or len(places) != 5:  # also for a folder with a line break in its name
        raise _unusable(found, top)
    shown, git_dir, common = (Path(os.path.realpath(place)) for place in places[:3])
    if shown != top:
        raise ToolFailure(
            f"The repository at {top} says that its files lie in {printable(str(shown))} (core.worktree), which is not "
            "where it is. It is not read.",
            code="other_work_tree",
            outcome="refused",
        )
    settings = bare.ask("config", "--list", "--show-scope", "-z")
    if settings.code or settings.cut:
        raise _unusable(settings, top)
    scopes = _scopes(settings.items)
    values = {name: value for scope in scopes.values() for name, value in scope.items()}
    filters = _filters(values)
    if len(filters) > limits.GIT_FILTERS:
        raise ToolFailure(
            f"The repository's configuration names more than {limits.GIT_FILTERS} content filters, programs that git "
            "would run. It is not read.",
            code="too_many_filters",
            outcome="refused",
        )
    link = link_of(top)
    own = (
        (git_dir.is_relative_to(top) and common.is_relative_to(top))
        or (link is not None and (link.git_dir, link.common) == (git_dir, common))
        or bool(values.get("core.worktree"))  # a submodule's: it names this very work tree, as was seen above
    )
    return replace(
        bare,
        git_dir=git_dir,
        common=common,
        is_shallow=places[3] == "true",
        is_sparse=values.get("core.sparsecheckout", "").lower() == "true",
        filters=filters,
        own_filters=_filters(name for scope in ("local", "worktree") for name in scopes.get(scope, ())),
        is_its_own=own,
    )


def _scopes(items: Sequence[str]) -> dict[str, dict[str, str]]:
    """The settings of each scope (`system`, `global`, `local`, `worktree`, `command`), the last value of each."""
    found: dict[str, dict[str, str]] = {}
    for scope, item in zip(items[::2], items[1::2], strict=False):
        name, _, value = item.partition("\n")
        found.setdefault(scope, {})[name] = value
    return found


def _filters(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found[1] for found in map(_FILTER.fullmatch, names) if found))


def _top_of(folder: Path) -> Path | None:
    """The nearest folder with an entry `.git`, as git finds it."""
    return next((place for place in (folder, *folder.parents) if os.path.lexists(place / ".git")), None)


def _unusable(said: Said, top: Path) -> ToolFailure:
    if "dubious ownership" in said.complaint:
        return ToolFailure(
            f"git does not read the repository at {top}: it belongs to another user. The user can allow it: "
            f"git config --global --add safe.directory {top}",
            code="dubious_ownership",
            outcome="another user's",
        )
    return ToolFailure(
        f"git cannot read the repository at {top}: {words_of(said)}", code="git_failed", outcome="git failed"
    )


def words_of(said: Said) -> str:
    """What git complained of, in one line."""
    if said.cut:
        return "it took too long, or said too much"
    return " ".join(clean(said.complaint).split())[: limits.GIT_COMPLAINT] or f"exit code {said.code}"


def _without(filters: Iterable[str]) -> list[str]:
    """Options that switch content filters off; an empty program is none, and what is not required may be missing."""
    keys = ("clean", "smudge", "process", "required")
    return [f"--config-env=filter.{name}.{key}={_NOTHING}" for name in filters for key in keys]


# -- running ------------------------------------------------------------------------------------------------------


def _run(repo: Repository, words: Sequence[str], limit: int, seconds: float = limits.GIT_SECONDS) -> Said:
    options = [part for name, value in _OFF.items() for part in ("-c", f"{name}={value}")]
    argv = (repo.program, "--no-pager", *options, *words)
    late = CancelScope(repo.cancel)
    deadline = time.monotonic() + seconds
    try:
        with (
            late,
            running(argv, repo.folder, repo.env, late, repo.sandbox) as child,
            alarm(deadline, late),
        ):
            assert child.stdout is not None
            assert child.stderr is not None
            complaint = bytearray()
            listener = threading.Thread(target=_hear, args=(child.stderr, complaint), name="git", daemon=True)
            listener.start()
            out, cut = _read(child.stdout, limit)
            if cut:
                child.kill()
            code = child.wait()
            listener.join()
    except OSError as error:
        raise ToolFailure(f"git could not be started: {error.strerror or error}.", code="no_git") from error
    except SandboxError as error:  # never tried without
        raise ToolFailure(f"git was not run: {error.text}", code=error.code, outcome="no sandbox") from error
    repo.cancel.check()
    return Said(code, out, complaint.decode("utf-8", "replace"), cut or late.cancelled)


def _read(pipe: IO[bytes], limit: int) -> tuple[bytes, bool]:
    """At most `limit` bytes, and whether there were more. The pipe closes when the child is killed."""
    parts, size = [], 0
    while size <= limit and (part := os.read(pipe.fileno(), limits.GIT_CHUNK)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)[:limit], size > limit


def _hear(pipe: IO[bytes], into: bytearray) -> None:
    """Take what is complained of, so that nobody waits to say it; only the first of it is kept."""
    while part := os.read(pipe.fileno(), limits.GIT_CHUNK):
        into += part[: max(limits.GIT_COMPLAINT * 4 - len(into), 0)]
