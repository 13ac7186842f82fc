"""What fills a model's window, by part and message by message. Pure; counts are estimates, but for what the server
counted of the last request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from typing import Final, Literal

from agent_core import limits
from agent_core.messages import Message, ToolCall, Usage, View
from agent_core.mind import view
from agent_core.names import SHELL
from agent_core.records import dataclass

Kind = Literal["system", "context", "tools", "summary", "user", "answers", "reasoning", "calls", "shell", "results"]
_Scale = Callable[[int], int]
KINDS: Final[tuple[Kind, ...]] = (
    "system", "tools", "context", "summary", "user", "answers", "reasoning", "calls", "shell", "results"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """All there is of one kind; of results, all of one tool."""

    kind: Kind
    tokens: int
    tool: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One message of the conversation."""

    message_id: str
    kind: Kind
    tokens: int
    """What it takes of a request now."""
    gain: int
    """How many fewer a request would have without it."""
    view: View = ""
    tool: str = ""
    call: ToolCall | None = None
    """What a result is the answer to, for its subject."""
    call_id: str = ""
    text: str = ""
    """Its first words."""
    summarised: bool = False
    """It is not sent: the summary stands for it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a request would hold now."""

    parts: tuple[Part, ...] = ()
    items: tuple[Item, ...] = ()
    """The largest first; what is dropped, and what the person may want back, too."""
    total: int = 0
    window: int | None = None
    messages: int = 0
    """How many messages a request would hold."""
    summarised: int = 0
    """How many the summary stands for."""
    counted: Usage | None = None
    """What the server counted for the newest answer; None: nothing yet."""
    dropped: int = 0
    """How many messages the person has dropped."""
    saved: int = 0
    """How many tokens more a request would have with all of them."""


def report(
    history: Sequence[Message],
    wanted: Mapping[str, View],
    fixed: Mapping[str, int],
    factor: float = 1.0,
    window: int | None = None,
) -> Report:
    """What a request would hold of `history` once `wanted` (message id → view) counts too.

    `fixed` are tokens beside the conversation, `factor` what the server counts for one of ours.
    """
    if wanted:
        history = [replace(m, view=wanted[m.id]) if m.id in wanted else m for m in history]
    held = {message.id: message for message in view.held(history)}
    calls = {call.id: call for message in history for call in message.tool_calls}
    parts: dict[tuple[Kind, str], int] = {}
    sizes: list[tuple[int, Message]] = []
    dropped = saved = 0

    def scaled(tokens: int) -> int:
        return round(tokens * factor)

    def add(kind: Kind, tokens: int, tool: str = "") -> None:
        if tokens:
            parts[kind, tool] = parts.get((kind, tool), 0) + tokens

    for kind in KINDS:
        add(kind, fixed.get(kind, 0))
    for message in history:
        now, size = held.get(message.id), 0
        for kind, tokens, tool in _split(now) if now is not None else ():
            add(kind, tokens, tool)
            size += tokens
        if message.view == "dropped" and now is not None:
            dropped, saved = dropped + 1, saved + _gain(message)
        if _is_listed(message, now):
            sizes.append((_tokens(message) if message.view == "dropped" else size, message))
    # Of thousands only those that are listed are looked at closely.
    largest = [message for _, message in nlargest(limits.CONTEXT_ITEMS, sizes, key=lambda pair: pair[0])]
    order = {kind: place for place, kind in enumerate(KINDS)}
    found = [Part(kind, scaled(tokens), tool) for (kind, tool), tokens in parts.items()]
    found.sort(key=lambda part: (order[part.kind], -part.tokens, part.tool))
    summary, start = view.boundary(history)
    return Report(
        tuple(found),
        tuple(_item(message, held.get(message.id), calls, scaled) for message in largest),
        sum(part.tokens for part in found),
        window,
        len(held),
        start if summary is not None else 0,
        next((m.usage for m in reversed(history) if m.usage is not None and m.usage.prompt_tokens is not None), None),
        dropped,
        scaled(saved),
    )


def _split(message: Message) -> list[tuple[Kind, int, str]]:
    """What one message adds to which parts."""
    if message.role == "tool":
        return [("results", _tokens(message), message.result.name if message.result is not None else "")]
    if message.role == "assistant":
        calls = sum(view.call_weight(call).tokens for call in message.tool_calls)
        back = sum(view.token_count(text) for text in view.texts_in(dict(message.extra)))
        return [("answers", _tokens(message) - calls - back, ""), ("calls", calls, ""), ("reasoning", back, "")]
    return [(_kind(message), _tokens(message), "")]


def _tokens(message: Message) -> int:
    return view.weight(message).tokens


def _gain(message: Message) -> int:
    """How many tokens fewer a request has without a message."""
    whole = view.shown(replace(message, view=""))
    less = view.shown(replace(message, view="dropped"))
    assert whole is not None
    assert less is not None
    return max(0, _tokens(whole) - _tokens(less))


def _kind(message: Message) -> Kind:
    if message.role == "tool":
        return "results"
    if message.role == "assistant":
        return "answers" if message.text.strip() or not message.tool_calls else "calls"
    if message.origin == "summary":
        return "summary"
    if message.origin == "agents":
        return "results"
    return "shell" if message.shell is not None or message.origin == "shell" else "user"


def _is_listed(message: Message, now: Message | None) -> bool:
    """Not what is never sent, nor what was summarised unless the person chose something for it."""
    if message.shell is not None and message.shell.private:
        return False
    return now is not None or (message.origin != "summary" and message.view != "")


def _item(message: Message, now: Message | None, calls: Mapping[str, ToolCall], scaled: _Scale) -> Item:
    tokens = _tokens(now) if now is not None else 0
    result = message.shell.result if message.shell is not None else message.result
    name = SHELL if message.shell is not None else result.name if result is not None else ""
    text = message.shell.command if message.shell is not None else message.text
    call = calls.get(result.call_id) if result is not None else None
    if not text.strip() and message.tool_calls:
        call = message.tool_calls[0]
    return Item(
        message.id,
        _kind(message),
        scaled(tokens),
        scaled(_gain(message)),
        message.view,
        name,
        call,
        result.call_id if result is not None else "",
        text[: limits.SUBJECT_CHARS],
        now is None,
    )
