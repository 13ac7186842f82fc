"""Limits of a command that need no cgroup: numbers for setrlimit."""

from __future__ import annotations

import resource
from pathlib import Path

from agent_core.sandbox.policy import SandboxPolicy


def limits_of(policy: SandboxPolicy) -> list[tuple[int, int]]:
    """(resource, value), soft and hard alike. No core files: a crash handler would run outside."""
    found = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, policy.max_file)]
    if policy.max_memory:
        # Data, not address space: node and others reserve far more of that than they use.
        found.append((resource.RLIMIT_DATA, policy.max_memory))
    return found


def processes_of(policy: SandboxPolicy, *, own_namespace: bool) -> int:
    """The most processes the command's user may have.

    In a user namespace of its own the command is counted alone. Elsewhere all that the user runs counts, so that the
    bound is laid upon what the machine has now.
    """
    if own_namespace:
        return policy.max_processes
    try:
        running = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        running = 0
    return running + policy.max_processes
