"""An MCP server that wants a log-in, and the authorization server it names: strict, on one port of 127.0.0.1.

It keeps what it was asked. What breaks a rule of OAuth 2.1 or of the MCP specification is answered with an error and
noted in `faults`; a test checks that there are none.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import http.server
import json
import secrets
import threading
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlencode, urlsplit


@dataclass
class Rules:
    """How the two behave; by default as most do."""

    resource_at: str = "header"
    """Where the resource's metadata is: "header", "path", "root", or "" for nowhere."""
    metadata_at: str = "oauth"
    """Which well-known form: "oauth", "openid", "openid behind", or "" for none."""
    issuer_path: str = ""
    resource: str | None = None
    """Instead of its own."""
    metadata_issuer: str | None = None
    pkce: tuple[str, ...] | None = ("S256",)
    registers: bool = True
    documents: bool = False
    methods: tuple[str, ...] | None = None
    names_itself: bool = False
    iss: str | None = None
    """What stands in the redirect; "own": its issuer."""
    state: str | None = None
    """Instead of the one that was asked for."""
    says: dict[str, str] | None = None
    """In the redirect, instead of a code."""
    challenge_scope: str = ""
    resource_scopes: tuple[str, ...] | None = None
    server_scopes: tuple[str, ...] | None = None
    needs_scope: str = ""
    """Without it a request is refused with 403."""
    expires_in: int | None = 3600
    refreshes: bool = True
    known: dict[str, str] = field(default_factory=dict)
    """Clients by id with their secrets."""
    token_url: str | None = None
    token_answer: dict[str, object] | None = None
    """What the token endpoint answers with status 400."""


