"""`nanoherm-tui mcp`: the MCP servers in the config: list, add, remove, try, log in, log out."""

from __future__ import annotations

import argparse
import atexit
import os
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_core import names
from agent_core.cancel import CancelScope
from agent_core.config.paths import find_places
from agent_core.errors import AgentError, Interrupted
from agent_core.extras.server_desk import Ground, ServerDesk, set_server_key
from agent_core.grants_file import GrantsFile
from agent_core.process import families
from nanoherm_tui.subcommands.common import (
    add_command,
    add_json,
    ended,
    print_table,
    say,
    short_folder,
    tell,
    without_keys,
)
from nanoherm_tui.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_core.config.paths import Places
    from agent_core.doctor.check import Check
    from agent_core.mcp.managed import Managed
    from agent_core.sandbox.policy import SandboxPolicy
    from agent_core.servers import ServerRow

_STATES = {
    "off": "off",
    "untrusted": "this folder is not trusted",
    "invalid": "wrong",
    "idle": "",
}


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        f"{names.APP} mcp",
        description="The MCP servers that are configured: in config.yaml (mcp_servers), mcp.json, and a trusted "
        "project's .mcp.json.",
        epilog="exit codes: 0 done; 1 it could not be done, or with test a server could not be used; 2 usage",
    )
    what = p.add_subparsers(dest="what", required=True, metavar="WHAT")
    listing = add_command(what, "list", "the servers that are named here; none is started")
    add_json(listing)
    add = add_command(
        what, "add", "add a server to config.yaml: NAME -- COMMAND ARGUMENTS, or NAME --url URL",
        usage="%(prog)s NAME [--env NAME=VALUE] [--trust] -- COMMAND [ARGUMENT ...]\n       %(prog)s NAME --url URL "
        "[--header NAME=VALUE] [--type http|sse] [--trust]",
    )  # fmt: skip
    add.add_argument("name", metavar="NAME")
    add.add_argument("--url", help="a server on the network")
    add.add_argument("--type", choices=("http", "sse"), help="how it is spoken to, where the URL does not say")
    add.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of the program")
    add.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="a header of each request")
    add.add_argument("--trust", action="store_true", help="take its word for what only reads")
    add.add_argument("command", nargs="*", metavar="COMMAND")
    for name, words in (("remove", "take a server out of config.yaml"), ("logout", "forget the log-in at a server")):
        add_command(what, name, words).add_argument("server", metavar="NAME")
    test = add_command(what, "test", "start the servers, list their tools, end them")
    test.add_argument("servers", nargs="*", metavar="NAME", help="which (default: all that count)")
    add_json(test)
    add_command(what, "login", "log in at a server with OAuth").add_argument("server", metavar="NAME")
    return p


