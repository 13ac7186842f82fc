"""Requests in the wire of Anthropic: blocks, thinking that goes back as it came, and marks for the cache."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agent_core.llm.anthropic_messages import body_of, marked, wire_messages
from agent_core.llm.anthropic_reply import BLOCKS
from agent_core.llm.wire import Quirks
from agent_core.messages import ImagePart, Message, user
from agent_core.ports.model import LlmRequest
from tests.core.anthropic_support import ANY, CALL, HI, PLAIN, SEALED, THOUGHT, TOOL, body, result, thought
from tests.rows import each_row


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
