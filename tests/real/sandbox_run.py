"""Run short scripts inside the launcher's walls, as root or as nobody, with a wall taken out if so wished."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from agent_core.sandbox import launcher, plan, probe, program
from agent_core.sandbox.policy import SandboxPolicy

NOBODY = 65534
_ALLOW_ALL = b"\x06\x00\x00\x00\x00\x00\xff\x7f"
_SOURCE = Path(launcher.__file__).read_text()
_WITHOUT = {
    "landlock": ('    _kernel("landlock_restrict_self", _RESTRICT_SELF, ruleset, plan["landlock"]["flags"])\n', ""),
    "capabilities": ('    _drop_capabilities(plan["kept"])\n', ""),
}


_EACH = """
import os, traceback
def told(script):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        said = ""
        try:
            exec(script, {"__name__": "__main__"})
        except BaseException:
            said = traceback.format_exc()
        os.write(writer, said.encode()[-4000:])
        os._exit(1 if said else 0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    os.set_blocking(reader, False)  # a child of the child may still hold it
    try:
        said = os.read(reader, 4000).decode()
    except BlockingIOError:
        said = ""
    os.close(reader)
    return os.waitstatus_to_exitcode(status), said
import json
print(json.dumps([told(script) for script in SCRIPTS]))
"""


@dataclass
class Outcome:
    code: int
    out: str
    err: str
    refused: str
    """The code of the launcher's refusal; empty: the command was started."""


class Scene:
    """A workspace, an outside with a canary, a process and sockets there, all of one user."""

    def __init__(self, user: str, stack: ExitStack) -> None:
        self.user = user
        root = Path(os.path.realpath(tempfile.mkdtemp(prefix="nht-", dir="/tmp")))
        stack.callback(shutil.rmtree, root, ignore_errors=True)
        self.ws, self.out, self.tmp = root / "ws", root / "out", root / "tmp"
        for folder in (self.ws, self.out, self.tmp, self.ws / "sub", self.ws / ".git/hooks", self.out / "dir"):
            folder.mkdir(parents=True)
        (self.ws / "in.txt").write_text("in\n")
        (self.ws / ".git/config").write_text("[core]\n")
        (self.out / "canary.txt").write_text("canary")
        stream, datagram, abstract, tcp = (
            socket.socket(socket.AF_UNIX),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
            socket.socket(socket.AF_UNIX),
            socket.socket(),
        )
        self.abstract = f"nht-{os.getpid()}-{user}-{root.name}"
        for made, address in (
            (stream, str(self.out / "sock")),
            (datagram, str(self.out / "dgram")),
            (abstract, "\0" + self.abstract),
            (tcp, ("127.0.0.1", 0)),
        ):
            stack.callback(made.close)
            made.bind(address)
        for listening in (stream, abstract, tcp):
            listening.listen()
        self.port = tcp.getsockname()[1]
        if user == "nobody":
            for path in (root, *root.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        ids = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if user == "nobody" else {}
        other = subprocess.Popen(["sleep", "60"], env={"A_SECRET": "hidden", "PATH": os.environ["PATH"]}, **ids)
        stack.callback(other.wait)
        stack.callback(other.kill)
        self.other = other.pid
        self.layers = probe.Layers(**self._as_user(lambda: asdict(probe.look())))

    def policy(self, **changes) -> SandboxPolicy:
        return replace(SandboxPolicy((self.ws,), self.tmp), **changes)

    def python(self, script, **options) -> Outcome:
        return self.run(None, script, **options)

    def each(self, scripts, **options) -> list[tuple[int, str]]:
        """Scripts in one box, each in a process of its own: their exit codes and what they failed with."""
        done = self.python(f"SCRIPTS = {list(scripts)!r}\n{_EACH}", **options)
        assert (done.code, done.err, done.refused) == (0, "", ""), done
        return [tuple(told) for told in json.loads(done.out)]

    def shell(self, script, **options) -> Outcome:
        return self.run(("/bin/sh", "-c", script), "", **options)

    def run(self, argv, script, *, without=(), env=None, cwd=None, edit=None, **changes) -> Outcome:
        """`without`: walls taken out; `edit`: of the launcher's text; `changes`: of the policy."""
        told = self._as_user(lambda: self._run(argv, script, set(without), env or {}, cwd or self.ws, edit, changes))
        return Outcome(**told)

    def _as_user(self, work):
        """What `work` returns in a child that has become the scene's user."""
        reader, writer = os.pipe()
        child = os.fork()
        if not child:  # no way back into pytest from here
            with suppress(BaseException):
                try:
                    if self.user == "nobody":
                        os.setgroups([])
                        os.setgid(NOBODY)
                        os.setuid(NOBODY)
                    told = work()
                except BaseException:
                    told = {"crash": traceback.format_exc()}
                os.write(writer, json.dumps(told).encode())
            os._exit(0)
        os.close(writer)
        with open(reader, encoding="utf-8") as file:
            told = json.load(file)
        os.waitpid(child, 0)
        assert "crash" not in told, told["crash"]
        return told

    def _run(self, argv, script, without, env, cwd, edit, changes):
        here = self.layers
        policy = self.policy(**changes)
        kernel = replace(here.kernel, view_by="") if "view" in without else here.kernel
        by = program.interpreter((), can_pin=False)
        made, held = plan.plan(argv or (by.path, "-I", "-S", "-c", script), cwd, policy, kernel)
        if "seccomp" in without:
            made["filter"] = _ALLOW_ALL
        edits = [_WITHOUT[wall] for wall in without & _WITHOUT.keys()] + ([edit] if edit is not None else [])
        with program.launch(made, {}, by, held) as ready:
            command, descriptors = list(ready.argv), list(ready.pass_fds)
            if edits:
                source = _SOURCE
                for old, new in edits:
                    assert old in source
                    source = source.replace(old, new)
                code = program.memory(source.encode())
                command[3] = f"/proc/self/fd/{code}"
                descriptors.append(code)
            scene = {"WS": self.ws, "OUT": self.out, "TMPDIR": self.tmp, "OPID": self.other, "PORT": self.port}
            scene |= {"ABS": self.abstract, "PATH": "/usr/bin:/bin", "HOME": self.tmp, **env}
            done = subprocess.run(
                command,
                pass_fds=descriptors,
                cwd=cwd,
                env={name: str(value) for name, value in scene.items()},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=30,
                start_new_session=True,
                check=False,
            )
            failure = ready.failure()
        return {
            "code": done.returncode,
            "out": done.stdout,
            "err": done.stderr,
            "refused": getattr(failure, "code", str(failure)) if failure is not None else "",
        }


@contextmanager
def scene(user):
    with ExitStack() as stack:
        program._code(program._MODULE, compiled=True)  # nobody may be unable to read where it comes from
        yield Scene(user, stack)


def users():
    """Who scripts can be run as here."""
    return ["root", "nobody"] if os.geteuid() == 0 else ["self"]


def why_not(user):
    """Why nothing can be run as this user here; empty when it can."""
    if sys.platform != "linux" or not probe.layers().can_confine:
        return "this kernel cannot confine commands"
    if user == "nobody":
        shared = [path for path in program._SYSTEM_INTERPRETERS if os.path.exists(path)]
        folders = [Path(os.path.realpath(sys._base_executable)).parents]
        own = all(folder.stat().st_mode & 0o001 for folder in folders[0])
        if not shared and not own:
            return "no Python here can be run by user 65534"
    return ""
