"""The MCP servers of one program: which files name them, how each is reached, and what a face may do with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_core import limits, plain_files
from agent_core.cancel import CancelScope
from agent_core.config import write as config_write
from agent_core.config.paths import Places
from agent_core.errors import AgentError, ConfigError
from agent_core.mcp import config as mcp_config
from agent_core.mcp import kept
from agent_core.mcp.cache import ServerCache
from agent_core.mcp.config import CONFIG_KEY, Found, Source
from agent_core.mcp.managed import Managed, Peer, Wiring
from agent_core.mcp.manager import Servers
from agent_core.mcp.words import ServerConfig, ToolInfo
from agent_core.records import dataclass
from agent_core.sandbox.policy import SandboxPolicy
from agent_core.servers import ServerRow

if TYPE_CHECKING:
    from agent_core.extras.servers import ServersExtra
    from agent_core.mcp.oauth import Browser, OAuth
    from agent_core.session.services import Seat
    from agent_core.trust import Standing

CACHE_FOLDER: Final = "mcp"
"""Of cache/."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What the desk gives; the functions read files."""

    places: Places
    """Of the start."""
    environ: Mapping[str, str]
    look: Callable[[Path], tuple[Places, Standing]]
    """The places of a workspace, and how what it brings stands."""
    dotenv: Callable[[], Mapping[str, str]]
    redact: Callable[[str], str]
    keys: Callable[[], tuple[str, ...]]
    hide: Callable[[set[str]], None]
    """Have these values hidden wherever they show."""
    confine: Callable[[Path], SandboxPolicy | None]
    """The walls around a server with `sandbox`. Raises SandboxError."""
    unattended: bool = False
    file: Path | None = None
    """Servers of this run, beside the configured ones (--mcp)."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """What was set for this run, by dotted key (Launch.overrides)."""


@dataclass(frozen=True, slots=True)
class ServerView:
    """A server with all that a person may look at."""

    row: ServerRow
    tools: tuple[ToolInfo, ...] = ()
    warnings: tuple[str, ...] = ()
    """What of its tools cannot be used, and why."""
    noise: tuple[str, ...] = ()
    """What it wrote beside messages, the newest last."""


class ServerDesk:
    """Safe to use from several threads; every method but `close` may read files."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        cache = ServerCache(ground.places.cache_dir / CACHE_FOLDER)
        self._servers = Servers(self.found, self._made, cache, ground.redact)

    # -- which there are ------------------------------------------------------------------------------------------

    def found(self, workspace: Path) -> Found:
        """What the files name in a workspace now. Reads them."""
        ground = self._ground
        places, standing = ground.look(workspace)
        env = {**ground.dotenv(), **ground.environ}
        files = (*sources(places, standing, ground.file), *_given(ground.given))
        found = mcp_config.read(files, env, places.home)
        ground.hide({secret for config in found.servers for secret in mcp_config.secrets_of(config)})
        return found

    def any(self, workspace: Path) -> bool:
        """Whether any are named, so that a session is to have them."""
        return bool(self.found(workspace).servers)

    def extra(self, seat: Seat) -> ServersExtra:
        """What a session has of them."""
        from agent_core.extras.servers import ServersExtra

        return ServersExtra(seat, self._servers, unattended=self._ground.unattended, redact=self._ground.redact)

    def _made(self, wiring: Wiring) -> Peer:
        """A connection. Nobody logs in through it: who cannot be let in is told how to (R42)."""
        from agent_core.mcp.client import Around, Client

        ground, config = self._ground, wiring.config
        login = self._authorizer(config)
        around = Around(
            wiring.workspace,
            ground.environ,
            ground.keys(),
            confine=lambda: ground.confine(wiring.workspace),
            authorizer=login,
            elicit=wiring.elicit,
            redact=login.hide if login is not None else ground.redact,
            keep=self._keep,
        )
        return Client(
            config, around, hint=wiring.hint, on_tools_changed=wiring.tools_changed, on_state=wiring.state_changed
        )

    def _authorizer(self, config: ServerConfig) -> OAuth | None:
        if not config.url:
            return None
        from agent_core.mcp.login import store_in
        from agent_core.mcp.oauth import OAuth

        return OAuth(config, store_in(self._ground.places.data_home), None, hide=self._ground.redact)

    def _keep(self, data: bytes, media_type: str) -> str:
        """Write what a model cannot be given to a file it may read. Raises OSError."""
        return str(kept.write(self._ground.places.data_home, data, media_type))

    # -- for a face -----------------------------------------------------------------------------------------------

    def rows(self, workspace: Path) -> tuple[ServerRow, ...]:
        self._servers.of(workspace)
        return self._servers.rows(workspace)

    def problems(self, workspace: Path) -> tuple[ConfigError, ...]:
        """Of the files: with file and line."""
        return self.found(workspace).problems

    def managed(self, workspace: Path) -> tuple[Managed, ...]:
        return self._servers.of(workspace)

    def views(self, workspace: Path) -> tuple[ServerView, ...]:
        """All that the files name, with what those that count offer and wrote."""
        running = {managed.config.name: managed for managed in self._servers.of(workspace)}
        out = []
        for row in self._servers.rows(workspace):
            managed = running.get(row.name)
            if managed is None:
                out.append(ServerView(row))
            else:
                noise = tuple(self._ground.redact(line) for line in managed.noise())
                out.append(ServerView(row, managed.tools or (), managed.warnings, noise))
        return tuple(out)

    def restart(self, workspace: Path, name: str) -> None:
        """Raises AgentError "no_server"."""
        self._servers.restart(workspace, name)

    def log_in(self, workspace: Path, name: str, browser: Browser, cancel: CancelScope) -> None:
        """Have a person log in at a server, which is then started anew. Raises AgentError, Interrupted."""
        from agent_core.mcp.login import log_in, store_in

        managed = self._servers.find(workspace, name)
        log_in(managed.config, store_in(self._ground.places.data_home), browser, cancel, hide=self._ground.redact)
        managed.restart()

    def log_out(self, workspace: Path, name: str, cancel: CancelScope) -> bool:
        """Forget a log-in; False: there was none. Raises AgentError, Interrupted."""
        from agent_core.mcp.login import log_out, store_in

        managed = self._servers.find(workspace, name)
        return log_out(managed.config, store_in(self._ground.places.data_home), cancel)

    def enable(self, workspace: Path, name: str, on: bool) -> None:
        """Switch a server of the user's config.yaml on or off there. Raises AgentError, ConfigError."""
        found = next((one for one in self.found(workspace).servers if one.name == name), None)
        file = self._ground.places.config_file
        if found is None or found.place.rpartition(":")[0] != str(file):
            where = found.place if found is not None else str(file)
            raise AgentError(
                "not_ours_to_change", f"{name} stands in {where}. Change `enabled` there.", name=name, place=where
            )
        set_server_key(file, name, "enabled", None if on else False)

    def forget(self, workspace: Path) -> None:
        """No session works there any more: what runs for this folder alone is ended. Does not wait."""
        self._servers.forget(workspace)

    def close(self) -> None:
        """End all. Returns within a second."""
        self._servers.close()


