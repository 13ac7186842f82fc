"""The steps of a log-in (OAuth 2.1, authorization code with PKCE): as whom, the address to visit, what comes back.

Each step takes data and talks to the authorization server it is given, to nobody else. Source: R37 to R40.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.credentials import Secret
from agent_core.mcp.oauth_door import Answer, AuthDoor
from agent_core.mcp.oauth_metadata import AuthServer
from agent_core.mcp.token_store import METHODS, AuthMethod, Client, Login
from agent_core.mcp.words import ServerFailure
from agent_core.records import dataclass
from agent_core.safety.redact import redact
from agent_core.text.ansi import clean

CLIENT_NAME: Final = "nanoherm-tui"

Hide = Callable[[str], str]
"""Takes what is secret out of a text."""


class Refused(Exception):
    """The authorization server said no. `code` is its own (RFC 6749, 5.2); `text` is clean and free of keys."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


@dataclass(frozen=True, slots=True)
class Attempt:
    """One log-in under way."""

    server: AuthServer
    client: Client
    resource: str
    scope: str
    redirect: str
    state: str
    verifier: str

    @property
    def url(self) -> str:
        """Where the person goes."""
        asked = {
            "response_type": "code",
            "client_id": self.client.id,
            "redirect_uri": self.redirect,
            "state": self.state,
            "code_challenge": _base64url(hashlib.sha256(self.verifier.encode()).digest()),
            "code_challenge_method": "S256",
            "resource": self.resource,
        }
        if self.scope:
            asked["scope"] = self.scope
            if "offline_access" in self.scope.split():
                asked["prompt"] = "consent"  # OpenID Connect gives no refresh token without
        joint = "&" if urlsplit(self.server.authorize).query else "?"
        return f"{self.server.authorize}{joint}{urlencode(asked, quote_via=quote)}"


def begin(server: AuthServer, client: Client, resource: str, scope: str, redirect: str) -> Attempt:
    return Attempt(server, client, resource, scope, redirect, secrets.token_urlsafe(32), secrets.token_urlsafe(48))


# -- as whom --------------------------------------------------------------------------------------------------------


def auth_method(server: AuthServer, secret: bool) -> AuthMethod:
    """How a client shows at the token endpoint who it is. `secret`: it has one."""
    if not secret:
        return "none"
    known = server.auth_methods or ("client_secret_basic",)  # what it means to say nothing (RFC 8414)
    return next((method for method in METHODS if method in known and method != "none"), "client_secret_basic")


def register(
    name: str, server: AuthServer, redirect: str, port: int, scope: str, door: AuthDoor, hide: Hide, cancel: CancelScope
) -> Client:
    """Have us registered (RFC 7591). Raises ServerFailure "mcp_login_register", or as `door`; Interrupted."""
    wanted = next((method for method in METHODS if method in server.auth_methods), "")
    asked: dict[str, Any] = {
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "native",
    }
    if wanted:
        asked["token_endpoint_auth_method"] = wanted
    if scope:
        asked["scope"] = scope
    answer = door.post_json(server.register, asked, cancel)
    client_id, secret = answer.body.get("client_id"), answer.body.get("client_secret")
    if not answer.is_good or not isinstance(client_id, str) or not client_id:
        why = _refusal(answer, hide).text
        raise ServerFailure(
            "mcp_login_register",
            f"{server.shown}, where {name} has its log-in, does not register nanoherm-tui: {why}. Register it by hand "
            "and set `oauth.client_id` of the server, or put a token into its `headers`.",
            server=name,
            issuer=server.shown,
            why=why,
        )
    kept = Secret(secret, "a log-in") if isinstance(secret, str) and secret else None
    said = answer.body.get("token_endpoint_auth_method") or wanted
    method = next((method for method in METHODS if method == said), None) or auth_method(server, kept is not None)
    return Client(client_id, kept, method if kept is not None else "none", "registered", port)


# -- what comes back ------------------------------------------------------------------------------------------------


