"""The doctor: each check has a case in which all is well and one in which it is not, with the way out."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import trust
from agent_core.config.paths import find_places
from agent_core.doctor import files, programs, sandbox
from agent_core.doctor.check import Check, Patient, has_problem
from agent_core.doctor.examination import examine
from agent_core.grants_file import GrantsFile
from agent_core.sandbox import probe
from agent_core.sandbox.policy import UNCONFINED
from agent_core.sandbox.probe import Layers
from agent_core.store.sessions import Store
from tests.fakes.model_server import ModelServer, Reply

KEY = "sk-test-0123456789abcdefghij"
WHOLE = Layers("x86_64", 7, "", 7, True, "root", "", "v2")
BARE = Layers("x86_64", 0, "landlock_create_ruleset: ENOSYS", 0, True, "", "not tried", "")


class Ward:
    """A home, a project, and what the doctor says about them."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.data = self.home / ".nanohermes"
        self.project = folder / "project"
        for made in (self.home, self.project):
            made.mkdir()
        (self.project / ".git").mkdir()
        self.data.mkdir(mode=0o700)
        self.env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        self.more = {}

    def write(self, name: str, text: str | bytes, mode: int = 0o600) -> Path:
        file = self.data / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        file.chmod(mode)
        return file

    def project_file(self, name: str, text: str) -> Path:
        file = self.project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def patient(self, **more) -> Patient:
        given = {"online": False, "layers": lambda: BARE, **self.more, **more}
        return Patient(find_places(self.project, self.env), self.env, **given)

    def look(self, id_: str, **more) -> list[tuple[str, str, str]]:
        """(state, text, fix) of the checks with an id."""
        found = list(examine(self.patient(**more)))
        assert all((check.state in ("ok", "skip")) == (not check.fix) or check.state == "fail" for check in found), (
            found
        )
        assert not any(KEY in f"{check}" for check in found)
        return [(check.state, check.text, check.fix) for check in found if check.id == id_]


@pytest.fixture
def ward(tmp_path):
    return Ward(tmp_path)


def states(found):
    return [state for state, _, _ in found]


# -- the program ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "state"), [((3, 10, 12), "fail"), ((3, 11, 0), "ok"), ((3, 14, 1), "ok")])
def test_python_must_be_new_enough(ward, version, state):
    ((found, text, fix),) = ward.look("python", python=version)
    assert (found, bool(fix)) == (state, state == "fail")
    assert ".".join(map(str, version)) in text


@pytest.mark.parametrize(
    ("versions", "state", "words"),
    [
        ({"textual": "8.2.8", "httpx": "0.28.1"}, "ok", "All that it needs"),
        ({"textual": "8.2.9", "httpx": "0.28.1"}, "fail", "textual is 8.2.9, not 8.2.8"),
        ({"textual": "8.2.8"}, "fail", "httpx is missing"),
        (None, "skip", "from its sources"),
    ],
)
def test_packages_must_be_those_that_were_pinned(ward, monkeypatch, versions, state, words):
    def requires(name):
        if versions is None:
            raise programs.metadata.PackageNotFoundError(name)
        return ["textual==8.2.8", "httpx[socks]<0.29,>=0.28.1", "pytest>=8.3; extra == 'test'"]

    def version(name):
        if name not in versions:
            raise programs.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(programs.metadata, "requires", requires)
    monkeypatch.setattr(programs.metadata, "version", version)
    ((found, text, _),) = ward.look("packages")
    assert found == state
    assert words in text


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("name", ["git", "rg"])
@pytest.mark.parametrize(
    ("script", "state", "words"),
    [
        ("echo tool version 9.9", "ok", "tool version 9.9"),
        ("exit 3", "warn", "--version fails"),
        (None, "warn", "Not found"),
    ],
)
def test_tools_are_found_by_running_them(ward, tmp_path, name, script, state, words):
    folder = tmp_path / "bin"
    folder.mkdir()
    if script:
        program(folder, name, script)
    ward.env["PATH"] = str(folder)
    ((found, text, fix),) = ward.look(name)
    assert found == state
    assert words in text
    assert bool(fix) == (state == "warn")


