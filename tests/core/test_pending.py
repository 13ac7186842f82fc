"""Writes that wait for a person, and that nothing gets into memory beside the door that has a gate."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.errors import MemoryFailure, ToolFailure
from agent_core.extras.learning import Learner
from agent_core.knowledge import Memory
from agent_core.memory import staging, store_file
from agent_core.memory.entries import Entries
from agent_core.memory.markdown import Pages
from agent_core.memory.pending import PendingWrites
from agent_core.session.services import Seat
from agent_core.text import diff
from agent_core.tools.remember import Keeping
from tests.core.test_memory import REFUSED, hide
from tests.core.tool_support import TOOLS, context

CHANGE = diff.build("MEMORY.md", "old\n", "new\n")


@pytest.fixture
def writes(tmp_path):
    return PendingWrites(tmp_path / "own")


def test_what_waits_outlives_the_program_for_its_owner_alone_and_is_told_as_it_was(writes, tmp_path):
    made = writes.add("memory", "Remember 一件事", CHANGE, {"text": "你好", "n": [1]}, "s1")
    again = PendingWrites(tmp_path / "own")
    assert again.list() == (made,)
    assert again.get(made.id[:4].upper()).data == {"text": "你好", "n": [1]}
    (file,) = (tmp_path / "own" / "pending").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_skills_and_memories_are_answered_by_their_own(writes):
    memory, skill = (writes.add(what, what, CHANGE, {}) for what in ("memory", "skill"))
    assert writes.list("skill") == (skill,)
    with pytest.raises(MemoryFailure, match="Nothing waits"):
        writes.reject(memory.id, "skill")
    with pytest.raises(MemoryFailure, match="Nothing waits"):
        writes.get("")
    assert writes.reject(memory.id, "memory") == memory
    assert writes.list() == (skill,)


def test_what_could_not_be_carried_out_waits_on_and_what_was_does_not(writes):
    pending = writes.add("memory", "x", CHANGE, {})

    def fails(staged):
        raise MemoryFailure("memory_unwritable", "no")

    with pytest.raises(MemoryFailure, match="no"):
        writes.approve(pending.id, fails)
    assert writes.list() == (pending,)
    assert writes.approve(pending.id, lambda staged: staged.pending.id) == pending.id
    assert writes.list() == ()


def test_a_file_that_makes_no_sense_hides_no_other_and_there_is_a_bound(writes, tmp_path, monkeypatch):
    kept = writes.add("memory", "x", CHANGE, {})
    folder = tmp_path / "own" / "pending"
    for name, text in (("aaaaaa.json", "["), ("bbbbbb.json", '{"what": "memory"}'), ("note.txt", "mine")):
        (folder / name).write_text(text)
    (folder / "cccccc.json").symlink_to(tmp_path / "elsewhere.json")
    assert writes.list() == (kept,)
    with pytest.raises(MemoryFailure, match="cannot be understood"):
        writes.get("aaaaaa")
    monkeypatch.setattr(limits, "PENDING", 4)
    with pytest.raises(MemoryFailure, match="wait for a person already"):
        writes.add("memory", "y", CHANGE, {})


# -- every way into memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["memory.json", "memories/MEMORY.md", "memories/USER.md", "pending/abcdef.json"])
def test_no_file_tool_writes_what_later_sessions_are_told(tmp_path, file):
    ctx = context(tmp_path, workspace=tmp_path.resolve())  # our home stands inside it
    target = ctx.data_home / file
    target.parent.mkdir(exist_ok=True)
    target.write_text("as it was\n")
    calls = {
        "write_file": {"path": str(target), "content": "sneaked in"},
        "edit_file": {"path": str(target), "old_string": "was", "new_string": "is"},
        "apply_patch": {"patch": f"*** Begin Patch\n*** Update File: {target}\n-as it was\n+x\n*** End Patch"},
    }
    for name, arguments in calls.items():
        with pytest.raises(ToolFailure) as refused:
            TOOLS[name].prepare(arguments, ctx)
        assert refused.value.code == "denied", (name, refused.value.text)
    assert target.read_text() == "as it was\n"


@pytest.mark.parametrize("text", [text for name, text in REFUSED.items() if name != "a document"])
@pytest.mark.parametrize("engine", ["bm25", "markdown"])
def test_what_turns_taught_passes_the_same_gate_in_both_engines(tmp_path, engine, text):
    store = Entries(tmp_path / "memory.json", hide) if engine == "bm25" else Pages(tmp_path / "memories", hide)
    told, waiting = [], PendingWrites(tmp_path)
    keeping = Keeping(store, "/ws", "s1", hide, lambda memory, waits: told.append((memory.text, waits)))
    made = tuple((Memory("", "fact", one, origin="distilled"), True) for one in (text * 3, text, "Use uv."))
    Learner(keeping, None, None, told.append)._keep(None, made, CancelScope())
    assert [memory.text for memory in store.list()] == ["Use uv."]
    assert told == [("Use uv.", False)]
    # With approval all of it waits, and the gate is passed when it is kept.
    asking = replace(keeping, asks=lambda: True, stage=lambda memory: staging.stage(waiting, memory))
    Learner(asking, None, None, told.append)._keep(None, made[1:2], CancelScope())
    (pending,) = waiting.list("memory")
    with pytest.raises(MemoryFailure):
        waiting.approve(pending.id, lambda found: staging.carry_out(store, found.data))
    assert [memory.text for memory in store.list()] == ["Use uv."]


# -- at the desk --------------------------------------------------------------------------------------------------


def desk(tmp_path, config):
    home = tmp_path / "home"
    (home / ".nanohermes").mkdir(parents=True, exist_ok=True)
    (home / ".nanohermes" / "config.yaml").write_text(config)
    return Host(Launch(tmp_path, {"HOME": str(home), "PATH": "/usr/bin:/bin"}, {}, demo=True))


@pytest.mark.parametrize(("engine", "tools"), [("bm25", {"memory_save", "memory_search"}), ("markdown", {"memory"})])
def test_a_person_looks_adds_forgets_and_decides_with_either_engine(tmp_path, engine, tools):
    host = desk(tmp_path, f"memory:\n  engine: {engine}\n")
    try:
        seat = Seat("s1", tmp_path, lambda event: None)
        offered = {tool.name for extra in host._extras(seat) for tool in extra.tools()}
        assert {name for name in offered if name.startswith("memory")} == tools
        first = host.memory_desk.remember("preference: 回答用中文。")
        assert first.kind == "preference"
        assert host.memory_desk.remember("回答用中文。" if engine == "bm25" else "Preference： 回答用中文。") is None
        host.memory_desk.remember("Deploys are tagged.")
        pending = staging.stage(host.pending, Memory("", "fact", "It waits.", origin="distilled", derived=(first.id,)))
        look = host.memory_desk.look()
        assert ({memory.text for memory in look.memories}, look.pending, look.total) == (
            {"回答用中文。", "Deploys are tagged."}, (pending,), 2,
        )  # fmt: skip
        assert [memory.text for memory in host.memory_desk.look("depl").memories] == ["Deploys are tagged."]
        assert [memory.text for memory in host.memory_desk.look("中").memories] == ["回答用中文。"]
        assert host.memory_desk.look("nowhere").memories == ()
        done = host.memory_desk.forget(first.id[:6])
        assert (done.memory, done.waiting) == (first, (pending,))
        with pytest.raises(MemoryFailure, match="no memory"):
            host.memory_desk.forget("")
        host.memory_desk.answer(pending.id, True)
        assert "It waits." in {memory.text for memory in host.memory.list()}
    finally:
        host.close()


STORES = {"bm25": ("memory.json",), "markdown": ("memories/MEMORY.md", "memories/USER.md")}


@pytest.mark.parametrize("engine", STORES)
def test_an_old_copy_that_is_put_back_brings_nothing_in_again_that_was_forgotten(tmp_path, engine):
    host = desk(tmp_path, f"memory:\n  engine: {engine}\n")
    try:
        at, home = host.memory_desk, tmp_path / "home" / ".nanohermes"
        stays = at.remember("preference: Use uv.")
        goes = at.remember("The tests need Redis.")
        copies = {home / name: (home / name).read_bytes() for name in STORES[engine]}
        at.forget(goes.id)
        for file, content in copies.items():
            file.write_bytes(content)
        assert host.memory.list() == (stays,)
        assert host.memory.search("Redis", 5) == ()
        assert (at.look().total, at.look().withheld) == (1, 1)
        with pytest.raises(MemoryFailure, match="no memory"):
            at.forget(goes.id)
        at.remember("preference: Answer briefly.")
        at.remember("Deploys are tagged.")  # with its next change it has left the file
        assert not any("Redis" in file.read_text() for file in copies)
        assert at.look().withheld == 0
        assert "Redis" not in (home / "memory.json.forgotten").read_text()
        assert at.take_back(goes).text == goes.text  # who wants it back has it back, for good
        for file, content in copies.items():
            file.write_bytes(content)
        assert {memory.text for memory in host.memory.list()} == {"Use uv.", "The tests need Redis."}
    finally:
        host.close()


def test_a_program_that_is_killed_while_it_forgets_has_forgotten(tmp_path, monkeypatch):
    pages = Pages(tmp_path / "memories", hide)
    goes, stays = (pages.add(Memory("", "fact", text)) for text in ("The tests need Redis.", "Deploys are tagged."))
    save = store_file.save

    def killed(path, text):
        if path.name == "MEMORY.md":
            raise KeyboardInterrupt
        save(path, text)

    monkeypatch.setattr(store_file, "save", killed)
    with pytest.raises(KeyboardInterrupt):
        pages.forget(goes.id)
    assert Pages(tmp_path / "memories", hide).list() == (stays,)


def test_two_programs_that_forget_at_the_same_time_forget_both(tmp_path):
    texts = [f"n{number}" for number in range(25)]
    kinds = ("fact", "preference")
    first = Pages(tmp_path / "memories", hide)
    ids = {kind: [first.add(Memory("", kind, text)).id for text in texts] for kind in kinds}
    copies = {file: file.read_bytes() for file in (tmp_path / "memories").glob("*.md")}

    def forget(kind):
        for one in ids[kind]:
            Pages(tmp_path / "memories", hide).forget(one)

    with ThreadPoolExecutor() as programs:
        list(programs.map(forget, kinds))
    for file, content in copies.items():
        file.write_bytes(content)
    assert first.list() == ()


@pytest.mark.parametrize("content", ["[]", "{", "[" * 100_000])
def test_a_list_of_forgotten_ones_that_cannot_be_understood_is_named_not_passed_over(tmp_path, content):
    store = Entries(tmp_path / "memory.json", hide)
    store.add(Memory("", "fact", "Use uv."))
    store_file.save(tmp_path / "memory.json.forgotten", content)
    for attempt in (store.list, lambda: store.add(Memory("", "fact", "x")), lambda: store.search("uv", 5)):
        with pytest.raises(MemoryFailure, match=r"memory\.json\.forgotten is no JSON object"):
            attempt()


@pytest.mark.parametrize("engine", STORES)
def test_what_a_person_does_with_memories_is_on_record_without_their_texts(tmp_path, engine):
    host = desk(tmp_path, f"memory:\n  engine: {engine}\n")
    try:
        at = host.memory_desk
        kept = at.remember("preference: Say ZEBRA.")
        at.remember("preference: Say ZEBRA.")  # known already: nothing happens
        mended = at.edit(kept.id, "Say ZEBRA twice.")
        at.forget(mended.id)
        at.take_back(mended)
        rows = [entry.decided for entry in host.decisions()]
        assert [row.what for row in reversed(rows)] == [
            f"Remember a preference: {kept.id}",
            f"Mend a memory: {kept.id}",
            f"Forget a memory: {mended.id}",
            f"Remember again: {mended.id}",
        ]
        assert {(row.kind, row.verdict, row.by) for row in rows} == {("keep", "allow", "person")}
        assert "ZEBRA" not in repr(rows)
    finally:
        host.close()


def test_what_was_made_from_a_forgotten_memory_is_named_over_all_steps_and_may_go_too(tmp_path):
    host = desk(tmp_path, "")
    try:
        at = host.memory_desk
        root = at.remember("The tests need Redis.")
        leaf = host.memory.add(Memory("", "lesson", "Start Redis first.", origin="distilled", derived=(root.id,)))
        tip = host.memory.add(Memory("", "lesson", "make redis starts it.", origin="distilled", derived=(leaf.id,)))
        other = at.remember("Deploys are tagged.")
        waits = staging.stage(host.pending, Memory("", "fact", "Redis 7.", origin="distilled", derived=(tip.id,)))
        done = at.forget(root.id)
        assert (done.built_on_it, done.waiting) == ((leaf, tip), (waits,))
        host.memory.forget(tip.id)  # meanwhile
        assert at.forget_made_from(done) == (leaf,)
        assert (host.memory.list(), host.pending.list()) == ((other,), ())
    finally:
        host.close()
