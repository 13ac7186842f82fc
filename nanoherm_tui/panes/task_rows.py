"""Rows of the dock's tab of tasks: commands in the background, and what one has put out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from nanoherm_tui.i18n import phrase, t
from nanoherm_tui.panes.bodies import BLANK, Row, Span
from nanoherm_tui.panes.wrapped import NARROWEST, code_rows
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, duration, one_line, wrap

if TYPE_CHECKING:
    from agent_core.background import Task
    from nanoherm_tui.panes.task_output import OutputWindow

TASK: Final = "task:"  # the key of a task's row begins with it, and that of a sub-agent's
_TIME: Final = 8  # cells of how long it has run, as on a tool card
_MARK: Final = 2  # cells of the state's symbol and the blank behind it


def outcome(task: Task) -> str:
    """How it ended, in words; empty while it runs and after success, which the mark says."""
    if task.state == "running":
        return ""
    if task.state != "ended":
        return t(f"tasks.{task.state}")
    if task.signal:
        return t("tasks.signal", n=task.signal)
    return t("tasks.exit", n=task.exit_code) if task.exit_code else ""


def task_row(task: Task, frame: int, now: float, key: str = "") -> Row:
    """State, command, how it ended and how long it has run."""
    took = duration((task.ended or now) - task.started, running=True)
    right = [Span(took.rjust(_TIME), "muted")]
    if words := outcome(task):
        # A blank more: where the colours do not divide them, the words would read on from the command.
        right.insert(0, Span(f" {words}", "fail" if task.state == "ended" else "muted"))
    return Row((_mark(task, frame), Span(" "), Span(one_line(task.command))), tuple(right), key=key)


def task_rows(tasks: Sequence[Task], frame: int, now: float) -> list[Row]:
    """The newest first; below a running one its newest line, below one that outlives the program that it does."""
    rows: list[Row] = []
    for task in reversed(tasks):
        rows.append(task_row(task, frame, now, f"{TASK}{task.id}"))
        if task.state == "running" and task.kept:
            rows.append(_below(t("tasks.kept")))
        if task.state == "running" and (newest := one_line(task.newest)):
            rows.append(_below(newest))
    return rows


def output_rows(task: Task, window: OutputWindow, cells: int) -> list[Row]:
    """The command whole and where it runs, then what is kept of its output, every line wrapped."""
    rows = [Row((Span(line, bold=True),)) for line in wrap(clean(task.command), max(cells, 1))]
    facts = t("tasks.facts", folder=one_line(task.cwd), box=phrase("questions", one_line(task.box)))
    rows += [Row((Span(line, "muted"),)) for line in wrap(facts, max(cells, 1))]
    # A row in any case: what comes before what is here must not move it by one.
    rows.append(Row((Span(f"{sym('cut')} {t('tasks.older')}", "muted"),)) if window.has_older else BLANK)
    text = clean(window.text)
    lines = text.removesuffix("\n").split("\n") if text else []
    room = max(cells, NARROWEST)
    laid: dict[str, Sequence[Row]] = {}
    before = window.laid if window.laid_in == room else {}
    for line in lines:
        if line not in laid:
            laid[line] = before[line] if line in before else _line_rows(line, room)
        rows += laid[line]
    window.laid, window.laid_in = laid, room
    if window.problem:
        rows += [Row((Span(line, "fail"),)) for line in wrap(window.problem, max(cells, 1))]
    elif not lines:
        rows.append(Row((Span(t("tasks.no_output"), "muted"),)))
    return rows


def _line_rows(line: str, room: int) -> list[Row]:
    """A line of output, wrapped."""
    rows = []
    for piece in code_rows(line, room):
        words = line[piece.start : piece.end]
        rows.append(Row((Span(" " * piece.hang + words),), margin=piece.hang, join=piece.join, words=words))
    return rows


def _below(words: str) -> Row:
    return Row((Span(" " * _MARK), Span(words, "muted")), margin=_MARK)


def _mark(task: Task, frame: int) -> Span:
    if task.state == "running":
        return Span(sym("running", frame), "accent", bold=True, mark=True)
    if task.state == "ended":
        good = task.exit_code == 0 and not task.signal
        return Span(sym("done" if good else "failed"), "ok" if good else "fail", bold=True, mark=True)
    return Span(sym("failed"), "muted", bold=True, mark=True)
