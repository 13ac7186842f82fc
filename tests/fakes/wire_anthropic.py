"""The messages wire as Anthropic documents it, with its words for what it refuses."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from tests.fakes.wire_server import (
    Answer,
    Count,
    Event,
    Failure,
    FakeWire,
    Memory,
    check_name,
    check_schema,
    need,
    only_keys,
    pieces,
    written,
)

_TOP = (
    "model messages system max_tokens stream tools tool_choice thinking output_config temperature top_p top_k "
    "stop_sequences metadata"
)
_BLOCKS = {
    "text": "type text cache_control",
    "image": "type source cache_control",
    "tool_use": "type id name input cache_control",
    "tool_result": "type tool_use_id content is_error cache_control",
    "thinking": "type thinking signature",
    "redacted_thinking": "type data",
}
_OF_ROLE = {
    "user": {"text", "image", "tool_result"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
}
_IDS = itertools.count()


def check(body: dict, headers: Mapping[str, str], memory: Memory) -> None:
    need(headers.get("anthropic-version") == "2023-06-01", "anthropic-version: header is required")
    only_keys(body, _TOP, "body")
    need(isinstance(body.get("model"), str) and body["model"], "model: Field required")
    need(isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0, "max_tokens: Field required")
    need(0 <= body.get("temperature", 0) <= 1, "temperature: range: 0..1")
    _check_thinking(body)
    for number, block in enumerate(body.get("system", ())):
        only_keys(block, "type text cache_control", f"system.{number}")
        need(block["type"] == "text" and block["text"].strip(), f"system.{number}: empty")
    _check_tools(body)
    messages = body.get("messages")
    need(isinstance(messages, list) and messages, "messages: at least one message is required")
    _check_messages(messages, body, memory)
    _check_marks(body)


def _check_thinking(body: dict) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        need("output_config" not in body, "output_config without thinking")
        return
    if thinking["type"] == "enabled":
        only_keys(thinking, "type budget_tokens", "thinking")
        need(thinking["budget_tokens"] >= 1024, "thinking.enabled.budget_tokens: greater than or equal to 1024")
        need(body["max_tokens"] > thinking["budget_tokens"], "max_tokens must be greater than thinking.budget_tokens")
    else:
        only_keys(thinking, "type display", "thinking")
        need(thinking["type"] == "adaptive", "thinking.type")
    need(body.get("temperature", 1) == 1, "temperature may only be set to 1 when thinking is enabled")
    forced = body.get("tool_choice", {"type": "auto"})["type"] not in ("auto", "none")
    need(not forced, "Thinking may not be enabled when tool_choice forces tool use.")


def _check_tools(body: dict) -> None:
    need("tools" in body or "tool_choice" not in body, "tool_choice may only be specified while providing tools")
    need(body.get("tools") != [], "tools is an empty list")
    for number, tool in enumerate(body.get("tools", ())):
        where = f"tools.{number}"
        only_keys(tool, "name description input_schema strict cache_control", where)
        check_name(tool.get("name"), where)
        check_schema(tool.get("input_schema"), where)


def _check_messages(messages: list, body: dict, memory: Memory) -> None:
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        only_keys(message, "role content", where)
        role, content = message["role"], message["content"]
        need(role == ("assistant" if number % 2 else "user"), f"{where}: roles must alternate")
        need(isinstance(content, list) and content, f"{where}: all messages must have non-empty content")
        for block in content:
            need(block["type"] in _OF_ROLE[role], f"{where}: {block['type']} in a message of the {role}")
            only_keys(block, _BLOCKS[block["type"]], where)
            _check_block(block, where, body, memory)
            if "thinking" in block["type"]:
                unchanged = memory.bound[block.get("signature") or block["data"]] == _before(body, number)
                need(
                    unchanged,
                    f"{where}: Invalid `signature` in `thinking` block. It is bound to a different conversation.",
                )
        uses = [b["id"] for b in content if b["type"] == "tool_use"]
        results = [b["tool_use_id"] for b in content if b["type"] == "tool_result"]
        need(results == waiting, f"{where}: `tool_use` ids {waiting} were answered with `tool_result`s {results}")
        need(
            all(b["type"] == "tool_result" for b in content[: len(results)]),
            f"{where}: tool_result blocks come first",
        )
        need(not seen & set(uses) and len(uses) == len(set(uses)), f"{where}: `tool_use` ids must be unique")
        seen |= set(uses)
        waiting = uses
    need(not waiting, f"`tool_use` ids {waiting} have no result")
    need(not seen or body.get("tools"), "Requests which have `tool_use` blocks must define tools")
    last = messages[-1]
    need(last["role"] == "user", "This model does not support assistant message prefill.")
    if body.get("thinking", {}).get("type") == "enabled" and last["content"][0]["type"] == "tool_result":
        first = messages[-2]["content"][0]["type"]
        need("thinking" in first, f"Expected `thinking` or `redacted_thinking`, but found `{first}`")


def _before(body: dict, number: int) -> Any:
    """What stands before the message with this number, but for the marks of the cache."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(item) for key, item in value.items() if key != "cache_control"}
        return [bare(item) for item in value] if isinstance(value, list) else value

    return bare([body.get("system"), body.get("tools"), body["messages"][:number]])


