"""snippets.yaml: texts that a person puts into a draft by a short name, with places to fill in.

A map of names to texts. `${1:word}` is a place with something in it, `$1` an empty one, `$0` where the caret is in the
end, `\\$` a dollar sign. A snippet is written into the draft, where it is seen before it is sent. A project's file
counts when a person has accepted exactly it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from agent_core import limits
from agent_core.config.paths import Places
from agent_core.errors import ConfigError
from agent_core.plain_files import read_regular
from agent_core.records import dataclass
from agent_core.text.printable import printable
from agent_core.trust import Offered

if TYPE_CHECKING:
    import yaml

FILE: Final = "snippets.yaml"
NAME: Final = re.compile(r"\w[\w.-]*\Z")
_SIGN: Final = re.compile(r"\\([$\\}])|\$(\d{1,2})|\$\{(\d{1,2})(?:(:)|\})")
_BRACE: Final = re.compile(r"\\.|(\})", re.DOTALL)
_ONE: Final = ("snippet_name", "snippet_no_text", "snippet_many")
"""What is wrong with single entries."""
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Snippet:
    """One text, as it stands in its file but for control characters."""

    name: str
    text: str
    place: Literal["project", "yours"]


@dataclass(frozen=True, slots=True)
class Snippets:
    """All there are, by name, and what is wrong with the files."""

    all: tuple[Snippet, ...] = ()
    problems: tuple[ConfigError, ...] = ()


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A snippet ready for a draft: its text, and its places in the order of the Tab key, in characters of the text."""

    text: str
    stops: tuple[tuple[int, int], ...]


def lay_out(text: str) -> LaidOut:
    """Take the places out of a snippet's text. The last is that of `$0`, else the text's end."""
    # Found once: to look for its brace from each place on would take minutes where none is closed.
    braces = [found.start() for found in _BRACE.finditer(text) if found[1]]
    made, at = "", 0
    stops: list[tuple[int, int, int]] = []
    for found in _SIGN.finditer(text):
        if found.start() < at:  # inside a place
            continue
        after, inside = found.end(), ""
        if found[4] is not None:
            brace = bisect_left(braces, after)
            if brace == len(braces):  # never closed: no place
                continue
            inside = re.sub(r"\\(.)", r"\1", text[after : braces[brace]], flags=re.DOTALL)
            after = braces[brace] + 1
        made += text[at : found.start()]
        at = after
        if found[1] is not None:
            made += found[1]
            continue
        stops.append((int(found[2] or found[3]), len(made), len(made) + len(inside)))
        made += inside
    made += text[at:]
    stops.sort(key=lambda stop: (stop[0] == 0, stop[0], stop[1]))
    if not stops or stops[-1][0] != 0:
        stops.append((0, len(made), len(made)))
    return LaidOut(made, tuple(stop[1:] for stop in stops))


def snippets(places: Places, accepted: Iterable[Offered] = ()) -> Snippets:
    """The snippets at `places`; the project's, where it has been `accepted`, before the user's own of the same name.

    Reads the user's file; never raises for what is in it.
    """
    found: dict[str, Snippet] = {}
    problems: list[ConfigError] = []
    for file in accepted:
        _read("project", file.data, file.name, found, problems)
    path = places.data_home / FILE
    try:
        data = read_regular(path, limits.SNIPPET_FILE)
    except OSError as error:
        problems.append(_wrong(_short(path, places.home), 1, "snippet_unreadable", str(error.strerror or error)))
        data = None
    if data is not None:
        _read("yours", data, _short(path, places.home), found, problems)
    return Snippets(tuple(found[name] for name in sorted(found)), tuple(problems))


def _read(
    place: Literal["project", "yours"],
    data: bytes,
    shown: str,
    found: dict[str, Snippet],
    problems: list[ConfigError],
) -> None:
    import yaml

    if len(data) > limits.SNIPPET_FILE:
        problems.append(_wrong(shown, 1, "snippet_large", f"it is larger than {limits.SNIPPET_FILE // limits.KB} KB"))
        return
    try:
        root = yaml.compose(data.decode("utf-8"), yaml.SafeLoader)
    except UnicodeDecodeError:
        problems.append(_wrong(shown, 1, "snippet_not_text", "it is no text in UTF-8"))
        return
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        why = printable(str(getattr(error, "problem", None) or "it is no YAML"))
        problems.append(_wrong(shown, mark.line + 1 if mark is not None else 1, "snippet_yaml", why))
        return
    if root is None:  # an empty file
        return
    if not isinstance(root, yaml.MappingNode):
        problems.append(_wrong(shown, _line(root), "snippet_no_map", "it is no map of names to texts"))
        return
    for key, value in root.value[: limits.SNIPPETS]:
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
        if not NAME.match(name) or len(name) > limits.COMMAND_NAME:
            why = f"{printable(name)!r} cannot be typed. Letters, digits, . _ and - can"
            problems.append(_wrong(shown, _line(key), "snippet_name", why, name=printable(name)))
        elif not isinstance(value, yaml.ScalarNode) or not value.value.strip():
            problems.append(_wrong(shown, _line(key), "snippet_no_text", f"{name} has no text", name=name))
        else:
            found.setdefault(name, Snippet(name, _CONTROL.sub("", value.value.removesuffix("\n")), place))
    if (more := len(root.value) - limits.SNIPPETS) > 0:
        problems.append(
            _wrong(
                shown, 1, "snippet_many", f"{more} entries beyond {limits.SNIPPETS} do not count", most=limits.SNIPPETS
            )
        )


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _wrong(path: str, line: int, code: str, why: str, **params: object) -> ConfigError:
    text = f"{path}:{line}: {why}. {'The rest of the file counts' if code in _ONE else 'It is not used'}."
    return ConfigError(code, text, path=path, line=line, reason=why, **params)


def _short(path: Path, home: Path) -> str:
    return printable(f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path))
