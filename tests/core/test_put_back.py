"""An older state is put in the place of exactly what was seen there, and of nothing else."""

import os
from contextlib import contextmanager

import pytest

from agent_core import limits
from agent_core.checkpoints import put_back
from agent_core.checkpoints.keeper import Options
from agent_core.checkpoints.plan import Chain, fate
from agent_core.checkpoints.records import FOLDER, NOTHING, UNKNOWN, Change, file_state, link_state
from agent_core.safety.paths import PathRules, classify
from tests.core.checkpoint_support import desks


@pytest.fixture
def desk(tmp_path):
    with desks(tmp_path) as make:
        yield make()


PUT = {
    "a file": (file_state(b"old", 0o100644), b"old"),
    "a link": (link_state(b"elsewhere"), b"elsewhere"),
    "nothing": (NOTHING, b""),
    "a folder": (FOLDER, b""),
}


@pytest.mark.parametrize(
    ("what", "meanwhile"), [*((what, "before") for what in PUT), ("a file", "while it is written")]
)
def test_nothing_takes_the_place_of_what_somebody_has_just_written(desk, monkeypatch, what, meanwhile):
    wanted, data = PUT[what]
    rules = PathRules(desk.ws, desk.home, desk.own)
    file = desk.ws / "a.txt"
    file.write_bytes(b"agent")
    present, _ = put_back.look(classify("delete", "a.txt", rules), rules, 1000)
    sibling = put_back.sibling

    @contextmanager
    def saved_meanwhile(*args, **more):
        with sibling(*args, **more) as name:
            file.write_bytes(b"mine")
            yield name

    if meanwhile == "before":
        file.write_bytes(b"mine")
    else:
        monkeypatch.setattr(put_back, "sibling", saved_meanwhile)
    assert not put_back.put(classify("delete", "a.txt", rules), rules, wanted, data, present)
    assert file.read_bytes() == b"mine"


def test_a_pipe_that_has_taken_a_files_place_is_not_waited_for(desk, monkeypatch):
    rules = PathRules(desk.ws, desk.home, desk.own)
    (desk.ws / "a.txt").write_bytes(b"agent")
    beneath = put_back.open_beneath

    def swapped(folder, name, flags):
        (desk.ws / "a.txt").unlink()
        os.mkfifo(desk.ws / "a.txt")
        return beneath(folder, name, flags)

    monkeypatch.setattr(put_back, "open_beneath", swapped)
    assert put_back.look(classify("delete", "a.txt", rules), rules, 1000) == (UNKNOWN, b"")


@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
def test_what_is_put_back_is_on_the_disk_before_it_is_noted_as_done(desk, monkeypatch, many):
    monkeypatch.setattr(limits, "CHECKPOINT_SYNCED", 0 if many else 100)
    with desk.turn("u1") as turn:
        desk.write(turn, "a.txt", b"agent")
    seen, fsync, end = [], os.fsync, desk.kept._records().end_rollback
    monkeypatch.setattr(os, "fsync", lambda file: (seen.append("file"), fsync(file)))
    monkeypatch.setattr(os, "sync", lambda: seen.append("all"))
    monkeypatch.setattr(desk.kept._records(), "end_rollback", lambda *args: (seen.append("noted"), end(*args)))
    assert desk.kept.roll_back("s", "u1").shown == ("a.txt",)
    assert seen == (["all", "noted"] if many else ["file", "noted"])


def test_what_is_too_large_is_named_by_its_reason_and_not_kept(desk):
    desk.options = Options(file=10)
    with desk.turn("u1") as turn:
        (desk.ws / "a.txt").write_bytes(b"more than ten bytes")
        desk.write(turn, "a.txt", b"agent")
    assert desk.plan("u1") == [("a.txt", "leave", "not kept: the file is too big")]
    assert not desk.kept._records().has(file_state(b"more than ten bytes", None).digest)


def test_a_link_that_has_taken_a_folders_place_leads_to_no_file_of_another(desk):
    (desk.ws / "sub").mkdir()
    with desk.turn("u1") as turn:
        desk.write(turn, "sub/a.txt", b"agent")
    (desk.ws / "sub").rename(desk.ws / "moved")
    (desk.ws / "sub").symlink_to("moved")
    ((shown, does, _),) = desk.plan("u1")
    assert does == "leave", shown
    assert desk.kept.roll_back("s", "u1").shown == ()
    assert (desk.ws / "moved/a.txt").read_bytes() == b"agent"


def test_content_that_gave_way_is_not_promised():
    before, after = file_state(b"old", None), file_state(b"new", None)
    chain = Chain(b"/ws/a", (Change(1, 1, b"/ws/a", "tool", before, after, "", 0),))
    assert fate(chain, after, lambda digest: True) == ("restore", "")
    assert fate(chain, after, lambda digest: False) == ("leave", "made_room")
