"""MCP servers in a session: what its turns wait for, the tools the model is given, and what is told to a person."""

import base64
import time

import pytest

from agent_core import events, intents, limits, names
from agent_core.errors import AgentError, ConfigError, ProviderError
from agent_core.extras.server_prompts import filled
from agent_core.extras.servers import ServersExtra
from agent_core.knowledge import Expansion
from agent_core.mcp.words import CallResult, PromptInfo, ServerConfig, ServerInfo, ToolInfo
from agent_core.messages import ImagePart
from agent_core.ports.extras import Opening
from agent_core.tools.mcp import Offered, server_tool
from tests.core.image_support import image, opened, png_that_says
from tests.core.server_support import (
    ECHO,
    SCOPE,
    Many,
    Plan,
    died,
    notices,
    server,
    until,
)
from tests.core.session_support import Table, call, say
from tests.core.tool_support import context
from tests.rows import each_row

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


@each_row(
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
