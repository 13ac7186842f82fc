"""Where skills are, and what their frontmatter says; bodies stay on the disk until they are wanted.

A project's come first: `.nanohermes/skills`, `.hermes/skills`, `.agents/skills`, and only what a person has accepted,
from the bytes they were shown. Then those of the user's homes, in the same order. Of two with one name the nearer one
counts. Source: SKILL-02 to SKILL-05.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from agent_core import limits
from agent_core.config.paths import Places
from agent_core.errors import ToolFailure
from agent_core.names import SKILLS_DIR
from agent_core.plain_files import read_regular
from agent_core.records import dataclass
from agent_core.skills import names
from agent_core.skills.conditions import NOTHING, Needs, needs_of
from agent_core.skills.frontmatter import Document, Problem, first_line, parse
from agent_core.text.ansi import clean
from agent_core.text.encoding import decode
from agent_core.trust import Standing

MAIN: Final = "SKILL.md"
Place = Literal["project", "yours", "hermes", "agents", "elsewhere"]
"""Of the project; in our own home; in that of Hermes; in the one that several agents share; in a folder that the
user's config names (skills.external_dirs)."""


@dataclass(frozen=True, slots=True)
class Found:
    """A skill as it was found."""

    name: str
    description: str
    """One line, as long as it is."""
    folder: Path
    place: Place
    needs: Needs = NOTHING
    accepted: Mapping[str, bytes] | None = None
    """A project's files by their paths below `folder`, as a person has accepted them; None: they are on the disk."""
    problems: tuple[Problem, ...] = ()

    @property
    def file(self) -> Path:
        return self.folder / MAIN


@dataclass(frozen=True, slots=True)
class Shelf:
    """All skills of a workspace."""

    skills: tuple[Found, ...] = ()
    """Sorted by name, each name once."""
    hidden: tuple[Found, ...] = ()
    """Those that a nearer one of the same name stands before."""


def homes(places: Places, more: Iterable[Path] = ()) -> tuple[tuple[Path, Place], ...]:
    """The folders of the user's own skills, the nearest first. `more`: those that the config names."""
    kinds: tuple[Place, ...] = ("yours", "hermes", "agents")
    own = [(home / SKILLS_DIR, place) for home, place in zip(places.skill_homes, kinds, strict=True)]
    return (*own, *((folder, "elsewhere") for folder in more))


def tops(places: Places, more: Iterable[Path] = ()) -> Iterator[Path]:
    """Every folder that skills may lie in, trusted or not, the nearest first."""
    for home in (places.project_dir, places.project_hermes_dir, places.project_agents_dir):
        if home is not None:
            yield home / SKILLS_DIR
    yield from (folder for folder, _ in homes(places, more))


class Finder:
    """Looks for skills; what has not changed since the last look is not read again. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[Path, tuple[tuple[int, ...], Found]] = {}

    def look(self, places: Places, standing: Standing, more: Iterable[Path] = ()) -> Shelf:
        """All there is now. Reads the beginning of each file that is new. Never raises for what is on the disk."""
        with self._lock:
            every = accepted(standing)
            for top, place in homes(places, more):
                every += self._below(top, place)
        nearest: dict[str, Found] = {}
        hidden = []
        for found in every:
            if nearest.setdefault(found.name, found) is not found:
                hidden.append(found)
        return Shelf(tuple(nearest[name] for name in sorted(nearest)), tuple(hidden))

    def _below(self, top: Path, place: Place) -> Iterator[Found]:
        for folder, status in folders(top):
            mark = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_dev)
            known = self._known.get(folder)
            if known is None or known[0] != mark or known[1].place != place:
                known = self._known[folder] = (mark, on_disk(folder, place))
            yield known[1]


def folders(top: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The folders with a SKILL.md below `top`, sorted, and how that file stands. Links are followed, each once.

    Nothing is looked for inside a skill, nor in hidden folders.
    """
    room = [limits.SKILL_ENTRIES]
    seen: set[tuple[int, int]] = set()
    yield from islice(_walk(top, limits.SKILL_DEPTH, room, seen), limits.SKILLS)


