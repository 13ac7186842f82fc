"""What sub-agents there are: read from agents/*.md and from the file of --subagents. Source: SUB-01, SUB-05, GAP-24.

A definition that cannot be used is a problem with its file and the way out, never a reason to do without the others.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, Final

from agent_core import limits
from agent_core.config.paths import Places
from agent_core.errors import ConfigError
from agent_core.names import MCP_SET
from agent_core.plain_files import read_regular
from agent_core.records import dataclass
from agent_core.skills import frontmatter
from agent_core.text.ansi import clean
from agent_core.text.printable import printable
from agent_core.toolsets import tools_named
from agent_core.trust import Standing

_NAME: Final = re.compile(r"\w[\w.-]{0,63}")
_STEPS_MOST: Final = 1_000  # as delegation.max_iterations
_BOUNDS: Final = ("allowed_tools", "tools", "disallowed_tools", "max_iterations", "max_turns")
"""The keys that say what one may do, and how long: what is nearly one of these is not passed over."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One kind of sub-agent."""

    name: str
    description: str
    """What it is for: one line, for the model that chooses."""
    prompt: str
    model: str = ""
    """Empty: delegation.model, else the session's."""
    allowed_tools: frozenset[str] | None = None
    """Names of tools as they are offered; None: all that sub-agents may have."""
    max_steps: int | None = None
    """Model round trips; None: delegation.max_iterations."""
    denied_tools: frozenset[str] = frozenset()
    """What of those it may not have."""


@dataclass(frozen=True, slots=True)
class Found:
    """What some place holds."""

    definitions: tuple[Definition, ...] = ()
    problems: tuple[ConfigError, ...] = ()

    def __add__(self, later: Found) -> Found:
        """Both; of two with one name the later one counts."""
        by_name = {one.name: one for one in (*self.definitions, *later.definitions)}
        return Found(tuple(by_name.values()), (*self.problems, *later.problems))


NOTHING: Final = Found()


def counting(places: Places, standing: Standing, file: Path | None, *, with_shipped: bool) -> Found:
    """All that count in a workspace now; of two with one name the one that is named later here: those that come with
    the program, ~/.hermes/agents, ~/.nanohermes/agents, the trusted project's, those of `file`. Reads files."""
    found = shipped() if with_shipped else NOTHING
    found += in_folder(places.hermes_home / "agents") + in_folder(places.data_home / "agents")
    for offered in standing.accepted("agent"):  # the bytes that were shown
        try:
            found += Found((from_markdown(offered.data, offered.path),))
        except ConfigError as error:
            found += Found(problems=(error,))
    return found + in_file(file) if file is not None else found


def in_folder(folder: Path) -> Found:
    """The definitions of a folder's *.md files, by their names. Never raises for what is on disk."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in islice(entries, limits.FOLDERS_SCANNED) if e.name.endswith(".md"))
    except OSError:  # there is none
        return NOTHING
    found = NOTHING
    for name in names[: limits.AGENTS_DEFINED]:
        path = folder / name
        try:
            data = _read(path, limits.AGENT_FILE)
            found = _with(found, from_markdown(data, path), path)
        except ConfigError as error:
            found += Found(problems=(error,))
    return found


def _with(found: Found, one: Definition, path: Path) -> Found:
    """One more of the same place, which takes no other's name: it would take its bounds away. Raises ConfigError."""
    if any(other.name.casefold() == one.name.casefold() for other in found.definitions):
        raise _problem(path, f"the name {one.name} is there already. Choose another")
    return found + Found((one,))


