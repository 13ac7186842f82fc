"""Where things are: the homes of the user, and the folders of a project.

Source: SESS-10, CFG-04.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from agent_core.names import AGENTS_DIR, HERMES_DIR, HOME_DIR
from agent_core.records import dataclass

PROFILES: Final = "profiles"
"""The folder of our home that holds those of the profiles."""
_PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class Places:
    """All paths are absolute; nothing has to exist but `workspace`."""

    home: Path
    """The user's home folder."""
    data_home: Path
    """Our own home: NANOHERMES_HOME, else ~/.nanohermes."""
    hermes_home: Path
    """~/.hermes: read as a fallback, never written."""
    workspace: Path
    """Where the program was started, resolved."""
    project_root: Path | None
    """The git repository the workspace lies in."""
    project_dir: Path | None = None
    """The nearest `.nanohermes` folder between the workspace and the project's root."""
    project_hermes_dir: Path | None = None
    """The nearest `.hermes` folder there."""
    project_agents_dir: Path | None = None
    """The nearest `.agents` folder there, which several agents share: it holds skills."""

    @property
    def config_file(self) -> Path:
        return self.data_home / "config.yaml"

    @property
    def config_files(self) -> tuple[Path, ...]:
        """Every file that settings may stand in, there or not."""
        project = [folder / "config.yaml" for folder in (self.project_hermes_dir, self.project_dir) if folder]
        return (self.hermes_home / "config.yaml", self.config_file, *project)

    @property
    def env_file(self) -> Path:
        return self.data_home / ".env"

    def folders(self, texts: Iterable[str]) -> tuple[Path, ...]:
        """The folders that a setting or an option names, resolved: `~/` is the home, the rest is seen from here."""
        spelled = [self.home / text[2:] if text.startswith("~/") else self.workspace / text for text in texts if text]
        return tuple(dict.fromkeys(path.resolve() for path in spelled))

    @property
    def skill_homes(self) -> tuple[Path, ...]:
        """Whose folder `skills` holds the user's own skills, the nearest first: ours, that of Hermes, a shared one."""
        return (self.data_home, self.hermes_home, self.home / AGENTS_DIR)

    @property
    def grants_file(self) -> Path:
        """What was allowed for good on this machine."""
        return self.data_home / "grants.json"

    @property
    def memory_file(self) -> Path:
        """What is remembered over sessions (engine bm25)."""
        return self.data_home / "memory.json"

    @property
    def memories_dir(self) -> Path:
        """What is remembered over sessions (engine markdown): MEMORY.md and USER.md."""
        return self.data_home / "memories"

    @property
    def state_db(self) -> Path:
        return self.data_home / "state.db"

    @property
    def history_file(self) -> Path:
        return self.data_home / "history"

    @property
    def themes_dir(self) -> Path:
        return self.data_home / "themes"

    @property
    def cache_dir(self) -> Path:
        """What may be deleted at any time."""
        return self.data_home / "cache"

    @property
    def search_db(self) -> Path:
        """The index of what can be searched; made from state_db."""
        return self.cache_dir / "search.db"

    @property
    def jieba_dir(self) -> Path:
        """Where jieba keeps its dictionary as it was loaded."""
        return self.cache_dir / "jieba"

    @property
    def screen_file(self) -> Path:
        """What the screen remembers from run to run."""
        return self.cache_dir / "screen.json"

    @property
    def logs_dir(self) -> Path:
        return self.data_home / "logs"


def find_places(cwd: Path, env: Mapping[str, str]) -> Places:
    """The places of a program that was started in `cwd` with the environment `env`."""
    cwd = cwd.resolve()
    home, data_home = _homes(cwd, env)
    hermes_home = home / HERMES_DIR
    root = next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), None)
    own = {data_home.resolve(), hermes_home.resolve(), (home / HOME_DIR).resolve()}
    return Places(
        home=home,
        data_home=data_home,
        hermes_home=hermes_home,
        workspace=cwd,
        project_root=root,
        project_dir=_nearest(HOME_DIR, cwd, root, own),
        project_hermes_dir=_nearest(HERMES_DIR, cwd, root, own),
        project_agents_dir=_nearest(AGENTS_DIR, cwd, root, {(home / AGENTS_DIR).resolve()}),
    )


def profile_home(name: str, cwd: Path, env: Mapping[str, str]) -> Path:
    """The folder that is our home under the profile `name`, also when `env` is already that of a profile.

    Raises ValueError for a name that is none. Source: SESS-11.
    """
    if not _PROFILE.match(name):
        raise ValueError(f"--profile {name}: a name has letters, digits, - and _, at most 64, and begins with no sign.")
    _, data_home = _homes(cwd.resolve(), env)
    root = data_home.parent.parent if data_home.parent.name == PROFILES else data_home
    return root / PROFILES / name


def _homes(cwd: Path, env: Mapping[str, str]) -> tuple[Path, Path]:
    """The user's home and our own."""
    home = Path(env.get("HOME") or Path.home()).absolute()
    if given := env.get("NANOHERMES_HOME"):
        return home, home / given[2:] if given.startswith("~/") else cwd / given
    return home, home / HOME_DIR


def _nearest(name: str, start: Path, root: Path | None, own: set[Path]) -> Path | None:
    """The nearest folder `name` from `start` up to `root`, but none of the user's `own`: those are no project's."""
    for folder in (start, *start.parents):
        found = folder / name
        if found.is_dir() and found.resolve() not in own:
            return found
        if root is None or folder == root:
            break
    return None
