"""What holds for every history, however it is compacted, pinned and dropped (COMP-08, NUM-13)."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_core import limits
from agent_core.llm.chat_completions import WIRE
from agent_core.llm.providers import PRESETS
from agent_core.llm.wires import WIRES
from agent_core.messages import Covered, ImagePart, Message, ShellRun, ToolCall, ToolResult, shell, tool, user
from agent_core.mind import compaction, view
from agent_core.mind.compaction import Options
from agent_core.names import SHELL
from agent_core.ports.model import LlmRequest
from tests.fakes import wire_anthropic, wire_chat, wire_responses
from tests.fakes.model_server import violation
from tests.fakes.wire_server import Memory

SYSTEM = Message("system", "You are an agent.", id="system", created=0.0)


class Author:
    """Writes random histories as sessions make them: turns of steps, steers, notes, commands of the person's own."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.count = 0
        self.size = self.dice.choice((10, 400, 3_000, 9_000))

    def words(self):
        self.count += 1
        return f"{self.count} " + self.dice.choice("词xy") * self.dice.randrange(1, self.size)

    def turn(self):
        dice, out = self.dice, []
        image = (ImagePart("image/png", "iVBORw0KGgo="),) if dice.random() < 0.1 else ()
        out.append(user(self.words(), image, dice.choice(("", "", "queue"))))
        for _ in range(dice.choice((0, 1, 2, 5))):
            out += self.step()
            out += self.between()
        if dice.random() < 0.9:
            out.append(Message("assistant", self.words(), interrupted=dice.random() < 0.1))
            out += self.between()
        return out

    def step(self):
        dice = self.dice
        calls = tuple(
            ToolCall(f"call_{self.count}_{n}", "read_file", {"path": self.words()})
            for n in range(dice.choice((1, 1, 2, 4, 12)))
        )
        said = Message("assistant", self.words() if dice.random() < 0.5 else "", tool_calls=calls,
                       extra={"reasoning_content": self.words()} if dice.random() < 0.3 else {})  # fmt: skip
        return [said, *(tool(ToolResult(call.id, call.name, self.words())) for call in calls)]

    def between(self):
        dice, out = self.dice, []
        if dice.random() < 0.1:
            out.append(user(self.words(), origin="steer"))
        if dice.random() < 0.05:
            out.append(user(self.words(), origin="note"))
        if dice.random() < 0.1:
            result = ToolResult(f"own_{self.count}", SHELL, self.words())
            out.append(shell(ShellRun(self.words(), result, private=dice.random() < 0.3)))
        return out

    def choose(self, history):
        """The person pins and drops."""
        share = self.dice.choice((0, 0, 0.05, 0.5))
        for index, message in enumerate(history):
            if self.dice.random() < share:
                object.__setattr__(message, "view", self.dice.choice(("pinned", "dropped", "")))
            history[index] = message

    def options(self):
        profile = self.dice.choice(("nano", "tokens"))
        return Options(
            profile=profile, protect_last=self.dice.choice((1, 5, 20)), protect_first=self.dice.choice((0, 3))
        )


def strict(messages):
    """What the strictest server refuses: pairs apart, roles that do not take turns, anything empty."""
    waiting = []
    for before, message in zip([SYSTEM, *messages], messages, strict=False):
        if message.role == "tool":
            assert waiting[:1] == [message.result.call_id], "a result without its call"
            waiting.pop(0)
        else:
            assert not waiting, "a call without its result"
        if message.role == "assistant":
            assert message.text.strip() or message.tool_calls
            assert before.role != "assistant" or before.tool_calls, "two answers in a row"
            waiting = [call.id for call in message.tool_calls]
        assert message.text.strip() or message.tool_calls or message.parts, "nothing in it"
        assert message.shell is None
        assert message.role != "system"
    assert not waiting
    if len(messages) % 8:
        return  # encoding all of them would take longer than the rest of the test
    body = WIRE.body(LlmRequest((SYSTEM, *messages)), "m", WIRE.quirks(PRESETS["custom"]), PRESETS["custom"])
    assert violation(body) is None