def test_no_program_of_the_project_is_run_whatever_the_path_says(ward, tmp_path):
    touched = tmp_path / "touched"
    program(ward.project / "bin", "git", f"touch {touched}; echo git")
    linked = tmp_path / "linked"
    linked.symlink_to(ward.project / "bin")
    for path in (f"{ward.project}/bin", "bin", ".", str(linked), ""):
        ward.env["PATH"] = path
        ward.look("git")
    lone = tmp_path / "lone"
    lone.mkdir()
    (lone / "git").symlink_to(ward.project / "bin" / "git")
    ward.env["PATH"] = str(lone)
    ward.look("git")
    assert not touched.exists()


# -- our own files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "state"), [(0o700, "ok"), (0o750, "warn"), (0o755, "warn"), (0o777, "fail")])
def test_the_home_is_its_owners_alone(ward, mode, state):
    ward.data.chmod(mode)
    ((found, _, fix),) = ward.look("home")
    assert found == state
    assert fix == ("" if state == "ok" else "chmod 700 ~/.nanohermes")


def test_a_home_that_is_not_there_yet_is_fine_and_one_that_is_a_file_is_not(ward):
    ward.env["NANOHERMES_HOME"] = str(ward.home / "new" / "er")
    assert states(ward.look("home")) == ["ok"]
    assert not (ward.home / "new").exists()
    ward.env["NANOHERMES_HOME"] = str(ward.project_file("a-file", ""))
    assert states(ward.look("home")) == ["fail"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_home_that_cannot_be_written_is_a_problem(ward):
    ward.data.chmod(0o500)
    assert states(ward.look("home")) == ["fail"]


@pytest.mark.parametrize("name", [".env", "grants.json", "credentials.json"])
@pytest.mark.parametrize(
    ("mode", "states_"), [(0o600, ["ok"]), (0o640, ["fail"]), (0o604, ["fail"]), (0o602, ["fail"])]
)
def test_files_with_keys_are_their_owners_alone(ward, name, mode, states_):
    ward.write(name, "" if name == ".env" else '{"version": 1}', mode)
    found = ward.look("private")
    assert states(found) == states_
    if mode != 0o600:
        assert found[0][2] == f"chmod 600 ~/.nanohermes/{name}"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_a_problem(ward):
    os.chown(ward.write("credentials.json", "{}"), 65534, 65534)
    assert states(ward.look("private")) == ["fail"]


def test_grants_that_cannot_be_read_are_named(ward):
    ward.write("grants.json", '{"version": 1, \n nonsense')
    ((state, text, fix),) = ward.look("grants")
    assert state == "fail"
    assert "grants.json" in text
    assert fix


def stored(ward) -> Path:
    store = Store.open(ward.data / "state.db")
    store.create("/w")
    store.close()
    return ward.data / "state.db"


def _spoil(ward, state):
    with state.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)


def _newer(ward, state):
    with closing(sqlite3.connect(state)) as c, c:
        c.execute("PRAGMA user_version = 99")


def _foreign(ward, state):
    with closing(sqlite3.connect(state)) as c, c:
        c.execute("PRAGMA application_id = 7")


def _rollback(ward, state):
    with closing(sqlite3.connect(state)) as c, c:
        c.execute("PRAGMA journal_mode = DELETE")


def _older(ward, state):
    with closing(sqlite3.connect(state)) as c, c:
        c.execute("PRAGMA user_version = 1")


def _garbage(ward, state):
    state.write_bytes(b"no database at all" * 100)


