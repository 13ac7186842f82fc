"""apply_patch: several files changed by one patch, all of them or none."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from agent_core import files, limits
from agent_core.errors import ToolFailure
from agent_core.messages import clean_surrogates
from agent_core.names import APPLY_PATCH
from agent_core.ports.actions import Effect
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext
from agent_core.records import dataclass
from agent_core.safety.paths import PathVerdict
from agent_core.safety.redact import MARK
from agent_core.text import hunks, patch
from agent_core.text.encoding import UTF8

from . import base, change


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    said = patch.parse(clean_surrogates(base.text(args, "patch")))
    if said.strays:
        raise _unusable(f"not understood: {base.cut_line(said.strays[0], limits.MATCH_LINE_CHARS)}")
    if not said.files:
        raise _unusable(
            'it names no file. It is a unified diff, or "*** Begin Patch", "*** Update File: path" and hunks'
        )
    work = _Work(ctx)
    for one in said.files:
        try:
            work.do(one)
        except ToolFailure as failure:
            if "Nothing was" in failure.text:
                raise
            text = f"{failure.text} {_NOTHING}"
            raise ToolFailure(text, code=failure.code, outcome=failure.outcome, **failure.params) from failure
    return change.prepared(work.changes(), ctx, "".join(work.notes))


@dataclass(slots=True)
class _Place:
    """A place in the file system, as it is and as the patch has made it so far."""

    verdict: PathVerdict
    disk: files.FileContent | None
    """What is there; None: nothing."""
    is_there: bool
    """After what the patch has done so far."""
    file: base.TextFile | None = None
    """What is there as text, once that was needed."""
    text: str | None = None
    """What the patch has made of it; None: nothing has been made."""
    came_from: _Place | None = None
    """The file that the patch has moved here."""


class _Work:
    """Follows a patch through its files; several parts of it may be about one file."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._places: dict[Path, _Place] = {}
        self.notes: list[str] = []

    def do(self, one: hunks.FilePatch) -> None:
        """Work one part of the patch out. Raises ToolFailure."""
        match one.does:
            case "add":
                self._add(one)
            case "delete":
                self._delete(one)
            case _:
                self._update(one)

    def changes(self) -> list[change.Change]:
        """What has become of each file. Raises ToolFailure when that is what was there already."""
        sources = (place.came_from for place in self._places.values() if place.is_there)
        moved = {id(source) for source in sources if source is not None and not source.is_there}
        found = (self._change(place) for place in self._places.values() if id(place) not in moved)
        made = [one for one in found if one is not None]
        if not made:
            raise ToolFailure("The patch leaves every file as it is. Nothing was changed.", outcome="no change")
        return made

    def _change(self, place: _Place) -> change.Change | None:
        source = place.came_from
        if source is not None and source.is_there and place.is_there:  # moved away, and another made there
            text = place.text if place.text is not None else _text_or_none(source)
            if text is None:
                raise _unusable(f"{source.verdict.shown} is no text and is made anew where it was. Use a command")
            return change.creation(place.verdict, text, source.file)
        if source is not None and source.disk is not None and place.is_there:
            _text_or_none(source)  # to be shown
            return change.moving(source.verdict, source.file or source.disk, place.verdict, place.text)
        if place.disk is None:
            return change.creation(place.verdict, place.text or "") if place.is_there else None
        if not place.is_there:
            return change.removal(place.verdict, place.disk, _text_or_none(place))
        return None if place.text is None or place.file is None else change.edit(place.file, place.text)

    # -- the parts of a patch ---------------------------------------------------------------------------------------

    def _add(self, one: hunks.FilePatch) -> None:
        place = self._place(base.judged("write", one.path, self._ctx))
        if place.is_there:
            raise ToolFailure(
                f"{place.verdict.shown} exists already, so it cannot be added. Read it and update it. "
                "Nothing was changed.",
                code="stale_file",
                outcome="there already",
            )
        lines = [line for hunk in one.hunks for line in hunk.lines if line.kind != "-"]
        place.text = "".join(line.text + ("" if line.no_end else "\n") for line in lines)
        place.is_there = True
        if place.disk is not None:  # removed by this patch, and made anew: it stays the file it was
            place.file = base.as_text(place.verdict, place.disk)
            place.text = place.text.replace("\n", place.file.decoded.newline)

    def _delete(self, one: hunks.FilePatch) -> None:
        place = self._existing(base.judged("delete", one.path, self._ctx))
        if one.hunks:
            made = hunks.apply(self._text(place), one.hunks, self._newline(place))
            if isinstance(made, hunks.NoPlace) or made.text.strip():
                raise ToolFailure(
                    f"{place.verdict.shown} is not what the patch wants to remove. Nothing was changed. Read it, or "
                    f'remove it whatever it holds with "*** Delete File: {one.path}".',
                    code="patch_not_found",
                    outcome="text not found",
                )
        elif place.disk is not None and not place.disk.is_link and self._was_seen(place):
            self._check_seen(place)
        place.is_there = False

    def _update(self, one: hunks.FilePatch) -> None:
        # What moves goes away where it was; what stays may be reached through a link.
        source = self._existing(base.judged("delete" if one.new_path else "write", one.path, self._ctx))
        if one.hunks:
            made = hunks.apply(self._text(source), one.hunks, self._newline(source))
            if isinstance(made, hunks.NoPlace):
                raise _no_place(made, one, source.verdict.shown)
            source.text = made.text
            self.notes += [_forgiven(found, one, (one.new_path or one.path)) for found in made.forgiven]
        if one.new_path:
            self._move(source, base.judged("write", one.new_path, self._ctx))

    def _move(self, source: _Place, verdict: PathVerdict) -> None:
        shown = source.verdict.shown
        if verdict.path == source.verdict.path:
            raise _unusable(f"{shown} is to be moved to where it is")
        if source.disk is not None and source.disk.is_link:
            raise _unusable(f"{shown} is a link and is not moved. Use a command")
        target = self._place(verdict)
        if target.is_there or target.disk is not None:
            raise ToolFailure(
                f"{verdict.shown} exists already, so {shown} cannot be moved there. Nothing was changed.",
                code="stale_file",
                outcome="there already",
            )
        if source.text is None and source.disk is not None and self._was_seen(source):
            self._check_seen(source)
        target.text, target.is_there = source.text, True
        target.came_from, target.file = source.came_from or source, source.file
        if source.disk is None and source.came_from is None:  # made by this patch: it is made there
            target.came_from = None
        source.is_there, source.text, source.came_from = False, None, None

    # -- files ------------------------------------------------------------------------------------------------------

    def _place(self, verdict: PathVerdict) -> _Place:
        """What the patch knows of a place, or else what is there."""
        place = self._places.get(verdict.path)
        if place is None:
            try:
                disk = self._read(verdict)
            except ToolFailure as failure:
                if failure.code != "missing":
                    raise
                disk = None
            place = self._places[verdict.path] = _Place(verdict, disk, disk is not None)
        return place

    def _existing(self, verdict: PathVerdict) -> _Place:
        place = self._places.get(verdict.path)
        if place is None:
            disk = self._read(verdict)
            place = self._places[verdict.path] = _Place(verdict, disk, True)
        if not place.is_there:
            raise _unusable(f"{verdict.shown} is not there any more when the patch comes to it")
        return place

    def _read(self, verdict: PathVerdict) -> files.FileContent:
        if verdict.path.is_symlink():
            return files.read_link(verdict, base.rules(self._ctx))
        return base.read_to_change(verdict, base.rules(self._ctx))

    def _text(self, place: _Place) -> str:
        """The text of a file as the patch has made it so far. Raises ToolFailure when the model has not seen it."""
        if place.text is not None:
            return place.text
        origin = place.came_from or place  # moved here as it was
        if origin.disk is None:
            return ""
        if origin.disk.is_link:
            raise _unusable(f"{place.verdict.shown} is a link; name the file it leads to")
        self._check_seen(origin)
        assert origin.file is not None
        place.file = origin.file
        return origin.file.decoded.text

    def _was_seen(self, place: _Place) -> bool:
        """Whether the model knows this file, or knew it until it was rolled back."""
        path = place.verdict.path
        return self._ctx.files.seen(path) is not None or self._ctx.files.rolled_back(path)

    def _check_seen(self, place: _Place) -> None:
        if place.file is None and place.disk is not None:
            place.file = base.as_text(place.verdict, place.disk)
        if place.file is not None:
            self.notes.append(base.check_seen(place.file, self._ctx, quotes=True))

    def _newline(self, place: _Place) -> str:
        return UTF8.newline if place.file is None else place.file.decoded.newline