def read_redirect(name: str, address: str, attempt: Attempt, hide: Hide) -> str:
    """The code in the address that a browser was sent to, once it is certain who sent it.

    Raises ServerFailure "mcp_login_state" for the answer to something else, "mcp_login_issuer" for that of another
    server, "mcp_login_refused" when the person or the server said no.
    """
    try:
        query = parse_qs(urlsplit(address.strip()).query, keep_blank_values=True)
    except ValueError:  # what was pasted is no address
        query = {}
    found = {key: values[0] for key, values in query.items() if len(values) == 1}
    if not hmac.compare_digest(found.get("state", "").encode(), attempt.state.encode()):
        raise ServerFailure(
            "mcp_login_state",
            f"What came back is no answer to this log-in at {name}. Begin anew, and copy the whole address that the "
            "browser was sent to.",
            server=name,
        )
    issuer = attempt.server.issuer
    if ("iss" in query or attempt.server.names_itself) and found.get("iss") != issuer:
        raise ServerFailure(
            "mcp_login_issuer",
            f"The log-in at {name} was begun at {attempt.server.shown}, but the answer is said to be from "
            f"{_quoted(found.get('iss', 'nobody'), hide)}. It was not used.",
            server=name,
            issuer=attempt.server.shown,
            other=_quoted(found.get("iss", ""), hide),
        )
    if "error" in found or not found.get("code"):
        error = _quoted(found.get("error", "no code"), hide)
        why = ": ".join(filter(None, (error, _quoted(found.get("error_description", ""), hide))))
        raise ServerFailure(
            "mcp_login_refused",
            f"The log-in at {name} was refused: {why}.",
            server=name,
            issuer=attempt.server.shown,
            why=why,
        )
    return found["code"]


def exchange(attempt: Attempt, code: str, door: AuthDoor, hide: Hide, cancel: CancelScope) -> Login:
    """Turn a code into tokens. Raises Refused, ServerFailure as `door`, Interrupted."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": attempt.redirect,
        "code_verifier": attempt.verifier,
        "resource": attempt.resource,
    }
    known = Login(attempt.server.issuer, attempt.resource, attempt.client, attempt.server.token, scope=attempt.scope)
    return _asked(known, form, door, hide, cancel)


def renew(login: Login, door: AuthDoor, hide: Hide, cancel: CancelScope) -> Login:
    """A new token by the refresh token. Raises Refused, ServerFailure as `door`, Interrupted."""
    assert login.refresh is not None
    form = {"grant_type": "refresh_token", "refresh_token": login.refresh.reveal(), "resource": login.resource}
    return _asked(login, form, door, hide, cancel)


def _asked(login: Login, form: Mapping[str, str], door: AuthDoor, hide: Hide, cancel: CancelScope) -> Login:
    client, headers = login.client, {}
    if client.method == "client_secret_basic" and client.secret is not None:
        pair = f"{quote(client.id, safe='')}:{quote(client.secret.reveal(), safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        form = {**form, "client_id": client.id}
        if client.method == "client_secret_post" and client.secret is not None:
            form["client_secret"] = client.secret.reveal()
    answer = door.post_form(login.token_url, form, headers, cancel)
    body = answer.body
    access, refresh, scope = body.get("access_token"), body.get("refresh_token"), body.get("scope")
    if not answer.is_good or not _is_token(access) or str(body.get("token_type", "bearer")).lower() != "bearer":
        secret = client.secret.reveal() if client.secret is not None else ""
        sent = [secret, *(form[name] for name in _SECRETS if name in form)]
        raise _refusal(answer, lambda text: hide(redact(text, sent)))
    return Login(
        login.issuer,
        login.resource,
        client,
        login.token_url,
        Secret(str(access), "a log-in"),
        Secret(str(refresh), "a log-in") if _is_token(refresh) else login.refresh,
        _renewal(body.get("expires_in")),
        scope if isinstance(scope, str) and scope else login.scope,
    )


def _is_token(value: object) -> bool:
    """Whether a header can carry it."""
    if not isinstance(value, str) or not 0 < len(value) <= limits.MCP_TOKEN:
        return False
    return value.isascii() and value.isprintable() and " " not in value


def _renewal(lasts: object) -> float:
    """When a token is to be renewed that lasts so many seconds; 0 where that is not said."""
    try:
        seconds = float(lasts) if isinstance(lasts, int | float | str) else 0.0
    except (ValueError, OverflowError):
        return 0.0
    if not 0 < seconds < _FOR_EVER:
        return 0.0
    return time.time() + seconds - min(limits.MCP_RENEW, seconds / 4)


_SECRETS: Final = ("code", "code_verifier", "refresh_token", "client_secret")  # of a form that is sent
_FOR_EVER: Final = 1e10  # seconds; who says more means no end


def _refusal(answer: Answer, hide: Hide) -> Refused:
    code, text = answer.body.get("error"), answer.body.get("error_description")
    if not isinstance(code, str) or not code:
        return Refused("", f"HTTP {answer.status}" if answer.status >= 300 else "an answer that holds no token")
    said = f"{code}: {text}" if isinstance(text, str) and text else code
    return Refused(code, f"{_quoted(said, hide)} (HTTP {answer.status})")


def _quoted(text: str, hide: Hide) -> str:
    """A server's own words in one line, bounded, free of keys."""
    return hide(" ".join(clean(text).split()))[: limits.MCP_AUTH_QUOTE]


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
