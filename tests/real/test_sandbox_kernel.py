"""The walls against what tries to get out, run for real, as root and as a user who is nobody.

Every row names the walls that stop it. Each of them has to do so alone, and without any of them the row has to get
out: so no row passes because of something else. Rows that want the same walls share a box, each a process of its own.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.sandbox import bpf
from tests.real.sandbox_run import scene, users, why_not


@pytest.fixture(scope="module", params=users())
def here(request):
    reason = why_not(request.param)
    if reason:
        pytest.skip(reason)
    with scene(request.param) as made:
        yield made


@pytest.fixture
def with_view(here):
    if not here.layers.mount_view:
        pytest.skip(f"no mount view here: {here.layers.view_error}")
    return here


def calls(name):
    return bpf.MACHINES[os.uname().machine].calls.get(name, -1) if os.uname().machine in bpf.MACHINES else -1


C = "import ctypes,os,socket;L=ctypes.CDLL(None,use_errno=True);E=os.environ\n"
# fmt: off
ESCAPES = [
    # name, who, script, walls that stop it
    ("write to a file outside", "", "open(E['OUT']+'/canary.txt','a').close()", "landlock view"),
    ("create a file outside", "", "open(E['OUT']+'/new','w').close();os.unlink(E['OUT']+'/new')", "landlock view"),
    ("truncate outside", "", "os.truncate(E['OUT']+'/canary.txt',6)", "landlock view"),
    ("link a file from outside into the workspace", "",
     "os.link(E['OUT']+'/canary.txt',E['WS']+'/l');os.unlink(E['WS']+'/l')", "landlock view"),
    ("write through /proc/self/root", "", "open('/proc/self/root'+E['OUT']+'/canary.txt','a').close()",
     "landlock view"),
    ("reopen a path handle", "",
     "f=os.open(E['OUT']+'/canary.txt',os.O_PATH);open(f'/proc/self/fd/{f}','a').close()", "landlock view"),
    ("change the mode outside", "", "os.chmod(E['OUT']+'/canary.txt',0o644)", "view"),
    ("change the times outside", "", "os.utime(E['OUT']+'/canary.txt',(1,1))", "view"),
    ("change times by a handle", "", "f=os.open(E['OUT']+'/canary.txt',os.O_RDONLY);os.utime(f,(1,1))", "view"),
    ("plant a hook", "", "open(E['WS']+'/.git/hooks/pre-commit','w').close();"
     "os.unlink(E['WS']+'/.git/hooks/pre-commit')", "view"),
    ("move the repository away", "",
     "os.rename(E['WS']+'/.git',E['WS']+'/g');os.rename(E['WS']+'/g',E['WS']+'/.git')", "view"),
    ("change a protected file's mode", "", "os.chmod(E['WS']+'/.git/config',0o600)", "view"),
    ("replace a protected file", "", "p=E['WS']+'/.git/';open(p+'c','w').write('[core]\\n');"
     "os.rename(p+'c',p+'config')", "view"),
    ("create a protected name", "", "os.mkdir(E['WS']+'/.envrc');os.rmdir(E['WS']+'/.envrc')", "view"),
    ("replace what holds a protected name", "", "p=E['WS']+'/.envrc';os.path.isdir(p) and os.rmdir(p);"
     "open(p,'w').close();os.unlink(p)", "view"),
    ("read a hidden file", "", "assert open(E['WS']+'/secret').read()=='key'", "view"),
    ("move a hidden file away", "", "p=E['WS']+'/secret';os.rename(p,p+'2');os.rename(p+'2',p)", "view"),
    ("see into a hidden folder", "", "assert os.listdir(E['WS']+'/hidden')", "view"),
    ("signal a process outside", "", "os.kill(int(E['OPID']),0)", "landlock"),
    ("limit a process outside", "", "import resource;resource.prlimit(int(E['OPID']),4,(0,0))", "seccomp"),
    ("connect by TCP", "", "socket.create_connection(('127.0.0.1',int(E['PORT'])),2)", "landlock seccomp"),
    ("listen by TCP", "", "socket.create_server(('127.0.0.1',0))", "landlock seccomp"),
    ("send by UDP", "", "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x',('127.0.0.1',9))", "seccomp"),
    ("connect by IPv6", "", "socket.socket(socket.AF_INET6)", "seccomp"),
    ("ask the kernel by netlink", "", "socket.socket(16,3,0)", "seccomp"),
    ("connect to a socket outside", "", "socket.socket(1).connect(E['OUT']+'/sock')", "seccomp"),
    ("send a datagram to a socket outside", "", "socket.socket(1,2).sendto(b'x',E['OUT']+'/dgram')", "seccomp"),
    ("send one from a pair", "", "socket.socketpair(1,2)[0].sendto(b'x',E['OUT']+'/dgram')", "seccomp"),
    ("connect to an abstract socket", "", "socket.socket(1).connect('\\0'+E['ABS'])", "landlock seccomp"),
    ("look at the user's keys", "", f"assert L.syscall({calls('keyctl')},0,-4,1)>0", "seccomp"),
    ("get a handle of a file", "", f"b=(ctypes.c_char*256)(128);m=ctypes.c_int();assert L.syscall("
     f"{calls('name_to_handle_at')},-100,E['OUT'].encode(),b,ctypes.byref(m),0)==0", "seccomp"),
    ("make a user namespace", "nobody", "assert L.unshare(0x10000000)==0", "seccomp"),
    ("make one by clone", "nobody", "p=L.syscall(56,0x10000011,0,0,0,0);assert p>=0;p or os._exit(0)", "seccomp"),
    ("read another process' environment", "nobody", "assert b'A_SECRET' in open(f\"/proc/{E['OPID']}/environ\",'rb')"
     ".read()", "landlock view"),
    ("read another process' environment", "root", "assert b'A_SECRET' in open(f\"/proc/{E['OPID']}/environ\",'rb')"
     ".read()", "capabilities"),
    ("change the root", "root", "os.chroot(E['WS'])", "capabilities seccomp"),
    ("name the machine", "root", "socket.sethostname(socket.gethostname())", "capabilities seccomp"),
    ("give a file away", "root", "os.chown(E['WS']+'/in.txt',1,1);os.chown(E['WS']+'/in.txt',0,0)", "capabilities"),
    ("make a namespace", "root", "assert L.unshare(0x20000)==0", "capabilities seccomp"),
    ("make a device", "root", "import stat;p=E['WS']+'/b';os.mknod(p,0o600|stat.S_IFBLK,os.makedev(7,0));"
     "os.unlink(p)", "capabilities landlock seccomp"),
]
# fmt: on


def _applies(row, user):
    return not row[1] or row[1] == user or (row[1] == "nobody" and user == "self")


@pytest.fixture(scope="module")
def guarded(here):
    (here.ws / "secret").write_text("key")
    (here.ws / "hidden").mkdir(exist_ok=True)
    (here.ws / "hidden/key").write_text("key")
    if here.user == "nobody":
        for path in (here.ws / "secret", here.ws / "hidden", here.ws / "hidden/key"):
            os.chown(path, 65534, 65534)
    return {
        "read_only": (here.ws / ".git/hooks", here.ws / ".git/config", here.ws / ".envrc"),
        "hidden": (here.ws / "secret", here.ws / "hidden"),
    }


def _boxes(row):
    """What is taken out for this row: all walls that stop it, then all but one of them."""
    walls = frozenset(row[3].split())
    return [walls, *(walls - {wall} for wall in sorted(walls))]


@pytest.fixture(scope="module")
def tried(here, guarded):
    """`tried(row, without)`: exit code and words of a row's script in a box without these walls."""
    rows = [row for row in ESCAPES if _applies(row, here.user)]
    told = {}

    def tried(row, without):
        if without not in told:
            some = [row for row in rows if without in _boxes(row)]
            outcomes = here.each([C + script for _, _, script, _ in some], without=without, **guarded)
            told[without] = dict(zip(some, outcomes, strict=True))
        return told[without][row]

    return tried


