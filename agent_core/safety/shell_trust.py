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
from typing import Final

from agent_core import limits
from agent_core.records import dataclass

from . import shell_words
from .git_config import git_config_names_helpers
from .shell_args import names, operands
from .trust_operands import WILD, Arg, TrustContext, Untrusted, readable, readable_below

__all__ = ["TrustContext", "TrustVerdict", "git_config_names_helpers", "is_trusted_command"]


@dataclass(frozen=True, slots=True)
class TrustVerdict:
    """`ok`: it may run unasked. `rule` names what decided, for the log and for tests."""

    ok: bool
    rule: str


def is_trusted_command(text: str, ctx: TrustContext) -> TrustVerdict:
    """Whether `text` only reads, by its text, its PATH and its operands. Never raises; any doubt is no."""
    try:
        _gate(text)
        name, args = _words(text, ctx)
        _judge(name, args, ctx)
    except Untrusted as no:
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
        raise Untrusted("too-long")
    if (
        len(_WORD_END.findall(text)) > limits.SHELL_TRUSTED_WORDS
        or len(_MARK.findall(text)) > limits.SHELL_TRUSTED_MARKS
    ):
        raise Untrusted("too-long")
    if _META.search(text):
        raise Untrusted("shell-character")
    if _CONTROL.search(text):
        raise Untrusted("control-character")
    if not text.isascii():
        for char in set(text):
            invisible = unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zs", "Zl", "Zp") and char != " "
            if invisible or char in _BLANK_LOOKALIKES or "\ufe00" <= char <= "\ufe0f" or char >= "\U000e0000":
                raise Untrusted("invisible-character")


def _words(text: str, ctx: TrustContext) -> tuple[str, list[Arg]]:
    """The program's name and the arguments, of a text that holds exactly one plain command."""
    script = shell_words.parse(text)
    commands = [command for pipeline in script.pipelines for command in pipeline.commands]
    if not script.ok or script.deep or len(commands) != 1 or not isinstance(commands[0], shell_words.Simple):
        raise Untrusted("unparsable")
    command = commands[0]
    if not command.words or command.redirects:
        raise Untrusted("unparsable")
    for variable, word in command.assigns:
        value = _argument(word).text
        harmless = _ZONE if variable == "TZ" else _LOCALE
        if not (variable in _PLAIN_VARIABLES or variable.startswith("LC_")) or not harmless.fullmatch(value):
            raise Untrusted("assignment")
    program = command.words[0].bare
    match = _PROGRAM.fullmatch(program) if program else None
    if not match:
        raise Untrusted("command-word")
    name = match[2]
    if name not in PROGRAMS:
        raise Untrusted("unknown-program")
    if match[1] or name not in _BUILTINS:
        _found_in_system(program or "", ctx.path_env)
    return name, [_argument(word) for word in command.words[1:]]


def _argument(word: shell_words.Word) -> Arg:
    texts = [part for part in word.parts if isinstance(part, shell_words.Text)]
    if len(texts) != len(word.parts):
        raise Untrusted("expansion")
    plain = [part.text for part in texts if not part.quoted]
    first = next((part for part in texts if part.text), None)
    loose = first is not None and not first.quoted
    text = "".join(part.text for part in texts)
    tilde = loose and text.startswith("~")
    if tilde and text != "~" and not text.startswith("~/"):
        raise Untrusted("another-home")
    return Arg(text, any(WILD.search(one) for one in plain), loose and text[0] in "*?[", tilde)


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
            raise Untrusted("program-path")
        if os.path.exists(program) and not _only_root_writes(program):
            raise Untrusted("program-path")
        return
    foreign = False
    for entry in path_env.split(":"):
        if not entry.startswith("/"):
            raise Untrusted("program-path")
        entry = os.path.normpath(entry)
        system = entry in _SYSTEM_FOLDERS and _only_root_writes(entry)
        candidate = os.path.join(entry, program)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            if system and _only_root_writes(candidate):
                return
            raise Untrusted("program-path")
        foreign = foreign or not (system or entry in ("/sbin", "/usr/sbin", "/usr/local/sbin"))
    if foreign:  # not there now, but somebody else could put it there
        raise Untrusted("program-path")


