"""What a grant covers and what it does not, and which one is offered."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.errors import ConfigError
from agent_core.grants import Grants, Scope, SessionGrants
from agent_core.grants_file import CommandGrant, GrantsFile, ServerGrant
from agent_core.messages import FileDiff
from agent_core.ports.actions import CommandAction, EditAction, ReadAction, ServerAction, WebAction
from agent_core.safety.prefixes import covers, is_prefix, plain_commands, proposed
from agent_core.safety.shell_trust import TrustContext, is_trusted_command
from agent_core.sandbox.policy import READ_ONLY, UNCONFINED, Box
from tests.rows import each_row

INSIDE = Box("workspace-write")
NETWORK = Box("workspace-write", network=True)


class Place:
    """A workspace, programs on a PATH, and the file of grants."""

    def __init__(self, root: Path) -> None:
        self.workspace = root / "ws"
        self.bin = root / "bin"
        self.file = GrantsFile(root / "home" / "grants.json")
        self.told: list[str] = []
        self.recorded: list[CommandGrant] = []
        self.workspace.mkdir()
        self.bin.mkdir()
        for name in ("git", "npm", "pytest", "ruff", "find", "cargo"):
            self.program(self.bin, name)

    def program(self, folder: Path, name: str) -> None:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)

    def grants(self, workspace: Path | None = None, path: str | None = None) -> Grants:
        where = workspace or self.workspace
        path = path or f"{self.bin}:/usr/bin:/bin"

        def is_trusted(command: str, folder: Path) -> bool:
            context = TrustContext(folder, path, self.workspace.parent / "home", True)
            return is_trusted_command(command, context).ok

        def redact(text: str) -> str:
            return text.replace("KEY", "***")

        return Grants(Scope(where, "s1", path, self.file, is_trusted, redact, self.recorded.append, self._tell))

    def _tell(self, error: ConfigError) -> None:
        self.told.append(error.text)

    def command(self, text: str, cwd: Path | None = None) -> CommandAction:
        return CommandAction(text, str(cwd or self.workspace))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# -- prefixes -----------------------------------------------------------------------------------------------------

ALLOWED_GIT = [
    "git status",
    "git status && git diff",
    "git log --oneline -5 | git status",
    "git diff; git status",
    "git status || git diff HEAD~1",
    "git status 2>&1",
    "git diff > /dev/null 2>&1",
    "git commit -m '修复：时区'",
    "git add 'a file' b\\ c *.py",
    "LANG=C git status",
    "CI=1 git status",
    "git stash show stash@{0}",
    "git log | head -5",
    "git status && ls -la | grep py",
    "git push",
    "git push origin main",
    "git push -u origin main",
]
ASKED_GIT = [
    # Field case 46.
    "git status && rm -rf x",
    "git log | sh",
    "git log; curl x",
    "git log $(rm x)",
    "git log `rm x`",
    "git log\nrm x",
    "git log > ~/.bashrc",
    "git -c core.pager='!sh' log",
    "find . -exec rm {} +",
    "cat <(rm x)",
    # The first word is not where it starts.
    "ls",
    "echo git status",
    "sudo git status",
    "env git status",
    "env X=1 git status",
    "bash -c 'git status'",
    "xargs git status",
    "timeout 5 git status",
    "command git status",
    "eval git status",
    "./git status",
    "/tmp/git status",
    "gitk",
    "GIT status",
    # Something else happens too.
    "git status & rm x",
    "git status &",
    "git status &> out",
    "git status >> notes",
    "git status < /etc/passwd",
    "git status <<< x",
    "git commit -F - <<EOF\nx\nEOF",
    "(git status)",
    "{ git status; }",
    "if git status; then git diff; fi",
    "for f in a; do git add $f; done",
    "git() { rm x; }; git status",
    "git log $HOME",
    "git log ${x:-$(rm x)}",
    "git log $((1+1))",
    "git status\r",
    "git status\x1b[A",
    "git status\u200b",
    "git status\x00",
    "GIT_PAGER=sh git log",
    "PATH=/tmp git status",
    "LD_PRELOAD=x git status",
    "X=1 git status",
    "LANG=$(rm x) git status",
    # Options that say where, with which settings, or what to run.
    "git -C /tmp status",
    "git --git-dir=/tmp/x status",
    "git --exec-path=/tmp status",
    "git --no-pager log",
    "git diff --ext-diff",
    "git diff --output=x",
    "git diff --outp=x",
    "git diff {--output=x,HEAD}",
    "git log -Osh",
    "git grep -O x",
    "git grep --open-files-in-pager=sh x",
    "git fetch --upload-pack=sh origin",
    "git push --receive-pack sh origin",
    "git rebase -x sh HEAD~2",
    "git rebase --exec 'rm x' HEAD~2",
    "git bisect run sh",
    "git submodule foreach 'rm x'",
    "git config core.pager sh",
    "git remote set-url origin https://example.org/x",
    "git clone https://example.org/x",
    "git send-pack https://example.org/x",
    "git upload-pack x",
    "git shell -c x",
    "git an-alias-or-a-program",
    "git stash drop",
    "git push --mirror",
    "git push --delete origin x",
    "git push origin :x",
    # Anybody could have written where it goes.
    "git push https://example.org/x HEAD",
    "git push me@example.org:x",
    "git push ../elsewhere",
    "git push --repo=https://example.org/x",
    "git fetch ext::sh",
    "git fetch --depth 1 https://example.org/x",
    "git push -- https://example.org/x",
    "git push --recurse-submodules=on-demand",
    # What a person is asked about by name.
    "git push --force",
    "git reset --hard",
    "git checkout .",
    "git status && git push --force",
    # No whole command.
    "git log 'x",
    "",
]


@each_row("command", ALLOWED_GIT)
def test_an_allowed_program_covers_what_is_nothing_else(place: Place, command: str) -> None:
    place.file.add(CommandGrant("git", True, INSIDE, str(place.workspace)))
    assert place.grants().covers(place.command(command), box=INSIDE)


@each_row("command", ASKED_GIT)
def test_an_allowed_program_does_not_cover_what_is_more_or_other(place: Place, command: str) -> None:
    place.file.add(CommandGrant("git", True, INSIDE, str(place.workspace)))
    assert not place.grants().covers(place.command(command), box=INSIDE)


def test_even_where_find_is_allowed_what_it_starts_is_not(place: Place) -> None:
    place.file.add(CommandGrant("find .", True, INSIDE, str(place.workspace)))
    assert not place.grants().covers(place.command("find . -exec rm {} +"), box=INSIDE)


@each_row(
    ("prefix", "command", "covered"),
    [
        ("git push", "git push origin main", True),
        ("git push", "git push", True),
        ("git push", "git pushx", False),
        ("git push", "git pull", False),
        ("git push", 'git "push" origin', True),
        ("git push", "git pu*h origin", False),
        ("npm run build", "npm run build -- --watch", True),
        ("npm run build", "npm run buildall", False),
        ("npm run build", "npm run --prefix /tmp/x build", False),
        ("npm test", "npm test --prefix /tmp/x", False),
        ("cargo test", "cargo test --manifest-path /tmp/x/Cargo.toml", False),
        ("cargo test", "cargo +nightly test", False),
        ("pytest", "pytest -q tests", True),
        ("pytest", "pytest --rootdir=/tmp/x", False),
        ("docker", "docker --host tcp://example.org ps", False),
        ("docker ps", "docker ps -a", True),
        ("python manage.py", "python manage.py test", True),
        ("python", "python manage.py", False),
        ("python -c", "python -c 1", False),
        ("sh", "sh x.sh", False),
        ("sudo apt", "sudo apt update", False),
        ("rm", "rm x", False),
        ("env", "env", False),
    ],
)  # fmt: skip
def test_a_prefix_is_its_words_one_by_one(prefix: str, command: str, covered: bool) -> None:
    commands = plain_commands(command)
    assert (len(commands) == 1 and covers(prefix, commands[0])) is covered


@each_row(
    "prefix",
    [
        "", " ", "python", "python3.11", "node", "perl -e", "bash", "sh -c", "/bin/sh", "env", "env X=1", "sudo",
        "xargs", "npx", "uvx cowsay", "make", "make test", "curl", "ssh host", "rm", "rm -rf build", "find .", "sed -i",
        "tee x", "dd if=x", "git;", "git$x", "git 'a b'", "git *", "-x", "~/bin/x", "git -c", "eval", ".", "source x",
        "xdg-open x", "less",
    ],
)  # fmt: skip
def test_what_would_allow_any_code_is_no_prefix(prefix: str) -> None:
    assert not is_prefix(prefix)


@each_row(
    ("command", "inside", "outside"),
    [
        ("git push origin main", "git push", "git push"),
        ("git add -A", "git add", "git add"),
        ("git stash list", "git stash list", "git stash list"),
        ("git stash", "", ""),
        ("git remote add x y", "", ""),
        ("git config user.name x", "", ""),
        ("git push --force", "", ""),
        ("git push https://example.org/x", "", ""),
        ("git -C x status", "", ""),
        ("npm test", "npm test", ""),
        ("npm test -- --watch", "npm test", ""),
        ("npm run build", "npm run build", ""),
        ("npm run", "", ""),
        ("npm install", "", ""),
        ("npm exec x", "", ""),
        ("npx jest", "", ""),
        ("pytest -q tests/x.py", "pytest", ""),
        ("ruff check .", "ruff", ""),
        ("cargo test", "cargo test", ""),
        ("cargo run", "", ""),
        ("go test ./...", "go test", ""),
        ("go run x.go", "", ""),
        ("python x.py", "", ""),
        ("python -m pytest", "", ""),
        ("node x.js", "", ""),
        ("make", "", ""),
        ("make test", "", ""),
        ("sh x.sh", "", ""),
        ("bash -c 'git push'", "", ""),
        ("rm x", "", ""),
        ("curl https://example.org", "", ""),
        ("ssh host", "", ""),
        ("sudo ls", "", ""),
        ("env X=1 git push", "", ""),
        ("LANG=C git push", "", ""),
        ("git push && npm test", "", ""),
        ("git log | head", "", ""),
        ("git push > x", "", ""),
        ("git push $x", "", ""),
        ("./gradlew test", "", ""),
        ("/usr/bin/git push", "", ""),
        ("gh pr view 5", "gh pr view", "gh pr view"),
        ("gh pr merge 5", "", ""),
        ("gh api x", "", ""),
        ("kubectl get pods", "kubectl get", "kubectl get"),
        ("kubectl delete pod x", "", ""),
        ("docker ps -a", "docker ps", "docker ps"),
        ("uv tree", "uv tree", ""),  # they run what lies in the folder
        ("poetry show", "poetry show", ""),
        ("terraform validate", "terraform validate", ""),
        ("docker run x", "", ""),
        ("unknown-tool x", "", ""),
    ],
)  # fmt: skip
def test_a_prefix_is_offered_for_what_its_words_say(command: str, inside: str, outside: str) -> None:
    assert proposed(command) == inside
    assert proposed(command, leaving=True) == outside


@each_row(
    ("prefix", "covered", "asked"),
    [
        (
            "kubectl get",
            (
                "kubectl get pods -n shop -o wide --selector a=b",
                "kubectl get --show-labels pods -Aojson -nstaging",
                "kubectl get pods -o=json -w -- -s",
            ),
            (
                "kubectl get pods --server=https://example.org",
                "kubectl get pods -s https://example.org",
                "kubectl get pods --serv https://example.org",
                "kubectl get pods --context live",
                "kubectl get pods --as root",
                "kubectl get --raw /api/v1/secrets",
                "kubectl get -f https://example.org/x",
                "kubectl get -Rf https://example.org/x",
                "kubectl get pods --profile=cpu --profile-output=x",
            ),
        ),
        (
            "kubectl logs",
            ("kubectl logs -f x", "kubectl logs -p x -c web"),
            ("kubectl logs x --user other", "kubectl logs -ps=https://example.org x"),
        ),
        ("gh pr view", ("gh pr view 5", "gh pr view 5 --comments"), ("gh pr view 5 -R a.example/b/c",)),
        (
            "pip list",
            ("pip list", "pip list --outdated --format=json"),
            ("pip list -o -i https://example.org", "pip list --outdated --index-url https://example.org"),
        ),
        ("uv tree", ("uv tree", "uv tree --depth 2"), ("uv tree --python ./x", "uv tree -p ./x")),
        ("cargo build", ("cargo build --release",), ("cargo build -C /x",)),
        ("npm test", ("npm test", "npm test -- -C x"), ("npm test --script-shell ./x",)),
    ],
)
def test_words_say_nothing_of_another_server_program_or_folder(
    prefix: str, covered: tuple[str, ...], asked: tuple[str, ...]
) -> None:
    def is_covered(text: str) -> bool:
        [command] = plain_commands(text)
        return covers(prefix, command)

    assert [text for text in covered if not is_covered(text)] == []
    assert [text for text in asked if is_covered(text)] == []


def test_a_part_is_judged_as_it_was_written() -> None:
    one, other = plain_commands("cat 'a b' c\\'d *.py | head \"-5\" ")
    assert one.words == ("cat", "a b", "c'd", "*.py")
    assert plain_commands(one.text)[0].words == one.words
    assert other.words == ("head", "-5")
    [wild] = plain_commands("ls '*' *")
    assert wild.text == "ls '*' *"


# -- a session's --------------------------------------------------------------------------------------------------


def test_a_session_s_grant_is_this_text_in_this_folder(place: Place) -> None:
    grants = place.grants()
    grants.grant(place.command("make test"), box=INSIDE)
    assert grants.covers(place.command("make test"), box=INSIDE)
    assert not grants.covers(place.command("make test "), box=INSIDE)
    assert not grants.covers(place.command("make test", place.bin), box=INSIDE)
    assert not place.grants().covers(place.command("make test"), box=INSIDE)


@pytest.mark.parametrize("lasting", [False, True])
def test_a_grant_says_nothing_about_a_wider_box(place: Place, lasting: bool) -> None:
    boxes = [READ_ONLY, INSIDE, NETWORK, UNCONFINED]
    for at, was in enumerate(boxes):
        action = place.command(f"make step{at}")
        grants = place.grants()
        if lasting:
            grants.grant_always(action, "", was)
            grants = place.grants()
        else:
            grants.grant(action, box=was)
        assert [grants.covers(action, box=box) for box in boxes] == [n <= at for n in range(4)]


def test_the_network_of_a_read_only_box_is_no_right_to_write(place: Place) -> None:
    grants, action = place.grants(), place.command("make docs")
    grants.grant(action, box=Box("read-only", network=True))
    assert grants.covers(action, box=READ_ONLY)
    assert not grants.covers(action, box=INSIDE)


def test_without_a_word_about_the_box_it_is_what_the_command_needs(place: Place) -> None:
    grants = place.grants()
    grants.grant(CommandAction("x", "/f", "network"))
    assert grants.covers(CommandAction("x", "/f", "network"))
    assert grants.covers(CommandAction("x", "/f"))
    assert not grants.covers(CommandAction("x", "/f", "everything"))


def test_a_session_s_grants_can_be_seen_and_taken_back(place: Place) -> None:
    grants = place.grants()
    grants.grant(place.command("make"), box=INSIDE)
    grants.grant(ReadAction(".env"))
    grants.grant(EditAction((FileDiff("a.py", "edit", (), 1, 0),)))
    seen = grants.session()
    assert seen == SessionGrants((("make", str(place.workspace), INSIDE),), True, (), (".env",))
    grants.revoke(SessionGrants(commands=seen.commands))
    assert not grants.covers(place.command("make"), box=INSIDE)
    assert grants.covers(ReadAction(".env"))
    grants.revoke(seen)
    assert grants.session() == SessionGrants()
    grants.give_back(seen)
    assert grants.session() == seen
    grants.revoke(seen)
    assert not grants.covers(EditAction((FileDiff("a.py", "edit", (), 1, 0),)))


# -- for good -----------------------------------------------------------------------------------------------------


def test_a_prefix_for_good_holds_in_the_next_session_and_not_in_another_workspace(place: Place, tmp_path: Path) -> None:
    place.grants().grant_always(place.command("git push origin x"), "git push *", NETWORK)
    assert [grant.pattern for grant in place.recorded] == ["git push *"]
    assert place.grants().covers(place.command("git push origin y"), box=NETWORK)
    assert place.grants().covers(place.command("git push"), box=INSIDE)
    other = tmp_path / "other"
    other.mkdir()
    assert not place.grants(other).covers(place.command("git push", other), box=NETWORK)
    assert not place.grants().covers(place.command("git push", other), box=NETWORK)


def test_the_exact_text_for_good_covers_nothing_longer(place: Place) -> None:
    grants = place.grants()
    grants.grant_always(place.command("git push origin x"), "git push origin x", INSIDE)
    again = place.grants()
    assert again.covers(place.command("git push origin x"), box=INSIDE)
    assert not again.covers(place.command("git push origin x y"), box=INSIDE)
    sub = place.workspace / "sub"
    sub.mkdir()
    assert not again.covers(place.command("git push origin x", sub), box=INSIDE)


def test_a_dangerous_command_is_granted_exactly_or_not_at_all(place: Place) -> None:
    grants, action = place.grants(), place.command("rm -rf build")
    assert grants.patterns_for(action, INSIDE) == ("rm -rf build",)
    grants.grant_always(action, "", INSIDE)
    assert place.grants().covers(action, box=INSIDE)
    assert not place.grants().covers(place.command("rm -rf build x"), box=INSIDE)


@pytest.mark.parametrize("pattern", ["git *", "git push origin y", "*", "rm *", "git push", "git push  *"])
def test_a_pattern_that_was_not_offered_is_not_written(place: Place, pattern: str) -> None:
    grants = place.grants()
    grants.grant_always(place.command("git push origin x"), pattern, INSIDE)
    assert place.file.read().commands == ()
    assert grants.covers(place.command("git push origin x"), box=INSIDE)  # this was allowed for the session at least
    assert not grants.covers(place.command("git push origin y"), box=INSIDE)


@pytest.mark.parametrize(
    ("command", "offered"),
    [
        ("git push origin x", ("git push *", "git push origin x")),
        ("make test", ("make test",)),
        ("git add *", ("git add *",)),
        ("echo a\necho b", ("echo a\necho b",)),
        ("deploy --key KEY", ()),
        ("echo \x1b[2K", ()),
        ("echo \u202e", ()),
        ("   ", ()),
        ("echo " + "x" * 5_000, ()),
    ],
)
def test_what_is_offered_can_be_read_again(place: Place, command: str, offered: tuple[str, ...]) -> None:
    assert place.grants().patterns_for(place.command(command), INSIDE) == offered
    assert place.grants().pattern_for(place.command(command), INSIDE) == (offered[0] if offered else "")


def test_without_a_file_nothing_is_offered_for_good(place: Place) -> None:
    assert Grants(Scope(place.workspace)).patterns_for(place.command("make"), INSIDE) == ()
    assert place.grants().patterns_for(ReadAction("x")) == ()
    assert place.grants().patterns_for(EditAction(())) == ()


def test_another_program_of_that_name_is_not_meant(place: Place) -> None:
    place.grants().grant_always(place.command("git push"), "git push *", NETWORK)
    mine = place.workspace / "bin"
    mine.mkdir()
    place.program(mine, "git")
    action = place.command("git push")
    assert place.grants().covers(action, box=NETWORK)
    assert not place.grants(path=f"{mine}:{place.bin}").covers(action, box=NETWORK)
    assert not place.grants(path=f".:{place.bin}").covers(action, box=NETWORK)
    assert not place.grants(path=f":{place.bin}").covers(action, box=NETWORK)


def test_a_program_of_the_workspace_gets_no_prefix_outside_the_sandbox(place: Place) -> None:
    mine = place.workspace / "bin"
    mine.mkdir()
    place.program(mine, "git")
    grants = place.grants(path=f"{mine}:{place.bin}")
    assert grants.pattern_for(place.command("git push"), NETWORK) == "git push"
    assert grants.pattern_for(place.command("git push"), INSIDE) == "git push *"


def test_what_runs_the_workspace_s_code_gets_no_prefix_outside_the_sandbox(place: Place) -> None:
    action = place.command("pytest -q")
    assert place.grants().pattern_for(action, INSIDE) == "pytest *"
    assert place.grants().pattern_for(action, NETWORK) == "pytest -q"
    assert place.grants().pattern_for(action, UNCONFINED) == "pytest -q"


def test_a_folder_of_the_workspace_may_be_entered_first_and_no_other(place: Place, tmp_path: Path) -> None:
    place.file.add(CommandGrant("npm test", True, INSIDE, str(place.workspace)))
    (place.workspace / "web").mkdir()
    (place.workspace / "away").symlink_to(tmp_path)
    covered = place.grants().covers
    assert covered(place.command("cd web && npm test"), box=INSIDE)
    assert covered(place.command("cd ./web/ && npm test | tail -5"), box=INSIDE)
    for folder in ("..", "/", "away", "nowhere", "~", "-", "", "web x", "w*", "$HOME"):
        assert not covered(place.command(f"cd {folder} && npm test"), box=INSIDE)
    assert not covered(place.command("cd web"), box=INSIDE)


def test_parts_that_only_read_need_a_grant_beside_them(place: Place) -> None:
    place.file.add(CommandGrant("npm test", True, INSIDE, str(place.workspace)))
    covered = place.grants().covers
    assert covered(place.command("npm test 2>&1 | tail -20"), box=INSIDE)
    assert not covered(place.command("ls | tail -20"), box=INSIDE)
    assert not covered(place.command("npm test; cat .env"), box=INSIDE)
    assert not covered(place.command("npm test; sort -o x y"), box=INSIDE)


def test_what_is_revoked_asks_again_at_once_in_every_session(place: Place) -> None:
    one, other = place.grants(), place.grants()
    one.grant_always(place.command("git push"), "git push *", INSIDE)
    assert other.covers(place.command("git push"), box=INSIDE)
    [grant] = GrantsFile(place.file.path).read().commands
    GrantsFile(place.file.path).remove(grant)
    assert not other.covers(place.command("git push"), box=INSIDE)


def test_a_broken_file_is_told_once_grants_nothing_and_leaves_the_session_s(place: Place) -> None:
    place.file.path.parent.mkdir()
    place.file.path.write_text("{")
    place.file.path.chmod(0o600)
    grants = place.grants()
    assert not grants.covers(place.command("git push"), box=INSIDE)
    assert not grants.covers(place.command("git pull"), box=INSIDE)
    assert len(place.told) == 1
    grants.grant_always(place.command("git push"), "git push *", INSIDE)
    assert len(place.told) == 2
    assert grants.covers(place.command("git push"), box=INSIDE)
    assert not grants.covers(place.command("git push x"), box=INSIDE)
    assert place.file.path.read_text() == "{"


def test_a_hand_written_grant_may_hold_anywhere(place: Place, tmp_path: Path) -> None:
    place.file.path.parent.mkdir()
    place.file.path.write_text('{"commands": [{"prefix": "git  fetch", "network": true}, {"command": "make all"}]}')
    place.file.path.chmod(0o600)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    grants = place.grants(elsewhere)
    assert grants.covers(place.command("git fetch", elsewhere), box=NETWORK)
    assert grants.covers(place.command("make all", elsewhere), box=INSIDE)
    assert not grants.covers(place.command("make all", elsewhere), box=NETWORK)


def test_a_file_of_the_project_has_no_say(place: Place) -> None:
    folder = place.workspace / ".nanohermes"
    folder.mkdir()
    (folder / "grants.json").write_text('{"commands": [{"prefix": "git"}], "machine": {"no_sandbox": true}}')
    os.chmod(folder / "grants.json", 0o600)
    assert not place.grants().covers(place.command("git push"), box=READ_ONLY)


# -- whatever the text --------------------------------------------------------------------------------------------

_GOOD = st.sampled_from(["git status", "git diff HEAD", "git log -3", "git add 'a b'", "LANG=C git branch"])
_BAD = st.sampled_from(
    ["rm x", "sh", "curl x", "git -C x log", "git foo", "./git log", "X=1 git log", "git log > x", "$(git log)",
     "sudo git log", "xargs git log", "git log & true", "(git log)", "echo `git log`", "! rm x", "eval git log",
     "exec git log", "cd /"]
)  # fmt: skip
_JOINS = st.sampled_from([" && ", " || ", "; ", " | ", ";", "&&", " |& ", "\n", " & "])


@given(before=st.lists(_GOOD, max_size=3), bad=_BAD, after=st.lists(_GOOD, max_size=3), join=_JOINS)
def test_one_part_that_is_not_allowed_is_enough_wherever_it_stands(before, bad, after, join) -> None:
    commands = plain_commands(join.join([*before, bad, *after]))
    assert not commands or not all(covers("git", command) for command in commands)


@given(st.lists(_GOOD, min_size=1, max_size=5), st.sampled_from([" && ", " || ", "; ", " | "]))
def test_parts_that_are_all_allowed_are_covered_together(parts, join) -> None:
    commands = plain_commands(join.join(parts))
    assert len(commands) == len(parts)
    assert all(covers("git", command) for command in commands)


@given(st.text(alphabet=st.sampled_from(list("git log'\"\\$`;&|<>(){}*?!#~=-\n\t\x00\u200b时 ")), max_size=40))
def test_no_text_breaks_the_judgement_and_what_is_taken_apart_can_be_put_together_again(text) -> None:
    commands = plain_commands(text)
    proposed(text)
    for command in commands:
        [again] = plain_commands(command.text)
        assert again.words == command.words


def test_both_ends_of_a_move_must_be_granted():
    moved = FileDiff("new.txt", (), 0, 0, old_path=".git/config")
    grants = Grants()
    grants.grant_path("new.txt")
    assert not grants.covers(EditAction((moved,)), path_asked=True)
    grants.grant(EditAction((moved,)), path_asked=True)
    assert grants.covers(EditAction((moved,)), path_asked=True)


# -- files --------------------------------------------------------------------------------------------------------


def edit_of(path: str) -> EditAction:
    return EditAction((FileDiff(path, (), 1, 0),))


def test_every_change_is_none_that_a_path_rule_asks_about_and_a_file_that_may_be_read_lends_nothing():
    grants = Grants()
    grants.grant_edits()
    assert grants.covers(edit_of("src/a.py"))
    assert not grants.covers(edit_of(".git/config"), path_asked=True)
    grants.grant_path(".git/config")
    assert grants.covers(edit_of(".git/config"), path_asked=True), "unless it was allowed by its name"
    assert not grants.covers(edit_of(".envrc"), path_asked=True)
    grants.grant_path("skill/SKILL.md", read_only=True)
    assert grants.covers(ReadAction("skill/SKILL.md"), path_asked=True)
    assert not grants.covers(ReadAction("skill/SKILL.md", lends=("TOKEN",)), path_asked=True)
    assert not grants.covers(edit_of("skill/SKILL.md"), path_asked=True)


def test_a_narrower_grant_takes_nothing_from_a_wider_one(place: Place) -> None:
    grants, action = place.grants(), place.command("make")
    grants.grant(action, box=NETWORK)
    grants.grant(action, box=INSIDE)
    assert grants.covers(action, box=NETWORK)
    grants.grant(action, box=UNCONFINED)
    assert grants.covers(action, box=UNCONFINED)


def test_variables_that_were_lent_once_let_no_file_be_read_without_asking(place: Place) -> None:
    grants = place.grants()
    grants.grant(ReadAction(".env", lends=("TOKEN",)))
    assert not grants.covers(ReadAction(".env"))
    grants.grant(ReadAction(".env"))
    assert grants.covers(ReadAction(".env"))
    assert not grants.covers(ReadAction(".env", lends=("TOKEN",)))


def test_a_page_that_a_rule_asks_about_is_granted_alone_never_its_host(place: Place) -> None:
    grants, page = place.grants(), WebAction("https://docs.example/x", "docs.example")
    grants.grant(page, path_asked=True)
    assert not grants.covers(page)
    grants.grant(page)
    assert grants.covers(page)
    assert not grants.covers(page, path_asked=True)


def test_outside_the_workspace_no_prefix_is_offered(place: Place, tmp_path: Path) -> None:
    grants = place.grants()
    assert grants.patterns_for(place.command("git status -s"))[0] != "git status -s"
    assert grants.patterns_for(place.command("git status -s", tmp_path)) == ("git status -s",)


def test_a_tool_that_was_allowed_for_good_is_that_of_the_same_server_under_the_same_name(place: Place) -> None:
    place.file.add(ServerGrant("docs", "find", "https://one.example"))
    assert place.grants().covers(ServerAction("docs", "find", "https://one.example"))
    assert not place.grants().covers(ServerAction("docs", "find", "https://two.example"))
    assert not place.grants().covers(ServerAction("docs", "drop", "https://one.example"))


@pytest.mark.parametrize("name", ["-", "~", "+1"])
def test_where_cd_means_another_place_a_folder_of_that_name_allows_nothing(place: Place, name: str) -> None:
    (place.workspace / name).mkdir()
    grants = place.grants()
    grants.grant_always(place.command("git status -s"))
    assert grants.covers(place.command("git status -s && cd . && git status"))
    assert not grants.covers(place.command(f"cd {name} && git status -s"))


def test_what_only_reads_beside_a_prefix_has_to_in_each_folder_it_may_run_in(place: Place, tmp_path: Path) -> None:
    (place.workspace / "sub").mkdir()
    scope = Scope(place.workspace, "s1", str(place.bin), place.file, lambda command, folder: folder.name == "sub")
    grants = Grants(scope)
    grants.grant_always(place.command("git status -s"))
    assert grants.covers(place.command("git status"))
    assert not grants.covers(place.command("cd sub && find . && git status")), "find runs above it where cd fails"
    assert grants.covers(CommandAction("find . && git status", str(place.workspace / "sub")))