@pytest.mark.parametrize("row", ESCAPES, ids=[f"{row[0]}{' as ' + row[1] if row[1] else ''}" for row in ESCAPES])
def test_each_wall_alone_stops_what_gets_out_without_them(with_view, tried, row):
    here = with_view
    if not _applies(row, here.user):
        pytest.skip(f"for {row[1]}")
    if row[0] == "make one by clone" and os.uname().machine != "x86_64":
        pytest.skip("written for x86_64")
    walls, *all_but_one = _boxes(row)
    code, said = tried(row, walls)
    if code and "capabilities" in walls and here.user == "root":
        pytest.skip(f"this root may not do that anyway: {said.splitlines()[-1:]}")
    assert (code, said) == (0, "")
    for without in all_but_one:
        assert tried(row, without)[0] != 0, f"{walls - without} does not stop it"
    assert (here.out / "canary.txt").read_text() == "canary"
    assert not (here.ws / ".envrc").exists()


def test_a_program_that_only_looks_gets_out_no_more_than_another(with_view, guarded):
    here = with_view
    rows = [row for row in ESCAPES if _applies(row, here.user)]
    outcomes = here.each([C + row[2] for row in rows], writable=(), looks=True, **guarded)
    assert [row[0] for row, (code, _) in zip(rows, outcomes, strict=True) if code == 0] == []
    assert here.each(["assert open(__import__('os').environ['OUT']+'/canary.txt').read() == 'canary'"],
                     writable=(), looks=True) == [(0, "")]  # fmt: skip


