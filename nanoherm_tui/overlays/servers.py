"""The MCP servers: how each is, what it offers, what it wrote, and what is wrong in the files that name them.

Below the list stands the row with the cursor in full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.grouped import MOVES, Detail, FollowedList, Heading
from nanoherm_tui.overlays.listed import KeysFoot, ListScreen
from nanoherm_tui.strips import led, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, one_line
from nanoherm_tui.words.servers import CAN_START, MARKS, ProblemLine, ServerLine, SmallLine

if TYPE_CHECKING:
    from nanoherm_tui.overlays.frame import CssPath

Line = ServerLine | SmallLine | ProblemLine


class ServersList(FollowedList[str, Line]):
    DEFAULT_CSS = "ServersList { height: 1fr; }"

    def __init__(self, moved: Callable[[], None], opened: Callable[[], None]) -> None:
        super().__init__("servers-list", moved)
        self._opened = opened
        self.open: frozenset[str] = frozenset()

    def show(self, servers: Sequence[ServerLine], problems: Sequence[ProblemLine], empty: str) -> None:
        """Show them; the cursor stays where it is as far as it can."""
        lines: list[Heading[str] | Line] = []
        for server in servers:
            lines.append(server)
            lines += server.below if server.name in self.open else ()
        if problems:
            lines += [Heading(), Heading(t("servers.problems")), *problems]
        self.put_at(lines, self.at, empty)

    @property
    def server(self) -> ServerLine | None:
        """The one that the cursor is on or under."""
        if isinstance(self.row, ProblemLine):
            return None
        rows = [line for _, line in self._rows[: self.at + 1]]
        return next((line for line in reversed(rows) if isinstance(line, ServerLine)), None)

    def go_to(self, name: str) -> None:
        names = [line.name if isinstance(line, ServerLine) else "" for _, line in self._rows]
        self.at = names.index(name) if name in names else self.at
        self._moved()
        self.refresh()

    def clicked(self, line: Line) -> None:
        again = self.row is line
        super().clicked(line)
        if again:
            self._opened()

    def draw_row(self, line: Line, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        muted = words if here else look.style("muted", ground)
        left = led(look, here, words)
        if isinstance(line, ServerLine):
            symbol, role = MARKS[line.state]
            fold = sym("open" if line.name in self.open else "folded") if line.below else " "
            left += [(f"{fold} ", muted), (f"{sym(symbol)} ", look.mark(role, ground) if role else muted)]
            left += [(one_line(line.name), words), (f"  {one_line(line.words)}", muted)]
        elif isinstance(line, ProblemLine):
            return row(cells, [*left, ("  ! ", look.mark("warn", ground)), (one_line(line.words), words)], words)
        else:
            left += [("    ", words), ("! " if line.is_warning else "  ", look.mark("warn", ground))]
            left += [(one_line(line.words), muted if line.is_head else words)]
        side = cut(one_line(line.side), cells // 2)
        return row(cells, left, words, [(side, muted)] if side else [])


class ServersScreen(ListScreen[None]):
    """`act` is called with what is to be done ("restart", "login", "switch") and with the name of the server."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/servers.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("enter,space,o", "open", show=False),
        Binding("r", "act('restart')", show=False),
        Binding("l", "act('login')", show=False),
        Binding("e", "act('switch')", show=False),
        Binding("q", "close", show=False),
    ]
    _list: ServersList
    _foot: KeysFoot

    def __init__(self, servers: Sequence[ServerLine], problems: Sequence[ProblemLine] = ()) -> None:
        super().__init__()
        self.act: Callable[[str, str], None] = lambda what, name: None
        self.look_again: Callable[[], None] = lambda: None
        """Called now and then while it is open: what brings `show`."""
        self.servers, self.problems = servers, problems
        self._list = ServersList(self._follow, self.action_open)
        self._detail = Detail(id="servers-detail")
        self._foot = KeysFoot(id="servers-foot")

    def on_mount(self) -> None:
        self.set_interval(limits.SERVERS_LOOK, self._look)

    def _look(self) -> None:
        self.look_again()

    def show(self, servers: Sequence[ServerLine], problems: Sequence[ProblemLine] = ()) -> None:
        """How they are now."""
        self.servers, self.problems = servers, problems
        if self.is_mounted:
            self._show()

    def _show(self) -> None:
        self._list.show(self.servers, self.problems, t("servers.none"))

    def _follow(self) -> None:
        line, server = self._list.row, self._list.server
        empty = (t("servers.how"),)
        self._detail.say(empty if line is None else (line.words,) if isinstance(line, ProblemLine) else line.detail)
        can = self._can
        keys: list[tuple[str, str]] = []
        if server is not None and server.below:
            keys.append((key("enter"), t("dock.hint_fold" if server.name in self._list.open else "servers.open")))
        keys += [("r", t("servers.restart"))] if "restart" in can else []
        keys += [("l", t("servers.log_in"))] if "login" in can else []
        if server is not None and "switch" in can:
            keys.append(("e", t("servers.switch_on" if server.state == "off" else "servers.switch_off")))
        keys.append(("Esc", t("servers.close")))
        keys += [(key("pagedown"), t("servers.more"))] if self._list.has_more else []
        self._foot.say(tuple(keys))

    @property
    def _can(self) -> frozenset[str]:
        """What can be done now with the server that the cursor is on."""
        server = self._list.server
        if server is None:
            return frozenset()
        can = {"restart": server.state in CAN_START, "login": server.can_log_in, "switch": server.state != "untrusted"}
        return frozenset(what for what, is_so in can.items() if is_so)

    def action_open(self) -> None:
        """Show what the server offers and wrote, or no longer."""
        server = self._list.server
        if server is not None and server.below:
            self._list.open ^= {server.name}
            self._show()
            self._list.go_to(server.name)

    def action_act(self, what: str) -> None:
        server = self._list.server
        if server is not None and what in self._can:
            self.act(what, server.name)
