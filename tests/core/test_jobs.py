"""Commands in the background: they begin, run on, end, and are so many."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time

import pytest

from agent_core import events, limits
from agent_core.errors import ToolFailure
from agent_core.jobs import files as job_files
from tests.core.job_support import Desk, heard

from .test_process import alive, gone

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a relay finds descendants through /proc")


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.jobs.close()


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


def test_a_look_that_fails_in_one_session_keeps_no_other_from_seeing_an_end(desk, monkeypatch):
    over = threading.Event()
    other = desk.jobs.of("s2", lambda event: None)
    monkeypatch.setattr(other, "look", lambda: {}["unforeseen"])
    desk.start(f"sleep {limits.TASK_LOOK * 2}", over.set)
    assert over.wait(15)


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
