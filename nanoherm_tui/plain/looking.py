"""Commands that show what there is, and bring files back. Each is a function of the face and its argument."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from agent_core import intents
from agent_core.errors import AgentError
from nanoherm_tui import limits
from nanoherm_tui.i18n import phrase, t
from nanoherm_tui.overlays.question import time_left, title
from nanoherm_tui.plain.consents import yes_or_no
from nanoherm_tui.plain.diffs import diff_lines
from nanoherm_tui.plain.sessions import numbered
from nanoherm_tui.plain.words import head, listed, pair
from nanoherm_tui.plain.work_words import agent_line, task_line
from nanoherm_tui.text import age, clean, one_line, visible
from nanoherm_tui.words.context import counted, counts, item_name, item_subject, part_name, tokens, total
from nanoherm_tui.words.disk import parts
from nanoherm_tui.words.disk import sessions as largest
from nanoherm_tui.words.permissions import sections
from nanoherm_tui.words.usage import budget_lines, remarks, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_core.messages import View
    from agent_core.rollback import Checkpoint, RollbackPlan
    from agent_core.store.insights import Insights
    from nanoherm_tui.plain.face import Face
    from nanoherm_tui.session_view import Waiting


def diff(face: Face, argument: str) -> None:
    """What this session changed in files, the oldest first."""
    changes = face.host.diff(face.session.id) if face.session.stored else ()
    face.say(*(diff_lines(changes) if changes else [t("dock.no_changes")]))


def tasks(face: Face, argument: str) -> None:
    """Commands in the background; `output ID`, `end ID` and `keep ID` or `let ID` for one of them."""
    word, _, name = argument.partition(" ")
    known = {task.id for task in face.view.tasks}
    if not word:
        now = time.time()
        face.say(*([task_line(task, now) for task in face.view.tasks] or [t("plain.no_tasks")]), t("plain.usage_tasks"))
    elif word not in ("output", "end", "keep", "let") or name.strip() not in known:
        face.say(t("plain.usage_tasks"))
    elif word == "output":
        _output(face, name.strip())
    else:
        wanted = name.strip()
        face.session.send(intents.KillTask(wanted) if word == "end" else intents.KeepTask(wanted, word == "keep"))


def _output(face: Face, name: str) -> None:
    """The end of what it has written."""
    task = next(task for task in face.view.tasks if task.id == name)
    start = max(0, task.output_bytes - limits.TASK_PIECE)
    piece = face.host.tasks.output(face.session.id, name, start, limits.TASK_PIECE)
    text = clean(piece.text).rstrip("\n")
    face.say(*(text.split("\n") if text else [t("tasks.no_output")]))


def agents(face: Face, argument: str) -> None:
    """The sub-agents; `ID TEXT` tells one something, `stop ID` stops it."""
    name, _, text = argument.partition(" ")
    stops = name == "stop"
    name, text = (text.strip(), "") if stops else (name, text.strip())
    if not name:
        now = time.time()
        face.say(
            *([agent_line(one, now) for one in face.view.agents] or [t("plain.no_agents")]), t("plain.usage_agents")
        )
        return
    named = next((one for one in face.view.agents if name in (one.id, one.id.rpartition("-")[2])), None)
    if named is None:
        face.say(t("agents.no_such", name=visible(name)))
    elif not (stops or text):
        face.say(agent_line(named, time.time()))
    elif named.state not in ("waiting", "running"):
        face.say(t("agents.not_at_work", name=visible(name)))
    elif stops:
        face.session.send(intents.StopAgent(named.id))
    else:
        face.session.send(intents.SteerAgent(named.id, text))
        face.say(t("agents.told", name=named.id))


def inbox(face: Face, argument: str) -> None:
    """The questions that wait, its own, its sub-agents' and other sessions'; a number has one put first."""
    here, elsewhere, now = face.waiting, face.opened.waiting_elsewhere(), time.time()
    if not (here or elsewhere):
        face.say(t("app.nothing_asked"))
    elif argument:
        at = int(argument) if argument.isascii() and argument.isdecimal() and len(argument) < 6 else 0
        if 1 <= at <= len(here):
            face.questions.bring(here[at - 1].question.id)
        elif len(here) < at <= len(here) + len(elsewhere):
            one, waits = elsewhere[at - len(here) - 1]
            face.opened.switch(lambda: one.view.session)
            if face.opened.current is one:
                face.questions.bring(waits.question.id)
        else:
            face.say(t("plain.usage_inbox"))
    else:
        rows = [_question(waits, now) for waits in here]
        rows += [pair(one_line(one.view.title), _question(waits, now)) for one, waits in elsewhere]
        face.say(*(f"  {at}. {row}" for at, row in enumerate(rows, 1)), t("plain.usage_inbox"))


def _question(one: Waiting, now: float) -> str:
    asked = one.question
    about = asked.command or asked.url or asked.query or asked.path or asked.text or asked.tool
    left = t("approval.left", time=time_left(one.deadline, now))
    return listed((one_line(asked.agent), title(asked), one_line(visible(about)), left))


def context(face: Face, argument: str) -> None:
    """What fills the model's window; `drop N`, `pin N` and `back N` for one of the messages."""
    report = face.session.context()
    word, _, number = argument.partition(" ")
    if word:
        at = int(number) if number.strip().isascii() and number.strip().isdecimal() else 0
        if word not in ("drop", "pin", "back") or not 1 <= at <= len(report.items):
            face.say(t("plain.usage_context"))
            return
        wanted: View = "dropped" if word == "drop" else "pinned" if word == "pin" else ""
        face.session.send(intents.SetView((report.items[at - 1].message_id,), wanted))
        return
    face.say(total(report), counts(report), *filter(None, (counted(report),)))
    face.say(*(f"  {pair(part_name(part), tokens(part.tokens))}" for part in report.parts))
    if report.items:
        face.say(head(t("context.messages")))
    for at, item in enumerate(report.items[: limits.PLAIN_LISTED], 1):
        mark = t("context.pinned" if item.view == "pinned" else "context.dropped_only") if item.view else ""
        face.say(f"  {at}. {pair(listed((item_name(item), tokens(item.tokens), mark)), visible(item_subject(item)))}")
    if report.items:
        face.say(t("plain.usage_context"))


