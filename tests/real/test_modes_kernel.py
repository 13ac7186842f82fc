"""What the kernel keeps commands from in each mode: real commands in the real sandbox, asked for by a played model."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from agent_core import events, intents
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.sandbox.probe import layers
from tests.fakes.model_server import ModelServer, Reply

LACKS = "" if layers().can_confine else f"the kernel here cannot confine commands: {layers().why}"
pytestmark = pytest.mark.skipif(bool(LACKS), reason=LACKS)
ENV = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}


class Table:
    """One session of a real program with a server that plays the model; each call of the script is one step."""

    def __init__(self, tmp_path: Path, workspace: Path, *commands, mode="ask", unattended=True, **overrides):
        calls = [Reply(calls=[("run_command", given if isinstance(given, dict) else {"command": given})])
                 for given in commands]  # fmt: skip
        done = [Reply(calls=[("goal_done", {"evidence": "it was run"})])] if mode == "goal" else []
        self.server = ModelServer([*calls, *done, Reply(text="done")])
        env = ENV | {"HOME": str(tmp_path / "user"), "NANOHERMES_HOME": str(tmp_path / "own")}
        env |= {"NANOHERMES_BASE_URL": self.server.base_url, "NANOHERMES_MODEL": "test-model"}
        (tmp_path / "user").mkdir(exist_ok=True)
        self.host = Host(Launch(workspace, env, overrides, unattended=unattended, mode=mode))
        self.session = self.host.new()
        self.seen: list[events.Event] = []

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *error):
        self.host.close()
        self.server.__exit__(*error)

    def wait(self, kind, seconds=60.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.seen += [e.event for e in self.session.mailbox.drain()]
            for event in self.seen:
                if isinstance(event, kind):
                    return event
            time.sleep(0.02)
        raise AssertionError(f"no {kind.__name__} in {[type(e).__name__ for e in self.seen]}")

    def results(self, text="go"):
        """What the model was given for each command."""
        self.session.send(intents.Submit(text))
        assert self.wait(events.TurnFinished).outcome == "completed", self.seen
        assert self.server.violations == []
        return [e.text for e in self.seen if isinstance(e, events.ToolFinished) and e.name == "run_command"]


@pytest.fixture
def repository(workspace):
    for command in (["init", "-q"], ["config", "user.email", "a@example.com"], ["config", "user.name", "a"]):
        subprocess.run(["git", "-C", workspace, *command], check=True, timeout=30)
    (workspace / "a.txt").write_text("one\n")
    subprocess.run(["git", "-C", workspace, "add", "a.txt"], check=True, timeout=30)
    return workspace


def test_a_tracked_file_that_is_hidden_counts_as_unchanged_to_git(tmp_path, repository):
    if not layers().mount_view:
        pytest.skip("nothing is hidden without a mount view")
    secret = repository / ".env"
    secret.write_text("KEY=of-the-shop\n")
    os.utime(secret, (time.time() - 60, time.time() - 60))  # git trusts no time as new as its index
    subprocess.run(["git", "-C", repository, "add", "-f", ".env"], check=True, timeout=30)
    script = "git commit -qm 1 && echo two >> a.txt && git commit -qam 2 && git status --porcelain && cat .env"
    with Table(tmp_path, repository, script, mode="auto") as table:
        (said,) = table.results()
    assert ".env: Permission denied" in said
    assert " M .env" not in said
    done = subprocess.run(
        ["git", "-C", repository, "show", "--format=", "--name-only"], check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == ["a.txt"], said


def state(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


WRITERS = (
    "echo x > f",
    """python3 -c 'open("g", "w").write("x")'""",
    "git commit -q -m x",
    "touch a.txt && rm a.txt",
)


@pytest.mark.parametrize("policy", ["untrusted", "never"])
def test_in_plan_mode_no_command_changes_the_disk_and_the_model_is_told_why(tmp_path, repository, policy):
    before = state(repository)
    needy = {"command": "echo x > f", "needs": "write"}
    with Table(tmp_path, repository, *WRITERS, needy, "cat a.txt", mode="plan", **{"approvals.policy": policy}) as t:
        *refused, read = t.results()
    assert state(repository) == before
    assert all("plan mode" in text and "exit_plan" in text for text in refused)
    assert "one" in read


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_in_plan_mode_it_is_the_kernel_that_keeps_a_trusted_command_to_reading(tmp_path, repository, monkeypatch):
    # As if the judgement of texts had a hole: whatever is trusted still cannot write.
    from agent_core.safety.shell_trust import TrustContext, is_trusted_command
    from agent_core.tools import consent

    fooled = type(is_trusted_command("ls", TrustContext(repository, "/bin", repository, True)))(True, "fooled")
    monkeypatch.setattr(consent, "is_trusted_command", lambda command, context: fooled)
    before = state(repository)
    with Table(tmp_path, repository, *WRITERS, mode="plan", **{"approvals.policy": "never"}) as t:
        results = t.results()
    assert state(repository) == before
    assert all("exit code 0" not in text.split("\n")[0] for text in results)
    assert all("(read-only, no network)" in text and "Put what needs more into the plan" in text for text in results)


def test_debug_mode_runs_commands_that_write_nothing(tmp_path, workspace):
    (workspace / "a.py").write_text("print(6 * 7)\n")
    scratch = 'f=$(mktemp) && echo x > "$f" && cat "$f"'
    with Table(tmp_path, workspace, "python3 a.py", "echo x > f", scratch, mode="debug", unattended=False) as t:
        ran, kept, own = t.results()
    assert "42" in ran
    assert 'needs="write"' in kept
    assert "exit code 0" in own
    assert not (workspace / "f").exists()


@pytest.mark.parametrize("mode", ["auto", "goal"])
def test_alone_in_the_sandbox_the_workspace_can_be_written_and_nothing_else(tmp_path, workspace, mode):
    outside = tmp_path / "outside"
    outside.mkdir()
    commands = ("echo x > f", f"echo x > {outside}/f", f"mkdir {outside}/g")
    with Table(tmp_path, workspace, *commands, mode=mode, unattended=False) as t:
        inside, *kept = t.results()
    assert "exit code 0" in inside
    assert (workspace / "f").read_text() == "x\n"
    assert list(outside.iterdir()) == []
    assert all('needs="everything"' in text for text in kept)


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.0)
        yield server


def was_called(listener):
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def connecting(workspace, listener):
    """A command that calls the listener."""
    (workspace / "call.py").write_text(
        "import socket, sys\n"
        'socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)\n'
        'print("through")\n'
    )  # fmt: skip
    return f"python3 call.py {listener.getsockname()[1]}"


def test_the_network_is_off_and_asking_for_it_is_refused_where_nobody_can_be_asked(tmp_path, workspace, listener):
    command = connecting(workspace, listener)
    with Table(tmp_path, workspace, command, {"command": command, "needs": "network"}, mode="auto") as t:
        kept, refused = t.results()
    assert "no network" in kept
    assert "Nobody can be asked for more" in kept
    assert "leaves the sandbox" in refused
    assert not was_called(listener)


def test_the_network_is_on_for_the_one_command_that_a_person_allows(tmp_path, workspace, listener):
    command = connecting(workspace, listener)
    asked = {"command": command, "needs": "network"}
    with Table(tmp_path, workspace, asked, command, mode="auto", unattended=False) as t:
        t.session.send(intents.Submit("go"))
        question = t.wait(events.QuestionAsked).question
        assert (question.rule, question.sandbox) == ("leaves the sandbox", "workspace-write, network")
        t.session.send(intents.Answer(question.id, "once"))
        t.wait(events.TurnFinished)
        through, kept = [e.text for e in t.seen if isinstance(e, events.ToolFinished)]
    assert "through" in through
    assert 'needs="network"' in kept
    assert was_called(listener)
    assert not was_called(listener)


def test_the_record_says_what_ran_where_and_who_let_it(tmp_path, workspace):
    with Table(tmp_path, workspace, "ls", "echo x > f", "rm -r /tmp/none", mode="auto") as t:
        t.results()
        rows = [entry.decided for entry in reversed(t.host.store.audit.list(t.session.id))]
    assert [(d.what, d.verdict, d.by, d.sandbox) for d in rows if d.kind == "command"] == [
        ("ls", "allow", "rules", "read-only"),
        ("echo x > f", "allow", "rules", "workspace-write"),
        ("rm -r /tmp/none", "refuse", "unattended", "workspace-write"),
    ]


def test_in_every_mode_the_model_is_told_of_it_in_a_request_that_stays_small(tmp_path, workspace):
    from agent_core import limits

    for mode in ("ask", "plan", "debug", "auto", "goal"):
        with Table(tmp_path, workspace, mode=mode) as t:
            t.results()
        first = t.server.requests[0]
        size = len(json.dumps({"s": first["messages"][0], "t": first["tools"]}, ensure_ascii=False).encode())
        assert size <= limits.FIRST_REQUEST
        assert f"Mode {mode}:" in first["messages"][0]["content"]
