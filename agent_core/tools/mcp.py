"""What MCP servers offer, as tools: their own tools, four helpers (R34), and a search among too many (R32).

A server is a program of the user's outside the sandbox: what its tools do is judged as a ServerAction. What a server
says of its tools is data of a stranger: it raises what is asked, and lowers it only where the user trusts it (R30).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from agent_core import limits, names
from agent_core.errors import AgentError, ToolFailure
from agent_core.images import reader as images
from agent_core.mcp import kept
from agent_core.mcp.managed import Managed, Peer
from agent_core.mcp.words import UNKNOWN, CallResult, ResourceInfo, ServerFailure, ToolInfo
from agent_core.messages import EffectState, ImagePart
from agent_core.ports.actions import Effect, NoAction, ServerAction
from agent_core.ports.tools import Args, Prepared, Tool, ToolContext, ToolOutput
from agent_core.records import dataclass
from agent_core.sandbox.policy import READ_ONLY
from agent_core.text.printable import printable
from agent_core.toolsets import is_off

from . import base


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool of a server, with the name and the schema that a model is given."""

    server: Managed
    info: ToolInfo
    name: str
    parameters: Mapping[str, Any]
    remark: str = ""
    """What the schema could not say."""

    @property
    def toolset(self) -> str:
        return f"{names.MCP_SET}:{self.server.config.name}"

    @property
    def only_reads(self) -> bool:
        """The user trusts the server, and it says so."""
        return self.server.config.trust and self.info.reads and not self.info.destroys


# -- a tool of a server ---------------------------------------------------------------------------------------------


def server_tool(offered: Offered) -> Tool:
    return Tool(
        offered.name,
        description(offered),
        offered.parameters,
        lambda args: _effect(offered),
        _subject,
        lambda args, ctx: _prepare(offered, args, ctx),
        seconds=lambda args: offered.server.config.timeout,
        toolset=offered.toolset,
        foreign=True,
    )


def description(offered: Offered) -> str:
    """What the server says of it, bounded; whose words these are stands behind them."""
    info = offered.info
    text = " ".join(filter(None, (info.description or info.title or info.name, offered.remark))).strip()
    if len(text) > limits.MCP_DESCRIPTION:
        text = text[: limits.MCP_DESCRIPTION] + " [cut]"
    return f"{text} (MCP server {printable(offered.server.config.name)})"


def _effect(offered: Offered) -> Effect:
    if offered.only_reads:
        return Effect("read")
    # Calls of one server go one after the other, those of others beside them (R35).
    return Effect("write", (f"mcp:{offered.server.config.name}",))


def _prepare(offered: Offered, args: Args, ctx: ToolContext) -> Prepared:
    config, info = offered.server.config, offered.info
    action = ServerAction(
        config.name,
        info.name,
        config.identity,
        printable(info.title),
        _shown(args),
        config.trust,
        config.trust and info.reads,
        info.destroys,
    )

    def run() -> ToolOutput:
        return _given(
            lambda: offered.server.call(info, args, ctx.asker, ctx.cancel, ctx.progress), ctx, offered.only_reads
        )

    return base.prepared(action, run)


def _given(call: Callable[[], CallResult], ctx: ToolContext, only_reads: bool) -> ToolOutput:
    """What a server gave, or why it gave nothing. Raises Interrupted."""
    try:
        result = call()
    except ServerFailure as failure:
        lost: EffectState = "none" if only_reads or failure.code not in UNKNOWN else "unknown"
        return ToolOutput(failure.text, _outcome(failure), ok=False, effect=lost, preview=(failure.text,))
    images, remarks = _pictures(result.images, ctx)
    size = len(result.text) + result.left_out
    if result.left_out:
        remarks.append(f"[The server gave {size:,} characters; the middle of them was thrown away.]")
    text = "\n".join(filter(None, (result.text, *remarks)))
    effect: EffectState = "none" if only_reads else "done"
    if not result.ok:
        return ToolOutput(text or "The server says that it failed.", "failed", ok=False, effect=effect)
    outcome = base.count(size, "character") if size else "done"
    return ToolOutput(text or "(nothing)", outcome, effect=effect, images=images)


