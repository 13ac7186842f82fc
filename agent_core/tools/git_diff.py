"""git_diff: differences, single commits and the list of commits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from agent_core import limits
from agent_core.errors import ToolFailure
from agent_core.git.reader import NOT_SHOWN_TO_PROGRAMS, Repository
from agent_core.names import GIT_DIFF
from agent_core.ports.actions import Effect, ReadAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.records import dataclass
from agent_core.safety.paths import PathRules, PathVerdict, may_read_found
from agent_core.text.ansi import clean

from . import base
from .git_status import literal, name_of, opened, place_of, reading

_Mode = Literal["diff", "staged", "show", "log"]
_MODES: Final[tuple[_Mode, ...]] = ("diff", "staged", "show", "log")
_COMMIT: Final = "--format=commit %H%nauthor %an, %ad%n%n%B"
_LINE: Final = "--format=%h %ad %an: %s"
_DATE: Final = "--date=format:%Y-%m-%d %H:%M"


@dataclass(frozen=True, slots=True)
class _Wanted:
    mode: _Mode
    revision: str
    paths: tuple[PathVerdict, ...]
    stat: bool
    count: int


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    asked_mode = base.text(args, "mode", "diff")
    mode: _Mode = next((mode for mode in _MODES if mode == asked_mode), "diff")
    paths = args.get("paths") or ()
    if isinstance(paths, str) or not all(isinstance(path, str) for path in paths):
        raise ToolFailure('"paths" must be a list of paths.', code="invalid_arguments", outcome="invalid arguments")
    wanted = _Wanted(
        mode,
        base.text(args, "revision", "").strip(),
        tuple(base.judged("read", path, ctx) for path in paths),
        base.flag(args, "stat"),
        base.number(args, "count", 20, 1, limits.GIT_COMMITS),
    )
    asked = [verdict for verdict in wanted.paths if verdict.verdict == "ask"]
    if len(asked) > 1:
        raise ToolFailure(
            f"{' and '.join(verdict.shown for verdict in asked)} are protected; ask for one of them at a time.",
            code="several_protected",
            outcome="refused",
        )
    repo = opened(ctx, asked)
    shown = asked[0] if asked else None
    action = ReadAction(shown.shown if shown else ", ".join(verdict.shown for verdict in wanted.paths) or ".")
    return base.prepared(action, lambda: _run(wanted, repo, ctx), **reading(repo, shown))


def _run(wanted: _Wanted, repo: Repository, ctx: ToolContext) -> ToolOutput:
    if wanted.mode in ("log", "show") and not wanted.revision and not repo.has_commits:
        return ToolOutput("There is no commit yet.", "no commit")
    chosen = [literal(verdict.path, repo) for verdict in wanted.paths]
    if wanted.mode == "log":
        return _log(wanted, repo, chosen, ctx)
    command = _command(wanted, repo)
    if not chosen:
        chosen = ["."]  # of a repository that is larger than the workspace, what lies in it
    names = repo.must(*command, "--name-only", "-z", "--no-renames", "--", *chosen).items
    hidden = _hidden(names, repo, base.rules(ctx), wanted.paths)
    if len(hidden) > limits.GIT_NAMES:
        raise ToolFailure(
            f"More than {limits.GIT_NAMES} protected files (keys, .env) are in this difference. Give paths.",
            code="many_protected",
            outcome="refused",
        )
    left_out = [f":(top,exclude,literal){name}" for name in hidden]
    form = ("--stat=120,80",) if wanted.stat else ("--patch",)
    said = repo.must(*_command(wanted, repo, whole=True), *form, "--", *chosen, *left_out)
    notes = []
    if hidden:
        notes.append(f"[not shown, protected (keys, .env): {', '.join(name_of(name, repo) for name in hidden)}]")
    if repo.filters:
        notes.append("[content filters were not run, so files that they change may differ]")
    shown = [name for name in names if name not in hidden]
    if not said.text.strip() and wanted.mode == "show":  # git shows no commit that changes nothing that is chosen
        said = repo.must(*_command(wanted, repo, whole=True), "--no-patch", "--")
    if not said.text.strip():
        about = "" if wanted.mode != "diff" or wanted.revision else " New files that are not tracked: git_status."
        return ToolOutput("\n".join([f"No difference.{about}", *notes]), "no difference")
    text = _fitted(said.text, said.cut, [name_of(name, repo) for name in shown], notes, ctx.bounds.most)
    return ToolOutput(text, base.count(len(shown), "file"))


def _command(wanted: _Wanted, repo: Repository, *, whole: bool = False) -> list[str]:
    """The git command without its form and paths. `whole`: with what a commit says of itself."""
    if wanted.mode == "show":
        if ".." in wanted.revision:
            raise ToolFailure(
                'mode "show" takes one commit. For what lies between two: mode "diff"; for their list: mode "log".',
                code="invalid_arguments",
                outcome="invalid arguments",
            )
        commit = repo.commit(wanted.revision or "HEAD")
        words = (_COMMIT, _DATE, "--encoding=UTF-8", "--no-notes") if whole else ("--format=",)
        return ["show", *NOT_SHOWN_TO_PROGRAMS, "--no-show-signature", *words, commit]
    staged = ["--cached"] if wanted.mode == "staged" else []
    return ["diff", *NOT_SHOWN_TO_PROGRAMS, *staged, *_ends(wanted.revision, repo)]


def _ends(revision: str, repo: Repository) -> list[str]:
    """What a revision or a range stands for, in hashes."""
    if not revision:
        return []
    for dots in ("...", ".."):
        first, found, last = revision.partition(dots)
        if found:
            ends = repo.commit(first or "HEAD"), repo.commit(last or "HEAD")
            return [dots.join(ends)]
    return [repo.commit(revision)]


def _log(wanted: _Wanted, repo: Repository, chosen: Sequence[str], ctx: ToolContext) -> ToolOutput:
    form = ("--stat=120,80",) if wanted.stat else ()
    ends = _ends(wanted.revision or "HEAD", repo)
    said = repo.must(
        "log", *NOT_SHOWN_TO_PROGRAMS, "--no-show-signature", "--no-notes", "--encoding=UTF-8", _LINE, _DATE,
        f"--max-count={wanted.count + 1}", *form, *ends, "--", *chosen,
    )  # fmt: skip
    text = said.text.strip("\n")
    if not text:
        return ToolOutput("No commit.", "no commit")
    if wanted.stat:
        return ToolOutput(_fitted(text, said.cut, (), (), ctx.bounds.most))
    lines = text.split("\n")
    more = [] if len(lines) <= wanted.count else [f"[the newest {wanted.count}; there are more, ask with count]"]
    lines = lines[: wanted.count]
    return ToolOutput(_fitted("\n".join(lines), said.cut, (), more, ctx.bounds.most), base.count(len(lines), "commit"))


def _hidden(names: Sequence[str], repo: Repository, rules: PathRules, chosen: Sequence[PathVerdict]) -> list[str]:
    """Of the files in a difference those that may not be shown unasked, but for one that the person let be read."""
    allowed = {verdict.path for verdict in chosen if verdict.verdict == "ask"}
    places = ((name, place_of(name, repo)) for name in dict.fromkeys(names))
    return [name for name, place in places if place not in allowed and not may_read_found(str(place), rules)]


def _fitted(text: str, cut: bool, names: Sequence[str], notes: Sequence[str], most: int) -> str:
    """What fits into a result, whole lines, and how to see the rest."""
    lines = [base.cut_line(line, limits.READ_LINE_CHARS) for line in clean(text, "\n\t\r").strip("\n").split("\n")]
    room = most - limits.NOTE_BYTES - sum(len(note.encode("utf-8", "replace")) + 1 for note in notes)
    fits = base.bounded(lines, room)
    if fits == len(lines) and not cut:
        return "\n".join([*lines, *notes])
    shown = lines[:fits]
    begun = sum(line.startswith("diff --") for line in shown)
    rest = names[max(begun - 1, 0) :]
    named = ", ".join(rest[: limits.GIT_REST_NAMED])
    more = f" and {len(rest) - limits.GIT_REST_NAMED:,} more" if len(rest) > limits.GIT_REST_NAMED else ""
    way = f" Not shown, or not whole: {base.cut_line(named, limits.NOTE_BYTES // 2)}{more}." if rest else ""
    return "\n".join([*shown, *notes, f"[cut here.{way} Give paths, stat=true or a smaller range.]"])


TOOL = Tool(
    GIT_DIFF,
    "Differences: of the work tree to what is staged (mode diff) or to a revision, of what is staged, what one commit "
    "changed (show), or the list of commits (log).",
    base.schema(
        [],
        mode=base.prop("string", enum=list(_MODES), default="diff"),
        revision=base.prop("string", "Commit, or A..B"),
        paths=base.prop("array", items={"type": "string"}),
        stat=base.prop("boolean", "Only files and numbers"),
        count=base.prop("integer", "Of commits, default 20"),
    ),
    lambda args: Effect("read", (".",)),
    lambda args: " ".join(
        part for part in (base.subject(args, "mode"), base.subject(args, "revision")) if part and part != "diff"
    ),
    _prepare,
)
