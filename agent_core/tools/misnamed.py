"""Which tool a call means whose name is none: models write names in other styles, and with prefixes of other programs.

Pure. Source: LOOP-18.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Final

from agent_core import limits

_PREFIX: Final = re.compile(r"^.*(?:[./:]|__)(?=.)", re.DOTALL)
"""What stands before a name: `functions.`, `default_api.`, `tools/`, `mcp__server__`."""
_MARKUP: Final = re.compile(r"<\|.*|[(<].*", re.DOTALL)
"""What a model's own call format has left behind a name: `read_file<|channel|>json`, `read_file()`."""
_JOINTS: Final = re.compile(r"[\W_]+")


def same_but_for_style(name: str, known: Iterable[str]) -> str:
    """The one of `known` that is `name` in another style, with a prefix or with the suffix "tool"; "" if none is."""
    wanted = _forms(name)
    found = {candidate for candidate in known if _plain(candidate) in wanted}
    return found.pop() if len(found) == 1 else ""


def near(name: str, known: Iterable[str]) -> str:
    """The only one of `known` that `name` may be a misspelling of; "" when there is none, or more than one."""
    plain = {_plain(candidate): candidate for candidate in known}
    found = difflib.get_close_matches(_plain(_bare(name)), plain, n=2, cutoff=limits.NEAR_TOOL)
    return plain[found[0]] if len(found) == 1 else ""


def _forms(name: str) -> set[str]:
    """`name` and what it may be without its ornaments, each in small letters without joints."""
    names = {_plain(_MARKUP.sub("", name)), _plain(_bare(name))}
    return (names | {form.removesuffix("tool") for form in names}) - {""}


def _bare(name: str) -> str:
    return _PREFIX.sub("", _MARKUP.sub("", name[: limits.SUBJECT_CHARS]).strip())


def _plain(name: str) -> str:
    return _JOINTS.sub("", name[: limits.SUBJECT_CHARS]).lower()
