"""The MCP servers: how each is, what it offers, what it wrote, and what is wrong in the files that name them.

Below the list stands the row with the cursor in full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.frame import CssPath, Overlay, boxed
from nanoherm_tui.overlays.grouped import MOVES, Detail, FollowedList, Heading
from nanoherm_tui.server_words import CAN_START, MARKS, ProblemLine, ServerLine, SmallLine
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, one_line

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
        at = self.at
        self.put(lines, empty)
        self.at = max(0, min(at, len(self._rows) - 1))
        self._moved()

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
        left: list[Part] = [(sym("bar"), look.mark("accent", ground)) if here else (" ", words), (" ", words)]
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
        return row(cells, left, words, [(side, muted), (" ", words)] if side else [])


class _Foot(Painted):
    has_below = False
    can_start = False
    can_log_in = False
    switch = ""
    more = False

    def paint(self, width: int) -> list[Strip]:
        keys = [(key("enter"), t("servers.open"))] if self.has_below else []
        keys += [("r", t("servers.restart"))] if self.can_start else []
        keys += [("l", t("servers.log_in"))] if self.can_log_in else []
        keys += [("e", self.switch)] if self.switch else []
        keys.append(("Esc", t("servers.close")))
        keys += [(key("pagedown"), t("servers.more"))] if self.more else []
        look = look_of(self)
        return flow(width, hints(look, keys), look.style("text", "surface"), indent=2)


class ServersScreen(Overlay[None]):
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

    def __init__(self, servers: Sequence[ServerLine], problems: Sequence[ProblemLine] = ()) -> None:
        super().__init__()
        self.act: Callable[[str, str], None] = lambda what, name: None
        self.look_again: Callable[[], None] = lambda: None
        """Called now and then while it is open: what brings `show`."""
        self.servers, self.problems = servers, problems
        self._list = ServersList(self._follow, self.action_open)
        self._detail = Detail(id="servers-detail")
        self._foot = _Foot(id="servers-foot")

    def compose(self) -> ComposeResult:
        yield boxed(self._list, self._detail, self._foot)

    def on_mount(self) -> None:
        super().on_mount()
        self._show()
        self.set_interval(limits.SERVERS_LOOK, self._look)

    def _look(self) -> None:
        self.look_again()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self._show()
        self._detail.refresh(layout=True)

    def show(self, servers: Sequence[ServerLine], problems: Sequence[ProblemLine] = ()) -> None:
        """How they are now."""
        self.servers, self.problems = servers, problems
        if self.is_mounted:
            self._show()

    def _show(self) -> None:
        self._list.show(self.servers, self.problems, t("servers.none"))

    def _follow(self) -> None:
        """The row under the cursor is another one, or may be something else now."""
        line, server = self._list.row, self._list.server
        empty = (t("servers.how"),)
        self._detail.say(empty if line is None else (line.words,) if isinstance(line, ProblemLine) else line.detail)
        foot = self._foot
        state = server.state if server is not None else "off"
        words = t("servers.switch_on" if state == "off" else "servers.switch_off")
        switch = "" if server is None or state == "untrusted" else words
        now = (
            server is not None and bool(server.below),
            state in CAN_START,
            server is not None and server.can_log_in,
            switch,
            self._list.has_more,
        )
        if now != (foot.has_below, foot.can_start, foot.can_log_in, foot.switch, foot.more):
            foot.has_below, foot.can_start, foot.can_log_in, foot.switch, foot.more = now
            foot.refresh(layout=True)

    def action_move(self, step: int) -> None:
        self._list.move(step)

    def action_open(self) -> None:
        """Show what the server offers and wrote, or no longer."""
        server = self._list.server
        if server is not None and server.below:
            self._list.open ^= {server.name}
            self._show()
            self._list.go_to(server.name)

    def action_act(self, what: str) -> None:
        server, foot = self._list.server, self._foot
        can = {"restart": foot.can_start, "login": foot.can_log_in, "switch": bool(foot.switch)}
        if server is not None and can[what]:
            self.act(what, server.name)

    def on_mouse_scroll_down(self) -> None:
        self._list.move(1)

    def on_mouse_scroll_up(self) -> None:
        self._list.move(-1)
