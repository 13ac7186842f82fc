"""How vim's keys make a command: counts, operators, motions, text objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from agent_core.records import dataclass
from nanoherm_tui import limits

OPERATORS: Final = frozenset("dcy><")
_MOTIONS: Final = frozenset("hjklwbeWBE0^$G%(){}+-_;,")
_FINDS: Final = frozenset("fFtT")
_BEHIND_G: Final = frozenset("geE_")
_COMMANDS: Final = frozenset("pPJ~u.iaIAoOvV") | {"ctrl+r"}
_IN_VISUAL: Final = frozenset("xXsSDCYRpPJ~uUovV")
_OBJECTS: Final = frozenset("wWp\"'`bB()[]{}（）【】「」『』《》“”‘’")
_SHORT: Final = {"x": "dl", "X": "dh", "D": "d$", "C": "c$", "s": "cl", "S": "cc", "Y": "yy"}
"""Commands that are an operator and a motion."""
_SAME: Final = {
    "left": "h",
    "right": "l",
    "up": "k",
    "down": "j",
    "home": "0",
    "end": "$",
    "backspace": "h",
    "delete": "x",
    "space": "l",
    " ": "l",
}
"""Other keys for the same."""


@dataclass(frozen=True, slots=True)
class Command:
    """One whole command. `count` 0: none was typed."""

    name: str
    """A motion, a text object behind an operator ("iw"), a command; the operator again for whole lines ("d")."""
    operator: str = ""
    argument: str = ""
    """The character that f, F, t, T and r wait for."""
    count: int = 0

    @property
    def is_object(self) -> bool:
        return len(self.name) == 2 and self.name[0] in "ia"

    @property
    def times(self) -> int:
        return self.count or 1


def read(keys: Sequence[str], *, visual: bool) -> Command | Literal["more", "none"]:
    """Take the keys typed so far apart. "more": a command may become of them; "none": no command begins so."""
    count, at = _count(keys, 0)
    if at == len(keys):
        return "more"
    key = keys[at]
    if len(keys) == at + 1:
        key = _SAME.get(key, key)
    if visual and key in OPERATORS:
        return Command("", key, count=count)
    if visual and key in _IN_VISUAL:
        return Command(key, count=count)
    if not visual and key in _SHORT:
        return Command(_SHORT[key][1], _SHORT[key][0], count=count)
    if key in OPERATORS:
        return _operated(keys, at + 1, key, count)
    if key == "r":
        return _with_argument(keys, at, "", count)
    if visual and key in "ia":
        return _object(keys, at, "", count)
    if key in _COMMANDS:
        return Command(key, count=count)
    return _motion(keys, at, "", count)


def _operated(keys: Sequence[str], at: int, operator: str, count: int) -> Command | Literal["more", "none"]:
    second, at = _count(keys, at)
    if count and second:
        count = min(count * second, limits.VIM_COUNT)
    count = count or second
    if at == len(keys):
        return "more"
    if keys[at] == operator:
        return Command(operator, operator, count=count)
    if keys[at] in ("i", "a"):
        return _object(keys, at, operator, count)
    return _motion(keys, at, operator, count)


def _object(keys: Sequence[str], at: int, operator: str, count: int) -> Command | Literal["more", "none"]:
    if at + 1 == len(keys):
        return "more"
    return Command(keys[at] + keys[at + 1], operator, count=count) if keys[at + 1] in _OBJECTS else "none"


def _motion(keys: Sequence[str], at: int, operator: str, count: int) -> Command | Literal["more", "none"]:
    key = _SAME.get(keys[at], keys[at])
    if key in _FINDS:
        return _with_argument(keys, at, operator, count)
    if key == "g":
        if at + 1 == len(keys):
            return "more"
        return Command("g" + keys[at + 1], operator, count=count) if keys[at + 1] in _BEHIND_G else "none"
    return Command(key, operator, count=count) if key in _MOTIONS else "none"


def _with_argument(keys: Sequence[str], at: int, operator: str, count: int) -> Command | Literal["more", "none"]:
    if at + 1 == len(keys):
        return "more"
    argument = " " if keys[at + 1] == "space" else keys[at + 1]
    return Command(keys[at], operator, argument, count) if len(argument) == 1 else "none"


def _count(keys: Sequence[str], at: int) -> tuple[int, int]:
    """The count that begins at `at`, and where it ends. 0 begins none: it is a motion."""
    end = at
    while end < len(keys) and keys[end] in "0123456789" and (end > at or keys[end] != "0"):
        end += 1
    digits = "".join(keys[at:end])[: len(str(limits.VIM_COUNT)) + 1]
    return (min(int(digits), limits.VIM_COUNT) if digits else 0), end
