"""The chat-completions wire: our messages → a request that strict servers accept, and what to change when one does not.

Pure: data in, data out. The history is cleaned here on every request and never stored differently (LLM wire rules
33 and 34); fields that a server refused are left out from then on (rule 32).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_core.errors import ProviderError
from agent_core.llm import plain_schema, strict_schema
from agent_core.llm.assemble import ReplyBuilder
from agent_core.llm.history import (
    CallIds,
    arguments_json,
    cache_control,
    images_of,
    result_text,
    results_after,
    tool_name,
    user_content,
)
from agent_core.llm.providers import Preset
from agent_core.llm.refusal import IMAGES, is_about_size, names, other_ids, other_images, said
from agent_core.llm.wire import Quirks, Wire
from agent_core.messages import Message, ToolCall
from agent_core.ports.model import LlmRequest, ToolSchema

SEEN = "(The results are in.)"
"""Stands between results and a user message where a server wants an answer there."""


def quirks_of(preset: Preset) -> Quirks:
    return Quirks(
        id_rule=preset.id_rule,
        max_tokens_field=preset.max_tokens_field,
        system_role="developer" if preset.developer_role else "system",
        strict_tools=preset.strict_tools,
        plain_schemas=preset.plain_schemas,
        dropped=frozenset() if preset.stream_options else frozenset({"stream_options"}),
    )


def body_of(request: LlmRequest, model: str, quirks: Quirks, preset: Preset) -> dict[str, Any]:
    """The request's JSON object."""
    optional: dict[str, Any] = {"stream": request.stream}
    if request.stream:
        optional["stream_options"] = {"include_usage": True}
    if request.tools:
        optional["tools"] = [_tool(t, quirks) for t in request.tools]
        optional["tool_choice"] = request.tool_choice or "auto"
    if request.temperature is not None:
        optional["temperature"] = request.temperature
    if request.reasoning_effort:
        optional["reasoning_effort"] = request.reasoning_effort
    if request.max_tokens:
        optional[quirks.max_tokens_field] = request.max_tokens
    optional |= {k: v for k, v in preset.extra_body.items() if k not in ("model", "messages", "stream", "tools")}
    messages = wire_messages(request.messages, model, quirks)
    if model.startswith(preset.cache_marks) and (control := cache_control(request.cache_ttl, quirks.dropped)):
        messages = marked(messages, control)
    return {
        "model": model,
        "messages": messages,
        **{k: v for k, v in optional.items() if k not in quirks.dropped},
    }


def _tool(tool: ToolSchema, quirks: Quirks) -> dict[str, Any]:
    parameters, strict = dict(tool.parameters) or {"type": "object", "properties": {}}, quirks.strict_tools
    if quirks.plain_schemas:
        parameters = plain_schema.plain(parameters)
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": strict_schema.strict(parameters) if strict else parameters,
    }
    if strict:
        function["strict"] = True
    return {"type": "function", "function": function}


# -- messages -------------------------------------------------------------------------------------------------------


def wire_messages(messages: Iterable[Message], model: str, quirks: Quirks) -> list[dict[str, Any]]:
    """The messages as the wire wants them: every call answered right after it and in order, nothing empty.

    User messages that would stand next to each other (the first had no answer) become one: many chat templates want
    the roles to take turns.
    """
    history = list(messages)
    ids = CallIds(quirks.id_rule)
    out: list[dict[str, Any]] = []
    system: list[str] = []
    for index, message in enumerate(history):
        if message.role == "system":
            if not message.text.strip():
                continue
            if quirks.system_role == "user":
                system.append(message.text)
            elif out and out[-1]["role"] == quirks.system_role:
                out[-1]["content"] += f"\n\n{message.text}"
            else:
                out.append({"role": quirks.system_role, "content": message.text})
        elif message.role == "user":
            if content := _user_content(message, IMAGES not in quirks.dropped):
                _put_user(out, content, quirks)
        elif message.role == "assistant":
            results = results_after(history, index)
            _put_assistant(out, _assistant(message, model, quirks, ids, results))
            if IMAGES not in quirks.dropped and (images := images_of(message, results)) is not None:
                _put_user(out, _user_content(images, True), quirks)
        # Results are written with their calls; one without a call is an orphan that no server accepts.
    if system:
        _put_before_first_user(out, "\n\n".join(system))
    return out


