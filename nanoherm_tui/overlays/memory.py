"""What is remembered: a list to search, mend, add to and take from; above it what waits for the person.

The view reads and writes nothing: it asks by its callbacks, and is told by `show`, `tell` and `gone`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import ClassVar, Final, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.strip import Strip
from textual.widgets import TextArea

from agent_core.knowledge import Memory, Pending
from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.frame import CssPath, Halo, LineField
from nanoherm_tui.overlays.grouped import MOVES, Detail, FollowedList, Heading
from nanoherm_tui.overlays.listed import KeysFoot, ListScreen
from nanoherm_tui.overlays.palette import PaletteCount
from nanoherm_tui.panes.draft import DraftPrompt
from nanoherm_tui.strips import Painted, led, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import age, cut, one_line, visible, width, wrap
from nanoherm_tui.words.kept_titles import kept_title
from nanoherm_tui.words.memory import DETAIL, in_words, kind_cells, memory_facts

_EDITED: Final = 6  # rows of the field in which one is mended, at most
_TOLD: Final = 3  # rows of what came of something, at most
_NARROW: Final = 50  # columns below which a row has no room for where a memory holds


@dataclass(frozen=True, slots=True)
class Found:
    """What a query has found; "" finds everything."""

    query: str
    memories: tuple[Memory, ...]
    pending: tuple[Pending, ...] = ()
    total: int = 0
    """How many there are, whatever is looked for."""
    withheld: int = 0
    """How many the file has that were forgotten before."""
    workspace: str = ""
    """Of the session in front."""
    home: str = ""


class MemoryList(FollowedList[str, Memory | Pending]):
    DEFAULT_CSS = "MemoryList { height: 1fr; }"

    def __init__(self, moved: Callable[[], None], chosen: Callable[[], None]) -> None:
        super().__init__("memory-list", moved)
        self._chosen = chosen
        self._found = Found("", ())
        self._cells = 0

    def show(self, found: Found, empty: str) -> None:
        """Show them; the cursor stays on the one it is on, else where it was."""
        here, at = self.row, self.at
        self._found = found
        self._cells = kind_cells()
        lines: list[Heading[str] | Memory | Pending] = []
        if found.pending:
            lines += [Heading(t("skills.waits")), *found.pending]
            if found.memories:
                lines += [Heading()] if self.app.size.height >= limits.SHORT else []
                lines.append(Heading(t("memory.title")))
        rows: list[Memory | Pending] = [*found.pending, *found.memories]
        self.put([*lines, *found.memories], empty)
        ids = [one.id for one in rows]
        stays = here is not None and here.id in ids
        self.at = ids.index(here.id) if stays and here is not None else max(0, min(at, len(rows) - 1))
        self._moved()

    def clicked(self, line: Memory | Pending) -> None:
        again = self.row is line
        super().clicked(line)
        if again:
            self._chosen()

    def draw_row(self, line: Memory | Pending, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        muted = words if here else look.style("muted", ground)
        left = led(look, here, words)
        if isinstance(line, Pending):
            left += [(f"{sym('asks')} ", look.mark("accent", ground)), (kept_title(line.title), words)]
            left.append((f"  {one_line(visible(_would_add(line)))}", muted))
            return row(cells, left, words, [(age(time.time() - line.made), muted)])
        kind = t(f"memory.{line.kind}")
        left += [(kind + " " * (self._cells - width(kind)), muted), (one_line(visible(line.text[:DETAIL])), words)]
        return row(cells, left, words, [(cut(self._side(line, cells), cells // 3), muted)])

    def _side(self, line: Memory, cells: int) -> str:
        when = age(time.time() - line.created) if line.created else ""
        where = "" if line.scope in ("", self._found.workspace) or cells < _NARROW else _folder(line.scope)
        return "  ".join(filter(None, (where, when)))


def _would_add(pending: Pending) -> str:
    """The first line that a write which waits would add."""
    added = (line.text for hunk in in_words(pending.diff).hunks for line in hunk.lines if line.kind == "add")
    return next(added, "")[:DETAIL]


def _folder(scope: str) -> str:
    return one_line(visible(scope.rstrip("/").rpartition("/")[2]))


def detail(line: Memory | Pending | None, found: Found) -> tuple[str, ...]:
    """All there is to know of a row."""
    if line is None:
        return ()
    if isinstance(line, Pending):
        return (kept_title(line.title), visible(line.diff.path))
    return memory_facts(line, found.memories, found.home)


class _Told(Painted):
    """What came of the last thing that was done."""

    words = ""
    problem = False

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        style = look.style("warn" if self.problem else "text", "surface")
        lines = wrap(self.words, max(1, width - 2))
        if len(lines) > _TOLD:
            lines = [*lines[: _TOLD - 1], cut(f"{lines[_TOLD - 1]} {sym('cut')}", max(1, width - 2))]
        return [row(width, [("  ", style), (line, style)], look.style("text", "surface")) for line in lines]


class MemoryScreen(ListScreen[Pending | None]):
    """Gives what waits and is to be looked at. The callbacks are told what a person wants."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/palette.tcss", "../css/memory.tcss"]
    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *MOVES,
        Binding("enter", "choose", show=False),
        Binding("e", "edit", show=False),
        Binding("a", "add", show=False),
        Binding("d,delete", "forget", show=False),
        Binding("D", "forget_too", show=False),
        Binding("u", "take_back", show=False),
        Binding("slash", "search", show=False),
        Binding("q", "close", show=False),
    ]
    _list: MemoryList
    _foot: KeysFoot

    def __init__(self, query: str = "") -> None:
        super().__init__()
        self.on_search: Callable[[str], None] = lambda query: None
        self.on_add: Callable[[str], None] = lambda text: None
        self.on_edit: Callable[[Memory, str], None] = lambda memory, text: None
        self.on_forget: Callable[[Memory], None] = lambda memory: None
        self.on_take_back: Callable[[Memory], None] = lambda memory: None
        self._start = query
        self.found = Found("", ())
        self._asked = ""
        self._forgotten: list[Memory] = []
        self._forget_too: Callable[[], None] | None = None
        self._doing: Literal["look", "search", "edit", "add"] = "look"
        self._edited: Memory | None = None
        self._field = LineField(id="palette-field")
        self._count = PaletteCount(id="palette-count")
        self._prompt = DraftPrompt()
        self._list = MemoryList(self._follow, self.action_choose)
        self._detail = Detail(id="memory-detail")
        self._line = Horizontal(id="memory-line")
        self._text = LineField(id="memory-text")
        self._told = _Told(id="memory-told")
        self._foot = KeysFoot(id="memory-foot")

    def compose(self) -> ComposeResult:
        with Halo(), Vertical(id="overlay-box"):
            with Horizontal(id="palette-line"):
                yield self._prompt
                yield self._field
                yield self._count
            yield self._list
            yield self._detail
            with self._line:
                prompt = DraftPrompt()
                prompt.lit = True
                yield prompt
                yield self._text
            yield self._told
            yield self._foot

    def on_mount(self) -> None:
        self._line.display = self._told.display = False
        self._field.can_focus = self._text.can_focus = True
        self._field.ask(t("memory.ask"))
        self._field.put(self._start)
        self._asked = self._start
        self.on_search(self._start)

    def on_resize(self, event: events.Resize) -> None:
        self._fit()

    # -- what it is told ------------------------------------------------------------------------------------------

    def show(self, found: Found) -> None:
        """What was found; an answer to something else than what stands there now is late and passed over."""
        if found.query == self._asked:
            self.found = found
            self._show()
            if found.withheld and not self._told.words:
                self.tell(t("memory.withheld", n=found.withheld))

    def tell(self, words: str, problem: bool = False) -> None:
        """What came of the last thing that was done."""
        self._told.words, self._told.problem = one_line(words), problem
        self._told.display = bool(words)
        self._told.refresh(layout=True)

    def gone(self, memories: Iterable[Memory], forget_too: Callable[[], None] | None = None) -> None:
        """They were forgotten, and may be taken back. `forget_too` does the same with what was made from them."""
        self._forgotten += memories
        self._forget_too = forget_too
        self._follow()

    def ask_again(self) -> None:
        """Something has changed: look once more."""
        self.on_search(self._asked)

    # -- drawing --------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        query = self.found.query.strip()
        self._list.show(self.found, t("memory.nothing", query=one_line(query)) if query else t("memory.none"))
        found, total = len(self.found.memories), self.found.total
        self._count.words = t("palette.count", n=found, total=total) if query else str(total or "")
        self._count.refresh()

    def _follow(self) -> None:
        """The row under the cursor is another one, or what can be done with it."""
        line = self._list.row
        self._detail.say(detail(line, self.found))
        keys: list[tuple[str, str]] = []
        if self._doing in ("edit", "add"):
            keys = [(key("enter"), t("memory.keep")), (key("escape"), t("memory.leave"))]
        elif self._doing == "search":
            keys = [(key("enter"), t("memory.to_list")), (key("escape"), t("memory.all"))]
        else:
            if isinstance(line, Pending):
                keys.append((key("enter"), t("skills.look")))
            elif line is not None:
                keys += [(key("enter"), t("memory.edit")), ("d", t("memory.forget"))]
            keys += [("D", t("memory.forget_too"))] if self._forget_too is not None else []
            keys += [("u", t("memory.take_back"))] if self._forgotten else []
            keys += [("a", t("memory.add")), ("/", t("memory.search")), (key("escape"), t("memory.close"))]
            keys += [(key("pagedown"), t("skills.more"))] if self._list.has_more else []
        self._foot.say(tuple(keys))

    def _go(self, doing: Literal["look", "search", "edit", "add"]) -> None:
        """Do something else from now on."""
        self._doing = doing
        self._line.display = doing in ("edit", "add")
        self._detail.display = not self._line.display
        self._prompt.lit = doing == "search"
        self._prompt.refresh()
        target = self._field if doing == "search" else self._text if self._line.display else None
        self.set_focus(target)
        self._fit()
        self._follow()

    def _fit(self) -> None:
        if self._line.display:
            most = _EDITED if self.app.size.height >= limits.SHORT else 2
            self._text.styles.height = self._line.styles.height = max(1, min(most, self._text.rows))

    # -- what a person does ---------------------------------------------------------------------------------------

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if event.text_area is self._field:
            self._look_for(self._field.text)
        else:
            self._fit()

    def _look_for(self, query: str) -> None:
        if query != self._asked:
            self._asked = query
            self._list.at = 0
            self.on_search(query)

    def action_search(self) -> None:
        self._go("search")

    def action_edit(self) -> None:
        line = self._list.row
        if self._doing == "look" and isinstance(line, Memory):
            self._edited = line
            self._text.put(line.text)
            self._go("edit")

    def action_add(self) -> None:
        if self._doing == "look":
            self._text.put("")
            self._go("add")

    def action_choose(self) -> None:
        """Enter: keep what was written, go down to the list, or open the row."""
        line = self._list.row
        if self._doing in ("edit", "add"):
            self._keep(self._text.text.strip())
        elif self._doing == "search":
            self._look_for(self._field.text)  # keys of one read come before the change they made is told
            self._go("look")
        elif isinstance(line, Pending):
            self.dismiss(line)
        else:
            self.action_edit()

    def _keep(self, text: str) -> None:
        edited, doing = self._edited, self._doing
        if not text:
            return
        if doing == "add":
            self.on_add(text)
        elif edited is not None and text != edited.text:
            self.on_edit(edited, text)
        else:
            self._go("look")

    def kept(self) -> None:
        """What was written is kept; what was not stays in the field, to be mended."""
        self._edited = None
        if self._doing in ("edit", "add"):
            self._go("look")

    def action_forget(self) -> None:
        line = self._list.row
        if self._doing == "look" and isinstance(line, Memory):
            self.on_forget(line)

    def action_forget_too(self) -> None:
        if self._doing == "look" and self._forget_too is not None:
            self._forget_too()

    def action_take_back(self) -> None:
        if self._doing == "look" and self._forgotten:
            self._forget_too = None
            self.on_take_back(self._forgotten.pop())
            self._follow()

    def action_move(self, step: int) -> None:
        if self._doing in ("look", "search"):
            self._list.move(step)

    def action_close(self) -> None:
        if self._doing in ("edit", "add"):
            self._go("look")
        elif self._doing == "search":
            self._field.put("")
            self._look_for("")
            self._go("look")
        else:
            self.dismiss(None)
