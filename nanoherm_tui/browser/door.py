"""Who may come in: pure, data in, verdict out.

Whoever comes in types into a program that runs commands. On a loopback address three others could try: a page of
another site in the same browser (it cannot read our cookie, but the browser would send it: `Origin` and SameSite), a
name that an attacker points at 127.0.0.1 (`Host`), and another user or program of this machine (the token).
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from typing import Final

from agent_core.records import dataclass
from nanoherm_tui import limits

_LOOPBACK_NAME: Final = "localhost"


@dataclass(frozen=True, slots=True)
class Door:
    """What one run of the server lets in."""

    address: str
    """What it listens on."""
    name: str
    """What it is called in the printed address: the same, or of all addresses of this machine the machine's name."""
    token: str
    """Stands in the printed address once, then in the cookie."""
    path: str
    """Where the page is: "/" and random characters. Cookies know no port, so the browser would send one for "/" to
    every server of this machine; it sends this one below this path alone."""


def new_door(address: str, machine: str) -> Door:
    """A door with a token of its own. `machine`: this machine's name."""
    name = machine if _is_all(address) else address
    return Door(address, name, secrets.token_urlsafe(limits.WEB_TOKEN), f"/{secrets.token_hex(limits.WEB_PATH)}")


def fits(door: Door, given: str) -> bool:
    """Whether `given` is the token; takes as long whatever it is."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), door.token.encode())


def knows_host(door: Door, host: str) -> bool:
    """Whether a request's `Host` names this server: what it listens on, or loopback.

    A name that somebody else may point here is none of them. The port may be another one: a tunnel's.
    """
    name = host_name(host)
    if name == _LOOPBACK_NAME or name in (host_name(door.address), host_name(door.name)):
        return True
    try:
        asked = ipaddress.ip_address(name)
    except ValueError:
        return False
    return asked.is_loopback or _is_all(door.address)


def same_origin(origin: str, host: str) -> bool:
    """Whether a request comes from a page of this server: browsers send `Origin` with each WebSocket."""
    return bool(host) and origin.lower() == f"http://{host.lower()}"


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches what listens on `address`."""
    if address == _LOOPBACK_NAME:
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _is_all(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_unspecified
    except ValueError:
        return False


def host_name(host: str) -> str:
    """A `Host` without its port and brackets: "[::1]:80" is ::1."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return (host if host.count(":") > 1 else host.partition(":")[0]).lower()


def in_address(address: str) -> str:
    """An address as it stands in a URL."""
    return f"[{address}]" if ":" in address else address
