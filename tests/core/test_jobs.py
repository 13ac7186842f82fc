"""Commands in the background: real relays, real processes, and what is left of them."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import events, job_files, limits
from agent_core.errors import Interrupted, ToolFailure
from agent_core.intents import KeepTask, KillTask
from agent_core.job_relay import Output
from agent_core.jobs import Jobs, Runner
from agent_core.process.command import LocalBackend
from agent_core.safety.redact import redact
from agent_core.sandbox.env import child_env
from agent_core.sandbox.policy import UNCONFINED

from .test_process import alive, gone
from .tool_support import call, context, later, prepare

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a relay finds descendants through /proc")

ENV = child_env(os.environ)
SECRET = "sk-live-0123456789abcdefghijABCDEFGHIJ"


def heard(session) -> str:
    """What the model is told of what has ended."""
    with session.news() as news:
        return news


class Desk:
    """One session's tasks, and what was told of them."""

    def __init__(self, home: Path, keys=()):
        self.told: list = []
        self.jobs = Jobs(home / "tasks", lambda text: redact(text, keys), lambda: keys)
        self.session = self.jobs.of("s1", self.told.append)
        self.cwd = home

    def start(self, command, ended=lambda: None):
        return self.session.start(command, self.cwd, box=UNCONFINED, env=ENV, confine=lambda box: None, ended=ended)

    def until(self, task_id, ok, seconds=15):
        deadline = time.monotonic() + seconds
        while not ok(task := next(task for task in self.session.list() if task.id == task_id)):
            assert time.monotonic() < deadline, task
            time.sleep(0.03)
        return task

    def ended(self, task_id):
        return self.until(task_id, lambda task: task.state != "running")

    def written(self, task_id, text):
        deadline = time.monotonic() + 15
        while text not in (got := self.session.output(task_id, 0, 4000).text):
            assert time.monotonic() < deadline, got
            time.sleep(0.03)


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.jobs.close()


@pytest.fixture
def ctx(tmp_path, desk):
    runner = Runner(desk.session, lambda box: None, None)
    return context(tmp_path, tasks=runner, backend=LocalBackend(adopt=desk.session.adopt))


# -- one task -----------------------------------------------------------------------------------------------------


def test_a_command_runs_on_and_its_end_is_known(desk):
    begun = time.monotonic()
    calls = []
    task = desk.start("echo out; echo err >&2; sleep 0.5; exit 3", lambda: calls.append("ended"))
    assert time.monotonic() - begun < 5
    assert (task.id, task.state, task.command[:8], task.cwd, task.box) == (
        "t1", "running", "echo out", str(desk.cwd), "no sandbox"
    )  # fmt: skip
    assert calls == []
    done = desk.ended("t1")
    assert (done.state, done.exit_code, done.signal, done.output_bytes, done.newest) == ("ended", 3, None, 8, "err")
    assert done.ended >= done.started
    assert desk.session.output("t1", 0, 100).text == "out\nerr\n"
    assert calls == ["ended"]


@pytest.mark.parametrize("command", ["kill -SEGV $$", "exec kill -KILL $$"])
def test_a_signal_is_no_exit_code(desk, command):
    desk.start(f"exec 2>/dev/null; {command}")
    done = desk.ended("t1")
    assert done.exit_code is None
    assert done.signal in (signal.SIGSEGV, signal.SIGKILL)


def test_output_is_read_piece_by_piece(desk):
    desk.start("printf 'one\\n'; sleep 0.4; printf 'two\\n'; sleep 30")
    desk.written("t1", "one")
    first = desk.session.output("t1", 0, 100)
    assert (first.text, first.start) == ("one\n", 0)
    desk.written("t1", "two")
    second = desk.session.output("t1", first.next, 100)
    assert (second.text, second.start, second.next) == ("two\n", 4, 8)
    assert desk.session.output("t1", second.next, 100).text == ""


