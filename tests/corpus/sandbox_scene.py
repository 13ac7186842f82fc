"""The worker of `sandbox.py`: reads rows from its input, runs each in a fresh scene, writes what was wrong.

A scene is a folder with a workspace and an outside beside it, services that listen, and a process that is nobody's
business. `python -m tests.corpus.sandbox_scene SCRATCH`; SCRATCH is an empty folder of ours.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_core.cancel import CancelScope
from agent_core.confinement import Confinement, Options
from agent_core.errors import AgentError
from agent_core.ports.commands import ExecResult
from agent_core.process.command import LocalBackend
from agent_core.safety.hidden import nothing_more
from agent_core.sandbox.env import child_env
from agent_core.sandbox.policy import Box
from agent_core.sandbox.probe import Layers, layers
from tests.peak import peak

TIMEOUT = 6.0
LATE = 3.0
"""Seconds within which a command that takes no notice of its end must have ended."""
MEMORY, PROCESSES = 1 << 30, 256
GROWTH = 20 * 1024 * 1024
"""Bytes this process may grow while a command runs, whatever that writes."""
GONE = 5.0


@dataclass(frozen=True, slots=True)
class Services:
    """What listens, all rows long."""

    abstract: str
    port: int
    udp_port: int
    outsider: int
    """The process id of a program outside, with a secret in its environment."""


def main(scratch: Path) -> None:
    with services() as there:
        for number, line in enumerate(sys.stdin):
            row = json.loads(line)
            try:
                answer = judge(row, scratch / f"r{number}", there)
            except AgentError as error:
                answer = {"wrong": f"{type(error).__name__}: {error}"}
            except Exception as error:  # told to the runner, which names it a crash
                answer = {"crash": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)


def judge(row: Mapping[str, Any], top: Path, there: Services) -> dict[str, str]:
    """Run one row: {"wrong": words, or "" when it holds}, or {"skip": what this machine lacks}."""
    lacking = missing(row.get("requires", ()), row["input"]["mode"], layers())
    if lacking:
        return {"skip": lacking}
    try:
        with scene(top, row.get("setup", "")) as (workspace, outside):
            return {"wrong": run_row(row, workspace, outside, there)}
    finally:
        _remove(top)


def missing(requires: Any, mode: str, found: Layers) -> str:
    """The layer that a row needs and this machine lacks; of several that close it, one is enough."""
    if not found.can_confine:
        return f"no kernel sandbox ({', '.join(found.missing)})"
    names = [name for entry in requires for name in str(entry).split("|")]
    if not names or any(_has(name, mode, found) for name in names):
        return ""
    return " or ".join(names)


def _has(name: str, mode: str, found: Layers) -> bool:
    if name.startswith("landlock-abi"):
        return found.landlock_abi >= int(name.removeprefix("landlock-abi"))
    if name == "seccomp-meta":  # it cannot tell the workspace from the outside
        return mode == "read-only"
    return not (name == "mountns" and "mount view" in found.missing)


def run_row(row: Mapping[str, Any], workspace: Path, outside: Path, there: Services) -> str:
    """Run a row's script; what was wrong, or "". A row of our own may take longer than others (`seconds`)."""
    given, timeout = row["input"], float(row.get("seconds", TIMEOUT))
    script, box = given["script"], Box(given["mode"], given["network"] == "on")
    command = script
    if given["lang"] == "py":
        python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
        command = f"exec {shlex.quote(python)} -I -c {shlex.quote(script)}"
    mark = uuid.uuid4().hex
    env = {
        "WS": workspace, "OUT": outside, "ABS": there.abstract, "PORT": there.port, "UPORT": there.udp_port,
        "OPID": there.outsider, "SCENE": mark,
    }  # fmt: skip
    before, size = contents(outside), peak(reset=True)
    git = _git_programs(workspace)
    home = workspace.parent / "home"
    confinement = Confinement(
        workspace, home, home / ".nanohermes", lambda: nothing_more, Options((), (), PROCESSES, MEMORY)
    )
    began = time.monotonic()
    try:
        result = LocalBackend(confinement.policy).execute(
            command, workspace, box=box, timeout=timeout, env=child_env(os.environ, _texts(env)), cancel=CancelScope()
        )
        seconds = time.monotonic() - began
        left = survivors(mark, workspace.parent, GONE)
    finally:
        confinement.close()
    wrong = compare(result, row["expected"])
    grown = peak() - size
    if left:
        wrong += f"; left running: {left}"
    if seconds > timeout + LATE:
        wrong += f"; took {seconds:.1f} s"
    if grown > GROWTH:
        wrong += f"; this process grew by {grown >> 20} MB"
    if contents(outside) != before:
        wrong += f"; outside changed: {sorted(set(contents(outside).items()) ^ set(before.items()))}"
    if _git_programs(workspace) != git:
        wrong += "; the repository's hooks or configuration changed"
    if list(Path("/tmp").glob("nanoherm-escape*")):
        wrong += "; /tmp was written"
    return wrong.removeprefix("; ")


