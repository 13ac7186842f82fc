"""Help: the keys of the focused pane first, then those that work everywhere, all others, and the commands.

Typing filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.geometry import Size
from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui.actions import ACTIONS, CONTEXTS, PANES, SLASH_ACTIONS, Action
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import Keymap, show
from nanoherm_tui.overlays.frame import CssPath, Overlay, boxed
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of, row
from nanoherm_tui.text import width, wrap
from nanoherm_tui.words.arguments import written

_TWO_COLUMNS: Final = 70  # cells of text below which one column is more readable
_KEYS: Final = 16  # cells of the column of keys
_GAP: Final = 4  # blanks between two columns
_LONG: Final = 30  # rows of a section that does not go to one column as a whole


@dataclass(frozen=True, slots=True)
class Line:
    """A heading (`heading` true), a blank row, keys with what they do, or (`keys` empty) the rest of such words."""

    keys: str = ""
    words: str = ""
    heading: bool = False


def sections(keymap: Keymap, focused: str, query: str = "") -> list[list[Line]]:
    """The help's sections, the focused pane's first, then what works everywhere.

    A query keeps what has it in keys, name or remark, without regard to case.
    """
    names = {
        "composer": t("help.composer"),
        "running": t("help.running"),
        "approval": t("help.approval"),
        "everywhere": t("help.everywhere"),
        "pane": t("help.pane"),
        "transcript": t("help.transcript"),
        "sessions": t("help.sessions"),
        "dock": t("help.dock"),
    }
    first = (focused, *(["pane"] if focused in PANES else []), "everywhere")
    order = sorted(CONTEXTS, key=lambda c: first.index(c) if c in first else len(first))
    found: list[list[Line]] = []
    for context in order:
        actions = [a for a in ACTIONS if a.context == context and keymap.keys(a.id)]
        name = t("help.focused", name=names[context]) if context == focused else names[context]
        keys = [(Line(_few(show(key) for key in keymap.keys(a.id)), _small(t(a.title))), a) for a in actions]
        found.append([Line(words=name, heading=True), *_having(query, keys)])
    commands = [(_command(a), a) for a in SLASH_ACTIONS]
    found.append([Line(words=t("help.commands"), heading=True), *_having(query, commands)])
    return [section for section in found if len(section) > 1]


def _having(query: str, lines: Iterable[tuple[Line, Action]]) -> Iterator[Line]:
    low = query.lower()
    return (line for line, action in lines if low in f"{line.keys} {line.words} {t(action.help)}".lower())


def _wrapped(lines: Iterable[Line], cells: int) -> Iterator[Line]:
    """`lines` with their words wrapped to `cells`."""
    for line in lines:
        if line.heading:
            yield line
            continue
        for number, words in enumerate(wrap(line.words, max(8, cells - _KEYS))):
            yield Line("" if number else line.keys, words)


def two_columns(sections: Iterable[list[Line]]) -> list[list[Line]]:
    """Each section goes on where there is more room, so that what comes first stands at the top of both columns; a long
    one is shared out to both, so that they end together."""
    left: list[Line] = []
    right: list[Line] = []
    for heading, *lines in sections:
        if len(lines) <= _LONG:
            min(left, right, key=len).extend([heading, *lines, Line()])
            continue
        here = max(0, min(len(lines), (len(lines) + len(right) - len(left) + 1) // 2))
        while here < len(lines) and not lines[here].keys:
            here += 1  # the rest of what is said of a key stays below it
        for column, part in ((left, lines[:here]), (right, lines[here:])):
            column += [heading, *part, Line()] if part else []
    return [left, right]


def _few(keys: Iterable[str]) -> str:
    """The first key, and the others while the column has room."""
    shown = ""
    for key in keys:
        longer = f"{shown}  {key}" if shown else key
        if shown and width(longer) > _KEYS - 2:
            break
        shown = longer
    return shown


def _command(action: Action) -> Line:
    """A slash command; an argument too long for the column of keys goes behind the words."""
    name = f"/{action.slash}"
    argument = written(action.argument)
    if argument and width(f"{name} {argument}") <= _KEYS - 2:
        return Line(f"{name} {argument}", _small(t(action.title)))
    return Line(name, f"{_small(t(action.title))}  {argument}".rstrip())


def _small(title: str) -> str:
    """A title as one of a list of remarks."""
    return title[:1].lower() + title[1:]


class HelpText(Painted):
    """The sections in one or two columns, scrolled by rows."""

    DEFAULT_CSS = "HelpText { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__(id="help-text")
        self._sections: list[list[Line]] = []
        self._top = 0
        self._count = 0

    def show(self, content: list[list[Line]]) -> None:
        self._sections, self._top = content, 0
        self.refresh()

    def scroll_rows(self, step: int) -> None:
        self._top = max(0, min(self._top + step, self._count - self.size.height))
        self.refresh()

    @property
    def has_more(self) -> bool:
        return self._count > self._top + self.size.height

    def _columns(self, width: int) -> list[list[Line]]:
        if width < _TWO_COLUMNS:
            return [[line for section in self._sections for line in (*_wrapped(section, width), Line())]]
        return two_columns([list(_wrapped(section, (width - _GAP) // 2)) for section in self._sections])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max((len(column) for column in self._columns(width)), default=1)

    def paint(self, width: int) -> list[Strip]:
        columns = self._columns(width)
        self._count = max(map(len, columns))
        self._top = max(0, min(self._top, self._count - self.size.height))
        if not self._sections:
            look = look_of(self)
            return [row(width, [(t("help.nothing"), look.style("muted", "surface"))], look.style("text", "surface"))]
        cells = (width - _GAP * (len(columns) - 1)) // len(columns)
        rows = []
        for n in range(self._top, min(self._count, self._top + self.size.height)):
            strips = [self._strip(column[n] if n < len(column) else Line(), cells) for column in columns]
            fill = look_of(self).style("text", "surface")
            rows.append(Strip.join([strips[0], *(s for strip in strips[1:] for s in (row(_GAP, [], fill), strip))]))
        return [strip.adjust_cell_length(width, look_of(self).style("text", "surface")) for strip in rows]

    def _strip(self, line: Line, cells: int) -> Strip:
        look = look_of(self)
        fill = look.style("text", "surface")
        if line.heading:
            return row(cells, [(line.words, look.style("text", "surface", bold=True))], fill)
        pad = " " * max(2, _KEYS - width(line.keys))
        return row(cells, [(line.keys + pad, look.style("accent", "surface")), (line.words, fill)], fill)


class HelpHead(Painted):
    typed = ""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        remark = self.typed or t("help.first")
        style = look.style("text" if self.typed else "muted", "surface")
        head: list[Part] = [(t("help.title"), look.style("text", "surface", bold=True))]
        return [row(width, head, look.style("text", "surface"), [(remark, style)])]


class HelpFoot(Painted):
    more = False
    """There are rows below."""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        muted = look.style("muted", "surface")
        keys = [("Esc", t("help.close")), (show("pagedown") if self.more else "", t("help.more"))]
        items = [[(t("help.filter"), muted)], *hints(look, keys)]
        if width >= _TWO_COLUMNS:
            items.append([(t("help.change"), muted)])
        return flow(width, items, look.style("text", "surface"))


class HelpScreen(Overlay[None]):
    """Closed by Esc or F1; Esc clears a filter first."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/help.tcss"]

    def __init__(self, keymap: Keymap, focused: str = "composer") -> None:
        super().__init__()
        self._keymap, self._focused = keymap, focused
        self._query = ""
        self._head, self._text = HelpHead(id="help-head"), HelpText()
        self._foot = HelpFoot(id="help-foot")

    def compose(self) -> ComposeResult:
        yield boxed(self._head, self._text, self._foot)

    def on_mount(self) -> None:
        self._filter("")

    def refresh_look(self) -> None:
        super().refresh_look()
        self._filter(self._query)

    def _filter(self, query: str) -> None:
        self._query = self._head.typed = query
        self._head.refresh()
        self._text.show(sections(self._keymap, self._focused, query))
        self.call_after_refresh(self._show_more)

    def _scroll(self, step: int) -> None:
        self._text.scroll_rows(step)
        self._show_more()

    def _show_more(self) -> None:
        if self._foot.more != self._text.has_more:
            self._foot.more = self._text.has_more
            self._foot.refresh(layout=True)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._show_more)

    def on_key(self, event: events.Key) -> None:
        page = max(1, self._text.size.height - 1)
        steps = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -10_000, "end": 10_000}
        if event.key in steps:
            self._scroll(steps[event.key])
        elif event.key == "backspace":
            self._filter(self._query[:-1])
        elif event.key in self._keymap.keys("help"):
            self.dismiss(None)
        elif event.is_printable and event.character:
            self._filter(self._query + event.character)
        else:
            return
        event.stop()
        event.prevent_default()

    def action_close(self) -> None:
        if self._query:
            self._filter("")
        else:
            self.dismiss(None)

    def on_mouse_scroll_down(self) -> None:
        self._scroll(3)

    def on_mouse_scroll_up(self) -> None:
        self._scroll(-3)
