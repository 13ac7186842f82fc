"""Commands: bounded capture, prompt ends, and nothing left behind. Real processes."""

from __future__ import annotations

import errno
import os
import selectors
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.confinement import confined_env
from agent_core.errors import SandboxError
from agent_core.ports.commands import ExecResult
from agent_core.process import families, proc
from agent_core.process.command import LocalBackend
from agent_core.process.families import Family
from agent_core.process.guard import MARKER, Guard
from agent_core.process.held import Held
from agent_core.process.output import HeadTail
from agent_core.process.running import running
from agent_core.sandbox.env import child_env
from agent_core.sandbox.policy import UNCONFINED, Box, SandboxPolicy
from agent_core.sandbox.probe import layers

from .tool_support import later

ROOT = Path(__file__).parents[2]
ENV = child_env(os.environ)
linux = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="descendants are found through /proc")


def run(command: str, cwd: Path, *, timeout: float = 20, scope: CancelScope | None = None, **more) -> ExecResult:
    env = {**ENV, **more.pop("env", {})}
    return LocalBackend().execute(
        command, cwd, box=UNCONFINED, timeout=timeout, env=env, cancel=scope or CancelScope(), **more
    )


@pytest.fixture
def short_grace(monkeypatch):
    """Tests of what happens after the grace need not wait for all of it."""
    monkeypatch.setattr(limits, "COMMAND_TERM_GRACE", 0.3)


def alive(pattern: str) -> list[str]:
    """Command lines of running processes that contain `pattern` (a number no other process sleeps for)."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and (line := Path("/proc", name, "cmdline").read_bytes()).strip(b"\0"):
                found.append(line.replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return [line for line in found if pattern in line and "pytest" not in line]


def gone(pattern: str, within: float) -> bool:
    deadline = time.monotonic() + within
    while alive(pattern):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


# -- results --------------------------------------------------------------------------------------------------------


def test_streams_and_exit_code_come_back(tmp_path):
    result = run("echo out; echo err >&2; pwd; exit 3", tmp_path)
    assert (result.exit_code, result.stdout, result.stderr) == (3, f"out\n{tmp_path}\n", "err\n")
    assert (result.timed_out, result.interrupted, result.left_running) == (False, False, ())


def test_a_signal_is_no_exit_code(tmp_path):
    result = run("kill -9 $$", tmp_path)
    assert (result.exit_code, result.signal) == (None, 9)


def test_input_is_empty_and_there_is_no_terminal(tmp_path):
    result = run("cat; [ -t 0 ] || echo no-tty; (echo x >/dev/tty) 2>/dev/null || echo none", tmp_path)
    assert result.stdout == "no-tty\nnone\n"


@pytest.mark.parametrize("command", ["echo a\0b", "echo \ud83d", "x" * 200_000])
def test_what_cannot_be_started_is_an_os_error(tmp_path, command):
    with pytest.raises(OSError):  # noqa: PT011 - the kind differs
        run(command, tmp_path)


def test_a_missing_folder_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        run("true", tmp_path / "nowhere")


def test_no_descriptor_of_ours_is_passed_on(tmp_path):
    with open(tmp_path / "ours", "w") as file:
        os.set_inheritable(file.fileno(), True)
        assert "ours" not in run("ls -l /proc/self/fd", tmp_path).stdout


def test_all_children_come_from_one_thread(tmp_path):
    results = []
    threads = [threading.Thread(target=lambda: results.append(run("echo $PPID", tmp_path).stdout)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) == {f"{os.getpid()}\n"}
    assert sum(thread.name == "spawner" for thread in threading.enumerate()) == 1


def test_descriptors_and_threads_do_not_pile_up(tmp_path):
    run("true", tmp_path)
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        run("true", tmp_path)
    assert len(os.listdir("/dev/fd")) <= before


# -- bounds ---------------------------------------------------------------------------------------------------------


def test_head_and_tail_are_kept_with_a_mark_between(tmp_path):
    result = run("seq 1 200000", tmp_path)
    assert result.stdout_bytes == 1_288_895
    assert result.stdout.startswith("1\n2\n")
    assert result.stdout.endswith("199999\n200000\n")
    assert len(result.stdout.encode()) <= limits.COMMAND_STREAM
    assert "of 1288895 bytes]" in result.stdout


@pytest.mark.parametrize("size", [0, 99, 100, 101, 1000])
def test_nothing_is_cut_below_the_limit_and_the_limit_holds(size):
    kept = HeadTail(300)
    data = ("中" * 400).encode()[: size * 3]
    for at in range(0, len(data), 7):
        kept.add(data[at : at + 7])
    text = kept.text()
    assert "\ufffd" not in text
    assert len(text.encode()) <= 300
    assert (text == data.decode()) == (len(data) <= 300)


def test_what_has_to_be_confined_does_not_run_where_there_is_no_policy_for_its_box(tmp_path):
    backend = LocalBackend(lambda box: None)
    with pytest.raises(SandboxError) as told:
        backend.execute("touch ran", tmp_path, box=Box("workspace-write"), timeout=20, env=ENV, cancel=CancelScope())
    assert told.value.code == "no_sandbox"
    assert not (tmp_path / "ran").exists()


MEASURE = """
    import os, sys
    from pathlib import Path
    from agent_core.cancel import CancelScope
    from agent_core.process.command import LocalBackend
    from agent_core.sandbox.policy import UNCONFINED
    from tests.peak import peak
    def run(command):
        return LocalBackend().execute(command, Path("/"), box=UNCONFINED, timeout=60, env={"PATH": os.environ["PATH"]},
                                      cancel=CancelScope(), on_output=lambda text: None)
    run("true")
    before = peak(reset=True)
    result = run(sys.argv[1])
    print(result.stdout_bytes, peak() - before)
