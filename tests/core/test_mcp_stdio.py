"""A client and servers that are programs, each bad in its own way."""

from __future__ import annotations

import contextlib
import os
import threading
import time

import pytest

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.mcp.frames import Lines
from agent_core.mcp.words import Answered, ServerFailure, ToolInfo
from tests.core.mcp_support import is_running, stdio, until

ECHO = ToolInfo("echo")
STRANGE = "日本\u2028é \U0001f600"
UNFIT = "line\u2028sep  nul \ufffd lone"


@pytest.fixture
def server(tmp_path):
    """Makes clients, and closes them."""
    made = []

    def make(*modes, **how):
        made.append(stdio(tmp_path, *modes, **how))
        return made[-1]

    yield make
    closing = [threading.Thread(target=client.close) for client in made]
    for thread in closing:
        thread.start()
    for thread in closing:
        thread.join()


def echo(client, text="x", cancel=None):
    return client.call(ECHO, {"text": text}, cancel or CancelScope()).text


def call(client, tool, cancel=None, **arguments):
    return client.call(ToolInfo(tool), arguments, cancel or CancelScope())


def in_background(run):
    """A thread in which `run` is stopped at last."""

    def stopped():
        with contextlib.suppress(Interrupted):
            run()

    thread = threading.Thread(target=stopped)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("modes", "said", "tools", "era"),
    [
        (["banner"], STRANGE, 11, "legacy"),
        (["crlf", "blank", "utf8raw"], STRANGE, 11, "legacy"),
        (["escaped"], f"{STRANGE}\n{UNFIT}", 11, "legacy"),
        (["badutf8", "batch"], STRANGE, 11, "legacy"),
        (["serverreq", "chatter", "stderr=512"], STRANGE, 11, "legacy"),
        (["nodiscover=silent"], STRANGE, 11, "legacy"),
        (["nodiscover=exit"], STRANGE, 11, "legacy"),
        (["modern"], STRANGE, 11, "modern"),
        (["tools=100", "pages=10"], STRANGE, 111, "legacy"),
        (["loop"], STRANGE, 11, "legacy"),
        (["names", "schemas"], STRANGE, 31, "legacy"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else None,
)
def test_a_server_may_be_strange_in_many_ways_and_still_be_used(server, modes, said, tools, era):
    client = server(*modes)
    listed = client.list_tools(CancelScope())
    assert len(listed) == tools
    assert echo(client, STRANGE) == said
    assert (client.era, client.state) == (era, "ready")


def test_what_is_no_message_is_kept_for_a_person_to_look_at(server):
    client = server("banner", "stderr=1")
    assert echo(client) == "x"
    noise = client.noise()
    assert "🚀 Fancy MCP Server v1.2.3" in noise
    assert '"json but no object"' in noise
    assert len(noise) >= 6
    assert noise[-1].startswith("xxx"), "the error stream stands last"


@pytest.mark.parametrize(("modes", "warnings"), [(["loop"], 1), (["names"], 1), ([], 0)])
def test_what_is_wrong_with_a_list_is_told_once(server, modes, warnings):
    client = server(*modes)
    client.list_tools(CancelScope())
    assert len(client.warnings) == warnings


def test_what_the_server_asks_is_answered_while_a_call_is_under_way(server, tmp_path):
    log = tmp_path / "log"
    client = server("serverreq", f"log={log}")
    assert echo(client) == "x"
    assert until(lambda: log.read_text().count("response") == 5)
    said = [line.removeprefix("response ") for line in log.read_text().splitlines() if line.startswith("response")]
    assert said.count("{}") == 1, "ping"
    assert sum("-32601" in line for line in said) == 3, "roots, sampling and what nobody knows"
    assert said.count('{"action": "decline"}') == 1, "nobody can be asked"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_person_is_asked_what_the_server_wants_to_know(server, era):
    asked = []

    def ask(question, cancel):
        asked.append(question)
        return Answered("accept", {"colour": "blue", "never asked": 1})

    client = server(*(["modern"] if era == "modern" else []), around={"elicit": ask})
    text = call(client, "ask").text
    assert [(each.kind, each.message, [field.name for field in each.form]) for each in asked] == [
        ("form", "Which?", ["colour"])
    ]
    assert asked[0].form[0].choices == (("red", "red"), ("blue", "blue"))
    answer = '{"action": "accept", "content": {"colour": "blue"}}'
    assert text == (answer if era == "legacy" else f'[{{"q": {answer}}}, "s 1"]')


def test_the_clock_stands_still_while_a_person_is_asked_and_a_stop_ends_the_question(server):
    ended = threading.Event()

    def slowly(question, cancel):
        if cancel.wait(0.8):
            ended.set()
            raise Interrupted
        return Answered("decline")

    client = server(around={"elicit": slowly}, timeout=0.4)
    assert call(client, "ask").text == '{"action": "decline"}'
    scope = CancelScope()
    threading.Timer(0.2, scope.cancel).start()
    with pytest.raises(Interrupted):
        call(client, "ask", scope)
    assert ended.wait(5)


def test_a_question_that_fails_on_our_side_is_answered_and_not_waited_for(server):
    client = server(around={"elicit": lambda question, cancel: {}["unforeseen"]}, timeout=5)
    assert call(client, "ask").text == '{"action": "cancel"}'


def test_a_server_that_dies_during_a_call_is_told_of_and_started_anew_without_the_call(server, tmp_path):
    log = tmp_path / "log"
    client = server(f"log={log}")
    assert echo(client) == "x"
    begun = time.monotonic()
    with pytest.raises(ServerFailure) as failure:
        call(client, "crash")
    assert time.monotonic() - begun < 5
    assert "exit code 7" in failure.value.text
    assert "about to crash" in failure.value.text
    assert "not known" in failure.value.text
    assert client.state == "idle"
    assert echo(client) == "x"
    assert log.read_text().count("tools/call crash") == 1
    assert log.read_text().count("initialize") == 4, "two starts, each with its notification"


def test_a_server_that_ends_again_and_again_is_left_alone(server, tmp_path):
    log = tmp_path / "log"
    client = server(f"log={log}")
    for _ in range(4):
        with pytest.raises(ServerFailure):
            call(client, "crash")
    with pytest.raises(ServerFailure) as failure:
        echo(client)
    assert failure.value.code == "mcp_restarts"
    assert log.read_text().count("initialize ") == 4


@pytest.mark.parametrize("how", ["its time is over", "the person stops it"])
def test_a_call_that_hangs_is_given_up_the_server_is_told_and_is_free_again(server, tmp_path, how):
    log = tmp_path / "log"
    client = server(f"log={log}", timeout=1.0)
    assert echo(client) == "x"
    begun = time.monotonic()
    if how == "its time is over":
        with pytest.raises(ServerFailure) as failure:
            call(client, "hang")
        assert "1 s" in failure.value.text
        assert "timeout" in failure.value.text
        assert time.monotonic() - begun >= 1.0
    else:
        scope = CancelScope()
        stopped = []
        threading.Timer(0.2, lambda: (stopped.append(time.monotonic()), scope.cancel())).start()
        with pytest.raises(Interrupted):
            call(client, "hang", scope)
        assert time.monotonic() - stopped[0] < 0.5
    assert until(lambda: "notifications/cancelled" in log.read_text())
    assert echo(client) == "x"


def test_a_call_that_waits_for_another_one_can_be_stopped_too(server):
    client = server(timeout=5)
    assert echo(client) == "x"
    first = CancelScope()
    holder = in_background(lambda: call(client, "hang", first))
    second = CancelScope()
    threading.Timer(0.2, second.cancel).start()
    with pytest.raises(Interrupted):
        echo(client, cancel=second)
    first.cancel()
    holder.join()


def test_other_servers_answer_while_one_hangs(server):
    hanging, other = server(timeout=5), server()
    scope = CancelScope()
    thread = in_background(lambda: call(hanging, "hang", scope))
    assert echo(other) == "x"
    assert thread.is_alive()
    scope.cancel()
    thread.join()


def test_progress_keeps_a_call_alive_and_is_told_but_not_for_ever(server, monkeypatch):
    client = server(timeout=0.5)
    client.connect(CancelScope())
    told = []
    result = client.call(ToolInfo("steps"), {"count": 8}, CancelScope(), told.append)
    assert result.text == "stepped"
    assert told[0] == "1/8 on it"
    assert len(told) == 8
    monkeypatch.setattr(limits, "MCP_CALL_FACTOR", 2)
    with pytest.raises(ServerFailure) as failure:
        call(client, "steps", count=100)
    assert failure.value.code == "mcp_timeout"


@pytest.mark.parametrize(
    ("modes", "config", "code", "words"),
    [
        (["die"], {}, "mcp_ended", ["config file not found", "exit code 3"]),
        (["slow=30"], {"startup_timeout": 0.5}, "mcp_slow_start", ["startup_timeout", "0.5 s"]),
        (["modern", "slow=30"], {"startup_timeout": 0.5, "protocol": "modern"}, "mcp_slow_start", ["startup_timeout"]),
        (["nodiscover=silent"], {"startup_timeout": 1.0, "protocol": "modern"}, "mcp_slow_start", ["startup_timeout"]),
        (["modern"], {"protocol": "legacy"}, "mcp_handshake", ["Unsupported protocol version"]),
        ([], {"command": "no-such-program"}, "mcp_command", ["no-such-program", "PATH"]),
        ([], {"command": "no-such-program", "env": {"PATH": "/a:/b:/a:/c:/d:/e"}}, "mcp_command", ["(/a:/b:/c:/d:…)"]),
        ([], {"cwd": "no/such/folder"}, "mcp_folder", ["no/such/folder", "cwd"]),
        ([], {"sandbox": True}, "mcp_sandbox", ["sandbox"]),
    ],
)
def test_a_server_that_does_not_start_is_told_of_with_the_way_out(server, tmp_path, modes, config, code, words):
    client = server(*modes, **config)
    begun = time.monotonic()
    with pytest.raises(ServerFailure) as failure:
        client.connect(CancelScope())
    assert time.monotonic() - begun < 5
    assert failure.value.code == code
    assert all(word in failure.value.text for word in words), failure.value.text
    assert client.state == "failed"
    assert client.problem == failure.value.text
    with pytest.raises(ServerFailure) as failure:
        echo(client)
    assert "not known" not in failure.value.text, "nothing was sent"


def test_a_start_can_be_stopped_and_tried_again(server):
    client = server("slow=0.6")
    scope = CancelScope()
    threading.Timer(0.2, scope.cancel).start()
    with pytest.raises(Interrupted):
        client.connect(scope)
    assert client.state == "idle"
    assert echo(client) == "x"


def test_the_environment_is_ours_without_keys_and_the_config_wins(server, tmp_path):
    environ = {
        "PATH": os.environ["PATH"],
        "NVM_DIR": "/nvm",
        "OPENAI_API_KEY": "sk-1",
        "SESSION": "the key itself",
        "XDG_DATA_HOME": "/data",
    }
    around = {"environ": environ, "keys": ("the key itself",)}
    (tmp_path / "sub").mkdir()
    client = server(around=around, env={"MY_TOKEN": "named"}, cwd="sub")
    strict = server(around=around, env_policy="strict")
    seen = lambda client, name: call(client, "env", name=name).text  # noqa: E731
    assert [seen(client, name) for name in ("PATH", "NVM_DIR", "MY_TOKEN", "PYTHONUTF8")] == [
        environ["PATH"], "/nvm", "named", "1",
    ]  # fmt: skip
    assert [seen(client, name) for name in ("OPENAI_API_KEY", "SESSION")] == ["<unset>"] * 2
    assert call(client, "cwd").text == str(tmp_path / "sub")
    assert [seen(strict, name) for name in ("NVM_DIR", "XDG_DATA_HOME")] == ["<unset>", "/data"]


def test_a_refusal_and_a_failure_of_a_tool_are_results(server):
    client = server()
    unknown = call(client, "no such tool")
    assert (unknown.ok, "Unknown tool" in unknown.text, "-32602" in unknown.text) == (False, True, True)
    failed = call(client, "fail")
    assert (failed.ok, failed.text) == (False, "the tool failed")


def test_pictures_become_pictures_and_nothing_becomes_base64(server, tmp_path):
    kept = []

    def keep(data, media_type):
        kept.append((media_type, data))
        return f"/kept/{len(kept)}"

    client = server(around={"keep": keep})
    result = call(client, "media")
    assert [image.media_type for image in result.images] == ["image/png", "image/png"]
    assert kept == [("audio/wav", b"RIFF")]
    assert "/kept/1" in result.text
    assert "[unsupported content: from_the_future]" in result.text
    assert "file:///x" in result.text
    assert "Z" in result.text.splitlines()
    assert '{"ok": true}' in result.text
    assert "iVBOR" not in result.text
    assert "UklGRg" not in result.text
    assert '"k"' not in result.text, "_meta is nobody's"


def test_a_large_answer_comes_quickly_and_of_all_of_it_both_ends(server):
    client = server()
    client.connect(CancelScope())
    begun = time.monotonic()
    result = call(client, "big", mb=20)
    assert time.monotonic() - begun < 10
    kept = result.text.count("A")
    assert kept + result.left_out == 20 * limits.MB
    assert kept == limits.MCP_TEXT


def test_a_message_beyond_every_bound_fails_its_call_and_no_other(server, monkeypatch):
    monkeypatch.setattr("agent_core.mcp.stdio.Lines", lambda: Lines(limits.MB))
    client = server()
    assert echo(client) == "x"
    with pytest.raises(ServerFailure) as failure:
        call(client, "big", mb=2)
    assert failure.value.code == "mcp_too_large"
    assert echo(client) == "x"


@pytest.mark.parametrize("modes", [(), ("modern",)])
def test_new_tools_are_told_of(server, modes):
    changed = threading.Event()
    client = server(*modes, client={"on_tools_changed": changed.set})
    assert "grown" not in {tool.name for tool in client.list_tools(CancelScope())}
    assert call(client, "grow").text == "grew"
    assert changed.wait(5)
    assert "grown" in {tool.name for tool in client.list_tools(CancelScope())}


def test_a_server_can_be_spoken_to_with_headers(server):
    client = server("headers", framing="content-length")
    assert len(client.list_tools(CancelScope())) == 11
    assert echo(client, STRANGE) == STRANGE


def test_who_asked_for_what_may_have_been_done_is_told_so_whatever_the_server_wrote_last(server):
    client = server("stderr=64")
    with pytest.raises(ServerFailure, match="is not known: look before you call it again") as ended:
        call(client, "crash")
    assert ended.value.code == "mcp_ended"
    assert len(ended.value.text) <= limits.TOOL_ERROR_CHARS
    under_way = threading.Event()
    client = server("chatter")
    threading.Thread(target=lambda: (under_way.wait(10), client.close()), daemon=True).start()
    with pytest.raises(ServerFailure, match="is not known: look before you call it again") as stopped:
        client.call(ToolInfo("hang"), {}, CancelScope(), lambda words: under_way.set())
    assert stopped.value.code == "mcp_closed"
    with pytest.raises(ServerFailure, match=r"was stopped\.$"):
        call(client, "echo")


def test_everything_a_server_has_started_ends_with_it(server):
    client = server()
    pid = int(call(client, "spawn").text)
    assert is_running(pid)
    client.close()
    assert until(lambda: not is_running(pid))
    with pytest.raises(ServerFailure) as failure:
        echo(client)
    assert failure.value.code == "mcp_closed"


def test_only_what_a_server_says_it_has_is_asked_for(server, tmp_path):
    log = tmp_path / "log"
    client = server(f"log={log}")
    scope = CancelScope()
    assert (client.list_resources(scope), client.list_templates(scope), client.list_prompts(scope)) == ((), (), ())
    assert "resources" not in log.read_text()
    assert "prompts" not in log.read_text()
    with pytest.raises(ServerFailure) as failure:
        client.read_resource("file:///x", scope)
    assert "-32601" in failure.value.text


def test_the_answer_to_the_handshake_is_kept(server):
    client = server()
    info = client.connect(CancelScope())
    assert (info.name, info.version, info.protocol, info.instructions) == ("bad", "0", "2025-11-25", "Be careful.")
    assert client.info == info
