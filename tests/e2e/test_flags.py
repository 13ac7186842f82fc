"""The flags of the command line: what each sets, which do not go together, what they do to a run."""

import json
import subprocess
import sys
import time

import pytest

from agent_core import names
from agent_core.config.load import check_setting, load
from agent_core.config.paths import find_places, profile_home
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.sandbox.probe import layers
from nanoherm_tui import cli, subcommands
from tests.e2e import warm
from tests.e2e.test_headless import command, environment, run
from tests.fakes.model_server import ModelServer, Reply


def overrides(*arguments):
    return cli._overrides(cli.parser().parse_args(arguments))


SETS = {
    ("-m", "a/b"): {"model.default": "a/b"},
    ("--base-url", "http://x/v1"): {"model.base_url": "http://x/v1"},
    ("--api-key-env", "MY_KEY"): {"model.api_key_env": "MY_KEY"},
    ("--fallback-model", "c/d"): {"fallback_model": "c/d"},
    ("--thinking",): {"agent.reasoning_effort": "medium"},
    ("--no-stream",): {"stream.enabled": False},
    ("--max-retries", "0"): {"retry.max_attempts": 1},
    ("--max-retries", "3"): {"retry.max_attempts": 4},
    ("--retry-base-ms", "250"): {"retry.base_ms": 250},
    ("--max-turns", "7"): {"agent.max_turns": 7},
    ("--max-iterations", "7"): {"agent.max_turns": 7},
    ("--no-agents-md",): {"context_files.enabled": False},
    ("--approval", "never"): {"approvals.policy": "never"},
    ("--sandbox", "read-only"): {"sandbox.mode": "read-only"},
    ("--sandbox", "workspace-write"): {"sandbox.mode": "workspace-write"},
    ("--sandbox", "danger-full-access"): {"sandbox.mode": "danger-full-access"},
    ("--sandbox", "off"): {"sandbox.mode": "danger-full-access"},
    ("--yolo",): {"approvals.policy": "never", "sandbox.mode": "danger-full-access"},
    ("--yolo", "--mode", "goal"): {"approvals.policy": "never", "sandbox.mode": "danger-full-access"},
    ("--debug",): {"logging.level": "debug"},
    ("--set", "sandbox.network=true"): {"sandbox.network": "true"},
}


@pytest.mark.parametrize("arguments", SETS, ids=" ".join)
def test_a_flag_sets_a_key_that_there_is(tmp_path, arguments):
    assert overrides(*arguments) == SETS[arguments]
    host = Host(Launch(tmp_path, {"HOME": str(tmp_path / "home")}, SETS[arguments], demo=True))
    host.close()


@pytest.mark.parametrize("written", ["off", "OFF", "danger-full-access"])
def test_off_is_another_name_of_full_access_in_the_config_too(tmp_path, written):
    home = tmp_path / "home" / ".nanohermes"
    home.mkdir(parents=True)
    (home / "config.yaml").write_text(f"sandbox:\n  mode: {written}\n")
    config = load(find_places(tmp_path, {"HOME": str(home.parent)}), {})
    assert config.get("sandbox.mode") == "danger-full-access"
    assert config.warnings == ()
    assert check_setting("sandbox.mode", written) == "danger-full-access"


def test_other_names_of_a_flag_are_the_same():
    parse = cli.parser().parse_args
    assert parse(["-q", "x"]).headless is True
    assert parse(["-p", "x", "--json"]).output_format == parse(["-p", "x", "--output-format", "json"]).output_format
    assert parse(["x"]).output_format == "text"