def _put_user(out: list[dict[str, Any]], content: str | list[dict[str, Any]], quirks: Quirks) -> None:
    last = out[-1] if out else None
    if last is not None and last["role"] == "user":
        last["content"] = _joined(last["content"], content)
        return
    if last is not None and last["role"] == "tool" and quirks.reply_after_results:
        out.append({"role": "assistant", "content": SEEN})
    out.append({"role": "user", "content": content})


def _put_assistant(out: list[dict[str, Any]], messages: list[dict[str, Any]]) -> None:
    """Two messages of the model's become one, as two of the person's do; what it thought of the second one stays."""
    if out and messages and out[-1]["role"] == "assistant" and not out[-1].get("tool_calls"):
        before = out.pop()
        messages[0] = {**before, **messages[0]}
        messages[0]["content"] = "\n\n".join(filter(None, (before["content"], messages[0]["content"])))
    out += messages


def _joined(first: str | list[dict[str, Any]], second: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Two contents as one; a list of parts as soon as one of them is such a list."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [
        part
        for content in (first, second)
        for part in ([{"type": "text", "text": content}] if isinstance(content, str) else content)
    ]


def _user_content(message: Message, images: bool) -> str | list[dict[str, Any]]:
    content = user_content(message, images)
    texts = [piece for piece in content if isinstance(piece, str)]
    if len(texts) == len(content):
        return "\n\n".join(texts)
    return [
        {"type": "text", "text": piece}
        if isinstance(piece, str)
        else {"type": "image_url", "image_url": {"url": f"data:{piece.media_type};base64,{piece.data}"}}
        for piece in content
    ]


def _assistant(
    message: Message, model: str, quirks: Quirks, ids: CallIds, results: Mapping[str, Message]
) -> list[dict[str, Any]]:
    text = message.text if message.text.strip() else None
    if text is None and not message.tool_calls:
        return []
    wire: dict[str, Any] = {"role": "assistant", "content": text}
    # What another model's server wanted back means nothing to this one.
    if message.model in ("", model):
        for name in ("reasoning_content", "reasoning_details"):
            if message.extra.get(name) and name not in quirks.dropped:
                wire[name] = message.extra[name]
    if not message.tool_calls:
        return [wire]
    if quirks.fill_reasoning:
        wire.setdefault("reasoning_content", message.reasoning)
    calls = []
    answers = []
    for call in message.tool_calls:
        call_id = ids.next(call.id)
        calls.append(_call(call, call_id, quirks))
        content = result_text(results.get(call.id), IMAGES not in quirks.dropped)
        answers.append({"role": "tool", "tool_call_id": call_id, "content": content})
    wire["tool_calls"] = calls
    return [wire, *answers]


def _call(call: ToolCall, call_id: str, quirks: Quirks) -> dict[str, Any]:
    function = {"name": tool_name(call), "arguments": arguments_json(call)}
    wire: dict[str, Any] = {"id": call_id, "type": "function", "function": function}
    if call.extra.get("extra_content") and "extra_content" not in quirks.dropped:
        wire["extra_content"] = call.extra["extra_content"]
    return wire


def marked(messages: Sequence[Mapping[str, Any]], control: Mapping[str, str]) -> list[dict[str, Any]]:
    """`messages` with marks up to which the server shall remember them (CFG-09): on the system text and on the last two
    messages that are not the model's.
    """
    out = [dict(message) for message in messages]
    system = [m for m in out if m["role"] == "system"]
    ends = [m for m in out if m["role"] in ("user", "tool")]
    for message in (*system[:1], *ends[-2:]):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        message["content"] = [*parts[:-1], {**parts[-1], "cache_control": dict(control)}]
    return out


