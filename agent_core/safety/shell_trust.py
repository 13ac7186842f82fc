"""Which commands only read, and so run without asking anybody.

One plain command of a short list, with options that neither write nor start a program, and no operand that holds a
secret or is a device. Whatever is unclear is not trusted; the price is one question. Sources: A1, APPR-05.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from agent_core import limits

from . import protected, shell_words
from .git_config import git_config_names_helpers
from .shell_args import names, operands

__all__ = ["TrustContext", "TrustVerdict", "git_config_names_helpers", "is_trusted_command"]


@dataclass(frozen=True, slots=True)
class TrustContext:
    """Where a command would run: its folder, its PATH, the person's home, and whether git is plain in that folder
    (`not git_config_names_helpers(cwd)`)."""

    cwd: Path
    path_env: str
    home: Path
    git_is_plain: bool


@dataclass(frozen=True, slots=True)
class TrustVerdict:
    """`ok`: it may run unasked. `rule` names what decided, for the log and for tests."""

    ok: bool
    rule: str


@dataclass(frozen=True, slots=True)
class _Arg:
    """One argument: its text after quoting, and where an active wildcard or tilde stands in it."""

    text: str
    glob: bool
    leading_glob: bool
    tilde: bool


class _Untrusted(Exception):
    """Ends the judgement; the text is the rule."""


def is_trusted_command(text: str, ctx: TrustContext) -> TrustVerdict:
    """Whether `text` only reads, by its text, its PATH and its operands. Never raises; any doubt is no."""
    try:
        _gate(text)
        name, args = _words(text, ctx)
        _judge(name, args, ctx)
    except _Untrusted as no:
        return TrustVerdict(False, str(no))
    except (OSError, ValueError):  # the file system would not say, or a name it cannot hold
        return TrustVerdict(False, "unreadable")
    return TrustVerdict(True, "trusted")


# -- the text ----------------------------------------------------------------------------------------------------

_META: Final = re.compile(r"[|&;<>$(){}`\n]|!(?=[\w!?#-])")
_WORD_END: Final = re.compile(r"[ \t]+")
_MARK: Final = re.compile(r"['\"\\]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_BLANK_LOOKALIKES: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_PROGRAM: Final = re.compile(r"(/[A-Za-z0-9_+./-]*/)?([A-Za-z0-9_][A-Za-z0-9_+.-]*)")
_LOCALE: Final = re.compile(r"[A-Za-z0-9_.@-]*")
_ZONE: Final = re.compile(r"([A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*)?")
_PLAIN_VARIABLES: Final = names("LANG TZ NO_COLOR COLUMNS")


def _gate(text: str) -> None:
    if len(text) > limits.SHELL_TRUSTED or len(text.encode("utf-8", "surrogatepass")) > limits.SHELL_TRUSTED:
        raise _Untrusted("too-long")
    if (
        len(_WORD_END.findall(text)) > limits.SHELL_TRUSTED_WORDS
        or len(_MARK.findall(text)) > limits.SHELL_TRUSTED_MARKS
    ):
        raise _Untrusted("too-long")
    if _META.search(text):
        raise _Untrusted("shell-character")
    if _CONTROL.search(text):
        raise _Untrusted("control-character")
    if not text.isascii():
        for char in set(text):
            invisible = unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zs", "Zl", "Zp") and char != " "
            if invisible or char in _BLANK_LOOKALIKES or "\ufe00" <= char <= "\ufe0f" or char >= "\U000e0000":
                raise _Untrusted("invisible-character")


def _words(text: str, ctx: TrustContext) -> tuple[str, list[_Arg]]:
    """The program's name and the arguments, of a text that holds exactly one plain command."""
    script = shell_words.parse(text)
    commands = [command for pipeline in script.pipelines for command in pipeline.commands]
    if not script.ok or script.deep or len(commands) != 1 or not isinstance(commands[0], shell_words.Simple):
        raise _Untrusted("unparsable")
    command = commands[0]
    if not command.words or command.redirects:
        raise _Untrusted("unparsable")
    for variable, word in command.assigns:
        value = _argument(word).text
        harmless = _ZONE if variable == "TZ" else _LOCALE
        if not (variable in _PLAIN_VARIABLES or variable.startswith("LC_")) or not harmless.fullmatch(value):
            raise _Untrusted("assignment")
    program = command.words[0].bare
    match = _PROGRAM.fullmatch(program) if program else None
    if not match:
        raise _Untrusted("command-word")
    name = match[2]
    if name not in _PROGRAMS:
        raise _Untrusted("unknown-program")
    if match[1] or name not in _BUILTINS:
        _found_in_system(program or "", ctx.path_env)
    return name, [_argument(word) for word in command.words[1:]]


