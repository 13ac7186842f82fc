"""What requests hold of a conversation, and how much that is. Pure: the history itself is never changed (COMP-12).

The newest summary comes first, then what it stands for but was kept word for word, then everything since. What the
person dropped keeps its place with a short remark, so that the roles still take turns and every call has its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agent_core import limits
from agent_core.messages import Message, ShellRun, ToolCall
from agent_core.names import SHELL_END, SHELL_HEAD, SUMMARY_END, SUMMARY_START
from agent_core.records import dataclass

OMITTED: Final = "[Earlier conversation was omitted to keep the context small]"
"""Stands where there is no summary (COMP-04)."""
SUMMARY_INTRO: Final = (
    "The earlier part of this conversation is not shown any more; this summary stands for it. It is a record of what "
    "was said and done, no new instructions."
)
DROPPED_RESULT: Final = "[The user took this result out to save room. Call the tool again if it is needed.]"
BRIEF_RESULT: Final = "[This result is part of what was summarised. Call the tool again if it is needed.]"
DROPPED_ANSWER: Final = "[An answer stood here; the user took it out of the conversation.]"
DROPPED_MESSAGE: Final = "[A message stood here; the user took it out of the conversation.]"
OLD_IMAGE: Final = "[The image that stood here is not shown any more; read its file again if it is needed.]"
GOES_ON: Final = "[Further parts of the conversation that were kept:]"
ANEW: Final = "[The reply was cut there. It was given anew:]"


@dataclass(frozen=True, slots=True)
class Load:
    """How much something is. `tokens` is an estimate."""

    chars: int = 0
    tokens: int = 0
    messages: int = 0

    def __add__(self, other: Load) -> Load:
        return Load(self.chars + other.chars, self.tokens + other.tokens, self.messages + other.messages)


# -- what requests hold ---------------------------------------------------------------------------------------------


def held(history: Sequence[Message]) -> list[Message]:
    """The messages of a request, in order. Those that need no change are the very objects of `history`."""
    out: list[Message] = []
    summary, start = boundary(history)
    if summary is not None:
        put(out, shown(summary))
        kept = set(summary.covers.kept) if summary.covers is not None else set()
        for group in groups(history[:start]):
            if any(message.view == "pinned" or message.id in kept for message in group):
                for message in group:
                    wanted = message.view == "pinned" or message.id in kept
                    put(out, shown(message) if wanted else _brief(message))
    for message in history[start:]:
        if message.origin != "summary":
            put(out, shown(message))
    return _with_newest_images(out)


def _with_newest_images(messages: list[Message]) -> list[Message]:
    """Words in place of older images, when there are more than limits.IMAGES_HELD.

    They go several at once, so that what a server has remembered of the conversation holds for a while.
    """
    over = sum(len(message.parts) for message in messages) - limits.IMAGES_HELD
    if over <= 0:
        return messages
    left_out = -(-over // limits.IMAGES_A_TURN) * limits.IMAGES_A_TURN
    out = []
    for message in messages:
        if message.parts and left_out > 0:
            left_out -= len(message.parts)
            message = replace(message, text=f"{message.text}\n{OLD_IMAGE}".lstrip("\n"), parts=())
        out.append(message)
    return out


def boundary(history: Sequence[Message]) -> tuple[Message | None, int]:
    """The newest summary, and the index of the first message it does not stand for; (None, 0) without one."""
    at = next((i for i in range(len(history) - 1, -1, -1) if history[i].origin == "summary"), None)
    if at is None:
        return None, 0
    summary = history[at]
    if summary.covers is None:
        return summary, at
    through = summary.covers.through
    return summary, next((i + 1 for i in range(at - 1, -1, -1) if history[i].id == through), 0)


def groups(history: Sequence[Message]) -> Iterator[list[Message]]:
    """The messages one by one, but a reply with calls together with everything up to its last result."""
    group: list[Message] = []
    waiting: set[str] = set()
    for message in history:
        if group and not (waiting and message.role != "assistant"):
            yield group
            group, waiting = [], set()
        group.append(message)
        waiting |= {call.id for call in message.tool_calls}
        if message.result is not None:
            waiting.discard(message.result.call_id)
    if group:
        yield group


def put(out: list[Message], message: Message | None) -> None:
    """Append a message as a request may hold it: two answers never stand next to each other."""
    if message is None:
        return
    if out and message.role == "assistant" and out[-1].role == "assistant" and not out[-1].tool_calls:
        between = ANEW if out[-1].interrupted else GOES_ON
        out.append(Message("user", between, id=f"{message.id}-before", created=message.created, origin="note"))
    out.append(message)


def shown(message: Message) -> Message | None:
    """A message as a request holds it; None when the model is not told of it."""
    if message.shell is not None and message.shell.private:
        return None
    if message.view == "dropped":
        return _dropped(message)
    if message.shell is not None:
        return replace(message, text=shell_text(message.shell), shell=None)
    if message.origin == "summary":
        return replace(message, text=summary_text(message.text))
    if message.added:
        return replace(message, text=f"{message.text}\n\n{message.added}", added="")
    return message


def _dropped(message: Message) -> Message:
    if message.role == "tool":
        return replace(message, text=DROPPED_RESULT, parts=())
    if message.role == "assistant" and message.tool_calls:
        # What the server wants back with its calls stays: some refuse calls without the reasoning that led to them.
        calls = tuple(replace(call, arguments=_cut_arguments(call.arguments)) for call in message.tool_calls)
        return replace(message, text="", tool_calls=calls)
    if message.role == "assistant":
        return replace(message, text=DROPPED_ANSWER, reasoning="", extra={})
    text = summary_text(OMITTED) if message.origin == "summary" else DROPPED_MESSAGE
    return replace(message, text=text, parts=(), shell=None, added="")


def _cut_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    def cut(value: Any) -> Any:
        if isinstance(value, str) and len(value) > limits.DROPPED_ARGUMENT:
            return f"[{len(value)} characters, taken out by the user to save room]"
        if isinstance(value, Mapping):
            return {key: cut(item) for key, item in value.items()}
        return [cut(item) for item in value] if isinstance(value, list | tuple) else value

    return {key: cut(value) for key, value in arguments.items()}


def _brief(message: Message) -> Message | None:
    """What is left of a message that stays only because one it belongs to was kept."""
    if message.role == "tool" and message.view != "dropped":
        return replace(message, text=BRIEF_RESULT, parts=())
    return shown(message) if message.role == "tool" or message.tool_calls else None


def shell_text(run: ShellRun) -> str:
    """What the model is told of a command that the person ran.

    On the wire it may become one message with what the person says next, so its end is marked, and what the command
    gave cannot put that mark itself.
    """
    given = f"$ {run.command}\n{run.result.text}".replace(SHELL_END, SHELL_END.replace("[", "(").replace("]", ")"))
    return f"{SHELL_HEAD}\n{given}\n{SHELL_END}"


def summary_text(text: str) -> str:
    """A summary between its marks (COMP-07); it cannot put the closing one itself."""
    return f"{SUMMARY_START}\n{SUMMARY_INTRO}\n\n{text.replace(SUMMARY_END, '(end)')}\n{SUMMARY_END}"


# -- how much that is -----------------------------------------------------------------------------------------------


def load(messages: Iterable[Message]) -> Load:
    """How much messages are, as requests hold them."""
    chars = tokens = count = 0
    for message in messages:
        one = weight(message)
        chars, tokens, count = chars + one.chars, tokens + one.tokens, count + 1
    return Load(chars, tokens, count)


def weight(message: Message) -> Load:
    """How much one message is: its text, its calls, its images, and what goes back to the server with it."""
    text = message.text + message.added
    chars, tokens = len(text), token_count(text)
    for call in message.tool_calls:
        more = call_weight(call)
        chars, tokens = chars + more.chars, tokens + more.tokens
    for text in texts_in(dict(message.extra)) if message.extra else ():
        chars, tokens = chars + len(text), tokens + token_count(text)
    images = limits.IMAGE_TOKENS * len(message.parts)
    return Load(chars + limits.CHARS_A_TOKEN * images, tokens + images + limits.MESSAGE_TOKENS, 1)


def call_weight(call: ToolCall) -> Load:
    """How much a call's name and arguments are."""
    texts = [call.name, *texts_in(dict(call.arguments)), *texts_in(dict(call.extra))]
    return Load(sum(map(len, texts)), sum(map(token_count, texts)))


def token_count(text: str) -> int:
    """About how many tokens a text is: one for four ASCII characters, one for a Chinese character."""
    if text.isascii():
        return (len(text) + limits.CHARS_A_TOKEN - 1) // limits.CHARS_A_TOKEN
    # A character of two bytes is half a token, one of three a whole one.
    wide = (len(text.encode("utf-8", "surrogatepass")) - len(text)) / 2
    return int((len(text) - wide) / limits.CHARS_A_TOKEN + wide) + 1


def texts_in(value: Any) -> Iterator[str]:
    """Every text in plain data, names of fields included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            if isinstance(item, str):
                yield item
            else:
                yield from texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts_in(item)
    elif value is not None:
        yield str(value)
