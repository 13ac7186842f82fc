"""One path of a rollback: what is to be done there, judged by the path door, and doing it."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from agent_core import limits
from agent_core.checkpoints import put_back
from agent_core.checkpoints.plan import Chain, Fate, fate
from agent_core.checkpoints.records import FOLDER, NOTHING, UNKNOWN, Records, State
from agent_core.records import dataclass
from agent_core.safety.paths import PathRules, PathVerdict, classify

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done at one path."""

    shown: str
    verdict: PathVerdict
    rules: PathRules
    target: State
    present: State
    does: Fate
    why: str
    """Of "leave" the reason, else what is doubtful: a key of rollback.REASONS."""
    chain: Chain
    is_behind: bool = False
    """A file stands on the way to it, which is to give way to a folder."""

    @property
    def acts(self) -> bool:
        """It is done where no files are named."""
        return self.does not in ("leave", "nothing") and self.why != "beside"


Steps = list[Step]


def step_of(chain: Chain, rules: PathRules, records: Records, were_folders: Collection[bytes]) -> Step:
    """`were_folders`: where a file that stands on the way may be one that is about to give way to a folder."""
    above = next((path for path in _above(chain.path) if path in were_folders and put_back.is_file(path)), b"")
    verdict = _verdict(chain, above, rules)
    present = UNKNOWN
    is_there = verdict.path == Path(os.fsdecode(chain.path.rstrip(b"/")))  # else a link leads elsewhere
    if above and verdict.verdict != "deny" and is_there:
        present = NOTHING
    elif verdict.verdict != "deny" and is_there:
        present, _ = put_back.look(verdict, rules, limits.CHECKPOINT_FILE_MOST)
    does, why = fate(chain, present, records.has)
    if does not in ("leave", "nothing") and (verdict.verdict == "deny" or not is_there):
        does, why = "leave", "refused"
    return Step(_shown(chain, verdict), verdict, rules, chain.before, present, does, why, chain, bool(above))


@dataclass(frozen=True, slots=True)
class CarriedOut:
    """What became of steps."""

    done: Steps
    failed: Steps
    removed: frozenset[bytes]
    """The folders beside them that were removed."""


def carry_out(steps: Sequence[Step], records: Records, made: Collection[bytes], rules: PathRules) -> CarriedOut:
    """Put the targets in their places, and remove the folders that were `made` where nothing else is in them.

    First what goes, and its folders: a file may come where they are. Then a folder before what is in it.
    """
    is_durable = len(steps) <= limits.CHECKPOINT_SYNCED
    folders = {step.chain.path: step for step in steps if step.target == NOTHING and step.present == FOLDER}
    done: set[bytes] = set()
    for step in steps:
        if step.target == NOTHING and step.present != FOLDER and _put(step, records, is_durable):
            done.add(step.chain.path)
    for path in sorted({*made, *folders}, reverse=True):  # those inside others first
        if _put(folders[path], records, is_durable) if path in folders else remove_folder(path, rules):
            done.add(path)
    for step in sorted(steps, key=lambda step: step.chain.path):
        if step.target != NOTHING and _put(step, records, is_durable):
            done.add(step.chain.path)
    if not is_durable:
        os.sync()  # before it is noted as done: what it took away is in the record until then, and after
    failed = [step for step in steps if step.chain.path not in done]
    return CarriedOut([step for step in steps if step.chain.path in done], failed, frozenset(done.intersection(made)))


def is_shown_as(chain: Chain, path: str, rules: PathRules) -> bool:
    """Whether a person is shown a chain by this name. Looks at no file's content."""
    return _shown(chain, _verdict(chain, b"", rules)) == path


def _shown(chain: Chain, verdict: PathVerdict) -> str:
    return verdict.shown + "/" * (chain.path.endswith(b"/") and verdict.shown != ".")


def _above(path: bytes) -> Iterator[bytes]:
    """The folders above a path, the innermost first."""
    while (path := os.path.dirname(path)) not in (b"/", b""):
        yield path


def _verdict(chain: Chain, above: bytes, rules: PathRules) -> PathVerdict:
    """The door's verdict on a chain's path. `above`: a file on the way there, which is judged for it until it has
    gone."""
    path = os.fsdecode(chain.path)
    if above:
        file = os.fsdecode(above)
        verdict = classify("delete", file, rules)
        if verdict.path != Path(file):
            return verdict
        return replace(verdict, path=Path(path), shown=verdict.shown + path.removeprefix(file))
    verdict = classify("delete", path, rules)
    if FOLDER in (chain.before, chain.after) and verdict.verdict == "deny":
        folder = _folder_verdict(chain.path, rules)
        return verdict if folder is None else replace(folder, shown=folder.shown.removesuffix("/"))
    return verdict


def _put(step: Step, records: Records, is_durable: bool) -> bool:
    """Put a step's target in its place; whether that was done."""
    data = records.content(step.target.digest) if step.target.digest else b""
    verdict = _verdict(step.chain, b"", step.rules) if step.is_behind else step.verdict
    if data is None or verdict.verdict == "deny" or verdict.path != step.verdict.path:
        return False
    try:
        return put_back.put(verdict, step.rules, step.target, data, step.present, durable=is_durable)
    except OSError as error:
        log.warning("%s could not be brought back: %s", step.shown, error)
        return False


def content_now(step: Step) -> bytes:
    """What is in a step's file, if that is still what was seen there; else nothing."""
    present, data = put_back.look(step.verdict, step.rules, limits.CHECKPOINT_FILE_MOST)
    return data if present.same(step.present) else b""


def taken_away(steps: Sequence[Step], records: Records) -> Iterator[tuple[str, bytes]]:
    """The contents that steps take away and that are not kept yet, one at a time: together they may be more than there
    is memory. A file that has changed meanwhile is left by the step itself."""
    for step in steps:
        digest = step.present.digest
        if digest and not records.has(digest):
            data = content_now(step)
            if hashlib.sha256(data).hexdigest() == digest:
                yield digest, data


def _folder_verdict(path: bytes, rules: PathRules) -> PathVerdict | None:
    """Of a folder that may be made or removed: one in which files may be."""
    text = os.fsdecode(path)
    inside = classify("write", f"{text}/x", rules)
    if inside.verdict == "deny" or inside.path.parent != Path(text):
        return None
    return replace(inside, verdict="allow", path=Path(text), shown=inside.shown.removesuffix("/x") + "/")


def make_folder(path: bytes, rules: PathRules) -> bool:
    verdict = _folder_verdict(path, rules)
    return verdict is not None and put_back.make_folder(verdict, rules)


def remove_folder(path: bytes, rules: PathRules) -> bool:
    verdict = _folder_verdict(path, rules)
    return verdict is not None and put_back.remove_folder(verdict, rules)
