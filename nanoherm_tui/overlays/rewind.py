"""The rewind picker: what the person said, newest first, to say it otherwise or take it out with all that followed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widgets import TextArea

from agent_core.records import dataclass
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import CssPath, LineField, Overlay, boxed
from nanoherm_tui.overlays.palette import Hit, PaletteCount, PaletteItem, PaletteList, search
from nanoherm_tui.overlays.typed_line import TYPED_MOVES, TypedLine
from nanoherm_tui.strips import Painted, flow, hints, look_of, row
from nanoherm_tui.text import one_line

if TYPE_CHECKING:
    from agent_core.mind.conversation import Said
    from agent_core.rollback import Checkpoint, RollbackPlan

_SHOWN: Final = 400  # characters of a message's beginning: what a row can show, and what is looked through for letters


How = Literal["edit", "take_out"]
What = Literal["conversation", "files", "both"]
_WHAT: Final[tuple[What, ...]] = ("conversation", "files", "both")


@dataclass(frozen=True, slots=True)
class Rewound:
    """What was chosen: to say it otherwise ("edit"), or only to take it out ("take_out")."""

    message_id: str
    how: How
    what: What = "conversation"
    turn_id: str = ""
    """Of "files" and "both": the turn before which the files are to be as they were."""


class _Title(Painted):
    message = ""
    """The beginning of the message that was chosen, when it is asked what of it goes back."""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill = look.style("text", "surface")
        title, remark = (t("rewind.what"), self.message) if self.message else (t("rewind.title"), t("rewind.promise"))
        return [
            row(width, [(title, look.style("text", "surface", bold=True))], fill),
            row(width, [(remark, look.style("muted", "surface"))], fill),
        ]


class _Foot(Painted):
    choosing = False
    """It is asked what goes back."""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        keys = [("Enter", t("rewind.edit")), ("Tab", t("rewind.take_out")), ("Esc", t("rewind.close"))]
        if self.choosing:
            keys = [("Enter", t("rewind.choose")), ("Esc", t("rewind.back"))]
        return flow(width, hints(look, keys), look.style("text", "surface"), indent=2)


class RewindScreen(Overlay[Rewound | None]):
    """Gives what was chosen, or None.

    Where turns have changed files it asks, once a message is chosen, whether the conversation goes back, the files, or
    both. `show_turns` tells of those turns, `ask_plan` is called for what rolling back would do, `show_plan` brings it;
    nothing here waits for either.
    """

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/palette.tcss", "../css/rewind.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        *TYPED_MOVES,
        Binding("enter", "choose('edit')", show=False),
        Binding("tab", "choose('take_out')", show=False),
    ]

    def __init__(self, said: Sequence[Said], *, may_have_files: bool = False) -> None:
        """`said`: oldest first, as it was said. `may_have_files`: turns may have changed some, it is being looked."""
        super().__init__()
        self.ask_plan: Callable[[str], None] = lambda turn_id: None
        self._said = {one.id: one for one in said}
        self._may_have_files = may_have_files
        self._turns: Sequence[Checkpoint] | None = None  # None: not known yet
        self._plans: dict[str, RollbackPlan] = {}
        self._chosen: Rewound | None = None  # of which it is asked what goes back
        now = time.time()
        self._items = [_item(one, now) for one in reversed(said)]
        self._searched: str | None = None  # the query whose hits are shown
        self._field, self._list, self._count = LineField(id="palette-field"), PaletteList(), PaletteCount()
        self._count.id = "palette-count"

    def compose(self) -> ComposeResult:
        yield boxed(
            _Title(id="rewind-title"), TypedLine(self._field, self._count), self._list, _Foot(id="palette-foot")
        )

    def on_mount(self) -> None:
        self._field.ask(t("rewind.ask"))
        self._field.focus()
        self._search()

    def _search(self) -> None:
        query = self._field.text
        if self._chosen is not None:
            return
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

    def action_choose(self, how: How) -> None:
        if self._chosen is None:
            self._search()
        item = self._list.current
        if item is not None and (self._chosen is None or how == "edit"):
            self._pick(item.id, how)

    def on_palette_list_picked(self, message: PaletteList.Picked) -> None:
        message.stop()
        self._pick(message.item.id, "edit")

    def _pick(self, item_id: str, how: How) -> None:
        chosen = self._chosen
        if chosen is None:
            first = Rewound(item_id, how)
            if self._may_have_files and self._turn_of(item_id) != "":
                self._ask_what(first)
            else:
                self.dismiss(first)
            return
        turn = self._turn_of(chosen.message_id)
        what = next(what for what in _WHAT if what == item_id)
        if what == "conversation":
            self.dismiss(chosen)
        elif turn and self._changed(turn):  # not before it has been shown how many files that changes
            self.dismiss(replace(chosen, what=what, turn_id=turn))

    # -- conversation, files, or both ---------------------------------------------------------------------------

    def show_turns(self, turns: Sequence[Checkpoint]) -> None:
        """The turns that changed files, the newest first."""
        self._turns = turns
        if self._chosen is not None:
            self._ask_plan()
            self._offer()

    def show_plan(self, plan: RollbackPlan) -> None:
        self._plans[plan.turn_id] = plan
        if self._chosen is not None:
            self._offer()

    def _turn_of(self, message_id: str) -> str | None:
        """The first turn from this message on that changed files and can be undone; "": none; None: not known yet."""
        if self._turns is None:
            return None
        said = self._said[message_id]
        turns = [
            turn
            for turn in self._turns
            if (turn.turn_id == said.id or turn.when >= said.created)
            and any(file.state == "undoable" for file in turn.files)
        ]
        return turns[-1].turn_id if turns else ""

    def _changed(self, turn_id: str) -> int | None:
        """How many files rolling back would change; None: not known yet."""
        plan = self._plans.get(turn_id)
        return len(plan.acts) if plan is not None else None

    def _ask_what(self, chosen: Rewound) -> None:
        self._chosen = chosen
        said = self._said[chosen.message_id]
        title, foot = self.query_one(_Title), self.query_one(_Foot)
        title.message, foot.choosing = (
            one_line(said.text[:_SHOWN]) or t("rewind.image" if said.images == 1 else "rewind.images", n=said.images),
            True,
        )
        self._show_list_of(title, foot)
        self._ask_plan()
        self._offer()

    def _show_list_of(self, *changed: Painted) -> None:
        """What is written to narrow the list has no place beside the choice."""
        self.query_one("#palette-line").display = self._chosen is None
        self.set_focus(self._field if self._chosen is None else None)
        for widget in changed:
            widget.refresh(layout=True)

    def _ask_plan(self) -> None:
        turn = self._turn_of(self._chosen.message_id) if self._chosen is not None else ""
        if turn and turn not in self._plans:
            self.ask_plan(turn)

    def _offer(self) -> None:
        """The three, with how many files would change where that is known."""
        assert self._chosen is not None
        turn = self._turn_of(self._chosen.message_id)
        count = self._changed(turn) if turn else None if turn is None else 0
        files = t("rewind.counting") if count is None else _files(count)
        items = [
            PaletteItem(what, "said", t(f"rewind.{what}"), key="" if what == "conversation" else files)
            for what in _WHAT
        ]
        here = self._list.current
        self._list.show([("said", [Hit(item, 0, frozenset()) for item in items])], "")
        if here is not None:
            self._list.go_to(here.id)

    def action_close(self) -> None:
        if self._chosen is None:
            self.dismiss(None)
            return
        chosen, self._chosen, self._searched = self._chosen, None, None
        title, foot = self.query_one(_Title), self.query_one(_Foot)
        title.message, foot.choosing = "", False
        self._show_list_of(title, foot)
        self._search()
        self._list.go_to(chosen.message_id)


def _files(count: int) -> str:
    return t("rewind.no_files") if not count else t("rollback.file") if count == 1 else t("rollback.files", n=count)


def _item(said: Said, now: float) -> PaletteItem:
    """A row: how the message begins, how much would go with it, and when it was said."""
    words = one_line(said.text[:_SHOWN]) or t("rewind.image" if said.images == 1 else "rewind.images", n=said.images)
    goes = t("rewind.goes_one") if said.turns == 1 else t("rewind.goes", turns=said.turns)
    return PaletteItem(said.id, "said", words, key=f"{goes}  {_when(said.created, now)}")


def _when(created: float, now: float) -> str:
    """The time of today, the date of any other day."""
    then, today = time.localtime(created), time.localtime(now)
    return time.strftime("%H:%M" if then[:3] == today[:3] else "%m-%d", then)
