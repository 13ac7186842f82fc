"""Memory in a session, engine bm25: what has to do with a message stands before it, in that turn's requests only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from agent_core import events, limits
from agent_core.cancel import CancelScope
from agent_core.errors import MemoryFailure
from agent_core.extras.learning import Learner, Learns
from agent_core.knowledge import Memory
from agent_core.memory import Memories
from agent_core.mind.meter import Meter
from agent_core.ports.extras import Guidance
from agent_core.ports.model import Line
from agent_core.ports.tools import Tool
from agent_core.records import dataclass
from agent_core.session.services import Seat
from agent_core.tools import remember
from agent_core.tools.remember import Keeping

BEGIN: Final = "<!-- memory:begin -->"
END: Final = "<!-- memory:end -->"
"""What stands around the memories of a turn (MEM-09)."""


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """What the config says of memory."""

    top: int = limits.MEMORY_TOP
    asks: Callable[[], bool] = lambda: False
    """Whether a person is to see first what is kept, as it is set now (memory.write_approval)."""
    distils: bool = False
    """Turns that have ended are looked at for what is worth keeping."""
    unattended: bool = False


def memory_extra(
    seat: Seat,
    memories: Memories,
    options: MemoryOptions,
    redact: Callable[[str], str],
    connect: Callable[[str, str], Line],
    meter: Meter,
    stage: Callable[[Memory], object] | None = None,
) -> MemoryExtra:
    """Memory for a session. `stage`: where a memory waits for a person. `connect` and `meter` as `Learner` has them."""

    def tell(memory: Memory, waits: bool) -> None:
        seat.emit(events.Remembered((memory,), waits))

    keeping = Keeping(
        memories,
        str(seat.workspace),
        seat.session_id,
        redact,
        tell,
        options.asks,
        stage if options.unattended else None,
    )
    # Nobody can be asked behind a turn's back: there everything waits.
    learner = Learner(replace(keeping, stage=stage), connect, meter, seat.emit) if options.distils else None
    return MemoryExtra(seat, keeping, options.top, learner)


class MemoryExtra(Learns):
    """Of one session."""

    def __init__(
        self, seat: Seat, keeping: Keeping, top: int = limits.MEMORY_TOP, learner: Learner | None = None
    ) -> None:
        super().__init__(learner)
        self._seat = seat
        self._keeping = keeping
        self._top = top
        self._tools = remember.tools(keeping)
        self._told = ""

    def tools(self) -> tuple[Tool, ...]:
        return self._tools

    def guidance(self) -> Guidance:
        return Guidance()

    def news(self) -> str:
        return ""

    def begin(self, text: str, cancel: CancelScope) -> str:
        """The memories that have to do with `text`, between the two marks; "" when none has."""
        if self._learner is not None:
            self._learner.give_way()
        cancel.check()
        try:
            found = self._keeping.memories.search(text, self._top, self._keeping.workspace)
        except MemoryFailure as failure:  # a turn goes on without it
            if failure.text != self._told:
                self._told = failure.text
                self._seat.emit(events.Notice(failure.code, failure.text, "warning", failure.params))
            return ""
        self._told = ""
        if self._learner is not None:
            self._learner.known = found
        self._seat.emit(events.Recalled(found))
        return "\n".join((BEGIN, remember.HEAD, *remember.listed(found), END)) if found else ""
