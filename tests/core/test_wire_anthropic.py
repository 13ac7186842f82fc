"""The messages wire alone: what is sent, what odd servers may answer, what is changed when one refuses."""

from __future__ import annotations

import itertools
import json
import socket
from dataclasses import replace
from typing import Any

import pytest

from agent_core.errors import ProviderError
from agent_core.llm.anthropic_messages import adapted, body_of, marked, wire_messages
from agent_core.llm.anthropic_reply import BLOCKS, MessageBuilder
from agent_core.llm.body import BodyReader
from agent_core.llm.discover import check
from agent_core.llm.providers import PRESETS, Preset, ProviderOptions, resolve
from agent_core.llm.token_counts import read_usage
from agent_core.llm.wire import Quirks
from agent_core.messages import ImagePart, Message, ToolCall, ToolResult, Usage, tool, user
from agent_core.ports.model import Delta, LlmReply, LlmRequest, ToolSchema
from tests.fakes.raw_server import json_reply, raw_server, read_request
from tests.rows import each_row

PLAIN = Quirks(id_rule="safe")
ANY = Preset("x", "X")
TOOL = ToolSchema("grep", "Searches.", {"type": "object"})
CALL = ToolCall("c1", "grep", {"q": 1})
HI = user("Hi")


def body(*messages: Message, model: str = "claude-sonnet-4-5", quirks: Quirks = PLAIN, **fields: Any) -> dict[str, Any]:
    return body_of(LlmRequest(messages or (HI,), **{"cache_ttl": "", **fields}), model, quirks, ANY)


def result(call_id: str, text: str = "ok", ok: bool = True) -> Message:
    return tool(ToolResult(call_id, "grep", text, ok=ok))


class TestRequest:
    def test_a_conversation_is_written_in_blocks(self):
        messages = [
            Message("system", "Be good."),
            user("Look", (ImagePart("image/png", "QQ=="),)),
            Message("assistant", "I look. \n", tool_calls=(CALL, replace(CALL, id="c2"))),
            result("c2", "two", ok=False),
            result("c1", "one"),
            user("Faster."),
        ]
        sent = body(*messages, tools=(TOOL,))
        assert sent["system"] == [{"type": "text", "text": "Be good."}]
        assert sent["messages"] == [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "grep", "input": {"q": 1}},
                    {"type": "tool_use", "id": "c2", "name": "grep", "input": {"q": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "two", "is_error": True},
                    {"type": "text", "text": "Faster."},
                ],
            },
        ]

    def test_only_what_was_asked_for_is_sent(self):
        assert body().keys() == {"model", "max_tokens", "stream", "messages"}
        preset = replace(ANY, extra_body={"top_k": 5, "system": "evil", "max_tokens": 1})
        sent = body_of(LlmRequest((HI,), max_tokens=77), "m", PLAIN, preset)
        assert (sent["max_tokens"], sent["top_k"], "system" in sent) == (77, 5, False)

    @pytest.mark.parametrize(
        ("choice", "sent"),
        [
            (None, {"type": "auto"}),
            ("none", {"type": "none"}),
            ("required", {"type": "any"}),
            ("grep", {"type": "tool", "name": "grep"}),
        ],
    )
    def test_which_tool_is_to_be_called(self, choice: str | None, sent: dict[str, str]):
        assert body(tools=(TOOL,), tool_choice=choice)["tool_choice"] == sent

    @each_row(
        ("model", "effort", "most", "thinking"),
        [
            ("claude-sonnet-4-5", None, None, None),
            ("claude-sonnet-4-5", "none", None, None),
            ("claude-sonnet-4-5", "low", None, 4_096),
            ("claude-sonnet-4-20250514", "high", None, 20_480),
            ("claude-3-7-sonnet-20250219", "max", None, 24_000),
            ("claude-opus-4-1", "high", 8_000, 6_000),
            ("claude-opus-4-1", "high", 1_000, None),
            ("deepseek-chat", "minimal", None, 1_024),
            ("claude-opus-4-6", "high", None, "high"),
            ("anthropic/claude-sonnet-4.6", "minimal", None, "low"),
            ("claude-opus-4-6", None, None, None),
            ("claude-fable-5-1", "max", None, "max"),
            ("claude-sonnet-5-5", "none", None, "low"),
            ("claude-sonnet-5-20270101", "low", None, "low"),
        ],
    )
    def test_how_much_thinking_is_asked_for(self, model: str, effort: str | None, most: int | None, thinking: Any):
        sent = body(model=model, reasoning_effort=effort, max_tokens=most, temperature=0.2)
        found = sent.get("thinking", {}).get("budget_tokens") or sent.get("output_config", {}).get("effort")
        assert found == thinking
        assert ("temperature" in sent) == (thinking is None)
        assert not isinstance(thinking, int) or thinking < sent["max_tokens"]

    def test_a_model_that_thinks_unasked_is_asked_to_show_it(self):
        sent = body(model="claude-sonnet-5-5")
        assert (sent["thinking"], "output_config" in sent) == ({"type": "adaptive", "display": "summarized"}, False)

    def test_temperature_is_at_most_one(self):
        assert [body(temperature=t)["temperature"] for t in (0.0, 0.7, 1.6)] == [0.0, 0.7, 1.0]

    def test_where_a_tool_must_be_called_there_is_no_thinking(self):
        sent = body(tools=(TOOL,), tool_choice="required", reasoning_effort="high")
        assert "thinking" not in sent


