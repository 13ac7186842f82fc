"""The command line. A face is imported only when it is used: `--version` loads neither Textual nor httpx."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_core import limits, names
from agent_core.records import dataclass
from agent_core.version import __version__
from nanoherm_tui import leaving, subcommands

if TYPE_CHECKING:
    from agent_core.config.load import ProjectFiles
    from agent_core.config.paths import Places
    from agent_core.desk.house import Launch
    from agent_core.messages import ImagePart

DESCRIPTION = "A full-screen terminal coding agent for any OpenAI-compatible model server."
_COMMANDS = "\n".join(f"  {name:<10} {words}" for name, words in subcommands.NAMES.items())
EPILOG = f"""\
commands:
{_COMMANDS}

Without a provider the program looks for a local server (Ollama, LM Studio, llama.cpp, vLLM) and else starts a
scripted demo, which is not an AI. /setup inside the program connects a provider.

exit codes: 0 completed, 1 failed, 2 usage, 3 cap reached, 75 provider failed or the session is in
use, try later, 78 configuration, 130 interrupted, 143 terminated
"""


OFF = "off"
"""What --sandbox also calls danger-full-access."""
YOLO = "--mode auto --approval never --sandbox danger-full-access"
THINKING = "medium"
"""The effort that --thinking asks for."""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """What can be typed stays in one piece."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        names.APP,
        usage=f"{names.APP} [options] [prompt]\n       {names.APP} [--profile NAME] COMMAND ...",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=_HelpFormatter,
    )
    p.add_argument("prompt", nargs="?", help="the first message")
    p.add_argument("--version", action="version", version=f"{names.APP} {__version__}")
    where = p.add_argument_group("where and which session")
    where.add_argument("-C", dest="folder", metavar="DIR", help="work in DIR")
    where.add_argument(
        "--add-dir", action="append", default=[], metavar="DIR", help="DIR may be written too; repeatable"
    )
    where.add_argument("-c", "--continue", action="store_true", dest="latest", help="the newest session of this folder")
    where.add_argument(
        "-r",
        "--resume",
        metavar="ID",
        nargs="?",
        const="",
        help="a session by id, the start of one, or title; without: choose",
    )
    where.add_argument("--profile", metavar="NAME", help="a home of its own: settings, keys, sessions, logs")
    p.add_argument(
        "-i",
        "--image",
        action="append",
        default=[],
        dest="images",
        metavar="FILE",
        help=f"an image for the first message; repeatable, at most {limits.IMAGES_A_TURN}",
    )
    may = p.add_argument_group("what it may do")
    may.add_argument("--mode", choices=names.MODES, metavar="MODE", help=f"{', '.join(names.MODES)} (default: ask)")
    may.add_argument(
        "--approval",
        choices=names.APPROVAL_POLICIES,
        metavar="WHEN",
        help=f"when a person is asked: {', '.join(names.APPROVAL_POLICIES)} (default: untrusted)",
    )
    may.add_argument(
        "--sandbox",
        choices=(*names.SANDBOX_MODES, OFF),
        metavar="HOW",
        help=f"what commands may write: {', '.join(names.SANDBOX_MODES)} or its short name, {OFF} "
        "(default: workspace-write)",
    )
    may.add_argument(
        "--yolo",
        action="store_true",
        help="ask nothing and confine nothing in this run: auto, never and danger-full-access; what is never "
        "run, and approvals.deny, still hold",
    )
    may.add_argument("--hooks", metavar="FILE", help="hooks of this run, beside the configured ones")
    may.add_argument("--subagents", metavar="FILE", help="sub-agents of this run, beside those that are defined")
    may.add_argument("--mcp", metavar="FILE", help="MCP servers of this run, beside the configured ones")
    model = p.add_argument_group("the model")
    model.add_argument("-m", "--model", metavar="MODEL", help="model, or provider/model")
    model.add_argument("--base-url", metavar="URL", help="the model server's address")
    model.add_argument("--api-key-env", metavar="NAME", help="the variable that holds its key")
    model.add_argument("--fallback-model", metavar="MODEL", help="stands in when the model fails")
    model.add_argument("--thinking", action="store_true", help=f"let it think first, with {THINKING} effort")
    model.add_argument("--no-stream", action="store_true", help="show replies when they are whole")
    model.add_argument("--max-retries", type=_count, metavar="N", help="further tries of a request that failed")
    model.add_argument("--retry-base-ms", type=_count, metavar="N", help="first wait between two tries")
    model.add_argument("--demo", action="store_true", help="the scripted demo, whatever is configured")
    turn = p.add_argument_group("without a screen, and for this run")
    turn.add_argument(
        "-p", "-q", "--print", action="store_true", dest="headless", help="no screen: one turn, text on stdout"
    )
    turn.add_argument(
        "--plain", action="store_true", help="line by line, nothing drawn: for screen readers and dumb terminals"
    )
    turn.add_argument(
        "--output-format",
        choices=("text", "json", "stream-json"),
        default="text",
        metavar="FORM",
        help="with -p: text, json or stream-json",
    )
    turn.add_argument(
        "--json",
        action="store_const",
        const="json",
        dest="output_format",
        help="with -p: the same as --output-format json",
    )
    turn.add_argument(
        "--max-turns",
        "--max-iterations",
        type=_count,
        metavar="N",
        help="model round trips in one turn, 0 = no cap",
    )
    turn.add_argument("--no-agents-md", action="store_true", help="leave AGENTS.md and its kin out")
    turn.add_argument("--no-memory", action="store_true", help="nothing is remembered, and nothing recalled")
    turn.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a config key for this run")
    turn.add_argument("--debug", action="store_true", help="a detailed log in the home's logs folder")
    return p


