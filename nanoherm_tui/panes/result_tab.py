"""The dock's tab of a result: all of a tool's output, from the file it was kept in where it is long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.message import Message

from nanoherm_tui.panes.output import Result, result_book, result_rows
from nanoherm_tui.panes.pages import Book, BookRows
from nanoherm_tui.panes.tabbed import Tabbed

if TYPE_CHECKING:
    from agent_core.spill import SpillPage
    from nanoherm_tui.panes.bodies import Body, Row


class ResultTab(Tabbed):
    """Pages of a kept output are asked for by a message and come by `show_page`."""

    class SpillCopyRequested(Message):
        """All of a kept output is wanted on the clipboard."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class PageRequested(Message):
        """A page of a kept output is wanted: `show_page`, or `page_failed`."""

        def __init__(self, name: str, page: int) -> None:
            super().__init__()
            self.name = name
            self.page = page

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._result: Result | None = None
        self._book = Book()
        self._asked: set[int] = set()  # pages of it that are on their way
        self._problem = ""  # why the book is not the whole output

    def show_result(self, result: Result, *, bring: bool = True) -> None:
        """Show a tool's result; with `bring` its tab comes to the front."""
        if result != self._result:
            self._result = result
            self._read(result_book(result))
        if bring:
            self.show_tab("result")

    def _read(self, book: Book, problem: str = "") -> None:
        self._book, self._problem = book, problem
        self._asked.clear()
        self._changed("result")

    def show_page(self, page: SpillPage) -> None:
        """A page of a kept output has been read."""
        if page.name != self._book.file:
            return
        self._asked.discard(page.page)
        lines = self._book.put(page.page, page.text, page.size, page.continues)
        body = self._body
        if self.tab == "result" and isinstance(body, BookRows) and body.book is self._book:
            self.top = body.came(page.page, self.top)
            self.repaint_all()
            self.find_came(page.page, lines)

    def page_failed(self, name: str, problem: str) -> None:
        """A kept output cannot be read: what the model was given of it is shown instead, and why."""
        if name == self._book.file and self._result is not None:
            self._read(Book(self._result.text), problem)

    def result_body(self, cells: int) -> Sequence[Row] | Body:
        assert self._result is not None
        return result_rows(self._result, self._book, cells, self._problem)

    def settle_pages(self) -> None:
        """Other rows may be in view: what is missing of them is asked for."""
        body = self._body
        if isinstance(body, BookRows) and body.book.file:
            for page in body.missing(self.top, self.view_height):
                self.want_page(page)

    def want_page(self, page: int) -> None:
        if self._book.file and page not in self._asked:
            self._asked.add(page)
            # Not at once: Textual stops a message at the screen when it was made while the screen painted.
            self.call_next(self._ask, self._book.file, page)

    def _ask(self, name: str, page: int) -> None:
        self.post_message(self.PageRequested(name, page))