THOUGHT = {"type": "thinking", "thinking": "Hm", "signature": "s1"}
SEALED = {"type": "redacted_thinking", "data": "xyz"}


def thought(text: str, *kept: dict[str, Any], calls: tuple[ToolCall, ...] = (), model: str = "m") -> Message:
    return Message("assistant", text, tool_calls=calls, model=model, extra={BLOCKS: list(kept)})


class TestThinking:
    def test_thinking_stands_where_it_stood(self):
        said = thought(
            "One.Two.",
            {**THOUGHT, "at": [0, 0]},
            {**SEALED, "at": [4, 0]},
            {**THOUGHT, "at": [8, 1]},
            calls=(CALL, replace(CALL, id="c2")),
        )
        (_, answer, _) = wire_messages([HI, said, result("c1"), result("c2")], "m", PLAIN)
        short = [b.get("text") or b.get("id") or b["type"] for b in answer["content"]]
        assert short == ["thinking", "One.", "redacted_thinking", "Two.", "c1", "thinking", "c2"]
        assert answer["content"][0] == THOUGHT

    @pytest.mark.parametrize(
        ("said", "quirks"),
        [
            (thought("Hi", THOUGHT, model="other"), PLAIN),
            (thought("Hi", THOUGHT), replace(PLAIN, dropped=frozenset({BLOCKS}))),
        ],
    )
    def test_foreign_and_refused_thinking_is_left_out(self, said: Message, quirks: Quirks):
        assert wire_messages([HI, said], "m", quirks)[1]["content"] == [{"type": "text", "text": "Hi"}]

    def test_thinking_alone_is_no_message(self):
        assert len(wire_messages([HI, thought(" \n", THOUGHT), HI], "m", PLAIN)) == 1

    @pytest.mark.parametrize(
        ("model", "kept", "thinks"), [("m", [THOUGHT], True), ("m", [], False), ("claude-opus-4-6", [], True)]
    )
    def test_a_round_that_began_without_thinking_goes_on_without(self, model: str, kept: list, thinks: bool):
        said = thought("", *kept, calls=(CALL,), model=model)
        sent = body(HI, said, result("c1"), model=model, tools=(TOOL,), reasoning_effort="high")
        assert ("thinking" in sent) == thinks
        sent = body(HI, said, result("c1"), Message("assistant", "So."), HI, tools=(TOOL,), reasoning_effort="high")
        assert "thinking" in sent


# -- marks for the cache --------------------------------------------------------------------------------------------


def marks(sent: dict[str, Any]) -> list[str]:
    places = [f"system {i}" for i, b in enumerate(sent.get("system", ())) if "cache_control" in b]
    for number, message in enumerate(sent["messages"]):
        places += [f"{number}.{i}" for i, b in enumerate(message["content"]) if "cache_control" in b]
    return places


LONG = [
    Message("system", "The same in every session."),
    Message("system", "This project."),
    HI,
    Message("assistant", "", tool_calls=(CALL,)),
    result("c1"),
    Message("assistant", "Done."),
    user("And now?"),
]


