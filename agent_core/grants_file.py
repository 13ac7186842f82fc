"""grants.json: what a person has allowed for good, on this machine. Every running program sees a change at once.

The file is theirs to edit. One that cannot be understood grants nothing, is never written over, and is named with what
is wrong in it; fields that nobody here knows survive. A project's files have no say in it (A7).
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from agent_core import limits
from agent_core.errors import ConfigError
from agent_core.names import MODES_ALONE, SANDBOX_MODES, Mode
from agent_core.plain_files import atomic_write, read_regular
from agent_core.records import dataclass
from agent_core.sandbox.policy import UNCONFINED, Box
from agent_core.shared_file import is_anothers, lock, others_may_write, signature

VERSION: Final = 1
_LATEST: Final = 1e11  # seconds since the epoch; a later time is none

Document = dict[str, Any]
Edit = Callable[[Document], None]
"""Changes the document in place."""


@dataclass(frozen=True, slots=True)
class CommandGrant:
    """A command that may run unasked: exactly this text in this folder, or whatever begins with these words."""

    text: str
    prefix: bool
    box: Box
    """The widest that it was allowed in; it says nothing about a wider one."""
    workspace: str = ""
    """Resolved; empty: in any."""
    cwd: str = ""
    """Of an exact one; empty: any folder of the workspace."""
    program: str = ""
    """Of a prefix: the file that its first word was then; another one is not meant. Empty: any."""
    when: float = 0.0
    """Seconds since the epoch."""
    session: str = ""
    """The one it was granted in."""

    @property
    def pattern(self) -> str:
        """As a person reads it: the words and a star, or the exact text."""
        return f"{self.text} *" if self.prefix else self.text

    def same_as(self, other: CommandGrant) -> bool:
        """Whether both say the same, whenever they were written."""
        return _meaning(self) == _meaning(other)


@dataclass(frozen=True, slots=True)
class HostGrant:
    """A host of the web that may be asked without a person: for its pages, or to search."""

    host: str
    """In ASCII; "*.example.org" is all below example.org, and that itself."""
    is_search: bool = False
    when: float = 0.0
    """Seconds since the epoch."""
    session: str = ""
    """The one it was granted in."""

    @property
    def pattern(self) -> str:
        return self.host


@dataclass(frozen=True, slots=True)
class ServerGrant:
    """A tool of an MCP server that may be called without a person."""

    server: str
    tool: str
    identity: str
    """Which server that was (ServerAction.identity): another one of the same name is not meant."""
    when: float = 0.0
    """Seconds since the epoch."""
    session: str = ""
    """The one it was granted in."""

    @property
    def pattern(self) -> str:
        return f"{self.server}: {self.tool}"


Grant = CommandGrant | HostGrant | ServerGrant


def covers_host(pattern: str, host: str) -> bool:
    """Whether a host is the one that is meant; "*.example.org" means that and all below it. Capitals do not count."""
    pattern, host = pattern.lower().rstrip("."), host.lower()
    if pattern.startswith("*."):
        return bool(pattern[2:]) and (host == pattern[2:] or host.endswith(pattern[1:]))
    return host == pattern


@dataclass(frozen=True, slots=True)
class Written:
    """What the file says. With a `problem` it grants nothing."""

    commands: tuple[CommandGrant, ...] = ()
    hosts: tuple[HostGrant, ...] = ()
    servers: tuple[ServerGrant, ...] = ()
    modes: Mapping[str, frozenset[Mode]] = field(default_factory=dict)
    """By workspace: the modes that were confirmed there."""
    no_sandbox: bool = False
    """Commands may run on this machine without a kernel that confines them."""
    problem: ConfigError | None = None
    document: Mapping[str, Any] = field(default_factory=dict)

    def section(self, name: str) -> Mapping[str, Any]:
        """What another room keeps under `name`; empty when there is nothing, or nothing that is a mapping."""
        found = self.document.get(name)
        return found if isinstance(found, dict) else {}


class GrantsFile:
    """The file at `path`. Safe to use from several threads; changes are safe against other programs too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen: object = None
        self._written = Written()

    def read(self) -> Written:
        """What the file says now; cheap while it stays as it is. Never raises: see `Written.problem`."""
        with self._lock:
            seen = signature(self.path)
            if seen is None:
                self._seen, self._written = None, Written()
            elif seen != self._seen:
                # The signature is of before the read: a change in between is seen as one the next time.
                self._seen, self._written = seen, self._load()
            return self._written

    def change(self, edit: Edit) -> Written:
        """Have `edit` change the document, and write it. Raises ConfigError; the file is then as it was.

        What `edit` leaves as it was is not written at all.
        """
        with self._alone():
            now = self._load()
            if now.problem is not None:
                raise now.problem
            document: Document = json.loads(json.dumps(now.document))
            edit(document)
            if document == now.document:
                return now
            _parse(document, self.path)  # what could not be read back is not written
            document = {"version": VERSION, **document}
            try:
                atomic_write(self.path, _bytes(document))
            except OSError as error:
                raise _unwritten(self.path, os.strerror(error.errno or 0)) from error
        return self.read()

    def change_section(self, name: str, edit: Edit) -> Written:
        """As `change`, with the mapping under `name`; one that ends empty goes."""

        def whole(document: Document) -> None:
            section = document.get(name)
            section = section if isinstance(section, dict) else {}
            edit(section)
            if section:
                document[name] = section
            else:
                document.pop(name, None)

        return self.change(whole)

    # -- what it holds -------------------------------------------------------------------------------------------

    def add(self, grant: Grant) -> None:
        """Write a grant down; one that says the same is there once. Raises ConfigError."""

        def edit(document: Document) -> None:
            if isinstance(grant, HostGrant):
                hosts = document.setdefault("hosts", [])
                if not any(_means(entry, grant) for entry in hosts):
                    hosts.append(_host_entry(grant))
                return
            if isinstance(grant, ServerGrant):
                servers = document.setdefault("servers", [])
                if not any(_is_server(entry, grant) for entry in servers):
                    servers.append(_server_entry(grant))
                return
            entries = document.setdefault("commands", [])
            if not any(_command(entry, "").same_as(grant) for entry in entries):
                entries.append(_entry(grant))

        self.change(edit)

    def remove(self, grant: Grant) -> None:
        """Take a grant back; none that says the same stays. Raises ConfigError."""

        def edit(document: Document) -> None:
            if isinstance(grant, HostGrant):
                document["hosts"] = [entry for entry in document.get("hosts", []) if not _means(entry, grant)]
                return
            if isinstance(grant, ServerGrant):
                document["servers"] = [one for one in document.get("servers", []) if not _is_server(one, grant)]
                return
            entries = document.get("commands", [])
            document["commands"] = [entry for entry in entries if not _command(entry, "").same_as(grant)]

        self.change(edit)

    def mode_confirmed(self, workspace: str, mode: Mode) -> bool:
        return mode in self.read().modes.get(workspace, frozenset())

    def confirm_mode(self, workspace: str, mode: Mode, confirmed: bool = True) -> None:
        """Entering `mode` in this workspace asks no more, or asks again. Raises ConfigError."""

        def edit(modes: Document) -> None:
            now = set(modes.get(workspace, ()))
            now = now | {mode} if confirmed else now - {mode}
            if now:
                modes[workspace] = sorted(now)
            else:
                modes.pop(workspace, None)

        self.change_section("modes", edit)

    def accept_no_sandbox(self, accepted: bool = True) -> None:
        """Commands may run on this machine without a sandbox, or may no longer. Raises ConfigError."""

        def edit(machine: Document) -> None:
            if accepted:
                machine["no_sandbox"] = True
            else:
                machine.pop("no_sandbox", None)

        self.change_section("machine", edit)

    # -- the file ------------------------------------------------------------------------------------------------

    def _load(self) -> Written:
        try:
            _check_owner(self.path)
            data = read_regular(self.path, limits.GRANTS_FILE)
        except FileNotFoundError:
            return Written()
        except OSError as error:
            return Written(problem=_failed(self.path, f"cannot be read ({os.strerror(error.errno or 0)})"))
        except ConfigError as problem:
            return Written(problem=problem)
        if data is None:
            return Written(problem=_failed(self.path, "is no regular file"))
        if len(data) > limits.GRANTS_FILE:
            return Written(problem=_failed(self.path, f"is larger than {limits.GRANTS_FILE // limits.KB:,} KB"))
        try:
            return _parse(_document(data, self.path), self.path)
        except ConfigError as problem:
            return Written(problem=problem)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other program and no other thread changes the file meanwhile. Raises ConfigError."""
        try:
            descriptor = lock(self.path, limits.GRANTS_LOCKED)
        except BlockingIOError:
            raise _unwritten(self.path, "another program is changing it") from None
        except OSError as error:
            raise _unwritten(self.path, os.strerror(error.errno or 0)) from error
        try:
            yield
        finally:
            os.close(descriptor)


# -- from and to JSON -----------------------------------------------------------------------------------------------


def _check_owner(path: Path) -> None:
    """Raise ConfigError when somebody else could have written the file."""
    status = os.stat(path)
    if is_anothers(status):
        raise _failed(path, f"belongs to another user (id {status.st_uid})")
    if others_may_write(status):
        raise ConfigError(
            "grants_open_to_others",
            f"{path} can be written by others, so nothing in it counts. Look it through, then run: chmod 600 {path}",
            path=str(path),
        )


def _document(data: bytes, path: Path) -> Document:
    try:
        found = json.loads(data.decode("utf-8-sig") or "{}")
    except json.JSONDecodeError as error:
        raise _failed(path, f"is no JSON ({error.msg})", error.lineno) from None
    except (ValueError, RecursionError):  # no UTF-8, nested too deeply, a number of thousands of digits
        raise _failed(path, "is no JSON text") from None
    if not isinstance(found, dict):
        raise _failed(path, "is no JSON object", 1)
    return found


def _bytes(document: Document) -> bytes:
    try:
        return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # a folder whose name is no Unicode
        return (json.dumps(document, indent=2) + "\n").encode()


def _parse(document: Document, path: Path) -> Written:
    """Raises ConfigError for what does not mean anything: half a rule could allow more than the whole."""
    version = document.get("version", VERSION)
    if not isinstance(version, int) or version > VERSION:
        raise _failed(path, f"is of a newer version ({version})")
    try:
        return Written(
            tuple(_command(entry, f"commands[{at}]") for at, entry in enumerate(_of(document, "commands", list, []))),
            tuple(_host(entry, f"hosts[{at}]") for at, entry in enumerate(_of(document, "hosts", list, []))),
            tuple(_server(entry, f"servers[{at}]") for at, entry in enumerate(_of(document, "servers", list, []))),
            {
                _text(workspace, "modes"): frozenset(_mode(mode, f"modes[{workspace!r}]") for mode in modes)
                for workspace, modes in _of(document, "modes", dict, {}).items()
                if _is(modes, list, f"modes[{workspace!r}]")
            },
            _of(_of(document, "machine", dict, {}), "no_sandbox", bool, False),
            None,
            document,
        )
    except _Wrong as wrong:
        raise _failed(path, str(wrong)) from None


class _Wrong(ValueError):
    """A value that means nothing: which, and what it should be."""


def _is(value: object, kind: type, where: str) -> bool:
    if not isinstance(value, kind):
        words = {list: "a list", dict: "an object", bool: "true or false", str: "a text"}
        raise _Wrong(f"has something wrong at {where}: it must be {words.get(kind, kind.__name__)}")
    return True


def _of(mapping: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = mapping.get(name, default)
    _is(value, kind, name)
    return value


def _text(value: object, where: str) -> str:
    _is(value, str, where)
    return str(value)


def _mode(value: object, where: str) -> Mode:
    for mode in MODES_ALONE:
        if value == mode:
            return mode
    raise _Wrong(f"has something wrong at {where}: it must be one of {', '.join(sorted(MODES_ALONE))}")


def _command(entry: object, where: str) -> CommandGrant:
    if not isinstance(entry, dict):
        raise _Wrong(f"has something wrong at {where}: it must be an object")
    exact, prefix = entry.get("command"), entry.get("prefix")
    if (exact is None) == (prefix is None):
        raise _Wrong(f'has something wrong at {where}: it must have either "command" or "prefix"')
    text = _text(exact if prefix is None else prefix, where)
    if not text.strip():
        raise _Wrong(f"has something wrong at {where}: it has no words")
    sandbox = entry.get("sandbox", "workspace-write")
    mode = next((mode for mode in SANDBOX_MODES if mode == sandbox), None)
    if mode is None:
        raise _Wrong(f'has something wrong at {where}: "sandbox" must be one of {", ".join(SANDBOX_MODES)}')
    network = entry.get("network", False)
    _is(network, bool, f'{where}, "network"')
    words = {name: entry.get(name, "") for name in ("workspace", "cwd", "program", "session")}
    for name, value in words.items():
        _is(value, str, f'{where}, "{name}"')
    return CommandGrant(
        text if prefix is None else " ".join(text.split()),
        prefix is not None,
        UNCONFINED if mode == UNCONFINED.mode else Box(mode, network),
        words["workspace"],
        words["cwd"],
        words["program"],
        _when(entry),
        words["session"],
    )


def _host(entry: object, where: str) -> HostGrant:
    if not isinstance(entry, dict):
        raise _Wrong(f"has something wrong at {where}: it must be an object")
    host, session = _text(entry.get("host"), f'{where}, "host"'), _text(entry.get("session", ""), where)
    if not host.removeprefix("*.").strip(".") or "*" in host.removeprefix("*."):
        raise _Wrong(f'has something wrong at {where}: "host" must be a name, or one behind "*."')
    is_search = entry.get("search", False)
    _is(is_search, bool, f'{where}, "search"')
    return HostGrant(host, is_search, _when(entry), session)


def _when(entry: Document) -> float:
    when = entry.get("when", 0.0)
    return float(when) if isinstance(when, int | float) and 0 <= when < _LATEST else 0.0


def _means(entry: object, grant: HostGrant) -> bool:
    found = _host(entry, "")
    return (found.host.lower(), found.is_search) == (grant.host.lower(), grant.is_search)


def _host_entry(grant: HostGrant) -> Document:
    return {"host": grant.host, "search": grant.is_search, "when": round(grant.when, 3), "session": grant.session}


def _server(entry: object, where: str) -> ServerGrant:
    if not isinstance(entry, dict):
        raise _Wrong(f"has something wrong at {where}: it must be an object")
    server, tool, identity = (_text(entry.get(name), f'{where}, "{name}"') for name in ("server", "tool", "identity"))
    return ServerGrant(server, tool, identity, _when(entry), _text(entry.get("session", ""), where))


def _is_server(entry: object, grant: ServerGrant) -> bool:
    found = _server(entry, "")
    return (found.server, found.tool, found.identity) == (grant.server, grant.tool, grant.identity)


def _server_entry(grant: ServerGrant) -> Document:
    return {
        "server": grant.server,
        "tool": grant.tool,
        "identity": grant.identity,
        "when": round(grant.when, 3),
        "session": grant.session,
    }


def _entry(grant: CommandGrant) -> Document:
    entry: Document = {
        "prefix" if grant.prefix else "command": grant.text,
        "cwd": grant.cwd,
        "workspace": grant.workspace,
        "program": grant.program,
        "sandbox": grant.box.mode,
        "network": grant.box.network,
        "when": round(grant.when, 3),
        "session": grant.session,
    }
    return {name: value for name, value in entry.items() if value != "" or name == "workspace"}


def _meaning(grant: CommandGrant) -> tuple[object, ...]:
    return grant.text, grant.prefix, grant.box, grant.workspace, grant.cwd, grant.program


def _failed(path: Path, what: str, line: int = 0) -> ConfigError:
    place = f"{path}:{line}" if line else str(path)
    return ConfigError(
        "grants_broken",
        f"{place} {what}. Nothing that was allowed for good counts until it is mended, or moved away to begin anew.",
        path=str(path),
        line=line,
        what=what,
    )


def _unwritten(path: Path, why: str) -> ConfigError:
    return ConfigError(
        "grants_unwritable",
        f"{path} could not be written: {why}. What was to be allowed for good is not; try again when that is mended.",
        path=str(path),
        why=why,
    )