ORDINARY = [
    ("threads", "import threading;t=threading.Thread(target=print);t.start();t.join()"),
    ("child processes", "import subprocess;assert subprocess.check_output(['echo','hi'])==b'hi\\n'"),
    ("a pair of sockets", "import socket;a,b=socket.socketpair();a.send(b'x');assert b.recv(1)==b'x'"),
    ("a lock between processes", "import multiprocessing as m;l=m.Lock();l.acquire();l.release()"),
    ("shared memory", "from multiprocessing.shared_memory import SharedMemory as S;s=S(create=True,size=9);s.unlink()"),
    ("a terminal", "import os,pty;m,s=pty.openpty();os.write(s,b'x');assert os.read(m,1)==b'x';os.ttyname(s)"),
    ("a named pipe", "import os;p=os.environ['TMPDIR']+'/f';os.mkfifo(p);os.unlink(p)"),
    ("a temporary file", "import tempfile;tempfile.NamedTemporaryFile().write(b'x')"),
    ("signals among its own", "import subprocess;p=subprocess.Popen(['sleep','9']);p.kill();assert p.wait()==-9"),
    ("reading elsewhere", "import os;assert open(os.environ['OUT']+'/canary.txt').read()=='canary'"),
    ("its own files of /proc", "open('/proc/self/environ').read();open('/proc/self/maps').read()"),
    ("devices", "open('/dev/null','w').write('x');assert open('/dev/urandom','rb').read(1);open('/dev/zero','rb')"),
    ("its own limits", "import resource;resource.setrlimit(4,(0,0))"),
    ("a stack of memory", "b=bytearray(64<<20);b[-1]=1"),
]


BOXES = {"workspace-write": {}, "read-only": {"writable": ()}, "without a mount view": {"without": ["view"]}}
NEEDS_VIEW = {"shared memory", "a lock between processes"}
"""/dev/shm can be written where it is the command's own."""


@pytest.fixture(scope="module")
def worked(here):
    told = {}

    def worked(box, name):
        if box not in told:
            told[box] = dict(zip(dict(ORDINARY), here.each(dict(ORDINARY).values(), **BOXES[box]), strict=True))
        return told[box][name]

    return worked


@pytest.mark.parametrize("name", dict(ORDINARY))
@pytest.mark.parametrize("box", BOXES)
def test_ordinary_work_goes_on_inside(here, worked, box, name):
    if name in NEEDS_VIEW and (box == "without a mount view" or not here.layers.mount_view):
        pytest.skip("/dev/shm is everybody's without a mount view")
    assert worked(box, name) == (0, "")


