"""What happens around the program, and what is kept: the real program, real sockets, disks, clocks and signals.

Each row says three things: the words a person reads name the cause and the way out; nothing that was stored is lost;
the next start goes on from there.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

from agent_core.names import EXIT_FAILED, EXIT_OK, EXIT_RETRY_LATER, EXIT_TERMINATED
from tests.e2e.screen import KEYS, SLACK, Screen, home_env
from tests.fakes.model_server import ModelServer, Reply
from tests.fakes.raw_server import STREAM_HEAD, chunked, event, json_reply, raw_server, read_request, stream_reply
from tests.real.program import (
    APPROVED,
    Program,
    Relay,
    goes_on,
    kept,
    kept_draft,
    processes_with,
    reset,
    run,
    until,
)  # fmt: skip

ARMED = 0.8
"""Seconds after which a question takes a key."""
QUICK = ("--set", "retry.max_attempts=2", "--set", "retry.base_ms=10")
EFFECT = {"command": "echo once >> effects"}
"""A command whose every run can be counted."""


def effects(workspace):
    path = workspace / "effects"
    return path.read_text().count("once") if path.exists() else 0


# -- the network ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def model_behind(answer):
    """A server each of whose requests for an answer is `answer`'s: it is given the connection and a number, from 0."""

    def handler(connection, number):
        if not read_request(connection)["line"].startswith("POST"):
            return json_reply(connection, 404, {})
        server.asked += 1
        return answer(connection, server.asked - 1)

    with raw_server(handler) as server:
        server.asked = 0
        yield server


def cut_after(text):
    """A connection that breaks when `text` has come."""

    def answer(connection, number):
        connection.sendall(STREAM_HEAD + chunked(event({"content": text})))
        time.sleep(0.2)  # what was sent must have been read: a reset takes back what was not
        reset(connection)

    return answer


def test_a_network_cut_in_mid_stream_is_tried_again_and_the_answer_stands_alone(home, workspace):
    def answer(connection, number):
        if number == 0:
            cut_after("Half of ")(connection, number)
        else:
            stream_reply(connection, "The whole answer.")

    with model_behind(answer) as server:
        done = run(home, workspace, server.base_url, "-p", "go", *QUICK)
    assert (done.code, done.result["text"]) == (EXIT_OK, "The whole answer.")
    assert "broke off" in done.said or "again" in done.said
    assert kept(home) == [("user", "go"), ("assistant", "The whole answer.")]


def test_a_network_that_stays_cut_leaves_what_was_said(home, workspace):
    with model_behind(cut_after("Half of it.")) as server:
        done = run(home, workspace, server.base_url, "-p", "go", *QUICK)
        where = server.base_url.split("/")[2]
    assert done.code == EXIT_RETRY_LATER, done.said
    assert where in done.said
    assert "again" in done.said.lower()
    assert kept(home) == [("user", "go"), ("assistant", "Half of it.")]
    assert [m["content"] for m in goes_on(home, workspace)] == ["go", "Half of it.", "What now?"]


STALL = ("--set", "stream.idle_timeout=1", *QUICK)


def test_a_relay_that_falls_silent_is_given_up_and_asked_anew(home, workspace):
    with ModelServer([Reply(text="It came in the end.")]) as server, Relay(server.base_url, [300, None]) as relay:
        done = run(home, workspace, relay.base_url, "-p", "go", *STALL)
    assert (done.code, done.result["text"]) == (EXIT_OK, "It came in the end.")
    assert kept(home) == [("user", "go"), ("assistant", "It came in the end.")]


def test_a_relay_that_stays_silent_is_told_with_the_setting_that_helps(home, workspace):
    text = "Said before the silence. " * 4
    with ModelServer([Reply(text=text, piece=5)]) as server, Relay(server.base_url, [700]) as relay:
        begun = time.monotonic()
        done = run(home, workspace, relay.base_url, "-p", "go", *STALL)
        assert time.monotonic() - begun < 5 * SLACK
    assert done.code == EXIT_RETRY_LATER, done.said
    assert "stream.idle_timeout" in done.said
    (_, (role, said)) = kept(home)
    assert role == "assistant"
    assert said
    assert text.startswith(said)
    assert goes_on(home, workspace)[1]["content"] == said


