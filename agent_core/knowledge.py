"""What a session may know beside its conversation, as data: memories, skills, and what a person may type after "/"."""

from __future__ import annotations

from typing import Final, Literal

from agent_core.messages import FileDiff
from agent_core.records import dataclass

MemoryKind = Literal["lesson", "preference", "correction", "fact"]
MEMORY_KINDS: Final[tuple[MemoryKind, ...]] = ("lesson", "preference", "correction", "fact")


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing that is remembered over sessions. Texts are free of keys and control bytes."""

    id: str
    kind: MemoryKind
    text: str
    created: float = 0.0
    """Seconds since the epoch."""
    source: str = ""
    """The session it comes from; empty: a person wrote it."""
    scope: str = ""
    """The workspace it is about; empty: it holds everywhere."""
    origin: Literal["person", "model", "distilled"] = "person"
    """Who wrote it: a person, the model by a tool, or what is made of turns that have ended."""
    verified: bool = False
    """A person has confirmed it, or it was seen to hold (LRN-02)."""
    observed: str = ""
    """What it was made from, in a few words."""
    derived: tuple[str, ...] = ()
    """Ids of the memories that it builds on: who forgets one of them is told of this one (MEM-21)."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A write to memory or to a skill that waits for a person (MEM-18, SKILL-10)."""

    id: str
    what: Literal["memory", "skill"]
    title: str
    """One line: what it would do."""
    diff: FileDiff
    made: float = 0.0
    """Seconds since the epoch."""
    source: str = ""
    """The session it comes from."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """Why a skill cannot be used here, or not wholly."""

    kind: Literal["platform", "tool", "stands_in", "off", "hidden", "variable", "program"]
    what: str = ""

    @property
    def text(self) -> str:
        """In English; faces have words of their own for each kind."""
        return {
            "platform": f"for {self.what} only",
            "tool": f"needs the tool {self.what}",
            "stands_in": f"only where {self.what} is missing",
            "off": "switched off by skills.disabled",
            "hidden": "a nearer one has the same name",
            "variable": f"{self.what} is not set for its commands",
            "program": f"{self.what} is not installed",
        }[self.kind]


@dataclass(frozen=True, slots=True)
class Skill:
    """A folder with a SKILL.md, as a list shows it. The body is read when it is wanted."""

    name: str
    description: str
    path: str
    """Of its SKILL.md."""
    place: str = ""
    """Whose it is: project, yours, hermes, agents, elsewhere."""
    unmet: tuple[Unmet, ...] = ()
    offered: bool = True
    """The model is told of it; what is unmet then is only missing."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Something a person may type after "/" that is no action of the program: it becomes a message."""

    name: str
    """Without the slash; unique among its kind, and never that of an action."""
    description: str = ""
    hint: str = ""
    """What may follow: "[files]"; empty: nothing is said about that."""
    kind: Literal["command", "skill", "prompt"] = "command"
    """A file of commands/, a skill, a prompt of an MCP server."""
    place: str = ""
    """Where it comes from, as a person reads it."""
    path: str = ""
    """Of its file, as a person reads it; empty: it has none of the user's."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """What something typed stands for, for the model."""

    name: str
    text: str
    refers: bool = False
    """Files and pages that it names with "@" are looked up: a person wrote it, or has trusted who did."""
