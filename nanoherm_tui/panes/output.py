"""A tool's full result as rows: what was called, then the text, wrapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_core.records import dataclass
from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import BLANK, Body, Row, RowList, Span
from nanoherm_tui.panes.pages import Book, BookRows
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, one_line, wrap

if TYPE_CHECKING:
    from agent_core.spill import Spilled


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result as the dock shows it."""

    name: str
    subject: str
    text: str
    ok: bool
    spilled: Spilled | None = None
    """The file that has all of the output, of which `text` is only the beginning and the end."""


def result_book(result: Result) -> Book:
    """The lines of the output, from its file if it has one; that of a cut file ends as the output did."""
    if result.spilled is None:
        return Book(result.text)
    behind = f"\n\n{t('dock.cut_end')}\n\n{result.text}" if result.spilled.cut else ""
    return Book(file=result.spilled.name, behind=behind)


def result_rows(result: Result, book: Book, cells: int, problem: str = "") -> Body:
    """State, tool and subject (wrapped: a command is shown whole), then every line of `book`.

    `problem` says why the book is not all of the output.
    """
    mark = (
        Span(sym("done"), "ok", bold=True, mark=True)
        if result.ok
        else Span(sym("failed"), "fail", bold=True, mark=True)
    )
    rows = [Row((mark, Span(" " + one_line(result.name), "muted"), *_failed(result)), margin=2)]
    subject = [line for line in wrap(clean(result.subject), cells - 2) if line.strip()]
    rows += [Row((Span("  " + line, bold=True),), margin=2) for line in subject]
    if problem:
        rows += [*_notes(problem, cells), *_notes(t("dock.given_instead"), cells)]
    elif result.spilled is not None:
        # The file has the output alone: how the command ended stands in the first line of the result.
        rows += _notes(clean(result.text).partition("\n")[0], cells)
        rows += _notes(t("dock.cut_output") if result.spilled.cut else t("dock.whole_output"), cells)
    rows.append(BLANK)
    if not result.text.strip():
        return RowList([*rows, Row((Span(t("dock.no_output"), "muted"),))])
    return BookRows(book, cells, rows)


def _notes(words: str, cells: int) -> Sequence[Row]:
    return [Row((Span("  " + line, "muted"),), margin=2) for line in wrap(words, max(cells - 2, 1))]


def _failed(result: Result) -> tuple[Span, ...]:
    return () if result.ok else (Span("  " + t("dock.failed"), "fail"),)
