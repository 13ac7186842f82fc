"""Parts of what is told, each as a line of words, or as several."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agent_core.rollback import REASONS
from nanoherm_tui import i18n
from nanoherm_tui.i18n import phrase, series, t
from nanoherm_tui.text import one_line, visible

if TYPE_CHECKING:
    from agent_core import events
    from agent_core.knowledge import Memory
    from agent_core.ports.means import TodoItem


def listed(parts: Iterable[str]) -> str:
    return ("，" if i18n.language() == "zh" else ", ").join(filter(None, parts))


def pair(name: str, value: str) -> str:
    """A name and what belongs to it."""
    return t("text.pair", name=name, value=value)


def head(title: str) -> str:
    """What stands above a list."""
    return t("plain.head", title=title)


def closed_line(event: events.QuestionClosed, kind: str) -> list[str]:
    """What has become of a question of this kind, unless the session's own words tell it."""
    if event.by == "person":
        if event.decision == "once" and kind in ("ask_user", "form", "visit"):
            return [t("plain.closed_answered")]
        return [t(f"plain.closed_{event.decision}")]
    return [t(f"plain.closed_{event.by}")] if event.by in ("timeout", "interrupt") else []


def mode_line(mode: str) -> str:
    """The mode, and what it means."""
    return t("plain.mode", mode=mode, words=t(f"modes.{mode}"))


def goal_lines(text: str, state: str, evidence: str) -> list[str]:
    if state == "open":
        return [t("app.goal_is", goal=one_line(text))]
    if state == "reached":
        proof = [t("plain.goal_evidence", text=one_line(evidence))] if evidence else []
        return [t("plain.goal_reached", goal=one_line(text)), *proof]
    return [t("plain.goal_given_up", goal=one_line(text))] if state == "given_up" else []


def plan_lines(items: Sequence[TodoItem]) -> list[str]:
    """The plan, each item with how it stands in a word."""
    if not items:
        return [t("dock.no_plan")]
    done = sum(item.status == "completed" for item in items)
    words = t("plain.plan", done=t("dock.plan_done", n=done, total=len(items)))
    return [words, *(f"  {pair(t(f'plain.todo_{item.status}'), one_line(item.text))}" for item in items)]


def options_line(options: events.OptionsChanged) -> str:
    """The session's own settings as they are."""
    configured = t("app.as_configured")
    temperature = configured if options.temperature is None else f"{options.temperature:g}"
    parts = [
        t("app.is_set", name=t("actions.persona"), value=one_line(options.persona) or t("app.no_persona")),
        t("app.is_set", name=t("actions.temperature"), value=temperature),
        t("app.is_set", name=t("actions.effort"), value=options.reasoning_effort or configured),
    ]
    if options.tools_off is not None:
        parts.append(t("tools.off_are", tools=series(options.tools_off) or t("tools.none_off")).rstrip("."))
    return listed(parts)


def held_line(pid: int, since: float) -> str:
    if not pid:
        return t("plain.held_no_more")
    return t("composer.held", pid=pid, since=time.strftime("%H:%M", time.localtime(since)))


def memory_lines(event: events.Remembered) -> list[str]:
    kept, gone = ("told_waits", "told_gone_waits") if event.pending else ("told", "told_gone")
    return [
        *(t(f"memory.{kept}", text=one_line(one.text)) for one in event.memories),
        *(t(f"memory.{gone}", text=one_line(one.text)) for one in event.gone),
    ]


def recalled_line(memories: Sequence[Memory]) -> str:
    """How much of what is remembered the turn is told, and the best of it."""
    return t("plain.recalled", n=len(memories), text=one_line(memories[0].text))


def rolled_back_lines(event: events.FilesRolledBack) -> list[str]:
    """Which files are others now, and which were left and why."""
    lines = []
    if event.paths:
        key = "rollback.redone" if event.redo else "rollback.done"
        lines += [t(key, command="/rollback redo"), *(f"  {one_line(path)}" for path in event.paths)]
    elif not event.left:
        lines.append(t("rollback.nothing_done"))
    if event.left:
        lines += [t("rollback.left"), *(f"  {_left(one_line(words))}" for words in event.left)]
    return lines


def _left(words: str) -> str:
    """A path and why it was left; either may have a colon in it."""
    why = next((why for why in REASONS.values() if words.endswith(f": {why}")), "")
    path = visible(words.removesuffix(f": {why}") if why else words)
    return t("approval.rule_named", kind=path, name=phrase("left_because", why)) if why else path
