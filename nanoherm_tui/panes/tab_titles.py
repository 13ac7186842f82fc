"""The row of a dock's tabs, as data: what stands in it at a width. Pure.

Where not all titles fit they are dealt out to pages, each as full as it can be, and a sign at the edge leads on. Which
page a title is on depends on the width alone, so no title moves while one goes through a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from agent_core.records import dataclass
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import width

T = TypeVar("T")

_GAPS = (3, 2, 1)  # blanks between two titles, the widest that fits
_PAGED = 2  # the least between titles of a page: who has several pages need not crowd one
_MORE = 2  # cells of the sign that leads on, with its blank


@dataclass(frozen=True, slots=True)
class Title(Generic[T]):
    """One title, or the sign for more of them, and the tab that a click on it brings."""

    start: int
    text: str
    tab: T
    is_sign: bool = False

    @property
    def end(self) -> int:
        return self.start + width(self.text)


def pages(titles: Sequence[str], cells: int) -> list[range]:
    """Which titles stand together at this width, by their places; each page has one at least."""
    sizes = [width(title) for title in titles]
    if sum(sizes) + len(sizes) - 1 <= cells:
        return [range(len(sizes))]
    out: list[range] = []
    start = 0
    while start < len(sizes):
        end, used = start, _MORE if start else 0
        while end < len(sizes):
            size = sizes[end] + (_PAGED if end > start else 0)
            if end > start and used + size + (_MORE if end + 1 < len(sizes) else 0) > cells:
                break
            used += size
            end += 1
        out.append(range(start, end))
        start = end
    return out


def title_row(titles: Mapping[T, str], counted: Mapping[T, str], front: T, cells: int) -> list[Title[T]]:
    """The titles of the page that the tab in front is on.

    `counted`: those that have a figure, with it; room for one digit is kept, more stand where there is room.
    """
    tabs = list(titles)
    dealt = pages([f"{words} 0" if tab in counted else words for tab, words in titles.items()], cells)
    number = next((n for n, page in enumerate(dealt) if tabs.index(front) in page), 0)
    page = dealt[number]
    words = [(tabs[i], counted.get(tabs[i], titles[tabs[i]])) for i in page]
    signs = [(page.start - 1, page.start > 0), (page.stop, page.stop < len(tabs))]
    room = cells - _MORE * sum(there for _, there in signs)
    if _row_of(words, 1 if len(dealt) == 1 else _PAGED) > room:
        words = [(tabs[i], titles[tabs[i]]) for i in page]
    gap = next((gap for gap in _GAPS if _row_of(words, gap) <= room), 1)
    out: list[Title[T]] = []
    at = 0
    if signs[0][1]:
        out.append(Title(0, sym("cut"), tabs[signs[0][0]], True))
        at = _MORE
    for tab, text in words:
        out.append(Title(at, text, tab))
        at += width(text) + gap
    if signs[1][1]:
        out.append(Title(at - gap + 1, sym("cut"), tabs[signs[1][0]], True))
    return out


def _row_of(words: Sequence[tuple[object, str]], gap: int) -> int:
    """The cells of titles `gap` blanks apart."""
    return sum(width(text) for _, text in words) + gap * (len(words) - 1)
