"""The messages wire: our messages → blocks in turns of two roles, and what to change when a request is refused.

Pure: data in, data out. Thinking goes back signed and as it came, to the model that thought it, and to no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_core import limits
from agent_core.errors import ProviderError
from agent_core.llm import strict_schema
from agent_core.llm.anthropic_reply import BLOCKS, MessageBuilder
from agent_core.llm.history import (
    CallIds,
    arguments_json,
    cache_control,
    result_text,
    results_after,
    tool_name,
    user_content,
)
from agent_core.llm.providers import Preset
from agent_core.llm.refusal import IMAGES, names, other_ids, other_images, said
from agent_core.llm.wire import Quirks, Wire
from agent_core.messages import ImagePart, Message, ToolCall
from agent_core.ports.model import LlmRequest, ToolSchema

Block = dict[str, Any]

_OURS = ("model", "messages", "system", "stream", "tools", "max_tokens")
"""Fields that neither the user's `extra_body` nor a refusal may take from us."""


def quirks_of(preset: Preset) -> Quirks:
    return Quirks(id_rule=preset.id_rule, strict_tools=preset.strict_tools)


def body_of(request: LlmRequest, model: str, quirks: Quirks, preset: Preset) -> dict[str, Any]:
    """The request's JSON object."""
    messages = wire_messages(request.messages, model, quirks, bool(request.tools))
    system = _system(request)
    if control := cache_control(request.cache_ttl, quirks.dropped):
        system, messages = marked(system, messages, control)
    most = request.max_tokens or limits.REPLY_TOKENS
    most = min(most, quirks.swapped.get("max_tokens", most))
    optional: dict[str, Any] = {}
    if request.tools:
        optional["tool_choice"] = _choice(request.tool_choice or "auto")
    if "thinking" not in quirks.dropped:
        optional |= _thinking(request, model, quirks, most, messages)
    if request.temperature is not None and "thinking" not in optional:
        optional["temperature"] = min(request.temperature, 1.0)
    optional |= {k: v for k, v in preset.extra_body.items() if k not in _OURS}
    return {
        "model": model,
        "max_tokens": most,
        "stream": request.stream,
        **({"system": _joined(system) if "system" in quirks.swapped else system} if system else {}),
        **({"tools": [_tool(t, quirks.strict_tools) for t in request.tools]} if request.tools else {}),
        **{k: v for k, v in optional.items() if k not in quirks.dropped},
        "messages": messages,
    }


def _system(request: LlmRequest) -> list[Block]:
    """The system text in blocks; what stays from turn to turn has one of its own, so that it can be marked."""
    texts = [message.text for message in request.messages if message.role == "system"]
    if texts and 0 < request.lasting < len(texts[0]):
        texts[:1] = [texts[0][: request.lasting], texts[0][request.lasting :].lstrip("\n")]
    return [block for text in texts for block in _text(text)]


def _joined(blocks: Sequence[Block]) -> str:
    return "\n\n".join(block["text"] for block in blocks)


def _tool(tool: ToolSchema, strict: bool) -> Block:
    parameters = dict(tool.parameters) or {"type": "object", "properties": {}}
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": strict_schema.strict(parameters) if strict else parameters,
        **({"strict": True} if strict else {}),
    }


def _choice(choice: str) -> Block:
    if choice in ("auto", "none"):
        return {"type": choice}
    return {"type": "any"} if choice == "required" else {"type": "tool", "name": choice}


# -- thinking -------------------------------------------------------------------------------------------------------


