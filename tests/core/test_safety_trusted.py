"""Which command lines run unasked: those that only read, and of those only what is written out.

Nothing in the tables is ever run.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.safety.shell_trust import TrustContext, is_trusted_command
from tests.core.trust_support import SYSTEM_PATH, trust_context
from tests.rows import each_row


@pytest.fixture(scope="module")
def ctx(tmp_path_factory: pytest.TempPathFactory) -> TrustContext:
    return trust_context(tmp_path_factory.mktemp("home"))


TRUSTED = [
    "ls -la --color=auto src",
    "ls .env",
    "ls # a comment",
    "grep 'a # b' x",
    "stat .env",
    "cat -n src/main.py tests/test_main.py",
    "cat ~/notes.txt",
    "cat .env.example",
    "cat café.txt 文件.txt",
    "cat a\\ b.txt",
    'cat "it\'s here.txt"',
    "head -c 100 README.md",
    "tail -n +5 README.md",
    "tail -20 app.log",
    "wc -l a.py b.py",
    "grep -rn 'def main' src tests",
    "grep -n -- -rf script.sh",
    "grep -E 'a.b+' x",
    "grep .env README.md",
    "grep -A3 -B3 needle src/a.py",
    "rg -n --hidden -g '!*.lock' needle",
    "rg needle src -tpy",
    "rg .env src",
    "rg -n -- --pre src",
    "rg -ni -- -z src",
    "git diff HEAD -- --output=x",
    "find . -name '*.py' -newer setup.py -print",
    "find src tests -type f ! -name '*.pyc'",
    "sort -k2,2n data.tsv",
    "sort -t, -k1 data.csv",
    "uniq -c words",
    "uniq -f 1 words",
    "date +%F",
    "date -d yesterday +%s",
    "date -Iseconds",
    "sed -n '3,9p' main.py",
    "jq '.a.b[0]' data.json",
    "jq -c keys a.json",
    "jq '.environment' a.json",
    "jq '.[] .env' a.json",
    "jq '.[\"env\"]' a.json",
    "jq --slurp . a.json",
    "jq -r --arg k v . a.json",
    "rg --pretty x",
    "rg -g '!.git' -g '!*.lock' x",
    "cat credentials.md",
    "cat secrets.py",
    "wc -l src/*/*.py",
    "head -n 3 *.md",
    "grep -n x *",
    "cat /proc/cpuinfo",
    "cat id_rsa.pub",
    "du -sh .git",
    "git log -SOutput -GOther",
    "git log -L1,5:a.py",
    "git -C ./src status",
    "//usr/bin/cat a",
    "tree -a -L 2 src",
    "diff -ru old new",
    "cmp a b",
    "file a.bin",
    "od -An -tx1 a.bin",
    "tr a-z A-Z",
    "cut -c 1-5 a",
    "test -f a",
    "test a != b",
    "echo hello world",
    "true",
    "/bin/ls",
    "/usr/bin/head -1 a",
    "/usr/bin/../bin/cat a",
    "NO_COLOR=1 ls",
    "LC_ALL=C LANG=C sort a",
    "TZ=Europe/Paris date",
    "COLUMNS=80 ls",
    "git status",
    "git status -s -b",
    "git diff",
    "git diff --stat HEAD~1 HEAD -- src",
    "git diff --text a.bin",
    "git diff --cached",
    "git log --oneline --graph --all",
    "git log -p -S needle",
    "git log --format=%H%n%s -3",
    "git log --author=x --since=2020-01-01",
    "git log -- .",
    "git show HEAD:src/a.py",
    "git blame a.py",
    "git rev-parse --abbrev-ref HEAD",
    "git rev-parse --git-dir",
    "git ls-files -o --exclude-standard",
    "git ls-tree -r HEAD",
    "git cat-file -t HEAD",
    "git grep -n -e needle -- src",
    "git grep .env",
    "git describe --tags --always --exact-match",
    "git shortlog -sn",
    "git branch --list 'feature/*'",
    "git branch -vv",
    "git branch --show-current",
    "git branch --contains HEAD",
    "git branch --sort=-committerdate",
    "git tag",
    "git tag -l 'v1*'",
    "git tag -n3",
    "git remote",
    "git remote -v",
    "git remote get-url origin",
    "git stash list",
    "git reflog -5",
    "git reflog show",
    "git config --get user.name",
    "git config --get remote.origin.url",
    "git config --local --get remote",
    "git -C src log -1",
    "git --no-pager diff",
]


NOT_LISTED_FORMS = {"git config --local --get remote"}  # a name without a section is no setting


@each_row("command", [command for command in TRUSTED if command not in NOT_LISTED_FORMS])
def test_a_plain_reading_command_runs_unasked(command: str, ctx: TrustContext) -> None:
    assert is_trusted_command(command, ctx).rule == "trusted"


UNTRUSTED = [
    *NOT_LISTED_FORMS,
    # text
    "ls \u202ecod.exe",
    "ls a\u2028b",
    "cat a\ufe0f",
    "cat a\u3164b",
    "cat \U000e0061a",
    "ls \ud800",
    "ls \x1b[31m",
    "ls \x9b31m",
    "cat 'a\tb\x00'",
    "echo hi!there",
    "echo 'a",
    "ls " + "a " * 600,
    "ls " + "x" * limits.SHELL_TRUSTED,
    # command word and assignments
    "LS",
    '"ls"',
    "l''s",
    "\\ls",
    "ls\\",
    "~/bin/cat a",
    "../ls",
    "/usr/sbin/ls",
    "/usr/local/sbin/ls",
    "/usr/bin/git/../../../tmp/ls",
    "//tmp/ls",
    "PATH=/tmp ls",
    "LANG=../../tmp ls",
    "LC_ALL=/tmp/x ls",
    "TZ=/etc/shadow date",
    "TZ=:/dev/tty date",
    "LANGUAGE=x ls",
    "LD_PRELOAD= ls",
    "LC_ALL=C",
    "LC_ALL=C PAGER=x git log",
    # programs
    "env ls",
    "type ls",
    "command -v ls",
    "xargs ls",
    "awk 1 a",
    "sudo ls",
    "hostname",
    "tee a",
    "xxd a b",
    "base64 a",
    # options
    "find . -execdir ls +",
    "find . '-delete'",
    "find . \\-delete",
    "find . -okdir rm +",
    "find -files0-from a",
    "rg --pre=cat x",
    "rg --pre cat x",
    "rg -z x",
    "rg -nz x",
    "rg '--hostname-bin' x",
    "rg ?eedle",
    "rg -e -- --pre=x y",
    "rg --regexp -- --pre=x y",
    "rg -ne -- --pre=x y",
    "sort -t -- -o out a",
    "sort -k -- -o out a",
    "sort -*",
    "sort '-'*",
    "git log --author -- --output=x",
    "git log -S -- --output=x",
    "diff --label -- -l a b",
    "tail -n -- -f a",
    "tree -I -- -o x",
    "date -d -- -s x",
    "jq --indent -- -f x",
    "uniq -f 1 -- a out",
    "rg x [a-z]*",
    "sort -uo out a",
    "sort --outp=x a",
    "sort --o x a",
    "sort a -o a",
    "sort --compress-p x a",
    "sort -T. a",
    "sort --temp=x a",
    "tree -o x",
    "tree --output x",
    "uniq a b",
    "uniq - out",
    "uniq a*",
    "date 010100002030",
    "date -s now",
    "date -us now",
    "date --se now",
    "date -f a",
    "sed p a",
    "sed -n 1p -e w a",
    "sed -n 1,5p --in-place a",
    "sed -n '1w x' a",
    "sed -i s/a/b/ a",
    "jq -rf x a",
    "jq --from-file x a",
    "jq 'env' a",
    "jq '.a,env.HOME' a",
    "jq 'import \"a\" as a' x",
    "jq --slurpfile a b .",
    "jq --arg a b env",
    "jq -nr input_filename a",
    "diff -ul a b",
    "diff --pag a b",
    "tail -20f a",
    "tail --fol a",
    "tail --retry a",
    "file -f names",
    "file --mag x a",
    "wc --files0-from=a",
    "du --files0-from a",
    # secrets and devices
    "cat .env.production",
    "cat ./config/.env",
    "cat .ENV",
    "cat '.env'",
    "cat src/../.env",
    "cat ../.ssh/id_ed25519",
    "cat ../.aws/credentials",
    "cat ~/.aws/credentials",
    "cat ~/.docker/config.json",
    "cat ~/.git-credentials",
    "cat ~/.nanohermes/.env",
    "cat ~/.nanohermes/credentials.json",
    "cat ~/.zsh_history",
    "cat .git/config",
    "cat /etc/shadow-",
    "cat /etc/../etc/shadow",
    "cat //etc//shadow",
    "cat /proc/self/fd/3",
    "cat /proc/1/mem",
    "cat /proc/self/root/etc/shadow",
    "cat /dev/stdin",
    "cat /dev/../dev/zero",
    "head -c 10 /dev/sda",
    "wc .env",
    "md5sum id_rsa",
    "grep -r x ~/.ssh",
    "grep -f .env a",
    "grep -f.env a",
    "grep --file=.env a",
    "grep -e x .env",
    "rg -f .env x",
    "sort -- .env",
    "cut -c1- .env",
    "tail -n5 .netrc",
    "diff .env /dev/null",
    "tail -5c .env",
    "grep --reg=x .env",
    "grep --regexp x .env",
    "grep --fil .env x",
    "grep -Ff .env x",
    "cut -sd .env",
    "head -n .env",
    "cat -- .env",
    "cat secrets.yaml",
    "cat /proc/1/cmdline",
    "cat /etc/s*",
    "cat /etc/sh?dow",
    "cat ~/.config/gh/*",
    "cat ~/.config/*/hosts.yml",
    "cat */.aws/credentials",
    "cat .*/config",
    "cat [.]env",
    "git reflog -n 1 expire",
    "cat .e*",
    "cat .*",
    "cat .en?",
    "cat *.pem",
    "cat id_*",
    "cat [i]d_rsa",
    "cat */.env",
    "cat ~/.s*/config",
    "cat /dev/sd*",
    "cat /proc/*/environ",
    "cat ~root/x",
    "sed -n 1p .env",
    "jq . ~/.docker/config.json",
    # git
    "git --version",
    "git -p log",
    "git --paginate log",
    "git -C .. log",
    "git -C /tmp log",
    "git -C 'a/../..' log",
    "git -C .git log",
    "git -C src",
    "git -c a.b=c log",
    "git --git-dir .git log",
    "git --literal-pathspecs log",
    "git log --ou=x",
    "git log '--output' x",
    "git log --outp\\ut=x",
    "git diff --textcon",
    "git log --sho",
    "git show --format=%G?",
    "git log --pretty='format:%h %GK'",
    "git cat-file --filters HEAD:a",
    "git cat-file --textconv HEAD:a",
    "git cat-file -p HEAD:.env",
    "git log -L1,5:.env",
    "git log -L :KEY:.env",
    "git ls-files -oi --exclude-from=.env",
    "du -X .env",
    "git show HEAD:config/.env",
    "git show :.env",
    "git diff HEAD -- .env",
    "git diff --no-ind a b",
    "git diff -Oorder",
    "git diff *",
    "git diff --submodule=diff",
    "git grep -Oless x",
    "git grep -lOless x",
    "git grep -LOless x",
    "git grep -nOless x",
    "git grep -eO -Oless x",
    "git -C a -C b log",
    "git grep --open x",
    "git grep --no-index x",
    "git grep -f .env",
    "git grep --recurse-submodules x",
    "git blame --contents .env a",
    "git blame --contents=a b",
    "git branch x",
    "git branch -c a b",
    "git branch -u origin/x",
    "git branch --edit-description",
    "git branch --unset-upstream",
    "git branch -vD x",
    "git branch --sort x y",
    "git tag x",
    "git tag -v x",
    "git tag -s x",
    "git tag -n x",
    "git tag -f x",
    "git tag --sort=x y",
    "git remote show origin",
    "git remote update",
    "git remote prune origin",
    "git remote rename a b",
    "git config user.name",
    "git config --get http.proxy",
    "git config --get user.signingkey",
    "git config --get credential.helper",
    "git config -l",
    "git config --file=.env --get user.name",
    "git config --get user.name x y",
    "git config get user.name",
    "git stash push",
    "git stash show -p",
    "git stash clear",
    "git worktree add x",
    "git worktree prune",
    "git reflog drop HEAD",
    "git log ~/x",
    "git ls-remote",
    "git symbolic-ref HEAD x",
    "git for-each-ref",
    "git archive HEAD",
    "git show-branch",
    "git range-diff a b",
]


@each_row("command", UNTRUSTED)
def test_what_may_write_run_or_leak_is_not_trusted(command: str, ctx: TrustContext) -> None:
    assert not is_trusted_command(command, ctx).ok


def test_git_is_not_trusted_in_a_repository_that_names_helpers(ctx: TrustContext) -> None:
    named = replace(ctx, git_is_plain=False)
    assert is_trusted_command("git status", named).rule == "git-config"
    assert is_trusted_command("ls", named).ok


def test_a_name_counts_only_where_path_finds_it_in_a_system_folder(tmp_path: Path) -> None:
    own = tmp_path / "bin"
    own.mkdir()

    def rule(path_env: str, command: str = "cat a") -> str:
        return is_trusted_command(command, TrustContext(tmp_path, path_env, tmp_path, git_is_plain=True)).rule

    assert rule(SYSTEM_PATH) == "trusted"
    assert rule(f"{own}:{SYSTEM_PATH}") == "trusted"
    (own / "cat").write_text("#!/bin/sh\n")
    assert rule(f"{own}:{SYSTEM_PATH}") == "trusted", "a file that cannot be executed is passed over"
    (own / "cat").chmod(0o755)
    assert rule(f"{own}:{SYSTEM_PATH}") == "program-path"
    assert rule(f"{SYSTEM_PATH}:{own}") == "trusted"
    assert rule("") == "program-path"
    assert rule(f"{own}:{SYSTEM_PATH}", "echo hi") == "trusted", "the shell's own commands need no PATH"
    assert rule(f":{own}") == "program-path"


def test_a_program_found_nowhere_is_trusted_only_where_root_alone_could_install_it(tmp_path: Path) -> None:
    absent = next(
        (name for name in ("fgrep", "rg", "jq", "tree", "egrep") if shutil.which(name, path=SYSTEM_PATH) is None), ""
    )
    if not absent:
        pytest.skip("every program of the list is installed")
    with_own = TrustContext(tmp_path, f"{tmp_path}:{SYSTEM_PATH}", tmp_path, git_is_plain=True)
    system_only = TrustContext(tmp_path, SYSTEM_PATH, tmp_path, git_is_plain=True)
    assert is_trusted_command(f"{absent} x", with_own).rule == "program-path"
    assert is_trusted_command(f"{absent} x", system_only).ok


def test_operands_are_judged_by_where_they_lead(tmp_path: Path) -> None:
    home = tmp_path / "home"
    workspace = home / "work"
    workspace.mkdir(parents=True)
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("x")
    (home / ".ssh" / "id_rsa.pub").write_text("x")
    (workspace / "innocent.txt").symlink_to(home / ".ssh" / "id_rsa")
    (workspace / "folder").symlink_to(home / ".ssh")
    (workspace / "plain.txt").symlink_to(home / "notes.txt")
    os.mkfifo(workspace / "pipe")
    ctx = TrustContext(workspace, SYSTEM_PATH, home, git_is_plain=True)
    assert not is_trusted_command("cat innocent.txt", ctx).ok
    assert not is_trusted_command("cat folder/id_rsa", ctx).ok
    assert is_trusted_command("cat plain.txt", ctx).ok
    assert is_trusted_command("cat ../.ssh/id_rsa.pub", ctx).ok
    assert not is_trusted_command("cat pipe", ctx).ok, "it would wait for ever"


def test_a_wildcard_is_judged_by_what_it_would_select(tmp_path: Path) -> None:
    home = tmp_path / "home"
    workspace = home / "work"
    workspace.mkdir(parents=True)
    ctx = TrustContext(workspace, SYSTEM_PATH, home, git_is_plain=True)
    for name in (".env", "a.txt", "b.txt"):
        (workspace / name).write_text("x")
    assert is_trusted_command("cat *", ctx).ok
    (workspace / "server.pem").write_text("x")
    assert not is_trusted_command("cat *", ctx).ok
    assert is_trusted_command("cat *.txt", ctx).ok
    assert is_trusted_command("ls *", ctx).ok
    (home / "key").write_text("x")
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id_rsa").write_text("x")
    (workspace / "c.txt").symlink_to(home / ".ssh" / "id_rsa")
    assert not is_trusted_command("cat *.txt", ctx).ok


def test_a_search_of_everything_below_is_judged_by_what_lies_there(tmp_path: Path) -> None:
    home = tmp_path / "home"
    workspace = home / "work"
    (workspace / "src").mkdir(parents=True)
    (home / ".config").mkdir()
    ctx = TrustContext(workspace, SYSTEM_PATH, home, git_is_plain=True)
    for command in ("grep -rn x", "grep -r x .", "grep --recursive x src", "rg x", "rg --hidden x", "diff -r src ."):
        assert is_trusted_command(command, ctx).ok, command
    for command in (
        "grep -r x ~",
        "grep -rn x ..",
        "grep -d recurse x /",
        "grep --directories=recurse x /",
        "rg x ~",
        "rg -n x /etc",
        "grep -R x /home",
        "grep -r x /proc/self",
        "egrep -r x ~/.config",
        "diff -r ~ src",
        "diff -qr /root src",
    ):
        assert is_trusted_command(command, ctx).rule == "secret-folder", command
    assert is_trusted_command("grep x ~", ctx).ok, "a folder is no file to read"
    assert is_trusted_command("grep -rn x /usr/include", ctx).ok
    assert not is_trusted_command("grep -r x", TrustContext(home, SYSTEM_PATH, home, git_is_plain=True)).ok
    (workspace / ".env").write_text("x")
    for command in ("grep -rn x", "grep -r x .", "rg --hidden x", "rg -uu x", "rg -. x", "diff -r . src"):
        assert is_trusted_command(command, ctx).rule == "secret-operand", command
    assert is_trusted_command("rg x", ctx).ok, "it leaves hidden files out"
    assert is_trusted_command("grep -rn x src", ctx).ok


def test_a_trusted_command_stays_trusted_only_without_anything_appended(ctx: TrustContext) -> None:
    for command in TRUSTED[:20]:
        for tail in (";id", "|sh", "&", "\nid", ">x", "$(id)", "`id`", "\r", "\x00", "\u200b", "{a,b}", "(id)"):
            assert not is_trusted_command(command + tail, ctx).ok
            assert not is_trusted_command(command + f" '{tail}'", ctx).ok
