"""One MCP server, as the rest of the program uses it: started when it is needed, and anew when it has ended.

Calls to one server are made one after another (R35); each ends by its answer, its time or its cancel. What the server
did wrong is told by the exceptions here or kept as noise: nothing of it reaches the screen by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.mcp import forms, handshake, lists, protocol, results
from agent_core.mcp.calls import Ears
from agent_core.mcp.connection import Connection, State
from agent_core.mcp.handshake import Kind
from agent_core.mcp.lane import Lane
from agent_core.mcp.protocol import Era, Refused, SessionLost
from agent_core.mcp.results import Keep
from agent_core.mcp.words import (
    UNKNOWN,
    Authorizer,
    CallResult,
    Elicit,
    Json,
    PromptInfo,
    ResourceInfo,
    ServerConfig,
    ServerFailure,
    ServerInfo,
    ToolInfo,
    Transport,
)
from agent_core.records import dataclass
from agent_core.safety.redact import redact
from agent_core.sandbox.policy import SandboxPolicy

_CHANGED: Final = frozenset({"notifications/tools/list_changed", "notifications/prompts/list_changed"})
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Around:
    """What a client is given by the program around it. All of it may be used from several threads."""

    workspace: Path
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    """Ours, of which a program that is started gets what R9 says."""
    keys: tuple[str, ...] = ()
    """Values no server is told, beside what looks like a key by its name: those of model providers."""
    confine: Callable[[], SandboxPolicy | None] | None = None
    """The walls of a server with `sandbox`. Raises SandboxError. None of either: it is not started."""
    authorizer: Authorizer | None = None
    """Lets requests in at the server's URL; None: nothing does but the headers that are configured."""
    elicit: Elicit | None = None
    """Asks a person what the server wants to know; None: every question is declined."""
    redact: Callable[[str], str] = redact
    keep: Keep | None = None
    """Writes what a model cannot be given to a file; None: it is only named."""


