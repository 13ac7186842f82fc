"""Writes that wait for a person, and that nothing gets into memory beside the door that has a gate."""

from __future__ import annotations

import stat
from dataclasses import replace

import pytest

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import MemoryFailure, ToolFailure
from agent_core.extras.learning import Learner
from agent_core.host import Host, Launch
from agent_core.knowledge import Memory
from agent_core.memory import staging
from agent_core.memory.entries import Entries
from agent_core.memory.markdown import Pages
from agent_core.memory.pending import PendingWrites
from agent_core.services import Seat
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
        first = host.remember("preference: 回答用中文。")
        assert first.kind == "preference"
        assert host.remember("回答用中文。" if engine == "bm25" else "Preference： 回答用中文。") is None
        host.remember("Deploys are tagged.")
        pending = staging.stage(host.pending, Memory("", "fact", "It waits.", origin="distilled", derived=(first.id,)))
        look = host.look_at_memory()
        assert ({memory.text for memory in look.memories}, look.pending, look.total) == (
            {"回答用中文。", "Deploys are tagged."}, (pending,), 2,
        )  # fmt: skip
        assert [memory.text for memory in host.look_at_memory("depl").memories] == ["Deploys are tagged."]
        assert [memory.text for memory in host.look_at_memory("中").memories] == ["回答用中文。"]
        assert host.look_at_memory("nowhere").memories == ()
        done = host.forget(first.id[:6])
        assert (done.memory, done.waiting) == (first, (pending,))
        with pytest.raises(MemoryFailure, match="no memory"):
            host.forget("")
        host.answer_memory(pending.id, True)
        assert "It waits." in {memory.text for memory in host.memory.list()}
    finally:
        host.close()
