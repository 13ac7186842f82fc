"""The tour of the first start: a few cards right above the draft, which stays where the keys go.

A card takes no key that writes, sends or leads anywhere: whoever begins to write has left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import Keymap, show
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import wrap

_LEFT: Final = 3  # blank, blank and bar, as the composer has them
_RIGHT: Final = 3
_INDENT: Final = 3  # of title, words and keys: under one another and over what is written below, as in a question


@dataclass(frozen=True, slots=True)
class Card:
    """`tour.NAME` is its heading, `tour.NAME_text` what it says."""

    name: str
    keys: tuple[str, ...] = ()
    """Actions whose keys its words name, by their ids."""
    below: bool = True
    """What it is about stands under it."""


CARDS: Final[tuple[Card, ...]] = (
    Card("write", ("newline",)),
    Card("modes", ("next_mode",)),
    Card("asks", ("allow_once", "refuse", "edit_command", "send")),
    Card("sessions", ("toggle_sessions",), below=False),
    Card("dock", ("toggle_dock",), below=False),
    Card("find", ("palette", "help"), below=False),
)


def words_of(card: Card, keymap: Keymap, *, demo: bool) -> str:
    """What it says, with the keys that are the user's; one without a key is found in the palette."""
    name = f"tour.{card.name}_demo" if demo and card.name == "write" else f"tour.{card.name}_text"
    actions = ("send",) if demo and card.name == "write" else card.keys
    return t(name, **{action: keymap.label(action) or f"({t('tour.no_key')})" for action in actions})


class TourCard(Painted):
    """The card number `at`. All take the room of the tallest: nothing moves from one to the next.

    On a short screen each takes its own: the draft under it needs the rows.
    """

    DEFAULT_CSS = """
    TourCard { height: auto; width: 1fr; margin: 1 0 0 0; }
    TourCard.-short { margin: 0; }
    """
    ALLOW_SELECT = False

    class Pressed(Message):
        """It was clicked: the next one is wanted."""

    def __init__(self, keymap: Keymap, *, demo: bool) -> None:
        super().__init__(id="tour")
        self._keymap, self._demo = keymap, demo
        self.at = 0

    @property
    def is_last(self) -> bool:
        return self.at == len(CARDS) - 1

    def go_on(self) -> None:
        self.at += 1
        self.refresh(layout=self._is_short)

    def refresh_look(self) -> None:
        """Theme, language or keys have changed."""
        self.refresh(layout=True)

    def on_mount(self) -> None:
        self.set_class(self._is_short, "-short")  # before it is laid out: what is under it must not move twice
        self.watch(self.app, "theme", self.refresh_look, init=False)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.post_message(self.Pressed())

    @property
    def _is_short(self) -> bool:
        return self.app.size.height < limits.SHORT

    def on_resize(self) -> None:
        self.set_class(self._is_short, "-short")

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        cards = (CARDS[self.at],) if self._is_short else CARDS
        most = max(len(self._lines(card, width)) for card in cards)
        return most + 2 + (0 if self._is_short else 3)  # blank rows at both ends and above the keys

    def _lines(self, card: Card, width: int) -> Sequence[str]:
        return wrap(words_of(card, self._keymap, demo=self._demo), max(8, width - _LEFT - _RIGHT - _INDENT - 1))

    def paint(self, width: int) -> list[Strip]:
        look, card, inner = look_of(self), CARDS[self.at], width - _LEFT - _RIGHT
        ground = look.style()
        if inner < 8:
            return [Strip.blank(width, ground) for _ in range(self.size.height)]
        fill, muted = look.style("text", "surface"), look.style("muted", "surface")
        mark: Part = (f"{sym('newlines') if card.below else ' '} ", look.mark("accent", "surface"))
        title: list[Part] = [(" ", fill), mark, (t(f"tour.{card.name}"), look.style("text", "surface", bold=True))]
        place = t("tour.place", n=self.at + 1, of=len(CARDS))
        go_on = show("tab"), t("tour.end") if self.is_last else t("tour.next")
        foot = flow(inner, hints(look, [go_on, ("Esc", t("tour.leave"))]), fill, indent=_INDENT)
        if len(foot) > 1:
            foot = flow(inner, hints(look, [go_on, ("Esc", t("tour.leave_short"))]), fill, indent=_INDENT)
        rows = [row(inner, title, fill, [(place, muted), (" ", fill)])]
        rows += [row(inner, [(" " * _INDENT, fill), (line, fill)], fill) for line in self._lines(card, width)]
        blank = row(inner, [], fill)
        pad = 0 if self._is_short else 1
        room = self.size.height - 2 * pad - 1
        rows = [*[blank] * pad, *rows[:room], *[blank] * (room - len(rows))]
        rows += [*foot[:1], *[blank] * pad]
        left: list[Part] = [("  ", ground), (sym("bar"), look.mark("accent", "surface"))]
        edge, end = row(_LEFT, left, ground), row(_RIGHT, [], ground)
        return [Strip.join([edge, one, end]) for one in rows]
