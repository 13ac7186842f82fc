r"""A message of several lines: each but the last ends with a \, or three quotes begin and end it. Pure."""

from __future__ import annotations

from typing import Final

_TRIPLE: Final = '"""'


class Gathered:
    """The lines so far of a message that goes on."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._quoted = False

    @property
    def goes_on(self) -> bool:
        return self._quoted or bool(self._lines)

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def take(self, line: str) -> str | None:
        """The message that ends with this line; None while it goes on."""
        if not self.goes_on and line.lstrip().startswith(_TRIPLE):
            self._quoted, line = True, line.lstrip().removeprefix(_TRIPLE)
        if self._quoted:
            ends = line.rstrip().endswith(_TRIPLE)
            self._lines.append(line.rstrip().removesuffix(_TRIPLE) if ends else line)
        else:
            ends = not line.endswith("\\")
            self._lines.append(line if ends else line[:-1])
        if not ends:
            return None
        whole = self.text.strip("\n") if self._quoted else self.text
        self._lines, self._quoted = [], False
        return whole
