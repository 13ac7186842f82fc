"""The responses wire: what servers that speak it really send, what is sent back, and what is changed on a refusal."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.cancel import CancelScope
from agent_core.errors import ProviderError
from agent_core.llm.body import BodyReader
from agent_core.llm.client import make_client
from agent_core.llm.providers import Preset, ProviderOptions, resolve
from agent_core.llm.responses import WIRE, adapted, body_of
from agent_core.llm.responses_reply import ITEMS, ResponseBuilder
from agent_core.llm.wire import Quirks
from agent_core.messages import ImagePart, Message, ToolCall, ToolResult, tool, user
from agent_core.ports.model import Delta, LlmReply, LlmRequest, ToolSchema
from tests.fakes.wire_server import Answer, Failure, WireServer
from tests.rows import each_row

TOOLS = {"read_file": {"type": "object", "properties": {}}, "grep": {"type": "object", "properties": {}}}
Event = dict[str, Any]


def ev(name: str, **fields: Any) -> Event:
    return {"type": f"response.{name}", **fields}


def call(name: str = "read_file", arguments: str = '{"path": "a"}', **more: Any) -> Event:
    return {"type": "function_call", "name": name, "arguments": arguments, **more}


def message(text: str, **more: Any) -> Event:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **more}


def thought(summary: str = "", **more: Any) -> Event:
    return {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": summary}] if summary else [],
        **more,
    }


def completed(*output: Event, **more: Any) -> Event:
    return ev("completed", response={"object": "response", "status": "completed", "output": [*output], **more})


def read(*events: Event) -> tuple[LlmReply, list[Delta]]:
    builder = ResponseBuilder("Server", TOOLS)
    deltas = [delta for event in events for delta in builder.feed(event)]
    reply = builder.finish()
    return reply, [*deltas, Delta("text", builder.late)] if builder.late else deltas


def shown(deltas: list[Delta], kind: str) -> str:
    return "".join(d.text for d in deltas if d.kind == kind)


def delta(text: str, what: str = "output_text", **more: Any) -> Event:
    return ev(f"{what}.delta", delta=text, **more)


ARGS = "function_call_arguments"

HELLO = {
    "by the book": [
        ev("created", response={"status": "in_progress", "output": []}),
        ev("output_item.added", output_index=0, item={"type": "message", "id": "msg_1", "content": []}),
        delta("Hel", item_id="msg_1", output_index=0, content_index=0),
        delta("lo", item_id="msg_1", output_index=0, content_index=0),
        ev("output_text.done", item_id="msg_1", output_index=0, content_index=0, text="Hello"),
        ev("output_item.done", output_index=0, item=message("Hello", id="msg_1")),
        completed(message("Hello", id="msg_1")),
    ],
    "deltas and nothing else": [delta("Hel"), delta("lo"), ev("completed", response={})],
    "no end of anything, an empty response": [delta("Hel", item_id="a"), delta("lo", item_id="a"), completed()],
    "no deltas": [ev("output_text.done", text="Hello"), completed(message("Hello"))],
    "only ended items": [ev("output_item.done", item=message("Hello", id="m")), completed(message("Hello", id="x"))],
    "only the response": [completed(message("Hello"))],
    "the bare response as its only event": [completed(message("Hello"))["response"]],
    "the bare response while it grows": [
        {"object": "response", "status": "queued", "output": []},
        {"object": "response", "status": "in_progress", "output": [message("Hel")]},
        {"object": "response", "status": "completed", "output": [message("Hello")]},
    ],
    "another id in every event": [
        delta("Hel", item_id="a"),
        delta("lo", item_id="b"),
        ev("output_item.done", item=message("Hello", id="c")),
        completed(message("Hello", id="d")),
    ],
    "the end of the text only in the end": [delta("Hel", item_id="a"), completed(message("Hello", id="a"))],
    "several parts": [
        delta("Hel", item_id="a", content_index=0),
        delta("lo", item_id="a", content_index=1),
        ev("output_text.done", item_id="a", content_index=0, text="Hel"),
        ev("output_text.done", item_id="a", content_index=1, text="lo"),
        completed({**message(""), "id": "a", "content": [{"text": "Hel"}, {"text": "lo"}]}),
    ],
    "a refusal": [delta("Hel", "refusal"), delta("lo", "refusal"), completed()],
    "halves of a pair": [delta("Hel"), delta("lo"), delta("\ud83d"), delta("\ude00"), completed()],
    "unknown events between": [ev("queued"), delta("Hel"), ev("web_search_call.searching"), delta("lo"), completed()],
}


@each_row("events", HELLO.values(), ids=HELLO)
def test_a_text_comes_once_however_often_it_is_told(events: list[Event]):
    reply, deltas = read(*events)
    assert reply.text == shown(deltas, "text") == ("Hello\U0001f600" if events[-2:-1] == [delta("\ude00")] else "Hello")
    assert (reply.finish, reply.tool_calls, reply.extra) == ("stop", (), {})


A, B = call(call_id="a"), call("grep", '{"q": 1}', call_id="b")
CALLS = {
    "by the book": [
        ev("output_item.added", output_index=0, item={**A, "id": "fc_1", "arguments": ""}),
        delta('{"path"', ARGS, output_index=0, item_id="fc_1"),
        ev("output_item.added", output_index=1, item={**B, "id": "fc_2", "arguments": ""}),
        delta('{"q": 1}', ARGS, output_index=1, item_id="fc_2"),
        delta(': "a"}', ARGS, output_index=0, item_id="fc_1"),
        ev(f"{ARGS}.done", output_index=0, item_id="fc_1", arguments=A["arguments"]),
        ev("output_item.done", output_index=0, item={**A, "id": "fc_1"}),
        ev("output_item.done", output_index=1, item={**B, "id": "fc_2"}),
        completed({**A, "id": "fc_1"}, {**B, "id": "fc_2"}),
    ],
    "no index, no id of the item, all ends at the end": [
        ev("output_item.added", item={**A, "arguments": ""}),
        delta('{"path": "a"}', ARGS, item_id="fc_a"),
        ev("output_item.added", item={**B, "arguments": ""}),
        delta('{"q"', ARGS, item_id="fc_b"),
        delta(": 1}", ARGS, item_id="fc_b"),
        ev("output_item.done", item=A),
        ev("output_item.done", item=B),
        completed(A, B),
    ],
    "every item at index 0": [
        ev("output_item.added", output_index=0, item={"type": "message", "id": "m", "content": []}),
        ev("output_item.added", output_index=0, item={**A, "id": "1", "arguments": ""}),
        delta('{"path": "a"}', ARGS, output_index=0, item_id="1"),
        ev("output_item.added", output_index=0, item={**B, "id": "2", "arguments": ""}),
        delta('{"q": 1}', ARGS, output_index=0, item_id="2"),
        completed({**A, "id": "1"}, {**B, "id": "2"}),
    ],
    "gaps, the higher index first": [
        ev("output_item.added", output_index=7, item={**B, "id": "2", "arguments": ""}),
        ev("output_item.added", output_index=3, item={**A, "id": "1", "arguments": ""}),
        delta('{"path": "a"}', ARGS, output_index=3),
        delta('{"q": 1}', ARGS, output_index=7),
        ev("completed", response={"status": "completed"}),
    ],
    "no deltas": [
        ev("output_item.added", output_index=0, item={**A, "id": "1", "arguments": ""}),
        ev(f"{ARGS}.done", item_id="1", output_index=0, arguments=A["arguments"]),
        ev("output_item.done", output_index=1, item=B),
        completed(),
    ],
    "arguments as objects": [completed({**A, "arguments": {"path": "a"}}, {**B, "arguments": {"q": 1}})],
    "a placeholder first, deltas that end early": [
        ev("output_item.added", output_index=0, item={**A, "id": "1", "arguments": "{}"}),
        delta('{"pa', ARGS, output_index=0, item_id="1"),
        ev("output_item.done", output_index=0, item={**A, "id": "1"}),
        ev("output_item.done", output_index=1, item={**B, "id": "2"}),
        completed(),
    ],
    "the whole again and again": [
        ev("output_item.added", item={**A, "id": "1", "arguments": ""}),
        *[delta(A["arguments"][:n], ARGS, item_id="1") for n in (4, 9, len(A["arguments"]))],
        ev("output_item.done", item=B),
        completed(),
    ],
    "announced under another index": [
        ev("output_item.added", output_index=1, item={**A, "id": "1", "arguments": ""}),
        delta('{"path": "a"}', ARGS, output_index=0),
        ev("output_item.done", output_index=1, item={**A, "id": "1"}),
        ev("output_item.done", output_index=2, item={**B, "id": "2"}),
        completed(A, B),
    ],
    "empty in the response at the end": [
        ev("output_item.done", item=A),
        ev("output_item.done", item=B),
        completed({**A, "arguments": ""}, {**B, "arguments": "{}"}),
    ],
    "nothing tells them apart": [
        ev("output_item.added", item={"type": "function_call", "name": "read_file"}),
        delta('{"path": "a"}', ARGS),
        ev("output_item.added", item={"type": "function_call", "name": "grep"}),
        delta('{"q": 1}', ARGS),
        ev("output_item.done", item={**A, "call_id": None}),
        ev("output_item.done", item={**B, "call_id": None}),
        completed(),
    ],
}


@each_row("events", CALLS.values(), ids=CALLS)
def test_calls_are_told_apart_whatever_the_server_leaves_out(events: list[Event]):
    reply, deltas = read(*events)
    assert [(c.name, dict(c.arguments), c.arguments_error) for c in reply.tool_calls] == [
        ("read_file", {"path": "a"}, None),
        ("grep", {"q": 1}, None),
    ]
    ids = [c.id for c in reply.tool_calls]
    assert len(set(ids)) == 2
    assert all(ids)
    if "call_id" in str(events[0]):
        assert ids == ["a", "b"]
    assert sorted(d.text for d in deltas if d.kind == "tool") == ["grep", "read_file"]
    assert reply.finish == "tool_calls"


class TestReasoning:
    def test_a_summary_is_shown_once_with_its_parts_apart_and_sealed_content_is_kept_in_its_place(self):
        sealed = thought("One", id="rs_1", encrypted_content="xyz", status=None)
        sealed["summary"].append({"type": "summary_text", "text": "Two"})
        reply, deltas = read(
            ev("output_item.added", output_index=0, item={"type": "reasoning", "id": "rs_1", "summary": []}),
            delta("One", "reasoning_summary_text", item_id="rs_1", summary_index=0),
            ev("reasoning_summary_text.done", item_id="rs_1", summary_index=0, text="One"),
            delta("Two", "reasoning_summary_text", item_id="rs_1", summary_index=1),
            ev("output_item.done", output_index=0, item=sealed),
            ev("output_item.done", output_index=1, item=message("Look.", id="m", phase="commentary")),
            ev("output_item.done", output_index=2, item={**A, "id": "fc_1"}),
            completed(sealed, message("Look.", id="m"), {**A, "id": "fc_1"}),
        )
        assert reply.reasoning == shown(deltas, "reasoning") == "One\n\nTwo"
        assert list(reply.extra[ITEMS]) == [
            {"type": "reasoning", "summary": sealed["summary"], "id": "rs_1", "encrypted_content": "xyz"},
            {"type": "message", "phase": "commentary"},
            {"type": "function_call"},
        ]

    def test_reasoning_that_is_told_as_text_and_as_summary_counts_once(self):
        text = {"type": "reasoning_text", "text": "Hm."}
        reply, deltas = read(
            delta("Hm", "reasoning_text", item_id="r1"),
            delta(".", "reasoning_text", item_id="another"),
            delta("Hm.", "reasoning_summary_text", item_id="another"),
            completed(thought("Hm.", content=[text]), message("Hi")),
        )
        assert reply.reasoning == shown(deltas, "reasoning") == "Hm."
        assert reply.extra[ITEMS][0]["content"] == [text]

    def test_what_the_server_would_have_to_remember_is_not_kept(self):
        assert read(completed(thought("Hm", id="rs_1", encrypted_content=None), message("Hi")))[0].extra == {}

    def test_thinking_and_calls_written_into_the_text_are_found_as_on_other_wires(self):
        written = '<think>Hm</think><tool_call>{"name": "grep", "arguments": {"q": 1}}</tool_call>'
        reply, _ = read(delta(written[:20]), delta(written[20:]), completed())
        assert (reply.reasoning, [c.name for c in reply.tool_calls], reply.text) == ("Hm", ["grep"], "")


class TestTheEnd:
    @pytest.mark.parametrize(
        "events",
        [
            [],
            [delta("Hel")],
            [ev("output_item.done", item=message("Hello"))],
            [ev("output_item.done", item=A)],
            [ev("completed", response={"status": "in_progress"})],
        ],
    )
    def test_without_its_last_event_a_reply_is_not_whole(self, events: list[Event]):
        with pytest.raises(ProviderError) as caught:
            read(*events)
        assert (caught.value.kind, caught.value.retryable) == ("truncated", True)

    @pytest.mark.parametrize(
        ("reason", "finish"),
        [("max_output_tokens", "length"), ("content_filter", "content_filter"), (None, "length"), ("x", "length")],
    )
    def test_a_call_that_the_limit_cut_is_never_run(self, reason: str | None, finish: str):
        reply, _ = read(
            ev("output_item.done", output_index=0, item={**A, "id": "1"}),
            ev("output_item.added", output_index=1, item={**B, "id": "2", "arguments": ""}),
            delta('{"q', ARGS, output_index=1, item_id="2"),
            ev(
                "incomplete",
                response={"status": "incomplete", "incomplete_details": {"reason": reason}, "output": [A]},
            ),
        )
        assert ([c.id for c in reply.tool_calls], reply.dropped_tool_calls) == (["a"], 1)
        cut = [{**B, "arguments": '{"q'}]
        details = {"reason": reason} if reason else None
        reply, _ = read(ev("incomplete", response={"incomplete_details": details, "output": cut}))
        assert (reply.tool_calls, reply.dropped_tool_calls, reply.finish) == ((), 1, finish)

    @each_row(
        ("event", "kind", "retryable"),
        [
            (ev("failed", response={"error": {"code": "server_error", "message": "Oh"}}), "server", True),
            (ev("failed", response={"status": "failed"}), "server", True),
            (ev("failed", response={"error": {"code": "rate_limit_exceeded", "message": "x"}}), "rate_limit", True),
            (ev("failed", response={"error": {"code": "server_is_overloaded", "message": "x"}}), "server", True),
            (ev("failed", response={"error": {"code": "insufficient_quota", "message": "x"}}), "quota", False),
            (
                ev("failed", response={"error": {"code": "context_length_exceeded", "message": "x"}}),
                "context_length",
                False,
            ),
            ({"type": "error", "code": "server_error", "message": "Oh", "param": None}, "server", True),
            ({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}, "bad_request", False),
            ({"error": {"code": 503, "message": "no"}}, "server", True),
            (completed(error={"message": "The engine broke"}), "server", True),
            (ev("cancelled", response={"status": "cancelled"}), "server", True),
            ([], "protocol", True),
        ],
    )
    def test_a_failure_is_known_wherever_it_is_told(self, event: Any, kind: str, retryable: bool):
        with pytest.raises(ProviderError) as caught:
            read(delta("Hel"), event)
        assert (caught.value.kind, caught.value.retryable) == (kind, retryable)

    def test_a_whole_response_is_read_without_streaming_and_its_tokens_too(self):
        builder = ResponseBuilder("Server", TOOLS)
        usage = {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 40},
            "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 5},
            "total_tokens": 109,
        }
        output = [thought("Hm", id="rs"), message("Hello"), A]
        builder.feed_document({"object": "response", "status": "completed", "output": output, "usage": usage})
        reply = builder.finish()
        assert (reply.text, reply.reasoning, [c.id for c in reply.tool_calls]) == ("Hello", "Hm", ["a"])
        assert reply.usage is not None
        assert (reply.usage.prompt_tokens, reply.usage.cached_tokens, reply.usage.reasoning_tokens) == (100, 40, 5)

    @each_row("document", [None, [], {}, {"choices": []}, {"output": None}, {"status": "completed"}])
    def test_a_document_that_is_no_response_is_told(self, document: Any):
        with pytest.raises(ProviderError) as caught:
            ResponseBuilder("Server", {}).feed_document(document)
        assert caught.value.kind == "protocol"

    def test_an_event_may_have_its_type_in_its_name_alone(self):
        builder = ResponseBuilder("Server", {})
        reader = BodyReader(builder, "Server")
        reader.feed(b'event: response.output_text.delta\ndata: {"delta": "Hi"}\n\n')
        reader.feed(b'event: response.completed\ndata: {"response": {}}\n\n')
        assert builder.finish().text == "Hi"


KEYS = st.sampled_from(
    "type item output_index item_id id call_id name arguments delta text content summary response output status "  # noqa: SIM905
    "error usage incomplete_details reason summary_index".split()
)
WORDS = ["message", "reasoning", "function_call", "response", "completed", "incomplete", "failed", "a", "b", "{}"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=12,
)
NAMES = st.sampled_from(
    sorted({e["type"] for events in [*HELLO.values(), *CALLS.values()] for e in events if "type" in e})
)


@given(st.lists(st.tuples(NAMES, st.dictionaries(KEYS, st.sampled_from(WORDS) | JSON, max_size=5)), max_size=8))
def test_nothing_a_server_sends_makes_anything_but_a_reply_or_a_told_error(events: list[tuple[str, Event]]):
    builder = ResponseBuilder("Server", TOOLS)
    try:
        for name, fields in events:
            builder.feed({**fields, "type": name})
        reply = builder.finish()
    except ProviderError:
        return
    assert not any(c.arguments_error is None and not isinstance(c.arguments, dict) for c in reply.tool_calls)
    json.dumps(dict(reply.extra)).encode()


# -- what is sent -----------------------------------------------------------------------------------------------------

ANY = Preset("x", "X", wire="responses")
PLAIN = WIRE.quirks(ANY)


def sent(*messages: Message, quirks: Quirks = PLAIN, **settings: Any) -> dict[str, Any]:
    settings = {"tools": (ToolSchema("read_file", "Reads.", {"type": "object", "properties": {}}),), **settings}
    return body_of(LlmRequest(messages, **settings), "m", quirks, ANY)


def kinds(body: dict[str, Any]) -> list[str]:
    return [item.get("role") or item["type"] for item in body["input"]]


SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"}
SAID = Message(
    "assistant",
    "Look.",
    id="0" * 32,
    tool_calls=(ToolCall("c1", "read_file", {"path": "ä"}),),
    extra={ITEMS: [SEALED, {"type": "message"}, SEALED | {"id": "rs_2"}, {"type": "function_call"}]},
    model="m",
)
TALK = (Message("system", "Be good."), user("Hi"), SAID, tool(ToolResult("c1", "read_file", "ok")))


def test_a_conversation_becomes_items_and_nothing_is_stored():
    body = sent(*TALK, temperature=0.5, reasoning_effort="high", max_tokens=500)
    assert body == {
        "model": "m",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be good.",
        "temperature": 0.5,
        "reasoning": {"effort": "high", "summary": "auto"},
        "max_output_tokens": 500,
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Reads.",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            }
        ],
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
            SEALED,
            {
                "type": "message",
                "role": "assistant",
                "id": "msg_" + "0" * 32,
                "status": "completed",
                "content": [{"type": "output_text", "text": "Look.", "annotations": []}],
            },
            SEALED | {"id": "rs_2"},
            {
                "type": "function_call",
                "call_id": "c1",
                "name": "read_file",
                "arguments": '{"path": "ä"}',
                "status": "completed",
            },
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        ],
    }


@each_row(
    ("said", "items"),
    [
        (SAID, ["reasoning", "assistant", "reasoning", "function_call", "function_call_output"]),
        # what belongs to another model is not sent to this one
        (replace(SAID, model="other"), ["assistant", "function_call", "function_call_output"]),
        # reasoning whose call was cut, or whose text was empty, has nothing to stand before
        (replace(SAID, tool_calls=()), ["reasoning", "assistant"]),
        (replace(SAID, text=" "), ["reasoning", "reasoning", "function_call", "function_call_output"]),
        (replace(SAID, text="", tool_calls=()), []),
        # calls that the marks do not know of: written as text
        (
            replace(SAID, extra={ITEMS: [SEALED, {"type": "message"}]}),
            ["reasoning", "assistant", "function_call", "function_call_output"],
        ),
        (replace(SAID, extra={ITEMS: "junk"}), ["assistant", "function_call", "function_call_output"]),
    ],
)
def test_reasoning_goes_back_where_it_stood_and_only_before_something(said: Message, items: list[str]):
    result = TALK[3:] if said.tool_calls else ()
    assert kinds(sent(user("Hi"), said, *result, user("Go on."))) == ["user", *items, *(["user"] if items else [])]


def test_a_person_s_messages_in_a_row_are_one_and_images_are_parts_of_it():
    body = sent(user("Hi"), user("Look", (ImagePart("image/png", "QQ=="),)))
    assert kinds(body) == ["user"]
    assert [p.get("text") or p["image_url"] for p in body["input"][0]["content"]] == [
        "Hi",
        "Look",
        "data:image/png;base64,QQ==",
    ]


SEALED_ITEM = '"type": "reasoning"'


def refused(said: str, kind: Any = "bad_request", field: str = "") -> ProviderError:
    return ProviderError(kind, said, said=said, field=field)


@each_row(
    ("error", "gone"),
    [
        (refused("Encrypted content is not supported with this model."), SEALED_ITEM),
        (refused("Item with id 'rs_1' not found. Items are not persisted.", "not_found"), SEALED_ITEM),
        (refused("item['content'] is not an array"), SEALED_ITEM),
        (refused("Item 'rs_1' of type 'reasoning' was provided without its required following item."), SEALED_ITEM),
        (refused("Unsupported parameter: 'temperature' is not supported with this model."), "temperature"),
        (refused("Unsupported parameter.", field="max_output_tokens"), "max_output_tokens"),
        (refused("Extra inputs are not permitted: body.include"), "include"),
        (refused("unknown field `parallel_tool_calls`"), "parallel_tool_calls"),
        (refused("`store` must be true"), "store"),
        (refused("Unknown parameter: 'tools[0].strict'."), "strict"),
        (refused("Your organization must be verified to generate reasoning summaries."), '"summary": "auto"'),
        (refused("Unsupported parameter: 'reasoning.effort' is not supported with this model."), '"reasoning":'),
        (refused("instructions is not supported"), "instructions"),
        (refused("This model does not support image input."), "input_image"),
    ],
)  # fmt: skip
def test_what_a_server_refuses_is_left_out_and_asking_again_ends(error: ProviderError, gone: str):
    request = (*TALK, user("Look", (ImagePart("image/png", "QQ=="),)))
    settings = {"temperature": 0.5, "reasoning_effort": "high", "max_tokens": 500}
    quirks = PLAIN
    body = sent(*request, quirks=quirks, **settings)
    assert gone in json.dumps(body)
    for _ in range(4):  # reasoning is asked for, too
        changed = adapted(quirks, body, error)
        if changed is None:
            break
        quirks = changed
        body = sent(*request, quirks=quirks, **settings)
    else:
        pytest.fail("it never ends")
    assert gone not in json.dumps(body)


def test_a_limit_that_the_model_does_not_have_becomes_the_one_it_names():
    error = refused("max_output_tokens is too large: 500000. This model supports at most 32768.")
    changed = adapted(PLAIN, sent(*TALK, max_tokens=500_000), error)
    assert changed is not None
    assert sent(*TALK, quirks=changed, max_tokens=500_000)["max_output_tokens"] == 32_768


@pytest.mark.parametrize("error", [refused("no"), refused("temperature", "auth"), refused("", "bad_request")])
def test_what_is_not_about_a_field_changes_nothing(error: ProviderError):
    assert adapted(PLAIN, sent(*TALK, temperature=0.5), error) is None


# -- which wire -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. "
        "Please use /v1/responses instead.",
        "To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
        "This model is only supported in v1/responses and not in v1/chat/completions.",
    ],
)
@pytest.mark.parametrize("kind", ["bad_request", "not_found"])
def test_a_server_that_names_another_wire_is_asked_over_that_from_then_on(words: str, kind: str):
    def refuse(body: dict[str, Any]) -> Failure | None:
        return Failure(kind, words) if "messages" in body else None

    with WireServer(Answer("Hello"), refuse=refuse) as server:
        options = ProviderOptions(provider="acme", model="m", providers={"acme": {"base_url": server.base_url}})
        client = make_client(resolve(options, {}, {}), options)
        request = LlmRequest((user("Hi"),), reasoning_effort="high")
        replies = [client.complete(request, lambda delta: None, CancelScope()) for _ in range(2)]
        assert [r.text for r in replies] == ["Hello", "Hello"]
        assert [r.wire for r in server.requests] == ["chat_completions", "responses", "responses"]
        assert server.bodies[-1]["reasoning"]["effort"] == "high"


def test_two_wires_that_name_each_other_are_each_asked_once():
    def refuse(body: dict[str, Any]) -> Failure:
        return Failure("bad_request", f"Use /v1/{'responses' if 'messages' in body else 'chat/completions'}.")

    with WireServer(Answer("Hello"), refuse=refuse) as server:
        options = ProviderOptions(provider="acme", model="m", providers={"acme": {"base_url": server.base_url}})
        client = make_client(resolve(options, {}, {}), options)
        with pytest.raises(ProviderError) as caught:
            client.complete(LlmRequest((user("Hi"),)), lambda delta: None, CancelScope())
        assert caught.value.kind == "bad_request"
        assert [r.wire for r in server.requests] == ["chat_completions", "responses"]
