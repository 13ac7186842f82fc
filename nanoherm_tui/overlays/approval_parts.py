"""What the approval panel is made of: its heading, the question, the keys that answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.question import LABEL, QuestionRow, always_rows, question_rows
from nanoherm_tui.strips import Painted, Part, flow, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, fit
from nanoherm_tui.text import width as cell_width
from nanoherm_tui.transcript import markdown

if TYPE_CHECKING:
    from agent_core.ports.asking import Question


class ApprovalHead(Painted):
    """The heading, how many wait, and the time left."""

    words = ""
    right = ""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        left: list[Part] = [
            (sym("asks"), look.mark("warn", "surface", bold=True)),
            (f" {self.words}", look.style("text", "surface", bold=True)),
        ]
        return [row(width, left, look.style("text", "surface"), [(self.right, look.style("muted", "surface"))])]


class ApprovalText(Painted, can_focus=False):
    """What is asked. Longer than its room, it scrolls; nothing is left out."""

    def __init__(self) -> None:
        super().__init__(id="approval-text")
        self._question: Question | None = None
        self._rows: list[QuestionRow] = []
        self._pattern = ""
        self._refused: frozenset[str] = frozenset()
        self._for: tuple[str, int] = ("", 0)
        self._top = 0
        self.marked = -1
        """The choice that Enter would send, counted from 0; -1 is none."""
        self.field_rows = 1
        """Of the field below, which takes what it has beyond one from this: the draft keeps its place."""
        self._has_field = False
        self._warning = ""

    def show(self, question: Question | None, pattern: str = "", refused: frozenset[str] = frozenset()) -> None:
        """`pattern`: what "always" would write, to be shown before everything else. `refused`: hunks left out."""
        if question is not self._question or pattern != self._pattern:
            self._top = 0
        self._question, self._pattern, self._refused, self.marked = question, pattern, refused, -1
        self._for = ("", 0)
        self.refresh(layout=True)

    def _all(self, width: int) -> list[QuestionRow]:
        question = self._question
        if question is None:
            return []
        if self._for != (question.id, width):
            always = always_rows(question, self._pattern, width) if self._pattern else []
            self._rows = [*always, *question_rows(question, width, self._refused)]
            self._for = (question.id, width)
        return self._rows

    def _room(self) -> int:
        height = self.app.size.height
        return max(1, height // limits.APPROVAL_SHARE - (3 if height < limits.SHORT else 6) - (self.field_rows - 1))

    def make_room(self, rows: int) -> None:
        """The field below has so many rows now."""
        self.field_rows = rows
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return min(self._room(), len(self._all(width))) + self.is_apart

    @property
    def is_apart(self) -> bool:
        """A row of this stands between the words and the field: there it is told how much is not in view."""
        return self._has_field and self.app.size.height >= limits.SHORT

    @property
    def rows_in_view(self) -> int:
        return max(0, self.size.height - self.is_apart)

    @property
    def hidden_below(self) -> int:
        """Rows that are not in view yet."""
        return max(0, len(self._rows) - self._top - self.rows_in_view)

    def stand_above(self, *, field: bool) -> None:
        """A field stands below from now on, or no longer."""
        if field != self._has_field:
            self._has_field = field
            self.refresh(layout=True)

    def tell(self, warning: str) -> None:
        """How much is not in view, where a row stands apart for it."""
        if warning != self._warning:
            self._warning = warning
            self.refresh()

    def scroll_rows(self, step: int) -> None:
        """Move the text by `step` rows, within its ends."""
        most = max(0, len(self._rows) - self.rows_in_view)
        self._top = max(0, min(self._top + step, most))
        self.refresh()

    def mark(self, choice: int) -> None:
        if choice != self.marked:
            self.marked = choice
            self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-3)

    def paint(self, width: int) -> list[Strip]:
        rows = self._all(width)
        self._top = max(0, min(self._top, len(rows) - self.rows_in_view))
        shown = [self._strip(r, width) for r in rows[self._top : self._top + self.rows_in_view]]
        if not self.is_apart:
            return shown
        look = look_of(self)
        return [*shown, row(width, [(self._warning, look.style("warn", "surface"))], look.style("text", "surface"))]

    def _strip(self, item: QuestionRow, width: int) -> Strip:
        look = look_of(self)
        marked = item.kind == "choice" and item.choice == self.marked
        ground = "selection" if marked else "surface"
        fill, muted = look.style("text", ground), look.style("muted", ground)
        if item.kind == "choice":
            words = look.style("seltext" if marked else "text", ground, bold=marked)
            number = look.style("seltext" if marked else "text", ground, bold=True)
            return row(width, [(f"  {item.label:<3}", number), (item.words, words)], fill)
        if item.spans:
            return row(width, [(words, self._style(bits)) for words, bits in item.spans], fill)
        left: list[Part] = []
        if item.label or not self._spans_whole(item):
            left.append((cut(item.label, LABEL - 1).ljust(LABEL - _wide(item.label)), muted))
        styles = {"muted": muted, "warn": look.style("warn", ground), "strong": look.style("text", ground, bold=True)}
        styles["left out"] = muted
        left.append((item.words, styles.get(item.kind, fill)))
        if item.kind in ("file", "left out"):
            plus, minus = (
                (muted, muted) if item.kind == "left out" else (look.mark("ok", ground), look.mark("fail", ground))
            )
            left.append((f"{'  ' if item.words else ''}+{item.added}", plus))
            left.append((f" {sym('removed')}{item.removed}", minus))
        return row(width, left, fill)

    def _style(self, bits: int) -> Style:
        """How a span of Markdown is drawn."""
        role = "code" if bits & markdown.CODE else "muted" if bits & markdown.MUTED else "text"
        return look_of(self).style(role, "surface", bold=bool(bits & markdown.STRONG))

    def _spans_whole(self, item: QuestionRow) -> bool:
        """The plan's or the question's own words stand at the left edge, without a label column."""
        question = self._question
        return question is not None and bool(question.text) and not question.command and question.kind != "visit"


def _wide(label: str) -> int:
    """How many cells more than characters a label takes (wide characters)."""
    return cell_width(label) - len(label)


class ApprovalKeys(Painted):
    """The keys that answer: in accent once they would, muted before. Above them what else there is to say."""

    keys: tuple[tuple[str, str], ...] = ()
    armed = False
    note = ""
    """Why they do not answer yet."""
    warning = ""
    """How much is not in view."""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        muted, fill = look.style("muted", "surface"), look.style("text", "surface")
        key_style = look.style("accent", "surface", bold=True) if self.armed else muted
        keys: list[list[Part]] = [
            [(key, key_style), (f" {words}", fill if self.armed else muted)] for key, words in self.keys if key
        ]
        warning: list[list[Part]] = [[(self.warning, look.style("warn", "surface"))]] if self.warning else []
        indent = 2 if width > 40 else 0
        if self.app.size.height < limits.SHORT:
            # The note keeps its place when it is gone: nothing moves while somebody reaches for a key.
            note: list[Part] = [(self.note or " " * cell_width(t("approval.pause")), muted)]
            apart = flow(width, [*keys, *warning, note], fill, indent=indent)
            wide = max(cell_width(words) for words in (self.warning, t("approval.pause"), self.note))
            instead = [(fit(self.note, wide), muted)] if self.note or not warning else warning[0]
            one_place = flow(width, [*keys, instead], fill, indent=indent)
            # A row too many is the draft's. How much is not in view has to be known once a key answers, not before.
            return apart if len(apart) <= self.app.size.height - limits.APPROVAL_REST else one_place
        remarks = [*warning, [(self.note, muted)]]
        return [flow(width, remarks, fill, indent=indent)[0], *flow(width, keys, fill, indent=indent)]
