"""What a model calls the tools of servers (R25).

`mcp_<server>_<tool>` in letters, digits, `_` and `-`, at most limits.MCP_NAME characters. A name that had to be altered
ends in a digest of the whole, so that two never become one; it depends on the config alone, not on which servers have
been started, and so is the same in every run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Final

from agent_core import limits, names

_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST: Final = 8


def model_names(
    pairs: Iterable[tuple[str, str]], reserved: Iterable[str] = (), servers: Sequence[str] = ()
) -> dict[tuple[str, str], str]:
    """The names by (server, tool), all different and none of `reserved`. `servers`: all that are configured.

    A tool whose name is empty has none.
    """
    pairs = list(dict.fromkeys(pairs))
    taken, known = set(reserved), sorted({*servers, *(server for server, _ in pairs)})
    found: dict[tuple[str, str], str] = {}
    for server, tool in pairs:
        if not tool:
            continue
        plain = f"{names.MCP_PREFIX}{server}_{tool}"
        name = _OTHER.sub("_", plain)
        if name != plain or len(name) > limits.MCP_NAME or name in taken or _could_be_another(name, server, known):
            name = _with_digest(name, f"{server}\0{tool}")
        while name in taken:  # a server has named a tool as another one's was altered
            name = _with_digest(name, f"{name}\0{server}\0{tool}")
        taken.add(name)
        found[server, tool] = name
    return found


def _could_be_another(name: str, server: str, servers: Sequence[str]) -> bool:
    """Whether a tool of another server may have this name, and keeps it: `a` + `b_c` gives way to `a_b` + `c`."""
    own = _prefix(server)
    return any(
        name.startswith(prefix) and (len(prefix) > len(own) or (prefix == own and other < server))
        for other in servers
        if other != server and (prefix := _prefix(other))
    )


def _prefix(server: str) -> str:
    return _OTHER.sub("_", f"{names.MCP_PREFIX}{server}_")


def _with_digest(name: str, whole: str) -> str:
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{name[: limits.MCP_NAME - _DIGEST - 1]}_{digest}"
