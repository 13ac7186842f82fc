"""Files of settings as data with line numbers. Whoever wrote them, reading them ends and is bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, cast

from agent_core import limits
from agent_core.errors import ConfigError
from agent_core.plain_files import read_regular
from agent_core.records import dataclass


class Mark(Protocol):
    """A place in a text; all three count from 0."""

    index: int
    line: int
    column: int


class Node(Protocol):
    """What is used of PyYAML's nodes; its stubs leave out `id`, and the library is loaded when a file is read."""

    id: str
    """scalar, sequence or mapping."""
    tag: str
    value: Any
    """A text, a list of nodes, or a list of (key, value) nodes."""
    start_mark: Mark
    end_mark: Mark
    flow_style: bool | None
    """Of a list or mapping: written with brackets."""
    style: str | None
    """Of a scalar: its quote, "|" or ">"."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A plain value with the text it was written as."""

    value: Any
    raw: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value` of a mapping. `key` is None when it is not a plain value."""

    key: str | None
    node: Node
    line: int
    """From 1."""


_NULL: Final = "tag:yaml.org,2002:null"


def read_text(path: Path) -> str | None:
    """The text of a settings file, None when there is none. Raises ConfigError naming the file and what to do."""
    try:
        data = read_regular(path, limits.CONFIG_FILE)
    except OSError as e:
        raise ConfigError("unreadable", f"{path} cannot be read: {e.strerror or e}.", file=str(path)) from e
    if data is None:
        return None
    return as_text(data, path)


def as_text(data: bytes, path: Path) -> str:
    """What was read of a settings file as text. Raises ConfigError as `read_text` does."""
    if len(data) > limits.CONFIG_FILE:
        raise ConfigError(
            "too_large", f"{path} is larger than {limits.CONFIG_FILE // limits.KB} KB. Make it smaller.", file=str(path)
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise ConfigError(
            "bad_encoding", f"{path}:{line}: this is not UTF-8. Save the file as UTF-8.", file=str(path), line=line
        ) from e


def compose(text: str) -> Node | None:
    """`text` as YAML nodes, None when it is empty. Raises yaml.YAMLError or RecursionError."""
    import yaml

    return cast("Node | None", yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


def parse(text: str, path: Path) -> Node | None:
    """The mapping that `text` holds, None when it is empty. Raises ConfigError naming file, line and column."""
    import yaml

    try:
        root = compose(text)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise ConfigError(
            "bad_yaml",
            f"{path}:{line}:{column}: {e.problem or 'this is not YAML'}. Correct it; until then the file is not used.",
            file=str(path),
            line=line,
        ) from e
    except (yaml.YAMLError, RecursionError) as e:
        reason = "it is nested too deep" if isinstance(e, RecursionError) else str(e).splitlines()[0]
        raise ConfigError("bad_yaml", f"{path} is not YAML: {reason}. Correct it.", file=str(path), line=1) from e
    if root is None or root.tag == _NULL:
        return None
    if root.id != "mapping":
        raise ConfigError(
            "bad_yaml", f"{path}:1: this should be a mapping, lines such as `display:`.", file=str(path), line=1
        )
    _bound(root, path)
    return root


def entries(node: Node) -> Iterator[Entry]:
    """The entries of a mapping, none of any other node; first those it merges (`<<`) and does not set itself."""
    if node.id != "mapping":
        return
    own: list[Entry] = []
    merged: list[Entry] = []
    for key, value in node.value:
        if key.tag == "tag:yaml.org,2002:merge":
            for other in value.value if value.id == "sequence" else (value,):
                merged += entries(other)
        else:
            own.append(Entry(key.value if key.id == "scalar" else None, value, key.start_mark.line + 1))
    names = {entry.key for entry in own}
    yield from (entry for entry in merged if entry.key not in names)
    yield from own


def scalar(node: Node) -> Scalar | None:
    """The plain value of a node, None for a list or mapping."""
    return Scalar(_value(node), node.value) if node.id == "scalar" else None


def plain(node: Node | None) -> Any:
    """A node as plain data: dicts with text keys, lists, texts, numbers, booleans, None."""
    if node is None:
        return None
    if node.id == "scalar":
        return _value(node)
    if node.id == "sequence":
        return [plain(item) for item in node.value]
    return {entry.key: plain(entry.node) for entry in entries(node) if entry.key is not None}


def line_of(node: Node, place: Sequence[str | int]) -> int:
    """The line, from 1, of what stands at `place` below `node`: keys, and indexes of lists. Of what is not there, that
    of the nearest around it."""
    line = node.start_mark.line + 1
    for part in place:
        if isinstance(part, int):
            below = node.value[part] if node.id == "sequence" and part < len(node.value) else None
            found = below.start_mark.line + 1 if below is not None else line
        else:
            entry = next((e for e in entries(node) if e.key == part), None)
            below, found = (entry.node, entry.line) if entry is not None else (None, line)
        if below is None:
            break
        node, line = below, found
    return line


def _value(node: Node) -> Any:
    """A scalar's value. Dates stay texts, and so does `22:22`, which YAML 1.1 takes for a number to the base of 60."""
    text: str = node.value
    kind = node.tag.rpartition(":")[2]
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind in ("int", "float") and ":" not in text:
        import yaml

        constructor = yaml.constructor.SafeConstructor()
        number = cast("yaml.ScalarNode", node)
        try:
            if kind == "float":
                return constructor.construct_yaml_float(number)
            whole = constructor.construct_yaml_int(number)
            return whole if abs(whole) <= limits.WHOLE else text  # in hexadecimal it may be one that nothing can print
        except ValueError:
            return text
    return text


def _bound(root: Node, path: Path) -> None:
    """Refuse what would grow without end when its aliases are followed."""
    left = limits.CONFIG_NODES
    stack = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        left -= 1
        if left < 0 or depth > limits.CONFIG_DEPTH:
            line = node.start_mark.line + 1
            raise ConfigError(
                "bad_yaml",
                f"{path}:{line}: too many values, or nested too deep. Take out aliases (*name).",
                file=str(path),
                line=line,
            )
        if node.id == "sequence":
            stack += [(item, depth + 1) for item in node.value]
        elif node.id == "mapping":
            stack += [(part, depth + 1) for pair in node.value for part in pair]
