"""What a person has answered about the folders that sessions work in: looked up anew, kept, and put on record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agent_core import trust
from agent_core.config.paths import Places, find_places
from agent_core.grants_file import GrantsFile
from agent_core.ports.asking import Decided
from agent_core.records import dataclass
from agent_core.trust import Standing

Answer = Literal["trust", "never", "forget"]
"""What was shown may act; nothing of this folder ever may; what was answered is taken back."""


@dataclass(frozen=True, slots=True)
class Trusting:
    """Safe to use from several threads; every method reads files."""

    places: Places
    """Where the program was started."""
    env: Mapping[str, str]
    grants: GrantsFile
    hide: Callable[[str], str]
    record: Callable[[Path, Decided], None]
    """Puts an answer about a folder on record. Raises StoreError."""

    def places_of(self, workspace: Path) -> Places:
        """Where things are, looked up anew: a folder of settings may have come with the last pull."""
        return replace(find_places(workspace, self.env), data_home=self.places.data_home)

    def look(self, workspace: Path | None = None) -> Standing:
        """What a workspace brings, by default that of the start, and how it stands now."""
        return trust.look(self.places_of(workspace or self.places.workspace), self.grants, self.hide)

    def answer(self, standing: Standing, answer: Answer) -> None:
        """Keep what a person has answered to what was shown. Raises ConfigError when it cannot be kept, StoreError."""
        offer = standing.offer
        what = f"{offer.root}: {', '.join(offer.digests)} ({offer.digest[:12]})"
        rule = {"trust": "trusted", "never": "never trusted", "forget": "trust taken back"}[answer]
        verdict: Literal["allow", "refuse"] = "allow" if answer == "trust" else "refuse"
        decided = Decided("trust", what, verdict, rule, "person")
        if answer == "trust":
            self.record(offer.root, decided)  # first: nothing acts that is not on record
            trust.accept(standing, self.grants)
        else:
            (trust.refuse if answer == "never" else trust.forget)(standing, self.grants)
            self.record(offer.root, decided)
