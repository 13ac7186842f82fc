"""A session's messages: durable first, then part of the history.

The history is exact, so that the model can go on working with what it was given. What is stored has no keys: not in
what the user typed, not in the arguments of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_core.errors import StoreError
from agent_core.messages import Message, ShellRun, ToolCall, Usage
from agent_core.names import SHELL_END, SHELL_HEAD
from agent_core.ports import Effect
from agent_core.store.sessions import Store


class Conversation:
    """The history one agent works on. Used by one thread at a time."""

    def __init__(
        self, store: Store, session_id: str, messages: Sequence[Message], redact: Callable[[str], str]
    ) -> None:
        self.session_id = session_id
        self._store = store
        self._messages = list(messages)
        self._redact = redact
        self._closed = False

    def close(self) -> None:
        """Refuse everything from now on: the worker that writes here was given up."""
        self._closed = True

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def add(self, message: Message) -> None:
        """Store `message`, then append it. Raises StoreError; the history is then unchanged."""
        self._check_open()
        self._store.append(self.session_id, for_the_record(message, self._redact), self._check_open)
        self._messages.append(message)

    def place(self, message: Message) -> None:
        """Append a message that the store holds aside. Raises StoreError; the history is then unchanged."""
        self._check_open()
        self._store.place(self.session_id, message.id, self._check_open)
        if not self.has(message.id):
            self._messages.append(message)

    def has(self, message_id: str) -> bool:
        return any(message.id == message_id for message in reversed(self._messages))

    def for_model(self) -> Iterator[Message]:
        """The history as a model is told it: a command of the person's own as text, a private one not at all."""
        for message in self._messages:
            if message.shell is None:
                yield message
            elif not message.shell.private:
                yield replace(message, text=shell_text(message.shell), shell=None)

    def effect_started(self, call: ToolCall, effect: Effect) -> None:
        """Note durably that `call` is about to act. Raises StoreError; the call must then not run."""
        self._check_open()
        self._store.effect_started(self.session_id, call.id, call.name, effect.kind, self._check_open)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("abandoned", "This step was given up; what it still does is not kept.")

    def add_usage(self, model: str, usage: Usage) -> None:
        self._store.add_usage(self.session_id, model, usage)


def shell_text(run: ShellRun) -> str:
    """What the model is told of a command that the person ran.

    On the wire it may become one message with what the person says next, so its end is marked, and what the command
    gave cannot put that mark itself.
    """
    given = f"$ {run.command}\n{run.result.text}".replace(SHELL_END, SHELL_END.replace("[", "(").replace("]", ")"))
    return f"{SHELL_HEAD}\n{given}\n{SHELL_END}"


def for_the_record(message: Message, redact: Callable[[str], str]) -> Message:
    """`message` as it may be stored: its text and the arguments of its calls without keys."""
    calls = tuple(replace(call, arguments=_without_keys(call.arguments, redact)) for call in message.tool_calls)
    return replace(message, text=redact(message.text), tool_calls=calls)


def _without_keys(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _without_keys(item, redact) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_keys(item, redact) for item in value]
    return value