def look_through(history, kept_before):
    """Check all that must hold of a request for this history."""
    held = view.held(history)
    strict(held)
    summary, start = view.boundary(history)
    ids = [message.id for message in held]
    assert len(ids) == len(set(ids)), "nothing twice"
    if summary is not None:
        assert ids[0] == summary.id, "the summary comes first"
    told = [m for m in history if m.origin != "summary" and not (m.shell and m.shell.private)]
    at = {m.id: i for i, m in enumerate(history)}
    assert [i for i in ids if at.get(i, -1) >= start and i != (summary and summary.id)] == [
        m.id for m in told if at[m.id] >= start
    ], "what came after the cut is all there, in order"
    texts = {m.id: m.text for m in held}
    for message in told:
        if message.view == "pinned" or (message.view == "" and at[message.id] >= start):
            expected = view.shown(message).text
            assert texts.get(message.id) == expected, "pinned and recent ones are there word for word"
    last = next((m for m in reversed(told) if m.starts_turn), None)
    if last is not None and last.view != "dropped":
        assert texts[last.id] == last.text, "the last thing that was asked is there"
        assert [m.parts for m in held if m.id == last.id] == [last.parts]
    for uid in kept_before:
        assert uid in texts
    assert view.load(held).tokens >= 0
    return held


@settings(max_examples=200, database=None)
@given(st.integers(0, 2**40))
def test_what_holds_for_every_history(seed):
    live_through(seed)


@pytest.mark.long
@settings(max_examples=1_000, database=None)
@given(st.integers(0, 2**40))
def test_what_holds_for_a_thousand_histories(seed):
    live_through(seed)


def live_through(seed):
    author = Author(seed)
    options, window = author.options(), author.dice.choice((None, 8_000, 32_000, 200_000, 1_000_000))
    room = compaction.room(options, window, 3_000)
    history: list[Message] = []
    for _ in range(author.dice.randrange(1, 6)):
        history += author.turn()
        author.choose(history)
        held = look_through(history, ())
        load = view.load(held)
        forced, due = author.dice.random() < 0.2, compaction.due(load, options, room)
        if not (forced or due):
            assert view.held(list(history)) == held, "what fits is left as it is"
            continue
        before = list(history)
        cut = compaction.find_cut(history, options, room, forced=forced)
        assert history == before
        if cut is None:
            continue
        assert cut.taken > 0
        assert cut.older
        history.append(compaction.summary_of("The record.", Covered(cut.through, cut.taken, cut.kept)))
        after = view.load(look_through(history, cut.kept))
        assert after.messages < load.messages + 2
        if not forced:
            assert after.tokens < load.tokens * (1 - limits.COMPACTION_GAIN) + view.token_count("The record.") + 2
        # What comes next only joins the end: what was sent stays the beginning of what is sent.
        more = [user("next")]
        assert view.held([*history, *more])[: after.messages] == view.held(history)
        assert before == [m for m in history if m is not history[-1]], "the history is whole"


def test_histories_are_compacted_often_enough_to_mean_something():
    """The test above would hold for histories that never grow: count what its author writes."""
    cuts = kept = pinned = 0
    for seed in range(150):
        author = Author(seed)
        options = author.options()
        history = [m for _ in range(4) for m in author.turn()]
        author.choose(history)
        cut = compaction.find_cut(history, options, compaction.room(options, 32_000, 3_000))
        cuts += cut is not None
        kept += bool(cut and cut.kept)
        pinned += any(m.view == "pinned" for m in history)
    assert cuts > 75
    assert kept > 15
    assert pinned > 40


CHECKS = {"chat_completions": wire_chat, "anthropic_messages": wire_anthropic, "responses": wire_responses}
HEADERS = {"anthropic-version": "2023-06-01", "x-api-key": "k"}


@pytest.mark.parametrize("name", CHECKS)
def test_a_strict_server_of_every_wire_takes_what_is_held(name):
    wire, preset = WIRES[name], PRESETS["anthropic" if name == "anthropic_messages" else "custom"]
    compacted = 0
    for seed in range(50):
        author, history = Author(seed), []
        author.size = min(author.size, 400)
        options = author.options()
        for _ in range(3):
            history += author.turn()
            author.choose(history)
            cut = compaction.find_cut(history, options, 4_000, forced=True, most=500)
            if cut is not None:
                compacted += 1
                history.append(compaction.summary_of("The record.", Covered(cut.through, cut.taken, cut.kept)))
        # What servers want back with their replies is theirs to know; here it is of no server.
        held = [replace(message, extra={}) for message in view.held([*history, user("go on")])]
        body = wire.body(LlmRequest((SYSTEM, *held)), "m", wire.quirks(preset), preset)
        CHECKS[name].check(body, HEADERS, Memory())
    assert compacted > 50
