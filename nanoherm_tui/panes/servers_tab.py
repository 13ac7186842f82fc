"""The dock's list of MCP servers: how each is, and opened what it offers and what it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import BLANK, Row, Span
from nanoherm_tui.panes.list_tab import INDENT, Ask, Key, ListTab, fold_mark, heading, plain, wrapped
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, one_line
from nanoherm_tui.words.servers import CAN_START, MARKS, ProblemLine, ServerLine, SmallLine

_PLAIN: Final = 200  # cells of the list that is copied


class ServersTab(ListTab):
    name = "servers"

    def __init__(self) -> None:
        super().__init__()
        self._servers: Sequence[ServerLine] = ()
        self._problems: Sequence[ProblemLine] = ()
        self._looked = False

    def show(self, servers: Sequence[ServerLine], problems: Sequence[ProblemLine]) -> None:
        self._servers, self._problems, self._looked = servers, problems, True

    def clear(self) -> None:
        self._servers, self._problems, self._looked = (), (), False
        self.at, self.sure = "", ""
        self.open.clear()

    @property
    def is_empty(self) -> bool:
        return not (self._servers or self._problems)

    @property
    def _here(self) -> ServerLine | None:
        return next((server for server in self._servers if server.name == self.at), None)

    def rows(self, cells: int) -> list[Row]:
        if self.is_empty:
            return wrapped(t("servers.none") if self._looked else t("dock.looking"), cells, "muted")
        rows: list[Row] = []
        for server in self._servers:
            rows += self._rows_of(server, cells)
        if self._problems:
            rows += [BLANK] if rows else []
            rows.append(heading(t("servers.problems")))
            rows += [row for problem in self._problems for row in wrapped(one_line(problem.words), cells, "warn")]
        return rows

    def _rows_of(self, server: ServerLine, cells: int) -> list[Row]:
        is_open = server.name in self.open
        symbol, role = MARKS[server.state]
        mark = Span(sym(symbol), role, bold=True, mark=True) if role else Span(sym(symbol), "muted")
        name = Span(f" {one_line(server.name)}", bold=True)
        side = (Span(cut(one_line(server.side), cells // 2), "muted"),) if server.side else ()
        rows = [
            Row((fold_mark(is_open), mark, name, Span(f"  {one_line(server.words)}", "muted")), side, key=server.name)
        ]
        if is_open:
            rows += [row for words in server.detail for row in wrapped(words, cells, "muted", 2 * INDENT)]
            rows += [_small(line) for line in server.below]
        return rows

    def hints(self) -> list[tuple[str, str]]:
        here = self._here
        if here is None:
            return []
        hints = [("dock_unfold", t("dock.hint_close" if here.name in self.open else "dock.hint_open"))]
        hints += [("dock_again", t("servers.restart"))] if here.state in CAN_START else []
        return [*hints, *([("dock_log_in", t("servers.log_in"))] if here.can_log_in else [])]

    def text(self) -> str:
        return plain(self.rows(_PLAIN))

    def press(self, key: Key) -> Ask | bool:
        here = self._here
        if here is not None and key == "open":
            self.turn(here.name)
            return True
        if here is not None and key == "again" and here.state in CAN_START:
            return Ask("restart", here.name)
        if here is not None and key == "log_in" and here.can_log_in:
            return Ask("log_in", here.name)
        return False


def _small(line: SmallLine) -> Row:
    """A tool, or a line that a server wrote."""
    mark = Span("! ", "warn", mark=True) if line.is_warning else Span("  ")
    words = Span(one_line(line.words), "muted" if line.is_head else "text")
    side = (Span(one_line(line.side), "muted"),) if line.side else ()
    return Row((Span("  "), mark, words), side, margin=2 * INDENT)
