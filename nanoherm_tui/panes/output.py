"""A tool's full result as rows: what was called, then the text, wrapped."""

from __future__ import annotations

from dataclasses import dataclass

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.diff import code_rows
from nanoherm_tui.panes.rows import BLANK, Row, Span
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, one_line, wrap


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's result as the dock shows it."""

    name: str
    subject: str
    text: str
    ok: bool


def result_rows(result: Result, cells: int) -> list[Row]:
    """State, tool and subject (wrapped: a command is shown whole), then every line of the text."""
    mark = (
        Span(sym("done"), "ok", bold=True, mark=True)
        if result.ok
        else Span(sym("failed"), "fail", bold=True, mark=True)
    )
    rows = [Row((mark, Span(" " + one_line(result.name), "muted"), *_failed(result)), margin=2)]
    subject = [line for line in wrap(clean(result.subject), cells - 2) if line.strip()]
    rows += [Row((Span("  " + line, bold=True),), margin=2) for line in subject]
    rows.append(BLANK)
    if not result.text.strip():
        return [*rows, Row((Span(t("dock.no_output"), "muted"),))]
    for line in clean(result.text).rstrip("\n").split("\n"):
        rows += [
            Row((Span(" " * p.hang + line[p.start : p.end]),), margin=p.hang, join=p.join)
            for p in code_rows(line, cells)
        ]
    return rows


def _failed(result: Result) -> tuple[Span, ...]:
    return () if result.ok else (Span("  " + t("dock.failed"), "fail"),)
