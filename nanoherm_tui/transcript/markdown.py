"""One block of Markdown → lines of styled text, before they are wrapped. Inline HTML stays literal text."""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from agent_core.records import dataclass
from nanoherm_tui.text import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

STRONG, CODE, MUTED = 1, 2, 4
"""Bits that say how a span of text is drawn."""

Span = tuple[str, int]
Align = Literal["left", "right", "center"]


@dataclass(frozen=True, slots=True)
class Line:
    """Text that wraps as one: `first` stands before its first row, `rest` before the others."""

    spans: tuple[Span, ...]
    first: str = ""
    rest: str = ""
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Fence:
    """A code block inside a list or quote."""

    text: str
    lang: str
    indent: str = ""
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    header: tuple[tuple[Span, ...], ...]
    rows: tuple[tuple[tuple[Span, ...], ...], ...]
    aligns: tuple[Align, ...]
    indent: str = ""
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """A thematic break."""

    gap: bool = False


Piece = Line | Fence | Table | Rule


@dataclass(slots=True)
class _Frame:
    """What the walk is inside of: prefixes of quotes and list items."""

    first: str
    rest: str
    number: int = 0
    ordered: bool = False
    fresh: bool = field(default=True)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # A link definition would only be known inside its own block: shown as it stands, nothing vanishes.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("reference")


def parse(source: str, *, bullet: str, quote: str, number: int = 0) -> list[Piece]:
    """The pieces of one block. `number` is what its first ordered item counts from when the block continues a list."""
    lines = source.split("\n")
    pieces: list[Piece] = []
    lists: list[_Frame] = []
    prefixes: list[_Frame] = []
    tokens = _parser().parse(source)
    index, strong = 0, 0
    while index < len(tokens):
        token = tokens[index]
        kind = token.type
        gap = _gap_above(token, lines) or (bool(pieces) and isinstance(pieces[-1], Rule))
        if kind in ("bullet_list_open", "ordered_list_open"):
            start = int(token.attrs.get("start", 1)) if kind[0] == "o" else 0
            if number and not lists and not pieces:
                start = number
            lists.append(_Frame("", "", start, kind[0] == "o"))
        elif kind in ("bullet_list_close", "ordered_list_close"):
            lists.pop()
        elif kind == "list_item_open":
            mark = f"{lists[-1].number}. " if lists[-1].ordered else f"{bullet} "
            lists[-1].number += 1
            prefixes.append(_Frame(mark, " " * len(mark)))
        elif kind == "blockquote_open":
            prefixes.append(_Frame(f"{quote} ", f"{quote} "))
        elif kind in ("list_item_close", "blockquote_close"):
            prefixes.pop()
        elif kind == "heading_open":
            strong = STRONG
        elif kind == "heading_close":
            strong = 0
        elif kind == "inline":
            first, rest = _prefix(prefixes)
            gap = gap and bool(pieces)
            for number_of_line, spans in enumerate(_lines_of(token, strong)):
                pieces.append(Line(spans, rest if number_of_line else first, rest, gap and not number_of_line))
        elif kind in ("fence", "code_block"):
            first, rest = _prefix(prefixes)
            lang = token.info.split()[0] if token.info.strip() else ""
            if first.strip() and first != rest:  # a list item that begins with code: its mark stands alone
                pieces.append(Line((), first, rest, gap and bool(pieces)))
                gap = False
            pieces.append(Fence(token.content.rstrip("\n"), lang, rest, gap and bool(pieces)))
        elif kind == "hr":
            pieces.append(Rule(bool(pieces)))  # a blank row above and below, however it was written
        elif kind == "table_open":
            first, rest = _prefix(prefixes)
            table, index = _table(tokens, index, rest, gap and bool(pieces))
            pieces.append(table)
        index += 1
    if not pieces and source.strip():  # nested deeper than the parser goes, or a mark with nothing behind it
        pieces += [Line(((_safe(line), 0),)) for line in lines]
    return pieces


def _gap_above(token: Token, lines: list[str]) -> bool:
    """Whether the source has a blank line above the token: what is drawn is as open or tight as what was written."""
    if token.map is None or token.map[0] == 0:
        return False
    return not lines[token.map[0] - 1].strip(" >")


def _prefix(prefixes: list[_Frame]) -> tuple[str, str]:
    first = "".join(p.first if p.fresh else p.rest for p in prefixes)
    rest = "".join(p.rest for p in prefixes)
    for p in prefixes:
        p.fresh = False
    return first, rest


def _lines_of(token: Token, base: int) -> list[tuple[Span, ...]]:
    """An inline token's spans, one tuple for each line it is broken into by hand."""
    lines: list[list[Span]] = [[]]
    bits, links = base, list[tuple[str, str]]()
    children = token.children or []
    for index, child in enumerate(children):
        kind = child.type
        if kind == "text":
            lines[-1].append((_safe(child.content), bits))
        elif kind == "softbreak":
            after = children[index + 1].content if index + 1 < len(children) else ""
            if not (lines[-1] and _is_wide(lines[-1][-1][0][-1:]) and _is_wide(after[:1])):
                lines[-1].append((" ", bits))
        elif kind == "hardbreak":
            lines.append([])
        elif kind == "code_inline":
            lines[-1].append((_safe(child.content), bits | CODE))
        elif kind == "strong_open":
            bits |= STRONG
        elif kind == "strong_close":
            bits = bits & ~STRONG | base
        elif kind in ("em_open", "em_close"):
            # Italic is the folded thought's alone, so emphasis keeps its own mark.
            lines[-1].append((child.markup, bits | MUTED))
        elif kind == "link_open":
            links.append((str(child.attrs.get("href", "")), "".join(text for text, _ in lines[-1])))
        elif kind == "link_close" and links:
            url, before = links.pop()
            shown = "".join(text for text, _ in lines[-1])[len(before) :]
            if url and url not in (shown, f"mailto:{shown}"):
                lines[-1].append((f" {_safe(url)}", bits | MUTED))
        elif kind == "image":
            lines[-1].append((_safe(child.content) or "image", bits))
            lines[-1].append((f" {_safe(str(child.attrs.get('src', '')))}", bits | MUTED))
    return [tuple(line) for line in lines]


def _safe(text: str) -> str:
    """Text on one line, cleaned again: character references such as `&#27;` have become characters by now."""
    return clean(text, 1).replace("\n", " ")


def _is_wide(char: str) -> bool:
    """A character after which a line may end without standing for a blank: Chinese, Japanese, full-width marks."""
    return char >= "\u2e80"


def _table(tokens: list[Token], index: int, indent: str, gap: bool) -> tuple[Table, int]:
    """The table that opens at `index`, and the index of its closing token."""
    rows: list[tuple[tuple[Span, ...], ...]] = []
    row: list[tuple[Span, ...]] = []
    aligns: list[Align] = []
    while tokens[index].type != "table_close":
        token = tokens[index]
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            rows.append(tuple(row))
        elif token.type == "th_open":
            style = str(token.attrs.get("style", ""))
            aligns.append("right" if "right" in style else "center" if "center" in style else "left")
        elif token.type == "inline":
            row.append(tuple(span for line in _lines_of(token, 0) for span in line))
        index += 1
    return Table(rows[0], tuple(rows[1:]), tuple(aligns), indent, gap), index
