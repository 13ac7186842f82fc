"""run_command, and what is made of a command's end."""

from __future__ import annotations

import errno
import os
import resource
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from agent_core import limits
from agent_core.errors import ToolFailure
from agent_core.ports.actions import CommandAction
from agent_core.sandbox.policy import UNCONFINED
from agent_core.spill import Spill
from agent_core.text.command_outcome import is_harmless, meaning, summary, telling_lines
from tests.rows import each_row

from .tool_support import call, context, later, prepare


@pytest.fixture
def ctx(tmp_path):
    return context(tmp_path)


def test_exit_code_and_both_streams_are_told(ctx):
    result = call(ctx, "run_command", command="echo out; echo err >&2; exit 3")
    first, *rest = result.text.split("\n")
    assert first.startswith("exit code 3 (")
    assert rest == ["out", "[stderr]", "err"]
    assert (result.ok, result.outcome, result.effect, result.preview) == (False, "exit 3", "done", ("out", "err"))


def test_success_is_short(ctx):
    result = call(ctx, "run_command", command="true")
    assert result.text.endswith("\n(no output)")
    assert (result.ok, result.outcome, result.preview) == (True, "exit 0", ())


def test_the_action_is_the_exact_command_and_nothing_runs_before(ctx):
    (ctx.workspace / "sub").mkdir()
    prepared = prepare(ctx, "run_command", command=" touch  x ", cwd="sub", timeout=5)
    assert prepared.action == CommandAction(" touch  x ", str(ctx.workspace / "sub"))
    assert not (ctx.workspace / "sub/x").exists()
    prepared.run(UNCONFINED)
    assert (ctx.workspace / "sub/x").exists()


@pytest.mark.parametrize("cwd", ["..", "/", "/etc", "nowhere", "~", "file"])
def test_the_folder_lies_in_the_workspace(ctx, cwd):
    (ctx.workspace / "file").touch()
    with pytest.raises(ToolFailure):
        prepare(ctx, "run_command", command="true", cwd=cwd)


@pytest.mark.parametrize("command", ["", "  \n", "a\0b", "\ud800", "x" * 130_000])
def test_what_is_no_command_is_refused(ctx, command):
    with pytest.raises(ToolFailure):
        prepare(ctx, "run_command", command=command)


def test_no_match_is_no_failure(ctx):
    result = call(ctx, "run_command", command="echo a | grep b")
    assert (result.ok, result.outcome) == (True, "exit 1")
    assert "no match was found" in result.text


def test_a_timeout_says_what_it_was(ctx):
    result = call(ctx, "run_command", command="echo begun; sleep 30", timeout=1)
    assert (result.ok, result.outcome, result.effect) == (False, "timed out", "unknown")
    assert "within 1 s" in result.text
    assert "begun" in result.text


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git init -q . && git add . && git commit", "It wanted an editor"),
        ("python3 -c 'input(\"Name: \")'", "It asked for input"),
        ("printf 'Go on? [y/N] '; exit 1", "It asked for input"),
        ("echo 'Host key verification failed.' >&2; exit 255", "host's key is not known"),
        ("echo 'sudo: a terminal is required to read the password' >&2; exit 1", "sudo wanted a password"),
        ("echo 'sudo: The \"no new privileges\" flag is set' >&2; exit 1", "becomes another user"),
        ("echo \"fatal: could not read Username for 'https://x'\" >&2; exit 128", "name or a password"),
        ("echo 'answer [y/N] was read' ; exit 1", ""),
        ("echo 'Host key verification failed.'", ""),
        (
            "echo 'Pseudo-terminal will not be allocated because stdin is not a terminal.' >&2; "
            "echo 'ssh: connect to host h port 22: Connection refused' >&2; exit 255",
            "",
        ),
    ],
)
def test_who_asked_for_something_is_told_what_to_do(ctx, command, words):
    (ctx.workspace / "f").touch()
    prefix = "git config --global user.email a@b.c; git config --global user.name A; " if "git" in command else ""
    said = call(ctx, "run_command", command=prefix + command).text
    assert words in said if words else "[It" not in said and "nobody" not in said


def test_a_stop_keeps_what_was_said(ctx):
    later(0.3, ctx.cancel.cancel)
    begun = time.monotonic()
    result = call(ctx, "run_command", command="echo begun; sleep 30")
    assert time.monotonic() - begun < 15
    assert (result.ok, result.outcome, result.effect) == (False, "stopped", "unknown")
    assert result.text.startswith("[interrupted]")
    assert "begun" in result.text


