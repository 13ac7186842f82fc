"""What is allowed and what was decided: a list under headings, below it the whole of the row the cursor is on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.frame import CssPath, Overlay, boxed
from nanoherm_tui.overlays.grouped import MOVES, PAGE, Detail, FollowedList, Heading
from nanoherm_tui.permission_words import Line, Section
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, one_line

if TYPE_CHECKING:
    from agent_core.permissions import Allowed

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
        left: list[Part] = [(sym("bar"), look.mark("accent", ground)) if here else (" ", words), (" ", words)]
        if line.mark:
            symbol, role = _MARKS[line.mark]
            left.append((f"{sym(symbol)} ", look.mark(role, ground)))
        text = look.style("warn", ground) if line.warning and not here else words
        left.append((one_line(line.words), text))
        side = cut(one_line(line.side), cells // 2)
        return row(cells, left, words, [(side, muted), (" ", words)] if side else [])


class _Foot(Painted):
    can_take = False
    can_give = False
    more = False
    """The list goes on below what is in view."""

    def paint(self, width: int) -> list[Strip]:
        keys = [("d", t("permissions.take_back"))] if self.can_take else []
        keys += [("u", t("permissions.give_back"))] if self.can_give else []
        keys.append(("Esc", t("permissions.close")))
        keys += [(key("pagedown"), t("permissions.more"))] if self.more else []
        look = look_of(self)
        return flow(width, hints(look, keys), look.style("text", "surface"), indent=2)


class PermissionsScreen(Overlay[None]):
    """`take_back` and `give_back` are called with what was taken back or given again; `show` brings what is then."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/permissions.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("space", f"move({PAGE})", show=False),
        Binding("d,delete", "take_back", show=False),
        Binding("u", "give_back", show=False),
        Binding("q", "close", show=False),
    ]

    def __init__(self, sections: Sequence[Section]) -> None:
        super().__init__()
        self.take_back: Callable[[Allowed], None] = lambda allowed: None
        self.give_back: Callable[[Allowed], None] = lambda allowed: None
        self._sections = sections
        self._taken: list[Allowed] = []
        self._list = PermissionsList(self._follow)
        self._detail = Detail(id="permissions-detail")
        self._foot = _Foot(id="permissions-foot")

    def compose(self) -> ComposeResult:
        yield boxed(self._list, self._detail, self._foot)

    def on_mount(self) -> None:
        super().on_mount()
        self._list.show(self._sections)

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self._list.show(self._sections)
        self._detail.refresh(layout=True)

    def show(self, sections: Sequence[Section]) -> None:
        self._sections = sections
        if self.is_mounted:
            self._list.show(sections)

    def _follow(self) -> None:
        """The row under the cursor is another one, or may be something else now."""
        line = self._list.row
        self._detail.say(line.detail if line is not None else ())
        foot = self._foot
        now = (line is not None and line.allowed is not None, bool(self._taken), self._list.has_more)
        if now != (foot.can_take, foot.can_give, foot.more):
            foot.can_take, foot.can_give, foot.more = now
            foot.refresh(layout=True)

    def action_move(self, step: int) -> None:
        self._list.move(step)

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

    def on_mouse_scroll_down(self) -> None:
        self._list.move(1)

    def on_mouse_scroll_up(self) -> None:
        self._list.move(-1)
