"""The demo's "server": a custom httpx transport that answers in the chat-completions wire form.

Real wire code, loop, tools and approvals run over it; only the words are scripted (script.py). Nothing leaves the
machine.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from agent_core.demo.script import Say, next_reply
from agent_core.llm.providers import PRESETS, Endpoint

PIECE_CHARS = 6
PIECE_SECONDS = 0.025  # a calm reading pace; the script must not look faster than a model
THINK_SECONDS = 0.25


def demo_endpoint() -> Endpoint:
    return Endpoint(
        provider="demo", label="scripted demo", base_url="http://demo.invalid/v1", model="demo", key=None,
        preset=PRESETS["custom"],
    )  # fmt: skip


def demo_transport(pace: float = 1.0) -> httpx.BaseTransport:
    """A transport that plays the script; `pace` 0 = without pauses."""
    return _Transport(pace)


class _Transport(httpx.BaseTransport):
    def __init__(self, pace: float) -> None:
        self._pace = pace

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.read())
        say = next_reply([_decoded(m) for m in body.get("messages", ())])
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=headers, stream=_Stream(say, body, self._pace), request=request)


class _Stream(httpx.SyncByteStream):
    def __init__(self, say: Say, body: Mapping[str, Any], pace: float) -> None:
        self._say = say
        self._sent = sum(len(json.dumps(m)) for m in body.get("messages", ())) // 4
        self._pace = pace

    def __iter__(self) -> Iterator[bytes]:
        say = self._say
        time.sleep(THINK_SECONDS * self._pace)
        for key, text in (("reasoning_content", say.reasoning), ("content", say.text)):
            for start in range(0, len(text), PIECE_CHARS):
                yield _event({"choices": [{"index": 0, "delta": {key: text[start : start + PIECE_CHARS]}}]})
                time.sleep(PIECE_SECONDS * self._pace)
        for index, (name, arguments) in enumerate(say.calls):
            call = {
                "index": index,
                "id": f"demo_{time.monotonic_ns():x}_{index}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
            }
            yield _event({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
        yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if say.calls else "stop"}]})
        written = (len(say.text) + len(say.reasoning)) // 4 + 20 * len(say.calls)
        usage = {
            "prompt_tokens": self._sent,
            "completion_tokens": written,
            "total_tokens": self._sent + written,
        }
        yield _event({"choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"


def _event(chunk: Mapping[str, Any]) -> bytes:
    whole = {"id": "demo", "object": "chat.completion.chunk", "model": "demo", **chunk}
    return f"data: {json.dumps(whole, ensure_ascii=False)}\n\n".encode()


def _decoded(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A wire message with its calls decoded under "calls"."""
    calls = [
        {"id": c["id"], "name": c["function"]["name"], "arguments": json.loads(c["function"]["arguments"] or "{}")}
        for c in message.get("tool_calls") or ()
    ]
    return {**message, "calls": calls}
