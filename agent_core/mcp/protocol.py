"""The protocol by its revisions: messages to bytes and back, and what requests of 2026-07-28 carry.

Five revisions are in use. "legacy": 2024-11-05 to 2025-11-25, which begin with `initialize`. "modern": 2026-07-28,
without a handshake or a session; each request says its revision and what the client can do. One message a line in all
of them. Source: spec/mcp.md, sections 0 to 2.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from agent_core import names
from agent_core.mcp.words import Json, ServerFailure
from agent_core.version import __version__

Era = Literal["", "legacy", "modern"]
"""Empty: not known yet."""

LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Newest first: the first is offered, any is accepted."""
MODERN: Final = "2026-07-28"

METHOD_NOT_FOUND: Final = -32601
UNSUPPORTED_VERSION: Final = -32022
NEEDS_A_VISIT: Final = -32042
"""A person has to open a page first (2025-11-25)."""

_META: Final = "io.modelcontextprotocol/"
_PLAIN: Final = re.compile(r"[\x20-\x7e]*")
_SENTINEL: Final = re.compile(r"=\?base64\?.*\?=")
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
CLIENT: Final = {"name": names.APP, "version": __version__}


class Refused(ServerFailure):
    """The server answered a request with a JSON-RPC error."""

    def __init__(self, server: str, error: Json) -> None:
        message = error.get("message")
        number = error.get("code")
        self.number = number if isinstance(number, int) else 0
        self.said = message if isinstance(message, str) else ""
        data = error.get("data")
        self.data: Json = data if isinstance(data, Mapping) else {}
        text = f"The server {server} refused it: {self.said or 'it did not say why'} (error {self.number})."
        super().__init__("mcp_error", text, server=server, why=self.said, number=self.number)


class SessionLost(ServerFailure):
    """The server has forgotten the session, and so has not done what was asked (R19)."""

    def __init__(self, server: str) -> None:
        text = f"The server {server} has ended the session, and again when a new one was begun. Restart the server."
        super().__init__("mcp_session", text, server=server)


def encode(message: Json) -> bytes:
    """One message, in ASCII and without line ends (R1)."""
    return json.dumps(message, separators=(",", ":")).encode("ascii")


def decode(data: bytes) -> list[dict[str, Any]] | None:
    """The messages of one line: one, or those of a batch. None: it is none (R3)."""
    try:
        value = json.loads(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        return [value]
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return value
    return None


def request(number: int, method: str, params: Json) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method}
    return message | ({"params": params} if params else {})


def notification(method: str, params: Json) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return message | ({"params": params} if params else {})


def result(number: Any, value: Json) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": value}


def error(number: Any, code: int, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}


# -- 2026-07-28 -------------------------------------------------------------------------------------------------------


def with_meta(params: Json, capabilities: Json) -> dict[str, Any]:
    """`params` with what each modern request says of the client."""
    meta = {
        **(params.get("_meta") or {}),
        f"{_META}protocolVersion": MODERN,
        f"{_META}clientCapabilities": capabilities,
        f"{_META}clientInfo": CLIENT,
    }
    return {**params, "_meta": meta}


def server_info(discovered: Json) -> Json:
    """What a server says of itself in its answer to server/discover; empty: nothing."""
    meta = discovered.get("_meta")
    for info in (discovered.get("serverInfo"), meta.get(f"{_META}serverInfo") if isinstance(meta, Mapping) else None):
        if isinstance(info, Mapping):
            return info
    return {}


def is_modern(message: Json) -> bool:
    """Whether a request or notification says its revision itself."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    return isinstance(meta, Mapping) and f"{_META}protocolVersion" in meta


def request_headers(message: Json, agreed: str) -> dict[str, str]:
    """The headers that say over HTTP what a message says itself. `agreed`: the revision of a handshake, or empty."""
    params = message.get("params")
    params = params if isinstance(params, Mapping) else {}
    meta = params.get("_meta")
    version = meta.get(f"{_META}protocolVersion") if isinstance(meta, Mapping) else None
    if not isinstance(version, str):
        return {"MCP-Protocol-Version": agreed} if agreed else {}
    headers = {"MCP-Protocol-Version": version}
    method = message.get("method")
    if isinstance(method, str):
        headers["Mcp-Method"] = method
        name = params.get(_NAMED.get(method, ""))
        if isinstance(name, str):
            headers["Mcp-Name"] = header_value(name)
    return headers


def header_value(text: str) -> str:
    """`text` as a header can carry it: as it is, or marked and in base64."""
    if _PLAIN.fullmatch(text) and text == text.strip() and not _SENTINEL.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode('ascii')}?="
