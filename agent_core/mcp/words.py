"""What the rooms of the MCP client pass to each other, as data, and their seams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final, Literal, Protocol

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError
from agent_core.messages import ImagePart
from agent_core.records import dataclass
from agent_core.servers import FormField

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OAuthOptions:
    """What a person has set for the log-in at a server; all may be empty."""

    client_id: str = ""
    client_secret: str = ""
    scope: str = ""
    callback_port: int = 0
    """Of the loopback redirect; 0: a free one."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server as it is configured, `${VAR}` and `~` expanded, aliases resolved."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    """Empty: the workspace."""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    type: Literal["stdio", "http", "sse"] = "stdio"
    enabled: bool = True
    required: bool = False
    trust: bool = False
    startup_timeout: float = limits.MCP_STARTUP
    timeout: float = limits.MCP_CALL
    include: tuple[str, ...] = ()
    """Globs of tools; empty: all. It wins over `exclude`."""
    exclude: tuple[str, ...] = ()
    protocol: Literal["auto", "legacy", "modern"] = "auto"
    framing: Literal["newline", "content-length"] = "newline"
    sandbox: bool = False
    env_policy: Literal["inherit", "strict"] = "inherit"
    oauth: OAuthOptions | None = None
    place: str = ""
    """The file it stands in, with its line where that is known: for a person."""
    problem: str = ""
    """Why it cannot be used as it is written, and the way out."""
    of_project: bool = False
    """It comes with the project: it counts only while that is trusted."""
    identity: str = ""
    """A digest of command, args and env names, or of the URL: which server this is (ServerAction.identity)."""
    problem_named: Mapping[str, Any] = field(default_factory=dict)
    """The problem's case and its parameters, for faces that have words of their own."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """What a server has said of itself when it was connected."""

    name: str = ""
    version: str = ""
    title: str = ""
    protocol: str = ""
    """The revision agreed on."""
    instructions: str = ""
    capabilities: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool as the server lists it. Title and description are without control bytes."""

    name: str
    """Exactly as the server has it: not clean, not fit to be shown (text.printable)."""
    title: str = ""
    description: str = ""
    schema: Json = field(default_factory=dict)
    """Untouched (R26)."""
    reads: bool = False
    """annotations.readOnlyHint: untrusted (R30)."""
    destroys: bool = False
    headers: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    """x-mcp-header: by an argument's path, the end of the header's name that it is mirrored into."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call gave, for a model (R28)."""

    text: str
    ok: bool = True
    images: tuple[ImagePart, ...] = ()
    """As the server sent them: whatever their size is. The text calls them "picture 1" and so on."""
    left_out: int = 0
    """Characters of the middle of a text beyond limits.MCP_TEXT, which nobody has; the text says where."""


class ServerFailure(AgentError):
    """A request to a server failed. `text` is for a person and a model, with the way out; free of keys."""


UNKNOWN: Final = frozenset(
    {"mcp_timeout", "mcp_no_answer", "mcp_ended", "mcp_closed", "mcp_lost", "mcp_stream", "mcp_too_large", "mcp_result"}
)
"""Codes of failures after which a server may have done what was asked."""


class Authorizer(Protocol):
    """Gives requests to one HTTP server what lets them in. Safe to use from several threads.

    `challenged` is called in the thread that asked for the `headers` of the request that was refused.
    """

    def headers(self, cancel: CancelScope) -> Mapping[str, str]:
        """For the next request, to the server's own origin only; a token that has expired is renewed first.

        Raises Interrupted.
        """
        ...

    def challenged(self, status: int, www_authenticate: str, cancel: CancelScope) -> bool:
        """A request was refused with 401 or 403: whether it is to be sent once more, with the `headers` as they are
        then.

        May have a person log in. Raises ServerFailure "mcp_login" where nobody can be asked (R42) or the log-in
        fails, Interrupted.
        """
        ...


class Transport(Protocol):
    """One connection to a server. Requests may come from several threads; a reader of its own serves the rest."""

    def connect(self, cancel: CancelScope) -> None: ...

    def request(
        self,
        method: str,
        params: Json,
        *,
        timeout: float,
        cancel: CancelScope,
        on_progress: Callable[[str], None] | None = None,
        headers: Json | None = None,
    ) -> Json:
        """The result of one request. `timeout`: seconds without an answer or a word of progress; `headers`: by HTTP.

        Raises ServerFailure, Interrupted (within limits.MCP_CANCEL).
        """
        ...

    def notify(self, method: str, params: Json) -> None: ...

    def agreed(self, version: str) -> None:
        """The revision that is spoken from now on; empty: none is agreed on."""
        ...

    def listen(self, params: Json) -> None:
        """Have the server tell of changes, where it has to be asked for that. `params`: of subscriptions/listen.

        Empty `params`: the server speaks an older revision. Returns at once; what comes goes to the ears.
        """
        ...

    @property
    def alive(self) -> bool:
        """Whether requests can be sent; a request that finds it not alive has not been sent."""
        ...

    def noise(self) -> tuple[str, ...]:
        """What it wrote that was no message, the end of its error stream last; bounded. Neither clean nor redacted."""
        ...

    def close(self) -> None:
        """End it; a program is given R6's time to go."""
        ...


# -- what a server lists beside tools, and what it asks ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResourceInfo:
    """A resource, or a template of resources, as the server lists it."""

    uri: str
    """Of a template: the pattern (RFC 6570). Exactly as the server has it, as names are."""
    name: str = ""
    title: str = ""
    description: str = ""
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class PromptInfo:
    """A prompt as the server lists it."""

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[tuple[str, str, bool], ...] = ()
    """(name, description, required)."""


@dataclass(frozen=True, slots=True)
class Elicitation:
    """What a server asks of a person while it works (R33). Texts are the server's, without control bytes and keys."""

    kind: Literal["form", "visit"]
    message: str
    form: tuple[FormField, ...] = ()
    url: str = ""
    """Of "visit": the whole address; never fetched, only shown and, after a yes, opened."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A person's answer to an Elicitation. What `values` leaves out gets the field's default."""

    action: Literal["accept", "decline", "cancel"]
    values: Json = field(default_factory=dict)


Elicit = Callable[[Elicitation, CancelScope], Answered]
"""Asks a person, and waits. Called in a thread of its own. Raises Interrupted when the scope is cancelled."""
