"""`nanoherm-tui config`: the settings with where each is from, changed line by line, and what is wrong in the files."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_core import names, trust
from agent_core.config import schema, settings
from agent_core.config.load import ConfigWarning, check_setting, load, parse_value, read_dotenv
from agent_core.config.paths import find_places
from agent_core.config.write import set_key
from agent_core.errors import ConfigError
from agent_core.grants_file import GrantsFile
from nanoherm_tui.setting_values import ENGINE, THEME, allowed, problem
from nanoherm_tui.subcommands.common import (
    add_command,
    add_json,
    ended,
    one_of,
    print_table,
    say,
    short_folder,
    tell,
    without_keys,
)
from nanoherm_tui.text import cut, one_line, visible, width, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_core.config.load import Config
    from agent_core.config.paths import Places
    from agent_core.config.settings import Setting

_UNUSED: Final = 8  # names of settings that are not used here, told one by one
_LEAST: Final = 16  # cells a value has in the narrowest terminal


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        f"{names.APP} config",
        description="The settings: what holds, where it is from, and changing it in your config.yaml. Only the lines "
        "of the setting change. docs/config.md says what each of them does.",
        epilog="exit codes: 0 done; 1 it could not be done, or check found something wrong; 2 no such setting, or a "
        "value that it does not take",
    )
    what = p.add_subparsers(dest="what", required=True, metavar="WHAT")
    listing = add_command(what, "list", "settings, their values, and where each is from")
    listing.add_argument("section", nargs="?", default="", metavar="SECTION", help="only those, as `display`")
    listing.add_argument("--changed", action="store_true", help="only those that are not at their default")
    add_json(listing)
    show = add_command(what, "show", "a setting: its value, where that is from, what it does and takes")
    show.add_argument("key", metavar="KEY")
    add_json(show)
    change = add_command(what, "set", "change a setting in your config.yaml")
    change.add_argument("key", metavar="KEY")
    change.add_argument("values", nargs="+", metavar="VALUE", help="of a list its entries, or all in [brackets]")
    unset = add_command(what, "unset", "take a setting out of your config.yaml")
    unset.add_argument("key", metavar="KEY")
    path = add_command(what, "path", "where your config.yaml is")
    path.add_argument("--all", action="store_true", help="all files that are read, the strongest last")
    check = add_command(what, "check", "what in the files does not count, by line")
    add_json(check)
    return p


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say. Returns the exit code."""
    args = parser().parse_args(arguments)
    places = find_places(Path.cwd(), os.environ)
    runs = {"list": _list, "show": _show, "set": _set, "unset": _set, "path": _path, "check": _check}
    return ended(lambda: _answered(lambda: runs[args.what](args, places)))


def _answered(run: Callable[[], int]) -> int:
    """The exit code of `run`; a name or a value that was typed wrong is a usage error."""
    try:
        return run()
    except ConfigError as error:
        if error.code not in ("unknown_key", "bad_value"):
            raise
        return say(error.text, names.EXIT_USAGE)


def in_force(places: Places) -> Config:
    """The settings as the program has them in this folder: a project's count as far as it is trusted."""
    standing = trust.look(places, GrantsFile(places.grants_file))
    return load(places, os.environ, {}, standing.config)


# -- looking ------------------------------------------------------------------------------------------------------


def _found(places: Places) -> list[Setting]:
    _, keys = without_keys(places)
    return list(settings.settings(in_force(places), keys))


def _told(one: Setting, places: Places) -> dict[str, Any]:
    key = one.key
    return {"key": key.name, "value": one.value, "default": key.default, "source": one.source, "line": one.line,
            "kind": key.kind, "allowed": allowed(key, places), "doc": key.doc}  # fmt: skip


