"""How a command's argument is written, for people: what stands for something is in the interface's language.

"[name|list|remove name]" is "[名称|list|remove 名称]" in Chinese: what is typed as it stands is never translated.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from nanoherm_tui.i18n import t

if TYPE_CHECKING:
    from nanoherm_tui.actions import SlashProblem

STANDS_FOR: Final = frozenset(
    {"days", "focus", "folder", "id", "level", "mode", "model", "n", "name", "path", "session", "text", "theme"}
    | {"title", "words"}
)
"""Words of `Action.argument` that stand for something; all others are typed."""


def written(argument: str) -> str:
    """An `Action.argument` in the interface's language."""
    return re.sub(r"[a-z]+", lambda word: t(f"argument.{word[0]}") if word[0] in STANDS_FOR else word[0], argument)


def told(problem: SlashProblem) -> str:
    """Why a command cannot be followed."""
    params = problem.params
    if "argument" in params:
        params = {**params, "argument": written(params["argument"])}
    return t(problem.key, **params)