@pytest.mark.parametrize(
    ("change", "state", "words", "fix"),
    [
        (lambda ward, state: None, "ok", "sound, schema", ""),
        (lambda ward, state: state.unlink(), "ok", "made at the first start", ""),
        (_older, "ok", "brings it up to date", ""),
        (_rollback, "warn", "journal mode delete", "Start the program once."),
        (_spoil, "fail", "", "nanoherm-tui sessions check --repair"),
        (_garbage, "fail", "cannot be read", "nanoherm-tui sessions check --repair"),
        (_foreign, "fail", "another program", "Move it away"),
        (_newer, "fail", "newer version", "Update the program."),
    ],
)
def test_the_store_is_looked_at_without_being_changed(ward, change, state, words, fix):
    file = stored(ward)
    change(ward, file)
    before = file.read_bytes() if file.exists() else None
    ((found, text, way_out),) = ward.look("store")
    assert (found, way_out.startswith(fix)) == (state, True), text
    assert words in text
    assert (file.read_bytes() if file.exists() else None) == before


def test_a_damaged_file_that_was_put_aside_is_named(ward):
    stored(ward)
    ward.write("state.db.corrupt-20300101-000000-1", b"x")
    ward.write("state.db.corrupt-20300101-000000-1-wal", b"x")
    ((state, text, fix),) = ward.look("store_aside")
    assert (state, fix) == ("warn", "nanoherm-tui sessions check --repair")
    assert "put aside" in text


def test_a_sqlite_without_full_text_search_is_a_problem(ward, monkeypatch):
    assert states(ward.look("fts5")) == ["ok"]
    real = sqlite3.connect

    class Lacking(sqlite3.Connection):
        def execute(self, sql, *values):
            return super().execute(sql.replace("fts5", "no_such_module"), *values)

    monkeypatch.setattr(files.sqlite3, "connect", lambda *a, **k: real(*a, **{**k, "factory": Lacking}))
    ((state, text, fix),) = ward.look("fts5")
    assert state == "fail"
    assert "no_such_module" in text
    assert "FTS5" in fix


# -- settings and the model -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        ("model:\n  default: m\n", "ok", "Read from ~/.nanohermes/config.yaml."),
        ("", "ok", "Nothing but defaults."),
        ("model:\n  defualt: m\n", "warn", "config.yaml:2"),
        ("agent:\n  max_turns: many\n", "warn", "config.yaml:2"),
        ("model: [unclosed\n", "fail", "config.yaml"),
    ],
)
def test_the_config_is_read_and_what_is_wrong_is_named_with_its_line(ward, text, state, words):
    ward.write("config.yaml", text)
    ((found, told, _),) = ward.look("config")
    assert found == state, told
    assert words in told


def test_keys_that_only_hermes_uses_are_listed(ward):
    ward.write("config.yaml", "voice:\n  enabled: true\nterminal:\n  docker_image: x\n")
    ((state, text, _),) = ward.look("unused")
    assert state == "ok"
    assert "voice" in text
    assert "terminal.docker_image" in text


MIXED = """\
model: moa/deep
moa:
  presets:
    deep: {aggregator: {provider: openai, model: m}, reference_models: [{provider: xai, model: a}]}
"""


@pytest.mark.parametrize(
    ("config", "env", "id_", "state", "words"),
    [
        ("", {}, "provider", "fail", "No model server is set up"),
        ("model: {provider: nonsense, default: m}", {}, "provider", "fail", "nonsense"),
        ("model: {provider: openai, default: m}", {}, "key", "fail", "OPENAI_API_KEY"),
        ("model: {provider: openai, default: m}", {"OPENAI_API_KEY": "two words"}, "key", "fail", "cannot have"),
        ("model: {provider: openai, default: m}", {"OPENAI_API_KEY": KEY}, "key", "ok", "from the environment"),
        ("model: {provider: ollama, default: m}", {}, "key", "ok", "needs none"),
        (MIXED, {"OPENAI_API_KEY": KEY, "XAI_API_KEY": KEY}, "advisers", "ok", "From xai/a (user_turn)"),
        (MIXED, {"OPENAI_API_KEY": KEY}, "advisers", "warn", "xai/a: There is no key"),
        (f"model: {{provider: openai, default: m}}\nproviders: {{openai: {{api_key: {KEY}}}}}", {}, "key", "warn",
         "stands in the config"),
    ],
)  # fmt: skip
def test_the_model_is_named_and_its_key_is_there(ward, config, env, id_, state, words):
    ward.write("config.yaml", config)
    ward.env |= env
    ((found, text, _),) = ward.look(id_)
    assert found == state, text
    assert words in text


