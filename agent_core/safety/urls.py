"""The URL door: which addresses of the web a tool may fetch from, decided before anything is sent.

A URL is parsed once, strictly, and rewritten from its parts, so that no two readers can disagree about its host; the
host's addresses are looked up once and are part of the verdict. Who connects (`web_door`) connects to those and to no
others. Pure: the resolver is given. Source: W1, rules 1 to 5 of the URL door.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final, Literal
from urllib.parse import quote, unquote, urljoin

from agent_core import limits
from agent_core.records import dataclass
from agent_core.safety import addresses
from agent_core.safety.addresses import Address
from agent_core.safety.redact import redact
from agent_core.text.printable import printable

Resolve = Callable[[str], Iterable[str]]
"""The addresses of a host name as text, none when it has none. May raise OSError, which means the same."""
IsPublic = Callable[[Address], bool]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes, from a URL that was parsed."""

    scheme: Literal["http", "https"]
    host: str
    """A name in ASCII and lower case without a dot at the end, or an address as it is usually written, no brackets."""
    port: int
    path: str
    """With the query, from the first slash on; what may not stand in a URL is percent-encoded."""
    address: Address | None
    """When the host is one."""

    @property
    def authority(self) -> str:
        """Host and port as a Host header has them."""
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port


@dataclass(frozen=True, slots=True)
class UrlVerdict:
    """`text` tells a model or a person why, and the way out; empty when allowed. "ask": a person may allow it."""

    verdict: Literal["allow", "ask", "deny"]
    rule: str = ""
    text: str = ""
    target: Target | None = None
    addresses: tuple[str, ...] = ()
    """The only ones that may be connected to."""


class _Refused(Exception):
    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule = rule
        self.text = text


_PORTS: Final = {"http": 80, "https": 443}


def check(
    url: str,
    resolve: Resolve,
    allow_private: bool = False,
    *,
    is_public: IsPublic = addresses.is_public,
    hide: Callable[[str], str] = redact,
) -> UrlVerdict:
    """Judge a URL that a model or a person wrote, looking its host up once.

    `hide` takes out of a text what is secret: a URL that it would change carries a credential, and is asked about.
    Never raises.
    """
    target = parse(url)
    if isinstance(target, UrlVerdict):
        return target
    verdict = _reached(target, resolve, allow_private, is_public)
    if verdict.verdict == "allow" and _carries_credential(target, hide):
        return UrlVerdict(
            "ask",
            "credential in the URL",
            f"The URL carries what looks like a key or a password, which {target.host} would be given. Leave it out, "
            "or let the person agree.",
            target,
            verdict.addresses,
        )
    return verdict


def check_redirect(
    came_from: Target,
    location: str,
    resolve: Resolve,
    allow_private: bool = False,
    *,
    is_public: IsPublic = addresses.is_public,
) -> UrlVerdict:
    """Judge where a server sends a request on to. A credential in there is that server's own and none of ours."""
    target = redirected(came_from, location)
    if isinstance(target, UrlVerdict):
        return target
    if came_from.scheme == "https" and target.scheme == "http":
        return UrlVerdict(
            "deny",
            "https to http",
            f"{came_from.host} redirects from https to http, where everybody on the way could read along. Look for an "
            "https address of the page.",
        )
    return _reached(target, resolve, allow_private, is_public)


def redirected(came_from: Target, location: str) -> Target | UrlVerdict:
    """The parts of what a Location header names, or the verdict that refuses it. Looks nothing up and never raises."""
    try:
        _check_text(location)
        if "\\" in location:
            raise _Refused("not a URL", "The redirect has a backslash, which programs read in different ways.")
        joined = location if _SCHEME.match(location) else urljoin(came_from.url, location)
    except _Refused as refused:
        return UrlVerdict("deny", refused.rule, refused.text)
    except ValueError:
        return UrlVerdict("deny", "not a URL", "The server redirects to something that is no URL.")
    return parse(joined)


def parse(url: str) -> Target | UrlVerdict:
    """The parts of a URL, or the verdict that refuses it. Looks nothing up and never raises."""
    try:
        return _parse(url)
    except _Refused as refused:
        return UrlVerdict("deny", refused.rule, refused.text)


