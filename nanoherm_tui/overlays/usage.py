"""What the session has used: a table of its models, and how far its budget goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.strip import Strip

from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.reading import ReadTable, Scrolled
from nanoherm_tui.strips import Part, look_of, row
from nanoherm_tui.text import cut, width, wrap
from nanoherm_tui.words.usage import Cells, budget_lines, remarks, table

if TYPE_CHECKING:
    from agent_core.mind.meter import SessionUsage

_LEAST = 12  # cells of a model's name, below which columns go
_GAP = 2
_KEPT_LONGEST = ("cost", "in", "out", "cached", "reasoning", "requests", "prices")
"""Columns in the order of their worth."""


def columns(rows: Sequence[Cells], cells: int) -> dict[str, int]:
    """The columns that fit beside the models' names, with their widths, in the order they stand in."""
    heads = {name: t(f"usage.{name}") for name in ("requests", "in", "cached", "out", "reasoning", "cost", "prices")}
    wide = {name: max(width(head), *(width(line[name]) for line in rows)) for name, head in heads.items()}
    room = cells - min(_LEAST, max(width(line["model"]) for line in rows))
    kept: set[str] = set()
    for name in _KEPT_LONGEST:
        if room < wide[name] + _GAP:
            break
        room -= wide[name] + _GAP
        kept.add(name)
    return {name: wide[name] for name in heads if name in kept}


class UsageTable(Scrolled):
    def __init__(self, usage: SessionUsage) -> None:
        super().__init__("usage-table")
        self._usage = usage

    def draw(self, width: int) -> list[Strip]:
        look = look_of(self)
        words, muted = look.style("text", "surface"), look.style("muted", "surface")
        bold = look.style("text", "surface", bold=True)
        rows = table(self._usage)
        out = [row(width, [(t("usage.title"), bold)], words)]
        out += [] if self.is_short else [row(width, [], words)]
        if not rows:
            return [*out, *(row(width, [(line, muted)], words) for line in wrap(t("usage.nothing"), width))]
        shown = columns(rows, width)
        name = width - sum(size + _GAP for size in shown.values())
        heads = {column: t(f"usage.{column}") for column in ("model", *shown)}
        for line, style in [(heads, muted), *((line, words) for line in rows)]:
            parts: list[Part] = [(_padded(line["model"], name), style)]
            parts += [(" " * _GAP + _right(line[column], size), style) for column, size in shown.items()]
            out.append(row(width, parts, words))
        out += [row(width, [], words)]
        for remark in (*budget_lines(self._usage), *remarks(rows)):
            out += [row(width, [(line, muted)], words) for line in wrap(remark, width)]
        return out


def _padded(words: str, cells: int) -> str:
    words = cut(words, cells)
    return words + " " * (cells - width(words))


def _right(words: str, cells: int) -> str:
    return " " * (cells - width(words)) + words


class UsageScreen(ReadTable):
    def __init__(self, usage: SessionUsage) -> None:
        super().__init__(UsageTable(usage))
