"""The settings as a person looks at them and changes them: each with its value, where that is from, and no secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from agent_core.config import reading, schema, tighten
from agent_core.config.load import Config, parse_value
from agent_core.config.schema import Key
from agent_core.errors import ConfigError
from agent_core.records import dataclass
from agent_core.safety.redact import MARK, redact

_SECRET: Final = re.compile(r"key|token|secret|passw|credential|authorization|cookie", re.IGNORECASE)
_NO_SECRET: Final = ("_env", "_url", "_path", "_headers", "_field")
"""Ends of names whose values say where a key is, or how one is sent."""
_CLOSED: Final = frozenset({"env", "headers"})
"""What stands in such a mapping is shown by its names alone: any of it may be a key."""
_REFERENCE: Final = re.compile(r"\$\{\w+\}|\$\w+")


@dataclass(frozen=True, slots=True)
class Setting:
    """A key and what holds for it."""

    key: Key
    value: Any
    """What may be shown of it: secrets are taken out."""
    source: str
    """"default", a file, "environment", "command line"."""
    line: int = 0
    """Of the file, from 1; 0: it stands in none."""

    @property
    def is_default(self) -> bool:
        return self.source == "default"

    @property
    def section(self) -> str:
        return self.key.name.partition(".")[0]


def settings(config: Config, secrets: Iterable[str] = ()) -> tuple[Setting, ...]:
    """Every setting in the order of the table. Reads the files again, for their lines.

    `secrets`: values that are known to be keys, to be shown nowhere.
    """
    hidden = tuple(secrets)
    lines: dict[str, Mapping[str, int]] = {}
    found = []
    for key in schema.KEYS:
        source = config.sources[key.name]
        if source.startswith("/") and source not in lines:
            lines[source] = lines_of(Path(source))
        line = lines.get(source, {}).get(key.name, 0)
        found.append(Setting(key, shown(config.values[key.name], hidden), source, line))
    return tuple(found)


def lines_of(file: Path) -> dict[str, int]:
    """The line of each key that `file` sets, by its dotted name; of one that is set twice the one that counts.

    Nothing for a file that is not there or cannot be understood.
    """
    try:
        text = reading.read_text(file)
        root = reading.parse(text, file) if text is not None else None
    except ConfigError:
        return {}
    return dict(_lines(root, ())) if root is not None else {}


def _lines(node: reading.Node, above: schema.Path) -> Iterator[tuple[str, int]]:
    for entry in reading.entries(node):
        if entry.key is None:
            continue
        path: schema.Path = (*above, entry.key)
        is_mapping = entry.node.id == "mapping"
        if path in schema.ALIASES and not (path in schema.SECTIONS and is_mapping):
            path = schema.ALIASES[path]
        yield schema.dotted(path), entry.line
        if is_mapping and (path in schema.SECTIONS or schema.key_of(path) is not None):
            yield from _lines(entry.node, path)


# -- what is shown ------------------------------------------------------------------------------------------------


def shown(value: Any, secrets: Sequence[str] = ()) -> Any:
    """`value` without secrets: those that look like one, `secrets`, and what stands under a name of one."""
    return _shown(value, tuple(secrets), "")


def _shown(value: Any, secrets: tuple[str, ...], name: str) -> Any:
    if isinstance(value, Mapping):
        closed = name.lower() in _CLOSED
        return {
            key: _covered(inner) if closed or _is_secret(str(key)) else _shown(inner, secrets, str(key))
            for key, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        out = []
        for at, inner in enumerate(value):
            option = value[at - 1] if at and isinstance(value[at - 1], str) else ""
            behind = option.startswith("-") and "=" not in option and _is_secret(option)
            out.append(_covered(inner) if behind else _shown(inner, secrets, name))
        return out
    return redact(value, secrets) if isinstance(value, str) else value


def _is_secret(name: str) -> bool:
    return _SECRET.search(name) is not None and not name.lower().endswith(_NO_SECRET)


def _covered(value: Any) -> Any:
    """Texts below here are covered, but for names of variables that hold them."""
    if isinstance(value, Mapping):
        return {key: _covered(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_covered(inner) for inner in value]
    if isinstance(value, str):
        return value if not value or _REFERENCE.fullmatch(value) else MARK
    return value


def in_words(value: Any) -> str:
    """`value` in one line, as it can be typed: `true`, `20`, `[a, b]`, `""` for an empty text; "" where none is set."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, str):
        return value if value else '""'
    if isinstance(value, int):
        return str(value)
    import yaml

    text: str = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=2**31, sort_keys=False)
    return text.rstrip("\n").replace("\n", " ")


def typed(key: Key, texts: Sequence[str]) -> Any:
    """What `texts`, typed for `key`, stand for: of a list each is an entry, unless brackets say it all.

    Raises ValueError saying what is wrong with them.
    """
    if key.kind in ("texts", "list") and not (len(texts) == 1 and texts[0].strip()[:1] in ("[", "")):
        return [text.strip() for text in texts] if key.kind == "texts" else [parse_value(text) for text in texts]
    if len(texts) != 1:
        raise ValueError(f"{key.name} takes one value: {key.allowed}")
    text = texts[0]
    if key.kind in ("texts", "list") and not text.strip():
        return []
    if key.kind in ("text", "names", "model") and text.strip() in ('""', "''"):
        return ""
    return text if key.kind == "text" else parse_value(text)


def loosens(key: Key, value: Any, current: Any) -> bool:
    """Whether `value` allows more than `current` does where the key guards the user, as far as that can be known."""
    if key.danger != "tighten" or value == current:
        return False
    may, held = tighten.tightened(key, value, current)
    return not may or (held != value and (not isinstance(value, list) or set(held) != set(value)))
