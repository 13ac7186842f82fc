"""Questions as lines, and what is typed to them. Pure.

An answer is a letter or a word and Enter; an empty line answers nothing, and no word of a message is consent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from agent_core.intents import Answer, Decision
from agent_core.records import dataclass
from nanoherm_tui.form_values import Values, first_values, missing, written
from nanoherm_tui.i18n import series, t
from nanoherm_tui.overlays.question import QuestionRow, always_rows, question_rows, time_left, title, wants_words
from nanoherm_tui.panes.hunks import hunk_keys
from nanoherm_tui.plain.diffs import diff_lines
from nanoherm_tui.plain.words import pair
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, one_line, visible

if TYPE_CHECKING:
    from agent_core.ports.asking import Question
    from agent_core.servers import FormField

_WIDE: Final = 1_000_000  # cells: the terminal wraps by itself
_LETTERS: Final[dict[str, Decision]] = {"y": "once", "a": "session", "w": "always", "n": "refuse"}
_WORDS: Final = {"yes": "y", "once": "y", "session": "a", "always": "w", "no": "n", "refuse": "n", "edit": "e"}
_REFUSAL: Final = re.compile(r"(?:n|no|refuse)(?:[\s,:]+(?P<why>.*))?\Z", re.DOTALL | re.IGNORECASE)
_HUNKS: Final = re.compile(r"(?P<numbers>\d+(?:[\s,]+\d+)*)\s*n\Z", re.IGNORECASE)

Stage = Literal["", "edit", "always", "form", "send"]
"""What the next line is: an answer, the edited command, the second word for "always", a field, or whether to send."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that waits, and how far its answer has come."""

    question: Question
    deadline: float
    """Seconds since the epoch."""
    stage: Stage = ""
    refused: frozenset[str] = frozenset()
    edited: str = ""
    """The command as the person has changed it; y alone runs it."""
    patterns: tuple[str, ...] = ()
    """What "always" may write, the present one first."""
    values: tuple[tuple[str, object], ...] = ()
    """Of a form, so far."""
    at: int = 0
    """The field that is asked for."""

    @property
    def prompt(self) -> str:
        """What stands before the answer."""
        if self.stage == "edit":
            return t("plain.ask_edit") + " "
        if self.stage == "form":
            return _field_prompt(self._field, dict(self.values)) + " "
        letters = "/".join(self.letters)
        return f"{t('plain.ask')} ({letters}): " if letters else f"{t('plain.ask')}: "

    @property
    def typed(self) -> str:
        """What the line begins with."""
        return (self.edited or self.question.command) if self.stage == "edit" else ""

    @property
    def letters(self) -> tuple[str, ...]:
        """Those that answer now."""
        if self.stage == "always":
            return ("w", "x", "n") if len(self.patterns) > 1 else ("w", "n")
        if self.stage == "send":
            return ("y", "n")
        if self.edited:
            return ("y", "n", "e")
        if wants_words(self.question):
            return ("n",) if self.question.kind == "visit" else ()
        offered = [letter for letter, decision in _LETTERS.items() if decision in self.question.decisions]
        if self._refuses_all:
            offered = [letter for letter in offered if letter in ("y", "n")]
        elif self._may_edit:
            offered.append("e")
        return tuple(offered)

    @property
    def _may_edit(self) -> bool:
        return self.question.kind == "command" and bool(self.question.command) and "once" in self.question.decisions

    @property
    def _refuses_all(self) -> bool:
        return bool(self.refused) and len(self.refused) == len(hunk_keys(self.question.diffs))

    @property
    def _field(self) -> FormField:
        return self.question.form[self.at]


@dataclass(frozen=True, slots=True)
class Taken:
    """What has come of a line: an answer, or how the question stands now, and words to say."""

    answer: Answer | None = None
    asked: Asked | None = None
    lines: tuple[str, ...] = ()


def asked_lines(asked: Asked, waiting: int = 1, now: float | None = None) -> list[str]:
    """The whole question: what would happen, by which rule, how long it waits, and what can be typed."""
    question = asked.question
    left = t("approval.left", time=time_left(asked.deadline, time.time() if now is None else now))
    count = t("approval.count", n=1, total=waiting) if waiting > 1 else ""
    head = t("plain.question", title=title(question, asked.refused))
    lines = ["", "  ".join(filter(None, (head, count, left)))]
    lines += _facts(question_rows(question, _WIDE, asked.refused))
    if question.diffs:
        lines += diff_lines(question.diffs, asked.refused)
    return [*lines, *answers_lines(asked)]


