"""The message that is being written: a line, or several that go on; kept on disk as it grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui.plain.gathering import Gathered

if TYPE_CHECKING:
    from collections.abc import Callable


class Draft:
    """`keep` puts on disk what there is of it, for the session in view."""

    def __init__(self, keep: Callable[[str], None]) -> None:
        self._keep = keep
        self.line = ""
        """What the next line begins with, as far as it is known."""
        self._gathered = Gathered()
        self._saved = ""
        """What is on disk."""

    @property
    def goes_on(self) -> bool:
        """Lines of it are there, and more are to come."""
        return self._gathered.goes_on

    def begin(self, stored: str) -> None:
        """Another session is in view; `stored` was not sent there."""
        self.line = self._saved = stored

    def put(self, text: str) -> None:
        """Begin the next line with this."""
        self.line = text

    def bring_back(self, text: str) -> None:
        """What was to be sent and is not: it stands behind what is being written."""
        self.line = f"{self.line}\n{text}" if self.line else text
        self.save()

    def save(self) -> None:
        self._save(self.line)

    def typed(self, line: str) -> None:
        """This is in the line now. In a signal's handler."""
        self._save(self._with(line))

    def take(self, line: str) -> str | None:
        """The message that ends with this line; None while it goes on."""
        self.line = ""
        whole = self._gathered.take(line)
        if whole is None:
            self._save(self._gathered.text)
        return whole

    def clear(self, line: str) -> str:
        """Put it away; gives all there was of it. `line` is its last one."""
        whole = self._with(line).strip("\n")
        self._gathered, self.line = Gathered(), ""
        self.save()
        return whole

    def _with(self, line: str) -> str:
        return f"{self._gathered.text}\n{line}" if self.goes_on else line

    def _save(self, text: str) -> None:
        if text != self._saved:
            self._saved = text
            self._keep(text)
