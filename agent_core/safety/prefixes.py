"""Prefixes of commands: which words a person may allow for good, and whether they cover a whole command. Pure.

A prefix speaks of one plain command. A text is covered only when every part of it is: an allowed `git status` says
nothing about `git status && rm x`, `git log | sh` or `git log > file`. Whatever is unclear is not covered; the price is
one question.
"""

from __future__ import annotations

import re
from typing import Final

from agent_core import limits
from agent_core.records import dataclass

from . import shell_words as sw
from .danger import detect
from .shell_args import SHELLS, base_name, has_option, names, operands
from .shell_effects import is_interpreter
from .shell_walk import walk


@dataclass(frozen=True, slots=True)
class Plain:
    """One command that is nothing but words."""

    words: tuple[str, ...]
    text: str
    """As it could be written by itself."""
    assigns: bool = False
    """Variables are set for it; harmless ones."""


def plain_commands(text: str) -> tuple[Plain, ...]:
    """The commands of a text that is nothing but plain ones joined by `&&`, `||`, `;` and `|`; empty: it is more.

    More is: a substitution, variable, control character, here-document, background job, loop, function, a redirection
    to or from a file, a variable that is set and could change what runs, a program that starts another one.
    """
    if len(text) > limits.SHELL_TRUSTED or _CONTROL.search(text):
        return ()
    script = sw.parse(text)
    if not script.ok or script.deep or any(pipeline.background for pipeline in script.pipelines):
        return ()
    walked = walk(text)
    if not walked.whole or walked.fork_bomb or any(run.via for run in walked.runs):
        return ()
    found = [_plain(command) for pipeline in script.pipelines for command in pipeline.commands]
    return tuple(one for one in found if one is not None) if None not in found else ()


def covers(prefix: str, command: Plain) -> bool:
    """Whether `command` begins with the words of `prefix`, and nothing in it changes what these mean."""
    wanted = prefix.split()
    words = command.words
    if not is_prefix(prefix) or list(words[: len(wanted)]) != wanted:
        return False
    name, rest = words[0], words[1:]
    if len(wanted) == 1 and name in _SUBCOMMANDS and not _says_what(name, list(rest)):
        return False
    if has_option(rest, "", *_ELSEWHERE) or _goes_elsewhere(name, rest):
        return False
    return name != "git" or not _git_goes_astray(list(rest))


def is_prefix(prefix: str) -> bool:
    """Whether `prefix` may stand for what begins with it: plain words, not only a program that runs what it is given.

    "python manage.py" is one; "python", "python -c", "sh", "sudo apt", "env", "rm" are none.
    """
    words = prefix.split()
    if not words or not all(_WORD.fullmatch(word) for word in words) or words[0].startswith(("-", "~")):
        return False
    name = base_name(words[0])
    if name in _NEVER or name in SHELLS:
        return False
    if is_interpreter(name):
        return len(words) > 1 and not words[1].startswith("-")
    return not any(word.startswith("-") for word in words[1:2])


def proposed(text: str, *, leaving: bool = False) -> str:
    """The prefix that is offered for a command: of a known program that is plainly written; empty: none.

    `leaving`: it would run with the network or without a sandbox. What runs the workspace's own code is offered exactly
    as it is then: the model can write that code.
    """
    commands = plain_commands(text)
    if len(commands) != 1 or commands[0].assigns or detect(text) is not None:
        return ""
    words = commands[0].words
    name, rest = words[0], words[1:]
    if leaving and name not in _NO_CODE:
        return ""
    said = 0 if name in _ALONE else _says_what(name, list(rest))
    if not said and name not in _ALONE:
        return ""
    prefix = " ".join(words[: 1 + said])
    return prefix if covers(prefix, commands[0]) else ""


def _says_what(name: str, rest: list[str]) -> int:
    """How many words after a known program say what it does; 0: they do not, or come behind other options."""
    if not rest or rest[0] not in _SUBCOMMANDS.get(name, frozenset()):
        return 0
    deeper = _DEEPER.get((name, rest[0]))
    if deeper is None:
        return 1
    return 2 if len(rest) > 1 and (rest[1] in deeper if deeper else _WORD.fullmatch(rest[1])) else 0


# -- the tables -----------------------------------------------------------------------------------------------------

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WORD: Final = re.compile(r"[A-Za-z0-9_./:@%+=,-]+")
_PLAIN_VARIABLES: Final = names("LANG TZ NO_COLOR FORCE_COLOR COLUMNS CI")
_PLAIN_VALUE: Final = re.compile(r"[A-Za-z0-9_.@+-]*")

