"""Chat completions as a strict server has them: the checks of OpenAI, Mistral and llama.cpp's templates in one."""

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
    "model messages stream stream_options tools tool_choice parallel_tool_calls temperature top_p max_tokens "
    "max_completion_tokens reasoning_effort stop seed"
)
_KEYS = {
    "system": "role content",
    "developer": "role content",
    "user": "role content",
    "assistant": "role content tool_calls reasoning_content reasoning_details",
    "tool": "role tool_call_id content",
}
_IDS = itertools.count()


def check(body: dict, headers: Mapping[str, str], memory: Memory) -> None:
    only_keys(body, _TOP, "body")
    need(isinstance(body.get("model"), str) and body["model"], "model is missing")
    need(not ("max_tokens" in body and "max_completion_tokens" in body), "two limits of tokens")
    need("stream_options" not in body or body.get("stream"), "stream_options without stream")
    need(0 <= body.get("temperature", 0) <= 2, "temperature")
    _check_tools(body)
    messages = body.get("messages")
    need(isinstance(messages, list) and messages, "messages are missing")
    waiting: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        role = message.get("role")
        need(role in _KEYS, f"{where}: role {role!r}")
        only_keys(message, _KEYS[role], where)
        if role == "tool":
            need(waiting and message["tool_call_id"] == waiting.pop(0), f"{where}: not the next call's result")
            need(isinstance(message["content"], str) and message["content"].strip(), f"{where}: empty result")
            continue
        need(not waiting, f"{where}: calls {waiting} have no result")
        before = messages[number - 1]["role"] if number else "system"
        need(role not in ("system", "developer") or before in ("system", "developer"), f"{where}: {role} comes late")
        need(role != before or role == "system", f"{where}: two {role} messages in a row")
        if role == "assistant":
            waiting = _check_assistant(message, where, body["model"], memory, seen)
        else:
            _check_content(message.get("content"), where)
    need(not waiting, f"calls {waiting} have no result")
    need(messages[-1]["role"] in ("user", "tool"), "the last message is the model's own")


def _check_tools(body: dict) -> None:
    need(body.get("tools") != [], "tools is an empty list")
    need("tools" in body or "tool_choice" not in body, "tool_choice without tools")
    for number, tool in enumerate(body.get("tools", ())):
        where = f"tools[{number}]"
        only_keys(tool, "type function", where)
        only_keys(tool["function"], "name description parameters strict", where)
        check_name(tool["function"].get("name"), where)
        check_schema(tool["function"].get("parameters"), where)


def _check_content(content: Any, where: str) -> None:
    if isinstance(content, str):
        need(content.strip(), f"{where}: empty content")
        return
    need(isinstance(content, list) and content, f"{where}: no content")
    for part in content:
        if part.get("type") == "text":
            only_keys(part, "type text", where)
            need(part["text"].strip(), f"{where}: empty text part")
        else:
            only_keys(part, "type image_url", where)
            need(part.get("type") == "image_url", f"{where}: part {part.get('type')!r}")
            need(re.fullmatch(r"data:image/\w+;base64,[\w+/=]+", part["image_url"]["url"]), f"{where}: image url")


def _check_assistant(message: dict, where: str, model: str, memory: Memory, seen: set[str]) -> list[str]:
    calls = message.get("tool_calls")
    content = message.get("content")
    need(calls != [], f"{where}: tool_calls is an empty list")
    need(content is None if not isinstance(content, str) else content.strip(), f"{where}: content {content!r}")
    need(content or calls, f"{where}: empty assistant message")
    echo = [message.get("reasoning_content")]
    echo += [detail.get("text") for detail in message.get("reasoning_details") or ()]
    for text in filter(None, echo):
        need(memory.issued.get(text) == model, f"{where}: reasoning that {model} did not write")
    for call in calls or ():
        only_keys(call, "id type function extra_content", where)
        need(call.get("type") == "function", f"{where}: type of a call")
        only_keys(call["function"], "name arguments", where)
        check_name(call["function"].get("name"), where)
        arguments = call["function"]["arguments"]
        need(isinstance(arguments, str) and isinstance(json.loads(arguments), dict), f"{where}: arguments")
        need(re.fullmatch(memory.ids or r".{1,40}", call["id"]), f"{where}: id {call['id']!r}")
        need(call["id"] not in seen, f"{where}: Duplicate value for 'tool_call_id' of {call['id']!r}")
        seen.add(call["id"])
    return [call["id"] for call in calls or ()]


