"""Live events and stored messages come to the same transcript."""

from __future__ import annotations

import pytest

from agent_core import events as ev
from agent_core.delegation import AgentRow
from agent_core.messages import Covered, Message, ShellRun, ToolCall, ToolResult, shell, tool
from agent_core.ports.asking import Question
from nanoherm_tui import limits
from tests.rows import each_row
from tests.tui.transcript_helpers import NOON, call_events, conversation, model, rows_of, text_of


def live(batch, **options):
    transcript = model(**options)
    for event in batch:
        transcript.apply(event)
    return transcript


def stored(messages):
    transcript = model()
    transcript.load(messages)
    return transcript


CALLS = (
    ToolCall("c1", "read_file", {"path": "src/a.py"}),
    ToolCall("c2", "run_command", {"command": "pytest\n-q"}),
)
MESSAGES = [
    Message("system", "be good"),
    Message("user", "first question\n二", id="u1", created=NOON),
    Message("assistant", "Looking.\n\n- a\n- b", id="a1", reasoning="hm\nlonger", tool_calls=CALLS),
    tool(ToolResult("c1", "read_file", "x\n" * 50, outcome="50 lines", seconds=0.5)),
    tool(ToolResult("c2", "run_command", "boom", ok=False, outcome="1 failed", preview=("E  one", "two", "3", "4"))),
    Message("assistant", "```py\nx = 1\n```\nIt is\x1b[2J broken.", id="a2"),
    shell(ShellRun("git log\n-1", ToolResult("s1", "shell", "exit code 0\na\nb", outcome="exit 0", seconds=0.1))),
    Message("user", "stop now", id="u2", origin="steer", created=NOON),
    Message("assistant", "half an ans", id="a3", interrupted=True),
]