class McpAuthServer:
    def __init__(self, **rules) -> None:
        self.rules = Rules(**rules)
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        """(method, path, form or query) of all but what is asked of the MCP server itself."""
        self.bearers: list[str] = []
        self.faults: list[str] = []
        self.tokens: dict[str, str] = {}
        """Scope by access token that counts."""
        self.refresh_tokens: dict[str, str] = {}
        self._codes: dict[str, dict[str, str]] = {}
        self.clients: dict[str, dict[str, object]] = {}
        self._lock = threading.Lock()
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fake._answer(self, b"")

            def do_POST(self) -> None:
                fake._answer(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def log_message(self, *args) -> None:
                pass

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        self.base = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.url = f"{self.base}/mcp"

    @property
    def issuer(self) -> str:
        return self.base + self.rules.issuer_path

    def paths(self, method: str = "") -> list[str]:
        return [path for used, path, _ in self.seen if method in ("", used)]

    def asked(self, path: str) -> list[dict[str, str]]:
        return [asked for _, at, asked in self.seen if at == path]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    # -- what it answers ---------------------------------------------------------------------------------------------

    def _answer(self, request: http.server.BaseHTTPRequestHandler, body: bytes) -> None:
        parts = urlsplit(request.path)
        asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if request.headers.get("Content-Type", "").startswith("application/json"):
            asked = json.loads(body or b"{}")
        elif body:
            asked = {key: values[0] for key, values in parse_qs(body.decode()).items()}
        with self._lock:
            if parts.path == "/mcp":
                status, headers, answer = self._resource(request, asked)
            else:
                self.seen.append((request.command, parts.path, asked))
                status, headers, answer = self._auth(request, parts.path, asked)
        data = b"" if answer is None else json.dumps(answer).encode()
        with contextlib.suppress(OSError):
            request.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(data)

    def _resource(self, request, asked):
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        self.bearers.append(token)
        rules = self.rules
        said = ['realm="mcp"']
        if rules.resource_at == "header":
            said.append(f'resource_metadata="{self.base}/described"')
        if scheme != "Bearer" or token not in self.tokens:
            said += [f'scope="{rules.challenge_scope}"'] if rules.challenge_scope else []
            return 401, {"WWW-Authenticate": f"Bearer {', '.join(said)}"}, None
        if rules.needs_scope and not set(rules.needs_scope.split()) <= set(self.tokens[token].split()):
            said += ['error="insufficient_scope"', f'scope="{rules.needs_scope}"']
            return 403, {"WWW-Authenticate": f"Bearer {', '.join(said)}"}, None
        answers = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "fake", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": f"you have {token}"}]},
        }
        if "id" not in asked:
            return 202, {}, None
        json_type = {"Content-Type": "application/json"}
        return 200, json_type, {"jsonrpc": "2.0", "id": asked["id"], "result": answers.get(asked.get("method"), {})}

    def _auth(self, request, path, asked):
        rules = self.rules
        resource_at = {
            "header": "/described",
            "path": "/.well-known/oauth-protected-resource/mcp",
            "root": "/.well-known/oauth-protected-resource",
        }.get(rules.resource_at)
        metadata_at = {
            "oauth": f"/.well-known/oauth-authorization-server{rules.issuer_path}",
            "openid": f"/.well-known/openid-configuration{rules.issuer_path}",
            "openid behind": f"{rules.issuer_path}/.well-known/openid-configuration",
        }.get(rules.metadata_at)
        if path == resource_at:
            said = {
                "resource": self.url if rules.resource is None else rules.resource,
                "authorization_servers": [self.issuer],
                "scopes_supported": rules.resource_scopes,
            }
            return 200, {}, {key: value for key, value in said.items() if value is not None}
        if path == metadata_at:
            return 200, {}, self._metadata()
        if path == "/register" and rules.registers:
            return self._register(asked)
        if path == "/authorize":
            return self._authorize(asked)
        if path == "/token":
            return self._token(request, asked)
        return 404, {}, None

    def _metadata(self):
        rules = self.rules
        said = {
            "issuer": rules.metadata_issuer or self.issuer,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": rules.token_url or f"{self.base}/token",
            "registration_endpoint": f"{self.base}/register" if rules.registers else None,
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": rules.pkce,
            "token_endpoint_auth_methods_supported": rules.methods,
            "scopes_supported": rules.server_scopes,
            "authorization_response_iss_parameter_supported": True if rules.names_itself else None,
            "client_id_metadata_document_supported": True if rules.documents else None,
        }
        return {key: value for key, value in said.items() if value is not None}

    def _register(self, asked):
        if asked.get("application_type") != "native":
            self.faults.append("registered without application_type native")
        client_id, method = f"client-{secrets.token_hex(4)}", asked.get("token_endpoint_auth_method")
        said = {"client_id": client_id, "redirect_uris": asked["redirect_uris"]}
        if method != "none":
            said["client_secret"] = self.rules.known[client_id] = f"secret-{secrets.token_hex(8)}"
        if method:
            said["token_endpoint_auth_method"] = method
        self.clients[client_id] = asked
        return 201, {}, said

    def _authorize(self, asked):
        client_id, redirect = asked.get("client_id", ""), asked.get("redirect_uri", "")
        registered = self.clients.get(client_id)
        if registered is not None and redirect not in registered["redirect_uris"]:
            return self._fault("a redirect that is not registered")
        if registered is None and client_id not in self.rules.known and not client_id.startswith("https://"):
            return self._fault("an unknown client")
        if not urlsplit(redirect).netloc.startswith("127.0.0.1:"):
            return self._fault("a redirect that is not of this machine")
        if asked.get("code_challenge_method") != "S256" or not asked.get("code_challenge"):
            return self._fault("no PKCE")
        if not asked.get("resource") or len(asked.get("state", "")) < 20:
            return self._fault("no resource, or no state worth the name")
        code = secrets.token_hex(8)
        self._codes[code] = asked
        said = dict(self.rules.says or {"code": code})
        said["state"] = asked["state"] if self.rules.state is None else self.rules.state
        if self.rules.iss is not None:
            said["iss"] = self.issuer if self.rules.iss == "own" else self.rules.iss
        return 302, {"Location": f"{redirect}?{urlencode(said)}"}, None

    def _token(self, request, asked):
        if self.rules.token_answer is not None:
            return 400, {}, self.rules.token_answer
        client_id = self._authenticated(request, asked)
        if client_id is None:
            return 401, {}, {"error": "invalid_client"}
        if asked.get("grant_type") == "refresh_token":
            scope = self.refresh_tokens.pop(asked.get("refresh_token", ""), None)
            if scope is None:
                return 400, {}, {"error": "invalid_grant", "error_description": "that token was used before"}
            return 200, {}, self._issue(scope)
        begun = self._codes.pop(asked.get("code", ""), None)
        if begun is None:
            return 400, {}, {"error": "invalid_grant"}
        challenge = base64.urlsafe_b64encode(hashlib.sha256(asked.get("code_verifier", "").encode()).digest())
        for what, good in (
            ("PKCE", challenge.rstrip(b"=").decode() == begun["code_challenge"]),
            ("resource", asked.get("resource") == begun["resource"]),
            ("redirect", asked.get("redirect_uri") == begun["redirect_uri"]),
            ("client", client_id == begun["client_id"]),
        ):
            if not good:
                return self._fault(f"the {what} of the token request is another one")
        return 200, {}, self._issue(begun.get("scope", ""))

    def _authenticated(self, request, asked) -> str | None:
        """The client, when it has shown that it is one by the one way that it may use."""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        used, client_id, secret = "none", asked.get("client_id", ""), asked.get("client_secret", "")
        if scheme == "Basic":
            used = "client_secret_basic"
            client_id, _, secret = (unquote(part) for part in base64.b64decode(given).decode().partition(":"))
        elif secret:
            used = "client_secret_post"
        if used not in (self.rules.methods or ("client_secret_basic", "none")):
            self.faults.append(f"{used} is not supported")
            return None
        if secret != self.rules.known.get(client_id, ""):
            return None
        return client_id

    def _issue(self, scope: str):
        token, refresh = f"access-{secrets.token_hex(8)}", f"refresh-{secrets.token_hex(8)}"
        self.tokens[token] = scope
        said = {"access_token": token, "token_type": "Bearer", "expires_in": self.rules.expires_in}
        if self.rules.refreshes:
            self.refresh_tokens[refresh] = scope
            said["refresh_token"] = refresh
        return {key: value for key, value in said.items() if value is not None}

    def _fault(self, what: str):
        self.faults.append(what)
        return 400, {}, {"error": "invalid_request", "error_description": what}


def post(url: str, headers: dict[str, str]) -> tuple[int, str]:
    """As a client of the MCP server: status and WWW-Authenticate."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    try:
        body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
        connection.request("POST", parts.path, body, {**headers, "Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.headers.get("WWW-Authenticate", "")
    finally:
        connection.close()


def get(url: str) -> tuple[int, str, bytes]:
    """As a browser: status, Location and body; no redirect is followed."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
        answer = connection.getresponse()
        return answer.status, answer.headers.get("Location", ""), answer.read()
    finally:
        connection.close()
