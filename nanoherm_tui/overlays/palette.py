"""The palette: every action, mode, model, theme and session by a few letters of its name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal, get_args

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from agent_core.records import dataclass
from agent_core.text.fuzzy import Tier, match
from nanoherm_tui.actions import ACTIONS
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import CssPath, LineField, Overlay, boxed
from nanoherm_tui.overlays.grouped import GroupedList, Heading
from nanoherm_tui.overlays.typed_line import TYPED_MOVES, TypedLine
from nanoherm_tui.strips import Painted, flow, hints, led, look_of, marked, row
from nanoherm_tui.text import cut, cut_path, one_line, width

if TYPE_CHECKING:
    from nanoherm_tui.keymap import Keymap

Kind = Literal[
    "action", "typed", "mode", "model", "persona", "temperature", "effort", "theme", "session", "language", "pane",
    "folder", "said", "worktree", "snippet",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_WORD: Final = re.compile(r"[^\W_]+")
# What a find is worth: in the title, in one piece or in pieces that begin words; else the very words in help and other
# names, shortened words, and last scattered letters, which may be chance.
_WORTH: Final = {Tier.EXACT: 60, Tier.START: 50, Tier.WORD: 40, Tier.PIECES: 30, Tier.WITHIN: 20, Tier.SCATTERED: 10}
_FAR: Final = 50  # characters from a title's start; further makes no difference
_VERY_WORDS: Final = 1.0
_SHORTENED: Final = 0.5
_BY_CHANCE: Final = 0.4
_BEST: Final = 1_000.0  # more than any query's words are worth together
_WITH_HELP: Final = 50  # columns below which only titles are shown


@dataclass(frozen=True, slots=True)
class PaletteItem:
    """One row. `key` is what stands at its right end: a key or a slash command, as people read it."""

    id: str
    kind: Kind
    title: str
    help: str = ""
    key: str = ""
    keywords: str = ""
    """Other words it is found by: its name in English, say."""
    path: str = ""
    """Where it lies, behind the help; its end stays."""


def action_items(keymap: Keymap) -> list[PaletteItem]:
    """All actions of the table; their ids are the actions'."""
    return [
        PaletteItem(
            a.id,
            "action" if a.context == "everywhere" else "pane",
            t(a.title),
            t(a.help),
            keymap.label(a.id) or (f"/{a.slash}" if a.slash else ""),
            " ".join((a.id.replace("_", " "), a.slash, *a.aliases)),
        )
        for a in ACTIONS
    ]


# -- finding ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hit:
    item: PaletteItem
    score: float
    marks: frozenset[int] = frozenset()
    """Which characters of the title were typed."""


def fuzzy(query: str, text: str) -> tuple[float, frozenset[int]] | None:
    """How well `query` is found in `text`, and which of its characters; None when it is not.

    Each word of the query is looked for on its own. An early place counts a little more.
    """
    score = 0.0
    marks: set[int] = set()
    scattered = False
    for word in query.split():
        found = match(word, text)
        if found is None:
            return None
        score += _WORTH[found.tier] - min(found.places[0], _FAR) * 0.1
        scattered |= found.tier is Tier.SCATTERED
        marks.update(found.places)
    return (_BY_CHANCE * score / _BEST if scattered else score), frozenset(marks)


def _shortens(short: str, word: str) -> bool:
    """ "thm" for "theme": the first letter, and others of the same word in order."""
    return word.startswith(short[:1]) and match(short, word) is not None


def search(items: Iterable[PaletteItem], query: str) -> list[Hit]:
    """The items that `query` finds, best first; all of them, in their order, for a blank query."""
    if not query.strip():
        return [Hit(item, 0.0) for item in items]
    hits = []
    for item in items:
        found = fuzzy(query, item.title)
        score, marks = found or (0.0, frozenset())
        if score < _VERY_WORDS:
            # Help and other names count only when they have the very words, or are words that are shortened:
            # scattered letters are in any text.
            names, words = f"{item.title} {item.keywords}".lower(), query.lower().split()
            if all(word in f"{names} {item.help} {item.path}".lower() for word in words):
                score = _VERY_WORDS + sum(word in names.split() for word in words)
            elif all(any(_shortens(word, name) for name in _WORD.findall(names)) for word in words):
                score = _SHORTENED
        if score:
            hits.append(Hit(item, score, marks))
    hits.sort(key=lambda hit: -hit.score)
    return hits


