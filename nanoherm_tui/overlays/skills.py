"""The skills of a workspace: what each is for, where it is from, why it cannot be used; above them what waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual.binding import Binding, BindingType
from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.grouped import MOVES, Detail, FollowedList, Heading
from nanoherm_tui.overlays.listed import KeysFoot, ListScreen
from nanoherm_tui.strips import beside, led, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, width

if TYPE_CHECKING:
    from nanoherm_tui.overlays.frame import CssPath

_NAME: Final = 24  # cells of the column of names, at most

State = Literal["offered", "lacking", "closed", "waits"]
"""The model is told of it; it is, and something is missing; it is not; a write that waits for the person."""
_MARKS: Final[dict[State, tuple[str, str]]] = {
    "offered": ("done", "ok"),
    "lacking": ("asks", "warn"),
    "closed": ("waiting", "muted"),
    "waits": ("asks", "accent"),
}


@dataclass(frozen=True, slots=True)
class SkillLine:
    """A skill, or a write that waits, in words."""

    name: str
    """What Enter gives; of a write its id."""
    words: str
    side: str
    state: State
    detail: tuple[str, ...]


class SkillsList(FollowedList[str, SkillLine]):
    DEFAULT_CSS = "SkillsList { height: 1fr; }"

    def __init__(self, moved: Callable[[], None], chosen: Callable[[], None]) -> None:
        super().__init__("skills-list", moved)
        self._chosen = chosen
        self._cells = 0

    def show(self, lines: Sequence[SkillLine], empty: str) -> None:
        """Show them; the cursor stays where it is as far as it can."""
        waits = [line for line in lines if line.state == "waits"]
        skills = [line for line in lines if line.state != "waits"]
        self._cells = min(_NAME, max((width(line.name) for line in lines), default=0)) + 2
        shown: list[Heading[str] | SkillLine] = []
        if waits:
            shown += [Heading(t("skills.waits")), *waits]
            if skills and self.app.size.height >= limits.SHORT:
                shown.append(Heading())
            shown += [Heading(t("skills.title"))] if skills else []
        self.put_at([*shown, *skills], self.at, empty)

    def clicked(self, line: SkillLine) -> None:
        again = self.row is line
        super().clicked(line)
        if again:
            self._chosen()

    def draw_row(self, line: SkillLine, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        quiet = line.state == "closed"
        plain = look.style("seltext" if here else "muted" if quiet else "text", ground)
        muted = plain if here else look.style("muted", ground)
        warn = plain if here else look.style("warn", ground)
        symbol, role = _MARKS[line.state]
        name = cut(line.name, self._cells - 2)
        left = led(look, here, plain)
        left.append((f"{sym(symbol)} ", look.mark(role, ground)))
        side = cut(line.side, cells // 2)
        room = cells - sum(width(part) for part, _ in left) - self._cells - width(side) - 3
        words = beside(line.words, room)
        left += [(name + " " * (self._cells - width(name)) if words else name, plain), (words, muted)]
        return row(cells, left, plain, [(side, warn if line.state == "lacking" else muted), (" ", plain)])


class SkillsScreen(ListScreen[SkillLine | None]):
    """Gives the row that Enter was pressed on: a skill that can be used, or a write that waits."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/skills.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("enter", "choose", show=False),
        Binding("q", "close", show=False),
    ]
    _list: SkillsList
    _foot: KeysFoot

    def __init__(self, lines: Sequence[SkillLine]) -> None:
        super().__init__()
        self._lines = tuple(lines)
        self._list = SkillsList(self._follow, self.action_choose)
        self._detail = Detail(id="skills-detail")
        self._foot = KeysFoot(id="skills-foot")

    def _show(self) -> None:
        self._list.show(self._lines, t("skills.none"))

    def _follow(self) -> None:
        line = self._list.row
        self._detail.say(line.detail if line is not None else ())
        keys: list[tuple[str, str]] = []
        if line is not None and line.state == "waits":
            keys.append((key("enter"), t("skills.look")))
        elif line is not None and line.state != "closed":
            keys.append((key("enter"), t("skills.use")))
        keys.append((key("escape"), t("skills.close")))
        keys += [(key("pagedown"), t("skills.more"))] if self._list.has_more else []
        self._foot.say(tuple(keys))

    def action_choose(self) -> None:
        line = self._list.row
        if line is not None and line.state != "closed":
            self.dismiss(line)
