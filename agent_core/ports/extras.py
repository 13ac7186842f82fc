"""What a session has beside the built-in tools: memory, skills, sub-agents, servers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol, runtime_checkable

from agent_core.cancel import CancelScope
from agent_core.knowledge import Typed
from agent_core.messages import Message
from agent_core.ports.tools import Tool
from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Guidance:
    """What the system prompt says for an extra, each part with its own heading, or empty."""

    stable: str = ""
    """The same in every session: an index of skills, what servers say about themselves."""
    frozen: str = ""
    """As it was when the session began: a snapshot of memories."""


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that has come to its end, for what learns from turns."""

    turn_id: str
    completed: bool
    """It came to an answer by itself: only such a turn may be learnt from (LOOP-05)."""
    text: str
    """What the person said."""
    answer: str
    messages: tuple[Message, ...]
    """All of the turn, in order."""
    model: str = ""
    provider: str = ""
    stood_in: bool = False
    """Another model than this one has answered (LLM-22)."""


class Extra(Protocol):
    """Something that gives one session tools and words beside the built-in ones: memory, skills, sub-agents, MCP.

    Made when it is first needed, at the latest by the first turn. Safe to use from several threads.
    """

    def tools(self) -> tuple[Tool, ...]:
        """Its tools as they are when a turn begins; does not wait for anything slow."""
        ...

    def guidance(self) -> Guidance:
        """Asked when the session's prompt is made."""
        ...

    def news(self) -> str:
        """What the model is to be told of changes since `guidance` or the last call; asked when a turn begins."""
        ...

    def begin(self, text: str, cancel: CancelScope) -> str:
        """A turn begins with this message of the person's: what its requests hold in front of it, and no later ones.

        It is not stored. Raises Interrupted.
        """
        ...

    def ended(self, turn: EndedTurn) -> None:
        """Called when a turn has ended, before that is told. Returns at once."""
        ...

    def close(self) -> None:
        """The session is closed. Returns within a second."""
        ...


@runtime_checkable
class Opening(Protocol):
    """An extra with something to begin, or to tell, before the first turn."""

    def opened(self) -> None:
        """A person looks at the session; may come again. Called in no thread of a screen or a turn. Does not wait."""
        ...


@runtime_checkable
class Settling(Protocol):
    """An extra whose tools may have to be waited for."""

    def settle(self, cancel: CancelScope) -> None:
        """A turn is about to begin, and asks for the tools after this. Waits within bounds.

        Raises AgentError when the turn cannot begin, Interrupted.
        """
        ...


@runtime_checkable
class Learning(Protocol):
    """An extra that goes on working when a turn has ended, for later ones."""

    @property
    def is_learning(self) -> bool:
        """It is at work. Turns that begin, and closing the session, cut it short."""
        ...


@runtime_checkable
class Typing(Protocol):
    """An extra that a person can also type something of: a skill, a prompt of a server. Safe to use from several
    threads."""

    def typed(self) -> tuple[Typed, ...]:
        """What can be typed now; does not wait."""
        ...

    def expand(self, name: str, argument: str) -> str:
        """What one of them stands for, for the model, with what was typed behind its name.

        A turn has begun; it may have to wait for a server until that ends. Raises AgentError, Interrupted.
        """
        ...


@runtime_checkable
class Returning(Protocol):
    """An extra that works beside the turns, and whose results begin one."""

    @property
    def is_at_work(self) -> bool:
        """Something has not ended yet, or the session was not told so. Does not wait."""
        ...

    @property
    def has_come(self) -> bool:
        """There are results that no message has told of. Does not wait."""
        ...

    def returned(self) -> tuple[Message, ...]:
        """What has come and was not told, of an earlier run of the program too. Reads the store. Raises StoreError."""
        ...

    def told(self, message_ids: Collection[str]) -> None:
        """These of them are in the conversation."""
        ...
