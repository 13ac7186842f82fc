"""A tool's schema as servers want it that hold a model to it (`strict: true`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` with nothing beside its properties, and all of them required: what may be left out may be null instead.

    Defaults go, which such servers refuse. A tool takes null for what was left out. Source: OpenAI's structured
    outputs.
    """
    out = {key: value for key, value in schema.items() if key != "default"}
    if out.get("type") == "object":
        properties, needed = out.get("properties", {}), out.get("required", ())
        out["properties"] = {
            name: strict(each) if name in needed else _or_null(strict(each)) for name, each in properties.items()
        }
        out["required"] = list(properties)
        out["additionalProperties"] = False
    elif isinstance(out.get("items"), Mapping):
        out["items"] = strict(out["items"])
    return out


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    kind = schema.get("type")
    if kind is None:  # anything, and so null too
        return schema
    kinds = kind if isinstance(kind, list) else [kind]
    choices = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [*kinds, "null"], **choices}
