"""The door to whoever a server says gives out its tokens: the addresses come from the server, and are judged first.

Only https is spoken, but between programs of one machine; a server of the public internet cannot lead to an address of
the user's own network. The connection goes to an address that was judged (agent_core/web/door.py). A proxy of the
environment is used as for the server itself, and then looks the names up. Source: R22, R37.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any, Final
from urllib.parse import urlencode

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import ToolFailure
from agent_core.mcp.words import Json, ServerFailure
from agent_core.records import dataclass
from agent_core.safety import addresses, urls
from agent_core.safety.addresses import Address
from agent_core.safety.urls import Target
from agent_core.text.printable import printable
from agent_core.web.door import Ask, Door, fetch, judge

FindProxy = Callable[[Target], str]
"""The proxy that stands between us and a target; empty: none."""

_JSON: Final = {"Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What an authorization server said; `body` is empty where that was no JSON object."""

    status: int
    body: Json
    challenge: str = ""
    """Its WWW-Authenticate header."""

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300 and bool(self.body)


def environment_proxy(target: Target) -> str:
    """The proxy that the environment names for a target; none between programs of one machine."""
    from urllib.request import getproxies, proxy_bypass

    if is_loopback(target) or proxy_bypass(target.host):
        return ""
    found = getproxies()
    return str(found.get(target.scheme) or found.get("all") or "")


def is_loopback(target: Target) -> bool:
    """Whether a host is this machine, by what is written alone."""
    if target.address is not None:
        return target.address.is_loopback
    return target.host == "localhost"


class AuthDoor:
    """Requests for the log-in at one server. Safe to use from several threads."""

    def __init__(self, name: str, server_url: str, find_proxy: FindProxy = environment_proxy) -> None:
        self._name = name
        self._url = server_url
        self._find_proxy = find_proxy
        self._door: Door | None = None

    @property
    def server(self) -> Target:
        """The server that wants the log-in. Raises ServerFailure where its URL is none that a log-in can be for."""
        return self._parsed(self._url)

    def check(self, url: str) -> Target:
        """The parts of an address that the log-in leads to. Raises ServerFailure when it is not to be used at all."""
        target = self._parsed(url)
        if target.scheme == "https" or (is_loopback(target) and is_loopback(self.server)):
            return target
        raise ServerFailure(
            "mcp_login_insecure",
            f"The log-in at {self._name} leads to {printable(target.url)[:200]}, which is not https: tokens could be "
            "read on the way. It was not used.",
            server=self._name,
            url=printable(target.url)[:200],
        )

    def get(self, url: str, cancel: CancelScope) -> Answer:
        """Raises ServerFailure when there is no answer, Interrupted."""
        return self._ask(Ask(self.check(url).url, headers=_JSON), cancel)

    def post_form(self, url: str, form: Mapping[str, str], headers: Mapping[str, str], cancel: CancelScope) -> Answer:
        """As `get`; what is sent goes to this address only."""
        headers = {**_JSON, **headers, "Content-Type": "application/x-www-form-urlencoded"}
        return self._ask(Ask(self.check(url).url, "POST", headers, urlencode(form).encode()), cancel)

    def post_json(self, url: str, body: Json, cancel: CancelScope) -> Answer:
        """As `post_form`."""
        headers = {**_JSON, "Content-Type": "application/json"}
        return self._ask(Ask(self.check(url).url, "POST", headers, json.dumps(body).encode()), cancel)

    def refusal(self, cancel: CancelScope) -> str:
        """What the server says (WWW-Authenticate) to a request that nothing lets in; empty when it lets it in."""
        body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "ping"}).encode()
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        answer = self._ask(Ask(self.server.url, "POST", headers, body), cancel)
        return answer.challenge if answer.status == 401 else ""

    # -- on the way ------------------------------------------------------------------------------------------------

    def _parsed(self, url: str) -> Target:
        target = urls.parse(url)
        if isinstance(target, Target):
            return target
        raise ServerFailure(
            "mcp_login_address",
            f"The log-in at {self._name} leads to something that is no address: {target.text}",
            server=self._name,
            why=target.text,
        )

    def _ask(self, ask: Ask, cancel: CancelScope) -> Answer:
        target = self._parsed(ask.url)
        try:
            page = fetch(ask, self._way(target, cancel), cancel, agreed=True, follows=lambda *hosts: False)
        except ToolFailure as failure:
            why = str(failure.params.get("rule") or "") or failure.text
            raise ServerFailure(
                "mcp_login_unreachable",
                f"The log-in at {self._name} needs {printable(target.host)}, which cannot be asked: {why}",
                server=self._name,
                host=printable(target.host),
                why=why,
            ) from failure
        challenge = page.headers.get("www-authenticate", "")
        return Answer(page.status, _object(page.content) if not page.cut else {}, challenge)

    def _way(self, target: Target, cancel: CancelScope) -> Door:
        if proxy := self._find_proxy(target):
            # The proxy looks the name up: here it is judged by what is written alone.
            straight = self._straight(cancel)
            return replace(straight, proxy=proxy, resolve=lambda host: [str(_UNKNOWN)], is_public=_may_be_public)
        return self._straight(cancel)

    def _straight(self, cancel: CancelScope) -> Door:
        if self._door is None:
            base = Door(seconds=limits.MCP_AUTH_REQUEST, most=limits.MCP_AUTH_BODY)
            if not self._find_proxy(self.server):
                # A server of the user's own network may have its tokens from there too; one of the internet may not.
                base = replace(base, allow_private=judge(self.server.url, base, cancel).rule == "not public")
            self._door = base
        return self._door


_UNKNOWN: Final = IPv4Address("192.0.2.1")  # stands for what the proxy will find; nobody has it


def _may_be_public(address: Address) -> bool:
    return address == _UNKNOWN or addresses.is_public(address)


def _object(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
