"""What a project brings: shown before it counts, bound to its content, and never a way to loosen a guard."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from agent_core import limits, trust
from agent_core.config.load import load
from agent_core.config.paths import find_places
from agent_core.desk.host import Host
from agent_core.desk.house import Launch
from agent_core.errors import ConfigError, StoreError
from agent_core.grants_file import GrantsFile
from tests.rows import each_row

HOOKS = {"hooks": {"PreToolUse": [{"matcher": "write_file", "command": "touch /tmp/never"}]}}


class Clone:
    """A repository that somebody else wrote, and the home of the user who has cloned it."""

    def __init__(self, root: Path) -> None:
        self.home, self.root = root / "home", root / "repo"
        (self.root / ".git").mkdir(parents=True)
        self.home.mkdir()
        self.env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        self.grants = GrantsFile(self.home / ".nanohermes" / "grants.json")

    def write(self, name, content):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    def places(self, below="."):
        (self.root / below).mkdir(parents=True, exist_ok=True)
        return find_places(self.root / below, self.env)

    def look(self, below="."):
        return trust.look(self.places(below), self.grants)

    def accept(self, below="."):
        trust.accept(self.look(below), self.grants)

    def load(self, **user):
        if user:
            (self.home / ".nanohermes").mkdir(exist_ok=True)
            (self.home / ".nanohermes/config.yaml").write_text(json.dumps(user))
        return load(self.places(), self.env, project=self.look().config)

    def rows(self):
        return [(row.name, row.what, row.words) for row in self.look().offer.rows]


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


# -- what is shown ------------------------------------------------------------------------------------------------


def test_everything_that_would_act_is_shown_as_it_would_act(clone):
    clone.write(
        ".nanohermes/config.yaml",
        """\
        display: {theme: nanoherm-light}
        terminal: {timeout: 10}
        model: {base_url: "http://127.0.0.1:1/v1", provider: custom}
        agent: {max_turns: 0}
        hooks:
          pre_tool_call: [{matcher: terminal, command: ./guard.sh}]
        mcp_servers:
          files: {command: npx, args: [-y, server, "."], env: {A: b}}
        """,
    )
    clone.write(".nanohermes/hooks.json", HOOKS)
    clone.write(".mcp.json", {"mcpServers": {"web": {"url": "http://127.0.0.1:2/mcp"}}})
    clone.write(".nanohermes/mcp.json", {"servers": {"db": {"command": "./db", "args": ["--rw"]}}})
    clone.write(".nanohermes/commands/deploy.md", "Deploy $ARGUMENTS")
    clone.write(".hermes/agents/tester.md", "You test")
    clone.write(".nanohermes/skills/pdf/SKILL.md", "# pdf")
    clone.write(".nanohermes/skills/pdf/run.sh", "#!/bin/sh\n")
    assert sorted(clone.rows()) == sorted(
        [
            (".nanohermes/config.yaml", "setting", "model.base_url = http://127.0.0.1:1/v1"),
            (".nanohermes/config.yaml", "setting", "model.provider = custom"),
            (".nanohermes/config.yaml", "setting", "agent.max_turns = 0"),
            (".nanohermes/config.yaml", "hook", "PreToolUse terminal: ./guard.sh"),
            (".nanohermes/config.yaml", "server", 'files: npx -y server .  {"env": {"A": "b"}}'),
            (".nanohermes/hooks.json", "hook", "PreToolUse write_file: touch /tmp/never"),
            (".mcp.json", "server", "web: http://127.0.0.1:2/mcp"),
            (".nanohermes/mcp.json", "server", "db: ./db --rw"),
            (".nanohermes/commands/deploy.md", "command", "/deploy"),
            (".hermes/agents/tester.md", "agent", "tester"),
            (".nanohermes/skills/pdf/SKILL.md", "skill", "a text"),
            (".nanohermes/skills/pdf/run.sh", "skill", "a program"),
        ]
    )
    standing = clone.look()
    assert standing.state == "new"
    assert ".mcp.json" in standing.line
    assert f"nanoherm-tui trust {clone.root}" in standing.line


@pytest.mark.parametrize("text", ["display: {theme: x}", "terminal: {timeout: 10}", "model: {default: m}", "", "a: ["])
def test_a_project_that_only_chooses_harmless_things_asks_nothing(clone, text):
    clone.write(".nanohermes/config.yaml", text)
    assert clone.look().state == "none"
    assert clone.look().line == ""


def test_what_could_act_on_the_terminal_or_hold_a_key_is_shown_without_it(clone):
    command = "curl -H 'Authorization: Bearer sk-proj-abcdefghijklmnopqrstuvwxyz0123456789' x\x1b[2J\u202e\n#"
    clone.write(".nanohermes/hooks.json", {"hooks": {"PreToolUse": [{"command": command}]}})
    [(_, _, words)] = clone.rows()
    assert "sk-proj" not in words
    assert "[REDACTED]" in words
    assert words.isprintable()
    assert "\\x1b" in words, "nothing is left out without a word"


def test_a_line_that_is_too_long_says_how_much_is_left_out(clone):
    clone.write(".nanohermes/hooks.json", {"hooks": {"TurnEnd": [{"command": "x" * 50_000}]}})
    [(_, _, words)] = clone.rows()
    assert len(words) < limits.TRUST_ROW_CHARS + 100
    assert "more characters" in words


@each_row(
    ("entry", "words"),
    [
        ({"command": ["sh", "-c"], "args": "curl x | sh"}, "a: sh -c curl x | sh"),
        ({"command": "sh", "args": "-ccurl x"}, "a: sh -ccurl x"),
        ({"cmd": "sh", "args": ["-c", "x"]}, 'a: ?  {"cmd": "sh", "args": ["-c", "x"]}'),
        ({"command": "ls", "cmd": "", "url": "http://x/"}, 'a: ls  {"cmd": "", "url": "http://x/"}'),
        ({"url": ["http://x/", "y"]}, "a: http://x/ y"),
        ({"command": {"a": 1}, "args": {"b": 2}}, "a: {'a': 1} {'b': 2}"),
        ("text", "a: text"),
    ],
)
def test_of_a_server_nothing_is_left_out_however_its_command_is_spelled(tmp_path_factory, entry, words):
    clone = Clone(tmp_path_factory.mktemp("clone"))
    clone.write(".mcp.json", {"mcpServers": {"a": entry}})
    assert clone.rows() == [(".mcp.json", "server", words)]


def test_where_a_key_is_left_out_of_what_would_run_that_is_said(clone):
    block = "-----BEGIN RSA PRIVATE KEY-----; curl x | sh; : -----END RSA PRIVATE KEY-----"
    clone.write(".nanohermes/hooks.json", {"hooks": {"TurnEnd": [{"command": f": {block}"}]}})
    [(_, _, words)] = clone.rows()
    assert "curl" not in words
    assert "look into the file" in words


@each_row(
    ("name", "text"),
    [
        (".nanohermes/hooks.json", '{"hooks": {"TurnEnd": %s}}' % ("1" * 5_000)),
        (".nanohermes/hooks.json", '{"hooks": {"TurnEnd": [{"command": "x", "timeout": 1%s}]}}' % ("0" * 400)),
        (".mcp.json", '{"servers": {"a": {"command": "x", "timeout": %s}}}' % ("1" * 5_000)),
        (".nanohermes/config.yaml", f"mcp_servers: {{a: {{command: x, timeout: 0x{'f' * 5_000}}}}}"),
        (".nanohermes/config.yaml", f"hooks: {{TurnEnd: [{{command: x, timeout: 1{'0' * 400}}}]}}"),
        (".nanohermes/config.yaml", f"after_edit: [{{match: x, run: x, timeout: 0x{'f' * 5_000}}}]"),
    ],
)
def test_a_number_without_end_keeps_nobody_from_opening_the_folder(tmp_path_factory, name, text):
    clone = Clone(tmp_path_factory.mktemp("clone"))
    clone.write(name, text)
    assert [file for file, _, _ in clone.rows()] == [name]


def test_broken_files_are_named_and_do_not_act(clone):
    clone.write(".nanohermes/hooks.json", "{")
    clone.write(".mcp.json", "[")
    assert [what for _, what, _ in clone.rows()] == ["problem", "problem"]
    assert clone.look().state == "none"


def test_files_beyond_the_bounds_are_told_and_not_used(clone):
    for n in range(limits.TRUST_FILES + 5):
        clone.write(f".nanohermes/skills/s{n % 2}/{n:04}.md", "x")
    standing = clone.look()
    assert len(standing.offer.files) == limits.TRUST_FILES
    assert any(row.what == "problem" for row in standing.offer.rows)
    clone.accept()
    assert len(list(clone.look().accepted("skill"))) == limits.TRUST_FILES


def test_a_folder_of_too_many_files_is_told_and_not_used(clone):
    for n in range(limits.TRUST_FILES + 1):
        clone.write(f".nanohermes/commands/c{n:04}.md", "x")
    assert [(name, what) for name, what, _ in clone.rows()] == [(".nanohermes/commands", "problem")]


def test_folders_without_end_cost_little(clone):
    for n in range(limits.TRUST_FILES + 20):
        (clone.root / f".nanohermes/skills/{n % 9}/{n}").mkdir(parents=True)
    clone.write(".nanohermes/skills/zz/SKILL.md", "x")
    assert [what for _, what, _ in clone.rows()] == ["problem"]


def test_links_are_not_followed(clone, tmp_path):
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps(HOOKS))
    (clone.root / ".nanohermes").mkdir()
    (clone.root / ".nanohermes/hooks.json").symlink_to(outside)
    assert [what for _, what, _ in clone.rows()] == ["problem"]
    assert clone.look().offer.files == ()


def test_a_folder_that_is_a_link_is_not_used(clone, tmp_path):
    (tmp_path / "elsewhere/commands").mkdir(parents=True)
    (tmp_path / "elsewhere/hooks.json").write_text(json.dumps(HOOKS))
    (tmp_path / "elsewhere/commands/x.md").write_text("x")
    (clone.root / ".nanohermes").symlink_to(tmp_path / "elsewhere")
    assert clone.look().state == "none"
    (clone.root / ".nanohermes").unlink()
    (clone.root / ".nanohermes").mkdir()
    (clone.root / ".nanohermes/commands").symlink_to(tmp_path / "elsewhere/commands")
    assert clone.look().state == "none"


def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(clone):
    (clone.root / ".nanohermes").mkdir()
    os.mkfifo(clone.root / ".nanohermes/hooks.json")
    os.mkfifo(clone.root / ".mcp.json")
    assert clone.look().state == "none"


def test_the_users_own_home_is_no_project(clone):
    (clone.home / ".nanohermes").mkdir()
    (clone.home / ".nanohermes/hooks.json").write_text(json.dumps(HOOKS))
    places = find_places(clone.home, clone.env)
    assert trust.look(places, clone.grants).state == "none"


# -- what is accepted ---------------------------------------------------------------------------------------------


def test_what_was_accepted_counts_until_it_changes(clone):
    file = clone.write(".nanohermes/hooks.json", HOOKS)
    assert list(clone.look().accepted("hooks")) == []
    clone.accept()
    [hook] = trust.projects_hooks(clone.look()).hooks
    assert hook.command == "touch /tmp/never"
    os.utime(file, (1, 1))
    assert clone.look().state == "trusted", "the content is what was accepted"
    file.write_text(file.read_text().replace("never", "other"))
    standing = clone.look()
    assert (standing.state, standing.changed) == ("changed", (".nanohermes/hooks.json",))
    assert trust.projects_hooks(standing).hooks == ()
    assert "has changed" in standing.line
    clone.accept()
    assert clone.look().state == "trusted"


@pytest.mark.parametrize("change", ["new file", "gone file", "content", "moved"])
def test_any_change_of_what_acts_asks_again(clone, change):
    one = clone.write(".nanohermes/hooks.json", HOOKS)
    two = clone.write(".nanohermes/commands/a.md", "a")
    clone.accept()
    if change == "new file":
        clone.write(".mcp.json", {"mcpServers": {"x": {"command": "y"}}})
    elif change == "gone file":
        two.unlink()
    elif change == "content":
        two.write_text("b")
    else:
        two.rename(two.with_name("b.md"))
    assert one.exists()
    assert clone.look().state == "changed"
    assert clone.look().changed


def test_a_file_swapped_between_showing_and_accepting_is_not_accepted(clone):
    file = clone.write(".nanohermes/hooks.json", HOOKS)
    shown = clone.look()
    file.write_text(json.dumps({"hooks": {"PreToolUse": [{"command": "worse"}]}}))
    trust.accept(shown, clone.grants)
    assert clone.look().state == "changed"
    assert trust.projects_hooks(clone.look()).hooks == ()


def test_never_is_never_until_it_is_taken_back(clone):
    file = clone.write(".nanohermes/hooks.json", HOOKS)
    trust.refuse(clone.look(), clone.grants)
    assert clone.look().state == "refused"
    file.write_text(json.dumps({"hooks": {"TurnEnd": [{"command": "x"}]}}))
    assert clone.look().state == "refused"
    trust.forget(clone.look(), clone.grants)
    assert clone.look().state == "new"


def test_an_answer_holds_for_one_folder_alone(clone, tmp_path):
    clone.write(".nanohermes/hooks.json", HOOKS)
    clone.accept()
    (tmp_path / "two").mkdir()
    other = Clone(tmp_path / "two")
    other.write(".nanohermes/hooks.json", HOOKS)
    assert trust.look(other.places(), clone.grants).state == "new"
    clone.write("a/.nanohermes/hooks.json", HOOKS)
    assert clone.look("a").state == "new"
    clone.accept("a")
    assert (clone.look("a").state, clone.look().state) == ("trusted", "trusted")


def test_a_clone_in_the_place_of_another_asks_again(clone):
    clone.write(".nanohermes/hooks.json", HOOKS)
    clone.accept()
    (clone.root / ".nanohermes/hooks.json").write_text(json.dumps({"hooks": {"TurnEnd": [{"command": "x"}]}}))
    assert clone.look().asks


def test_answers_lie_in_the_users_own_file_alone(clone):
    clone.write(".nanohermes/hooks.json", HOOKS)
    clone.write(".nanohermes/grants.json", {"trust": {str(clone.root): {"answer": "trusted"}}})
    assert clone.look().state == "new"
    clone.accept()
    assert stat.S_IMODE(clone.grants.path.stat().st_mode) == 0o600
    assert "touch" not in clone.grants.path.read_text(), "digests, not contents"


def test_what_cannot_be_kept_is_not_accepted(clone):
    clone.write(".nanohermes/hooks.json", HOOKS)
    clone.grants.path.parent.mkdir()
    clone.grants.path.write_text("{ broken")
    with pytest.raises(ConfigError):
        clone.accept()
    assert clone.look().state == "new"


# -- settings -----------------------------------------------------------------------------------------------------


def test_a_trusted_project_sets_what_it_may_and_the_hooks_add_up(clone):
    clone.write(
        ".nanohermes/config.yaml",
        "model: {base_url: 'http://127.0.0.1:1/v1'}\nagent: {max_turns: 0}\nhooks: {pre_tool_call: [{command: b}]}\n",
    )
    user = {"hooks": {"pre_tool_call": [{"command": "a"}]}}
    config = clone.load(**user)
    assert config.get("model.base_url") == ""
    assert [held.key for held in config.held] == ["model.base_url", "agent.max_turns", "hooks"]
    assert {w.code for w in config.warnings} == {"not_trusted"}
    clone.accept()
    config = clone.load(**user)
    assert config.get("model.base_url") == "http://127.0.0.1:1/v1"
    assert config.get("agent.max_turns") == 0
    assert [entry["command"] for entry in config.get("hooks")["pre_tool_call"]] == ["a", "b"]
    assert config.warnings == ()


@pytest.mark.parametrize("value", ["null", "[]", "x", "{}"])
def test_no_project_takes_a_hook_of_the_users_away(clone, value):
    clone.write(".nanohermes/config.yaml", f"hooks: {{pre_tool_call: {value}}}\nmodel: {{provider: custom}}\n")
    clone.accept()
    config = clone.load(hooks={"pre_tool_call": [{"command": "guard"}]})
    assert [entry["command"] for entry in config.get("hooks")["pre_tool_call"]] == ["guard"]


TIGHTER = {
    # the user's, the project's, the key, what is in force
    "asks more": ({"approvals": {"policy": "untrusted"}}, "approvals: {policy: always}", "approvals.policy", "always"),
    "asks less": ({"approvals": {"policy": "always"}}, "approvals: {policy: never}", "approvals.policy", "always"),
    "asks as usual again": (
        {"approvals": {"policy": "always"}}, "approvals: {policy: untrusted}", "approvals.policy", "always"
    ),
    "Hermes' off is loosened by nobody": (
        {"approvals": {"mode": "manual"}}, "approvals: {mode: off}", "approvals.policy", "untrusted"
    ),
    "a person instead of a model": (
        {"approvals": {"mode": "smart"}}, "approvals: {mode: manual}", "approvals.mode", "manual"
    ),
    "a person instead of nobody": (
        {"approvals": {"mode": "off"}}, "approvals: {mode: manual}", "approvals.policy", "untrusted"
    ),
    "waits less": ({}, "approvals: {timeout: 5}", "approvals.timeout", 5.0),
    "waits longer": ({"approvals": {"timeout": 5}}, "approvals: {timeout: 50}", "approvals.timeout", 5.0),
    "forbids more": ({"approvals": {"deny": ["a"]}}, "approvals: {deny: [b, a]}", "approvals.deny", ["a", "b"]),
    "forbids nothing": ({"approvals": {"deny": ["a"]}}, "approvals: {deny: []}", "approvals.deny", ["a"]),
    "writes nothing": ({}, "sandbox: {mode: read-only}", "sandbox.mode", "read-only"),
    "no sandbox": ({}, "sandbox: {mode: danger-full-access}", "sandbox.mode", "workspace-write"),
    "no network": ({"sandbox": {"network": True}}, "sandbox: {network: false}", "sandbox.network", False),
    "the network": ({}, "sandbox: {network: true}", "sandbox.network", False),
    "more folders": ({}, "sandbox: {add_dirs: [/etc]}", "sandbox.add_dirs", []),
    "fewer processes": ({}, "sandbox: {max_processes: 3}", "sandbox.max_processes", 3),
    "less memory": ({}, "sandbox: {max_memory_mb: 300}", "sandbox.max_memory_mb", 300),
    "more memory": (
        {"sandbox": {"max_memory_mb": 100}}, "sandbox: {max_memory_mb: 0}", "sandbox.max_memory_mb", 100
    ),
    "hides more": ({"files": {"deny_read": ["a"]}}, "files: {deny_read: [b]}", "files.deny_read", ["a", "b"]),
    "roots where there were none": ({}, "files: {write_safe_roots: [src]}", "files.write_safe_roots", ["src"]),
    "roots inside": (
        {"files": {"write_safe_roots": ["/w"]}}, "files: {write_safe_roots: [/w/a]}", "files.write_safe_roots", ["/w/a"]
    ),
    "roots beside": (
        {"files": {"write_safe_roots": ["/w"]}}, "files: {write_safe_roots: [/wx]}", "files.write_safe_roots", ["/w"]
    ),
    "roots out of them": (
        {"files": {"write_safe_roots": ["/w"]}},
        "files: {write_safe_roots: [/w/../x]}", "files.write_safe_roots", ["/w"],
    ),
    "no roots": ({"files": {"write_safe_roots": ["/w"]}}, "files: {write_safe_roots: []}",
                 "files.write_safe_roots", ["/w"]),
}  # fmt: skip


@pytest.mark.parametrize("where", [".nanohermes", ".hermes"])
@pytest.mark.parametrize(("user", "text", "key", "value"), TIGHTER.values(), ids=TIGHTER)
def test_what_guards_the_user_is_made_stricter_at_most_and_only_when_trusted(clone, where, user, text, key, value):
    before = clone.load(**user).get(key)
    clone.write(f"{where}/config.yaml", text + "\nmodel: {provider: custom}\n")
    assert clone.load(**user).get(key) == before
    clone.accept()
    config = clone.load(**user)
    assert config.get("model.provider") == "custom"
    assert config.get(key) == value
    refused = value == before and "deny: []" not in text  # which adds nothing
    assert [w.code for w in config.warnings] == (["never_from_project"] if refused else [])


# -- at the desk --------------------------------------------------------------------------------------------------


def test_at_the_desk_an_answer_acts_at_once_is_on_record_and_ends_with_a_change(clone):
    clone.write(".nanohermes/hooks.json", HOOKS)
    config = clone.write(".nanohermes/config.yaml", "agent: {max_turns: 0}\nhooks: {on_session_end: [{command: c}]}\n")
    host = Host(Launch(clone.root, clone.env, {}, demo=True))
    try:
        assert host.standing.state == "new"
        assert host.hooks(clone.root).hooks == ()
        standing = host.answer_trust(host.trusting.look(), "trust")
        assert standing.state == "trusted"
        assert host.config.get("agent.max_turns") == 0
        assert [hook.command for hook in host.hooks(clone.root).hooks] == ["c", "touch /tmp/never"]
        config.write_text("agent: {max_turns: 7}\n")
        found = host.hooks(clone.root)
        assert found.hooks == ()
        assert [problem.code for problem in found.problems] == ["trust_changed"]
        assert host.config.get("agent.max_turns") == 7, "a lower bound needs no trust"
        host.answer_trust(host.trusting.look(), "never")
        decided = [(entry.decided.kind, entry.decided.rule) for entry in host.store.audit.list()]
        assert decided == [("trust", "never trusted"), ("trust", "trusted")]
    finally:
        host.close()


def test_trust_that_cannot_be_put_on_record_is_not_given_and_is_taken_back_all_the_same(clone):
    def full(session_id, workspace, decided):
        raise StoreError("store_full", "No room.")

    clone.write(".nanohermes/hooks.json", HOOKS)
    host = Host(Launch(clone.root, clone.env, {}, demo=True))
    try:
        add, host.store.audit.add = host.store.audit.add, full
        with pytest.raises(StoreError):
            host.answer_trust(host.trusting.look(), "trust")
        assert host.trusting.look().state == "new"
        host.store.audit.add = add
        host.answer_trust(host.trusting.look(), "trust")
        host.store.audit.add = full
        with pytest.raises(StoreError):
            host.answer_trust(host.trusting.look(), "never")
        assert host.hooks(clone.root).hooks == ()
    finally:
        host.close()


def test_hooks_of_a_project_run_only_for_sessions_in_it(clone, tmp_path):
    clone.write(".nanohermes/hooks.json", HOOKS)
    clone.write(".nanohermes/config.yaml", "hooks: {pre_tool_call: [{command: of the clone}]}\n")
    clone.accept()
    (clone.home / ".nanohermes/hooks.json").write_text(json.dumps({"hooks": {"TurnEnd": [{"command": "mine"}]}}))
    host = Host(Launch(clone.root, clone.env, {}, demo=True))
    try:
        commands = [hook.command for hook in host.hooks(clone.root).hooks]
        assert commands == ["of the clone", "mine", "touch /tmp/never"]
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        assert [hook.command for hook in host.hooks(elsewhere).hooks] == ["mine"]
    finally:
        host.close()
