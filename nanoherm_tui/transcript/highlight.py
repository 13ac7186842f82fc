"""Code → coloured spans, by Pygments, which is loaded with the first block that names a language."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
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
    """One of Pygments' own.

    Its search for plugins reads the metadata of every installed package, and this is the screen's thread.
    """
    from pygments.lexers import find_lexer_class, get_all_lexers

    wanted = lang.lower()
    for name, aliases, _, _ in get_all_lexers(plugins=False):
        if wanted in aliases and (found := find_lexer_class(name)) is not None:
            return found(stripnl=False, ensurenl=False)
    return None


@lru_cache(maxsize=64)
def language_of(path: str) -> str:
    """Pygments' name for the language of a file called this, or ""."""
    from pygments.lexers import find_lexer_class, get_all_lexers

    file = path.rpartition("/")[2]
    fitting = [
        (lexer.priority + 0.5 * ("*" not in pattern), aliases[0])
        for name, aliases, patterns, _ in get_all_lexers(plugins=False)
        for pattern in patterns
        if aliases and fnmatchcase(file, pattern) and (lexer := find_lexer_class(name)) is not None
    ]
    # Of several that fit Pygments takes the last one: one by its whole name, else one that is surer of itself.
    return sorted(fitting, key=lambda each: each[0])[-1][1] if fitting else ""


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
