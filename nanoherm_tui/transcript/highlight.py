"""Code → coloured spans, by Pygments, which is loaded with the first block that names a language."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from nanoherm_tui import limits

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# A span's look: a role of the theme, and whether it is bold. "keyword" is accent, in a theme without colours bold.
Ink = tuple[str, bool]
PLAIN: Ink = ("text", False)


@lru_cache(maxsize=64)
def _lexer(lang: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(lang, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _ink(token: Any) -> Ink:
    from pygments.token import Comment, Keyword, Name, Operator, String

    if token in Comment:
        return ("muted", False)
    if token in Keyword or token is Operator.Word:
        return ("keyword", False)
    if token in String:
        return ("string", False)
    if token in Name.Function or token in Name.Class:
        return ("text", True)
    return PLAIN


@lru_cache(maxsize=limits.COLOURED)
def highlight(code: str, lang: str) -> Sequence[Sequence[tuple[str, Ink]]] | None:
    """The lines of `code` as (text, ink) spans; None when the language is unknown or the code too long to colour.

    What is on the screen is remembered: another width or theme draws it anew in the same inks.
    """
    if not lang or len(code) > 2 * limits.BLOCK:
        return None
    lexer = _lexer(lang.lower())
    if lexer is None:
        return None
    try:
        tokens = list(lexer.get_tokens(code))
    except Exception:  # several hundred lexers of others, fed with anything: without colours the code is still there
        return None
    lines: list[list[tuple[str, Ink]]] = [[]]
    for token, value in tokens:
        first, *others = value.split("\n")
        ink = _ink(token)
        line = lines[-1]
        if line and (line[-1][1] == ink or first.isspace()):
            line[-1] = (line[-1][0] + first, line[-1][1])  # Pygments cuts finer than colours need
        elif first:
            line.append((first, ink))
        for part in others:
            lines.append([(part, ink)] if part else [])
    return lines