def _only_root_writes(path: str) -> bool:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return True  # only root can make it: its folder was asked about before
    return found.st_uid == 0 and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


# -- options -----------------------------------------------------------------------------------------------------


def _options_end(args: list[Arg], flags: str = "") -> int:
    """Where `--` surely ends the options. After an option it may be that option's value (`rg -e -- --pre=x`), unless
    the option is a cluster of letters from `flags`, which take none."""
    for at, arg in enumerate(args):
        before = args[at - 1].text if at else ""
        if arg.text == "--" and (not before.startswith("-") or (before[1:] and set(before[1:]) <= set(flags))):
            return at
    return len(args)


def _refuse(args: list[Arg], shorts: str = "", longs: str = "", valued: str = "", flags: str = "") -> None:
    """Raise if an option is given: a letter of `shorts` in a cluster (letters of `valued` take the rest of it), or one
    of the blank-separated `longs`, whole, abbreviated or lengthened. `flags`: see `_options_end`."""
    for arg in args[: _options_end(args, flags)]:
        text = arg.text
        if text.startswith("--"):
            option = text[2:].partition("=")[0]
            if option and any(option.startswith(long) or long.startswith(option) for long in longs.split()):
                raise Untrusted("option")
        elif text.startswith("-"):
            for letter in text[1:]:
                if letter in shorts:
                    raise Untrusted("option")
                if letter in valued:
                    break


def _files(args: list[Arg], valued: str = "", long_valued: str = "") -> list[Arg]:
    """The arguments that are not options, nor values of options."""
    texts = [arg.text for arg in args]
    kept = operands(texts, valued, names(long_valued))
    found: list[Arg] = []
    for arg in reversed(args):  # operands() keeps order, so matching from the end pairs them up
        if kept and arg.text == kept[-1]:
            kept.pop()
            found.insert(0, arg)
    return found


def _plain(args: list[Arg]) -> list[Arg]:
    """Every argument that may be a file: values of options, too, for a value that is no file does no harm here."""
    past = next((at for at, arg in enumerate(args) if arg.text == "--"), len(args))
    return [arg for at, arg in enumerate(args) if at > past or not arg.text.startswith("-")]


def _no_leading_glob(args: list[Arg], flags: str) -> None:
    """A file's name must not become an option."""
    for arg in args[: _options_end(args, flags)]:
        if arg.leading_glob or (arg.glob and arg.text.startswith("-")):
            raise Untrusted("leading-wildcard")


def _find(args: list[Arg], ctx: TrustContext) -> None:
    for arg in args:
        if re.match(r"-(exec|ok|delete|fprint|fls|files0)", arg.text):
            raise Untrusted("option")


_RG_FLAGS: Final = "nilcvwsSHNoqxuaFPU0hLpI"  # letters that take no value


def _rg(args: list[Arg], ctx: TrustContext) -> None:
    _refuse(args, "z", "pre-glob hostname-bin search-zip", "efgtTABCmMrjdE", _RG_FLAGS)
    files = _after_pattern(args, "efgtTABCmMrjdE", "regexp file glob type max-count", "e")
    readable(files, ctx)
    if not any(arg.text == "--files" for arg in args):
        readable_below(files, ctx, hidden=any(re.match(r"-\w*[u.]|--(hid|unr)", arg.text) for arg in args))


def _grep(args: list[Arg], ctx: TrustContext) -> None:
    files = _after_pattern(args, "efABCmdD", "regexp file max-count include exclude", "e")
    readable(files, ctx)
    if any(re.match(r"-\w*[rRd]|--(rec|der|dir)", arg.text) for arg in args):
        readable_below(files, ctx)


