"""What a skill may be called."""

from __future__ import annotations

import re
from typing import Final

from agent_core import limits

_VALID: Final = re.compile(r"[a-z0-9][a-z0-9._-]*\Z")


def is_valid(name: str) -> bool:
    """Whether a new skill may have this name: small letters, digits, `.`, `_` and `-`, and no sign first."""
    return len(name) <= limits.SKILL_NAME and _VALID.match(name) is not None


def is_usable(name: str) -> bool:
    """Whether a skill that is there may be known by this name: one word that a person can read and type.

    Wider than `is_valid`: others call theirs in capitals or in Chinese, and those are to be found, too.
    """
    return (
        0 < len(name) <= limits.SKILL_NAME
        and name.isprintable()
        and name[0].isalnum()
        and not any(char.isspace() or char in "/\\\"'`<>|&;$*?" for char in name)
    )