def as_events(pieces: int):
    """What a session tells while MESSAGES come to be, its texts in `pieces` parts."""

    def parts(text):
        size = max(1, len(text) // pieces)
        return [text[at : at + size] for at in range(0, len(text), size)]

    for message in MESSAGES:
        if message.shell is not None:
            run = message.shell
            yield ev.ToolQueued(run.result.call_id, "shell", "git log -1")
            yield ev.ToolStarted(run.result.call_id)
            yield ev.finished(run.result)
        elif message.role == "user":
            yield ev.TurnStarted("t")
            yield ev.UserMessage(message.id, message.text, message.origin)
        elif message.role == "assistant":
            yield ev.StepStarted(1)
            yield from (ev.ReasoningDelta(p) for p in parts(message.reasoning))
            yield from (ev.TextDelta(p) for p in parts(message.text))
            yield ev.AssistantMessage(
                message.id, message.text, message.reasoning, message.interrupted, 0.0, message.is_stopped
            )
            for call in message.tool_calls:
                yield ev.ToolQueued(call.id, call.name, call.arguments.get("path") or call.arguments["command"])
        elif message.result is not None:
            r = message.result
            yield ev.ToolStarted(r.call_id)
            yield ev.ToolProgress(r.call_id, "working")
            yield ev.ToolFinished(r.call_id, r.name, r.ok, r.outcome, r.text, r.preview, r.diffs, r.seconds)
    yield ev.TurnFinished("t", "interrupted", 3, 1.0)


@each_row("pieces", [1, 3, 50])
@each_row("width", [20, 60, 120])
def test_a_session_looks_the_same_live_and_reopened(pieces, width):
    assert rows_of(live(as_events(pieces)), width) == rows_of(stored(MESSAGES), width)


def test_ids_are_those_of_the_messages_and_calls():
    ids = ["u1", "a1-thought", "a1", "c1", "c2", "a2", "s1", "u2", "a3", "note-1"]
    assert [e.id for e in stored(MESSAGES).entries] == ids
    assert [e.id for e in live(as_events(2)).entries if e.kind != "note"] == ids[:-1]


def test_a_dropped_partial_leaves_nothing_behind():
    transcript = live([ev.UserMessage("u", "hi"), ev.ReasoningDelta("hm"), ev.TextDelta("wrong")])
    before = transcript.structure
    transcript.apply(ev.PartialDropped())
    assert [e.kind for e in transcript.entries] == ["user"]
    assert transcript.structure > before
    assert not transcript.running
    transcript.apply(ev.TextDelta("right"))
    transcript.apply(ev.AssistantMessage("a", "right"))
    assert text_of(transcript)[-1] == "    right"


def test_the_stored_text_replaces_a_different_stream():
    transcript = live([ev.TextDelta("draft"), ev.AssistantMessage("a", "final text")])
    assert text_of(transcript) == ["    final text"]


def test_blocks_that_were_streamed_are_kept_when_the_text_is_complete():
    transcript = live([ev.TextDelta("one\n\ntwo\n\nthr")])
    closed = list(transcript.entries[0].closed)
    transcript.apply(ev.TextDelta("ee"))
    transcript.apply(ev.AssistantMessage("a", "one\n\ntwo\n\nthree"))
    assert len(closed) == 2
    assert [a is b for a, b in zip(closed, transcript.entries[0].closed, strict=False)] == [True, True]


def test_reasoning_stands_above_the_text_whatever_comes_first():
    transcript = live([ev.TextDelta("answer"), ev.ReasoningDelta("thought")])
    assert [e.kind for e in transcript.entries] == ["thought", "answer"]


def test_a_thoughts_time_ends_with_the_first_word_of_the_answer():
    transcript = live([ev.ReasoningDelta("hm, let me see")])
    assert "Thinking" in text_of(transcript)[0]
    transcript.clock.now += 6.2
    transcript.apply(ev.TextDelta("So"))
    transcript.clock.now += 60
    assert text_of(transcript)[0] == "  ▸ Thought for 6 s  hm, let me see"


CALL = [ev.TextDelta("I write it."), ev.ToolArriving("write_file", 900), ev.ToolArriving("write_file", 12_340)]
ENDS = [
    ([ev.AssistantMessage("a", "I write it."), ev.ToolQueued("c", "write_file", "a.py")], ["waiting"]),
    ([ev.PartialDropped()], []),
    ([ev.TurnFinished("t", "interrupted", 1, 1.0)], ["I write it."]),
    ([ev.AssistantMessage("a", "I write it.", interrupted=True)], ["I write it.", "The answer breaks off here."]),
    ([ev.AssistantMessage("a", "I write it.", interrupted=True, stopped=True)], ["I write it.", "Stopped"]),
]


@each_row(("happens", "left"), ENDS)
def test_a_call_that_is_being_written_has_a_card_of_its_own_until_it_is_known_what_becomes_of_it(happens, left):
    transcript = live(CALL)
    said, card = text_of(transcript)[0], text_of(transcript)[-1]
    assert (said, card.split()) == ("    I write it.", ["⠋", "write_file", "12.3k", "characters"])
    assert [entry.kind for entry in transcript.running] == ["card"]
    before = transcript.structure
    for event in happens:
        transcript.apply(event)
    rows = text_of(transcript)
    assert not any("characters" in row for row in rows)
    assert all(words in row for words, row in zip(left, rows[-len(left) :], strict=True)) if left else not rows
    assert not transcript.running
    assert transcript.structure > before


def test_a_card_waits_asks_runs_and_ends():
    transcript = live([ev.ToolQueued("c", "run_command", "rm x")])
    assert "waiting" in text_of(transcript)[0]
    transcript.apply(ev.QuestionAsked(Question("command", "Run", call_id="c", id="q"), 0.0))
    assert "asks you" in text_of(transcript)[0]
    transcript.apply(ev.QuestionClosed("q", "once", "person"))
    assert "waiting" in text_of(transcript)[0]
    transcript.apply(ev.ToolStarted("c"))
    assert "running" in text_of(transcript)[0]
    assert len(transcript.running) == 1
    transcript.apply(ev.ToolFinished("c", "run_command", True, "done", "text", seconds=2.0))
    assert text_of(transcript)[0].endswith("done   2.0 s")
    assert not transcript.running


def test_a_call_that_never_got_a_result_says_so():
    unanswered = Message("assistant", "", tool_calls=(ToolCall("c", "grep", {"pattern": "x"}),))
    assert "no result" in text_of(stored([unanswered]))[0]
    assert "no result" in text_of(live([ev.ToolQueued("c", "grep", "x"), ev.TurnFinished("t", "failed", 1, 1.0)]))[0]


def test_a_session_reopened_while_it_runs_goes_on_where_it_is():
    transcript = model()
    transcript.load([Message("assistant", "", tool_calls=(ToolCall("c", "grep", {"pattern": "x"}),))], running=True)
    assert "waiting" in text_of(transcript)[0]
    transcript.apply(ev.ToolStarted("c"))
    transcript.apply(ev.ToolFinished("c", "grep", True, "3 matches", "x"))
    assert "3 matches" in text_of(transcript)[0]


def test_what_was_read_stays_when_a_turn_fails_in_the_middle_of_a_reply():
    transcript = live(
        [ev.TextDelta("half"), ev.ErrorRaised("server", "It broke."), ev.TurnFinished("t", "failed", 1, 1)]
    )
    assert text_of(transcript) == ["    half", "  ✗ It broke."]
    transcript.apply(ev.TextDelta("new"))
    assert [e.kind for e in transcript.entries] == ["answer", "note", "answer"]


def test_a_reply_that_came_to_nothing_does_not_run_into_the_next():
    batch = [ev.StepStarted(1), ev.ReasoningDelta("first"), ev.StepStarted(2), ev.ReasoningDelta("second")]
    transcript = live([*batch, ev.TextDelta("So."), ev.AssistantMessage("a", "So.", "second")])
    assert text_of(transcript) == ["  ▸ Thought  first", "  ▸ Thought  second", "    So."]


def test_a_summary_stands_folded_in_the_place_of_what_it_sums_up():
    transcript = stored([Message("user", "All we did.\nMore.", id="s", origin="summary")])
    assert text_of(transcript) == ["  ▸ Summary of what came before  All we did."]
    transcript.toggle(transcript.entries[0])
    assert text_of(transcript)[1:] == ["    All we did.", "    More."]


def test_a_compaction_is_one_quiet_row_live_and_after_a_reload_that_opens_to_the_summary():
    begun = [ev.CompactionStarted(84)]
    assert text_of(live(begun)) == ["  ⠋ Compacting 84 messages, 0 s"]
    ended = live([*begun, ev.CompactionFinished("s", "# Goal\nMend it.", 84)])
    covers = Covered("m", 84)
    again = stored([Message("user", "# Goal\nMend it.", id="s", origin="summary", covers=covers)])
    for transcript in (ended, again):
        assert text_of(transcript) == ["  ▸ Compacted: 84 messages became a summary  Mend it."]
        assert transcript.entries[0].id == "s"
        transcript.toggle(transcript.entries[0])
        assert text_of(transcript)[1:] == ["    # Goal", "    Mend it."]
    assert not ended.running


def test_a_compaction_that_came_to_nothing_leaves_no_row():
    transcript = live([ev.CompactionStarted(84), ev.CompactionFinished()])
    assert text_of(transcript) == []
    assert not transcript.running


def test_a_remark_to_the_model_is_not_the_users_message():
    transcript = stored([Message("user", "[The files have changed.]\n\nRules.", id="n", origin="note")])
    assert [entry.kind for entry in transcript.entries] == ["note"]


def test_a_long_message_of_the_users_is_folded_and_opens():
    transcript = stored([Message("user", "\n".join(f"line {n}" for n in range(100)), created=NOON)])
    folded = text_of(transcript)
    assert len(folded) == limits.USER_LINES_FOLDED + 1
    assert f"{100 - limits.USER_LINES_FOLDED} more lines" in folded[-1]
    assert transcript.toggle(transcript.entries[0])
    assert len(text_of(transcript)) == 100


def test_a_card_unfolds_the_start_of_its_result():
    transcript = live(call_events("c", text="\n".join(f"row {n}" for n in range(50))))
    assert len(text_of(transcript)) == 1
    transcript.toggle(transcript.entries[0])
    rows = text_of(transcript)
    assert rows[1] == "    row 0"
    assert f"{50 - limits.CARD_LINES} more lines" in rows[-1]
    transcript.toggle(transcript.entries[0])
    assert len(text_of(transcript)) == 1


def test_nothing_to_unfold_is_not_unfolded():
    transcript = live([ev.UserMessage("u", "short"), ev.Notice("n", "note")])
    assert [transcript.toggle(entry) for entry in transcript.entries] == [False, False]


def test_a_blocks_copy_is_its_source():
    code = "\n".join(f"\tline {n}" for n in range(250))
    transcript = stored([Message("assistant", f"Some *text*.\n\n```py\n{code}\n```\n\nAfter.", id="a")])
    entry = transcript.entries[0]
    first, *chunks, last = entry.blocks
    assert len(chunks) > 1
    assert transcript.copy_text(entry, first) == "Some *text*."
    assert {transcript.copy_text(entry, chunk) for chunk in chunks} == {code}
    assert transcript.copy_text(entry, last) == "After."


def test_the_keys_of_an_entrys_blocks_grow():
    for entry in live(as_events(3)).entries:
        keys = [block.key for block in entry.blocks]
        assert keys == sorted(set(keys))


@each_row(
    ("call", "subject"),
    [
        (ToolCall("c", "list_dir", {}), "."),
        (ToolCall("c", "grep", {"path": "src", "pattern": "tz"}), "tz"),
        (ToolCall("c", "run_command", {"command": "a\n  b"}), "a b"),
        (ToolCall("c", "run_command", {"command": ["not", "text"]}), ""),
        (ToolCall("c", "mcp_thing", {"n": 1, "what": "words"}), "words"),
        (ToolCall("c", "exit_plan", {"plan": "\n# Fix it\n1. so"}), "Fix it"),
        (ToolCall("c", "skill_manage", {"action": "patch", "name": "notes", "old_string": "x"}), "patch notes"),
        (ToolCall("c", "skill", {"name": "notes", "file": "references/a.md"}), "notes references/a.md"),
    ],
)
def test_a_stored_calls_subject_is_what_it_was_when_it_ran(call, subject):
    card = stored([Message("assistant", "", tool_calls=(call,))]).entries[0].blocks[0]
    assert card.subject == subject


def test_a_stored_calls_subject_shows_no_key():
    key = "sk-" + "abcdefghijklmnopqrstuvwxyz0123456789"
    call = ToolCall("c", "run_command", {"command": f"curl -H 'Authorization: Bearer {key}' x"})
    card = stored([Message("assistant", "", tool_calls=(call,))]).entries[0].blocks[0]
    assert card.subject == "curl -H 'Authorization: Bearer [REDACTED]' x"


def test_events_of_no_concern_change_nothing():
    transcript = live(as_events(1))
    before = [e.version for e in transcript.entries]
    for event in (ev.ModeChanged("plan"), ev.TitleChanged("x"), ev.PendingChanged(("x",)), ev.ToolStarted("nobody")):
        assert transcript.apply(event) == set()
    assert [e.version for e in transcript.entries] == before


def test_loading_makes_no_blocks_before_they_are_seen():
    transcript = stored(conversation(50))
    assert not any(entry.is_split for entry in transcript.entries)


def test_a_stored_thought_says_how_long_it_took():
    transcript = model()
    transcript.load([Message("assistant", "done", reasoning="Let me see.", reasoning_seconds=6.2)])
    assert text_of(transcript)[0].startswith("  ▸ Thought for 6 s  Let me see.")


def test_a_call_behind_one_that_asks_waits_and_goes_on_running_afterwards():
    session = model()
    for name in ("a", "b"):
        session.apply(ev.ToolQueued(name, "read_file", name))
    session.apply(ev.ToolStarted("b"))
    assert [e.card.state for e in session.entries] == ["waiting", "running"]
    question = Question("edit", "Read it?", call_id="a")
    assert {e.id for e in session.apply(ev.QuestionAsked(question, 0.0))} == {"a", "b"}
    assert [e.card.state for e in session.entries] == ["asks", "waiting"]
    assert not session.running
    session.apply(ev.QuestionClosed(question.id, "once", "person"))
    assert [e.card.state for e in session.entries] == ["waiting", "running"]
    assert [e.id for e in session.running] == ["b"]


@pytest.mark.parametrize(
    ("source", "rows"), [("---\ntwo", ["∙", "", "two"]), ("one\n***\ntwo", ["one", "", "∙", "", "two"])]
)
def test_a_thematic_break_has_a_blank_row_on_both_sides(source, rows):
    session = model()
    session.load([Message("assistant", source, id="a")])
    assert [row.strip()[:3].rstrip() for row in text_of(session)] == rows


def test_the_persons_own_command_goes_on_when_the_turn_ends_and_while_another_call_asks():
    shown = live(
        [
            ev.TurnStarted("t"),
            ev.ToolQueued("c1", "write_file", "a.txt"),
            ev.ToolQueued("s1", "shell", "sleep 9"),
            ev.ToolStarted("s1"),
            ev.QuestionAsked(Question("edit", "Change a.txt", call_id="c1"), 0.0),
        ]
    )
    cards = {entry.id: entry for entry in shown.entries if entry.kind == "card"}
    assert (cards["c1"].card.state, cards["s1"].card.state) == ("asks", "running")
    shown.apply(ev.TurnFinished("t", "interrupted", 1, 1.0))
    assert (cards["c1"].card.state, cards["s1"].card.state) == ("lost", "running")
    assert list(shown.running) == [cards["s1"]]
    shown.apply(ev.finished(ToolResult("s1", "shell", "exit code 0", outcome="exit 0")))
    assert cards["s1"].card.state == "done"
    assert list(shown.running) == []


@each_row(("text", "more"), [("+7 -4\n", False), ("+7 -4 in a.py", True), ("", False)])
def test_details_do_not_say_again_what_a_card_says_in_any_case(text, more):
    shown = model()
    shown.apply(ev.ToolQueued("c1", "edit_file", "a.py"))
    shown.apply(ev.finished(ToolResult("c1", "edit_file", text, outcome="+7 -4")))
    shown.show_details(True)
    (entry,) = shown.entries
    assert bool(entry.blocks[0].rows) == more
    assert shown.toggle(entry) == more


@each_row("stored", [False, True])
@each_row(
    ("text", "rows"),
    [
        ("exit code 0 (0.1 s)\na  b\n中文", ("a  b", "中文")),
        ("exit code 0 (0.1 s)", ()),
        ("ended by signal 9 after 0.1 s\nb", ("ended by signal 9 after 0.1 s", "b")),
        ("exit code 0 (0.1 s)\n" + "x\n" * limits.CARD_LINES, ("x",) * limits.CARD_LINES),
        ("exit code 0 (0.1 s)\n" + "x\n" * 300 + "end", ("x",) * (limits.CARD_END - 1) + ("end",)),
    ],
)
def test_what_the_persons_own_command_wrote_is_shown_at_once(text, rows, stored):
    result = ToolResult("s1", "shell", text, outcome="exit 0")
    shown = model()
    if stored:
        shown.load([shell(ShellRun("ls", result))])
    else:
        shown.apply(ev.ToolQueued("s1", "shell", "ls"))
        shown.apply(ev.finished(result))
    (entry,) = shown.entries
    (card,) = entry.blocks
    assert card.rows == rows
    assert (card.more_lines, card.is_end) == ((301 - limits.CARD_END, True) if "end" in rows else (0, False))
    assert shown.toggle(entry)
    assert entry.blocks[0].rows == (), "Space folds it"


def test_a_call_that_ends_before_the_one_before_it_does_not_go_on_running():
    shown = model()
    for call_id in ("c1", "c2"):
        shown.apply(ev.ToolQueued(call_id, "subagent", "look"))
    for call_id in ("c1", "c2"):
        shown.apply(ev.ToolStarted(call_id))
    shown.apply(ev.ToolEnded("c2", False, "stopped", 3.0))
    first, second = shown.entries
    assert (first.card.state, second.card.state, second.card.outcome, second.card.seconds) == (
        "running", "failed", "stopped", 3.0,
    )  # fmt: skip
    assert list(shown.running) == [first]
    shown.apply(ev.ToolProgress("c2", "late"))
    assert second.card.progress == ""
    shown.apply(ev.ToolFinished("c2", "subagent", False, "stopped", "[agent-2: interrupted]"))
    assert second.text == "[agent-2: interrupted]"


def test_what_sub_agents_in_the_background_came_to_is_a_card_that_unfolds_live_and_stored_alike():
    rows = (
        AgentRow("agent-1", "worker", "look", "done", 1.0, 4.0, "s1", preview="seen", background=True),
        AgentRow("agent-2", "worker", "count", "failed", 1.0, 3.0, "s2", preview="no key", background=True),
    )
    came = live([ev.AgentsReturned("m1", "all of it", rows)])
    read = stored([Message("user", "all of it", id="m1", origin="agents", agents=rows)])
    for transcript in (came, read):
        (entry,) = transcript.entries
        assert (entry.kind, entry.id, entry.text) == ("card", "m1", "all of it")
        assert entry.card is not None
        assert (entry.card.name, entry.card.subject) == ("delegate_task", "agent-1 look, agent-2 count")
        assert (entry.card.state, entry.card.outcome, entry.card.seconds) == ("failed", "1 of 2 done", 3.0)
        assert entry.card.rows == ("agent-2: no key",)
        assert transcript.toggle(entry)
