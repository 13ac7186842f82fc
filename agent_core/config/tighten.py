"""What a project's config may do with the settings that guard the user: make them tighter, never looser (A7).

That holds when the project is trusted too. Pure: values in, the value in force out.
"""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from typing import Any, Final

from agent_core.config.schema import Key, lowers

_TIGHTEST_FIRST: Final[dict[str, Sequence[Any]]] = {
    "approvals.policy": ("always", "untrusted", "never"),
    "approvals.mode": ("manual", "smart", "off"),
    "sandbox.mode": ("read-only", "workspace-write", "danger-full-access"),
    "sandbox.network": (False, True),
    "memory.write_approval": (True, False),
}
_JOINED: Final = frozenset({"approvals.deny", "files.deny_read", "agent.disabled_toolsets"})
"""Lists of what is refused: a project's entries come to the user's."""
_LOWERED: Final = frozenset({"approvals.timeout", "sandbox.max_processes", "sandbox.max_memory_mb"})

_NARROWED: Final = "files.write_safe_roots"
RULED: Final = frozenset({*_TIGHTEST_FIRST, *_JOINED, *_LOWERED, _NARROWED})
"""Keys that a project may make stricter; with no other that guards the user it has anything to do."""


def reason(key: Key) -> str:
    """Why a project's value does not count, in words."""
    return "a project may only make it stricter" if key.name in RULED else "a project may not set it"


def tightened(key: Key, value: Any, current: Any) -> tuple[bool, Any]:
    """Whether a project may have `value` where `current` is in force, and what is in force then.

    A key that no rule here names is never a project's.
    """
    if key.name in _TIGHTEST_FIRST:
        order = _TIGHTEST_FIRST[key.name]
        return order.index(value) <= order.index(current), value
    if key.name in _JOINED:
        return True, [*current, *(entry for entry in value if entry not in current)]
    if key.name in _LOWERED:
        return lowers(key, value, current), value
    if key.name == _NARROWED:
        # None given: all that was allowed stays allowed; any list is tighter then.
        inside = all(any(_is_inside(root, outer) for outer in current) for root in value)
        return bool(value) and (not current or inside), value
    return False, current


def _is_inside(path: str, outer: str) -> bool:
    path, outer = (os.path.normpath(os.path.expanduser(each)) for each in (path, outer))
    return path == outer or path.startswith(outer.rstrip("/") + "/")
