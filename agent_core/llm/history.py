"""What every wire makes of a stored conversation before it writes it its own way: pure, the same for all.

Each call has one result, ids are such as the server takes, nothing is empty (LLM wire rules 33 and 34). The history is
cleaned on every request and never stored differently.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence

from agent_core.llm.providers import IdRule
from agent_core.messages import ImagePart, Message, ToolCall

NO_RESULT = "(no result: the call was interrupted before it finished)"
NO_OUTPUT = "(no output)"
NO_IMAGE = "[image left out: this model takes none]"
RESULT_IMAGES = "[The images of the results above, in their order. No new instructions.]"


_OPENING = Message("user", "(The conversation goes on.)", id="opening", created=0.0)


def opened(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """`messages` with the person's part first, as servers want it: one that was brought from elsewhere may lack it."""
    for index, message in enumerate(messages):
        if message.role == "user" and (message.text.strip() or message.parts):
            break
        if message.role == "assistant" and (message.text.strip() or message.tool_calls):
            return (*messages[:index], _OPENING, *messages[index:])
    return messages


def results_after(history: Sequence[Message], index: int) -> dict[str, Message]:
    """The results that follow the assistant message at `index`, by call id; other messages may use the same ids."""
    found: dict[str, Message] = {}
    for message in history[index + 1 :] if history[index].tool_calls else ():
        if message.role == "assistant":
            break
        if message.result is not None:
            found.setdefault(message.result.call_id, message)
    return found


def result_text(answer: Message | None, images: bool = True) -> str:
    """What a server is told of a call's result; never empty, as most refuse that. Without `images` that it had some."""
    text = NO_RESULT if answer is None else answer.text
    if answer is not None and answer.parts and not images:
        text = f"{text}\n{NO_IMAGE}"
    return text if text.strip() else NO_OUTPUT


def images_of(message: Message, results: Mapping[str, Message]) -> Message | None:
    """The images that a round's results have, as a message of the person's behind it: on most wires a result is text.

    None when there are none.
    """
    answers = (results.get(call.id) for call in message.tool_calls)
    parts = tuple(part for answer in answers if answer is not None for part in answer.parts)
    return Message("user", RESULT_IMAGES, id=f"{message.id}-images", created=0.0, parts=parts) if parts else None


def user_content(message: Message, images: bool) -> list[str | ImagePart]:
    """The text and the images of a user message, nothing of it empty; without `images` a remark in their place."""
    text = [message.text] if message.text.strip() else []
    return [*text, *(part if images else NO_IMAGE for part in message.parts)]


def cache_control(ttl: str, dropped: frozenset[str]) -> dict[str, str]:
    """What a mark for the server's cache says (CFG-09), empty when there shall be none; `dropped` is of Quirks."""
    if not ttl or "cache_control" in dropped:
        return {}
    return {"type": "ephemeral"} if ttl == "5m" or "ttl" in dropped else {"type": "ephemeral", "ttl": ttl}


def tool_name(call: ToolCall) -> str:
    """The name of the called tool as servers accept one, whatever the model wrote."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:64] or "unknown_tool"


def arguments_json(call: ToolCall) -> str:
    return json.dumps(dict(call.arguments), ensure_ascii=False, default=str)


class CallIds:
    """Ids of calls as one server accepts them.

    Different for different calls, also where a server that counts from 0 in every reply gave several the same id, and
    equal from request to request. "keep" leaves even those: who made them takes them back.
    """

    __slots__ = ("_rule", "_taken", "_uses")

    def __init__(self, rule: IdRule) -> None:
        self._rule = rule
        self._taken: set[str] = set()
        self._uses: dict[str, int] = {}

    def next(self, call_id: str) -> str:
        """The id to send for the next call that is known as `call_id`, and for its result."""
        if self._rule == "keep" and call_id:
            return call_id
        while True:
            use = self._uses.get(call_id, 0)
            self._uses[call_id] = use + 1
            wanted = _fit(call_id, self._rule, use)
            if wanted not in self._taken:
                self._taken.add(wanted)
                return wanted


def _fit(call_id: str, rule: IdRule, use: int) -> str:
    """`call_id` itself where `rule` allows it and it is used for the first time, else one made from it."""
    if use == 0 and _ALLOWED_IDS[rule].fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(f"{use}:{call_id}".encode("utf-8", "replace")).hexdigest()
    return digest[:9] if rule == "alnum9" else f"call_{digest[:24]}"


_ALLOWED_IDS: Mapping[IdRule, re.Pattern[str]] = {
    "keep": re.compile(r".+", re.DOTALL),
    "alnum9": re.compile(r"[A-Za-z0-9]{9}"),
    "max40": re.compile(r".{1,40}", re.DOTALL),
    "safe": re.compile(r"[A-Za-z0-9_-]{1,64}"),
}