def test_it_has_no_input_and_no_terminal_and_a_session_of_its_own(desk):
    desk.start("cat; tty; ps -o sid= -p $$ | tr -d ' '; echo pid $$; ls /proc/$$/fd | wc -l")
    desk.ended("t1")
    lines = desk.session.output("t1", 0, 400).text.split("\n")
    assert lines[0] == "not a tty"
    assert lines[2] == f"pid {lines[1]}"


def test_it_goes_on_while_what_it_started_does(desk):
    desk.start("(setsid sh -c 'sleep 1; echo late' &) ; exit 4")
    task = desk.until("t1", lambda task: task.exit_code == 4)
    assert task.state == "running"
    assert desk.ended("t1").exit_code == 4
    assert "late" in desk.session.output("t1", 0, 100).text


@pytest.mark.parametrize(
    "command",
    [
        "sleep 7301",
        "trap '' TERM HUP INT; while :; do sleep 7302; done",
        "(setsid sleep 7303 &) ; (env -i setsid sh -c 'sleep 7303; :' &) ; sleep 7303",
    ],
    ids=["plain", "deaf", "scattered"],
)
def test_an_end_that_is_wished_leaves_nothing(desk, command, monkeypatch):
    monkeypatch.setattr(limits, "TASK_GRACE", 0.3)
    desk.start(f"echo up; {command}")
    desk.written("t1", "up")
    pattern = "sleep 730"
    assert alive(pattern)
    killed = desk.session.kill("t1")
    assert killed.state == "killed"
    assert gone(pattern, 2)
    assert desk.session.kill("t1").state == "killed"


def test_a_relay_that_was_killed_leaves_a_lost_task_and_no_process(desk):
    ours = f"sleep 7311.{os.getpid()}"  # seconds that nobody else sleeps
    desk.start(f"echo up; (setsid {ours} &) ; {ours}")
    desk.written("t1", "up")
    relay = job_files.read_state(desk.jobs.home / "s1.t1").relay_pid
    os.kill(relay, signal.SIGKILL)
    assert desk.ended("t1").state == "lost"
    assert gone(ours, 3)


@pytest.mark.parametrize("cwd", ["missing", "file"])
def test_what_cannot_be_started_is_an_error_and_no_task(desk, cwd):
    (desk.cwd / "file").touch()
    desk.cwd /= cwd
    with pytest.raises((FileNotFoundError, NotADirectoryError)):
        desk.start("true")
    assert desk.session.list() == ()
    assert list(desk.jobs.home.iterdir()) == []


def test_no_descriptor_of_ours_is_passed_on_and_none_pile_up(desk):
    desk.start("ls /proc/self/fd | wc -w")
    desk.ended("t1")
    assert desk.session.output("t1", 0, 10).text == "4\n"  # three, and the folder it looks at
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        task = desk.start("true")
        desk.ended(task.id)
    assert len(os.listdir("/proc/self/fd")) <= before


# -- bounds -------------------------------------------------------------------------------------------------------


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


def test_there_are_so_many_and_no_more_and_ended_ones_make_room(desk, monkeypatch):
    monkeypatch.setattr(limits, "TASKS", 3)
    for _ in range(2):
        desk.ended(desk.start("true").id)
    desk.start("sleep 7321")
    assert [task.id for task in desk.session.list()] == ["t1", "t2", "t3"]
    desk.start("sleep 7321")
    desk.start("sleep 7321")
    assert [task.id for task in desk.session.list()] == ["t3", "t4", "t5"]
    with pytest.raises(ToolFailure, match="task_kill first") as refused:
        desk.start("sleep 7321")
    assert refused.value.code == "too_many_tasks"
    assert not (desk.jobs.home / "s1.t1").exists()


def test_ended_ones_go_after_a_while(desk, monkeypatch):
    desk.start("true")
    desk.ended("t1")
    heard(desk.session)
    monkeypatch.setattr(limits, "TASK_KEPT", 0.0)
    assert desk.session.list() == ()
    assert list(desk.jobs.home.iterdir()) == []


