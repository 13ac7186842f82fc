"""One MCP server: when it is started, tried again and left alone, and what calls to it come to."""

import threading
import time

import pytest

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.mcp.protocol import Refused
from agent_core.mcp.words import CallResult, Elicitation, ServerFailure, ToolInfo
from agent_core.ports.asking import Reply
from agent_core.servers import FormField
from tests.core.server_support import ECHO, SCOPE, Asks, Clock, Plan, died, server, until

# -- starting -------------------------------------------------------------------------------------------------------


def test_nothing_is_started_before_the_first_call_and_then_once(tmp_path):
    plan = Plan()
    managed = server(tmp_path, plan)
    assert (managed.state, managed.tools, plan.starts) == ("idle", None, 0)
    assert managed.call(ECHO, {}, Asks(), SCOPE).text == "fine"
    assert managed.call(ECHO, {}, Asks(), SCOPE).text == "fine"
    assert (managed.state, plan.starts, plan.lists) == ("ready", 1, 1)


def test_what_it_offered_the_last_time_is_known_without_starting_it(tmp_path):
    first = server(tmp_path, Plan("echo", "write"))
    first.call(ECHO, {}, Asks(), SCOPE)
    first.close()
    plan = Plan("echo", "other")
    again = server(tmp_path, plan)
    assert ([tool.name for tool in again.tools], plan.starts) == (["echo", "write"], 0)
    again.call(ECHO, {}, Asks(), SCOPE)
    assert plan.wiring.hint == "legacy"
    assert [tool.name for tool in again.tools] == ["echo", "other"]


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"version": 1}', b'{"version": 1, "era": "", "info": 3, "tools": [4]}']
)
def test_a_cache_that_cannot_be_used_is_as_if_there_were_none(tmp_path, data):
    managed = server(tmp_path, Plan())
    managed.call(ECHO, {}, Asks(), SCOPE)
    managed.close()
    [file] = (tmp_path / "cache").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    file.write_bytes(data)
    assert server(tmp_path, Plan()).tools is None


def test_no_value_of_its_environment_or_headers_is_kept(tmp_path):
    managed = server(tmp_path, Plan(), env={"K": "secret-value-1234"}, headers={"A": "secret-value-1234"})
    managed.call(ECHO, {}, Asks(), SCOPE)
    assert all(b"secret-value" not in file.read_bytes() for file in (tmp_path / "cache").iterdir())


