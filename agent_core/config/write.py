"""Change one setting in a file: only that key's lines alter; comments, order and unknown keys stay as they are.

The edit is made in the text, at the places the YAML parser gives, and then checked: if the new text does not hold
exactly the old data with the one change, nothing is written.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from agent_core.config import reading, schema
from agent_core.config.load import check_setting
from agent_core.config.reading import Node
from agent_core.errors import ConfigError
from agent_core.plain_files import atomic_write


def set_key(file: Path, key: str, value: Any) -> None:
    """Set the dotted `key` in `file` to `value`; None takes the key out. Makes the file (mode 0600) if there is none.

    Raises ConfigError: "unknown_key", "bad_value", a file that is not YAML (naming the line), one that cannot be
    written, or "cannot_edit" where the key's place is too intricate (aliases) to be changed safely.
    """
    path = tuple(key.split("."))
    value = check_setting(key, value) if value is not None else None
    if value is None and schema.key_of(path) is None:
        check_setting(key, value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 20 is what people write
    target = file.resolve()  # a link to a dotfiles folder stays a link
    old = reading.read_text(target) or ""
    root = reading.parse(old, file)
    new = _changed(old, root, path, value, file)
    if new != old:
        _check(new, root, path, value, file)
        _replace(target, new)


def _changed(text: str, root: Node | None, path: schema.Path, value: Any, file: Path) -> str:
    """`text` with the key at `path` set to `value`."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if root is None:
        return text if value is None else _insert(text, len(text), _lines(path, value, 0, newline), newline)
    if root.flow_style:
        raise _cannot_edit(file, root, path)
    node = root
    chain: list[tuple[Node, Node, Node]] = []  # key, value, the mapping they are in
    while True:
        depth = len(chain)
        pair = next((p for p in reversed(node.value) if p[0].id == "scalar" and p[0].value == path[depth]), None)
        if pair is None:
            if value is None:
                return text
            indent = node.value[0][0].start_mark.column
            return _insert(text, _end(node, text), _lines(path[depth:], value, indent, newline), newline)
        chain.append((*pair, node))
        found = pair[1]
        rest = path[depth + 1 :]
        if not rest:
            break
        if found.id == "mapping" and not found.flow_style and found.value:
            node = found
            continue
        # Something else where a section is due: `model: name`, `display:` with nothing below it, `providers: {a: {}}`.
        if value is None and found.id != "mapping":
            return text
        return _replace_value(text, pair[0], found, *_section(path, depth + 1, found, rest, value), newline, file)
    if value is not None:
        return _replace_value(text, pair[0], pair[1], value, (), newline, file)
    while len(chain) > 1 and len(chain[-1][2].value) == 1:  # the last key of a section takes the section with it
        chain.pop()
    return _without(text, chain[-1][0], chain[-1][1])


def _section(path: schema.Path, depth: int, found: Node, rest: schema.Path, value: Any) -> tuple[Any, tuple[str, ...]]:
    """What to put in place of `found` so that it holds `rest`: (new value, ()) or (value, keys to nest it in)."""
    old = reading.plain(found)
    if old is None:
        return value, rest
    alias = schema.ALIASES.get(path[:depth])
    if not isinstance(old, dict):
        old = {alias[-1]: old} if alias is not None else {}
    return _with(old, rest, value), ()


def _replace_value(
    text: str, key: Node, found: Node, value: Any, nest: tuple[str, ...], newline: str, file: Path
) -> str:
    start, end = found.start_mark.index, _end(found, text)
    if start < key.end_mark.index:  # an alias: its value stands elsewhere
        raise _cannot_edit(file, key, (key.value,))
    if nest:
        line_end = _line_end(text, max(end, key.end_mark.index))
        return _insert(text, line_end, _lines(nest, value, key.start_mark.column + 2, newline), newline)
    gap = "" if start > key.end_mark.index + 1 else " "
    if start == end:  # `key:` with nothing after it
        start = end = text.index(":", key.end_mark.index) + 1
        gap = " "
    elif "\n" in text[key.end_mark.index : start]:  # the old value began on a line of its own
        start, gap = text.index(":", key.end_mark.index) + 1, " "
    return text[:start] + gap + _yaml(value) + text[end:]