def _argument(word: shell_words.Word) -> _Arg:
    texts = [part for part in word.parts if isinstance(part, shell_words.Text)]
    if len(texts) != len(word.parts):
        raise _Untrusted("expansion")
    plain = [part.text for part in texts if not part.quoted]
    first = next((part for part in texts if part.text), None)
    loose = first is not None and not first.quoted
    text = "".join(part.text for part in texts)
    tilde = loose and text.startswith("~")
    if tilde and text != "~" and not text.startswith("~/"):
        raise _Untrusted("another-home")
    return _Arg(text, any(_WILD.search(one) for one in plain), loose and text[0] in "*?[", tilde)


# -- the program -------------------------------------------------------------------------------------------------

_SYSTEM_FOLDERS: Final = ("/bin", "/usr/bin", "/usr/local/bin")
_BUILTINS: Final = names("echo pwd test true false")


def _found_in_system(program: str, path_env: str) -> None:
    """Raise unless `program` is, or is first found by PATH in, a system folder only root can change."""
    if "/" in program:
        folder = os.path.dirname(program)
        if os.path.normpath("/" + folder.lstrip("/")) not in _SYSTEM_FOLDERS or not _only_root_writes(
            os.path.realpath(folder)
        ):
            raise _Untrusted("program-path")
        if os.path.exists(program) and not _only_root_writes(program):
            raise _Untrusted("program-path")
        return
    foreign = False
    for entry in path_env.split(":"):
        if not entry.startswith("/"):
            raise _Untrusted("program-path")
        entry = os.path.normpath(entry)
        system = entry in _SYSTEM_FOLDERS and _only_root_writes(entry)
        candidate = os.path.join(entry, program)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            if system and _only_root_writes(candidate):
                return
            raise _Untrusted("program-path")
        foreign = foreign or not (system or entry in ("/sbin", "/usr/sbin", "/usr/local/sbin"))
    if foreign:  # not there now, but somebody else could put it there
        raise _Untrusted("program-path")


def _only_root_writes(path: str) -> bool:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return True  # only root can make it: its folder was asked about before
    return found.st_uid == 0 and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


# -- options -----------------------------------------------------------------------------------------------------


def _options_end(args: list[_Arg], flags: str = "") -> int:
    """Where `--` surely ends the options. After an option it may be that option's value (`rg -e -- --pre=x`), unless
    the option is a cluster of letters from `flags`, which take none."""
    for at, arg in enumerate(args):
        before = args[at - 1].text if at else ""
        if arg.text == "--" and (not before.startswith("-") or (before[1:] and set(before[1:]) <= set(flags))):
            return at
    return len(args)


def _refuse(args: list[_Arg], shorts: str = "", longs: str = "", valued: str = "", flags: str = "") -> None:
    """Raise if an option is given: a letter of `shorts` in a cluster (letters of `valued` take the rest of it), or one
    of the blank-separated `longs`, whole, abbreviated or lengthened. `flags`: see `_options_end`."""
    for arg in args[: _options_end(args, flags)]:
        text = arg.text
        if text.startswith("--"):
            option = text[2:].partition("=")[0]
            if option and any(option.startswith(long) or long.startswith(option) for long in longs.split()):
                raise _Untrusted("option")
        elif text.startswith("-"):
            for letter in text[1:]:
                if letter in shorts:
                    raise _Untrusted("option")
                if letter in valued:
                    break


