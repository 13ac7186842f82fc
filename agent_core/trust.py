"""What a project's own files would do, and whether the user has accepted exactly that.

A folder may bring settings, hooks, MCP servers, commands, agents and skills. Until a person has seen them they do
nothing. Each file is read once: the bytes that were shown are the bytes that count, and a file that has changed since
asks again. What was accepted is kept in the user's grants.json. Source: CFG-04, A7, GAP-12, GAP-13.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from agent_core import after_edit, hooks, limits
from agent_core.config.load import Held, ProjectFiles, load
from agent_core.config.paths import Places
from agent_core.errors import ConfigError
from agent_core.grants_file import GrantsFile
from agent_core.hooks import HookSet
from agent_core.plain_files import read_regular
from agent_core.records import dataclass
from agent_core.safety.redact import redact
from agent_core.text.printable import printable

SECTION: Final = "trust"
"""Of grants.json: by the folder, what was answered, when, and to which content."""

Kind = Literal["config", "hooks", "servers", "command", "agent", "skill", "snippet"]
State = Literal["none", "new", "changed", "trusted", "refused"]
"""Nothing that acts; never asked; accepted, but not what is there now; accepted; never to be asked about."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A file of the project as it was read."""

    path: Path
    name: str
    """Relative to the folder, as a person reads it."""
    kind: Kind
    data: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that a file would do, or that is wrong with it: for a person, without keys and control characters."""

    name: str
    """Of the file."""
    what: Literal["setting", "hook", "server", "command", "agent", "skill", "snippet", "problem"]
    words: str


@dataclass(frozen=True, slots=True)
class Offer:
    """All that a folder brings."""

    root: Path
    """The folder it is about."""
    files: tuple[Offered, ...] = ()
    rows: tuple[Row, ...] = ()

    @property
    def acts(self) -> bool:
        """Whether accepting it would change anything."""
        return any(row.what != "problem" for row in self.rows)

    @property
    def digests(self) -> dict[str, str]:
        return {file.name: file.digest for file in self.files}

    @property
    def digest(self) -> str:
        """Stands for exactly these files with exactly this content."""
        return hashlib.sha256(json.dumps(self.digests, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Standing:
    """An offer and what the user has said of it."""

    offer: Offer
    state: State = "none"
    changed: tuple[str, ...] = ()
    """With "changed": the files that are new, others, or gone since it was accepted."""

    @property
    def asks(self) -> bool:
        """A person should be shown it."""
        return self.state in ("new", "changed")

    @property
    def config(self) -> ProjectFiles:
        """The project's config files, for the settings."""
        data = {file.path: file.data for file in self.offer.files if file.kind == "config"}
        return ProjectFiles(data, self.state == "trusted")

    def accepted(self, kind: Kind) -> Iterator[Offered]:
        """The files of a kind that may act: none of what is not trusted."""
        if self.state == "trusted":
            yield from (file for file in self.offer.files if file.kind == kind)

    @property
    def line(self) -> str:
        """What is not trusted and the way out, in one line; empty when nothing asks."""
        if not self.asks:
            return ""
        names = list(dict.fromkeys(row.name for row in self.offer.rows if row.what != "problem"))
        idle = f"{', '.join(names)} {'does' if len(names) == 1 else 'do'} nothing"
        verb = "has changed since it was trusted" if self.state == "changed" else "is not trusted"
        folder = printable(str(self.offer.root))
        return f"{folder} {verb}: {idle}. See and accept: nanoherm-tui trust {shlex.quote(folder)}"

    @property
    def problem(self) -> ConfigError:
        """That what was trusted has changed, for who is to be told."""
        params = {"folder": str(self.offer.root), "files": list(self.changed)}
        return ConfigError("trust_changed", self.line, **params)


# -- what there is ------------------------------------------------------------------------------------------------


