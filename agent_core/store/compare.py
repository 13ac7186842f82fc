"""Two sessions beside each other: how far they begin alike, and what each has used and changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from agent_core.messages import Message
from agent_core.records import dataclass
from agent_core.store.rows import SessionRow
from agent_core.store.sessions import Store
from agent_core.store.usage import Spent


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two."""

    row: SessionRow
    messages: tuple[Message, ...]
    """The whole conversation."""
    spent: Spent
    """What it and its sub-agents have used; of a fork only what came after."""
    files: tuple[str, ...]
    """Paths that its tools changed, each once, as a person would write them."""


@dataclass(frozen=True, slots=True)
class Comparison:
    left: Side
    right: Side
    equal: int
    """How many messages at the beginning are the same in both; whole steps."""

    @property
    def only(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Paths that one side alone has changed: the left's, the right's."""
        left, right = set(self.left.files), set(self.right.files)
        return (
            tuple(path for path in self.left.files if path not in right),
            tuple(path for path in self.right.files if path not in left),
        )


def compare(store: Store, left: str, right: str) -> Comparison:
    """Read two sessions by their ids. Raises StoreError; blocks on the disk."""
    sides = [_side(store, session_id) for session_id in (left, right)]
    return Comparison(sides[0], sides[1], common(sides[0].messages, sides[1].messages))


def _side(store: Store, session_id: str) -> Side:
    messages = tuple(store.messages(session_id))
    return Side(store.get(session_id), messages, store.costs.spent(session_id), changed_files(messages))


def changed_files(messages: Iterable[Message]) -> tuple[str, ...]:
    """Paths that results say were changed, in the order of their first change."""
    diffs = (diff for message in messages if message.result is not None for diff in message.result.diffs)
    return tuple(dict.fromkeys(path for diff in diffs for path in (diff.old_path, diff.path) if path))


def common(left: Sequence[Message], right: Sequence[Message]) -> int:
    """How many messages at the beginning are the same, but for a step at the end whose results are not all among them.

    A fork's messages have the ids of those they were copied from; others are the same when they say and do the same.
    """
    pairs = zip(left, right, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: _is_same(*pair), pairs))
    open_calls: set[str] = set()
    whole = 0
    for number, message in enumerate(left[:same], 1):
        open_calls |= {call.id for call in message.tool_calls}
        if message.result is not None:
            open_calls.discard(message.result.call_id)
        if not open_calls:
            whole = number
    return whole


def _is_same(left: Message, right: Message) -> bool:
    return left.id == right.id or _said(left) == _said(right)


def _said(message: Message) -> tuple[object, ...]:
    result, run = message.result, message.shell
    return (
        message.role,
        message.origin,
        message.text,
        message.parts,
        message.reasoning,
        [(call.name, dict(call.arguments)) for call in message.tool_calls],
        (result.name, result.ok) if result is not None else None,
        (run.command, run.result.text) if run is not None else None,
    )