REFUSED = [
    (["--yolo", "--sandbox", "read-only"], "does not go with --sandbox"),
    (["--yolo", "--sandbox", "off"], "does not go with --sandbox"),
    (["--yolo", "--approval", "always"], "does not go with --approval"),
    (["--yolo", "--mode", "plan"], "does not go with --mode plan"),
    (["--yolo", "--set", "sandbox.mode=read-only"], "does not go with --set sandbox.mode"),
    (["--mode", "fast"], "invalid choice: 'fast'"),
    (["--sandbox", "none"], "invalid choice: 'none'"),
    (["--add-dir", "no/such"], "no such folder"),
    (["--hooks", "no/such"], "no such file"),
    (["--profile", "../other"], "letters, digits"),
    (["--profile", ""], "letters, digits"),
    (["--profile", ".hidden"], "letters, digits"),
    (["--max-retries", "-1"], "0 or more"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=[" ".join(row[0]) for row in REFUSED])
def test_what_cannot_be_is_refused_before_anything_starts(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NANOHERMES_HOME", str(tmp_path / "home" / ".nanohermes"))
    try:
        code = cli.main(["-p", "x", *arguments])
    except SystemExit as stop:
        code = stop.code
    assert code == names.EXIT_USAGE
    assert words in capsys.readouterr().err
    assert not (tmp_path / "home" / ".nanohermes").exists()


def test_help_names_every_flag_and_command_and_comes_at_once(home, workspace):
    spent = []
    for _ in range(3):
        began = time.monotonic()
        done = run(home, workspace, "--help")
        spent.append(time.monotonic() - began)
    assert done.returncode == 0
    for word in (*names.MODES, *names.SANDBOX_MODES, "--yolo", "--add-dir", "--profile", *subcommands.NAMES):
        assert word in done.stdout
    assert min(spent) < 0.6  # 30 ms on a calm machine


# -- folders and profiles -----------------------------------------------------------------------------------------


def test_added_folders_stand_beside_the_configured_ones(tmp_path):
    home = tmp_path / "home"
    (home / ".nanohermes").mkdir(parents=True, exist_ok=True)
    (home / ".nanohermes" / "config.yaml").write_text("sandbox:\n  add_dirs: [/configured]\n")
    host = Host(Launch(tmp_path, {"HOME": str(home)}, {}, demo=True, add_dirs=(tmp_path / "other",)))
    try:
        assert host.config.get("sandbox.add_dirs") == ["/configured", str(tmp_path / "other")]
        host.save_settings({"display.theme": "ansi"})
        assert host.config.get("sandbox.add_dirs") == ["/configured", str(tmp_path / "other")]
        assert "other" not in host.places.config_file.read_text()
    finally:
        host.close()


def test_a_file_in_an_added_folder_is_written_by_flag_alone(home, workspace, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    calls = [("write_file", {"path": str(other / "a.txt"), "content": "x\n"})]
    for number, flags in enumerate(([], ["--add-dir", "../other"])):
        with ModelServer([Reply(calls=calls), Reply(text="done")]) as server:
            run(home, workspace, "-p", "go", "--approval", "never", *flags, server=server)
        assert (other / "a.txt").exists() == bool(number)


def test_a_profile_has_a_home_of_its_own_and_says_when_it_is_new(home, workspace):
    with ModelServer([Reply(text="ok")]) as server:
        first = run(home, workspace, "--profile", "work", "-p", "in the profile", server=server)
        again = run(home, workspace, "-p", "again", "--profile=work", server=server)
        run(home, workspace, "-p", "outside", server=server)
    assert "profile work is new" in first.stderr
    assert again.stderr == ""
    folder = home / ".nanohermes" / "profiles" / "work"
    assert (folder / "state.db").exists()
    assert (folder / "logs").is_dir()
    listed = run(home, workspace, "--profile", "work", "sessions", "list", "--json").stdout
    outside = run(home, workspace, "sessions", "list", "--json").stdout
    assert "in the profile" in listed
    assert "in the profile" not in outside
    assert "outside" in outside
    assert "outside" not in listed


def test_within_a_profile_another_one_stands_beside_it(tmp_path):
    env = {"HOME": str(tmp_path)}
    one = profile_home("one", tmp_path, env)
    assert one == tmp_path / ".nanohermes" / "profiles" / "one"
    assert profile_home("two", tmp_path, {**env, "NANOHERMES_HOME": str(one)}) == one.with_name("two")


# -- modes without a screen ---------------------------------------------------------------------------------------

BARE = """
import sys
from agent_core.session.services import Containment
from agent_core.desk.walls import WallsDesk
real = WallsDesk.containment
def bare(walls):
    now = real(walls)
    return Containment(now.sandbox, accepted=now.accepted)
WallsDesk.containment = bare
from nanoherm_tui.cli import main
sys.exit(main(sys.argv[1:]))
"""
"""The program on a machine whose kernel confines nothing."""


def run_bare(home, workspace, *arguments, server=None):
    return warm.run([sys.executable, "-c", BARE, *arguments], cwd=workspace, env=environment(home, server))


@pytest.mark.parametrize("mode", ["auto", "goal"])
def test_a_mode_that_acts_alone_is_refused_without_a_sandbox(home, workspace, mode):
    with ModelServer([Reply(text="x")]) as server:
        done = run_bare(home, workspace, "-p", "go", "--mode", mode, server=server)
    assert done.returncode == names.EXIT_CONFIG
    assert f"Mode {mode} needs the kernel sandbox" in done.stderr
    assert "--yolo" in done.stderr
    assert server.requests == []


def test_yolo_runs_what_nothing_confines_but_not_what_is_never_run(home, workspace, tmp_path):
    outside = tmp_path / "outside.txt"
    calls = [("run_command", {"command": f"echo x > {outside}"}), ("run_command", {"command": "rm -rf /"}),
             ("run_command", {"command": "echo forbidden > b.txt"})]  # fmt: skip
    with ModelServer([Reply(calls=calls), Reply(text="done")]) as server:
        done = run_bare(home, workspace, "-p", "go", "--yolo", "--set", "approvals.deny=[echo forbidden*]",
                        server=server)  # fmt: skip
    results = [m["content"] for m in server.requests[1]["messages"] if m["role"] == "tool"]
    assert done.returncode == 0, done.stderr
    assert outside.read_text() == "x\n"
    assert results[1].startswith("Refused")
    assert results[2].startswith("Refused")
    assert not (workspace / "b.txt").exists()


def test_a_resumed_session_goes_into_the_mode_of_the_command_line(home, workspace):
    write = Reply(calls=[("write_file", {"path": "a.txt", "content": "x"})])
    with ModelServer([Reply(text="ok"), write, Reply(text="ok")]) as server:
        run(home, workspace, "-p", "one", "--approval", "never", server=server)
        done = run(home, workspace, "-c", "-p", "two", "--mode", "plan", "--approval", "never", server=server)
    assert done.returncode == 0
    assert not (workspace / "a.txt").exists()
    assert "plan mode" in server.requests[-1]["messages"][-1]["content"]


def test_the_goal_of_a_run_is_what_is_said(home, workspace):
    replies = [Reply(text="Not yet."), Reply(calls=[("goal_done", {"evidence": "all six tests pass: exit 0"})]),
               Reply(text="Reached.")]  # fmt: skip
    with ModelServer(replies) as server:
        done = run(home, workspace, "-p", "make it green", "--mode", "goal", "--yolo", "--output-format", "stream-json",
                   server=server)  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    goals = [line for line in lines if line["type"] == "goal_changed"]
    assert done.returncode == 0, done.stderr
    assert [(goal["text"], goal["state"]) for goal in goals] == [
        ("make it green", "open"),
        ("make it green", "reached"),
    ]


def test_a_command_is_named_in_the_usage(home, workspace):
    assert subprocess.run(command("-h"), capture_output=True, text=True, check=True).stdout.startswith("usage:")


@pytest.mark.skipif(not layers().can_confine, reason=f"this kernel confines nothing: {layers().why}")
def test_unattended_mode_auto_runs_what_the_sandbox_contains_and_refuses_the_rest(home, workspace):
    calls = [
        ("write_file", {"path": "a.txt", "content": "a\n"}),
        ("run_command", {"command": "echo b > b.txt"}),
        ("run_command", {"command": "echo c > ../c.txt"}),
        ("run_command", {"command": "echo d > d.txt", "needs": "network"}),
    ]
    with ModelServer([Reply(calls=calls), Reply(text="done")]) as server:
        done = run(home, workspace, "-p", "go", "--mode", "auto", server=server)
    told = [m["content"] for m in server.requests[1]["messages"] if m["role"] == "tool"]
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in workspace.iterdir()) == ["a.txt", "b.txt"]
    assert not (workspace.parent / "c.txt").exists()
    assert "nobody is there" in told[3]
