"""What fills the model's window, in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nanoherm_tui.i18n import t
from nanoherm_tui.text import one_line
from nanoherm_tui.transcript.cards import default_subject

if TYPE_CHECKING:
    from agent_core.mind.context import Item, Part, Report


def tokens(count: int) -> str:
    """An estimate in words."""
    return f"~{count:,}"


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
    parts = "".join(f"{part_name(part)}\t{part.tokens}\n" for part in report.parts)
    items = "".join(f"{item_name(item)}\t{item.tokens}\t{item_subject(item)}\n" for item in report.items)
    exactly = f"{words}\n" if (words := counted(report)) else ""
    without = f"{words}\n" if (words := left_out(report)) else ""
    return f"{total(report)}\n{exactly}{without}{parts}\n{items}"


def total(report: Report) -> str:
    if not report.window:
        return t("context.total", tokens=tokens(report.total))
    percent = round(100 * report.total / report.window)
    return t("context.total_of", tokens=tokens(report.total), window=f"{report.window:,}", percent=percent)


def counts(report: Report) -> str:
    if report.summarised:
        return t("context.count_summarised", n=report.messages, more=report.summarised)
    return t("context.count", n=report.messages)


def counted(report: Report) -> str:
    """What the server counted for the newest answer, exactly; "" before there is one."""
    usage = report.counted
    if usage is None:
        return ""
    sent = f"{usage.prompt_tokens:,}"
    if usage.cached_tokens:
        return t("context.counted_cached", tokens=sent, cached=f"{usage.cached_tokens:,}")
    return t("context.counted", tokens=sent)


def left_out(report: Report) -> str:
    """What the person has dropped, in all, and what a request would take with it; "" when that is nothing."""
    if not report.dropped:
        return ""
    whole = tokens(report.total + report.saved)
    words = "context.left_out_one" if report.dropped == 1 else "context.left_out"
    return t(words, n=report.dropped, tokens=tokens(report.saved), whole=whole)


def part_name(part: Part) -> str:
    return t("context.results_of", tool=one_line(part.tool)) if part.kind == "results" else t(f"context.{part.kind}")