def test_signs_of_life_keep_a_slow_stream_open(home, workspace):
    def answer(connection, number):
        connection.sendall(STREAM_HEAD)
        for _ in range(5):
            connection.sendall(chunked(b": still here\n\n"))
            time.sleep(0.3)
        connection.sendall(
            chunked(event({"content": "Slow."})) + chunked(event({}, "stop") + b"data: [DONE]\n\n") + b"0\r\n\r\n"
        )

    with model_behind(answer) as server:
        done = run(home, workspace, server.base_url, "-p", "go", *STALL)
        assert (done.code, done.result["text"], server.asked) == (EXIT_OK, "Slow.", 1)


def test_a_server_that_is_not_there_is_named_and_the_message_waits(home, workspace):
    with raw_server(lambda connection, number: None) as server:
        gone = server.base_url
    done = run(home, workspace, gone, "-p", "go", *QUICK)
    assert done.code == EXIT_RETRY_LATER, done.said
    assert gone.split("/")[2] in done.said
    assert kept(home) == [("user", "go")]
    assert [m["content"] for m in goes_on(home, workspace)] == ["go\n\nWhat now?"]


def test_a_server_that_dies_between_a_call_and_the_next_step_has_the_effect_once(home, workspace):
    wait = {"command": f"{EFFECT['command']}; until test -e gone; do sleep 0.05; done"}
    with (
        ModelServer([Reply(calls=[("run_command", wait)])]) as server,
        Program(home, workspace, server.base_url, "-p", "go", *QUICK, prologue=APPROVED) as done,
    ):
        until(lambda: effects(workspace))
        server.die()
        (workspace / "gone").touch()
        done.wait()
    assert done.code == EXIT_RETRY_LATER, done.said
    assert [role for role, _ in kept(home)] == ["user", "assistant", "tool"]
    assert [m["role"] for m in goes_on(home, workspace)] == ["user", "assistant", "tool", "user"]
    assert effects(workspace) == 1