def _text_or_none(place: _Place) -> str | None:
    """What was there as text, if it is text."""
    if place.file is None and place.disk is not None and not place.disk.is_link:
        try:
            place.file = base.as_text(place.verdict, place.disk)
        except ToolFailure:  # binary: it can be removed, but not shown
            return None
    return None if place.file is None else place.file.decoded.text


# -- words ----------------------------------------------------------------------------------------------------------


def _unusable(why: str) -> ToolFailure:
    return ToolFailure(f"The patch cannot be used: {why}. Nothing was changed.", code="patch", outcome="invalid patch")


def _forgiven(found: hunks.Forgiven, one: hunks.FilePatch, shown: str) -> str:
    """A note on a hunk that was not quoted exactly, with what stands there now, to be checked."""
    lines = "\n".join(f"{number}\t{line}" for number, line in enumerate(found.place.text.split("\n"), found.place.line))
    which = f"{shown}{_which(found.hunk, one)}"
    if found.how == "its place":
        return f"\n{which} named no place and was added at the end of the file. It now reads:\n{lines}"
    return f"\n{which} differed from the file in {found.how}. It now reads:\n{lines}"


def _which(hunk: int, one: hunks.FilePatch) -> str:
    return f", hunk {hunk} of {len(one.hunks)}" if len(one.hunks) > 1 else ""


