"""`nanoherm-tui serve --web`: the program in windows of a browser on this machine."""

from __future__ import annotations

import argparse
import os
import socket
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from agent_core import names
from agent_core.errors import ConfigError
from nanoherm_tui import i18n
from nanoherm_tui.subcommands.common import ended, say

_LOOPBACK: Final = "127.0.0.1"
_NEEDED: Final = "textual_serve"
_PORTS: Final = 65535


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        f"{names.APP} serve",
        usage=f"{names.APP} serve --web [-h] [--host ADDRESS] [--port PORT] [--expose] [-C DIR] [the program's flags]",
        description="The program in a browser: each window or tab that opens the printed address is a run of its own, "
        "with the flags given here. Ctrl+C ends the server and its windows; sessions are kept.",
        allow_abbrev=False,
    )
    p.add_argument("--web", action="store_true", help="serve windows of a browser")
    p.add_argument("--host", default=_LOOPBACK, metavar="ADDRESS", help=f"listen there (default: {_LOOPBACK})")
    p.add_argument("--port", type=_port, default=0, metavar="PORT", help="listen on PORT (default: one that is free)")
    p.add_argument(
        "--expose",
        action="store_true",
        help="let --host be an address that other machines reach: whoever has the printed address types into this "
        "program, and nothing on the way is encrypted",
    )
    p.add_argument("-C", dest="folder", metavar="DIR", help="work in DIR")
    return p


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal says otherwise. Returns the exit code."""
    args, flags = parser().parse_known_args(arguments)
    return ended(lambda: _run(args, flags))


def _run(args: argparse.Namespace, flags: Sequence[str]) -> int:
    from nanoherm_tui import cli

    if not args.web:
        return say("serve needs --web: windows of a browser are all it serves.", names.EXIT_USAGE)
    given = cli.parser().parse_args(flags)  # what no window could start with is refused here
    if given.headless or given.prompt or given.images:
        return say("serve takes no message: it is typed in the window.", names.EXIT_USAGE)
    folder = Path(args.folder or ".")
    if not folder.is_dir():
        return say(f"{folder} is not a folder. Name an existing one with -C.", names.EXIT_USAGE)
    if find_spec(_NEEDED) is None:
        return say(
            f"serve --web needs the package textual-serve. Install it with: pip install '{names.APP}[web]'",
            names.EXIT_FAILED,
        )
    try:
        _use_language(folder)
    except ConfigError as error:
        return say(error.text, names.EXIT_CONFIG)
    return _serve(args, ("-C", str(folder.resolve()), *flags))


def _serve(args: argparse.Namespace, arguments: Sequence[str]) -> int:
    from nanoherm_tui.browser import door as doors
    from nanoherm_tui.browser import server

    if not (args.expose or doors.is_loopback(args.host)):
        return say(
            f"--host {args.host}: other machines would reach it. Whoever has the printed address types into this "
            "program, and nothing on the way is encrypted. --expose allows it; a tunnel (ssh -L) is safer.",
            names.EXIT_USAGE,
        )
    try:
        where = server.listen(args.host, args.port)
    except OSError as error:
        return say(
            f"{args.host} port {args.port}: {error.strerror or error}. Choose another with --port; without, a free one "
            "is taken.",
            names.EXIT_FAILED,
        )
    door = doors.new_door(args.host, socket.gethostname())
    port = where.getsockname()[1]

    def ready() -> None:
        if not doors.is_loopback(args.host):
            say("other machines reach this address, and nothing on the way is encrypted.")
        print(f"http://{doors.in_address(door.name)}:{port}/?token={door.token}")
        print("Open it in a browser. Ctrl+C ends the server and its windows; sessions are kept.", flush=True)

    server.serve(door, where, arguments, ready)
    return names.EXIT_OK


def _use_language(folder: Path) -> None:
    """Have the page speak the interface's language. Raises ConfigError."""
    from agent_core.config.load import load
    from agent_core.config.paths import find_places

    places = find_places(folder.resolve(), os.environ)
    i18n.set_language(load(places, os.environ, {}, None).get("display.language"))


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= _PORTS:
        raise argparse.ArgumentTypeError(f"must be 0 to {_PORTS}")
    return number
