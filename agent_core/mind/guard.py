"""Notices when a turn goes round in circles: the same call failing, a tool failing however it is called, cycles.

Pure: the history so far and what has just happened in, a verdict out. Sources: APPR-21, APPR-22, NUM-30.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from agent_core import limits, names
from agent_core.messages import ToolCall, ToolResult
from agent_core.records import dataclass
from agent_core.text.clamp import clamp

Rule = Literal["loop_same_call", "loop_same_tool", "loop_repeated", "loop_cycle"]
"""Also the code of the notice."""


@dataclass(frozen=True, slots=True)
class GuardRules:
    """When to warn, and when to stop. Counts are of failures since the last progress."""

    warnings: bool = True
    hard_stop: bool = False
    """Calls are blocked and the turn is ended: where no person watches."""
    warn_same_call: int = limits.GUARD_SAME_CALL_WARN
    block_same_call: int = limits.GUARD_SAME_CALL_BLOCK
    warn_same_tool: int = limits.GUARD_SAME_TOOL_WARN
    halt_same_tool: int = limits.GUARD_SAME_TOOL_HALT


USUAL: Final = GuardRules()


@dataclass(frozen=True, slots=True)
class Seen:
    """One observation: which tool, with which arguments, and what came of it."""

    tool: str
    arguments: str
    """Their digest."""
    result: str
    """Its digest."""
    ok: bool
    progress: bool
    """It has changed something: what failed before is worth another try."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the history shows. `count` is how often, `period` after how many calls it begins anew."""

    rule: Rule
    tool: str
    count: int
    text: str
    """For the model."""
    new: bool
    """A person has not been told yet."""

    @property
    def told(self) -> str:
        """The same for a person."""
        return _TOLD[self.rule].format(tool=self.tool, count=self.count)


_TOLD: Final[Mapping[Rule, str]] = {
    "loop_same_call": "{tool} has failed {count} times with the same arguments; the model is told.",
    "loop_same_tool": "{tool} has failed {count} times in a row; the model is told.",
    "loop_repeated": "The same call of {tool} came to the same result {count} times in a row; the model is told.",
    "loop_cycle": "The same round of calls came to the same results {count} times in a row; the model is told.",
}

History = tuple[Seen, ...]
"""Observations of one turn, oldest first, at most limits.GUARD_WINDOW."""

# A tool that runs anything at all, or asks the outside world, may fail often for good reason: only warned about.
_ONLY_WARNED: Final = frozenset(
    {
        names.RUN_COMMAND, "terminal", "execute_code", "process", "task_start", "task_list", "task_output", "task_kill",
        "browser_navigate", "web_extract", "web_fetch",
    }
)  # fmt: skip
_RATE_LIMITED: Final = re.compile(r"\b429\b|too many requests|rate[ _-]?limit", re.IGNORECASE)
_NEVER_THE_SAME: Final = re.compile(r'\b\d+(?:\.\d+)? ?m?s\b|<persisted-output path="[^"\n]*"')
"""No two runs take the same time, or have their long results in the same file; that makes these no different."""


def key(arguments: Mapping[str, Any]) -> str:
    """What tells one call's arguments from another's, whatever the order they come in."""
    return _digest(json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str))


def observe(history: History, call: ToolCall, tool: str, result: ToolResult, progress: bool) -> History:
    """`history` with one more result. One that says nothing of the call itself is left out: a stop, a busy server.

    `tool` is the tool's own name, whatever it was called by.
    """
    if not {"stopped", "not started", "abandoned"}.isdisjoint(result.outcome.split(", ")):
        return history
    if not result.ok and _RATE_LIMITED.search(result.text[: limits.GUARD_LOOKED_AT]):
        return history
    came = _digest(f"{result.ok}\n{_NEVER_THE_SAME.sub('', result.text)}")
    seen = Seen(tool, key(call.arguments), came, result.ok, progress and result.ok)
    return (*history, seen)[-limits.GUARD_WINDOW :]


def blocked(history: History, tool: str, call: ToolCall, rules: GuardRules) -> str:
    """Why `call` is not to be run, in words for the model; empty: it may run."""
    if not rules.hard_stop or tool in _ONLY_WARNED:
        return ""
    count = _same_call_failures(history, tool, key(call.arguments))
    if count < rules.block_same_call:
        return ""
    return (
        f"BLOCKED: {tool} has failed {count} times with exactly these arguments and was not run again. "
        "Do it another way, or say what stands in the way."
    )


def look(history: History, rules: GuardRules) -> Finding | None:
    """What the newest observation completes; the most telling finding of those there are."""
    if not history or not rules.warnings:
        return None
    return _failing(history, rules) or _cycling(history)


def halt(history: History, rules: GuardRules) -> Finding | None:
    """What ends the turn, if anything does."""
    if not rules.hard_stop or not history or history[-1].ok or history[-1].tool in _ONLY_WARNED:
        return None
    tool = history[-1].tool
    count = len(_tool_failures(history, tool))
    if count < rules.halt_same_tool:
        return None
    return Finding("loop_same_tool", tool, count, f"{tool} has failed {count} times in a row.", new=True)


def _failing(history: History, rules: GuardRules) -> Finding | None:
    last = history[-1]
    if last.ok:
        return None
    same = _same_call_failures(history, last.tool, last.arguments)
    if same >= rules.warn_same_call:
        text = f"This call has failed {same} times with the same arguments. Change them, or do it another way."
        return Finding("loop_same_call", last.tool, same, text, same == rules.warn_same_call)
    failures = _tool_failures(history, last.tool)
    if len(failures) >= rules.warn_same_tool:
        text = (
            f"{last.tool} has failed {len(failures)} times in a row, however it was called. Look for the cause before "
            "you call it again."
        )
        return Finding("loop_same_tool", last.tool, len(failures), text, len(failures) == rules.warn_same_tool)
    return None


def _cycling(history: History) -> Finding | None:
    for period in range(1, limits.GUARD_PERIOD + 1):
        rounds = _rounds(history, period)
        if rounds >= limits.GUARD_REPEATS:
            new = _rounds(history[:-1], period) < limits.GUARD_REPEATS
            what = "This call" if period == 1 else f"This round of {period} calls"
            text = f"{what} came to the same result {rounds} times in a row. Nothing changes; go on with what you know."
            return Finding("loop_repeated" if period == 1 else "loop_cycle", history[-1].tool, rounds, text, new)
    return None


def _rounds(history: Sequence[Seen], period: int) -> int:
    """How often the last `period` observations have come, one round right after the other."""
    last = history[-period:]
    rounds, end = 0, len(history)
    while end >= period and history[end - period : end] == last:
        rounds, end = rounds + 1, end - period
    return rounds


def _same_call_failures(history: History, tool: str, arguments: str) -> int:
    """Failures of this very call since it last worked and since the last progress."""
    count = 0
    for seen in reversed(history):
        if seen.progress or (seen.ok and (seen.tool, seen.arguments) == (tool, arguments)):
            break
        count += (seen.tool, seen.arguments, seen.ok) == (tool, arguments, False)
    return count


def _tool_failures(history: History, tool: str) -> list[Seen]:
    """Failures of this tool since it last worked and since the last progress."""
    found: list[Seen] = []
    for seen in reversed(history):
        if seen.progress or (seen.ok and seen.tool == tool):
            break
        if seen.tool == tool:
            found.append(seen)
    return found


def remark(result: ToolResult, text: str, room: int) -> ToolResult:
    """`result` with a remark of the program's own at its end, within `room` bytes."""
    note = f"\n[{text}]"
    return replace(result, text=clamp(result.text, room - len(note.encode()), "both") + note)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