_NOTHING: Final = "Nothing was changed, in no file."


def _no_place(found: hunks.NoPlace, one: hunks.FilePatch, shown: str) -> ToolFailure:
    which = f"{shown}{_which(found.hunk, one)}"
    lines = ", ".join(str(place.line) for place in found.places)
    more = " and more" if found.count > len(found.places) else ""
    match found.reason:
        case "no change":
            text = f"{which} adds nothing and removes nothing. {_NOTHING} Begin lines with + or -."
            return ToolFailure(text, code="patch", outcome="invalid patch")
        case "no context":
            text = f"{which} quotes no line of the file, and a line number alone is no place. {_NOTHING} "
            text += "Quote the lines around it."
        case "overlap":
            text = f"{shown}: two hunks change the same lines, near line {lines}. {_NOTHING} Join them."
        case "several" | "several hints":
            what = "its lines stand" if found.reason == "several" else f"the line {found.hint!r} stands"
            text = f"{which}: {what} {found.count} times: lines {lines}{more}. {_NOTHING} "
            text += 'Quote more lines around the place, or name one above it with "@@ that line".'
            return ToolFailure(text, code="patch_ambiguous", outcome="ambiguous")
        case _:
            quoted = [line.text for line in one.hunks[found.hunk - 1].lines if line.kind != "+"]
            what = "its lines are" if found.reason == "missing" else f"the line {found.hint!r} is"
            near = "\n".join(f"line {place.line}:\n{place.text}" for place in found.places)
            hint = f"The nearest places are\n{near}" if near else "Nothing in it is like that; read it again."
            if any(MARK in line for line in quoted):
                hint = f"{MARK} stands for a key you are not shown; quote only what stands around it. {hint}"
            text = f"{which}: {what} not in the file. {_NOTHING} {hint}"
    return ToolFailure(text, code="patch_not_found", outcome="text not found")


# -- the tool -------------------------------------------------------------------------------------------------------


def _subject(args: Args) -> str:
    paths = patch.paths(base.subject(args, "patch"))
    return f"{paths[0]} +{len(paths) - 1}" if len(paths) > 1 else "".join(paths)


TOOL = Tool(
    APPLY_PATCH,
    "Change, add, move and remove several files at once, all or none. Hunks are found by the lines they quote.",
    base.schema(
        ["patch"],
        patch=base.prop(
            "string",
            "A unified diff, or *** Begin Patch, then *** Update File: path with hunks (@@ line above, then lines "
            "beginning with blank, - or +), *** Add File: path (+ lines), *** Delete File: path, *** Move to: path "
            "after an update, and *** End Patch",
        ),
    ),
    lambda args: Effect("write", patch.paths(base.subject(args, "patch"))),
    _subject,
    _prepare,
)
