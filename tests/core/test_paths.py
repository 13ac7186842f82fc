"""The path door: where a path leads, what protects it, and that opening follows nothing that was not judged."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.safety import paths
from agent_core.safety.hidden import deny_read_patterns, hiding
from agent_core.safety.paths import PathRules, classify, may_read_found, open_beneath, protected_finder
from agent_core.text.printable import printable
from tests.corpus.paths import check
from tests.rows import each_row

CORPUS = Path(__file__).parents[1] / "data/corpora/security/paths.jsonl"
ROWS = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]


@pytest.fixture
def rules(tmp_path: Path) -> PathRules:
    root = tmp_path.resolve()
    for name in ("ws", "out", "home/.nanohermes"):
        (root / name).mkdir(parents=True)
    return PathRules(root / "ws", root / "home", root / "home/.nanohermes")


@each_row("row", ROWS, ids=[row["id"] for row in ROWS])
def test_every_row_of_the_path_corpus_holds(row):
    assert check(row) == ""


@pytest.mark.parametrize(
    ("op", "text", "verdict"),
    [
        # what was said in other sessions
        ("read", "~/.nanohermes/state.db", "deny"),
        ("read", "~/.nanohermes/state.db-wal", "deny"),
        ("read", "~/.nanohermes/history", "deny"),
        ("read", "~/.nanohermes/logs/log.jsonl", "deny"),
        ("read", "~/.nanohermes/config.yaml", "allow"),
        # not paths
        ("write", "", "deny"),
        ("write", " \n", "deny"),
        ("read", "a\0b", "deny"),
        ("read", "\ud800", "deny"),
        ("write", "n" * 256, "deny"),
        ("write", "/".join(["n" * 100] * 50), "deny"),
        ("read", "https://example.com/a", "deny"),
        ("write", "$HOME/a", "deny"),
        ("write", "..\\a", "deny"),
        ("write", "~root/a", "deny"),
        # names that only look like something else
        ("write", "app/routes/$slug.tsx", "allow"),
        ("write", "a\\b.txt", "allow"),
        ("write", "100%2e.txt", "allow"),
        ("write", "...", "allow"),
        ("write", "收入／支出.md", "allow"),
        ("write", "id_map.json", "allow"),
        ("write", "src/id_rsa_parser.py", "allow"),
        ("write", "environment/.environment", "allow"),
        ("write", ".gitattributes", "allow"),
        ("write", ".github/workflows/ci.yml", "allow"),
        # secrets and what runs later, in every spelling
        ("write", ".env.local", "ask"),
        ("write", "sub/.devcontainer/devcontainer.json", "ask"),
        ("read", "~/.config/vivaldi/Default/Cookies", "deny"),
        ("read", "~/.config/google-chrome-beta/Default/Cookies", "deny"),
        ("read", "~/snap/firefox/common/.mozilla/firefox/logins.json", "deny"),
        ("read", ".env.local", "ask"),
        ("read", "../out/.env", "ask"),
        ("read", ".env.template", "allow"),
        ("write", ".Env ", "ask"),
        ("write", ".e\u200bnv", "ask"),
        ("write", ".\uff25NV", "ask"),
        ("read", "certs/server.pem", "ask"),
        ("read", "id_ed25519.pub", "allow"),
        ("write", ".GIT/hooks/pre-commit", "ask"),
        ("write", "git~1/config", "ask"),
        ("write", ".git", "ask"),
        ("delete", ".git/config", "ask"),
        ("read", ".git/config", "allow"),
        ("write", "lib/x/.git/modules/y/config", "ask"),
        ("write", ".husky/pre-commit", "ask"),
        ("write", "my.code-workspace", "ask"),
        # outside
        ("read", "../out/a.txt", "allow"),
        ("read", "../out", "allow"),
        ("write", "../out/a.txt", "deny"),
        ("delete", "../out/a.txt", "deny"),
        ("write", "/etc/passwd", "deny"),
        ("read", "/etc/hosts", "allow"),
        ("read", "/etc/shadow-", "deny"),
        ("read", "~/.ssh/id_rsa", "deny"),
        ("read", "~/.ssh/id_rsa.pub", "allow"),
        ("read", "~/.SSH/config", "deny"),
        ("read", "/root/.aws/credentials", "deny"),
        ("read", "/home/somebody/.netrc", "deny"),
        ("read", "~/.zsh_history", "deny"),
        ("read", "~/.nanohermes/.env", "deny"),
        ("read", "~/.nanohermes/profiles/work/credentials.json", "deny"),
        ("read", "~/.nanohermes/spill/1.txt", "allow"),
        ("read", "~/.nanohermes/spill-private/1.txt", "deny"),
        ("write", "~/.nanohermes/grants.json", "deny"),
        ("read", "/proc/self/environ", "deny"),
        ("read", "/proc/self/root/etc/hosts", "deny"),
        ("read", "/proc/self/fd/0", "deny"),
        ("read", "/proc/meminfo", "allow"),
        ("read", "/dev/null", "deny"),
        # no path
        ("write", "．/a.txt", "deny"),
        ("write", "a/．．/b.txt", "deny"),
        ("write", "a/" * 2_100 + "a", "deny"),
        # globs
        ("glob", "**/*.py", "allow"),
        ("glob", "src/[a-z]*/x", "allow"),
        ("glob", "../*", "deny"),
        ("glob", "/etc/*.conf", "deny"),
        ("glob", "*/../../x", "deny"),
        ("glob", "{a,../out}/*", "deny"),
        ("glob", "~/.ssh/*", "deny"),
    ],
)
def test_a_path_is_judged_by_where_it_leads_and_what_it_is_called(rules, op, text, verdict):
    assert classify(op, text, rules).verdict == verdict


def test_a_verdict_carries_the_resolved_path_and_a_short_way_to_show_it(rules):
    cases = {
        "src/../a.py": (rules.workspace / "a.py", "a.py"),
        "~/notes.txt": (rules.home / "notes.txt", "~/notes.txt"),
        "/srv/x": (Path("/srv/x"), "/srv/x"),
        "a\x1b[31mb": (rules.workspace / "a\x1b[31mb", "a\\x1b[31mb"),
    }
    for text, expected in cases.items():
        verdict = classify("read", text, rules)
        assert (verdict.path, verdict.shown) == expected


def test_a_denial_says_what_to_do_instead(rules):
    verdict = classify("write", "../out/a.txt", rules)
    assert verdict.rule == "outside the workspace"
    assert "choose a path there" in verdict.text


def test_a_link_protects_what_it_is_called_and_what_it_leads_to(rules):
    keys = rules.workspace.parent / "keys"
    keys.mkdir()
    (keys / "config").write_text("x")
    (rules.home / ".ssh").symlink_to(keys)
    (rules.workspace / "innocent.txt").symlink_to(".env")
    assert classify("read", "~/.ssh/config", rules).verdict == "deny"
    assert classify("write", "innocent.txt", rules).verdict == "ask"


def test_deleting_a_link_is_about_the_link(rules):
    (rules.workspace / "link").symlink_to("/etc/hosts")
    verdict = classify("delete", "link", rules)
    assert (verdict.verdict, verdict.path) == ("allow", rules.workspace / "link")
    assert classify("write", "link", rules).verdict == "deny"


def test_a_git_directory_under_another_name_is_protected_too(rules):
    store = rules.workspace / "store"
    for name in ("objects", "refs"):
        (store / name).mkdir(parents=True)
    (store / "HEAD").write_text("ref: refs/heads/main\n")
    assert classify("write", "store/config", rules).verdict == "ask"
    assert classify("write", "store2/config", rules).verdict == "allow"


def test_a_session_opened_in_the_home_still_guards_keys_and_asks_before_start_up_files(rules):
    inside = PathRules(rules.home, rules.home, rules.data_home)
    expected = {
        ".ssh/config": "deny",
        ".nanohermes/config.yaml": "deny",
        ".nanohermes/skills/x/SKILL.md": "ask",
        ".bashrc": "ask",
        "projects/a.py": "allow",
    }
    assert {text: classify("write", text, inside).verdict for text in expected} == expected


def test_a_session_opened_in_an_editors_folder_may_change_it(rules):
    settings = rules.home / ".config/nvim"
    settings.mkdir(parents=True)
    inside = PathRules(settings, rules.home, rules.data_home)
    assert classify("write", "init.lua", inside).verdict == "allow"
    assert classify("write", "~/.bashrc", inside).verdict == "deny"


def test_a_glob_may_search_the_folders_it_was_given(rules):
    given = PathRules(rules.workspace, rules.home, rules.data_home, (rules.workspace.parent / "out",))
    assert classify("glob", str(rules.workspace.parent / "out/*.md"), given).verdict == "allow"


def test_files_met_on_a_walk_are_judged_by_name_alone(rules):
    assert may_read_found(str(rules.workspace / "a.py"), rules)
    assert not may_read_found(str(rules.workspace / "sub/.env"), rules)
    assert not may_read_found(str(rules.home / ".ssh/id_rsa"), rules)


def test_many_files_of_a_folder_are_judged_like_each_of_them(rules):
    top = str(rules.workspace.parent)
    folders = [
        "/", "/etc", "/etc/ssl", "/proc", "/proc/1", "/dev", "/home", "/home/u", "/home/u/.ssh", "/home/u/a/.ssh",
        "/root", "/var", "/var/root", "/var/root/.aws", "/srv", "/srv/a", "/Users/u/Library/Keychains", "/run", "/x",
        "/usr/lib", top, f"{top}/ws", f"{top}/ws/.ssh", f"{top}/home", f"{top}/home/.ssh", f"{top}/home/.config",
        f"{top}/home/x/y", f"{top}/home/.config/gh", f"{top}/home/.nanohermes", f"{top}/home/.nanohermes/logs",
        f"{top}/home/.Cargo",
    ]  # fmt: skip
    names = [
        "a.py", ".env", ".ENV.local ", ".env.example", ".envrc", "env", "id_rsa", "ID_ED25519", "id_map.json", "a.pem",
        "a.PEM. .", "a.key\t", "a.keys", ".key", "pem", "a.pem.txt", "a.\uff50em", "é.py", ".netrc", "shadow",
        "sudoers", "credentials.toml", ".bash_history", "state.db", "kcore", "mem", "\udcff", "x_id_rsa", "..",
        "new\n.pem", "auth.json", "hosts.yml",
    ]  # fmt: skip
    patterns = hiding(deny_read_patterns(["*.py"], [rules.workspace], rules.home, rules.data_home))
    found = 0
    for given in (rules, replace(rules, hidden=patterns)):
        for folder in folders:
            expected = [name for name in names if not may_read_found(f"{folder}/{name}".replace("//", "/"), given)]
            for above in [folder, *map(str, Path(folder).parents)]:
                find = protected_finder(above, given)
                assert find(folder.rstrip("/"), names) == expected, (above, folder)
                assert [n for name in names for n in find(folder.rstrip("/"), [name])] == expected, (above, folder)
            found += len(expected)
    assert found > 500


def test_what_is_shown_holds_nothing_a_terminal_obeys():
    assert printable("a\x1b]0;x\x07\u202eb\ud800.md") == "a\\x1b]0;x\\x07\\u202eb\\ud800.md"
    assert printable("文件.txt") == "文件.txt"


@pytest.fixture(params=["openat2", "walking"])
def way(request, monkeypatch):
    """Both ways of opening: the kernel's call, and the walk on systems without it."""
    if request.param == "walking":

        def missing(*args):
            raise OSError(errno.ENOSYS, "no such call")

        monkeypatch.setattr(paths, "_openat2", missing)
    return request.param


