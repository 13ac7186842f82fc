"""What is filled into a form of an MCP server: its first values, and what they become. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_core.servers import FormField

Values = dict[str, Any]


def first_values(fields: Sequence[FormField]) -> Values:
    """The values that a form begins with: the server's own."""
    return {field.name: field.default for field in fields if field.default is not None}


def changed(field: FormField, values: Values, choice: str | None) -> Values:
    """The values after a press on a flag, or on one of the choices of a field."""
    if field.kind == "flag":
        return {**values, field.name: not values.get(field.name)}
    if choice is None:
        return values
    if field.kind == "choice":
        if values.get(field.name) == choice and not field.required:
            return {name: value for name, value in values.items() if name != field.name}
        return {**values, field.name: choice}
    had = tuple(values.get(field.name) or ())
    chosen = tuple(one for one, _ in field.choices if (one in had) != (one == choice))
    return {**values, field.name: chosen}


def written(field: FormField, values: Values, text: str) -> Values:
    """The values with what was written into a field; empty takes it out. Raises ValueError for what is no number."""
    if not text:
        return {name: value for name, value in values.items() if name != field.name}
    value: Any = int(text) if field.kind == "whole" else float(text) if field.kind == "number" else text
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(text)
    return {**values, field.name: value}


def missing(fields: Sequence[FormField], values: Mapping[str, Any]) -> FormField | None:
    """The first field that has to be filled in and is not."""
    return next((field for field in fields if field.required and values.get(field.name) in (None, "", ())), None)