def test_the_workspace_can_be_written_and_only_in_a_writing_box(here):
    script = "echo x > new && mkdir -p d/e && mv new d/e/n && ln d/e/n d/k && ln -s n d/e/s && chmod 600 d/k && rm -r d"
    assert here.shell(script).code == 0
    assert here.shell(script, writable=()).code != 0
    assert here.shell("rm in.txt", writable=()).code != 0
    assert (here.ws / "in.txt").exists()


def test_with_network_tcp_and_udp_work_and_local_services_stay_shut(here):
    tries = {
        "socket.create_connection(('127.0.0.1',int(E['PORT'])),2)": True,
        "socket.create_server(('127.0.0.1',0))": True,
        "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x',('127.0.0.1',9))": True,
        "socket.getaddrinfo('localhost',80)": True,
        "socket.socket(16,3,0)": True,
        "socket.socketpair()": True,
        "socket.socket(1).connect(E['OUT']+'/sock')": False,
        "socket.socket(1).connect('\\0'+E['ABS'])": False,
        "socket.socketpair(1,2)": False,
        "socket.socket(2,3,1)": False,
        "socket.socket(2,1,262)": False,
        "socket.socket(40,1)": False,
    }
    script = C + "r={}\n"
    for line in tries:
        script += f"try:\n {line};r[{line!r}]=True\nexcept OSError: r[{line!r}]=False\n"
    done = here.python(script + "import json;print(json.dumps(r))", network=True)
    assert done.err == ""
    assert json.loads(done.out) == tries


def test_nothing_is_inherited_but_the_three_streams(here):
    done = here.python("import os;print(sorted(map(int,os.listdir('/proc/self/fd')))[:-1])")
    assert done.out.strip() == "[0, 1, 2]"