def test_a_key_in_the_file_for_it_is_named_by_its_variable(ward):
    ward.write("config.yaml", "model: {provider: openai, default: m}")
    ward.write(".env", f"OPENAI_API_KEY={KEY}\n")
    assert ward.look("key") == [("ok", "OPENAI_API_KEY, from a .env file.", "")]


def test_a_running_program_is_looked_at_with_what_was_set_for_its_run(ward):
    assert states(ward.look("provider")) != ["ok"]
    given = {"model.base_url": "http://127.0.0.1:9/v1", "model.default": "m"}
    assert states(ward.look("provider", overrides=given)) == ["ok"]


def test_the_server_is_asked_unless_it_is_not_to_be(ward):
    with ModelServer([Reply("hi")]) as server:
        for model, state in (("test-model", "ok"), ("no-such-model", "warn")):
            ward.write("config.yaml", f"model: {{default: {model}, base_url: '{server.base_url}'}}")
            assert states(ward.look("endpoint")) == ["skip"]
            ((found, text, _),) = ward.look("endpoint", online=True)
            assert found == state, text
        assert server.requests == []  # no model was asked for an answer
    ((found, text, fix),) = ward.look("endpoint", online=True)
    assert found == "fail"
    assert "--offline" in fix


# -- what confines commands -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layers", "id_", "state", "words", "fix"),
    [
        (WHOLE, "landlock", "ok", "ABI 7", ""),
        (BARE, "landlock", "fail", "landlock_create_ruleset: ENOSYS", "Linux 6.2"),
        (replace(BARE, landlock_error="landlock_create_ruleset: EOPNOTSUPP"), "landlock", "fail", "EOPNOTSUPP", "lsm="),
        (replace(BARE, landlock_error="landlock_create_ruleset: EPERM"), "landlock", "fail", "EPERM", "container"),
        (replace(BARE, landlock_abi=2, landlock_error=""), "landlock", "fail", "ABI 2 is too old", "Linux 6.2"),
        (replace(WHOLE, landlock_abi=3), "landlock", "ok", "signals", ""),
        (WHOLE, "seccomp", "ok", "seccomp", ""),
        (replace(WHOLE, seccomp=False, arch="riscv64"), "seccomp", "fail", "riscv64", "x86_64"),
        (WHOLE, "mounts", "ok", "root", ""),
        (replace(WHOLE, view_by="", view_error="unshare: EPERM"), "mounts", "warn", "unshare: EPERM", "namespaces"),
        (WHOLE, "cgroup", "ok", "v2", ""),
        (replace(WHOLE, cgroup=""), "cgroup", "warn", "limits", "Delegate=yes"),
        (BARE, "mounts", "skip", "Not tried", ""),
        (BARE, "confined", "skip", "Nothing to try", ""),
    ],
)
def test_each_layer_is_there_or_named_with_the_call_that_failed(ward, layers, id_, state, words, fix):
    ((found, text, way_out),) = ward.look(id_, layers=lambda: layers)
    assert found == state
    assert words in text
    assert fix in way_out


@pytest.mark.parametrize("waived", ["config", "grants"])
def test_who_has_accepted_that_there_is_none_is_warned(ward, waived):
    if waived == "config":
        ward.write("config.yaml", "sandbox: {mode: danger-full-access}")
    else:
        GrantsFile(ward.data / "grants.json").accept_no_sandbox()
    assert states(ward.look("landlock")) == ["warn"]


