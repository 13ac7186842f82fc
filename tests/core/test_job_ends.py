"""What becomes of commands in the background when their session or their program ends."""

from __future__ import annotations

import json
import marshal
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.intents import KeepTask
from agent_core.jobs import files as job_files
from agent_core.jobs import relay as job_relay
from agent_core.jobs import start as job_start
from tests.core.job_support import Desk, heard

from .test_process import alive, gone

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a relay finds descendants through /proc")


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.jobs.close()


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


def test_a_program_that_ends_before_it_is_told_of_the_start_leaves_no_command(tmp_path):
    plan = job_start._plan(tmp_path, Path("/")) | {
        "argv": [b"/bin/sh", b"-c", b"sleep 7399"],
        "env": {b"PATH": b"/usr/bin:/bin"},
    }
    os.mkfifo(tmp_path / "control")
    control = os.open(tmp_path / "control", os.O_RDONLY | os.O_NONBLOCK)
    ours = os.open(tmp_path / "control", os.O_WRONLY)
    heard, told = os.pipe()
    with os.fdopen(os.memfd_create("plan", 0), "wb") as data:
        marshal.dump(plan, data, 4)
        data.flush()
        argv = [sys.executable, "-I", job_relay.__file__, str(data.fileno())]
        for end in (heard, ours):  # what the kernel does for a killed program
            os.close(end)
        relay = subprocess.Popen(argv, stdin=control, stdout=told, pass_fds=[data.fileno()])
    for end in (control, told):
        os.close(end)
    assert relay.wait(20) == 0
    assert job_files.read_state(tmp_path).gone
    assert gone("sleep 7399", 5)


PROGRAM = """
    import os, sys, time
    from pathlib import Path
    from agent_core.cancel import CancelScope
    from agent_core.jobs.registry import Jobs
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