def _list(args: argparse.Namespace, places: Places) -> int:
    found = _found(places)
    if args.section:
        under = f"{args.section}."
        found = [one for one in found if one.key.name == args.section or one.key.name.startswith(under)]
        if not found:
            near = schema.nearest((args.section,))
            hint = f" Did you mean {near}?" if near else ""
            return say(f"there are no settings under {args.section}.{hint}", names.EXIT_USAGE)
    if args.changed:
        found = [one for one in found if not one.is_default]
    if args.json:
        return tell([_told(one, places) for one in found])
    if not found:
        return say("every setting is at its default.")
    rows = [(one.key.name, visible(settings.in_words(one.value)), _origin(one, places)) for one in found]
    columns = shutil.get_terminal_size((0, 0)).columns if sys.stdout.isatty() else 0
    if columns:  # a long value must not push away where it is from
        names_, origins = (max(width(row[at]) for row in rows) for at in (0, 2))
        room = max(columns - names_ - origins - 4, _LEAST)
        rows = [(name, cut(value, room), origin) for name, value, origin in rows]
    print_table([("KEY", "VALUE", "FROM"), *rows])
    return names.EXIT_OK


def _origin(one: Setting, places: Places) -> str:
    """Where a value is from, as a person says it."""
    if not one.source.startswith("/"):
        return one.source
    place = short_folder(one.source, str(places.home))
    return f"{place}:{one.line}" if one.line else place


def _show(args: argparse.Namespace, places: Places) -> int:
    key, rest = _known(args.key)
    one = next(one for one in _found(places) if one.key is key)
    if rest:
        value: Any = one.value
        for part in rest:
            if not isinstance(value, dict) or part not in value:
                return say(f"{args.key} is not set.", names.EXIT_FAILED)
            value = value[part]
        at = settings.lines_of(Path(one.source)).get(args.key, 0) if one.source.startswith("/") else 0
        one = replace(one, value=value, line=at)
    if args.json:
        return tell(_told(one, places) | {"key": args.key})
    print(f"{args.key} = {visible(settings.in_words(one.value)) or '(not set)'}")
    lines = [f"from {_origin(one, places)}", key.doc, f"Takes {allowed(key, places)}."]
    if not one.is_default and not rest:
        lines.append(f"Default: {settings.in_words(key.default) or 'not set'}.")
    columns = shutil.get_terminal_size((0, 0)).columns if sys.stdout.isatty() else 0
    for line in lines:
        for piece in wrap(line, columns - 2) if columns > _LEAST else [line]:
            print(f"  {piece}")
    return names.EXIT_OK


def _path(args: argparse.Namespace, places: Places) -> int:
    if not args.all:
        print(places.config_file)
        return names.EXIT_OK
    rows = []
    for file in (*places.config_files, places.hermes_home / ".env", places.env_file):
        rows.append((str(file), "" if file.exists() else "not there"))
    print_table(rows)
    return names.EXIT_OK


# -- changing -----------------------------------------------------------------------------------------------------


def _known(name: str) -> tuple[schema.Key, tuple[str, ...]]:
    """The key, and where in its mapping the name points. Raises ConfigError "unknown_key", naming the nearest."""
    path = tuple(name.split("."))
    path = schema.ALIASES.get(path, path)
    key = schema.key_of(path)
    if key is None:
        check_setting(name, None)  # says what was meant
        raise AssertionError(name)
    return key, path[len(key.name.split(".")) :]


def _set(args: argparse.Namespace, places: Places) -> int:
    key, rest = _known(args.key)
    name = ".".join((key.name, *rest))
    value = None if args.what == "unset" else _value(key, rest, args.values)
    if words := problem(key, value, places):
        raise ConfigError("bad_value", one_line(visible(words)), key=key.name)
    set_key(places.config_file, name, value)
    file = short_folder(str(places.config_file), str(places.home))
    line = settings.lines_of(places.config_file).get(name, 0)
    if value is None:
        print(f"{file}: {name} is not set there any more.")
    else:
        _, keys = without_keys(places)
        told = value
        for part in reversed(rest):
            told = {part: told}
        told = settings.shown({key.name: told} if rest else told, keys)
        for part in (key.name, *rest) if rest else ():
            told = told[part]
        print(f"{file}:{line}: {name} = {visible(settings.in_words(told))}")
    if not rest:
        _say_what_holds(places, key, value)
    return names.EXIT_OK


