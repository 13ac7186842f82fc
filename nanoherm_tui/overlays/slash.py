"""What a draft that begins with a slash may become: commands, and the values a command's argument is known to have."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from agent_core.records import dataclass
from nanoherm_tui.actions import BY_SLASH, Action, complete_slash
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.popup import Popup
from nanoherm_tui.strips import Part, look_of
from nanoherm_tui.text import fit, one_line
from nanoherm_tui.text import width as cells
from nanoherm_tui.words.arguments import written

if TYPE_CHECKING:
    from agent_core.knowledge import Typed

_NAME_CELLS: Final = 24
_WITH_PLACE: Final = 60  # columns below which it is not said where a command comes from
_PLACES: Final = ("project", "yours", "hermes", "built-in")
_VALUE = re.compile(r"/([\w-]+) +([^\n]*)")


@dataclass(frozen=True, slots=True)
class Values:
    """What an argument may be: (value, what it means). `closed`: nothing else is possible."""

    known: Sequence[tuple[str, str]] = ()
    closed: bool = False


ValuesOf = Callable[[Action], Values]


@dataclass(frozen=True, slots=True)
class Offer:
    """One row, and the draft that taking it makes."""

    name: str
    help: str
    draft: str
    whole: bool
    """Nothing has to follow: Enter runs it."""
    argument: str = ""
    place: str = ""
    """What it is and where it comes from, when it is none of the program's own."""


def offers(draft: str, values_of: ValuesOf, others: Sequence[Typed] = ()) -> tuple[tuple[Offer, ...], bool]:
    """The rows for a draft, and whether the first is chosen at once.

    A command is: the letters typed so far mean it. Of values the first is only where nothing else is possible, else
    Enter would replace what was typed.
    """
    commands = complete_slash(draft, others)
    if commands:
        return tuple(_command(one) if isinstance(one, Action) else _typed(one) for one in commands), True
    found = _VALUE.fullmatch(draft)
    action = BY_SLASH.get(found[1].lower()) if found is not None else None
    if found is None or action is None or not action.argument:
        return (), False
    values, typed = values_of(action), found[2].strip().lower()
    starts = [value for value in values.known if value[0].lower().startswith(typed)]
    named = [value for value in values.known if value not in starts and typed in value[0].lower()]
    told = [value for value in values.known if value not in (*starts, *named) and typed in value[1].lower()]
    rows = tuple(Offer(one_line(v), one_line(h), f"/{found[1]} {v}", True) for v, h in (*starts, *named, *told))
    if len(rows) == 1 and rows[0].draft.lower() == f"/{found[1]} {typed}".lower():
        return (), False
    return rows, values.closed and bool(typed)


def _command(action: Action) -> Offer:
    text = f"/{action.slash}" + (" " if action.argument else "")
    return Offer(f"/{action.slash}", t(action.help), text, not action.argument_required, written(action.argument))


def _typed(one: Typed) -> Offer:
    text = f"/{one.name}" + (" " if one.hint else "")
    return Offer(f"/{one.name}", about(one), text, not one.hint.startswith("<"), one.hint, place_of(one))


def about(one: Typed) -> str:
    """What it does, as it says itself; what comes with the program says it in the interface's language."""
    return t(f"typed.about_{one.name}") if one.place == "built-in" else one.description


def place_of(one: Typed) -> str:
    """What it is, and where it comes from."""
    place = t(f"typed.{one.place.replace('-', '_')}") if one.place in _PLACES else one.place
    return t("typed.place", kind=t(f"typed.{one.kind}"), place=one_line(place)) if place else t(f"typed.{one.kind}")


class SlashPopup(Popup):
    """The offers for the draft, with a cursor."""

    def __init__(self) -> None:
        super().__init__()
        self.values_of: ValuesOf = lambda action: Values()
        self.typed: Sequence[Typed] = ()
        """What can be typed beside the program's own commands."""
        self._offers: tuple[Offer, ...] = ()
        self._dismissed = ""

    def update(self, draft: str) -> None:
        """Follow the draft: show what it may become, hide when it is no command or Esc has hidden it."""
        rows, chosen = offers(draft, self.values_of, self.typed) if draft.startswith("/") else ((), False)
        if not draft.startswith(self._dismissed) or not self._dismissed:
            self._dismissed = ""
        else:
            rows = ()
        if rows != self._offers:
            kept = self.chosen
            self._offers = rows
            self.show(len(rows), rows.index(kept) if kept in rows else 0 if chosen else -1)

    def dismiss(self, draft: str) -> None:
        """Hide until the draft is another one."""
        self._dismissed = draft
        self.update(draft)

    @property
    def chosen(self) -> Offer | None:
        return self._offers[self.at] if self._offers and self.at >= 0 else None

    @property
    def first(self) -> Offer | None:
        """The chosen one, else the first: what Tab takes."""
        return self.chosen or (self._offers[0] if self._offers else None)

    def parts(self, index: int, width: int, here: bool) -> tuple[list[Part], list[Part]]:
        look, offer = look_of(self), self._offers[index]
        ground = "selection" if here else "surface"
        name = f"{offer.name} {offer.argument}".rstrip()
        column = min(_NAME_CELLS, width * 3 // 5)
        if offer.help:
            name = fit(name, column) if cells(name) >= column else name + " " * (column - cells(name))
        left: list[Part] = [
            (name, look.style("seltext" if here else "text", ground, bold=True)),
            (" " + one_line(offer.help), look.style("seltext" if here else "muted", ground)),
        ]
        place = offer.place if width >= _WITH_PLACE else ""
        return left, [(place, look.style("seltext" if here else "muted", ground))] if place else []
