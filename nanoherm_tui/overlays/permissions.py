"""What is allowed and what was decided: a list under headings, below it the whole of the row the cursor is on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding, BindingType
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.grouped import MOVES, PAGE, Detail, FollowedList, Heading
from nanoherm_tui.overlays.listed import KeysFoot, ListScreen
from nanoherm_tui.strips import led, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, one_line
from nanoherm_tui.words.permissions import Line, Section

if TYPE_CHECKING:
    from agent_core.desk.permissions import Allowed
    from nanoherm_tui.overlays.frame import CssPath

_MARKS: Final = {"allow": ("done", "ok"), "refuse": ("failed", "fail")}


class PermissionsList(FollowedList[str, Line]):
    DEFAULT_CSS = "PermissionsList { height: 1fr; }"

    def __init__(self, moved: Callable[[], None]) -> None:
        super().__init__("permissions-list", moved)

    def show(self, sections: Sequence[Section]) -> None:
        """Show them; the cursor stays where it is as far as it can."""
        lines: list[Heading[str] | Line] = []
        for section in sections:
            lines += [Heading()] if lines and self.app.size.height >= limits.SHORT else []
            lines += [Heading(section.title), *section.lines]
        self.put_at(lines, self.at)

    def draw_row(self, line: Line, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        muted = words if here else look.style("muted", ground)
        left = led(look, here, words)
        if line.mark:
            symbol, role = _MARKS[line.mark]
            left.append((f"{sym(symbol)} ", look.mark(role, ground)))
        text = look.style("warn", ground) if line.warning and not here else words
        left.append((one_line(line.words), text))
        side = cut(one_line(line.side), cells // 2)
        return row(cells, left, words, [(side, muted)] if side else [])


class PermissionsScreen(ListScreen[None]):
    """`take_back` and `give_back` are called with what was taken back or given again; `show` brings what is then."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/permissions.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("space", f"move({PAGE})", show=False),
        Binding("d,delete", "take_back", show=False),
        Binding("u", "give_back", show=False),
        Binding("q", "close", show=False),
    ]
    _list: PermissionsList
    _foot: KeysFoot

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__()
        self.take_back: Callable[[Allowed], None] = lambda allowed: None
        self.give_back: Callable[[Allowed], None] = lambda allowed: None
        self._sections = sections
        self._taken: list[Allowed] = []
        self._list = PermissionsList(self._follow)
        self._detail = Detail(id="permissions-detail")
        self._foot = KeysFoot(id="permissions-foot")

    def show(self, sections: Sequence[Section]) -> None:
        self._sections = sections
        if self.is_mounted:
            self._show()

    def _show(self) -> None:
        self._list.show(self._sections)

    def _follow(self) -> None:
        line = self._list.row
        self._detail.say(line.detail if line is not None else ())
        keys = [("d", t("permissions.take_back"))] if line is not None and line.allowed is not None else []
        keys += [("u", t("permissions.give_back"))] if self._taken else []
        keys.append(("Esc", t("permissions.close")))
        keys += [(key("pagedown"), t("permissions.more"))] if self._list.has_more else []
        self._foot.say(tuple(keys))

    def action_take_back(self) -> None:
        line = self._list.row
        if line is not None and line.allowed is not None and line.allowed not in self._taken:
            self._taken.append(line.allowed)
            self.take_back(line.allowed)
            self._follow()

    def action_give_back(self) -> None:
        if self._taken:
            self.give_back(self._taken.pop())
            self._follow()
