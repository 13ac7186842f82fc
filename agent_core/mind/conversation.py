"""A session's messages: durable first, then part of the history.

The history is exact, so that the model can go on working with what it was given. What is stored has no keys: not in
what the user typed, not in the arguments of calls, not in what the model thought of either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agent_core.errors import abandoned
from agent_core.messages import Message, ToolCall, View
from agent_core.mind import view
from agent_core.mind.view import Load
from agent_core.ports.actions import Effect
from agent_core.records import dataclass
from agent_core.store.sessions import Store
from agent_core.text.image_refs import between


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the person's that began a turn, and what would go with it."""

    id: str
    created: float
    text: str
    images: int
    turns: int
    """Its own and those behind it."""


def said(history: Sequence[Message]) -> tuple[Said, ...]:
    """What the person said, oldest first; steers belong to the turn they came in."""
    starts = [message for message in history if message.starts_turn]
    return tuple(
        Said(m.id, m.created, m.text, len(m.parts), len(starts) - number)
        for number, m in enumerate(starts)
        if m.origin != "agents"
    )


class Conversation:
    """The history one agent works on. Used by one thread at a time."""

    def __init__(
        self, store: Store, session_id: str, messages: Sequence[Message] | None, redact: Callable[[str], str]
    ) -> None:
        """`messages` None: a long history, which the store holds, is read when it is first needed."""
        self.session_id = session_id
        self._store = store
        self._read = None if messages is None else list(messages)
        self._redact = redact
        self._closed = False
        self._held: list[Message] | None = None
        self._counted: tuple[Load, int] = (Load(), 0)
        """How much the first messages of it are, and how many these are."""

    @property
    def _messages(self) -> list[Message]:
        if self._read is None:
            self._read = self._store.messages(self.session_id)
        return self._read

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
        _ = self._messages  # read before the store has this one too
        self._store.append(self.session_id, for_the_record(message, self._redact), self._check_open)
        self._joined(message)

    def reply_begun(self, message: Message | None) -> None:
        """Keep what a reply has said so far, for the case that the program is killed; None: it does not count.

        It is no message of the history. Raises StoreError.
        """
        self._check_open()
        if message is not None:
            message = for_the_record(message, self._redact)
        self._store.reply_begun(self.session_id, message, self._check_open)

    def place(self, message: Message) -> None:
        """Append a message that the store holds aside. Raises StoreError; the history is then unchanged."""
        self._check_open()
        self._store.place(self.session_id, message.id, self._check_open)
        if not self.has(message.id):
            self._joined(message)

    def _joined(self, message: Message) -> None:
        self._messages.append(message)
        if message.origin == "summary":
            self._held, self._counted = None, (Load(), 0)
        elif self._held is not None:
            view.put(self._held, view.shown(message))

    def has(self, message_id: str) -> bool:
        return any(message.id == message_id for message in reversed(self._messages))

    def images_of_turn(self) -> int:
        """How many images the person has given the turn that runs."""
        images = 0
        for message in reversed(self._messages):
            images += len(message.parts) if message.role == "user" else 0
            if message.starts_turn:
                break
        return images

    def for_model(self) -> Sequence[Message]:
        """What a request holds of the history (`view.held`). Made once; what is added later joins it."""
        if self._held is None:
            self._held = view.held(self._messages)
        return self._held

    @property
    def load(self) -> Load:
        """How much `for_model` is. Counted once; what is added later is counted as it comes."""
        held = self.for_model()
        total, counted = self._counted
        if counted < len(held):
            self._counted = total, counted = total + view.load(held[counted:]), len(held)
        return total

    def set_view(self, message_ids: Collection[str], wanted: View) -> None:
        """Have requests drop, pin or give back messages, durably. Raises StoreError; nothing has changed then."""
        self._check_open()
        self._store.views.set(self.session_id, message_ids, wanted)
        changed = [replace(m, view=wanted) if m.id in message_ids else m for m in self._messages]
        self._read = changed
        self._held, self._counted = None, (Load(), 0)

    def effect_started(self, stopped: Callable[[], bool], call: ToolCall, effect: Effect) -> None:
        """Note durably that `call` is about to act. Raises StoreError; the call must then not run.

        From the call's own thread: `stopped` ends the waiting for a database that another program holds.
        """
        self._check_open()
        with self._store.database.while_not(stopped):
            self._store.effect_started(self.session_id, call.id, call.name, effect.kind, self._check_open)

    def _check_open(self) -> None:
        if self._closed:
            raise abandoned()


def for_the_record(message: Message, redact: Callable[[str], str]) -> Message:
    """`message` as it may be stored: its texts, its thoughts and the arguments of its calls without keys."""
    calls = tuple(
        replace(call, arguments=_without_keys(call.arguments, redact), extra=_sent_back(call.extra, redact))
        for call in message.tool_calls
    )
    done = message.rollback
    if done is not None:
        done = replace(done, paths=tuple(map(redact, done.paths)), left=tuple(map(redact, done.left)))
    return replace(
        message,
        text=between(message.text, redact),
        tool_calls=calls,
        extra=_sent_back(message.extra, redact),
        added=redact(message.added),
        rollback=done,
    )


_SEALED: Final = frozenset({"signature", "thought_signature", "encrypted_content", "data", "id"})
"""Fields of what goes back to a server as it came that are no words: altered, they would be worth nothing."""


def _sent_back(value: Any, redact: Callable[[str], str]) -> Any:
    """What goes back to a server as it came, thoughts among it, without keys.

    A thought that is signed and had one is left out: with other words its server would refuse it.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: item if name in _SEALED else _sent_back(item, redact) for name, item in value.items()}
    if isinstance(value, list | tuple):
        pairs = [(item, _sent_back(item, redact)) for item in value]
        return type(value)(
            new for old, new in pairs if new == old or not (isinstance(old, Mapping) and "signature" in old)
        )
    return value


def _without_keys(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _without_keys(item, redact) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_keys(item, redact) for item in value]
    return value
