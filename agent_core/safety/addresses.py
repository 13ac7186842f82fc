"""Which IP addresses belong to the public internet, and which belong to a cloud's metadata service. Pure tables.

The registries' tables are written out here instead of asking `ipaddress.is_global`: its answer differs between versions
of Python, and for addresses that embed another one. Sources: W1, rules 2 to 4 of the URL door.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address


def _v4(text: str) -> tuple[IPv4Network, ...]:
    return tuple(map(IPv4Network, text.split()))


def _v6(text: str) -> tuple[IPv6Network, ...]:
    return tuple(map(IPv6Network, text.split()))


# No host is there: "this network", multicast, reserved, broadcast.
_NOBODY_4: Final = _v4("0.0.0.0/8 224.0.0.0/4 240.0.0.0/4")
_NOBODY_6: Final = _v6("::/128 ff00::/8")

_PRIVATE_4: Final = _v4("""
    10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24
    192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
""")
# Of IPv6 only 2000::/3 is given out to the public; these parts of it are not.
_PUBLIC_6: Final = IPv6Network("2000::/3")
_PRIVATE_6: Final = _v6("2001::/23 2001:db8::/32 2002::/16 3ffe::/16 3fff::/20")

# Link-local as a whole: every cloud puts something there.
_METADATA_4: Final = _v4("169.254.0.0/16 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32")
_METADATA_6: Final = _v6(
    "fe80::/10 fd00:ec2::254/128 fd00:ec2::23/128 fd20:ce::254/128 fd00:c1::a9fe:a9fe/128 fd00:a9fe:a9fe::254/128"
)

_EMBEDS_AT_END: Final = _v6("::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96")
"""Compatible, mapped, translated and NAT64 addresses: the last 32 bits are one of IPv4."""
_REACHES_EMBEDDED: Final = _v6("::ffff:0:0/96 64:ff9b::/96")
"""Those of them by which a public host can really be reached."""
_NAT64_LOCAL: Final = IPv6Network("64:ff9b:1::/48")
_SIX_TO_FOUR: Final = IPv6Network("2002::/16")
_TEREDO: Final = IPv6Network("2001::/32")
_ISATAP: Final = (0x0000_5EFE, 0x0200_5EFE)


def parse_address(text: str) -> Address | None:
    """The address that `text`, an answer of a resolver, writes; a zone is cut off. None: it writes none."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Whether it belongs to a host of the public internet."""
    if isinstance(address, IPv4Address):
        return not any(address in net for net in (*_NOBODY_4, *_PRIVATE_4))
    if any(address in net for net in _REACHES_EMBEDDED):
        return is_public(_last_bits(address))
    if address not in _PUBLIC_6 or any(address in net for net in _PRIVATE_6):
        return False
    return all(is_public(inner) for inner in embedded(address))


def is_host(address: Address) -> bool:
    """Whether a host can have it at all, a private one among them."""
    if isinstance(address, IPv4Address):
        return not any(address in net for net in _NOBODY_4)
    return not any(address in net for net in _NOBODY_6) and all(is_host(inner) for inner in embedded(address))


def is_metadata(address: Address) -> bool:
    """Whether a cloud's metadata service may answer there, whatever form it is written in."""
    if isinstance(address, IPv4Address):
        return any(address in net for net in _METADATA_4)
    return any(address in net for net in _METADATA_6) or any(is_metadata(inner) for inner in embedded(address))


def embedded(address: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 address carries by its form."""
    bits = int(address)
    if any(address in net for net in _EMBEDS_AT_END):
        if bits != 1:
            yield _last_bits(address)
    elif address in _NAT64_LOCAL:
        # Where the 32 bits stand depends on the prefix that its operator chose (RFC 6052).
        yield _last_bits(address)
        yield IPv4Address(bits >> 48 & 0xFFFF_FFFF)
    elif address in _SIX_TO_FOUR:
        yield IPv4Address(bits >> 80 & 0xFFFF_FFFF)
    elif address in _TEREDO:
        yield IPv4Address(bits >> 64 & 0xFFFF_FFFF)
        yield IPv4Address(bits & 0xFFFF_FFFF ^ 0xFFFF_FFFF)
    elif bits >> 32 & 0xFFFF_FFFF in _ISATAP:
        yield _last_bits(address)


def _last_bits(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFF_FFFF)
