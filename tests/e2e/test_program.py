"""The program as a user meets it: in a real pty, against the demo and against a loopback server with real SSE."""

import json
import os
import re
import signal
import sqlite3
import threading
import time

import pytest

from agent_core import limits
from tests.e2e.screen import KEYS, SLACK, Screen, home_env
from tests.fakes.model_server import ModelServer, Reply

ALLOWED_AFTER = 0.9
"""Seconds of silence after which a question takes a letter, with slack for a loaded machine."""


def server_env(home, server, **more):
    return home_env(home, NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model", **more)


def submit(screen, text):
    screen.submit(text)


def answer(screen, letter):
    screen.rest(ALLOWED_AFTER)
    screen.send(letter)


def refuse(screen):
    answer(screen, "n")
    screen.wait_for("Why not?")
    screen.send(KEYS["enter"])


def test_the_demo_repairs_its_sample_and_says_what_it_is(home, workspace):
    with Screen(["--demo"], env=home_env(home), cwd=workspace) as screen:
        screen.wait_for("Scripted demo, not an AI.", "demo (scripted)", "  ask   ")
        screen.send(KEYS["enter"])
        screen.wait_for("Run this command?", "python3 -m unittest", "y once")
        refuse(screen)
        screen.wait_for("Change shop/cart.py?", "price *= 0.9")
        answer(screen, "y")
        screen.wait_for("Run this command?")
        answer(screen, "y")
        screen.wait_for("Repaired", "6 passed", "85.5", seconds=30)
        submit(screen, "/exit")
        assert screen.wait_exit() == 0
        assert re.search(r"nanoherm-tui --resume [0-9a-f]{8}", screen.raw.decode("utf-8", "replace"))


JOB = [
    Reply(reasoning="Look first.", text="I look at the file.", calls=[("read_file", {"path": "parse.py"})]),
    Reply(calls=[("edit_file", {"path": "parse.py", "old_text": "return 1", "new_text": "return 2"})]),
    Reply(calls=[("run_command", {"command": "python3 -c 'import parse; print(parse.f())'"})]),
    Reply(text="`parse.f` 现在返回 **2**。", gap=0.01),
]


def test_the_same_job_against_a_server_shows_on_the_screen_and_in_the_requests(home, workspace):
    (workspace / "parse.py").write_text("def f():\n    return 1\n")
    with ModelServer(JOB) as server, Screen(env=server_env(home, server), cwd=workspace) as screen:
        screen.wait_for("test-model")
        submit(screen, "修好 parse.f，让它返回 2")
        screen.wait_for("read_file", "Change parse.py?", "+1 −1")
        answer(screen, "y")
        screen.wait_for("Run this command?")
        answer(screen, "y")
        screen.wait_for("现在返回", "exit 0")
        assert (workspace / "parse.py").read_text() == "def f():\n    return 2\n"
        assert server.violations == []
        assert len(server.requests) == 4
        first, last = server.requests[0], server.requests[-1]
        assert first["messages"][1]["content"] == "修好 parse.f，让它返回 2"
        assert first["stream"] is True
        assert {"read_file", "edit_file", "run_command", "todo_write"} <= {
            t["function"]["name"] for t in first["tools"]
        }
        size = len(json.dumps({"s": first["messages"][0], "t": first["tools"]}, ensure_ascii=False).encode())
        assert size <= limits.FIRST_REQUEST
        assert [m["role"] for m in last["messages"]] == ["system", "user"] + ["assistant", "tool"] * 3
        assert "2" in last["messages"][-1]["content"]
        # The first step's reasoning is folded, the answer is Markdown: no stars on the screen.
        assert "**2**" not in screen.text
        screen.send(KEYS["ctrl+d"])
        assert screen.wait_exit() == 0


def test_a_call_that_is_long_in_coming_is_seen_to_come(home, workspace):
    held, content = threading.Event(), "x = 1\n" * 200
    arguments = {"path": "long.py", "content": content}
    reply = Reply("I write it.", calls=[("write_file", arguments)], call_piece=400, gap=0.3, held=held)
    with ModelServer([reply]) as server, Screen(env=server_env(home, server), cwd=workspace) as screen:
        screen.wait_for("test-model")
        submit(screen, "go")
        screen.wait_for("write_file", "1.2k characters")
        held.set()
        screen.wait_for("write_file   long.py", "Create long.py?")
        screen.wait_for("characters", gone=True)


def test_a_session_is_resumed_by_continue_id_and_title(home, workspace):
    replies = [Reply(text="The first answer."), Reply(text="The second answer."), Reply(text="The third answer.")]
    with ModelServer(replies) as server:
        env = server_env(home, server)
        with Screen(env=env, cwd=workspace) as screen:
            screen.wait_for("test-model")
            submit(screen, "remember 猫")
            screen.wait_for("The first answer.")
            submit(screen, "/exit")
            assert screen.wait_exit() == 0
            session = re.search(r"--resume ([0-9a-f]{8})", screen.raw.decode("utf-8", "replace"))[1]
        for arguments, words in ((["-c"], "The second answer."), (["-r", session], "The third answer.")):
            with Screen(arguments, env=env, cwd=workspace) as screen:
                screen.wait_for("remember 猫", "The first answer.")
                submit(screen, "go on")
                screen.wait_for(words)
                screen.until(lambda: "step" not in screen.lines[-1])  # it is stored
        with Screen(["-r", "remember"], env=env, cwd=workspace) as screen:
            screen.wait_for("The first answer.", "The third answer.")
        assert [m["role"] for m in server.requests[2]["messages"]] == ["system"] + ["user", "assistant"] * 2 + ["user"]
        assert server.violations == []
        with Screen(["-r", "no such"], env=env, cwd=workspace) as screen:
            assert screen.wait_exit() == 1
            assert "no such" in screen.text


# -- stopping ---------------------------------------------------------------------------------------------------------

MOMENTS = (
    "mid-stream", "silent server", "before the first byte", "stubborn command", "open question", "between steps"
)  # fmt: skip
STUBBORN = "trap '' INT TERM; echo started; sleep 100"


def children_running(marker):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if marker.encode() in file.read():
                    found.append(int(pid))
        except OSError:
            continue
    return found


def stop_and_time(screen, key):
    screen.send(key)
    begun = time.monotonic()
    screen.wait_for("Message, /command")
    return time.monotonic() - begun


def stubborn(moment, key):
    """A command that says so in its command line, and goes only by force."""
    return STUBBORN.replace("sleep 100", f"sleep 100.{os.getpid()}{MOMENTS.index(moment)}{key.startswith('c'):d}")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """(program, server): started once for all stops, one after the other in one session. `go MOMENT/KEY` begins one."""
    folder = tmp_path_factory.mktemp("stops")
    (folder / "work").mkdir()

    def reply(body, number):
        said = next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user")
        if said.endswith("again"):
            return Reply(text="Fine after the stop.")
        moment, _, key = said.rpartition("go ")[2].partition("/")
        command = stubborn(moment, key)
        return {
            "mid-stream": Reply(text="word " * 4_000, piece=5, gap=0.01),
            "silent server": Reply(text="Half an answer", stall=60),
            "before the first byte": Reply(text="x", hang=60),
            "stubborn command": Reply(calls=[("run_command", {"command": command}), ("list_dir", {"path": "."})]),
            "open question": Reply(calls=[("run_command", {"command": command}), ("list_dir", {"path": "."})]),
            "between steps": Reply(calls=[("list_dir", {"path": "."})]),
        }[moment]

    with ModelServer(reply) as server, Screen(env=server_env(folder / "home", server), cwd=folder / "work") as screen:
        screen.wait_for("test-model")
        yield screen, server


@pytest.mark.parametrize("key", ["ctrl+c", "esc"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_stop_is_answered_within_a_second_and_the_next_request_is_valid(stopped, moment, key):
    screen, server = stopped
    marker = re.search(r"sleep [0-9.]+", stubborn(moment, key))[0]
    screen.submit("/new")  # an empty screen
    screen.wait_for("Fine after", gone=True)
    screen.still(0.1)
    submit(screen, f"go {moment}/{key}")
    if moment == "mid-stream":
        screen.wait_for("word word word")
    elif moment == "silent server":
        screen.wait_for("Half an")  # the last word waits for its end: it could be the start of a key
    elif moment in ("stubborn command", "open question"):
        screen.wait_for("Run this command?")
        if moment == "stubborn command":
            answer(screen, "y")
            screen.wait_for("running")
            while not children_running(marker):
                time.sleep(0.02)
        elif key == "esc":
            key = "ctrl+c"  # with a question open Esc only leads back to the composer
    else:
        screen.wait_for("step 1" if moment == "before the first byte" else "list_dir")
        time.sleep(0.3)
    took = stop_and_time(screen, KEYS[key])
    assert took <= 1.0 * SLACK, f"ready after {took:.2f} s"
    gone_by = time.monotonic() + 15
    while children_running(marker) and time.monotonic() < gone_by:
        time.sleep(0.05)
    assert not children_running(marker)
    submit(screen, "again")
    screen.wait_for("Fine after the stop.")
    assert server.violations == []
    assert screen.alive


def test_ctrl_c_never_quits_during_a_turn_and_quits_when_idle_on_the_second_press(home, workspace):
    with (
        ModelServer([Reply(text="x", hang=60)]) as server,
        Screen(env=server_env(home, server), cwd=workspace) as screen,
    ):
        screen.wait_for("test-model")
        submit(screen, "go")
        screen.wait_for("step 1")
        screen.send("a draft")
        screen.rest(0.2)
        screen.send(KEYS["ctrl+c"])
        screen.wait_for("step 1", "stopping", gone=True)
        screen.wait_for("a draft")
        screen.send(KEYS["ctrl+c"])
        screen.wait_for("a draft", gone=True)
        screen.send(KEYS["ctrl+c"])
        screen.wait_for("again quits")
        screen.send(KEYS["ctrl+c"])
        assert screen.wait_exit() == 0


def test_quitting_while_a_request_hangs_takes_less_than_a_second(home, workspace):
    with (
        ModelServer([Reply(text="x", hang=60)]) as server,
        Screen(env=server_env(home, server), cwd=workspace) as screen,
    ):
        screen.wait_for("test-model")
        submit(screen, "go")
        screen.wait_for("step 1")
        begun = time.monotonic()
        submit(screen, "/exit")
        assert screen.wait_exit() == 0
        assert time.monotonic() - begun < 0.2 + 1.0 * SLACK  # the first between the text and Enter


# -- bad input --------------------------------------------------------------------------------------------------------


def test_a_broken_config_names_file_line_and_key_and_the_program_still_starts(home, workspace):
    (home / ".nanohermes").mkdir(parents=True, exist_ok=True)
    (home / ".nanohermes" / "config.yaml").write_text("model:\n  default: m\nagent:\n  max_turns: many\nmodle: x\n")
    with Screen(["--demo"], env=home_env(home), cwd=workspace, columns=160) as screen:
        screen.wait_for("config.yaml:4", "agent.max_turns", "config.yaml:5", "modle")
        assert screen.alive


@pytest.mark.parametrize("problem", ["no key", "dead endpoint"])
def test_a_missing_key_or_a_dead_endpoint_leads_to_setup(home, workspace, problem):
    env = home_env(home)
    arguments = []
    if problem == "no key":
        (home / ".nanohermes").mkdir(parents=True, exist_ok=True)
        (home / ".nanohermes" / "config.yaml").write_text("model:\n  provider: openai\n  default: gpt-5\n")
    else:
        env |= {"NANOHERMES_BASE_URL": "http://127.0.0.1:9/v1", "NANOHERMES_MODEL": "m"}
        arguments = ["--set", "retry.max_attempts=1"]
    with Screen(arguments, env=env, cwd=workspace) as screen:
        if problem == "dead endpoint":
            screen.wait_for("Message, /command")
            submit(screen, "hello")
        screen.wait_for("Connect a model", "Provider", "Key")
        assert "Traceback" not in screen.text
        screen.send(KEYS["esc"])
        screen.wait_for("Connect a model", gone=True)
        assert screen.alive


HOSTILE = "[/] [0] [b + 1 [data: /x?y=z-] \x1b[2J\x1b[Ha\x1b]0;title\x07\x9bb\x00\rc"


def test_control_bytes_and_markup_show_literally_in_every_text(home, workspace):
    (workspace / "evil.txt").write_text(HOSTILE)
    replies = [
        Reply(
            text=HOSTILE, reasoning=HOSTILE, calls=[("read_file", {"path": "evil.txt"}), (HOSTILE, {"path": HOSTILE})]
        ),
        Reply(calls=[("run_command", {"command": "printf '" + HOSTILE.replace("\x00", "") + "'"})]),
        Reply(text="end [red]of[/red] it"),
    ]
    with ModelServer(replies) as server, Screen(env=server_env(home, server), cwd=workspace) as screen:
        screen.wait_for("test-model")
        submit(screen, "[bold]hi[/bold] [/")
        screen.wait_for("Run this command?")
        refuse(screen)
        screen.wait_for("end [red]of[/red] it", "[bold]hi[/bold] [/", "[b + 1")
        drawn = bytes(screen.raw).split(b"test-model", 1)[1].decode("utf-8")
        for sequence in ("\x1b[2J", "\x1b]0;title", "\x9b", "\x07", "\x00"):
            assert sequence not in drawn, repr(sequence)
        assert "z-]␛[2J␛[Ha␛]0;title␇\\x9bb␀" in screen.squeezed()
        assert screen.alive


def test_bad_calls_give_the_model_clear_errors_and_the_turn_goes_on(home, workspace):
    (workspace / "binary.bin").write_bytes(bytes(range(256)) * 10)
    with (workspace / "huge.txt").open("wb") as file:
        file.truncate(5 * 1024 * 1024)
    calls = [
        ("read_file", {"path": "binary.bin"}),
        ("read_file", {"path": "huge.txt"}),
        ("read_file", {"path": "gone.txt"}),
        ("read_file", {"path": "../../etc/shadow"}),
        ("no_such_tool", {"a": 1}),
        ("read_file", {"offset": "x"}),
        ("edit_file", {"path": "gone.txt", "old_text": "a", "new_text": "b"}),
    ]
    replies = [Reply(calls=calls), Reply(text="All seven failed.")]
    with (
        ModelServer(replies) as server,
        Screen(env=server_env(home, server), cwd=workspace, rows=50) as screen,
    ):
        screen.wait_for("test-model")
        submit(screen, "try these")
        screen.wait_for("All seven failed.")
        results = [m["content"] for m in server.requests[1]["messages"] if m["role"] == "tool"]
        words = ["binary", "4,194,304", "gone.txt", "", "Unknown tool", "path", "gone.txt"]
        assert len(results) == len(words)
        for result, word in zip(results, words, strict=True):
            assert word in result
            assert "Traceback" not in result


# -- durability -------------------------------------------------------------------------------------------------------


def test_after_kill_9_in_the_middle_of_a_tool_every_message_loads_and_no_call_is_left_without_a_result(home, workspace):
    marker = f"sleep 99.{os.getpid()}"
    calls = [("list_dir", {"path": "."}), ("run_command", {"command": f"touch ran; {marker}"})]
    replies = [Reply(text="I run it.", calls=calls), Reply(text="I see.")]
    with ModelServer(replies) as server:
        env = server_env(home, server)
        with Screen(env=env, cwd=workspace) as screen:
            screen.wait_for("test-model")
            submit(screen, "run")
            screen.wait_for("Run this command?")
            answer(screen, "y")
            while not (workspace / "ran").exists():
                time.sleep(0.02)
            screen.signal(signal.SIGKILL)
            screen.wait_exit(5)
        for pid in children_running(marker):
            os.kill(pid, signal.SIGKILL)
        with Screen(["-c"], env=env, cwd=workspace) as screen:
            screen.wait_for("I run it.")
            submit(screen, "what happened?")
            screen.wait_for("I see.")
        messages = server.requests[-1]["messages"]
        assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool", "tool", "user"]
        assert "may have" in messages[4]["content"]
        assert server.violations == []
    database = sqlite3.connect(home / ".nanohermes" / "state.db")
    assert database.execute("pragma integrity_check").fetchone() == ("ok",)
    assert oct((home / ".nanohermes" / "state.db").stat().st_mode & 0o777) == "0o600"


# -- Chinese, small sizes ---------------------------------------------------------------------------------------------


# The others are among RESIZES.
SIZES = [(80, 24), (40, 10), *(pytest.param(*size, marks=pytest.mark.long) for size in ((79, 24), (200, 60)))]


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_it_fits_every_size_with_chinese_text(home, workspace, columns, rows):
    text = "这是一个很长的回答，" * 30 + "\n\n- 第一项 `code`\n- 第二项\n\n```python\nprint('你好')\n```\n"
    with (
        ModelServer([Reply(text=text)]) as server,
        Screen(env=server_env(home, server), cwd=workspace, columns=columns, rows=rows) as screen,
    ):
        screen.wait_for("ask")
        submit(screen, "你好，世界")
        screen.wait_for("你好")
        time.sleep(0.5)
        for width, height in ((1, 1), (60, 15), (columns, rows)):
            screen.resize(width, height)
            time.sleep(0.3)
            assert screen.alive
        screen.wait_for("ask")


RESIZES = [
    ((80, 24), (), ("Result", "Sessions")),
    ((200, 60), ("Result", "Sessions"), ()),
    ((120, 36), ("Result",), ("Sessions",)),
    ((79, 24), (), ("Result",)),
]


def test_the_size_is_the_terminals_whatever_the_environment_says(home, workspace):
    env = home_env(home, COLUMNS="80", LINES="24")
    with Screen(["--demo"], env=env, cwd=workspace, columns=150, rows=40) as screen:
        screen.wait_for("Scripted demo, not an AI.", "Result", "Sessions")
        screen.resize(100, 30)
        screen.wait_for("Result", gone=True)


def test_the_panes_follow_each_resize_at_once(home, workspace):
    with ModelServer([Reply(text="x")]) as server, Screen(env=server_env(home, server), cwd=workspace) as screen:
        screen.wait_for("test-model", "Result")
        for size, shown, hidden in RESIZES:
            screen.resize(*size)
            screen.wait_for("ask", *shown)
            if hidden:
                screen.wait_for(*hidden, gone=True)


def test_letters_typed_while_another_pane_has_the_keyboard_begin_a_message(home, workspace):
    with (
        ModelServer([Reply(text="An answer.")]) as server,
        Screen(env=server_env(home, server), cwd=workspace) as screen,
    ):
        screen.wait_for("test-model")
        submit(screen, "hello")
        screen.wait_for("An answer.")
        screen.send("\x1b2")  # Alt+2: the transcript
        screen.rest(0.3)
        screen.send("你好")
        screen.wait_for("› 你好")


def test_resume_without_a_name_offers_the_sessions(home, workspace):
    with ModelServer([Reply(text="An answer.")]) as server:
        env = server_env(home, server)
        with Screen(env=env, cwd=workspace) as screen:
            screen.wait_for("test-model")
            submit(screen, "a first session")
            screen.wait_for("An answer.")
            submit(screen, "/exit")
            screen.wait_exit()
        with Screen(["-r"], env=env, cwd=workspace) as screen:
            screen.wait_for("Session", "a first session")
            screen.send(KEYS["enter"])
            screen.wait_for("An answer.")


def test_an_unused_demo_leaves_nothing_behind(home, workspace, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Screen(["--demo"], env=home_env(home, TMPDIR=str(scratch)), cwd=workspace) as screen:
        screen.wait_for("Scripted demo, not an AI.")
        screen.send(KEYS["ctrl+c"])
        screen.rest(0.3)
        screen.send(KEYS["ctrl+d"])
        assert screen.wait_exit() == 0
    assert not list(scratch.glob("nanoherm-demo-*"))
