"""What narrows a search down, and how it is typed: `in:here model:qwen since:7d before:2026-01-01 by:user`. Pure.

Such words stand anywhere in a query; in quotation marks they are words like any others. A value with blanks stands in
quotation marks, and in them a mark of its own behind a backslash. A date that is half typed narrows nothing down:
nothing that can be typed is wrong.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import date, timedelta
from typing import Final, Literal

from agent_core import limits
from agent_core.records import dataclass

Who = Literal["", "user", "model", "tool"]
WHO: Final[tuple[Who, ...]] = ("user", "model", "tool")
HERE: Final = "here"
KEYS: Final = ("in", "model", "since", "before", "by")

_VALUE: Final = r"""["“”]((?:\\["“”\\]|[^"“”])*)["“”]?|(\S*)"""
_BEHIND: Final = re.compile(r"""\\(["“”\\])""")
_WORD: Final = re.compile(rf"""["“”][^"“”]*(?:["“”]|\Z)|(?<!\S)({"|".join(KEYS)})[:：](?:{_VALUE})""", re.IGNORECASE)
_BACK: Final = re.compile(r"(\d{1,4})([dwmy])\Z")
_DAYS: Final = {"d": 1, "w": 7, "m": 30, "y": 365}
_DATE: Final = re.compile(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?\Z")


@dataclass(frozen=True, slots=True)
class Filters:
    """What a message has to be, beside what stands in it. Empty: anything."""

    workspace: str = ""
    """The very folder its session works in."""
    folder: str = ""
    """A part of that folder's name; an absolute path: the folder or one above it."""
    model: str = ""
    """A part of the name of a model that its session has used."""
    since: float | None = None
    """Seconds since the epoch: said then or later."""
    before: float | None = None
    """Said before then."""
    who: Who = ""
    """Whose words: the person's, the model's, or a tool's result."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query taken apart."""

    words: str
    """What is to be found."""
    filters: Filters = Filters()
    typed: tuple[tuple[str, str], ...] = ()
    """The words that narrow it down, as (key, value)."""
    unread: tuple[str, ...] = ()
    """Those of them that say nothing: half a date, a name nobody has."""


def read(text: str, here: str = "", today: date | None = None) -> Asked:
    """Take a query apart. `here` is the folder that `in:here` means. The last of two words with the same key counts."""
    today = today or date.today()
    filters, typed, unread = Filters(), dict[str, str](), list[str]()

    def take(found: re.Match[str]) -> str:
        nonlocal filters
        if not found[1]:
            return found[0]
        key, value = found[1].lower(), (_BEHIND.sub(r"\1", found[2] or "") or found[3] or "").strip()
        changed = _with(filters, key, value, here, today) if value else filters
        if changed is None:
            unread.append(found[0])
        elif value:
            filters = changed
            typed[key] = value
        return " "

    words = _WORD.sub(take, text[: limits.SEARCH_TYPED])
    return Asked(" ".join(words.split()), filters, tuple(typed.items()), tuple(unread))


def _with(filters: Filters, key: str, value: str, here: str, today: date) -> Filters | None:
    """`filters` with one more; None: the value says nothing."""
    if key == "in":
        if value.lower() == HERE:
            return replace(filters, workspace=here, folder="")
        return replace(filters, workspace="", folder=value.rstrip("/") or "/")
    if key == "model":
        return replace(filters, model=value)
    if key == "by":
        who = value.lower()
        return replace(filters, who=who) if who in WHO else None
    moment = begin_of(value, today)
    if moment is None:
        return None
    return replace(filters, since=moment) if key == "since" else replace(filters, before=moment)


def begin_of(word: str, today: date) -> float | None:
    """The first moment of what a date means, by this machine's clock, in seconds since the epoch; None: no date.

    `today`, `yesterday`, `7d` (seven days, today included), `2w`, `3m`, `1y`, `2026`, `2026-01`, `2026-01-31`.
    """
    word = word.lower()
    back, day = _BACK.match(word), _DATE.match(word)
    try:
        if word in ("today", "yesterday"):
            begin = today - timedelta(days=word == "yesterday")
        elif back:
            begin = today - timedelta(days=max(0, int(back[1]) * _DAYS[back[2]] - 1))
        elif day:
            begin = date(int(day[1]), int(day[2] or 1), int(day[3] or 1))
        else:
            return None
        return time.mktime(begin.timetuple())
    except (ValueError, OverflowError):
        return None


def put(text: str, key: str, value: str) -> str:
    """A query in which the filter `key` says `value`, at its end; without that filter when the value is empty."""

    def take(found: re.Match[str]) -> str:
        return "" if (found[1] or "").lower() == key else found[0]

    rest = re.sub(r"  +", " ", _WORD.sub(take, text)).rstrip()
    if not value:
        return rest.strip()
    if re.search(r"""\s|\A["“”]""", value):
        value = '"' + re.sub(r"""["“”\\]""", r"\\\g<0>", value) + '"'
    return f"{rest} {key}:{value}".strip()
