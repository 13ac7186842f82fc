"""What was sent before is not encoded again, and the bytes are those that encoding everything anew would give."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core import limits
from agent_core.llm.encoded import EncodedHistory
from agent_core.llm.providers import PRESETS
from agent_core.llm.wire import encode
from agent_core.llm.wires import WIRES
from agent_core.messages import ImagePart, Message, ToolCall, ToolResult, tool, user
from agent_core.ports.model import LlmRequest, ToolSchema

TOOLS = (ToolSchema("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}}),)


def preset_of(wire):
    return next((preset for preset in PRESETS.values() if preset.wire == wire.name), PRESETS["custom"])


def request(history, system="Be good."):
    return LlmRequest((Message("system", system, id="system", created=0.0), *history), TOOLS)


def step(number, *, text="", calls=1, model="m"):
    """One reply with calls, and their results."""
    asked = tuple(ToolCall(f"toolu_{number}_{i}", "read_file", {"path": f"{i}.py"}) for i in range(calls))
    reply = Message("assistant", text, tool_calls=asked, model=model, reasoning="hm")
    return [reply, *(tool(ToolResult(call.id, call.name, f"line {number}\n")) for call in asked)]


class Watched:
    """A cache over a wire that counts the messages it is given to map."""

    def __init__(self, wire, **fields):
        self.wire, self.preset, self.mapped = wire, replace(preset_of(wire), **fields), 0
        self.cache = EncodedHistory(replace(wire, body=self._body), self.preset)
        self.quirks = wire.quirks(self.preset)

    def _body(self, request, *more):
        self.mapped += len(request.messages)
        return self.wire.body(request, *more)

    def send(self, asked, model="m", **quirks):
        """Encode; gives how many messages had to be mapped for it."""
        self.mapped, wanted = 0, replace(self.quirks, **quirks)
        data = self.cache.encode(asked, model, wanted)
        assert data == encode(self.wire.body(asked, model, wanted, self.preset))
        return self.mapped


wires = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)


@wires
def test_a_step_costs_the_same_however_long_the_session_is(wire):
    for turns in (10, 250):
        history = [m for n in range(turns) for m in (user(f"q{n}"), *step(n), Message("assistant", f"a{n}", model="m"))]
        watched = Watched(wire)
        watched.send(request(history))
        for n in range(10_000, 10_040):
            history += [user("and?"), *step(n), Message("assistant", "so", model="m")]
            assert watched.send(request(history)) < 60


@wires
def test_a_step_costs_the_same_however_long_the_turn_is(wire):
    history = [user("do it all")]
    watched = Watched(wire)
    for n in range(120):
        history += step(n, calls=2)
        assert watched.send(request(history)) < 120


@wires
def test_what_was_said_is_encoded_anew_when_the_settings_change(wire):
    history = [m for n in range(30) for m in (user(f"q{n}"), Message("assistant", f"a{n}", model="m"))]
    watched = Watched(wire)
    for asked in (request(history), request(history, "Be quick."), replace(request(history), reasoning_effort="high")):
        watched.send(asked)
        assert watched.send(asked) < 60
    watched.send(request(history), "other")


def test_a_history_too_long_to_be_kept_is_encoded_whole(monkeypatch):
    monkeypatch.setattr(limits, "ENCODED_HISTORY", 1_000)
    history = [m for n in range(30) for m in (user(f"q{n}" * 20), Message("assistant", f"a{n}", model="m"))]
    watched = Watched(WIRES["chat_completions"])
    for _ in range(3):
        assert watched.send(request(history)) > 60


TEXTS = st.sampled_from(["", " ", "yes", "你好", "\ud83d", "\ude00", 'a "b"\n\x01', "x " * 50, "end  "])
IDS = st.sampled_from(["", "call_0", "toolu_1", "a" * 50, "abcdefghi", "é?", "c1"])
EXTRA = st.sampled_from(
    [
        {},
        {"reasoning_content": "thought"},
        {"thinking_blocks": [{"type": "thinking", "thinking": "t", "signature": "s", "at": [0, 0]}]},
        {"response_items": [{"type": "reasoning", "id": "rs_1", "encrypted_content": "e", "summary": []}]},
    ]
)


@st.composite
def moves(draw):
    """What one step of a session adds, as a list of messages; or how many messages an undo takes away."""
    kind = draw(st.sampled_from(["turn", "turn", "turn", "step", "step", "say", "answer", "orphan", "undo"]))
    if kind == "undo":
        return draw(st.integers(1, 12))
    if kind == "say":
        image = (ImagePart("image/png", "AAAA"),) if draw(st.booleans()) else ()
        return [user(draw(TEXTS), image)]
    if kind == "orphan":
        return [tool(ToolResult(draw(IDS), "read_file", draw(TEXTS)))]
    model = draw(st.sampled_from(["m", "m", "other", ""]))
    if kind == "answer":
        return [Message("assistant", draw(TEXTS), model=model, extra=draw(EXTRA))]
    calls = tuple(
        ToolCall(draw(st.one_of(IDS, st.uuids().map(lambda u: u.hex))), "read_file", {"path": draw(TEXTS)})
        for _ in range(draw(st.integers(1, 3)))
    )
    reply = Message("assistant", draw(TEXTS), tool_calls=calls, model=model, extra=draw(EXTRA), reasoning="r")
    results = [tool(ToolResult(call.id, call.name, draw(TEXTS))) for call in calls if draw(st.integers(0, 9))]
    if kind == "step":
        return [reply, *results]
    return [user(draw(TEXTS)), reply, *results, Message("assistant", draw(TEXTS) or "done", model=model)]


everything = given(
    rounds=st.lists(moves(), min_size=1, max_size=60),
    rule=st.sampled_from(["keep", "safe", "alnum9", "max40"]),
    role=st.sampled_from(["system", "developer", "user"]),
    after_results=st.booleans(),
    fill=st.booleans(),
    marks=st.sampled_from([(), ("m",)]),
)


@wires
@everything
@settings(max_examples=30)
def test_the_bytes_are_those_of_encoding_everything(wire, **drawn):
    send_in_rounds(wire, **drawn)


@pytest.mark.long
@wires
@everything
@settings(max_examples=200)
def test_the_bytes_are_those_of_encoding_everything_of_many_histories(wire, **drawn):
    send_in_rounds(wire, **drawn)


def send_in_rounds(wire, rounds, rule, role, after_results, fill, marks):
    watched = Watched(wire, cache_marks=marks)
    history = [m for n in range(8) for m in (user(f"q{n}"), *step(n), Message("assistant", f"a{n}", model="m"))]
    quirks = {"id_rule": rule, "system_role": role, "reply_after_results": after_results, "fill_reasoning": fill}
    watched.send(request(history), **quirks)
    for change in rounds:
        history = history[:-change] if isinstance(change, int) else history + change
        if history:
            watched.send(request(history), **quirks)
