"""What turns changed in files, by tools and by commands: kept, listed, undone and redone.

No git is needed, nothing outside the workspace and the folders added to it is touched, and what somebody else has
changed since is left as it is. Kept below <home>/checkpoints, which may be deleted at any time. Methods read and write
files: not for a screen's thread. Sources: field cases 39 and 41, decisions on /undo and /rollback.
"""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.checkpoints import child as checkpoint_child
from agent_core.checkpoints import put_back
from agent_core.checkpoints.log import TurnLog
from agent_core.checkpoints.looks import LookOptions, Looks
from agent_core.checkpoints.plan import Chain, chains, fate, folders, is_cache, is_of_folder
from agent_core.checkpoints.records import FOLDER, NOTHING, Change, Moved, Records, RollbackRow, State
from agent_core.checkpoints.steps import (
    CarriedOut,
    Step,
    Steps,
    carry_out,
    content_now,
    is_shown_as,
    make_folder,
    step_of,
    taken_away,
)
from agent_core.errors import StoreError, ToolFailure
from agent_core.messages import FileDiff
from agent_core.records import dataclass
from agent_core.rollback import REASONS, ChangedFile, Checkpoint, FileState, PlannedFile, RollbackPlan
from agent_core.safety.paths import PathRules
from agent_core.store.owner import life_of, new_owner
from agent_core.text import diff, encoding

log = logging.getLogger(__name__)

FOLDER_NAME: Final = "checkpoints"


@dataclass(frozen=True, slots=True)
class Options:
    """The settings `checkpoints.*`, sizes in bytes."""

    turns: int = 50
    """Of a workspace whose contents are kept."""
    total: int = 500 * limits.MB
    file: int = 10 * limits.MB
    days: int = 30
    """0: for as long as there is room."""
    deny_read: tuple[str, ...] = ()
    add_dirs: tuple[Path, ...] = ()

    @property
    def tree(self) -> int:
        """Of all that may be kept, what one workspace's present contents may be."""
        return self.total // 2

    @property
    def looks(self) -> LookOptions:
        return LookOptions(self.file, self.tree, self.deny_read, self.add_dirs)


Changes = list[Change]


@dataclass(frozen=True, slots=True)
class RolledBack:
    """What was done: paths as they are shown, and resolved; what was left, with the reason in words."""

    turn_id: str
    shown: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    left: tuple[tuple[str, str], ...] = ()


