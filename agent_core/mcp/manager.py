"""All MCP servers of one program: shared by its sessions, each started at most once for a folder.

What runs is what the files name now: an entry that has changed is another server, one that is gone is ended.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agent_core import limits
from agent_core.errors import AgentError, ConfigError
from agent_core.mcp.cache import ServerCache, key_of
from agent_core.mcp.config import Found, address_of
from agent_core.mcp.managed import Make, Managed
from agent_core.mcp.words import ServerConfig, ServerFailure
from agent_core.servers import ServerRow, ServerState
from agent_core.text.printable import printable

log = logging.getLogger(__name__)

Listener = Callable[[], None]


class Servers:
    """Safe to use from several threads."""

    def __init__(
        self, look: Callable[[Path], Found], make: Make, cache: ServerCache, redact: Callable[[str], str]
    ) -> None:
        """`look`: what a workspace's files name now; it reads them."""
        self._look, self._make, self._cache, self._redact = look, make, cache, redact
        self._lock = threading.Lock()
        self._found: dict[Path, Found] = {}
        self._running: dict[str, Managed] = {}
        self._listeners: list[Listener] = []
        self._telling: threading.Timer | None = None
        self._closed = False
        self._told_problems: set[str] = set()

    # -- which there are ------------------------------------------------------------------------------------------

    def of(self, workspace: Path) -> tuple[Managed, ...]:
        """Those that count in a workspace now, in the order of the config. Reads files; starts nothing."""
        found = self._look(workspace)
        with self._lock:
            if self._closed:
                return ()
            self._found[workspace] = found
            used = {
                key_of(config, str(folder)): (config, folder)
                for folder, one in self._found.items()
                for config in _usable(one)
            }
            gone = [key for key, managed in self._running.items() if key not in used or managed.config != used[key][0]]
            ended = [self._running.pop(key) for key in gone]
            for key, (config, folder) in used.items():
                if key not in self._running:
                    self._running[key] = Managed(config, self._make, self._cache, folder, self._changed)
            here = tuple(self._running[key_of(config, str(workspace))] for config in _usable(found))
        for managed in ended:
            threading.Thread(target=managed.close, name="mcp-end", daemon=True).start()
        return here

    def forget(self, workspace: Path) -> None:
        """No session works there any more: servers that are for this folder alone end."""
        with self._lock:
            if self._found.pop(workspace, None) is None:
                return
            used = {key_of(config, str(folder)) for folder, one in self._found.items() for config in _usable(one)}
            ended = [self._running.pop(key) for key in tuple(self._running) if key not in used]
        for managed in ended:
            threading.Thread(target=managed.close, name="mcp-end", daemon=True).start()

    def find(self, workspace: Path, name: str) -> Managed:
        """The server of this name that counts in a workspace. Raises AgentError "no_server"."""
        servers = self.of(workspace)
        for managed in servers:
            if managed.config.name == name:
                return managed
        there = ", ".join(managed.config.name for managed in servers) or "none"
        raise AgentError(
            "no_server", f"There is no MCP server {name[:60]!r} that can be used. There are: {there}.",
            name=name[:60], servers=there,
        )  # fmt: skip

    def new_problems(self, workspace: Path) -> tuple[ConfigError, ...]:
        """What is wrong with the files of a workspace as they were read last; each is given once."""
        with self._lock:
            found = self._found.get(workspace, Found()).problems
            new = {problem.text: problem for problem in found if problem.text not in self._told_problems}
            self._told_problems |= new.keys()
        return tuple(new.values())

    # -- how they are ---------------------------------------------------------------------------------------------

    def rows(self, workspace: Path) -> tuple[ServerRow, ...]:
        """All that the files name, as they are now: those that do not count too."""
        with self._lock:
            found = self._found.get(workspace)
        if found is None:
            self.of(workspace)
            with self._lock:
                found = self._found.get(workspace, Found())
        return tuple(self._row(config, workspace, config.name in found.held) for config in found.servers)

    def _row(self, config: ServerConfig, workspace: Path, held: bool) -> ServerRow:
        with self._lock:
            managed = self._running.get(key_of(config, str(workspace)))
        state: ServerState = "untrusted" if held else "invalid" if config.problem else "off"
        plain = ServerRow(
            printable(config.name),
            state if config.enabled or held else "off",
            config.type,
            printable(config.place),
            address_of(config, self._redact) if config.command or config.url else "",
            trusted=config.trust,
            required=config.required,
            problem=printable(self._redact(config.problem)),
            code="mcp_entry" if config.problem else "",
            params=self._named(config) if config.problem else {},
        )
        if held or not config.enabled or config.problem or managed is None:
            return plain
        now = managed.state  # read before its reason: the other way round one that fails meanwhile has none
        known, left, failure = managed.known, managed.retry_in, managed.failure
        info = known.info if known is not None else None
        return ServerRow(
            plain.name,
            now,
            plain.transport,
            plain.place,
            plain.address,
            title=printable(" ".join(filter(None, (info.title or info.name, info.version)))) if info else "",
            protocol=printable(info.protocol) if info else "",
            tools=len(managed.tools or ()),
            resources="resources" in info.capabilities if info else False,
            prompts="prompts" in info.capabilities if info else False,
            trusted=config.trust,
            required=config.required,
            problem=self._redact(failure.text) if failure is not None else "",
            code=failure.code if failure is not None else "",
            params=self._told(failure),
            retry_at=time.time() + left if left else 0.0,
        )

    def _named(self, config: ServerConfig) -> Mapping[str, Any]:
        """What is wrong with an entry, for faces that have words of their own."""
        named = {key: printable(self._redact(value)) if isinstance(value, str) else value
                 for key, value in config.problem_named.items()}  # fmt: skip
        return {"server": printable(config.name), "place": printable(config.place), **named}

    def _told(self, failure: ServerFailure | None) -> Mapping[str, Any]:
        """What a failure is told with, without keys."""
        params = failure.params if failure is not None else {}
        return {name: self._redact(value) if isinstance(value, str) else value for name, value in params.items()}

    def restart(self, workspace: Path, name: str) -> None:
        """End it and start it again. Does not wait. Raises AgentError "no_server"."""
        self.find(workspace, name).restart()

    # -- telling --------------------------------------------------------------------------------------------------

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have `listener` called, in any thread, soon after something has changed. Returns what takes it back."""
        with self._lock:
            self._listeners.append(listener)

        def release() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return release

    def _changed(self) -> None:
        """Called under locks of a server: others are told a moment later, and many changes at once."""
        with self._lock:
            if self._telling is None and not self._closed:
                self._telling = threading.Timer(limits.MCP_TELL, self._tell)
                self._telling.daemon = True
                self._telling.start()

    def _tell(self) -> None:
        with self._lock:
            self._telling = None
            listeners = tuple(self._listeners)
        for listener in listeners:
            try:
                listener()
            except Exception:  # one that fails must not keep the others from hearing
                log.exception("telling of the MCP servers failed")

    def close(self) -> None:
        """End all. Returns within a second; programs that do not go are ended with everything of ours."""
        with self._lock:
            self._closed = True
            servers, timer = tuple(self._running.values()), self._telling
            self._running.clear()
            self._listeners.clear()
        if timer is not None:
            timer.cancel()
        threads = [threading.Thread(target=managed.close, name="mcp-end", daemon=True) for managed in servers]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + limits.MCP_END
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _usable(found: Found) -> tuple[ServerConfig, ...]:
    return tuple(
        config
        for config in found.servers
        if config.enabled and not config.problem and config.name not in found.held
    )  # fmt: skip