def test_a_system_without_such_walls_is_told_so(ward):
    ((state, text, _),) = ward.look("landlock", system="Darwin")
    assert state == "warn"
    assert "every command asks" in text
    assert ward.look("confined", system="Darwin") == []


needs_kernel = pytest.mark.skipif(not probe.layers().can_confine, reason="this kernel cannot confine commands")


@needs_kernel
def test_a_confined_command_is_tried(ward):
    ((state, text, _),) = ward.look("confined", layers=probe.look)
    assert state == "ok", text


@needs_kernel
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("_TRIAL", "echo broken >&2; exit 3", "does not work: broken"),
        ("_TRIAL", "exit 0", "does not work"),
        ("Box", lambda mode: UNCONFINED, "could write outside"),
    ],
)
def test_walls_that_do_not_hold_or_let_nothing_work_are_found_out(ward, monkeypatch, name, value, words):
    monkeypatch.setattr(sandbox, name, value)
    ((state, text, _),) = ward.look("confined", layers=probe.look)
    assert state == "fail"
    assert words in text


# -- what others bring ------------------------------------------------------------------------------------------------


def test_nothing_of_a_project_runs_whether_it_is_trusted_or_not(ward, tmp_path):
    touched = tmp_path / "touched"
    for name, text in {
        ".mcp.json": json.dumps({"mcpServers": {"evil": {"command": "touch", "args": [str(touched)]}}}),
        ".nanohermes/hooks.json": json.dumps({"hooks": {"SessionStart": [{"command": f"touch {touched}"}]}}),
        ".nanohermes/config.yaml": f"mcp_servers: {{worse: {{command: touch, args: [{touched}]}}}}\n",
    }.items():
        ward.project_file(name, text)
    ((state, text, fix),) = ward.look("trust", online=True)
    assert state == "warn"
    assert "not trusted" in text
    assert fix.startswith("nanoherm-tui trust")
    grants = GrantsFile(ward.data / "grants.json")
    trust.accept(trust.look(find_places(ward.project, ward.env), grants), grants)
    assert states(ward.look("trust", online=True)) == ["ok"]
    ward.project_file(".mcp.json", "{}")
    ((state, text, _),) = ward.look("trust")
    assert (state, "has changed" in text) == ("warn", True)
    assert not touched.exists()


def test_a_project_that_brings_nothing_is_fine(ward):
    assert ward.look("trust") == [("ok", "It brings nothing that acts.", "")]


@pytest.mark.parametrize(
    ("server", "state", "words"),
    [
        ("{command: sh, args: [-c, exit]}", "ok", "s is configured"),
        ("{url: 'https://example.org/mcp'}", "ok", "s is configured"),
        ("{command: no-such-program-here}", "warn", "not found"),
        ("{command: /no/such/file}", "warn", "not found"),
        ("{args: [x]}", "warn", "neither a command nor a url"),
        ("just-a-word", "warn", "not a mapping"),
        ("{serverUrl: 'https://example.org/mcp', disabled: true}", "ok", "switched off"),
        ("{command: sh, args: ['${NOT_SET_HERE}']}", "warn", "NOT_SET_HERE"),
    ],
)
def test_servers_are_named_and_their_programs_looked_for(ward, server, state, words):
    ward.write("config.yaml", f"mcp_servers:\n  s: {server}\n")
    ((found, text, _),) = ward.look("servers")
    assert found == state
    assert words in text


def test_hooks_are_named_and_not_run_and_mistakes_in_them_are_problems(ward, tmp_path):
    touched = tmp_path / "touched"
    ward.write("hooks.json", json.dumps({"hooks": {"SessionStart": [{"command": f"touch {touched}"}]}}))
    ((state, text, _),) = ward.look("hooks")
    assert state == "ok"
    assert "touch" in text
    assert not touched.exists()
    ward.write("hooks.json", '{"hooks": {"PreToolUse": [}}')
    ((state, text, _),) = ward.look("hooks")
    assert state == "fail"
    assert "hooks.json:1" in text


