"""What fills the model's window, as rows: how much of it, by part, then message by message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nanoherm_tui.i18n import t
from nanoherm_tui.panes.rows import BLANK, Row, Span, Spans
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import fit, one_line, width, wrap
from nanoherm_tui.transcript.model import default_subject

if TYPE_CHECKING:
    from agent_core.context import Item, Part, Report

ITEM: Final = "item:"  # the key of a message's row begins with it
_NAME = 12  # cells of a message's kind or tool, as on a tool card
_LABEL = 24  # cells of a part's name at most
_FIGURES = 14  # cells of a part's tokens and percentage
_BAR_LEAST = 6  # cells; a shorter bar tells nothing


def context_rows(report: Report, cells: int) -> list[Row]:
    """The whole, its parts with bars, and the messages, the largest first."""
    rows = [Row((Span(line, bold=True),)) for line in wrap(_total(report), max(cells, 1))]
    if report.window:
        rows.append(Row(_gauge(report.total, report.window, cells)))
    rows += [Row((Span(line, "muted"),)) for line in wrap(_counts(report), max(cells, 1))]
    rows += [Row((Span(line, "muted"),)) for line in wrap(_counted(report), max(cells, 1)) if line]
    rows.append(BLANK)
    whole = max(report.window or report.total, 1)
    label = min(_LABEL, max(cells - _FIGURES - 1, 1))
    most = max((part.tokens for part in report.parts), default=1)
    rows += [_part(part, label, whole, most, cells) for part in report.parts]
    if report.items:
        rows += [BLANK, Row((Span(t("context.messages"), "muted"),))]
        rows += [_item(item, cells) for item in report.items]
    return rows


def tokens(count: int) -> str:
    """An estimate in words."""
    return f"~{count:,}"


def item_id(key: str) -> str:
    """The message of a row with this key; "" for other rows."""
    return key.removeprefix(ITEM) if key.startswith(ITEM) else ""


def item_name(item: Item) -> str:
    """Its tool, or what it is."""
    return one_line(item.tool) or t(f"context.one_{item.kind}")


def item_subject(item: Item) -> str:
    """What it is about, on one line."""
    if item.kind == "results" and item.call is not None:
        return default_subject(item.call)
    if item.kind == "calls" and item.call is not None:
        return f"{one_line(item.call.name)} {default_subject(item.call)}"
    return one_line(item.text)


def plain_context(report: Report) -> str:
    """All of it as text, for copying."""
    parts = "".join(f"{_part_name(part)}\t{part.tokens}\n" for part in report.parts)
    items = "".join(f"{item_name(item)}\t{item.tokens}\t{item_subject(item)}\n" for item in report.items)
    counted = f"{words}\n" if (words := _counted(report)) else ""
    return f"{_total(report)}\n{counted}{parts}\n{items}"


def _total(report: Report) -> str:
    if not report.window:
        return t("context.total", tokens=tokens(report.total))
    percent = round(100 * report.total / report.window)
    return t("context.total_of", tokens=tokens(report.total), window=f"{report.window:,}", percent=percent)


def _counts(report: Report) -> str:
    if report.summarised:
        return t("context.count_summarised", n=report.messages, more=report.summarised)
    return t("context.count", n=report.messages)


def _counted(report: Report) -> str:
    """What the server counted for the newest answer, exactly; "" before there is one."""
    usage = report.counted
    if usage is None:
        return ""
    sent = f"{usage.prompt_tokens:,}"
    if usage.cached_tokens:
        return t("context.counted_cached", tokens=sent, cached=f"{usage.cached_tokens:,}")
    return t("context.counted", tokens=sent)


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
    return Row((Span(fit(_part_name(part), label)), Span(" "), Span(bar, "accent", mark=True)), figures)


def _part_name(part: Part) -> str:
    return t("context.results_of", tool=one_line(part.tool)) if part.kind == "results" else t(f"context.{part.kind}")


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
