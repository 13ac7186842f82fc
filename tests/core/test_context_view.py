"""What fills the window, and what a person takes out of it or keeps in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_core import events, intents
from agent_core.messages import ImagePart, Message, ShellRun, ToolCall, ToolResult, new_id, shell, tool, user
from agent_core.mind import context, view
from agent_core.names import SHELL
from tests.core.session_support import Table, call, say
from tests.rows import each_row

HISTORY = [
    user("mend the parser " * 20, (ImagePart("image/png", "aGk="),)),
    Message(
        "assistant",
        "Looking.",
        tool_calls=(ToolCall("1", "read_file", {"path": "a.py"}), ToolCall("2", "grep", {"pattern": "x"})),
        extra={"reasoning_content": "The parser drops it. " * 30},
    ),
    tool(ToolResult("1", "read_file", "line\n" * 400)),
    tool(ToolResult("2", "grep", "a.py:1: x\n" * 100)),
    Message("assistant", "这是一个回答。" * 50),
    shell(ShellRun("git log", ToolResult("own", SHELL, "commit\n" * 50))),
    shell(ShellRun("pass show key", ToolResult("own2", SHELL, "secret\n" * 50), private=True)),
]
FIXED = {"system": 900, "context": 300, "tools": 1_800}


def test_the_parts_are_all_there_is_and_the_items_come_largest_first():
    report = context.report(HISTORY, {}, FIXED, window=32_000)
    assert report.total == sum(FIXED.values()) + view.load(view.held(HISTORY)).tokens
    assert {(part.kind, part.tool) for part in report.parts} == {
        ("system", ""), ("tools", ""), ("context", ""), ("user", ""), ("answers", ""), ("reasoning", ""), ("calls", ""),
        ("shell", ""), ("results", "read_file"), ("results", "grep"),
    }  # fmt: skip
    assert [item.tool or item.kind for item in report.items[:3]] == ["user", "read_file", "answers"]
    assert report.messages == len(HISTORY) - 1
    assert not any("secret" in item.text or "pass show" in item.text for item in report.items)
    (result,) = (item for item in report.items if item.tool == "read_file")
    assert result.call is not None
    assert result.call.arguments == {"path": "a.py"}
    assert 0 < result.gain < result.tokens


def test_what_the_person_wants_counts_at_once_and_the_gain_is_what_it_saves():
    before = context.report(HISTORY, {}, FIXED)
    for item in before.items:
        after = context.report(HISTORY, {item.message_id: "dropped"}, FIXED)
        assert before.total - after.total == item.gain
        (dropped,) = (i for i in after.items if i.message_id == item.message_id)
        assert (dropped.view, dropped.gain) == ("dropped", item.gain)
        assert (after.dropped, after.saved) == (1, item.gain)
    every = {item.message_id: "dropped" for item in before.items}
    after = context.report(HISTORY, every, FIXED, factor=2.0)
    assert after.dropped == len(every)
    assert after.total + after.saved == pytest.approx(2 * before.total, abs=10)
    assert (before.dropped, before.saved) == (0, 0)
    assert context.report(HISTORY, {}, FIXED, factor=2.0).total == pytest.approx(2 * before.total, abs=10)


@each_row(
    ("text", "tokens"),
    [("", 0), ("word", 1), ("a" * 400, 100), ("上下文压缩" * 20, 100), ("é" * 80, 50), ("\ud83d", 1), ("👍" * 10, 14)],
)
def test_tokens_are_guessed_by_four_characters_and_one_chinese_character(text, tokens):
    assert abs(view.token_count(text) - tokens) <= 1


def reading(table, *names):
    """A model that reads the files `names`, one a turn, then says so."""
    for name in names:
        (table.workspace / name).write_text(f"text of {name}\n" * 50)
    left = [call(("read_file", {"path": name})) for name in names]

    def reply(request, sink, cancel):
        if request.messages[0].id == "compact":
            return say("The record.")
        return left.pop(0) if request.messages[-1].role == "user" and left else say("Read.")

    table.model.replies = [reply]


def results(table):
    return [m.text for m in table.model.requests[-1].messages if m.role == "tool"]


def test_a_dropped_result_keeps_its_place_comes_back_and_the_choice_outlives_the_program(tmp_path):
    table = Table(tmp_path, say("x"))
    reading(table, "a.py", "b.py")
    table.turn("read a")
    table.turn("read b", count=2)
    first = next(m for m in table.store.messages(table.session.id) if m.role == "tool")
    table.session.send(intents.SetView((first.id,), "dropped"))
    assert table.wait(events.ViewChanged).view == "dropped"
    table.turn("go on", count=3)
    assert results(table)[0] == view.DROPPED_RESULT
    assert "text of b.py" in results(table)[1]
    table.session.close()
    table.session.join(5)
    table.session = table.open(table.session.id, stored=True)
    table.seen.clear()
    table.turn("after a restart")
    assert results(table)[0] == view.DROPPED_RESULT
    assert "text of a.py" in table.store.messages(table.session.id)[2].text, "the history is whole on disk"
    table.session.send(intents.SetView((first.id,), ""))
    table.turn("and back", count=2)
    assert "text of a.py" in results(table)[0]


def test_a_choice_acts_on_the_next_request_of_a_turn_that_runs(tmp_path):
    table = Table(tmp_path, say("x"))
    table.services = replace(table.services, keep=lambda note: table.store.notes.keep([note]))
    table.session = table.open(new_id(), stored=False)
    reading(table, "a.py")
    table.turn("read a")
    uid = next(m.id for m in table.store.messages(table.session.id) if m.role == "tool")

    def reply(request, sink, cancel):
        if len(table.model.requests) > 3:
            return say("Done.")
        table.session.send(intents.SetView((uid,), "dropped"))
        report = table.session.context()
        assert [item.view for item in report.items if item.message_id == uid] == ["dropped"], "seen at once"
        stored = table.store.messages(table.session.id)
        assert [m.view for m in stored if m.id == uid] == ["dropped"], "a kill now loses nothing"
        return call(("list_dir", {"path": "."}))

    table.model.replies = [reply]
    table.turn("go on", count=2)
    assert "text of a.py" in next(m.text for m in table.model.requests[2].messages if m.role == "tool")
    assert results(table)[0] == view.DROPPED_RESULT


def test_what_is_pinned_survives_a_compaction_word_for_word_with_its_pair(tmp_path):
    table = Table(tmp_path, say("x"))
    reading(table, "a.py", "b.py")
    table.turn("read a")
    table.turn("read b", count=2)
    pinned = [m for m in table.store.messages(table.session.id) if "text of b.py" in m.text]
    table.session.send(intents.SetView((pinned[0].id,), "pinned"))
    for n in range(6):
        table.turn(f"more {n}", count=n + 3)
    table.session.send(intents.Compact())
    table.wait(events.CompactionFinished)
    table.turn("go on", count=9)
    held = table.model.requests[-1].messages
    assert [m.role for m in held[1:4]] == ["user", "assistant", "tool"]
    assert held[3].text == pinned[0].text
    assert held[2].tool_calls[0].id == pinned[0].result.call_id
    assert not any("text of a.py" in m.text for m in held)
    report = table.session.context()
    assert [i.view for i in report.items if i.message_id == pinned[0].id] == ["pinned"]
    assert report.summarised > 0


def test_the_window_is_unknown_until_a_model_is_connected_and_nothing_is_asked_of_it(tmp_path):
    table = Table(tmp_path, say("x"), rules="Use tabs. " * 100)
    table.session.start()
    report = table.session.context()
    assert report.window is None
    assert {part.kind for part in report.parts} == {"system", "context", "tools"}
    assert not table.model.requests
