"""From a policy to the launcher's plan: plain numbers and bytes, all decided."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from agent_core.sandbox import bpf, landlock, mounts
from agent_core.sandbox.policy import SandboxPolicy
from agent_core.sandbox.rlimits import limits_of, processes_of

ViewBy = Literal["", "root", "user"]
"""How a mount view can be had: not, as root, by a user namespace."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the plan has to reckon with."""

    landlock_abi: int
    view_by: ViewBy
    machine: str


def plan(
    argv: Sequence[str], cwd: Path, policy: SandboxPolicy, kernel: Kernel
) -> tuple[dict[str, Any], list[mounts.Placeholder]]:
    """What the launcher is given, and what is to be released when the command has ended.

    Raises SandboxError for a processor whose system calls are not known.
    """
    # Without a view nothing else keeps mode, owner and times of what cannot be written.
    metadata = bool(kernel.view_by) or bool(policy.writable)
    program = _filter(kernel.machine, policy.network, metadata)
    rights = landlock.rights(kernel.landlock_abi, network=policy.network)
    rules = landlock.rules(policy, rights.files, mount_view=bool(kernel.view_by))
    view, held = mounts.view(policy, by_user=kernel.view_by == "user") if kernel.view_by else (None, [])
    made = {
        "parent": os.getpid(),
        "argv": [os.fsencode(word) for word in argv],
        "cwd": os.fsencode(cwd),
        "limits": limits_of(policy),
        "processes": processes_of(policy, own_namespace=kernel.view_by == "user"),
        "cgroups": [os.fsencode(group) for group in policy.cgroups],
        "view": view,
        "landlock": {
            # Older kernels know a shorter structure.
            "handled": [rights.files, rights.tcp, rights.scopes][: _known_fields(kernel.landlock_abi)],
            "rules": [(os.fsencode(path), allowed) for path, allowed in rules],
            "of_files": landlock.OF_FILES,
            "flags": rights.restrict_flags,
        },
        "filter": program,
    }
    return made, held


def _known_fields(abi: int) -> int:
    return 3 if abi >= 6 else 2 if abi >= 4 else 1


@cache
def _filter(machine: str, network: bool, metadata: bool) -> bytes:
    return bpf.assemble(machine, network=network, metadata=metadata)
