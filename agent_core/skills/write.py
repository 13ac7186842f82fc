"""Writing skills: worked out first as changes of files with their diff, carried out once a person has agreed.

Only those in our own home are written. A deleted skill is put into its folder `.archive`. Source: SKILL-10, SKILL-16.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final, Literal

from agent_core import limits
from agent_core.errors import SkillFailure
from agent_core.messages import FileDiff
from agent_core.names import SKILLS_DIR
from agent_core.plain_files import atomic_write, read_regular
from agent_core.records import dataclass
from agent_core.skills import names, reading
from agent_core.skills.discover import MAIN, Found
from agent_core.skills.frontmatter import parse
from agent_core.text import diff, match
from agent_core.text.ansi import clean

ARCHIVE: Final = ".archive"
FOLDERS: Final = ("references", "scripts", "templates", "assets")
"""Where the other files of a skill go."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file, by its path below the folder of skills. `old` is the SHA-256 of what it holds now."""

    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A write that has been checked and changes nothing yet."""

    title: str
    """One line: what it would do."""
    changes: tuple[Change, ...]
    diffs: tuple[FileDiff, ...] = field(default=(), compare=False)
    archive: str = ""
    """The folder that goes, with a delete."""

    def to_json(self) -> dict[str, Any]:
        changes = [[change.path, change.old, change.new] for change in self.changes]
        return {"title": self.title, "archive": self.archive, "changes": changes}


def plan_of(data: Mapping[str, Any]) -> Plan:
    """The plan that `to_json` was of. Raises SkillFailure for what is none, or leads out of the folder of skills."""
    try:
        changes = tuple(Change(reading.inside(path), old, new) for path, old, new in data["changes"])
        archive = reading.inside(data["archive"]) if data["archive"] else ""
        return Plan(str(data["title"]), changes, (), archive)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SkillFailure("skill_plan", "What was put aside is no write to a skill any more. Reject it.") from error


@dataclass(frozen=True, slots=True)
class Writer:
    """Plans and carries out writes of skills in one home."""

    data_home: Path
    home: Path
    redact: Callable[[str], str]
    """Takes keys out: a skill that holds one is not written."""

    @property
    def top(self) -> Path:
        return self.data_home / SKILLS_DIR

    # -- what is to be done -----------------------------------------------------------------------------------------

    def create(self, name: str, content: str, category: str, there: Iterable[Found]) -> Plan:
        """A new skill. Raises SkillFailure."""
        if not names.is_valid(name):
            raise SkillFailure(
                "skill_name",
                f"{name[: limits.SUBJECT_CHARS]!r} is no name for a skill: at most {limits.SKILL_NAME} small letters, "
                "digits, dots, _ and -, and no sign first.",
                name=name[: limits.SUBJECT_CHARS],
                most=limits.SKILL_NAME,
            )
        if category and not names.is_valid(category):
            shown = category[: limits.SUBJECT_CHARS]
            text = f"{shown!r} is no name for a folder of skills."
            raise SkillFailure("skill_name", text, case="skill_category", name=shown, most=limits.SKILL_NAME)
        if any(found.name == name for found in there):
            raise SkillFailure(
                "skill_there", f"There is a skill {name} already. Change it with patch or edit.", name=name
            )
        self._check_main(content, name)
        path = posixpath.join(*filter(None, (category, name)), MAIN)
        return self._plan(f"Create the skill {name}", [(path, content)])

    def edit(self, found: Found, content: str) -> Plan:
        """Another SKILL.md. Raises SkillFailure."""
        self._check_main(content, found.name)
        return self._plan(f"Rewrite the skill {found.name}", [(self._below(found, MAIN), content)])

    def patch(self, found: Found, old: str, new: str, file: str = "", every: bool = False) -> Plan:
        """Another text for a part of SKILL.md or of another file. Raises SkillFailure."""
        name = reading.inside(file) if file else MAIN
        path = self._below(found, name)
        text = self._text(path)
        if text is None:
            raise reading.missing(found, name)
        place = match.find(text, old, new, every)
        if isinstance(place, match.NoMatch):
            raise _no_place(place, name)
        changed = match.apply(text, place)
        if name == MAIN:
            self._check_main(changed, found.name)
        return self._plan(f"Change the skill {found.name}", [(path, changed)])

    def write_file(self, found: Found, file: str, content: str) -> Plan:
        """A file beside SKILL.md, new or another content for it. Raises SkillFailure."""
        name = self._supporting(file)
        return self._plan(f"Write {name} of the skill {found.name}", [(self._below(found, name), content)])

    def remove_file(self, found: Found, file: str) -> Plan:
        """A file beside SKILL.md goes. Raises SkillFailure."""
        name = self._supporting(file)
        path = self._below(found, name)
        if self._text(path) is None:
            raise reading.missing(found, name)
        return self._plan(f"Remove {name} of the skill {found.name}", [(path, None)])

    def delete(self, found: Found) -> Plan:
        """The whole skill goes into the archive. Raises SkillFailure."""
        main = self._below(found, MAIN)
        others = len(reading.files(found))
        more = f" with {others} more file{'s' if others > 1 else ''}" if others else ""
        plan = self._plan(f"Delete the skill {found.name}{more}", [(main, None)])
        return Plan(plan.title, plan.changes, plan.diffs, posixpath.dirname(main))

    # -- and doing it -----------------------------------------------------------------------------------------------

    def carry_out(self, plan: Plan) -> None:
        """Do what a plan says. Raises SkillFailure when a file is no longer what it was made for, or is not to be
        written."""
        for change in plan.changes:
            now = self._text(change.path)
            if (None if now is None else _digest(now)) != change.old:
                shown = self._shown(change.path)
                text = f"{shown} has changed meanwhile. Nothing was written: look again."
                raise SkillFailure("skill_stale", text, path=shown)
            if change.new is not None:
                self._check(change.new)
        try:
            if plan.archive:
                self._put_away(plan.archive)
                return
            for change in plan.changes:
                path = self._path(change.path)
                if change.new is None:
                    path.unlink()
                else:
                    atomic_write(path, change.new.encode("utf-8", "replace"))
        except OSError as error:
            raise reading.unwritable(str(error.filename or self.top), error) from error

    def _put_away(self, folder: str) -> None:
        name = f"{posixpath.basename(folder)}-{time.strftime('%Y%m%d-%H%M%S')}"
        archive = self.top / ARCHIVE
        archive.mkdir(mode=0o700, exist_ok=True)
        os.rename(self._path(folder), archive / name)

    # -- the parts ----------------------------------------------------------------------------------------------------

    def _plan(self, title: str, files: Iterable[tuple[str, str | None]]) -> Plan:
        changes, diffs = [], []
        for path, new in files:
            if new is not None:
                new = new if new.endswith("\n") or not new else new + "\n"
                self._check(new)
            old = self._text(path)
            if old == new:
                shown = self._shown(path)
                raise SkillFailure("skill_same", f"{shown} has exactly this content already.", path=shown)
            changes.append(Change(path, None if old is None else _digest(old), new))
            diffs.append(diff.build(self._shown(path), old, new))
        return Plan(title, tuple(changes), tuple(diffs))

    def _below(self, found: Found, name: str) -> str:
        """The path of a skill's file below our folder of skills. Raises SkillFailure for a skill that is not there."""
        if found.place != "yours" or not found.folder.is_relative_to(self.top):
            case, where = _NOT_OURS.get(found.place, ("", "is not in our home"))
            raise SkillFailure("skill_not_ours", f"The skill {found.name} {where}.", case=case, name=found.name)
        return posixpath.join(found.folder.relative_to(self.top).as_posix(), name)

    def _path(self, below: str) -> Path:
        """Where a path below our folder of skills is. Raises SkillFailure when links lead out of it."""
        path = self.top / below
        folder = Path(os.path.realpath(path.parent))
        if not folder.is_relative_to(os.path.realpath(self.top)) or path.is_symlink():
            shown = self._shown(below)
            text = f"{shown} is a link that leads elsewhere. The user can change it by hand."
            raise SkillFailure("skill_link", text, path=shown)
        return path

    def _text(self, below: str) -> str | None:
        path = self._path(below)
        try:
            data = read_regular(path, limits.SKILL_FILE)
            return None if data is None else data.decode()
        except UnicodeDecodeError:
            shown = self._shown(below)
            raise SkillFailure("skill_binary", f"{shown} is no UTF-8 text.", path=shown) from None
        except OSError as error:
            raise reading.unreadable(self._shown(below), error) from error

    def _shown(self, below: str) -> str:
        text, home = str(self.top / below), str(self.home)
        return "~" + text[len(home) :] if text.startswith(home + "/") else text

    def _supporting(self, file: str) -> str:
        name = reading.inside(file)
        top, _, rest = name.partition("/")
        if top not in FOLDERS or not rest or any(part.startswith(".") for part in name.split("/")):
            text = f"Other files of a skill go below {', '.join(FOLDERS)}: {FOLDERS[0]}/api.md."
            raise SkillFailure("skill_folder", text, folders=list(FOLDERS), example=f"{FOLDERS[0]}/api.md")
        return name

    def _check_main(self, content: str, name: str) -> None:
        """Whether a text is the SKILL.md of this skill. Raises SkillFailure."""
        document = parse(content)
        if document.problems:
            problem = document.problems[0]
            text = f"{MAIN}:{problem.line}: {problem.text}"
            raise SkillFailure("skill_frontmatter", text, case=problem.case, line=problem.line, most=limits.SKILL_HEAD)
        described = document.meta.get("description")
        if document.meta.get("name") != name or not isinstance(described, str) or not described.strip():
            raise SkillFailure(
                "skill_frontmatter",
                f"{MAIN} has to begin with --- and lines name: {name} and description: one sentence of what it is for "
                "and when; then --- and the instructions.",
                case="skill_head_missing",
                name=name,
            )
        if len(described) > limits.SKILL_DESCRIPTION:
            most = limits.SKILL_DESCRIPTION
            text = f"The description has more than {most:,} characters. Shorten it."
            raise SkillFailure("skill_frontmatter", text, case="skill_description_long", most=f"{most:,}")
        if not document.body.strip():
            text = f"{MAIN} has no instructions behind the frontmatter."
            raise SkillFailure("skill_frontmatter", text, case="skill_body_missing")

    def _check(self, text: str) -> None:
        """Whether a text may be written into a skill. Raises SkillFailure."""
        from agent_core.safety.inject import scan

        if len(text) > limits.SKILL_WRITTEN:
            most = limits.SKILL_WRITTEN
            text = f"The text has more than {most:,} characters. Put parts into other files."
            raise SkillFailure("skill_long", text, most=f"{most:,}")
        if clean(text) != text:
            raise SkillFailure("skill_control", "The text holds control characters. Leave them out.")
        if self.redact(text) != text:
            raise SkillFailure("skill_key", "The text holds a key. Name a variable for it, and never the key itself.")
        if flagged := scan(text, "context"):
            raise SkillFailure(
                "skill_orders", "Not written: it reads like an attempt to give models orders beside the work, "
                f"{reading.told(flagged)}. Say what is to be done in plain words.",
                lines=sorted({finding.line for finding in flagged})[: limits.FINDINGS_TOLD],
            )  # fmt: skip


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_NOT_OURS: Final[dict[str, tuple[str, str]]] = {
    "project": ("skill_not_ours_project", "belongs to the project: change its files with the file tools"),
    "hermes": (
        "skill_not_ours_hermes",
        "belongs to Hermes, and is only read: create one of another name, or ask the user",
    ),
    "elsewhere": (
        "skill_not_ours_elsewhere",
        "is in a folder that is only read: create one of another name, or ask the user",
    ),
    "agents": (
        "skill_not_ours_agents",
        "is shared by several agents, and is only read: create one of another name, or ask the user",
    ),
}
"""By its place: the case that faces have words for, and the words for the model."""
_REASONS: Final[dict[Literal["missing", "several", "empty", "same"], tuple[str, str]]] = {
    "missing": ("skill_patch_missing", "old_string does not stand in {file}. Load it, and quote what stands there."),
    "several": (
        "skill_patch_several",
        "old_string stands in {file} {count} times. Quote more of what stands around it, or set replace_all.",
    ),
    "empty": ("skill_patch_empty", "old_string is empty. Quote the text to replace."),
    "same": ("skill_patch_same", "new_string is the same as old_string."),
}
"""The case that faces have words for, and the words for the model."""


def _no_place(found: match.NoMatch, file: str) -> SkillFailure:
    case, text = _REASONS[found.reason]
    return SkillFailure(
        "skill_patch", text.format(file=file, count=found.count), case=case, file=file, count=found.count
    )
