"""What the kernel shall let a command do, as data. Who enforces it: launcher.py; who fills it in: confinement.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.names import SandboxMode
from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """What a command runs in: the part of a policy that rules decide about and a person is told of."""

    mode: SandboxMode
    network: bool = False

    @property
    def words(self) -> str:
        """As a person is told: "read-only", "workspace-write, network", "no sandbox"."""
        if self == UNCONFINED:
            return "no sandbox"
        return f"{self.mode}, network" if self.network else self.mode


UNCONFINED: Final = Box("danger-full-access", network=True)
READ_ONLY: Final = Box("read-only")


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """What the launcher enforces for one command. All paths are absolute and resolved.

    Reading is allowed everywhere but in `hidden`, writing nowhere but below `writable` and `tmp`. Sources: S1 to S13.
    """

    writable: tuple[Path, ...]
    """Folders; none in a read-only box."""
    tmp: Path
    """A private folder of mode 0700 that is always writable."""
    read_only: tuple[Path, ...] = ()
    """Places below `writable` that stay as they are, also when they do not exist yet (S11)."""
    hidden: tuple[Path, ...] = ()
    """Files and folders that cannot be read: keys, and what the user's ignore file names."""
    inodes: Mapping[Path, int] = field(default_factory=dict)
    """Of some of those, what has to be in their place still when they are covered; else nothing is started."""
    network: bool = False
    looks: bool = False
    """A program of the user's with words of ours, that opens very many files only to read them. Where there is a mount
    view, which can be written nowhere and shows nothing hidden, Landlock then judges no reading: to ask it at each open
    takes a fifth of a search."""
    env: Mapping[str, str] = field(default_factory=dict)
    """What a confined command gets beside its environment: TMPDIR, folders for caches."""
    cgroups: tuple[Path, ...] = ()
    """Leaves to join; who made them has set their bounds."""
    max_processes: int = limits.SANDBOX_PROCESSES
    max_file: int = limits.SANDBOX_FILE
    """Bytes of one file."""
    max_memory: int = 0
    """Bytes of one process' data, where no cgroup bounds it; 0: no bound."""


@dataclass(frozen=True, slots=True)
class Apart:
    """Walls for one command that may outlive the session."""

    policy: SandboxPolicy
    """With a folder for temporary files and a control group of its own."""
    held: int
    """A descriptor: while it, or a copy of it, is open, nobody takes the folder for one that was left behind."""
