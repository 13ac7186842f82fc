"""The schema of a server's tool, as model providers take it (R26). It is a copy: what the server wrote stays as it is.

Providers refuse a whole request for one schema they do not understand. What they all take: an object at the root, with
its properties; no references; arrays with items; only arguments required that there are. What stricter ones want is
made for them where a request is written (llm/plain_schema.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from agent_core import limits
from agent_core.llm.plain_schema import CONDITIONS, MANY, both
from agent_core.text.ansi import clean

_DROPPED: Final = frozenset(
    {"$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "$dynamicAnchor", "$dynamicRef", "$vocabulary"}
)
_ONE: Final = frozenset({"items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"})
_ONE_MORE: Final = frozenset({"unevaluatedProperties", "unevaluatedItems", "contentSchema", "additionalItems"})
_NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
_NEVER_AT_ROOT: Final = frozenset({*MANY, *CONDITIONS, "enum", "const", "nullable", "items"})
_BOUNDS: Final = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def for_model(schema: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The copy, and a sentence about what it could not say, for the tool's description; empty: it says all."""
    whole = {key: value for key, value in schema.items() if key not in MANY}
    copy = _Copy(schema)
    root: dict[str, Any] = copy.of(whole, 0, ())
    choices = {key: _options(schema.get(key)) for key in MANY}
    made = {key: [copy.of(each, 1, ()) for each in options] for key, options in choices.items()}
    for each in made["allOf"]:
        root = both(root, each)
    properties = root.get("properties")
    root["properties"] = dict(properties) if isinstance(properties, dict) else {}
    for each in (*made["anyOf"], *made["oneOf"]):
        root["properties"] = {**(each.get("properties") or {}), **root["properties"]}
    return _root(root), _needs(choices, root["properties"])


class _Copy:
    """One copying, bounded: references written out can double at each step."""

    def __init__(self, whole: Mapping[str, Any]) -> None:
        self._whole = whole
        self._left = limits.MCP_SCHEMA_NODES

    def of(self, node: Any, depth: int, inside: tuple[str, ...]) -> Any:
        """`node` at this depth; `inside`: the references it stands in, which would never end if written out again."""
        if isinstance(node, bool) or node is None:
            return {}
        if not isinstance(node, Mapping):
            return {}
        self._left -= 1
        if self._left < 0 or depth > limits.MCP_SCHEMA_DEPTH:
            return {}
        if isinstance(reference := node.get("$ref"), str):
            beside = {key: value for key, value in node.items() if key != "$ref"}
            target = None if reference in inside else self._target(reference)
            made = self.of(target, depth + 1, (*inside, reference)) if isinstance(target, Mapping) else {}
            return {**made, **self.of(beside, depth, inside)} if beside else made
        out: dict[str, Any] = {}
        for key, value in node.items():
            if key not in _DROPPED:
                out[key] = self._value(key, value, depth, inside)
        self._mend(out)
        return out

    def _value(self, key: str, value: Any, depth: int, inside: tuple[str, ...]) -> Any:
        if key in _NAMED:
            named = value if isinstance(value, Mapping) else {}
            return {str(name): self.of(each, depth + 1, inside) for name, each in named.items()}
        if key in MANY or key == "prefixItems" or (key == "items" and isinstance(value, list)):
            return [self.of(each, depth + 1, inside) for each in value] if isinstance(value, list) else []
        if key in _ONE or key in _ONE_MORE:
            return value if isinstance(value, bool) else self.of(value, depth + 1, inside)
        return clean(value) if isinstance(value, str) else value

    def _target(self, reference: str) -> Any:
        """What a reference into the same schema names; None: nothing, or it leads elsewhere, where nobody looks."""
        if reference == "#":
            return self._whole
        if not reference.startswith("#/"):
            return None
        node: Any = self._whole
        for step in unquote(reference[2:]).split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping):
                node = node.get(key)
            elif isinstance(node, list) and key.isdecimal() and len(key) < 6 and int(key) < len(node):
                node = node[int(key)]
            else:
                return None
        return node

    def _mend(self, out: dict[str, Any]) -> None:
        """What providers refuse at any place of a schema."""
        kinds = out.get("type")
        if isinstance(kinds, list):
            out["type"] = kinds = [kind for kind in kinds if isinstance(kind, str)]
            if len(kinds) <= 1:
                out["type"] = kinds = kinds[0] if kinds else "object"
        elif "type" in out and not isinstance(kinds, str):
            del out["type"]
        if ("array" in kinds if isinstance(kinds, list) else kinds == "array") and not isinstance(
            out.get("items"), Mapping
        ):
            out["items"] = {}  # also a list of schemas by place, which newer drafts do not know
        properties = out.get("properties")
        if "required" in out:
            needed = out["required"] if isinstance(out["required"], list) else []
            known = properties if isinstance(properties, Mapping) else {}
            out["required"] = [name for name in needed if isinstance(name, str) and name in known]
            if not out["required"]:
                del out["required"]
        for exclusive, bound in _BOUNDS:  # draft 4: a flag beside the bound
            if isinstance(out.get(exclusive), bool) and out.pop(exclusive) and _is_number(out.get(bound)):
                out[exclusive] = out.pop(bound)
        for key in MANY:
            if key in out and not out[key]:
                del out[key]


def _options(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _root(root: dict[str, Any]) -> dict[str, Any]:
    """An object, whatever stood there."""
    root = {key: value for key, value in root.items() if key not in _NEVER_AT_ROOT}
    root["type"] = "object"
    needed = [name for name in root.pop("required", ()) if name in root["properties"]]
    return {**root, "required": needed} if needed else root


def _needs(choices: Mapping[str, list[Mapping[str, Any]]], properties: Mapping[str, Any]) -> str:
    """What choices at the root say of arguments that are needed together, in words."""
    said = []
    for key, words in (("anyOf", "at least one of"), ("oneOf", "exactly one of")):
        needed = [each.get("required") for each in choices[key]]
        groups = [[str(name) for name in names if name in properties] for names in needed if isinstance(names, list)]
        if any(groups):
            said.append(f"Needs {words}: {'; '.join(clean(' and '.join(group)) for group in groups if group)}.")
    return " ".join(said)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