def look(places: Places, grants: GrantsFile, hide: Callable[[str], str] = redact) -> Standing:
    """What the project at `places` offers, and how that stands. Never raises for what is on disk.

    `hide` takes keys out of what a person is shown. Reads every file that could act; a few stat calls without any.
    """
    offer = offered(places, hide)
    if not offer.acts:
        return Standing(offer)
    entry = _entry(grants, offer.root)
    if entry.get("answer") == "never":
        return Standing(offer, "refused")
    if entry.get("answer") != "trusted":
        return Standing(offer, "new")
    if entry.get("digest") == offer.digest:
        return Standing(offer, "trusted")
    before, now = _texts(entry.get("files")), offer.digests
    changed = tuple(sorted(name for name in {*before, *now} if before.get(name) != now.get(name)))
    return Standing(offer, "changed", changed)


def offered(places: Places, hide: Callable[[str], str] = redact) -> Offer:
    """What the project at `places` brings. Never raises for what is on disk."""
    found = _Search(places)
    for folder in (places.project_hermes_dir, places.project_dir):
        if folder is not None:
            found.folder(folder)
    if places.project_agents_dir is not None:
        found.shared_skills(places.project_agents_dir)
    for folder in dict.fromkeys((places.project_root or places.workspace, places.workspace)):
        found.file(folder / ".mcp.json", "servers", folder)
    root = max(found.bases, key=lambda base: len(base.parts), default=places.project_root or places.workspace)
    offer = Offer(root, tuple(replace(file, name=_relative(file.path, root)) for file in found.files))
    rows = [
        *(row for file in offer.files for row in _rows(file)),
        *_settings(places, offer),
        *(Row(_relative(path, root), "problem", words) for path, words in found.problems),
    ]
    # Written out first: what hides a key also takes escape sequences out, and nothing is to go without a word.
    rows = [replace(row, words=_shown(printable(row.words), hide)) for row in rows]
    if (more := len(rows) - limits.TRUST_ROWS) > 0:
        words = f"{more:,} more lines are not shown. Look into the files before you trust them."
        rows = [*rows[: limits.TRUST_ROWS], Row("", "problem", words)]
    return replace(offer, rows=tuple(rows))


class _Search:
    """Reads a project's files, each once, within bounds. It follows no links: they lead out of what was looked at."""

    def __init__(self, places: Places) -> None:
        self.files: list[Offered] = []
        self.bases: list[Path] = []
        """Folders whose own the found files are."""
        self.problems: list[tuple[Path, str]] = []
        self._room = limits.TRUST_BYTES
        self._folders = limits.TRUST_FILES
        self._full = False
        self._inside = (places.project_root or places.workspace).resolve()

    def folder(self, folder: Path) -> None:
        """A project's `.nanohermes` or `.hermes`."""
        base = folder.parent
        if self._leads_away(folder):
            return
        self.file(folder / "config.yaml", "config", base)
        if folder.name == ".nanohermes":
            self.file(folder / "hooks.json", "hooks", base)
            self.file(folder / "mcp.json", "servers", base)
            self.file(folder / "snippets.yaml", "snippet", base)
        self._below(folder / "commands", "command", base, depth=limits.COMMAND_DEPTH, ending=".md")
        self._below(folder / "agents", "agent", base, depth=1, ending=".md")
        self._below(folder / "skills", "skill", base, depth=limits.TRUST_DEPTH)

    def shared_skills(self, folder: Path) -> None:
        """A project's `.agents`: of what other agents keep there only skills are used."""
        if not self._leads_away(folder):
            self._below(folder / "skills", "skill", folder.parent, depth=limits.TRUST_DEPTH)

    def _leads_away(self, folder: Path) -> bool:
        if folder.is_symlink() or not folder.resolve().is_relative_to(self._inside):
            self.problems.append((folder, "is a link; nothing in it is used"))
            return True
        return False

    def file(self, path: Path, kind: Kind, base: Path) -> None:
        if path.is_symlink():
            self.problems.append((path, "is a link; it is not used"))
            return
        if self._full:
            return
        try:
            data = read_regular(path, min(self._room, limits.CONFIG_FILE), follow=False)
        except OSError as error:
            self.problems.append((path, f"cannot be read ({error.strerror or error})"))
            return
        if data is None:
            return
        if len(data) > limits.CONFIG_FILE:
            self.problems.append((path, f"is larger than {limits.CONFIG_FILE // limits.KB} KB; it is not used"))
        elif len(data) > self._room or len(self.files) == limits.TRUST_FILES:
            self._full = True
            self.problems.append((path, "is one file too many, or too large: it and those after it are not used"))
        else:
            self._room -= len(data)
            self.files.append(Offered(path, str(path), kind, data))
            if base not in self.bases:
                self.bases.append(base)

    def _below(self, folder: Path, kind: Kind, base: Path, *, depth: int, ending: str = "") -> None:
        if folder.is_symlink():
            self.problems.append((folder, "is a link; nothing in it is used"))
            return
        try:
            with os.scandir(folder) as entries:
                some = islice(entries, limits.TRUST_FILES + 1)
                names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in some)
        except OSError:  # there is none, or it is closed to us as it is to whoever would use it
            return
        self._folders -= 1
        if len(names) > limits.TRUST_FILES or self._folders < 0:
            if self._folders >= -1:
                self.problems.append((folder, "holds too many files, or is one folder too many; it is not used"))
            return
        for name, is_folder in names:
            if is_folder and depth > 1:
                self._below(folder / name, kind, base, depth=depth - 1, ending=ending)
            elif not is_folder and name.endswith(ending):
                self.file(folder / name, kind, base)


