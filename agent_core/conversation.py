"""A session's messages: durable first, then part of the history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_core.errors import StoreError
from agent_core.messages import Message, ToolCall, Usage
from agent_core.ports import Effect
from agent_core.store.sessions import Store


class Conversation:
    """The history one agent works on. Used by one thread at a time."""

    def __init__(self, store: Store, session_id: str, messages: Sequence[Message]) -> None:
        self.session_id = session_id
        self._store = store
        self._messages = list(messages)
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
        self._store.append(self.session_id, message)
        self._messages.append(message)

    def effect_started(self, call: ToolCall, effect: Effect) -> None:
        """Note durably that `call` is about to act. Raises StoreError; the call must then not run."""
        self._check_open()
        self._store.effect_started(self.session_id, call.id, call.name, effect.kind)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("abandoned", "This step was given up; what it still does is not kept.")

    def add_usage(self, model: str, usage: Usage) -> None:
        self._store.add_usage(self.session_id, model, usage)