def answers_lines(asked: Asked) -> list[str]:
    """What can be typed."""
    question = asked.question
    if wants_words(question):
        here = t("approval.paste_here" if question.kind == "visit" else "approval.answer_here")
        more = [t("plain.may_choose")] if question.choices else []
        return [*more, f"{here}."] + ([f"  n: {t('approval.give_up')}"] if question.kind == "visit" else [])
    lines = [f"  {letter}: {_meaning(letter, asked)}" for letter in asked.letters]
    if question.kind == "edit" and len(hunk_keys(question.diffs)) > 1:
        lines.append(f"  1,3 n: {t('plain.may_leave_out')}")
    return [t("plain.may_type"), *lines]


def _meaning(letter: str, asked: Asked) -> str:
    question, plan = asked.question, asked.question.kind == "plan"
    if letter == "y":
        if asked.edited:
            return t("approval.run_edited")
        if asked._refuses_all:
            return t("approval.send_refusal")
        if asked.refused:
            total = len(hunk_keys(question.diffs))
            return t("approval.hunks", n=total - len(asked.refused), total=total)
        if question.kind == "form":
            return t("approval.fill_in")
        return t("approval.approve" if plan else "approval.open" if question.kind == "visit" else "approval.once")
    if letter == "n":
        return t("approval.keep_planning" if plan else "plain.may_refuse")
    return t({"a": "approval.session", "w": "approval.always", "e": "approval.edit"}[letter])


def _facts(rows: Iterable[QuestionRow]) -> list[str]:
    lines = []
    for row in rows:
        words = row.words
        if row.kind in ("file", "left out"):
            words = f"{words}  +{row.added} {sym('removed')}{row.removed}"
        if row.kind == "choice":
            words = f"{row.label}. {words}"
        elif row.label:
            words = pair(row.label, words)
        lines.append(f"  {words}")
    return lines


# -- what is typed ----------------------------------------------------------------------------------------------------


def take(asked: Asked, line: str) -> Taken:
    """What has come of a line that was typed to a question."""
    said = line.strip()
    if asked.stage == "form":
        return _take_field(asked, said)
    if not said:
        return Taken(asked=asked, lines=(t("plain.enter_is_none"),))
    if asked.stage == "edit":
        return _edited(asked, said)
    if asked.stage == "always":
        return _take_always(asked, said)
    if asked.stage == "send":
        return _take_send(asked, said)
    if wants_words(asked.question):
        return _take_words(asked, said)
    if said == "?":
        return Taken(asked=asked, lines=tuple(asked_lines(asked)))
    if found := _HUNKS.match(said):
        return _leave_out(asked, found["numbers"])
    if (found := _REFUSAL.match(said)) and "n" in asked.letters:
        return Taken(Answer(asked.question.id, "refuse", (found["why"] or "").strip()))
    letter = _WORDS.get(said.lower(), said.lower())
    if letter not in asked.letters:
        return Taken(asked=asked, lines=(t("plain.no_answer", letters=series(asked.letters)),))
    if letter == "e":
        return Taken(asked=replace(asked, stage="edit"), lines=(t("plain.edit_it"),))
    if letter == "w":
        return _show_always(asked)
    if asked.question.kind == "form" and letter == "y":
        values = tuple(first_values(asked.question.form).items())
        begun = replace(asked, stage="form" if asked.question.form else "send", values=values, at=0)
        return Taken(asked=begun, lines=_field_lines(begun))
    if asked._refuses_all:
        return Taken(Answer(asked.question.id, "refuse"))
    answer = Answer(asked.question.id, _LETTERS[letter], asked.edited, refused=tuple(sorted(asked.refused)))
    return Taken(answer)


def _edited(asked: Asked, said: str) -> Taken:
    """The command as it is to run: shown once more, and checked anew before it does."""
    edited = "" if said == asked.question.command.strip() else said
    now = replace(asked, stage="", edited=edited)
    return Taken(asked=now, lines=(f"  {pair(t('approval.command'), visible(said))}", *answers_lines(now)))


def _take_words(asked: Asked, said: str) -> Taken:
    question = asked.question
    if question.kind == "visit" and said.lower() in ("n", "no"):
        return Taken(Answer(question.id, "refuse"))
    number = int(said) if said.isascii() and said.isdecimal() and len(said) < 4 else 0
    words = question.choices[number - 1] if 1 <= number <= len(question.choices) else said
    return Taken(Answer(question.id, "once", words))


def _leave_out(asked: Asked, numbers: str) -> Taken:
    keys = hunk_keys(asked.question.diffs)
    wanted = [int(number) for number in re.findall(r"\d+", numbers)]
    if asked.question.kind != "edit" or any(not 1 <= number <= len(keys) for number in wanted):
        return Taken(asked=asked, lines=(t("plain.no_hunk", n=len(keys)),))
    now = replace(asked, refused=asked.refused ^ {keys[number - 1] for number in wanted})
    return Taken(asked=now, lines=(title(now.question, now.refused), *answers_lines(now)))


