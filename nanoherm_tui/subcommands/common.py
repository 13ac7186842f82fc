"""What the commands without a screen share: words to the two outputs, tables by cells, the store, the ways they end."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from agent_core import limits, names
from agent_core.errors import GIVEN_BACK, AgentError
from agent_core.safety.redact import redact
from agent_core.store.sessions import Store
from nanoherm_tui.text import fit, visible, width

if TYPE_CHECKING:
    from agent_core.config.paths import Places

    _Commands = argparse._SubParsersAction[argparse.ArgumentParser]

GAP: Final = "  "  # between two columns
_SECRET_NAME: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)


def ended(run: Callable[[], int]) -> int:
    """The exit code of `run`, or of what it raises, which is told."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that is not UTF-8
    try:
        return run()
    except AgentError as error:
        return say(error.text, names.EXIT_RETRY_LATER if error.code in GIVEN_BACK else names.EXIT_FAILED)
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return names.EXIT_OK
    except OSError as error:
        return say(f"{error.filename or 'the output'}: {error.strerror or error}.", names.EXIT_FAILED)


def say(text: str, code: int = names.EXIT_OK) -> int:
    """Tell a person; returns `code`."""
    print(f"{names.APP}: {visible(text)}", file=sys.stderr)
    return code


def tell(value: Any) -> int:
    """JSON for a script."""
    print(json.dumps(value, ensure_ascii=False, indent=2))
    return names.EXIT_OK


def add_command(commands: _Commands, name: str, words: str, usage: str | None = None) -> argparse.ArgumentParser:
    """One of the commands of a command. What it does stands in the list of all, and as a sentence in its own help."""
    return commands.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.", usage=usage)


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="JSON, for scripts")


def positive(text: str) -> int:
    """A number of rows, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


def one_of(texts: Sequence[str]) -> str:
    """The only one. Raises ValueError when there are several."""
    if len(texts) != 1:
        raise ValueError("one value is taken, not several. Put it in quotes.")
    return texts[0]


def opened(places: Places) -> closing[Store]:
    """The home's store; what opening had to do is told. Raises StoreError."""
    store = Store.open(places.state_db)
    for words in store.warnings:
        say(words)
    return closing(store)


def without_keys(places: Places) -> tuple[Callable[[str], str], list[str]]:
    """Takes keys out of text: those that look like one, and what the environment and .env call one; and the latter."""
    from agent_core.config.dotenv import parse_env
    from agent_core.plain_files import read_regular

    written = read_regular(places.env_file, limits.CONFIG_FILE) or b""
    given: Mapping[str, str] = {
        name: value for name, (value, _) in parse_env(written.decode("utf-8", "replace"))[0].items()
    }
    keys = [value for found in (os.environ, given) for name, value in found.items() if _SECRET_NAME.search(name)]
    return lambda text: redact(text, keys), keys


def short_folder(path: str, home: str) -> str:
    """A folder as a person calls it."""
    return visible("~" + path[len(home) :] if path == home or path.startswith(home + "/") else path)


def day(seconds: float) -> str:
    """The time of today, the date of other days."""
    when = datetime.datetime.fromtimestamp(seconds)
    today = datetime.date.fromtimestamp(time.time())
    return when.strftime("%H:%M") if when.date() == today else when.strftime("%Y-%m-%d")


def print_table(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> None:
    """Print columns by cells, a gap between them; the last column is as long as it is."""
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell if column == len(row) - 1 and column not in right
            else fit(cell, widths[column], "right" if column in right else "left")
            for column, cell in enumerate(row)
        ]  # fmt: skip
        print(GAP.join(cells).rstrip())
