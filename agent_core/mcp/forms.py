"""What a server asks of a person, as a form or a page to be opened, and the answer it is given (R33)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.mcp.words import Elicit, Elicitation, Json
from agent_core.servers import FormField
from agent_core.text.ansi import clean

Kind = Literal["text", "number", "whole", "flag", "choice", "choices"]
_KINDS: Final[Mapping[str, Kind]] = {"string": "text", "number": "number", "integer": "whole", "boolean": "flag"}
_DECLINE: Final = {"action": "decline"}


def answer(params: Json, ask: Elicit | None, redact: Callable[[str], str], cancel: CancelScope) -> dict[str, Any]:
    """The result of elicitation/create. `ask` None: nobody can be asked. Raises Interrupted."""
    if ask is None:
        return dict(_DECLINE)

    def say(value: object) -> str:
        return clean(redact(value)) if isinstance(value, str) else ""

    message = say(params.get("message"))[: limits.TOOL_ERROR_CHARS]
    if params.get("mode") == "url":
        url = params.get("url")
        if not isinstance(url, str) or not url.startswith(("https://", "http://")) or clean(url, keep="") != url:
            return dict(_DECLINE)
        return {"action": ask(Elicitation("visit", message, url=url), cancel).action}
    schema = params.get("requestedSchema")
    fields = tuple(form(schema if isinstance(schema, Mapping) else {}, say))
    given = ask(Elicitation("form", message, fields), cancel)
    if given.action != "accept":
        return {"action": given.action}
    return {"action": "accept", "content": filled(fields, given.values)}


def form(schema: Json, say: Callable[[object], str]) -> Iterator[FormField]:
    """The fields of a requested schema; what is no field of a kind that there is has been left out."""
    properties = schema.get("properties")
    needed = schema.get("required")
    for name, node in list((properties if isinstance(properties, Mapping) else {}).items())[: limits.MCP_FORM_FIELDS]:
        if not isinstance(node, Mapping):
            continue
        kind, choices = _kind(node, say)
        if kind is None:
            continue
        yield FormField(
            name=name,
            title=say(node.get("title")) or say(name),
            kind=kind,
            description=say(node.get("description")),
            required=isinstance(needed, list) and name in needed,
            default=_default(node.get("default"), kind),
            choices=choices,
        )


def filled(fields: tuple[FormField, ...], values: Json) -> dict[str, Any]:
    """What the server is sent: the values of the fields there are, and defaults where there is none."""
    content: dict[str, Any] = {}
    for each in fields:
        value = values.get(each.name, each.default)
        if value is not None:
            content[each.name] = list(value) if isinstance(value, tuple) else value
    return content


def _kind(node: Json, say: Callable[[object], str]) -> tuple[Kind | None, tuple[tuple[str, str], ...]]:
    kind = node.get("type")
    if kind == "array":
        items = node.get("items")
        choices = _choices(items, say) if isinstance(items, Mapping) else ()
        return ("choices" if choices else None), choices
    if choices := _choices(node, say):
        return "choice", choices
    return (_KINDS.get(kind) if isinstance(kind, str) else None), ()


def _choices(node: Json, say: Callable[[object], str]) -> tuple[tuple[str, str], ...]:
    """(value, title) of what may be chosen; in each of the ways revisions have written it."""
    for key in ("oneOf", "anyOf"):
        options = node.get(key)
        if isinstance(options, list):
            return tuple(
                (option["const"], say(option.get("title")) or say(option["const"]))
                for option in options
                if isinstance(option, Mapping) and isinstance(option.get("const"), str)
            )
    values, titles = node.get("enum"), node.get("enumNames")
    if not isinstance(values, list):
        return ()
    titles = titles if isinstance(titles, list) and len(titles) == len(values) else values
    return tuple(
        (value, say(title) or say(value)) for value, title in zip(values, titles, strict=True) if isinstance(value, str)
    )


def _default(value: object, kind: Kind) -> str | float | bool | tuple[str, ...] | None:
    """The default of a field, where it is one of its kind."""
    if kind == "flag":
        return value if isinstance(value, bool) else None
    if kind in ("number", "whole"):
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if kind == "choices":
        return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else None
    return value if isinstance(value, str) else None
