"""From a policy to the launcher's plan: plain numbers and bytes, all decided."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from agent_core.records import dataclass
from agent_core.sandbox import bpf, landlock, mounts
from agent_core.sandbox.policy import SandboxPolicy
from agent_core.sandbox.rlimits import limits_of, processes_of

_CAP_CHOWN: Final = 0
_CAP_DAC_OVERRIDE: Final = 1
_CAP_FOWNER: Final = 3

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
    looks = policy.looks and bool(kernel.view_by) and not policy.writable
    rights = landlock.rights(kernel.landlock_abi, network=policy.network, opens=not looks)
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
        "kept": _kept_capabilities(policy, cwd, kernel.view_by == "root"),
        "filter": program,
    }
    return made, held


def _kept_capabilities(policy: SandboxPolicy, cwd: Path, root_view: bool) -> int:
    """What root keeps where it works in somebody else's folder, as in a container on files of the host; a mask.

    Without it root is nobody special there and could not write at all. Where one may write is Landlock's affair
    still; owner and mode of what is outside are only the view's, so without one there is no right to change those.
    """
    if os.geteuid() != 0 or all(_owner(folder) == 0 for folder in (*policy.writable, cwd)):
        return 0
    kept = 1 << _CAP_DAC_OVERRIDE
    return kept | 1 << _CAP_CHOWN | 1 << _CAP_FOWNER if root_view and policy.writable else kept


def _owner(folder: Path) -> int:
    try:
        return folder.stat().st_uid
    except OSError:  # gone
        return 0


def _known_fields(abi: int) -> int:
    return 3 if abi >= 6 else 2 if abi >= 4 else 1


@cache
def _filter(machine: str, network: bool, metadata: bool) -> bytes:
    return bpf.assemble(machine, network=network, metadata=metadata)
