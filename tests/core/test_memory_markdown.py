"""MEMORY.md and USER.md: their room, changes in several steps, what others wrote there, and what sessions are told."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent_core import events, intents, limits
from agent_core.desk import options
from agent_core.errors import MemoryFailure
from agent_core.extras.memory import MemoryOptions
from agent_core.extras.memory_pages import pages_extra
from agent_core.knowledge import Memory
from agent_core.memory import markdown, staging
from agent_core.memory.entries import Entries
from agent_core.memory.markdown import FILES, ROOM, Operation, Pages, applied, formed, parse, size
from agent_core.memory.pending import PendingWrites
from agent_core.mind.meter import Meter
from tests.core.session_support import Table, call, say
from tests.core.test_memory import REFUSED, hide
from tests.rows import each_row

ROOT = Path(__file__).parents[2]


def add(text):
    return Operation("add", text)


def remove(old):
    return Operation("remove", old=old)


def replace(old, text):
    return Operation("replace", text, old)


@pytest.fixture
def pages(tmp_path):
    return Pages(tmp_path / "home" / "memories", hide)


def write(pages, target, text):
    pages.folder.mkdir(parents=True, exist_ok=True)
    pages.path(target).write_text(text, encoding="utf-8")
    pages.path(target).chmod(0o600)


# -- what the text means ------------------------------------------------------------------------------------------


@each_row(
    ("text", "entries"),
    [
        ("", ()),
        ("\n§\n\n§\n", ()),
        ("one", ("one",)),
        ("one\n§\ntwo, 第二\n", ("one", "two, 第二")),
        ("one\r\n§\r\ntwo\r\n", ("one", "two")),
        ("§\none\nmore of it\n  § \ntwo\n§", ("one\nmore of it", "two")),
        ("see § 5\n§\n§§\n", ("see § 5", "§§")),  # a sign in a line with other characters is text
        ("one\n§\ntwo\n§\none", ("one", "two")),
    ],
)
def test_entries_stand_between_lines_that_hold_only_the_sign(text, entries):
    assert parse(text) == entries
    assert parse(formed(entries)) == entries


@each_row(
    ("steps", "after"),
    [
        ([add("c")], ("alpha", "beta", "c")),
        ([add("alpha")], ("alpha", "beta")),
        ([remove("alp")], ("beta",)),
        ([replace("bet", "gamma")], ("alpha", "gamma")),
        ([replace("bet", "alpha")], ("alpha",)),
        ([remove("alpha"), remove("beta"), add("all")], ("all",)),
        ([add("new"), remove("new")], ("alpha", "beta")),
        ([remove("a")], "More than one"),
        ([remove("zeta")], "No entry"),
        ([remove("  ")], "No entry"),
        ([remove("alpha"), replace("alpha", "x")], "No entry"),
    ],
)
def test_steps_follow_each_other_and_all_are_done_or_none(steps, after):
    if isinstance(after, tuple):
        assert applied("memory", ("alpha", "beta"), steps) == after
    else:
        with pytest.raises(MemoryFailure, match=after):
            applied("memory", ("alpha", "beta"), steps)


def test_of_an_entry_that_stands_in_another_the_exact_one_is_meant():
    assert applied("memory", ("uv", "use uv"), [remove("uv")]) == ("use uv",)


@pytest.mark.parametrize("target", FILES)
def test_the_room_is_counted_in_characters_and_judged_at_the_end(target):
    room = ROOM[target]
    assert room == {"memory": 2_200, "user": 1_375}[target]
    first = "字" * (room - 13)  # with three for what is between, ten are left
    full = applied(target, (first,), [add("x" * 10)])
    assert size(full) == room
    with pytest.raises(MemoryFailure, match="room for"):
        applied(target, (first,), [add("x" * 11)])
    # More goes in before something goes out: only the end counts.
    assert applied(target, full, [add("y" * 20), remove("x" * 10), remove(first)]) == ("y" * 20,)


def test_what_is_over_the_room_already_may_only_become_less():
    over = ("a" * 1_500, "b" * 1_500)
    assert applied("memory", over, [replace("b", "c" * 1_000)]) == ("a" * 1_500, "c" * 1_000)
    for steps in ([add("c")], [replace("a", "d" * 1_500)]):
        with pytest.raises(MemoryFailure, match="room for"):
            applied("memory", over, steps)


def test_a_person_sets_how_much_room_there_is_and_all_goes_by_it(tmp_path):
    config = SimpleNamespace(get={"memory.memory_char_limit": 3_000, "memory.user_char_limit": 300}.__getitem__)
    pages = Pages(tmp_path / "memories", hide, options.memory_room(config))
    assert size(pages.change("memory", [add("字" * 3_000)]).after) == 3_000
    assert markdown.told(pages)["memory"] == ["字" * 3_000]
    assert markdown.usage(("字" * 3_000,), pages.room["memory"]) == "100% - 3,000/3,000 characters"
    for target, most in (("memory", 3_000), ("user", 300)):
        with pytest.raises(MemoryFailure):
            pages.change(target, [add("x" * most), add("y")])
    write(pages, "user", "x" * 301)
    with pytest.raises(MemoryFailure) as failed:  # longer than the whole file may be: not from here
        pages.change("user", [add("y")])
    assert failed.value.code == "memory_drifted"


# -- the files ----------------------------------------------------------------------------------------------------


def test_a_change_is_written_for_its_owner_alone_and_seen_by_another_program(pages):
    change = pages.change("memory", [add("The tests need Redis."), add("用 uv 装依赖")])
    assert (change.before, change.after) == ((), ("The tests need Redis.", "用 uv 装依赖"))
    assert pages.path("memory").read_text("utf-8") == "The tests need Redis.\n§\n用 uv 装依赖\n"
    assert stat.S_IMODE(pages.path("memory").stat().st_mode) == 0o600
    assert [memory.text for memory in Pages(pages.folder, hide).search("装依赖", 5)] == ["用 uv 装依赖"]
    assert not pages.path("user").exists()


def test_the_store_of_one_memory_each_keeps_edits_forgets_and_takes_back(pages):
    wish = pages.add(Memory("", "preference", "Answer in Chinese."))
    note = pages.add(Memory("", "lesson", "The clock test is flaky."))
    assert pages.add(Memory("", "lesson", " The clock test is flaky. ")) is None
    assert pages.list() == (note, wish)
    assert (wish.kind, pages.entries("user")) == ("preference", (wish.text,))
    edited = pages.edit(note.id, "The clock test is mended.")
    with pytest.raises(MemoryFailure, match="no memory"):
        pages.forget(note.id)
    assert pages.forget(edited.id) == ()
    assert pages.list() == (wish,)
    assert pages.add(edited) == edited


def test_an_entry_too_long_for_the_file_is_drift_that_is_kept_aside_and_left_as_it_is(pages):
    foreign = "kept\n§\n" + "x" * 2_201
    write(pages, "memory", foreign)
    for attempt in (lambda: pages.change("memory", [remove("kept")]), lambda: pages.plan("memory", [add("y")])):
        with pytest.raises(MemoryFailure) as refused:
            attempt()
        assert refused.value.code == "memory_drifted"
    (copy,) = pages.folder.glob("*.bak")
    assert copy.name in refused.value.text
    assert copy.read_text("utf-8") == pages.path("memory").read_text("utf-8") == foreign
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"x\n\xa7\n", b"x" * (limits.MEMORY_PAGE + 1)])
def test_what_cannot_be_read_is_refused_and_never_taken_for_nothing(pages, content):
    write(pages, "user", "")
    pages.path("user").write_bytes(content)
    for attempt in (pages.list, lambda: pages.change("user", [add("y")]), lambda: pages.search("x", 5)):
        with pytest.raises(MemoryFailure, match=r"USER\.md"):
            attempt()
    assert pages.path("user").read_bytes() == content


ADDS = """
import sys
from pathlib import Path
from agent_core.memory.markdown import Operation, Pages
pages = Pages(Path(sys.argv[1]), str)
for number in range(12):
    pages.change("memory", [Operation("add", f"{sys.argv[2]} number {number}")])