def _pictures(sent: Sequence[ImagePart], ctx: ToolContext) -> tuple[tuple[ImagePart, ...], list[str]]:
    """The pictures as the model can be given them, and where those are that it cannot. Raises Interrupted."""
    shown: list[ImagePart] = []
    remarks = []
    for number, part in enumerate(sent, 1):
        data = base64.b64decode(part.data)
        if not ctx.sees_images:
            why = "You cannot be shown images here"
        elif len(shown) == limits.IMAGES_HELD:
            why = f"{limits.IMAGES_HELD} are shown to you at once"
        else:
            try:
                shown.append(images.fit(data, f"picture {number}", ctx.cancel, ctx.confine(READ_ONLY)).part)
                continue
            except AgentError as error:
                if error.code == "interrupted":
                    raise
                why = error.text.removesuffix(".")
        try:
            place = f"it is in the file {kept.write(ctx.data_home, data, part.media_type)}"
        except OSError as error:
            place = f"it could not be written to a file: {error.strerror or error}"
        remarks.append(f"[picture {number}: {why}; {place}]")
    return tuple(shown), remarks


def _outcome(failure: ServerFailure) -> str:
    return {"mcp_timeout": "gave no answer", "mcp_login": "log-in needed", "mcp_breaker": "left alone"}.get(
        failure.code, "failed"
    )


def _subject(args: Args) -> str:
    """The first short text among the arguments, which mostly says what it is about."""
    texts = [value for value in args.values() if isinstance(value, str) and value.strip()]
    return texts[0] if texts else ""


def _shown(args: Args) -> str:
    """The arguments as a person reads them, one a line."""
    lines = []
    for name, value in args.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        lines.append(f"{name}: {text}")
    return "\n".join(printable(line) for text in lines for line in text.splitlines())


# -- the helpers ----------------------------------------------------------------------------------------------------


def helpers(servers: Sequence[Managed]) -> tuple[Tool, ...]:
    """The tools for resources and prompts, while a server has any (R34)."""
    having = {
        what: [one for one in servers if one.known is not None and what in one.known.info.capabilities]
        for what in ("resources", "prompts")
    }
    out = []
    if there := having["resources"]:
        out.append(_helper(names.MCP_LIST_RESOURCES, "List what an MCP server offers to be read.", there, _resources))
        uri = {"uri": base.prop("string")}
        out.append(_helper(names.MCP_READ_RESOURCE, "Read a resource of an MCP server.", there, _read_resource, uri))
    if there := having["prompts"]:
        out.append(_helper(names.MCP_LIST_PROMPTS, "List the prompts that an MCP server offers.", there, _prompts))
        what = {"name": base.prop("string"), "arguments": base.prop("object", "Texts by their names.")}
        text = "Get a prompt of an MCP server, filled in."
        out.append(_helper(names.MCP_GET_PROMPT, text, there, _get_prompt, what, ("arguments",)))
    return tuple(out)


Helping = Callable[[Peer, Args, ToolContext], CallResult]


def _helper(
    name: str,
    text: str,
    there: Sequence[Managed],
    help_: Helping,
    more: Mapping[str, dict[str, Any]] = MappingProxyType({}),
    optional: Sequence[str] = (),
) -> Tool:
    by_name = {one.config.name: one for one in there}
    required = ("server", *(key for key in more if key not in optional))

    def prepare(args: Args, ctx: ToolContext) -> Prepared:
        server = by_name.get(base.text(args, "server"))
        if server is None:
            raise ToolFailure(
                f"There is no such server. There are: {', '.join(by_name)}.", code="no_server",
                outcome="invalid arguments",
            )  # fmt: skip
        for key in required[1:]:
            base.text(args, key)
        config = server.config
        what = {key: value for key, value in args.items() if key != "server"}
        # To list and to read is what a server is there for; but what it does then is known to none but itself.
        action = ServerAction(
            config.name, name, config.identity, arguments=_shown(what), trusted=config.trust, reads=config.trust
        )

        def run() -> ToolOutput:
            return _given(lambda: server.ask(lambda peer: help_(peer, args, ctx), ctx.asker, ctx.cancel), ctx, True)

        return base.prepared(action, run)

    schema = base.schema(required, server=base.prop("string", enum=list(by_name)), **more)
    return Tool(
        name, text, schema, lambda args: Effect("read"), lambda args: base.subject(args, "uri", "name", "server"),
        prepare, toolset=names.MCP_SET,
    )  # fmt: skip


def _resources(peer: Peer, args: Args, ctx: ToolContext) -> CallResult:
    plain = [_row(one) for one in peer.list_resources(ctx.cancel)]
    patterns = [_row(one) for one in peer.list_templates(ctx.cancel)]
    lines = [*plain, *(["", "Patterns, to be filled in:"] if patterns else []), *patterns]
    return CallResult("\n".join(_bounded(lines)) or "It has none.")


def _row(one: ResourceInfo) -> str:
    facts = [one.title or one.name, one.media_type, " ".join(one.description.split())[: limits.WEB_SEARCH_TITLE]]
    return " · ".join([one.uri, *(fact for fact in facts if fact)])


