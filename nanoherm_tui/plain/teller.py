"""Everything a session tells, as lines of words. Pure: events in, lines out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from agent_core import events, names
from agent_core.messages import Usage
from nanoherm_tui.calls import Call
from nanoherm_tui.i18n import t, tell
from nanoherm_tui.plain.answer import Answer
from nanoherm_tui.plain.waits import MODEL, Waits
from nanoherm_tui.plain.words import (
    closed_line,
    goal_lines,
    held_line,
    listed,
    memory_lines,
    mode_line,
    options_line,
    plan_lines,
    recalled_line,
    rolled_back_lines,
)
from nanoherm_tui.plain.work_words import agent_lines, task_lines
from nanoherm_tui.text import Cost, clean, count, duration, money, one_line, visible
from nanoherm_tui.transcript.outcomes import in_words

if TYPE_CHECKING:
    from agent_core.events import Event
    from agent_core.knowledge import Memory
    from agent_core.messages import Message
    from agent_core.servers import ServerRow
    from nanoherm_tui.session_view import SessionView


class Teller:
    """What one session tells, in order. It is asked about each event before `view` has taken it."""

    def __init__(self, view: SessionView) -> None:
        self._view = view
        self._answer = Answer()
        self._thinks = False
        self._in_turn = False
        self._has_message = False
        """The turn's first message has come: others are steers."""
        self._used = Usage()
        self._cost: float | None = 0.0
        self._servers: dict[str, str] = {}
        self.waits = Waits()
        """What takes long."""
        self.last_answer = ""
        """What the model said last."""
        self._kinds: dict[str, str] = {}
        """Of the questions that wait, by id."""
        self._told_ended: set[str] = set()
        """Calls whose end was told before their result came."""
        self._recalled: tuple[Memory, ...] = ()
        """What the turn before was told of what is remembered."""

    def tell(self, event: Event) -> list[str]:
        """The lines for one event; most of those about a session's opening are left to `opened`."""
        if not self._view.loaded and not isinstance(event, events.HistoryChanged | events.Notice | events.ErrorRaised):
            return []
        match event:
            case events.TextDelta(text):
                lines = self._answer.more(text)
                if lines:  # that is sign of life enough
                    self.waits.begin(MODEL, "", time.monotonic())
                return lines
            case events.ReasoningDelta():
                thought, self._thinks = self._thinks, True
                return [] if thought else [t("plain.thinks")]
            case events.PartialDropped():
                self._thinks = False
                return self._answer.void()
            case events.AssistantMessage(_, text, _, interrupted, stopped=stopped):
                self._thinks = False
                self.waits.end(MODEL)
                self.last_answer = text.strip() or self.last_answer
                cut = t("transcript.stopped") if stopped else t("transcript.broken")
                return self._answer.whole(text) + ([cut] if interrupted else [])
            case events.TurnStarted():
                self._in_turn, self._has_message, self._used, self._cost = True, False, Usage(), 0.0
                return [t("plain.turn_begins")]
            case events.UserMessage(_, text, origin):
                is_steer = self._has_message and origin in ("", "steer")
                self._has_message = True
                return [t("plain.told_model", text=one_line(text))] if is_steer else []
            case events.AgentsReturned(agents=agents):
                good = sum(row.state == "done" for row in agents)
                return [t("plain.agents_back", who=listed([row.id for row in agents]), n=good, of=len(agents))]
            case events.StepStarted(step):
                self.waits.begin(MODEL, "", time.monotonic())
                return [t("plain.step", n=step)] if step > 1 else []
            case events.TurnFinished():
                return self._turn_ended(event)
            case events.UsageReported(usage, cost=cost):
                self._used += usage
                self._cost = None if cost is None or self._cost is None else self._cost + cost
                return []
            case events.ToolArriving(name, characters):
                self.waits.heard(MODEL, t("plain.arriving", name=one_line(name), n=count(characters)))
                return []
            case events.ToolStarted(call_id):
                self.waits.begin(call_id, self._call(call_id), time.monotonic())
                return [t("plain.call_begins", call=self._call(call_id))]
            case events.ToolProgress(call_id, text):
                self.waits.heard(call_id, text)
                return []
            case events.ToolEnded(call_id, ok, outcome, seconds):
                self._told_ended.add(call_id)
                return self._end_line(call_id, outcome, seconds, ok=ok)
            case events.ToolFinished():
                return self._call_ended(event)
            case events.PlanChanged(items):
                return plan_lines(items)
            case events.CompactionStarted(messages):
                return [t("plain.compacting", n=messages)]
            case events.CompactionFinished(message_id, _, messages):
                return [t("transcript.compacted", n=messages) if message_id else t("plain.not_compacted")]
            case events.ViewChanged(ids, wanted):
                return [t(f"plain.view_{wanted or 'back'}", n=len(ids))]
            case events.Notice(code, text, level, params):
                key = "plain.warning" if level == "warning" else "plain.notice"
                return [t(key, text=clean(tell(code, params, text)))]
            case events.ErrorRaised(code, text, params):
                return [t("plain.error", text=clean(tell(code, params, text)))]
            case events.PendingChanged(steers, queued):
                new_steers, new_queued = _new(self._view.steers, steers), _new(self._view.queued, queued)
                return [
                    *(t("plain.steer_waits", text=one_line(text)) for text in new_steers),
                    *(t("plain.queue_waits", text=one_line(text)) for text in new_queued),
                ]
            case events.TextReturned(text):
                return [t("plain.returned", text=one_line(text))]
            case events.ModeChanged(mode):
                return [mode_line(mode)] if mode != self._view.mode else []
            case events.GoalChanged(text, state, evidence):
                return goal_lines(text, state, evidence)
            case events.ModelChanged(_, _, label):
                return [t("plain.model", model=one_line(label))] if label != self._view.model_label else []
            case events.OptionsChanged():
                return [options_line(event)] if event != self._view.options else []
            case events.TitleChanged(title):
                return [t("plain.title", title=one_line(title))] if title and title != self._view.title else []
            case events.StateChanged(state):
                return [t("plain.stopping")] if state == "stopping" and self._view.state != "stopping" else []
            case events.HeldElsewhere(pid, since):
                return [held_line(pid, since)]
            case events.TasksChanged(tasks):
                return task_lines(self._view.tasks, tasks)
            case events.FilesRolledBack():
                return rolled_back_lines(event)
            case events.AgentsChanged(agents):
                return agent_lines(self._view.agents, agents)
            case events.ServersChanged(servers):
                return self._server_lines(servers)
            case events.Remembered():
                return memory_lines(event)
            case events.Recalled(memories):
                before, self._recalled = self._recalled, memories
                return [recalled_line(memories)] if memories and memories != before else []
            case events.QuestionAsked(question):
                self._kinds[question.id] = question.kind
                return []  # `questions` puts it, `opened` says that one out of view waits
            case events.QuestionClosed(question_id):
                return closed_line(event, self._kinds.pop(question_id, ""))
            case events.HistoryChanged(messages, earlier):
                self.last_answer = next((m.text for m in reversed(messages) if _is_answer(m)), self.last_answer)
                return history_lines(self._view.title, messages, earlier) if messages else []
            case events.Resting():
                return [t("plain.rests")]
            case events.ToolQueued() | events.ModeToConfirm() | events.UsageLoaded():
                return []  # its question or its begin says so; `consents` asks; /usage tells
            case _:
                assert_never(event)

    # -- a turn ------------------------------------------------------------------------------------------------------

    def _call(self, call_id: str) -> str:
        call = self._view.calls.get(call_id, Call(""))
        return f"{one_line(call.name)} {one_line(call.subject)}".strip()

    def _end_line(self, call_id: str, outcome: str, seconds: float, *, ok: bool) -> list[str]:
        self.waits.end(call_id)
        words = in_words(one_line(outcome)) or t("plain.call_ok" if ok else "plain.call_failed")
        key = "plain.call_ended" if ok else "plain.call_ended_badly"
        return [t(key, call=self._call(call_id), outcome=words, took=duration(seconds))]

    def _call_ended(self, event: events.ToolFinished) -> list[str]:
        lines = self._end_line(event.call_id, event.outcome, event.seconds, ok=event.ok)
        if event.name == names.SHELL:  # the person's own command: what it wrote is what it was run for
            return lines + clean(event.text, tab_size=0).rstrip("\n").split("\n")
        if event.call_id in self._told_ended:  # and whose the preview is must still be said
            self._told_ended.discard(event.call_id)
            lines = lines if event.preview else []
        return lines + [f"  {clean(line)}" for line in event.preview]

    def _turn_ended(self, event: events.TurnFinished) -> list[str]:
        self._in_turn = False
        self.waits.clear()
        lines = self._answer.whole("") if event.outcome == "failed" else []
        facts = [duration(event.seconds), t("agents.step") if event.steps == 1 else t("agents.steps", n=event.steps)]
        if self._used.prompt_tokens is not None:
            facts.append(t("plain.tokens_in", n=count(self._used.prompt_tokens)))
        if self._used.completion_tokens is not None:
            facts.append(t("plain.tokens_out", n=count(self._used.completion_tokens)))
        if self._cost:
            facts.append(money(Cost(self._cost)))
        if self._view.context_percent is not None:
            facts.append(t("plain.context", n=self._view.context_percent))
        return [*lines, t(f"plain.turn_{event.outcome}", facts=listed(facts))]

    def _server_lines(self, servers: Sequence[ServerRow]) -> list[str]:
        lines = []
        for row in servers:
            before = self._servers.get(row.name, "")
            self._servers[row.name] = row.state
            if row.state == before or (not before and row.state in ("idle", "off")):
                continue
            words = t("plain.server", name=visible(row.name), state=t(f"servers.state_{row.state}"))
            if row.problem:
                words = f"{words}. {clean(tell(row.code, row.params, row.problem))}"
            lines.append(words)
        return lines


def _new(before: Sequence[str], now: Sequence[str]) -> list[str]:
    left = list(before)
    new = []
    for text in now:
        if text in left:
            left.remove(text)
        else:
            new.append(text)
    return new


# -- what was said before ---------------------------------------------------------------------------------------------


def history_lines(title: str, messages: Sequence[Message], earlier: int) -> list[str]:
    """A stored session: its title, how much there is, and its last exchange."""
    lines = [t("plain.session", title=one_line(title) or t("sessions.untitled"), n=len(messages) + earlier)]
    asked = next((n for n in range(len(messages) - 1, -1, -1) if _is_said(messages[n])), None)
    if asked is None:
        return lines
    lines += [t("plain.you_said"), clean(messages[asked].text, tab_size=0).rstrip("\n")]
    answers = [one.text for one in messages[asked:] if _is_answer(one)]
    return lines + (Answer().whole(answers[-1]) if answers else [])


def _is_answer(message: Message) -> bool:
    return message.role == "assistant" and bool(message.text.strip())


def _is_said(message: Message) -> bool:
    return message.role == "user" and message.origin in ("", "steer") and bool(message.text.strip())
