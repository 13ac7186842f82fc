"""The project's own checks: commands that run when a tool has changed files, and whose word goes back to the model.

They stand under `after_edit` in the user's config.yaml, or in that of a project that is trusted. They are commands in
the sandbox, like the model's own, and no hooks: they forbid nothing, and may rewrite the files they are given.
"""

from __future__ import annotations

import logging
import os
import shlex
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import SandboxError, StoreError
from agent_core.events import Notice
from agent_core.ports.commands import ExecResult, TerminalBackend
from agent_core.ports.tools import Checked, ToolContext
from agent_core.records import dataclass
from agent_core.sandbox.policy import Box
from agent_core.text import ignore_rules
from agent_core.text.ansi import clean
from agent_core.text.clamp import clamp
from agent_core.text.printable import printable

log = logging.getLogger(__name__)

FILES: Final = "{files}"
_GIVEN: Final = '"$@"'
"""What it stands for in a command: the files are the shell's own arguments, so that no name of one is ever read as a
part of the command, wherever it is put."""
_WAIT: Final = 0.05


@dataclass(frozen=True, slots=True)
class Check:
    """One command and the files it is for."""

    match: tuple[str, ...]
    """Patterns as in .gitignore, below the workspace."""
    run: str
    """A line for the shell, with FILES in it or not."""
    seconds: float = limits.AFTER_EDIT_TIMEOUT

    @property
    def name(self) -> str:
        """What it is known by: the command on one line, cut."""
        line = printable(" ".join(self.run.split()))
        return line if len(line) <= limits.AFTER_EDIT_NAME else line[: limits.AFTER_EDIT_NAME] + " ..."

    def concerned(self, files: Iterable[str]) -> list[str]:
        """Those of `files` (below the workspace) that it is for."""
        rules = ignore_rules.parse("\n".join(self.match))
        return [file for file in files if ignore_rules.names_below(rules, file, False)]

    def command(self, files: Sequence[str]) -> str:
        """What is run. A file whose name begins like an option is given as ./-name."""
        given = " ".join(shlex.quote(f"./{file}" if file.startswith("-") else file) for file in files)
        return f"set -- {given}\n{self.run.replace(FILES, _GIVEN)}"


@dataclass(frozen=True, slots=True)
class CheckSet:
    """Checks in the order they run in, and what is wrong with others that were declared."""

    checks: tuple[Check, ...] = ()
    problems: tuple[str, ...] = ()


def parse(entries: Sequence[Any]) -> CheckSet:
    """The checks of `after_edit`. An entry with a mistake is left out, and named."""
    checks, problems = [], []
    for number, entry in enumerate(entries[: limits.AFTER_EDIT_CHECKS], start=1):
        found = _check(entry)
        if isinstance(found, Check):
            checks.append(found)
        else:
            problems.append(printable(f"after_edit, entry {number}: {found}. It does not run."))
    if len(entries) > limits.AFTER_EDIT_CHECKS:
        problems.append(f"after_edit: only the first {limits.AFTER_EDIT_CHECKS} run.")
    return CheckSet(tuple(checks), tuple(problems))


def _check(entry: Any) -> Check | str:
    """An entry as a check, or what is wrong with it."""
    if not isinstance(entry, Mapping):
        return "it must be a mapping with match and run"
    if unknown := [str(name) for name in entry if name not in ("match", "run", "timeout")]:
        return f"there is no {unknown[0][: limits.SUBJECT_CHARS]}, only match, run and timeout"
    match, run, seconds = entry.get("match", "*"), entry.get("run"), entry.get("timeout", limits.AFTER_EDIT_TIMEOUT)
    patterns = [match] if isinstance(match, str) else match
    if not isinstance(patterns, list) or not all(isinstance(one, str) and one.strip() for one in patterns):
        return "match must be a pattern, or a list of them"
    if any(len(one) > limits.PATTERN_CHARS or "\n" in one for one in patterns):
        return f"a pattern of match is one line of at most {limits.PATTERN_CHARS} characters"
    if isinstance(run, list) and all(isinstance(word, str) for word in run):
        run = " ".join(word if word == FILES else shlex.quote(word) for word in run)
    if not isinstance(run, str) or not run.strip() or "\0" in run:
        return "run must be a command, a text or a list of words"
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        return "timeout must be a number of seconds"
    return Check(tuple(patterns), run.strip(), float(min(seconds, limits.AFTER_EDIT_TOTAL)))


def names(checks: Iterable[Check]) -> Iterator[str]:
    """A line for each: for which files, and the whole command."""
    for check in checks:
        yield f"after_edit {' '.join(check.match)}: {check.run}"


# -- running them -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms checks run just now."""

    backend: TerminalBackend
    box: Box | None
    """None: they must not run."""
    why_not: str = ""
    """In words, with no box."""
    deny: Iterable[str] = ()
    """Patterns of commands that are never run."""
    redact: Callable[[str], str] = lambda text: text
    record: Callable[[str, Box], None] = lambda command, box: None
    """Writes down that a command is about to run. Raises StoreError; then it does not."""
    changing: Callable[[Box, ToolContext], Callable[[], None]] = lambda box, ctx: lambda: None
    """A command is about to run; what this gives is to be called when it has ended, to know what it changed."""


