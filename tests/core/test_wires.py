"""One table of behaviours over every wire: one test body, real HTTP, a server that refuses what its vendor would."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted, ProviderError
from agent_core.llm.client import make_client
from agent_core.llm.history import opened
from agent_core.llm.providers import PRESETS, ProviderOptions, resolve
from agent_core.llm.wire import encode
from agent_core.llm.wires import WIRES
from agent_core.messages import ImagePart, Message, ToolCall, ToolResult, tool, user
from agent_core.ports.model import Delta, LlmClient, LlmReply, LlmRequest, ToolSchema
from tests.fakes.wire_server import Answer, Call, Count, Failure, Memory, WireServer, strict_json, wires

EVERY = tuple(WIRES)
SYSTEM = Message("system", "You are a coding agent.")
PICTURE = ImagePart("image/png", "iVBORw0KGgo=")
TOOLS = (
    ToolSchema("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}}),
    ToolSchema("grep", "Searches.", {"type": "object", "properties": {}}),
)
KEY = "a-key-of-forty-characters-or-nearly-so"


@pytest.fixture(params=EVERY)
def wire(request: pytest.FixtureRequest) -> str:
    return request.param


def client_for(server: WireServer, wire: str, model: str = "m-1", **options: Any) -> LlmClient:
    entry = {"base_url": server.base_url, "api_mode": wire, "api_key": server.key, **options.pop("entry", {})}
    settings = ProviderOptions(
        model=model, provider="mine", providers={"mine": entry}, retry_base=0.01, idle_timeout=10.0, **options
    )
    return make_client(resolve(settings, {}, {}), settings)


def said(reply: LlmReply) -> Message:
    """A reply as it is stored."""
    return Message(
        "assistant",
        reply.text,
        tool_calls=reply.tool_calls,
        reasoning=reply.reasoning,
        model=reply.model,
        extra=reply.extra,
    )


class Talk:
    """A conversation that goes on: each reply and the results of its calls become history."""

    def __init__(self, client: LlmClient, request: LlmRequest, history: Sequence[Message] = ()) -> None:
        self.client = client
        self.request = request
        self.history = [SYSTEM, *history]
        self.deltas: list[Delta] = []

    def say(self, text: str = "", parts: tuple[ImagePart, ...] = ()) -> LlmReply:
        if text or parts:
            self.history.append(user(text, parts))
        request = replace(self.request, messages=tuple(self.history))
        reply = self.client.complete(request, self.deltas.append, CancelScope())
        self.history.append(said(reply))
        return reply

    def answer(self, *texts: str, ok: bool = True) -> None:
        calls = self.history[-1].tool_calls
        for call, text in zip(calls, texts, strict=True):
            self.history.append(tool(ToolResult(call.id, call.name, text, ok=ok)))

    def shown(self, kind: str) -> str:
        last = max((i for i, d in enumerate(self.deltas) if d.kind == "reset"), default=-1)
        return "".join(d.text for d in self.deltas[last + 1 :] if d.kind == kind)


def talk(server: WireServer, wire: str, model: str = "m-1", history: Sequence[Message] = (), **fields: Any) -> Talk:
    return Talk(client_for(server, wire, model), LlmRequest((), **{"tools": TOOLS, **fields}), history)


def test_every_wire_has_a_server_to_be_tested_with():
    assert set(wires()) == set(EVERY)


# -- what comes back ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [True, False])
def test_text_comes_in_pieces_and_whole(wire: str, stream: bool):
    text = "Hello — 世界 👋, how are you?"
    with WireServer(Answer(text)) as server:
        conversation = talk(server, wire, stream=stream)
        reply = conversation.say("Hi")
    assert (reply.text, reply.tool_calls, reply.finish, reply.model) == (text, (), "stop", "m-1")
    assert conversation.shown("text") == text
    assert not stream or len([d for d in conversation.deltas if d.kind == "text"]) > 3


@pytest.mark.parametrize("stream", [True, False])
def test_a_call_goes_round(wire: str, stream: bool):
    with WireServer(
        Answer("Let me look.", [Call("read_file", {"path": "ä.py", "n": [1, None]})]), Answer("Done.")
    ) as s:
        conversation = talk(s, wire, stream=stream)
        reply = conversation.say("Look")
        assert [(c.name, dict(c.arguments), c.arguments_error) for c in reply.tool_calls] == [
            ("read_file", {"path": "ä.py", "n": [1, None]}, None)
        ]
        assert (reply.text, reply.finish) == ("Let me look.", "tool_calls")
        assert conversation.shown("tool") == "read_file"
        assert not stream or json.loads(conversation.shown("arguments")) == {"path": "ä.py", "n": [1, None]}
        conversation.answer("one line")
        assert conversation.say().text == "Done."
        conversation.say("Again")


def test_calls_side_by_side_are_answered_in_their_order(wire: str):
    calls = [Call("read_file", {"path": f"{n}.py"}) for n in range(3)] + [Call("grep")]
    with WireServer(Answer(calls=calls), Answer("Done.")) as server:
        conversation = talk(server, wire)
        reply = conversation.say("Look")
        assert [(c.name, dict(c.arguments)) for c in reply.tool_calls] == [(c.name, c.arguments) for c in calls]
        conversation.answer("0", "1", "", "4", ok=False)
        conversation.history[-4:] = reversed(conversation.history[-4:])  # whatever order they are stored in
        conversation.history.append(user("And hurry.", origin="steer"))
        assert conversation.say().text == "Done."


def test_images_are_sent(wire: str):
    with WireServer(Answer("A picture.")) as server:
        conversation = talk(server, wire)
        conversation.say("What is this?", (PICTURE, PICTURE))
        conversation.say("", (PICTURE,))
        assert all(wires()[wire].has_images(body) for body in server.bodies)


def test_a_model_that_takes_no_images_is_told_that_they_are_left_out(wire: str):
    with WireServer(Answer("I cannot see."), vision=False) as server:
        conversation = talk(server, wire)
        assert conversation.say("What is this?", (PICTURE,)).text == "I cannot see."
        conversation.say("And now?")
        assert [wires()[wire].has_images(body) for body in server.bodies] == [True, False, False]
        assert "[image left out: this model takes none]" in str(server.bodies[-1])


@pytest.mark.parametrize("stream", [True, False])
def test_reasoning_is_shown_kept_and_sent_back_as_it_came(wire: str, stream: bool):
    first = Answer("I see.", [Call("grep", {"q": 1})], reasoning="First I look\n for it.")
    with WireServer(first, Answer("Done.", reasoning="It is there."), Answer("Yes.")) as server:
        conversation = talk(server, wire, stream=stream, reasoning_effort="high", temperature=0.3)
        reply = conversation.say("Find it")
        assert reply.reasoning == "First I look\n for it."
        assert conversation.shown("reasoning") == reply.reasoning
        conversation.answer("a.py")
        conversation.say()
        conversation.say("Sure?")
        sent = json.dumps(server.bodies[-1])
        echoed = [token for token in server.memory.issued if json.dumps(token)[1:-1] in sent]
        assert len(echoed) == 2


def test_thinking_that_is_bound_to_what_stood_before_it_is_left_behind_when_that_changes():
    script = [Answer("I look.", [Call("grep")], reasoning=f"Thought {n}.") for n in range(3)]
    with WireServer(*script, Answer("Done."), lenient=True) as server:
        conversation = talk(server, "anthropic_messages", reasoning_effort="high")
        conversation.say("Look")
        conversation.answer("one")
        conversation.history[0] = Message("system", "Another mode.")
        conversation.say()
        conversation.answer("two")
        conversation.say()
        conversation.answer("three")
        assert conversation.say().text == "Done."
        assert len(server.violations) == 1
        last = json.dumps(server.bodies[-1])
        assert ["Thought 0." in last, "Thought 1." in last, "Thought 2." in last] == [False, True, True]


@pytest.mark.parametrize("stream", [True, False])
def test_tokens_are_counted_alike(wire: str, stream: bool):
    with WireServer(
        Answer("Hi", count=Count(prompt=1200, reply=34, cached=1000, cache_write=0, reasoning=20))
    ) as server:
        usage = talk(server, wire, stream=stream).say("Hi").usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (1200, 34, 1234)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (1000, 20)


def test_tokens_that_nobody_counted_are_not_known(wire: str):
    with WireServer(Answer("Hi", count=None)) as server:
        assert talk(server, wire).say("Hi").usage is None


@pytest.mark.parametrize(("finish", "ours"), [("length", "length"), ("filter", "content_filter"), ("", "stop")])
def test_why_a_reply_ended(wire: str, finish: str, ours: str):
    with WireServer(Answer("Some words", finish=finish)) as server:
        assert talk(server, wire).say("Hi").finish == ours


def test_a_call_that_the_limit_cut_is_never_run(wire: str):
    answer = Answer("Look:", [Call("grep", {"q": 1})], finish="length", cut_call=True)
    with WireServer(answer) as server:
        reply = talk(server, wire).say("Hi")
    assert (reply.text, reply.tool_calls, reply.dropped_tool_calls, reply.finish) == ("Look:", (), 1, "length")


# -- what goes wrong ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "kind", "requests", "retryable"),
    [
        (Failure("auth"), "auth", 1, False),
        (Failure("no_rights"), "auth", 1, False),
        (Failure("quota"), "quota", 1, False),
        (Failure("not_found"), "not_found", 1, False),
        (Failure("overflow"), "context_length", 1, False),
        (Failure("bad_request", "Something is wrong."), "bad_request", 1, False),
        (Failure("rate_limit", headers={"retry-after": "7200"}), "rate_limit", 1, True),
        (Failure("rate_limit", headers={"retry-after": "0"}), "rate_limit", 3, True),
        (Failure("overloaded"), "server", 3, True),
        (Failure("server"), "server", 3, True),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_each_failure_is_known_for_what_it_is(wire: str, failure: Failure, kind: str, requests: int, retryable: bool):
    with WireServer(Answer(failure=failure)) as server:
        with pytest.raises(ProviderError) as caught:
            talk(server, wire).say("Hi")
        assert (caught.value.kind, len(server.requests), caught.value.retryable) == (kind, requests, retryable)


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        ({"failure": Failure("overloaded")}, "server"),
        ({"failure": Failure("rate_limit")}, "rate_limit"),
        ({}, "truncated"),
        ({"then": "garbage"}, "protocol"),
    ],
)
@pytest.mark.parametrize("after", [0, 2, 6])
def test_a_reply_that_breaks_in_the_middle_is_asked_for_again_and_replaced(
    wire: str, broken: Mapping[str, Any], kind: str, after: int
):
    text, calls = "The answer is forty-two.", [Call("grep", {"q": "long enough to be cut"})]
    with WireServer(Answer(text, after=after, **broken), Answer("Forty-two.", calls)) as server:
        conversation = talk(server, wire)
        reply = conversation.say("Hi")
        assert (reply.text, [c.name for c in reply.tool_calls], len(server.requests)) == ("Forty-two.", ["grep"], 2)
        assert conversation.shown("text") == "Forty-two."
        assert [d.params["code"] for d in conversation.deltas if d.kind == "retry"] == [kind]


def test_a_call_that_broke_off_is_never_run(wire: str):
    for after in range(2, 9):
        with WireServer(Answer(calls=[Call("grep", {"q": "x" * 40})], after=after)) as server:
            client = client_for(server, wire, max_attempts=1)
            with pytest.raises(ProviderError) as caught:
                Talk(client, LlmRequest((), tools=TOOLS)).say("Hi")
            assert caught.value.kind == "truncated"


def test_a_stop_in_the_middle_ends_the_request_at_the_server_too(wire: str):
    with WireServer(Answer("The answer is forty-two.", after=3, then="silence")) as server:
        cancel, deltas = CancelScope(), []

        def take(delta: Delta) -> None:
            deltas.append(delta)
            if len(deltas) == 2:
                threading.Thread(target=cancel.cancel).start()

        with pytest.raises(Interrupted):
            client_for(server, wire).complete(LlmRequest((SYSTEM, user("Hi")), tools=TOOLS), take, cancel)
        assert server.gone.wait(5)
        assert "".join(d.text for d in deltas) == "The answer is"[: 4 * len(deltas)]


def test_the_key_goes_where_the_wire_has_it_and_is_never_shown(wire: str):
    with WireServer(Answer(failure=Failure("auth", f"bad key {KEY}")), key=KEY) as server:
        with pytest.raises(ProviderError) as caught:
            talk(server, wire).say("Hi")
        assert KEY not in str(caught.value)
    with WireServer(Answer("Hello"), key=KEY) as server:
        assert talk(server, wire).say("Hi").text == "Hello"


# -- from one wire to another ---------------------------------------------------------------------------------------


def lived_through(server: WireServer, wire: str) -> list[Message]:
    """A conversation over `wire` with everything in it: pictures, thoughts, calls side by side, failures, a steer."""
    conversation = talk(server, wire, "first-model", reasoning_effort="high")
    conversation.say("What is this?", (PICTURE,))
    conversation.answer("one", "two")
    conversation.history.append(user("Faster.", origin="steer"))
    conversation.say()
    conversation.answer("no such file", ok=False)
    conversation.say()
    conversation.history += [user("More."), Message("assistant", "The first ha", interrupted=True), user("Go on.")]
    return conversation.history[1:]


SCRIPT = (
    Answer("I look.", [Call("read_file", {"path": "a"}), Call("grep", {"q": "ä"})], reasoning="Two at once."),
    Answer(calls=[Call("grep", {"q": 2})], reasoning="Again."),
    Answer("It is a cat. ", reasoning="Sure."),
    Answer("Yes.", [Call("grep")], reasoning="New thoughts."),
    Answer("The end."),
)


@pytest.mark.parametrize("other", EVERY)
@pytest.mark.parametrize("ids", ["", "[A-Za-z0-9]{9}"], ids=["any ids", "nine letters"])
def test_a_conversation_goes_on_with_another_model_over_another_wire(wire: str, other: str, ids: str):
    with WireServer(*SCRIPT[:3]) as server:
        history = lived_through(server, wire)
    with WireServer(*SCRIPT[3:], ids=ids) as server:
        entry = {"id_rule": "alnum9"} if ids else {}
        client = client_for(server, other, "second-model", entry=entry)
        conversation = Talk(client, LlmRequest((), tools=TOOLS, reasoning_effort="high"), history)
        assert conversation.say().text == "Yes."
        conversation.answer("two cats")
        assert conversation.say().text == "The end."
        sent = json.dumps(server.bodies[0])
        assert all(word not in sent for word in ("Two at once.", "Again.", "Sure."))  # another model's thoughts
        assert all(word in sent for word in ("I look.", "It is a cat.", "The first ha", "no such file", "Faster."))


def test_ids_that_another_server_has_given_too_are_told_apart_when_they_are_refused(wire: str):
    first = [
        user("Look"),
        said(LlmReply(tool_calls=(ToolCall("call_0", "grep"),))),
        tool(ToolResult("call_0", "grep", "a")),
    ]
    with WireServer(Answer(calls=[Call("grep", id="call_0")]), Answer("Done."), lenient=True) as server:
        conversation = talk(server, wire, history=first)
        conversation.say()
        conversation.answer("b")
        assert conversation.say().text == "Done."
        assert len(server.violations) <= 1, "the client remembers it"


def test_in_the_middle_of_a_round_of_calls_another_model_takes_over(wire: str):
    for other in EVERY:
        with WireServer(SCRIPT[0]) as server:
            conversation = talk(server, wire, "first-model", reasoning_effort="high")
            conversation.say("Look")
            conversation.answer("one", "two")
        with WireServer(SCRIPT[3], Answer("Done.")) as server:
            after = talk(server, other, "second-model", conversation.history[1:], reasoning_effort="medium")
            after.say()
            after.answer("three")
            assert after.say().text == "Done."


def test_without_tools_a_conversation_full_of_calls_can_still_be_sent(wire: str):
    with WireServer(*SCRIPT[:3]) as server:
        history = lived_through(server, wire)
    for other in EVERY:
        for model in ("first-model", "second-model"):
            with WireServer(Answer("In short: a cat.")) as server:
                client = client_for(server, other, model)
                assert Talk(client, LlmRequest(()), [m for m in history if not m.reasoning or model != m.model]).say()


WORDS = st.sampled_from(["", " ", "\n", "yes", "a\udce9b", "世界 ", " x", "[called]", "</think>"])
IDENTS = st.sampled_from(["", "c1", "c1", "call_1", "functions.grep:0", "x" * 60, "a b", "toolu_01", "世"])
NAMES = st.sampled_from(["grep", "read file", "", "x" * 80, "世界"])
EXTRAS = st.sampled_from(
    [
        {},
        {"ours": 1},
        {"reasoning_content": "Hm", "reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "Hm", "signature": "s", "at": [0, 0]}]},
        {"response_items": [{"type": "reasoning", "id": "rs_1", "encrypted_content": "e", "summary": []}]},
    ]
)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Anything that a store may hold after stops, crashes, drops and changes of the model."""
    out: list[Message] = []
    for _ in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["user", "user", "assistant", "calls", "calls", "orphan", "system"]))
        if kind == "user":
            out.append(user(draw(WORDS), (PICTURE,) * draw(st.integers(0, 2))))
        elif kind == "assistant":
            out.append(Message("assistant", draw(WORDS), reasoning="Hm", model="old", extra=draw(EXTRAS)))
        elif kind == "orphan":
            out.append(tool(ToolResult(draw(IDENTS), "grep", draw(WORDS), ok=draw(st.booleans()))))
        elif kind == "system":
            out.insert(0, Message("system", draw(WORDS)))
        else:
            calls = [
                ToolCall(draw(IDENTS), draw(NAMES), {"q": draw(WORDS)}, extra={"extra_content": {"g": 1}})
                for _ in range(draw(st.integers(1, 3)))
            ]
            out.append(Message("assistant", draw(WORDS), tool_calls=tuple(calls), model="old", extra=draw(EXTRAS)))
            answered = draw(st.lists(st.sampled_from(calls), max_size=4))
            out += [tool(ToolResult(call.id, call.name, draw(WORDS))) for call in answered]
    return [*out, user("And now?")]


