"""Who gives out the tokens of a server: what a refusal says, and the documents in which servers describe themselves.

A server's protected resource metadata (RFC 9728) names its authorization server, whose metadata (RFC 8414, OpenID
Connect Discovery) names the endpoints. Servers of revision 2025-03-26 have no such document: there the server's own
origin gives the tokens, at well-known paths. Nothing a document says is believed that its reader could check.
Source: R37, R38, R40, R41.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.mcp.oauth_door import AuthDoor
from agent_core.mcp.words import Json, ServerFailure
from agent_core.records import dataclass
from agent_core.safety import urls
from agent_core.safety.urls import Target
from agent_core.text.printable import printable


@dataclass(frozen=True, slots=True)
class Challenge:
    """What the Bearer part of a WWW-Authenticate header says."""

    metadata_url: str = ""
    scope: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """What a token is for, and who gives it."""

    resource: str
    """As it stands in the requests, byte for byte as the server writes it."""
    issuers: tuple[str, ...]
    scopes: str = ""
    """Blanks between; empty: it names none."""
    is_old: bool = False
    """The server says nothing of it (2025-03-26)."""


@dataclass(frozen=True, slots=True)
class AuthServer:
    """An authorization server, by its metadata; its endpoints have been checked."""

    issuer: str
    authorize: str
    token: str
    register: str = ""
    names_itself: bool = False
    """It says that `iss` comes with every redirect (RFC 9207)."""
    scopes: tuple[str, ...] = ()
    auth_methods: tuple[str, ...] = ()
    """Empty: it does not say."""
    takes_documents: bool = False
    """A client id may be the address of a document about the client."""

    @property
    def shown(self) -> str:
        """Its name as a person reads it."""
        return printable(self.issuer)[: limits.MCP_AUTH_QUOTE]


# -- the refusal ----------------------------------------------------------------------------------------------------

_BEARER: Final = re.compile(r"(?:^|[\s,])Bearer(?=\s|,|$)", re.IGNORECASE)
_PARAMETER: Final = re.compile(r"[\s,]*([A-Za-z0-9_\-.]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s,\"]+))")


def read_challenge(header: str) -> Challenge:
    """The Bearer part of a WWW-Authenticate header (RFC 6750); empty fields for what does not stand there."""
    found: dict[str, str] = {}
    header = header[: limits.MCP_AUTH_HEADER]
    for scheme in _BEARER.finditer(header):
        at = scheme.end()
        while parameter := _PARAMETER.match(header, at):
            value = parameter[3] if parameter[2] is None else re.sub(r"\\(.)", r"\1", parameter[2])
            found.setdefault(parameter[1].lower(), value)
            at = parameter.end()
    return Challenge(found.get("resource_metadata", ""), _scopes(found.get("scope")), found.get("error", ""))


# -- the server -----------------------------------------------------------------------------------------------------


def find_resource(name: str, challenge: Challenge, door: AuthDoor, cancel: CancelScope) -> Resource:
    """What the server says of itself; where it says nothing, what that means.

    Raises ServerFailure "mcp_login_resource" when it speaks for another server, or as `door.get`; Interrupted.
    """
    for url in _resource_places(challenge, door.server):
        answer = door.get(url, cancel)
        if not answer.is_good:
            continue
        resource = answer.body.get("resource")
        if not isinstance(resource, str) or not covers(resource, door.server):
            said = printable(str(resource))[: limits.MCP_AUTH_QUOTE]
            raise ServerFailure(
                "mcp_login_resource",
                f"{name} describes the log-in of another server ({said}), so a token could end up there. It was not "
                "logged in. Check the server's URL.",
                server=name,
                said=said,
            )
        issuers = tuple(_texts(answer.body.get("authorization_servers")))
        return Resource(resource, issuers or (_origin(door.server),), " ".join(_texts(answer.body, "scopes_supported")))
    return Resource(own_resource(door.server), (_origin(door.server),), is_old=True)


def own_resource(server: Target) -> str:
    """How a server is named that does not name itself: its URL without query, without a slash at the end."""
    return _origin(server) + _path(server).rstrip("/")


def covers(resource: str, server: Target) -> bool:
    """Whether a token for `resource` is one for the server: that itself, or a folder above it, on the same origin."""
    target = urls.parse(resource)
    if not isinstance(target, Target) or target.origin != server.origin:
        return False
    above, path = _path(target).rstrip("/"), _path(server).rstrip("/")
    return path == above or path.startswith(above + "/")


def _resource_places(challenge: Challenge, server: Target) -> Iterator[str]:
    if challenge.metadata_url:
        yield challenge.metadata_url
    path = _path(server).rstrip("/")
    if path:
        yield f"{_origin(server)}/.well-known/oauth-protected-resource{path}"
    yield f"{_origin(server)}/.well-known/oauth-protected-resource"


# -- the authorization server ---------------------------------------------------------------------------------------


def find_auth_server(name: str, issuer: str, is_old: bool, door: AuthDoor, cancel: CancelScope) -> AuthServer:
    """The metadata of `issuer`; of an old server that has none, the paths that they all have.

    Raises ServerFailure "mcp_login_issuer" when the metadata is of another one, "mcp_login_pkce" when it does without
    PKCE, "mcp_login_unknown" when there is none; as `door.get`; Interrupted.
    """
    other = ""
    for url in _metadata_places(door.check(issuer)):
        answer = door.get(url, cancel)
        if not answer.is_good:
            continue
        said = answer.body.get("issuer")
        if not isinstance(said, str) or not _same_issuer(said, issuer):
            other = printable(str(said))[: limits.MCP_AUTH_QUOTE]
            continue
        return _auth_server(name, said, answer.body, door)
    if other:
        raise ServerFailure(
            "mcp_login_issuer",
            f"The log-in at {name} is said to be at {printable(issuer)}, but what answers there calls itself {other}. "
            "It was not used.",
            server=name,
            issuer=printable(issuer),
            other=other,
        )
    if is_old:
        base = _origin(door.server)
        return AuthServer(issuer, f"{base}/authorize", f"{base}/token", f"{base}/register")
    raise ServerFailure(
        "mcp_login_unknown",
        f"{name} wants a log-in at {printable(issuer)}, which does not say how. Ask who runs it, or put a token into "
        "`headers` of the server.",
        server=name,
        issuer=printable(issuer),
    )


def _auth_server(name: str, issuer: str, body: Json, door: AuthDoor) -> AuthServer:
    methods = body.get("code_challenge_methods_supported")
    if not isinstance(methods, list) or "S256" not in methods:
        raise ServerFailure(
            "mcp_login_pkce",
            f"The log-in of {name} at {printable(issuer)} works without PKCE (S256): a code could be stolen on the way "
            "back. It was not used. Ask who runs it, or put a token into `headers` of the server.",
            server=name,
            issuer=printable(issuer),
        )
    endpoints = {key: _endpoint(body, key, door) for key in ("authorization", "token", "registration")}
    if not endpoints["authorization"] or not endpoints["token"]:
        raise ServerFailure(
            "mcp_login_unknown",
            f"{name} wants a log-in at {printable(issuer)}, which names no address for it. Ask who runs it.",
            server=name,
            issuer=printable(issuer),
        )
    return AuthServer(
        issuer,
        endpoints["authorization"],
        endpoints["token"],
        endpoints["registration"],
        body.get("authorization_response_iss_parameter_supported") is True,
        tuple(_texts(body, "scopes_supported")),
        tuple(_texts(body, "token_endpoint_auth_methods_supported")),
        body.get("client_id_metadata_document_supported") is True,
    )


def _endpoint(body: Json, name: str, door: AuthDoor) -> str:
    url = body.get(f"{name}_endpoint")
    return door.check(url).url if isinstance(url, str) and url else ""


def _metadata_places(issuer: Target) -> Iterator[str]:
    origin, path = _origin(issuer), _path(issuer).rstrip("/")
    yield f"{origin}/.well-known/oauth-authorization-server{path}"
    yield f"{origin}/.well-known/openid-configuration{path}"
    if path:
        yield f"{origin}{path}/.well-known/openid-configuration"


def _same_issuer(said: str, expected: str) -> bool:
    """Byte for byte, but for a slash at the end: with and without it the metadata is the same (RFC 8414, 3.1)."""
    return said.removesuffix("/") == expected.removesuffix("/")


# -- small ----------------------------------------------------------------------------------------------------------


def _origin(target: Target) -> str:
    return f"{target.scheme}://{target.authority}"


def _path(target: Target) -> str:
    return target.path.partition("?")[0]


def _texts(found: Any, key: str = "") -> list[str]:
    """The texts in a list of which nothing is certain."""
    listed = found.get(key) if key else found
    if not isinstance(listed, list):
        return []
    return [one for one in listed[: limits.MCP_AUTH_LIST] if isinstance(one, str) and one]


def _scopes(found: object) -> str:
    """Scopes as they stand in a request: visible ASCII with single blanks between (RFC 6749, 3.3)."""
    words = str(found or "").split()
    return " ".join(word for word in words if word.isascii() and word.isprintable() and '"' not in word)