# -- the text -----------------------------------------------------------------------------------------------------

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_URL: Final = re.compile(r"(https?)://([^/?#]*)([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def _check_text(url: str) -> None:
    if len(url) > limits.URL_CHARS:
        raise _Refused("not a URL", f"The URL is longer than {limits.URL_CHARS:,} characters.")
    if _UNSEEN.search(url):
        raise _Refused("not a URL", "The URL has control characters or line ends. Write it in one plain line.")
    if any("\ud800" <= char <= "\udfff" for char in url):
        raise _Refused("not a URL", "The URL has characters that are no text.")


def _parse(url: str) -> Target:
    _check_text(url)
    parts = _URL.match(url)
    if parts is None:
        scheme = _SCHEME.match(url)
        if scheme and scheme[1].lower() not in _PORTS:
            raise _Refused("scheme", f"Only http and https are fetched, not {printable(scheme[1][:20])}.")
        raise _Refused("not a URL", "Write the whole URL: https://, a host, and a path.")
    scheme_name: Literal["http", "https"] = "https" if parts[1].lower() == "https" else "http"
    host, port = _split_port(_authority(parts[2]))
    if "\\" in parts[3]:
        raise _Refused("not a URL", "The path has a backslash, which programs read in different ways. Use /.")
    path = _encoded(parts[3] or "/") + (_encoded(parts[4]) if parts[4] else "")
    name, address = _host(host)
    return Target(scheme_name, name, _port(port, scheme_name), path, address)


def _authority(text: str) -> str:
    """The part between `//` and the path, when all programs read it alike."""
    if not text:
        raise _Refused("not a URL", "The URL has no host.")
    if "@" in text:
        raise _Refused("user in the URL", "A URL with a user name or password is not fetched. Leave that part out.")
    if "\\" in text or "%" in text or any(char.isspace() for char in text):
        raise _Refused(
            "not a URL", "The host has a blank, a backslash or a percent sign, which programs read in different ways."
        )
    return text


def _split_port(authority: str) -> tuple[str, str | None]:
    if authority.startswith("["):
        host, bracket, rest = authority.partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise _Refused("not a URL", "The brackets around the address do not fit.")
        return host + bracket, rest[1:] if rest else None
    host, colon, port = authority.partition(":")
    return host, port if colon else None


def _port(text: str | None, scheme: str) -> int:
    if text is None:
        return _PORTS[scheme]
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 65_536):
        raise _Refused("port", "The port is no number from 1 to 65535.")
    port = int(text)
    if port in _OTHER_SERVICES:
        raise _Refused("port", f"Port {port} belongs to another kind of service, not to the web.")
    return port


def _encoded(text: str) -> str:
    """Path or query with everything percent-encoded that may not stand there; what is encoded already stays."""
    quoted = quote(text, safe="/?:@!$&'()*+,;=-._~%|[]")
    return re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", quoted)


def _numbers(text: str) -> frozenset[int]:
    return frozenset(map(int, text.split()))


# What browsers refuse to connect to (the fetch standard's list), and what usually speaks something else than HTTP:
# file servers, remote desktops, databases, queues, the container engine.
_OTHER_SERVICES: Final = _numbers("""
    1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 88 95 101 102 103 104 109 110 111 113 115 117 119 123
    135 137 138 139 143 161 162 179 389 427 445 464 465 500 512 513 514 515 526 530 531 532 540 543 544 548 554 556 563
    587 601 623 631 636 749 853 873 989 990 992 993 995 1080 1099 1194 1352 1433 1434 1521 1719 1720 1723 1883 2049
    2181 2375 2376 2379 2380 2483 2484 3268 3269 3306 3389 3659 4045 4190 4369 5060 5061 5222 5269 5432 5433 5671 5672
    5900 5901 5902 5903 5938 5985 5986 6000 6001 6379 6380 6432 6566 6665 6666 6667 6668 6669 6679 6697 7199 7687 8883
    9042 9092 9160 10050 10051 10080 11211 11311 26379 27017 27018 27019 28015 29015 33060 61613 61616
""")


# -- the host -----------------------------------------------------------------------------------------------------

_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_HOME_NAMES: Final = frozenset({"localhost", "localdomain", "ip6-localhost", "ip6-loopback", "local", "internal"})
_METADATA_NAMES: Final = (
    "instance-data",
    "instance-data.ec2.internal",
    "metadata",
    "metadata.azure.com",
    "metadata.azure.internal",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.oraclecloud.com",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "metadata.tencentyun.com",
    "rancher-metadata",
)


