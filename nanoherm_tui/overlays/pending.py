"""A write to memory or to a skill that waits for a person: what it would change, in whole, and the answer to it.

As with every question, an answer counts only after a while without keys.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.strip import Strip

from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show as key
from nanoherm_tui.overlays.arming import Arming
from nanoherm_tui.overlays.diff_view import DiffView
from nanoherm_tui.overlays.frame import CssPath, Overlay, boxed
from nanoherm_tui.strips import Painted, flow, hints, look_of, row
from nanoherm_tui.text import age, visible, wrap
from nanoherm_tui.words.kept_titles import kept_title
from nanoherm_tui.words.memory import in_words

if TYPE_CHECKING:
    from agent_core.knowledge import Pending

_TICK: Final = 0.1  # seconds between two looks at whether an answer would count


class _Head(Painted):
    def __init__(self, pending: Pending) -> None:
        super().__init__(id="pending-head")
        self._pending = pending

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill = look.style("text", "surface")
        title = wrap(kept_title(self._pending.title), max(1, width))
        facts = f"{self._pending.id}   {age(time.time() - self._pending.made)}   {visible(self._pending.diff.path)}"
        return [
            *(row(width, [(line, look.style("text", "surface", bold=True))], fill) for line in title),
            row(width, [(facts, look.style("muted", "surface"))], fill),
        ]


class _Foot(Painted):
    armed = False

    def __init__(self) -> None:
        super().__init__(id="pending-foot")

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        items = hints(
            look, [("y", t("pending.approve")), ("n", t("pending.reject")), (key("escape"), t("pending.later"))]
        )
        muted, accent = look.style("muted", "surface"), look.style("accent", "surface", bold=True)
        for item in items[:2]:
            item[0] = (item[0][0], accent if self.armed else muted)
        return flow(width, items, look.style("text", "surface"))


class PendingScreen(Overlay[bool | None]):
    """Gives True for what is to be done, False for what is to be forgotten, None for later."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/pending.tcss"]
    AUTO_FOCUS: ClassVar[str | None] = ""  # in the change y would copy
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll('row', 1)", show=False),
        Binding("up,k", "scroll('row', -1)", show=False),
        Binding("pagedown,space", "scroll('page', 1)", show=False),
        Binding("pageup", "scroll('page', -1)", show=False),
        Binding("home,g", "scroll('edge', -1)", show=False),
        Binding("end,G", "scroll('edge', 1)", show=False),
        Binding("y", "answer(True)", show=False),
        Binding("n", "answer(False)", show=False),
        Binding("q", "close", show=False),
    ]

    def __init__(self, pending: Pending) -> None:
        super().__init__()
        self._diff = DiffView("pending-diff")
        self._pending = pending
        self._foot = _Foot()
        self.arming = Arming()

    def compose(self) -> ComposeResult:
        yield boxed(_Head(self._pending), self._diff, self._foot)

    def on_mount(self) -> None:
        self._diff.show(in_words(self._pending.diff))
        self.arming.asked()
        self.set_interval(_TICK, self._look)

    def on_key(self, event: events.Key) -> None:
        """Any other key: somebody is typing, and not answering. It comes here before what it is bound to."""
        if event.key not in ("y", "n"):
            self.arming.key()

    def _look(self) -> None:
        armed = self.arming.armed(draft_empty=True)
        if armed != self._foot.armed:
            self._foot.armed = armed
            self._foot.refresh()

    def action_scroll(self, by: Literal["row", "page", "edge"], step: int) -> None:
        {"row": self._diff.action_row, "page": self._diff.action_page, "edge": self._diff.action_edge}[by](step)

    def action_answer(self, approved: bool) -> None:
        if self.arming.armed(draft_empty=True):
            self.dismiss(approved)
        else:
            self.arming.key()
