"""A question as rows: everything a person has to know to answer it, and nothing of it cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from agent_core.names import NOT_REVIEWED
from agent_core.sandbox.policy import UNCONFINED
from nanoherm_tui.i18n import phrase, t
from nanoherm_tui.panes.title import shorten_home
from nanoherm_tui.text import clean, one_line, visible, width, wrap, wrap_code_spans

if TYPE_CHECKING:
    from agent_core.ports import Question

LABEL: Final = 10  # cells of the column of labels

Kind = Literal["value", "muted", "strong", "warn", "choice", "file"]


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One row of the panel's text: a label (first rows only) and words."""

    words: str
    label: str = ""
    kind: Kind = "value"
    choice: int = -1
    added: int = 0
    removed: int = 0


def _whole(line: str, cells: int) -> list[str]:
    """One line as rows of at most `cells`, nothing left out."""
    spans, hang = wrap_code_spans(line, cells)
    return [(" " * hang if start else "") + line[start:end] for start, end in spans]


def _labelled(label: str, words: str, cells: int, *, exact: bool) -> list[QuestionRow]:
    lines = words.split("\n")
    wrapped = [piece for line in lines for piece in (_whole(line, cells) if exact else wrap(line, cells))]
    return [QuestionRow(piece, label if index == 0 else "") for index, piece in enumerate(wrapped)]


def always_rows(question: Question, pattern: str, cells: int) -> list[QuestionRow]:
    """What "always" would write and where it holds: `pattern` exactly, its characters that hide shown."""
    room = max(4, cells - LABEL)
    exact = pattern == question.command
    holds = t("approval.holds_exact" if exact else "approval.holds_all")
    here = t("approval.here_exact" if exact else "approval.here_all")
    kept = t("approval.kept", here=here, sandbox=phrase("questions", question.sandbox))
    return [
        *_of_kind("strong", _labelled(t("approval.always_label"), visible(pattern), room, exact=True)),
        *_of_kind("muted", _labelled("", holds, room, exact=False)),
        *_of_kind("muted", _labelled("", kept, room, exact=False)),
    ]


def _of_kind(kind: Kind, rows: list[QuestionRow]) -> list[QuestionRow]:
    return [replace(row, kind=kind) for row in rows]


def _sandbox_rows(question: Question, room: int) -> list[QuestionRow]:
    """What the command would run in; what gives it more than the workspace is a warning."""
    mode, _, network = question.sandbox.partition(", ")
    if mode == UNCONFINED.words:
        return _of_kind("warn", _labelled(t("approval.sandbox"), t("approval.free"), room, exact=False))
    words = t("approval.with_network" if network else "approval.without_network", sandbox=mode)
    rows = _labelled(t("approval.sandbox"), words, room, exact=False)
    return _of_kind("warn", rows) if network else rows


def question_rows(question: Question, cells: int) -> list[QuestionRow]:
    """Everything a person has to know to answer, wrapped to `cells` (labels included) and never cut."""
    room = max(4, cells - LABEL)
    rows: list[QuestionRow] = []
    if question.command:
        rows += _labelled(t("approval.command"), visible(question.command), room, exact=True)
    if question.cwd:
        where = shorten_home(visible(question.cwd), str(Path.home()))
        rows += _labelled(t("approval.cwd"), where, room, exact=True)
    if question.sandbox:
        rows += _sandbox_rows(question, room)
    if question.path:
        rows += _labelled(t("approval.file"), visible(question.path).replace("\n", "\\n"), room, exact=True)
    for diff in question.diffs:
        label = {"create": t("approval.create"), "edit": t("approval.change"), "delete": t("approval.delete")}
        figures = 4 + len(str(diff.added)) + len(str(diff.removed))
        pieces = _whole(visible(diff.path).replace("\n", "\\n"), room)
        if width(pieces[-1]) + figures > room:
            pieces.append("")  # the figures have a row of their own
        rows += [QuestionRow(piece, label[diff.change] if n == 0 else "") for n, piece in enumerate(pieces[:-1])]
        rows.append(
            QuestionRow(
                pieces[-1],
                label[diff.change] if len(pieces) == 1 else "",
                "file",
                added=diff.added,
                removed=diff.removed,
            )
        )
    if question.kind == "command" and question.text:  # the core's words; those of a plan or a question are the model's
        why = "\n".join(_reason(line) for line in clean(question.text).split("\n"))
        rows += _labelled(t("approval.reason"), why, room, exact=False)
    elif question.text:
        rows += [QuestionRow(piece) for line in clean(question.text).split("\n") for piece in wrap(line, cells)]
    for index, choice in enumerate(question.choices):
        pieces = wrap(one_line(choice), max(4, cells - 5))
        rows += [QuestionRow(p, str(index + 1) if n == 0 else "", "choice", index) for n, p in enumerate(pieces)]
    if question.rule:
        rows += _labelled(t("approval.rule"), clean(rule_words(question.rule)), room, exact=False)
    if question.grant and "session" in question.decisions:
        granted = clean(phrase("questions", question.grant))
        rows += _of_kind("muted", _labelled(t("approval.grant"), granted, room, exact=False))
    return rows


def rule_words(rule: str) -> str:
    """A rule in the interface's language: "mode ask", or a kind of rule, a colon and its name."""
    kind, _, name = rule.partition(": ")
    said = phrase("questions", kind)
    return t("approval.rule_named", kind=said, name=phrase("questions", name)) if name else said


def _reason(line: str) -> str:
    """Why a command asks, "removes recursively: rm -r x", in the interface's language; any other text as it is."""
    why, colon, part = line.partition(": ")
    said = phrase("questions", why)
    if why == NOT_REVIEWED:
        part = phrase("questions", part)
    if said == why:
        return line
    return t("approval.rule_named", kind=said, name=part) if colon else said


def title(question: Question) -> str:
    """The panel's heading, one line."""
    if question.kind == "command" and question.command:
        if question.sandbox == UNCONFINED.words:
            return t("approval.run_free")
        return t("approval.run_networked" if question.sandbox.endswith(", network") else "approval.run_command")
    if question.kind == "ask_user":
        return t("approval.ask_user")
    if question.kind == "plan":
        return t("approval.plan")
    if question.kind == "read" and question.path:
        return t("approval.read_file")
    if question.kind == "edit" and question.diffs:
        if len(question.diffs) > 1:
            return t("approval.edit_many", n=len(question.diffs))
        return t("approval.edit_one", path=visible(question.diffs[0].path).replace("\n", "\\n"))
    return visible(question.title).replace("\n", "\\n")


def time_left(deadline: float, now: float) -> str:
    """Minutes and seconds until `deadline` (both in seconds since the epoch), never negative."""
    left = max(0, int(deadline - now + 0.999))
    return f"{left // 60}:{left % 60:02d}"