def _read_resource(peer: Peer, args: Args, ctx: ToolContext) -> CallResult:
    return peer.read_resource(base.text(args, "uri"), ctx.cancel)


def _prompts(peer: Peer, args: Args, ctx: ToolContext) -> CallResult:
    lines = []
    for one in peer.list_prompts(ctx.cancel):
        wanted = ", ".join(f"{name}{'' if needed else '?'}" for name, _, needed in one.arguments)
        lines.append(f"{one.name}({wanted}) · {' '.join((one.description or one.title).split())}")
    return CallResult("\n".join(_bounded(lines)) or "It has none.")


def _get_prompt(peer: Peer, args: Args, ctx: ToolContext) -> CallResult:
    given = args.get("arguments")
    filled = {str(key): str(value) for key, value in given.items()} if isinstance(given, Mapping) else {}
    return peer.get_prompt(base.text(args, "name"), filled, ctx.cancel)


def _bounded(lines: list[str]) -> list[str]:
    more = len(lines) - limits.MCP_HELPER_ROWS
    return lines if more <= 0 else [*lines[: limits.MCP_HELPER_ROWS], f"[{more:,} more are not listed]"]


# -- too many tools -------------------------------------------------------------------------------------------------


def search_pair(behind: Sequence[Offered], off: Callable[[], Collection[str]]) -> tuple[Tool, Tool]:
    """The tools that find and call those for which a request has no room (R32). `off`: what is switched off."""
    by_name = {offered.name: offered for offered in behind}
    servers = ", ".join(dict.fromkeys(printable(offered.server.config.name) for offered in behind))

    def find(args: Args, ctx: ToolContext) -> Prepared:
        words = base.text(args, "query")

        def run() -> ToolOutput:
            now = off()
            found = _found(words, [one for one in behind if not is_off(one.name, one.toolset, now)])
            lines = []
            for offered in found:
                schema = json.dumps(offered.parameters, ensure_ascii=False, default=dict)
                lines.append(f"{offered.name}: {description(offered)}\n  arguments: {schema}")
            text = "\n\n".join(lines) or f"None of {len(behind)} fits. Try other words."
            return ToolOutput(text, f"{len(found)} of {len(behind)}")

        return base.prepared(NoAction(), run)

    def call(args: Args, ctx: ToolContext) -> Prepared:
        offered = by_name.get(base.text(args, "name"))
        if offered is None:
            raise ToolFailure(
                f"There is no such tool. Find one with {names.MCP_SEARCH_TOOLS} first.", code="unknown_tool",
                outcome="unknown tool",
            )  # fmt: skip
        if is_off(offered.name, offered.toolset, off()):
            raise ToolFailure(
                f"{offered.name} is switched off in this session. It was not run.", code="tool_off",
                outcome="switched off",
            )  # fmt: skip
        given = args.get("arguments")
        return _prepare(offered, given if isinstance(given, Mapping) else {}, ctx)

    def effect(args: Args) -> Effect:
        offered = by_name.get(str(args.get("name")))
        return _effect(offered) if offered is not None else Effect("none")

    return (
        Tool(
            names.MCP_SEARCH_TOOLS,
            f"Find one of {len(behind)} more tools of MCP servers ({servers}), to be called with "
            f"{names.MCP_CALL_TOOL}. Words of what it is to do.",
            base.schema(("query",), query=base.prop("string")),
            lambda args: Effect("none"),
            lambda args: base.subject(args, "query"),
            find,
            toolset=names.MCP_SET,
        ),
        Tool(
            names.MCP_CALL_TOOL,
            f"Call a tool that {names.MCP_SEARCH_TOOLS} found.",
            base.schema(
                ("name",),
                name=base.prop("string"),
                arguments=base.prop("object", "As the search says."),
            ),
            effect,
            lambda args: base.subject(args, "name"),
            call,
            seconds=lambda args: max((one.server.config.timeout for one in behind), default=0.0),
            toolset=names.MCP_SET,
        ),
    )


_WORD: Final = re.compile(r"[a-z0-9]+|[\u3040-\u9fff\uac00-\ud7af]")


def _found(words: str, behind: Sequence[Offered]) -> list[Offered]:
    """Those in which most of the words stand, a word in the name counting more."""
    wanted = set(_WORD.findall(words.lower()))

    def score(offered: Offered) -> int:
        name = " ".join((offered.name, offered.info.title)).lower()
        text = offered.info.description.lower()
        return sum(3 * (word in name) + (word in text) for word in wanted)

    scored = [(score(offered), -place) for place, offered in enumerate(behind)]
    best = sorted((pair for pair in scored if pair[0]), reverse=True)[: limits.MCP_FOUND]
    return [behind[-place] for _, place in best]