class TestCache:
    @pytest.mark.parametrize(
        ("messages", "found"),
        [
            ([HI], ["0.0"]),
            (LONG[1:3], ["system 0", "0.0"]),
            (LONG, ["system 0", "system 1", "3.0", "4.0"]),
            (LONG[:5], ["system 0", "system 1", "1.0", "2.0"]),
            ([HI, thought("So.", {**THOUGHT, "at": [3, 0]}), user("x")], ["1.0", "2.0"]),
        ],
    )
    def test_where_the_marks_stand(self, messages: list[Message], found: list[str]):
        assert marks(body(*messages, model="m", cache_ttl="5m", tools=(TOOL,))) == found

    def test_a_switch_of_the_mode_leaves_what_comes_before_it_remembered(self):
        asked = [body(Message("system", f"Long.\n\nMode {m}"), HI, lasting=5, cache_ttl="5m") for m in ("ask", "plan")]
        mark = {"cache_control": {"type": "ephemeral"}}
        assert asked[0]["system"] == [
            {"type": "text", "text": "Long.", **mark},
            {"type": "text", "text": "Mode ask", **mark},
        ]
        assert asked[0]["system"][0] == asked[1]["system"][0]
        assert body(Message("system", "All."), HI, lasting=4)["system"] == [{"type": "text", "text": "All."}]

    def test_all_but_the_marks_stays_the_same_from_request_to_request(self):
        def bare(value: Any) -> Any:
            if isinstance(value, dict):
                return {k: bare(v) for k, v in value.items() if k != "cache_control"}
            return [bare(v) for v in value] if isinstance(value, list) else value

        whole = body(*LONG, cache_ttl="5m", tools=(TOOL,))
        for count in (3, 5, 7):
            sent = body(*LONG[:count], cache_ttl="5m", tools=(TOOL,))
            assert sent["system"] == whole["system"]
            assert bare(sent["messages"]) == bare(whole["messages"])[: len(sent["messages"])]
        assert bare(whole) == body(*LONG, tools=(TOOL,))

    def test_the_mark_of_the_last_request_is_marked_again(self):
        first, second = body(*LONG[:5], cache_ttl="5m", tools=(TOOL,)), body(*LONG, cache_ttl="5m", tools=(TOOL,))
        assert first["messages"][2] == {**second["messages"][2], "content": first["messages"][2]["content"]}
        assert marks(second)[-2] == "3.0"  # within the 20 blocks that a server looks back from a mark

    def test_what_was_given_is_not_changed(self):
        system, messages = [{"type": "text", "text": "S"}], wire_messages(LONG, "m", PLAIN)
        before = json.dumps([system, messages])
        marked(system, messages, {"type": "ephemeral"})
        assert json.dumps([system, messages]) == before

    @pytest.mark.parametrize(
        ("ttl", "dropped", "control"),
        [
            ("5m", set(), {"type": "ephemeral"}),
            ("1h", set(), {"type": "ephemeral", "ttl": "1h"}),
            ("1h", {"ttl"}, {"type": "ephemeral"}),
            ("1h", {"cache_control"}, None),
            ("", set(), None),
        ],
    )
    def test_how_long_it_is_kept(self, ttl: str, dropped: set[str], control: dict | None):
        sent = body(cache_ttl=ttl, quirks=replace(PLAIN, dropped=frozenset(dropped)))
        assert sent["messages"][0]["content"][0].get("cache_control") == control


# -- replies --------------------------------------------------------------------------------------------------------


def read(*events: Any) -> tuple[LlmReply, list[Delta]]:
    """The reply to a stream of these events, over the bytes of one."""
    builder = MessageBuilder("X", {"grep": {}})
    reader = BodyReader(builder, "X")
    lines = [f"event: {e['type']}\n" if "type" in e else "" for e in events]
    data = "".join(f"{line}data: {json.dumps(e)}\n\n" for line, e in zip(lines, events, strict=True)).encode()
    deltas = [delta for piece in range(0, len(data), 7) for delta in reader.feed(data[piece : piece + 7])]
    deltas += reader.end()
    reader.check_end()
    return builder.finish(), deltas


def begin(index: int | None, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def more(index: int | None, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def end(reason: str | None = "end_turn", **usage: int) -> list[dict[str, Any]]:
    return [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}, {"type": "message_stop"}]


START = {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}}
TEXT = [begin(0, type="text", text=""), more(0, type="text_delta", text="Hello")]
USE = {"type": "tool_use", "id": "t1", "name": "grep", "input": {}}


