"""What lies on the disk: its parts, and the largest sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.strip import Strip

from nanoherm_tui.disk_words import parts, sessions
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import CssPath, Overlay, boxed
from nanoherm_tui.strips import Painted, flow, hints, look_of, row
from nanoherm_tui.text import cut, width

if TYPE_CHECKING:
    from agent_core.disk_report import DiskReport

_GAP: Final = 2
_COLUMN: Final = 12  # cells of a figure, the gap before it included


class DiskTable(Painted):
    def __init__(self, report: DiskReport) -> None:
        super().__init__(id="disk-table")
        self._report = report

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        words, muted = look.style("text", "surface"), look.style("muted", "surface")
        blank = row(width, [], words)
        out = [row(width, [(t("disk.title"), look.style("text", "surface", bold=True))], words), blank]
        out += [_line(width, name, (taken,), words, words) for name, taken in parts(self._report)]
        out.append(blank)
        found = sessions(self._report)
        if not found:
            out.append(row(width, [(t("disk.nothing"), muted)], words))
        else:
            out.append(_line(width, t("disk.session"), (t("disk.messages"), t("disk.size")), muted, words))
            out += [_line(width, title, figures, words, words) for title, *figures in found]
        return [*out, blank, *flow(width, [[(t("disk.keep"), muted)]], words)]


def _line(cells: int, name: str, figures: Sequence[str], style: Style, fill: Style) -> Strip:
    """A name, and its figures at the right edge; the name gives way."""
    right = "".join(" " * max(_GAP, _COLUMN - width(figure)) + figure for figure in figures)
    name = cut(name, max(1, cells - width(right)))
    return row(cells, [(name + " " * (cells - width(name) - width(right)) + right, style)], fill)


class DiskFoot(Painted):
    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        return flow(width, hints(look, [("Esc", t("disk.close"))]), look.style("text", "surface"))


class DiskScreen(Overlay[None]):
    """Closed by any of the keys that close something."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/disk.tcss"]

    def __init__(self, report: DiskReport) -> None:
        super().__init__()
        self._report = report

    def compose(self) -> ComposeResult:
        yield boxed(DiskTable(self._report), DiskFoot(id="disk-foot"))

    def on_key(self, event: events.Key) -> None:
        if event.key in ("enter", "q", "space"):
            event.stop()
            event.prevent_default()
            self.dismiss(None)