def _without(text: str, key: Node, found: Node) -> str:
    """`text` without the lines of an entry."""
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    end = _line_end(text, max(_end(found, text), key.end_mark.index))
    return text[:start] + text[end + 1 :]


def _insert(text: str, at: int, lines: str, newline: str) -> str:
    """`text` with `lines` after the line that `at` is in."""
    end = _line_end(text, at)
    if end == len(text):
        gap = newline if text and not text.endswith("\n") else ""
        return text + gap + lines
    return text[: end + 1] + lines + text[end + 1 :]


def _line_end(text: str, at: int) -> int:
    """The index of the line end at or after `at`; the text's length when there is none."""
    if at and text[at - 1 : at] == "\n":
        return at - 1
    found = text.find("\n", at)
    return len(text) if found < 0 else found


def _end(node: Node, text: str) -> int:
    """Where the content of `node` ends; the marks of block nodes lie behind the blank lines and comments after them."""
    if node.id == "scalar":
        end = node.end_mark.index
        if node.style in ("|", ">"):
            end = node.start_mark.index + len(text[node.start_mark.index : end].rstrip())
        return end
    if node.flow_style or not node.value:
        return node.end_mark.index
    if node.id == "sequence":
        return _end(node.value[-1], text)
    key, value = node.value[-1]
    after_colon: int = key.end_mark.index + 1
    return max(after_colon, _end(value, text))


def _lines(path: schema.Path, value: Any, indent: int, newline: str) -> str:
    """The lines of a new entry, its sections around it."""
    heads = [f"{' ' * (indent + 2 * n)}{_yaml(part)}:" for n, part in enumerate(path)]
    return newline.join(heads) + f" {_yaml(value)}{newline}"


def _yaml(value: Any) -> str:
    """`value` in one line of YAML."""
    import yaml

    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=2**31, sort_keys=False)
    return text.removesuffix("...\n").rstrip("\n").replace("\n", " ")


def _with(data: dict[str, Any], path: schema.Path, value: Any) -> dict[str, Any]:
    """A copy of `data` with the key at `path` set, or taken out for None."""
    out = copy.deepcopy(data)
    here = out
    for part in path[:-1]:
        if not isinstance(here.get(part), dict):
            here[part] = {}
        here = here[part]
    if value is None:
        here.pop(path[-1], None)
    else:
        here[path[-1]] = value
    return out


def _check(new: str, root: Node | None, path: schema.Path, value: Any, file: Path) -> None:
    """Raise ConfigError unless `new` holds what `root` did with the one change."""
    old = reading.plain(root) if root is not None else {}
    for n in range(1, len(path)):
        alias = schema.ALIASES.get(path[:n])
        if alias is not None and not isinstance(old.get(path[0], {}), dict):
            old = _with(old, alias, old[path[0]]) if old[path[0]] is not None else old
    wanted = _pruned(_with(old, path, value))
    try:
        again = reading.parse(new, file)
    except ConfigError:
        again = None
    held = _pruned(reading.plain(again)) if again is not None else {}
    if held != wanted:
        raise _cannot_edit(file, root, path)


def _pruned(value: Any) -> Any:
    """`value` without empty sections: whether one is left behind makes no difference."""
    if isinstance(value, dict):
        return {k: p for k, v in value.items() if (p := _pruned(v)) not in (None, {})}
    return value


def _cannot_edit(file: Path, node: Node | None, path: schema.Path) -> ConfigError:
    line = node.start_mark.line + 1 if node is not None else 1
    return ConfigError(
        "cannot_edit",
        f"{file}:{line}: {schema.dotted(path)} cannot be changed here without touching other lines. "
        "Change it in an editor.",
        file=str(file),
        line=line,
    )


def _replace(file: Path, text: str) -> None:
    """Put `text` in the place of `file` in one step, keeping its mode."""
    try:
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
        atomic_write(file, text.encode("utf-8"), mode)
    except OSError as e:
        raise ConfigError("unwritable", f"{file} cannot be written: {e.strerror or e}.", file=str(file)) from e
