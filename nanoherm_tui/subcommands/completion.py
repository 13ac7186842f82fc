"""`nanoherm-tui completion bash|zsh|fish`: what a shell needs to complete the program's flags, commands and values.

Made from the parsers themselves, so that it knows what they know. Values that change (sessions, profiles) are asked of
the program when Tab is pressed: `nanoherm-tui completion --values sessions`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from agent_core import limits, names
from agent_core.errors import AgentError
from agent_core.records import dataclass
from agent_core.text.printable import printable
from nanoherm_tui import subcommands

if TYPE_CHECKING:
    from agent_core.config.paths import Places

SHELLS: Final = ("bash", "zsh", "fish")
Kind = Literal["words", "files", "folders", "asked", "free"]
ASKED: Final = {
    "session": "sessions", "sessions": "sessions", "resume": "sessions", "profile": "profiles", "set": "settings",
    "model": "models", "fallback_model": "models", "key": "keys", "tool": "tools", "tools": "tools",
    "values": "choices", "server": "servers", "servers": "servers", "skill": "skills",
}  # fmt: skip
"""What is asked of the program itself, by the name that a parser gives an argument."""
_FILES: Final = frozenset({"FILE", "PATH"})


@dataclass(frozen=True, slots=True)
class Value:
    """What may stand behind an option, or as an argument."""

    kind: Kind
    words: tuple[str, ...] = ()
    """Those it may be; of "asked" what to ask for."""


@dataclass(frozen=True, slots=True)
class Option:
    flags: tuple[str, ...]
    help: str
    value: Value | None = None
    """None: it takes none."""
    optional: bool = False
    """The value may be left out."""


@dataclass(frozen=True, slots=True)
class Command:
    """The program, one of its commands, or one of theirs."""

    path: tuple[str, ...]
    """The words behind the program's name."""
    help: str
    options: tuple[Option, ...] = ()
    arguments: tuple[Value, ...] = ()
    """Those by place; the last one counts for all behind it."""
    commands: tuple[Command, ...] = field(default=())

    def all(self) -> Iterator[Command]:
        """It and all below it."""
        yield self
        for command in self.commands:
            yield from command.all()


# -- what the parsers know ----------------------------------------------------------------------------------------


def program() -> Command:
    """The whole command line, read from its parsers."""
    from nanoherm_tui.cli import parser as main_parser

    top = _read(main_parser(), (), "")
    below = [
        _read(import_module(f"{subcommands.__name__}.{name}").parser(), (name,), words)
        for name, words in subcommands.NAMES.items()
    ]
    return Command((), "", top.options, top.arguments, tuple(below))


def _read(parser: argparse.ArgumentParser, path: tuple[str, ...], words: str) -> Command:
    options, arguments, commands = [], [], []
    for action in parser._actions:  # there is no public way to ask a parser what it takes
        if action.help == argparse.SUPPRESS:
            continue
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands += [_read(sub, (*path, name), told.get(name, "")) for name, sub in action.choices.items()]
        elif action.option_strings:
            value = None if action.nargs == 0 else _value(action)
            options.append(Option(tuple(action.option_strings), _words(action), value, action.nargs == "?"))
        else:
            arguments.append(_value(action))
    return Command(path, words, tuple(options), tuple(arguments), tuple(commands))


def _words(action: argparse.Action) -> str:
    return " ".join((action.help or "").replace("%%", "%").split())


def _value(action: argparse.Action) -> Value:
    if action.choices is not None:
        return Value("words", tuple(str(choice) for choice in action.choices))
    if action.dest in ASKED:
        return Value("asked", (ASKED[action.dest],))
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    if metavar in _FILES or action.type is Path or action.dest == "file":
        return Value("files")
    return Value("folders" if metavar == "DIR" else "free")


# -- values that are asked for ------------------------------------------------------------------------------------


