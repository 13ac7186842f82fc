"""What confines commands on this machine, and whether it holds."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.confinement import Confinement
from agent_core.doctor.check import Case, Check, State
from agent_core.errors import SandboxError
from agent_core.names import APP
from agent_core.process.command import LocalBackend
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox.env import child_env
from agent_core.sandbox.landlock import NEEDED_ABI
from agent_core.sandbox.policy import Box
from agent_core.text.printable import printable


def sandbox(case: Case) -> Iterator[Check]:
    if case.patient.system != "Linux":
        text = f"{case.patient.system} has none that this program can use: every command asks."
        yield Check("landlock", "Sandbox", "warn", text, "Use Linux, or a Linux machine in a window (WSL, a VM).")
        return
    config, found = case.config, case.layers
    waived = case.grants.read().no_sandbox or config.get("sandbox.mode") == "danger-full-access"
    lacking: State = "warn" if waived else "fail"
    if found.landlock_abi >= NEEDED_ABI:
        gap = " Before ABI 6 it keeps no signals from processes outside." if "signals" in found.missing else ""
        yield Check("landlock", "Sandbox: Landlock", "ok", f"ABI {found.landlock_abi}.{gap}")
    else:
        what = f"ABI {found.landlock_abi} is too old" if found.landlock_abi else found.landlock_error
        yield Check("landlock", "Sandbox: Landlock", lacking, f"Missing: {what}.", _landlock_fix(found.landlock_error))
    if found.seccomp:
        yield Check("seccomp", "Sandbox: calls", "ok", f"Filtered by seccomp ({found.arch}).")
    else:
        fix = "It needs Linux on x86_64 or aarch64 with seccomp; a container may switch it off."
        yield Check("seccomp", "Sandbox: calls", lacking, f"seccomp filters are missing ({found.arch}).", fix)
    if not found.can_confine:
        yield Check("mounts", "Sandbox: view", "skip", "Not tried: it adds to the layers above.")
    elif found.mount_view:
        yield Check("mounts", "Sandbox: view", "ok", f"Read-only view of the file system, by {_VIEWS[found.view_by]}.")
    else:
        text = (
            f"Missing, so file times, modes and .git in the workspace are not protected: {printable(found.view_error)}"
        )
        yield Check("mounts", "Sandbox: view", "warn", text, _NAMESPACES)
    if found.cgroup:
        yield Check("cgroup", "Sandbox: bounds", "ok", f"Control groups {found.cgroup}.")
    else:
        text = "No control group can be made here; limits of single processes have to do."
        fix = f"systemd-run --user --scope -p Delegate=yes {APP}"
        yield Check("cgroup", "Sandbox: bounds", "warn", text, fix)
    yield from _confined(case, lacking)


_VIEWS: Final[Mapping[str, str]] = {"root": "root's rights", "user": "a user namespace"}


_NAMESPACES: Final = (
    "Allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, or where AppArmor restricts them "
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container, its seccomp profile."
)


def _landlock_fix(error: str) -> str:
    if "EOPNOTSUPP" in error:
        return "Switch it on at boot: add landlock to the kernel's lsm= list."
    if "EPERM" in error or "EACCES" in error:
        return "Something forbids the call: let the container's seccomp profile allow landlock_create_ruleset."
    return "Use Linux 6.2 or newer with Landlock. Until then every command asks; /no-sandbox says more."


_TRIAL: Final = "echo x > inside && { ! echo x > ../outside; } 2>/dev/null"


def _confined(case: Case, lacking: State) -> Iterator[Check]:
    """Whether the walls hold: a command that writes in its folder, and tries to write beside it."""
    title = "Sandbox: trial"
    if not case.layers.can_confine:
        yield Check("confined", title, "skip", "Nothing to try.")
        return
    with tempfile.TemporaryDirectory(prefix="nanoherm-") as name:
        folder = Path(os.path.realpath(name))
        workspace = folder / "workspace"
        workspace.mkdir()
        walls = Confinement(
            workspace, case.places.home, case.places.data_home, lambda: nothing_more, environ=case.env,
            probe=lambda: case.layers,
        )  # fmt: skip
        try:
            result = LocalBackend(walls.policy).execute(
                _TRIAL, workspace, box=Box("workspace-write"), timeout=limits.DOCTOR_PROGRAM, env=child_env(case.env),
                cancel=CancelScope(),
            )  # fmt: skip
        except SandboxError as error:
            yield Check("confined", title, lacking, error.text, "The lines above say which layer is missing.")
            return
        finally:
            walls.close()
        inside, outside = (workspace / "inside").exists(), (folder / "outside").exists()
    if outside:
        yield Check("confined", title, "fail", "A confined command could write outside of its folder!", "Report this.")
    elif result.exit_code != 0 or not inside:
        why = printable(result.stderr.strip().partition("\n")[0])[: limits.SUBJECT_CHARS] or f"exit {result.exit_code}"
        yield Check("confined", title, lacking, f"A confined command does not work: {why}", "Report this.")
    else:
        seconds = f"{result.seconds * 1000:.0f} ms"
        yield Check("confined", title, "ok", f"A command wrote in its folder and could not beside it ({seconds}).")
