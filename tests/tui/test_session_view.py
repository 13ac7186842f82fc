"""What the screen knows of a session beside its transcript."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from agent_core import events as ev
from agent_core.messages import DiffLine, FileDiff, Hunk, Message, ToolCall, ToolResult, Usage, tool, user
from nanoherm_tui import calls
from nanoherm_tui.session_view import SessionView


def view() -> SessionView:
    return SessionView(SimpleNamespace(id="s"))


def change(path):
    return FileDiff(path, (Hunk(1, 1, (DiffLine("add", "x", None, 1),)),), 1, 0)


def edit(number, ok=True):
    """A call that edits a file, and its result."""
    call = ToolCall(f"c{number}", "edit_file", {"path": f"f{number}.py"})
    result = ToolResult(call.id, call.name, f"done {number}", ok, diffs=(change(f"f{number}.py"),))
    return Message("assistant", tool_calls=(call,)), tool(result)


def paths(shown):
    return [diff.path for diff in shown.diffs]


def test_changes_are_listed_newest_first_from_events_and_from_a_stored_session():
    stored, live = view(), view()
    messages = [user("go"), *edit(1), *edit(2), *edit(3)]
    stored.take([ev.HistoryChanged(tuple(messages))])
    for number in (1, 2, 3):
        result = edit(number)[1].result
        changed = live.take(
            [
                ev.ToolQueued(result.call_id, result.name, f"f{number}.py"),
                ev.ToolFinished(result.call_id, result.name, True, "", result.text, (), result.diffs, 0.0),
            ]
        )
        assert "diffs" in changed
    assert paths(stored) == paths(live) == ["f3.py", "f2.py", "f1.py"]
    assert {key: (c.subject, c.text) for key, c in stored.calls.items()} == {
        key: (c.subject, c.text) for key, c in live.calls.items()
    }


def test_a_change_that_failed_or_was_refused_is_no_change_of_the_session():
    shown = view()
    shown.take([ev.HistoryChanged((user("go"), *edit(1, ok=False)))])
    assert paths(shown) == []
    assert not shown.calls["c1"].ok


def test_opening_a_session_works_out_no_subject_before_a_call_is_opened(monkeypatch):
    asked = []
    monkeypatch.setattr(calls, "default_subject", lambda call: asked.append(call.id) or "subject")
    shown = view()
    shown.take([ev.HistoryChanged((user("go"), *edit(1), *edit(2)))])
    assert asked == []
    assert shown.calls["c2"].subject == "subject"
    assert asked == ["c2"]


@pytest.mark.parametrize(
    "event", [ev.TextDelta("x"), ev.ReasoningDelta("x"), ev.ToolProgress("c", "x")], ids=lambda e: type(e).__name__
)
def test_what_streams_changes_no_other_part_of_the_screen(event):
    assert view().take([event]) == set()


def test_a_compaction_between_turns_is_no_step_and_leaves_the_context_unknown_until_the_next_reply():
    shown = view()
    full = ev.UsageReported(Usage(500, 10), 510, 1_000)
    shown.take([ev.TurnStarted("t"), ev.StepStarted(3), full, ev.TurnFinished("t", "completed", 3, 1.0)])
    assert (shown.step, shown.context_percent) == (3, 51)
    assert {"status"} <= shown.take([ev.CompactionStarted(84)])
    assert shown.step == 0
    shown.take([ev.CompactionFinished()])
    assert shown.context_percent == 51, "all is as it was"
    shown.take([ev.CompactionFinished("s", "So far.", 84)])
    assert shown.context_percent is None
    shown.take([full])
    assert shown.context_percent == 51
