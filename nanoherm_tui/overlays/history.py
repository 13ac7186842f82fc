"""The search through what was sent before: a list above the composer, whose draft is meanwhile what is looked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.popup import Popup
from nanoherm_tui.strips import Part, look_of
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import one_line

_BEFORE: Final = 24  # characters shown before a hit that lies deep in a long entry
_SHOWN: Final = 400  # characters of an entry; more does not fit on a row


class Search:
    """The entries, newest first and each once. Letters match as they are; a capital among them makes case count."""

    def __init__(self, entries: Sequence[str]) -> None:
        """`entries`: oldest first, as the history keeps them."""
        self._entries = list(dict.fromkeys(reversed(entries)))
        self._small = [entry.lower() for entry in self._entries]

    def find(self, query: str) -> list[str]:
        """The entries that hold `query`; all of them for an empty one."""
        texts = self._entries if cased(query) else self._small
        return [entry for entry, text in zip(self._entries, texts, strict=True) if query in text]


def cased(query: str) -> bool:
    """Whether case counts: the query has a capital."""
    return query != query.lower()


def place(query: str, text: str) -> int:
    """Where `query` stands in `text`, by the search's own rule; -1 when it does not."""
    return text.find(query) if cased(query) else _small(text).find(query)


def _small(text: str) -> str:
    """`text` in small letters, each character still at its place."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def shown(query: str, entry: str) -> tuple[str, int]:
    """An entry on one line, and where in it `query` stands (-1: across a line end). A deep hit is brought to view."""
    at = max(0, place(query, entry))
    start = 0 if at <= _BEFORE else at - _BEFORE // 2
    words = one_line(entry[start : start + _SHOWN])
    if start:
        words = sym("cut") + words
    return words, place(query, words) if query else -1


class HistoryPopup(Popup):
    """The hits, newest first."""

    def __init__(self) -> None:
        super().__init__()
        self._search = Search(())
        self._query = ""
        self._hits: list[str] = []

    def open(self, entries: Sequence[str]) -> None:
        self._search = Search(entries)
        self._query = "\n"  # never typed: the first look is always made
        self.look_for("")

    def look_for(self, query: str) -> None:
        if query != self._query:
            self._query = query
            self._hits = self._search.find(query)
            self.show(max(1, len(self._hits)), 0 if self._hits else -1)

    def close(self) -> None:
        self._search, self._hits = Search(()), []
        self.hide()

    @property
    def chosen(self) -> str | None:
        return self._hits[self.at] if self._hits and self.at >= 0 else None

    def move(self, step: int) -> None:
        if self._hits:
            super().move(step)

    def parts(self, index: int, width: int, here: bool) -> tuple[list[Part], list[Part]]:
        look = look_of(self)
        ground = "selection" if here else "surface"
        plain = look.style("seltext" if here else "text", ground)
        muted = look.style("seltext" if here else "muted", ground)
        if not self._hits:
            words = (
                t("composer.history_none", query=one_line(self._query)) if self._query else t("composer.history_empty")
            )
            return [(words, muted)], []
        entry = self._hits[index]
        words, at = shown(self._query, entry)
        left: list[Part] = [(words, plain)]
        if at >= 0:
            end = at + len(self._query)
            typed = look.style("accent", ground, bold=True)
            left = [(words[:at], plain), (words[at:end], typed), (words[end:], plain)]
        lines = entry.count("\n") + 1
        return left, [(t("composer.history_lines", n=lines), muted)] if lines > 1 else []
