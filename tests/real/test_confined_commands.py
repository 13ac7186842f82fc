"""Commands inside the walls of a session: real kernel, real processes, and the whole way from a call to its result."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import events, intents
from agent_core.cancel import CancelScope
from agent_core.confinement import Confinement, Options
from agent_core.errors import SandboxError
from agent_core.intents import Answer
from agent_core.ports.commands import ExecResult
from agent_core.process import running
from agent_core.process.command import LocalBackend, run_program
from agent_core.process.families import Family
from agent_core.process.spawner import spawn
from agent_core.process.walls import CommandWalls
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox import cgroup, probe
from agent_core.sandbox.env import child_env
from agent_core.sandbox.policy import Box
from agent_core.session.services import Containment, Walls
from tests.core.session_support import Table, call, say
from tests.core.test_process import alive, gone
from tests.corpus import sandbox
from tests.e2e.screen import SLACK
from tests.fakes.model_server import ModelServer, Reply
from tests.real import program

WRITE = Box("workspace-write")
ENV = child_env(os.environ)
ROWS = Path(__file__).parents[1] / "data/corpora/security/sandbox_own.jsonl"

pytestmark = pytest.mark.skipif(not probe.layers().can_confine, reason="this kernel cannot confine commands")
mount_view = pytest.mark.skipif(not probe.layers().mount_view, reason="there is no mount view here")


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "ws").mkdir()
    return tmp_path / "ws"


@pytest.fixture
def walls(workspace):
    home = workspace.parent / "home"
    made = Confinement(workspace, home, home / ".nanohermes", lambda: nothing_more, Options())
    yield made
    made.close()


def run(walls: Confinement, command: str, workspace: Path, box: Box = WRITE, timeout: float = 20) -> ExecResult:
    return LocalBackend(walls.policy).execute(
        command, workspace, box=box, timeout=timeout, env=ENV, cancel=CancelScope()
    )


# -- places: the rows of our own ----------------------------------------------------------------------------------

PLACES = [row for line in ROWS.read_text().splitlines() if (row := json.loads(line))["id"].startswith(
    ("own-kept", "own-git", "own-hidden", "own-free"))]  # fmt: skip


@pytest.fixture(scope="module")
def check():
    with sandbox.opened(ROWS, as_root=False) as check:
        yield check


@mount_view
@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
@pytest.mark.parametrize("row", PLACES, ids=lambda row: row["id"])
def test_places_are_kept_and_hidden(check, row):
    assert check(row) == ""


@mount_view
def test_nothing_is_left_in_the_workspace_of_what_had_to_be_kept_free(walls, workspace):
    result = run(walls, "ls -A; sleep 0.1", workspace)
    assert ".vscode" in result.stdout  # its name is taken while a command runs
    assert list(workspace.iterdir()) == []


# -- root in somebody else's folder -------------------------------------------------------------------------------

SOMEBODY = 12345


@pytest.fixture
def foreign(workspace):
    if os.geteuid() != 0:
        pytest.skip("only root works in folders of others")
    (workspace / "theirs").write_text("a")
    (workspace / "theirs").chmod(0o600)
    for path in (workspace / "theirs", workspace):
        os.chown(path, SOMEBODY, SOMEBODY)
    return workspace


@mount_view
def test_root_works_in_a_folder_that_is_another_users(walls, foreign):
    # In a user namespace root is root over its own files alone; there it stays like anybody else.
    result = run(walls, "echo b >> theirs && chmod 640 theirs && chown 7:7 theirs && echo c > new", foreign)
    assert (result.exit_code == 0) == (probe.layers().view_by == "root"), result.stderr
    if result.exit_code == 0:
        status = (foreign / "theirs").stat()
        assert (status.st_uid, status.st_mode & 0o777) == (7, 0o640)


@mount_view
def test_what_root_keeps_there_opens_nothing_outside(walls, foreign):
    outside = foreign.parent / "outside"
    outside.write_text("a")
    os.chown(outside, SOMEBODY, SOMEBODY)
    before = _kept_of(outside)
    for command in (
        f"echo b >> {outside}", f"chmod 666 {outside}", f"chown 0 {outside}", f"touch {outside}", f"rm {outside}",
        "cat /proc/$PPID/environ", "cat /proc/1/environ", "kill -0 $PPID", "unshare -m true", "mknod d c 1 3",
        "mkdir .envrc; echo x > .envrc/x", "umount .envrc", f"ln {outside} here",
    ):  # fmt: skip
        assert run(walls, command, foreign).exit_code != 0, command
    assert (outside.read_text(), _kept_of(outside)) == ("a", before)


def _kept_of(path):
    status = path.stat()
    return status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, status.st_nlink


@mount_view
def test_what_is_hidden_stays_so_for_root_in_another_users_folder(foreign):
    (foreign / ".env").write_text("KEY=1")
    os.chown(foreign / ".env", SOMEBODY, SOMEBODY)
    (foreign / "home/.ssh").mkdir(parents=True)
    (foreign / "home/.ssh/id_rsa").write_text("key")
    home = foreign / "home"
    walls = Confinement(foreign, home, home / ".nanohermes", lambda: nothing_more, Options())
    try:
        for name in (".env", "home/.ssh/id_rsa"):
            for box in (WRITE, Box("read-only")):
                assert "KEY" not in run(walls, f"cat {name}", foreign, box).stdout
                assert run(walls, f"grep -q . {name}", foreign, box).exit_code != 0
    finally:
        walls.close()


@mount_view
def test_root_in_a_folder_of_its_own_has_no_capabilities(walls, workspace):
    assert "CapEff:\t0000000000000000" in run(walls, "grep Cap /proc/self/status", workspace).stdout


# -- refusals -----------------------------------------------------------------------------------------------------


def test_a_wall_that_cannot_be_built_means_that_nothing_has_run(walls, workspace):
    broken = replace(walls.policy(WRITE), cgroups=())
    broken = replace(broken, tmp=workspace.parent / "not there")
    with pytest.raises(SandboxError):
        run_program(("/bin/sh", "-c", "touch ran"), workspace, env=ENV, timeout=5, cancel=CancelScope(), sandbox=broken)
    assert not (workspace / "ran").exists()


def test_a_group_that_is_gone_means_that_nothing_has_run(walls, workspace):
    broken = replace(walls.policy(WRITE), cgroups=(Path("/sys/fs/cgroup/nanoherm-missing"),))
    with pytest.raises(SandboxError, match="control group"):
        run_program(("/bin/sh", "-c", "touch ran"), workspace, env=ENV, timeout=5, cancel=CancelScope(), sandbox=broken)
    assert not (workspace / "ran").exists()


def test_a_program_that_is_not_there_is_no_fault_of_the_walls(walls, workspace):
    policy = walls.policy(WRITE)
    with pytest.raises(FileNotFoundError):
        run_program(("/no/such",), workspace, env=ENV, timeout=5, cancel=CancelScope(), sandbox=policy)


def test_a_commands_own_126_is_no_refusal(walls, workspace):
    (workspace / "plain").write_text("x")
    assert run(walls, "./plain", workspace).exit_code == 126
    assert run(walls, "exit 126", workspace).exit_code == 126


# -- endings (S8) -------------------------------------------------------------------------------------------------

STUBBORN = {
    "takes no notice": 'trap "" TERM INT HUP; sleep {n}',
    "children in sessions of their own": "setsid sleep {n} & setsid sh -c 'trap \"\" TERM; sleep {n}' & sleep {n}",
    "stopped": "sleep {n} & kill -STOP $$",
}


@pytest.mark.parametrize("kind", STUBBORN)
def test_a_command_that_is_too_late_ends_within_its_time_and_three_seconds(walls, workspace, kind):
    number = f"3{list(STUBBORN).index(kind)}417"
    began = time.monotonic()
    result = run(walls, STUBBORN[kind].format(n=number), workspace, timeout=0.5)
    assert result.timed_out
    assert time.monotonic() - began < 0.5 + 3 * SLACK
    assert gone(f"sleep {number}", 30)


@pytest.mark.parametrize("ground", ["as it is here", "none"])
def test_what_leaves_the_group_is_ended_with_the_command(workspace, monkeypatch, ground):
    if ground == "none":
        monkeypatch.setattr(cgroup, "ground", lambda: None)
    if not probe.layers().mount_view and not cgroup.ground():
        pytest.skip("neither a mount view nor control groups here")
    home = workspace.parent / "home"
    walls = Confinement(workspace, home, home / ".nanohermes", lambda: nothing_more)
    result = run(walls, "(env -i setsid /bin/sleep 30427 >/dev/null 2>&1 &); exit 0", workspace)
    assert result.exit_code == 0
    assert len(result.left_running) == 1
    assert gone("sleep 30427", 30)
    walls.close()


@mount_view
def test_another_command_that_gets_the_number_of_a_namespace_is_left_alone(walls, workspace):
    ended = spawn(("/bin/true",), workspace, ENV)
    stale = CommandWalls((), workspace, None)
    family = Family(ended, "stale", stale)
    ended.wait()
    results: list[ExecResult] = []
    other = threading.Thread(target=lambda: results.append(run(walls, "echo $$ > pid; read x < go", workspace)))
    os.mkfifo(workspace / "go")
    other.start()
    end = time.monotonic() + 30
    while not (pid := (workspace / "pid").exists() and (workspace / "pid").read_text().strip()):
        assert time.monotonic() < end
        time.sleep(0.02)
    stale._namespace = Path("/proc", pid, "ns/mnt").stat().st_ino
    assert family.members() == ()
    family.signal(signal.SIGKILL)
    (workspace / "go").write_text("on\n")
    other.join(30)
    assert [result.exit_code for result in results] == [0]


def test_a_groups_leaf_goes_with_its_command_and_the_group_with_the_session(walls, workspace):
    folders = walls.policy(WRITE).cgroups
    if not folders:
        pytest.skip("no control groups can be made here")
    assert run(walls, "cat /proc/self/cgroup", workspace).stdout.count(folders[0].name) >= 1
    end = time.monotonic() + 30
    while (left := [entry for entry in folders[0].iterdir() if entry.is_dir()]) and time.monotonic() < end:
        time.sleep(0.05)
    assert left == []
    walls.close()
    assert not folders[0].exists()


def test_no_confined_command_outlives_a_program_that_is_killed(workspace):
    source = f"""
        import os, sys
        from pathlib import Path
        from agent_core.cancel import CancelScope
        from agent_core.confinement import Confinement
        from agent_core.process.command import LocalBackend
        from agent_core.safety.hidden import nothing_more
        from agent_core.sandbox.policy import Box
        home = Path({str(workspace.parent / "home")!r})
        walls = Confinement(Path({str(workspace)!r}), home, home / ".nanohermes", lambda: nothing_more)
        LocalBackend(walls.policy).execute(
            "setsid sleep 30437 & env -i setsid sh -c 'sleep 30437; :' & echo up > up; sleep 30437",
            Path({str(workspace)!r}), box=Box("workspace-write"),
            timeout=60, env=dict(os.environ), cancel=CancelScope(),
        )
    """
    root = str(Path(__file__).parents[2])
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(source)], cwd=root)
    end = time.monotonic() + 20
    while not (workspace / "up").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert alive("sleep 30437")
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert gone("sleep 30437", 5)


# -- a session ----------------------------------------------------------------------------------------------------


def seated(tmp_path, mode: str, *replies, gap: str = "", **more) -> Table:
    """A session in `mode` whose commands are really confined."""
    made: list[Confinement] = []

    def confinement(session_id, workspace):
        if not made:
            home = tmp_path / "home"
            made.append(Confinement(workspace, home, home / ".nanohermes", lambda: nothing_more))
        return Walls(made[0].policy, (lambda: gap) if gap else made[0].gap)

    table = Table(tmp_path, *replies, say("done"), confinement=confinement,
                  containment=lambda: Containment(kernel=True), **more)  # fmt: skip
    table.walls = made
    if mode != "ask":
        table.session.send(intents.SetMode(mode, confirmed=True))
    table.session.start()
    return table


def result_of(table: Table) -> str:
    return table.of(events.ToolFinished)[-1].text


@pytest.fixture
def seat(tmp_path):
    tables: list[Table] = []

    def seat(mode, *replies, **more):
        tables.append(seated(tmp_path, mode, *replies, **more))
        return tables[-1]

    yield seat
    for table in tables:
        table.session.close()
        table.session.join(5)
        for walls in table.walls:
            walls.close()


def command(text: str):
    return call(("run_command", {"command": text}))


def test_in_auto_a_command_writes_the_workspace_and_nothing_else(seat, tmp_path):
    table = seat("auto", command("echo a > in.txt && ! echo b > ../out.txt"))
    table.turn("go")
    assert (table.workspace / "in.txt").read_text() == "a\n"
    assert not (tmp_path / "out.txt").exists()
    assert not table.of(events.QuestionAsked)


@pytest.mark.parametrize(("mode", "why"), [("plan", "plan mode"), ("debug", "Read-only file system|Permission denied")])
def test_modes_that_look_change_nothing_by_the_shell_and_say_why(seat, mode, why):
    table = seat(mode, command("echo x > f; touch sub/g || exit 1"))
    (table.workspace / "sub").mkdir()
    table.turn("go")
    assert re.search(why, result_of(table))
    assert [path.name for path in table.workspace.rglob("*")] == ["sub"]


def test_a_file_of_secrets_is_read_by_commands_only_after_a_person_has_let_it_be(seat):
    read = call(("read_file", {"path": ".env"}))
    table = seat("auto", command("cat .env"), read, command("cat .env"))
    (table.workspace / ".env").write_text("A=plain\n")
    table.session.send(intents.Submit("go"))
    question = table.wait(events.QuestionAsked).question
    before = result_of(table)
    table.session.send(Answer(question.id, "session"))
    table.wait(events.TurnFinished)
    if probe.layers().mount_view:
        assert "Permission denied" in before
    assert "A=plain" in result_of(table)


def test_a_gap_has_commands_asked_about(seat):
    table = seat("auto", command("echo a > in.txt"), gap="files of secrets cannot be hidden here")
    table.session.send(intents.Submit("go"))
    question = table.wait(events.QuestionAsked).question
    assert question.rule == "files of secrets cannot be hidden here"
    table.session.send(Answer(question.id, "refuse"))
    table.wait(events.TurnFinished)
    assert not (table.workspace / "in.txt").exists()


def test_the_search_program_is_held_to_reading(seat, monkeypatch):
    boxes = []

    def watched(argv, *given, **more):
        boxes.append(argv)
        return spawn(argv, *given, **more)

    monkeypatch.setattr(running, "spawn", watched)
    table = seat("ask", call(("grep", {"pattern": "needle"})))
    (table.workspace / "a.txt").write_text("a needle\n")
    table.turn("go")
    assert "a needle" in result_of(table)
    assert boxes
    assert all("/proc/self/fd/" in argv[3] for argv in boxes)  # the launcher


# -- the program --------------------------------------------------------------------------------------------------


def test_the_program_lets_a_model_work_alone_inside_the_walls_and_leaves_nothing_behind(tmp_path, workspace):
    home, beside = tmp_path / "home", tmp_path / "beside"
    (home / ".nanohermes").mkdir(parents=True, exist_ok=True)
    beside.mkdir()
    (home / ".nanohermes/config.yaml").write_text(f"sandbox:\n  add_dirs: [{beside}]\n  max_processes: 64\n")
    (workspace / ".env").write_text("A=plain\n")
    script = f"echo $TMPDIR > tmp; echo a > {beside}/a; echo b > {tmp_path}/b; cat .env; ulimit -u"
    with ModelServer([Reply(calls=[("run_command", {"command": script})]), Reply(text="done")]) as server:
        done = program.run(home, workspace, server.base_url, "-p", "go", "--mode", "auto")
    assert done.code == 0, done.said
    said = next(text for role, text in program.kept(home) if role == "tool")
    assert (beside / "a").exists()
    assert not (tmp_path / "b").exists()
    assert probe.layers().mount_view != ("A=plain" in said)
    private = Path((workspace / "tmp").read_text().strip())
    assert private.name.startswith("nanoherm-")
    assert not private.exists()