# Programs whose arguments are the act itself: what they run, remove or reach is not said by their name.
_NEVER: Final = names(
    """sudo doas su env nohup setsid nice ionice chrt timeout gtimeout time stdbuf exec builtin command coproc busybox
    toybox chroot taskset flock gosu su-exec xargs eval source . alias trap export set unset strace ltrace unshare
    nsenter firejail bwrap systemd-run parallel proot fakeroot pkexec screen tmux watch entr script at batch crontab
    rm rmdir mv dd shred truncate chmod chown chgrp ln tee kill killall pkill install find fd fdfind sed gsed
    npx bunx pipx uvx pnpx make gmake ninja just task rake ant curl wget nc ncat netcat socat telnet ssh scp sftp rsync
    ftp gdb vi vim nvim emacs ed ex less more man xdg-open open"""
)
# Known programs that check, build or test what lies in the folder: the name says what they do.
_ALONE: Final = names(
    """pytest mypy pyright ruff black isort flake8 pylint tsc eslint prettier stylelint biome jest vitest mocha rspec
    rubocop phpunit ctest gofmt goimports golangci-lint rustfmt shellcheck shfmt yamllint markdownlint clang-format
    clang-tidy hadolint"""
)
_PACKAGED: Final = names("test run start build lint")
# Known programs whose first word says what they do.
_SUBCOMMANDS: Final[dict[str, frozenset[str]]] = {
    "git": names(
        """add status diff log show blame branch switch checkout restore commit merge stash tag push pull fetch
        ls-files rev-parse describe worktree cherry-pick revert mv"""
    ),
    "npm": _PACKAGED,
    "pnpm": _PACKAGED,
    "yarn": _PACKAGED,
    "bun": names("test run build"),
    "deno": names("test lint fmt check"),
    "cargo": names("build check test clippy fmt doc bench tree"),
    "go": names("build test vet fmt list doc"),
    "dotnet": names("build test format"),
    "mvn": names("compile test verify package"),
    "gradle": names("build test check"),
    "swift": names("build test"),
    "mix": names("test compile format"),
    "bundle": names("list check"),
    "pip": names("list show freeze check"),
    "pip3": names("list show freeze check"),
    "uv": names("tree"),
    "poetry": names("show check"),
    "terraform": names("fmt validate show"),
    "gh": names("pr issue run repo release workflow"),
    "kubectl": names("get describe logs top version explain"),
    "docker": names("ps images logs inspect version info top stats"),
}
# Where a second word has to say it: any one, or one of these.
_DEEPER: Final[dict[tuple[str, str], frozenset[str]]] = {
    **{(name, "run"): frozenset() for name in ("npm", "pnpm", "yarn", "bun")},
    ("git", "stash"): names("list show push pop apply"),
    ("git", "worktree"): names("list"),
    **{("gh", what): names("view list status checks diff") for what in ("pr", "issue", "run", "repo", "release")},
    ("gh", "workflow"): names("view list"),
}
# Those that run no code of the workspace. Not uv (the interpreter and the build of a project), poetry (its plugins),
# terraform (its providers): they lie in the folder.
_NO_CODE: Final = names("git gh kubectl docker pip pip3 gofmt rustfmt shellcheck shfmt yamllint")
# Options that send a program to another folder, another setting or another program.
_ELSEWHERE: Final = (
    "prefix", "manifest-path", "rootdir", "config-env", "exec-path", "git-dir", "work-tree", "upload-pack",
    "receive-pack", "exec", "ext-diff", "textconv", "open-files-in-pager", "toolexec", "output", "kubeconfig", "chdir",
    "repo", "cwd", "host", "project",
)  # fmt: skip
# The same of one program: letters of options, those of others that take a value, and long options.
_INDEX: Final = ("index-url", "extra-index-url", "index", "default-index", "find-links", "proxy", "python")
_ELSEWHERE_OF: Final[dict[str, tuple[str, str, tuple[str, ...]]]] = {
    "kubectl": ("s", "onlLcv", (
        "server", "cluster", "context", "user", "token", "as", "as-group", "as-uid", "raw", "certificate-authority",
        "insecure-skip-tls-verify", "tls-server-name", "profile", "profile-output", "cache-dir", "log-file", "log-dir",
        "kuberc",
    )),
    "gh": ("R", "", ()),
    "pip": ("fi", "", (*_INDEX, "cert", "client-cert", "log")),
    "pip3": ("fi", "", (*_INDEX, "cert", "client-cert", "log")),
    "uv": ("fip", "", (*_INDEX, "directory", "config-file")),
    "cargo": ("C", "pFj", ("config",)),
    "go": ("C", "", ()),
    "npm": ("", "", ("script-shell",)),
}  # fmt: skip
# `-f` of these is a file or an address to be read; of `kubectl logs` it is not.
_GIVEN_FILES: Final = frozenset({("kubectl", "get"), ("kubectl", "describe")})
_GIT_RUNS: Final = names(
    "config remote submodule bisect filter-branch difftool mergetool daemon send-email clone init archive hook"
)
_REACHES: Final = names("push pull fetch ls-remote")
_REACH_VALUES: Final = names("depth deepen shallow-since shallow-exclude jobs server-option push-option strategy")