def _show_always(asked: Asked) -> Taken:
    question = asked.question
    patterns = asked.patterns or tuple(dict.fromkeys(filter(None, (question.pattern, question.command))))
    now = replace(asked, stage="always", patterns=patterns)
    lines = _facts(always_rows(question, patterns[0], _WIDE))
    lines.append(f"  w: {t('approval.write_always')}")
    if len(patterns) > 1:
        other = t("approval.all_such" if patterns[0] == question.command else "approval.exactly")
        lines.append(f"  x: {other}")
    return Taken(asked=now, lines=(*lines, f"  n: {t('approval.back')}"))


def _take_always(asked: Asked, said: str) -> Taken:
    if said.lower() in ("w", "always"):
        return Taken(Answer(asked.question.id, "always", pattern=asked.patterns[0]))
    if said.lower() == "x" and len(asked.patterns) > 1:
        return _show_always(replace(asked, patterns=(*asked.patterns[1:], asked.patterns[0])))
    back = replace(asked, stage="", patterns=())
    return Taken(asked=back, lines=tuple(answers_lines(back)))


# -- forms ------------------------------------------------------------------------------------------------------------


def _field_lines(asked: Asked) -> tuple[str, ...]:
    if asked.stage == "send":
        values = dict(asked.values)
        shown = (f"  {pair(visible(f.title or f.name), _shown(f, values))}" for f in asked.question.form)
        return (*shown, f"  y: {t('form.send')}", f"  n: {t('form.decline')}")
    field = asked._field
    lines = [f"{t('plain.field', n=asked.at + 1, total=len(asked.question.form))} {visible(field.title or field.name)}"]
    if field.description:
        lines.append(f"  {one_line(clean(field.description))}")
    if field.kind == "flag":
        lines.append(f"  {t('plain.field_flag')}")
    for number, (value, words) in enumerate(field.choices, 1):
        lines.append(f"  {number}. {visible(words or value)}")
    if field.kind == "choices":
        lines.append(f"  {t('plain.field_choices')}")
    lines.append(f"  {t('plain.field_needed' if field.required else 'plain.field_free')}")
    return tuple(lines)


def _field_prompt(field: FormField, values: Values) -> str:
    shown = _shown(field, values)
    return f"{visible(field.title or field.name)}{f' [{shown}]' if shown else ''}:"


def _shown(field: FormField, values: Values) -> str:
    value = values.get(field.name)
    if field.kind == "flag":
        return t("form.is_on" if value else "form.is_off")
    if value is None:
        return ""
    titles = dict(field.choices)
    several = value if isinstance(value, tuple) else (value,)
    return visible(series(titles.get(str(one), "") or f"{one}" for one in several))


def _take_field(asked: Asked, said: str) -> Taken:
    """A value; empty keeps what the field has, "-" takes it out."""
    field, values = asked._field, dict(asked.values)
    try:
        values = _filled(field, values, said)
    except ValueError:
        words = t("form.no_number", field=visible(field.title or field.name))
        if field.choices or field.kind == "flag":
            words = t("plain.no_such_choice")
        return Taken(asked=asked, lines=(words,))
    if missing((field,), values) is not None:
        return Taken(asked=asked, lines=(t("form.missing", field=visible(field.title or field.name)),))
    at = asked.at + 1
    ended = at == len(asked.question.form)
    now = replace(asked, values=tuple(values.items()), at=0 if ended else at, stage="send" if ended else "form")
    return Taken(asked=now, lines=_field_lines(now))


def _filled(field: FormField, values: Values, said: str) -> Values:
    if not said:
        return values
    if said == "-":
        return written(field, values, "")
    if field.kind == "flag":
        if said.lower() not in ("y", "yes", "n", "no"):
            raise ValueError(said)
        return {**values, field.name: said.lower().startswith("y")}
    if field.kind not in ("choice", "choices"):
        return written(field, values, said)
    chosen = tuple(_choice(field, one) for one in re.split(r"[\s,]+", said)) if field.kind == "choices" else (said,)
    return {**values, field.name: chosen if field.kind == "choices" else _choice(field, said)}


def _choice(field: FormField, said: str) -> str:
    """The value of the choice that was named by its number, its value or its title. Raises ValueError."""
    number = int(said) if said.isascii() and said.isdecimal() and len(said) < 4 else 0
    if 1 <= number <= len(field.choices):
        return field.choices[number - 1][0]
    for value, words in field.choices:
        if said in (value, words):
            return value
    raise ValueError(said)


def _take_send(asked: Asked, said: str) -> Taken:
    if said.lower() in ("y", "yes"):
        return Taken(Answer(asked.question.id, "once", values=dict(asked.values)))
    if said.lower() in ("n", "no"):
        return Taken(Answer(asked.question.id, "refuse"))
    return Taken(asked=asked, lines=(t("plain.no_answer", letters="y, n"),))
