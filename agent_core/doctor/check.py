"""What one look came to, who is looked at, and what several looks need."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from agent_core import trust
from agent_core.config.load import Config, load
from agent_core.config.paths import Places
from agent_core.desk import options
from agent_core.errors import ConfigError
from agent_core.grants_file import GrantsFile
from agent_core.llm import providers
from agent_core.llm.providers import Endpoint
from agent_core.records import dataclass
from agent_core.sandbox import probe
from agent_core.sandbox.probe import Layers
from agent_core.text.printable import printable
from agent_core.trust import Standing

State = Literal["ok", "warn", "fail", "skip"]
"""ok: in order. warn: works, but less well or less safely than it could. fail: does not work, or is not safe. skip: was
not looked at."""


@dataclass(frozen=True, slots=True)
class Check:
    """What one look came to."""

    id: str
    title: str
    state: State
    text: str
    fix: str = ""
    """What to do; empty when all is well."""


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at."""

    places: Places
    env: Mapping[str, str]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """What was set for this run, by dotted key (Launch.overrides)."""
    online: bool = True
    """Ask the configured model server whether it is there."""
    layers: Callable[[], Layers] = probe.look
    python: tuple[int, int, int] = sys.version_info[:3]
    system: str = platform.system()
    subagents_file: Path | None = None
    """Sub-agents of this run (Launch.subagents_file)."""


Examination = Callable[[], Iterable[Check]]


def has_problem(checks: Iterable[Check]) -> bool:
    return any(check.state == "fail" for check in checks)


class Case:
    """What several checks need, read once."""

    def __init__(self, patient: Patient) -> None:
        self.patient = patient
        self.places = patient.places
        self.env = patient.env

    @cached_property
    def grants(self) -> GrantsFile:
        return GrantsFile(self.places.grants_file)

    @cached_property
    def standing(self) -> Standing:
        return trust.look(self.places, self.grants)

    @cached_property
    def config(self) -> Config:
        return load(self.places, self.env, self.patient.overrides, project=self.standing.config)

    @cached_property
    def layers(self) -> Layers:
        return self.patient.layers()

    @cached_property
    def endpoint(self) -> Endpoint | ConfigError:
        """Whom the config names, or why it names nobody."""
        try:
            return providers.resolve(options.provider(self.config), self.env, self.config.dotenv)
        except ConfigError as error:
            return error

    def short(self, path: Path) -> str:
        """A path as a person calls it."""
        home = str(self.places.home)
        text = str(path)
        return printable("~" + text[len(home) :] if text == home or text.startswith(home + "/") else text)
