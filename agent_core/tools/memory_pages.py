"""memory: what every later session is told whole, kept by the model in two small files (engine markdown).

Name and arguments are those of Hermes. The answer shows the file as it is now; the prompt of the session that runs does
not change. Source: MEM-12, MEM-13, MEM-15.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal

from agent_core import limits
from agent_core.errors import MemoryFailure, ToolFailure
from agent_core.knowledge import Memory
from agent_core.memory import markdown
from agent_core.memory.markdown import FILES, Change, Operation, Pages, Target
from agent_core.names import MEMORY
from agent_core.ports.actions import Effect, KeepAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolOutput
from agent_core.records import dataclass
from agent_core.text import diff

from . import base

_ACTIONS: Final[tuple[Literal["add", "replace", "remove"], ...]] = ("add", "replace", "remove")
_LAST: Final = (
    "This was the last try of this turn that does not fit: call memory no more, and go on with the user's request. "
    "What is kept stays as it is."
)


class Tries:
    """How often in this turn a change did not fit. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def begin(self) -> None:
        """A turn begins."""
        with self._lock:
            self._count = 0

    @property
    def are_over(self) -> bool:
        with self._lock:
            return self._count >= limits.MEMORY_TRIES

    def failed(self) -> bool:
        """Count one more; whether it was the last."""
        with self._lock:
            self._count += 1
            return self._count >= limits.MEMORY_TRIES


@dataclass(frozen=True, slots=True)
class PageKeeping:
    """How one session keeps its two files."""

    pages: Pages
    tell: Callable[[tuple[Memory, ...], tuple[Memory, ...], bool], None]
    """Shows a person what is kept and what is taken out now, or, with the mark, what waits for them."""
    tries: Tries
    asks: Callable[[], bool] = lambda: False
    """Whether a person is to see it first, as it is set now (memory.write_approval)."""
    stage: Callable[[Change, Sequence[Operation]], object] | None = None
    """Where a change waits when nobody can be asked; None: a person is asked at once. Raises MemoryFailure."""
    changed: Callable[[Change], None] = lambda change: None
    """Told of what this session itself has changed."""


def tool(keeping: PageKeeping) -> Tool:
    """The tool of a session."""
    room = keeping.pages.room
    step = {
        "action": base.prop("string", enum=list(_ACTIONS)),
        "content": base.prop("string", "The new entry (add, replace)"),
        "old_text": base.prop("string", "A part that stands in one entry alone (replace, remove)"),
    }
    return Tool(
        MEMORY,
        "Keep what later sessions should know: target user for who the user is and what they prefer, memory for facts "
        "and lessons of your own. Short entries that are understood by themselves; no secrets, nothing of today only. "
        f"Both are small ({room['user']:,} and {room['memory']:,} characters): when one is full, merge or "
        "remove in the same call, with operations. The user sees each change.",
        base.schema(
            [],
            target=base.prop("string", enum=list(FILES)),
            **step,
            operations=base.prop(
                "array",
                "Several steps at once, judged at the end",
                items={"type": "object", "properties": step, "required": ["action"]},
            ),
        ),
        lambda args: Effect("none"),
        _subject,
        lambda args, ctx: _prepare(keeping, args),
    )


def _subject(args: Args) -> str:
    several = args.get("operations")
    first = several[0] if isinstance(several, list) and several and isinstance(several[0], Mapping) else {}
    return base.subject(args, "content", "old_text") or base.subject(first, "content", "old_text")


def _prepare(keeping: PageKeeping, args: Args) -> Prepared:
    given = base.text(args, "target", "memory")
    target: Target | None = next((target for target in FILES if target == given), None)
    if target is None:
        raise ToolFailure(f'"target" must be one of {", ".join(FILES)}.', outcome="invalid arguments")
    steps = _steps(args)
    if keeping.tries.are_over:
        raise ToolFailure(_LAST, code="memory_room", outcome="refused")
    with _told(keeping, target):
        change = keeping.pages.plan(target, steps)
    shown = diff.build(FILES[target], _text(change.before), _text(change.after))
    title, asks = markdown.title(target, steps), keeping.asks()
    if asks and keeping.stage is not None:
        return base.prepared(
            KeepAction(title, (shown,), asks=False, is_note=True), lambda: _stage(keeping, change, steps)
        )
    # Done as it was shown, or not at all; where nobody is asked, beside what others write meanwhile.
    seen = change.before if asks else None
    return base.prepared(
        KeepAction(title, (shown,), asks=asks, is_note=True), lambda: _do(keeping, target, steps, seen)
    )


