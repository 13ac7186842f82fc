"""Glob patterns as regular expressions: `*` and `?` within a name, `**` across folders, `[a-z]`, `{a,b}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, TypeAlias

from agent_core import limits

_CLASS: Final = re.compile(r"\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]", re.DOTALL)


def compile_glob(pattern: str) -> re.Pattern[str]:
    """The expression that fully matches the relative paths `pattern` means.

    A pattern without a slash means a name at any depth; a leading slash or `./` ties it to the top. Raises ValueError
    with words when the pattern is empty or too involved.
    """
    return _any_of(translate(choice) for choice in _choices(pattern))


Names: TypeAlias = Callable[[Iterable[str]], Collection[str]]
"""Gives those of the names in one folder that a pattern means."""


def compile_names(pattern: str) -> Names | None:
    """What tells which last names paths that `pattern` means may have; None when that may be any name.

    All names of a folder are looked through at once: one by one takes five times as long. Raises ValueError as
    `compile_glob` does.
    """
    names = [choice.rpartition("/")[2] for choice in _choices(pattern)]
    if "**" in names:
        return None
    # No expression for a name goes across a slash, and no name has one.
    expression = re.compile(f"/({'|'.join(f'(?:{_name(name)})' for name in names)})(?=/)", re.DOTALL)
    return lambda names: expression.findall(f"/{'/'.join(names)}/")


def _choices(pattern: str) -> Iterator[str]:
    """The patterns without braces or outer slashes that `pattern` stands for, each for a path from the top."""
    for choice in expand_braces(pattern.strip()):
        anchored = "/" in choice.rstrip("/")
        choice = choice.removeprefix("./").strip("/")
        if not choice:
            raise ValueError("the pattern is empty")
        yield choice if anchored else f"**/{choice}"


def _any_of(parts: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{part})" for part in parts), re.DOTALL)


def translate(pattern: str) -> str:
    """One pattern without braces or outer slashes as an expression for the whole path.

    It never backtracks far: within a name each `*` takes the nearest place, which is enough, and the number of `**`
    is bounded. Raises ValueError beyond that bound.
    """
    parts = pattern.split("/")
    segments = [s for i, s in enumerate(parts) if s != "**" or i == 0 or parts[i - 1] != "**"]
    if segments.count("**") > limits.GLOB_DOUBLE_STARS:
        raise ValueError(f"the pattern has more than {limits.GLOB_DOUBLE_STARS} `**`")
    out: list[str] = []
    for i, segment in enumerate(segments):
        last = i == len(segments) - 1
        if segment == "**":
            out.append(".+" if last else "(?:.+/)?")
        else:
            out.append(_name(segment) + ("" if last else "/"))
    return "".join(out)


def _name(segment: str) -> str:
    """One name of a path. Pieces between stars are found at their first place, atomically, as fnmatch does."""
    pieces = list(_pieces(segment))
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    inner = "".join(f"(?>[^/]*?{piece})" for piece in middle if piece)
    return f"{first}{inner}[^/]*{last}"


def _pieces(segment: str) -> Iterator[str]:
    """The expressions between the stars of a segment."""
    out: list[str] = []
    i = 0
    while i < len(segment):
        char = segment[i]
        i += 1
        if char == "*":
            yield "".join(out)
            out = []
        elif char == "?":
            out.append("[^/]")
        elif char == "\\" and i < len(segment):
            out.append(re.escape(segment[i]))
            i += 1
        elif char == "[" and (found := _CLASS.match(segment, i - 1)):
            out.append(_class(found[1], found[2]))
            i = found.end()
        else:
            out.append(re.escape(char))
    yield "".join(out)


def _class(negated: str, body: str) -> str:
    """A bracket class. Ranges the wrong way round match nothing, as in git."""
    members: list[str] = []
    chars = [(m[0][-1], len(m[0]) > 1) for m in re.finditer(r"\\.|.", body, re.DOTALL)]
    i = 0
    while i < len(chars):
        char = chars[i][0]
        if i + 2 < len(chars) and chars[i + 1] == ("-", False):
            end = chars[i + 2][0]
            if char <= end:
                members.append(f"{re.escape(char)}-{re.escape(end)}")
            i += 3
        else:
            members.append(re.escape(char))
            i += 1
    if negated:
        return f"[^/{''.join(members)}]"
    return f"(?!/)[{''.join(members)}]" if members else "(?!)"


def expand_braces(pattern: str) -> list[str]:
    """`a{b,c}d` as `abd` and `acd`, nested too. Unbalanced braces are literal. Raises ValueError beyond a bound."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        current = todo.pop()
        found = _first_braces(current)
        if found is None:
            done.append(current)
        else:
            start, end, choices = found
            todo += [current[:start] + choice + current[end:] for choice in reversed(choices)]
        if len(done) + len(todo) > limits.GLOB_CHOICES:
            raise ValueError(f"the braces stand for more than {limits.GLOB_CHOICES} patterns")
    return done


def _first_braces(pattern: str) -> tuple[int, int, list[str]] | None:
    """The first balanced pair of braces with a comma: its range and its choices."""
    for start in [i for i, char in enumerate(pattern) if char == "{"]:
        depth, at, choices = 0, start + 1, []
        for i in range(start, len(pattern)):
            if pattern[i] == "{":
                depth += 1
            elif pattern[i] == "," and depth == 1:
                choices.append(pattern[at:i])
                at = i + 1
            elif pattern[i] == "}":
                depth -= 1
                if depth == 0:
                    if choices:
                        return start, i + 1, [*choices, pattern[at:i]]
                    break
    return None
