"""What fills the model's window, as rows: how much of it, by part, then message by message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.bodies import BLANK, Row, Span, Spans
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import fit, width, wrap
from nanoherm_tui.words.context import counted, counts, item_name, item_subject, left_out, part_name, tokens, total

if TYPE_CHECKING:
    from agent_core.mind.context import Item, Part, Report

ITEM: Final = "item:"  # the key of a message's row begins with it
_NAME = 12  # cells of a message's kind or tool, as on a tool card
_LABEL = 24  # cells of a part's name at most
_FIGURES = 14  # cells of a part's tokens and percentage
_BAR_LEAST = 6  # cells; a shorter bar tells nothing


def context_rows(report: Report, cells: int) -> list[Row]:
    """The whole, its parts with bars, and the messages, the largest first."""
    rows = [Row((Span(line, bold=True),)) for line in wrap(total(report), max(cells, 1))]
    if report.window:
        rows.append(Row(_gauge(report.total, report.window, cells)))
    rows += [Row((Span(line, "muted"),)) for line in wrap(counts(report), max(cells, 1))]
    rows += [Row((Span(line, "muted"),)) for line in wrap(counted(report), max(cells, 1)) if line]
    rows += [Row((Span(line, "muted"),)) for line in wrap(left_out(report), max(cells, 1)) if line]
    rows.append(BLANK)
    whole = max(report.window or report.total, 1)
    label = min(_LABEL, max(cells - _FIGURES - 1, 1))
    most = max((part.tokens for part in report.parts), default=1)
    rows += [_part(part, label, whole, most, cells) for part in report.parts]
    if report.items:
        rows += [BLANK, Row((Span(t("context.messages"), "muted"),))]
        rows += [_item(item, cells) for item in report.items]
    return rows


def item_id(key: str) -> str:
    """The message of a row with this key; "" for other rows."""
    return key.removeprefix(ITEM) if key.startswith(ITEM) else ""


def _gauge(used: int, window: int, cells: int) -> Spans:
    full = min(cells, max(1, round(cells * used / window))) if used else 0
    role = "warn" if used > window else "accent"
    return Span(sym("bar") * full, role, mark=True), Span(sym("bullet") * (cells - full), "muted")


def _part(part: Part, label: int, whole: int, most: int, cells: int) -> Row:
    percent = 100 * part.tokens / whole
    share = f"{percent:.0f}%" if percent >= 1 else "<1%"
    figures = (Span(f"{tokens(part.tokens):>8}"), Span(f"{share:>6}", "muted"))
    room = cells - label - 1 - _FIGURES - 1
    bar = sym("bar") * max(1, round(room * part.tokens / most)) if room >= _BAR_LEAST else ""
    return Row((Span(fit(part_name(part), label)), Span(" "), Span(bar, "accent", mark=True)), figures)


def _item(item: Item, cells: int) -> Row:
    right: list[Span] = []
    quiet = "muted" if item.view == "dropped" else "text"
    if item.view == "dropped":
        saved = t("context.dropped", tokens=tokens(item.gain)) if item.gain else t("context.dropped_only")
        right.append(Span(saved, "warn"))
    else:
        if item.view == "pinned":
            right += [Span(t("context.pinned"), "accent"), Span("  ")]
        right.append(Span(tokens(item.tokens)))
    room = cells - sum(width(span.text) for span in right) - 1

    def left() -> Spans:
        subject = item_subject(item)
        if room <= 2 * _NAME:
            return (Span(subject or item_name(item), quiet),)
        return Span(fit(item_name(item), _NAME), "muted"), Span(" "), Span(subject, quiet)

    return Row(left, tuple(right), key=f"{ITEM}{item.message_id}")
