"""credentials.json: the log-ins at MCP servers, readable by their owner alone (0600).

A log-in is kept by who gave it and what it is for; it is never sent to anybody else. Which one a server's URL uses
stands beside them. A file that cannot be understood holds no log-in, and is not written over. Source: R41.
"""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Literal

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.credentials import Secret
from agent_core.mcp.words import ServerFailure
from agent_core.plain_files import atomic_write, read_regular
from agent_core.records import dataclass
from agent_core.shared_file import is_anothers, lock, signature

VERSION: Final = 1
Document = dict[str, Any]

AuthMethod = Literal["client_secret_basic", "client_secret_post", "none"]
METHODS: Final[tuple[AuthMethod, ...]] = ("client_secret_basic", "client_secret_post", "none")
Made = Literal["configured", "document", "registered"]
_MADE: Final[tuple[Made, ...]] = ("configured", "document", "registered")


@dataclass(frozen=True, slots=True)
class Client:
    """As whom we are known to an authorization server."""

    id: str
    secret: Secret | None = None
    method: AuthMethod = "none"
    made: Made = "registered"
    port: int = 0
    """Of the redirect it is registered with; 0: any."""


@dataclass(frozen=True, slots=True)
class Login:
    """A log-in at one authorization server for one resource; without `access` only the client is known."""

    issuer: str
    resource: str
    client: Client
    token_url: str
    access: Secret | None = None
    refresh: Secret | None = None
    renew_at: float = 0.0
    """Somewhat before its end, seconds since the epoch; 0: that was not said."""
    scope: str = ""
    """What was asked for, or granted where that was said."""
    wanted: str = ""
    """What the server has refused for want of, when nobody could be asked: for the next log-in."""

    @property
    def key(self) -> tuple[str, str]:
        return self.issuer, self.resource


@dataclass(frozen=True, slots=True)
class Kept:
    """All that is kept."""

    logins: Mapping[tuple[str, str], Login] = field(default_factory=dict)
    servers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By a server's URL: the log-in it uses."""

    def of(self, url: str) -> Login | None:
        key = self.servers.get(url)
        return self.logins.get(key) if key is not None else None

    def with_login(self, url: str, login: Login) -> Kept:
        return Kept({**self.logins, login.key: login}, {**self.servers, url: login.key})

    def without(self, url: str) -> Kept:
        """The server's log-in goes, also from servers that share it."""
        key = self.servers.get(url)
        return Kept(
            {at: login for at, login in self.logins.items() if at != key},
            {at: used for at, used in self.servers.items() if used != key},
        )


class MemoryStore:
    """Log-ins for as long as the program lives. Safe to use from several threads."""

    def __init__(self) -> None:
        self._kept = Kept()
        self._changing = threading.RLock()

    def read(self) -> Kept:
        return self._kept

    def change(self, edit: Callable[[Kept], Kept], cancel: CancelScope) -> Kept:
        """Have `edit` make the next state of the present one. Raises ServerFailure "mcp_credentials", Interrupted."""
        with self.alone(cancel):
            self._kept = edit(self._kept)
            return self._kept

    @contextmanager
    def alone(self, cancel: CancelScope) -> Iterator[None]:
        """Nobody else changes it meanwhile; `change` may be called inside."""
        deadline = time.monotonic() + limits.CREDENTIALS_LOCKED
        while not self._changing.acquire(timeout=_WAIT):
            cancel.check()
            if time.monotonic() > deadline:
                raise _locked()
        try:
            yield
        finally:
            self._changing.release()


