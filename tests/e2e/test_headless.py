"""`-p`: one turn without a screen, as a script would use it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from agent_core import events
from tests.e2e import warm
from tests.e2e.screen import ROOT, SLACK, home_env
from tests.fakes.model_server import ModelServer, Reply


def command(*arguments):
    return [sys.executable, "-m", "nanoherm_tui", *arguments]


def environment(home, server=None, **more):
    env = {**os.environ, "PYTHONPATH": str(ROOT), **home_env(home, **more)}
    if server is not None:
        env |= {"NANOHERMES_BASE_URL": server.base_url, "NANOHERMES_MODEL": "test-model"}
    return env


def run(home, workspace, *arguments, server=None, stdin="", **more):
    return warm.run(command(*arguments), cwd=workspace, env=environment(home, server, **more), input=stdin)


TWO_STEPS = [Reply(calls=[("list_dir", {"path": "."})]), Reply(text="两个文件。\n")]


def test_text_prints_the_answer_alone(home, workspace):
    with ModelServer(TWO_STEPS) as server:
        done = run(home, workspace, "-p", "how many?", server=server)
    assert (done.returncode, done.stdout, done.stderr) == (0, "两个文件。\n", "")


def test_json_prints_one_object(home, workspace):
    with ModelServer(TWO_STEPS) as server:
        done = run(home, workspace, "-p", "how many?", "--output-format", "json", server=server)
    result = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert (result["type"], result["outcome"], result["steps"]) == ("result", "completed", 2)
    assert result["usage"]["total_tokens"] == 220
    assert result["errors"] == []


def test_stream_json_prints_every_event_in_order_and_the_result_last(home, workspace):
    with ModelServer(TWO_STEPS) as server:
        done = run(home, workspace, "-p", "how many?", "--output-format", "stream-json", server=server)
    lines = [json.loads(line) for line in done.stdout.split("\n") if line]
    assert lines[-1]["type"] == "result"
    envelopes = [events.from_json(line) for line in lines[:-1]]
    assert [e.seq for e in envelopes] == sorted(e.seq for e in envelopes)
    kinds = [line["type"] for line in lines]
    for earlier, later in (("turn_started", "user_message"), ("user_message", "tool_queued"),
                           ("tool_started", "tool_finished"), ("tool_finished", "text_delta"),
                           ("assistant_message", "turn_finished")):  # fmt: skip
        assert kinds.index(earlier) < len(kinds) - 1 - kinds[::-1].index(later)


def test_sub_agents_in_the_background_are_waited_for_and_what_the_last_turn_says_is_printed(home, workspace):
    def reply(body, number):
        first, last = body["messages"][0]["content"], body["messages"][-1]
        if "# You are a sub-agent" in first:
            time.sleep(0.5)
            return Reply(text="the child's word")
        if "the child's word" in last["content"]:
            return Reply(text="It is known.")
        return Reply(text="Begun.") if last["role"] == "tool" else Reply(calls=[("delegate_task", {"goal": "look"})])

    with ModelServer(reply) as server:
        done = run(home, workspace, "-p", "go", "--output-format", "json", server=server)
    result = json.loads(done.stdout)
    assert (result["text"], result["steps"], done.stderr) == ("It is known.", 3, "")


def test_standard_input_comes_along_as_context(home, workspace):
    with ModelServer([Reply(text="ok")]) as server:
        run(home, workspace, "-p", "review this", server=server, stdin="diff --git a b\n")
        run(home, workspace, "-p", server=server, stdin="only this\n")
        asked = [r["messages"][-1]["content"] for r in server.requests]
    assert asked == ["review this\n\ndiff --git a b", "only this"]


def test_continue_goes_on_with_the_newest_session_of_the_folder(home, workspace, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with ModelServer([Reply(text="ok")]) as server:
        run(home, workspace, "-p", "one", server=server)
        run(home, other, "-p", "elsewhere", server=server)
        run(home, workspace, "-c", "-p", "two", server=server)
    assert [m["content"] for m in server.requests[2]["messages"][1:]] == ["one", "ok", "two"]


def test_what_would_ask_is_refused_and_the_model_is_told(home, workspace):
    calls = [("write_file", {"path": "a.txt", "content": "x"}), ("run_command", {"command": "touch b"}),
             ("run_command", {"command": "ls"}), ("ask_user", {"question": "which?"})]  # fmt: skip
    with ModelServer([Reply(calls=calls), Reply(text="done")]) as server:
        done = run(home, workspace, "-p", "go", server=server)
    results = [m["content"] for m in server.requests[1]["messages"] if m["role"] == "tool"]
    assert done.returncode == 0
    assert list(workspace.iterdir()) == []
    assert "nobody is there" in results[0]
    assert "nobody is there" in results[1]
    assert "exit" in results[2].lower() or results[2].strip()
    assert "nobody" in results[3].lower()


@pytest.mark.parametrize(("waits", "told"), [("false", "remembered: Use uv 用"), ("true", "waits for you")])
def test_what_is_remembered_is_told_beside_the_answer(home, workspace, waits, told):
    calls = [("memory_save", {"text": "Use uv 用\u001b[31m."})]
    with ModelServer([Reply(calls=calls), Reply(text="done")]) as server:
        done = run(home, workspace, "-p", "go", "--set", f"memory.write_approval={waits}", server=server)
    assert done.stdout == "done\n"
    assert told in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_a_turn_taught_is_kept_before_the_run_ends_where_the_config_wants_it(home, workspace, form):
    text = "Please use uv, we do not use pip here."
    with ModelServer([Reply(text="done")]) as server:
        found = {"kind": "preference", "text": "Use uv.", "quote": "we do not use pip here", "everywhere": True}
        server.found = json.dumps([found])
        more = ("--set", "memory.distil=always", "--output-format", form)
        done = run(home, workspace, "-p", text, *more, server=server)
    assert done.returncode == 0
    assert "remembered: Use uv." in done.stderr
    assert "Use uv." in (home / ".nanohermes" / "memory.json").read_text()
    assert (done.stdout.strip() if form == "text" else json.loads(done.stdout)["text"]) == "done"


EXITS = {
    "a refused key": ([Reply(status=401, body='{"error": {"message": "bad key"}}')], (), 78),
    "a bad request": ([Reply(status=400, body='{"error": {"message": "no"}}')], (), 1),
    "a server that fails": ([Reply(status=500)], ("--set", "retry.max_attempts=1"), 75),
    "the cap": ([Reply(calls=[("list_dir", {"path": "."})])], ("--max-turns", "2"), 3),
}


@pytest.mark.parametrize("name", EXITS)
def test_the_exit_code_tells_how_it_ended(home, workspace, name):
    replies, arguments, code = EXITS[name]
    with ModelServer(replies) as server:
        done = run(home, workspace, "-p", "go", *arguments, server=server)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("nanoherm-tui: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "more", "code", "words"),
    [
        (["-p"], {}, 2, "-p needs a message"),
        (["-p", "x", "-C", "no/such"], {}, 2, "not a folder"),
        (["-p", "x", "--set", "agent.max_turns"], {}, 2, "KEY=VALUE"),
        (["-p", "x", "--set", "agent.max_turns=many"], {}, 78, "agent.max_turns"),
        (["-p", "x", "--no-such-flag"], {}, 2, "--no-such-flag"),
        (["-p", "x", "-r", "nothing"], {"OPENAI_API_KEY": "k"}, 1, "nothing"),
        (["-p", "x", "-m", "openai/gpt-5"], {}, 78, "OPENAI_API_KEY"),
        (["hello"], {}, 2, "no terminal"),
        (["-p", "x", "-r"], {}, 2, "-p -r needs a session"),
        (["-p", "/reveiw x"], {}, 2, "no command /reveiw; the nearest is /review. A blank before"),
        (["-p", "/nosuch:prompt x"], {}, 2, "no command /nosuch:prompt"),
        (["-p", "/usage"], {}, 2, "/usage is a command of the screen"),
        (["-p"], {"stdin": "/reveiw x\n"}, 2, "no command /reveiw"),
    ],
)
def test_wrong_use_is_told_in_words(home, workspace, arguments, more, code, words):
    done = run(home, workspace, *arguments, **more)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["-p", "/etc/hosts is what?"], "", "/etc/hosts is what?"),
        (["-p", " /reveiw x"], "/piped", " /reveiw x\n\n/piped"),
        (["-p"], "\n // a comment\n\n", " // a comment"),
        (["-p", "/review x"], "", "/review x\n\n[/review is a command that the user has typed."),
    ],
)
def test_what_is_no_command_and_what_is_a_known_one_is_sent(home, workspace, arguments, stdin, said):
    with ModelServer([Reply(text="ok")]) as server:
        done = run(home, workspace, *arguments, server=server, stdin=stdin)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
    assert server.requests[0]["messages"][-1]["content"].startswith(said)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_turn_and_what_was_said_is_kept(home, workspace, number, code):
    with ModelServer([Reply(text="Half of it", stall=60), Reply(text="ok")]) as server:
        process = warm.popen(command("-p", "go"), cwd=workspace, env=environment(home, server))
        end = time.monotonic() + 20
        while not server.open_streams and time.monotonic() < end:
            time.sleep(0.02)
        time.sleep(0.3)
        begun = time.monotonic()
        process.send_signal(number)
        process.communicate(timeout=20)
        assert process.returncode == code
        assert time.monotonic() - begun < 5 * SLACK
        run(home, workspace, "-c", "-p", "again", server=server)
    assert [m["content"] for m in server.requests[1]["messages"][1:]] == ["go", "Half of it", "again"]


def test_after_kill_9_while_a_sub_agent_works_the_person_has_one_notice_and_the_model_one_message(home, workspace):
    at_work = threading.Event()

    def reply(body, number):
        first, last = body["messages"][0]["content"], body["messages"][-1]
        if "# You are a sub-agent" in first:
            at_work.set()
            return Reply(text="I look. ", stall=60)
        if last["role"] == "tool":
            return Reply(text="Begun.")
        return Reply(calls=[("delegate_task", {"goal": "look"})]) if last["content"] == "go" else Reply(text="I see.")

    def again(text):
        done = run(home, workspace, "-c", "-p", text, "--output-format", "stream-json", server=server)
        told = [events.from_json(line).event for line in map(json.loads, done.stdout.splitlines()[:-1])]
        notices = [event.params for event in told if isinstance(event, events.Notice) and event.code == "agents_left"]
        asked = [m["content"] for m in server.requests[-1]["messages"] if "Its task: look" in str(m["content"])]
        return notices, asked, [event.agents for event in told if isinstance(event, events.AgentsReturned)]

    with ModelServer(reply) as server:
        process = warm.popen(command("-p", "go"), cwd=workspace, env=environment(home, server))
        assert at_work.wait(30)
        end = time.monotonic() + 30
        while len(server.requests) < 3 and time.monotonic() < end:  # the turn that asked for it says that it has begun
            time.sleep(0.02)
        process.kill()
        process.communicate(timeout=20)
        assert process.returncode == -signal.SIGKILL
        notices, asked, ((agent,),) = again("what came of it?")
        assert notices == [{"count": 1}]
        assert (agent.id, agent.state) == ("agent-1", "interrupted")
        (message,) = asked
        assert "[interrupted] The program ended, or the session was closed, before it had." in message
        notices, asked, came = again("and now?")
        assert (notices, asked, came) == ([], [message], []), "told once, and held from then on"
        assert server.violations == []


def test_no_screen_library_is_loaded_on_this_path(home, workspace):
    code = (
        "import sys\nfrom nanoherm_tui.cli import main\ncode = main(['-p', 'hi'])\n"
        "bad = sorted({m.partition('.')[0] for m in sys.modules} & {'textual', 'numpy', 'jieba', 'rank_bm25'})\n"
        "print(code, bad)"
    )
    with ModelServer([Reply(text="hello")]) as server:
        options = {"cwd": workspace, "env": environment(home, server), "stdin": subprocess.DEVNULL, "timeout": 60}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **options)
    assert done.stdout == "hello\n0 []\n"


@pytest.mark.parametrize("content", ["model:\n  default: [1,2\n", "- a list\n", "model: \xff\n"])
def test_a_config_that_cannot_be_read_stops_a_run_nobody_watches(home, workspace, content):
    (home / ".nanohermes").mkdir(parents=True, exist_ok=True)
    (home / ".nanohermes" / "config.yaml").write_bytes(content.encode("latin-1"))
    done = run(home, workspace, "-p", "hi")
    assert done.returncode == 78
    assert "config.yaml" in done.stderr
    assert done.stdout == ""


def test_a_home_that_is_a_file_is_told_in_words(home, workspace):
    home.mkdir()
    (home / ".nanohermes").write_text("not a folder")
    done = run(home, workspace, "-p", "hi", OPENAI_API_KEY="k")
    assert done.returncode == 1
    assert ".nanohermes" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_answer_that_cannot_be_written_is_told(home, workspace):
    with ModelServer([Reply(text="hello")]) as server, open("/dev/full", "w") as full:
        options = {"stdin": subprocess.DEVNULL, "stdout": full, "stderr": subprocess.PIPE, "timeout": 60}
        environ = environment(home, server)
        done = subprocess.run(command("-p", "hi"), cwd=workspace, env=environ, text=True, check=False, **options)
    assert done.returncode == 1
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr
