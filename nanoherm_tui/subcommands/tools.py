"""`nanoherm-tui tools`: the built-in tools as the model is told of them, and which of them sessions begin without."""

from __future__ import annotations

import argparse
import difflib
import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_core import names, toolsets
from agent_core.config.load import load
from agent_core.config.paths import find_places
from agent_core.config.write import set_key
from agent_core.desk import options
from agent_core.desk.tool_list import schema_of, tool_list
from agent_core.tools.builtin import builtin_tools
from agent_core.toolsets import SHOWN, in_order, is_of_servers, is_off, tools_named, tools_of
from nanoherm_tui.i18n import t
from nanoherm_tui.subcommands.common import add_command, add_json, ended, print_table, say, short_folder, tell
from nanoherm_tui.subcommands.config import in_force
from nanoherm_tui.text import cut, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_core.config.paths import Places
    from agent_core.desk.tool_list import ToolEntry

_KEY: Final = "agent.disabled_toolsets"
_WORDS: Final = 60  # cells of what a tool is for, in the list


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        f"{names.APP} tools",
        description=f"The built-in tools in their sets, what each costs a request, and which of them sessions begin "
        f"without ({_KEY}). `{names.APP} mcp test` lists those of MCP servers; /tools in the program is for one "
        "session.",
        epilog="exit codes: 0 done; 1 it could not be done; 2 there is no such tool or set",
    )
    what = p.add_subparsers(dest="what", required=True, metavar="WHAT")
    add_json(add_command(what, "list", "sets and tools: on or off, bytes and tokens in a request"))
    show = add_command(what, "show", "a tool as the model is told of it, or the tools of a set")
    show.add_argument("tool", metavar="NAME")
    add_json(show)
    change = add_command(what, "set", "begin sessions with tools or sets of them, or without")
    change.add_argument("tools", nargs="+", metavar="NAME")
    change.add_argument("state", choices=("on", "off"))
    return p


def main(arguments: Sequence[str]) -> int:
    """Do what the arguments say. Returns the exit code."""
    args = parser().parse_args(arguments)
    places = find_places(Path.cwd(), os.environ)
    runs = {"list": _list, "show": _show, "set": _set}
    return ended(lambda: runs[args.what](args, places))


def _entries() -> tuple[ToolEntry, ...]:
    return tool_list(builtin_tools(), os.environ.get("PATH", ""))


def _off(places: Places) -> frozenset[str]:
    return tools_named(options.tools_off(in_force(places)))


def _list(args: argparse.Namespace, places: Places) -> int:
    off, entries = _off(places), _entries()
    if args.json:
        return tell([_told(entry, off) for entry in entries])
    rows: list[tuple[str, ...]] = [("NAME", "STATE", "BYTES", "TOKENS", "WHAT FOR")]
    for one in SHOWN:
        members = [entry for entry in entries if entry.toolset == one.name]
        on = [entry for entry in members if not is_off(entry.name, one.name, off)]
        out = [name for name in one.tools if is_off(name, one.name, off)]
        state = "on" if not out else "partly" if len(out) < len(one.tools) else "off"
        rows.append((one.name, state, f"{sum(e.size for e in on):,}", f"{sum(e.tokens for e in on):,}", ""))
        for entry in members:
            state = "off" if is_off(entry.name, one.name, off) else "on"
            words = cut(one_line(entry.text), _WORDS)
            rows.append((f"  {entry.name}", state, f"{entry.size:,}", f"{entry.tokens:,}", words))
        for name in sorted(set(one.tools) - {entry.name for entry in members}, key=one.tools.index):
            state = "off" if is_off(name, one.name, off) else "on"
            rows.append((f"  {name}", state, "", "", cut(f"In some sessions: {t(f'tools.{name}')}", _WORDS)))
    print_table(rows, right=frozenset({2, 3}))
    if any(entry.problem == "no_git" for entry in entries):
        say("git is not installed: its tools cannot work here.")
    return names.EXIT_OK


def _told(entry: ToolEntry, off: frozenset[str]) -> dict[str, Any]:
    return asdict(entry) | {"on": not is_off(entry.name, entry.toolset, off)}


