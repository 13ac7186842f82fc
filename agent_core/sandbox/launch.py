"""A command and its policy, made ready to be spawned inside walls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent_core.errors import SandboxError
from agent_core.sandbox.landlock import NEEDED_ABI
from agent_core.sandbox.plan import plan
from agent_core.sandbox.policy import SandboxPolicy
from agent_core.sandbox.probe import layers
from agent_core.sandbox.program import WAY_OUT, Launch, interpreter, launch, refusal

__all__ = ["Launch", "prepare"]


def prepare(argv: Sequence[str], cwd: Path, policy: SandboxPolicy) -> Launch:
    """Everything that a spawned process needs to become `argv` within `policy`. Blocks for some milliseconds.

    The process is started with Launch.argv and pass_fds, by a thread that lives as long as the program; with
    Launch.failure() it tells whether the command was started, and close() is due when all of it has ended. Raises
    SandboxError when this machine cannot confine, OSError when descriptors run out.
    """
    here = layers()
    if not here.can_confine:
        code = "sandbox_landlock" if here.landlock_abi < NEEDED_ABI else "sandbox_seccomp"
        raise SandboxError(code, f"This kernel cannot confine commands ({here.why}). {WAY_OUT}", reason=here.why)
    by = interpreter((*policy.writable, policy.tmp), can_pin=here.mount_view)
    try:
        made, held = plan(argv, cwd, replace(policy, read_only=(*policy.read_only, *by.pins)), here.kernel)
    except OSError as error:
        raise refusal("mounts", str(error)) from error
    return launch(made, policy.env, by, held)
