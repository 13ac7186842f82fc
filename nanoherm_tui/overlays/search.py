"""The search through all sessions: what is typed, the fields that narrow it down, the hits, the lines around one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widgets import TextArea

from agent_core.search_filters import put, read
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.frame import CssPath, LineField, Overlay, boxed
from nanoherm_tui.overlays.palette import PaletteCount
from nanoherm_tui.overlays.search_fields import FIELDS, FilterRow, folder_words, shifted
from nanoherm_tui.overlays.search_hits import WITH_SPEAKER, Answer, Around, Hit, SearchList
from nanoherm_tui.overlays.typed_line import TYPED_MOVES, TypedLine
from nanoherm_tui.strips import Painted, flow, hints, look_of
from nanoherm_tui.text import one_line


class _Foot(Painted):
    on_fields = False
    has_hits = True

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        keys = [("Enter", t("search.jump"))] if self.has_hits else []
        if self.on_fields:
            keys += [(key("left") + " " + key("right"), t("search.change")), ("Tab", t("search.next_field"))]
        else:
            keys.append(("Tab", t("search.narrow")))
        keys.append(("Esc", t("search.close")))
        rows = flow(width, hints(look, keys), look.style("text", "surface"), indent=2)
        return rows[:2] if self.app.size.height < limits.SHORT else rows


class SearchScreen(Overlay[Hit | None]):
    """Gives the hit to go to. `on_ask` is called with a query as it is typed, `show` brings the answer."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/palette.tcss", "../css/search.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *TYPED_MOVES,
        Binding("enter", "choose", show=False),
        Binding("tab", "field(1)", show=False, priority=True),
        Binding("shift+tab", "field(-1)", show=False, priority=True),
    ]

    def __init__(self, query: str = "") -> None:
        super().__init__()
        self.on_ask: Callable[[str], None] = lambda query: None
        self._start = query
        self._asked: str | None = None
        self.answer: Answer | None = None
        """What is shown."""
        self._goes = False  # Enter was pressed before the answer came
        self._field = LineField(id="palette-field")
        self._fields = FilterRow()
        self._around = Around(id="search-around")
        self._list = SearchList(self._around)
        self._count = PaletteCount(id="search-count")
        self._foot = _Foot(id="palette-foot")
        self._folders: tuple[str, ...] = ()
        self._models: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        yield boxed(TypedLine(self._field, self._count), self._fields, self._list, self._around, self._foot)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < WITH_SPEAKER, "-narrow")
        if self.answer is not None:
            self._count.words = self._counted(self.answer)
            self._count.refresh()

    def on_mount(self) -> None:
        self._field.ask(t("search.ask"))
        self._field.focus()
        if self._start:
            self._field.type_in(self._start)
        self._ask()

    def offer(self, folders: Sequence[str], models: Sequence[str]) -> None:
        """What the fields for the folder and the model can say, beside that any will do."""
        self._folders, self._models = folder_words(folders), tuple(models)

    def show(self, answer: Answer) -> None:
        """What was found; an answer to something else than what stands there now is late and passed over."""
        if self._asked != answer.query:
            return
        self.answer = answer
        self._list.show(answer.hits, self._words(answer))
        self._count.words = self._counted(answer)
        self._count.refresh()
        self._tell()
        if self._goes and (answer.hits or not answer.left):
            self._goes = False
            self.action_choose()

    def _words(self, answer: Answer) -> str:
        narrowed = bool(read(answer.query).typed)
        if answer.problem or not answer.words:
            return answer.problem or (t("search.only_narrowed") if narrowed else "")
        if answer.left:
            return t("search.indexing")
        if answer.behind:
            return t("search.none_behind", query=one_line(answer.words))
        return t("search.none_narrowed" if narrowed else "search.none", query=one_line(answer.words))

    def _counted(self, answer: Answer) -> str:
        hits, sessions = len(answer.hits), len({hit.session for hit in answer.hits})
        if self.size.width < WITH_SPEAKER:
            return str(hits or "")
        if answer.left:
            return t("search.left", n=answer.left)
        if not hits:
            return ""
        if answer.behind:
            return t("search.count_behind", n=hits)
        ms = max(1, round(1000 * answer.seconds))
        if answer.total > hits:
            total = f"{answer.total}+" if answer.is_more else str(answer.total)
            return t("search.count_of", n=hits, total=total, ms=ms)
        words = "search.count_one" if hits == 1 else "search.count_here" if sessions == 1 else "search.count"
        return t(words, n=hits, sessions=sessions, ms=ms)

    def _ask(self) -> None:
        wanted = self._field.text
        if wanted != self._asked:
            self._asked, self._goes = wanted, False
            self._fields.show(read(wanted))
            self.on_ask(wanted)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._ask()

    def action_move(self, step: int) -> None:
        self._list.move(step)

    # -- the fields -----------------------------------------------------------------------------------------------

    def action_field(self, by: int) -> None:
        """From what is typed to the fields, from one to the next, and back."""
        if not self._fields.has_focus:
            self._fields.at = 0 if by > 0 else len(FIELDS) - 1
            self._fields.focus()
        elif not self._fields.step(by):
            self._field.focus()
        self._tell()

    def _tell(self) -> None:
        on_fields = self.focused is self._fields
        has_hits = self.answer is None or bool(self.answer.hits or self.answer.left)
        if (on_fields, has_hits) != (self._foot.on_fields, self._foot.has_hits):
            self._foot.on_fields, self._foot.has_hits = on_fields, has_hits
            self._foot.refresh(layout=True)

    def on_descendant_focus(self) -> None:
        self._tell()

    def on_filter_row_shifted(self, message: FilterRow.Shifted) -> None:
        message.stop()
        text = self._field.text
        if message.step:
            text = shifted(text, read(text), message.name, message.step, self._folders, self._models)
        else:
            for key in ("since", "before") if message.name == "when" else (message.name,):
                text = put(text, key, "")
        self._field.put(text)
        self._ask()

    def on_filter_row_typed(self, message: FilterRow.Typed) -> None:
        message.stop()
        self._field.focus()
        self._field.type_in(message.text)

    # -- going ----------------------------------------------------------------------------------------------------

    def action_choose(self) -> None:
        self._ask()  # keys of one read come before the change they made is told
        answer = self.answer
        if answer is None or self._asked != answer.query:
            self._goes = True
        elif self._list.row is not None:
            self.dismiss(self._list.row)

    def on_search_list_picked(self, message: SearchList.Picked) -> None:
        message.stop()
        self.dismiss(message.hit)

    def on_mouse_scroll_down(self) -> None:
        self._list.move(1)

    def on_mouse_scroll_up(self) -> None:
        self._list.move(-1)
