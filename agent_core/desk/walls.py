"""How far commands are held on this machine: what the kernel can, what the person has set, each session's own walls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent_core.config.load import Config
from agent_core.config.paths import Places
from agent_core.errors import ConfigError
from agent_core.grants_file import GrantsFile
from agent_core.names import MODES_ALONE, MODES_WITHOUT_SANDBOX, SANDBOX_MODES, Mode, SandboxMode
from agent_core.ports.asking import Decided
from agent_core.ports.tools import IsHidden
from agent_core.session.services import Containment, Walls

if TYPE_CHECKING:
    from agent_core.confinement import Confinement, Options


class WallsDesk:
    """Of one program run. Safe to use from any thread; methods read and write files."""

    def __init__(
        self,
        places: Places,
        environ: Mapping[str, str],
        grants: GrantsFile,
        config: Callable[[], Config],
        options: Callable[[], Options],
        hidden: Callable[[Path], IsHidden],
        record: Callable[[Path, Decided], None],
    ) -> None:
        """`config` and `options`: as they are now. `hidden`: what is hidden from commands of a workspace.

        `record` writes a decision about a folder, or with Path() about the machine, down.
        """
        self._places = places
        self._environ = environ
        self._grants = grants
        self._config = config
        self._options = options
        self._hidden = hidden
        self._record = record
        self._lock = threading.Lock()
        self._walls: dict[str, Confinement] = {}
        """By session."""

    def containment(self) -> Containment:
        """How far the kernel holds commands on this machine, and what the person has set.

        The first call tries it out: not on a screen's thread.
        """
        from agent_core.sandbox.probe import layers  # the first frame does not wait for it

        get, found = self._config().get, layers()
        sandbox: SandboxMode = next((m for m in SANDBOX_MODES if m == get("sandbox.mode")), "workspace-write")
        accepted = self._grants.read().no_sandbox
        return Containment(sandbox, found.can_confine, get("sandbox.network"), accepted, found.missing, found.why)

    def of(self, session_id: str, workspace: Path) -> Walls:
        """The walls of a session in a workspace; made when they are first asked for."""
        from agent_core.confinement import Confinement

        with self._lock:
            walls = self._walls.get(session_id)
            if walls is None:
                walls = self._walls[session_id] = Confinement(
                    workspace,
                    self._places.home,
                    self._places.data_home,
                    lambda: self._hidden(workspace),
                    self._options(),
                    environ=self._environ,
                )
        return Walls(walls.policy, walls.gap, walls.apart, walls.warm)

    def accept_none(self, accepted: bool = True) -> None:
        """On this machine commands may run without a sandbox, or no longer. Raises ConfigError, StoreError."""
        verdict: Literal["allow", "refuse"] = "allow" if accepted else "refuse"
        self._record(Path(), Decided("mode", "no sandbox", verdict, "for this machine", "person"))
        self._grants.accept_no_sandbox(accepted)

    def confirm_mode(self, workspace: Path, mode: Mode) -> None:
        """Entering it asks no more in this workspace. Raises ConfigError, StoreError."""
        self._record(workspace, Decided("mode", mode, "allow", "confirmed", "person", str(workspace)))
        self._grants.confirm_mode(str(workspace), mode)

    def check_mode(self, mode: Mode) -> None:
        """Raises ConfigError "mode_needs_sandbox" when sessions cannot be in this mode here, with the way out."""
        now = self.containment()
        if mode in MODES_ALONE and not (now.kernel or now.accepted or now.sandbox == "danger-full-access"):
            raise ConfigError(
                "mode_needs_sandbox",
                f"Mode {mode} needs the kernel sandbox, which this machine does not have. Use --yolo to run without "
                "one, or start the program and accept it for this machine with /no-sandbox.",
                mode=mode,
                modes=MODES_WITHOUT_SANDBOX,
            )

    def put_away(self, session_id: str) -> None:
        """A session is closed: take what its walls need off the disk."""
        with self._lock:
            walls = self._walls.pop(session_id, None)
        if walls is not None:
            walls.close()

    def close(self) -> None:
        """The same of every session."""
        for session_id in tuple(self._walls):
            self.put_away(session_id)