def permissions(face: Face, argument: str) -> None:
    """What is allowed and what was decided; `/permissions back N` takes one back."""
    found = sections(face.host.permissions(face.session.id), face.home)
    givable = [line for section in found for line in section.lines if line.allowed is not None]
    word, _, number = argument.partition(" ")
    if word:
        at = int(number) if number.strip().isascii() and number.strip().isdecimal() else 0
        if word != "back" or not 1 <= at <= len(givable):
            face.say(t("plain.usage_permissions"))
            return
        allowed = givable[at - 1].allowed
        assert allowed is not None
        face.host.take_back(face.session.id, allowed)
        face.held = face.host.walls.containment()
        face.say(t("plain.taken_back", what=one_line(givable[at - 1].words)))
        return
    for section in found:
        face.say(head(section.title))
        for line in section.lines:
            number = f"{givable.index(line) + 1}. " if line.allowed is not None else ""
            side = f" ({one_line(line.side)})" if line.side else ""
            words = one_line(line.words) + side
            face.say(f"  {number}{pair(t(f'plain.verdict_{line.mark}'), words) if line.mark else words}")
    if givable:
        face.say(t("plain.usage_permissions"))


def usage(face: Face, argument: str) -> None:
    used = face.host.usage(face.session.id)
    rows = table(used)
    if not rows:
        face.say(t("usage.nothing"))
        return
    face.say(head(t("usage.title")))
    for row in rows:
        facts = [f"{t(f'usage.{name}')} {value}" for name, value in row.items() if name != "model" and value]
        face.say(f"  {pair(row['model'], listed(facts))}")
    face.say(*budget_lines(used), *remarks(rows))


def insights(face: Face, days: str) -> None:
    """What all sessions have used: of the last days, where a number of them is given."""
    if days and not (days.isascii() and days.isdigit() and 0 < int(days) <= limits.INSIGHT_DAYS):
        face.say(t("insights.usage"))
        return

    def come(found: Insights) -> None:
        from nanoherm_tui.words.insights import insight_lines

        face.say(*insight_lines(found, bars=False))

    face.say(t("insights.summing"))
    face.beside(lambda: face.host.insights(int(days or 0)), come)


def disk(face: Face, argument: str) -> None:
    report = face.host.disk_report()
    face.say(head(t("disk.title")), *(f"  {pair(what, size)}" for what, size in parts(report)))
    if report.sessions:
        face.say(head(t("disk.session")))
        rows = [(title, listed((f"{n} {t('disk.messages')}", size))) for title, n, size in largest(report)]
        face.say(*(f"  {pair(*row)}" for row in rows))


