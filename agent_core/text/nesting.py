"""How deep lists and objects of JSON stand in each other: what walks through them must be able to come back."""

from __future__ import annotations

from typing import Any


def is_deeper(value: Any, most: int) -> bool:
    """Whether a value has more than `most` lists and objects in each other. Never recurses itself."""
    level = [value]
    for _ in range(most):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return any(isinstance(one, dict | list) for one in level)


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