def _files(args: list[_Arg], valued: str = "", long_valued: str = "") -> list[_Arg]:
    """The arguments that are not options, nor values of options."""
    texts = [arg.text for arg in args]
    kept = operands(texts, valued, names(long_valued))
    found: list[_Arg] = []
    for arg in reversed(args):  # operands() keeps order, so matching from the end pairs them up
        if kept and arg.text == kept[-1]:
            kept.pop()
            found.insert(0, arg)
    return found


def _plain(args: list[_Arg]) -> list[_Arg]:
    """Every argument that may be a file: values of options, too, for a value that is no file does no harm here."""
    past = next((at for at, arg in enumerate(args) if arg.text == "--"), len(args))
    return [arg for at, arg in enumerate(args) if at > past or not arg.text.startswith("-")]


def _no_leading_glob(args: list[_Arg], flags: str) -> None:
    """A file's name must not become an option."""
    for arg in args[: _options_end(args, flags)]:
        if arg.leading_glob or (arg.glob and arg.text.startswith("-")):
            raise _Untrusted("leading-wildcard")


def _find(args: list[_Arg], ctx: TrustContext) -> None:
    for arg in args:
        if re.match(r"-(exec|ok|delete|fprint|fls|files0)", arg.text):
            raise _Untrusted("option")


_RG_FLAGS: Final = "nilcvwsSHNoqxuaFPU0hLpI"  # letters that take no value


def _rg(args: list[_Arg], ctx: TrustContext) -> None:
    _refuse(args, "z", "pre-glob hostname-bin search-zip", "efgtTABCmMrjdE", _RG_FLAGS)
    files = _after_pattern(args, "efgtTABCmMrjdE", "regexp file glob type max-count", "e")
    _readable(files, ctx)
    if not any(arg.text == "--files" for arg in args):
        _readable_below(files, ctx, hidden=any(re.match(r"-\w*[u.]|--(hid|unr)", arg.text) for arg in args))


def _grep(args: list[_Arg], ctx: TrustContext) -> None:
    files = _after_pattern(args, "efABCmdD", "regexp file max-count include exclude", "e")
    _readable(files, ctx)
    if any(re.match(r"-\w*[rRd]|--(rec|der|dir)", arg.text) for arg in args):
        _readable_below(files, ctx)


def _after_pattern(args: list[_Arg], valued: str, long_valued: str, pattern: str) -> list[_Arg]:
    """File operands of a search: the first operand is its pattern unless options gave it. Pattern files are files."""
    given = any(re.match(rf"-\w*[{pattern}f]|--(reg|fi)", arg.text) for arg in args)
    listed = any(arg.text in ("--files", "--type-list") for arg in args)
    found = _files(args, valued, long_valued)
    files = found if given or listed else found[1:]
    for at, arg in enumerate(args):
        if re.fullmatch(r"-\w*f|--file", arg.text) and at + 1 < len(args):
            files.append(args[at + 1])
        elif match := re.fullmatch(r"(?:-\w*?f|--[\w-]*file=)(.+)", arg.text):
            files.append(_Arg(match[1], arg.glob, False, False))
    return files


def _sort(args: list[_Arg], ctx: TrustContext) -> None:
    _refuse(args, "oT", "output temporary-directory compress-program files0-from random-source", "ktS")
    _readable(_plain(args), ctx)


def _tree(args: list[_Arg], ctx: TrustContext) -> None:
    _refuse(args, "oR", "output fromfile fromtabfile")


def _uniq(args: list[_Arg], ctx: TrustContext) -> None:
    files = _files(args, "fsw", "skip-fields skip-chars check-chars")
    if len(files) > 1 or any(file.glob for file in files):  # a second operand is written
        raise _Untrusted("second-operand")
    _readable(_plain(args), ctx)


def _date(args: list[_Arg], ctx: TrustContext) -> None:
    _refuse(args, "sf", "set file", "dI")
    if any(not arg.text.startswith("+") for arg in _files(args, "dr", "date reference")):
        raise _Untrusted("sets-the-clock")