def compare(result: ExecResult, expected: str) -> str:
    got = "allowed" if result.exit_code == 0 else "denied"
    if got == expected:
        return ""
    end = f"exit {result.exit_code}, signal {result.signal}" + (", timed out" if result.timed_out else "")
    return f"{got} ({end}): {(result.stderr or result.stdout).strip()[-300:]}"


def _texts(values: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


# -- the scene ----------------------------------------------------------------------------------------------------


@contextmanager
def scene(top: Path, setup: str = "") -> Iterator[tuple[Path, Path]]:
    """A workspace with a repository, and an outside with a canary and a listening socket.

    `setup`: shell text that is run in the workspace first, in no box; it comes from rows of our own only.
    """
    workspace, outside = top / "ws", top / "out"
    for folder in (workspace / "sub", outside / "dir", top / "home"):
        folder.mkdir(parents=True)
    (workspace / "in.txt").write_text("in\n")
    subprocess.run(["git", "init", "-q", str(workspace)], check=True, env=_git_env(top))
    if setup:
        subprocess.run(["/bin/sh", "-c", setup], check=True, cwd=workspace, env={**_git_env(top), "OUT": str(outside)})
    (outside / "canary.txt").write_text("canary")
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(outside)  # by a short name: a socket's path has 108 bytes at most
        try:
            listening.bind("sock")
        finally:
            os.chdir(here)
        listening.listen()
        yield workspace, outside


def _git_env(top: Path) -> dict[str, str]:
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
           for what, value in (("NAME", "A"), ("EMAIL", "a@b.c"))}  # fmt: skip
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(top / "home"), **who}


def contents(folder: Path) -> dict[str, str]:
    """Everything below a folder with what a program could have changed about it; not when it was last read."""
    found: dict[str, str] = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        status = os.lstat(path)
        text = path.read_bytes().hex() if path.is_file() and not path.is_symlink() else ""
        attributes = os.listxattr(path, follow_symlinks=False)
        kept = (oct(status.st_mode), status.st_uid, status.st_gid, status.st_mtime_ns, status.st_nlink, attributes)
        found[str(path)] = f"{kept} {text}"
    return found


def _git_programs(workspace: Path) -> dict[str, str]:
    """The content of what git would run or be steered by."""
    git = workspace / ".git"
    places = [git / "config", *sorted((git / "hooks").glob("*"))]
    return {str(path): path.read_bytes().hex() for path in places if path.is_file()}


def survivors(mark: str, top: Path, seconds: float) -> list[int]:
    """Processes of the row that are there after so many seconds: by its mark, or by where they are."""
    deadline = time.monotonic() + seconds
    while (left := _found(f"SCENE={mark}".encode(), top)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _found(mark: bytes, top: Path) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with suppress(OSError):
                process = Path("/proc", name)
                if Path(os.readlink(process / "cwd")).is_relative_to(top) or mark in (process / "environ").read_bytes():
                    found.append(int(name))
    return found


def _remove(top: Path) -> None:
    for folder, names, _ in os.walk(top):
        for name in names:
            with suppress(OSError):
                os.chmod(os.path.join(folder, name), 0o700)
    shutil.rmtree(top, ignore_errors=True)


@contextmanager
def services() -> Iterator[Services]:
    with ExitStack() as stack:
        abstract = f"nht-{uuid.uuid4().hex}"
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(f"\0{abstract}")
        tcp = stack.enter_context(socket.socket())
        tcp.bind(("127.0.0.1", 0))
        udp = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        for listening in (unix, tcp):
            listening.listen()
            threading.Thread(target=_serve, args=(listening.accept,), daemon=True).start()
        outsider = stack.enter_context(
            subprocess.Popen(["sleep", "3600"], env={"SECRET": "sk-not-a-key"}, start_new_session=True)
        )
        stack.callback(outsider.kill)
        yield Services(abstract, tcp.getsockname()[1], udp.getsockname()[1], outsider.pid)


def _serve(accept: Callable[[], tuple[socket.socket, Any]]) -> None:
    while True:
        try:
            accept()[0].close()
        except OSError:  # closed: the end
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