# -- the whole --------------------------------------------------------------------------------------------------------


def test_a_check_that_crashes_is_a_problem_and_the_others_go_on(ward):
    def crashes():
        raise ZeroDivisionError("oops")

    def further():
        yield Check("keys", "Terminal: keys", "warn", "Shift+Enter is Enter here.", "Set extended-keys.")

    found = list(examine(ward.patient(layers=crashes), (("Terminal", further), ("Broken", crashes))))
    by_id = {check.id: check for check in found}
    assert by_id["sandbox"].state == "fail"
    assert "ZeroDivisionError" in by_id["sandbox"].text
    assert by_id["broken"].state == "fail"
    assert by_id["keys"].state == "warn"
    assert by_id["trust"].state == "ok"


def test_only_what_does_not_work_is_a_problem():
    ok, warn, fail = (Check("a", "A", state, "t") for state in ("ok", "warn", "fail"))
    assert not has_problem([ok, warn])
    assert has_problem([ok, fail, warn])


def test_looking_leaves_no_trace(ward, tmp_path):
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    list(examine(ward.patient()))
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before


# -- skills ------------------------------------------------------------------------------------------------------------


def test_skills_that_can_be_read_are_fine_and_one_that_cannot_is_named_with_its_line(ward):
    assert ward.look("skills") == [("ok", "None are there.", "")]
    skill = ward.data / "skills" / "letters" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: letters\ndescription: Write letters.\n---\n\nDear Sir\n")
    assert states(ward.look("skills")) == ["ok"]
    skill.write_text("---\nname: letters\ndescription: Use when: asked\n---\n\nDear Sir\n")
    ((state, text, fix),) = ward.look("skills")
    assert (state, fix) == ("warn", "See all: nanoherm-tui skills check")
    assert "~/.nanohermes/skills/letters/SKILL.md:3: " in text
    ward.write("config.yaml", "skills:\n  enabled: false\n")
    assert states(ward.look("skills")) == ["skip"]


# -- sub-agents --------------------------------------------------------------------------------------------------------


def test_sub_agents_that_can_be_used_are_named_and_one_that_cannot_with_its_file_and_why(ward):
    assert ward.look("sub-agents") == [("ok", "None are defined.", "")]
    folder = ward.data / "agents"
    folder.mkdir()
    (folder / "reviewer.md").write_text("---\ndescription: Reads.\n---\nYou review.\n")
    (folder / "空.md").write_text("---\nname: idle\n---\n")
    run = ward.project_file("run.json", '{"agents": [{"name": "tester", "prompt": "Test."}, 7]}')
    ward.more["subagents_file"] = run
    found = ward.look("sub-agents")
    assert found[-1] == ("ok", "2: reviewer, tester", "")
    assert [state for state, _, _ in found[:-1]] == ["warn", "warn"]
    assert "空.md cannot be used: idle has no prompt" in found[0][1]
    assert "run.json cannot be used: agent 2 is not an object" in found[1][1]
    ward.write("config.yaml", "delegation:\n  enabled: false\n")
    assert states(ward.look("sub-agents")) == ["skip"]


def test_a_projects_sub_agents_are_looked_at_once_the_project_is_trusted(ward):
    ward.project_file(".nanohermes/agents/broken.md", "---\nname: a b\n---\nDo.\n")
    assert states(ward.look("sub-agents")) == ["ok"]
    places = find_places(ward.project, ward.env)
    grants = GrantsFile(places.grants_file)
    trust.accept(trust.look(places, grants), grants)
    ((state, text, _),) = ward.look("sub-agents")
    assert state == "warn"
    assert "needs a name of letters" in text