def _put_before_first_user(out: list[dict[str, Any]], text: str) -> None:
    for message in out:
        if message["role"] == "user":
            message["content"] = _joined(text, message["content"])
            return
    out.insert(0, {"role": "user", "content": text})


# -- when a request is refused ----------------------------------------------------------------------------------------


def adapted(quirks: Quirks, body: Mapping[str, Any], error: ProviderError) -> Quirks | None:
    """Other quirks that may satisfy a server which refused `body` with `error`, or None if it is not about a field.

    A server that fails in a chat template on a role answers 500, so those are looked at too. Never gives the same
    quirks back, so asking again ends.
    """
    text = said(error)
    if not text:
        return None
    new = other_images(quirks, text, _has_images(body))
    if new is None and error.kind in ("bad_request", "server"):
        new = _other_role(quirks, body, text)
    if new is None and error.kind == "bad_request":
        new = other_ids(quirks, text) or _other_field(quirks, body, text)
    return new if new != quirks else None


def _has_images(body: Mapping[str, Any]) -> bool:
    contents = [m["content"] for m in body["messages"] if isinstance(m.get("content"), list)]
    return any(part.get("type") == "image_url" for content in contents for part in content)


def _other_role(quirks: Quirks, body: Mapping[str, Any], text: str) -> Quirks | None:
    if "role" not in text and "developer" not in text:
        return None
    if re.search(r"\buser\b.{0,40}\bafter\b.{0,40}\btool\b", text):
        return replace(quirks, reply_after_results=True)
    reason = r"support|unexpected|unknown|invalid|not (?:allowed|enabled)|must be|only|expected|raise_exception"
    if not re.search(reason, text):
        return None
    roles = {m["role"] for m in body["messages"]}
    refused = next((role for role in ("developer", "system") if role in roles), "")
    if not refused or (refused == "system" and not re.search(r"system|developer", text)):
        return None
    dropped = quirks.dropped | {f"role {refused}"}
    if refused == "developer":
        return replace(quirks, dropped=dropped, system_role="user" if "role system" in dropped else "system")
    wants_developer = "developer" in text and "role developer" not in dropped
    return replace(quirks, dropped=dropped, system_role="developer" if wants_developer else "user")


def _other_field(quirks: Quirks, body: Mapping[str, Any], text: str) -> Quirks | None:
    def named(field: str) -> bool:
        return names(text, field)

    if named("reasoning_content"):
        if re.search(r"missing|must be (?:passed|provided|present|included)|required|passed back", text):
            return replace(quirks, fill_reasoning=True)
        return replace(quirks, fill_reasoning=False, dropped=quirks.dropped | {"reasoning_content"})
    for field in ("reasoning_details", "extra_content", "cache_control"):
        if named(field):
            return replace(quirks, dropped=quirks.dropped | {field})
    for field, other in (("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")):
        if field in body and named(field):
            if is_about_size(text) or quirks.max_tokens_swapped:
                return replace(quirks, dropped=quirks.dropped | {field})
            return replace(quirks, max_tokens_field=other, max_tokens_swapped=True)
    if quirks.strict_tools and named("strict"):
        return replace(quirks, strict_tools=False)
    if quirks.strict_tools and re.search(r"invalid schema|additionalproperties", text):
        return replace(quirks, strict_tools=False)
    fields = [f for f in body if f not in ("model", "messages", "stream", "tools")]
    for field in fields:
        if named(field):
            return replace(quirks, dropped=quirks.dropped | {field})
    if "stream_options" in fields and named("include_usage"):
        return replace(quirks, dropped=quirks.dropped | {"stream_options"})
    if "reasoning_effort" in fields and re.search(r"\bthink(?:ing)?\b", text):
        return replace(quirks, dropped=quirks.dropped | {"reasoning_effort"})
    return None


WIRE = Wire("chat_completions", "chat/completions", quirks_of, body_of, adapted, ReplyBuilder)
