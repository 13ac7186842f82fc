"""The responses wire: our messages → the items of a request that keeps nothing at the server, and what to change when
one is refused.

Pure: data in, data out. The server is never asked to store a reply (`store: false`); what a reasoning model wants back,
encrypted or plain, is kept with our message and sent again in the place it had.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_core.errors import ProviderError
from agent_core.llm import strict_schema
from agent_core.llm.history import (
    CallIds,
    arguments_json,
    images_of,
    result_text,
    results_after,
    tool_name,
    user_content,
)
from agent_core.llm.providers import Preset
from agent_core.llm.refusal import IMAGES, is_about_size, names, other_ids, other_images, said
from agent_core.llm.responses_reply import ITEMS, ResponseBuilder
from agent_core.llm.wire import Quirks, Wire
from agent_core.messages import Message
from agent_core.ports.model import LlmRequest, ToolSchema

_OURS = ("model", "input", "stream", "tools")
"""Fields that neither the user's `extra_body` nor a refusal may take from us."""

Item = dict[str, Any]


def quirks_of(preset: Preset) -> Quirks:
    return Quirks(id_rule=preset.id_rule, strict_tools=preset.strict_tools)


def body_of(request: LlmRequest, model: str, quirks: Quirks, preset: Preset) -> dict[str, Any]:
    """The request's JSON object."""
    optional: dict[str, Any] = {"store": False, "include": ["reasoning.encrypted_content"]}
    if request.tools:
        optional["tools"] = [_tool(t, quirks) for t in request.tools]
        optional["tool_choice"] = request.tool_choice or "auto"
        optional["parallel_tool_calls"] = True
    if request.temperature is not None:
        optional["temperature"] = request.temperature
    if request.reasoning_effort:
        optional["reasoning"] = {"effort": request.reasoning_effort}
        if "reasoning.summary" not in quirks.dropped:
            optional["reasoning"]["summary"] = "auto"
    if request.max_tokens:
        optional["max_output_tokens"] = min(request.max_tokens, quirks.swapped.get("max_output_tokens", math.inf))
    optional |= {k: v for k, v in preset.extra_body.items() if k not in _OURS}
    system = "\n\n".join(m.text for m in request.messages if m.role == "system" and m.text.strip())
    items = input_items(request.messages, model, quirks)
    if system and "instructions" in quirks.dropped:
        items.insert(0, _message("system", [{"type": "input_text", "text": system}]))
    elif system:
        optional["instructions"] = system
    sent = {k: v for k, v in optional.items() if k not in quirks.dropped}
    return {"model": model, "input": items, "stream": request.stream, **sent}


def _tool(tool: ToolSchema, quirks: Quirks) -> Item:
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    item: Item = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": strict_schema.strict(parameters) if quirks.strict_tools else parameters,
    }
    if "strict" not in quirks.dropped:
        item["strict"] = quirks.strict_tools  # without it this API takes every schema for a strict one
    return item


# -- items ------------------------------------------------------------------------------------------------------------


def input_items(messages: Iterable[Message], model: str, quirks: Quirks) -> list[Item]:
    """The conversation without its system messages: every call answered right after its round and in order."""
    history = list(messages)
    ids = CallIds(quirks.id_rule)
    out: list[Item] = []
    for index, message in enumerate(history):
        if message.role == "user" and (content := _user_content(message, quirks)):
            if out and out[-1].get("role") == "user":
                out[-1]["content"] += content  # chat templates behind this API want the roles to take turns
            else:
                out.append(_message("user", content))
        elif message.role == "assistant":
            results = results_after(history, index)
            out += _assistant(message, model, quirks, ids, results)
            if IMAGES not in quirks.dropped and (images := images_of(message, results)) is not None:
                out.append(_message("user", _user_content(images, quirks)))
    return out


def _message(role: str, content: list[Item]) -> Item:
    return {"type": "message", "role": role, "content": content}


def _user_content(message: Message, quirks: Quirks) -> list[Item]:
    return [
        {"type": "input_text", "text": part}
        if isinstance(part, str)
        else {"type": "input_image", "image_url": f"data:{part.media_type};base64,{part.data}", "detail": "auto"}
        for part in user_content(message, IMAGES not in quirks.dropped)
    ]