def test_a_server_that_comes_back_is_used_again_by_the_same_program(home, workspace):
    with ModelServer([Reply(text="First answer.")]) as server:
        port = server.server_address[1]
        env = home_env(home, NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")
        with Screen(["--set", "retry.max_attempts=1"], env=env, cwd=workspace) as screen:
            screen.wait_for("test-model")
            screen.submit("one")
            screen.wait_for("First answer.")
            server.die()
            screen.submit("two")
            screen.until(lambda: f"127.0.0.1:{port}" in screen.text, seconds=5 * SLACK)
            with ModelServer([Reply(text="Second answer.")], port=port) as again:
                screen.submit("three")
                screen.wait_for("Second answer.")
                asked = [m["content"] for m in again.requests[-1]["messages"][1:]]
    assert asked == ["one", "First answer.", "two\n\nthree"]
    assert [text for _, text in kept(home)] == ["one", "First answer.", "two", "three", "Second answer."]


# -- the disk -------------------------------------------------------------------------------------------------------


MOUNT = """
mount -t tmpfs -o "size=$2k,mode=0700" tmpfs "$1" 2>&1 || exit 1
echo mounted
read -r end
umount -l "$1"
"""


@contextlib.contextmanager
def small_disk(folder, kilobytes=1_024):
    """A disk of its own at `folder`, that can be filled and made read-only.

    The shell that mounts it takes it away again when its input ends, also that of a test that was killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command, pipe = ["sh", "-c", MOUNT, "sh", str(folder), str(kilobytes)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as shell:
        said = shell.stdout.readline()
        if said != "mounted\n":
            pytest.skip(f"no disk can be mounted here: {said.strip()}")
        yield folder
        shell.stdin.close()
    assert shell.returncode == 0


def fill(folder):
    with contextlib.suppress(OSError), open(folder / "filler", "wb") as filler:
        while True:
            filler.write(b"x" * 4096)
            filler.flush()


def test_a_disk_that_is_full_at_the_start_is_told(home, workspace):
    with small_disk(home / ".nanohermes"), ModelServer([Reply(text="Hello.")]) as server:
        assert run(home, workspace, server.base_url, "-p", "one").code == EXIT_OK
        fill(home / ".nanohermes")
        done = run(home, workspace, server.base_url, "-c", "-p", "two")
        assert done.code == EXIT_FAILED
        assert "disk is full" in done.said
        assert "Free some space" in done.said
        (home / ".nanohermes" / "filler").unlink()
        assert kept(home)[:2] == [("user", "one"), ("assistant", "Hello.")]
        assert goes_on(home, workspace)[0]["content"] == "one"


def test_a_disk_that_fills_up_in_a_turn_ends_it_before_anything_acts(home, workspace):
    with small_disk(home / ".nanohermes"):

        def reply(body, number):
            fill(home / ".nanohermes")
            return Reply(
                text="I do it. " * 40_000, calls=[("run_command", EFFECT)], piece=2000
            )  # more than the journal has room for

        with ModelServer(reply) as server:
            done = run(home, workspace, server.base_url, "-p", "go", prologue=APPROVED)
        assert done.code == EXIT_FAILED
        assert "disk is full" in done.said
        assert effects(workspace) == 0, "what could not be stored was not run"
        (home / ".nanohermes" / "filler").unlink()
        assert kept(home) == [("user", "go")]
        goes_on(home, workspace)


def test_a_full_disk_costs_the_rest_of_a_long_output_only(home, workspace):
    long = {"command": "yes abcdefgh | head -c 400000"}
    with small_disk(home / ".nanohermes" / "spill", 64):
        fill(home / ".nanohermes" / "spill")
        with ModelServer([Reply(calls=[("run_command", long)]), Reply(text="Seen.")]) as server:
            done = run(home, workspace, server.base_url, "-p", "go", prologue=APPROVED)
        assert (done.code, done.result["text"]) == (EXIT_OK, "Seen.")
        result = server.requests[1]["messages"][-1]["content"]
        assert result.count("abcdefgh") > 500
        assert len(result.encode()) <= 20 * 1024
    goes_on(home, workspace)


def test_a_full_disk_costs_the_log_and_the_keyboard_history_only(home, workspace):
    folder = home / ".nanohermes"
    with contextlib.ExitStack() as stack:
        for name in ("logs", "history"):
            stack.enter_context(small_disk(folder / name, 16))
            fill(folder / name)
        server = stack.enter_context(ModelServer([Reply(text="All the same.")]))
        env = home_env(home, NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")
        with Screen(["--debug"], env=env, cwd=workspace) as screen:
            screen.wait_for("test-model")
            screen.submit("remember me")
            screen.wait_for("All the same.")
            screen.send(KEYS["up"])
            screen.until(lambda: screen.text.count("remember me") > 1)
            assert "Traceback" not in screen.text
    assert kept(home) == [("user", "remember me"), ("assistant", "All the same.")]
    goes_on(home, workspace)


def test_a_disk_without_room_for_a_draft_says_so_and_takes_it_later(home, workspace):
    folder = home / ".nanohermes"
    draft = "a long draft " * 8_000
    with small_disk(folder), ModelServer([Reply(text="Hello.")]) as server:
        env = home_env(home, NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")
        with Screen(env=env, cwd=workspace) as screen:
            screen.wait_for("test-model")
            screen.submit("one")
            screen.wait_for("Hello.")
            fill(folder)
            screen.send(f"\x1b[200~{draft}\x1b[201~")
            screen.until(lambda: "diskisfull" in screen.squeezed().lower())
            (folder / "filler").unlink()
            screen.send("!")  # what changes is written again, and it is tried again by itself
            until(lambda: kept_draft(home).endswith("!"))
            screen.signal(signal.SIGKILL)
            screen.wait_exit(5)
        with Screen(["-c"], env=env, cwd=workspace) as screen:
            screen.wait_for("Hello.", "KB #")


def test_a_disk_that_turns_read_only_ends_the_turn_with_the_reason(home, workspace):
    folder = home / ".nanohermes"

    def remount(mode):
        subprocess.run(["mount", "-o", f"remount,{mode}", str(folder)], check=True)

    with small_disk(folder):

        def reply(body, number):
            subprocess.run(["mount", "-f", "-o", "remount,ro", str(folder)], check=False)
            return Reply(text="I do it.", calls=[("run_command", EFFECT)])

        with ModelServer([Reply(text="Hello.")]) as server:
            assert run(home, workspace, server.base_url, "-p", "one").code == EXIT_OK
            remount("ro")
            done = run(home, workspace, server.base_url, "-c", "-p", "two")
        remount("rw")
        assert done.code == EXIT_FAILED
        assert str(folder) in done.said
        assert "rights" in done.said or "read-only" in done.said
        assert kept(home) == [("user", "one"), ("assistant", "Hello.")]
        goes_on(home, workspace)


def test_a_home_that_may_not_be_written_is_told_before_anything_is_asked(home, workspace):
    """Rights do not bind root, so the program runs without the power to pass over them."""
    folder = home / ".nanohermes"
    folder.mkdir(parents=True)
    for place in (home, folder):
        place.chmod(0o555)
    powerless = ["setpriv", "--bounding-set", "-dac_override"] if os.getuid() == 0 else []
    if powerless and not shutil.which("setpriv"):
        pytest.skip("root cannot be bound by rights here: there is no setpriv")
    with ModelServer([Reply(text="Never.")]) as server:
        done = run(home, workspace, server.base_url, "-p", "go", under=powerless)
        assert done.code == EXIT_FAILED
        assert str(folder) in done.said
        assert "rights" in done.said
        assert server.requests == []
    for place in (home, folder):
        place.chmod(0o755)


# -- the clock --------------------------------------------------------------------------------------------------------

JUMPING = """
import time
_wall, _calls = time.time, [0]
def _jumping():
    _calls[0] += 1
    return _wall() + (_calls[0] % 3 - 1) * 5 * 3600
time.time = _jumping
"""


def test_a_clock_that_jumps_by_hours_disturbs_neither_a_turn_nor_the_order(home, workspace):
    calls = [("list_dir", {"path": "."}), ("run_command", EFFECT)]
    with ModelServer([Reply(text="Slowly. ", gap=0.1, calls=calls), Reply(text="Done.")]) as server:
        begun = time.monotonic()
        done = run(home, workspace, server.base_url, "-p", "go", prologue=APPROVED + JUMPING)
        assert time.monotonic() - begun < 10 * SLACK
    assert (done.code, done.result["text"], done.said) == (EXIT_OK, "Done.", "")
    assert 0 <= done.result["seconds"] < 60
    assert [role for role, _ in kept(home)] == ["user", "assistant", "tool", "tool", "assistant"]
    assert effects(workspace) == 1
    goes_on(home, workspace)


def test_after_a_clock_went_back_continue_still_means_the_session_used_last(home, workspace):
    ahead = "import time\n_wall = time.time\ntime.time = lambda: _wall() + 5 * 3600"
    with ModelServer([Reply(text="ok")]) as server:
        run(home, workspace, server.base_url, "-p", "while it was ahead", prologue=ahead)
        run(home, workspace, server.base_url, "-p", "after it was set right")
    assert goes_on(home, workspace)[0]["content"] == "after it was set right"


# -- two programs -----------------------------------------------------------------------------------------------------


def test_a_second_program_in_a_session_names_the_first_and_writes_nothing(home, workspace):
    go = threading.Event()

    def reply(body, number):
        said = body["messages"][-1]["content"]
        if said == "one":
            go.wait(20)
        return Reply(text=f"Answer to {said}.")

    with ModelServer(reply) as server:
        run(home, workspace, server.base_url, "-p", "zero")
        with Program(home, workspace, server.base_url, "-c", "-p", "one") as first:
            until(lambda: len(server.requests) == 2)
            second = run(home, workspace, server.base_url, "-c", "-p", "two")
            assert second.code == EXIT_RETRY_LATER
            assert str(first.process.pid) in second.said
            assert "/fork" in second.said
            assert len(server.requests) == 2
            go.set()
            assert first.wait().code == EXIT_OK
    talk = ["zero", "Answer to zero.", "one", "Answer to one."]
    assert [text for _, text in kept(home)] == talk
    assert [m["content"] for m in goes_on(home, workspace)] == [*talk, "What now?"]


def test_a_session_whose_program_was_killed_in_its_turn_is_taken_at_once(home, workspace):
    with ModelServer([Reply(hang=60), Reply(text="Here.")]) as server:
        with Program(home, workspace, server.base_url, "-p", "one") as first:
            until(lambda: server.requests)
            first.kill()
        begun = time.monotonic()
        done = run(home, workspace, server.base_url, "-c", "-p", "two")
        assert (done.code, done.result["text"]) == (EXIT_OK, "Here."), done.said
        assert time.monotonic() - begun < 5 * SLACK


# -- signals ----------------------------------------------------------------------------------------------------------

PHASES = {
    "the request is out": "hang",
    "the answer streams": "stream",
    "a command runs": "command",
}


@contextlib.contextmanager
def in_phase(home, workspace, phase, marker):
    """The program, when it has come to `phase` of a turn. `marker` is in the command line of what it runs."""
    busy = {"command": f"echo once >> effects; setsid sleep {marker} & sleep {marker} & exec sleep {marker}"}
    reply = {
        "hang": Reply(hang=60),
        "stream": Reply(text="Half of it.", piece=4, stall=60),
        "command": Reply(text="I run it.", calls=[("list_dir", {"path": "."}), ("run_command", busy)]),
    }[phase]
    with (
        ModelServer([reply]) as server,
        Program(home, workspace, server.base_url, "-p", "go", prologue=APPROVED) as program,
    ):
        if phase == "hang":
            until(lambda: server.requests)
        elif phase == "stream":
            until(lambda: server.open_streams)
            time.sleep(0.3)
        else:
            until(lambda: effects(workspace) and len(processes_with(f"sleep {marker}")) >= 3)
        yield program


@pytest.mark.parametrize("phase", PHASES.values(), ids=PHASES)
def test_a_kill_loses_nothing_that_was_stored_and_repeats_nothing(home, workspace, phase):
    marker = f"61.{os.getpid()}"
    with in_phase(home, workspace, phase, marker) as program:
        program.kill()
        until(lambda: not processes_with(f"sleep {marker}"), 3 * SLACK)
    stored = kept(home)
    assert stored[0] == ("user", "go")
    asked = goes_on(home, workspace)
    assert asked[0]["content"].startswith("go")
    if phase == "command":
        assert [m["role"] for m in asked] == ["user", "assistant", "tool", "tool", "user"]
        assert "may have" in asked[3]["content"]
    assert effects(workspace) == (phase == "command")


SIGNALS = [(phase, signal.SIGTERM) for phase in PHASES.values()] + [("command", signal.SIGHUP)]
"""In which phase it comes matters, and that both are heard."""


@pytest.mark.parametrize(("phase", "number"), SIGNALS)
def test_a_signal_ends_the_turn_in_order(home, workspace, phase, number):
    marker = f"62.{os.getpid()}"
    with in_phase(home, workspace, phase, marker) as program:
        begun = time.monotonic()
        program.kill(number)
        assert time.monotonic() - begun < 3 * SLACK
        until(lambda: not processes_with(f"sleep {marker}"), 3 * SLACK)
    assert program.code == EXIT_TERMINATED
    assert program.result["outcome"] == "interrupted"
    roles = [role for role, _ in kept(home)]
    assert roles == {"hang": ["user"], "stream": ["user", "assistant"],
                     "command": ["user", "assistant", "tool", "tool"]}[phase]  # fmt: skip
    goes_on(home, workspace)
    assert effects(workspace) == (phase == "command")


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGHUP, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_a_window_that_goes_while_a_command_runs_keeps_draft_and_answer_and_leaves_no_process(home, workspace, number):
    marker = f"63.{os.getpid()}"
    busy = {"command": f"echo once >> effects; setsid sleep {marker} & sleep {marker} & exec sleep {marker}"}
    with ModelServer([Reply(text="I run it.", calls=[("run_command", busy)])]) as server:
        env = home_env(home, NANOHERMES_BASE_URL=server.base_url, NANOHERMES_MODEL="test-model")
        with Screen(env=env, cwd=workspace) as screen:
            screen.wait_for("test-model")
            screen.submit("go")
            screen.wait_for("y once")
            screen.rest(ARMED)
            screen.send("y")
            until(lambda: effects(workspace) and len(processes_with(f"sleep {marker}")) >= 3)
            screen.type("half a thought")
            until(lambda: kept_draft(home) == "half a thought")
            screen.signal(number)
            assert screen.wait_exit(5 * SLACK) is not None
            until(lambda: not processes_with(f"sleep {marker}"), 3 * SLACK)
        with Screen(["-c"], env=env, cwd=workspace) as screen:
            screen.wait_for("I run it.", "half a thought")
    assert [role for role, _ in kept(home)] == ["user", "assistant", "tool"]
    assert effects(workspace) == 1
    goes_on(home, workspace)