class FileStore(MemoryStore):
    """The same in a file at `path`; other programs see a change with their next `read`."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._seen: object = None
        self._depth = 0

    def read(self) -> Kept:
        """Cheap while the file stays as it is. Raises ServerFailure "mcp_credentials" when it cannot be used."""
        with self._changing:
            seen = signature(self.path)
            if seen is None:
                self._seen, self._kept = None, Kept()
            elif seen != self._seen:
                # The signature is of before the read: a change in between is seen as one the next time.
                self._kept = self._load()
                self._seen = seen
            return self._kept

    def change(self, edit: Callable[[Kept], Kept], cancel: CancelScope) -> Kept:
        with self.alone(cancel):
            before = self.read()
            after = edit(before)
            if after is not before:
                try:
                    atomic_write(self.path, _written(after))
                except OSError as error:
                    raise self._problem(f"cannot be written ({os.strerror(error.errno or 0)})") from error
            return self.read()

    @contextmanager
    def alone(self, cancel: CancelScope) -> Iterator[None]:
        with super().alone(cancel):
            if self._depth:  # this thread has the file's lock already
                yield
                return
            descriptor = self._lock(cancel)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                os.close(descriptor)

    def _lock(self, cancel: CancelScope) -> int:
        def wait() -> None:
            cancel.wait(_WAIT)
            cancel.check()

        try:
            return lock(self.path, limits.CREDENTIALS_LOCKED, wait)
        except BlockingIOError:
            raise _locked() from None
        except OSError as error:
            raise self._problem(f"cannot be written ({os.strerror(error.errno or 0)})") from error

    # -- the file --------------------------------------------------------------------------------------------------

    def _load(self) -> Kept:
        try:
            data = read_regular(self.path, limits.CREDENTIALS_FILE, follow=False)
            status = os.stat(self.path, follow_symlinks=False)
        except OSError as error:
            raise self._problem(f"cannot be read ({os.strerror(error.errno or 0)})") from error
        if is_anothers(status) or stat.S_IMODE(status.st_mode) & 0o077:
            raise ServerFailure(
                "mcp_credentials_open",
                f"{self.path} can be read or written by others. Look whether that was meant, then run: "
                f"chmod 600 {self.path}",
                path=str(self.path),
            )
        if data is None or len(data) > limits.CREDENTIALS_FILE:
            raise self._problem("is no file of log-ins")
        try:
            return _read(json.loads(data.decode() or "{}"))
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._problem("is no file of log-ins, or of a newer version") from None

    def _problem(self, what: str) -> ServerFailure:
        return ServerFailure(
            "mcp_credentials",
            f"{self.path} {what}, so there are no log-ins. Mend it, or delete it and log in anew.",
            path=str(self.path),
            what=what,
        )


_WAIT: Final = 0.05  # seconds between two looks at a lock


def _locked() -> ServerFailure:
    return ServerFailure("mcp_credentials_locked", "Another program is renewing a log-in. Try again in a moment.")


# -- from and to JSON -----------------------------------------------------------------------------------------------


def _written(kept: Kept) -> bytes:
    document = {
        "version": VERSION,
        "servers": {url: {"issuer": issuer, "resource": resource} for url, (issuer, resource) in kept.servers.items()},
        "logins": [_entry(login) for login in kept.logins.values()],
    }
    return (json.dumps(document, indent=2) + "\n").encode()


def _entry(login: Login) -> Document:
    client, access, refresh = login.client, login.access, login.refresh
    return {
        "issuer": login.issuer,
        "resource": login.resource,
        "token_url": login.token_url,
        "client": {
            "id": client.id,
            # A configured secret stays where it was configured.
            "secret": client.secret.reveal() if client.secret and client.made == "registered" else "",
            "method": client.method,
            "made": client.made,
            "port": client.port,
        },
        "access_token": access.reveal() if access else "",
        "refresh_token": refresh.reveal() if refresh else "",
        "renew_at": login.renew_at,
        "scope": login.scope,
        "wanted": login.wanted,
    }


def _read(document: Any) -> Kept:
    """Raises ValueError, TypeError, KeyError for what is none."""
    if not isinstance(document, dict) or document.get("version", VERSION) != VERSION:
        raise ValueError
    logins = [_login(entry) for entry in document.get("logins", [])]
    servers = {_text(url): (_text(at["issuer"]), _text(at["resource"])) for url, at in document["servers"].items()}
    return Kept({login.key: login for login in logins}, servers)


def _login(entry: Document) -> Login:
    client = entry["client"]
    return Login(
        _text(entry["issuer"]),
        _text(entry["resource"]),
        Client(
            _text(client["id"]),
            _secret(client["secret"]),
            METHODS[METHODS.index(client["method"])],
            _MADE[_MADE.index(client["made"])],
            int(client["port"]),
        ),
        _text(entry["token_url"]),
        _secret(entry["access_token"]),
        _secret(entry["refresh_token"]),
        float(entry["renew_at"]),
        _text(entry["scope"]),
        _text(entry["wanted"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _secret(value: object) -> Secret | None:
    return Secret(_text(value), "a log-in") if value else None
