"""Files as a face shows them: those of a session's workspace, by the path rules, and long outputs that were kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core import limits, spill
from agent_core.config.load import Config
from agent_core.config.paths import Places
from agent_core.ports.tools import IsHidden
from agent_core.safety import hidden
from agent_core.safety.paths import PathRules
from agent_core.spill import SpillPage
from agent_core.workspace import preview
from agent_core.workspace.preview import FileLines, FilePreview

if TYPE_CHECKING:
    from agent_core.images.reader import Drawing
    from agent_core.workspace.index import FileIndex


class FileDesk:
    """Of one program run. Methods read files: not on a screen's thread."""

    def __init__(
        self,
        places: Places,
        config: Callable[[], Config],
        workspace_of: Callable[[str], Path],
        redact: Callable[[str], str],
    ) -> None:
        """`config`: as it is now. `workspace_of`: that of a session. Raises StoreError."""
        self._places = places
        self._config = config
        self._workspace_of = workspace_of
        self._redact = redact

    def index(self, workspace: Path) -> FileIndex:
        """The files of a workspace, for a picker to ask and to close (list_workspace_files)."""
        from agent_core.workspace.index import FileIndex

        return FileIndex(
            workspace,
            self._places.home,
            ignored=not self._config().get("files.respect_gitignore"),
            hidden=lambda: self.hidden(workspace),
        )

    def preview(self, session_id: str, path: str, line: int = 1) -> FilePreview:
        """A part of a file of a session's workspace around a line. Raises AgentError with words for a person."""
        return preview.preview(path, line, self._rules(session_id), self._redact)

    def draw(self, session_id: str, path: str, columns: int, rows: int, ground: str) -> Drawing:
        """An image of a session's workspace in cells of a terminal, on a ground RRGGBB. Raises AgentError."""
        return preview.draw(path, self._rules(session_id), columns, rows, ground)

    def unchanged_lines(self, session_id: str, path: str, versions: tuple[str, str]) -> FileLines:
        """The lines of a file that is still one of a change's versions. Raises AgentError as `preview` does."""
        return preview.unchanged_lines(path, versions, self._rules(session_id), self._redact)

    def _rules(self, session_id: str) -> PathRules:
        return self.rules_of(self._workspace_of(session_id))

    def rules_of(self, workspace: Path) -> PathRules:
        """What file tools may read and write in sessions of a workspace, as it stands now."""
        return PathRules(
            workspace,
            self._places.home,
            self._places.data_home,
            add_dirs=self._folders("sandbox.add_dirs"),
            safe_roots=self._folders("files.write_safe_roots"),
            hidden=self.hidden(workspace),
        )

    def hidden(self, workspace: Path) -> IsHidden:
        """What is read only with consent in sessions of a workspace, as it stands now."""
        home, data_home = self._places.home, self._places.data_home
        roots = (workspace, *self._folders("sandbox.add_dirs"))
        return hidden.hiding(hidden.deny_read_patterns(self._config().get("files.deny_read"), roots, home, data_home))

    def _folders(self, key: str) -> tuple[Path, ...]:
        return self._places.folders(self._config().get(key))

    def spill_page(self, name: str, page: int) -> SpillPage:
        """A page of a long output that was kept in a file. Raises AgentError when it is gone."""
        return spill.read_page(self.spill_folder(name), name, page)

    def spill_text(self, name: str) -> str:
        """All of such an output. Raises AgentError when it is gone."""
        return spill.read_all(self.spill_folder(name), name)

    def spill_folder(self, name: str) -> Path:
        """Where such an output is; those of private commands lie apart, where no model reads."""
        data_home = self._places.data_home
        private = data_home / spill.PRIVATE
        return private if spill.is_name(name) and (private / name).exists() else data_home / spill.FOLDER


def list_folders(path: Path) -> list[Path]:
    """The folders in `path`, sorted, at most limits.FOLDERS_LISTED, for a folder chooser; hidden ones are left out.

    A folder that cannot be read is as if it were empty.
    """
    try:
        with os.scandir(path) as entries:
            some = islice(entries, limits.FOLDERS_SCANNED)
            names = sorted(entry.name for entry in some if not entry.name.startswith(".") and _is_folder(entry))
    except OSError:
        return []
    return [path / name for name in names[: limits.FOLDERS_LISTED]]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether it is one, or a link to one; a link that leads nowhere or in a circle is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False