def program(argv: Sequence[str] | None = None) -> int:
    """`main` as a process of its own: given to sys.exit, its code is the end of all (leaving.py)."""
    return leaving.with_code(main(argv))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program. Returns the exit code; argparse itself exits with 2 on a usage error."""
    profile, rest = _profile_before_a_command(sys.argv[1:] if argv is None else argv)
    if rest and rest[0] in subcommands.NAMES:  # "-- sessions" is a message
        try:
            if new := _use_profile(profile):
                _tell_of_profile(new)
        except ValueError as error:
            return _say(str(error), names.EXIT_USAGE)
        return subcommands.run(rest[0], rest[1:])
    args = parser().parse_args(argv)
    cwd = Path(args.folder or ".")
    if not cwd.is_dir():
        return _say(f"{cwd} is not a folder. Name an existing one with -C.", names.EXIT_USAGE)
    try:
        overrides = _overrides(args)
        run = Run(
            cwd.resolve(),
            overrides,
            args.mode or ("auto" if args.yolo else None),
            tuple(_folder(given) for given in args.add_dir),
            _file("--hooks", args.hooks),
            args.yolo,
            _use_profile(args.profile),
            _file("--subagents", args.subagents),
            _file("--mcp", args.mcp),
        )
        if args.images:
            _check_images(args.images)
    except ValueError as error:
        return _say(str(error), names.EXIT_USAGE)
    if args.headless:
        return _headless(args, run)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if args.plain or (at_terminal and os.environ.get("TERM") == "dumb"):
        return _plain(args, run)
    if not at_terminal:
        return _say("no terminal here. Use -p for one turn without a screen, --plain for lines.", names.EXIT_USAGE)
    return _screen(args, run)


@dataclass(frozen=True, slots=True)
class Run:
    """What the flags say, checked."""

    cwd: Path
    overrides: Mapping[str, Any]
    mode: names.Mode | None
    add_dirs: tuple[Path, ...]
    hooks: Path | None
    yolo: bool
    new_profile: str
    """The profile that is used for the first time; empty: none."""
    subagents: Path | None
    servers: Path | None

    def launch(self, args: argparse.Namespace, *, unattended: bool = False) -> Launch:
        from agent_core.desk.house import Launch

        return Launch(
            self.cwd, os.environ, self.overrides, unattended, self.mode, self.yolo, args.demo,
            add_dirs=self.add_dirs, hooks_file=self.hooks, subagents_file=self.subagents,
            servers_file=self.servers,
        )  # fmt: skip


def _headless(args: argparse.Namespace, run: Run) -> int:
    from agent_core import headless
    from agent_core.config.load import UNUSABLE
    from agent_core.desk.host import Host
    from agent_core.errors import AgentError, ConfigError
    from agent_core.intents import SetMode

    prompt = args.prompt or ""
    if not sys.stdin.isatty():
        piped = sys.stdin.read()
        prompt = "\n\n".join(filter(None, (prompt, piped.strip("\n").rstrip())))
    if args.resume == "":
        return _say("-p -r needs a session: its id, the start of one, or its title.", names.EXIT_USAGE)
    try:
        pictures = [_picture(given) for given in args.images]
    except AgentError as error:
        return _say(error.text, names.EXIT_USAGE)
    if not (prompt.strip() or pictures):
        return _say("-p needs a message: as the argument, or on standard input.", names.EXIT_USAGE)
    try:
        host = Host(run.launch(args, unattended=True))
    except AgentError as error:
        return _say(error.text, names.EXIT_CONFIG if isinstance(error, ConfigError) else names.EXIT_FAILED)
    try:
        warnings, problems = host.warnings, host.hook_problems
        told = (*(w.text for w in warnings), *(p.text for p in problems), host.standing.line, *host.store.warnings)
        if run.new_profile:
            _tell_of_profile(run.new_profile)
        for words in told:
            if words:
                _say(words, 0)
        if problems or any(warning.code in UNUSABLE for warning in warnings):
            # Nobody is there to see that another model answers than the one that was configured, or a guard is gone.
            return names.EXIT_CONFIG
        host.model.settle()
        if run.mode is not None:
            host.walls.check_mode(run.mode)
        session = _chosen(host, args) or host.new()
        if session.workspace != host.places.workspace and (line := host.trusting.look(session.workspace).line):
            _say(line, 0)
        if prompt.startswith("/"):
            from nanoherm_tui.words.headless_prompt import refusal

            if words := refusal(prompt, host, session):
                return _say(words, names.EXIT_USAGE)
        if run.mode not in (None, session.mode):
            session.send(SetMode(run.mode, confirmed=True))  # who writes it on a command line means it
        return headless.run(host, session, prompt, args.output_format, pictures=pictures)
    except AgentError as error:
        return _say(error.text, names.EXIT_CONFIG if isinstance(error, ConfigError) else names.EXIT_FAILED)
    except OSError as error:
        return _say(f"the answer could not be written: {error.strerror}.", names.EXIT_FAILED)
    finally:
        host.close()


def _plain(args: argparse.Namespace, run: Run) -> int:
    from agent_core.desk.host import Host
    from agent_core.errors import AgentError, ConfigError
    from nanoherm_tui import i18n
    from nanoherm_tui.plain.face import run as run_face
    from nanoherm_tui.plain.greeting import Begin

    try:
        host = Host(run.launch(args))
    except AgentError as error:
        return _say(error.text, names.EXIT_CONFIG if isinstance(error, ConfigError) else names.EXIT_FAILED)
    try:
        i18n.set_language(host.config.get("display.language"))
        notes = [] if args.plain else [i18n.t("plain.dumb")]
        if run.new_profile:
            notes.append(i18n.t("app.new_profile", name=run.new_profile, home=str(host.places.data_home)))
        if not host.model.state.settled:
            print(i18n.t("welcome.looking"), flush=True)
        host.model.settle()
        if run.mode is not None:
            host.walls.check_mode(run.mode)
        session = _chosen(host, args) or host.new()
        images = tuple(os.path.abspath(os.path.expanduser(given)) for given in args.images)
        begin = Begin(args.prompt or "", images, args.resume == "", run.mode, tuple(notes))
        return run_face(host, session, begin)
    except AgentError as error:
        return _say(error.text, names.EXIT_CONFIG if isinstance(error, ConfigError) else names.EXIT_FAILED)
    finally:
        host.close()


def _screen(args: argparse.Namespace, run: Run) -> int:
    # Nothing that the start makes is garbage: looking through it would delay the first frame. The app enables it.
    gc.disable()
    from agent_core.config.load import load
    from agent_core.config.paths import find_places
    from agent_core.errors import ConfigError
    from nanoherm_tui.app import run as run_app
    from nanoherm_tui.opening import Start

    places = find_places(run.cwd, os.environ)
    try:
        config = load(places, os.environ, run.overrides, _of_the_project(places))
    except ConfigError as error:
        return _say(error.text, names.EXIT_CONFIG)

    def open_host() -> Any:
        from agent_core.desk.host import Host
        from agent_core.errors import AgentError

        host = Host(run.launch(args))
        try:
            return host, _chosen(host, args)
        except AgentError:
            host.close()
            raise

    return run_app(
        Start(
            places,
            config,
            open_host,
            args.prompt or "",
            images=tuple(os.path.abspath(os.path.expanduser(given)) for given in args.images),
            choose=args.resume == "",
            mode=run.mode,
            new_profile=run.new_profile,
            first=not places.data_home.exists(),
        )
    )


def _of_the_project(places: Places) -> ProjectFiles | None:
    """What the project's config files say, if it has any: only then the first frame waits for whether it is trusted."""
    if places.project_dir is None and places.project_hermes_dir is None:
        return None
    from agent_core import trust
    from agent_core.grants_file import GrantsFile

    return trust.look(places, GrantsFile(places.grants_file)).config


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
        "model.api_key_env": args.api_key_env,
        "fallback_model": args.fallback_model,
        "agent.reasoning_effort": THINKING if args.thinking else None,
        "agent.max_turns": args.max_turns,
        "retry.max_attempts": None if args.max_retries is None else args.max_retries + 1,
        "retry.base_ms": args.retry_base_ms,
        "stream.enabled": False if args.no_stream else None,
        "context_files.enabled": False if args.no_agents_md else None,
        "memory.enabled": False if args.no_memory else None,
        "approvals.policy": args.approval,
        "sandbox.mode": "danger-full-access" if args.sandbox == OFF else args.sandbox,
        "logging.level": "debug" if args.debug else None,
    }
    if args.yolo:
        others = {
            f"--mode {args.mode}": args.mode not in (None, *names.MODES_ALONE),
            "--approval": args.approval,
            "--sandbox": args.sandbox,
            **{f"--set {key}": key in out for key in ("approvals.policy", "approvals.mode", "sandbox.mode")},
        }
        if clash := next((flag for flag, given in others.items() if given), ""):
            raise ValueError(f"--yolo stands for {YOLO}: it does not go with {clash}. Leave one of them out.")
        flags |= {"approvals.policy": "never", "sandbox.mode": "danger-full-access"}
    out.update({key: value for key, value in flags.items() if value is not None})
    return out