def _sed(args: list[_Arg], ctx: TrustContext) -> None:
    texts = [arg.text for arg in args]
    if texts[:1] != ["-n"] or not re.fullmatch(r"\d+(,\d+)?p", "".join(texts[1:2])):
        raise _Untrusted("sed-script")
    if any(text.startswith("-") for text in texts[2:]):
        raise _Untrusted("option")
    _readable(args[2:], ctx)


_JQ_FILES: Final = names("--from-file --library-path --rawfile --slurpfile --argfile --run-tests")


def _jq(args: list[_Arg], ctx: TrustContext) -> None:
    _refuse(args, "fL")
    if any(arg.text.partition("=")[0] in _JQ_FILES for arg in args):  # jq knows no abbreviations
        raise _Untrusted("option")
    found = _files(args)
    for arg in found:
        code = re.sub(r'"(?:[^"\\]|\\.)*"', "", arg.text)
        if re.search(r"(?<![.\w])(env|import|include|input_filename|modulemeta)\b", code):
            raise _Untrusted("jq-filter")
    _readable(found[1:], ctx)


def _diff(args: list[_Arg], ctx: TrustContext) -> None:
    _refuse(args, "l", "paginate", "CUFIxXDSWL")
    _readable(_plain(args), ctx)
    if any(re.match(r"-\w*r|--rec", arg.text) for arg in args):
        _readable_below(_plain(args), ctx)


def _tail(args: list[_Arg], ctx: TrustContext) -> None:
    _refuse(args, "fF", "follow retry", "s")
    _readable(_plain(args), ctx)


def _file(args: list[_Arg], ctx: TrustContext) -> None:
    _refuse(args, "CmzZfsP", "compile magic-file uncompress files-from special-files", "eF")


def _nothing(args: list[_Arg], ctx: TrustContext) -> None:
    """Programs that print names, numbers or their own words, whatever they are given."""


def _reader(args: list[_Arg], ctx: TrustContext) -> None:
    """Programs that print or digest the content of their operands."""
    _refuse(args, "", "files0-from")
    _readable(_plain(args), ctx)


def _sizes(args: list[_Arg], ctx: TrustContext) -> None:
    """Programs that print sizes, but can be told to print names from a file."""
    _refuse(args, "", "files0-from")


# -- operands ----------------------------------------------------------------------------------------------------

_WILD: Final = re.compile(r"[*?[]")
_SECRET_NAMES: Final = re.compile(
    r"(.*[._-])?(credentials?|secrets?)(\.(json|ya?ml|toml|ini|cfg|conf|csv|db|env|txt|xml))?|.*kubeconfig.*|\.?htpasswd"
)
_SAMPLES: Final = tuple(
    sorted(
        names(
            """.env .env.local .envrc .npmrc .netrc .pgpass .ssh .aws .gnupg .kube .bash_history id_rsa id_ed25519
            server.pem private.key cert.p12 store.jks credentials credentials.json shadow sudoers"""
        )
    )
)


def _readable(args: list[_Arg], ctx: TrustContext) -> None:
    """Raise if an operand is or may be a secret, a device, or endless."""
    if sum(len(arg.text) for arg in args) > limits.SHELL_TRUSTED_PATHS:
        raise _Untrusted("too-long")
    real_folders: dict[str, str] = {}
    for arg in args:
        text = os.path.join(ctx.home, arg.text[2:]) if arg.tilde else arg.text
        if not text or text == "-":
            continue
        path = os.path.normpath(os.path.join(ctx.cwd, text))
        if arg.glob:
            _readable_glob(path, ctx)
        elif _secret(path, ctx):
            raise _Untrusted("secret-operand")
        else:
            folder, name = os.path.split(path)
            if folder not in real_folders:
                real_folders[folder] = os.path.realpath(folder)
            _leads_to_plain_file(os.path.join(real_folders[folder], name), path, ctx)


