"""The launcher as a program: which Python runs it, where its code lies, and that nothing steers it."""

import ast
import errno
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.errors import SandboxError
from agent_core.process.walls import CommandWalls
from agent_core.sandbox import launcher, probe, program
from agent_core.sandbox.launch import prepare
from agent_core.sandbox.policy import SandboxPolicy

REPOSITORY = Path(__file__).parents[2]
LIBRARY = Path(os.path.realpath(os.path.dirname(os.__file__)))
OWN = Path(os.path.realpath(sys._base_executable))

can_confine = pytest.mark.skipif(not probe.layers().can_confine, reason="this kernel cannot confine commands")


def test_the_launcher_loads_nothing_of_the_package_and_little_else():
    loaded = set()
    for node in ast.parse(Path(launcher.__file__).read_text()).body:
        if isinstance(node, ast.Import):
            loaded |= {alias.name for alias in node.names}
        assert not isinstance(node, ast.ImportFrom)
    # All but ctypes are in every interpreter that has started.
    assert loaded <= {"ctypes", "errno", "marshal", "os", "stat", "sys", "time"}


def test_no_python_runs_between_fork_and_exec():
    for package in ("agent_core", "nanoherm_tui"):
        for file in (REPOSITORY / package).rglob("*.py"):
            text = file.read_text("utf-8")
            if "preexec_fn" not in text and "fork" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call):
                    assert not any(keyword.arg == "preexec_fn" for keyword in node.keywords), file
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    assert (node.value.id, node.attr) not in (("os", "fork"), ("os", "forkpty"), ("pty", "fork")), file


@pytest.mark.parametrize(
    ("writable", "can_pin", "wanted"),
    [
        ([], False, "own"),
        ([Path("/nowhere")], False, "own"),
        ([OWN.parent], False, "system"),
        ([LIBRARY], False, "system"),
        ([LIBRARY.parent], True, "system"),
        ([LIBRARY / "encodings"], False, "system"),
        ([LIBRARY / "site-packages/project"], False, "own"),
        ([Path("/")], True, "pinned"),
        ([Path("/")], False, "none"),
    ],
)
def test_the_interpreter_lies_where_no_command_may_write(monkeypatch, tmp_path, writable, can_pin, wanted):
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setattr(program, "_SYSTEM_INTERPRETERS", (str(other),))
    if wanted == "none":
        with pytest.raises(SandboxError, match="every Python lies where commands may write") as caught:
            program.interpreter(writable, can_pin=can_pin)
        assert caught.value.code == "sandbox_launcher"
        return
    found = program.interpreter(writable, can_pin=can_pin)
    assert (
        found
        == {
            "own": program.Interpreter(str(OWN), own=True),
            "system": program.Interpreter(os.path.realpath(other), own=False),
            "pinned": program.Interpreter(str(OWN), own=True, pins=(OWN, LIBRARY)),
        }[wanted]
    )


@can_confine
def test_the_code_is_made_once_and_nobody_can_change_it(tmp_path):
    policy = SandboxPolicy((), tmp_path)
    with prepare(["true"], tmp_path, policy) as first, prepare(["true"], tmp_path, policy) as second:
        assert first.pass_fds[0] == second.pass_fds[0]
        for descriptor in first.pass_fds[:2]:
            assert fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_WRITE
            with pytest.raises(OSError, match="not permitted") as caught:
                os.write(os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR), b"x")
            assert caught.value.errno == errno.EPERM


@can_confine
def test_closing_gives_every_descriptor_back_and_may_be_repeated(tmp_path):
    prepare(["true"], tmp_path, SandboxPolicy((), tmp_path)).close()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        launch = prepare(["true"], tmp_path, SandboxPolicy((), tmp_path))
        launch.close()
        launch.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(not probe.layers().mount_view, reason="without a mount view no name is kept free")
def test_where_not_every_name_can_be_handed_over_none_is_and_nothing_is_left_open(tmp_path, monkeypatch):
    folder = Path(os.path.realpath(tmp_path))
    names = [folder / ".vscode", folder / ".envrc"]
    copy, copies = os.dup, []

    def dup_once(descriptor):
        if copies:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        copies.append(copy(descriptor))
        return copies[-1]

    walls = CommandWalls(["true"], folder, SandboxPolicy((folder,), folder, read_only=tuple(names)))
    with monkeypatch.context() as patched:
        patched.setattr(os, "dup", dup_once)
        with pytest.raises(OSError, match="Too many open files"):
            walls.hand_over()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(copies[0])
    assert all(name.exists() for name in names)
    walls.close()
    assert not any(name.exists() for name in names)


_RUN = """
import subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from agent_core.sandbox.launch import prepare
from agent_core.sandbox.policy import SandboxPolicy
folder = Path(sys.argv[2])
with prepare(["/bin/sh", "-c", "echo ran; echo x > /tmp/nht-outside"], folder, SandboxPolicy((folder,), folder)) as it:
    done = subprocess.run(it.argv, pass_fds=it.pass_fds, cwd=folder, capture_output=True, text=True)
    print(done.stdout, done.returncode, it.failure(), done.stderr)
"""


def _pythons():
    found = {}
    for name in ("python3.11", "python3.12", "python3.13", "python3.14", "/usr/bin/python3"):
        path = shutil.which(name)
        if path is None:
            continue
        asked = "import sys,os;print(*sys.version_info[:2],os.path.realpath(sys.executable))"
        told = subprocess.run([path, "-c", asked], capture_output=True, text=True, check=False).stdout.split()
        if len(told) == 3 and (int(told[0]), int(told[1])) >= (3, 11):
            found.setdefault(told[2], f"{told[0]}.{told[1]}")
    return sorted(found)


@can_confine
@pytest.mark.parametrize("python", _pythons())
def test_it_runs_under_every_python_of_this_machine(python, tmp_path):
    folder = os.path.realpath(tmp_path)
    done = subprocess.run([python, "-c", _RUN, REPOSITORY, folder], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("ran\n 2 None"), done
    assert not os.path.exists("/tmp/nht-outside")


@can_confine
def test_another_python_runs_it_from_source(monkeypatch, tmp_path):
    other = next((path for path in _pythons() if Path(path) != OWN), None)
    if other is None:
        pytest.skip("there is one Python only")
    monkeypatch.setattr(program, "_SYSTEM_INTERPRETERS", (other,))
    monkeypatch.setattr(sys, "_base_executable", "/nowhere/python")
    with prepare(["/bin/echo", "ran"], tmp_path, SandboxPolicy((), tmp_path)) as launch:
        assert launch.argv[0] == other
        done = subprocess.run(launch.argv, pass_fds=launch.pass_fds, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr, launch.failure()) == ("ran\n", "", None)


@can_confine
def test_variables_that_steer_python_do_not_steer_the_launcher(tmp_path):
    (tmp_path / "ctypes.py").write_text("raise SystemExit('steered')")
    steering = {"PYTHONPATH": str(tmp_path), "PYTHONHOME": str(tmp_path), "PYTHONSTARTUP": "/nowhere"}
    with prepare(["/usr/bin/env"], tmp_path, SandboxPolicy((), tmp_path)) as launch:
        done = subprocess.run(
            launch.argv,
            pass_fds=launch.pass_fds,
            cwd=tmp_path,
            env=steering,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stderr, launch.failure()) == ("", None)
    assert dict(line.split("=", 1) for line in done.stdout.splitlines()) == steering