def values(kind: str, folder: Path, of: str = "") -> Iterator[tuple[str, str]]:
    """What can be completed now, with a remark. `of`: the word before, for "choices" a setting. Raises AgentError."""
    from agent_core.config.paths import PROFILES, find_places

    places = find_places(folder, os.environ)
    if kind == "sessions" and places.state_db.exists():
        from agent_core.store.sessions import Store

        with closing(Store.open(places.state_db)) as store:
            for row in store.list(limits.SESSIONS_COMPLETED):
                yield row.id[:8], row.title
    elif kind == "profiles":
        home = places.data_home.parent.parent if places.data_home.parent.name == PROFILES else places.data_home
        folders = home / PROFILES
        for name in sorted(os.listdir(folders)) if folders.is_dir() else ():
            yield name, ""
    elif kind == "settings":
        from agent_core.config.schema import KEYS

        for key in KEYS:
            yield f"{key.name}=", key.doc
    elif kind == "keys":
        from agent_core.config.schema import KEYS

        for key in KEYS:
            yield key.name, key.doc
    elif kind == "tools":
        from agent_core.toolsets import ALL_NAMES

        for name in ALL_NAMES:
            yield name, ""
    elif kind == "models":
        from agent_core.llm.providers import PRESETS

        for preset in PRESETS.values():
            if preset.default_model:
                yield f"{preset.name}/{preset.default_model}", preset.label
    elif kind == "choices":
        yield from ((word, "") for word in _choices(of, places))
    elif kind == "servers":
        from nanoherm_tui.subcommands.mcp import named

        yield from named(places)
    elif kind == "skills":
        from nanoherm_tui.subcommands.skills import named as skills_named

        yield from skills_named(places)


def _choices(name: str, places: Places) -> Iterator[str]:
    """What the setting called `name` takes; nothing where that is open."""
    from agent_core.config.schema import BY_PATH
    from nanoherm_tui.setting_values import THEME, choices

    key = BY_PATH.get(tuple(name.split(".")))
    if key is None:
        return
    if key.kind == "flag":
        yield from ("true", "false")
    elif key.name == THEME:
        from nanoherm_tui.theming.files import load_themes

        yield from choices(key, load_themes(places.themes_dir)[0])
    else:
        yield from filter(None, choices(key, ()))


def _print_values(kind: str, of: str) -> int:
    """Somebody waits with a finger on Tab: nothing else is loaded, and what fails offers nothing."""
    try:
        for word, remark in values(kind, Path.cwd(), of):
            if word == printable(word) and "\t" not in word:
                print(f"{word}\t{printable(' '.join(remark.split()))}")
    except (AgentError, OSError):
        return names.EXIT_FAILED
    return names.EXIT_OK


# -- the command line ---------------------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        f"{names.APP} completion",
        description='Completion for a shell, to be read by it. bash: put `eval "$(nanoherm-tui completion bash)"` '
        "into ~/.bashrc; zsh: the same with zsh, behind compinit, into ~/.zshrc; fish: "
        "`nanoherm-tui completion fish > ~/.config/fish/completions/nanoherm-tui.fish`.",
    )
    p.add_argument("shell", nargs="?", choices=SHELLS, help="the shell it is for")
    p.add_argument("--values", choices=sorted(set(ASKED.values())), help=argparse.SUPPRESS)
    p.add_argument("--of", default="", help=argparse.SUPPRESS)
    return p


def main(arguments: Sequence[str]) -> int:
    """Print the completion of a shell. Returns the exit code."""
    args = parser().parse_args(arguments)
    if args.values:
        return _print_values(args.values, args.of)
    if not args.shell:
        from nanoherm_tui.subcommands.common import say

        return say(f"which shell? {names.APP} completion {'|'.join(SHELLS)}", names.EXIT_USAGE)
    from nanoherm_tui.subcommands.completion_scripts import WRITERS

    sys.stdout.write(WRITERS[args.shell](program()))
    return names.EXIT_OK
