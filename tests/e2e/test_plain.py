"""The program line by line, in a real pty and over a pipe."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from agent_core.llm.providers import PRESETS
from tests.e2e.screen import KEYS, ROOT, Screen, home_env
from tests.fakes.model_server import ModelServer, Reply

PASTE = re.compile(rb"\x1b\[\?2004[hl]")
"""All that readline tells a terminal while nobody edits a line: that pastes are to be marked."""
ARMED = 0.9
"""Seconds of silence after which an answer counts, with slack for a loaded machine."""


def answers(body, number):
    """A tool call for each line `call COMMAND`, then what the results were; else the message back."""
    messages = body["messages"]
    last = max(at for at, m in enumerate(messages) if m["role"] == "user")
    results = [m["content"] for m in messages[last:] if m["role"] == "tool"]
    text = messages[last]["content"]
    if results:
        return Reply(text=f"seen: {results[-1][:60]}")
    if called := re.search(r"^call (.*)", text, re.MULTILINE):
        return Reply(calls=[("run_command", {"command": called[1]})])
    if text == "slow":
        return Reply(text="never told", hang=60.0)
    return Reply(text=f"回声 {text}\n\n```\nraw  code\n```\n| a | b |\n")


@pytest.fixture
def server():
    with ModelServer(answers) as running:
        yield running


def typed(screen, text):
    """A line, and Enter a moment later."""
    screen.send(text, settle=0.15)
    screen.send(KEYS["enter"])


def test_a_turn_a_question_and_a_stop_are_lines_and_nothing_is_drawn_over(home, workspace, server, server_env):
    with Screen(["--plain"], env=server_env(server), cwd=workspace, rows=100) as screen:
        screen.wait_for("line by line", "Mode ask", "\n>")
        typed(screen, "你好世界")
        screen.wait_for(
            "The turn begins.", "Answer:", "回声 你好世界", "```", "raw  code", "| a | b |", "The turn is done"
        )
        typed(screen, "!echo hi")
        screen.wait_for("\nhi\n>")
        typed(screen, "call touch made")
        screen.wait_for("Question: Run this command?", "command: touch made")
        screen.send("y\r")  # faster than anybody reads: it was not meant for this
        screen.wait_for("Answer (y/a/w/n/e):")
        screen.rest(ARMED)
        screen.send(KEYS["enter"])
        screen.wait_for("Enter alone answers nothing.")
        assert not (workspace / "made").exists()
        typed(screen, "e")
        screen.wait_for("Command: touch made")
        typed(screen, "-else")
        screen.wait_for("command: touch made-else", "run as edited")
        assert not (workspace / "made-else").exists()
        typed(screen, "y")
        screen.wait_for(
            "Allowed once.", "Runs: run_command touch made-else", "Done: run_command touch made-else", "seen: "
        )
        assert (workspace / "made-else").exists()
        assert not (workspace / "made").exists()
        typed(screen, "slow")
        screen.until(lambda: screen.text.count("The turn begins.") == 3)
        screen.send(KEYS["ctrl+c"])
        screen.wait_for("Stopping.", "The turn was stopped")
        screen.still()
        screen.send(KEYS["ctrl+c"])
        screen.wait_for("Ctrl+C again quits.")
        screen.send(KEYS["ctrl+c"])
        assert screen.wait_exit() == 0
        told = PASTE.sub(b"", bytes(screen.raw)).replace(b"\r\n", b"\n")
    assert b"\x1b[?1049" not in told
    assert not re.search(rb"\x1b\[[0-9;]*[mHJABCD]", told), "colours, moves, or something drawn over"


def test_what_was_typed_comes_back_after_kill_9(home, workspace, server, server_env):
    env = server_env(server, LANG="zh_CN.UTF-8")
    with Screen(["--plain"], env=env, cwd=workspace) as screen:
        screen.wait_for("逐行模式", "\n>")
        typed(screen, "第一条")
        screen.wait_for("回声 第一条", "本轮完成")
        screen.still()
        screen.send("没有发送的草稿")
        screen.wait_for("> 没有发送的草稿")
        time.sleep(2.5)  # it is looked at once a second
        screen.signal(signal.SIGKILL)
        screen.wait_exit()
    with Screen(["--plain", "-c"], env=env, cwd=workspace) as screen:
        screen.wait_for("你说：", "第一条", "回声 第一条", "> 没有发送的草稿")
        screen.send(KEYS["enter"])
        screen.wait_for("回声 没有发送的草稿")
        screen.send(KEYS["ctrl+d"])
        assert screen.wait_exit() == 0


def test_a_dumb_terminal_gets_lines_by_itself_and_no_escape(home, workspace, server, server_env):
    with Screen(env=server_env(server, TERM="dumb"), cwd=workspace, rows=60) as screen:
        screen.wait_for("TERM is dumb", "\n>")
        typed(screen, "one \\")
        screen.wait_for("\n...")
        typed(screen, "two")
        screen.wait_for("回声 one", "two", "The turn is done")
        typed(screen, "/theme")
        screen.wait_for("Nothing has colours here, so no theme is seen;")
        typed(screen, "/setup")
        screen.wait_for("Custom server\nNumber (1-")
        typed(screen, str(len(PRESETS)))
        screen.wait_for("Address (")
        typed(screen, server.base_url)
        screen.wait_for("Key (")
        typed(screen, "a-secret")
        screen.wait_for("Model (")
        screen.send(KEYS["enter"])
        screen.wait_for("Custom server answers and has test-model.", "y: Save and start")
        screen.rest(ARMED)
        typed(screen, "y")
        screen.wait_for("Model: test-model\n", "A session in")
        assert "a-secret" not in screen.text
        config = (home / ".nanohermes" / "config.yaml").read_text()
        assert "default: test-model" in config
        assert "a-secret" not in config
        screen.send(KEYS["ctrl+d"])
        assert screen.wait_exit() == 0
        assert b"\x1b" not in screen.raw


def run(args, lines, cwd, env, out=subprocess.PIPE):
    """The program with standard input and output that are no terminal."""
    return subprocess.run(
        [sys.executable, "-m", "nanoherm_tui", "--plain", *args], check=False, cwd=cwd, input=lines, text=True,
        stdout=out, stderr=subprocess.PIPE, timeout=60,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **env},
    )  # fmt: skip


def test_lines_of_a_pipe_are_messages_in_turn_and_never_answers_to_what_comes_later(
    home, workspace, server, server_env
):
    lines = '"""\none\ntwo\n"""\n!echo h""i\n/insights\ncall touch made\ny\n/insights\n'
    lines += "call touch last\ncall touch end\n"
    done = run([], lines, workspace, server_env(server))
    for expected in ("回声 one\ntwo", "\nhi\n", "Question: Run this command?", "Refused.", "回声 y"):
        assert expected in done.stdout
    assert done.stdout.index("Refused.") < done.stdout.index("回声 y"), "what came before the question is a message"
    assert done.stdout.count("Busiest hours") == 2, "what takes a while is told before the next line"
    assert done.stdout.count("Refused.") == 3, "nobody can answer any more"
    assert [path.name for path in workspace.iterdir() if path.name in ("made", "last", "end")] == []
    assert "\x1b" not in done.stdout
    assert done.returncode == 0, done.stderr


def test_a_run_whose_last_turn_fails_says_so_in_its_exit_code(home, workspace):
    env = home_env(home, NANOHERMES_BASE_URL="http://127.0.0.1:9/v1", NANOHERMES_MODEL="m")
    done = run(["--max-retries", "0", "hello"], "", workspace, env)
    assert "Error:" in done.stdout
    assert "The turn has failed" in done.stdout
    assert done.returncode == 75


def test_what_ends_it_is_said_where_the_output_can_take_no_more(home, workspace, server, server_env):
    with open("/dev/full", "w") as full:
        done = run([], "hello\n", workspace, server_env(server), full)
    assert "No space left on device" in done.stderr
    assert done.returncode == 1