def _after_pattern(args: list[Arg], valued: str, long_valued: str, pattern: str) -> list[Arg]:
    """File operands of a search: the first operand is its pattern unless options gave it. Pattern files are files."""
    given = any(re.match(rf"-\w*[{pattern}f]|--(reg|fi)", arg.text) for arg in args)
    listed = any(arg.text in ("--files", "--type-list") for arg in args)
    found = _files(args, valued, long_valued)
    files = found if given or listed else found[1:]
    for at, arg in enumerate(args):
        if re.fullmatch(r"-\w*f|--file", arg.text) and at + 1 < len(args):
            files.append(args[at + 1])
        elif match := re.fullmatch(r"(?:-\w*?f|--[\w-]*file=)(.+)", arg.text):
            files.append(Arg(match[1], arg.glob, False, False))
    return files


def _sort(args: list[Arg], ctx: TrustContext) -> None:
    _refuse(args, "oT", "output temporary-directory compress-program files0-from random-source", "ktS")
    readable(_plain(args), ctx)


def _tree(args: list[Arg], ctx: TrustContext) -> None:
    _refuse(args, "oR", "output fromfile fromtabfile")


def _uniq(args: list[Arg], ctx: TrustContext) -> None:
    files = _files(args, "fsw", "skip-fields skip-chars check-chars")
    if len(files) > 1 or any(file.glob for file in files):  # a second operand is written
        raise Untrusted("second-operand")
    readable(_plain(args), ctx)


def _date(args: list[Arg], ctx: TrustContext) -> None:
    _refuse(args, "sf", "set file", "dI")
    if any(not arg.text.startswith("+") for arg in _files(args, "dr", "date reference")):
        raise Untrusted("sets-the-clock")


def _sed(args: list[Arg], ctx: TrustContext) -> None:
    texts = [arg.text for arg in args]
    if texts[:1] != ["-n"] or not re.fullmatch(r"\d+(,\d+)?p", "".join(texts[1:2])):
        raise Untrusted("sed-script")
    if any(text.startswith("-") for text in texts[2:]):
        raise Untrusted("option")
    readable(args[2:], ctx)


_JQ_FILES: Final = names("--from-file --library-path --rawfile --slurpfile --argfile --run-tests")


def _jq(args: list[Arg], ctx: TrustContext) -> None:
    _refuse(args, "fL")
    if any(arg.text.partition("=")[0] in _JQ_FILES for arg in args):  # jq knows no abbreviations
        raise Untrusted("option")
    found = _files(args)
    for arg in found:
        code = re.sub(r'"(?:[^"\\]|\\.)*"', "", arg.text)
        if re.search(r"(?<![.\w])(env|import|include|input_filename|modulemeta)\b", code):
            raise Untrusted("jq-filter")
    readable(found[1:], ctx)


def _diff(args: list[Arg], ctx: TrustContext) -> None:
    _refuse(args, "l", "paginate", "CUFIxXDSWL")
    readable(_plain(args), ctx)
    if any(re.match(r"-\w*r|--rec", arg.text) for arg in args):
        readable_below(_plain(args), ctx)


def _tail(args: list[Arg], ctx: TrustContext) -> None:
    _refuse(args, "fF", "follow retry", "s")
    readable(_plain(args), ctx)


def _file(args: list[Arg], ctx: TrustContext) -> None:
    _refuse(args, "CmzZfsP", "compile magic-file uncompress files-from special-files", "eF")


def _nothing(args: list[Arg], ctx: TrustContext) -> None:
    """Programs that print names, numbers or their own words, whatever they are given."""


def _reader(args: list[Arg], ctx: TrustContext) -> None:
    """Programs that print or digest the content of their operands."""
    _refuse(args, "", "files0-from")
    readable(_plain(args), ctx)


def _sizes(args: list[Arg], ctx: TrustContext) -> None:
    """Programs that print sizes, but can be told to print names from a file, or to skip those of another."""
    _refuse(args, "X", "files0-from", "dBt")


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