@pytest.mark.parametrize("path", ["link", "dirlink/a", "../out/a", "/etc/hosts", "loop", "d/../../out/a"])
def test_opening_beneath_follows_nothing(rules, way, path):
    ws = rules.workspace
    (ws.parent / "out/a").write_text("outside")
    (ws / "d").mkdir()
    (ws / "link").symlink_to(ws.parent / "out/a")
    (ws / "dirlink").symlink_to(ws.parent / "out")
    (ws / "loop").symlink_to("loop")
    root = os.open(ws, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match=r".") as caught:
            open_beneath(root, path, os.O_RDONLY)
    finally:
        os.close(root)
    assert caught.value.errno in (errno.ELOOP, errno.EXDEV)


def test_opening_beneath_opens_what_is_there(rules, way):
    (rules.workspace / "a/b").mkdir(parents=True)
    (rules.workspace / "a/b/c").write_text("here")
    root = os.open(rules.workspace, os.O_RDONLY)
    try:
        with os.fdopen(open_beneath(root, "a/b/c", os.O_RDONLY)) as file:
            assert file.read() == "here"
        with pytest.raises(FileNotFoundError):
            open_beneath(root, "a/missing/c", os.O_RDONLY)
        os.close(open_beneath(root, ".", os.O_RDONLY | os.O_DIRECTORY))
    finally:
        os.close(root)
