"""A home, a project and an environment for tests of the config."""

from __future__ import annotations

import textwrap
from pathlib import Path

from agent_core.config.load import load
from agent_core.config.paths import find_places


class World:
    """A home and a project on disk; `load` reads what was written into it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project"
        self.cwd = self.project / "src" / "deep"
        self.cwd.mkdir(parents=True)
        self.home.mkdir()
        (self.project / ".git").mkdir()
        self.env = {"HOME": str(self.home)}

    def write(self, place: str, text: str) -> Path:
        file = {
            "user": self.home / ".nanohermes/config.yaml",
            "hermes": self.home / ".hermes/config.yaml",
            "project": self.project / ".nanohermes/config.yaml",
            "project hermes": self.project / ".hermes/config.yaml",
            "env": self.home / ".nanohermes/.env",
            "hermes env": self.home / ".hermes/.env",
        }[place]
        file.parent.mkdir(exist_ok=True)
        file.write_text(textwrap.dedent(text), "utf-8")
        file.chmod(0o600)
        return file

    @property
    def places(self):
        return find_places(self.cwd, self.env)

    def load(self, **overrides):
        return load(self.places, self.env, {k.replace("__", "."): v for k, v in overrides.items()})