@dataclass(slots=True)
class _Said:
    """What is to be told of the checks of one call."""

    redact: Callable[[str], str]
    fine: list[str] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)
    room: int = limits.AFTER_EDIT_OUTPUT
    """Bytes of output that may still be told."""

    def failed(self, check: Check, how: str, result: ExecResult | None = None) -> None:
        output = "" if result is None else _output(result, self.room, self.redact)
        self.room -= len(output.encode("utf-8", "replace"))
        self.bad.append(f"[after_edit: `{check.name}` {how}]" + (f"\n{output}" if output else ""))


class Checker:
    """Runs the checks of one session. Safe to use from several threads: those of one call after those of another."""

    def __init__(self, tell: Callable[[Notice], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._told: set[str] = set()

    def run(self, found: CheckSet, paths: Iterable[Path], ctx: ToolContext, terms: Terms) -> Checked:
        """Run what is for these files (resolved); those outside of the workspace have no checks.

        Never raises for what a check does. When the call is cancelled the one that runs is ended, and no more do.
        """
        for problem in found.problems:
            self._tell_once(Notice("bad_after_edit", problem, "warning", {"what": problem}))
        below = [str(path.relative_to(ctx.workspace)) for path in paths if path.is_relative_to(ctx.workspace)]
        due = [check for check in found.checks if check.concerned(below)]
        if not due:
            return Checked()
        if terms.box is None:
            self._no_box(terms.why_not)
            return Checked()
        said = _Said(terms.redact)
        with self._alone(ctx.cancel):
            deadline = time.monotonic() + limits.AFTER_EDIT_TOTAL
            for check in due:
                if ctx.cancel.cancelled:
                    said.bad.append(f"[after_edit: stopped before `{check.name}`]")
                    break
                files = check.concerned(name for name in below if os.path.lexists(ctx.workspace / name))
                if files:
                    self._one(check, files, ctx, terms, terms.box, deadline - time.monotonic(), said)
                    gone = [name for name in files if not os.path.lexists(ctx.workspace / name)]
                    if gone:
                        said.bad.append(f"[after_edit: `{check.name}` removed {printable(', '.join(gone))}]")
        fine = [f"[after_edit: {', '.join(said.fine)} ok]"] if said.fine else []
        return Checked("\n".join((*fine, *said.bad)), bool(said.bad))

    def _one(
        self,
        check: Check,
        files: Sequence[str],
        ctx: ToolContext,
        terms: Terms,
        box: Box,
        left: float,
        said: _Said,
    ) -> None:
        """Run one check, for at most `left` seconds."""
        command = check.command(files)
        if why := _forbidden(command, terms.deny):
            said.failed(check, f"was not run: {why}")
            return
        seconds = min(check.seconds, left)
        if seconds <= 0:
            said.failed(check, f"was not run: those before it took {limits.AFTER_EDIT_TOTAL:.0f} s")
            return
        ctx.progress(f"after_edit: {check.name}")
        try:
            terms.record(command, box)
            ended = terms.changing(box, ctx)
            try:
                result = terms.backend.execute(
                    command, ctx.workspace, box=box, timeout=seconds, env=ctx.env, cancel=ctx.cancel
                )
            finally:
                ended()
        except SandboxError as error:
            self._no_box(error.text)
        except StoreError as error:
            log.warning("a check was not run: %s", error.text)
            said.failed(check, "was not run: that it runs could not be written down")
        except OSError as error:
            said.failed(check, f"could not be started: {error.strerror or error}")
        else:
            if result.exit_code == 0:
                said.fine.append(f"`{check.name}`")
            else:
                said.failed(check, _how(result, seconds), result)

    @contextmanager
    def _alone(self, cancel: CancelScope) -> Iterator[None]:
        """Wait for the checks of other calls, but not after `cancel`."""
        held = False
        while not held and not cancel.cancelled:
            held = self._lock.acquire(timeout=_WAIT)
        try:
            yield
        finally:
            if held:
                self._lock.release()

    def _no_box(self, why: str) -> None:
        text = f"The checks of after_edit were not run: {why.rstrip('.')}."
        self._tell_once(Notice("after_edit_not_run", text, "warning", {"why": why}))

    def _tell_once(self, notice: Notice) -> None:
        if notice.text not in self._told:
            self._told.add(notice.text)
            self._tell(notice)


def _forbidden(command: str, deny: Iterable[str]) -> str:
    """Why a command is never run, whoever has asked for it; "" otherwise."""
    from agent_core.safety import hardline  # no start waits for the rules
    from agent_core.safety.deny import denied

    if len(command.encode("utf-8", "surrogatepass")) > limits.COMMAND_BYTES:
        return "so many files do not fit into one command"
    if (hit := hardline.check(command)) is not None:
        return f"this command {hit.text}"
    if pattern := denied(command, deny):
        return f"the user's config never allows {pattern!r} (approvals.deny)"
    return ""


def _how(result: ExecResult, seconds: float) -> str:
    if result.interrupted:
        return f"was stopped by the user after {result.seconds:.1f} s; the change itself is made"
    if result.timed_out:
        return f"did not end within {seconds:.3g} s and was ended"
    if result.exit_code is None:
        return f"was ended by signal {result.signal}"
    return f"failed, exit code {result.exit_code}"


def _output(result: ExecResult, room: int, redact: Callable[[str], str]) -> str:
    """Both streams within `room` bytes. Keys are taken out before anything is cut: half a one is not known for one."""
    text = "\n".join(part for stream in (result.stdout, result.stderr) if (part := clean(stream).strip("\n")))
    return clamp(redact(text), room, "both") if room > limits.NOTE_BYTES else ""