class TestReply:
    @each_row(
        "events",
        [
            [START, *TEXT, {"type": "content_block_stop", "index": 0}, *end()],
            [*TEXT, *end()],  # without a beginning
            [more(0, type="text_delta", text="Hel"), more(0, text="lo"), *end()],  # a block that never began
            [begin(0, type="text", text="Hello"), *end()],  # whole at once
            [{"type": "ping"}, {}, *TEXT, {"type": "of_the_future", "x": 1}, *end()],
            [*TEXT, end()[0]],  # without the end
            [*TEXT, end()[1]],  # without a reason
            [{k: v for k, v in e.items() if k != "type"} for e in (START, *TEXT, *end())],  # kinds that nothing tells
            [begin(None, type="text", text=""), more(None, text="Hel"), more(None, text="lo"), *end()],
            [{"type": "message_start", "message": {"content": [{"type": "text", "text": "Hello"}]}}, *end()],
            [{"type": "message", "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn"}],
            [{"type": "message", "content": "Hello"}],
        ],
    )
    def test_text_in_every_shape(self, events: list):
        reply, deltas = read(*events)
        assert (reply.text, reply.finish) == ("Hello", "stop")
        assert "".join(d.text for d in deltas if d.kind == "text") == "Hello"

    @each_row(
        "events",
        [
            [begin(0, **USE), more(0, partial_json='{"q"'), more(0, partial_json=":1}")],
            [begin(0, **{**USE, "input": {"q": 1}})],  # all in the beginning
            [
                begin(0, **{**USE, "input": {"q": 1}}),
                more(0, partial_json='{"q":'),
                more(0, partial_json="1}"),
            ],  # twice
            [begin(0, **{**USE, "input": '{"q":1}'})],
            [begin(0, **USE), more(0, partial_json={"q": 1})],
            [begin(0, **USE), begin(0, **USE), more(0, partial_json='{"q":1}')],  # told twice
            [begin(3, **USE), more(3, partial_json='{"q":1}')],
            [begin(0, **{k: v for k, v in USE.items() if k != "type"}), more(0, partial_json='{"q":1}')],
            [begin(None, **USE), more(None, partial_json='{"q":'), more(None, partial_json="1}")],
            [begin(0, **{**USE, "name": "functions.grep"}), more(0, partial_json='{"q":1}')],
        ],
    )
    @each_row("reason", ["tool_use", "end_turn"])
    def test_a_call_in_every_shape(self, events: list, reason: str):
        reply, _ = read(START, *events, *end(reason))
        assert [(c.id, c.name, dict(c.arguments), c.arguments_error) for c in reply.tool_calls] == [
            ("t1", "grep", {"q": 1}, None)
        ]
        assert reply.finish == "tool_calls"

    @pytest.mark.parametrize("name", [True, False])
    def test_kinds_may_be_told_by_the_names_of_events_alone(self, name: bool):
        builder = MessageBuilder("X", {})
        reader = BodyReader(builder, "X")
        for event in (START, *TEXT, *end()):
            data = json.dumps({k: v for k, v in event.items() if k != "type"})
            reader.feed(f"event: {event['type'] if name else 'message'}\ndata: {data}\n\n".encode())
        assert builder.finish().text == "Hello"

    def test_blocks_that_all_have_the_same_index_are_several(self):
        calls = [(begin(0, **{**USE, "id": f"t{n}"}), more(0, partial_json=f'{{"q":{n}}}')) for n in range(3)]
        reply, _ = read(START, *TEXT, *itertools.chain(*calls), *end("tool_use"))
        assert [(c.id, c.arguments["q"]) for c in reply.tool_calls] == [("t0", 0), ("t1", 1), ("t2", 2)]

    def test_calls_without_ids_get_one_each(self):
        reply, _ = read(begin(0, **{**USE, "id": ""}), begin(1, **{**USE, "id": None}), *end("tool_use"))
        assert len({c.id for c in reply.tool_calls}) == 2

    @each_row(
        ("reason", "finish"),
        [
            ("end_turn", "stop"),
            ("stop_sequence", "stop"),
            ("pause_turn", "length"),
            ("max_tokens", "length"),
            ("refusal", "content_filter"),
            ("of_the_future", "stop"),
            ("tool_use", "stop"),  # without a call
        ],
    )
    def test_reasons(self, reason: str, finish: str):
        assert read(START, *TEXT, *end(reason))[0].finish == finish

    @pytest.mark.parametrize("cut", ["", '{"q', "{"])
    def test_a_call_cut_by_the_limit_is_dropped_and_one_before_it_is_not(self, cut: str):
        first = [begin(0, **USE), more(0, partial_json="{}")]
        second = [
            begin(1, **{**USE, "id": "t2"}),
            more(1, partial_json=cut),
            {"type": "content_block_stop", "index": 1},
        ]
        reply, _ = read(START, *first, *second, *end("max_tokens"))
        assert ([c.id for c in reply.tool_calls], reply.dropped_tool_calls) == (["t1"], 1)

    @each_row(
        ("events", "kind"),
        [
            ([], "truncated"),
            ([START], "truncated"),
            ([START, *TEXT], "truncated"),
            ([START, *TEXT, {"type": "content_block_stop", "index": 0}], "truncated"),
            ([START, *end()[1:]], "truncated"),
            ([START, begin(0, **USE), more(0, partial_json='{"q'), end()[1]], "truncated"),
            ([START, *TEXT, *end("model_context_window_exceeded")], "context_length"),
            (
                [START, *TEXT, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}],
                "server",
            ),
            ([{"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}], "rate_limit"),
            ([{"type": "error", "error": {"type": "authentication_error", "message": "x"}}], "auth"),
            ([{"choices": [{"delta": {"content": "x"}}]}], "protocol"),
            ([{"unknown": 1}], "protocol"),
        ],
    )
    def test_failures(self, events: list, kind: str):
        with pytest.raises(ProviderError) as caught:
            read(*events)
        assert caught.value.kind == kind

    def test_thinking_is_kept_with_its_signature_and_its_place(self):
        reply, deltas = read(
            START,
            begin(0, type="thinking", thinking="", signature=""),
            more(0, type="thinking_delta", thinking="Let me "),
            more(0, type="thinking_delta", thinking="see."),
            more(0, type="signature_delta", signature="sig"),
            begin(1, type="redacted_thinking", data="xyz"),
            begin(2, type="text", text=""),
            more(2, text="So: "),
            begin(3, type="thinking", thinking="More."),
            more(3, signature="sig2"),
            begin(4, **USE),
            *end("tool_use"),
        )
        assert reply.reasoning == "Let me see.More."
        assert reply.extra[BLOCKS] == [
            {"type": "thinking", "thinking": "Let me see.", "signature": "sig", "at": [0, 0]},
            {"type": "redacted_thinking", "data": "xyz", "at": [0, 0]},
            {"type": "thinking", "thinking": "More.", "signature": "sig2", "at": [4, 0]},
        ]
        assert [d.text for d in deltas if d.kind == "reasoning"] == ["Let me ", "see.", "More."]
        said = Message("assistant", reply.text, tool_calls=reply.tool_calls, model="m", extra=reply.extra)
        kinds = [b["type"] for b in wire_messages([HI, said], "m", PLAIN)[1]["content"]]
        assert kinds == ["thinking", "redacted_thinking", "text", "thinking", "tool_use"]

    def test_thinking_that_was_cut_before_its_signature_is_not_kept(self):
        events = [begin(0, type="thinking", thinking=""), more(0, thinking="Let me")]
        assert read(START, *events, *end("max_tokens"))[0].extra == {}
        assert read(START, *events, *TEXT[1:], *end())[0].extra  # a server that signs nothing

    def test_calls_and_thoughts_written_as_text_are_found(self):
        text = '<think>Hm</think>Look.<tool_call>{"name": "grep", "arguments": {"q": 1}}</tool_call>'
        reply, _ = read(START, *[more(0, text=piece) for piece in text], *end())
        assert (reply.text.strip(), reply.reasoning, [dict(c.arguments) for c in reply.tool_calls]) == (
            "Look.",
            "Hm",
            [{"q": 1}],
        )

    def test_halves_of_a_character_are_joined(self):
        assert read(START, more(0, text="a\ud83d"), more(0, text="\ude00"), *end())[0].text == "a😀"

    @each_row(
        ("counts", "usage"),
        [
            ([{"input_tokens": 10, "output_tokens": 1}, {"output_tokens": 5}], Usage(10, 5, 15)),
            ([{"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 10, "output_tokens": 5}], Usage(10, 5, 15)),
            ([{"input_tokens": 10, "output_tokens": 3}, {"input_tokens": 0, "output_tokens": 5}], Usage(10, 5, 15)),
            (
                [
                    {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20},
                    {"output_tokens": 5},
                ],
                Usage(130, 5, 135, cached_tokens=100, cache_write_tokens=20),
            ),
            ([{}, {}], None),
            ([{"input_tokens": None}, {"output_tokens": None}], None),
        ],
    )
    def test_tokens(self, counts: list, usage: Usage | None):
        first, last = counts
        start = {"type": "message_start", "message": {"usage": first}}
        assert read(start, *TEXT, *end(**last))[0].usage == usage


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        # where a prompt is all of it, what was cached is not counted twice
        ({"prompt_tokens": 130, "completion_tokens": 5, "cache_read_input_tokens": 100}, Usage(130, 5, 135, 100)),
        (
            {"input_tokens": 130, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 100}},
            Usage(130, 5, 135, 100),
        ),
        (
            {
                "prompt_tokens": 130,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 20},
            },
            Usage(130, 5, 135, 100, cache_write_tokens=20),
        ),
    ],
)
def test_tokens_of_other_servers(counts: dict, usage: Usage):
    assert read_usage(counts) == usage


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