def _thinking(
    request: LlmRequest, model: str, quirks: Quirks, most: int, messages: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The fields that ask for thinking, empty when there shall be none or it cannot be had with the rest."""
    if request.tools and (request.tool_choice or "auto") not in ("auto", "none"):
        return {}
    version, effort = _version(model), request.reasoning_effort or ""
    if quirks.swapped.get("thinking", "adaptive" if version >= (4, 6) else "enabled") == "adaptive":
        if effort in ("", "none") and version < (5, 0):
            return {}
        # From 5 on they think unasked, and keep their thoughts to themselves unless they are asked to sum them up.
        level = {"minimal": "low", "none": "low"}.get(effort, effort)
        display = {} if "display" in quirks.dropped else {"display": "summarized"}
        return {"thinking": {"type": "adaptive", **display}, **({"output_config": {"effort": level}} if level else {})}
    if effort in ("", "none"):
        return {}
    budget = min(limits.THINKING_TOKENS.get(effort, most), most * 3 // 4)
    if budget < limits.THINKING_TOKENS_MIN or _answers_without_thinking(messages):
        return {}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


def _version(model: str) -> tuple[int, int]:
    """Which generation of Claude `model` is; (0, 0) when it is none. From 4.6 on they set their budget themselves."""
    found = re.search(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)", model.lower())
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _answers_without_thinking(messages: Sequence[Mapping[str, Any]]) -> bool:
    """True in a round of calls that another model, or this one without thinking, began: it may not go on with it."""
    if len(messages) < 2 or messages[-1]["content"][0]["type"] != "tool_result":
        return False
    return "thinking" not in messages[-2]["content"][0]["type"]


# -- messages -------------------------------------------------------------------------------------------------------


def wire_messages(messages: Iterable[Message], model: str, quirks: Quirks, tools: bool = True) -> list[dict[str, Any]]:
    """The conversation without its system messages, the two roles taking turns; nothing in it is empty.

    All results of a round stand in the one message behind it, in the order of the calls, before anything else. Without
    `tools` in the request, calls and results are told as text: as such they would be refused.
    """
    history = list(messages)
    ids = CallIds(quirks.id_rule)
    out: list[dict[str, Any]] = []
    for index, message in enumerate(history):
        if message.role == "user":
            _put(out, "user", _user(message, quirks))
        elif message.role == "assistant":
            results = results_after(history, index)
            thinking = _thoughts(message, model, quirks) if tools else []
            if not tools:
                _put(out, "assistant", [*_text(message.text), *(b for c in message.tool_calls for b in _told(c))])
                _put(out, "user", [b for c in message.tool_calls for b in _text(result_text(results.get(c.id)))])
                continue
            calls = [(ids.next(call.id), call) for call in message.tool_calls]
            _put(out, "assistant", _assistant(message.text, calls, thinking))
            _put(out, "user", [_result(call_id, results.get(call.id), quirks) for call_id, call in calls])
        # Results are written with their calls; one without a call is an orphan that no server accepts.
    return out


def _put(out: list[dict[str, Any]], role: str, blocks: list[Block]) -> None:
    if not blocks:
        return
    if out and out[-1]["role"] == role:
        out[-1]["content"] += blocks
    else:
        out.append({"role": role, "content": blocks})


def _text(text: str) -> list[Block]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _user(message: Message, quirks: Quirks) -> list[Block]:
    blocks: list[Block] = []
    for piece in user_content(message, IMAGES not in quirks.dropped):
        if isinstance(piece, str):
            blocks += _text(piece)
        else:
            blocks.append(_image(piece))
    return blocks


def _image(part: ImagePart) -> Block:
    return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.data}}


def _thoughts(message: Message, model: str, quirks: Quirks) -> list[tuple[Block, tuple[int, int]]]:
    """The thinking to send back with `message`, each with what stands before it: characters of text, and calls."""
    if message.model not in ("", model) or BLOCKS in quirks.dropped:
        return []
    refused: frozenset[str] = quirks.swapped.get(BLOCKS, frozenset())
    thoughts = []
    for kept in message.extra.get(BLOCKS) or ():
        if _seal(kept) in refused:
            continue
        at = kept.get("at") or (0, 0)
        thoughts.append(({k: v for k, v in kept.items() if k != "at"}, (at[0], at[1])))
    return thoughts


def _seal(block: Mapping[str, Any]) -> str:
    """What a server knows its own thinking by; "" for a block that is none, or was not signed."""
    return str(block.get("signature") or block.get("data") or "") if "thinking" in block["type"] else ""


def _assistant(
    text: str, calls: Sequence[tuple[str, ToolCall]], thoughts: Sequence[tuple[Block, tuple[int, int]]]
) -> list[Block]:
    """The blocks in the order in which they came; thinking alone is nothing to send."""
    if not (text.strip() or calls):
        return []
    written = [_call(call_id, call) for call_id, call in calls]
    text = text.rstrip()  # blank ends are refused in a last message
    blocks: list[Block] = []
    said_until = called = 0
    for thought, (characters, count) in thoughts:
        blocks += [*_text(text[said_until:characters]), *written[called:count], thought]
        said_until, called = max(said_until, characters), max(called, count)
    return [*blocks, *_text(text[said_until:]), *written[called:]]


def _call(call_id: str, call: ToolCall) -> Block:
    return {"type": "tool_use", "id": call_id, "name": tool_name(call), "input": dict(call.arguments)}


def _result(call_id: str, answer: Message | None, quirks: Quirks) -> Block:
    images = IMAGES not in quirks.dropped
    content: str | list[Block] = result_text(answer, images)
    if answer is not None and answer.parts and images:
        content = [*_text(str(content)), *map(_image, answer.parts)]
    block: Block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    failed = answer is None or (answer.result is not None and not answer.result.ok)
    if failed and "is_error" not in quirks.dropped:
        block["is_error"] = True
    return block


def _told(call: ToolCall) -> list[Block]:
    return _text(f"[called {tool_name(call)} with {arguments_json(call)}]")


# -- caching --------------------------------------------------------------------------------------------------------


def marked(
    system: Sequence[Block], messages: Sequence[Mapping[str, Any]], control: Mapping[str, str]
) -> tuple[list[Block], list[dict[str, Any]]]:
    """`system` and `messages` with at most four marks up to which the server shall remember the request (CFG-09).

    They stand at the end of the first part of the system text, which is the same in every session, at the end of all
    of it, and on the last two messages: the earlier one of these is where the request before this one ended. Nothing
    is changed but the marked blocks, which are copies.
    """
    blocks = [dict(block) for block in system]
    for block in (*blocks[:1], *blocks[-1:]):
        block["cache_control"] = dict(control)
    out = [dict(message) for message in messages]
    left = 2
    for message in reversed(out):
        place = next((i for i in reversed(range(len(message["content"]))) if _markable(message["content"][i])), None)
        if place is not None and left:
            content = list(message["content"])
            content[place] = {**content[place], "cache_control": dict(control)}
            message["content"] = content
            left -= 1
    return blocks, out


def _markable(block: Mapping[str, Any]) -> bool:
    return "thinking" not in block["type"] and (block["type"] != "text" or bool(block["text"].strip()))


# -- when a request is refused ----------------------------------------------------------------------------------------


def adapted(quirks: Quirks, body: Mapping[str, Any], error: ProviderError) -> Quirks | None:
    """Other quirks that may satisfy a server which refused `body` with `error`, or None if it is not about a field.

    Never gives the same quirks back, so asking again ends.
    """
    text = said(error)
    if not text:
        return None
    new = other_images(quirks, text, _has_images(body)) or _room_for_more(quirks, body, error)
    if new is None and error.kind == "bad_request":
        new = (
            _other_most(quirks, body, text)
            or _other_thinking(quirks, body, text)
            or other_ids(quirks, text)
            or _other_field(quirks, body, text)
        )
    return new if new != quirks else None


def _has_images(body: Mapping[str, Any]) -> bool:
    blocks = [block for message in body["messages"] for block in message["content"]]
    inside = (b for block in blocks if isinstance(block.get("content"), list) for b in block["content"])
    return any(block["type"] == "image" for block in (*blocks, *inside))


def _room_for_more(quirks: Quirks, body: Mapping[str, Any], error: ProviderError) -> Quirks | None:
    """A smaller bound of the reply, where ours takes most of what a small model's window holds."""
    window = error.params.get("limit")
    if error.kind != "context_length" or not isinstance(window, int) or body["max_tokens"] <= window // 4:
        return None
    return replace(quirks, swapped={**quirks.swapped, "max_tokens": window // 4})


def _other_most(quirks: Quirks, body: Mapping[str, Any], text: str) -> Quirks | None:
    """The largest reply that the server names as allowed, where ours is larger."""
    if not names(text, "max_tokens"):
        return None
    allowed = [n for n in map(int, re.findall(r"(?<![\w.-])\d{2,7}(?![\w-])", text)) if n < body["max_tokens"]]
    return replace(quirks, swapped={**quirks.swapped, "max_tokens": max(allowed)}) if allowed else None


def _other_thinking(quirks: Quirks, body: Mapping[str, Any], text: str) -> Quirks | None:
    def without(*fields: str) -> Quirks:
        return replace(quirks, dropped=quirks.dropped | set(fields))

    if "signature" in text or re.search(r"thinking[`'\"]? blocks?\b.{0,60}(?:cannot|must|not) ", text):
        return _without_thoughts(quirks, body)
    asked = body.get("thinking")
    if not isinstance(asked, Mapping) or not re.search(r"thinking|reasoning|effort|output_config|budget", text):
        return None
    form = asked.get("type")
    other = "enabled" if form == "adaptive" else "adaptive"
    if "thinking" not in quirks.swapped and re.search(rf"adaptive|['\"`.]{other}['\"`]|thinking\S*type", text):
        return replace(quirks, swapped={**quirks.swapped, "thinking": other})
    if "display" in asked and names(text, "display"):
        return without("display")
    if "output_config" in body and re.search(r"effort|output_config", text):
        return without("output_config")
    return without("thinking", "output_config")


def _without_thoughts(quirks: Quirks, body: Mapping[str, Any]) -> Quirks | None:
    """Without the thinking that `body` has. What is thought from now on is sent back again.

    Some models take their own back only while nothing before it has changed, as it does with the mode, or when older
    messages are summed up.
    """
    blocks = [b for message in body["messages"] for b in message["content"] if "thinking" in b["type"]]
    seals = frozenset(filter(None, map(_seal, blocks)))
    if len(seals) < len(blocks):
        return replace(quirks, dropped=quirks.dropped | {BLOCKS})
    return replace(quirks, swapped={**quirks.swapped, BLOCKS: quirks.swapped.get(BLOCKS, frozenset()) | seals})


def _other_field(quirks: Quirks, body: Mapping[str, Any], text: str) -> Quirks | None:
    def without(field: str) -> Quirks:
        return replace(quirks, dropped=quirks.dropped | {field})

    if re.search(r"cache_?control|\bttl\b", text) and "cache_control" not in quirks.dropped:
        lasts = "ttl" in text and "ttl" not in quirks.dropped
        return without("ttl") if lasts else without("cache_control")
    if names(text, "is_error"):
        return without("is_error")
    if quirks.strict_tools and names(text, "strict"):
        return replace(quirks, strict_tools=False)
    if isinstance(body.get("system"), list) and re.search(r"\bsystem\b.{0,60}string", text):
        return replace(quirks, swapped={**quirks.swapped, "system": "text"})
    field = next((f for f in body if f not in _OURS and names(text, f)), None)
    return without(field) if field else None


WIRE = Wire("anthropic_messages", "messages", quirks_of, body_of, adapted, MessageBuilder)