def _profile_before_a_command(argv: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """The profile that stands before a command of the command line, and what follows it."""
    if len(argv) > 1 and argv[0] == "--profile":
        return argv[1], argv[2:]
    if argv and argv[0].startswith("--profile="):
        return argv[0].partition("=")[2], argv[1:]
    return None, argv


def _use_profile(name: str | None) -> str:
    """Make the profile's folder the home of this process and of what it starts. Raises ValueError.

    Gives its name when it is used for the first time, else "".
    """
    if name is None:
        return ""
    from agent_core.config.paths import profile_home

    home = profile_home(name, Path.cwd(), os.environ)
    os.environ["NANOHERMES_HOME"] = str(home)
    return "" if home.is_dir() else name


def _tell_of_profile(name: str) -> None:
    _say(f"the profile {name} is new. Its settings, keys and sessions are in {os.environ['NANOHERMES_HOME']}.", 0)


def _folder(given: str) -> Path:
    """A folder named by --add-dir. Raises ValueError."""
    folder = Path(given).expanduser().resolve()
    if not folder.is_dir():
        raise ValueError(f"--add-dir {given}: there is no such folder.")
    return folder


def _file(flag: str, given: str | None) -> Path | None:
    """The file that a flag names. Raises ValueError."""
    if given is None:
        return None
    file = Path(given).expanduser().resolve()
    if not file.is_file():
        raise ValueError(f"{flag} {given}: there is no such file.")
    return file


def _check_images(given: Sequence[str]) -> None:
    """Look at the images of -i before anything is started. Raises ValueError."""
    from agent_core.errors import AgentError
    from agent_core.images import kept as kept_images
    from agent_core.images import reader as images

    try:
        kept_images.at_most(given)
        for path in given:
            images.check(images.read(os.path.expanduser(path)), path)
    except AgentError as error:
        raise ValueError(f"-i: {error.text}") from error


def _picture(given: str) -> ImagePart:
    """The image of -i as a model is given it. Raises AgentError."""
    from agent_core.images import reader as images

    return images.fit(images.read(os.path.expanduser(given)), given).part


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return number


def _say(text: str, code: int) -> int:
    print(f"{names.APP}: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(program())
