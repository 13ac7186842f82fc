"""Which tools the model is offered: sets and tools with what each costs a request; Space switches the one at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual.binding import Binding, BindingType
from textual.strip import Strip

from agent_core.records import dataclass
from agent_core.toolsets import is_of_servers, is_off
from nanoherm_tui import limits
from nanoherm_tui.i18n import series, t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.grouped import MOVES, Detail, FollowedList, Heading
from nanoherm_tui.overlays.listed import KeysFoot, ListScreen
from nanoherm_tui.strips import beside, led, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, cut, one_line, visible, width

if TYPE_CHECKING:
    from agent_core.desk.tool_list import ToolEntry
    from nanoherm_tui.overlays.frame import CssPath

_NAME: Final = 15  # cells of the column of names, below their sets

State = Literal["on", "off", "partly"]
_MARKS: Final[dict[State, tuple[str, str]]] = {
    "on": ("done", "ok"),
    "off": ("failed", "muted"),
    "partly": ("waiting", "muted"),
}


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A set, or a tool of one."""

    name: str
    words: str
    """What it is for."""
    tools: tuple[str, ...]
    """What Space switches."""
    state: State
    side: str
    detail: tuple[str, ...]
    is_set: bool = False
    warning: str = ""
    """Why it cannot work here."""


def tool_rows(entries: Sequence[ToolEntry], off: frozenset[str]) -> list[ToolRow]:
    """The sets, each with its tools below it."""
    rows: list[ToolRow] = []
    for name in dict.fromkeys(entry.toolset for entry in entries):
        members = [entry for entry in entries if entry.toolset == name]
        tools = tuple(entry.name for entry in members)
        gone = [tool for tool in tools if is_off(tool, name, off)]
        state: State = "on" if not gone else "off" if len(gone) == len(tools) else "partly"
        # A set of a server is switched off by its own name, so that tools that come later are off as well.
        named = (name,) if is_of_servers(name) else ()
        words = t(f"tools.set_{name.partition(':')[0]}")
        tokens = sum(entry.tokens for entry in members if not is_off(entry.name, name, off))
        cost = t("tools.costs", n=tokens) if state != "off" else t("tools.is_off")
        detail = (t("text.pair", name=visible(name), value=words), series(tools))
        rows.append(ToolRow(name, words, (*named, *tools), state, cost, detail, is_set=True))
        rows += [_tool_row(entry, off) for entry in members]
    return rows


def _tool_row(entry: ToolEntry, off: frozenset[str]) -> ToolRow:
    gone = is_off(entry.name, entry.toolset, off)
    of_server = is_of_servers(entry.name)
    words = one_line(clean(entry.text)) if of_server else t(f"tools.{entry.name}")
    problem = t(f"tools.{entry.problem}") if entry.problem else ""
    size = t("tools.size", bytes=f"{entry.size:,}", n=entry.tokens)
    side = t("tools.is_off") if gone else t("tools.costs", n=entry.tokens)
    own = t("tools.about", name=entry.name, does=words, size=size)
    said = (t("text.pair", name=entry.name, value=size), words) if of_server else (own, one_line(entry.text))
    detail = tuple(filter(None, (said[0], problem, said[1])))
    return ToolRow(entry.name, words, (entry.name,), "off" if gone else "on", side, detail, warning=problem)


class ToolsList(FollowedList[str, ToolRow]):
    DEFAULT_CSS = "ToolsList { height: 1fr; }"

    def __init__(self, moved: Callable[[], None], chosen: Callable[[], None]) -> None:
        super().__init__("tools-list", moved)
        self._chosen = chosen

    def show(self, rows: Sequence[ToolRow]) -> None:
        """Show them; the cursor stays where it is."""
        lines: list[Heading[str] | ToolRow] = []
        for tool in rows:
            if tool.is_set and lines and self.app.size.height >= limits.SHORT:
                lines.append(Heading())
            lines.append(tool)
        self.put_at(lines, self.at)

    def clicked(self, line: ToolRow) -> None:
        super().clicked(line)
        self._chosen()

    def draw_row(self, line: ToolRow, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground, bold=line.is_set)
        plain = look.style("seltext" if here else "text" if line.state != "off" else "muted", ground)
        muted = plain if here else look.style("muted", ground)
        symbol, role = _MARKS[line.state]
        left = led(look, here, plain)
        left += [("" if line.is_set else "  ", plain), (f"{sym(symbol)} ", look.mark(role, ground))]
        side = cut(line.side, cells // 2)
        name = line.name + " " * (2 if line.is_set else max(2, _NAME - width(line.name)))
        room = cells - sum(width(part) for part, _ in left) - width(name) - width(side) - 3
        told = beside(line.warning or line.words, room)
        warn = look.style("warn", ground) if line.warning and not here else muted
        left += [(name if told else line.name, words if line.is_set else plain), (told, warn)]
        return row(cells, left, plain, [(side, muted), (" ", plain)])


class ToolsScreen(ListScreen[None]):
    """`switch` is called with what is off from now on, None for as configured."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/tools.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("space,enter", "switch", show=False),
        Binding("r", "reset", show=False),
        Binding("q", "close", show=False),
    ]
    _list: ToolsList
    _foot: KeysFoot

    def __init__(self, entries: Sequence[ToolEntry], off: frozenset[str], configured: frozenset[str]) -> None:
        super().__init__()
        self.switch: Callable[[frozenset[str] | None], None] = lambda off: None
        self._entries, self._off, self._configured = entries, off, configured
        self._list = ToolsList(self._follow, self.action_switch)
        self._detail = Detail(id="tools-detail")
        self._foot = KeysFoot(id="tools-foot")

    def _show(self) -> None:
        self._list.show(tool_rows(self._entries, self._off))

    def _follow(self) -> None:
        line = self._list.row
        self._detail.say(line.detail if line is not None else ())
        tokens = sum(one.tokens for one in self._entries if not is_off(one.name, one.toolset, self._off))
        keys = [(key("space"), t("tools.switch"))]
        keys += [("r", t("tools.as_configured"))] if self._off != self._configured else []
        keys.append(("Esc", t("tools.close")))
        keys += [(key("pagedown"), t("tools.more"))] if self._list.has_more else []
        total = t("tools.total", n=tokens, total=sum(entry.tokens for entry in self._entries))
        self._foot.say(tuple(keys), total)

    def action_switch(self) -> None:
        """Off, what is on at least in part; else on."""
        line = self._list.row
        if line is None:
            return
        tools = frozenset(line.tools)
        self._change(self._off - tools if line.state == "off" else self._off | tools)

    def action_reset(self) -> None:
        self._off = self._configured
        self._show()
        self.switch(None)

    def _change(self, off: frozenset[str]) -> None:
        self._off = off
        self._show()
        self.switch(off)