@settings(max_examples=150, deadline=None)
@given(history=histories(), tools=st.booleans(), effort=st.sampled_from([None, "low", "high"]))
def test_whatever_was_stored_is_sent_as_the_vendors_want_it(history: list[Message], tools: bool, effort: str | None):
    request = LlmRequest(opened(tuple(history)), tools=TOOLS if tools else (), reasoning_effort=effort, temperature=0.5)
    for name, ours in WIRES.items():
        preset = replace(PRESETS["custom"], wire=name, id_rule="max40" if name == "chat_completions" else "safe")
        body = strict_json(encode(ours.body(request, "new", ours.quirks(preset), preset)))
        wires()[name].check(body, {"anthropic-version": "2023-06-01"}, Memory())


FIELDS = """type index delta content_block message content usage text thinking signature id name input choices item
    tool_calls function arguments error output response summary part data reasoning_details"""
KINDS = ("", "x", "{}", "text", "tool_use", "content_block_start", "response.output_item.added", "\ud83d")
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.floats() | st.sampled_from(KINDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS.split()), inner, max_size=5),
    max_leaves=12,
)


junk = given(events=st.lists(JUNK, max_size=6), whole=JUNK, done=st.booleans())


@settings(max_examples=80)
@junk
def test_whatever_a_server_sends_is_a_reply_or_a_failure_with_a_name(events: list[Any], whole: Any, done: bool):
    take_in(events, whole, done)


@pytest.mark.long
@settings(max_examples=1_000)
@junk
def test_whatever_else_a_server_sends_is_a_reply_or_a_failure_with_a_name(events: list[Any], whole: Any, done: bool):
    take_in(events, whole, done)


def take_in(events: list[Any], whole: Any, done: bool):
    for ours in WIRES.values():
        for take in ("feed", "feed_document"):
            builder = ours.builder("X", {"grep": {}}, "")
            try:
                for event in events if take == "feed" else [whole]:
                    getattr(builder, take)(event)
                if done:
                    builder.done()
                reply = builder.finish()
            except ProviderError:
                continue
            json.dumps([dict(reply.extra), *(dict(c.arguments) for c in reply.tool_calls)], allow_nan=False).encode()
            (reply.text + reply.reasoning).encode()
