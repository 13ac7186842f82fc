"""The rows around a draft: what waits to be sent above it, and what the keys do just now below."""

from __future__ import annotations

from textual.strip import Strip

from agent_core.text.image_refs import plain
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of, row
from nanoherm_tui.text import fit, one_line
from nanoherm_tui.text import width as cell_width


class PendingRows(Painted):
    """Texts that wait for a step boundary or for the turn's end."""

    steers: tuple[str, ...] = ()
    queued: tuple[str, ...] = ()
    take_back_key = ""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        muted, words = look.style("muted", "surface"), look.style("text", "surface")
        labels = t("composer.steer"), t("composer.queued")
        pad = max(map(cell_width, labels)) + 2
        waiting = [(labels[0], s) for s in self.steers] + [(labels[1], q) for q in self.queued]
        most = limits.PENDING_ROWS
        if self.app.size.height < limits.PENDING_HIGH:
            most = 2 if len(waiting) <= 2 else 1
        shown = waiting[-most:]
        rows = []
        for index, (label, value) in enumerate(shown):
            left: list[Part] = [(fit(label, pad), muted), (one_line(plain(value)), words)]
            last = index == len(shown) - 1
            keys = hints(look, [(self.take_back_key, t("composer.take_back"))])
            right = keys[0] if last and keys else []
            rows.append(row(width, left, words, right))
        if len(waiting) > len(shown):
            rows.insert(0, row(width, [(t("composer.more", n=len(waiting) - len(shown)), muted)], words))
        return rows


class ComposerHint(Painted):
    """The row under the draft: blank, or what the keys do just now, or what is wrong with a command."""

    problem = ""
    keys: tuple[tuple[str, str], ...] = ()
    words = ""
    short = ""
    """Stands there instead of words that have no room."""
    mode = ""
    """Of vim's keys; it brings no row of its own on a short screen, where the sign before the draft tells it."""
    remark = ""
    """Stands there while nothing else does."""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill = look.style("text", "surface")
        if self.problem:
            return [row(width, [(self.problem, look.style("warn", "surface"))], fill)]
        if self.is_blank and not self.mode:
            return [row(width, [(self.remark, look.style("muted", "surface"))], fill)]
        mode: list[list[Part]] = [[(self.mode, look.style("accent", "surface"))]] if self.mode else []
        told = self.short if self.short and cell_width(self.words) > width else self.words
        words: list[list[Part]] = [[(told, look.style("muted", "surface"))]] if told else []
        first, *rest = flow(width, [*mode, *words, *hints(look, self.keys)], fill)
        if rest and words:  # it stays one row: what the keys do is told rather than why
            first, *_ = flow(width, [*mode, *hints(look, self.keys)], fill)
        return [first]

    @property
    def is_blank(self) -> bool:
        return not (self.problem or self.keys or self.words)
