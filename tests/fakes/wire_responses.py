"""The responses API as a strict server has it: the published reference to the letter, and no reply is ever stored."""

from __future__ import annotations

import itertools
import json
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
    "model input instructions stream store include tools tool_choice parallel_tool_calls temperature top_p "
    "max_output_tokens reasoning text truncation metadata prompt_cache_key safety_identifier service_tier"
)
_ITEMS = {
    "function_call": "type id call_id name arguments status",
    "function_call_output": "type id call_id output status",
    "reasoning": "type id summary content encrypted_content",
}
_PARTS = {
    "user": {"input_text": "type text", "input_image": "type image_url detail"},
    "system": {"input_text": "type text"},
    "developer": {"input_text": "type text"},
    "assistant": {"output_text": "type text annotations", "refusal": "type refusal"},
}
_IDS = itertools.count()


def check(body: dict, headers: Mapping[str, str], memory: Memory) -> None:
    only_keys(body, _TOP, "body")
    need(isinstance(body.get("model"), str) and body["model"], "model is missing")
    need(body.get("store") is False, "store is not false, but later requests will not rely on it")
    need(body.get("include", []) in ([], ["reasoning.encrypted_content"]), "include")
    need("instructions" not in body or body["instructions"].strip(), "empty instructions")
    need(0 <= body.get("temperature", 0) <= 2, "temperature")
    need(body.get("max_output_tokens", 16) >= 16, "max_output_tokens is below 16")
    only_keys(body.get("reasoning", {}), "effort summary", "reasoning")
    _check_tools(body)
    items = body.get("input")
    need(isinstance(items, list) and items, "input is missing")
    _check_items(items, body["model"], memory)


def _check_tools(body: dict) -> None:
    need(body.get("tools") != [], "tools is an empty list")
    need("tools" in body or not {"tool_choice", "parallel_tool_calls"} & set(body), "tool_choice without tools")
    for number, tool in enumerate(body.get("tools", ())):
        where = f"tools[{number}]"
        only_keys(tool, "type name description parameters strict", where)
        need(tool.get("type") == "function", f"{where}: type")
        need(tool.get("strict") is False or _is_strict(tool["parameters"]), f"{where}: the schema is not a strict one")
        check_name(tool.get("name"), where)
        check_schema(tool.get("parameters"), where)


def _is_strict(schema: dict) -> bool:
    return schema.get("additionalProperties") is False and set(schema["required"]) == set(schema["properties"])


def _check_items(items: list[dict], model: str, memory: Memory) -> None:
    waiting: list[str] = []
    seen: set[str] = set()
    before = ""
    for number, item in enumerate(items):
        where = f"input[{number}]"
        kind = item.get("type")
        need(kind == "message" or kind in _ITEMS, f"{where}: type {kind!r}")
        if kind in _ITEMS:
            only_keys(item, _ITEMS[kind], where)
        if kind == "function_call_output":
            need(waiting and item["call_id"] == waiting.pop(0), f"{where}: not the next call's output")
            need(isinstance(item["output"], str) and item["output"].strip(), f"{where}: empty output")
        elif kind == "function_call":
            _check_call(item, where, memory, seen)
            waiting.append(item["call_id"])
        else:
            need(not waiting, f"{where}: calls {waiting} have no output")
        if kind == "reasoning":
            _check_reasoning(item, where, model, memory)
        elif kind == "message":
            need(before != "reasoning" or item["role"] == "assistant", f"{where}: reasoning that nothing follows")
            need(item["role"] != before or before == "assistant", f"{where}: two {before} messages in a row")
            _check_message(item, where)
        before = item["role"] if kind == "message" else kind
    need(not waiting, f"calls {waiting} have no output")
    need(before in ("user", "function_call_output"), "the last item is the model's own")


def _check_call(item: dict, where: str, memory: Memory, seen: set[str]) -> None:
    check_name(item.get("name"), where)
    arguments = item.get("arguments")
    need(isinstance(arguments, str) and isinstance(json.loads(arguments), dict), f"{where}: arguments")
    need(re.fullmatch(memory.ids or r".{1,64}", item["call_id"]), f"{where}: call_id {item['call_id']!r}")
    need(item["call_id"] not in seen, f"{where}: Duplicate function_call_output for call_id {item['call_id']!r}")
    need("id" not in item or item["id"].startswith("fc_"), f"{where}: id {item.get('id')!r}")
    seen.add(item["call_id"])


def _check_reasoning(item: dict, where: str, model: str, memory: Memory) -> None:
    need(isinstance(item.get("summary"), list), f"{where}: summary is missing")
    need(re.fullmatch(r"rs_\w+", item.get("id", "")), f"{where}: id {item.get('id')!r}")
    sealed = item.get("encrypted_content")
    need(sealed, f"{where}: item {item['id']} not found. Items are not persisted when `store` is set to false.")
    need(memory.issued.get(sealed) == model, f"{where}: encrypted_content that {model} did not write")


