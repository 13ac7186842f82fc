"""A conversation that grows too large is compacted, and goes on."""

from __future__ import annotations

import pytest

from agent_core import events, intents, limits
from agent_core.errors import ProviderError
from agent_core.messages import Usage
from agent_core.ports import LlmReply
from tests.core.session_support import Table, call, say


def is_summary_request(request):
    return request.messages[0].id == "compact"


def answering(*texts, summary="# Goal\nMend the parser."):
    """A model that summarises when asked to, and else says `texts` in turn, the last one again and again."""
    left = list(texts)

    def reply(request, sink, cancel):
        if is_summary_request(request):
            return say(summary, Usage(1_000, 50, 1_050)) if isinstance(summary, str) else summary(request)
        return say(left.pop(0) if len(left) > 1 else left[0])

    return reply


def long_talk(table, turns=8, size=20_000):
    for n in range(turns):
        table.turn(f"question {n}", count=n + 1)


def test_a_long_conversation_is_compacted_before_the_next_request(tmp_path):
    table = Table(tmp_path, answering("word " * 4_000))
    for n in range(8):
        table.turn(f"question {n}", count=n + 1)
    first = next(i for i, r in enumerate(table.model.requests) if is_summary_request(r))
    request = table.model.requests[first + 1]
    texts = [m.text for m in request.messages]
    assert "Mend the parser." in texts[1]
    assert texts[1].startswith("<conversation-summary>")
    assert len(request.messages) <= 2 + limits.KEEP_RECENT
    assert request.messages[-1].text.startswith("question")
    started, ended = table.of(events.CompactionStarted), table.of(events.CompactionFinished)
    assert len(started) == len(ended) >= 1
    stored = table.store.messages(table.session.id)
    assert sum(m.origin == "summary" for m in stored) == len(ended)
    assert [m.text for m in stored if m.starts_turn] == [f"question {n}" for n in range(8)]


def overflow(limit=None):
    return ProviderError("context_length", "The conversation is too long for this model.", limit=limit)


def test_a_request_that_is_too_long_is_sent_again_once_it_is_compacted(tmp_path):
    seen = []

    def reply(request, sink, cancel):
        if is_summary_request(request):
            return say("The record.")
        seen.append([m.text for m in request.messages])
        return overflow() if len(seen) == 7 else say("word " * 500)

    table = Table(tmp_path, reply)
    for n in range(7):
        end = table.turn(f"question {n} " + "and more " * 300, count=n + 1)
    assert (end.outcome, end.steps) == ("completed", 1)
    assert len(seen) == 8
    assert "The record." in seen[7][1]
    assert seen[7][-1].startswith("question 6")
    assert len("".join(seen[7][1:])) < len("".join(seen[6][1:])) * 0.7


@pytest.mark.parametrize("window", [None, 8_000])
def test_what_no_compaction_makes_small_enough_fails_with_words_after_one_at_most(tmp_path, window):
    asked = []

    def reply(request, sink, cancel):
        asked.append(request)
        return say("The record.") if is_summary_request(request) else overflow(window)

    table = Table(tmp_path, reply, rules="rule " * 9_000)
    end = table.turn("hello")
    assert (end.outcome, end.error_code) == ("failed", "compression_exhausted")
    (error,) = table.of(events.ErrorRaised)
    assert "context files ~11," in error.text
    assert "/new" in error.text
    assert "/compact" in error.text
    assert len(error.text) < 500
    assert sum(map(is_summary_request, asked)) <= 1
    assert len(asked) <= 3
    table.turn("again", count=2)
    assert len(asked) <= 6


def test_a_huge_last_message_is_named(tmp_path):
    table = Table(tmp_path, overflow(8_000))
    end = table.turn("hello " * 50_000)
    assert end.error_code == "compression_exhausted"
    assert "the conversation ~75," in table.of(events.ErrorRaised)[0].text


FAILURES = {
    "the server fails": (ProviderError("server", "It broke."), True),
    "an empty summary": (LlmReply(""), True),
    "a summary cut by the output limit": (LlmReply("half", finish="length"), True),
    "a refusal": (ProviderError("content_filter", "No."), True),
    "a wrong key": (ProviderError("auth", "Wrong key."), False),
    "no balance": (ProviderError("quota", "No money."), False),
    "no network": (ProviderError("network", "Down."), False),
}


@pytest.mark.parametrize(("failure", "left_out"), FAILURES.values(), ids=FAILURES)
def test_without_a_summary_the_line_says_so_and_without_a_server_all_stays(tmp_path, failure, left_out):
    table = Table(tmp_path, answering("word " * 4_000, summary=lambda request: failure))
    for n in range(8):
        end = table.turn(f"question {n}", count=n + 1)
    assert end.outcome == "completed"
    stored = [m for m in table.store.messages(table.session.id) if m.origin == "summary"]
    last = table.model.requests[-1]
    if left_out:
        assert {m.text for m in stored} == {"[Earlier conversation was omitted to keep the context small]"}
        assert "[Earlier conversation was omitted to keep the context small]" in last.messages[1].text
    else:
        assert stored == []
        assert [m.text for m in last.messages if m.text.startswith("question")] == [f"question {n}" for n in range(8)]
        # The failure rests for a minute rather than coming back with every step.
        assert sum(map(is_summary_request, table.model.requests)) == 1
        assert [n.code for n in table.of(events.Notice)].count("not_compacted") == 1


