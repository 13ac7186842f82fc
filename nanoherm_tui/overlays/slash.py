"""The commands a draft that begins with a slash may become, listed above the composer."""

from __future__ import annotations

from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.actions import Action, complete_slash
from nanoherm_tui.i18n import t
from nanoherm_tui.strips import Painted, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import width as cells

_NAME_CELLS = 24


class SlashPopup(Painted):
    """Floats over the transcript while a command's name is typed. The composer gives it the keys."""

    def __init__(self) -> None:
        super().__init__()
        self._matches: tuple[Action, ...] = ()
        self._at = 0
        self._dismissed = ""
        self.display = False

    def update(self, draft: str) -> None:
        """Follow the draft: show what it may become, hide when it is no command or Esc has hidden it."""
        matches = complete_slash(draft)
        if not draft.startswith(self._dismissed) or not self._dismissed:
            self._dismissed = ""
        else:
            matches = ()
        if matches != self._matches:
            chosen = self._matches[self._at] if self._matches else None
            self._matches = matches
            self._at = matches.index(chosen) if chosen in matches else 0
        self.display = bool(matches)
        if matches:
            self.styles.offset = (0, -len(self._visible()))
            self.refresh(layout=True)

    def dismiss(self, draft: str) -> None:
        """Hide until the draft is another one."""
        self._dismissed = draft
        self.update(draft)

    @property
    def is_open(self) -> bool:
        return bool(self._matches)

    @property
    def chosen(self) -> Action | None:
        return self._matches[self._at] if self._matches else None

    def move(self, step: int) -> None:
        """To the next (1) or previous (-1) command, round the ends."""
        if self._matches:
            self._at = (self._at + step) % len(self._matches)
            self.refresh()

    def _visible(self) -> range:
        """The window of matches that is shown, around the chosen one."""
        count = len(self._matches)
        rows = min(count, limits.SLASH_ROWS, max(1, self.app.size.height // 2))
        start = max(0, min(self._at - rows // 2, count - rows))
        return range(start, start + rows)

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        rows = []
        for index in self._visible():
            action = self._matches[index]
            here = index == self._at
            ground = "selection" if here else "surface"
            words = "seltext" if here else "muted"
            name = f"/{action.slash} {action.argument}".rstrip()
            pad = " " * max(1, _NAME_CELLS - cells(name))
            help_text = t(action.help) if action.help else t(action.title)
            bar = (sym("bar"), look.mark("accent", ground)) if here else (" ", look.style("text", ground))
            left = [
                (" ", look.style("text", ground)),
                bar,
                (f" {name}", look.style("seltext" if here else "text", ground, bold=True)),
                (pad + help_text, look.style(words, ground)),
            ]
            rows.append(row(width, left, look.style("text", ground)))
        return rows