class Checkpoints:
    """All of one program. Safe to use from several threads. Methods raise StoreError."""

    def __init__(
        self,
        home: Path,
        data_home: Path,
        options: Callable[[], Options],
        rules: Callable[[Path], PathRules],
        redact: Callable[[str], str],
    ) -> None:
        """`home`: the person's. `rules`: the path door of a workspace, as it stands now."""
        self.folder = data_home / FOLDER_NAME
        self._options = options
        self._rules = rules
        self._redact = redact
        self._owner = new_owner()
        self._lock = threading.RLock()
        self._acting = threading.Lock()
        self._opened: Records | None = None
        self._looks = Looks(home, data_home, self.folder, lambda: self._options().looks)
        self._closed = False

    def close(self) -> None:
        with self._lock:
            self._closed = True
            records, self._opened = self._opened, None
        self._looks.close()
        if records is not None:
            records.close()

    # -- while turns run --------------------------------------------------------------------------------------------

    @contextmanager
    def turn(self, session_id: str, turn_id: str, workspace: Path, text: str) -> Iterator[TurnLog]:
        """Keep what is changed in the block."""
        first_line = self._redact(next((line.strip() for line in text.splitlines() if line.strip()), ""))
        row = (session_id, turn_id, str(workspace), first_line[: limits.SUBJECT_CHARS])
        turn = TurnLog(self._records, self._looks, row, self._owner, self._options().file)
        try:
            yield turn
        finally:
            turn.close()
            if turn.has_recorded:
                self._make_room()

    def warm(self, workspace: Path) -> None:
        """A command may come soon: have the workspace looked at, without waiting."""
        self._looks.soon(str(workspace))

    def _records(self) -> Records:
        with self._lock:
            if self._closed:
                raise sqlite3.OperationalError("the program ends")
            if self._opened is None:
                self._opened = Records(self.folder / checkpoint_child.CHANGES)
                for window, owner, begun in self._opened.open_windows():
                    if life_of(owner) == "gone":  # a killed program's commands were ended with it, or soon after
                        until = begun + int(limits.CHECKPOINT_ORPHAN * 1e9)
                        self._opened.close_window(window, min(until, time.time_ns()))
            return self._opened

    # -- looking ----------------------------------------------------------------------------------------------------

    def list(self, session_id: str) -> tuple[Checkpoint, ...]:
        """The turns of a session that changed files, the newest first; at most limits.CHECKPOINT_LISTED."""
        with self._reading(session_id) as records:
            turns = records.turns(session_id)
            changes = records.changes([turn.id for turn in turns])
            out = []
            looked: dict[bytes, Step] = {}
            were_folders = {change.path for change in changes if change.before == FOLDER}
            for turn in reversed(turns):
                here = [change for change in changes if change.turn == turn.id]
                rules = self._rules(Path(turn.workspace))
                files = []
                for chain in sorted(chains(here), key=lambda chain: is_cache(chain.path)):
                    if chain.is_empty:
                        continue
                    if chain.path not in looked:
                        looked[chain.path] = step_of(chain, rules, records, were_folders)
                    files.append(self._listed(chain, turn.id, changes, records, looked[chain.path]))
                if files:
                    out.append(Checkpoint(turn.uid, turn.text, turn.created, tuple(files)))
                if len(out) == limits.CHECKPOINT_LISTED:
                    break
            return tuple(out)

    def _listed(
        self,
        chain: Chain,
        turn: int,
        changes: Sequence[Change],
        records: Records,
        seen: Step,
    ) -> ChangedFile:
        """`seen`: what is at the path."""
        path = chain.path
        since = [c for c in changes if c.path == path and c.turn >= turn and not c.rollback]
        state: FileState = "undone"
        why = ""
        if not all(change.rollback for change in chain.changes):
            does, why = fate(Chain(path, tuple(since)), seen.present, records.has)
            state = "undone" if does == "nothing" else "undoable" if does != "leave" else _state_of(why)
        return ChangedFile(seen.shown, chain.change, chain.by, state, REASONS.get(why, why))

    def plan(self, session_id: str, turn_id: str) -> RollbackPlan:
        """What it would do to bring the files back to what they were before a turn: its changes and all later ones."""
        with self._reading(session_id) as records:
            steps, _ = self._steps(session_id, turn_id, records)
        return RollbackPlan(turn_id, tuple(map(_planned, steps)))

    def redoable(self, session_id: str) -> RollbackPlan | None:
        """What it would do to take the last rollback back; None: there is none."""
        with self._reading(session_id, settle=False) as records:
            last = next(iter(records.rollbacks(session_id)), None)
            if last is None:
                return None
            _, steps = self._redo_steps(session_id, last, records)
        return RollbackPlan(last.uid, tuple(map(_planned, steps)))

    def diff(self, session_id: str, turn_id: str, path: str) -> FileDiff:
        """What bringing one file of a plan back would change in it now; without lines when it is no text."""
        with self._reading(session_id, settle=False) as records:
            steps, _ = self._steps(session_id, turn_id, records)
            step = next((step for step in steps if step.shown == path), None)
            if step is None:
                raise StoreError("no_such_file", f"{path} is not among the files of this turn.", path=path)
            wanted = records.content(step.target.digest) if step.target.digest else b""
        old = _text(content_now(step)) if step.present.digest else None if step.present == NOTHING else ""
        new = _text(wanted or b"") if step.target.digest else None
        return _without_keys(diff.build(path, old, new), self._redact)

    def change(self, session_id: str, turn_id: str, path: str) -> FileDiff:
        """What a turn changed in one of its files, whatever has become of it since; without lines when it is no text,
        or where the content was not kept. Raises StoreError."""
        with self._reading(session_id, settle=False) as records:
            turns = records.turns(session_id)
            turn = next((turn for turn in turns if turn.uid == turn_id), None)
            rules = self._rules(Path(turn.workspace)) if turn is not None else None
            here = records.changes([turn.id]) if turn is not None else []
            chain = next((one for one in chains(here) if rules is not None and is_shown_as(one, path, rules)), None)
            if rules is None or chain is None:
                raise StoreError("no_such_file", f"{path} is not among the files of this turn.", path=path)
            step = step_of(chain, rules, records, ())
            old, new = self._kept(step.chain.before, step, records), self._kept(step.chain.after, step, records)
        return _without_keys(diff.build(path, old, new), self._redact)

    def _kept(self, state: State, step: Step, records: Records) -> str | None:
        """The text of what was at a path; None: nothing; "" for what is no text or not kept."""
        if state == NOTHING:
            return None
        if not state.digest:
            return ""
        data = records.content(state.digest)
        if data is None and step.present.what == state.what:  # what is there now is kept by nobody else
            data = content_now(step)
        return _text(data or b"")

    @contextmanager
    def _reading(self, session_id: str, *, settle: bool = True) -> Iterator[Records]:
        """The record, what commands have changed so far in it, and nobody else acts meanwhile. Raises StoreError."""
        try:
            records = self._records()
            if settle:
                self._looks.settle(records)
            with self._acting:
                self._end_interrupted(session_id, records)
                yield records
        except (sqlite3.Error, OSError) as error:
            raise _failed(self.folder, error) from error

    # -- steps ------------------------------------------------------------------------------------------------------

    def _steps(self, session_id: str, turn_id: str, records: Records) -> tuple[Steps, Changes]:
        """What a rollback to before a turn comes to, and the changes that it takes back."""
        turns = records.turns(session_id)
        first = next((turn for turn in turns if turn.uid == turn_id), None)
        if first is None:
            return [], []
        changes = [c for c in records.changes([turn.id for turn in turns if turn.id >= first.id]) if not c.rollback]
        were_folders = {change.path for change in changes if change.before == FOLDER}
        rules = self._rules(Path(first.workspace))
        steps = [step_of(chain, rules, records, were_folders) for chain in chains(changes)]
        steps = [step for step in steps if step.does != "nothing" and not step.chain.is_empty]
        return sorted(steps, key=lambda step: is_cache(step.chain.path)), changes

    def _redo_steps(self, session_id: str, row: RollbackRow, records: Records) -> tuple[PathRules | None, Steps]:
        """Without rules where the turn is not known any more."""
        turn = next((turn for turn in records.turns(session_id) if turn.uid == row.uid), None)
        if turn is None:
            return None, []
        changes = [Change(0, 0, moved.path, "tool", moved.was, moved.now, "", 0) for moved in row.moved]
        were_folders = {change.path for change in changes if change.before == FOLDER}
        rules = self._rules(Path(turn.workspace))
        return rules, [step_of(chain, rules, records, were_folders) for chain in chains(changes)]

    # -- acting -----------------------------------------------------------------------------------------------------

    def roll_back(self, session_id: str, turn_id: str, only: Collection[str] = ()) -> RolledBack:
        """Do what the plan says, for the paths in `only` (all: none). What is about to be done is stored first, so that
        a program that is killed leaves nothing that could not be rolled back again, or redone."""
        with self._reading(session_id) as records:
            steps, changes = self._steps(session_id, turn_id, records)
            named = set(only)
            wanted = [step for step in steps if not named or step.shown in named]
            acts = [step for step in wanted if step.acts or (named and step.does != "leave")]
            left = _left([step for step in wanted if not (step.acts or (named and step.does != "leave"))])
            if not acts:
                return RolledBack(turn_id, left=left)
            made, removed = folders(changes)
            if named:  # else also those that had nothing in them
                removed = [path for path in removed if any(s.chain.path.startswith(path + b"/") for s in acts)]
            moved = [Moved(step.chain.path, step.present, step.target) for step in acts]
            moved += [Moved(path, FOLDER, NOTHING) for path in made]
            moved += [Moved(path, NOTHING, FOLDER) for path in removed]
            number = records.begin_rollback(session_id, turn_id, moved, taken_away(acts, records))
            rules = acts[0].rules
            missing = [path for path in removed if not put_back.is_folder(path)]
            came = carry_out(acts, records, made, rules)
            paths = {path for path in missing if make_folder(path, rules) or put_back.is_folder(path)}
            paths |= came.removed.union(step.chain.path for step in came.done)
            records.end_rollback(number, [change.id for change in changes if change.path in paths], paths)
        return _result(turn_id, came, left)

    def redo(self, session_id: str) -> RolledBack | None:
        """Take the last rollback back; None: there is none."""
        with self._reading(session_id) as records:
            last = next(iter(records.rollbacks(session_id)), None)
            if last is None:
                return None
            rules, steps = self._redo_steps(session_id, last, records)
            records.begin_redo(last.id)
            moved = [(one.path, one.was) for one in last.moved if {one.was, one.now} == {FOLDER, NOTHING}]
            if rules is None:
                records.taken_back(last.id, {path for path, _ in moved})
                return RolledBack(last.uid)
            acts = [step for step in steps if step.does not in ("leave", "nothing")]
            came = carry_out(acts, records, [path for path, was in moved if was == NOTHING], rules)
            for path, was in moved:  # those that no file came with
                if was == FOLDER:
                    make_folder(path, rules)
            there = {step.chain.path for step in steps if step.does == "nothing"} | {path for path, _ in moved}
            records.taken_back(last.id, there.union(step.chain.path for step in came.done))
        return _result(last.uid, came, _left([step for step in steps if step.does == "leave"]))

    def _end_interrupted(self, session_id: str, records: Records) -> None:
        """What a killed program had done of a rollback, or not yet taken back of one, is one; the rest is none."""
        for row in records.rollbacks(session_id):
            if row.done:
                continue
            turns = records.turns(session_id)
            first = next((turn for turn in turns if turn.uid == row.uid), None)
            if first is None:
                continue
            done = set()
            rules = self._rules(Path(first.workspace))
            were_folders = {moved.path for moved in row.moved if FOLDER in (moved.was, moved.now)}
            for moved in row.moved:
                change = Change(0, 0, moved.path, "tool", moved.now, moved.was, "", 0)
                if is_of_folder(change):
                    if os.path.lexists(moved.path) == (moved.now == FOLDER):
                        done.add(moved.path)
                elif step_of(Chain(moved.path, (change,)), rules, records, were_folders).does == "nothing":
                    done.add(moved.path)
            changes = records.changes([turn.id for turn in turns if turn.id >= first.id])
            ids = [change.id for change in changes if change.path in done and not change.rollback]
            records.end_rollback(row.id, ids, done)

    # -- bounds -----------------------------------------------------------------------------------------------------

    def _make_room(self) -> None:
        options = self._options()
        try:
            records = self._records()
            if records.kept > options.total - options.tree:
                records.prune(None, 0.0, options.turns, options.total - options.tree)
        except (sqlite3.Error, OSError) as error:  # no reason to fail a turn that has ended
            log.warning("old changes could not be given up: %s", error)

    def prune(self, sessions: Collection[str], listed: float = math.inf) -> None:
        """Give up what there is no room for, what is too old, and what belongs to none of these sessions: the oldest
        goes first. `listed`: when these were all, in seconds since the epoch. Raises StoreError."""
        if not self.folder.is_dir():
            return
        options = self._options()
        before = time.time() - options.days * 86_400.0 if options.days else 0.0
        try:
            records = self._records()
            records.prune(sessions, before, options.turns, options.total - options.tree, listed)
            trees = sorted((self.folder / checkpoint_child.TREES).glob("*.db"), key=lambda file: -file.stat().st_mtime)
            room = options.tree
            for file in trees:
                status = file.stat()
                room -= status.st_size
                if status.st_mtime < before or (room < 0 and not _is_looked_at(file)):
                    for suffix in ("", "-wal", "-shm"):
                        file.with_name(file.name + suffix).unlink(missing_ok=True)
        except (sqlite3.Error, OSError) as error:
            raise _failed(self.folder, error) from error


