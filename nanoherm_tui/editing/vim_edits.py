"""What vim's operators and commands do to a page. Each leaves the caret where vim does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, Protocol

from nanoherm_tui.editing.units import after, before, kind
from nanoherm_tui.editing.vim_motions import first_word, line_end, line_start, on_unit

if TYPE_CHECKING:
    from nanoherm_tui.editing.kill_ring import Kill
    from nanoherm_tui.editing.page import Page, Span

_INDENT: Final = "    "


class Register(Protocol):
    """Where what is deleted or yanked goes, and what is put comes from."""

    @property
    def current(self) -> Kill | None: ...

    def add(self, text: str, *, lines: bool = False) -> None: ...


def operate(page: Page, operator: str, span: Span, register: Register, steps: int = 1) -> None:
    """One of d c y > < on `span`. `steps`: how far > and < shift."""
    if operator in "><":
        _shift(page, span, steps if operator == ">" else -steps)
        return
    keep(page, span, register)
    if operator == "y":
        return
    if not span.lines:
        page.put(span.start, span.end, "")
        page.caret = span.start if operator == "c" else on_unit(page.text, span.start)
    elif operator == "c":
        page.put(span.start, span.end - (not span.last), "")
        page.caret = span.start
    else:
        start = span.start
        if start and span.last:
            start -= 1  # the last line goes with the line end before it
        page.put(start, span.end, "")
        start = min(start if start == span.start else line_start(page.text, start), len(page.text))
        page.caret = on_unit(page.text, first_word(page.text, start))


def keep(page: Page, span: Span, register: Register) -> None:
    text = page.text[span.start : span.end]
    if span.lines:
        text += "\n" * span.last
    register.add(text, lines=span.lines)


def _shift(page: Page, span: Span, steps: int) -> None:
    starts = [span.start]
    while (end := line_end(page.text, starts[-1])) + 1 < span.end:
        starts.append(end + 1)
    for start in reversed(starts):
        if steps > 0 and line_end(page.text, start) > start:
            at = first_word(page.text, start)  # behind a tab: before it blanks would move nothing
            page.put(at, at, _INDENT * steps)
        elif steps < 0:
            blank, room = start, len(_INDENT) * -steps
            while room > 0 and page.text[blank : blank + 1] in (" ", "\t"):
                room -= len(_INDENT) if page.text[blank] == "\t" else 1
                blank += 1
            page.put(start, blank, "")
    page.caret = on_unit(page.text, first_word(page.text, span.start))


def put(page: Page, register: Register, times: int, *, behind: bool) -> None:
    """p and P."""
    kill = register.current
    if kill is None:
        return
    text, at = kill.text * times, page.caret
    if kill.lines:
        end = line_end(page.text, at)
        if not behind:
            at = line_start(page.text, at)
            page.put(at, at, text)
        elif end == len(page.text):
            page.put(end, end, "\n" + text.removesuffix("\n"))
            at = end + 1
        else:
            at = end + 1
            page.put(at, at, text)
        page.caret = on_unit(page.text, first_word(page.text, at))
        return
    if behind and at < line_end(page.text, at):
        at = after(page.text, at)
    page.put(at, at, text)
    page.caret = on_unit(page.text, at if "\n" in text else before(page.text, at + len(text)))


def put_over(page: Page, span: Span, register: Register, times: int, *, keeps: bool) -> None:
    """p and P on a selection: what was put comes in its place, which p `keeps` instead."""
    kill = register.current
    if kill is None:
        return
    text = kill.text * times
    if span.lines:
        text = text.removesuffix("\n") + "\n" * (not span.last)
    elif kill.lines:
        text = "\n" + text
    if keeps:
        keep(page, span, register)
    page.put(span.start, span.end, text)
    at = span.start
    if kill.lines:
        at = first_word(page.text, at + (not span.lines))
    elif not span.lines and "\n" not in text:
        at += max(0, len(text) - 1)
    page.caret = on_unit(page.text, at)


def join(page: Page, times: int) -> None:
    """J: the next line behind this one, one blank between; none before ), after a blank, or between Chinese words."""
    for _ in range(max(1, times - 1)):
        end = line_end(page.text, page.caret)
        if end == len(page.text):
            return
        start = end + 1
        while page.text[start : start + 1] in (" ", "\t"):
            start += 1
        left = page.text[end - 1 : end] if end > line_start(page.text, page.caret) else ""
        right = page.text[start : start + 1]
        wide = bool(left and right) and left > "\u2e7f" and right > "\u2e7f"
        blank = "" if not left or left.isspace() or right in ("", "\n", ")") or wide else " "
        page.put(end, start, blank)
        page.caret = end if blank or right not in ("", "\n") else on_unit(page.text, end)


def recase(page: Page, span: Span, how: Literal["swap", "lower", "upper"]) -> None:
    """~, and u and U on a selection. Chips stay as they are."""
    at, made = span.start, ""
    while at < span.end:
        end = after(page.text, at)
        one = page.text[at:end]
        if kind(page.text, at) != "chip":
            one = one.swapcase() if how == "swap" else one.lower() if how == "lower" else one.upper()
        made, at = made + one, end
    page.put(span.start, span.end, made)


def replace(page: Page, span: Span, character: str) -> None:
    """r: each unit of the span becomes `character`; line ends stay."""
    at, made = span.start, ""
    while at < span.end:
        made += "\n" if page.text[at] == "\n" else character
        at = after(page.text, at)
    page.put(span.start, span.end, made)
