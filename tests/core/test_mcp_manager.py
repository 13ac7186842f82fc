"""MCP servers in use: started when they are needed, left alone when they fail, known before they run."""

import base64
import json
import sys
import threading
import time
from pathlib import Path

import pytest

from agent_core import events, intents, limits, names
from agent_core.cancel import CancelScope
from agent_core.config.paths import find_places
from agent_core.errors import AgentError, ConfigError, Interrupted, ProviderError
from agent_core.extras.server_desk import Ground, ServerDesk
from agent_core.extras.server_prompts import filled
from agent_core.extras.servers import ServersExtra, offered_of
from agent_core.grants_file import GrantsFile
from agent_core.knowledge import Expansion
from agent_core.mcp.cache import ServerCache
from agent_core.mcp.config import Found
from agent_core.mcp.managed import Managed
from agent_core.mcp.manager import Servers
from agent_core.mcp.protocol import Refused
from agent_core.mcp.words import CallResult, Elicitation, PromptInfo, ServerConfig, ServerFailure, ServerInfo, ToolInfo
from agent_core.messages import ImagePart
from agent_core.ports.asking import Reply
from agent_core.ports.extras import Opening
from agent_core.servers import FormField
from agent_core.services import Seat
from agent_core.tools.mcp import Offered, server_tool
from agent_core.trust import look
from tests.core.image_support import image, opened, png_that_says
from tests.core.session_support import Table, call, say
from tests.core.tool_support import context

BAD = Path(__file__).parents[1] / "fakes" / "mcp_bad_server.py"


class Asks:
    """Answers each question with `reply` and keeps it."""

    def __init__(self, reply=None):
        self.reply, self.questions = reply or Reply("refuse", by="unattended"), []

    def ask(self, question, cancel):
        self.questions.append(question)
        return self.reply


class FakePeer:
    """A connection in place of a program's: `plan` says what happens, by server."""

    def __init__(self, wiring, plan):
        self.wiring, self.plan = wiring, plan
        self.closed = threading.Event()
        self.info, self.era, self.state = ServerInfo(), "", "idle"
        self.warnings = ()

    def connect(self, cancel):
        self.plan.starts += 1
        if self.plan.slow:
            cancel.wait(self.plan.slow)
            cancel.check()
        if self.plan.fails:
            failure = self.plan.fails.pop(0)
            if failure is not None:
                raise failure
        self.info, self.era, self.state = self.plan.info, "legacy", "ready"
        return self.info

    def list_tools(self, cancel):
        self.plan.lists += 1
        return self.plan.tools

    def list_prompts(self, cancel):
        return self.plan.prompts

    def get_prompt(self, name, arguments, cancel):
        if self.plan.hangs:
            cancel.wait(60)
            cancel.check()
        return CallResult(f"user:\n{name} {json.dumps(dict(arguments))}")

    def call(self, tool, arguments, cancel, on_progress=None):
        self.plan.calls.append(tool.name)
        self.plan.heard(arguments)
        answer = self.plan.answers.pop(0) if self.plan.answers else CallResult("fine")
        if callable(answer):
            answer = answer(self, cancel)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def noise(self):
        return ("noise",)

    def close(self):
        self.closed.set()
        self.plan.closed += 1


class Plan:
    def __init__(self, *tools, fails=(), answers=(), slow=0.0, info=None, reads=False):
        self.tools = tuple(ToolInfo(name, reads=reads) for name in tools or ("echo",))
        self.heard = lambda arguments: None
        self.fails, self.answers, self.slow, self.info = (
            list(fails),
            list(answers),
            slow,
            info or ServerInfo("srv", "1"),
        )
        self.starts = self.lists = self.closed = 0
        self.prompts, self.hangs = (), False
        self.calls = []

    def __call__(self, wiring):
        self.wiring = wiring
        self.peer = FakePeer(wiring, self)
        return self.peer


class Clock:
    now = 1_000.0

    def __call__(self):
        return self.now


def server(tmp_path, plan, *, clock=time.monotonic, changed=lambda: None, **config):
    config = ServerConfig("srv", command="x", identity="i", startup_timeout=5.0, **config)
    return Managed(config, plan, ServerCache(tmp_path / "cache"), tmp_path, changed, clock)


def died(code="mcp_ended"):
    return ServerFailure(code, f"It has {code}.")