def _host(text: str) -> tuple[str, Address | None]:
    """The host as it will be looked up, and the address that it is, if it is one."""
    if text.startswith("["):
        try:
            address = IPv6Address(text[1:-1])
        except AddressValueError:
            raise _Refused("not a URL", "What stands in brackets is no IPv6 address.") from None
        return str(address), address
    plain = text.isascii()
    name = text.lower() if plain else _in_ascii(text)
    name = name.removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        # inet_aton also takes decimal, octal, hexadecimal and short forms; only the usual one says what it means.
        try:
            address4 = IPv4Address(name)
        except AddressValueError:
            raise _Refused(
                "host form", "The host is a number in an unusual form. Write four decimal numbers."
            ) from None
        if not plain or str(address4) != name:
            raise _Refused("host form", "The address is written in unusual characters. Write four decimal numbers.")
        return name, address4
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _Refused("not a URL", "The host is no valid name.")
    return name, None


def _in_ascii(text: str) -> str:
    """A host name beyond ASCII in the form that is looked up. Raises _Refused for what only looks like a name."""
    if any(unicodedata.category(char) in ("Cf", "Cc", "Zs", "Cn", "Co") for char in text):
        raise _Refused("host form", "The host has characters that cannot be seen.")
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = folded.translate({ord(dot): "." for dot in "\u3002\uff0e\uff61"})
    if folded.isascii():
        return folded
    import idna  # its tables are loaded for such names only

    try:
        return idna.encode(folded, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise _Refused("not a URL", "The host is no valid international name.") from None


# -- where it leads -----------------------------------------------------------------------------------------------

_PRIVATE_WAY_OUT: Final = (
    "Only the public internet is fetched. If it is a server of yours, start it and look at it with a command."
)


def _reached(target: Target, resolve: Resolve, allow_private: bool, is_public: IsPublic) -> UrlVerdict:
    """Judge by the host's name and by all addresses it has now."""
    shown = printable(target.host)
    if _is_metadata_name(target.host):
        return UrlVerdict("deny", "metadata service", f"{shown} is a cloud's metadata service, which gives out keys.")
    if target.address is None and not allow_private and _is_home_name(target.host):
        return UrlVerdict("deny", "not public", f"{shown} is a name of this machine or network. {_PRIVATE_WAY_OUT}")
    found = [target.address] if target.address is not None else _looked_up(target.host, resolve)
    if not found:
        return UrlVerdict("deny", "no address", f"{shown} has no address. Check the name.")
    known = [address for address in found if address is not None]
    if any(addresses.is_metadata(address) for address in known):
        return UrlVerdict("deny", "metadata service", f"{shown} leads to a cloud's metadata service.")
    if len(known) < len(found) or not all(
        is_public(address) or (allow_private and addresses.is_host(address)) for address in known
    ):
        return UrlVerdict("deny", "not public", f"{shown} leads to an address that is not public. {_PRIVATE_WAY_OUT}")
    return UrlVerdict("allow", "", "", target, tuple(dict.fromkeys(map(str, known))))


def _looked_up(host: str, resolve: Resolve) -> list[Address | None]:
    try:
        return [addresses.parse_address(answer) for answer in resolve(host)]
    except (OSError, UnicodeError):
        return []


def _is_metadata_name(host: str) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in _METADATA_NAMES)


def _is_home_name(host: str) -> bool:
    return host.rpartition(".")[2] in _HOME_NAMES or host.endswith(".home.arpa")


# -- what it carries ----------------------------------------------------------------------------------------------

_CREDENTIAL_NAME: Final = re.compile(
    r"[?&;](?:[a-z0-9]+[_.\-])*(?:(?:api_?key|access_?key|secret(?:_?key)?|token|access_?token|auth_?token|id_?token"
    r"|refresh_?token|session_?token|bearer|passw(?:or)?d|passwd|pwd|passphrase|credentials?|client_?secret"
    r"|private_?key|jwt|authorization|sig|signature|(?:j|php)?sess(?:ion)?_?id)=(?![&;#]|\Z)"
    r"|(?:auth|pass|pw|session)=[^&;#]{4}|key=(?=[a-z_\-]*[0-9])[\w\-]{16})",
    re.IGNORECASE,
)
_PAGE_TOKEN: Final = re.compile(r"[?&;](?:page|next|continuation|cursor|sync)[_.\-]token=", re.IGNORECASE)


def _carries_credential(target: Target, hide: Callable[[str], str]) -> bool:
    spelled = (target.url, unquote(target.url))
    return any(hide(url) != url for url in spelled) or any(
        _CREDENTIAL_NAME.search(_PAGE_TOKEN.sub("&", url)) for url in spelled
    )
