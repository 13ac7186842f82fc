"""The rewind picker: what the person said, newest first, to say it otherwise or take it out with all that followed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.strip import Strip
from textual.widgets import TextArea

from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import CssPath, LineField, Overlay
from nanoherm_tui.overlays.palette import PaletteCount, PaletteItem, PaletteList, search
from nanoherm_tui.panes.draft import DraftPrompt
from nanoherm_tui.strips import Painted, flow, hints, look_of, row
from nanoherm_tui.text import one_line

if TYPE_CHECKING:
    from agent_core.conversation import Said

_PAGE: Final = 10
_SHOWN: Final = 400  # characters of a message's beginning: what a row can show, and what is looked through for letters


@dataclass(frozen=True, slots=True)
class Rewound:
    """What was chosen: to say it otherwise ("edit"), or only to take it out ("take_out")."""

    message_id: str
    how: Literal["edit", "take_out"]


class _Title(Painted):
    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill = look.style("text", "surface")
        return [
            row(width, [(t("rewind.title"), look.style("text", "surface", bold=True))], fill),
            row(width, [(t("rewind.promise"), look.style("muted", "surface"))], fill),
        ]


class _Foot(Painted):
    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        keys = [("Enter", t("rewind.edit")), ("Tab", t("rewind.take_out")), ("Esc", t("rewind.close"))]
        return flow(width, hints(look, keys), look.style("text", "surface"), indent=2)


class RewindScreen(Overlay[Rewound | None]):
    """Gives what was chosen, or None."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/palette.tcss", "../css/rewind.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,ctrl+p", "move(-1)", show=False),
        Binding("down,ctrl+n", "move(1)", show=False),
        Binding("pageup", f"move(-{_PAGE})", show=False),
        Binding("pagedown", f"move({_PAGE})", show=False),
        Binding("enter", "choose('edit')", show=False),
        Binding("tab", "choose('take_out')", show=False, priority=True),
    ]

    def __init__(self, said: Sequence[Said]) -> None:
        """`said`: oldest first, as it was said."""
        super().__init__()
        now = time.time()
        self._items = [_item(one, now) for one in reversed(said)]
        self._searched: str | None = None  # the query whose hits are shown
        self._field, self._list, self._count = LineField(id="palette-field"), PaletteList(), PaletteCount()
        self._count.id = "palette-count"

    def compose(self) -> ComposeResult:
        with Vertical(id="overlay-halo"), Vertical(id="overlay-box"):
            yield _Title(id="rewind-title")
            with Horizontal(id="palette-line"):
                prompt = DraftPrompt()
                prompt.lit = True
                yield prompt
                yield self._field
                yield self._count
            yield self._list
            yield _Foot(id="palette-foot")

    def on_mount(self) -> None:
        super().on_mount()
        self._field.placeholder = Content(t("rewind.ask"))
        self._field.focus()
        self._search()

    def _search(self) -> None:
        query = self._field.text
        if query == self._searched:
            return
        self._searched = query
        # The newest first, also of what was found: where it stood is what a person remembers.
        found = {hit.item.id: hit for hit in search(self._items, query)}
        hits = [found[item.id] for item in self._items if item.id in found]
        self._list.show([("said", hits)] if hits else [], t("rewind.nothing", query=one_line(query)))
        self._count.words = t("palette.count", n=len(hits), total=len(self._items))
        self._count.refresh()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._search()

    def action_move(self, step: int) -> None:
        self._search()  # keys of one read come before the change they made is told
        self._list.move(step)

    def action_choose(self, how: Literal["edit", "take_out"]) -> None:
        self._search()
        item = self._list.current
        if item is not None:
            self.dismiss(Rewound(item.id, how))

    def on_palette_list_picked(self, message: PaletteList.Picked) -> None:
        message.stop()
        self.dismiss(Rewound(message.item.id, "edit"))


def _item(said: Said, now: float) -> PaletteItem:
    """A row: how the message begins, how much would go with it, and when it was said."""
    words = one_line(said.text[:_SHOWN]) or t("rewind.images", n=said.images)
    goes = t("rewind.goes_one") if said.turns == 1 else t("rewind.goes", turns=said.turns)
    return PaletteItem(said.id, "said", words, key=f"{goes}  {_when(said.created, now)}")


def _when(created: float, now: float) -> str:
    """The time of today, the date of any other day."""
    then, today = time.localtime(created), time.localtime(now)
    return time.strftime("%H:%M" if then[:3] == today[:3] else "%m-%d", then)