"""


def test_two_programs_that_write_at_once_lose_nothing(pages):
    both = [
        subprocess.Popen([sys.executable, "-c", ADDS, str(pages.folder), name], cwd=ROOT) for name in ("one", "two")
    ]
    assert [child.wait(60) for child in both] == [0, 0]
    assert len(pages.entries("memory")) == 24


# -- the gate, on each way in -------------------------------------------------------------------------------------

BAD = {**REFUSED, "a document": "x" * 2_201, "a second entry": "harmless\n§\nsneaked in"}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_no_way_in_keeps_what_the_gate_refuses(pages, tmp_path, text):
    kept = pages.add(Memory("", "fact", "harmless fact"))
    writes = PendingWrites(tmp_path)
    staged = staging.stage(writes, Memory("", "lesson", text))  # as if a staged file had been written by another
    steps = {"target": "memory", "operations": [{"action": "add", "text": text, "old": ""}]}
    for attempt in (
        lambda: pages.add(Memory("", "fact", text)),
        lambda: pages.edit(kept.id, text),
        lambda: pages.plan("memory", [add(text)]),
        lambda: pages.change("memory", [replace("harmless", text)]),
        lambda: writes.approve(staged.id, lambda found: staging.carry_out(pages, found.data), "memory"),
        lambda: staging.carry_out(pages, steps),
    ):
        with pytest.raises(MemoryFailure):
            attempt()
    assert pages.list() == (kept,)
    assert [one.id for one in writes.list()] == [staged.id]


def test_a_change_that_waits_is_done_as_it_was_shown_or_by_the_other_engine_not_at_all(pages, tmp_path):
    pages.change("memory", [add("old")])
    writes, steps = PendingWrites(tmp_path), [add("new"), remove("old")]
    pending = staging.stage_change(writes, pages.plan("memory", steps), steps, "s1")
    assert (pending.title, pending.diff.path) == ("Change MEMORY.md: 1 added, 1 removed", "MEMORY.md")
    assert [line.text for line in pending.diff.hunks[0].lines] == ["old", "new"]
    assert pages.entries("memory") == ("old",)
    with pytest.raises(MemoryFailure, match="engine"):
        staging.carry_out(Entries(tmp_path / "memory.json", hide), writes.get(pending.id).data)
    writes.approve(pending.id, lambda found: staging.carry_out(pages, found.data))
    assert (pages.entries("memory"), writes.list()) == (("new",), ())


# -- in a session -------------------------------------------------------------------------------------------------


class Paged(Table):
    """A session with the two files."""

    def __init__(self, tmp_path, *replies, memory=None, **services):
        self.pages = Pages(tmp_path / "memories", hide)
        self.pending = PendingWrites(tmp_path)
        self.options = memory or MemoryOptions()
        super().__init__(tmp_path, *replies, extras=self.extras, **services)

    def extras(self, seat):
        meter = Meter(self.store.costs, seat.session_id, self.services.price, self.services.budget)
        return (pages_extra(seat, self.pages, self.options, hide, self.services.connect, meter, self.pending),)

    def prompt(self, number=-1):
        return self.model.requests[number].messages[0].text


def keep(target="memory", **more):
    return call(("memory", {"target": target, **more}))


def test_the_prompt_stays_as_it_was_while_the_answer_shows_what_is_now(tmp_path):
    table = Paged(
        tmp_path,
        keep(operations=[{"action": "add", "content": "Use uv."}, {"action": "remove", "old_text": "pip"}]),
        say("ok"),
    )
    table.pages.change("memory", [add("Use pip."), add("# The tests need Redis.")])
    table.pages.change("user", [add("Prefers short answers.")])
    table.turn("hello")
    table.turn("again", count=2)
    first, last = table.prompt(0), table.prompt()
    assert first == last
    assert "Use pip.\n§\n # The tests need Redis." in first
    assert "Prefers short answers." in first
    (result,) = table.of(events.ToolFinished)
    live = json.loads(result.text)
    assert live["entries"] == ["# The tests need Redis.", "Use uv."]
    assert live["usage"].endswith("/2,200 characters")
    (told,) = table.of(events.Remembered)
    assert [memory.text for memory in told.memories] == ["Use uv."]
    assert [memory.text for memory in told.gone] == ["Use pip."]
    # What the session itself has changed is no news to it.
    assert not any("withdrawn" in message.text for message in table.model.requests[-1].messages)


def test_what_a_person_forgets_is_told_to_the_session_that_runs_and_to_no_prompt_made_after(tmp_path):
    table = Paged(tmp_path, say("ok"))
    table.pages.change("memory", [add("The staging host is alpha."), add("The tests need Redis.")])
    table.turn("hello")
    told = table.of(events.Recalled)[-1].memories
    assert [memory.text for memory in told] == ["The staging host is alpha.", "The tests need Redis."]
    table.pages.forget(told[0].id)
    table.turn("where is staging?", count=2)
    assert table.of(events.Recalled)[-1].memories == told[1:]
    texts = [message.text for message in table.model.requests[-1].messages[1:]]
    assert sum("entry 1 of MEMORY.md" in text for text in texts) == 1
    assert not any("alpha" in text for text in texts)
    table.turn("once more", count=3)
    assert sum("entry 1 of MEMORY.md" in message.text for message in table.model.requests[-1].messages) == 1
    table.session.close()
    again = table.session = table.open(table.session.id, stored=True)
    table.turn("and now?", count=4)
    again.close()
    assert "alpha" not in table.prompt()
    assert "The tests need Redis." in table.prompt()


def test_what_others_wrote_there_reaches_no_prompt_where_it_reads_like_orders(tmp_path):
    table = Paged(tmp_path, say("ok"))
    write(table.pages, "memory", f"{REFUSED['an order']}\n§\nplain\n§\n" + "字" * 2_190)
    table.turn("hello")
    assert "Ignore all previous" not in table.prompt()
    assert "[Entry 1 is not told: it reads like orders to you." in table.prompt()
    assert "plain" in table.prompt()
    (recalled,) = table.of(events.Recalled)
    assert [memory.text for memory in recalled.memories] == ["plain"], "the screen is told what the model was"
    assert "[1 more are not told" in table.prompt()


def test_nor_does_the_answer_of_the_tool_show_it(tmp_path):
    table = Paged(tmp_path, keep(action="add", content="new"), keep(action="remove", old_text="?"), say("ok"))
    write(table.pages, "memory", f"{REFUSED['an order']}\n§\nplain\n")
    table.turn("hello")
    answers = [json.loads(result.text) for result in table.of(events.ToolFinished)]
    for entries in (answers[0]["entries"], answers[1]["current_entries"]):
        assert entries[0].startswith("[Entry 1 is not told")
        assert entries[1:] == ["plain", "new"]
    assert REFUSED["an order"] in table.pages.entries("memory")


def test_a_broken_file_is_told_once_and_no_turn_fails_for_it(tmp_path):
    table = Paged(tmp_path, say("ok"))
    write(table.pages, "memory", "")
    table.pages.path("memory").write_bytes(b"\xff")
    assert table.turn("hello").outcome == "completed"
    assert table.turn("again", count=2).outcome == "completed"
    assert [notice.code for notice in table.of(events.Notice)] == ["memory_broken"]


def test_after_three_changes_that_do_not_fit_the_model_is_told_to_leave_it_and_the_turn_is_answered(tmp_path):
    big = {"action": "add", "content": "x" * 300}
    table = Paged(tmp_path, *[keep(**big)] * 4, say("done"), keep(action="remove", old_text="full"), say("done"))
    table.pages.change("memory", [add("full " + "y" * 2_000)])
    assert table.turn("go").outcome == "completed"
    results = [result.text for result in table.of(events.ToolFinished)]
    assert json.loads(results[0])["current_entries"] == ["full " + "y" * 2_000]
    assert ["last try" in text for text in results] == [False, False, True, True]
    assert "current_entries" not in results[3]
    table.turn("and now", count=2)  # another turn begins anew
    assert table.pages.list() == ()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"action": "add", "content": REFUSED["an order"]}, "steer the model"),
        ({"action": "add", "content": "a\n§\nb"}, "separates entries"),
        ({"action": "add"}, '"content" must be'),
        ({"action": "grow", "content": "x"}, '"action" must be one of'),
        ({"target": "others", "action": "add", "content": "x"}, "must be one of memory, user"),
        ({"action": "remove", "old_text": "nothing of that"}, "No entry"),
        ({"operations": [{"action": "add", "content": "fine"}, {"action": "remove", "old_text": "?"}]}, "No entry"),
    ],
)
def test_what_cannot_be_done_is_told_with_the_reason_and_nothing_is_written(tmp_path, arguments, words):
    table = Paged(tmp_path, keep(**arguments), say("ok"))
    table.turn("go")
    (result,) = table.of(events.ToolFinished)
    assert not result.ok
    assert words in result.text
    assert table.pages.list() == ()
    assert table.of(events.Remembered) == []


@pytest.mark.parametrize(("decision", "kept"), [("once", True), ("refuse", False)])
def test_with_write_approval_a_person_sees_the_change_first(tmp_path, decision, kept):
    table = Paged(
        tmp_path, keep("user", action="add", content="Likes tea."), say("ok"), memory=MemoryOptions(asks=lambda: True)
    )
    table.session.send(intents.Submit("I like tea"))
    question = table.wait(events.QuestionAsked).question
    assert (question.kind, question.diffs[0].path) == ("keep", "USER.md")
    assert table.pages.list() == ()
    table.session.send(intents.Answer(question.id, decision))
    table.wait(events.TurnFinished)
    assert table.pages.entries("user") == (("Likes tea.",) if kept else ())


def test_a_file_that_changed_while_a_person_looked_is_not_written(tmp_path):
    table = Paged(tmp_path, keep(action="add", content="new"), say("ok"), memory=MemoryOptions(asks=lambda: True))
    table.session.send(intents.Submit("go"))
    question = table.wait(events.QuestionAsked).question
    table.pages.change("memory", [add("by another program")])
    table.session.send(intents.Answer(question.id, "once"))
    table.wait(events.TurnFinished)
    assert table.pages.entries("memory") == ("by another program",)
    assert "changed meanwhile" in table.of(events.ToolFinished)[0].text


def test_with_write_approval_and_nobody_there_the_change_waits(tmp_path):
    opts = MemoryOptions(asks=lambda: True, unattended=True)
    table = Paged(tmp_path, keep(action="add", content="new"), say("ok"), memory=opts, unattended=True)
    assert table.turn("go").outcome == "completed"
    assert table.pages.list() == ()
    assert [pending.title for pending in table.pending.list("memory")] == ["Change MEMORY.md: 1 added"]
    (told,) = table.of(events.Remembered)
    assert (told.pending, told.gone) == (True, ())


def test_what_would_be_taken_out_is_said_while_it_waits(tmp_path):
    opts = MemoryOptions(asks=lambda: True, unattended=True)
    table = Paged(tmp_path, keep(action="remove", old_text="old"), say("ok"), memory=opts, unattended=True)
    table.pages.change("memory", [add("old")])
    table.turn("go")
    (told,) = table.of(events.Remembered)
    assert (told.pending, told.memories, [memory.text for memory in told.gone]) == (True, (), ["old"])