def _show(args: argparse.Namespace, places: Places) -> int:
    wanted = tools_named([args.tool])
    found = [entry for entry in _entries() if entry.name in wanted]
    off = _off(places)
    if not found and wanted and not any(is_of_servers(name) for name in wanted):
        return _show_of_sessions(in_order(wanted), off, as_json=args.json)
    if not found:
        return _unknown(args.tool)
    by_name = {tool.name: tool for tool in builtin_tools()}
    if args.json:
        return tell([_told(entry, off) | {"schema": json.loads(schema_of(by_name[entry.name]))} for entry in found])
    if len(found) > 1:
        rows = [
            (e.name, "off" if is_off(e.name, e.toolset, off) else "on", cut(one_line(e.text), _WORDS)) for e in found
        ]
        print_table(rows)
        return names.EXIT_OK
    entry = found[0]
    state = "off" if is_off(entry.name, entry.toolset, off) else "on"
    modes = f", offered in {', '.join(entry.modes)} only" if entry.modes else ""
    print(f"{entry.name}: of the set {entry.toolset}, {state}{modes}")
    print(f"{entry.size:,} bytes in a request, about {entry.tokens:,} tokens")
    print(json.dumps(json.loads(schema_of(by_name[entry.name])), ensure_ascii=False, indent=2))
    return names.EXIT_OK


def _show_of_sessions(tools: Sequence[str], off: frozenset[str], *, as_json: bool) -> int:
    """Tools that only sessions make: what they take depends on what is remembered, and on which skills there are."""
    sets = {tool: one.name for one in SHOWN for tool in one.tools}
    told = [{"name": name, "toolset": sets[name], "on": not is_off(name, sets[name], off)} for name in tools]
    if as_json:
        return tell(told)
    for one in told:
        state = "on" if one["on"] else "off"
        print(f"{one['name']}: of the set {one['toolset']}, {state}. {t('tools.' + str(one['name'])).capitalize()}.")
    return say("sessions have them where there is something for them; /tools in one tells their size.")


def _unknown(name: str) -> int:
    if is_of_servers(name):
        return say(f"{name}: {names.APP} mcp test tells the tools of MCP servers.", names.EXIT_USAGE)
    near = difflib.get_close_matches(name.strip().lower(), toolsets.ALL_NAMES, n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Sets: {', '.join(one.name for one in SHOWN)}."
    return say(f"there is no tool and no set of tools called {name}. {hint}", names.EXIT_USAGE)


def _set(args: argparse.Namespace, places: Places) -> int:
    for name in args.tools:
        if not tools_named([name]):
            return _unknown(name)
    # The user's own list, without what a project adds to it.
    alone = replace(places, project_dir=None, project_hermes_dir=None)
    now = load(alone, os.environ).get(_KEY)
    off = switched(now, args.tools, on=args.state == "on")
    set_key(places.config_file, _KEY, off or None)
    print(f"{short_folder(str(places.config_file), str(places.home))}: off are {', '.join(off) or 'none'}.")
    config = in_force(places)
    still = tools_named(args.tools) & tools_named(config.get(_KEY))
    if args.state == "on" and still:
        say(f"{', '.join(in_order(still))} stay off here: {config.sources[_KEY]} says so.")
    return names.EXIT_OK


def switched(now: Sequence[str], given: Sequence[str], *, on: bool) -> list[str]:
    """The list of what is off with `given` switched; a name of a set stays one as long as all of it is off."""
    tools = tools_named(given)
    if not on:
        kept = [name for name in now if not tools_named([name]) or tools_named([name]) - tools]
        plain = [name if is_of_servers(name) else name.strip().lower() for name in given]
        return list(dict.fromkeys([*kept, *(name for name in plain if tools_of(name) - tools_named(kept))]))
    left: list[str] = []
    for name in now:
        held = tools_named([name])
        if not held & tools:
            left.append(name)
            continue
        rest = held - tools
        for one in SHOWN:  # what is left of it, by sets where a whole one is
            left += [one.name] if set(one.tools) <= rest else in_order(rest & set(one.tools))
    return list(dict.fromkeys(left))
