"""What all tabs of the dock share: which is in front, the place each was left at, and the row of their titles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from textual.message import Message

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import Place, Row, Span
from nanoherm_tui.panes.findable import Findable
from nanoherm_tui.panes.pages import BookRows
from nanoherm_tui.panes.tab_titles import Title, title_row

Tab = Literal["result", "diff", "plan", "tasks", "context", "file", "memory", "servers", "turns"]
TABS: Final[tuple[Tab, ...]] = ("result", "diff", "plan", "tasks", "context", "file", "memory", "servers", "turns")


class Tabbed(Findable):
    """Each tab keeps its place. What a tab shows, and what is done in it, is in the class of that tab."""

    class LookChanged(Message):
        """The user has chosen another tab or shape: the dock's `state` has changed."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.tab: Tab = "result"
        self._places: dict[Tab, int | Place] = {}
        self._back_to: Place | None = None
        self._answers: tuple[tuple[str, str], ...] = ()

    def brought(self, tab: Tab) -> None:
        """A tab has come to the front."""

    def counts(self) -> Mapping[Tab, int]:
        """What is counted behind a tab's title, where there is room."""
        return {}

    def titles(self, cells: int) -> Row:
        """The row of titles, the one in front underlined."""
        spans: list[Span] = []
        at = 0
        for title in self._title_row(cells):
            spans.append(Span(" " * (title.start - at)))
            here = title.tab == self.tab and not title.is_sign
            spans.append(Span(title.text, "accent" if here else "muted", bold=here, underline=here))
            at = title.end
        return Row(tuple(span for span in spans if span.text))

    def _title_row(self, cells: int) -> list[Title[Tab]]:
        titles = {tab: t(f"dock.{tab}") for tab in TABS}
        counted = {tab: f"{titles[tab]} {n}" if n else titles[tab] for tab, n in self.counts().items()}
        return title_row(titles, counted, self.tab, cells)

    def clicked_head(self, x: int, y: int) -> None:
        for title in self._title_row(self.cells):
            if y == 0 and title.start <= x < title.end:
                self.action_tab(title.tab)

    def show_tab(self, tab: Tab) -> None:
        """Bring a tab to the front, at the place it was left."""
        if tab == self.tab:
            return
        self._places[self.tab] = self._here()
        self.tab = tab
        self._anew(self._places.get(tab, 0))
        self.brought(tab)

    def _here(self) -> int | Place:
        """The top, as something that still is right when the rows of a long text are made anew."""
        if self._back_to is not None:
            return self._back_to
        made = self._made_for is not None
        return self._body.place(self.top) if made and isinstance(self._body, BookRows) else self.top

    def _changed(self, tab: Tab) -> None:
        self._places.pop(tab, None)
        if tab == self.tab:
            self._anew(0)

    def _anew(self, top: int | Place) -> None:
        """Other rows are shown, from `top` on."""
        self.end_find()
        self._back_to = top if isinstance(top, Place) else None
        self.top = 0 if isinstance(top, Place) else top
        self._to_end = False
        self.stale()

    def action_tab(self, tab: Tab) -> None:
        self.show_tab(tab)
        self.post_message(self.LookChanged())

    def action_turn(self, by: int) -> None:
        self.action_tab(TABS[(TABS.index(self.tab) + by) % len(TABS)])
