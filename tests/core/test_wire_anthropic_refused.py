"""Refused requests of the wire of Anthropic and what is changed in the next one; and who is asked over it."""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import Any

import pytest

from agent_core.errors import ProviderError
from agent_core.llm.anthropic_messages import adapted, body_of, wire_messages
from agent_core.llm.anthropic_reply import BLOCKS
from agent_core.llm.discover import check
from agent_core.llm.providers import PRESETS, ProviderOptions, resolve
from agent_core.llm.wire import Quirks
from agent_core.messages import ImagePart, Message, user
from agent_core.ports.model import LlmRequest
from tests.core.anthropic_support import ANY, CALL, HI, PLAIN, THOUGHT, TOOL, result, thought
from tests.fakes.raw_server import json_reply, raw_server, read_request
from tests.rows import each_row

# -- refusals -------------------------------------------------------------------------------------------------------

FULL = LlmRequest(
    (
        Message("system", "S"),
        user("Hi", (ImagePart("image/png", "QQ=="),)),
        thought("", THOUGHT, calls=(CALL,)),
        result("c1", ok=False),
    ),
    tools=(TOOL,),
    temperature=0.2,
    reasoning_effort="low",
    cache_ttl="1h",
)


@each_row(
    ("model", "said", "changed"),
    [
        (
            "m",
            "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m-20250219",
            {"max_tokens": 8192},
        ),
        ("m", "max_tokens must be between 1 and 16384", {"max_tokens": 16384}),
        ("m", "messages.1.content.0: Invalid `signature` in `thinking` block", {BLOCKS: frozenset({"s1"})}),
        (
            "m",
            "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
            {BLOCKS: frozenset({"s1"})},
        ),
        (
            "m",
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.',
            {"thinking": "adaptive"},
        ),
        ("claude-opus-4-6", "thinking.type: Input should be 'enabled' or 'disabled'", {"thinking": "enabled"}),
        ("claude-opus-4-6", "thinking.display: Extra inputs are not permitted", {"display": None}),
        ("claude-opus-4-6", "output_config: Extra inputs are not permitted", {"output_config": None}),
        ("claude-opus-4-6", "output_config.effort: Input should be 'low' or 'high'", {"output_config": None}),
        ("m", "This model does not support thinking.", {"thinking": None, "output_config": None}),
        ("m", "thinking.budget_tokens: too small", {"thinking": None, "output_config": None}),
        ("m", "`max_tokens` must be greater than `thinking.budget_tokens`", {"thinking": None, "output_config": None}),
        ("m", "messages.0.content.0.cache_control.ttl: Extra inputs are not permitted", {"ttl": None}),
        ("m", "messages.0.content.0.cache_control: Extra inputs are not permitted", {"cache_control": None}),
        ("m", "messages.2.content.0.is_error: Extra inputs are not permitted", {"is_error": None}),
        ("m", "system: Input should be a valid string", {"system": "text"}),
        ("m", "tool_choice: not supported", {"tool_choice": None}),
        ("m", "This model does not support image input", {"images": None}),
    ],
)
def test_a_refused_field_is_changed(model: str, said: str, changed: dict[str, Any]):
    sent = body_of(FULL, model, PLAIN, ANY)
    found = adapted(PLAIN, sent, ProviderError("bad_request", said, said=said))
    assert found is not None
    assert {**found.swapped, **dict.fromkeys(found.dropped)} == changed
    assert body_of(FULL, model, found, ANY) != sent


def test_the_bound_of_a_reply_leaves_room_in_a_small_window():
    said = "'max_tokens' is too large: 32000. This model's maximum context length is 8192 tokens"
    sent = body_of(FULL, "m", PLAIN, ANY)
    found = adapted(PLAIN, sent, ProviderError("context_length", said, said=said, limit=8192))
    assert found is not None
    smaller = body_of(FULL, "m", found, ANY)
    assert smaller["max_tokens"] == 2048
    assert adapted(found, smaller, ProviderError("context_length", said, said=said, limit=8192)) is None
    assert adapted(PLAIN, sent, ProviderError("context_length", said, said=said, limit=200_000)) is None


def test_only_the_thinking_that_was_refused_is_left_out():
    refused = ProviderError("bad_request", "", said="messages.1.content.0: Invalid `signature` in `thinking` block")
    found = adapted(PLAIN, body_of(FULL, "m", PLAIN, ANY), refused)
    assert found is not None
    history = [*FULL.messages, thought("So.", {**THOUGHT, "signature": "s2"})]
    kept = [b for m in wire_messages(history, "m", found) for b in m["content"] if b["type"] == "thinking"]
    assert [b["signature"] for b in kept] == ["s2"]
    assert adapted(found, body_of(FULL, "m", found, ANY), refused) is None