def test_an_end_that_the_model_has_not_heard_of_waits_for_it_without_what_was_written(tmp_path, desk, monkeypatch):
    desk.start("echo secret words; exit 5")
    desk.ended("t1")
    monkeypatch.setattr(limits, "TASK_KEPT", 0.0)
    assert [task.id for task in desk.session.list()] == ["t1"]
    assert "secret words" not in desk.session.output("t1", 0, 100).text
    other = Desk(tmp_path)  # the next day
    other.jobs.of("s2", print).find()
    other.session.find()
    assert "ended with exit code 5" in (told := heard(other.session))
    assert "task_output" not in told
    assert other.session.list() == ()
    assert list(desk.jobs.home.iterdir()) == []
    other.jobs.close()


def test_many_started_at_once_have_names_of_their_own(desk):
    threads = [threading.Thread(target=desk.start, args=("sleep 0.2",)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(task.id for task in desk.session.list()) == ["t1", "t2", "t3", "t4", "t5", "t6"]


def test_two_programs_with_one_session_give_no_name_twice(tmp_path, desk):
    other = Desk(tmp_path)
    names = [there.start("true").id for there in (desk, other, desk, desk, other)]
    assert len(set(names)) == 5


# -- what may be seen ---------------------------------------------------------------------------------------------


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
        from agent_core import job_relay, job_start
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


# -- who is told --------------------------------------------------------------------------------------------------


def test_a_person_and_the_model_hear_of_an_end_once(desk):
    desk.start("sleep 1; exit 7")
    deadline = time.monotonic() + 10
    while not (notices := [event for event in desk.told if isinstance(event, events.Notice)]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (notices[0].code, notices[0].params["n"], notices[0].level) == ("task_failed", 7, "warning")
    assert isinstance(desk.told[-1], events.TasksChanged) or isinstance(desk.told[-2], events.TasksChanged)
    assert "Task t1 (sleep 1; exit 7) ended with exit code 7" in heard(desk.session)
    assert heard(desk.session) == ""


def test_an_end_that_could_not_be_told_is_told_later_and_by_the_next_program_too(tmp_path, desk):
    desk.start("exit 5")
    desk.ended("t1")
    with pytest.raises(OSError, match="disk full"), desk.session.news():
        raise OSError("disk full")
    other = Desk(tmp_path)
    other.session.find()
    assert "ended with exit code 5" in heard(other.session)
    assert "ended with exit code 5" in heard(desk.session)
    other.jobs.close()


def test_an_end_that_came_after_the_model_was_told_how_it_is_is_still_news(desk):
    runs = desk.start("sleep 0.3; exit 5")
    desk.ended("t1")
    desk.session.saw_end(runs)
    assert "ended with exit code 5" in heard(desk.session)


def test_an_end_that_a_tool_has_told_is_no_news_but_for_a_program_that_comes_before_that_is_stored(tmp_path, desk, ctx):
    desk.start("exit 5")
    desk.ended("t1")
    assert "ended with exit code 5" in call(ctx, "task_list").text
    killed = Desk(tmp_path)  # who opens the session after ours was killed right here
    killed.session.find()
    with killed.session.news() as news:
        assert "ended with exit code 5" in news
        assert heard(desk.session) == ""
    again = Desk(tmp_path)
    again.session.find()
    assert heard(again.session) == ""


def test_an_end_that_had_no_room_in_the_list_is_still_news(desk, ctx):
    for _ in range(2):
        desk.start("exit 5")
    for name in ("t1", "t2"):
        desk.ended(name)
    room = replace(ctx.bounds, most=limits.NOTE_BYTES + 100)
    listed = call(replace(ctx, bounds=room), "task_list").text
    assert "Task t2" in listed
    assert "Task t1" not in listed
    assert heard(desk.session).startswith("[Task t1 ")


def test_growing_output_is_told_now_and_then_only(desk):
    desk.start("for i in $(seq 60); do echo $i; sleep 0.03; done")
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        desk.session.list()
        time.sleep(0.01)
    assert len(desk.told) <= 7


def test_what_a_person_has_ended_is_no_news_to_them(desk):
    desk.start("sleep 7331")
    desk.session.obey(KillTask("t1"))
    desk.until("t1", lambda task: task.state == "killed")
    assert not [event for event in desk.told if isinstance(event, events.Notice)]
    assert "Task t1 (sleep 7331) was ended" in heard(desk.session), "and to the model it is"
    desk.session.obey(KillTask("t9"))
    deadline = time.monotonic() + 5
    while not (notices := [event for event in desk.told if isinstance(event, events.Notice)]):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert notices[0].code == "no_task"


# -- the tools ----------------------------------------------------------------------------------------------------


def test_a_command_that_cannot_work_says_so_at_once(ctx):
    result = call(ctx, "task_start", command="nosuchprogram")
    assert (result.ok, result.outcome) == (False, "exit 127")
    assert "command not found" in result.text
    assert "nosuchprogram: not found" in result.text


def test_what_is_new_is_read_and_waited_for(ctx):
    begun = call(ctx, "task_start", command="echo first; sleep 1.2; echo second; sleep 30")
    assert begun.outcome == "running"
    assert "Task t1 has begun" in begun.text
    assert begun.text.endswith("first")
    assert "(no new output)" in call(ctx, "task_output", task="t1").text
    waited = call(ctx, "task_output", task="t1", wait=20)
    assert waited.text.endswith("\nsecond")
    again = call(ctx, "task_output", task="t1", since=0)
    assert again.text.endswith("\nfirst\nsecond")
    listed = call(ctx, "task_list").text
    assert "Task t1 (echo first" in listed
    assert "newest: second" in listed
    assert call(ctx, "task_kill", task="t1").outcome == "killed"


def test_of_much_that_is_new_the_newest_is_given_and_the_rest_can_be_read(ctx, desk):
    call(ctx, "task_start", command="seq 1 30000")
    desk.ended("t1")
    ctx.tasks.read_to["t1"] = 0
    newest = call(ctx, "task_output", task="t1")
    assert len(newest.text.encode()) <= limits.TOOL_RESULT
    assert newest.text.endswith("\n30000")
    assert "bytes of output left out before this" in newest.text
    from_the_start = call(ctx, "task_output", task="t1", since=0)
    assert "\n1\n2\n3\n" in from_the_start.text
    assert "[more: since=" in from_the_start.text


def test_a_wait_ends_with_the_turn(ctx):
    call(ctx, "task_start", command="sleep 7341")
    later(0.3, ctx.cancel.cancel)
    begun = time.monotonic()
    with pytest.raises(Interrupted):
        call(ctx, "task_output", task="t1", wait=60)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("tool", ["task_output", "task_kill"])
def test_a_task_that_is_not_there_is_named_with_those_that_are(ctx, tool):
    call(ctx, "task_start", command="true")
    with pytest.raises(ToolFailure, match="There are: t1"):
        call(ctx, tool, task="x\x1b[2J")


def test_more_time_than_there_is_makes_a_task(ctx):
    result = call(ctx, "run_command", command="echo up; sleep 7351", timeout=900)
    assert "[run_command waits 600 s at most and 900 were asked for" in result.text
    assert "Task t1 has begun" in result.text
    assert prepare(ctx, "run_command", command="true", timeout=600).run(UNCONFINED).outcome == "exit 0"


@pytest.mark.parametrize(
    "command", ["sleep 7361 & echo ok", "nohup sh -c 'sleep 7361' & echo ok", "setsid sleep 7361 & echo ok"]
)
def test_what_a_command_leaves_running_is_a_task(ctx, desk, command):
    begun = time.monotonic()
    result = call(ctx, "run_command", command=command)
    assert time.monotonic() - begun < 15
    assert result.text.split("\n")[1] == "ok"
    assert "as task t1 now" in result.text
    (task,) = desk.session.list()
    assert (task.state, task.origin) == ("running", "promoted")
    assert alive("sleep 7361")
    desk.jobs.let_go("s1")
    assert gone("sleep 7361", 3)


def test_what_was_left_running_is_read_on(ctx, desk):
    call(ctx, "run_command", command="(sleep 1; echo after; sleep 7371) & echo ok")
    desk.written("t1", "after")
    assert call(ctx, "task_kill", task="t1").outcome == "killed"
    assert gone("sleep 7371", 2)


# -- the end of a session and of the program ------------------------------------------------------------------------


def test_a_deleted_session_takes_its_tasks_along_those_that_are_kept_too(desk):
    for _ in range(2):
        desk.start("sleep 7381")
    desk.session.keep("t2", True)
    desk.jobs.delete("s1")
    assert gone("sleep 7381", 20)
    deadline = time.monotonic() + 20
    while list(desk.jobs.home.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


PROGRAM = """
    import os, sys, time
    from pathlib import Path
    from agent_core.cancel import CancelScope
    from agent_core.jobs import Jobs
    from agent_core.process.command import LocalBackend
    from agent_core.sandbox.policy import UNCONFINED
    home, number = Path(sys.argv[1]), sys.argv[2]
    tasks = Jobs(home / "tasks", lambda text: text)
    session = tasks.of("s1", lambda event: None)
    env = dict(os.environ)
    for word in ("dies", "kept"):
        session.start(f"echo {word}; (setsid sleep {number} &) ; sleep {number}", home, box=UNCONFINED, env=env,
                      confine=lambda box: None)
    for word in ("dies", "kept"):
        LocalBackend(adopt=session.adopt).execute(f"setsid sh -c 'echo {word}; sleep {number}; :' & echo ok", home,
            box=UNCONFINED, timeout=20, env=env, cancel=CancelScope())
    session.keep("t2", True)
    session.keep("t4", True)
    time.sleep(0.3)
    (home / "up").touch()
    if sys.argv[3] == "close":
        tasks.close()
        from agent_core.process import families
        families.kill_all()
    else:
        time.sleep(60)
"""


@pytest.mark.parametrize("how", ["kill", "close"])
def test_only_what_a_person_keeps_outlives_the_program_and_the_next_one_finds_it(tmp_path, how):
    number = {"kill": "7391", "close": "7392"}[how]
    root = str(Path(__file__).parents[2])
    argv = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path), number, how]
    child = subprocess.Popen(argv, cwd=root)
    deadline = time.monotonic() + 30
    while not (tmp_path / "up").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert len(alive(f"sleep {number}")) >= 5
    if how == "kill":
        child.kill()
    child.wait(10)
    deadline = time.monotonic() + 4
    names = {"s1.t1", "s1.t3"}
    while names:
        assert time.monotonic() < deadline, names
        names = {name for name in names if job_files.read_state(tmp_path / "tasks" / name).gone is None}
        time.sleep(0.05)
    left = len(alive(f"sleep {number}"))
    assert left >= 3, "the shells of both kept ones, and what they run"

    desk = Desk(tmp_path)
    desk.session.find()
    tasks = {task.id: task for task in desk.session.list()}
    assert {name: task.state for name, task in tasks.items()} == {
        "t1": "closed", "t2": "running", "t3": "closed", "t4": "running"
    }  # fmt: skip
    told = heard(desk.session).splitlines()
    assert [line.split()[1] for line in told] == ["t1", "t3"]
    assert all("together with the program" in line for line in told)
    again = Desk(tmp_path)
    again.session.find()
    assert heard(again.session) == "", "said once, whoever opens the session"
    again.jobs.close()
    assert tasks["t2"].kept
    assert tasks["t4"].origin == "promoted"
    assert "kept" in desk.session.output("t2", 0, 100).text
    assert len(alive(f"sleep {number}")) == left, "nothing was run anew"
    assert desk.session.kill("t4").state == "killed"
    desk.session.obey(KeepTask("t2", False))
    desk.until("t2", lambda task: not task.kept)
    desk.jobs.close()
    assert gone(f"sleep {number}", 4)


def test_what_nobody_can_want_any_more_goes_with_the_next_session_whosever_it_is(tmp_path, desk, monkeypatch):
    desk.start("true")
    desk.ended("t1")
    heard(desk.session)
    desk.start("sleep 7396")
    desk.session.keep("t2", True)
    desk.until("t2", lambda task: task.kept)
    (desk.jobs.home / "s3.t1").mkdir()  # its program was killed before the record was there
    (desk.jobs.home / "notes").mkdir()
    desk.jobs.of("s3", print).find()
    soon = len(list(desk.jobs.home.iterdir()))
    monkeypatch.setattr(limits, "TASK_KEPT", 0.0)
    desk.jobs.of("s4", print).find()
    left = {entry.name for entry in desk.jobs.home.iterdir()}
    desk.session.kill("t2")
    assert soon == 4, "it has only just come about"
    assert left == {"s1.t2", "notes"}


def test_what_outlived_its_program_and_its_relay_is_ended_when_the_session_is_opened(tmp_path, desk):
    desk.start("echo up; (setsid sleep 7395 &) ; sleep 7395")
    desk.written("t1", "up")
    relay = desk.session._all["t1"].relay
    desk.session._closed = True  # as a program that is killed at the same moment: it looks at nothing any more
    relay.kill()
    relay.wait()
    assert alive("sleep 7395")
    other = Desk(tmp_path)
    other.session.find()
    assert [task.state for task in other.session.list()] == ["lost"]
    assert gone("sleep 7395", 3)


def test_a_task_that_begins_while_the_watcher_is_about_to_leave_is_watched(desk):
    other = desk.jobs.of("s2", print)
    commands = iter(["sleep 1; exit 7"])
    other.look = lambda: [desk.start(command) for command in commands] and False  # behind the look at the first session
    desk.jobs.watch()
    deadline = time.monotonic() + 10
    while not any(isinstance(event, events.Notice) for event in desk.told):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_with_very_many_open_files_a_task_begins_all_the_same(desk):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1200:
        pytest.skip("no more than 1,024 files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (1200, hard))
    held = [os.dup(0) for _ in range(1060 - len(os.listdir("/proc/self/fd")))]
    try:
        desk.start("true")
        assert desk.ended("t1").exit_code == 0
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_another_process_with_the_relays_number_is_not_taken_for_it(tmp_path, desk):
    desk.start("sleep 7393")
    desk.session.keep("t1", True)
    desk.until("t1", lambda task: task.kept)
    state = desk.jobs.home / "s1.t1/state"
    words = state.read_text().splitlines()
    relay = words[0].split(" ")
    desk.session.kill("t1")
    state.write_text("\n".join([f"relay {os.getpid()} 1 {relay[3]}", *words[1:]]) + "\n")
    other = Desk(tmp_path)
    other.session.find()
    (task,) = other.session.list()
    assert task.state == "lost"
    other.jobs.delete("s1")
    os.kill(os.getpid(), 0)


def test_a_record_is_on_the_disk_before_anything_runs(desk):
    desk.start(f"cat {desk.jobs.home}/s1.t1/record {desk.jobs.home}/s1.t1/state")
    desk.ended("t1")
    text = desk.session.output("t1", 0, 4000).text
    record = json.loads(text.partition("}")[0] + "}")
    assert (record["id"], record["session_id"], record["box"]) == ("t1", "s1", "no sandbox")
    assert text.partition("}")[2].startswith("relay ")