def grouped(hits: Sequence[Hit], recent: Sequence[str]) -> list[tuple[str, list[Hit]]]:
    """Hits under the headings they are shown by: what was used last first, then kind by kind, the best kind first."""
    groups: list[tuple[str, list[Hit]]] = []
    by_id = {hit.item.id: hit for hit in hits}
    searched = any(hit.score for hit in hits)
    lately = [] if searched else [by_id[i] for i in recent if i in by_id]
    if lately:
        groups.append(("recent", lately))
    shown = {hit.item.id for hit in lately}
    kinds: dict[Kind, list[Hit]] = {}
    for hit in hits:
        if hit.item.id not in shown:
            kinds.setdefault(hit.item.kind, []).append(hit)
    order = list(kinds) if searched else sorted(kinds, key=KINDS.index)
    return groups + [(kind, kinds[kind]) for kind in order]


# -- the screen ---------------------------------------------------------------------------------------------------


class PaletteList(GroupedList[str, Hit]):
    """The hits under their headings; a kind without one has none."""

    DEFAULT_CSS = "PaletteList { height: 1fr; }"

    class Picked(Message):
        """A row was clicked."""

        def __init__(self, item: PaletteItem) -> None:
            super().__init__()
            self.item = item

    def __init__(self) -> None:
        super().__init__("palette-list")
        self._widest = 0

    def show(self, groups: Sequence[tuple[str, list[Hit]]], empty: str) -> None:
        headings = {
            "recent": t("palette.recent"),
            "action": t("palette.actions"),
            "typed": t("palette.typed"),
            "mode": t("palette.modes"),
            "model": t("palette.models"),
            "theme": t("palette.themes"),
            "session": t("palette.sessions"),
            "language": t("palette.languages"),
            "pane": t("palette.panes"),
        }
        lines: list[Heading[str] | Hit] = []
        for heading, hits in groups:
            lines += [Heading()] if lines else []
            lines += [Heading(headings[heading]), *hits] if heading in headings else hits
        # Behind a narrow name its path has more room; of all hits, so that scrolling moves no column.
        self._widest = max((width(one_line(hit.item.title)) for _, hits in groups for hit in hits), default=0)
        self.put(lines, empty)
        self._top = 0

    @property
    def current(self) -> PaletteItem | None:
        return self.row.item if self.row is not None else None

    def go_to(self, item_id: str) -> None:
        for index, (_, hit) in enumerate(self._rows):
            if hit.item.id == item_id:
                self.at = index
                self.refresh()
                return

    def clicked(self, line: Hit) -> None:
        self.post_message(self.Picked(line.item))

    def draw_heading(self, of: str | None, cells: int) -> Strip:
        look = look_of(self)
        return row(cells, [(f"  {of or ''}", look.style("muted", "surface"))], look.style("text", "surface"))

    def draw_row(self, line: Hit, here: bool, cells: int) -> Strip:
        look = look_of(self)
        item = line.item
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        remark = words if here else look.style("muted", ground)
        left = led(look, here, words)
        title, help_text = one_line(item.title), one_line(item.help) if cells >= _WITH_HELP else ""
        column = min(cells * 3 // 8, self._widest + 6) if item.path else cells * 3 // 8
        shown = cut(title, column - 2) if help_text or item.path else title
        left += marked(shown, line.marks, words, look.style("accent", ground, bold=True))
        left += [(" " * (column - width(shown)), words), (help_text, remark)] if help_text else []
        if item.path and cells >= _WITH_HELP:
            between = "  " if help_text else " " * (column - width(shown))
            room = cells - sum(width(part) for part, _ in left) - width(between)
            left.append((between + cut_path(one_line(item.path), max(room, 0)), remark))
        return row(cells, left, words, [(item.key, remark)] if item.key else ())


def _in_use(item: PaletteItem) -> PaletteItem:
    return replace(item, help=t("palette.in_use_with", help=item.help) if item.help else t("palette.in_use"))


class PaletteCount(Painted):
    words = ""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        return [row(width, [], look.style("text", "surface"), [(self.words, look.style("muted", "surface"))])]


class PaletteFoot(Painted):
    def __init__(self, kind: str) -> None:
        super().__init__(id="palette-foot")
        self._runs = kind in ("", "action")
        self.has_hits = True

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        enter = [("Enter", t("palette.run" if self._runs else "palette.choose"))] if self.has_hits else []
        return flow(width, hints(look, [*enter, ("Esc", t("palette.close"))]), look.style("text", "surface"), indent=2)


class PaletteScreen(Overlay[str | None]):
    """Gives the chosen item's id, or None."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/palette.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *TYPED_MOVES,
        Binding("enter", "choose", show=False),
    ]

    class Previewed(Message):
        """A theme is under the cursor; None: none any more, what was in use before comes back."""

        def __init__(self, item: PaletteItem | None) -> None:
            super().__init__()
            self.item = item

    def __init__(
        self,
        items: Sequence[PaletteItem],
        *,
        kind: str = "",
        recent: Sequence[str] = (),
        current: frozenset[str] = frozenset(),
    ) -> None:
        """`kind`: offer only this one. `recent`: ids used lately, newest first.

        `current`: what is in use says so; in a list of one kind the cursor starts there.
        """
        super().__init__()
        self._items = [_in_use(i) if i.id in current else i for i in items if not kind or i.kind == kind]
        self._recent = () if kind else recent
        self._kind = kind
        self._start = next((i.id for i in self._items if i.id in current), "") if kind else ""
        self._previewed: str | None = None
        self._searched: str | None = None  # the query whose hits are shown
        self._field = LineField(id="palette-field")
        self._list = PaletteList()
        self._count = PaletteCount(id="palette-count")
        self._foot = PaletteFoot(self._kind)

    def compose(self) -> ComposeResult:
        yield boxed(TypedLine(self._field, self._count), self._list, self._foot)

    def on_mount(self) -> None:
        placeholder = {
            "": t("palette.ask"),
            "action": t("palette.ask"),
            "mode": t("palette.ask_mode"),
            "model": t("palette.ask_model"),
            "persona": t("palette.ask_persona"),
            "temperature": t("palette.ask_temperature"),
            "effort": t("palette.ask_effort"),
            "theme": t("palette.ask_theme"),
            "session": t("palette.ask_session"),
            "worktree": t("palette.ask_worktree"),
            "snippet": t("palette.ask_snippet"),
            "language": t("palette.ask_language"),
        }
        self._field.ask(placeholder[self._kind])
        self._field.focus()
        self._search()
        if self._start:
            self._list.go_to(self._start)

    def offer(self, items: Sequence[PaletteItem], current: frozenset[str] = frozenset()) -> None:
        """Offer these from now on; the cursor stays on its item."""
        here = self._list.current
        self._items = [_in_use(i) if i.id in current else i for i in items if not self._kind or i.kind == self._kind]
        self._searched = None
        self._search()
        if here is not None:
            self._list.go_to(here.id)

    def _search(self) -> None:
        query = self._field.text
        if query == self._searched:
            return
        self._searched = query
        hits = search(self._items, query)
        self._list.show(grouped(hits, self._recent), t("palette.nothing", query=one_line(query)))
        self._count.words = t("palette.count", n=len(hits), total=len(self._items))
        self._count.refresh()
        if self._foot.has_hits != bool(hits):
            self._foot.has_hits = bool(hits)
            self._foot.refresh(layout=True)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._search()
        self._preview()

    def action_move(self, step: int) -> None:
        self._search()  # keys of one read come before the change they made is told
        self._list.move(step)
        self._preview()

    def _preview(self) -> None:
        item = self._list.current
        theme = item if item is not None and item.kind == "theme" else None
        new = theme.id if theme else None
        if new != self._previewed:
            self._previewed = new
            self.post_message(self.Previewed(theme))

    def action_choose(self) -> None:
        self._search()
        item = self._list.current
        if item is not None:
            self.dismiss(item.id)

    def action_close(self) -> None:
        if self._previewed is not None:
            self.post_message(self.Previewed(None))
        self.dismiss(None)

    def on_palette_list_picked(self, message: PaletteList.Picked) -> None:
        message.stop()
        self.dismiss(message.item.id)

    def on_mouse_scroll_down(self) -> None:
        self._list.move(1)

    def on_mouse_scroll_up(self) -> None:
        self._list.move(-1)