def _value(key: schema.Key, rest: Sequence[str], texts: Sequence[str]) -> Any:
    """Raises ConfigError "bad_value"."""
    try:
        if rest:
            return parse_value(one_of(texts))
        return settings.typed(key, texts)
    except ValueError as error:
        raise ConfigError("bad_value", f"{error}", key=key.name) from None


def _say_what_holds(places: Places, key: schema.Key, value: Any) -> None:
    """Something stronger than the user's file may say otherwise: then what was written does not hold here."""
    now = next(one for one in _found(places) if one.key is key)
    if now.source in (str(places.config_file), "default"):
        return
    words = visible(one_line(settings.in_words(now.value)))
    say(f"here {key.name} is {words or 'not set'}, as {_origin(now, places)} says.")


# -- checking -----------------------------------------------------------------------------------------------------


def _no_such(config: Config, places: Places) -> list[ConfigWarning]:
    """Of what is in force, what names nothing that there is."""
    found = []
    for key in (schema.BY_PATH[tuple(name.split("."))] for name in (THEME, ENGINE)):
        if words := problem(key, config.get(key.name), places):
            file = config.sources[key.name]
            line = settings.lines_of(Path(file)).get(key.name, 0) if file.startswith("/") else 0
            place = f"{file}:{line}: " if line else ""
            found.append(ConfigWarning(file, line, key.name, "bad_value", f"{place}{one_line(words)}"))
    return found


def _of_servers(places: Places, standing: trust.Standing) -> list[ConfigWarning]:
    """Of the MCP servers that the config names, those that cannot be used, and keys that nobody knows."""
    from agent_core.extras.server_desk import sources
    from agent_core.mcp import config as mcp_config

    files = {str(file) for file in places.config_files}
    named = (source for source in sources(places, standing) if source.place in files)
    found = mcp_config.read(named, {**read_dotenv(places), **os.environ}, places.home)
    warnings = [
        ConfigWarning(
            wrong.params["file"], wrong.params.get("line", 0), wrong.params.get("key", ""), wrong.code, wrong.text
        )
        for wrong in found.problems
        if wrong.code != "bad_yaml"  # of a file whose lines are told already
    ]
    for server in found.servers:
        if server.problem and server.name not in found.held:
            file, _, line = server.place.rpartition(":")
            key = f"{mcp_config.CONFIG_KEY}.{server.name}"
            warnings.append(ConfigWarning(file, int(line), key, "mcp_entry", server.problem))
    return warnings


def _check(args: argparse.Namespace, places: Places) -> int:
    standing = trust.look(places, GrantsFile(places.grants_file))
    config = load(places, os.environ, {}, standing.config)
    warnings = [*config.warnings, *_no_such(config, places), *_of_servers(places, standing)]
    warnings.sort(key=lambda one: (one.file, one.line))
    code = names.EXIT_FAILED if warnings else names.EXIT_OK
    if args.json:
        fields = ("file", "line", "key", "code", "text")
        tell({"ok": not warnings, "problems": [
            {field: getattr(warning, field) for field in fields} for warning in warnings
        ], "unused": list(config.unused)})  # fmt: skip
        return code
    for warning in warnings:
        print(visible(warning.text))
    if config.unused:
        some = ", ".join(config.unused[:_UNUSED]) + (" and others" if len(config.unused) > _UNUSED else "")
        say(f"{len(config.unused)} settings of Hermes' are of no use here and do no harm: {some}.")
    read = [file for file in places.config_files if file.exists()]
    if not warnings:
        files = ", ".join(short_folder(str(file), str(places.home)) for file in read)
        print(f"Nothing is wrong in {files}." if files else "There is no config file; every setting is at its default.")
    return code
