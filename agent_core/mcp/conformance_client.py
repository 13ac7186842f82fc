"""`python -m agent_core.mcp.conformance_client URL`: our own client in one scenario of the public conformance suite.

The suite's harness says which by MCP_CONFORMANCE_SCENARIO, in which revision by MCP_CONFORMANCE_PROTOCOL_VERSION, and
with what by MCP_CONFORMANCE_CONTEXT (JSON). Exit codes: 0 done, 1 the server could not be used, 2 no such scenario or
wrong usage. Only the callbacks differ from the program's: forms are accepted as they stand, and the log-in page's
redirect is read without a browser. See docs/mcp.md.
"""

from __future__ import annotations

import fnmatch
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from agent_core.cancel import CancelScope
from agent_core.mcp.client import Around, Client
from agent_core.mcp.oauth import OAuth, Visit
from agent_core.mcp.protocol import LEGACY, MODERN
from agent_core.mcp.token_store import MemoryStore
from agent_core.mcp.words import (
    Answered,
    CallResult,
    Elicitation,
    Json,
    OAuthOptions,
    ServerConfig,
    ServerFailure,
    ToolInfo,
)

_DOCUMENT: Final = "https://conformance-test.local/client-metadata.json"
"""A client id that the suite's authorization servers know (CIMD)."""


class Run:
    """One scenario: a connected client and what the harness has said."""

    def __init__(self, client: Client, context: Json) -> None:
        self.client = client
        self.context = context
        self.cancel = CancelScope()
        self.tools = client.list_tools(self.cancel)

    def call(self, name: str, arguments: Json) -> CallResult | None:
        """Call a tool by its name, whether it is listed or not. What fails is told and passed over."""
        tool = next((tool for tool in self.tools if tool.name == name), ToolInfo(name))
        try:
            result = self.client.call(tool, arguments, self.cancel)
        except ServerFailure as failure:
            print(f"{name}: {failure.text}", file=sys.stderr)
            return None
        print(f"{name}: {result.text[:200]}")
        return result


def _nothing(run: Run) -> None:
    """Connecting and listing is all there is to do."""


def _add(run: Run) -> None:
    run.call("add_numbers", {"a": 5, "b": 3})


def _named(*names: str) -> Callable[[Run], None]:
    """A scenario that calls these tools."""

    def calls(run: Run) -> None:
        for name in names:
            run.call(name, {})

    return calls


def _everything(run: Run) -> None:
    """Each tool with arguments that fit, each resource, each prompt."""
    for tool in run.tools:
        run.call(tool.name, _stubs(tool.schema))
    client, cancel = run.client, run.cancel
    _each(client.list_resources(cancel), lambda resource: client.read_resource(resource.uri, cancel))
    _each(client.list_prompts(cancel), lambda prompt: client.get_prompt(prompt.name, {}, cancel))


def _replayed(run: Run) -> None:
    """The calls that the harness lists."""
    for each in run.context.get("toolCalls", []):
        run.call(each["name"], each["arguments"])


def _echoed(run: Run) -> None:
    """The schema of one tool, untouched, as the argument of another."""
    for tool in run.tools:
        if tool.name == "json_schema_2020_12_tool":
            run.call("json_schema_echo", {"schema": tool.schema})


def _first(run: Run) -> None:
    for tool in run.tools[:1]:
        run.call(tool.name, {})


_SCENARIOS: Final[Mapping[str, Callable[[Run], None]]] = {
    "initialize": _nothing,
    "tools_call": _add,
    "request-metadata": _add,
    "elicitation-sep1034-client-defaults": _named("test_client_elicitation_defaults"),
    "sse-retry": _named("test_reconnection"),
    "http-standard-headers": _everything,
    "http-invalid-tool-headers": _everything,
    "http-custom-headers": _replayed,
    "sep-2322-client-request-state": _named(
        "test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type"
    ),
    "json-schema-ref-no-deref": _nothing,
    "json-schema-2020-12-preservation": _echoed,
    "auth/*": _first,
}
_ALWAYS_LEGACY: Final = frozenset({"json-schema-ref-no-deref"})
"""Scenarios whose server speaks only the handshake, whatever revision they are listed under."""


def _each(found: Iterable[Any], use: Callable[[Any], object]) -> None:
    for each in found:
        try:
            use(each)
        except ServerFailure as failure:
            print(failure.text, file=sys.stderr)


def _stubs(schema: Json) -> dict[str, Any]:
    """Some value for each argument."""
    stub: dict[str, Any] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
    properties = schema.get("properties")
    return {
        name: stub.get(str(node.get("type")), "test") if isinstance(node, Mapping) else "test"
        for name, node in (properties if isinstance(properties, Mapping) else {}).items()
    }


def _accept(asked: Elicitation, cancel: CancelScope) -> Answered:
    """Yes; flags that have no default are set, everything else is left to its default."""
    values = {each.name: True for each in asked.form if each.kind == "flag" and each.default is None}
    return Answered("accept", values)


def _redirected(visit: Visit, cancel: CancelScope) -> str:
    """Where the log-in page sends the browser: the suite's pages say yes at once."""
    import httpx

    loopback = urlsplit(visit.url).hostname in ("localhost", "127.0.0.1")
    answer = httpx.get(visit.url, follow_redirects=False, trust_env=not loopback, timeout=20)
    return str(answer.headers.get("location", ""))


def _client(url: str, scenario: str, version: str, context: Json) -> Client:
    modern = version == MODERN and scenario not in _ALWAYS_LEGACY
    config = ServerConfig(
        "conformance",
        url=url,
        type="http",
        protocol="modern" if modern else "legacy" if version else "auto",
        startup_timeout=20,
        timeout=20,
        oauth=OAuthOptions(str(context.get("client_id", "")), str(context.get("client_secret", ""))),
    )
    login = OAuth(config, MemoryStore(), _redirected, document=_DOCUMENT)
    around = Around(Path.cwd(), authorizer=login, elicit=_accept)
    return Client(config, around, offer=version if version in LEGACY else LEGACY[0])


def main(arguments: list[str]) -> int:
    """Run the scenario; the exit code."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    run = next((run for name, run in _SCENARIOS.items() if fnmatch.fnmatchcase(scenario, name)), None)
    if len(arguments) != 1 or run is None:
        print(f"usage: conformance_client URL, with a known MCP_CONFORMANCE_SCENARIO ({scenario!r})", file=sys.stderr)
        return 2
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    client = _client(arguments[0], scenario, os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", ""), context)
    try:
        run(Run(client, context))
    except ServerFailure as failure:
        print(failure.text, file=sys.stderr)
        return 1
    finally:
        client.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