def test_compact_by_hand_says_what_to_keep_and_needs_enough_messages(tmp_path):
    table = Table(tmp_path, answering("A short answer."))
    table.turn("question 0")
    table.session.send(intents.Compact("the parser"))
    assert table.wait(events.Notice).code == "nothing_to_compact"
    for n in range(1, 7):
        table.turn(f"question {n}", count=n + 1)
    table.session.send(intents.Compact("the parser"))
    ended = table.wait(events.CompactionFinished)
    assert ended.messages == 4
    (request,) = [r for r in table.model.requests if is_summary_request(r)]
    assert "the parser" in request.messages[1].text
    assert not request.tools
    table.turn("go on", count=8)
    assert [m.text[:10] for m in table.model.requests[-1].messages[1:3]] == ["<conversat", "question 2"]


def test_compaction_can_be_stopped_at_once_and_leaves_everything_as_it_was(tmp_path):
    waiting = []

    def summary(request):
        return None

    def reply(request, sink, cancel):
        if is_summary_request(request):
            waiting.append(cancel)
            cancel.wait(20)
            cancel.check()
        return say("A short answer.")

    table = Table(tmp_path, reply)
    for n in range(7):
        table.turn(f"question {n}", count=n + 1)
    table.session.send(intents.Compact())
    table.wait(events.CompactionStarted)
    table.session.send(intents.Submit("meanwhile"))
    while not waiting:
        table.drain()
    table.session.send(intents.Interrupt())
    assert table.wait(events.CompactionFinished).message_id == ""
    assert table.wait(events.TextReturned).text == "meanwhile"
    assert not any(m.origin == "summary" for m in table.store.messages(table.session.id))
    assert table.turn("and on", count=8).outcome == "completed"


def test_a_resumed_session_holds_the_same_as_before(tmp_path):
    table = Table(tmp_path, answering("A short answer."))
    for n in range(7):
        table.turn(f"question {n}", count=n + 1)
    table.session.send(intents.Compact())
    table.wait(events.CompactionFinished)
    table.turn("before", count=8)
    before = table.model.requests[-1].messages
    table.session.close()
    table.session.join(5)
    again = table.session = table.open(table.session.id, stored=True)
    table.seen.clear()
    table.turn("after")
    after = table.model.requests[-1].messages
    assert [m.text for m in after[: len(before)]] == [m.text for m in before]
    assert again.id == table.session.id


def test_an_undo_gives_back_what_was_summarised_since(tmp_path):
    table = Table(tmp_path, answering("A short answer."))
    for n in range(7):
        table.turn(f"question {n}", count=n + 1)
    table.session.send(intents.Compact())
    table.wait(events.CompactionFinished)
    while table.session.state != "idle":
        table.drain()
    table.session.send(intents.Undo(1))
    table.wait(events.HistoryChanged, count=2)
    table.turn("again", count=8)
    said = [m.text for m in table.model.requests[-1].messages if m.role == "user"]
    assert said == [*(f"question {n}" for n in range(6)), "again"]


def test_a_fork_of_a_compacted_session_holds_the_same(tmp_path):
    table = Table(tmp_path, answering("A short answer."))
    for n in range(7):
        table.turn(f"question {n}", count=n + 1)
    table.session.send(intents.Compact())
    table.wait(events.CompactionFinished)
    table.turn("before", count=8)
    before = [m.text for m in table.model.requests[-1].messages]
    table.session = table.open(table.store.fork(table.session.id).id, stored=True)
    table.seen.clear()
    table.turn("after")
    assert [m.text for m in table.model.requests[-1].messages][: len(before)] == before


def test_the_plan_the_mode_and_the_rules_survive_a_compaction(tmp_path):
    plan = call(("todo_write", {"todos": [{"content": "mend the parser", "status": "in_progress"}]}))
    table = Table(tmp_path, answering("A short answer."), rules="Never touch generated files.")
    ask = table.model.replies[0]
    table.model.replies = [plan, ask]
    for n in range(8):
        table.turn(f"question {n}", count=n + 1)
    table.session.send(intents.Compact())
    table.wait(events.CompactionFinished)
    table.turn("go on", count=9)
    system, summary = (m.text for m in table.model.requests[-1].messages[:2])
    assert "Never touch generated files." in system
    assert "Mode ask:" in system
    assert "mend the parser" in summary
    assert not any(m.tool_calls for m in table.model.requests[-1].messages)


def test_keys_are_neither_given_to_be_summarised_nor_kept_in_a_summary(tmp_path):
    table = Table(tmp_path, answering("A short answer.", summary="The key is sk-very-secret."))
    table.turn("my key is sk-very-secret")
    for n in range(1, 7):
        table.turn(f"question {n}", count=n + 1)
    table.session.send(intents.Compact())
    assert "sk-very-secret" not in table.wait(events.CompactionFinished).text
    (request,) = [r for r in table.model.requests if is_summary_request(r)]
    assert "sk-very-secret" not in request.messages[1].text
    assert "[REDACTED]" in request.messages[1].text


def test_what_a_summary_costs_is_booked_and_is_no_step(tmp_path):
    table = Table(tmp_path, answering("word " * 4_000))
    steps = [table.turn(f"question {n}", count=n + 1).steps for n in range(8)]
    assert steps == [1] * 8
    assert (table.store.costs.spent(table.session.id).usage.prompt_tokens or 0) == 1_000 * len(
        table.of(events.CompactionFinished)
    )
