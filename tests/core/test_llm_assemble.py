"""Chunks → one reply: the shapes that servers send besides those of the corpus."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from agent_core import limits
from agent_core.errors import ProviderError
from agent_core.llm import text_tools
from agent_core.llm.arguments import decode
from agent_core.llm.assemble import ReplyBuilder
from agent_core.llm.body import BodyReader
from agent_core.llm.token_counts import read_usage
from agent_core.messages import Usage
from agent_core.ports.model import LlmReply
from tests.rows import each_row

TOOLS = {name: {"type": "object"} for name in ("read_file", "write_file", "list_dir", "get_time")}


def chunk(delta: Any, finish: str | None = None, **more: Any) -> str:
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}) + "\n\n"


DONE = "data: [DONE]\n\n"


def text_stream(text: str, size: int = 3, finish: str = "stop") -> str:
    return "".join(chunk({"content": text[i : i + size]}) for i in range(0, len(text), size)) + chunk({}, finish) + DONE


def call_stream(*fragments: dict[str, Any], finish: str | None = "tool_calls", end: str = DONE) -> str:
    last = chunk({}, finish) if finish else ""
    return "".join(chunk({"tool_calls": [f]}) for f in fragments) + last + end


def fragment(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    function = {k: v for k, v in (("name", name), ("arguments", arguments)) if v is not None}
    return {**more, "function": function}


def reply_to(body: str | bytes, tools: dict[str, Any] = TOOLS) -> LlmReply:
    return read(body, tools)[0]


def read(body: str | bytes, tools: dict[str, Any] = TOOLS) -> tuple[LlmReply, str]:
    """The reply, and the text a screen has shown in the end."""
    builder = ReplyBuilder("Server", tools)
    reader = BodyReader(builder, "Server")
    deltas = reader.feed(body.encode() if isinstance(body, str) else body) + reader.end()
    reader.check_end()
    reply = builder.finish()
    return reply, "".join(d.text for d in deltas if d.kind == "text") + builder.late


def error_of(body: str | bytes) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        reply_to(body)
    return caught.value


A, B = '{"path":"a"}', '{"path":"b"}'


@each_row(
    ("fragments", "calls"),
    [
        # all at index 0, without ids
        (
            [fragment("read_file", A, index=0), fragment("read_file", B, index=0)],
            [("read_file", "a"), ("read_file", "b")],
        ),
        ([fragment("read_file", A, index=0), fragment("read_file", A, index=0)], [("read_file", "a")]),
        # index as digits, from 1, null
        ([fragment("read_file", '{"pa', index="0"), fragment(None, 'th":"a"}', index="0")], [("read_file", "a")]),
        ([fragment("read_file", '{"pa', index=1), fragment(None, 'th":"a"}', index=1)], [("read_file", "a")]),
        (
            [fragment("read_file", '{"pa', index=None, id="x"), fragment(None, 'th":"a"}', index=None)],
            [("read_file", "a")],
        ),
        # fragments of two calls mixed
        (
            [
                fragment("read_file", '{"pa', index=0, id="x"),
                fragment("list_dir", '{"pa', index=1, id="y"),
                fragment(None, 'th":"a"}', index=0),
                fragment(None, 'th":"b"}', index=1),
            ],
            [("read_file", "a"), ("list_dir", "b")],
        ),
        # neither index nor id
        ([fragment("read_file", A), fragment("list_dir", B)], [("read_file", "a"), ("list_dir", "b")]),
        ([fragment("read_file", '{"pa'), fragment("read_file", 'th":"a"}')], [("read_file", "a")]),
        ([fragment("get_time", ""), fragment("list_dir", "")], [("get_time", None), ("list_dir", None)]),
        ([fragment("read_file", ""), fragment("read_file", A)], [("read_file", "a")]),
        ([fragment("read", ""), fragment("_file", A)], [("read_file", "a")]),
        # ids alone
        ([fragment("read_file", '{"pa', id="x"), fragment("read_file", 'th":"a"}', id="x")], [("read_file", "a")]),
        (
            [fragment("get_time", "", index=0, id="x"), fragment("read_file", A, index=0, id="y")],
            [("get_time", None), ("read_file", "a")],
        ),
        # arguments said twice
        (
            [fragment("read_file", '{"path":', index=0), fragment(None, '"a"}', index=0), fragment(None, A, index=0)],
            [("read_file", "a")],
        ),
        # names
        ([fragment("functions.read_file", A, index=0)], [("read_file", "a")]),
        ([fragment(" read_file ", A, index=0)], [("read_file", "a")]),
        ([fragment("read", "", index=0), fragment("read_file", A, index=0)], [("read_file", "a")]),
        ([fragment(None, A, index=0)], [("", "a")]),
        ([{"index": 0, "name": "read_file", "arguments": A}], [("read_file", "a")]),
    ],
)
def test_fragments_find_their_call(fragments, calls):
    found = reply_to(call_stream(*fragments)).tool_calls
    assert [(c.name, c.arguments.get("path")) for c in found] == calls
    assert len({c.id for c in found}) == len(found)


@pytest.mark.parametrize(
    "body",
    [
        chunk({"tool_calls": {"index": 0, "id": "c", "function": {"name": "read_file", "arguments": A}}}, "tool_calls"),
        chunk({"tool_calls": {"0": {"id": "c", "function": {"name": "read_file", "arguments": A}}}}, "tool_calls"),
        chunk({"function_call": {"name": "read_file", "arguments": ""}})
        + chunk({"function_call": {"arguments": A}}, "function_call"),
        json.dumps({"choices": [{"message": {"function_call": {"name": "read_file", "arguments": A}}}]}),
        json.dumps(
            {
                "choices": [
                    {"message": {"tool_calls": [{"function": {"name": "read_file", "arguments": {"path": "a"}}}]}}
                ]
            }
        ),
    ],
)
def test_other_places_of_a_call_are_read(body):
    reply = reply_to(body)
    assert [(c.name, c.arguments) for c in reply.tool_calls] == [("read_file", {"path": "a"})]
    assert reply.finish == "tool_calls"


class TestArguments:
    @each_row(
        ("fragments", "value"),
        [
            ([], {}),
            (["", " "], {}),
            (["null"], {}),
            (['"{\\"a\\": 1}"'], {"a": 1}),
            (['""'], {}),
            (["{}", '{"a"', ": 1}"], {"a": 1}),
            (['{"a": 1}', '{"a": 1}'], {"a": 1}),
            (['{"a', '{"a": ', '{"a": 1}', ""], {"a": 1}),
            (['{"a": "x\ny"}'], {"a": "x\ny"}),
            (['{"a": "\\ud83d', '\\ude00 \\ud83d"}'], {"a": "😀 \ufffd"}),
        ],
    )
    def test_what_is_meant_is_found(self, fragments, value):
        decoded = decode(fragments)
        assert (decoded.value, decoded.error, decoded.whole) == (value, None, True)

    @each_row(
        "fragments",
        [
            ['{"a": '],
            ['{"a": ', '{"b": 1}'],
            ['{"cmd": "rm -rf ', '{"x": 1}'],
            ["{'a': 1}"],
            ['{"a": NaN}'],
            ['{"a": 1e999}'],
            ["[" * 100_000],
            ['{"a": ' + "9" * 5000 + "}"],
        ],
    )
    def test_what_is_broken_is_never_guessed_at(self, fragments):
        decoded = decode(fragments)
        assert (decoded.value, decoded.whole) == ({}, False)
        assert "JSON" in decoded.error

    def test_arguments_nested_deeper_than_anything_can_walk_through_are_for_the_model_to_mend(self):
        deepest = limits.ARGUMENTS_DEPTH - 1  # beside the object itself
        assert decode(['{"a": ' + "[" * deepest + "]" * deepest + "}"]).whole
        for depth in (deepest + 1, 600):
            decoded = decode(['{"a": ' + "[" * depth + "]" * depth + "}"])
            assert (decoded.value, decoded.whole) == ({}, False)
            assert "nested" in decoded.error

    @pytest.mark.parametrize("text", ["[1]", "5", "true", '"\\"x\\""'])
    def test_what_is_no_object_is_an_error_for_the_model(self, text):
        assert "one JSON object" in decode([text]).error

    def test_too_large_a_text_is_refused(self, monkeypatch):
        monkeypatch.setattr("agent_core.limits.ARGUMENTS_BYTES", 100)
        assert "longer than 100" in decode(['{"a": "' + "x" * 200 + '"}']).error


class TestTheEnd:
    def test_a_call_cut_by_the_output_limit_is_dropped_and_those_before_it_are_not(self):
        cut = [fragment("read_file", A, index=0), fragment("write_file", '{"path":"b","cont', index=1)]
        reply = reply_to(call_stream(*cut, finish="length"))
        assert [c.name for c in reply.tool_calls] == ["read_file"]
        assert (reply.dropped_tool_calls, reply.finish) == (1, "tool_calls")

    def test_a_call_that_the_limit_left_without_arguments_is_dropped(self):
        reply = reply_to(call_stream(fragment("write_file", "", index=0), finish="length"))
        assert (reply.tool_calls, reply.dropped_tool_calls, reply.finish) == ((), 1, "length")

    def test_broken_arguments_of_a_finished_reply_are_for_the_model_to_mend(self):
        reply = reply_to(call_stream(fragment("read_file", '{"path": "a', index=0), finish="stop"))
        assert reply.tool_calls[0].arguments_error
        assert reply.tool_calls[0].arguments == {}

    @each_row(
        "body",
        [
            "",
            ": wait\n\n",
            DONE,
            chunk({"content": "Hi"}),
            call_stream(fragment("read_file", A, index=0), finish=None, end=""),
            call_stream(fragment("read_file", '{"pa', index=0), finish=None),
            chunk({"content": "Hi"}) + 'data: {"choices": [{"ind',
        ],
    )
    def test_a_reply_that_is_not_known_to_be_whole_is_truncated(self, body):
        error = error_of(body)
        assert (error.kind, error.retryable) == ("truncated", True)

    @each_row(
        "body",
        [
            "<html></html>",
            "Internal Server Error",
            "[1, 2]",
            "5",
            "data: 5\n\n" + DONE,
            "data: {oops\n\n",
            'data: "x"\n\n',
            '{"choices": []}',
            '{"choices": {}}',
            '{"choices": [5]}',
            '{"id": "x"}',
            '"x"',
            "data: " + "[" * 100_000 + "\n\n",
            '{"choices": [{"message": {"content": "H',
        ],
    )
    def test_what_the_format_does_not_allow_is_a_protocol_error(self, body):
        error = error_of(body)
        assert (error.kind, error.retryable) == ("protocol", True)

    @each_row(
        ("word", "finish"),
        [
            ("MAX_TOKENS", "length"),
            ("end_turn", "stop"),
            ("content-filter", "content_filter"),
            ("Sensitive", "content_filter"),
            ("whatever", "stop"),
            ("tool_use", "stop"),
        ],
    )
    def test_finish_words_are_one_vocabulary(self, word, finish):
        assert reply_to(text_stream("Hi", finish=word)).finish == finish

    @pytest.mark.parametrize(
        ("word", "kind"),
        [("network_error", "server"), ("error", "server"), ("MALFORMED_FUNCTION_CALL", "bad_tool_call")],
    )
    def test_some_finish_words_mean_the_turn_failed(self, word, kind):
        error = error_of(text_stream("Hi", finish=word))
        assert (error.kind, error.retryable) == (kind, True)


@each_row(
    ("data", "usage"),
    [
        ({"input_tokens": 10, "output_tokens": 5}, Usage(10, 5, 15)),
        ({"prompt_tokens": "10", "completion_tokens": 5.0}, Usage(10, 5, 15)),
        ({"total_tokens": 15, "prompt_tokens": 10}, Usage(10, 5, 15)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 7}, Usage(9, 1, 10, 7)),
        ({"prompt_tokens": 9, "completion_tokens": 1, "cached_tokens": 0}, Usage(9, 1, 10, 0)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": float("nan"), "completion_tokens": True, "total_tokens": "x"}, None),
        (
            {"prompt_tokens": 10**400, "completion_tokens": 10**30, "total_tokens": "1e300"},
            None,
        ),  # nobody can keep them
        ({"prompt_tokens": 10**30, "input_tokens": 9, "completion_tokens": 1}, Usage(9, 1, 10)),
        ({}, None),
        (None, None),
    ],
)
def test_token_counts_are_read_under_any_name(data, usage):
    assert read_usage(data) == usage


class TestThinking:
    @each_row("size", [1, 2, 5, 1000])
    @each_row(
        ("text", "reply", "reasoning"),
        [
            ("<think>Hm</think>\n\n42", "42", "Hm"),
            ("\n\n<think>\nHm\n</think>42", "42", "Hm"),
            ("<thinking>Hm</thinking>42", "42", "Hm"),
            ("<think></think>42", "42", ""),
            ("<think>a</think>\n<think>b</think>\n42", "42", "ab"),
            ("<seed:think>Hm</seed:think>42", "42", "Hm"),
            ("[THINK]Hm[/THINK]42", "42", "Hm"),
            ("</think>\n\n42", "42", ""),
            ("[TH", "[TH", ""),
            ("<think>a < b </thin </think>42", "42", "a < b </thin"),
            ("<b>42</b>", "<b>42</b>", ""),
            ("<thi", "<thi", ""),
            ("The <think> tag", "The <think> tag", ""),
            ("Hm\n</think>\n\n42", "42", "Hm"),
            ("Close it with `</think>`.", "Close it with `</think>`.", ""),
        ],
    )
    def test_tags_at_the_very_start_are_reasoning(self, text, reply, reasoning, size):
        found = reply_to(text_stream(text, size))
        assert (found.text, found.reasoning) == (reply, reasoning)

    @pytest.mark.parametrize(
        ("pieces", "text"),
        [(["<think>H", "m</think>"], "42"), (["Hm"], "</think>\n\n42"), (["<think>\nHm"], "</think>42")],
    )
    def test_tags_around_reasoning_that_has_a_field_of_its_own_are_left_out(self, pieces, text):
        reply = reply_to("".join(chunk({"reasoning_content": piece}) for piece in pieces) + text_stream(text))
        assert (reply.text, reply.reasoning) == ("42", "Hm")

    def test_details_in_fragments_are_sent_back_as_one(self):
        detail = {"type": "reasoning.text", "index": 0}
        body = chunk({"reasoning": "H", "reasoning_details": [{**detail, "text": "H"}]})
        body += chunk({"reasoning": "m", "reasoning_details": [{**detail, "text": "m", "signature": "s"}]})
        reply = reply_to(body + text_stream("42"))
        assert reply.reasoning == "Hm"
        assert reply.extra == {"reasoning_details": [{**detail, "text": "Hm", "signature": "s"}]}


SEP = "<｜tool▁sep｜>"
CALL_A = [("read_file", {"path": "a"})]
TWO_CALLS = [*CALL_A, ("list_dir", {"path": "b"})]


class TestWrittenCalls:
    @each_row(
        ("text", "calls"),
        [
            ('<tool_call>{"name":"read_file","arguments":"{\\"path\\":\\"a\\"}"}</tool_call>', CALL_A),
            ('<tool_call>\n```json\n{"name":"read_file","arguments":{"path":"a"}}\n```\n</tool_call>', CALL_A),
            ("<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>", CALL_A),
            ("<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>", CALL_A),
            ('<function=read_file>{"path": "a"}</function>', CALL_A),
            ("<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>", CALL_A),
            ("<tool_call>get_time\n</tool_call>", [("get_time", {})]),
            ('<tool_call>{"name":"read_file","arguments":{"path":"a"}}}\n</tool_call>', CALL_A),
            ("<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>", CALL_A),
            ('<functioncall> {"name": "read_file", "arguments": {"path": "a"}}', CALL_A),
            (
                '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a</parameter>\n</invoke>\n'
                '<invoke name="list_dir"><parameter name="path">b</parameter></invoke>\n</minimax:tool_call>',
                TWO_CALLS,
            ),
            ('<invoke name="read_file">\n<parameter name="path">a</parameter>\n</invoke>', CALL_A),
            ('<|python_tag|>{"name": "read_file", "parameters": {"path": "a"}}<|eom_id|>', CALL_A),
            ('<|python_tag|>read_file.call(path="a")<|eom_id|>', CALL_A),
            ('<|python_start|>[read_file(path="a")]<|python_end|>', CALL_A),
            ('[read_file(path="a"), list_dir(path="b")]', TWO_CALLS),
            ('[TOOL_CALLS]read_file[ARGS]{"path": "a"}[TOOL_CALLS]list_dir[ARGS]{"path": "b"}', TWO_CALLS),
            ('[TOOL_CALLS] [{"name": "read_file", "arguments": {"path": "a"}}]', CALL_A),
            (
                f'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file{SEP}{{"path": "a"}}<｜tool▁call▁end｜>'
                f'<｜tool▁call▁begin｜>list_dir{SEP}{{"path": "b"}}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
                TWO_CALLS,
            ),
            (
                '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n'
                '<｜DSML｜parameter name="path" string="true">a'
                "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
                CALL_A,
            ),
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>"
                '{"path": "a"}<|tool_call_end|><|tool_calls_section_end|>',
                CALL_A,
            ),
            ('<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path":"a"}<|call|>', CALL_A),
        ],
    )
    def test_each_known_form_becomes_calls_and_leaves_no_text(self, text, calls):
        for size in (1, 7, 1000):
            reply, shown = read(text_stream(text, size))
            assert [(c.name, dict(c.arguments)) for c in reply.tool_calls] == calls
            assert (reply.text, reply.finish) == ("", "tool_calls")
            assert shown == "" or text.startswith("[read_file")

    @each_row(
        "text",
        [
            "The <tool_call> tag is used so.",
            'Use `<tool_call>{"name":"read_file","arguments":{}}</tool_call>` for it.',
            '```\n<tool_call>{"name":"read_file","arguments":{}}</tool_call>\n```',
            '~~~\n[TOOL_CALLS][{"name":"read_file","arguments":{}}]\n~~~\nDone.',
            '<tool_call>{"name":"rm_rf","arguments":{}}</tool_call>',
            '<tool_call>{"name":"read_file","arguments":{"path":</tool_call>',
            '[read_file("a")]',
            "[read_file(path=open('x'))]",
            "[see](https://example.org)",
            '{"name": "read_file", "arguments": {"path": "a"}}',
            "<function=read_file>\n<parameter=path>\na",
            "<function=write_file>\n<parameter=path>\na\n</parameter>",
            "I look. <tool",
        ],
    )
    def test_anything_else_stays_text_and_is_shown_whole(self, text):
        for size in (1, 7, 1000):
            reply, shown = read(text_stream(text, size))
            assert (reply.tool_calls, reply.text, shown) == ((), text, text)

    @each_row(
        "begun",
        [
            '<tool_call>{"name": "read_file", "arguments": {"path": "a',
            '<tool_call>\n[{"name": "read_file", "arg',
            "<tool_call>\n<function=read_file>\n<parameter=path>a",
            "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a",
            '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read_file">\n<｜DSML｜parameter name="path"',
            f'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function{SEP}read_file\n```json\n{{"path"',
            '<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"pa',
            '<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>{"path',
            '[TOOL_CALLS]read_file[ARGS]{"path": ',
        ],
    )
    def test_a_written_call_that_the_limit_cut_is_dropped(self, begun):
        reply, shown = read(text_stream("I look.\n" + begun, finish="length"))
        assert (reply.text, reply.tool_calls, reply.dropped_tool_calls, reply.finish) == ("I look.", (), 1, "length")
        assert shown.strip() == "I look."

    @pytest.mark.parametrize("text", ["Use <tool_call> and", 'A `<tool_call>{"name": "read_file"', "<tool_call>rm_rf"])
    def test_a_text_that_the_limit_cut_is_no_call(self, text):
        reply, shown = read(text_stream(text, finish="length"))
        assert (reply.text, shown, reply.dropped_tool_calls) == (text, text, 0)

    def test_without_offered_tools_nothing_is_a_call(self):
        text = '<tool_call>{"name":"read_file","arguments":{}}</tool_call>'
        assert reply_to(text_stream(text), tools={}).text == text

    def test_values_written_as_text_get_the_types_of_the_schema(self):
        schema = {"properties": {"path": {"type": "string"}, "line": {"type": "integer"}, "all": {"type": "boolean"}}}
        text = "<function=read_file>" + "".join(
            f"<parameter={key}>\n{value}\n</parameter>"
            for key, value in (("path", "12"), ("line", "12"), ("all", "true"))
        )
        (call,) = text_tools.extract(text + "</function>", {"read_file": schema}).calls
        assert call.arguments == {"path": "12", "line": 12, "all": True}

    def test_channels_of_gpt_oss_are_taken_apart(self):
        text = "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>42"
        reply, shown = read(text_stream(text))
        assert (reply.text, reply.reasoning, shown) == ("42", "Hm", "42")


@each_row(
    ("text", "left"),
    [
        ("<|im_end|> " * 5_000 + "x", "<|im_end|> " * 5_000 + "x"),
        ("x" + " <|im_end|>\n" * 5_000, "x"),
        ("x" + "\n\n" * 50_000, "x" + "\n\n" * 50_000),
        (" \n" * 50_000 + "<|eot_id|>", ""),
    ],
)
def test_end_tokens_and_blanks_that_a_model_repeats_are_gone_through_once(text, left):
    started = time.process_time()
    assert text_tools.without_residue(text) == left
    assert time.process_time() - started < 2


REPEATED = [
    "<tool_call>" * 5_000,
    '<tool_call>{"a":' * 5_000,
    "<tool_call> x`y " * 5_000,
    "<tool_call>" + "`" * 60_000,
    "<function=a>" * 5_000,
    "<tool_call>[a(" * 5_000,
]


@each_row("text", REPEATED)
def test_a_marker_that_a_model_repeats_begins_no_call_and_takes_no_time(text):
    started = time.process_time()
    assert text_tools.extract(text, TOOLS) == text_tools.Written(text, [])
    assert text_tools.without_cut(text, TOOLS) is None
    assert time.process_time() - started < 2


def test_as_many_calls_as_a_model_writes_are_taken():
    one = '<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>'
    assert len(text_tools.extract(one * 300, TOOLS).calls) == 300


def test_long_replies_take_linear_time():
    def seconds(pieces: int) -> float:
        builder = ReplyBuilder("Server", TOOLS)
        started = time.process_time()
        for _ in range(pieces):
            builder.feed({"choices": [{"index": 0, "delta": {"content": "word `x` < "}}]})
            builder.feed({"choices": [{"delta": {"tool_calls": [fragment("write_file", "x", index=0, id="c")]}}]})
            builder.feed({"choices": [{"delta": {"reasoning_details": [{"type": "t", "index": 0, "text": "x"}]}}]})
        return time.process_time() - started

    small = min(seconds(2_000) for _ in range(3))
    assert seconds(20_000) < small * 40


def test_a_call_of_a_type_that_was_not_offered_is_answered_not_lost():
    item = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "read_file", "input": "a.py"}}
    (call,) = reply_to(call_stream(item)).tool_calls
    assert (call.name, dict(call.arguments)) == ("read_file", {})
    assert call.arguments_error is not None
