"""Replies in the wire of Anthropic: their events taken apart, whole or broken."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from agent_core.errors import ProviderError
from agent_core.llm.anthropic_messages import wire_messages
from agent_core.llm.anthropic_reply import BLOCKS, MessageBuilder
from agent_core.llm.body import BodyReader
from agent_core.llm.token_counts import read_usage
from agent_core.messages import Message, Usage
from agent_core.ports.model import Delta, LlmReply
from tests.core.anthropic_support import HI, PLAIN
from tests.rows import each_row


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
