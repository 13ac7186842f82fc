"""The words of one command: its options and operands, and the paths it names.

A word that was expanded carries marks for what a plain string cannot say: a home, a wildcard, an unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

# Unicode noncharacters: no command holds them for a good reason, and real ones are replaced before parsing.
UNKNOWN: Final = "\ufdd0"
"""Some text the command does not tell."""
HOME: Final = "\ufdd1"
"""Somebody's home directory."""
STAR: Final = "\ufdd2"
"""An active `*`: any text without a slash."""
ONE: Final = "\ufdd3"
"""An active `?` or `[...]`: one character."""
STREAM: Final = "\ufdd8"
"""A process substitution in the place of a file; its number follows."""


def names(text: str) -> frozenset[str]:
    """The words of `text`: how the tables of program names are written."""
    return frozenset(text.split())


SHELLS: Final = names("sh bash dash zsh ksh mksh ash fish rbash csh tcsh yash")


def absolute(path: str, cwd: str = UNKNOWN) -> str:
    """Resolve `path` by its text: no `.`, `..`, doubled or trailing slash, no alias of the root.

    The result begins with "/", HOME or UNKNOWN.
    """
    root, rest = ("/", path) if path.startswith("/") else (path[:1], path[1:]) if path[:1] == HOME else ("", path)
    if root == HOME and rest and not rest.startswith("/"):
        root, rest = UNKNOWN, "/" + path
    if not root:
        if cwd == UNKNOWN:
            root = UNKNOWN
        else:
            return absolute(f"{cwd}/{path}")
    parts: list[str] = []
    for part in rest.split("/"):
        if part == "..":
            if parts:
                parts.pop()
            elif root == HOME:
                root, parts = "/", ["home"]
        elif part not in ("", "."):
            parts.append(part)
        if root == "/" and len(parts) == 3 and parts[0] == "proc" and parts[2] == "root":
            parts.clear()
        if root == "/" and parts == ["private"]:  # macOS keeps /etc, /var and /tmp there
            parts.clear()
    joined = "/".join(parts)
    return f"/{joined}" if root == "/" else f"{root}/{joined}" if joined else root


def matches(pattern: str, name: str) -> bool:
    """Whether a marked path component could stand for `name`; unknown text is not guessed."""
    if STAR not in pattern and ONE not in pattern:
        return pattern == name
    regex = re.escape(pattern).replace(re.escape(STAR), ".*").replace(re.escape(ONE), ".")
    return re.fullmatch(regex, name) is not None


def operands(args: Iterable[str], valued: str = "", long_valued: frozenset[str] = frozenset()) -> list[str]:
    """The arguments that are not options. `valued`: short options that take a value, `long_valued`: long ones."""
    found: list[str] = []
    items = iter(args)
    for arg in items:
        if arg == "--":
            return found + list(items)
        if not arg.startswith("-") or arg == "-":
            found.append(arg)
        elif _takes_next(arg, valued, long_valued):
            next(items, None)
    return found


def has_option(args: Iterable[str], short: str = "", *longs: str, shortest: int = 3) -> bool:
    """Whether an option is given: one of the letters `short`, also in a cluster, or one of `longs`, also abbreviated
    to at least `shortest` letters."""
    for arg in args:
        if arg == "--":
            return False
        if arg.startswith("--"):
            name = arg[2:].partition("=")[0]
            if name and any(name == long or (len(name) >= shortest and long.startswith(name)) for long in longs):
                return True
        elif arg.startswith("-") and any(letter in arg[1:] for letter in short):
            return True
    return False


def option_value(args: tuple[str, ...] | list[str], short: str, *longs: str) -> str | None:
    """The value of an option: `-x V`, `-xV`, `-abx V`, `--long V`, `--long=V`; None if it is not given."""
    for at, arg in enumerate(args):
        following = args[at + 1] if at + 1 < len(args) else ""
        if arg == "--":
            return None
        if arg.startswith("--"):
            name, equals, value = arg[2:].partition("=")
            if name in longs:
                return value if equals else following
        elif short and re.fullmatch(rf"-[A-Za-z]*{re.escape(short)}.*", arg, re.S):
            return arg.split(short, 1)[1] or following
    return None


def _takes_next(arg: str, valued: str, long_valued: frozenset[str]) -> bool:
    if arg.startswith("--"):
        return arg[2:] in long_valued
    for at, letter in enumerate(arg[1:], 2):
        if letter in valued:
            return at == len(arg)
    return False


def first_operand(args: list[str], valued: str, long_valued: frozenset[str]) -> int:
    at = 0
    while at < len(args):
        arg = args[at]
        if arg == "--":
            return at + 1
        if not arg.startswith("-") or arg == "-":
            return at
        at += 2 if _takes_next(arg, valued, long_valued) else 1
    return at


def shell_arguments(args: Iterable[str]) -> tuple[bool, list[str]]:
    """Whether a shell is given -c, and what follows its options: the script's text if so, else its file."""
    rest = list(args)
    command = False
    while rest and re.match(r"[-+].", rest[0]):
        option = rest.pop(0)
        if option == "--":
            break
        if option.startswith("--command="):
            return True, [option.partition("=")[2], *rest]
        if option.startswith("--"):
            command |= option == "--command"
            del rest[: option in ("--rcfile", "--init-file")]
        else:
            command |= option[0] == "-" and "c" in option
            del rest[: option[-1] in "oO"]
    return command, rest


def base_name(program: str) -> str:
    """The name a command word runs under: last component, lower case, unknown text left out."""
    return program.replace(UNKNOWN, "").rstrip("/").rpartition("/")[2].lower()