def doctor(face: Face, argument: str) -> None:
    """What is in order on this machine, and what mends the rest. The terminal is not asked: nothing is drawn here."""

    def look() -> list[str]:
        from agent_core.doctor.check import Patient
        from agent_core.doctor.examination import examine
        from nanoherm_tui.subcommands.doctor import summary

        launch = face.host.launch
        patient = Patient(face.host.places, os.environ, launch.overrides, subagents_file=launch.subagents_file)
        found = list(examine(patient, ()))
        lines = []
        for check in found:
            lines.append(pair(t(f"plain.check_{check.state}"), pair(check.title, visible(check.text))))
            lines += (f"  > {line}" for line in visible(check.fix).splitlines())
        return [*lines, summary(found)]

    face.say(t("app.examining"))
    face.beside(look, lambda lines: face.say(*lines))


# -- files brought back -----------------------------------------------------------------------------------------------


def rollback(face: Face, argument: str) -> None:
    """`/rollback`: choose a turn; `/rollback n`: the last n that changed files; `/rollback redo`: take it back."""
    if face.session.busy:
        face.say(t("rewind.busy"))
        return
    here, look, wanted = face.session.id, face.host.checkpoints, argument.lower()
    if wanted == "redo":
        face.beside(lambda: look.redoable(here), lambda plan: _redo(face, plan))
    elif wanted in ("", "list"):
        face.beside(lambda: look.list(here), lambda turns: _turns(face, turns))
    elif wanted.isdecimal() and int(wanted) > 0:
        count = int(wanted)

        def last() -> RollbackPlan:
            done = [turn for turn in look.list(here) if not turn.undone]
            if len(done) < count:
                words = t("rollback.fewer", n=len(done), wanted=count) if done else t("rollback.nothing")
                raise AgentError("rollback_fewer", words)
            return look.plan(here, done[count - 1].turn_id)

        face.beside(last, lambda plan: _plan(face, plan))
    else:
        face.say(t("rollback.argument", given=visible(argument)))


def _turns(face: Face, turns: Sequence[Checkpoint]) -> None:
    if not turns:
        face.say(t("rollback.nothing"))
        return
    here, look = face.session.id, face.host.checkpoints

    def chosen(number: int) -> None:
        face.beside(lambda: look.plan(here, turns[number].turn_id), lambda plan: _plan(face, plan))

    numbered(face, head(t("rollback.title")), [_turn(turn) for turn in turns], chosen)


def _turn(turn: Checkpoint) -> str:
    files = t("rollback.file") if len(turn.files) == 1 else t("rollback.files", n=len(turn.files))
    undone = f", {t('rollback.undone')}" if turn.undone else ""
    return f"{one_line(visible(turn.text)) or t('rollback.no_text')}, {age(time.time() - turn.when)}, {files}{undone}"


def _plan_lines(plan: RollbackPlan) -> list[str]:
    lines = []
    for file in plan.files:
        why = f" ({phrase('left_because', one_line(file.why))})" if file.why else ""
        lines.append(f"  {pair(t(f'rollback.does_{file.does}'), visible(one_line(file.path)))}{why}")
    return lines


def _plan(face: Face, plan: RollbackPlan) -> None:
    """Show what would be done, and do it when that is wanted."""
    if not plan.acts:
        face.say(t("rollback.none_change"), *_plan_lines(plan))
        return
    files = t("rollback.file") if len(plan.acts) == 1 else t("rollback.files", n=len(plan.acts))
    lines = ["", t("rollback.change", files=files), *_plan_lines(plan)]

    def go() -> None:
        face.session.send(intents.Rollback(plan.turn_id))

    face.ask(yes_or_no(lines, t("confirm.do"), t("confirm.keep"), go, lambda: None))


def _redo(face: Face, plan: RollbackPlan | None) -> None:
    if plan is None:
        face.say(t("rollback.nothing_to_redo"))
        return
    lines = ["", t("rollback.redo_title"), *_plan_lines(plan)]

    def go() -> None:
        face.session.send(intents.RollbackRedo())

    face.ask(yes_or_no(lines, t("confirm.do"), t("confirm.keep"), go, lambda: None))