def until(true, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


SCOPE = CancelScope()
ECHO = ToolInfo("echo")

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


# -- all of them ----------------------------------------------------------------------------------------------------


class Many:
    """The servers of a workspace, all fakes."""

    def __init__(self, tmp_path, **plans):
        self.workspace = tmp_path
        self.plans = plans
        self.configs = {
            name: ServerConfig(name, command=name, identity=name, startup_timeout=5.0, place="config.yaml:1")
            for name in plans
        }
        self.held, self.problems = frozenset(), ()
        self.servers = Servers(
            lambda folder: Found(tuple(self.configs.values()), self.problems, self.held),
            lambda wiring: self.plans[wiring.config.name](wiring),
            ServerCache(tmp_path / "cache"),
            lambda text: text,
        )

    def states(self):
        return {row.name: row.state for row in self.servers.rows(self.workspace)}

    def extra(self, **how):
        self.told = []
        seat = Seat("s", self.workspace, self.told.append)
        return ServersExtra(seat, self.servers, redact=lambda text: text, **{"unattended": False, **how})


def test_servers_are_shared_and_one_that_has_changed_or_gone_is_ended(tmp_path):
    many = Many(tmp_path, a=Plan(), b=Plan())
    a, b = many.servers.of(tmp_path)
    assert many.servers.of(tmp_path) == (a, b)
    a.call(ECHO, {}, Asks(), SCOPE)
    b.call(ECHO, {}, Asks(), SCOPE)
    many.configs["a"] = ServerConfig("a", command="a", identity="a", timeout=9.0)
    del many.configs["b"]
    [new] = many.servers.of(tmp_path)
    assert new is not a
    until(lambda: many.plans["a"].closed == 1 and many.plans["b"].closed == 1)


def test_servers_of_a_folder_that_nobody_works_in_any_more_are_ended(tmp_path):
    many = Many(tmp_path, a=Plan())
    for folder in (tmp_path / "here", tmp_path / "there"):
        many.servers.of(folder)[0].call(ECHO, {}, Asks(), SCOPE)
    many.servers.forget(tmp_path / "there")
    until(lambda: many.plans["a"].closed == 1)
    assert many.servers.of(tmp_path / "here")[0].state == "ready"


def test_a_row_tells_how_a_server_is_whether_it_counts_or_not(tmp_path):
    many = Many(tmp_path, ran=Plan(), off=Plan(), wrong=Plan(), theirs=Plan(), dead=Plan(fails=[died("mcp_command")]))
    many.configs["off"] = ServerConfig("off", url="https://u:pw@h/x?k=1", type="http", enabled=False)
    many.configs["wrong"] = ServerConfig("wrong", problem="It is wrong.")
    many.held = frozenset({"theirs"})
    running = many.servers.of(tmp_path)
    assert [managed.config.name for managed in running] == ["ran", "dead"]
    running[0].call(ECHO, {}, Asks(), SCOPE)
    running[1].begin()
    until(lambda: many.states()["dead"] == "failed")
    rows = {row.name: row for row in many.servers.rows(tmp_path)}
    assert {name: row.state for name, row in rows.items()} == {
        "ran": "ready", "off": "off", "wrong": "invalid", "theirs": "untrusted", "dead": "failed",
    }  # fmt: skip
    assert (rows["ran"].title, rows["ran"].tools) == ("srv 1", 1)
    assert rows["off"].address == "https://h/x?…"
    assert (rows["wrong"].problem, rows["dead"].problem) == ("It is wrong.", "It has mcp_command.")
    assert 0 < rows["dead"].retry_at - time.time() <= limits.MCP_COOL_FIRST
    with pytest.raises(AgentError, match="There are: ran, dead"):
        many.servers.find(tmp_path, "theirs")


def test_the_end_takes_no_longer_than_its_bound_whatever_a_server_does(tmp_path):
    many = Many(tmp_path, a=Plan())
    [a] = many.servers.of(tmp_path)
    a.call(ECHO, {}, Asks(), SCOPE)
    many.plans["a"].peer.close = lambda: time.sleep(8.0)
    began = time.monotonic()
    many.servers.close()
    assert time.monotonic() - began < 7.0
    assert many.servers.of(tmp_path) == ()


# -- in a session ---------------------------------------------------------------------------------------------------


CITY = PromptInfo("weather report", "", "How it is there.", (("city", "", True), ("state", "", False)))


def prompting(tmp_path):
    plan = Plan(info=ServerInfo("srv", capabilities={"prompts": {}}))
    plan.prompts = (CITY,)
    return plan, Many(tmp_path, maps=plan)


def test_prompts_of_a_server_can_be_typed_and_are_known_before_it_runs(tmp_path):
    plan, many = prompting(tmp_path)
    many.servers.find(tmp_path, "maps").begin()
    until(lambda: prompting(tmp_path)[1].extra().typed())
    plan, later = prompting(tmp_path)
    extra = later.extra()
    (typed,) = extra.typed()
    assert (typed.name, typed.hint, typed.kind) == ("maps:weather_report", "[city] [state?]", "prompt")
    assert plan.starts == 0
    assert extra.expand(typed.name, "Bern now") == 'weather report {"city": "Bern", "state": "now"}'
    assert plan.starts == 1


@pytest.mark.parametrize(
    ("typed", "given"),
    [
        ("Bern", {"city": "Bern"}),
        ("'New York' NY is it", {"city": "New York", "state": "NY is it"}),
        ("state=NY New", {"state": "NY", "city": "New"}),
        ("it's", {"city": "it's"}),
        ("other=1", {"city": "other=1"}),
        ("", "city"),
        ("state=NY", "city"),
    ],
)
def test_what_is_typed_behind_a_prompt_fills_it_in(typed, given):
    if isinstance(given, dict):
        assert filled(CITY, typed) == given
    else:
        with pytest.raises(AgentError, match=f"needs more: {given}"):
            filled(CITY, typed)


def test_a_typed_prompt_that_hangs_ends_with_its_turn(tmp_path):
    plan, many = prompting(tmp_path / "ws")
    maps = many.servers.find(tmp_path / "ws", "maps")
    maps.begin()
    until(lambda: many.extra().typed())
    plan.hangs = True
    table = seated(many, tmp_path, say("done"), expand=typing_of(lambda: table))
    table.session.send(intents.Submit("/maps:weather_report Bern"))
    until(maps._lane.locked)
    table.session.send(intents.Interrupt())
    assert table.wait(events.TurnFinished, 5.0).outcome == "interrupted"
    until(lambda: not maps._lane.locked())


def typing_of(table):
    """Session services' `expand` for what the session's extras have."""

    def expand(session_id, workspace, text):
        name, _, argument = text.removeprefix("/").partition(" ")
        return Expansion(name, table().session.extras[0].expand(name, argument))

    return expand


def test_a_turn_waits_for_no_server_and_the_next_one_is_told_of_its_tools(tmp_path):
    many = Many(tmp_path, slow=Plan("echo", slow=3.0, info=ServerInfo("slow", instructions="Say please.")))
    extra = many.extra()
    began = time.monotonic()
    extra.settle(SCOPE)
    assert time.monotonic() - began < 2.5
    assert (extra.tools(), extra.guidance().stable, extra.news()) == ((), "", "")
    until(lambda: many.states()["slow"] == "ready")
    extra.settle(SCOPE)
    assert [tool.name for tool in extra.tools()] == ["mcp_slow_echo"]
    news = extra.news()
    assert "New: mcp_slow_echo." in news
    assert "> Say please." in news
    assert extra.news() == ""
    many.plans["slow"].tools = ()
    many.plans["slow"].wiring.tools_changed()
    extra.settle(SCOPE)
    assert (extra.tools(), "No longer there: mcp_slow_echo." in extra.news()) == ((), True)


def test_the_model_is_told_of_new_tools_that_it_can_call_and_where_the_others_are(tmp_path):
    many = Many(tmp_path, a=Plan(*(f"t{n:02}" for n in range(limits.MCP_TOOLS - 1))), b=Plan("one", "two", slow=0.2))
    extra = many.extra()
    extra.settle(SCOPE)
    until(lambda: many.states()["a"] == "ready")
    extra.settle(SCOPE)
    extra.guidance()
    until(lambda: many.states()["b"] == "ready")
    extra.settle(SCOPE)
    assert "New: mcp_b_one. There are 1 more: find them with mcp_search_tools.]" in extra.news()
    for _ in range(2):
        extra.tools()
    assert [event.code for event in many.told if isinstance(event, events.Notice)] == ["mcp_many_tools"]


def test_what_is_wrong_in_the_files_of_servers_is_told_once_in_a_program(tmp_path):
    many = Many(tmp_path)
    many.problems = (ConfigError("mcp_unknown_key", "x.json:3: mcp_servers.a.b is not known.", file="x.json"),)
    for codes in (["mcp_unknown_key"], []):
        many.extra().settle(SCOPE)
        assert [event.code for event in many.told if isinstance(event, events.Notice)] == codes


def test_before_the_first_turn_servers_are_started_and_what_is_wrong_with_them_is_told(tmp_path):
    many = Many(tmp_path, good=Plan("echo"), dead=Plan(fails=[died("mcp_command")] * 9), wrong=Plan())
    many.configs["wrong"] = ServerConfig("wrong", problem="f:9: the MCP server wrong names both.")
    many.problems = (ConfigError("mcp_unknown_key", "x.json:3: mcp_servers.a.b is not known.", file="x.json"),)
    extra = many.extra()
    assert isinstance(extra, Opening)
    for _ in range(2):
        extra.opened()
    until(lambda: many.states() == {"good": "ready", "dead": "failed", "wrong": "invalid"})
    until(lambda: len(notices(many)) == 3)
    extra.settle(SCOPE)
    assert sorted(notices(many)) == ["mcp_command", "mcp_entry", "mcp_unknown_key"]
    assert many.plans["good"].starts == 1
    extra.close()


def notices(many):
    return [event.code for event in many.told if isinstance(event, events.Notice)]


def test_a_turn_that_nobody_watches_waits_for_them_within_their_time(tmp_path):
    many = Many(tmp_path, a=Plan("x", slow=0.2), b=Plan("y", slow=0.2), dead=Plan(fails=[died("mcp_command")]))
    extra = many.extra(unattended=True)
    extra.settle(SCOPE)
    assert [tool.name for tool in extra.tools()] == ["mcp_a_x", "mcp_b_y"]


def test_without_a_required_server_a_turn_that_nobody_watches_does_not_begin(tmp_path):
    many = Many(tmp_path, dead=Plan(fails=[died("mcp_command")]))
    many.configs["dead"] = ServerConfig("dead", command="dead", identity="d", required=True)
    with pytest.raises(AgentError, match="dead is required and cannot be used: It has mcp_command") as caught:
        many.extra(unattended=True).settle(SCOPE)
    assert caught.value.code == "mcp_required"


def test_one_that_fails_is_told_of_once(tmp_path):
    many = Many(tmp_path, dead=Plan(fails=[died("mcp_command")] * 9))
    extra = many.extra()
    extra.settle(SCOPE)
    until(lambda: any(isinstance(event, events.Notice) for event in many.told))
    for _ in range(3):
        extra.settle(SCOPE)
    notices = [event for event in many.told if isinstance(event, events.Notice)]
    assert [(notice.code, notice.text) for notice in notices] == [("mcp_command", "It has mcp_command.")]
    assert isinstance(many.told[0], events.ServersChanged)
    extra.close()


def test_one_that_fails_again_is_not_told_of_again_until_it_has_been_well(tmp_path):
    failing = Plan(fails=[died("mcp_command"), died("mcp_command"), None, died("mcp_command")], slow=0.1)
    many = Many(tmp_path, dead=failing)
    extra = many.extra()
    extra.settle(SCOPE)
    managed, told = many.servers.find(tmp_path, "dead"), []
    for starts, state in enumerate(("failed", "failed", "ready", "failed"), 1):
        until(lambda starts=starts, state=state: failing.starts == starts and many.states()["dead"] == state)
        extra._changed()
        told.append(sum(isinstance(event, events.Notice) for event in many.told))
        managed.restart()
        extra._changed()
    assert told == [1, 1, 1, 2]
    extra.close()


def seated(many, tmp_path, *replies, **services):
    """A session that has these servers."""
    return Table(
        tmp_path,
        *replies,
        extras=lambda seat: (ServersExtra(seat, many.servers, unattended=True, redact=lambda text: text),),
        **services,
    )


def test_too_many_tools_are_found_and_called_by_two(tmp_path):
    plan = Plan(*(f"tool_{n}" for n in range(limits.MCP_TOOLS)), "paint_fence", reads=True)
    many = Many(tmp_path / "ws", a=plan)
    many.configs["a"] = ServerConfig("a", command="a", identity="a", trust=True)
    table = seated(
        many,
        tmp_path,
        call((names.MCP_SEARCH_TOOLS, {"query": "paint the fence"})),
        call((names.MCP_CALL_TOOL, {"name": "mcp_a_paint_fence", "arguments": {"colour": "green"}})),
        call((names.MCP_CALL_TOOL, {"name": "mcp_a_nothing"})),
        say("done"),
    )
    table.turn("go")
    offered = [tool.name for tool in table.model.requests[0].tools if tool.name.startswith("mcp_")]
    assert len(offered) == limits.MCP_TOOLS + 2
    assert "mcp_a_paint_fence" not in offered
    found, called, unknown = (message for message in table.model.requests[-1].messages if message.role == "tool")
    assert found.result.text.startswith("mcp_a_paint_fence: paint_fence (MCP server a)\n  arguments: ")
    assert called.result.text == "fine"
    assert "no such tool" in unknown.result.text
    assert plan.calls == ["paint_fence"]


def pictured(tmp_path, *data, sees=True):
    """What the tools make of a call that gives these pictures."""
    sent = tuple(ImagePart("image/png", base64.b64encode(each).decode()) for each in data)
    managed = server(tmp_path, Plan(answers=[CallResult("See picture 1.", images=sent)]))
    ctx = context(tmp_path, sees_images=sees)
    return server_tool(Offered(managed, ECHO, "mcp_srv_echo", {})).prepare({}, ctx).run(None), ctx


def test_a_picture_of_a_server_is_made_fit_for_the_model(tmp_path):
    output, _ = pictured(tmp_path, image(3_000, 30))
    assert [opened(part).size[0] for part in output.images] == [limits.IMAGE_SIDE]
    assert output.text == "See picture 1."


@pytest.mark.parametrize(
    ("data", "sees", "why"),
    [
        (image(8, 8), False, "You cannot be shown images here"),
        (png_that_says(30_000, 30_000), True, "is not decoded"),
        (image(8, 8)[:40], True, "cannot be decoded"),
    ],
)
def test_a_picture_that_cannot_be_shown_is_in_a_file(tmp_path, data, sees, why):
    output, ctx = pictured(tmp_path, data, sees=sees)
    (kept,) = (ctx.data_home / "spill").iterdir()
    assert (output.images, kept.read_bytes(), kept.suffix) == ((), data, ".png")
    assert why in output.text
    assert str(kept) in output.text


def test_what_is_gone_of_a_text_beyond_every_bound_is_said(tmp_path):
    managed = server(tmp_path, Plan(answers=[CallResult("first\nlast", left_out=10_000)]))
    output = server_tool(Offered(managed, ECHO, "mcp_srv_echo", {})).prepare({}, context(tmp_path)).run(None)
    assert output.outcome == "10,010 characters"
    assert output.text == "first\nlast\n[The server gave 10,010 characters; the middle of them was thrown away.]"


def test_a_call_is_asked_about_and_a_yes_for_the_session_holds_for_that_server_alone(tmp_path):
    many = Many(tmp_path / "ws", a=Plan())
    table = seated(many, tmp_path, call(("mcp_a_echo", {"text": "hi", "n": 3})), say("done"))
    table.session.send(intents.Submit("go"))
    question = table.wait(events.QuestionAsked).question
    assert (question.kind, question.server, question.tool, question.text) == ("server", "a", "echo", "text: hi\nn: 3")
    assert many.plans["a"].calls == []
    table.session.send(intents.Answer(question.id, "session"))
    table.wait(events.TurnFinished)
    table.model.replies = [call(("mcp_a_echo", {})), say("done")]
    table.turn("again", count=2)
    assert (many.plans["a"].calls, len(table.of(events.QuestionAsked))) == (["echo", "echo"], 1)
    many.configs["a"] = ServerConfig("a", command="a", identity="another")
    table.model.replies = [call(("mcp_a_echo", {})), say("done")]
    table.session.send(intents.Submit("once more"))
    table.session.send(intents.Answer(table.wait(events.QuestionAsked, count=2).question.id, "refuse"))
    table.wait(events.TurnFinished, count=3)
    assert many.plans["a"].calls == ["echo", "echo"]


@pytest.mark.parametrize("off", ["mcp", "mcp:a", "mcp_a_echo"])
def test_tools_of_servers_are_switched_off_together_by_server_or_one_by_one(tmp_path, off):
    many = Many(tmp_path / "ws", a=Plan())
    table = seated(many, tmp_path, call(("mcp_a_echo", {})), say("done"), tools_off=(off,))
    table.turn("go")
    assert "mcp_a_echo" not in [tool.name for tool in table.model.requests[0].tools]
    [result] = [message.result for message in table.model.requests[-1].messages if message.role == "tool"]
    assert result.outcome == "switched off"
    assert many.plans["a"].calls == []


def test_what_the_schema_does_not_name_reaches_the_server_and_plain_mistakes_are_mended(tmp_path):
    got = []
    plan = Plan(answers=[], reads=True)
    plan.tools = (ToolInfo("t", reads=True, schema={"type": "object", "properties": {"n": {"type": "integer"}}}),)
    plan.heard = got.append
    many = Many(tmp_path / "ws", a=plan)
    many.configs["a"] = ServerConfig("a", command="a", identity="a", trust=True)
    table = seated(many, tmp_path, call(("mcp_a_t", {"n": "3", "file_path": "x", "more": {"a": [1]}})), say("done"))
    table.turn("go")
    assert got == [{"n": 3, "file_path": "x", "more": {"a": [1]}}]


@pytest.mark.parametrize(
    "said",
    [
        "Invalid schema for function 'mcp_a_bad': None is not of type 'array'.",
        "tools.{place}.input_schema: JSON schema is invalid",
        "Invalid 'tools[{place}].function.parameters'",
    ],
)
def test_a_tool_that_a_model_server_refuses_is_left_out_and_the_turn_goes_on(tmp_path, said):
    many = Many(tmp_path / "ws", a=Plan("good", "bad"))

    def judge(request, sink, cancel):
        offered = [tool.name for tool in request.tools]
        if "mcp_a_bad" in offered:
            text = said.format(place=offered.index("mcp_a_bad"))
            return ProviderError("bad_request", f"The server refused the request: {text}", status=400)
        return say("done")

    table = seated(many, tmp_path, judge)
    assert table.turn("go").outcome == "completed"
    table.turn("again", count=2)
    assert [[tool.name for tool in request.tools][-1] for request in table.model.requests] == [
        "mcp_a_bad", "mcp_a_good", "mcp_a_good",
    ]  # fmt: skip
    assert [notice.code for notice in table.of(events.Notice)].count("tool_refused") == 1


@pytest.mark.parametrize(
    "said", ["The context is too long.", "Invalid schema for function 'read_file'.", "tools.0.name"]
)
def test_a_refusal_that_is_about_no_tool_of_a_server_ends_the_turn(tmp_path, said):
    many = Many(tmp_path / "ws", a=Plan())
    table = seated(many, tmp_path, ProviderError("bad_request", said, status=400))
    assert table.turn("go").outcome == "failed"
    assert len(table.model.requests) == 1


# -- with a program -------------------------------------------------------------------------------------------------


def desk(tmp_path, servers):
    home = tmp_path / "home"
    (home / ".nanohermes").mkdir(parents=True)
    (home / ".nanohermes" / "mcp.json").write_text(json.dumps({"servers": servers}))
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    places = find_places(tmp_path, env)
    grants = GrantsFile(places.grants_file)
    return ServerDesk(
        Ground(
            places, env, lambda folder: (find_places(folder, env), look(find_places(folder, env), grants)), dict,
            lambda text: text, tuple, lambda secrets: None, lambda folder: None,
        )
    )  # fmt: skip


def test_a_program_is_started_called_and_ended_and_a_project_is_asked_about_first(tmp_path):
    entry = {"command": sys.executable, "args": [str(BAD), "banner"], "startup_timeout": 20}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"theirs": entry}}))
    servers = desk(tmp_path, {"ours": entry})
    try:
        assert {row.name: row.state for row in servers.rows(tmp_path)} == {"ours": "idle", "theirs": "untrusted"}
        [managed] = servers.managed(tmp_path)
        assert managed.call(ECHO, {"text": "日本é"}, Asks(), SCOPE).text == "日本é"
        [view] = [view for view in servers.views(tmp_path) if view.row.name == "ours"]
        assert view.row.state == "ready"
        assert "echo" in [tool.name for tool in view.tools]
        assert len(view.noise) >= 5
        with pytest.raises(ServerFailure):
            managed.call(ToolInfo("crash"), {}, Asks(), SCOPE)
        assert managed.call(ECHO, {"text": "again"}, Asks(), SCOPE).text == "again"
    finally:
        servers.close()


def test_names_and_order_are_the_same_in_every_run(tmp_path):
    many = Many(tmp_path, b=Plan("x", "y z"), a=Plan("x"))
    for managed in many.servers.of(tmp_path):
        managed.call(ECHO, {}, Asks(), SCOPE)
    first = [one.name for one in offered_of(many.servers.of(tmp_path))]
    again = Many(tmp_path, b=Plan(), a=Plan())
    assert [one.name for one in offered_of(again.servers.of(tmp_path))] == first
    assert first[0] == "mcp_b_x"
    assert first[2] == "mcp_a_x"