def test_children_that_stay_are_named(ctx):
    assert "still running when the command had ended" in call(ctx, "run_command", command="sleep 30 & echo ok").text


def test_control_bytes_do_not_come_through(ctx):
    result = call(
        ctx, "run_command", command=r"printf 'a\033[2J\033[Hb\033]0;t\007\233c\000\rd\n'; printf '10%%\r100%%\n'"
    )
    assert result.text.split("\n")[1:] == ["ab\ufffdc", "d", "100%"]


def kept_in(text):
    """The path of the file that a result says its output is in."""
    return text.split('<persisted-output path="')[1].split('"')[0]


def test_long_output_has_head_tail_and_a_file_with_all_of_it(ctx):
    result = call(ctx, "run_command", command="seq 1 50000; echo done >&2")
    assert len(result.text.encode()) <= limits.TOOL_RESULT
    assert "\n1\n2\n" in result.text
    assert "50000\n[stderr]\ndone\n" in result.text
    path = kept_in(result.text)
    assert os.stat(path).st_mode & 0o777 == 0o600
    read = prepare(ctx, "read_file", path=path, offset=30_000, limit=1)
    assert read.path_verdict == "allow"
    assert read.run(UNCONFINED).text.startswith("30000\t30000\n")


def test_the_file_of_an_endless_output_is_bounded(ctx):
    text = call(ctx, "run_command", command="yes 中文 | head -c 20M").text
    assert f' bytes="{20 * limits.MB}" kept="' in text
    assert f"of {20 * limits.MB} bytes]" in text, "of all there was, not of what was captured"
    path = kept_in(text)
    assert limits.SPILL_FILE - 4 <= os.path.getsize(path) <= limits.SPILL_FILE


def test_old_spill_files_go(ctx, monkeypatch):
    monkeypatch.setattr(limits, "SPILL_FILES", 3)
    for _ in range(5):
        call(ctx, "run_command", command="seq 1 9000")
    assert len(os.listdir(ctx.data_home / "spill")) == 3


def test_a_full_disk_costs_the_file_only(ctx):
    (ctx.data_home / "spill").write_text("not a folder")
    assert call(ctx, "run_command", command="seq 1 9000").ok


def test_a_disk_that_fills_up_leaves_no_half_of_an_output(tmp_path):
    spill = Spill(tmp_path)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * limits.KB, limit[1]))
    try:
        for number in range(40):
            spill.add(f"{number:04}\n" * 1000)
        spill.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert spill.path is None
    assert os.listdir(tmp_path) == []


def test_a_disk_that_has_become_read_only_costs_the_file_only(tmp_path, monkeypatch):
    spill = Spill(tmp_path)
    spill.add("x\n" * limits.TOOL_RESULT)

    def refuses(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    spill._file.close()
    spill._file = SimpleNamespace(write=refuses, close=refuses)
    monkeypatch.setattr("pathlib.Path.unlink", refuses)
    spill.add("y\n" * limits.TOOL_RESULT)
    spill.close()
    assert spill.head == ""


def test_the_file_holds_none_of_the_programs_own_keys(ctx):
    ctx = replace(ctx, keys=lambda: ("plain-gateway-key-4711",))
    call(ctx, "run_command", command="seq 1 5000; echo plain-gateway-key-4711; seq 1 5000")
    (file,) = (ctx.data_home / "spill").iterdir()
    assert "plain-gateway-key-4711" not in file.read_text()
    assert "[REDACTED]" in file.read_text()


def test_an_output_that_is_cut_has_a_file(ctx):
    for size in range(limits.TOOL_RESULT - 1200, limits.TOOL_RESULT, 200):
        text = call(ctx, "run_command", command=f"yes 123456789 | head -c {size}").text
        assert ("truncated" in text) <= ("<persisted-output" in text), size


def test_the_file_of_an_output_holds_no_keys(ctx):
    text = call(ctx, "run_command", command="seq 1 5000; echo password=fakeSecret0value; seq 1 5000").text
    path = kept_in(text)
    with open(path) as file:
        kept = file.read()
    assert "fakeSecret0value" not in kept
    assert kept.count("5000\n") == 2


def test_errors_get_their_share_of_a_full_result(ctx):
    result = call(ctx, "run_command", command="seq 1 9000; for i in $(seq 1 3000); do echo e$i >&2; done; exit 1")
    assert len(result.text.encode()) <= limits.TOOL_RESULT
    assert "e3000" in result.text
    assert "\n9000\n" in result.text


def test_progress_shows_the_newest_line_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "COMMAND_PROGRESS_EVERY", 0.05)
    seen = []
    ctx = context(tmp_path, progress=seen.append)
    call(ctx, "run_command", command="for i in 1 2 3 4 5 6 7 8; do printf 'step %s\\n\\033[0m\\n' $i; sleep 0.06; done")
    assert 2 <= len(seen) <= 8
    assert all(line.startswith("step ") for line in seen)