def test_the_command_has_no_privileges_and_can_get_none(here):
    done = here.shell("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
    values = dict(line.split(":\t") for line in done.out.splitlines())
    wanted = {"CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapAmb": 0, "NoNewPrivs": 1, "Seccomp": 2}
    assert {name: int(values[name], 16) for name in wanted} == wanted
    if here.user == "root" or here.layers.mount_view:
        assert int(values["CapBnd"], 16) == 0
        # PR_GET_SECUREBITS: no user id gives capabilities, none is kept or raised, and all of that is locked.
        assert here.python(C + "print(bin(L.prctl(27,0,0,0,0)))").out == "0b11101111\n"


def test_the_environment_and_signals_are_as_they_were_given(here):
    done = here.shell("env | sort; grep SigIgn /proc/self/status", env={"ODD": "a=b\nc", "LC_ALL": "C"})
    assert "LC_CTYPE" not in done.out
    assert "ODD=a=b\n" in done.out
    assert "\nc\n" in done.out
    name, ignored = done.out.splitlines()[-1].split()
    assert name == "SigIgn:"
    # As this process has them from who started it, but for two that Python ignores for itself. Those above 31 are the
    # C library's; no program can set them.
    own = sum(1 << number - 1 for number in range(1, 32) if signal.getsignal(number) == signal.SIG_IGN)
    pythons = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    assert int(ignored, 16) & (1 << 31) - 1 == own & ~pythons


def test_it_is_really_in_the_folder_it_was_started_in(here):
    done = here.shell("pwd; echo x > ../made; cat ../made; rm ../made", cwd=here.ws / "sub")
    assert (done.code, done.out) == (0, f"{here.ws}/sub\nx\n")


def test_shared_memory_and_terminals_are_its_own(with_view):
    master, slave = os.openpty()
    try:
        name = os.ttyname(slave)
        done = with_view.python(
            "import os,pty\nopen('/dev/shm/nht-mine','w').close()\n"
            f"assert not os.path.exists({name!r}), 'the terminal of another'\nm,s=pty.openpty();print(os.ttyname(s))"
        )
    finally:
        os.close(master)
        os.close(slave)
    assert (done.code, done.err) == (0, "")
    assert done.out == "/dev/pts/0\n"
    assert not Path("/dev/shm/nht-mine").exists()


def test_a_protected_link_can_neither_be_replaced_nor_written_through(with_view):
    here = with_view
    (here.ws / "sub/real").mkdir(exist_ok=True)
    (here.ws / "sub/real/file").write_text("kept")
    (here.ws / "link").symlink_to("sub/real/file")
    if here.user == "nobody":
        for path in (here.ws / "sub/real", here.ws / "sub/real/file"):
            os.chown(path, 65534, 65534)
        os.chown(here.ws / "link", 65534, 65534, follow_symlinks=False)
    for attack in (
        "echo x > link",
        "rm link",
        "mv link l2",
        "ln -sf /dev/null link",
        "echo x > sub/real/file",
        "mv sub/real sub/r2",
        "mv sub s2",
        "rm -f sub/real/file",
    ):
        assert here.shell(attack, read_only=(here.ws / "link",)).code != 0, attack
    seen = here.shell("cat link; readlink link; echo x > sub/free; rm sub/free", read_only=(here.ws / "link",))
    assert (seen.code, seen.out) == (0, "keptsub/real/file\n")
    (here.ws / "link").unlink()


def test_an_absent_place_stays_absent_and_words_say_so(with_view):
    place = with_view.ws / "sub/.git"
    done = with_view.shell("mkdir sub/.git/hooks", read_only=(place,))
    assert "Read-only file system" in done.err
    assert with_view.shell("echo x > sub/.git", read_only=(place,)).code != 0
    assert with_view.shell("rmdir sub/.git", read_only=(place,)).code != 0
    assert with_view.shell("mv sub s2", read_only=(place,)).code != 0
    assert not place.exists()
    assert with_view.shell("mkdir sub/.git && rmdir sub/.git").code == 0


def test_a_hidden_file_outside_is_kept_with_and_without_a_mount_view(here):
    script = "import os;open(os.environ['OUT']+'/canary.txt').read()"
    for without in (["view"], []):
        if without or here.layers.mount_view:
            assert here.python(script, hidden=(here.out / "canary.txt",), without=without).code != 0
    assert here.python(script, without=["view"]).code == 0


@pytest.mark.parametrize("meanwhile", ["moved", "replaced", "folder moved", "in place"])
def test_what_was_moved_since_it_was_looked_for_means_that_nothing_runs(with_view, meanwhile):
    secret = with_view.ws / "sub/.env"
    secret.write_text("KEY=secret")
    inodes = {secret: secret.stat().st_ino}
    if meanwhile == "moved":
        secret.rename(with_view.ws / "sub/plain")
    elif meanwhile == "replaced":
        secret.rename(with_view.ws / "sub/plain")
        secret.write_text("decoy")
    elif meanwhile == "folder moved":
        (with_view.ws / "sub").rename(with_view.ws / "other")
    try:
        done = with_view.shell("cat */plain */.env; touch ran", hidden=(secret,), inodes=inodes)
        assert "secret" not in done.out
        assert (done.refused == "sandbox_mounts") == (meanwhile != "in place"), done
        assert (with_view.ws / "ran").exists() == (meanwhile == "in place"), done
    finally:
        if meanwhile == "folder moved":
            (with_view.ws / "other").rename(with_view.ws / "sub")
        for name in ("sub/.env", "sub/plain", "ran"):
            (with_view.ws / name).unlink(missing_ok=True)


def test_metadata_is_kept_in_a_read_only_box_without_a_mount_view(here):
    by_handle = "os.utime(os.open(p,0),(1,1))"
    for line in ("os.chmod(p,0o644)", "os.utime(p,(1,1))", "os.chown(p,os.getuid(),-1)", by_handle):
        script = f"import os;p=os.environ['OUT']+'/canary.txt';{line}"
        assert here.python(script, without=["view"], writable=()).code != 0, line
        assert here.python(script, without=["view", "seccomp"], writable=()).code == 0, line


@pytest.mark.parametrize(
    ("edit", "layer"),
    [
        (("_CREATE_RULESET, attributes", "999, attributes"), "landlock"),
        (("_ADD_RULE, ruleset", "999, ruleset"), "landlock"),
        (("_RESTRICT_SELF, ruleset", "999, ruleset"), "landlock"),
        (("_SET_SECCOMP, _FILTER", "9999, _FILTER"), "seccomp"),
        (("_NO_NEW_PRIVS, 1", "9999, 1"), "privileges"),
        (("_CLOSE_RANGE, first", "999, first"), "descriptors"),
        (('_filter_calls(plan["filter"])', "raise RuntimeError"), "seccomp"),
    ],
)
def test_when_a_wall_cannot_be_built_nothing_runs(here, edit, layer):
    done = here.shell("echo ran > ran; echo ran", edit=edit)
    assert (done.code, done.out, done.refused) == (126, "", f"sandbox_{layer}")
    assert not (here.ws / "ran").exists()


def test_when_the_view_was_promised_and_cannot_be_built_nothing_runs(with_view):
    done = with_view.shell("echo ran", edit=("_MOUNT_SETATTR, fd", "999, fd"))
    assert (done.code, done.out, done.refused) == (126, "", "sandbox_mounts")


def test_a_group_that_cannot_be_joined_is_a_refusal(here):
    done = here.shell("echo ran", cgroups=(here.out / "no-such-group",))
    assert (done.code, done.out, done.refused) == (126, "", "sandbox_cgroup")


def test_a_launcher_that_ends_without_a_word_is_a_refusal(here):
    done = here.shell("echo ran", edit=("import marshal\n", "import no_such_module\n"))
    assert (done.out, done.refused) == ("", "sandbox_launcher")


def test_a_command_s_own_126_is_none(here):
    assert (here.shell("exit 126").refused, here.shell("exit 126").code) == ("", 126)


def test_a_program_that_is_not_there_is_told_as_such(here):
    done = here.run(("no-such-program",), "")
    assert (done.code, done.out) == (127, "")
    assert "No such file" in done.refused
    done = here.run((str(here.ws / "in.txt"),), "")
    assert done.code == 126
    assert "Permission denied" in done.refused


def test_a_bare_name_is_found_in_the_command_s_own_path(here):
    assert here.run(("true",), "").code == 0


def test_files_and_memory_are_bounded(here):
    assert here.python("open('big','wb').truncate(2<<20)", max_file=1 << 20).code != 0
    assert here.python("bytearray(1<<30)", max_memory=256 << 20).code != 0
    assert here.shell("ulimit -H -c").out == "0\n"  # the soft one may be 0 already


def test_a_launcher_whose_agent_has_gone_starts_nothing(here):
    # The plan names another parent than the one that is there.
    done = here.shell("echo ran", edit=("os.getppid() != parent", "True"))
    assert (done.code, done.out) == (126, "")


_AGENT = """
import subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from agent_core.sandbox.launch import prepare
from agent_core.sandbox.policy import SandboxPolicy
folder = Path(sys.argv[2])
it = prepare(["/bin/sh", "-c", "echo $$; exec sleep 60"], folder, SandboxPolicy((folder,), folder))
done = subprocess.Popen(it.argv, pass_fds=it.pass_fds, cwd=folder, start_new_session=True)
done.wait()
"""


def test_the_command_ends_with_an_agent_that_is_killed(here, tmp_path):
    agent = subprocess.Popen(
        [sys.executable, "-c", _AGENT, Path(__file__).parents[2], os.path.realpath(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    command = int(agent.stdout.readline())
    agent.kill()
    agent.wait()
    agent.stdout.close()
    deadline = time.monotonic() + 20
    while _lives(command) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _lives(command)


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_many_hidden_files_are_no_burden(with_view):
    here = with_view
    folder = here.ws / "many"
    folder.mkdir()
    hidden = tuple(folder / f"{number}.pem" for number in range(300))
    for path in hidden:
        path.write_text("key")
    done = here.shell("cat many/*.pem; ls many | wc -l", hidden=(*hidden, folder / "gone.pem"))
    assert (done.refused, done.out) == ("", "300\n")
    shutil.rmtree(folder)


def test_what_is_hidden_leads_nowhere_by_links_of_any_kind(with_view):
    here = with_view
    (here.ws / "token").write_text("key")
    (here.ws / "alias").symlink_to("token")
    script = "cat alias; ln token t2; cat t2; cp token t3; cat t3; cat /proc/self/cwd/token; echo x > token; rm token"
    done = here.shell(script, hidden=(here.ws / "alias", here.ws / "token"))
    assert done.out == ""
    assert (here.ws / "token").read_text() == "key"


def test_nothing_is_stored_in_what_covers_a_hidden_place(with_view):
    here = with_view
    (here.ws / "covered").mkdir()
    (here.ws / "covered.key").write_text("key")
    if here.user == "nobody":
        for path in (here.ws / "covered", here.ws / "covered.key"):
            os.chown(path, 65534, 65534)
    script = "for p in covered.key covered; do chmod 700 $p; echo $?; done 2>&1 | grep -c Read-only"
    done = here.shell(script, hidden=(here.ws / "covered", here.ws / "covered.key"))
    assert done.out == "2\n"


def test_inside_its_own_walls_the_program_finds_what_it_can_still_build(here):
    if here.user == "nobody":
        pytest.skip("the program may lie where nobody cannot read it")
    script = f"""
import sys,subprocess,os
from pathlib import Path
sys.path.insert(0,{str(Path(__file__).parents[2])!r})
from agent_core.sandbox.launch import prepare
from agent_core.sandbox.probe import layers
from agent_core.sandbox.policy import SandboxPolicy
t=Path(os.environ['TMPDIR'])
with prepare(['/bin/sh','-c','echo inner; echo x > '+os.environ['WS']+'/inner'],t,SandboxPolicy((),t)) as it:
    d=subprocess.run(it.argv,pass_fds=it.pass_fds,capture_output=True,text=True)
print(layers().can_confine, layers().view_by, layers().view_error, d.stdout)
"""
    done = here.python(script)
    assert done.err == ""
    assert done.out.startswith("True  ")
    assert "unshare: Operation not permitted" in done.out
    assert "inner" in done.out
    assert not (here.ws / "inner").exists()


def test_root_without_the_right_to_mount_takes_the_user_s_way(here):
    if here.user != "root":
        pytest.skip("for root")
    found = replace(here.layers, view_by="user")
    free, kept = "echo x > x && rm x", "chmod 600 $OUT/canary.txt"
    try:
        here.layers, before = found, here.layers
        assert here.shell(free).code == 0
        assert "Read-only file system" in here.shell(kept).err
    finally:
        here.layers = before


def test_git_looks_past_a_name_that_is_kept_free(with_view):
    git = shutil.which("git", path="/usr/bin:/bin")
    if git is None:
        pytest.skip("git is not installed where everybody finds it")
    here = with_view
    asked = "cd sub && git init -q .. && cd inner && git rev-parse --show-toplevel && git status --short"
    (here.ws / "sub/outer/sub/inner").mkdir(parents=True)
    if here.user == "nobody":
        for path in (here.ws / "sub/outer", *(here.ws / "sub/outer").rglob("*")):
            os.chown(path, 65534, 65534)
    root = here.ws / "sub/outer"
    done = here.shell(asked, cwd=root, writable=(root,), read_only=(root / "sub/inner/.git", root / "sub/inner/.envrc"))
    assert (done.out, done.err) == (f"{root}\n", "")
    refused = here.shell("git init -q sub/inner", cwd=root, writable=(root,), read_only=(root / "sub/inner/.git",))
    assert refused.code != 0
    assert "Read-only file system" in refused.err
    shutil.rmtree(root)


@pytest.mark.parametrize("abi", [3, 4, 5, 6, 7, 99])
def test_what_an_older_kernel_knows_is_enough_and_a_newer_one_takes_it_too(here, abi):
    found = here.layers.landlock_abi
    if found < abi < 99:
        pytest.skip(f"this kernel has Landlock ABI {found}")
    before = here.layers
    try:
        here.layers = replace(before, landlock_abi=abi)
        assert here.shell("echo x > x && rm x", without=["view"]).code == 0
        assert here.shell("echo x > $OUT/canary.txt", without=["view"]).code != 0
        assert here.python("import os;os.truncate(os.environ['OUT']+'/canary.txt',0)", without=["view"]).code != 0
    finally:
        here.layers = before
    assert (here.out / "canary.txt").read_text() == "canary"
