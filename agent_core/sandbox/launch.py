"""A command and its policy, made ready to be spawned inside walls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_core.errors import SandboxError
from agent_core.sandbox.landlock import NEEDED_ABI
from agent_core.sandbox.plan import plan
from agent_core.sandbox.policy import SandboxPolicy
from agent_core.sandbox.probe import Layers, layers
from agent_core.sandbox.program import Launch, launch, refusal

__all__ = ["Launch", "prepare"]


def prepare(argv: Sequence[str], cwd: Path, policy: SandboxPolicy) -> Launch:
    """Everything that a spawned process needs to become `argv` within `policy`. Blocks for some milliseconds.

    The process is started with Launch.argv and pass_fds, by a thread that lives as long as the program; with
    Launch.failure() it tells whether the command was started, and close() is due when all of it has ended. Raises
    SandboxError when this machine cannot confine, OSError when descriptors run out.
    """
    here = layers()
    if not here.can_confine:
        raise _cannot(here)
    try:
        made, held = plan(argv, cwd, policy, here.kernel)
    except OSError as error:
        raise refusal("mounts", str(error)) from error
    unsafe = (*policy.writable, policy.tmp)
    return launch(made, policy.env, unsafe, [place.release for place in held])


def _cannot(here: Layers) -> SandboxError:
    if here.landlock_abi < NEEDED_ABI:
        why = here.landlock_error or f"Landlock ABI {here.landlock_abi}, {NEEDED_ABI} is needed"
        code = "sandbox_landlock"
    else:
        code, why = "sandbox_seccomp", f"no system call filter on {here.arch}"
    text = f"This kernel cannot confine commands ({why}). Nothing was run. Running without a sandbox has to be allowed."
    return SandboxError(code, text, reason=why)