"""


@pytest.mark.parametrize(
    ("command", "size"), [("yes | head -c 300M", 300 << 20), ("head -c 50M /dev/zero | tr '\\0' x", 50 << 20)]
)
def test_giant_output_neither_fills_memory_nor_hangs(command, size):
    script = textwrap.dedent(MEASURE)
    out = subprocess.check_output([sys.executable, "-c", script, command], cwd=ROOT, text=True, timeout=90)
    total, grown = map(int, out.split())
    assert total == size
    assert grown < 20 << 20


def test_a_command_that_never_stops_writing_is_ended_in_time(tmp_path):
    begun = time.monotonic()
    result = run("yes", tmp_path, timeout=0.5)
    assert result.timed_out
    assert time.monotonic() - begun < 5


# -- children that stay -----------------------------------------------------------------------------------------------


@linux
@pytest.mark.parametrize(
    "command",
    [
        "sleep 6101 & echo ok",
        "nohup sh -c 'sleep 6101' & echo ok",
        "setsid sleep 6101 & echo ok",
        "(sleep 6101 >/dev/null 2>&1 &); echo ok",
        "setsid sh -c 'sleep 6101 & sleep 6101' >/dev/null 2>&1 & echo ok",
        "env -i sh -c 'trap \"\" TERM; sleep 6101; sleep 6101' & echo ok",
    ],
)
def test_a_child_that_stays_is_named_and_ended(tmp_path, short_grace, command):
    begun = time.monotonic()
    result = run(command, tmp_path)
    assert time.monotonic() - begun < 15
    assert (result.exit_code, result.stdout) == (0, "ok\n")
    assert result.left_running
    assert gone("sleep 6101", within=6)


@linux
def test_a_child_that_ends_by_itself_is_waited_for(tmp_path):
    result = run("(sleep 0.2; echo late) & echo ok", tmp_path)
    assert result.stdout == "ok\nlate\n"
    assert result.left_running == ()


# -- ending -----------------------------------------------------------------------------------------------------------


@linux
def test_a_stop_returns_at_once_and_the_group_is_gone_soon(tmp_path):
    scope = CancelScope()
    stopped = []
    later(0.4, lambda: (stopped.append(time.monotonic()), scope.cancel()))
    result = run("trap '' INT TERM; echo begun; setsid sh -c 'trap \"\" TERM INT; sleep 6102; sleep 6102'; sleep 6102",
                 tmp_path, scope=scope)  # fmt: skip
    assert time.monotonic() - stopped[0] < 1
    assert (result.interrupted, result.exit_code, result.stdout) == (True, None, "begun\n")
    assert gone("sleep 6102", within=5)


@linux
def test_a_timeout_ends_what_ignores_signals(tmp_path, short_grace):
    begun = time.monotonic()
    result = run("trap '' INT TERM; sleep 6103; sleep 6103", tmp_path, timeout=0.3)
    assert time.monotonic() - begun < 5
    assert (result.timed_out, result.exit_code) == (True, None)
    assert gone("sleep 6103", within=4)


@linux
@pytest.mark.parametrize(
    ("command", "waits"),
    [
        ("echo before; sleep 6121 0>&2; echo after", True),  # an editor's last resort: the error stream for a keyboard
        ("setsid sh -c 'exec sleep 6121 0>&2'; echo after", True),
        ("exec 0>&2; for i in $(seq 200); do :; done; while :; do :; done", False),
        ("sleep 6121", False),
        ("sleep 6121 | sleep 6121 2>&1 | cat", False),
    ],
)
def test_what_waits_for_keys_is_ended_and_nothing_else(tmp_path, monkeypatch, command, waits):
    monkeypatch.setattr(limits, "COMMAND_LOOK", 0.2)
    result = run(command, tmp_path, timeout=10 if waits else 1)
    assert (result.keyless, result.timed_out, result.exit_code) == (waits, not waits, None)
    assert result.seconds < 8
    assert "after" not in result.stdout
    assert gone("sleep 6121", 3)


@linux
@pytest.mark.skipif(shutil.which("vi") is None, reason="there is no vi")
def test_an_editor_that_was_started_by_hand_waits_for_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "COMMAND_LOOK", 0.7)
    begun = time.monotonic()
    result = run("vi file", tmp_path, timeout=60)
    assert time.monotonic() - begun < 30
    assert result.keyless or result.exit_code is not None


def test_a_program_that_tidies_up_on_a_timeout_is_heard(tmp_path):
    result = run("trap 'echo bye; exit 1' TERM; sleep 30 & wait", tmp_path, timeout=0.3)
    assert result.stdout == "bye\n"


def test_a_scope_that_is_cancelled_already_ends_the_command(tmp_path):
    scope = CancelScope()
    scope.cancel()
    assert run("sleep 6104", tmp_path, scope=scope).interrupted
    assert gone("sleep 6104", within=4)


def test_an_error_in_the_listener_leaves_nothing_running(tmp_path):
    def fail(text: str) -> None:
        raise RuntimeError(text)

    with pytest.raises(RuntimeError):
        run("echo x; sleep 6105", tmp_path, on_output=fail)
    assert gone("sleep 6105", within=2)


@linux
def test_without_a_descriptor_to_listen_by_nothing_is_started(tmp_path, monkeypatch):
    def none_left():
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(selectors, "DefaultSelector", none_left)
    with pytest.raises(OSError, match="Too many open files"):
        run("sleep 6107", tmp_path)
    assert not alive("sleep 6107")


@pytest.mark.skipif(not layers().can_confine, reason="this machine confines nothing")
def test_of_a_program_that_was_ended_nobody_says_that_it_could_not_be_started(tmp_path):
    held = Held(("/bin/sleep", "6108"), tmp_path, ENV, SandboxPolicy((), tmp_path))
    held.end(0.1)
    assert held.failure() is None


@linux
def test_a_guard_that_takes_the_place_of_another_spares_the_same(tmp_path):
    guard = Guard()
    spared, other = guard.new_mark(), guard.new_mark()
    commands = [subprocess.Popen(["sleep", "6109"], env={MARKER: mark}) for mark in (spared, other)]
    try:
        guard.watch()
        guard.spare(spared)
        guard._process.kill()
        guard._process.wait()
        guard.watch()
        guard._process.stdin.close()  # as when the program is killed
        assert guard._process.wait(20) == 0
        assert (commands[0].poll(), commands[1].wait(5)) == (None, -signal.SIGKILL)
    finally:
        for command in commands:
            command.kill()
            command.wait()


@linux
def test_leaving_the_program_ends_its_commands(tmp_path):
    script = (
        "import os, threading, time; from pathlib import Path; from agent_core.cancel import CancelScope;"
        "from agent_core.process.command import LocalBackend;from agent_core.sandbox.policy import Box;"
        "threading.Thread(target=lambda: LocalBackend().execute('sleep 6106', Path('/'), timeout=60,"
        "box=Box('danger-full-access', True),"
        "env=dict(os.environ), cancel=CancelScope()), daemon=True).start(); time.sleep(0.5)"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, timeout=20, check=True)
    assert gone("sleep 6106", within=2)


@linux
def test_of_what_bears_a_mark_nothing_is_left_also_while_it_forks(tmp_path):
    """Each round meets some that were forked behind it, or were just becoming another program."""
    marker = f"task-{tmp_path.name}-{os.getpid()}"
    ours = f"sleep 7206.{os.getpid()}"
    storm = f"echo up; i=0; while [ $i -lt 500 ]; do (setsid {ours} &); i=$((i+1)); done"
    for _ in range(4):
        shell = subprocess.Popen(["sh", "-c", storm], env={**ENV, MARKER: marker}, stdout=subprocess.PIPE, cwd=tmp_path)
        shell.stdout.readline()
        families.kill_marked(marker)
        shell.wait(20)
        shell.stdout.close()
        assert alive(ours) == []


@linux
def test_a_process_on_its_way_from_program_to_program_shows_what_it_was_started_with(monkeypatch):
    monkeypatch.setattr(proc, "POLL", 1.0)  # a busy machine may stop it right there
    step = '[ $n -ge 60 ] && exit; n=$((n+1)) exec sh -c "$0" "$0"'
    chain = subprocess.Popen(["sh", "-c", step, step], env={"PATH": ENV["PATH"], "n": "0", "LASTING": "mark"})
    looks = []
    while chain.poll() is None:
        shown = proc.environ_of(chain.pid)
        if chain.poll() is None:
            looks.append(b"LASTING=mark" in shown)
    while looks and not looks[-1]:  # it has ended, and is not a zombie yet: nothing is there to be shown
        looks.pop()
    assert looks
    assert all(looks)


# -- nobody waits for a person ----------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path):
    repo = tmp_path / "repo"
    setup = (
        "git init -q repo && cd repo && git config user.email a@example.org && git config user.name A"
        " && echo 1 > f && git add f && git commit -qm one && echo 2 > f && git commit -qam two && echo 3 > f"
    )
    assert run(setup, tmp_path).exit_code == 0
    return repo


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("git commit -a", "editor"),
        ("git rebase -i HEAD~1", "editor"),
        ("git -c protocol.version=1 push https://127.0.0.1:9/x.git HEAD", "Failed to connect"),
        ("ssh -p 9 127.0.0.1 true", "refused"),
        ("sudo -k ls", "password"),
        ("git log", ""),
    ],
)
def test_what_would_ask_a_person_fails_at_once_with_the_reason(repository, command, reason):
    program = command.split()[0]
    if shutil.which(program) is None or (program == "sudo" and os.geteuid() == 0):
        pytest.skip(f"{program} is missing or asks nothing here")
    stash = "git checkout -q . && " if "rebase" in command else ""
    begun = time.monotonic()
    result = run(stash + command, repository, timeout=30)
    assert time.monotonic() - begun < 10
    assert not result.timed_out
    assert (result.exit_code == 0) == (not reason)
    assert reason.lower() in result.stderr.lower()


class Locked(BaseHTTPRequestHandler):
    """A server that wants a password."""

    def do_GET(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


def test_a_push_that_needs_a_password_fails_at_once(repository):
    with HTTPServer(("127.0.0.1", 0), Locked) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        result = run(f"git push http://127.0.0.1:{server.server_port}/x.git HEAD", repository, timeout=30)
        server.shutdown()
    assert not result.timed_out
    assert result.exit_code == 128
    assert "could not read Username" in result.stderr


# -- the environment --------------------------------------------------------------------------------------------------


def test_secrets_and_steering_variables_are_not_passed_on():
    base = {
        "PATH": "/usr/bin", "HOME": "/h", "LANG": "C.UTF-8", "LC_TIME": "C", "VIRTUAL_ENV": "/v", "TERM": "xterm",
        "OPENAI_API_KEY": "x", "GITHUB_TOKEN": "x", "DB_PASSWORD": "x", "MY_SECRET": "x", "AWS_CREDENTIALS": "x",
        "LD_PRELOAD": "x", "GIT_SSH": "x", "BASH_ENV": "x", "PYTHONPATH": "x", "NODE_OPTIONS": "x", "EDITOR": "vi",
        "OTHER": "x", "https_proxy": "http://user:pw@proxy:3128",
    }  # fmt: skip
    env = child_env(base, {"MY_FLAG": "1", "MY_TOKEN": "x", "LD_LIBRARY_PATH": "x"})
    kept = {"PATH", "HOME", "LANG", "LC_TIME", "VIRTUAL_ENV", "TERM", "MY_FLAG", "https_proxy"}
    own = {name for name in env if name not in base and name != "MY_FLAG"} | {"EDITOR"}
    assert set(env) == kept | own
    assert "x" not in env.values()
    assert env["EDITOR"] == "false"
    assert env["https_proxy"] == "http://proxy:3128"


def test_a_command_sees_that_environment(tmp_path):
    seen = run("env", tmp_path, env=child_env({"PATH": os.environ["PATH"], "A_KEY": "s3cret"})).stdout
    assert "s3cret" not in seen
    assert "GIT_TERMINAL_PROMPT=0" in seen


@pytest.mark.parametrize("covers", [False, True])
def test_git_tells_names_beyond_ascii_as_they_are(repository, tmp_path, covers):
    (repository / "目录").mkdir()
    (repository / "目录/新 é.txt").touch()
    own = confined_env(tmp_path, tmp_path, {}, network=False, covers=covers)  # hidden files want settings of git too
    seen = run("git status --short -uall && git config core.checkStat", repository, env=child_env(os.environ) | own)
    assert '"目录/新 é.txt"' in seen.stdout
    assert ("minimal" in seen.stdout) == covers


def test_a_helper_program_is_never_taken_for_what_a_command_has_left(tmp_path):
    """The kernel gives the number of a mount namespace again, so that a helper may have that of a command before."""

    class Walls:
        namespace = os.stat("/proc/self/ns/mnt").st_ino
        leaf = None

        def keep_namespace(self, pid):
            pass

    env = child_env(os.environ)
    with (
        running(("/bin/sleep", "30"), tmp_path, env, CancelScope()) as command,
        running(("/bin/sleep", "30"), tmp_path, env, CancelScope()) as helper,
    ):
        family = Family(command, "of the command", Walls())
        assert helper.pid not in [member.pid for member in family.members()]
