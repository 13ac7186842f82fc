"""What a command in the background writes: how much is kept of it, and what of that is told."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.jobs import files as job_files
from agent_core.jobs.relay import Output
from tests.core.job_support import SECRET, Desk

from .test_process import gone

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a relay finds descendants through /proc")


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.jobs.close()


def test_of_a_flood_the_newest_is_kept_and_the_rest_is_counted(desk):
    desk.start("seq 1000000 1400000")
    done = desk.ended("t1")
    assert done.output_bytes == 400_001 * 8
    assert done.newest == "1400000"
    folder = desk.jobs.home / "s1.t1"
    assert (folder / "output").stat().st_size <= limits.TASK_FILE + 100
    assert (folder / "output").stat().st_mode & 0o777 == 0o600
    piece = desk.session.output("t1", 0, 100)
    assert piece.start >= done.output_bytes - limits.TASK_FILE
    line = piece.text.split("\n")[1]
    assert int(line) == 1_000_000 + piece.text.index(line) // 8 + -(-piece.start // 8), (
        "counted from the very beginning"
    )


@pytest.mark.parametrize("letter", ["x", "é", "中", "🙂"])
def test_a_file_that_is_cut_down_keeps_so_many_characters_of_any_size(tmp_path, letter):
    output = Output(os.fsencode(tmp_path / "output"), keep=5000, room=60_000)
    size = len(letter.encode())
    for _ in range(40):
        output.add((letter * 1000).encode())
        kept = job_files.written(tmp_path, 0, 10**6)
        assert len(kept.data) <= 60_000
    assert kept.total == 40_000 * size
    text = kept.data.decode()  # no character is cut
    assert set(text) == {letter}
    assert len(text) >= min(3000, 40_000)


def test_a_disk_that_takes_nothing_costs_the_output_only(tmp_path, monkeypatch):
    output = Output(os.fsencode(tmp_path / "output"), keep=100, room=1000)
    output.add(b"a" * 10)
    write = os.pwrite

    def full(file, data, at):  # what is there already can be written over
        if at:
            raise OSError(28, "No space left on device")
        return write(file, data, at)

    monkeypatch.setattr(os, "pwrite", full)
    output.add(b"b" * 10)
    monkeypatch.undo()
    output.add(b"c" * 10)
    kept = job_files.written(tmp_path, 0, 100)
    assert kept.total == 30
    assert kept.data.endswith(b"c" * 10)


def test_a_disk_that_takes_parts_and_then_nothing_leaves_no_gap_no_descriptor_and_the_right_count(
    tmp_path, monkeypatch
):
    output = Output(os.fsencode(tmp_path / "output"), keep=100, room=1000)
    write, room = os.pwrite, 700

    def nearly_full(file, data, at):
        nonlocal room
        if os.fstat(file).st_size > at:  # what is there already can be written over
            return write(file, data, at)
        taken = min(len(data), 64, room)  # a part at a time, as on a disk that fills up
        if not taken:
            raise OSError(28, "No space left on device")
        room -= taken
        return write(file, bytes(data)[:taken], at)

    monkeypatch.setattr(os, "pwrite", nearly_full)
    output.add(b"a" * 300)
    assert job_files.written(tmp_path, 0, 1000).data == b"a" * 300
    before = len(os.listdir("/proc/self/fd"))
    sent = 300
    for round in range(30):  # many times there is no room for the newer file
        room = 1000 if round % 2 else 10
        output.add(b"b" * 500)
        sent += 500
    monkeypatch.undo()
    assert len(os.listdir("/proc/self/fd")) == before
    output.add(b"c" * 10)
    kept = job_files.written(tmp_path, 0, 5000)
    assert kept.total == sent + 10
    assert set(kept.data) <= set(b"bc"), "never a byte that nobody has written"


def test_keys_and_control_bytes_are_nowhere_in_what_is_told(tmp_path):
    desk = Desk(tmp_path, keys=("plainvaluekey77",))
    desk.start(f"printf 'a\\033[2J\\033]0;t\\007b {SECRET} plainvaluekey77\\nlast {SECRET}\\n'; : {SECRET}; sleep 1")
    desk.written("t1", "last")
    time.sleep(0.6)
    task = desk.ended("t1")
    output = desk.session.output("t1", 0, 1000).text
    record = (desk.jobs.home / "s1.t1/record").read_text()
    for text in (output, task.newest, task.command, record, repr(desk.told)):
        assert SECRET not in text
        assert "plainvaluekey77" not in text
        assert "\033" not in text
    assert output.startswith("ab ")
    desk.jobs.close()


def test_a_key_across_two_pieces_is_not_told_in_halves(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    text = f"begin {SECRET} middle\n-----BEGIN RSA PRIVATE KEY-----\n" + "QUJD" * 300 + "\n" + "REVG" * 300 + "\n"
    text += "-----END RSA PRIVATE KEY-----\nend\n"
    (folder / "output").write_bytes(b"%020d\n" % 0 + text.encode())
    for limit in (5, 16, 50, 333, 5000):
        at, shown = 0, ""
        while True:
            piece, start, after = job_files.piece(folder, at, limit, (), running=False)
            assert start == at
            if after == at:
                break
            shown, at = shown + piece, after
        assert at == len(text.encode())
        assert SECRET not in shown
        assert SECRET[10:30] not in shown
        assert "REVGREVG" not in shown, f"in pieces of {limit}"
        assert "middle" in shown
        assert "end" in shown


def test_a_word_that_still_grows_waits_and_a_prompt_does_not_for_ever(tmp_path, monkeypatch):
    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "output").write_bytes(b"%020d\n" % 0 + "done\nPassword: 中".encode()[:-1])
    text, _, after = job_files.piece(folder, 0, 100, (), running=True)
    assert (text, after) == ("done\nPassword: ", 15)
    monkeypatch.setattr(limits, "TASK_QUIET", -1.0)
    assert job_files.piece(folder, 5, 9, (), running=True)[0] == "Password:"


@pytest.mark.parametrize("content", [b"", b"no number at all\n", b"\xff" * 50, b"%020d\n" % 7])
def test_a_file_that_says_nothing_is_an_empty_output(tmp_path, content):
    (tmp_path / "output").write_bytes(content)
    (tmp_path / "state").write_bytes(content)
    (tmp_path / "record").write_bytes(content)
    assert isinstance(job_files.piece(tmp_path, 0, 100, (), running=False)[0], str)
    assert job_files.read_state(tmp_path).gone is None
    assert job_files.read_record(tmp_path) is None


def test_a_relay_that_is_told_to_end_while_it_starts_the_command_ends_it(tmp_path):
    program = """
        import os, signal, sys
        from agent_core.jobs import relay as job_relay
        from agent_core.jobs import start as job_start
        from pathlib import Path
        plan = job_start._plan(Path(sys.argv[1]), Path("/")) | {
            "argv": [b"/bin/sh", b"-c", b"sleep 7397"], "env": {b"PATH": os.environb[b"PATH"]}}
        job_relay._prepare(plan)
        relay = job_relay.Relay(plan)
        os.kill(os.getpid(), signal.SIGTERM)
        print(relay.start(), flush=True)
        relay.watch()
    """
    argv = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]
    hold, held = os.pipe()  # its program lives on
    child = subprocess.Popen(argv, cwd=Path(__file__).parents[2], stdin=hold, stdout=subprocess.PIPE)
    try:
        assert child.wait(15) == 0
        assert gone("sleep 7397", 1)
    finally:
        child.kill()
        for end in (hold, held):
            os.close(end)
    assert job_files.read_state(tmp_path).wished