def set_server_key(file: Path, name: str, key: str, value: Any) -> None:
    """Set one key of a server's entry in config.yaml; only its lines change. Raises ConfigError."""
    if "." in name:
        raise ConfigError(
            "server_name_dot", f"{file}: the name {name} has a dot in it. Change its entry in an editor.",
            file=str(file), name=name,
        )  # fmt: skip
    config_write.set_key(file, f"{CONFIG_KEY}.{name}.{key}" if key else f"{CONFIG_KEY}.{name}", value)


def sources(places: Places, standing: Standing, extra: Path | None = None) -> Iterator[Source]:
    """The files that may name servers, the weakest first; those of a project that is not trusted are held."""
    for path in (places.hermes_home / "config.yaml", places.config_file, places.data_home / "mcp.json"):
        yield from _source(path)
    held = standing.state != "trusted"
    for kind in ("config", "servers"):
        for file in standing.offer.files:
            if file.kind == kind:
                yield Source(str(file.path), file.data, True, held)
    if extra is not None:
        yield from _source(extra)


def _given(settings: Mapping[str, Any]) -> Iterator[Source]:
    """What of the settings of this run names servers: --set mcp_servers.NAME.command=..."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        first, *path = key.split(".")
        if first == CONFIG_KEY and not path and isinstance(value, Mapping):
            found.update(value)
        elif first == CONFIG_KEY and path:
            here = found
            for part in path[:-1]:
                here = here.setdefault(part, {})
            here[path[-1]] = value
    if found:
        yield Source("--set", json.dumps({CONFIG_KEY: found}).encode())


def _source(path: Path) -> Iterator[Source]:
    try:
        data = plain_files.read_regular(path, limits.CONFIG_FILE)
    except OSError:  # the config says so already; of mcp.json there is then nothing to be had
        data = None
    if data is not None:
        yield Source(str(path), data)