class Client:
    """A server and the connection to it. Safe to use from several threads; `close` ends what is under way."""

    def __init__(
        self,
        config: ServerConfig,
        around: Around,
        *,
        hint: Era = "",
        offer: str = protocol.LEGACY[0],
        on_tools_changed: Callable[[], None] = lambda: None,
        on_state: Callable[[], None] = lambda: None,
    ) -> None:
        """`hint`: the era that was found the last time (R12). `offer`: the revision that a handshake offers.

        `on_tools_changed` and `on_state` are called in any thread and return at once.
        """
        self.config = config
        self._around = around
        self._on_tools_changed = on_tools_changed
        self._lane = Lane()
        self._connection = Connection(
            config,
            self._made,
            around.redact,
            elicits=around.elicit is not None,
            hint=hint,
            offer=offer,
            on_state=on_state,
        )
        self._warnings: tuple[str, ...] = ()

    # -- how it is ----------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self._connection.state

    @property
    def problem(self) -> str:
        """Why the last start failed; empty when it did not."""
        return self._connection.problem

    @property
    def info(self) -> ServerInfo:
        """What the server said of itself when it was connected last; empty before that."""
        return self._connection.agreed.info

    @property
    def era(self) -> Era:
        """The era that was agreed on, to be given as `hint` the next time; empty before that."""
        return self._connection.agreed.era

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was wrong in the lists read last: entries left out, pages that never end."""
        return self._warnings

    def noise(self) -> tuple[str, ...]:
        """Lines the server wrote that were no messages, and the end of its error stream; for a person to look at."""
        return self._connection.noise()

    def connect(self, cancel: CancelScope) -> ServerInfo:
        """Start the server where it is not running, and agree on a revision; within config.startup_timeout.

        Raises ServerFailure with what the server wrote last, Interrupted.
        """
        self._connection.open(cancel)
        return self.info

    def close(self) -> None:
        """End the connection; a program is given twice limits.MCP_CLOSE to go. Nothing is started after that."""
        self._connection.close()

    # -- what it has --------------------------------------------------------------------------------------------------

    def list_tools(self, cancel: CancelScope) -> tuple[ToolInfo, ...]:
        """All its tools, from every page; entries that are none are left out and named in `warnings` (R23, R27)."""
        read = partial(lists.tools, by_http=self.config.type != "stdio")
        return self._listed("tools", "tools/list", "tools", read, cancel)

    def list_resources(self, cancel: CancelScope) -> tuple[ResourceInfo, ...]:
        return self._listed("resources", "resources/list", "resources", lists.resources, cancel)

    def list_templates(self, cancel: CancelScope) -> tuple[ResourceInfo, ...]:
        """Patterns of resources' addresses."""
        return self._listed("resources", "resources/templates/list", "resourceTemplates", lists.templates, cancel)

    def list_prompts(self, cancel: CancelScope) -> tuple[PromptInfo, ...]:
        return self._listed("prompts", "prompts/list", "prompts", lists.prompts, cancel)

    def read_resource(self, uri: str, cancel: CancelScope) -> CallResult:
        """What a resource holds, for a model. Raises ServerFailure, Interrupted."""
        return self._result("resources/read", {"uri": uri}, results.resource, cancel)

    def get_prompt(self, name: str, arguments: Mapping[str, str], cancel: CancelScope) -> CallResult:
        """A prompt's messages with these arguments, for a model. Raises ServerFailure, Interrupted."""
        return self._result("prompts/get", {"name": name, "arguments": dict(arguments)}, results.prompt, cancel)

    def call(
        self,
        tool: ToolInfo,
        arguments: Json,
        cancel: CancelScope,
        on_progress: Callable[[str], None] | None = None,
    ) -> CallResult:
        """Call a tool once; it is never called again by itself when the outcome is not known (R7).

        A refusal is a result that is not ok (R29). Raises ServerFailure, Interrupted within limits.MCP_CANCEL.
        """
        params = {"name": tool.name, "arguments": dict(arguments)}
        try:
            return self._result(
                "tools/call",
                params,
                results.call,
                cancel,
                on_progress=on_progress or (lambda words: None),
                headers=lists.argument_headers(tool, arguments),
            )
        except Refused as refusal:
            if refusal.number == protocol.NEEDS_A_VISIT:
                return self._visits(refusal.data, cancel)
            return CallResult(refusal.text, ok=False)

    def _listed(
        self,
        capability: str,
        method: str,
        key: str,
        read: Callable[[list[Any]], tuple[tuple[_T, ...], tuple[str, ...]]],
        cancel: CancelScope,
    ) -> tuple[_T, ...]:
        self.connect(cancel)
        if capability not in self.info.capabilities:  # R13
            return ()
        ask = lambda params: self._ask(method, params, cancel)  # noqa: E731
        entries, warnings = lists.all_pages(ask, key)
        found, wrong = read(entries)
        if method == "tools/list":
            self._warnings = tuple(self._connection.told(warning) for warning in (*warnings, *wrong))
        return found

    def _result(
        self,
        method: str,
        params: Json,
        read: Callable[[Json, Keep | None], CallResult],
        cancel: CancelScope,
        **how: Any,
    ) -> CallResult:
        return read(self._ask(method, params, cancel, **how), self._around.keep)

    # -- one request --------------------------------------------------------------------------------------------------

    def _ask(
        self,
        method: str,
        params: Json,
        cancel: CancelScope,
        *,
        on_progress: Callable[[str], None] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """The result of a request, over a connection that is made where there is none. One at a time (R35)."""
        with self._lane.held(cancel), self._telling():
            once_more = True
            while True:
                transport = self._connection.open(cancel)
                try:
                    return self._rounds(transport, method, params, cancel, on_progress, headers)
                except SessionLost:
                    if not once_more:
                        raise
                    once_more = False
                    self._connection.begin_again(transport, cancel)
                except ServerFailure as failure:
                    if method == "tools/call" and failure.code in UNKNOWN:
                        # Before what the server wrote last: that may be long, and is cut.
                        what, line_end, last = failure.text.partition("\n")
                        doubt = "Whether the tool did its work is not known: look before you call it again."
                        failure.text = f"{what} {doubt}{line_end}{last}"
                    raise

    def _rounds(
        self,
        transport: Transport,
        method: str,
        params: Json,
        cancel: CancelScope,
        on_progress: Callable[[str], None] | None,
        headers: Mapping[str, str] | None,
    ) -> Json:
        """A request, sent again with what the server asks for until it is complete (modern: input_required)."""
        agreed = self._connection.agreed
        sent, pause = params, 0.05
        other_version = True
        for _ in range(limits.MCP_ROUNDS):
            try:
                answer = transport.request(
                    method,
                    protocol.with_meta(sent, agreed.declared) if agreed.era == "modern" else sent,
                    timeout=self.config.timeout,
                    cancel=cancel,
                    on_progress=on_progress,
                    headers=headers,
                )
            except Refused as refusal:
                if not (other_version and agreed.era == "modern" and handshake.is_offered_modern(refusal)):
                    raise
                other_version = False
                continue
            kind = answer.get("resultType", "complete")  # R11
            if agreed.era != "modern" or kind == "complete":
                return answer
            if kind != "input_required":
                raise self._unknown_result(str(kind))
            wanted = answer.get("inputRequests")
            more = self._inputs(wanted, cancel) if isinstance(wanted, Mapping) and wanted else {}
            if not more and cancel.wait(pause):  # it only wants to be asked again
                raise Interrupted
            pause = min(pause * 2, 0.25)
            sent = {**params, **more}
            if "requestState" in answer:
                sent = {**sent, "requestState": answer["requestState"]}
        raise ServerFailure(
            "mcp_rounds",
            f"The server {self.config.name} has asked for more input {limits.MCP_ROUNDS} times for one request, which"
            " was given up.",
            server=self.config.name,
        )

    def _unknown_result(self, kind: str) -> ServerFailure:
        return ServerFailure(
            "mcp_result",
            f"The server {self.config.name} gave a result of the kind {kind!r}, which is not known here.",
            server=self.config.name,
            kind=kind,
        )

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Failures leave it as they may be told: without control bytes and keys, bounded."""
        try:
            yield
        except ServerFailure as failure:
            self._connection.tell(failure)
            raise

    # -- what it asks and tells ---------------------------------------------------------------------------------------

    def _made(self, kind: Kind) -> Transport:
        """A connection of this kind that is still to be made. The HTTP ones are heavy, and loaded when one is used."""
        around, ears = self._around, self._ears()
        if kind == "stdio":
            from agent_core.mcp.stdio import Stdio

            return Stdio(self.config, around.workspace, around.environ, around.keys, around.confine, ears)
        if kind == "http":
            from agent_core.mcp.http import Http

            return Http(self.config, around.authorizer, ears)
        from agent_core.mcp.sse_old import OldSse

        return OldSse(self.config, around.authorizer, ears)

    def _ears(self) -> Ears:
        return Ears(self.config.name, self._elicited, self._heard)

    def _heard(self, method: str, params: Json) -> None:
        """A notification. Called in the connection's reading thread."""
        if method in _CHANGED:  # whether it is among the capabilities or not (R24)
            self._on_tools_changed()

    def _elicited(self, params: Json, cancel: CancelScope) -> Json:
        """The answer to elicitation/create. Raises Interrupted."""
        return forms.answer(params, self._around.elicit, self._around.redact, cancel)

    def _inputs(self, wanted: Mapping[str, Any], cancel: CancelScope) -> Json:
        """The answers to what a modern server asks in its result, one after another."""
        given: dict[str, Any] = {}
        for key, request in wanted.items():
            request = request if isinstance(request, Mapping) else {}
            method, params = request.get("method"), request.get("params")
            if method != "elicitation/create":  # never declared: sampling, roots
                raise ServerFailure(
                    "mcp_wants",
                    f"The server {self.config.name} wants {method} to go on, which is not offered here.",
                    server=self.config.name,
                    what=str(method),
                )
            given[key] = self._elicited(params if isinstance(params, Mapping) else {}, cancel)
        return {"inputResponses": given}

    def _visits(self, data: Json, cancel: CancelScope) -> CallResult:
        """A person has to open pages before the tool can be called (2025-11-25, -32042)."""
        pages = data.get("elicitations")
        answers = [
            self._elicited(page, cancel).get("action") for page in (pages if isinstance(pages, list) else [])
            if isinstance(page, Mapping)
        ]  # fmt: skip
        if answers and all(answer == "accept" for answer in answers):
            text = "The server wanted a page to be opened first, and the person was shown it. Ask them whether they are"
            return CallResult(f"{text} done there, and call the tool again then.", ok=False)
        return CallResult("The server wants a person to open a page first, and that was declined.", ok=False)