def _is_looked_at(tree: Path) -> bool:
    """Whether some program is at it just now: SQLite takes its log away when the last one has ended."""
    try:
        return time.time() - tree.with_name(tree.name + "-wal").stat().st_mtime < limits.CHECKPOINT_ORPHAN
    except FileNotFoundError:
        return False


def _planned(step: Step) -> PlannedFile:
    does = "leave" if step.does == "nothing" else step.does
    only_named = does != "leave" and not step.acts
    return PlannedFile(step.shown, does, REASONS.get(step.why, step.why), step.chain.by, only_named)


def _state_of(why: str) -> FileState:
    return "changed_since" if why in ("changed_since", "between", "refused") else "not_kept"


def _left(steps: Sequence[Step]) -> tuple[tuple[str, str], ...]:
    return tuple((step.shown, REASONS.get(step.why, step.why)) for step in steps)


def _result(turn_id: str, came: CarriedOut, left: tuple[tuple[str, str], ...]) -> RolledBack:
    left = (*left, *((step.shown, REASONS["failed"]) for step in came.failed))
    paths = tuple(step.verdict.path for step in came.done)
    return RolledBack(turn_id, tuple(step.shown for step in came.done), paths, left)


def _text(data: bytes) -> str:
    try:
        return encoding.decode(data).text
    except ToolFailure:  # no text: that it changes is all there is to see
        return ""


def _without_keys(shown: FileDiff, redact: Callable[[str], str]) -> FileDiff:
    hunks = tuple(
        replace(hunk, lines=tuple(replace(line, text=redact(line.text)) for line in hunk.lines)) for hunk in shown.hunks
    )
    return replace(shown, hunks=hunks)


def _failed(folder: Path, error: Exception) -> StoreError:
    return StoreError(
        "changes_unreadable",
        f"The record of changed files in {folder} cannot be used: {error}. Check the disk and the rights of the "
        "folder, or delete it; what is recorded there can then no longer be undone.",
        path=str(folder),
        error=str(error),
    )
