"""Hooks: what a declaration means, how a program is run, and what its answer does to a turn."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import pytest

from agent_core import events, intents, limits
from agent_core.cancel import CancelScope
from agent_core.config.load import load
from agent_core.config.paths import find_places
from agent_core.errors import ConfigError, Interrupted
from agent_core.hooks import Hook, Hooks, HookSet, from_config, names, parse, users_hooks
from tests.core.session_support import Table, call, say
from tests.rows import each_row


def hooks_json(**events_):
    return json.dumps({"hooks": events_}, indent=1).encode()


def running(tmp_path, *hooks, **more):
    env = {"PATH": "/usr/bin:/bin"}
    return Hooks(tuple(hooks), tmp_path, "s1", env, lambda text: text.replace("sk-very-secret", "[REDACTED]"), **more)


def pre(command, **more):
    return Hook("PreToolUse", command, "hooks.json", **more)


def ask(hooks, tool="run_command", **arguments):
    return hooks.tell("PreToolUse", {}, CancelScope(), tool=tool, arguments=arguments)


# -- what is declared ---------------------------------------------------------------------------------------------


def test_hooks_are_read_in_their_order_with_one_command_or_several_in_an_entry():
    found = parse(
        hooks_json(
            PreToolUse=[
                {"matcher": "write_file, edit_file", "command": "a", "timeout": 2},
                {"hooks": [{"type": "command", "command": "b"}, {"command": "c", "timeout": 900}]},
            ],
            Stop=[{"command": "d"}],
            SubagentStop=[{"command": "of another program"}],
        ),
        "hooks.json",
    )
    assert [(h.event, h.matcher, h.command, h.seconds) for h in found] == [
        ("PreToolUse", "write_file, edit_file", "a", 2.0),
        ("PreToolUse", "*", "b", limits.HOOK_TIMEOUT),
        ("PreToolUse", "*", "c", limits.HOOK_TIMEOUT),
        ("TurnEnd", "*", "d", limits.HOOK_TIMEOUT),
    ]
    assert next(iter(names(found))) == "PreToolUse write_file, edit_file: a"


@each_row(
    ("text", "line", "words"),
    [
        ('{"hooks":\n {"PreToolUse": [}}', 2, "not JSON"),
        ("[]", 1, '"hooks"'),
        ('{"hooks": []}', 1, '"hooks"'),
        ('{"hooks": {\n"PreTooluse": []}}', 2, "Did you mean PreToolUse"),
        ('{"hooks": {\n"PreToolUse": {}}}', 2, "a list"),
        ('{"hooks": {"PreToolUse": [\n{"command": 7}]}}', 1, "a command"),
        ('{"hooks": {"PreToolUse": [\n"echo"]}}', 1, "an object"),
        ('{"hooks": {"PreToolUse": [\n\n{"command": "x y", "timeout": "soon"}]}}', 3, "timeout"),
        ('{"hooks": {"PreToolUse": [{"command": "x", "timeout": 0}]}}', 1, "timeout"),
        ('{"hooks": {"PreToolUse": [{"command": "x", "matcher": []}]}}', 1, "matcher"),
        ('{"hooks": {\n"PreToolUse": [], "PreToolUse": [{"command": "x"}]}}', 2, "twice"),
        ('{"hooks": {"PreToolUse": ' + "[" * 100_000, 1, "not a JSON text"),
        ("\xff", 1, "JSON"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_nothing_of_the_file_runs(text, line, words):
    with pytest.raises(ConfigError) as caught:
        parse(text.encode("latin-1"), "/h/hooks.json")
    assert caught.value.code == "bad_hooks"
    assert caught.value.text.startswith(f"/h/hooks.json:{line}: ")
    assert words in caught.value.text


def test_a_file_of_too_many_hooks_is_refused():
    with pytest.raises(ConfigError, match="more than"):
        parse(hooks_json(PreToolUse=[{"command": "true"}] * (limits.HOOKS + 1)), "h")


def test_the_hooks_of_a_config_have_the_names_of_hermes_and_each_mistake_is_told():
    found, problems = from_config(
        {
            "pre_tool_call": [{"matcher": "terminal|write_.*", "command": "a", "timeout": 60, "fail_closed": True}],
            "pre_llm_call": [{"command": "b"}],
            "subagent_stop": [{"command": "later"}],
            "output_spill": {"max_chars": 1},
            "pre_tool_calls": [{"command": "c"}],
            "post_tool_call": [{"cmd": "d"}, {"command": "e"}],
            "on_session_start": None,
            "on_session_end": "f",
        },
        "config.yaml",
    )
    assert [(h.event, h.command, h.by_json, h.fail_closed) for h in found] == [
        ("PreToolUse", "a", True, True),
        ("UserPromptSubmit", "b", True, False),
        ("PostToolUse", "e", True, False),
    ]
    assert [p.split(":")[0].split(" ")[0] for p in problems] == [
        "hooks.pre_tool_calls",
        "hooks.post_tool_call",
        "hooks.on_session_end",
    ]
    assert "Did you mean pre_tool_call?" in problems[0]


@each_row(
    ("matcher", "by_json", "tool", "runs"),
    [
        ("*", False, "grep", True),
        ("read_file,grep", False, "grep", True),
        (" read_file , grep ", False, "grep", True),
        ("read_file", False, "grep", False),
        ("grep", False, "grepper", False),
        ("terminal", False, "run_command", True),  # Hermes' name of it
        ("patch", False, "edit_file", True),
        ("search_files", False, "glob", True),
        ("terminal", False, "edit_file", False),
        ("mcp_github_create_issue", False, "mcp_github_create_issue", True),
        ("mcp_github_*", False, "mcp_github_create_issue", True),
        ("write_file|edit_file", False, "edit_file", True),
        ("write_.*|terminal", True, "run_command", True),
        ("write_.*", True, "write_file", True),
        ("write_", True, "write_file", False),
        ("*", True, "grep", True),
        ("", True, "grep", True),
        ("wr[ite", True, "write_file", False),
        ("wr[ite", True, "wr[ite", True),
    ],
)
def test_a_matcher_knows_tools_by_their_names_and_by_those_of_hermes(matcher, by_json, tool, runs):
    assert pre("x", matcher=matcher, by_json=by_json).concerns("PreToolUse", tool) is runs


def test_the_users_files_add_up_and_a_file_that_was_named_must_be_there(tmp_path):
    home = tmp_path / "home" / ".nanohermes"
    home.mkdir(parents=True)
    places = find_places(tmp_path, {"HOME": str(tmp_path / "home")})
    assert users_hooks(places, {}) == HookSet()
    (home / "hooks.json").write_bytes(hooks_json(PreToolUse=[{"command": "two"}]))
    (tmp_path / "more.json").write_bytes(hooks_json(PreToolUse=[{"command": "three"}]))
    found = users_hooks(places, {"pre_tool_call": [{"command": "one"}]}, tmp_path / "more.json")
    assert [h.command for h in found.hooks] == ["one", "two", "three"]
    [problem] = users_hooks(places, {}, tmp_path / "missing.json").problems
    assert "missing.json is not there" in problem.text
    (home / "hooks.json").write_text("{")
    found = users_hooks(places, {}, tmp_path / "more.json")
    assert [h.command for h in found.hooks] == ["three"]
    assert [p.params["line"] for p in found.problems] == [1]


HERMES = "hooks:\n  pre_tool_call: [{command: known}, {command: new}]\n  post_tool_call: [{command: known}]\n"


@pytest.mark.parametrize(
    ("accepts", "allowlist", "run"),
    [
        ("", None, []),
        ("", "{broken", []),
        ("", {"approvals": [{"event": "pre_tool_call", "command": "known"}]}, ["known"]),
        ("hooks_auto_accept: true\n", None, ["known", "new"]),
        ("hooks_auto_accept: false\n", None, []),
    ],
)
def test_hooks_of_hermes_own_config_run_when_they_were_approved_there(tmp_path, accepts, allowlist, run):
    home = tmp_path / ".hermes"
    home.mkdir()
    (home / "config.yaml").write_text(HERMES + accepts)
    if allowlist is not None:
        text = allowlist if isinstance(allowlist, str) else json.dumps(allowlist)
        (home / "shell-hooks-allowlist.json").write_text(text)
    places = find_places(tmp_path, {"HOME": str(tmp_path)})
    config = load(places, {})
    found, _ = from_config(config.get("hooks"), "config.yaml")
    assert [hook.command for hook in found if hook.event == "PreToolUse"] == run
    told = [w.key for w in config.warnings if w.code == "hook_not_approved"]
    assert told == ([] if "new" in run else ["hooks.pre_tool_call", "hooks.post_tool_call"])


# -- how it is run ------------------------------------------------------------------------------------------------


def test_a_hook_reads_what_is_to_be_done_and_runs_in_the_workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-program")
    script = "cat > seen.json; env > env.txt; pwd > pwd.txt"
    ask(running(tmp_path, pre(script)), "terminal", command="ls 文件")
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen == {
        "event": "PreToolUse",
        "tool": "terminal",
        "arguments": {"command": "ls 文件"},
        "session": "s1",
        "cwd": str(tmp_path),
    }
    env = (tmp_path / "env.txt").read_text().splitlines()
    assert {"NANOHERMES_TOOL_NAME=terminal", "NANOHERMES_HOOK_EVENT=PreToolUse"} <= set(env)
    assert not any("API_KEY" in line for line in env)
    assert (tmp_path / "pwd.txt").read_text().strip() == str(tmp_path)


def test_a_hook_of_a_config_reads_what_hermes_would_send(tmp_path):
    ask(running(tmp_path, pre("cat > seen.json", by_json=True)), "write_file", path="a")
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["hook_event_name"] == "pre_tool_call"
    assert (seen["tool_name"], seen["tool_input"], seen["session_id"]) == ("write_file", {"path": "a"}, "s1")


@pytest.mark.parametrize(
    ("script", "veto"),
    [
        ("exit 0", ""),
        ("echo fine", ""),
        ("echo no rm here; exit 1", "no rm here"),
        ("echo to stderr >&2; exit 7", "to stderr"),
        ("exit 3", "exit code 3"),
        ("kill -KILL $$", "it was killed"),
        ("no-such-program-here", "no-such-program-here"),
        ("printf 'a\\033[31mred\\033[0m\\a sk-very-secret'; exit 1", "ared [REDACTED]"),
    ],
)
def test_in_hooks_json_the_exit_code_decides_and_the_output_is_the_answer(tmp_path, script, veto):
    heard = ask(running(tmp_path, pre(script)))
    assert bool(heard.veto) == bool(veto)
    assert veto in heard.veto
    assert (heard.by is not None) == bool(veto)


JSON = {
    "nothing": ("exit 0", {}, ""),
    "action": ("""echo '{"action": "block", "message": "not there"}'""", {}, "not there"),
    "decision": ("""echo '{"decision": "block", "reason": "not so"}'""", {}, "not so"),
    "a block without words": ("""echo '{"action": "block"}'""", {}, "forbids"),
    "a block with an exit code": ("""echo '{"action": "block", "message": "m"}'; exit 1""", {}, "m"),
    "another decision": ("""echo '{"decision": "approve"}'""", {}, ""),
    "text that is no JSON": ("echo block", {}, ""),
    "an exit code alone": ("echo broken >&2; exit 1", {}, ""),
    "the exit code that blocks": ("echo because >&2; exit 2", {}, "because"),
    "a list": ("echo '[]'", {}, ""),
    "one that must answer": ("exit 1", {"fail_closed": True}, "failed (exit code 1)"),
    "one that must answer in JSON": ("echo Traceback", {"fail_closed": True}, "no JSON"),
    "one that must answer and does": ("echo '{}'", {"fail_closed": True}, ""),
}


@pytest.mark.parametrize(("script", "more", "veto"), JSON.values(), ids=JSON)
def test_in_a_config_what_is_printed_decides(tmp_path, script, more, veto):
    heard = ask(running(tmp_path, pre(script, by_json=True, **more)))
    assert bool(heard.veto) == bool(veto)
    assert veto in heard.veto
    if not veto and "exit 1" in script:
        assert heard.warnings, "a hook that failed is told of"


def test_hooks_run_in_order_and_the_first_veto_is_the_last_to_run(tmp_path):
    hooks = running(
        tmp_path, pre("echo 1 >> ran"), pre("echo 2 >> ran; exit 1"), pre("echo 3 >> ran; exit 1"),
        pre("echo other >> ran", matcher="grep"),
    )  # fmt: skip
    heard = ask(hooks)
    assert heard.by is hooks.hooks[1]
    assert (tmp_path / "ran").read_text().split() == ["1", "2"]


def test_neither_pipe_can_hold_a_hook_up_and_little_of_its_output_is_kept(tmp_path):
    code = "import sys; sys.stderr.write('e' * 3_000_000); sys.stdout.write('o' * 3_000_000); sys.exit(1)"
    heard = ask(running(tmp_path, pre(f'{sys.executable} -c "{code}"')), command="x" * 3_000_000)
    assert 0 < len(heard.veto) <= limits.HOOK_OUTPUT


def test_a_hook_that_takes_too_long_is_ended_with_all_it_started_and_forbids(tmp_path):
    (tmp_path / "child.sh").write_text("sleep 300 & echo $! > pid; wait")
    began = time.monotonic()
    heard = ask(running(tmp_path, pre("sh child.sh", seconds=0.5)))
    assert "took too long" in heard.veto
    assert time.monotonic() - began < limits.HOOK_TIMEOUT / 2
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 10
    while _runs(pid):
        assert time.monotonic() < end
        time.sleep(0.02)


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_stop_ends_a_running_hook(tmp_path):
    scope = CancelScope()
    threading.Timer(0.3, scope.cancel).start()
    began = time.monotonic()
    with pytest.raises(Interrupted):
        running(tmp_path, pre("sleep 300")).tell("PreToolUse", {}, scope, tool="x")
    assert time.monotonic() - began < 10


def test_what_a_hook_says_of_a_result_is_a_remark_for_the_model(tmp_path):
    def said(script, **more):
        hook = Hook("PostToolUse", script, "h", **more)
        return running(tmp_path, hook).tell("PostToolUse", {}, CancelScope(), tool="x").remarks

    assert said("echo all well") == ()
    assert said("echo 2 lint errors; exit 1") == ("[Warning of a hook of the user, exit code 1: 2 lint errors]",)
    assert said("""echo '{"context": "see docs"}'""", by_json=True) == ("[A hook of the user says: see docs]",)
    assert said("exit 4", by_json=True) == ("[Warning of a hook of the user, exit code 4]",)


# -- in a session -------------------------------------------------------------------------------------------------


def session(tmp_path, *replies, hooks, **services):
    return Table(tmp_path, *replies, hooks=lambda workspace: HookSet(tuple(hooks)), **services)


def results(table):
    return table.of(events.ToolFinished)


def test_a_veto_keeps_a_tool_from_running_and_its_output_is_the_result(tmp_path):
    hook = pre("grep -q secret.txt && { echo 'secret.txt is not yours'; exit 1; }; exit 0", matcher="read_file")
    table = session(
        tmp_path,
        call(("read_file", {"path": "secret.txt"}), ("read_file", {"path": "open.txt"})),
        say("done"),
        hooks=[hook],
    )
    (table.workspace / "secret.txt").write_text("hidden")
    (table.workspace / "open.txt").write_text("visible")
    table.turn("go")
    texts = sorted(result.text for result in results(table))
    assert any("visible" in text for text in texts)
    assert [text for text in texts if "secret" in text] == ["secret.txt is not yours"]
    assert not any("hidden" in text for text in texts)
    assert [n.params["tool"] for n in table.of(events.Notice) if n.code == "hook_vetoed"] == ["read_file"]
    [decided] = [entry.decided for entry in table.store.audit.list() if entry.decided.by == "hook"]
    assert (decided.verdict, decided.what) == ("refuse", "secret.txt")


def test_a_warning_after_a_tool_is_added_to_its_result_and_undoes_nothing(tmp_path):
    table = session(
        tmp_path,
        call(("read_file", {"path": "a.txt"})),
        say("done"),
        hooks=[Hook("PostToolUse", "cat > seen.json; echo look out; exit 1", "h", matcher="read_file")],
    )
    (table.workspace / "a.txt").write_text("content")
    table.turn("go")
    [result] = results(table)
    assert result.ok
    assert "content" in result.text
    assert result.text.rstrip().endswith("[Warning of a hook of the user, exit code 1: look out]")
    seen = json.loads((table.workspace / "seen.json").read_text())
    assert (seen["event"], seen["tool"], seen["ok"]) == ("PostToolUse", "read_file", True)


def test_the_other_events_of_a_session_come_in_their_order(tmp_path):
    log = "cat >> events.txt; echo >> events.txt"
    kinds = ("SessionStart", "UserPromptSubmit", "TurnEnd", "SessionEnd")
    table = session(tmp_path, say("one"), say("two"), hooks=[Hook(kind, log, "h") for kind in kinds])
    table.turn("first")
    table.turn("second", count=2)
    assert table.session.farewell
    table.session.close()
    table.session.join(10)
    seen = [json.loads(line) for line in (table.workspace / "events.txt").read_text().splitlines()]
    assert [one["event"] for one in seen] == [
        "SessionStart", "UserPromptSubmit", "TurnEnd", "UserPromptSubmit", "TurnEnd", "SessionEnd",
    ]  # fmt: skip
    assert [one["prompt"] for one in seen if "prompt" in one] == ["first", "second"]
    assert [(one["outcome"], one["text"]) for one in seen if "outcome" in one] == [
        ("completed", "one"),
        ("completed", "two"),
    ]


def test_a_session_that_was_only_looked_at_runs_nothing(tmp_path):
    table = session(tmp_path, say("x"), hooks=[Hook(k, "touch ran", "h") for k in ("SessionStart", "SessionEnd")])
    table.session.start()
    table.wait(events.HistoryChanged)
    table.session.close()
    table.session.join(10)
    assert not (table.workspace / "ran").exists()


def test_what_a_hook_adds_to_a_request_reaches_the_model(tmp_path):
    hook = Hook("UserPromptSubmit", """echo '{"context": "Branch: main"}'""", "config.yaml", by_json=True)
    table = session(tmp_path, say("ok"), hooks=[hook])
    table.turn("hello")
    [request] = table.model.requests
    texts = [message.text for message in request.messages]
    assert any("A hook of the user adds" in text and "Branch: main" in text for text in texts)


def test_a_hook_that_fails_is_told_once_and_the_turn_goes_on(tmp_path):
    table = session(tmp_path, say("one"), say("two"), hooks=[Hook("UserPromptSubmit", "echo oh; exit 9", "h")])
    assert table.turn("a").outcome == "completed"
    assert table.turn("b", count=2).outcome == "completed"
    [notice] = [n for n in table.of(events.Notice) if n.code == "hook_failed"]
    assert "exit code 9: oh" in notice.text


def test_hooks_that_cannot_be_read_are_told_in_the_session(tmp_path):
    problem = ConfigError("bad_hooks", "hooks.json:1: this is not JSON.", file="hooks.json", line=1, what="x")
    table = Table(tmp_path, say("x"), hooks=lambda workspace: HookSet(problems=(problem,)))
    table.turn("a")
    table.turn("b", count=2)
    assert [n.code for n in table.of(events.Notice) if n.code == "bad_hooks"] == ["bad_hooks"]


def test_a_stop_ends_a_hook_that_hangs_and_the_session_is_usable(tmp_path):
    table = session(
        tmp_path, call(("read_file", {"path": "a"})), say("after"), hooks=[pre("sleep 300", matcher="read_file")]
    )
    table.session.send(intents.Submit("go"))
    table.wait(events.ToolQueued)
    time.sleep(0.3)
    began = time.monotonic()
    table.session.send(intents.Interrupt())
    assert table.wait(events.TurnFinished).outcome == "interrupted"
    assert time.monotonic() - began < 10
    assert table.turn("again", count=2).outcome == "completed"


def test_a_person_who_is_waited_for_is_told_by_a_hook_that_holds_nobody_up(tmp_path):
    hook = Hook("Notification", "cat > note.json; sleep 300", "h")
    table = session(tmp_path, call(("run_command", {"command": "touch made"})), say("x"), hooks=[hook])
    table.session.send(intents.Submit("go"))
    question = table.wait(events.QuestionAsked).question
    note = table.workspace / "note.json"
    end = time.monotonic() + 10
    while not (note.exists() and note.read_text()):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert json.loads(note.read_text())["command"] == "touch made"
    table.session.send(intents.Answer(question.id, "refuse"))
    assert table.wait(events.TurnFinished).outcome == "completed"


def test_hooks_are_told_before_a_conversation_is_compacted(tmp_path):
    hook = Hook("PreCompact", "cat > compact.json", "h")
    table = session(tmp_path, *[say(f"answer {n} " + "word " * 400) for n in range(30)], hooks=[hook])
    for n in range(1, 20):
        table.turn(f"question {n}", count=n)
    table.session.send(intents.Compact(""))
    table.wait(events.CompactionStarted)
    assert json.loads((table.workspace / "compact.json").read_text())["messages"] > 0