def _goes_elsewhere(name: str, rest: tuple[str, ...]) -> bool:
    """Whether a program's own options name another server, person, folder or program."""
    letters, valued, longs = _ELSEWHERE_OF.get(name, ("", "", ()))
    if (name, rest[0] if rest else "") in _GIVEN_FILES:
        letters, longs = letters + "fk", (*longs, "filename", "kustomize")
    return has_option(rest, "", *longs) or any(_has_letter(arg, letters, valued) for arg in _options(rest))


def _options(rest: tuple[str, ...]) -> tuple[str, ...]:
    return rest[: rest.index("--")] if "--" in rest else rest


def _has_letter(arg: str, wanted: str, valued: str) -> bool:
    """Whether one of the letters `wanted` is an option here, and no part of the value of another one, as in -ojson."""
    if not arg.startswith("-") or arg.startswith("--"):
        return False
    first = next((letter for letter in arg[1:] if letter in wanted + valued), "")
    return first != "" and first in wanted


def _git_goes_astray(args: list[str]) -> bool:
    """Whether a git command, its subcommand first, does what the subcommand's name does not say."""
    verb, rest = args[0] if args else "", args[1:]
    if verb in _GIT_RUNS:
        return True
    if verb in ("grep", "diff", "log", "show") and any(re.match(r"-O", arg) for arg in rest):
        return True
    if verb == "rebase" and has_option(rest, "xi", "exec", "interactive"):
        return True
    if verb in _REACHES:
        # Only where the person's own settings say: another name may be a folder or an address that anybody wrote.
        if has_option(rest, "", "recurse-submodules"):  # a repository below has a configuration and hooks of its own
            return True
        named = operands(rest, "osXj", _REACH_VALUES)
        return bool(named) and named[0] != "origin"
    return False


# -- the words ------------------------------------------------------------------------------------------------------


def _plain(command: sw.Command) -> Plain | None:
    if not isinstance(command, sw.Simple) or not command.words or not all(map(_goes_nowhere, command.redirects)):
        return None
    for variable, word in command.assigns:
        if not (variable in _PLAIN_VARIABLES or variable.startswith("LC_")) or _value(word) is None:
            return None
    words = [_fixed(word) for word in command.words]
    first = command.words[0].bare
    if None in words or first is None or not _WORD.fullmatch(first):
        return None
    text = " ".join(_written(word) for word in command.words)
    return Plain(tuple(word for word in words if word is not None), text, bool(command.assigns))


def _goes_nowhere(redirect: sw.Redirect) -> bool:
    """`2>&1`, or from and to /dev/null."""
    target = redirect.target.bare or ""
    if redirect.op in (">&", "<&"):
        return target in ("1", "2", "-")
    return redirect.op in (">", ">>", "&>", "<") and target == "/dev/null"


def _value(word: sw.Word) -> str | None:
    text = _fixed(word)
    return text if text is not None and _PLAIN_VALUE.fullmatch(text) else None


def _fixed(word: sw.Word) -> str | None:
    """The text of a word in which the shell puts nothing but what is written; wildcards stand for file names."""
    text = ""
    for part in word.parts:
        if not isinstance(part, sw.Text) or (not part.quoted and _BRACES.search(part.text)):
            return None
        text += part.text
    return text


_BRACES: Final = re.compile(r"\{[^{}]*(?:,|\.\.)")


def _written(word: sw.Word) -> str:
    """The word as a shell reads it again."""
    out = ""
    for part in word.parts:
        if isinstance(part, sw.Text):
            out += "'" + part.text.replace("'", "'\\''") + "'" if part.quoted else part.text
    return out
