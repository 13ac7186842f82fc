"""Agreeing with a server on a revision: `initialize` first, forward to `server/discover` when that is refused.

The specification would have stdio clients discover first. All servers that were measured take `initialize`, while to
be asked for discovery first is what makes some of them hang or end (spec/mcp.md, verdict 3).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Literal

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.mcp import protocol
from agent_core.mcp.protocol import LEGACY, MODERN, Era, Refused
from agent_core.mcp.words import Json, ServerConfig, ServerFailure, ServerInfo, Transport
from agent_core.records import dataclass

Kind = Literal["stdio", "http", "sse"]

_OLD: Final = (400, 404, 405)
"""What a server of 2024-11-05 answers to a POST at its URL."""


class OldTransport(Exception):
    """The URL does not take requests by POST: perhaps it is one of the transport of 2024-11-05 (R21)."""

    def __init__(self, failure: ServerFailure) -> None:
        super().__init__(failure.text)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Agreed:
    """What was agreed on with a server."""

    era: Era
    info: ServerInfo
    declared: Json = field(default_factory=dict)
    """What the client has said it can do."""


def kinds(config: ServerConfig) -> tuple[Kind, ...]:
    """The ways to reach a server, to be tried one after another."""
    if config.type == "http":
        return ("http",) if config.protocol == "modern" else ("http", "sse")
    return (config.type,)


def agree(
    transport: Transport,
    config: ServerConfig,
    *,
    hint: Era,
    offer: str,
    elicits: bool,
    deadline: float,
    cancel: CancelScope,
) -> Agreed:
    """Shake hands as the config says. `hint`: the era that was found before; `deadline`: monotonic seconds.

    Raises OldTransport, ServerFailure ("mcp_timeout" when the time is over), Interrupted.
    """
    how = _How(transport, config, offer, elicits, deadline, cancel)
    if config.protocol == "legacy":
        return how.initialize()
    if config.protocol == "modern":
        return how.discover()
    first, second = (how.discover, how.initialize) if hint == "modern" else (how.initialize, how.discover)
    try:
        return first()
    except Refused as refusal:
        try:
            return second()
        except Refused as other:
            raise refusal if _says_more(refusal, other) else other from refusal


def is_offered_modern(refusal: Refused) -> bool:
    """Whether a server that does not take a request's revision names the one of 2026-07-28 among those it does."""
    return refusal.number == protocol.UNSUPPORTED_VERSION and MODERN in _versions(refusal.data.get("supported"))


def changes(capabilities: Json) -> dict[str, bool]:
    """What of its lists a server tells changes of, as subscriptions/listen asks for it; empty: of none."""
    return {
        f"{what}ListChanged": True
        for what in ("tools", "prompts", "resources")
        if isinstance(capabilities.get(what), Mapping) and capabilities[what].get("listChanged") is True
    }


def too_slow(config: ServerConfig, noise: tuple[str, ...]) -> ServerFailure:
    """The server has not agreed on anything within its time."""
    text = f"The server {config.name} did not start within {config.startup_timeout:g} s. If it only needs longer"
    text += f"{'' if config.url else ' (npx may have to fetch it first)'}, set its `startup_timeout`."
    return ServerFailure(
        "mcp_slow_start", text + last_words(noise), server=config.name, seconds=config.startup_timeout,
        said=last_words(noise),
    )  # fmt: skip


def last_words(noise: tuple[str, ...]) -> str:
    """The last of what a server wrote, to stand behind the text of a failure; empty: it wrote nothing."""
    lines = [line for line in noise if line.strip()][-limits.MCP_STDERR_SHOWN :]
    return "\nIt wrote last:\n" + "\n".join(lines) if lines else ""


class _How:
    """One attempt to agree with a server."""

    def __init__(
        self,
        transport: Transport,
        config: ServerConfig,
        offer: str,
        elicits: bool,
        deadline: float,
        cancel: CancelScope,
    ) -> None:
        self.transport = transport
        self.config = config
        self.offer = offer
        self.elicits = elicits
        self.deadline = deadline
        self.cancel = cancel

    def initialize(self) -> Agreed:
        """The handshake up to 2025-11-25 (R10)."""
        # Revisions before the newest know one form of questions, and no names for it.
        questions: dict[str, Any] = {"form": {}, "url": {}} if self.offer == LEGACY[0] else {}
        declared: dict[str, Any] = {"elicitation": questions} if self.elicits else {}
        params = {"protocolVersion": self.offer, "capabilities": declared, "clientInfo": protocol.CLIENT}
        try:
            answer = self._ask("initialize", params)
        except ServerFailure as failure:
            if self.config.type == "http" and failure.params.get("status") in _OLD and not isinstance(failure, Refused):
                raise OldTransport(failure) from failure
            raise
        version = answer.get("protocolVersion")
        if version not in LEGACY:
            raise self._no_common(f"{version}")
        self.transport.agreed(str(version))
        self.transport.notify("notifications/initialized", {})
        return Agreed("legacy", _info(answer, str(version), answer.get("serverInfo")), declared)

    def discover(self) -> Agreed:
        """What takes the handshake's place in 2026-07-28."""
        declared: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}} if self.elicits else {}
        params = protocol.with_meta({}, declared)
        try:
            answer = self._ask("server/discover", params)
        except Refused as refusal:
            if not is_offered_modern(refusal):
                raise
            answer = self._ask("server/discover", params)
        versions = _versions(answer.get("supportedVersions"))
        if MODERN not in versions:
            raise self._no_common(", ".join(versions) or "none")
        self.transport.agreed(MODERN)
        return Agreed("modern", _info(answer, MODERN, protocol.server_info(answer)), declared)

    def _ask(self, method: str, params: Json) -> Json:
        left = max(self.deadline - time.monotonic(), 0.001)
        return self.transport.request(method, params, timeout=left, cancel=self.cancel)

    def _no_common(self, theirs: str) -> ServerFailure:
        ours = ", ".join(LEGACY if self.config.protocol == "legacy" else (MODERN, *LEGACY))
        return ServerFailure(
            "mcp_version",
            f"The server {self.config.name} speaks {theirs} of the protocol, this program {ours}: there is none in"
            " common. Look for another version of the server.",
            server=self.config.name,
            theirs=theirs,
            ours=ours,
        )


def _versions(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _says_more(refusal: Refused, other: Refused) -> bool:
    """Whether of two refusals the first is the one to tell: the second only says that it knows no such method."""
    return other.number == protocol.METHOD_NOT_FOUND and refusal.number != protocol.METHOD_NOT_FOUND


def _info(answer: Json, version: str, said: object) -> ServerInfo:
    about = said if isinstance(said, Mapping) else {}
    capabilities = answer.get("capabilities")
    return ServerInfo(
        name=_text(about.get("name")),
        version=_text(about.get("version")),
        title=_text(about.get("title")),
        protocol=version,
        instructions=_text(answer.get("instructions"))[: limits.MCP_INSTRUCTIONS],
        capabilities=capabilities if isinstance(capabilities, Mapping) else {},
    )


def _text(value: object) -> str:
    from agent_core.text.ansi import clean

    return clean(value) if isinstance(value, str) else ""