# -- what it would do ---------------------------------------------------------------------------------------------


def _rows(file: Offered) -> Iterator[Row]:
    if file.kind == "hooks":
        try:
            for words in hooks.names(hooks.parse(file.data, file.name)):
                yield Row(file.name, "hook", words)
        except ConfigError as error:
            yield Row(file.name, "problem", error.text)
    elif file.kind == "servers":
        try:
            document = json.loads(file.data.decode("utf-8-sig") or "{}")
        except (ValueError, RecursionError):
            yield Row(file.name, "problem", "is not JSON; it is not used")
            return
        if isinstance(document, dict):
            for key in ("mcpServers", "servers", "mcp_servers"):
                servers = document.get(key)
                if isinstance(servers, dict):
                    yield from (Row(file.name, "server", _server(name, entry)) for name, entry in servers.items())
    elif file.kind in ("command", "agent"):
        what: Literal["command", "agent"] = "command" if file.kind == "command" else "agent"
        yield Row(file.name, what, f"/{command_name(file.path)}" if file.kind == "command" else file.path.stem)
    elif file.kind == "skill":
        runs = file.data.startswith(b"#!") or (file.path.suffix not in ("", ".md", ".txt", ".json", ".yaml"))
        yield Row(file.name, "skill", "a program" if runs else "a text")
    elif file.kind == "snippet":
        yield Row(file.name, "snippet", "texts for the draft")


def command_name(path: Path) -> str:
    """What a file of commands/ is typed as: `git/commit.md` as git:commit."""
    parts = path.with_suffix("").parts
    below = [at for at, part in enumerate(parts[:-1]) if part == "commands"]
    return ":".join(parts[below[-1] + 1 :] if below else parts[-1:])


def _server(name: str, entry: object) -> str:
    """What starting a server means: its whole command line, or whom it talks to."""
    if not isinstance(entry, Mapping):
        return f"{name}: {_value(entry)}"
    rest, words = dict(entry), []
    for key in ("command", "args") if entry.get("command") else ("url",):
        value = rest.pop(key, None)
        words += value if isinstance(value, list) else [] if value is None else [value]
    # What is not told as the line is told by its key, whatever a reader of the entry makes of it.
    return f"{name}: {' '.join(map(str, words)) or '?'}" + (f"  {_value(rest)}" if rest else "")


