"""What a person does with skills: list, call, decide about what waits; and who finds and writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from agent_core.knowledge import Pending
from agent_core.memory.pending import PendingWrites
from agent_core.ports.asking import Decided
from agent_core.records import dataclass
from agent_core.skills.discover import Finder, Shelf
from agent_core.skills.library import Skills
from agent_core.skills.write import Writer, plan_of
from agent_core.toolsets import tools_named, tools_of


@dataclass(frozen=True, slots=True)
class SkillGround:
    """What skills need of the program."""

    look: Callable[[Finder, Path], Shelf]
    """What there is in a workspace: of the project only what is trusted."""
    off: Callable[[], Sequence[str]]
    """Skills that are switched off, by name."""
    toolsets_off: Callable[[], Sequence[str]]
    variable: Callable[[str], str]
    """What a variable holds that a skill's commands may be given; empty: it is not set, or not theirs."""
    search_path: str
    """PATH, where the programs are that skills want."""


class SkillDesk:
    """Of one program run. Methods read and write files."""

    def __init__(
        self, ground: SkillGround, writer: Writer, writes: PendingWrites, record: Callable[[Decided], None]
    ) -> None:
        """`record` writes a decision down."""
        self.writer = writer
        self._ground = ground
        self._writes = writes
        self._record = record
        self._finder = Finder()

    def of(self, workspace: Path) -> Skills:
        """The skills of a workspace, to list, to load and to call; those of the project only while it is trusted."""
        ground = self._ground

        def there() -> frozenset[str]:
            return tools_of("all") - tools_named(ground.toolsets_off())

        def look() -> Shelf:
            return ground.look(self._finder, workspace)

        return Skills(look, there, ground.off, ground.variable, ground.search_path)

    def answer(self, id: str, approved: bool) -> Pending:
        """Carry out what waits to be written into a skill, or forget it.

        Raises MemoryFailure when nothing waits under the id, SkillFailure, StoreError.
        """
        staged = self._writes.get(id, "skill")
        verdict: Literal["allow", "refuse"] = "allow" if approved else "refuse"
        self._record(Decided("keep", staged.pending.title, verdict, "waited for a person", "person"))
        if not approved:
            return self._writes.reject(id, "skill")
        self._writes.approve(id, lambda now: self.writer.carry_out(plan_of(now.data)), "skill")
        return staged.pending