def test_in_the_background_a_start_is_tried_again_and_then_left_alone_for_ever_longer(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MCP_PAUSE", 0.01)
    clock, plan = Clock(), Plan(fails=[died()] * 9)
    managed = server(tmp_path, plan, clock=clock)
    managed.begin()
    managed.begin()
    until(lambda: managed.state == "failed" and plan.starts == limits.MCP_TRIES)
    assert managed.retry_in == limits.MCP_COOL_FIRST
    managed.begin()
    with pytest.raises(ServerFailure, match="tried again in 30 s, or at once with /mcp restart srv"):
        managed.call(ECHO, {}, Asks(), SCOPE)
    assert plan.starts == limits.MCP_TRIES
    waits = []
    for _ in range(6):
        clock.now += managed.retry_in
        with pytest.raises(ServerFailure):
            managed.call(ECHO, {}, Asks(), SCOPE)
        waits.append(managed.retry_in)
    assert waits == [60.0, 120.0, 240.0, 480.0, 600.0, 600.0]
    assert plan.calls == []


@pytest.mark.parametrize(
    "code", ["mcp_command", "mcp_folder", "mcp_key", "mcp_handshake", "mcp_redirect", "mcp_sandbox"]
)
def test_what_trying_again_cannot_mend_is_tried_once(tmp_path, code):
    plan = Plan(fails=[died(code)] * 3)
    managed = server(tmp_path, plan)
    managed.begin()
    until(lambda: managed.state == "failed")
    assert (plan.starts, managed.problem) == (1, f"It has {code}.")


def test_one_that_wants_a_log_in_says_so(tmp_path):
    managed = server(tmp_path, Plan(fails=[died("mcp_login")]))
    managed.begin()
    until(lambda: managed.state == "login")


def test_a_restart_tries_at_once_whatever_went_wrong_before(tmp_path):
    plan = Plan(fails=[died("mcp_command")])
    managed = server(tmp_path, plan)
    with pytest.raises(ServerFailure):
        managed.call(ECHO, {}, Asks(), SCOPE)
    managed.restart()
    assert managed.wait(10.0, SCOPE)
    first = plan.peer
    managed.restart()
    assert first.closed.wait(10.0)
    assert managed.wait(10.0, SCOPE)
    assert managed.call(ECHO, {}, Asks(), SCOPE).text == "fine"


def test_a_stop_gives_up_waiting_for_a_start_but_the_start_goes_on(tmp_path):
    scope, plan = CancelScope(), Plan(slow=3.0)
    managed = server(tmp_path, plan)
    threading.Timer(0.1, scope.cancel).start()
    began = time.monotonic()
    with pytest.raises(Interrupted):
        managed.call(ECHO, {}, Asks(), scope)
    assert time.monotonic() - began < 2.5
    assert managed.wait(10.0, SCOPE)
    assert plan.starts == 1


def test_the_end_stops_a_start_under_way(tmp_path):
    plan = Plan(slow=60.0)
    managed = server(tmp_path, plan)
    managed.begin()
    until(lambda: plan.starts)
    managed.close()
    until(lambda: plan.closed == 1)


# -- calls ----------------------------------------------------------------------------------------------------------


def test_calls_to_one_server_are_made_one_after_the_other_and_a_stop_ends_the_waiting(tmp_path):
    go, scope = threading.Event(), CancelScope()
    plan = Plan(answers=[lambda peer, cancel: go.wait(10.0) and CallResult("slow")])
    managed = server(tmp_path, plan)
    results = []
    first = threading.Thread(target=lambda: results.append(managed.call(ECHO, {}, Asks(), SCOPE).text))
    first.start()
    until(lambda: plan.calls)
    threading.Timer(0.1, scope.cancel).start()
    with pytest.raises(Interrupted):
        managed.call(ECHO, {}, Asks(), scope)
    assert plan.calls == ["echo"]
    go.set()
    first.join(10.0)
    assert results == ["slow"]


def test_one_that_gives_no_answers_gets_no_calls_for_a_while_and_then_one(tmp_path):
    clock = Clock()
    plan = Plan(answers=[*[died("mcp_timeout")] * limits.MCP_BREAK_AFTER, died("mcp_timeout"), CallResult("back")])
    managed = server(tmp_path, plan, clock=clock)
    for _ in range(limits.MCP_BREAK_AFTER):
        with pytest.raises(ServerFailure, match="mcp_timeout"):
            managed.call(ECHO, {}, Asks(), SCOPE)
    for _ in range(2):
        with pytest.raises(ServerFailure, match="no answer 3 times in a row") as caught:
            managed.call(ECHO, {}, Asks(), SCOPE)
        assert caught.value.code == "mcp_breaker"
    assert len(plan.calls) == 3
    clock.now += limits.MCP_BREAK + 1
    with pytest.raises(ServerFailure, match="mcp_timeout"):
        managed.call(ECHO, {}, Asks(), SCOPE)
    with pytest.raises(ServerFailure, match="in a row"):
        managed.call(ECHO, {}, Asks(), SCOPE)
    clock.now += limits.MCP_BREAK + 1
    assert managed.call(ECHO, {}, Asks(), SCOPE).text == "back"
    assert managed.retry_in == 0.0


def test_refusals_of_a_server_are_answers(tmp_path):
    plan = Plan(answers=[Refused("srv", {"code": -32602, "message": "no such page"})] * 5)
    managed = server(tmp_path, plan)
    for _ in range(5):
        with pytest.raises(Refused, match="no such page"):
            managed.call(ECHO, {}, Asks(), SCOPE)


FORM = Elicitation("form", "Who?", (FormField("who", "Who"),))


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        (Reply("once", values={"who": "ann"}), "accept"),
        (Reply("refuse"), "decline"),
        (Reply("refuse", by="unattended"), "decline"),
        (Reply("refuse", by="timeout"), "cancel"),
    ],
)
def test_what_a_server_asks_goes_to_whoever_has_called_it(tmp_path, reply, action):
    asked, asks = [], Asks(reply)

    def answer(peer, cancel):
        asked.append(peer.wiring.elicit(FORM, cancel))
        return CallResult("thanks")

    plan = Plan(answers=[answer])
    managed = server(tmp_path, plan)
    managed.call(ECHO, {}, asks, SCOPE)
    assert [(one.action, dict(one.values)) for one in asked] == [(action, {"who": "ann"} if action == "accept" else {})]
    [question] = asks.questions
    assert (question.kind, question.server, question.text, question.form) == ("form", "srv", "Who?", FORM.form)
    assert plan.wiring.elicit(FORM, SCOPE).action == "decline"  # nobody calls now


def test_tools_that_have_changed_are_listed_once_and_a_turn_waits_for_them(tmp_path):
    plan = Plan("echo")
    managed = server(tmp_path, plan)
    managed.call(ECHO, {}, Asks(), SCOPE)
    plan.tools = (ToolInfo("echo"), ToolInfo("grown"))
    for _ in range(5):
        plan.wiring.tools_changed()
    managed.settle(10.0, SCOPE)
    assert [tool.name for tool in managed.tools] == ["echo", "grown"]
    assert plan.lists == 2


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        ((), (), ["read_a", "read_b", "write"]),
        (("read_*",), (), ["read_a", "read_b"]),
        ((), ("read_*",), ["write"]),
        (("read_a", "w*"), ("*",), ["read_a", "write"]),
    ],
)
def test_the_config_chooses_among_tools_and_what_it_names_wins(tmp_path, include, exclude, left):
    managed = server(tmp_path, Plan("read_a", "read_b", "write"), include=include, exclude=exclude)
    managed.call(ToolInfo("write"), {}, Asks(), SCOPE)
    assert [tool.name for tool in managed.tools] == left
