"""The command line. A face is imported only when it is used: `--version` loads neither Textual nor httpx."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_core import names
from agent_core.version import __version__
from nanoherm_tui import subcommands

DESCRIPTION = "A full-screen terminal coding agent for any OpenAI-compatible model server."
EPILOG = f"""\
commands: {", ".join(f"{name} ({words})" for name, words in subcommands.NAMES.items())}

Without a provider the program looks for a local server (Ollama, LM Studio, llama.cpp, vLLM) and else starts a
scripted demo, which is not an AI. /setup inside the program connects a provider.

exit codes: 0 completed, 1 failed, 2 usage, 3 cap reached, 75 provider failed, try later, 78 configuration,
130 interrupted, 143 terminated
"""


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        names.APP, description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("prompt", nargs="?", help="the first message")
    p.add_argument("-p", "--print", action="store_true", dest="headless", help="no screen: one turn, text on stdout")
    p.add_argument("-c", "--continue", action="store_true", dest="latest", help="the newest session of this folder")
    p.add_argument(
        "-r",
        "--resume",
        metavar="ID",
        nargs="?",
        const="",
        help="a session by id, the start of one, or title; without: choose",
    )
    p.add_argument("-m", "--model", metavar="MODEL", help="model, or provider/model")
    p.add_argument("-C", dest="folder", metavar="DIR", help="work in DIR")
    p.add_argument("--mode", choices=names.MODES_WITHOUT_SANDBOX, help="what the agent may do (default: ask)")
    p.add_argument("--approval", choices=names.APPROVAL_POLICIES, help="when a person is asked (default: untrusted)")
    p.add_argument("--base-url", metavar="URL", help="the model server's address")
    p.add_argument("--max-turns", type=_count, metavar="N", help="model round trips in one turn, 0 = no cap")
    p.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a config key for this run")
    p.add_argument("--output-format", choices=("text", "json", "stream-json"), default="text", help="with -p")
    p.add_argument("--demo", action="store_true", help="the scripted demo, whatever is configured")
    p.add_argument("--debug", action="store_true", help="a detailed log in the home's logs folder")
    p.add_argument("--version", action="version", version=f"{names.APP} {__version__}")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program. Returns the exit code; argparse itself exits with 2 on a usage error."""
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in subcommands.NAMES:  # "-- sessions" is a message
        return subcommands.run(argv[0], argv[1:])
    p = parser()
    args = p.parse_args(argv)
    cwd = Path(args.folder or ".")
    if not cwd.is_dir():
        return _say(f"{cwd} is not a folder. Name an existing one with -C.", names.EXIT_USAGE)
    try:
        overrides = _overrides(args)
    except ValueError as error:
        return _say(str(error), names.EXIT_USAGE)
    if args.headless:
        return _headless(args, cwd.resolve(), overrides)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _say("no terminal here. Use -p for one turn without a screen.", names.EXIT_USAGE)
    return _screen(args, cwd.resolve(), overrides)


def _headless(args: argparse.Namespace, cwd: Path, overrides: Mapping[str, Any]) -> int:
    from agent_core import headless
    from agent_core.config.load import UNUSABLE
    from agent_core.errors import AgentError, ConfigError
    from agent_core.host import Host, Launch

    prompt = args.prompt or ""
    if not sys.stdin.isatty():
        piped = sys.stdin.read()
        prompt = f"{prompt}\n\n{piped}".strip() if piped.strip() else prompt
    if args.resume == "":
        return _say("-p -r needs a session: its id, the start of one, or its title.", names.EXIT_USAGE)
    if not prompt:
        return _say("-p needs a message: as the argument, or on standard input.", names.EXIT_USAGE)
    try:
        host = Host(Launch(cwd, os.environ, overrides, unattended=True, mode=args.mode, demo=args.demo))
    except AgentError as error:
        return _say(error.text, names.EXIT_CONFIG if isinstance(error, ConfigError) else names.EXIT_FAILED)
    try:
        for words in (*(warning.text for warning in host.config.warnings), *host.store.warnings):
            _say(words, 0)
        if any(warning.code in UNUSABLE for warning in host.config.warnings):
            # Nobody is there to see that another model answers than the one that was configured.
            return names.EXIT_CONFIG
        host.look_for_models()
        session = _chosen(host, args) or host.new()
        return headless.run(host, session, prompt, args.output_format)
    except AgentError as error:
        return _say(error.text, names.EXIT_FAILED)
    except OSError as error:
        return _say(f"the answer could not be written: {error.strerror}.", names.EXIT_FAILED)
    finally:
        host.close()


def _screen(args: argparse.Namespace, cwd: Path, overrides: Mapping[str, Any]) -> int:
    # Nothing that the start makes is garbage: looking through it would delay the first frame. The app enables it.
    gc.disable()
    from agent_core.config.load import load
    from agent_core.config.paths import find_places
    from agent_core.errors import ConfigError
    from nanoherm_tui.app import Start, run

    places = find_places(cwd, os.environ)
    try:
        config = load(places, os.environ, overrides)
    except ConfigError as error:
        return _say(error.text, names.EXIT_CONFIG)

    def open_host() -> Any:
        from agent_core.errors import AgentError
        from agent_core.host import Host, Launch

        host = Host(Launch(cwd, os.environ, overrides, mode=args.mode, demo=args.demo))
        try:
            return host, _chosen(host, args)
        except AgentError:
            host.close()
            raise

    return run(Start(places, config, open_host, args.prompt or "", choose=args.resume == ""))


def _chosen(host: Any, args: argparse.Namespace) -> Any:
    """The session named by -c or -r, or None for a new one. Raises StoreError."""
    if args.resume:
        return host.open(host.find(args.resume).id)
    if args.latest:
        row = host.latest()
        return host.open(row.id) if row is not None else None
    return None


def _overrides(args: argparse.Namespace) -> dict[str, Any]:
    """Config keys set by flags. Raises ValueError with words for the user."""
    from agent_core.config.load import parse_value

    out: dict[str, Any] = {}
    for item in args.set:
        key, sep, value = item.partition("=")
        if not sep:
            raise ValueError(f"--set {item}: write KEY=VALUE.")
        out[key.strip()] = parse_value(value)
    flags = {
        "model.default": args.model,
        "model.base_url": args.base_url,
        "agent.max_turns": args.max_turns,
        "approvals.policy": args.approval,
        "logging.level": "debug" if args.debug else None,
    }
    out.update({key: value for key, value in flags.items() if value is not None})
    return out


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return number


def _say(text: str, code: int) -> int:
    print(f"{names.APP}: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