def _git(args: list[Arg], ctx: TrustContext) -> None:
    if not ctx.git_is_plain:
        raise Untrusted("git-config")
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
            raise Untrusted("git-global")
    if not rest:
        raise Untrusted("git-command")
    sub, rest = rest[0].text, rest[1:]
    if any(arg.tilde for arg in rest) or any("%G" in arg.text for arg in rest):
        raise Untrusted("option")
    if sub in GIT_FORMS:
        if not GIT_FORMS[sub](rest):
            raise Untrusted("git-form")
    elif sub not in GIT_READS:
        raise Untrusted("git-command")
    # -O names an order file or, for grep, a pager. A letter takes the rest of a cluster as its value only where it does
    # so for that command: -L is a flag of grep.
    valued = "LSG" if sub in ("log", "show", "blame") else "SG" if sub == "diff" else ""
    _refuse([arg for arg in rest if arg.text != "--text"], "O", _GIT_REFUSED, valued)
    if sub == "grep":
        _refuse(rest, "f", "file")
        rest = _after_pattern(rest, "eABCm", "", "e")
    files = _plain(rest)
    # REV:PATH and :PATH read a file of another time, -L1,5:PATH lines of one, --exclude-from=PATH patterns in one.
    named = [*files, *(arg for arg in rest if arg.text.startswith(("-L", "--exclude")))]
    files += [Arg(part, arg.glob, False, False) for arg in named for part in re.split("[:=]", arg.text)[1:]]
    readable(files, ctx)


def _git_folder(arg: Arg, ctx: TrustContext) -> None:
    """-C: a plain folder below the working folder, in the same repository or one as plain."""
    parts = arg.text.split("/")
    if arg.glob or arg.tilde or not re.fullmatch(r"[\w.@+][\w.@+ /-]*", arg.text) or ".." in parts or ".git" in parts:
        raise Untrusted("git-global")
    folder = ctx.cwd / arg.text
    if not folder.exists():
        return
    if not folder.resolve().is_relative_to(ctx.cwd.resolve()) or git_config_names_helpers(folder):
        raise Untrusted("git-global")


def _git_list(args: list[Arg], letters: str) -> bool:
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


def _git_remote(args: list[Arg]) -> bool:
    texts = [arg.text for arg in args]
    return texts in ([], ["-v"], ["--verbose"]) or (
        texts[:1] == ["get-url"] and all(re.fullmatch(r"[\w.-]+|--all|--push", text) for text in texts[1:])
    )


def _git_config(args: list[Arg]) -> bool:
    texts = [
        arg.text for arg in args if arg.text not in ("--local", "--global", "--system", "--worktree", "--null", "-z")
    ]
    return (
        len(texts) == 2
        and texts[0] == "--get"
        and _GIT_SETTING.fullmatch(texts[1]) is not None
        and not _GIT_SECRET_SETTING.search(texts[1])
    )


GIT_READS: Final = names(
    "status log diff show blame rev-parse rev-list ls-files ls-tree cat-file grep describe shortlog"
)
GIT_FORMS: Final[dict[str, Callable[[list[Arg]], bool]]] = {
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

_Judge = Callable[[list[Arg], TrustContext], None]
PROGRAMS: Final[dict[str, _Judge]] = {
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


def _judge(name: str, args: list[Arg], ctx: TrustContext) -> None:
    if name in _OPTION_RISK:
        _no_leading_glob(args, _RG_FLAGS if name == "rg" else "")
    PROGRAMS[name](args, ctx)
    if name != "git" and PROGRAMS[name] is not _nothing:
        # Values joined to an option (--exclude-from=X) are files at times; none of them may be a secret.
        for arg in args:
            option, equals, value = arg.text.partition("=")
            if equals and option.startswith("--") and value:
                readable([Arg(value, arg.glob, False, False)], ctx)