def in_file(path: Path) -> Found:
    """The definitions of a JSON file, {"agents": [{"name", "description", "prompt", ...}]}. Never raises."""
    try:
        document = json.loads(_read(path, limits.CONFIG_FILE).decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return Found(problems=(_problem(path, "it is not JSON"),))
    except ConfigError as error:
        return Found(problems=(error,))
    entries = document.get("agents") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        return Found(problems=(_problem(path, 'it has no list "agents"'),))
    found = NOTHING
    for number, entry in enumerate(entries[: limits.AGENTS_DEFINED], 1):
        try:
            if not isinstance(entry, Mapping):
                raise _problem(path, f"agent {number} is not an object")
            found = _with(found, _definition(entry, str(entry.get("prompt") or ""), path, f"agent {number}"), path)
        except ConfigError as error:
            found += Found(problems=(error,))
    return found


def from_markdown(data: bytes, path: Path) -> Definition:
    """A definition: frontmatter with name, description, tools, model, max_iterations, and the prompt below it.

    Raises ConfigError.
    """
    if len(data) > limits.AGENT_FILE:
        raise _too_large(path, limits.AGENT_FILE)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise _problem(path, "it is not UTF-8") from None
    document = frontmatter.parse(text)
    if document.problems and not document.meta:  # what it may use stands there, and cannot be read
        wrong = document.problems[0]
        raise _problem(path, f"line {wrong.line}: {wrong.text.rstrip('.')}")
    return _definition({"name": path.stem, **document.meta}, document.body, path, "it")


def _definition(given: Mapping[str, Any], prompt: str, path: Path, which: str) -> Definition:
    entry = {re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", str(key)).lower(): value for key, value in given.items()}
    name, description = str(entry.get("name") or "").strip(), entry.get("description")
    if not _NAME.fullmatch(name):
        raise _problem(path, f"{which} needs a name of letters, digits, - and _")
    for key in entry.keys() - set(_BOUNDS):
        if near := get_close_matches(key[: limits.SUBJECT_CHARS], _BOUNDS, n=1, cutoff=0.8):
            raise _problem(path, f"{name} has {key}, which nobody knows. Did you mean {near[0]}?")
    prompt = clean(prompt).strip()
    if not prompt:
        raise _problem(path, f"{name} has no prompt")
    if len(prompt) > limits.AGENT_FILE:
        raise _problem(path, f"the prompt of {name} has more than {limits.AGENT_FILE:,} characters")
    words = " ".join(clean(description).split()) if isinstance(description, str) else ""
    return Definition(
        name,
        (words or frontmatter.first_line(prompt))[: limits.AGENT_DESCRIPTION],
        prompt,
        _model(entry.get("model")),
        _tools(entry.get("allowed_tools", entry.get("tools")), path, name),
        _steps(entry, path, name),
        _denied(entry.get("disallowed_tools"), path, name),
    )


def _model(given: object) -> str:
    """A model's name; what stands for the session's own in files of other programs is none."""
    name = given.strip() if isinstance(given, str) else ""
    return "" if name in ("inherit", "default") else name


def _tools(given: object, path: Path, name: str) -> frozenset[str] | None:
    """The tools that a list names; None without one, and where it names all."""
    if given is None:
        return None
    words: object = re.split(r"[,\s]+", given) if isinstance(given, str) else given
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise _problem(path, f"the tools of {name} are no list of names")
    named = [str(word).strip() for word in words if str(word).strip()]
    if "*" in named:
        return None
    if none := [word for word in named if not tools_named([word])]:  # those of servers are known in a session only
        raise _problem(
            path, f"{name} names tools that there are none of: {', '.join(none)}. /tools lists what there is"
        )
    return tools_named(named)


def _denied(given: object, path: Path, name: str) -> frozenset[str]:
    if given is None:
        return frozenset()
    denied = _tools(given, path, name)
    return tools_named(("all", MCP_SET)) if denied is None else denied  # "*"


def _steps(entry: Mapping[str, Any], path: Path, name: str) -> int | None:
    given = entry.get("max_iterations", entry.get("max_turns"))
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= _STEPS_MOST:
        raise _problem(path, f"max_iterations of {name} is no number from 1 to {_STEPS_MOST}")
    return given


def _read(path: Path, most: int) -> bytes:
    """Raises ConfigError."""
    try:
        data = read_regular(path, most)
    except OSError as error:
        raise _problem(path, f"it cannot be read ({error.strerror or error})") from None
    if data is None:
        raise _problem(path, "it is no regular file" if os.path.lexists(path) else "there is no such file")
    if len(data) > most:
        raise _too_large(path, most)
    return data


def _too_large(path: Path, most: int) -> ConfigError:
    return _problem(path, f"it is larger than {most // limits.KB} KB")


def _problem(path: Path, why: str) -> ConfigError:
    shown = printable(str(path))
    return ConfigError(
        "bad_agent", f"A sub-agent of {shown} cannot be used: {printable(why)}.", file=shown, why=printable(why)
    )


def chosen(definitions: Iterable[Definition], name: str) -> Definition | None:
    """The definition that a model means: by its name, however it is spelled; without one, the only one there is, or
    the one for anything ("worker")."""
    there = {one.name.casefold(): one for one in definitions}
    if name.strip():
        return there.get(name.strip().casefold())
    return next(iter(there.values())) if len(there) == 1 else there.get(ANYTHING)


ANYTHING: Final = "worker"
"""The name of a definition for any task."""


def shipped() -> Found:
    """The definitions that come with the program (delegation.builtin_agents)."""
    from importlib import resources

    found = NOTHING
    for name in ("explorer", ANYTHING):
        data = resources.files("agent_core").joinpath("prompts", f"agent_{name}.md").read_bytes()
        found += Found((from_markdown(data, Path(f"{name}.md")),))
    return found
