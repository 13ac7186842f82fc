"""What was allowed for good: one file, a person's to edit, seen by every program at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_core import limits
from agent_core.errors import ConfigError
from agent_core.grants_file import CommandGrant, GrantsFile
from agent_core.sandbox.policy import UNCONFINED, Box

WRITE = Box("workspace-write")
PUSH = CommandGrant("git push", True, Box("workspace-write", True), "/w", program="/usr/bin/git", when=5.0, session="s")


@pytest.fixture
def file(tmp_path: Path) -> GrantsFile:
    return GrantsFile(tmp_path / "home" / "grants.json")


def put(file: GrantsFile, text: str, mode: int = 0o600) -> None:
    file.path.parent.mkdir(exist_ok=True)
    file.path.write_text(text)
    file.path.chmod(mode)


def test_without_a_file_nothing_is_granted_and_none_is_made_by_looking(file: GrantsFile) -> None:
    written = file.read()
    assert (written.commands, written.no_sandbox, written.problem) == ((), False, None)
    assert not file.path.exists()


def test_what_is_written_comes_back_and_only_its_owner_can_read_it(file: GrantsFile) -> None:
    exact = CommandGrant("make && make install", False, UNCONFINED, "/w", cwd="/w/sub")
    file.add(PUSH)
    file.add(exact)
    file.confirm_mode("/w", "auto")
    file.accept_no_sandbox()
    again = GrantsFile(file.path).read()
    assert again.commands == (PUSH, exact)
    assert again.modes == {"/w": frozenset({"auto"})}
    assert again.no_sandbox
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_a_grant_is_there_once_and_gone_when_it_is_taken_back(file: GrantsFile) -> None:
    file.add(PUSH)
    file.add(CommandGrant("git push", True, PUSH.box, "/w", program="/usr/bin/git", when=9.0))
    assert len(file.read().commands) == 1
    file.remove(PUSH)
    assert file.read().commands == ()


def test_confirmed_modes_and_the_machine_s_choice_can_be_taken_back(file: GrantsFile) -> None:
    file.confirm_mode("/w", "auto")
    file.confirm_mode("/w", "goal")
    file.confirm_mode("/w", "auto", False)
    file.accept_no_sandbox()
    file.accept_no_sandbox(False)
    assert (file.mode_confirmed("/w", "auto"), file.mode_confirmed("/w", "goal")) == (False, True)
    assert not file.mode_confirmed("/elsewhere", "goal")
    assert not file.read().no_sandbox
    assert "machine" not in file.read().document


def test_another_program_s_change_is_seen_at_once(file: GrantsFile) -> None:
    file.add(PUSH)
    assert len(file.read().commands) == 1
    GrantsFile(file.path).remove(PUSH)
    assert file.read().commands == ()
    file.path.unlink()
    assert file.read().document == {}


def test_an_edit_by_hand_that_keeps_the_size_is_seen(file: GrantsFile) -> None:
    put(file, '{"commands": [{"prefix": "git push"}]}')
    assert file.read().commands[0].text == "git push"
    put(file, '{"commands": [{"prefix": "git pull"}]}')
    assert file.read().commands[0].text == "git pull"


def test_fields_nobody_knows_survive_a_change(file: GrantsFile) -> None:
    put(file, '{"later": [1], "commands": [{"prefix": "git push", "note": "mine"}], "trust": {"/w": {"digest": "d"}}}')
    file.accept_no_sandbox()
    now = json.loads(file.path.read_text())
    assert now["later"] == [1]
    assert now["commands"] == [{"prefix": "git push", "note": "mine"}]
    assert now["trust"] == {"/w": {"digest": "d"}}
    assert file.read().section("trust") == {"/w": {"digest": "d"}}


def test_a_section_of_another_room_is_changed_by_itself(file: GrantsFile) -> None:
    file.add(PUSH)
    file.change_section("trust", lambda trust: trust.update({"/w": "digest"}))
    assert file.read().section("trust") == {"/w": "digest"}
    file.change_section("trust", lambda trust: trust.clear())
    assert "trust" not in file.read().document
    assert file.read().commands == (PUSH,)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"commands": [\n  {"prefix": "git push",}\n]}', ":2 is no JSON"),
        ("[]", ":1 is no JSON object"),
        ('{"version": 2}', "newer version (2)"),
        ('{"commands": {}}', "commands: it must be a list"),
        ('{"commands": ["git push"]}', "commands[0]: it must be an object"),
        ('{"commands": [{}]}', 'commands[0]: it must have either "command" or "prefix"'),
        ('{"commands": [{"prefix": "a", "command": "a"}]}', "either"),
        ('{"commands": [{"prefix": "  "}]}', "has no words"),
        ('{"commands": [{"prefix": 3}]}', "commands[0]: it must be a text"),
        ('{"commands": [{"prefix": "git", "sandbox": "off"}]}', '"sandbox" must be one of'),
        ('{"hosts": [{"host": "*."}]}', 'hosts[0]: "host" must be a name'),
        ('{"hosts": [{"host": "."}]}', "must be a name"),
        ('{"hosts": [{"host": "*.*.example"}]}', 'or one behind "*."'),
        ('{"hosts": [{"host": "docs*.example"}]}', 'or one behind "*."'),
        ('{"commands": [{"prefix": "git", "network": "yes"}]}', '"network"'),
        ('{"commands": [{"prefix": "git", "workspace": 1}]}', '"workspace"'),
        ('{"modes": {"/w": ["ask"]}}', "one of auto, goal"),
        ('{"modes": {"/w": "auto"}}', "must be a list"),
        ('{"machine": {"no_sandbox": "false"}}', "no_sandbox: it must be true or false"),
        ("\x00", "is no JSON"),
    ],
)
def test_a_broken_file_grants_nothing_is_named_and_stays_as_it_is(file: GrantsFile, text: str, says: str) -> None:
    put(file, text)
    written = file.read()
    assert written.problem is not None
    assert says in written.problem.text
    assert str(file.path) in written.problem.text
    assert (written.commands, written.modes, written.no_sandbox) == ((), {}, False)
    with pytest.raises(ConfigError):
        file.add(PUSH)
    assert file.path.read_text() == text


def test_one_broken_entry_takes_the_others_with_it_until_it_is_mended(file: GrantsFile) -> None:
    put(file, '{"machine": {"no_sandbox": true}, "commands": [{"prefix": "git push"}, {"prefix": 1}]}')
    assert (file.read().commands, file.read().no_sandbox) == ((), False)
    put(file, '{"machine": {"no_sandbox": true}, "commands": [{"prefix": "git push"}]}')
    assert (len(file.read().commands), file.read().no_sandbox) == (1, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")
def test_a_file_of_another_user_grants_nothing(file: GrantsFile) -> None:
    put(file, '{"machine": {"no_sandbox": true}}')
    os.chown(file.path, 12345, 12345)
    found = file.read()
    assert found.problem is not None
    assert "belongs to another user (id 12345)" in found.problem.text
    assert not found.no_sandbox


def test_a_file_that_is_too_large_grants_nothing_though_its_beginning_could_be_read(file: GrantsFile) -> None:
    put(file, '{"machine": {"no_sandbox": true}}' + " " * limits.GRANTS_FILE)
    found = file.read()
    assert found.problem is not None
    assert "is larger than" in found.problem.text
    assert not found.no_sandbox


def test_a_file_that_others_can_write_grants_nothing(file: GrantsFile) -> None:
    put(file, '{"machine": {"no_sandbox": true}}', 0o666)
    problem = file.read().problem
    assert problem is not None
    assert "chmod 600" in problem.text
    file.path.chmod(0o600)
    assert file.read().no_sandbox


def test_what_could_not_be_read_back_is_not_written(file: GrantsFile) -> None:
    file.add(PUSH)
    before = file.path.read_bytes()
    with pytest.raises(ConfigError, match="it has no words"):
        file.add(CommandGrant(" ", False, WRITE, "/w", "/w"))
    assert file.path.read_bytes() == before


def test_an_empty_file_and_one_with_a_byte_order_mark_are_fine(file: GrantsFile) -> None:
    put(file, "")
    assert file.read().problem is None
    put(file, '\ufeff{"machine": {"no_sandbox": true}}')
    assert file.read().no_sandbox


@pytest.mark.parametrize("when", ["1e999", "-1", "9" * 400, "NaN", '"today"', "null"])
def test_a_time_that_is_none_breaks_nothing(file: GrantsFile, when: str) -> None:
    put(file, f'{{"commands": [{{"prefix": "git push", "when": {when}}}]}}')
    [grant] = file.read().commands
    assert grant.when == 0.0


def test_a_folder_whose_name_is_no_unicode_can_be_written(file: GrantsFile) -> None:
    grant = CommandGrant("echo 你好", False, WRITE, os.fsdecode(b"/w/\xff"), cwd=os.fsdecode(b"/w/\xff"))
    file.add(grant)
    assert GrantsFile(file.path).read().commands == (grant,)


def test_no_pipe_or_folder_makes_it_wait(file: GrantsFile) -> None:
    file.path.parent.mkdir()
    os.mkfifo(file.path, 0o600)
    assert file.read().problem is not None
    file.path.unlink()
    file.path.mkdir(0o700)
    assert file.read().problem is not None


def test_programs_that_write_at_once_lose_nothing_of_each_other(file: GrantsFile) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from agent_core.grants_file import CommandGrant, GrantsFile\n"
        "from agent_core.sandbox.policy import READ_ONLY\n"
        "for n in range(10):\n"
        "    GrantsFile(Path(sys.argv[1])).add(CommandGrant(f'run {sys.argv[2]}-{n}', False, READ_ONLY))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(file.path), str(n)]) for n in range(3)]
    assert [process.wait(30) for process in running] == [0, 0, 0]
    assert len(file.read().commands) == 30
    assert {path.name for path in file.path.parent.iterdir()} == {"grants.json", "grants.json.lock"}