def test_thinking_that_nobody_signed_is_left_out_for_good():
    unsigned = {"type": "thinking", "thinking": "Hm"}
    request = LlmRequest((HI, thought("", unsigned, calls=(CALL,)), result("c1")), tools=(TOOL,))
    refused = ProviderError("bad_request", "", said="thinking.signature: Field required")
    found = adapted(PLAIN, body_of(request, "m", PLAIN, ANY), refused)
    assert found is not None
    assert BLOCKS in found.dropped


def test_temperature_is_left_out_where_it_is_refused():
    request = replace(FULL, reasoning_effort=None)
    sent = body_of(request, "m", PLAIN, ANY)
    found = adapted(PLAIN, sent, ProviderError("bad_request", "", said="`temperature` is deprecated for this model."))
    assert found is not None
    assert "temperature" not in body_of(request, "m", found, ANY)


@each_row(
    ("kind", "said"),
    [
        ("bad_request", ""),
        ("bad_request", "messages: at least one message is required"),
        ("bad_request", "tools.0.input_schema: JSON schema is invalid"),
        ("bad_request", "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"),
        ("auth", "invalid x-api-key; thinking"),
        ("context_length", "prompt is too long: 210000 tokens > 200000 maximum, reduce max_tokens 100"),
    ],
)
def test_other_refusals_are_not_answered_with_another_request(kind: Any, said: str):
    assert adapted(PLAIN, body_of(FULL, "m", PLAIN, ANY), ProviderError(kind, said, said=said)) is None


@pytest.mark.parametrize("model", ["m", "claude-opus-4-6"])
def test_asking_again_always_comes_to_an_end(model: str):
    everything = (
        "max_tokens 4000 thinking.type adaptive 'enabled' display output_config cache_control ttl is_error signature "
        "system should be a string temperature tool_choice does not support images tool_use.id pattern"
    )
    quirks: Quirks | None = PLAIN
    for _ in range(30):
        assert quirks is not None
        sent = body_of(FULL, model, quirks, ANY)
        quirks = adapted(quirks, sent, ProviderError("bad_request", everything, said=everything))
        if quirks is None:
            break
    assert quirks is None


# -- who is asked over it -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "env", "address", "headers"),
    [
        (
            {"provider": "anthropic"},
            {"ANTHROPIC_API_KEY": "k-1234567890ab"},
            "https://api.anthropic.com/v1",
            {"x-api-key"},
        ),
        (
            {"provider": "anthropic", "base_url": "https://api.anthropic.com"},
            {"ANTHROPIC_API_KEY": "k-1234567890ab"},
            "https://api.anthropic.com/v1",
            {"x-api-key"},
        ),
        (
            {"provider": "ds", "providers": {"ds": {"base_url": "https://api.deepseek.com/anthropic"}}},
            {},
            "https://api.deepseek.com/anthropic/v1",
            {"authorization", "x-api-key"},
        ),
        (
            {
                "provider": "glm4",
                "providers": {"glm4": {"base_url": "https://open.bigmodel.cn/api/anthropic/v1/messages"}},
            },
            {},
            "https://open.bigmodel.cn/api/anthropic/v1",
            {"authorization", "x-api-key"},
        ),
    ],
)
def test_servers_of_this_wire_are_a_matter_of_config(options: dict, env: dict, address: str, headers: set[str]):
    for entry in options.get("providers", {}).values():
        entry["api_mode"] = "anthropic_messages"
    endpoint = resolve(ProviderOptions(model="m", **options), env, {})
    assert (endpoint.base_url, endpoint.preset.wire) == (address, "anthropic_messages")
    assert set(endpoint.preset.key_headers) == headers
    assert endpoint.preset.headers["anthropic-version"] == "2023-06-01"
    assert endpoint.preset.id_rule == "safe"


def test_anthropic_can_still_be_asked_as_if_it_were_another():
    options = ProviderOptions(
        model="m", provider="anthropic", providers={"anthropic": {"api_mode": "chat_completions"}}
    )
    endpoint = resolve(options, {"ANTHROPIC_API_KEY": "k-1234567890ab"}, {})
    assert (endpoint.preset.wire, endpoint.preset.key_headers) == ("chat_completions", ("x-api-key", "authorization"))
    assert PRESETS["anthropic"].wire == "anthropic_messages"


def test_the_list_of_models_is_asked_for_whole_and_with_the_key():
    seen = []

    def handler(connection: socket.socket, number: int) -> None:
        seen.append(read_request(connection))
        json_reply(connection, 200, {"data": [{"id": "claude-x"}], "has_more": False})

    with raw_server(handler) as server:
        options = ProviderOptions(
            model="claude-x", provider="anthropic", base_url=server.base_url, api_key_env="MY_KEY"
        )
        health = check(resolve(options, {"MY_KEY": "k-1234567890ab"}, {}))
    assert (health.code, health.models) == ("ok", ("claude-x",))
    assert seen[0]["line"] == "GET /v1/models?limit=1000 HTTP/1.1"
    assert (seen[0]["headers"]["x-api-key"], "authorization" in seen[0]["headers"]) == ("k-1234567890ab", False)