def _text(entries: tuple[str, ...]) -> str | None:
    return markdown.formed(entries) or None


def _steps(args: Args) -> tuple[Operation, ...]:
    several = args.get("operations")
    given = [args] if several is None or several == [] else several
    if not isinstance(given, list) or len(given) > limits.MEMORY_STEPS:
        raise ToolFailure(
            f'"operations" must be a list of at most {limits.MEMORY_STEPS} objects.', outcome="invalid arguments"
        )
    return tuple(map(_step, given))


def _step(given: object) -> Operation:
    if not isinstance(given, Mapping):
        raise ToolFailure("Each of the operations must be an object.", outcome="invalid arguments")
    word = base.text(given, "action")
    action = next((action for action in _ACTIONS if action == word), None)
    if action is None:
        raise ToolFailure(f'"action" must be one of {", ".join(_ACTIONS)}.', outcome="invalid arguments")
    text = base.text(given, "content") if action != "remove" else ""
    return Operation(action, text, base.text(given, "old_text") if action != "add" else "")


def _do(keeping: PageKeeping, target: Target, steps: Sequence[Operation], seen: tuple[str, ...] | None) -> ToolOutput:
    with _told(keeping, target):
        change = keeping.pages.change(target, steps, seen)
    if change.after == change.before:
        return ToolOutput(_live(keeping, change, "Nothing changed: it is there already."), "already known")
    keeping.changed(change)
    new, gone = _told_of(change)
    keeping.tell(new, gone, False)
    text = _live(keeping, change, f"{markdown.counted(steps).capitalize()}. The user sees it.")
    return ToolOutput(text, "remembered" if new else "forgotten")


def _stage(keeping: PageKeeping, change: Change, steps: Sequence[Operation]) -> ToolOutput:
    assert keeping.stage is not None
    with _told(keeping, change.target):
        keeping.stage(change, steps)
    keeping.tell(*_told_of(change), True)
    return ToolOutput("It waits for the user, who has to approve it before it is done. Go on.", "waits")


def _told_of(change: Change) -> tuple[tuple[Memory, ...], tuple[Memory, ...]]:
    """What a change adds, and what it takes out."""
    before, after = change.before, change.after
    new = (markdown.memory_of(change.target, text) for text in after if text not in before)
    gone = (markdown.memory_of(change.target, text) for text in before if text not in after)
    return tuple(new), tuple(gone)


def _live(keeping: PageKeeping, change: Change, message: str) -> str:
    """The file as it is now."""
    state = _state(change.after, keeping.pages.room[change.target])
    return _json(success=True, target=change.target, message=message, **state)


def _state(entries: Sequence[str], most: int) -> dict[str, Any]:
    return {"usage": markdown.usage(entries, most), "entries": markdown.as_told(entries, most)}


def _json(**fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False, indent=1)


@contextmanager
def _told(keeping: PageKeeping, target: Target) -> Iterator[None]:
    """What memory refuses is told to the model; where a change does not fit or means no entry, with what is there."""
    try:
        yield
    except MemoryFailure as failure:
        text = failure.text
        if failure.code == "memory_room" and keeping.tries.failed():
            text = f"{text} {_LAST}"
        if failure.code in ("memory_room", "memory_which", "memory_changed"):
            state = _state(keeping.pages.entries(target), keeping.pages.room[target])
            text = _json(success=False, error=text, usage=state["usage"], current_entries=state["entries"])
        outcome = "refused" if failure.code in ("memory_refused", "memory_room") else ""
        raise ToolFailure(text, code=failure.code, outcome=outcome) from failure
