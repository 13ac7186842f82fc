"""KIND llm: the model client against recorded and made-up servers, byte for byte over a real socket.

A case says how a server answers and what a careful client makes of it; see the corpus' own README for the format.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_core.cancel import CancelScope
from agent_core.errors import ProviderError
from agent_core.llm.client import make_client
from agent_core.llm.providers import PRESETS, ProviderOptions, resolve
from agent_core.messages import Message, ToolResult, tool, user
from agent_core.ports.model import Delta, LlmReply, LlmRequest, ToolSchema
from tests.fakes.replay_server import ReplayServer, has_path, matches

Row = dict[str, Any]
_SESSIONS = itertools.count()


@contextmanager
def opened(path: Path, *, as_root: bool) -> Iterator[Callable[[Row], str]]:
    with ReplayServer([path]) as server:
        yield lambda row: judge(row, server)


def judge(row: Row, server: ReplayServer, gap_session: str = "") -> str:
    """Run one case; "" when all it expects came true, else what did not."""
    session = gap_session or f"t{next(_SESSIONS)}"
    client, request = _client_and_request(row, server.base_url(row["id"], session))
    sink: list[Delta] = []
    started = time.monotonic()
    reply: LlmReply | None = None
    error: ProviderError | None = None
    try:
        reply = client.complete(request, sink.append, CancelScope())
        if row.get("dialog"):
            sink.clear()
            reply = client.complete(_answered(row, request, reply), sink.append, CancelScope())
    except ProviderError as caught:
        error = caught
    finally:
        client.close()
    took = time.monotonic() - started
    log = server.log(row["id"], session)
    wrong = _needs_unmet(row, log) or _requests_wrong(row["expected"], log, took)
    if error is not None:
        return wrong or _error_wrong(row["expected"], error, sink)
    assert reply is not None
    return wrong or _reply_wrong(row, reply, sink)


def _client_and_request(row: Row, base_url: str) -> Any:
    needs = row.get("needs") or {}
    wanted = set(needs.get("body_has", ()))
    preset = row["provider_like"] if row["provider_like"] in PRESETS else "custom"
    entry: dict[str, Any] = {"base_url": base_url, "preset": preset}
    # A case about a field needs a client that sends it, whatever the kind of server.
    if "stream_options" in wanted:
        entry["stream_options"] = True
    for field in wanted & {"max_tokens", "max_completion_tokens"}:
        entry["max_tokens_field"] = field
    entry["strict_tools"] = needs.get("tool_key") == "strict"
    known = {"stream_options", "max_tokens", "max_completion_tokens", "temperature", "reasoning_effort", "tools"}
    entry["extra_body"] = {field.split(".")[0]: False for field in wanted - known}
    repeats = "attempts" in row
    idle = max(row.get("read_timeout_s") or 10.0, row.get("min_read_timeout_s") or 0.0)
    options = ProviderOptions(
        model="m-1",
        provider="replay",
        providers={"replay": entry},
        retry_base=0.2,
        max_attempts=3 if repeats else 1,  # what is about one reply shall not sit out the wait it asks for
        idle_timeout=idle,
    )
    client = make_client(resolve(options, {}, {}), options)
    offered = row.get("tools") or [] if row.get("offer_tools", True) else []
    request = LlmRequest(
        messages=(Message("system", "You are a coding agent."), user("Go on.")),
        tools=tuple(ToolSchema(name, f"The tool {name}.", {"type": "object", "properties": {}}) for name in offered),
        stream=row.get("request_stream", True),
        temperature=0.2 if "temperature" in wanted else None,
        reasoning_effort="low" if "reasoning_effort" in wanted else None,
        max_tokens=512 if wanted & {"max_tokens", "max_completion_tokens"} else None,
    )
    return client, request


def _answered(row: Row, request: LlmRequest, reply: LlmReply) -> LlmRequest:
    text = row["tool_result"]
    if row.get("tool_result_encoding") == "utf-16-le-hex":
        text = bytes.fromhex(text).decode("utf-16-le", "surrogatepass")
    said = Message(
        "assistant",
        reply.text,
        tool_calls=reply.tool_calls,
        reasoning=reply.reasoning,
        model=reply.model,
        usage=reply.usage,
        extra=reply.extra,
    )
    results = [tool(ToolResult(c.id, c.name, c.arguments_error or text)) for c in reply.tool_calls]
    return replace(request, messages=(*request.messages, said, *results))


def _needs_unmet(row: Row, log: list[Row]) -> str:
    needs = row.get("needs") or {}
    if not needs:
        return ""
    if not log:
        return "no request came"
    return "" if matches(needs, log[0]["body"], 0) else f"the client's first request has not what it needs: {needs}"


def _requests_wrong(expected: Row, log: list[Row], took: float) -> str:
    times = [entry["t"] for entry in log]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    if "requests" in expected and len(log) != expected["requests"]:
        return f"{len(log)} requests"
    if len(log) > expected.get("requests_max", 99):
        return f"{len(log)} requests"
    if any(gap < expected.get("min_gap_s", 0) for gap in gaps):
        return f"gaps {gaps}"
    if any(gap > expected.get("max_gap_s", 99) for gap in gaps):
        return f"gaps {gaps}"
    if expected.get("gaps_grow") and any(b <= a for a, b in itertools.pairwise(gaps)):
        return f"gaps {gaps}"
    if took > expected.get("max_total_s", 99):
        return f"took {took:.1f} s"
    return ""


def _error_wrong(expected: Row, error: ProviderError, sink: list[Delta]) -> str:
    if "error_class" not in expected:
        return f"failed: {error.kind}: {error}"
    if error.kind != expected["error_class"] or error.retryable != expected.get("retryable", error.retryable):
        return f"{error.kind}, retryable {error.retryable}: {error}"
    for name, partial in (("text", error.partial_text), ("reasoning", error.partial_reasoning)):
        if partial.strip() != (expected.get(name) or "").strip():
            return f"partial {name} {partial!r}"
        if _delivered(sink, name).strip() != partial.strip():
            return f"delivered {name} {_delivered(sink, name)!r}, but partial is {partial!r}"
    if expected.get("partial") is False and any(d.kind in ("text", "reasoning", "tool") for d in sink):
        return "something was delivered"
    text = str(error)
    if len(text) > expected.get("message_max_chars", 10_000):
        return f"a message of {len(text)} characters"
    forbidden = expected.get("message_forbids") or ()
    found = [word for word in ([forbidden] if isinstance(forbidden, str) else forbidden) if word in text]
    if found:
        return f"the message holds {found}"
    wait = expected.get("retry_after_s")
    if wait is not None and (error.retry_after is None or abs(error.retry_after - wait) > 1.5):
        return f"the server's wait was read as {error.retry_after}"
    return ""


def _reply_wrong(row: Row, reply: LlmReply, sink: list[Delta]) -> str:
    expected = row["expected"]
    if "error_class" in expected:
        return f"no error but {reply.text!r}, {reply.tool_calls}"
    for name in ("text", "reasoning"):
        if getattr(reply, name).strip() != (expected.get(name) or "").strip():
            return f"{name} {getattr(reply, name)!r}"
    if reply.text.strip() and row.get("request_stream", True) and not row.get("feature"):
        shown = _delivered(sink, "text")
        if reply.text.strip() not in shown:
            return f"text was delivered as {shown!r}"
    return (
        _calls_wrong(row, reply)
        or _usage_wrong(expected.get("usage"), reply)
        or ("" if reply.finish == expected.get("finish", reply.finish) else f"finish {reply.finish}")
        or ("" if reply.dropped_tool_calls == expected.get("dropped_tool_calls", 0) else "calls dropped")
        or ("" if reply.is_empty == expected.get("empty", reply.is_empty) else f"empty {reply.is_empty}")
        or _roundtrip_wrong(expected.get("roundtrip") or (), reply)
    )


def _calls_wrong(row: Row, reply: LlmReply) -> str:
    wanted = list(row["expected"].get("tool_calls") or ())
    got = list(reply.tool_calls)
    if len(wanted) != len(got) or len({c.id for c in got}) != len(got) or not all(c.id for c in got):
        return f"calls {got}"
    if row.get("any_order"):
        wanted.sort(key=lambda c: str(c["id"]))
        got.sort(key=lambda c: c.id)
    for want, call in zip(wanted, got, strict=True):
        if want.get("id") not in (None, call.id) or want["name"] != call.name:
            return f"call {call}"
        if bool(want.get("arguments_error")) != (call.arguments_error is not None):
            return f"call {call}"
        if not _same(want.get("arguments") or {}, dict(call.arguments)):
            return f"arguments {call.arguments}"
    return ""


def _same(want: Any, got: Any) -> bool:
    if isinstance(want, dict) and "$sha256" in want:
        digest = hashlib.sha256(got.encode()).hexdigest() if isinstance(got, str) else ""
        return digest == want["$sha256"] and len(got) == want["$len"]
    if isinstance(want, dict):
        return isinstance(got, dict) and want.keys() == got.keys() and all(_same(want[k], got[k]) for k in want)
    return bool(want == got)


def _usage_wrong(want: Mapping[str, Any] | None, reply: LlmReply) -> str:
    if want is None:
        return "" if reply.usage is None else f"usage {reply.usage}"
    if any(getattr(reply.usage, name, None) != value for name, value in want.items()):
        return f"usage {reply.usage}"
    return ""


def _roundtrip_wrong(paths: tuple[str, ...], reply: LlmReply) -> str:
    sent_back = {**reply.extra, **{f"tool_calls[{i}]": dict(c.extra) for i, c in enumerate(reply.tool_calls)}}
    missing = [path for path in paths if not has_path(sent_back, path)]
    return f"not kept to be sent back: {missing}" if missing else ""


def _delivered(sink: list[Delta], kind: str) -> str:
    """What a screen shows in the end: the deltas since the last reset."""
    last = max((i for i, d in enumerate(sink) if d.kind == "reset"), default=-1)
    return "".join(d.text for d in sink[last + 1 :] if d.kind == kind)
