"""A tool's schema for servers that take one type at each place, and no choice between schemas (mcp.md R26)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MANY: Final = ("allOf", "anyOf", "oneOf")
CONDITIONS: Final = frozenset({"if", "then", "else", "not", "dependentSchemas", "dependentRequired"})


def plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without conditions, choices and lists of types: what may be null is `nullable`."""
    out = {key: _value(key, value) for key, value in schema.items() if key not in CONDITIONS}
    return _simple(out)


def _value(key: str, value: Any) -> Any:
    if key in ("properties", "patternProperties") and isinstance(value, Mapping):
        return {name: plain(each) if isinstance(each, Mapping) else each for name, each in value.items()}
    if key in (*MANY, "prefixItems") and isinstance(value, list):
        return [plain(each) if isinstance(each, Mapping) else each for each in value]
    if key in ("default", "enum", "const", "examples") or not isinstance(value, Mapping):
        return value
    return plain(value)


def _simple(out: dict[str, Any]) -> dict[str, Any]:
    """One type, no choices: a choice between one schema and null is that schema, another one its first."""
    for key in MANY:
        options = out.pop(key, None)
        if not isinstance(options, list):
            continue
        real = [each for each in options if isinstance(each, dict) and each.get("type") != "null"]
        if key != "allOf" and len(real) < len(options):
            out["nullable"] = True
        for each in real if key == "allOf" else real[:1]:
            out = both(out, each)
        if key != "allOf" and len(real) > 1 and _are_constants(real):
            out["enum"] = [value for each in real for value in each.get("enum", [each.get("const")])]
            out.pop("const", None)
    kinds = out.get("type")
    if isinstance(kinds, list):
        real_kinds = [kind for kind in kinds if kind != "null"]
        if len(real_kinds) < len(kinds):
            out["nullable"] = True
        out["type"] = real_kinds[0] if real_kinds else "string"
        if out["type"] == "array":
            out.setdefault("items", {})
    if "const" in out:
        out["enum"] = [out.pop("const")]
    return out


def both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A schema that says what both say, as far as one can; the first wins."""
    both = {**other, **one}
    for key in ("properties", "patternProperties"):
        if key in one and key in other:
            both[key] = {**other[key], **one[key]}
    if "required" in one and "required" in other:
        both["required"] = list(dict.fromkeys([*one["required"], *other["required"]]))
    return both


def _are_constants(options: list[dict[str, Any]]) -> bool:
    return all("const" in each or isinstance(each.get("enum"), list) for each in options)
