"""Light colouring of code: pygments' tokens reduced to five roles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nanoherm_tui import limits

if TYPE_CHECKING:
    from pygments.lexer import Lexer

# role, bold; "" = the ground's own text
Tone = tuple[str, bool]
PLAIN: Tone = ("text", False)
Run = tuple[int, int, Tone]
"""Characters start to end of a line, and their tone."""


def lexer_for(path: str) -> Lexer | None:
    """The lexer for a file of this name, or None when there is none worth using."""
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(path, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def colour(lines: Sequence[str], lexer: Lexer | None) -> list[list[Run]]:
    """The runs of each line that are not plain text, in order."""
    out: list[list[Run]] = [[] for _ in lines]
    if lexer is None or any(len(line) > limits.HIGHLIGHT_CHARS for line in lines):
        return out
    row = column = 0
    for kind, value in lexer.get_tokens("\n".join(lines)):
        tone = _tone(kind)
        for index, piece in enumerate(value.split("\n")):
            if index:
                row, column = row + 1, 0
            if piece and tone != PLAIN and row < len(out):
                out[row].append((column, column + len(piece), tone))
            column += len(piece)
    return out


def _tone(kind: Any) -> Tone:
    from pygments.token import Comment, Keyword, Name, String

    if kind in Comment:
        return "muted", False
    if kind in Keyword:
        return "keyword", False
    if kind in String:
        return "string", False
    if kind in Name.Function or kind in Name.Class:
        return "text", True
    return PLAIN
