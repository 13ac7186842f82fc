"""commands/*.md: texts that a person sends by a short name, with arguments in their places.

A file `git/commit.md` is typed as `/git:commit`. Its frontmatter may hold `description` and `argument-hint`; the body
is what the model is told, with `$ARGUMENTS` for all that was typed behind the name and `$1` to `$9` for single words.
Nothing in it is run, and nothing in its frontmatter allows anything. A project's files count when a person has
accepted exactly them; the nearer file of a name wins. Source: UI-10, GAP-24.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from agent_core import limits
from agent_core.config.paths import Places
from agent_core.errors import ConfigError
from agent_core.plain_files import read_regular
from agent_core.records import dataclass
from agent_core.skills.frontmatter import first_line, parse
from agent_core.text.ansi import clean
from agent_core.text.printable import printable
from agent_core.trust import Offered, command_name

FOLDER: Final = "commands"
Place = Literal["project", "yours", "hermes", "built-in"]
_NAME: Final = re.compile(r"\w[\w.-]*(?::\w[\w.-]*)*\Z")
_PLACEHOLDER: Final = re.compile(r"\\?\$(ARGUMENTS|[1-9])(?!\w)")


@dataclass(frozen=True, slots=True)
class Command:
    """One file of commands/. Texts are free of control bytes."""

    name: str
    """As it is typed, without the slash."""
    description: str
    hint: str
    """What may stand behind the name; empty: nothing is said about it."""
    body: str
    path: str
    """As a person reads it; empty: it comes with the program."""
    place: Place

    def text(self, argument: str) -> str:
        """What the model is told when the command is typed with `argument`.

        Nothing more is put in once that is longer than limits.EXPANSION: a long argument may have thousands of places.
        """
        words = _words(argument)
        used, room = False, limits.EXPANSION

        def put(found: re.Match[str]) -> str:
            nonlocal used, room
            if found[0].startswith("\\"):
                return found[0][1:]
            used = True
            at = 0 if found[1] == "ARGUMENTS" else int(found[1])
            value = argument if at == 0 else words[at - 1] if at <= len(words) else ""
            value, room = (value if room > 0 else ""), room - len(value)
            return value

        text = _PLACEHOLDER.sub(put, self.body).lstrip("\n").rstrip()
        return text if used or not argument else f"{text}\n\nARGUMENTS: {argument}"


@dataclass(frozen=True, slots=True)
class Commands:
    """All there are, by name, and what is wrong with files that are none."""

    all: tuple[Command, ...] = ()
    problems: tuple[ConfigError, ...] = ()

    def find(self, name: str) -> Command | None:
        return next((one for one in self.all if one.name == name), None)


def commands(places: Places, accepted: Iterable[Offered] = ()) -> Commands:
    """The commands that can be typed at `places`. Reads the user's files; never raises for what they hold.

    `accepted`: the project's files, as a person has accepted them.
    """
    found: dict[str, Command] = {}
    problems: list[ConfigError] = []
    projects = sorted(accepted, key=lambda file: "/.hermes/" in str(file.path))  # our own folder before the fallback
    sources: tuple[tuple[Place, Iterable[tuple[Path, bytes]]], ...] = (
        ("project", ((file.path, file.data) for file in projects)),
        ("yours", _files(places.data_home / FOLDER, places.home, problems)),
        ("hermes", _files(places.hermes_home / FOLDER, places.home, problems)),
        ("built-in", _shipped()),
    )
    for place, files in sources:
        for path, data in files:
            name = command_name(path)
            shown = _short(path, places.home) if place != "built-in" else ""
            if not _NAME.match(name) or len(name) > limits.COMMAND_NAME:
                why = "its name cannot be typed. Letters, digits, . _ and - can"
                problems.append(_unusable("command_name", shown, why))
            elif name not in found and (one := _command(name, data, shown, place)).body.strip():
                found[name] = one
            elif name not in found:
                problems.append(_unusable("command_empty", shown, "it holds no text"))
    return Commands(tuple(found[name] for name in sorted(found)), tuple(problems))


def _command(name: str, data: bytes, shown: str, place: Place) -> Command:
    description, hint, body = _taken_apart(data)
    return Command(name, description, hint, body, shown, place)


@lru_cache(maxsize=limits.COMMANDS)
def _taken_apart(data: bytes) -> tuple[str, str, str]:
    """Description, hint and body. A file is looked at each time the list is wanted, and taken apart once."""
    document = parse(clean(data.decode("utf-8", "replace")))
    said, hint = document.meta.get("description"), document.meta.get("argument-hint")
    if isinstance(hint, list):  # [file] is a list in YAML
        hint = " ".join(f"[{word}]" for word in hint)
    description = said if isinstance(said, str) and said.strip() else first_line(document.body)
    return _line(description), _line(hint if isinstance(hint, str) else ""), document.body


def _line(text: str) -> str:
    return printable(" ".join(text.split()))[: limits.COMMAND_WORDS]


def _files(folder: Path, home: Path, problems: list[ConfigError]) -> Iterator[tuple[Path, bytes]]:
    """The user's own files below `folder`, those in it before those of its folders; links are followed to files."""
    names = sorted(islice(_names(folder), limits.COMMANDS + 1), key=lambda path: (len(path.parts), str(path)))
    if len(names) > limits.COMMANDS:
        shown, most = _short(folder, home), limits.COMMANDS
        text = f"{shown} holds more than {most} files; the rest of them are no commands."
        problems.append(ConfigError("command_many", text, path=shown, most=most))
    for path in names[: limits.COMMANDS]:
        try:
            data = read_regular(path, limits.COMMAND_FILE)
        except OSError as error:
            why = error.strerror or str(error)
            problems.append(
                _unusable("command_unreadable", _short(path, home), f"it cannot be read ({why})", reason=why)
            )
            continue
        if data is not None and len(data) > limits.COMMAND_FILE:
            kb = limits.COMMAND_FILE // limits.KB
            problems.append(_unusable("command_large", _short(path, home), f"it is larger than {kb} KB", kb=kb))
        elif data is not None:
            yield path, data


def _names(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = [] if depth + 1 >= limits.COMMAND_DEPTH else sorted(f for f in folders if not f.startswith("."))
        yield from (Path(place, name) for name in files if name.endswith(".md") and not name.startswith("."))


@lru_cache(maxsize=1)
def _shipped() -> tuple[tuple[Path, bytes], ...]:
    folder = resources.files("agent_core").joinpath(FOLDER)
    return tuple((Path(FOLDER, file.name), file.read_bytes()) for file in folder.iterdir() if file.name.endswith(".md"))


def _words(argument: str) -> list[str]:
    """The words of an argument: what is in quotes is one."""
    try:
        return shlex.split(argument)
    except ValueError:  # an apostrophe
        return argument.split()


def _unusable(code: str, path: str, why: str, **params: object) -> ConfigError:
    return ConfigError(code, f"{path} is no command: {why}.", path=path, **params)


def _short(path: Path, home: Path) -> str:
    return printable(f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path))
