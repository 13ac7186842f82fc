"""The snippets that a word behind a semicolon may become, above the draft."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanoherm_tui.overlays.popup import Popup
from nanoherm_tui.strips import Part, look_of
from nanoherm_tui.text import cut, one_line
from nanoherm_tui.text import width as cells

if TYPE_CHECKING:
    from agent_core.snippets import Snippet

_WORD: Final = re.compile(r"(?:^|(?<=\s)|(?<=[^\x00-\x7f])(?<!\w));([\w.-]*)\Z")
_NAME_CELLS: Final = 24


def word_before(line: str, column: int) -> str | None:
    """The name being written behind a semicolon right before `column`; None: there is none."""
    found = _WORD.search(line, 0, column)
    return found[1] if found is not None else None


class SnippetPopup(Popup):
    """The offers, with a cursor. Tab alone takes one: Enter sends what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.known: Sequence[Snippet] | None = None
        """All there are; None until somebody has looked."""
        self._offers: tuple[Snippet, ...] = ()
        self._shut: str | None = None

    def follow(self, word: str | None) -> None:
        """Offer what begins with `word`."""
        if word is None:
            self._shut = None
        found = () if word is None or word == self._shut else tuple(
            one for one in self.known or () if one.name.lower().startswith(word.lower())
        )  # fmt: skip
        if found != self._offers:
            kept = self.chosen
            self._offers = found
            self.show(len(found), found.index(kept) if kept in found else 0)

    def shut(self, word: str | None) -> None:
        """Esc: hide until another word is written."""
        self._shut = word
        self.follow(word)

    @property
    def chosen(self) -> Snippet | None:
        return self._offers[self.at] if 0 <= self.at < len(self._offers) else None

    def parts(self, index: int, width: int, here: bool) -> tuple[list[Part], list[Part]]:
        look, one = look_of(self), self._offers[index]
        ground = "selection" if here else "surface"
        room = min(_NAME_CELLS, width * 3 // 5)
        name = cut(f";{one.name}", room)
        left: list[Part] = [
            (name + " " * (room - cells(name)), look.style("seltext" if here else "text", ground, bold=True)),
            (" " + one_line(one.text), look.style("seltext" if here else "muted", ground)),
        ]
        return left, []
