"""Our messages → what strict servers accept; and what is changed when one refuses."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent_core.errors import ProviderError
from agent_core.llm.chat_completions import adapted, body_of, wire_messages
from agent_core.llm.history import NO_IMAGE, NO_OUTPUT, NO_RESULT
from agent_core.llm.providers import PRESETS, Preset
from agent_core.llm.wire import Quirks, encode
from agent_core.messages import ImagePart, Message, ToolCall, ToolResult, tool, user
from agent_core.ports.model import LlmRequest, ToolSchema
from tests.rows import each_row

CALL = ToolCall("c1", "read_file", {"path": "ä"})
ANY = Preset("x", "X")
PLAIN = Quirks()


def result(call_id: str, text: str = "ok") -> Message:
    return tool(ToolResult(call_id, "read_file", text))


def asked(*calls: ToolCall, text: str = "", **more: object) -> Message:
    return Message("assistant", text, tool_calls=calls, **more)


def test_a_conversation_is_written_without_anything_of_our_own():
    messages = [
        Message("system", "Be good."),
        user("Hi"),
        asked(CALL, text="Look."),
        result("c1"),
        Message("assistant", "Done."),
    ]
    assert wire_messages(messages, "m", PLAIN) == [
        {"role": "system", "content": "Be good."},
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "Look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "ä"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        {"role": "assistant", "content": "Done."},
    ]


@each_row(
    ("messages", "wire"),
    [
        # results are put in the order of the calls, right behind them
        (
            [asked(CALL, ToolCall("c2", "t")), user("x"), result("c2", "2"), result("c1", "1")],
            ["assistant", "c1=1", "c2=2", "user"],
        ),
        # a missing result is made up, an orphan left out, an empty one filled
        ([asked(CALL), user("x")], ["assistant", f"c1={NO_RESULT}", "user"]),
        ([result("c9"), user("x")], ["user"]),
        ([asked(CALL), result("c1", " \n")], ["assistant", f"c1={NO_OUTPUT}"]),
        # nothing empty
        ([Message("assistant", " "), user(""), Message("system", " "), user("x")], ["user"]),
        ([Message("assistant", "", reasoning="Hm"), user("x")], ["user"]),
        # servers that count calls from 0 in every reply: each call has its own result
        (
            [asked(CALL), result("c1", "1"), asked(CALL), result("c1", "2"), asked(CALL), user("x")],
            ["assistant", "c1=1", "assistant", "c1=2", "assistant", f"c1={NO_RESULT}", "user"],
        ),
    ],
)
def test_a_history_is_made_whole(messages, wire):
    found = wire_messages(messages, "m", PLAIN)
    assert [f"{m['tool_call_id']}={m['content']}" if m["role"] == "tool" else m["role"] for m in found] == wire


PICTURE = ImagePart("image/png", "QQ==")


@pytest.mark.parametrize(
    ("messages", "contents"),
    [
        ([user("one"), user("two"), user("three")], ["one\n\ntwo\n\nthree"]),
        ([user("one"), Message("assistant", " "), user("two")], ["one\n\ntwo"]),
        ([user("one", (PICTURE,)), user("two")], [["one", "image_url", "two"]]),
        ([user("one"), user("two", (PICTURE,))], [["one", "two", "image_url"]]),
        ([user("one"), Message("assistant", "so"), user("two")], ["one", "so", "two"]),
    ],
)
def test_user_messages_without_an_answer_between_them_are_one(messages, contents):
    def plain(content):
        return content if isinstance(content, str) else [part.get("text", part["type"]) for part in content]

    assert [plain(m["content"]) for m in wire_messages(messages, "m", PLAIN)] == contents


def test_joining_user_messages_leaves_the_history_as_it_was():
    history = [user("one", (PICTURE,)), user("two")]
    assert wire_messages(history, "m", PLAIN) == wire_messages(history, "m", PLAIN)
    assert [m.text for m in history] == ["one", "two"]


def test_a_user_message_after_results_waits_for_an_answer_where_the_server_wants_one():
    history = [user("one"), asked(CALL), result("c1"), user("two")]
    refusal = ProviderError("bad_request", "", said="Unexpected role 'user' after role 'tool'", status=400)
    quirks = adapted(PLAIN, {"model": "m", "messages": wire_messages(history, "m", PLAIN)}, refusal)
    assert quirks is not None
    roles = [m["role"] for m in wire_messages(history, "m", quirks)]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert adapted(quirks, {"model": "m", "messages": wire_messages(history, "m", quirks)}, refusal) is None


@pytest.mark.parametrize("rule", ["alnum9", "max40", "safe"])
def test_ids_used_again_are_sent_as_others_and_alike_in_every_request(rule):
    history = [m for n in range(4) for m in (asked(CALL), result("c1", str(n)))]
    quirks = Quirks(id_rule=rule)
    wire = wire_messages(history, "m", quirks)
    ids = [m["tool_call_id"] for m in wire if m["role"] == "tool"]
    assert len(set(ids)) == 4
    assert ids == [m["tool_calls"][0]["id"] for m in wire if m["role"] == "assistant"]
    assert wire_messages(history[:4], "m", quirks) == wire[:4]


def test_a_message_with_calls_only_has_null_content():
    assert wire_messages([asked(CALL), result("c1")], "m", PLAIN)[0]["content"] is None


@pytest.mark.parametrize(("name", "sent"), [("a.b c", "a_b_c"), ("", "unknown_tool"), ("x" * 90, "x" * 64)])
def test_names_no_server_accepts_are_made_acceptable(name, sent):
    assert (
        wire_messages([asked(ToolCall("c", name)), result("c")], "m", PLAIN)[0]["tool_calls"][0]["function"]["name"]
        == sent
    )


@each_row(
    ("rule", "pattern"),
    [("alnum9", r"[A-Za-z0-9]{9}"), ("max40", r".{1,40}"), ("safe", r"[A-Za-z0-9_-]{1,64}"), ("keep", r".+")],
)
@each_row("call_id", ["functions.read_file:0", "call_" + "x" * 60, "aB3dE6gH9", "c 1"])
def test_ids_are_mapped_alike_in_call_and_result(rule, pattern, call_id):
    import re

    calls = (ToolCall(call_id, "t"), ToolCall(call_id + "2", "t"))
    first, *answers = wire_messages([asked(*calls), result(call_id), result(call_id + "2")], "m", Quirks(id_rule=rule))
    ids = [c["id"] for c in first["tool_calls"]]
    assert ids == [m["tool_call_id"] for m in answers]
    assert len(set(ids)) == 2
    assert all(re.fullmatch(pattern, i) for i in ids)
    if rule == "keep" or re.fullmatch(pattern, call_id):
        assert ids[0] == call_id


def test_fields_the_server_wants_back_go_back_to_the_same_model_only():
    call = replace(CALL, extra={"extra_content": {"google": "s"}})
    extra = {"reasoning_content": "Hm", "reasoning_details": [{"a": 1}], "ours": 1}
    history = [asked(call, model="m", extra=extra), result("c1")]
    wire = wire_messages(history, "m", PLAIN)[0]
    assert (wire["reasoning_content"], wire["reasoning_details"]) == ("Hm", [{"a": 1}])
    assert wire["tool_calls"][0]["extra_content"] == {"google": "s"}
    assert wire.keys() == {"role", "content", "tool_calls", "reasoning_content", "reasoning_details"}
    assert "reasoning_content" not in wire_messages(history, "other", PLAIN)[0]


def test_images_come_as_parts_and_without_text_there_is_no_empty_part():
    (wire,) = wire_messages([user("", (ImagePart("image/png", "QQ=="),))], "m", PLAIN)
    assert wire["content"] == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}]


def test_lone_surrogates_are_replaced_and_the_rest_is_utf_8():
    body = encode(body_of(LlmRequest((user("a\udce9b 世界"),)), "m", PLAIN, ANY))
    assert json.loads(body)["messages"][0]["content"] == "a\ufffdb 世界"
    assert "世界".encode() in body


def test_only_what_was_asked_for_is_sent():
    body = body_of(LlmRequest((user("Hi"),)), "m", PLAIN, ANY)
    assert body.keys() == {"model", "messages", "stream", "stream_options"}
    body = body_of(
        LlmRequest((user("Hi"),), stream=False),
        "m",
        PLAIN,
        Preset("x", "X", extra_body={"enable_thinking": False, "model": "evil"}),
    )
    assert (body["model"], body["enable_thinking"], "stream_options" in body) == ("m", False, False)


FULL = LlmRequest(
    (Message("system", "S"), user("Hi"), asked(CALL, extra={"reasoning_content": "Hm"}), result("c1")),
    tools=(ToolSchema("read_file", "Read.", {"type": "object"}),),
    temperature=0.2,
    reasoning_effort="low",
    max_tokens=100,
)


@each_row(
    ("quirks", "said", "changed"),
    [
        (PLAIN, "Unrecognized request argument supplied: stream_options", {"dropped": {"stream_options"}}),
        (PLAIN, "stream_options.include_usage: Extra inputs are not permitted", {"dropped": {"stream_options"}}),
        (PLAIN, "Unsupported parameter: 'temperature'", {"dropped": {"temperature"}}),
        (PLAIN, "'reasoning_effort' does not support 'low'", {"dropped": {"reasoning_effort"}}),
        (PLAIN, "Argument not supported on this model: reasoningEffort", {"dropped": {"reasoning_effort"}}),
        (PLAIN, "tool_choice is not supported", {"dropped": {"tool_choice"}}),
        (Quirks(strict_tools=True), "tools[0].function.strict: extra", {"strict_tools": False}),
        (
            PLAIN,
            "'max_tokens' is not supported, use 'max_completion_tokens'",
            {"max_tokens_field": "max_completion_tokens"},
        ),
        (PLAIN, "max_tokens is too large: 100", {"dropped": {"max_tokens"}}),
        (PLAIN, "tool call id was call_x but must be a-z with a length of 9.", {"id_rule": "alnum9"}),
        (PLAIN, "Invalid 'messages[1].tool_calls[0].id': maximum length 40", {"id_rule": "max40"}),
        (PLAIN, "tool_calls.0.id: string should match pattern '^[a-zA-Z0-9_-]+$'", {"id_rule": "safe"}),
        (PLAIN, "Duplicate value for 'tool_call_id' of 'call_0' in messages[7] and messages[8].", {"id_rule": "max40"}),
        (PLAIN, "invalid params, duplicate tool_call id: call_function_x_1", {"id_rule": "max40"}),
        (PLAIN, "Duplicate 'call_id': call_0", {"id_rule": "max40"}),
        (PLAIN, "messages.3: `tool_use` ids must be unique", {"id_rule": "max40"}),
        (PLAIN, "invalid params, tool call result does not follow tool call (2013)", {"id_rule": "max40"}),
        (PLAIN, "Not the same number of function calls and responses", {"id_rule": "max40"}),
        (PLAIN, "property 'reasoning_content' is unsupported", {"dropped": {"reasoning_content"}}),
        (PLAIN, "reasoning_content is missing in assistant tool call message", {"fill_reasoning": True}),
        (PLAIN, "'messages[0].role' does not support 'system', use developer", {"system_role": "developer"}),
        (PLAIN, "System role not supported", {"system_role": "user"}),
        (Quirks(system_role="developer"), "Unexpected message role.", {"system_role": "system"}),
    ],
)
def test_a_refused_field_is_changed(quirks, said, changed):
    body = body_of(FULL, "m", quirks, ANY)
    found = adapted(quirks, body, ProviderError("bad_request", said, said=said))
    assert found is not None
    for name, value in changed.items():
        actual = getattr(found, name)
        assert value <= actual if isinstance(value, set) else actual == value


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("bad_request", "Invalid schema for function 'x'"),
        ("bad_request", "messages: at least one message is required"),
        ("bad_request", ""),
        ("context_length", "max_tokens exceeds the context"),
        ("auth", "temperature"),
    ],
)
def test_other_refusals_are_not_answered_with_another_request(kind, said):
    assert adapted(PLAIN, body_of(FULL, "m", PLAIN, ANY), ProviderError(kind, said, said=said)) is None


def test_asking_again_always_comes_to_an_end():
    everything = (
        "max_tokens max_completion_tokens temperature reasoning_effort stream_options tool_choice reasoning_content"
    )
    quirks: Quirks | None = PLAIN
    for _ in range(20):
        body = body_of(FULL, "m", quirks, ANY)
        quirks = adapted(quirks, body, ProviderError("bad_request", everything, said=everything))
        if quirks is None:
            break
    assert quirks is None


def test_without_a_system_role_its_text_leads_the_first_user_message():
    assert wire_messages(FULL.messages, "m", Quirks(system_role="user"))[0] == {"role": "user", "content": "S\n\nHi"}


@pytest.mark.parametrize(
    ("model", "ttl", "dropped", "marked"),
    [
        ("anthropic/claude", "5m", (), ["system", "tool", "user"]),
        ("anthropic/claude", "", (), []),
        ("anthropic/claude", "5m", ("cache_control",), []),
        ("openai/gpt", "5m", (), []),
    ],
)
def test_a_server_that_passes_on_marks_for_the_cache_gets_them(model, ttl, dropped, marked):
    history = (Message("system", "S"), user("Hi"), asked(CALL), result("c1"), Message("assistant", "So."), user("More"))
    openrouter = PRESETS["openrouter"]
    body = body_of(LlmRequest(history, cache_ttl=ttl), model, Quirks(dropped=frozenset(dropped)), openrouter)
    plain = body_of(LlmRequest(history, cache_ttl=""), model, PLAIN, openrouter)["messages"]
    found = []
    for message, bare in zip(body["messages"], plain, strict=True):
        if message != bare:
            found.append(message["role"])
            mark = {"type": "ephemeral"}
            assert message["content"] == [{"type": "text", "text": bare["content"], "cache_control": mark}]
    assert found == marked
    refused = ProviderError("bad_request", "", said="messages.0.content.0.cache_control: not permitted")
    if marked:
        assert "cache_control" in adapted(PLAIN, body, refused).dropped


@pytest.mark.parametrize("role", ["system", "developer"])
def test_system_text_in_parts_is_one_message(role):
    history = (Message("system", "S"), Message("system", " "), Message("system", "T"), user("Hi"))
    assert wire_messages(history, "m", Quirks(system_role=role))[:-1] == [{"role": role, "content": "S\n\nT"}]


SEEN = LlmRequest((user("Look", (PICTURE,)),))


@each_row(
    ("kind", "said"),
    [
        ("server", "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        ("not_found", "No endpoints found that support image input"),
        ("bad_request", "messages[0]: unknown variant `image_url`, expected `text` at line 1 column 80"),
        ("bad_request", "At most 0 image(s) may be provided in one request."),
        ("bad_request", "m is not a multimodal model"),
        ("bad_request", "This model does not support images."),
        ("bad_request", "Image input is not enabled for this model"),
        ("server", "this model is missing data required for image input"),
        ("bad_request", "Invalid content type. image_url is only supported by certain models."),
        ("bad_request", "messages[0].content must be a string"),
        ("bad_request", "messages.0.content: Input should be a valid string"),
        ("bad_request", "messages.content.type 参数非法，取值范围 ['text']"),
        ("bad_request", "该模型不支持图片输入"),
    ],
)
def test_a_model_that_takes_no_images_is_asked_without(kind, said):
    found = adapted(PLAIN, body_of(SEEN, "m", PLAIN, ANY), ProviderError(kind, said, said=said))
    assert found is not None
    assert wire_messages(SEEN.messages, "m", found)[0]["content"] == f"Look\n\n{NO_IMAGE}"
    assert adapted(found, body_of(SEEN, "m", found, ANY), ProviderError("bad_request", said, said=said)) is None


@pytest.mark.parametrize(
    "said",
    [
        "The image exceeds 5 MB maximum",
        "Could not process image",
        "Image dimensions are not allowed to exceed 8000 pixels",
    ],
)
def test_an_image_that_is_no_good_is_told(said):
    assert adapted(PLAIN, body_of(SEEN, "m", PLAIN, ANY), ProviderError("bad_request", said, said=said)) is None
