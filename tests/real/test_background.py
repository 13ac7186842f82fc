"""Commands in the background inside the walls of a session, and the program around them. Real kernel, real signals."""

from __future__ import annotations

import codecs
import os
import re
import shutil
import signal
import tempfile
import time
import traceback
from pathlib import Path

import pytest

from agent_core.cancel import CancelScope
from agent_core.confinement import Confinement
from agent_core.jobs import files as job_files
from agent_core.jobs.registry import Jobs
from agent_core.process.command import LocalBackend
from agent_core.process.families import families
from agent_core.process.guard import guard
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox import cgroup, probe, program
from agent_core.sandbox.policy import Box
from agent_core.store import owner
from tests.core.test_process import alive, gone
from tests.fakes.model_server import ModelServer, Reply
from tests.real.program import Program, until
from tests.real.sandbox_run import NOBODY, users

WRITE = Box("workspace-write")
confined = pytest.mark.skipif(not probe.layers().can_confine, reason="this kernel cannot confine commands")
ENV = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


@pytest.fixture(params=users())
def top(request):
    """Folders of one user; what is run with `as_user` runs as that one."""
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="nht-", dir="/tmp")))
    for name in ("ws", "home", "own"):
        (folder / name).mkdir()
    if request.param == "nobody":
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def as_user(top: Path, work) -> None:
    """Run `work` in a child that is the folder's user and ends as a killed program does."""
    for module in ("agent_core.jobs.relay", "agent_core.sandbox.launcher"):
        for compiled in (False, True):
            program._code(module, compiled=compiled)  # nobody may be unable to read where it comes from
    owner.place()
    for encoding in ("ascii", "unicode_escape"):
        codecs.lookup(encoding)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            user = top.stat().st_uid
            if user != os.geteuid():
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            guard.__init__()
            families.__init__()
            cgroup.ground.cache_clear()
            work()
        except BaseException:
            os.write(writer, traceback.format_exc().encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(writer)
    with open(reader, encoding="utf-8") as file:
        said = file.read()
    os.waitpid(child, 0)
    assert not said, said


def task_files(top: Path, task_id: str) -> Path:
    return top / "own/tasks" / f"s1.{task_id}"


def output(top: Path, task_id: str) -> str:
    return job_files.written(task_files(top, task_id), 0, 10_000).data.decode()


def soon(ok, seconds=30.0):
    end = time.monotonic() + seconds
    while not ok():
        assert time.monotonic() < end
        time.sleep(0.05)


SHOW = "echo $TMPDIR; cat /proc/self/cgroup; touch $TMPDIR/t && echo tmp; touch in && echo in"
GO_ON = """
echo up
while [ ! -e stop ]; do
    sleep 0.1
    [ -e go ] && [ ! -e went ] && {
        touch $TMPDIR/later && echo tmp later
        touch in2 && echo in later
        mkdir .mcp.json 2>/dev/null && echo MADE
        touch $OUT/x 2>/dev/null && echo OUT
        : > went
    }
done
exit 0
"""


@confined
def test_a_task_that_is_kept_has_its_own_walls_and_keeps_them_without_the_program(top):
    def work():
        walls = Confinement(top / "ws", top / "home", top / "own", lambda: nothing_more)
        session = Jobs(top / "own/tasks", lambda text: text).of("s1", lambda event: None)
        more = {"box": WRITE, "env": {**ENV, "OUT": str(top)}, "confine": walls.policy, "apart": walls.apart}
        session.start(SHOW, top / "ws", **more)
        session.start(GO_ON, top / "ws", **more)
        session.start("echo up; (env -i setsid sleep 7401 &) ; sleep 7401", top / "ws", **more)
        session.keep("t2", True)
        for task_id in ("t1", "t2", "t3"):
            soon(lambda task_id=task_id: session.output(task_id, 0, 1000).text)
        soon(lambda: session.list()[0].state == "ended")

    as_user(top, work)
    shown = output(top, "t1")
    assert shown.endswith("tmp\nin\n")
    assert not Path(shown.split("\n")[0]).exists(), "the folder of one that has ended"
    assert gone("sleep 7401", 4), "one that is not kept, with what left it"
    if groups := re.findall(r":(?:pids)?:(/\S*/?nanohermtask-\S+)", shown):
        assert groups[0] not in output(top, "t2")

    (top / "ws/go").touch()
    soon((top / "ws/went").exists)
    went = output(top, "t2")
    assert went.split("\n")[1:-1] == ["tmp later", "in later"], "nothing that is kept free was made, nothing outside"
    (top / "ws/stop").touch()
    soon(lambda: job_files.read_state(task_files(top, "t2")).gone)
    state = job_files.read_state(task_files(top, "t2"))
    assert (state.exit_code, state.wished) == (0, False)
    assert not (top / "ws/.mcp.json").exists(), "the name that was kept free"
    assert not task_files(top, "t2").joinpath("control").exists()


@confined
def test_what_was_left_running_and_is_kept_goes_on_without_the_program(top):
    def work():
        walls = Confinement(top / "ws", top / "home", top / "own", lambda: nothing_more)
        session = Jobs(top / "own/tasks", lambda text: text).of("s1", lambda event: None)
        backend = LocalBackend(walls.policy, session.adopt)
        for word in ("kept", "dies"):
            result = backend.execute(
                f"env -i PATH=$PATH setsid sh -c 'while [ ! -e stop ]; do echo {word}; sleep 0.2; done' & echo ok",
                top / "ws", box=WRITE, timeout=20, env=ENV, cancel=CancelScope(),
            )  # fmt: skip
            assert result.stdout.startswith(("ok", word))
        assert [task.origin for task in session.list()] == ["promoted", "promoted"]
        session.keep("t1", True)

    as_user(top, work)
    soon(lambda: job_files.read_state(task_files(top, "t2")).gone, 4)
    before = job_files.written(task_files(top, "t1")).total
    time.sleep(1.0)  # the guard has had its time
    assert job_files.written(task_files(top, "t1")).total > before
    (top / "ws/stop").touch()
    soon(lambda: job_files.read_state(task_files(top, "t1")).gone)


@confined
@pytest.mark.parametrize("argument", ["cat $OWN/tasks/*/output", "ls $OWN/tasks"])
def test_no_confined_command_reads_what_tasks_have_written(tmp_path, argument):
    for name in ("ws", "home", "own"):
        (tmp_path / name).mkdir()
    walls = Confinement(tmp_path / "ws", tmp_path / "home", tmp_path / "own", lambda: nothing_more)
    jobs = Jobs(tmp_path / "own/tasks", lambda text: text)
    session = jobs.of("s1", lambda event: None)
    for command in ("echo secretword", f"echo tried; {argument}"):
        env = {**ENV, "OWN": str(tmp_path / "own")}
        task = session.start(
            command, tmp_path / "ws", box=WRITE, env=env, confine=walls.policy, apart=walls.apart
        )  # fmt: skip
        soon(lambda task=task: next(t for t in session.list() if t.id == task.id).state == "ended")
    assert "tried" in session.output("t2", 0, 1000).text
    assert "secretword" not in session.output("t2", 0, 1000).text
    assert "s1.t1" not in session.output("t2", 0, 1000).text
    jobs.close()
    walls.close()


@confined
def test_walls_that_cannot_be_built_mean_that_nothing_has_run_and_nothing_is_left(tmp_path, monkeypatch):
    for name in ("ws", "home", "own"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    tempfile.tempdir = None
    walls = Confinement(tmp_path / "ws", tmp_path / "home", tmp_path / "own", lambda: nothing_more)
    jobs = Jobs(tmp_path / "own/tasks", lambda text: text)
    session = jobs.of("s1", lambda event: None)
    for cwd in ("missing", "ws"):
        if cwd == "ws":
            (tmp_path / "ws/shut").write_text("no folder")
        where = tmp_path / "ws" / ("missing" if cwd == "missing" else "shut")
        with pytest.raises(OSError):  # noqa: PT011
            session.start("touch ran", where, box=WRITE, env=ENV, confine=walls.policy, apart=walls.apart)
    assert session.list() == ()
    assert not list((tmp_path / "own/tasks").iterdir())
    walls.close()
    tempfile.tempdir = None
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("nanoherm-box-")]


# -- the program --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["answer", "kill"])
def test_a_task_ends_with_the_program_and_its_end_is_told_to_the_model(tmp_path, how):
    home, workspace = tmp_path / "home", tmp_path / "ws"
    home.mkdir()
    workspace.mkdir()
    number = f"74{os.getpid()}"
    told, living = [], []

    def reply(body, count):
        if count == 3:  # before the answer: it is the program's end
            living.extend(alive(f"sleep {number}"))
        told.append(body["messages"][-1]["content"])
        calls = [
            [("task_start", {"command": f"echo up; setsid sleep {number} & sleep {number}"})],
            [("task_start", {"command": "sleep 1; exit 6"})],
            [("run_command", {"command": "sleep 2"})],
        ]
        if count < len(calls):
            return Reply(calls=calls[count])
        return Reply(text="done") if how == "answer" else Reply(calls=[("run_command", {"command": "sleep 60"})])

    with ModelServer(reply) as server:
        flags = () if probe.layers().can_confine else ("--yolo",)
        with Program(home, workspace, server.base_url, "-p", "go", "--mode", "auto", *flags) as program_:
            until(lambda: len(told) > 3)
            assert living
            if how == "kill":
                program_.kill()
            else:
                assert program_.wait().code == 0
        assert gone(f"sleep {number}", 3)
    assert "Task t1 has begun" in told[1]
    assert "up" in told[1]
    assert "Task t2 (sleep 1; exit 6) ended with exit code 6" in told[3]
