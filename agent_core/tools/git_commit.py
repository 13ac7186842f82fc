"""git_commit: a commit of chosen files, of what is staged, or of all tracked changes.

It is a command like any other: what is judged, asked about and run is one line for the shell, in the box of the rules,
with the repository's hooks. Nothing is pushed, amended, or committed past a hook.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.errors import ToolFailure
from agent_core.git.changes import Changes, changes
from agent_core.git.reader import Repository
from agent_core.names import GIT_COMMIT
from agent_core.ports.actions import CommandAction, Effect
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.safety.paths import may_read_found
from agent_core.sandbox.policy import Box

from . import base
from .command import checked, sealed, to_end
from .git_status import literal, name_of, opened, place_of

_MORE: Final = 'If it must have more, run it with run_command and needs="{needs}".'
_REASONS: Final = (
    (
        re.compile(r"Please tell me who you are|unable to auto-detect email|empty ident name|no email was given"),
        "git does not know who commits. Ask the user to say it: git config --global user.name NAME and "
        "git config --global user.email ADDRESS. Make up neither.",
        "no identity",
    ),
    (
        re.compile(r"index\.lock'?: File exists"),
        "Another git command is at work in this repository, or one was killed. Try again in a moment; if no git runs, "
        "the user can remove the file index.lock that is named above.",
        "locked",
    ),
    (
        re.compile(r"gpg failed to sign|Couldn't (load|get agent)|ssh-keygen.*sign", re.I),
        "The commit is to be signed (commit.gpgSign) and could not be: nobody can type a passphrase here. Ask the user "
        "to commit, or whether this commit may go unsigned.",
        "not signed",
    ),
    (
        re.compile(r"nothing to commit|nothing added to commit|no changes added to commit"),
        "There is nothing to commit.",
        "nothing to commit",
    ),
)
"""What git says where a commit fails, what to do, and the words on the card."""
_HOOK: Final = (
    "No commit was made. If a hook refused it, what it says is above: mend that and commit again. Do not go around it."
)


def _prepare(args: Args, ctx: ToolContext) -> Prepared:
    edited = args.get("command")  # what a person made of the command; a model's call has no such argument
    if isinstance(edited, str):
        return _prepared(checked(edited), (), ctx)
    message = base.text(args, "message").strip()
    if not message:
        raise ToolFailure("The message is empty.", code="invalid_arguments", outcome="invalid arguments")
    paths = args.get("paths") or ()
    if isinstance(paths, str) or not all(isinstance(path, str) for path in paths):
        raise ToolFailure('"paths" must be a list of paths.', code="invalid_arguments", outcome="invalid arguments")
    everything = base.flag(args, "all")
    if paths and everything:
        raise ToolFailure('Give "paths" or "all", not both.', code="invalid_arguments", outcome="invalid arguments")
    repo = opened(ctx)
    if not repo.is_its_own:
        raise ToolFailure(
            f"The repository's data lies in {repo.common}, which does not know this folder. No commit was made.",
            code="anothers_repository",
            outcome="refused",
        )
    now = changes(repo)
    _check_state(now, repo, chosen=bool(paths), everything=everything)
    said = f"git commit -m {_quoted(message)}"
    new: list[str] = []
    if paths:
        files, new = _chosen([base.judged("read", path, ctx).path for path in paths], now, repo, ctx)
        said += f" --only -- {' '.join(map(_word, files))}"
        if new:
            said = f"git add --intent-to-add -- {' '.join(map(_word, new))} && {said}"
    elif everything:
        if guarded := _protected([change.path for change in now.unstaged], repo, ctx):
            raise _not_committed(guarded, repo)
        said += " --all"
    return _prepared(checked(said), new, ctx)


def _check_state(now: Changes, repo: Repository, *, chosen: bool, everything: bool) -> None:
    """Raises ToolFailure where a commit cannot be made, or would hold nothing."""
    if now.conflicts:
        named = ", ".join(name_of(change.path, repo) for change in now.conflicts[: limits.GIT_REST_NAMED])
        raise ToolFailure(
            f"There are conflicts in {named}. Resolve them, stage the files (git add), then commit what is staged.",
            code="conflicts",
            outcome="conflicts",
        )
    if chosen and now.under_way and "merge" in now.under_way:
        raise ToolFailure(
            "A merge is under way, and git commits it as a whole: stage what belongs to it and give no paths.",
            code="merge_under_way",
            outcome="merge under way",
        )
    if chosen or now.staged or (now.under_way and "bisection" not in now.under_way):
        return
    if everything and now.unstaged:
        return
    files = [*now.unstaged, *now.untracked][: limits.GIT_REST_NAMED]
    if not files:
        why = "There is nothing to commit, the work tree is clean."
    else:
        listed = ", ".join(name_of(change.path, repo) for change in files)
        if everything:
            why = f"No tracked file has changed. Not tracked: {listed}. Name in paths what is to be committed."
        else:
            why = f"Nothing is staged. Changed: {listed}. Name in paths what is to be committed, or give all=true."
    raise ToolFailure(f"{why} No commit was made.", code="nothing_to_commit", outcome="nothing to commit")


def _chosen(places: Sequence[Path], now: Changes, repo: Repository, ctx: ToolContext) -> tuple[list[str], list[str]]:
    """The changed files at `places` as git is to take them, and those of them that are new to git.

    Folders stand for the changed files in them, one by one, so that no protected file goes with them. `now`: the state
    of all. Raises ToolFailure for a file that is protected, or unchanged.
    """
    found = changes(repo, [literal(place, repo) for place in places], each_untracked=True)
    every = dict.fromkeys(change.path for part in (found.staged, found.unstaged, found.untracked) for change in part)
    # Both names of what was renamed: half of it is never meant.
    every |= dict.fromkeys(change.before for change in now.staged if change.before and change.path in every)
    protected = _protected(list(every), repo, ctx)
    if named := [path for path in protected if place_of(path, repo) in places]:
        raise _not_committed(named, repo)
    files = [path for path in every if path not in protected]
    for place in places:
        if not any(place_of(path.rstrip("/"), repo).is_relative_to(place) for path in files):
            raise ToolFailure(
                f"{_shown(place, repo)}: there is no change to commit (unchanged, ignored, or no such file). "
                "git_status shows what has changed.",
                code="nothing_to_commit",
                outcome="nothing to commit",
            )
    if len(files) > limits.GIT_CHOSEN or found.cut:
        raise ToolFailure(
            f"These are more than {limits.GIT_CHOSEN} files. Stage them with run_command (git add), look at "
            "git_status, then commit what is staged.",
            code="too_many_files",
            outcome="too many files",
        )
    fresh = {change.path for change in found.untracked}
    words = {path: literal(place_of(path, repo), repo) for path in files}
    return list(words.values()), [words[path] for path in files if path in fresh]


def _protected(paths: Sequence[str], repo: Repository, ctx: ToolContext) -> list[str]:
    rules = base.rules(ctx)
    return [path for path in paths if not may_read_found(str(place_of(path, repo)), rules)]


def _not_committed(paths: Sequence[str], repo: Repository) -> ToolFailure:
    return ToolFailure(
        f"{', '.join(name_of(path, repo) for path in paths)}: protected (keys, .env); this tool does not commit it. "
        "Leave it out, or if it really belongs into the repository, let the user commit it. No commit was made.",
        code="protected",
        outcome="refused",
    )


def _shown(place: Path, repo: Repository) -> str:
    return name_of(os.path.relpath(place, repo.top), repo)


def _word(pathspec: str) -> str:
    """A pathspec as a word of the command: plain where git would take the plain name for itself."""
    plain = pathspec.removeprefix(":(literal)")
    return _quoted(plain if re.fullmatch(r"[^:*?\[\\]+", plain) else pathspec)


def _quoted(text: str) -> str:
    """`text` as one word for the shell, as a person would write it: an apostrophe stands between double quotes."""
    if "'" in text and not re.search(r'["$`\\]', text):
        return f'"{text}"'
    return shlex.quote(text)


def _prepared(command: str, new: Sequence[str], ctx: ToolContext) -> Prepared:
    def run(box: Box) -> ToolOutput:
        way_out = _MORE if ctx.can_ask and ctx.mode != "plan" else ""
        output = to_end(command, ctx.workspace, box, ctx.command_timeout, ctx, way_out)
        return _made(output, ctx) if output.ok else _not_made(output, new)

    return Prepared(
        CommandAction(command, str(ctx.workspace)), run, seal=lambda box: sealed(command, ctx.workspace, ctx.env, box)
    )


def _made(output: ToolOutput, ctx: ToolContext) -> ToolOutput:
    """The result of a commit that was made: its hash, its subject, its files, and what was said meanwhile."""
    repo = opened(ctx)
    if not repo.has_commits:  # the person has made the command another one
        return output
    about = repo.must("log", "--max-count=1", "--no-show-signature", "--format=%h %s").text.strip()
    files = repo.must("show", "--format=", "--name-only", "-z", "--diff-merges=first-parent", "HEAD").items
    named = [name_of(name, repo) for name in files[: limits.GIT_NAMES]]
    if len(files) > limits.GIT_NAMES:
        named.append(f"and {len(files) - limits.GIT_NAMES:,} more")
    text = "\n".join([f"Committed {about}", f"Files: {', '.join(named)}", output.text])
    return replace(output, text=text, outcome="committed")


def _not_made(output: ToolOutput, new: Sequence[str]) -> ToolOutput:
    """The result of one that was not, with what to do about it."""
    said, outcome = next(
        ((words, outcome) for pattern, words, outcome in _REASONS if pattern.search(output.text)),
        (_HOOK if output.effect == "done" else "", output.outcome),
    )
    left = "The new files stay marked as to be added (git add --intent-to-add)." if new else ""
    return replace(output, text="\n".join(filter(None, [output.text, said, left])), outcome=outcome)


TOOL = Tool(
    GIT_COMMIT,
    "Commit, only when the user asked for it: the files in paths (new ones too), else what is staged. Hooks run; "
    "nothing is pushed.",
    base.schema(
        ["message"],
        message=base.prop("string"),
        paths=base.prop("array", items={"type": "string"}),
        all=base.prop("boolean", "All tracked changes"),
    ),
    lambda args: Effect("command"),
    lambda args: base.subject(args, "message").partition("\n")[0],
    _prepare,
)