def main(arguments: Sequence[str]) -> int:
    """Do what is said. Returns the exit code."""
    given = list(arguments)
    rest: list[str] = []
    if "--" in given:  # whatever follows is the command's, its own options too
        at = given.index("--")
        given, rest = given[:at], given[at + 1 :]
    args = parser().parse_args(given)
    if args.what == "add":
        args.command = [*args.command, *rest]
    return ended(lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    places = find_places(Path.cwd(), os.environ)
    if args.what == "add":
        return _add(places, args)
    if args.what == "remove":
        return _remove(places, args.server)
    desk = _desk(places)
    try:
        if args.what == "list":
            return _list(desk, places, as_json=args.json)
        if args.what == "test":
            return _test(desk, places, args.servers, as_json=args.json)
        return _log(desk, places, args.server, out=args.what == "logout")
    except Interrupted:
        return names.EXIT_INTERRUPTED
    finally:
        desk.close()
        families.kill_all()


def _desk(places: Places) -> ServerDesk:
    """The servers as the program has them here."""
    from agent_core.config.load import read_dotenv
    from agent_core.trust import look

    hide, keys = without_keys(places)
    grants = GrantsFile(places.grants_file)
    return ServerDesk(
        Ground(
            places,
            os.environ,
            lambda workspace: (places, look(places, grants, hide)),
            lambda: read_dotenv(places),
            hide,
            lambda: tuple(keys),
            keys.extend,
            lambda workspace: _walls(places),
            unattended=True,
        )
    )


def named(places: Places) -> Iterator[tuple[str, str]]:
    """The names of all servers, each with how it is reached; none is started."""
    desk = _desk(places)
    try:
        yield from ((row.name, row.address) for row in desk.rows(places.workspace))
    finally:
        desk.close()


def _walls(places: Places) -> SandboxPolicy | None:
    """What stands around a server with `sandbox` here. Raises ConfigError, SandboxError."""
    from agent_core.config.load import load
    from agent_core.confinement import Confinement
    from agent_core.desk import options
    from agent_core.safety import hidden
    from agent_core.sandbox.policy import Box

    config = load(places, os.environ, {})
    roots = (places.workspace, *places.folders(config.get("sandbox.add_dirs")))
    patterns = hidden.deny_read_patterns(config.get("files.deny_read"), roots, places.home, places.data_home)
    walls = Confinement(
        places.workspace, places.home, places.data_home, lambda: hidden.hiding(patterns),
        options.walls(config, places), environ=os.environ,
    )  # fmt: skip
    atexit.register(walls.close)
    return walls.policy(Box("workspace-write"))


# -- list -----------------------------------------------------------------------------------------------------------


def _list(desk: ServerDesk, places: Places, *, as_json: bool) -> int:
    rows = desk.rows(places.workspace)
    if as_json:
        return tell([asdict(row) for row in rows])
    for problem in desk.problems(places.workspace):
        say(problem.text)
    if not rows:
        return say(f"no MCP servers. {names.APP} mcp add NAME -- COMMAND adds one.")
    print_table([_cells(row, places) for row in rows])
    for row in rows:
        if row.problem:
            say(row.problem)
    return names.EXIT_OK


def _cells(row: ServerRow, places: Places) -> tuple[str, ...]:
    tools = _tools(row.tools) if row.tools else ""
    facts = ", ".join(filter(None, (_STATES.get(row.state, row.state), "trusted" if row.trusted else "")))
    where = short_folder(row.place, str(places.home))
    return visible(row.name), row.transport, tools, facts, where, visible(row.address)


def _tools(count: int) -> str:
    return f"{count} tool{'' if count == 1 else 's'}"


# -- add, remove ----------------------------------------------------------------------------------------------------


def _add(places: Places, args: argparse.Namespace) -> int:
    if bool(args.command) == bool(args.url):
        return say("name a command behind --, or a --url, and not both.", names.EXIT_USAGE)
    entry: dict[str, Any] = {}
    try:
        if args.url:
            entry["url"] = args.url
            if args.type:
                entry["type"] = args.type
            if args.header:
                entry["headers"] = _pairs("--header", args.header)
        else:
            entry["command"] = args.command[0]
            if args.command[1:]:
                entry["args"] = args.command[1:]
            if args.env:
                entry["env"] = _pairs("--env", args.env)
    except ValueError as error:
        return say(str(error), names.EXIT_USAGE)
    if args.trust:
        entry["trust"] = True
    if args.name in _own(places):
        return say(f"{args.name} is there already. Remove it first: {names.APP} mcp remove {args.name}", 1)
    set_server_key(places.config_file, args.name, "", entry)
    desk = _desk(places)
    row = next((row for row in desk.rows(places.workspace) if row.name == args.name), None)
    desk.close()
    if row is not None and row.problem:
        return say(f"{args.name} is in {places.config_file}, and cannot be used yet. {row.problem}")
    return say(f"{args.name} is in {places.config_file}. Try it: {names.APP} mcp test {args.name}")


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Raises ValueError with words for a person."""
    for pair in given:
        if not pair.partition("=")[1] or not pair.partition("=")[0].strip():
            raise ValueError(f"{option} {pair}: write NAME=VALUE.")
    return {name.strip(): value for name, _, value in (pair.partition("=") for pair in given)}


def _own(places: Places) -> Mapping[str, Any]:
    """The entries of the user's config.yaml. Raises ConfigError."""
    from agent_core.config import reading
    from agent_core.mcp.config import CONFIG_KEY

    text = reading.read_text(places.config_file)
    data = reading.plain(reading.parse(text, places.config_file)) if text else None
    found = data.get(CONFIG_KEY) if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def _remove(places: Places, name: str) -> int:
    if name not in _own(places):
        return say(f"{places.config_file} names no MCP server {name}.", names.EXIT_FAILED)
    set_server_key(places.config_file, name, "", None)
    return say(f"{name} is no longer in {places.config_file}.")


# -- test -----------------------------------------------------------------------------------------------------------


def _test(desk: ServerDesk, places: Places, wanted: Sequence[str], *, as_json: bool) -> int:
    """Start each beside the others and tell what came of it, in the order of the config."""
    rows = {row.name: row for row in desk.rows(places.workspace)}
    if unknown := [name for name in wanted if name not in rows]:
        return say(f"there is no MCP server {unknown[0]}. There are: {', '.join(rows) or 'none'}.", names.EXIT_FAILED)
    running = {managed.config.name: managed for managed in desk.managed(places.workspace)}
    chosen = [name for name in rows if (name in wanted if wanted else name in running)]
    scope = CancelScope()
    signal.signal(signal.SIGINT, lambda *_: scope.cancel())
    began = time.monotonic()
    for name in chosen:
        if name in running:
            running[name].restart()
    found = [_tried(rows[name], running.get(name), scope, began) for name in chosen]
    if as_json:
        tell(found)
    else:
        for one in found:
            _print(one)
        if not found:
            say("no MCP servers to try.")
    return names.EXIT_OK if all(one["ok"] for one in found) else names.EXIT_FAILED


def _tried(row: ServerRow, managed: Managed | None, scope: CancelScope, began: float) -> dict[str, Any]:
    """What came of a start. Raises Interrupted."""
    if managed is None:
        why = row.problem or {"off": "It is switched off.", "untrusted": "This folder is not trusted."}[row.state]
        return {"name": row.name, "ok": False, "problem": why}
    ok = managed.wait(managed.config.startup_timeout + 5, scope)
    seconds = round(time.monotonic() - began, 2)
    if not ok:
        problem = managed.problem or "It did not start in time."
        return {"name": row.name, "ok": False, "problem": problem, "seconds": seconds, "noise": list(managed.noise())}
    known = managed.known
    assert known is not None
    return {
        "name": row.name,
        "ok": True,
        "server": " ".join(filter(None, (known.info.title or known.info.name, known.info.version))),
        "protocol": known.info.protocol,
        "seconds": seconds,
        "tools": [tool.name for tool in managed.tools or ()],
        "warnings": list(managed.warnings),
        "noise": list(managed.noise()),
    }


def connect(places: Places) -> Iterator[Check]:
    """Start every server that counts, for the doctor."""
    from agent_core.doctor.check import Check

    desk, scope, began = _desk(places), CancelScope(), time.monotonic()
    try:
        rows = {row.name: row for row in desk.rows(places.workspace)}
        running = desk.managed(places.workspace)
        for managed in running:
            managed.restart()
        for managed in running:
            one = _tried(rows[managed.config.name], managed, scope, began)
            if one["ok"]:
                text = f"{one['name']} answers: {_tools(len(one['tools']))}, {one['seconds']:.1f} s."
                yield Check("servers_connect", "MCP server", "ok", text)
            else:
                fix = f"{names.APP} mcp test {one['name']}"
                yield Check("servers_connect", "MCP server", "warn", one["problem"], fix)
    finally:
        desk.close()
        families.kill_all()


def _print(one: Mapping[str, Any]) -> None:
    name = visible(one["name"])
    if not one["ok"]:
        print(f"{name}: failed")
        print("\n".join(f"  {visible(line)}" for line in one["problem"].splitlines()))
        return
    tools = one["tools"]
    facts = f"{visible(one['server'])}, MCP {visible(one['protocol'])}, {_tools(len(tools))}, {one['seconds']:.2f} s"
    print(f"{name}: {facts}")
    if tools:
        print(f"  {', '.join(map(visible, tools))}")
    for warning in one["warnings"]:
        print(f"  ! {visible(warning)}")
    sys.stdout.flush()


# -- log in, log out ------------------------------------------------------------------------------------------------


def _log(desk: ServerDesk, places: Places, name: str, *, out: bool) -> int:
    scope = CancelScope()
    signal.signal(signal.SIGINT, lambda *_: scope.cancel())
    if out:
        had = desk.log_out(places.workspace, name, scope)
        return say(f"logged out of {name}." if had else f"there was no log-in at {name}.")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return say("a log-in needs a person at a terminal.", names.EXIT_FAILED)
    from agent_core.mcp.login import at_terminal, opener, typed

    browser = at_terminal(print, typed(sys.stdin), opener(os.environ))
    try:
        desk.log_in(places.workspace, name, browser, scope)
    except AgentError as error:
        return say(error.text, names.EXIT_FAILED)
    return say(f"logged in at {name}.")
