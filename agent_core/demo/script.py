"""What the scripted demo says next. Pure: it decides from the conversation it is shown, as a model would.

It repairs the sample project, and it tells what really happened: with the sample already repaired, with a test run or
the edit refused, or in a folder that is not the sample, its steps and its words differ. It is a script, not an AI, and
says so whenever it is asked for anything else.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from agent_core.names import SHELL_END, SHELL_HEAD
from agent_core.records import dataclass

CART = "shop/cart.py"
TEST_COMMAND = "python3 -m unittest -v"

# The fault, as it stands in the sample, and its repair.
FAULT = """\
    if len(cart) >= 3:
        return round(price * 0.9, 2)
    if member:
        return round(price * 0.95, 2)
    return round(price, 2)"""
REPAIR = """\
    if len(cart) >= 3:
        price *= 0.9
    if member:
        price *= 0.95
    return round(price, 2)"""

_WORK = re.compile(r"fix|repair|test|bug|discount|cart|demo|修|测试|折扣|购物车|演示|失败", re.IGNORECASE)

_SHELL = re.compile(f"{re.escape(SHELL_HEAD)}.*?{re.escape(SHELL_END)}", re.DOTALL)


@cache
def words_in(language: str) -> Mapping[str, str]:
    """The script's words in "en" or "zh"."""
    source = resources.files("agent_core.demo").joinpath(f"words_{language}.toml")
    words: dict[str, str] = tomllib.loads(source.read_text("utf-8"))
    return words


@dataclass(frozen=True, slots=True)
class Say:
    """One reply of the script: text, then calls. `calls` are (name, arguments)."""

    text: str
    reasoning: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()


@dataclass(frozen=True, slots=True)
class _Done:
    """A call of this turn with its result, as the wire shows it."""

    name: str
    arguments: Mapping[str, Any]
    result: str


def next_reply(messages: Sequence[Mapping[str, Any]]) -> Say:
    """The script's next reply to `messages` (OpenAI's wire form, arguments already decoded)."""
    start = max((i for i, m in enumerate(messages) if _is_prompt(m)), default=0)
    prompt = _asked(messages[start]) if messages else ""
    words = words_in("zh" if re.search(r"[\u4e00-\u9fff]", prompt) else "en")
    done = _calls_since(messages[start:])
    if not done:
        if not _WORK.search(prompt):
            return Say(words["about"])
        return _look(words)
    return _go_on(words, done)


def _is_prompt(message: Mapping[str, Any]) -> bool:
    """A person asked something, rather than only ran a command."""
    return message.get("role") == "user" and bool(_asked(message))


def _asked(message: Mapping[str, Any]) -> str:
    """A user message without what commands of the person's own gave."""
    return _SHELL.sub("", _text(message)).strip()


def _look(words: Mapping[str, str]) -> Say:
    return Say(
        words["look"],
        words["look_thought"],
        (
            _plan(words, 0),
            ("read_file", {"path": CART}),
            ("read_file", {"path": "tests/test_cart.py"}),
        ),
    )


def _go_on(words: Mapping[str, str], done: Sequence[_Done]) -> Say:
    code = next((d.result for d in done if d.name == "read_file" and d.arguments.get("path") == CART), "")
    runs = [d for d in done if d.name == "run_command"]
    edits = [d for d in done if d.name == "edit_file"]
    if "def total" not in code:
        return Say(words["no_sample"])
    if not runs:
        return Say(words["run"], "", (_plan(words, 1), ("run_command", {"command": TEST_COMMAND})))
    if not edits:
        return _after_first_run(words, code, runs[0])
    if _refused(edits[0]):
        alone = "nobody is there" in edits[0].result
        return Say(words["edit_unattended" if alone else "edit_refused"])
    if not edits[0].result.startswith(("Edited", "Changed", "Wrote")) and "replac" not in edits[0].result.lower():
        return Say(words["edit_failed"])
    if len(runs) == 1:
        return Say(words["verify"], "", (_plan(words, 3), ("run_command", {"command": TEST_COMMAND})))
    if _refused(runs[1]):
        return Say(words["done_unverified"])
    if not _passed(runs[1]):
        return Say(words["still_failing"])
    if done[-1].name != "todo_write":
        return Say("", "", (_plan(words, 4),))
    return Say(words["done"])


def _after_first_run(words: Mapping[str, str], code: str, run: _Done) -> Say:
    has_fault = "return round(price * 0.9, 2)" in code
    has_repair = "price *= 0.9" in code and "price *= 0.95" in code
    if has_repair and (_passed(run) or _refused(run)):
        return Say(words["already"].format(tests=words["already_unrun" if _refused(run) else "already_tests"]))
    if not has_fault:
        return Say(words["changed"])
    found = words["found_unrun"] if _refused(run) else words["found"]
    edit = ("edit_file", {"path": CART, "old_text": FAULT, "new_text": REPAIR})
    return Say(found, words["found_thought"], (_plan(words, 2), edit))


def _plan(words: Mapping[str, str], current: int) -> tuple[str, Mapping[str, Any]]:
    steps = ("plan_read", "plan_run", "plan_fix", "plan_verify")
    status = ["completed" if i < current else "in_progress" if i == current else "pending" for i in range(len(steps))]
    return "todo_write", {"items": [{"text": words[s], "status": st} for s, st in zip(steps, status, strict=True)]}


def _calls_since(messages: Sequence[Mapping[str, Any]]) -> list[_Done]:
    """The calls of these messages that have a result, in call order."""
    results = {m.get("tool_call_id"): _text(m) for m in messages if m.get("role") == "tool"}
    return [
        _Done(call["name"], call["arguments"], results[call["id"]])
        for m in messages
        for call in m.get("calls", ())
        if call["id"] in results
    ]


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or () if isinstance(part, Mapping))


def _refused(done: _Done) -> bool:
    return done.result.startswith(("The user refused", "BLOCKED", "Refused", "Mode plan"))


def _passed(done: _Done) -> bool:
    return re.search(r"^OK\b", done.result, re.MULTILINE) is not None
