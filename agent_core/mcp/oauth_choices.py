"""What a log-in is made with: as whom, for which rights, and whether what a person has set may be shown at all.

Source: R39 to R41.
"""

from __future__ import annotations

from dataclasses import replace

from agent_core.credentials import Secret
from agent_core.mcp.oauth_flow import auth_method
from agent_core.mcp.oauth_metadata import AuthServer, Resource
from agent_core.mcp.token_store import Client, Login
from agent_core.mcp.words import OAuthOptions, ServerFailure


def set_client(options: OAuthOptions, document: str, server: AuthServer) -> Client | None:
    """As whom to log in where that is settled: as configured, else by our `document`. None: it is to be registered."""
    if options.client_id:
        secret = _secret(options)
        return Client(options.client_id, secret, auth_method(server, secret is not None), "configured")
    if document and server.takes_documents:
        return Client(document, None, "none", "document")
    return None


def check_registers(name: str, server: AuthServer) -> None:
    """Raise ServerFailure "mcp_login_client" where programs cannot register themselves."""
    if server.register:
        return
    raise ServerFailure(
        "mcp_login_client",
        f"{server.shown}, where {name} has its log-in, registers no programs by itself. Register nanoherm-tui there "
        "with the redirect http://127.0.0.1:PORT/callback, and set `oauth.client_id` and `oauth.callback_port` of the "
        "server; or put a token into its `headers`.",
        server=name,
        issuer=server.shown,
    )


def check_moved(name: str, options: OAuthOptions, used: Login | None, server: AuthServer) -> None:
    """A client that a person has registered at one authorization server is not shown to another one (R41).

    `used`: the log-in that the server has had. Raises ServerFailure "mcp_login_moved".
    """
    if used is None or used.client.made != "configured" or used.issuer == server.issuer:
        return
    if used.client.id == options.client_id:
        raise ServerFailure(
            "mcp_login_moved",
            f"{name} has its log-in at {server.shown} now. Its `oauth.client_id` was registered elsewhere and was not "
            "sent there. If the move is right, set the new one, forget the old log-in with "
            f"`nanoherm-tui mcp logout {name}`, and log in.",
            server=name,
            issuer=server.shown,
        )


def with_secret(options: OAuthOptions, client: Client) -> Client:
    """A configured client as it was kept, with its secret, which is not kept with the log-in."""
    if client.made != "configured" or client.id != options.client_id:
        return client
    return replace(client, secret=_secret(options))


def choose_scope(options: OAuthOptions, asked: str, resource: Resource, server: AuthServer) -> str:
    """What to ask for: what is set and what a refusal names, else what the resource lists, else nothing (R40)."""
    scope = union(options.scope, asked) or resource.scopes
    if scope and "offline_access" in server.scopes:
        return union(scope, "offline_access")
    words = scope.split()
    if server.scopes and "offline_access" not in options.scope.split():
        words = [word for word in words if word != "offline_access"]
    return " ".join(words)


def union(*scopes: str) -> str:
    """All of them, each once, in order."""
    return " ".join(dict.fromkeys(" ".join(scopes).split()))


def _secret(options: OAuthOptions) -> Secret | None:
    return Secret(options.client_secret, "config") if options.client_secret else None
