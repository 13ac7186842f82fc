"""Clients of the bad servers in tests/fakes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from agent_core.mcp.client import Around, Client
from agent_core.mcp.words import ServerConfig

FAKES = Path(__file__).parents[1] / "fakes"
BAD = str(FAKES / "mcp_bad_server.py")
BAD_HTTP = str(FAKES / "mcp_bad_http_server.py")


def stdio(folder: Path, *modes: str, client: dict | None = None, around: dict | None = None, **config) -> Client:
    """A client of the bad server in these modes; nothing is started yet."""
    entry = ServerConfig("bad", **{"command": sys.executable, "args": (BAD, *modes), **config})
    return Client(entry, Around(folder, **(around or {})), **(client or {}))


class HttpServer:
    """The bad HTTP server, as a program of its own."""

    def __enter__(self) -> HttpServer:
        self._process = subprocess.Popen([sys.executable, BAD_HTTP], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def client(self, path: str, *, client: dict | None = None, around: dict | None = None, **config) -> Client:
        entry = ServerConfig("bad", url=f"{self.url}/{path}", **{"type": "http", "startup_timeout": 10, **config})
        return Client(entry, Around(Path("/"), **(around or {})), **(client or {}))

    def seen(self, mode: str) -> list[list]:
        """[mode, HTTP method, method, session, version, had Authorization] of each request in a mode."""
        import httpx

        return [row for row in httpx.get(f"{self.url}/_seen", trust_env=False).json() if row[0] == mode]


def until(true: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Wait for something that happens in another thread or process."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def is_running(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
