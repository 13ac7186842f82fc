"""Skills in a session: their index in the prompt, the tools, and variables that a loaded one lends to commands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from agent_core.cancel import CancelScope
from agent_core.events import Notice
from agent_core.knowledge import Typed
from agent_core.memory.pending import PendingWrites
from agent_core.ports.extras import EndedTurn, Guidance
from agent_core.ports.tools import Tool
from agent_core.records import dataclass
from agent_core.session.services import Seat
from agent_core.skills import reading
from agent_core.skills.discover import Found
from agent_core.skills.index import changes, index
from agent_core.skills.library import Skills
from agent_core.skills.write import Plan, Writer
from agent_core.tools import skill


@dataclass(frozen=True, slots=True)
class SkillOptions:
    """What the config and the run say of skills."""

    stages: Callable[[], bool] = lambda: False
    """Whether every write waits for a person, as it is set now (skills.write_approval)."""
    writes: bool = True
    """The model may write skills in this run: not where it is one turn without a screen (TOOL-20)."""
    hide: Callable[[Iterable[str]], None] = lambda values: None
    """These are not to be seen anywhere from now on."""


class SkillsExtra:
    """ports.Extra and ports.Typing."""

    def __init__(
        self, seat: Seat, skills: Skills, writer: Writer, pending: PendingWrites, options: SkillOptions
    ) -> None:
        self._seat = seat
        self._skills = skills
        self._pending = pending
        self._options = options
        self._lock = threading.Lock()
        self._told: tuple[Found, ...] = ()
        """The skills that the model knows of."""
        self._lent: frozenset[str] = frozenset()
        self._flagged: set[str] = set()
        self._shop = skill.Shop(
            skills, writer, self._stage, options.stages, self._lend, lambda: self._lent, self._suspicious
        )

    # -- ports.Extra --------------------------------------------------------------------------------------------

    def tools(self) -> tuple[Tool, ...]:
        return skill.tools(self._shop, some=bool(self._skills.offered()), writes=self._options.writes)

    def guidance(self) -> Guidance:
        with self._lock:
            self._told = self._skills.offered()
            return Guidance(index(self._told))

    def news(self) -> str:
        with self._lock:
            before, self._told = self._told, self._skills.offered()
            return changes(before, self._told)

    def begin(self, text: str, cancel: CancelScope) -> str:
        return ""

    def ended(self, turn: EndedTurn) -> None:
        pass

    def close(self) -> None:
        pass

    # -- ports.Typing: what a person types after "/" ---------------------------------------------------------------

    def typed(self) -> tuple[Typed, ...]:
        return self._skills.typed()

    def expand(self, name: str, argument: str) -> str:
        """A skill as the model is given it. Who calls it means it: its commands get the variables that it names."""
        found = self._skills.get(name)
        text = self._skills.expand(name, argument)
        if more := {name: value for name, value in self._skills.variables(found).items() if name not in self._lent}:
            self._lend(more)
            listed = ", ".join(more)
            words = f"Commands of this session now have {listed}: the skill {found.name} names it."
            self._seat.emit(Notice("skill_lends", words, params={"name": found.name, "variables": listed}))
        return text

    # -- what the tools do beside reading and writing files -------------------------------------------------------

    def _stage(self, plan: Plan) -> str:
        return self._pending.add("skill", plan.title, plan.diffs[0], plan.to_json(), self._seat.session_id).id

    def _lend(self, variables: Mapping[str, str]) -> None:
        self._options.hide(variables.values())
        self._seat.lend(variables)
        with self._lock:
            self._lent |= variables.keys()

    def _suspicious(self, found: Found, text: reading.Text) -> None:
        """Tell the person once; the model is given the text marked as such."""
        if found.name in self._flagged:
            return
        self._flagged.add(found.name)
        where = reading.told(text.flagged)
        words = f"The skill {found.name} reads like an attempt to give the model orders: {where}. Look at it."
        self._seat.emit(Notice("skill_suspicious", words, "warning", {"name": found.name, "where": where}))