def test_commands_get_the_environment_they_are_given(tmp_path):
    ctx = context(tmp_path, env={"PATH": os.environ["PATH"], "MARK": "here"})
    assert "here" in call(ctx, "run_command", command="echo $MARK").text


def test_a_command_that_cannot_start_is_a_failure(ctx):
    prepared = prepare(ctx, "run_command", command="true")
    os.rmdir(ctx.workspace)
    with pytest.raises(ToolFailure, match="could not be started"):
        prepared.run(UNCONFINED)


# -- words for an end ---------------------------------------------------------------------------------------------


@each_row(
    ("command", "code", "known", "harmless"),
    [
        ("grep a b", 1, True, True), ("grep a b", 2, False, False), ("/usr/bin/rg x", 1, True, True),
        ("cat x | LC_ALL=C sudo grep 'a;b' ", 1, True, True), ("cd x && diff a b;", 1, True, True),
        ("test -f x", 1, True, True), ("[ -f x ]", 1, True, True), ("grep a b\nrm x", 1, False, False),
        ("echo 'grep a", 1, False, False), ("(grep a b)", 1, True, True), ("rm x", 1, False, False),
        ("git diff", 1, True, False), ("curl http://x", 7, True, False), ("", 1, False, False),
        ("&& ||", 1, False, False),
    ],
)  # fmt: skip
def test_exit_codes_that_mean_something(command, code, known, harmless):
    assert (meaning(command, code) is not None, is_harmless(command, code)) == (known, harmless)


@pytest.mark.parametrize(
    ("output", "known"),
    [
        ("+new line\n-error: an old line", True), ("nothing to commit, working tree clean", True),
        ("error: There was a problem with the editor 'false'.", False), ("fatal: no", False),
        ("Auto-merging a\nCONFLICT (content): Merge conflict in a", False),
    ],
)  # fmt: skip
def test_a_failure_of_git_is_not_called_none(output, known):
    assert (meaning("git merge x", 1, output) is not None) == known


@each_row(
    ("command", "output", "known"),
    [
        ("git add a && git -C x commit -m 'a; b'", "the hook says no", False), ("git commit -am x", "", False),
        ("git commit -am x", "On branch main\nnothing to commit, working tree clean", True),
        ("git diff --exit-code commit", "the hook says no", True),
    ],
)  # fmt: skip
def test_a_hook_that_refuses_a_commit_is_no_answer(command, output, known):
    assert (meaning(command, 1, output) is not None) == known


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("====== 2 failed, 14 passed, 1 warning in 0.31s ======\n", "2 failed, 14 passed"),
        ("...\n3 passed in 0.01s\n", "3 passed"),
        ("1 failed, 2 errors in 61.20s (0:01:01)\n", "1 failed, 2 errors"),
        ("....F\n----\nRan 5 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n", "2 failed, 3 passed"),
        ("Ran 1 test in 0.000s\n\nOK\n", "1 passed"),
        ("test result: ok. 3 passed; 0 failed; 0 ignored\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n",
         "1 failed, 5 passed"),
        ("ok  \tx/a\t0.01s\nFAIL\tx/b\t0.02s\nFAIL\n", "1 failed, 1 ok (packages)"),
        ("ok  \tx/a\t(cached)\n", "1 ok (packages)"),
        ("Tests:       1 failed, 1 skipped, 2 passed, 4 total\nTime: 1 s\n", "1 failed, 1 skipped, 2 passed"),
        (" Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)\n", "1 failed, 2 passed"),
        ("\n  5 passing (20ms)\n  1 failing\n\n", "1 failed, 5 passed"),
        ("# tests 4\n# pass 3\n# fail 1\n", "1 failed, 3 passed"),
        ("I passed 3 exams in 2s\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_summaries_of_test_runners(output, words):
    assert summary(output) == words


def test_telling_lines_name_the_error():
    out = "collecting\nFAILED tests/test_a.py::test_x - assert 1 == 2\n1 failed\n"
    assert telling_lines(out, "") == ("FAILED tests/test_a.py::test_x - assert 1 == 2",)
    assert telling_lines("", "a\nb\nc\nd\n") == ("b", "c", "d")
    assert telling_lines("", "fatal: not a git repository\n") == ("fatal: not a git repository",)
    assert telling_lines("", "") == ()