def _check_message(item: dict, where: str) -> None:
    role = item.get("role")
    need(role in _PARTS, f"{where}: role {role!r}")
    own = role == "assistant"
    only_keys(item, "type role content id status phase" if own else "type role content", where)
    if own:
        need(re.fullmatch(r"msg_\w{1,60}", item.get("id", "")), f"{where}: id {item.get('id')!r}")
        need(item.get("status") == "completed", f"{where}: status")
    need(isinstance(item["content"], list) and item["content"], f"{where}: no content")
    for part in item["content"]:
        need(part.get("type") in _PARTS[role], f"{where}: part {part.get('type')!r}")
        only_keys(part, _PARTS[role][part["type"]], where)
        if part["type"] == "input_image":
            need(part.get("detail") in ("auto", "low", "high"), f"{where}: detail of an image")
            need(re.fullmatch(r"data:image/\w+;base64,[\w+/=]+", part["image_url"]), f"{where}: image url")
        else:
            need((part.get("text") or part.get("refusal", "")).strip(), f"{where}: empty text")
            need(part["type"] != "output_text" or part.get("annotations") == [], f"{where}: annotations")


def has_images(body: dict) -> bool:
    return any(p["type"] == "input_image" for item in body["input"] for p in item.get("content", ()))


# -- what it says ---------------------------------------------------------------------------------------------------


def _output(answer: Answer, model: str, memory: Memory) -> list[dict]:
    items: list[dict] = []
    if answer.reasoning:
        sealed = f"sealed:{next(_IDS)}:{answer.reasoning}"
        memory.issued[sealed] = model
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        items.append({"type": "reasoning", "id": f"rs_{next(_IDS)}", "summary": summary, "encrypted_content": sealed})
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        ident = f"msg_{next(_IDS)}"
        items.append({"type": "message", "id": ident, "status": "completed", "role": "assistant", "content": [part]})
    for call in answer.calls:
        number = next(_IDS)
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": call.id or f"call_{number:08d}",
                "name": call.name,
                "arguments": written(call, answer),
                "status": "completed",
            }
        )
    return items


def _usage(count: Count) -> dict:
    return {
        "input_tokens": count.prompt,
        "input_tokens_details": {"cached_tokens": count.cached},
        "output_tokens": count.reply,
        "output_tokens_details": {"reasoning_tokens": count.reasoning},
        "total_tokens": count.prompt + count.reply,
    }


def _response(answer: Answer, model: str, output: list[dict]) -> dict:
    reasons = {"length": "max_output_tokens", "filter": "content_filter"}
    reason = reasons.get(answer.finish)
    return {
        "id": f"resp_{next(_IDS)}",
        "object": "response",
        "status": "incomplete" if reason else "completed",
        "model": model,
        "output": output,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "usage": _usage(answer.count) if answer.count is not None else None,
    }


def events(answer: Answer, model: str, memory: Memory) -> tuple[list[Event], list[Event], list[Event]]:
    numbers = itertools.count()

    def event(kind: str, **fields: Any) -> Event:
        return Event({"type": kind, "sequence_number": next(numbers), **fields}, kind)

    output = _output(answer, model, memory)
    final = _response(answer, model, output)
    begun = {**final, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    before = [event("response.created", response=begun), event("response.in_progress", response=begun)]
    content: list[Event] = []
    for index, item in enumerate(output):
        where = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "reasoning":
            text, empty = answer.reasoning, {**item, "summary": [], "encrypted_content": "begun"}
            delta, at = "response.reasoning_summary_text", {"summary_index": 0}
        elif item["type"] == "message":
            text, empty = answer.text, {**item, "status": "in_progress", "content": []}
            delta, at = "response.output_text", {"content_index": 0}
        else:
            text, empty = item["arguments"], {**item, "status": "in_progress", "arguments": ""}
            delta, at = "response.function_call_arguments", {}
        told = {"arguments" if item["type"] == "function_call" else "text": text}
        content.append(event("response.output_item.added", output_index=index, item=empty))
        content += [event(f"{delta}.delta", **where, **at, delta=piece) for piece in pieces(text, answer.piece)]
        content.append(event(f"{delta}.done", **where, **at, **told))
        content.append(event("response.output_item.done", output_index=index, item=item))
    return before, content, [event(f"response.{final['status']}", response=final)]


def document(answer: Answer, model: str, memory: Memory) -> dict:
    return _response(answer, model, _output(answer, model, memory))


_FAILURES: dict[str, tuple[int, str, str, str]] = {
    "auth": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    "no_rights": (403, "permission_error", "insufficient_permissions", "You have insufficient permissions."),
    "quota": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
    "rate_limit": (429, "tokens", "rate_limit_exceeded", "Rate limit reached for test-model."),
    "overloaded": (503, "server_error", "server_is_overloaded", "The engine is currently overloaded."),
    "server": (500, "server_error", "server_error", "The server had an error while processing your request."),
    "overflow": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    "not_found": (404, "invalid_request_error", "model_not_found", "The model 'test-model' does not exist."),
    "no_images": (400, "invalid_request_error", "invalid_value", "Image inputs are not supported by this model."),
    "bad_request": (400, "invalid_request_error", "invalid_value", "The request is wrong."),
}


def failure(failed: Failure) -> tuple[int, dict]:
    status, kind, code, words = _FAILURES[failed.kind]
    return status, {"error": {"message": failed.message or words, "type": kind, "param": None, "code": code}}


def failure_event(failed: Failure) -> Event:
    _, _, code, words = _FAILURES[failed.kind]
    error = {"code": code, "message": failed.message or words}
    response = {"object": "response", "status": "failed", "error": error, "output": []}
    return Event({"type": "response.failed", "response": response}, "response.failed")


FAKE = FakeWire("responses", "responses", check, has_images, events, document, failure, failure_event)
