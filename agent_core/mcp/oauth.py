"""What lets requests to one HTTP server in: a log-in by OAuth, kept, renewed, and asked for when a server refuses.

Who gives the tokens is found anew at each refusal, so that a server which has moved to another authorization server
is logged in there, and no token goes to the wrong one. A person logs in only where one can be asked, and is shown the
whole address before. Source: R36 to R42.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.credentials import Secret
from agent_core.errors import Interrupted
from agent_core.mcp import oauth_choices as choices
from agent_core.mcp import oauth_flow
from agent_core.mcp.loopback import Loopback
from agent_core.mcp.oauth_choices import union
from agent_core.mcp.oauth_door import AuthDoor
from agent_core.mcp.oauth_flow import Refused
from agent_core.mcp.oauth_metadata import AuthServer, Challenge, Resource, find_auth_server, find_resource
from agent_core.mcp.oauth_metadata import read_challenge as _read_challenge
from agent_core.mcp.token_store import Client, Login, MemoryStore
from agent_core.mcp.words import OAuthOptions, ServerConfig, ServerFailure
from agent_core.process.running import alarm
from agent_core.records import dataclass
from agent_core.safety.redact import redact


@dataclass(frozen=True, slots=True)
class Visit:
    """An address that a person is to visit to log in."""

    name: str
    """The server, as it is configured."""
    url: str
    """Whole; to be shown as it is."""
    host: str
    """Whom it leads to."""
    redirect: str
    """Where the browser ends."""


class Browser(Protocol):
    def __call__(self, visit: Visit, cancel: CancelScope) -> str:
        """Have a person visit an address, after a yes. `cancel` is also raised when the browser has come back.

        The address that the browser was sent to, where a person copies it from another machine; empty: wait for it.
        Raises ServerFailure "mcp_login_declined", Interrupted.
        """
        ...


class OAuth:
    """The Authorizer of one server (agent_core.mcp.words). Safe to use from several threads."""

    def __init__(
        self,
        config: ServerConfig,
        store: MemoryStore,
        browser: Browser | None = None,
        *,
        hide: Callable[[str], str] = redact,
        document: str = "",
        door: AuthDoor | None = None,
    ) -> None:
        """`browser` None: nobody can be asked. `hide` takes keys out of a text. `document`: the address of a document
        about us that serves as a client id (CIMD), if somebody hosts one.
        """
        self._name, self._url = config.name, config.url
        self._options = config.oauth or OAuthOptions()
        self._has_header = any(name.lower() == "authorization" for name in config.headers)
        self._store = store
        self._browser = browser
        self._hide = hide
        self._document = document
        self._door = door or AuthDoor(config.name, config.url)
        self._given = threading.local()
        """In `token`: what this thread was given last."""
        self._busy = threading.Lock()
        self._doubted = ""
        """The client whose last log-in has not come to its end: the next one registers anew."""
        self._renewed = _Lately()
        self._logged_in = _Lately()

    # -- the Authorizer --------------------------------------------------------------------------------------------

    def headers(self, cancel: CancelScope) -> Mapping[str, str]:
        if self._has_header:
            return {}
        self._given.token = ""
        try:
            login = self._store.read().of(self._url)
        except ServerFailure:
            return {}  # many a server needs none; one that does refuses, and then it is told
        if login is not None and login.refresh and 0 < login.renew_at < time.time():
            try:
                login = self._renew(login, cancel) or login
            except ServerFailure:
                pass  # the token may do; if not, the refusal says more
        token = login.access.reveal() if login is not None and login.access else ""
        self._given.token = token
        return {"Authorization": f"Bearer {token}"} if token else {}

    def challenged(self, status: int, www_authenticate: str, cancel: CancelScope) -> bool:
        if self._has_header:
            return False  # a person has set what lets them in: it is theirs to mend (R36)
        challenge = _read_challenge(www_authenticate)
        given = getattr(self._given, "token", "")
        with self._alone(cancel):
            if status == 401:
                return self._refused(given, challenge, cancel)
            if status == 403 and challenge.error == "insufficient_scope":
                return self._step_up(given, challenge, cancel)
        return False

    def log_in(self, cancel: CancelScope) -> None:
        """Have a person log in, whatever is kept. Raises ServerFailure, Interrupted."""
        with self._alone(cancel):
            challenge = _read_challenge(self._door.refusal(cancel))
            used = self._store.read().of(self._url)
            wanted = union(used.wanted if used is not None else "", challenge.scope)
            self._log_in(*self._find(challenge, cancel), wanted, cancel, anew=True)

    def hide(self, text: str) -> str:
        """`text` without the tokens of this server, which it may send back, and without other keys. Never raises."""
        try:
            login = self._store.read().of(self._url)
        except ServerFailure:
            login = None
        secrets = (login.access, login.refresh, login.client.secret) if login is not None else ()
        return self._hide(redact(text, [secret.reveal() for secret in secrets if secret is not None]))

    # -- a refusal ---------------------------------------------------------------------------------------------------

    def _refused(self, given: str, challenge: Challenge, cancel: CancelScope) -> bool:
        now = self._store.read().of(self._url)
        if now is not None and now.access and now.access.reveal() != given:
            return True  # renewed meanwhile, here or by another program
        if self._browser is None and (now is None or not now.refresh):
            raise self._nobody()
        resource, server = self._find(challenge, cancel)
        kept = self._store.read().logins.get((server.issuer, resource.resource))
        if kept is not None and kept.access and kept.access.reveal() != given:
            self._keep(kept, cancel)  # the log-in of another server of the same resource
            return True
        if kept is not None and kept.refresh and not self._renewed.holds(given) and self._renew(kept, cancel):
            return True
        if kept is not None and kept.access and self._logged_in.holds(given):
            raise self._failure(
                "mcp_refused",
                f"{self._name} refuses the token that its own log-in has just given. Ask who runs the server.",
                status=401,
            )
        self._log_in(resource, server, challenge.scope, cancel)
        return True

    def _step_up(self, given: str, challenge: Challenge, cancel: CancelScope) -> bool:
        login = self._store.read().of(self._url)
        if login is not None and login.access and login.access.reveal() != given:
            return True
        if self._logged_in.count() >= limits.MCP_LOGINS:
            raise self._failure(
                "mcp_scope",
                f"{self._name} wants more rights ({challenge.scope or 'it does not say which'}) and refuses each "
                "log-in that has them. Ask who runs the server whether this account may do that.",
                scope=challenge.scope or "?",
            )
        wanted = union(login.scope if login is not None else "", challenge.scope)
        if self._browser is None:
            if login is not None:
                self._keep(replace(login, wanted=wanted), cancel)
            raise self._nobody()
        self._log_in(*self._find(challenge, cancel), wanted, cancel)
        return True

    def _find(self, challenge: Challenge, cancel: CancelScope) -> tuple[Resource, AuthServer]:
        """What a token is for, and who gives it. Raises ServerFailure, Interrupted."""
        resource = find_resource(self._name, challenge, self._door, cancel)
        used = self._store.read().of(self._url)
        issuer = resource.issuers[0]
        if used is not None and used.issuer in resource.issuers:
            issuer = used.issuer
        return resource, find_auth_server(self._name, issuer, resource.is_old, self._door, cancel)

    # -- tokens ------------------------------------------------------------------------------------------------------

    def _renew(self, login: Login, cancel: CancelScope) -> Login | None:
        """A login with a new token; None when only a person can get one. Raises ServerFailure, Interrupted.

        A refresh token often counts once: of several programs one renews, the others take what it got.
        """
        with self._store.alone(cancel):
            now = self._store.read().logins.get(login.key)
            if now is None or now.refresh is None:
                return None
            if now.access != login.access:
                return now
            try:
                new = oauth_flow.renew(
                    replace(now, client=choices.with_secret(self._options, now.client)), self._door, self._hide, cancel
                )
            except Refused as refused:
                client = now.client
                if refused.code in ("invalid_client", "unauthorized_client"):
                    client = replace(client, id="")  # it is not known there any more: another one is needed
                elif refused.code not in ("invalid_grant", "invalid_request", "invalid_scope", "invalid_target"):
                    raise self._failed(refused) from refused
                self._keep(replace(now, client=client, access=None, refresh=None, renew_at=0.0), cancel)
                return None
            self._keep(new, cancel)
            self._renewed.add(new.access)
            return new

    def _keep(self, login: Login, cancel: CancelScope) -> None:
        self._store.change(lambda kept: kept.with_login(self._url, login), cancel)

    # -- a log-in ----------------------------------------------------------------------------------------------------

    def _log_in(
        self, resource: Resource, server: AuthServer, scope: str, cancel: CancelScope, *, anew: bool = False
    ) -> None:
        """`anew`: with a new registration. Servers forget clients, and say so to the person's browser alone."""
        if self._browser is None:
            raise self._nobody()
        kept = self._store.read()
        choices.check_moved(self._name, self._options, kept.of(self._url), server)
        known = None if anew else kept.logins.get((server.issuer, resource.resource))
        port = self._options.callback_port or (known.client.port if known is not None else 0)
        with Loopback(self._name, port, fixed=bool(self._options.callback_port)) as back:
            scope = choices.choose_scope(self._options, scope, resource, server)
            client = self._client(known, server, back, scope, cancel)
            attempt = oauth_flow.begin(server, client, resource.resource, scope, back.redirect)
            self._doubted = client.id
            code = oauth_flow.read_redirect(self._name, self._visit(attempt, back, cancel), attempt, self._hide)
            try:
                login = oauth_flow.exchange(attempt, code, self._door, self._hide, cancel)
            except Refused as refused:
                raise self._failed(refused) from refused
        self._doubted = ""
        self._keep(login, cancel)
        self._logged_in.add(login.access)

    def _visit(self, attempt: oauth_flow.Attempt, back: Loopback, cancel: CancelScope) -> str:
        """The address that the browser was sent to. Raises ServerFailure, Interrupted."""
        assert self._browser is not None
        deadline = time.monotonic() + limits.MCP_LOGIN
        visit = Visit(self._name, attempt.url, self._door.check(attempt.server.authorize).host, back.redirect)
        with cancel.child() as scope, alarm(deadline, scope):
            back.expect(attempt.state, scope.cancel)
            try:
                if pasted := self._browser(visit, scope):
                    return pasted
                scope.wait(limits.MCP_LOGIN)
            except Interrupted:
                if not scope.cancelled:
                    raise
        cancel.check()
        if back.arrived.is_set():
            return back.answer
        raise self._failure(
            "mcp_login_timeout",
            f"Nobody logged in at {self._name} within {limits.MCP_LOGIN / 60:g} minutes. To try again: "
            f"/mcp login {self._name}",
            minutes=limits.MCP_LOGIN / 60,
        )

    def _client(
        self, known: Login | None, server: AuthServer, back: Loopback, scope: str, cancel: CancelScope
    ) -> Client:
        """As whom to log in: as is set, as registered before, as registered now (R39)."""
        if (client := choices.set_client(self._options, self._document, server)) is not None:
            return client
        kept = known.client if known is not None and known.client.made == "registered" else None
        if kept is not None and kept.port == back.port and kept.id not in ("", self._doubted):
            return kept
        choices.check_registers(self._name, server)
        return oauth_flow.register(self._name, server, back.redirect, back.port, scope, self._door, self._hide, cancel)

    # -- small -------------------------------------------------------------------------------------------------------

    @contextmanager
    def _alone(self, cancel: CancelScope) -> Iterator[None]:
        """One thread at a time answers a refusal; the others then find what it got."""
        while not self._busy.acquire(timeout=0.05):
            cancel.check()
        try:
            yield
        finally:
            self._busy.release()

    def _nobody(self) -> ServerFailure:
        return self._failure(
            "mcp_login", f"{self._name} wants a log-in, which needs a person: run `/mcp login {self._name}`"
        )

    def _failed(self, refused: Refused) -> ServerFailure:
        return self._failure(
            "mcp_login_refused", f"The log-in at {self._name} was refused: {refused.text}.", why=refused.text
        )

    def _failure(self, code: str, text: str, **params: object) -> ServerFailure:
        return ServerFailure(code, text, server=self._name, **params)


class _Lately:
    """Tokens that came within limits.MCP_FRESH, each after the one before."""

    def __init__(self) -> None:
        self._came: list[tuple[float, str]] = []

    def add(self, token: Secret | None) -> None:
        if not self.count():
            self._came.clear()
        self._came.append((time.monotonic(), token.reveal() if token else ""))

    def count(self) -> int:
        """How many came on end; 0 when the last one is old."""
        fresh = self._came and time.monotonic() - self._came[-1][0] < limits.MCP_FRESH
        return len(self._came) if fresh else 0

    def holds(self, token: str) -> bool:
        return self.count() > 0 and self._came[-1][1] == token
