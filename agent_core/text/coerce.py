"""Tool arguments as a model writes them, made to fit the tool's schema, or explained so that it can do better."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from agent_core import limits

_INTEGER: Final = re.compile(r"[+-]?\d{1,300}")
_WORDS: Final = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}

# What tools of other agents call the same thing; models were trained on those. Taken only where the schema has the
# name on the right and nothing was sent under it.
OTHER_NAMES: Final[Mapping[str, str]] = {
    "file_path": "path", "filepath": "path", "filename": "path", "file": "path", "directory": "path", "dir": "path",
    "folder": "path", "old_string": "old_text", "old_str": "old_text", "new_string": "new_text", "new_str": "new_text",
    "file_text": "content", "contents": "content", "cmd": "command", "working_directory": "cwd", "workdir": "cwd",
    "regex": "pattern", "query": "pattern", "include": "glob", "file_glob": "glob", "case_insensitive": "ignore_case",
    "start_line": "offset", "todos": "items", "content": "text", "task": "text", "options": "choices",
    "urls": "url", "uri": "url", "link": "url", "q": "query", "max_results": "limit", "num_results": "limit",
    "task_id": "task", "id": "task", "session_id": "task", "input": "patch", "diff": "patch", "patch_text": "patch",
    "goal": "task", "prompt": "task", "subagent_type": "name", "agent": "name",
}  # fmt: skip


def coerce(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments in the types of `schema` (an object schema), and what is wrong with them.

    Names that other agents use are taken for ours, and a value of another type where its meaning is plain: "3" for 3,
    "true" for true, JSON text for a list or an object. Unknown arguments are dropped; they are named when something
    is missing, because one is often the other under another name. Only with no problems may the tool run. Defaults
    of the schema are filled in.
    """
    problems: list[str] = []
    value = _object(dict(arguments), schema, "", problems)
    return value, tuple(problems)


def loosely(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments for a tool whose schema is another's: types where their meaning is plain, null for what may be left
    out taken away, everything else as it was sent."""
    properties, required = schema.get("properties") or {}, schema.get("required") or ()
    out: dict[str, Any] = {}
    for name, value in arguments.items():
        part = properties.get(name) if isinstance(properties, Mapping) else None
        expected = part.get("type") if isinstance(part, Mapping) else None
        kinds = expected if isinstance(expected, list) else [expected]
        if value is None and name not in required and "null" not in kinds:
            continue
        is_kind = isinstance(expected, str) or (isinstance(expected, list) and all(isinstance(k, str) for k in kinds))
        out[name] = coerce_value(value, expected, part) if is_kind and expected is not None else value
    return out


def coerce_value(value: Any, expected: str | list[str], schema: Mapping[str, Any] | None = None) -> Any:
    """`value` as JSON Schema type `expected` (or the first of several that it can be), else unchanged."""
    if isinstance(expected, list):
        if not isinstance(value, str) and any(fits(value, one) for one in expected):
            return value
        made = ((one, coerce_value(value, one, schema)) for one in expected)
        return next((result for one, result in made if fits(result, one)), value)
    if fits(value, expected):
        return value
    if isinstance(value, str):
        return _from_text(value, expected, bool((schema or {}).get("nullable")))
    if expected == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if expected == "string" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return value


def fits(value: Any, expected: str) -> bool:
    """Is `value` of JSON Schema type `expected`?"""
    match expected:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return (isinstance(value, int) and not isinstance(value, bool)) or (
                isinstance(value, float) and math.isfinite(value)
            )
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
    return True


def _from_text(text: str, expected: str, nullable: bool) -> Any:
    plain = text.strip()
    if nullable and plain.lower() == "null":
        return None
    match expected:
        case "integer" | "number" if _INTEGER.fullmatch(plain):
            return int(plain)
        case "integer" | "number":
            number = _number(plain)
            if number is None or (expected == "integer" and not number.is_integer()):
                return text
            return int(number) if expected == "integer" else number
        case "boolean":
            return {"true": True, "false": False}.get(plain.lower(), text)
        case "null":
            return None if plain.lower() == "null" else text
        case "array" | "object":
            try:
                value = json.loads(plain)
            except (ValueError, RecursionError):
                return text
            return value if fits(value, expected) else text
    return text


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


# -- a whole call -------------------------------------------------------------------------------------------------


def _object(given: dict[str, Any], schema: Mapping[str, Any], where: str, problems: list[str]) -> dict[str, Any]:
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    required = schema.get("required", ())
    for name, ours in OTHER_NAMES.items():
        if name in given and name not in properties and ours in properties and given.get(ours) is None:
            value = given[name]
            if isinstance(value, list) and len(value) == 1 and properties[ours].get("type") == "string":
                value = value[0]  # a tool that takes several, as Hermes' web_extract does, was meant for one
            given = {**given, ours: value}
            del given[name]
    out: dict[str, Any] = {}
    for name, part in properties.items():
        if given.get(name) is not None:
            out[name] = _value(given[name], part, _join(where, name), problems)
        elif name not in required and "default" in part:
            out[name] = part["default"]
    missing = [name for name in required if given.get(name) is None]
    unknown = [name for name in given if name not in properties]
    problems += [_missing(_join(where, name), name, properties[name], unknown) for name in missing]
    return out


def _missing(shown: str, name: str, part: Mapping[str, Any], unknown: list[str]) -> str:
    text = f'missing "{shown}" ({_WORDS.get(part.get("type", ""), "a value")})'
    if not unknown:
        return text
    near = difflib.get_close_matches(name, unknown, n=1, cutoff=0.4)
    if near:
        return f'{text}: you sent "{_short(near[0])}", call it "{shown}"'
    return f"{text}: unknown names were ignored ({', '.join(map(_short, unknown[:5]))})"


def _value(value: Any, schema: Mapping[str, Any], where: str, problems: list[str]) -> Any:
    expected = schema.get("type", "")
    if expected == "array" and not isinstance(value, (list, str)) and _item_fits(value, schema):
        value = [value]  # one item where a list of them is wanted
    value = coerce_value(value, expected, schema)
    if expected == "array" and isinstance(value, str) and schema.get("items", {}).get("type") == "string":
        value = [value]
    if not fits(value, expected):
        problems.append(f'"{where}" must be {_WORDS.get(expected, expected)}, not {_short(value)}')
        return value
    if expected == "object":
        return _object(value, schema, where, problems) if "properties" in schema else value
    if expected == "array":
        items = schema.get("items", {})
        return [_value(item, items, f"{where}[{i}]", problems) for i, item in enumerate(value)]
    if "enum" in schema and value not in schema["enum"]:
        return _enum(value, schema["enum"], where, problems)
    return value


def _item_fits(value: Any, schema: Mapping[str, Any]) -> bool:
    expected = schema.get("items", {}).get("type", "")
    return bool(expected) and fits(value, expected)


def _enum(value: Any, allowed: list[Any], where: str, problems: list[str]) -> Any:
    """The allowed value that differs only in case, blanks and hyphens, or a problem."""

    def plain(v: Any) -> str:
        return re.sub(r"[\s_-]+", "_", str(v).strip().lower())

    for choice in allowed:
        if plain(choice) == plain(value):
            return choice
    choices = ", ".join(map(str, allowed))
    problems.append(f'"{where}" must be one of {choices}, not {_short(value)}')
    return value


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= limits.PROBLEM_CHARS else text[: limits.PROBLEM_CHARS] + "..."
