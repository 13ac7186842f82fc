"""An answer that arrives, given out in lines as they become final: what was written once is never taken back."""

from __future__ import annotations

from nanoherm_tui.i18n import t
from nanoherm_tui.text import clean


class Answer:
    """The reply of one step. Its text comes in pieces, then as a whole; a retry may begin it anew."""

    def __init__(self) -> None:
        self._text = ""
        self._told = 0
        """Characters of it that have been given out."""
        self._headed = False

    def more(self, piece: str) -> list[str]:
        """The lines that this piece has made whole."""
        self._text += piece
        end = self._text.rfind("\n") + 1
        return self._give(end)

    def void(self) -> list[str]:
        """What came so far does not count: it is said where some of it was given out."""
        was_told, self._text, self._told, self._headed = self._told, "", 0, False
        return [t("plain.void")] if was_told else []

    def whole(self, text: str) -> list[str]:
        """The reply as it is stored: what is still to be given out, and a blank line behind it."""
        lines: list[str] = []
        if self._told and not text.startswith(self._text[: self._told]):
            if text.strip() == self._text[: self._told].strip():
                text = self._text[: self._told]
            else:
                lines, self._told, self._headed = [t("plain.stored_so")], 0, False
        self._text = text.rstrip("\n")
        lines += self._give(len(self._text))
        if self._headed:
            lines.append("")
        self._text, self._told, self._headed = "", 0, False
        return lines

    def _give(self, end: int) -> list[str]:
        if end <= self._told:
            return []
        piece = self._text[self._told : end]
        if not self._headed:
            if not piece.strip():
                return []  # blank lines before the first word
            piece = piece.lstrip("\n")
        self._told = end
        lines = clean(piece.removesuffix("\n"), tab_size=0).split("\n")
        if not self._headed:
            self._headed = True
            lines = ["", t("plain.answer"), *lines]
        return lines