def _walk(
    folder: Path, depth: int, room: list[int], seen: set[tuple[int, int]]
) -> Iterator[tuple[Path, os.stat_result]]:
    try:
        here = folder.stat()
        if (here.st_dev, here.st_ino) in seen:  # links that lead round in a circle
            return
        seen.add((here.st_dev, here.st_ino))
        with os.scandir(folder) as entries:
            below = sorted(entry.name for entry in entries if entry.name == MAIN or _leads_on(entry))
    except OSError:  # there is none, or it is closed to us
        return
    room[0] -= len(below)
    if MAIN in below:
        try:
            status = (folder / MAIN).stat()
        except OSError:
            return
        if stat.S_ISREG(status.st_mode):
            yield folder, status
        return
    if depth == 0 or room[0] < 0:
        return
    for name in below:
        yield from _walk(folder / name, depth - 1, room, seen)


def _leads_on(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.name.startswith((".", "__")) and entry.name != "node_modules" and entry.is_dir()
    except OSError:
        return False


def on_disk(folder: Path, place: Place) -> Found:
    """The skill in a folder of the disk; of its file only the beginning is read, where that has all frontmatter."""
    file = folder / MAIN
    try:
        data = read_regular(file, limits.SKILL_HEAD) or b""
        found = _parsed(data, cut=len(data) > limits.SKILL_HEAD)
        if len(data) > limits.SKILL_HEAD and not found.whole:
            found = _parsed(read_regular(file, limits.SKILL_FILE) or b"", cut=True)
    except OSError as error:
        return _made(folder, place, _NONE, Problem(1, f"cannot be read: {error.strerror or error}."))
    return _made(folder, place, found)


_NONE: Final = Document({}, "")


def _parsed(data: bytes, *, cut: bool = False) -> Document:
    try:
        return parse(decode(data, cut=cut).text)
    except ToolFailure:
        return replace(_NONE, problems=(Problem(1, "is no text. Save it as UTF-8."),))


def accepted(standing: Standing) -> list[Found]:
    """The skills of a project whose files a person has accepted, the nearest place first."""
    files = {file.path: file.data for file in standing.accepted("skill")}
    tops = {path.parent for path in files if path.name == MAIN}
    outermost = [top for top in tops if not any(above in tops for above in top.parents)]
    out = []
    for folder in sorted(outermost, key=lambda one: (_rank(one), str(one))):
        own = {str(path.relative_to(folder)): data for path, data in files.items() if path.is_relative_to(folder)}
        found = _made(folder, "project", _parsed(own[MAIN]))
        out.append(replace(found, accepted=own))
    return out


_NEAREST: Final = (".nanohermes", ".hermes", ".agents")


def _rank(folder: Path) -> int:
    """Which of the places of a project's skills a folder lies in, the nearest first."""
    return next((n for n, name in enumerate(_NEAREST) if name in folder.parts), len(_NEAREST))


def _made(folder: Path, place: Place, document: Document, *more: Problem) -> Found:
    problems = [*more, *document.problems]
    written = document.meta.get("name")
    name = " ".join(clean(str(written)).split()) if isinstance(written, (str, int, float)) else ""
    if not names.is_usable(name):
        if name:
            words = f"the name {name[: limits.SKILL_NAME]!r} cannot be typed, so the folder's is used."
            problems.append(Problem(2, f"{words} Choose one such as my-skill."))
        name = folder.name
    said = document.meta.get("description")
    description = said if isinstance(said, str) and said.strip() else first_line(document.body)
    description = " ".join(clean(description).split())
    return Found(name, description, folder, place, needs_of(document.meta), None, tuple(problems))


def checked(found: Found) -> Iterable[Problem]:
    """What is wrong with a skill. Looks at its file again; nothing of it keeps the skill out of the list."""
    yield from found.problems
    if found.accepted is None and _size(found.file) > limits.SKILL_FILE:
        most = limits.SKILL_FILE // limits.KB
        yield Problem(1, f"is larger than {most} KB, so it cannot be loaded. Put parts of it into files beside it.")
    if not found.description:
        yield Problem(1, "says nowhere what it is for. Give it a description in the frontmatter.")


def _size(file: Path) -> int:
    """In bytes; 0 where that cannot be had."""
    try:
        return file.stat().st_size
    except OSError:
        return 0
