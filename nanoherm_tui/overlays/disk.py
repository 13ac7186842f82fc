"""What lies on the disk: its parts, and the largest sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.style import Style
from textual.strip import Strip

from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.reading import ReadTable, Scrolled
from nanoherm_tui.strips import look_of, row
from nanoherm_tui.text import cut, width, wrap
from nanoherm_tui.words.disk import parts, sessions

if TYPE_CHECKING:
    from agent_core.desk.disk_report import DiskReport

_GAP: Final = 2
_COLUMN: Final = 12  # cells of a figure, the gap before it included


class DiskTable(Scrolled):
    def __init__(self, report: DiskReport) -> None:
        super().__init__("disk-table")
        self._report = report

    def draw(self, width: int) -> list[Strip]:
        look = look_of(self)
        words, muted = look.style("text", "surface"), look.style("muted", "surface")
        blank = row(width, [], words)
        out = [row(width, [(t("disk.title"), look.style("text", "surface", bold=True))], words)]
        out += [] if self.is_short else [blank]
        out += [_line(width, name, (taken,), words, words) for name, taken in parts(self._report)]
        out.append(blank)
        found = sessions(self._report)
        if not found:
            out.append(row(width, [(t("disk.nothing"), muted)], words))
        else:
            out.append(_line(width, t("disk.session"), (t("disk.messages"), t("disk.size")), muted, words))
            out += [_line(width, title, figures, words, words) for title, *figures in found]
        return [*out, blank, *(row(width, [(line, muted)], words) for line in wrap(t("disk.keep"), width))]


def _line(cells: int, name: str, figures: Sequence[str], style: Style, fill: Style) -> Strip:
    """A name, and its figures at the right edge; the name gives way."""
    right = "".join(" " * max(_GAP, _COLUMN - width(figure)) + figure for figure in figures)
    name = cut(name, max(1, cells - width(right)))
    return row(cells, [(name + " " * (cells - width(name) - width(right)) + right, style)], fill)


class DiskScreen(ReadTable):
    def __init__(self, report: DiskReport) -> None:
        super().__init__(DiskTable(report))