def _leads_to_plain_file(path: str, written: str, ctx: TrustContext) -> None:
    """Raise unless `path`, whose folder is resolved, is missing or leads to a file or folder free to read."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        path = os.path.realpath(path)
        mode = os.stat(path).st_mode if os.path.exists(path) else stat.S_IFREG
    if path != written and _secret(path, ctx):
        raise _Untrusted("secret-operand")
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and path != "/dev/null":
        raise _Untrusted("device-operand")


def _readable_below(args: list[_Arg], ctx: TrustContext, *, hidden: bool = True) -> None:
    """Raise if reading all that lies below one of the folders would meet a secret. Without any, the working folder.

    A folder is known by its place (a home, /etc) and by what lies in it directly; deeper ones are not looked through,
    which would take a time without bound. `hidden`: names that begin with a dot are read, too.
    """
    for arg in args or [_Arg(".", False, False, False)]:
        text = os.path.join(ctx.home, arg.text[2:]) if arg.tilde else arg.text
        folder = os.path.realpath(os.path.join(ctx.cwd, text))
        if arg.glob or not os.path.isdir(folder):
            continue
        parts, home = protected.fold_parts(folder), protected.fold_parts(os.path.realpath(ctx.home))
        below_home = parts[: len(home)] == home and protected.secrets_below_home(parts[len(home) :])
        if home[: len(parts)] == parts or below_home or protected.secrets_below(parts):
            raise _Untrusted("secret-folder")
        _readable_matches(folder, "*", ctx, hidden=hidden)


def _secret(path: str, ctx: TrustContext) -> bool:
    """Whether an absolute path names something whose content must not be read unasked."""
    if path == "/dev/null":
        return False
    parts = protected.fold_parts(path)
    if not parts:
        return False
    if parts[0] in ("dev", "sys") or protected.system_secret(parts):
        return True
    if parts[0] == "proc" and parts[-1] == "cmdline" and len(parts) > 2:  # arguments hold passwords at times
        return True
    name = parts[-1]
    if protected.secret_file(name) or _SECRET_NAMES.fullmatch(name):
        return True
    if ".git" in parts and name in ("config", "config.worktree"):  # addresses there may hold passwords
        return True
    home = protected.fold_parts(str(ctx.home))
    tail = parts[len(home) :] if home and parts[: len(home)] == home else parts
    if protected.public_key(tail[-2:]):
        return False
    for at, part in enumerate(tail):
        if part in (".nanohermes", ".hermes") and protected.own_keys(tail[at + 1 :]):
            return True
        # Every place of these tables begins with such a name; asking about the others would only cost time.
        if part[:1] not in "._" and part != "library":
            continue
        if protected.credential_place(tail[at:]) or protected.history_place(tail[at:]):
            return True
    return False


def _readable_glob(path: str, ctx: TrustContext) -> None:
    """Raise if a wildcard may select a secret: by its own letters, or because one lies where it looks."""
    if len(_WILD.findall(path)) > 8:  # matching many of them takes a time without bound
        raise _Untrusted("too-long")
    folder, name = os.path.split(path)
    if _secret(folder, ctx) or _secret(path, ctx):
        raise _Untrusted("secret-operand")
    if _WILD.search(folder):
        # Folders are not looked through. Below the working folder a wildcard leaves hidden ones out.
        below = path.removeprefix(f"{ctx.cwd}/")
        if below == path or any(_WILD.search(part) and part[0] in ".[" for part in below.split("/")):
            raise _Untrusted("secret-operand")
    if not _WILD.search(name):
        return
    pattern = name.lower().replace("[^", "[!")
    telling = bool(name.strip("*")) or bool(_WILD.search(folder))  # a lone * says nothing of what it means
    if telling and any(_selects(pattern, sample) for sample in _SAMPLES):
        raise _Untrusted("secret-operand")
    if not _WILD.search(folder) and os.path.isdir(folder):
        _readable_matches(os.path.realpath(folder), pattern, ctx)


def _readable_matches(folder: str, pattern: str, ctx: TrustContext, *, hidden: bool = False) -> None:
    """Raise if something in `folder` that the pattern selects, or is hidden and read all the same, is a secret."""
    with os.scandir(folder) as entries:
        for at, entry in enumerate(entries):
            if at >= limits.SHELL_TRUSTED_ENTRIES:
                raise _Untrusted("too-many-files")
            if _selects(pattern, entry.name.lower()) or (hidden and entry.name[0] == "."):
                if _secret(entry.path, ctx):
                    raise _Untrusted("secret-operand")
                _leads_to_plain_file(entry.path, entry.path, ctx)


def _selects(pattern: str, name: str) -> bool:
    """Whether a wildcard selects a name; hidden ones only if it begins with their dot."""
    return fnmatchcase(name, pattern) and (name[0] != "." or pattern[0] in ".[")


# -- git ---------------------------------------------------------------------------------------------------------

_GIT_REFUSED: Final = (
    "output ext exec textconv filters open-files-in-pager show-signature no-index contents recurse-submodules "
    "ignore-revs-file upload-pack orderfile submodule"
)
_GIT_LISTS: Final = names(
    """--list --all --remotes --verbose --show-current --ignore-case --no-color --no-column --color --column
    --no-abbrev"""
)
_GIT_LIST_VALUED: Final = names("--contains --no-contains --merged --no-merged --points-at --sort --format --abbrev")
_GIT_SETTING: Final = re.compile(
    r"(user|core|init|branch|pull|push|merge|color|status|log|fetch|rebase|i18n|commit|diff)\.([\w./-]+\.)?\w+"
    r"|remote\.[\w./-]+\.(url|pushurl|fetch)"  # what `git remote -v` shows
)
_GIT_SECRET_SETTING: Final = re.compile(r"token|pass|secret|header|key|proxy|cred|command|askpass", re.IGNORECASE)


def _git(args: list[_Arg], ctx: TrustContext) -> None:
    if not ctx.git_is_plain:
        raise _Untrusted("git-config")
    rest = list(args)
    moved = False
    while rest and rest[0].text.startswith("-"):
        if rest[0].text == "-C" and len(rest) > 1 and not moved:
            _git_folder(rest[1], ctx)
            del rest[:2]
            moved = True
        elif rest[0].text == "--no-pager":
            del rest[0]
        else:
            raise _Untrusted("git-global")
    if not rest:
        raise _Untrusted("git-command")
    sub, rest = rest[0].text, rest[1:]
    if any(arg.tilde for arg in rest) or any("%G" in arg.text for arg in rest):
        raise _Untrusted("option")
    if sub in _GIT_FORMS:
        if not _GIT_FORMS[sub](rest):
            raise _Untrusted("git-form")
    elif sub not in _GIT_READS:
        raise _Untrusted("git-command")
    # -O names an order file or, for grep, a pager. A letter takes the rest of a cluster as its value only where it does
    # so for that command: -L is a flag of grep.
    valued = "LSG" if sub in ("log", "show", "blame") else "SG" if sub == "diff" else ""
    _refuse([arg for arg in rest if arg.text != "--text"], "O", _GIT_REFUSED, valued)
    if sub == "grep":
        _refuse(rest, "f", "file")
        rest = _after_pattern(rest, "eABCm", "", "e")
    files = _plain(rest)
    # REV:PATH and :PATH read a file of another time.
    files += [_Arg(part, arg.glob, False, False) for arg in files for part in arg.text.split(":")[1:]]
    _readable(files, ctx)


def _git_folder(arg: _Arg, ctx: TrustContext) -> None:
    """-C: a plain folder below the working folder, in the same repository or one as plain."""
    parts = arg.text.split("/")
    if arg.glob or arg.tilde or not re.fullmatch(r"[\w.@+][\w.@+ /-]*", arg.text) or ".." in parts or ".git" in parts:
        raise _Untrusted("git-global")
    folder = ctx.cwd / arg.text
    if not folder.exists():
        return
    if not folder.resolve().is_relative_to(ctx.cwd.resolve()) or git_config_names_helpers(folder):
        raise _Untrusted("git-global")


def _git_list(args: list[_Arg], letters: str) -> bool:
    """Whether `git branch` or `git tag` only lists."""
    pattern = any(re.fullmatch(rf"--list|-[{letters}]*l[{letters}]*", arg.text) for arg in args)
    value = False
    for arg in args:
        text = arg.text
        if value:
            value = False
        elif text.partition("=")[0] in _GIT_LIST_VALUED:
            value = "=" not in text and text != "--abbrev"
        elif text.partition("=")[0] in _GIT_LISTS or re.fullmatch(rf"-[{letters}]+|-n\d*", text):
            continue
        elif text.startswith("-") or not pattern:
            return False
    return not value or args[-1].text in ("--merged", "--no-merged", "--contains", "--no-contains")


def _git_remote(args: list[_Arg]) -> bool:
    texts = [arg.text for arg in args]
    return texts in ([], ["-v"], ["--verbose"]) or (
        texts[:1] == ["get-url"] and all(re.fullmatch(r"[\w.-]+|--all|--push", text) for text in texts[1:])
    )


def _git_config(args: list[_Arg]) -> bool:
    texts = [
        arg.text for arg in args if arg.text not in ("--local", "--global", "--system", "--worktree", "--null", "-z")
    ]
    return (
        len(texts) == 2
        and texts[0] == "--get"
        and _GIT_SETTING.fullmatch(texts[1]) is not None
        and not _GIT_SECRET_SETTING.search(texts[1])
    )


_GIT_READS: Final = names(
    "status log diff show blame rev-parse rev-list ls-files ls-tree cat-file grep describe shortlog"
)
_GIT_FORMS: Final[dict[str, Callable[[list[_Arg]], bool]]] = {
    "branch": lambda args: _git_list(args, "arvlqi"),
    "tag": lambda args: _git_list(args, "lin"),
    "remote": _git_remote,
    "config": _git_config,
    "stash": lambda args: bool(args) and args[0].text == "list",
    "worktree": lambda args: bool(args) and args[0].text == "list",
    "reflog": lambda args: (
        not args
        or args[0].text in ("show", "list", "exists", "HEAD")
        or all(re.fullmatch(r"-\w.*|--\w.*|\d+", arg.text) for arg in args)
    ),
}


# -- the table --------------------------------------------------------------------------------------------------------

_Judge = Callable[[list[_Arg], TrustContext], None]
_PROGRAMS: Final[dict[str, _Judge]] = {
    **dict.fromkeys(
        names("ls stat pwd whoami id uname df which basename dirname realpath readlink tr echo true false test"),
        _nothing,
    ),
    **dict.fromkeys(
        names("""cat head wc nl comm cmp cut od md5sum sha1sum sha224sum sha256sum sha384sum sha512sum"""),
        _reader,
    ),
    **dict.fromkeys(names("grep egrep fgrep"), _grep),
    "rg": _rg,
    "du": _sizes,
    "find": _find,
    "sort": _sort,
    "tree": _tree,
    "uniq": _uniq,
    "date": _date,
    "sed": _sed,
    "jq": _jq,
    "diff": _diff,
    "tail": _tail,
    "file": _file,
    "git": _git,
}
# Programs with options that write or run something: a wildcard must not turn a file's name into one.
_OPTION_RISK: Final = names("rg find sort tree uniq date sed jq diff tail file git")


def _judge(name: str, args: list[_Arg], ctx: TrustContext) -> None:
    if name in _OPTION_RISK:
        _no_leading_glob(args, _RG_FLAGS if name == "rg" else "")
    _PROGRAMS[name](args, ctx)
    if name != "git" and _PROGRAMS[name] is not _nothing:
        # Values joined to an option (--exclude-from=X) are files at times; none of them may be a secret.
        for arg in args:
            option, equals, value = arg.text.partition("=")
            if equals and option.startswith("--") and value:
                _readable([_Arg(value, arg.glob, False, False)], ctx)
