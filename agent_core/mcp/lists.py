"""What a server lists: all pages of it, and each entry as data. One bad entry never loses the others (R27)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from agent_core import limits
from agent_core.mcp import protocol
from agent_core.mcp.protocol import Refused
from agent_core.mcp.words import Json, PromptInfo, ResourceInfo, ToolInfo
from agent_core.text.ansi import clean

_MIRROR: Final = "x-mcp-header"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_MIRRORED: Final = frozenset({"string", "integer", "boolean"})
_ONE: Final = frozenset({
    "items", "contains", "unevaluatedItems", "additionalProperties", "propertyNames", "unevaluatedProperties", "not",
    "if", "then", "else", "contentSchema",
})  # fmt: skip
_MANY: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED: Final = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})
"""Keywords of JSON Schema whose values are schemas, by how they hold them."""


def all_pages(ask: Callable[[Json], Json], key: str) -> tuple[list[Any], tuple[str, ...]]:
    """The entries of every page under `key`, and what was wrong (R23). `ask` gives the page for its params."""
    entries: list[Any] = []
    seen: set[str] = set()
    params: dict[str, Any] = {}
    for _ in range(limits.MCP_PAGES):
        try:
            page = ask(params)
        except Refused as refusal:
            if refusal.number == protocol.METHOD_NOT_FOUND:  # R13: it has none, whatever its capabilities say
                return entries, ()
            raise
        found = page.get(key)
        entries += found if isinstance(found, list) else []
        if len(entries) > limits.MCP_ENTRIES:
            del entries[limits.MCP_ENTRIES :]
            return entries, (f"{key}: only the first {limits.MCP_ENTRIES} are taken",)
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor:
            return entries, ()
        if cursor in seen:
            return entries, (f"{key}: a page was named twice, the pages after it are not read",)
        seen.add(cursor)
        params = {"cursor": cursor}
    return entries, (f"{key}: only the first {limits.MCP_PAGES} pages are read",)


def tools(entries: list[Any], *, by_http: bool = False) -> tuple[tuple[ToolInfo, ...], tuple[str, ...]]:
    """The tools among the entries, the first of each name, and what was left out and why.

    `by_http`: arguments may have to be said in headers, and a tool that says so wrongly cannot be called (R16).
    """
    found: dict[str, ToolInfo] = {}
    wrong: list[str] = []
    for entry in entries:
        name = _raw(entry, "name")
        if not name:
            wrong.append("a tool without a name was left out")
        elif name in found:
            if _tool(name, entry) != found[name]:  # a page that was read twice is told of once, elsewhere
                wrong.append(f"the tool {name} is listed twice, the first is taken")
        elif _needs_task(entry):
            wrong.append(f"the tool {name} works only as a task, which is not offered here, and was left out")
        elif by_http and (problem := wrong_mirror(entry.get("inputSchema"))):
            wrong.append(f"the tool {name} was left out: {problem}")
        else:
            found[name] = _tool(name, entry)
    return tuple(found.values()), tuple(wrong)


def resources(entries: list[Any]) -> tuple[tuple[ResourceInfo, ...], tuple[str, ...]]:
    return _resources(entries, "uri")


def templates(entries: list[Any]) -> tuple[tuple[ResourceInfo, ...], tuple[str, ...]]:
    return _resources(entries, "uriTemplate")


def prompts(entries: list[Any]) -> tuple[tuple[PromptInfo, ...], tuple[str, ...]]:
    found = [
        PromptInfo(name, _text(entry, "title"), _text(entry, "description"), tuple(_arguments(entry)))
        for entry in entries
        if (name := _raw(entry, "name"))
    ]
    return tuple(found), _left_out(len(entries) - len(found), "prompts")


def _resources(entries: list[Any], key: str) -> tuple[tuple[ResourceInfo, ...], tuple[str, ...]]:
    found = [
        ResourceInfo(
            uri, _text(entry, "name"), _text(entry, "title"), _text(entry, "description"), _text(entry, "mimeType")
        )
        for entry in entries
        if (uri := _raw(entry, key))
    ]
    return tuple(found), _left_out(len(entries) - len(found), "resources")


def _arguments(entry: Json) -> Iterator[tuple[str, str, bool]]:
    arguments = entry.get("arguments")
    for argument in arguments if isinstance(arguments, list) else []:
        if name := _raw(argument, "name"):
            yield name, _text(argument, "description"), argument.get("required") is True


def _left_out(count: int, what: str) -> tuple[str, ...]:
    return (f"{count} {what} without a name were left out",) if count else ()


def _tool(name: str, entry: Json) -> ToolInfo:
    notes = entry.get("annotations")
    notes = notes if isinstance(notes, Mapping) else {}
    schema = entry.get("inputSchema")
    return ToolInfo(
        name=name,
        title=_text(entry, "title") or _text(notes, "title"),
        description=_text(entry, "description"),
        schema=schema if isinstance(schema, Mapping) else {},
        reads=notes.get("readOnlyHint") is True,
        destroys=notes.get("destructiveHint") is True,
        headers=dict(_mirrors(schema)),
    )


def _needs_task(entry: Json) -> bool:
    execution = entry.get("execution")
    return isinstance(execution, Mapping) and execution.get("taskSupport") == "required"


def _text(entry: object, key: str) -> str:
    return clean(_raw(entry, key))


def _raw(entry: object, key: str) -> str:
    """A name as the server has to be told it again: not clean."""
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else ""


# -- arguments that are said in headers too (2026-07-28) --------------------------------------------------------------


def wrong_mirror(schema: object) -> str:
    """Why a tool with this schema cannot be called over HTTP: an x-mcp-header at fault. Empty: it can."""
    seen: set[str] = set()
    for path, node in _positions(schema):
        if _MIRROR not in node:
            continue
        header = node[_MIRROR]
        if not path:
            return f"{_MIRROR} stands where no argument is"
        if not isinstance(header, str) or not _TOKEN.fullmatch(header):
            return f"{_MIRROR} of {'.'.join(path)} is no name of a header"
        kind = node.get("type")
        if not isinstance(kind, str) or kind not in _MIRRORED:
            return f"{_MIRROR} stands at {'.'.join(path)}, which is no text, whole number or flag"
        if header.lower() in seen:
            return f"{_MIRROR} {header} stands at two arguments"
        seen.add(header.lower())
    return ""


def argument_headers(tool: ToolInfo, arguments: Json) -> dict[str, str]:
    """The headers of a call that repeat some of its arguments; what is left out or null has none."""
    headers: dict[str, str] = {}
    for path, name in tool.headers.items():
        value: Any = arguments
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, bool):
            value = "true" if value else "false"
        if isinstance(value, str | int):
            headers[f"Mcp-Param-{name}"] = protocol.header_value(str(value))
    return headers


def _mirrors(schema: object) -> Iterator[tuple[tuple[str, ...], str]]:
    for path, node in _positions(schema):
        if path and isinstance(node.get(_MIRROR), str):
            yield path, node[_MIRROR]


def _positions(schema: object) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Every schema inside `schema`, with the path of the argument it is of; the path is empty where it is of none."""
    waiting: list[tuple[tuple[str, ...] | None, object]] = [((), schema)]
    while waiting:
        path, node = waiting.pop()
        if not isinstance(node, Mapping):
            continue
        yield path or (), node
        for key, value in node.items():
            if key == "properties" and isinstance(value, Mapping):
                waiting += [(None if path is None else (*path, name), each) for name, each in value.items()]
            elif key in _ONE:
                waiting.append((None, value))
            elif key in _MANY and isinstance(value, list):
                waiting += [(None, each) for each in value]
            elif key in _NAMED and isinstance(value, Mapping):
                waiting += [(None, each) for each in value.values()]
