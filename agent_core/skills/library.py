"""The skills of one workspace, as tools, faces and the prompt ask for them. Reads files; any thread may use it."""

from __future__ import annotations

import difflib
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from agent_core import limits
from agent_core.errors import SkillFailure
from agent_core.knowledge import Skill, Typed, Unmet
from agent_core.records import dataclass
from agent_core.skills import conditions, reading
from agent_core.skills.discover import Found, Shelf

_NOTHING: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Skills:
    look: Callable[[], Shelf]
    """What there is now."""
    tools: Callable[[], Collection[str]] = tuple
    """The names of the tools that sessions have."""
    off: Callable[[], Collection[str]] = tuple
    """The names of skills that are not offered (skills.disabled)."""
    variable: Callable[[str], str] = lambda name: ""
    """What a variable holds that commands may be given; empty: it is not set, or is nothing for them."""
    programs: str = ""
    """Where programs are looked for, as PATH."""
    platform: str = sys.platform

    # -- what there is ----------------------------------------------------------------------------------------------

    def offered(self) -> tuple[Found, ...]:
        """Those that are of use here, sorted by name."""
        return tuple(found for found in self.look().skills if not self.closed(found))

    def closed(self, found: Found) -> tuple[Unmet, ...]:
        """Why a skill is of no use here at all; empty when it is offered."""
        why = conditions.closed(found.needs, self.platform, self.tools())
        return (*why, Unmet("off")) if found.name in self.off() else why

    def missing(self, found: Found) -> tuple[Unmet, ...]:
        """What a skill lacks."""
        return conditions.missing(
            found.needs,
            lambda name: bool(self.variable(name)),
            lambda name: shutil.which(name, path=self.programs) is not None,
        )

    def list(self) -> tuple[Skill, ...]:
        """All of them for a person, and why some cannot be used; behind them those that a nearer one hides."""
        shelf = self.look()
        shown = [_listed(found, self.closed(found), self.missing(found)) for found in shelf.skills]
        return (*shown, *(_listed(found, (Unmet("hidden"),), ()) for found in shelf.hidden))

    def get(self, name: str) -> Found:
        """The skill of that name, also as category/name. Raises SkillFailure with those that come near."""
        there = {found.name: found for found in self.look().skills}
        found = there.get(name) or there.get(name.rstrip("/").rpartition("/")[2])
        if found is None:
            shown = name[: limits.SUBJECT_CHARS]
            if not there:
                raise SkillFailure("no_skills", f"There is no skill {shown!r}. There are none.", name=shown)
            near = difflib.get_close_matches(name, there, n=limits.NEAR_NAMES, cutoff=0.5)
            hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(there)}."
            raise SkillFailure("no_skill", f"There is no skill {shown!r}. {hint}", name=shown, there=near or [*there])
        return found

    # -- what a person types ----------------------------------------------------------------------------------------

    def typed(self) -> tuple[Typed, ...]:
        """What a person may type after "/" for them."""
        return tuple(Typed(found.name, found.description, "[text]", "skill", found.place) for found in self.offered())

    def expand(self, name: str, argument: str = "") -> str:
        """What the model is told when a person types /name. Raises SkillFailure."""
        found = self.get(name)
        if why := self.closed(found):
            raise refused(name, why)
        words = (
            f"The user says with it: {argument}" if argument else "Ask the user what it is to be used for if needed."
        )
        head = f"[The user has called the skill {found.name}: follow its instructions.]"
        return "\n\n".join((head, self.told(found, reading.body(found)), words))

    def told(self, found: Found, text: reading.Text, *notes: str) -> str:
        """A skill's body as the model is given it."""
        lacks = [f"Missing: {one.text}" for one in self.missing(found)]
        return reading.given(found, text, reading.files(found), [*lacks, *notes])

    # -- what its commands are given ----------------------------------------------------------------------------------

    def variables(self, found: Found) -> Mapping[str, str]:
        """The variables that a skill names and that are set, with what they hold (SKILL-11)."""
        given = {name: self.variable(name) for name in found.needs.variables}
        return {name: value for name, value in given.items() if value} or _NOTHING


def _listed(found: Found, closed: tuple[Unmet, ...], missing: tuple[Unmet, ...]) -> Skill:
    return Skill(found.name, found.description, str(found.file), found.place, (*closed, *missing), not closed)


_CLOSED: Final = {
    "platform": "skill_platform",
    "tool": "skill_tool",
    "stands_in": "skill_stands_in",
    "off": "skill_off",
}
"""The case that faces have words for, by the kind of what closes a skill."""


def refused(name: str, why: Sequence[Unmet]) -> SkillFailure:
    """Of a skill that is closed: all the reasons in English; faces say the first in their own words."""
    text = f"The skill {name} cannot be used here: {said(why)}."
    case = _CLOSED.get(why[0].kind, "skill_closed")
    return SkillFailure("skill_closed", text, name=name, case=case, what=why[0].what)


def said(unmet: Iterable[Unmet]) -> str:
    """Why, in English."""
    return "; ".join(one.text for one in unmet)
