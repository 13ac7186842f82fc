"""Whether JSON is what a JSON Schema says, for the words of schemas that models write. Pure.

Understood: type, enum, const, properties, required, additionalProperties, items, minItems, maxItems, minLength,
maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, anyOf, oneOf, allOf. Anything else is not looked at:
not `pattern`, since an expression of anybody's may take for ever, and no references.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from agent_core import limits
from agent_core.text.coerce import fits


def problems(value: Any, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """What keeps `value`, as JSON gives it, from being what `schema` says, each with its place: "items[2].name"."""
    return tuple(_problems(value, schema, "", 0))


def _problems(value: Any, schema: Any, at: str, depth: int) -> Iterator[str]:
    if schema is False:
        yield f"{_place(at)} must not be there"
    if not isinstance(schema, Mapping):
        return
    if depth > limits.AGENT_SCHEMA_DEPTH:
        yield f"{_place(at)} is nested too deeply"
        return
    kinds = _list(schema["type"]) if "type" in schema else []
    if kinds and not any(isinstance(kind, str) and _is(value, kind) for kind in kinds):
        yield f"{_place(at)} must be {' or '.join(map(str, kinds))}, not {_short(value)}"
        return
    if isinstance(allowed := schema.get("enum"), list) and not any(_same(value, one) for one in allowed):
        yield f"{_place(at)} must be one of {_short(allowed)}, not {_short(value)}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{_place(at)} must be {_short(schema['const'])}, not {_short(value)}"
    yield from _bounds(value, schema, at)
    if isinstance(value, dict):
        yield from _object(value, schema, at, depth)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _problems(item, schema.get("items"), f"{at}[{number}]", depth + 1)
    yield from _either(value, schema, at, depth)


def _object(value: dict[str, Any], schema: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
    known = schema.get("properties")
    known = known if isinstance(known, Mapping) else {}
    for name in _list(schema.get("required", [])):
        if isinstance(name, str) and name not in value:
            yield f"{_place(_below(at, name))} is missing"
    more = schema.get("additionalProperties")
    for name, item in value.items():
        yield from _problems(item, known.get(name, more), _below(at, name), depth + 1)


def _either(value: Any, schema: Mapping[str, Any], at: str, depth: int) -> Iterator[str]:
    for part in _list(schema.get("allOf", [])):
        yield from _problems(value, part, at, depth + 1)
    for word in ("anyOf", "oneOf"):
        parts = _list(schema.get(word, []))
        fit = sum(next(_problems(value, part, at, depth + 1), None) is None for part in parts)
        if parts and not fit:
            yield f"{_place(at)} is none of what {word} names"
        elif word == "oneOf" and fit > 1:
            yield f"{_place(at)} is more than one of what oneOf names"


_BOUNDS: Final[Mapping[str, tuple[type | tuple[type, ...], Callable[[Any, float], bool], str]]] = {
    "minLength": (str, lambda value, bound: len(value) >= bound, "must have at least {} characters"),
    "maxLength": (str, lambda value, bound: len(value) <= bound, "must have at most {} characters"),
    "minItems": (list, lambda value, bound: len(value) >= bound, "must have at least {} items"),
    "maxItems": (list, lambda value, bound: len(value) <= bound, "must have at most {} items"),
    "minimum": ((int, float), lambda value, bound: value >= bound, "must be at least {}"),
    "maximum": ((int, float), lambda value, bound: value <= bound, "must be at most {}"),
    "exclusiveMinimum": ((int, float), lambda value, bound: value > bound, "must be more than {}"),
    "exclusiveMaximum": ((int, float), lambda value, bound: value < bound, "must be less than {}"),
}


def _bounds(value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
    for word, (kind, holds, words) in _BOUNDS.items():
        bound = schema.get(word)
        if (
            not isinstance(bound, int | float)
            or isinstance(bound, bool)
            or not isinstance(value, kind)
            or isinstance(value, bool)
        ):
            continue
        if not holds(value, bound):
            yield f"{_place(at)} {words.format(_short(bound))}"


def _is(value: Any, kind: str) -> bool:
    whole = kind == "integer" and isinstance(value, float) and value.is_integer()  # 3.0 is one, as the standard has it
    return whole or fits(value, kind)


def _same(value: Any, other: Any) -> bool:
    """As JSON compares: true is not 1."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _below(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _place(at: str) -> str:
    return at[: limits.PROBLEM_CHARS] or "it"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limits.PROBLEM_CHARS else text[: limits.PROBLEM_CHARS] + "..."