def has_images(body: dict) -> bool:
    return any(
        part.get("type") == "image_url"
        for message in body["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
    )


# -- what it says ---------------------------------------------------------------------------------------------------


def _calls(answer: Answer) -> list[dict]:
    return [
        {
            "id": call.id or f"call_{next(_IDS):08d}",
            "type": "function",
            "function": {"name": call.name, "arguments": written(call, answer)},
        }
        for call in answer.calls
    ]


def _finish(answer: Answer) -> str:
    words = {"": "tool_calls" if answer.calls else "stop", "filter": "content_filter"}
    return words.get(answer.finish, answer.finish)


def _usage(count: Count) -> dict:
    return {
        "prompt_tokens": count.prompt,
        "completion_tokens": count.reply,
        "total_tokens": count.prompt + count.reply,
        "prompt_tokens_details": {"cached_tokens": count.cached},
        "completion_tokens_details": {"reasoning_tokens": count.reasoning},
    }


def events(answer: Answer, model: str, memory: Memory) -> tuple[list[Event], list[Event], list[Event]]:
    def chunk(delta: dict, finish: str | None = None) -> Event:
        return Event({"model": model, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    if answer.reasoning:
        memory.issued[answer.reasoning] = model
    content = [chunk({"reasoning_content": text}) for text in pieces(answer.reasoning, answer.piece)]
    content += [chunk({"content": text}) for text in pieces(answer.text, answer.piece)]
    for index, call in enumerate(_calls(answer)):
        first = {**call, "index": index, "function": {"name": call["function"]["name"], "arguments": ""}}
        content.append(chunk({"tool_calls": [first]}))
        for text in pieces(call["function"]["arguments"], answer.piece):
            content.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]}))
    end = [chunk({}, _finish(answer))]
    if answer.count is not None:
        end.append(Event({"model": model, "choices": [], "usage": _usage(answer.count)}))
    return [chunk({"role": "assistant", "content": ""})], content, [*end, Event("[DONE]")]


def document(answer: Answer, model: str, memory: Memory) -> dict:
    if answer.reasoning:
        memory.issued[answer.reasoning] = model
    message: dict = {"role": "assistant", "content": answer.text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = _calls(answer)
    usage = {"usage": _usage(answer.count)} if answer.count is not None else {}
    return {"model": model, "choices": [{"index": 0, "message": message, "finish_reason": _finish(answer)}], **usage}


_FAILURES: dict[str, tuple[int, str, str]] = {
    "auth": (401, "invalid_api_key", "Incorrect API key provided."),
    "no_rights": (403, "permission_denied", "You are not allowed to use this model."),
    "quota": (429, "insufficient_quota", "You exceeded your current quota, please check your plan."),
    "rate_limit": (429, "rate_limit_exceeded", "Rate limit reached for requests."),
    "overloaded": (503, "overloaded_error", "The engine is currently overloaded."),
    "server": (500, "server_error", "The server had an error."),
    "overflow": (
        400,
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    ),
    "not_found": (404, "model_not_found", "The model `test-model` does not exist."),
    "no_images": (400, "invalid_request_error", "image_url is only supported by certain models."),
    "bad_request": (400, "invalid_request_error", "The request is wrong."),
}


def failure(failed: Failure) -> tuple[int, dict]:
    status, code, words = _FAILURES[failed.kind]
    return status, {"error": {"message": failed.message or words, "type": code, "code": code}}


def failure_event(failed: Failure) -> Event:
    return Event(failure(failed)[1])


FAKE = FakeWire("chat_completions", "chat/completions", check, has_images, events, document, failure, failure_event)
