"""The user's own patterns of commands that are never run, whatever else allows them (APPR-12). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Final

from agent_core.safety.shell_args import first_operand, names
from agent_core.safety.shell_walk import Run, walk

UNJUDGED: Final = "(too long or too deeply nested to be compared)"
"""Stands for a pattern where it cannot be told whether one fits: what may be forbidden is not run."""

# Programs with subcommands → their options before it that take a value: "git push*" means `git -C x push` too.
_BEFORE: Final[dict[str, tuple[str, frozenset[str]]]] = {
    "git": ("Cc", names("git-dir work-tree namespace exec-path super-prefix config-env attr-source")),
    "docker": ("Hlc", names("host log-level context config tlscacert tlscert tlskey")),
    "kubectl": ("ns", names("namespace context cluster user server token kubeconfig as as-group cache-dir v")),
    "npm": ("Cw", names("prefix workspace loglevel registry userconfig")),
    "systemctl": ("HMnpst", names("host machine lines property type state")),
}


def denied(command: str, patterns: Iterable[str]) -> str:
    """The first of `patterns` that fits `command` or any command it would run; empty when none does.

    Patterns are shell globs over the text, letters' case aside: "git push*", "*prod*".
    """
    wanted = [pattern.strip() for pattern in patterns if pattern.strip()]
    if not wanted:
        return ""
    walked = walk(command)
    texts = [" ".join(command.split()).lower(), *(text.lower() for run in walked.runs for text in _readings(run))]
    found = next((p for p in wanted if any(fnmatchcase(text, p.lower()) for text in texts)), "")
    return found if found or walked.whole else UNJUDGED


def _readings(run: Run) -> Iterator[str]:
    """A run as a pattern may mean it: by its name, as a person reads it, without the options before its subcommand."""
    yield " ".join((run.name, *run.args))
    yield run.shown
    if run.name in _BEFORE:
        yield " ".join((run.name, *run.args[first_operand(list(run.args), *_BEFORE[run.name]) :]))