def _settings(places: Places, offer: Offer) -> Iterator[Row]:
    """What the project's configs would set."""
    data = {file.path: file.data for file in offer.files if file.kind == "config"}
    if not data:
        return
    config = load(places, {}, project=ProjectFiles(data))
    names = {str(file.path): file.name for file in offer.files}
    for held in config.held:
        yield from (Row(names[held.file], what, words) for what, words in _setting(held) if held.file in names)
    for warning in config.warnings:
        if warning.file in names and warning.code not in ("not_trusted", "never_from_project", "unknown_key"):
            yield Row(names[warning.file], "problem", warning.text)


def _setting(held: Held) -> Iterator[tuple[Literal["setting", "hook", "server"], str]]:
    if held.key == "hooks":
        found, problems = hooks.from_config(held.value, held.file)
        yield from (("hook", words) for words in hooks.names(found))
        yield from (("setting", words) for words in problems)
    elif held.key == "after_edit":
        checks = after_edit.parse(held.value)
        yield from (("hook", words) for words in after_edit.names(checks.checks))
        yield from (("setting", words) for words in checks.problems)
    elif held.key == "mcp_servers":
        yield from (("server", _server(str(name), entry)) for name, entry in held.value.items())
    elif isinstance(held.value, Mapping) and held.value:
        yield from (("setting", f"{held.key}.{name} = {_value(entry)}") for name, entry in held.value.items())
    else:
        yield "setting", f"{held.key} = {_value(held.value)}"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _shown(written: str, hide: Callable[[str], str]) -> str:
    """A line as it may be shown. What is left out of it is said: nobody accepts what they cannot see."""
    words = hide(written)
    key = "" if words == written else " [what looks like a key is left out: look into the file]"
    if (more := len(words) - limits.TRUST_ROW_CHARS) > 0:
        words = f"{words[: limits.TRUST_ROW_CHARS]} [{more:,} more characters: look into the file]"
    return words + key


def _relative(path: Path, root: Path) -> str:
    return printable(os.path.relpath(path, root))


# -- what was answered --------------------------------------------------------------------------------------------


def accept(standing: Standing, grants: GrantsFile) -> None:
    """What was shown may act from now on, as long as it stays as it was shown. Raises ConfigError."""
    offer = standing.offer
    entry = {"answer": "trusted", "digest": offer.digest, "files": offer.digests, "when": round(time.time(), 3)}
    _write(grants, offer.root, entry)


def refuse(standing: Standing, grants: GrantsFile) -> None:
    """Nothing of this folder ever acts, and nobody is asked again. Raises ConfigError."""
    _write(grants, standing.offer.root, {"answer": "never", "when": round(time.time(), 3)})


def forget(standing: Standing, grants: GrantsFile) -> None:
    """Take back what was answered: nothing acts, and the next start asks. Raises ConfigError."""
    _write(grants, standing.offer.root, None)


def _write(grants: GrantsFile, root: Path, entry: dict[str, Any] | None) -> None:
    def edit(section: dict[str, Any]) -> None:
        if entry is None:
            section.pop(str(root), None)
        else:
            section[str(root)] = entry

    grants.change_section(SECTION, edit)


def _entry(grants: GrantsFile, root: Path) -> Mapping[str, Any]:
    entry = grants.read().section(SECTION).get(str(root))
    return entry if isinstance(entry, Mapping) else {}


def _texts(value: object) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else {}


def projects_hooks(standing: Standing) -> HookSet:
    """The hooks of a trusted project's hooks.json; those in its config are in the settings."""
    out = HookSet()
    for file in standing.accepted("hooks"):
        try:
            out += HookSet(hooks.parse(file.data, str(file.path)))
        except ConfigError as error:
            out += HookSet(problems=(error,))
    return out
