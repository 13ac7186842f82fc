"""What is allowed here and now, as one picture for a person, and how each part of it is taken back.

What was allowed for a session lies in its grants, what was allowed for good in the file of grants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from agent_core.errors import ConfigError
from agent_core.grants import Grants, SessionGrants
from agent_core.grants_file import CommandGrant, Grant, GrantsFile, HostGrant, ServerGrant
from agent_core.names import ApprovalPolicy, Mode
from agent_core.ports.asking import Decided
from agent_core.records import dataclass
from agent_core.session.services import Containment
from agent_core.store.audit import Entry

TRUST: Final = "trust"
"""The section of the file about what projects bring."""


@dataclass(frozen=True, slots=True)
class ConfirmedMode:
    """Entering this mode asks no more in this workspace."""

    workspace: str
    mode: Mode


@dataclass(frozen=True, slots=True)
class NoSandbox:
    """Commands may run on this machine without a sandbox."""


@dataclass(frozen=True, slots=True)
class Project:
    """What was answered about the files that a folder brings."""

    folder: str
    entry: Mapping[str, Any]

    @property
    def answer(self) -> Literal["trusted", "never"]:
        return "trusted" if self.entry.get("answer") == "trusted" else "never"


Allowed: TypeAlias = SessionGrants | Grant | ConfirmedMode | NoSandbox | Project
"""One thing that can be taken back. Of SessionGrants, one with a single thing in it."""


@dataclass(frozen=True, slots=True)
class Permissions:
    mode: Mode
    policy: ApprovalPolicy
    containment: Containment
    sandbox: str
    """What a command runs in that asks for no more (Box.words)."""
    session: tuple[SessionGrants, ...]
    """Each with one thing in it."""
    always: tuple[Grant, ...]
    modes: tuple[ConfirmedMode, ...]
    no_sandbox: bool
    projects: tuple[Project, ...]
    deny: tuple[str, ...]
    decisions: tuple[Entry, ...]
    """The newest first."""
    file: str
    """The file of grants."""
    problem: ConfigError | None = None
    """Why what was allowed for good does not count."""


def allowed_for_good(file: GrantsFile) -> tuple[tuple[Grant, ...], tuple[ConfirmedMode, ...], tuple[Project, ...]]:
    """What the file says, in parts that can each be taken back."""
    written = file.read()
    modes = [ConfirmedMode(place, mode) for place, modes in written.modes.items() for mode in sorted(modes)]
    projects = [
        Project(folder, entry) for folder, entry in written.section(TRUST).items() if isinstance(entry, Mapping)
    ]
    return (*written.commands, *written.hosts, *written.servers), tuple(modes), tuple(projects)


def one_by_one(grants: SessionGrants) -> tuple[SessionGrants, ...]:
    """A session's grants, each by itself."""
    return (
        *(SessionGrants(commands=(command,)) for command in grants.commands),
        *((SessionGrants(edits=True),) if grants.edits else ()),
        *(SessionGrants(changed=(path,)) for path in grants.changed),
        *(SessionGrants(read=(path,)) for path in grants.read),
        *(SessionGrants(hosts=(host,)) for host in grants.hosts),
        *(SessionGrants(servers=(tool,)) for tool in grants.servers),
    )


def take_back(what: Allowed, file: GrantsFile, session: Grants) -> None:
    """From the next call on it asks again, in every running program. Raises ConfigError."""
    _set(what, file, session, False)


def give_back(what: Allowed, file: GrantsFile, session: Grants) -> None:
    """Undo `take_back`. Raises ConfigError."""
    _set(what, file, session, True)


def decided(what: Allowed, allowed: bool) -> Decided:
    """That a person took it back or gave it again, for the record."""
    verdict: Literal["allow", "refuse"] = "allow" if allowed else "refuse"
    rule = "given again" if allowed else "taken back"
    match what:
        case CommandGrant():
            where, box = what.cwd or what.workspace, what.box.words
            return Decided("grant", what.pattern, verdict, rule, "person", where, box)
        case SessionGrants():
            words = [command for command, _, _ in what.commands] or [*what.changed, *what.read]
            words = (
                words or [host for host, _ in what.hosts] or [f"{server}: {tool}" for server, tool, _ in what.servers]
            )
            words = words or ["every change"]
            return Decided("grant", "\n".join(words), verdict, rule, "person")
        case HostGrant() | ServerGrant():
            return Decided("grant", what.pattern, verdict, rule, "person")
        case ConfirmedMode(workspace, mode):
            return Decided("mode", mode, verdict, rule, "person", workspace)
        case NoSandbox():
            return Decided("mode", "no sandbox", verdict, rule, "person")
        case Project(folder, _):
            return Decided("trust", folder, verdict, rule, "person", folder)


def _set(what: Allowed, file: GrantsFile, session: Grants, allowed: bool) -> None:
    match what:
        case SessionGrants():
            (session.give_back if allowed else session.revoke)(what)
        case CommandGrant() | HostGrant() | ServerGrant():
            (file.add if allowed else file.remove)(what)
        case ConfirmedMode(workspace, mode):
            file.confirm_mode(workspace, mode, allowed)
        case NoSandbox():
            file.accept_no_sandbox(allowed)
        case Project(folder, entry):

            def edit(section: dict[str, Any]) -> None:
                section.pop(folder, None)
                if allowed:
                    section[folder] = dict(entry)

            file.change_section(TRUST, edit)