def _assistant(
    message: Message, model: str, quirks: Quirks, ids: CallIds, results: Mapping[str, Message]
) -> list[Item]:
    """What the model said, as the items it came in, then the results of its calls."""
    calls: list[Item] = []
    answers: list[Item] = []
    for call in message.tool_calls:
        call_id = ids.next(call.id)
        calls.append(
            {
                "type": "function_call",
                "call_id": call_id,
                "name": tool_name(call),
                "arguments": arguments_json(call),
                "status": "completed",
            }
        )
        output = result_text(results.get(call.id), IMAGES not in quirks.dropped)
        answers.append({"type": "function_call_output", "call_id": call_id, "output": output})
    text: list[Item] = []
    if message.text.strip():
        part = {"type": "output_text", "text": message.text, "annotations": []}
        # The id is asked for by servers that read the documents to the letter; nothing is stored under it.
        text = [{**_message("assistant", [part]), "id": f"msg_{message.id}", "status": "completed"}]
    # What another model's server wanted back means nothing to this one.
    kept = message.extra.get(ITEMS) if message.model in ("", model) else None
    return [*_in_order(kept if isinstance(kept, list) else [], text, calls, quirks), *answers]


def _in_order(kept: Sequence[Any], text: list[Item], calls: list[Item], quirks: Quirks) -> list[Item]:
    """Text and calls with the reasoning between them where it was; reasoning that nothing follows is refused."""
    out: list[Item] = []
    thoughts: list[Item] = []
    text, calls = list(text), list(calls)
    for item in kept:
        kind = item.get("type")
        if kind == "reasoning":
            if "reasoning_items" not in quirks.dropped:
                thoughts.append(item)
            continue
        source = calls if kind == "function_call" else text
        if not source:
            continue
        said = source.pop(0)
        if item.get("phase") and "phase" not in quirks.dropped:
            said = {**said, "phase": item["phase"]}
        out += [*thoughts, said]
        thoughts = []
    if text or calls:
        out += thoughts
    return [*out, *text, *calls]


# -- when a request is refused ----------------------------------------------------------------------------------------


def adapted(quirks: Quirks, body: Mapping[str, Any], error: ProviderError) -> Quirks | None:
    """Other quirks that may satisfy a server which refused `body` with `error`, or None if it is not about a field.

    Never gives the same quirks back, so asking again ends.
    """
    text = said(error)
    if not text or error.kind not in ("bad_request", "not_found", "server"):
        return None
    has_images = any(p["type"] == "input_image" for i in body["input"] for p in i.get("content", ()))
    new = _without_thoughts(quirks, body, text) or other_images(quirks, text, has_images)
    if new is None and error.kind == "bad_request":
        new = other_ids(quirks, text) or _other_field(quirks, body, text)
    return new if new != quirks else None


_ABOUT_THOUGHTS = re.compile(
    r"encrypted|\brs_\w+|of type 'reasoning'|reasoning item|items are not persisted|"
    r"item\['content'\]|input\[\d+\]\.(?:summary|encrypted_content)"
)


def _without_thoughts(quirks: Quirks, body: Mapping[str, Any], text: str) -> Quirks | None:
    """Reasoning is not sent back where it cannot be read: another account's, another key's, another server's."""
    if not _ABOUT_THOUGHTS.search(text):
        return None
    if any(item["type"] == "reasoning" for item in body["input"]):
        return replace(quirks, dropped=quirks.dropped | {"reasoning_items"})
    return replace(quirks, dropped=quirks.dropped | {"include"}) if "include" in body else None


def _other_field(quirks: Quirks, body: Mapping[str, Any], text: str) -> Quirks | None:
    if "max_output_tokens" in body and names(text, "max_output_tokens") and is_about_size(text):
        numbers = [int(n) for n in re.findall(r"\d+", text) if 0 < int(n) < body["max_output_tokens"]]
        if numbers:
            return replace(quirks, swapped={**quirks.swapped, "max_output_tokens": max(numbers)})
    if "summary" in body.get("reasoning", {}) and (names(text, "summary") or "summaries" in text):
        return replace(quirks, dropped=quirks.dropped | {"reasoning.summary"})
    parts = ("strict", "phase")  # of a tool, of a message
    for field in (*(f for f in body if f not in _OURS), *parts):
        if names(text, field) and field not in quirks.dropped:
            return replace(quirks, dropped=quirks.dropped | {field})
    return None


WIRE = Wire("responses", "responses", quirks_of, body_of, adapted, ResponseBuilder, history="input")
