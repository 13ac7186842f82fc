"""What of a finished turn a later session should know: one question to a model, and what its answer may become.

Only a turn that came to its answer by itself is looked at, and only where something can have been learnt. What the
model proposes is not believed: each entry has to show the words of the turn that it rests on, and what the person
wants must rest on the person's own words, so that no page and no file can become a wish of theirs. Pure but for `ask`.
Source: MEM-08, LRN-02.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.events import Event, UsageReported
from agent_core.knowledge import MEMORY_KINDS, Memory
from agent_core.messages import Message
from agent_core.mind import prompt
from agent_core.mind.meter import Meter
from agent_core.ports.extras import EndedTurn
from agent_core.ports.model import Delta, Line, LlmReply, LlmRequest

_CORRECTS: Final = re.compile(
    r"\bno\s*[,.!]|\b(?:not what|don'?t|do not|never|always|instead|wrong|actually|prefer|remember|from now on|"
    r"next time|should(?:n'?t| have| not)?|stop \w+ing|i (?:said|meant|told you))\b|"
    r"不要|不对|不是这|不行|(?<![特分区个类级性告])别|错了|搞错|应该|以后|下次|记住|记得|总是|每次|从不|改成|我说的是|"
    r"我的意思|我喜欢|我习惯|偏好",
    re.IGNORECASE,
)


def is_worth_it(turn: EndedTurn) -> bool:
    """Whether something can have been learnt in a turn, and its model can be asked: not where it failed in it."""
    if not turn.completed or turn.stood_in:
        return False
    used_tools = any(message.tool_calls for message in turn.messages)
    said = _said(turn)
    return used_tools or len(said.strip()) >= limits.DISTIL_LEAST or bool(_CORRECTS.search(said))


def _said(turn: EndedTurn) -> str:
    """The person's own words: what began the turn, and what they put in while it ran, where most corrections are."""
    return "\n\n".join((turn.text, *(message.text for message in turn.messages if message.origin == "steer")))


def material(turn: EndedTurn, known: Sequence[Memory]) -> dict[str, Any]:
    """What of a turn is shown: bounded, and free of what the person does not see."""
    steps = []
    for message in turn.messages:
        if message.result is not None:
            result = message.result
            text = _cut(result.text, limits.DISTIL_RESULT)
            steps.append({"tool": result.name, "outcome": result.outcome, "result": text})
    return {
        "said": _cut(_said(turn), limits.DISTIL_TEXT),
        "answer": _cut(turn.answer, limits.DISTIL_TEXT),
        "steps": steps[-limits.DISTIL_STEPS :],
        "known": [f"{number}. {memory.kind}: {memory.text}" for number, memory in enumerate(known, 1)],
    }


def request(shown: dict[str, Any], model: str) -> LlmRequest:
    """The question about a turn; the data stands between two lines with a mark that nobody could have known."""
    data, mark = json.dumps(shown, ensure_ascii=False), secrets.token_hex(12)
    text = f"=== {mark} ===\n{data}\n=== {mark} ===\nAnswer with a JSON list and nothing else."
    return LlmRequest(
        (
            Message("system", prompt.text("distil"), id="distil", created=0.0),
            Message("user", text, id="distilled", created=0.0),
        ),
        model=model,
        stream=False,
        max_tokens=limits.DISTIL_TOKENS,
        cache_ttl="",
    )


def ask(
    shown: dict[str, Any], line: Line, meter: Meter, emit: Callable[[Event], None], cancel: CancelScope
) -> LlmReply:
    """The model's answer, its use checked before, booked and told after. Raises AgentError, Interrupted."""
    wanted = request(shown, line.model)
    who = line.provider, line.model
    reply = line.client.complete(wanted, meter.guard(wanted, _ignore, who), cancel)
    named = LlmReply(usage=reply.usage, provider=reply.provider or who[0], model=reply.model or who[1])
    bill = meter.book(named)
    if reply.usage is not None:
        emit(UsageReported(reply.usage, None, None, named.model, bill.cost, bill.session_cost, bill.at_least))
    return reply


def _ignore(delta: Delta) -> None:
    """Nobody watches it arrive."""


def read(reply: LlmReply, shown: dict[str, Any], known: Sequence[Memory]) -> tuple[tuple[Memory, bool], ...]:
    """The memories that an answer proposes and the turn bears out, each with whether it holds everywhere.

    Anything but a list of such objects proposes nothing.
    """
    if reply.tool_calls or reply.dropped_tool_calls:
        return ()
    start, end = reply.text.find("["), reply.text.rfind("]")
    try:
        found = json.loads(reply.text[start : end + 1])
    except (ValueError, RecursionError):
        return ()
    said = _folded(shown["said"])
    rest = _folded("\n".join((shown["answer"], *(step["result"] for step in shown["steps"]))))
    out: list[tuple[Memory, bool]] = []
    for entry in found if isinstance(found, list) else ():
        made = _entry(entry, said, rest, known)
        if made is not None:
            out.append((made, entry.get("everywhere") is True))
    return tuple(out[: limits.DISTIL_ENTRIES])


def _entry(entry: Any, said: str, rest: str, known: Sequence[Memory]) -> Memory | None:
    if not isinstance(entry, dict):
        return None
    text, quote = entry.get("text"), entry.get("quote")
    kind = next((kind for kind in MEMORY_KINDS if kind == entry.get("kind")), None)
    if kind is None or not isinstance(text, str) or not text.strip() or not isinstance(quote, str):
        return None
    shown = _folded(quote[: limits.DISTIL_QUOTE])
    of_person = kind in ("preference", "correction")
    if len(shown) < limits.DISTIL_QUOTE_LEAST or (shown not in said and (of_person or shown not in rest)):
        return None
    numbers = entry.get("builds_on")
    builds = [n for n in numbers if isinstance(n, int) and 1 <= n <= len(known)] if isinstance(numbers, list) else []
    return Memory(
        "",
        kind,
        text.strip(),
        origin="distilled",
        observed=" ".join(quote.split())[: limits.DISTIL_QUOTE],
        derived=tuple(dict.fromkeys(known[n - 1].id for n in builds)),
    )


def distil(
    turn: EndedTurn,
    known: Sequence[Memory],
    connect: Callable[[], Line],
    meter: Meter,
    redact: Callable[[str], str],
    emit: Callable[[Event], None],
    cancel: CancelScope,
) -> tuple[tuple[Memory, bool], ...]:
    """What of a turn is to be remembered, each with whether it holds everywhere. Raises AgentError, Interrupted."""
    shown = json.loads(redact(json.dumps(material(turn, known), ensure_ascii=False)))
    line = connect()
    try:
        return read(ask(shown, line, meter, emit, cancel), shown, known)
    finally:
        line.client.close()


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _cut(text: str, most: int) -> str:
    """Head and tail of a text: what was asked stands in the one, what came of it in the other."""
    return text if len(text) <= most else f"{text[: most // 2]}\n[...]\n{text[-(most // 2) :]}"