def _check_block(block: dict, where: str, body: dict, memory: Memory) -> None:
    kind = block["type"]
    if kind == "text":
        need(block["text"].strip(), f"{where}: text content blocks must contain non-whitespace text")
    elif kind == "image":
        source = block["source"]
        only_keys(source, "type media_type data", where)
        need(re.fullmatch(r"image/(png|jpeg|gif|webp)", source["media_type"]), f"{where}: media type")
        need(source["type"] == "base64" and re.fullmatch(r"[\w+/=]+", source["data"]), f"{where}: source")
    elif kind == "tool_use":
        need(re.fullmatch(memory.ids or r"[a-zA-Z0-9_-]+", block["id"]), f"{where}: id {block['id']!r}")
        check_name(block["name"], where)
        need(isinstance(block["input"], dict), f"{where}: input should be a valid dictionary")
    elif kind == "tool_result":
        need(isinstance(block["content"], str) and block["content"].strip(), f"{where}: empty result")
    elif kind == "thinking":
        known = memory.issued.get(block["signature"])
        need(known == f"{body['model']} {block['thinking']}", f"{where}: Invalid `signature` in `thinking` block")
    else:
        need(memory.issued.get(block["data"]) == f"{body['model']} ", f"{where}: Invalid `data`")


def _check_marks(body: dict) -> None:
    marked = [b["cache_control"] for b in _all_blocks(body) if "cache_control" in b]
    need(len(marked) <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}.")
    for control in marked:
        only_keys(control, "type ttl", "cache_control")
        need(control["type"] == "ephemeral" and control.get("ttl", "5m") in ("5m", "1h"), "cache_control")


def _all_blocks(body: dict) -> list[dict]:
    inside = [block for message in body["messages"] for block in message["content"]]
    return [*body.get("tools", ()), *body.get("system", ()), *inside]


def has_images(body: dict) -> bool:
    return any(block["type"] == "image" for block in _all_blocks(body) if "type" in block)


# -- what it says ---------------------------------------------------------------------------------------------------


def _blocks(answer: Answer, model: str, memory: Memory) -> list[dict]:
    blocks: list[dict] = []
    if answer.reasoning:
        signature = f"EqQB{next(_IDS):08d}=="
        memory.issued[signature] = f"{model} {answer.reasoning}"
        memory.bound[signature] = _before(memory.body, len(memory.body["messages"]))
        blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": signature})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text})
    for call in answer.calls:
        call_id = call.id or f"toolu_{next(_IDS):08d}"
        blocks.append({"type": "tool_use", "id": call_id, "name": call.name, "input": dict(call.arguments)})
    return blocks


def _reason(answer: Answer) -> str:
    words = {"": "tool_use" if answer.calls else "end_turn", "length": "max_tokens", "filter": "refusal"}
    return words.get(answer.finish, answer.finish)


def _usage(count: Count | None, reply: int) -> dict:
    if count is None:
        return {}
    return {
        "usage": {
            "input_tokens": count.prompt - count.cached - count.cache_write,
            "cache_read_input_tokens": count.cached,
            "cache_creation_input_tokens": count.cache_write,
            "output_tokens": reply,
            "output_tokens_details": {"thinking_tokens": count.reasoning},
        }
    }


def _named(data: dict) -> Event:
    return Event(data, data["type"])


def events(answer: Answer, model: str, memory: Memory) -> tuple[list[Event], list[Event], list[Event]]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": None}
    content: list[Event] = []

    def delta(index: int, **fields: Any) -> None:
        content.append(_named({"type": "content_block_delta", "index": index, "delta": fields}))

    blocks = _blocks(answer, model, memory)
    for index, block in enumerate(blocks):
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
        start = {**block, **empty[block["type"]]}
        content.append(_named({"type": "content_block_start", "index": index, "content_block": start}))
        if block["type"] == "text":
            for text in pieces(block["text"], answer.piece):
                delta(index, type="text_delta", text=text)
        elif block["type"] == "thinking":
            for text in pieces(block["thinking"], answer.piece):
                delta(index, type="thinking_delta", thinking=text)
            delta(index, type="signature_delta", signature=block["signature"])
        else:
            call = answer.calls[index - len(blocks)]
            for text in ["", *pieces(written(call, answer), answer.piece)]:
                delta(index, type="input_json_delta", partial_json=text)
        content.append(_named({"type": "content_block_stop", "index": index}))
        content.append(_named({"type": "ping"}))
    end = {"type": "message_delta", "delta": {"stop_reason": _reason(answer), "stop_sequence": None}}
    reply = answer.count.reply if answer.count is not None else 0
    return (
        [_named({"type": "message_start", "message": {**head, **_usage(answer.count, 1)}})],
        content,
        [_named({**end, **_usage(answer.count, reply)}), _named({"type": "message_stop"})],
    )


def document(answer: Answer, model: str, memory: Memory) -> dict:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": _blocks(answer, model, memory),
        "stop_reason": _reason(answer),
        **_usage(answer.count, answer.count.reply if answer.count is not None else 0),
    }


_FAILURES: dict[str, tuple[int, str, str]] = {
    "auth": (401, "authentication_error", "invalid x-api-key"),
    "no_rights": (403, "permission_error", "Your API key does not have permission to use the specified resource."),
    "quota": (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.",
    ),
    "rate_limit": (429, "rate_limit_error", "This request would exceed your organization's rate limit."),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "server": (500, "api_error", "Internal server error"),
    "overflow": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "not_found": (404, "not_found_error", "model: test-model"),
    "no_images": (400, "invalid_request_error", "This model does not support image input."),
    "bad_request": (400, "invalid_request_error", "The request is wrong."),
}


def failure(failed: Failure) -> tuple[int, dict]:
    status, kind, words = _FAILURES[failed.kind]
    error = {"type": kind, "message": failed.message or words}
    return status, {"type": "error", "error": error, "request_id": "req_1"}


def failure_event(failed: Failure) -> Event:
    return Event(failure(failed)[1], "error")


FAKE = FakeWire("anthropic_messages", "messages", check, has_images, events, document, failure, failure_event)
