"""A sub-agent that is stopped and does not end: it is given up, and what it still does changes nothing (SUB-09)."""

import threading
import time

import pytest

from agent_core import events, intents, limits
from agent_core.cancel import CancelScope
from agent_core.errors import StoreError
from agent_core.llm.client import make_client
from agent_core.llm.providers import ProviderOptions, resolve
from agent_core.ports.actions import Effect, NoAction
from agent_core.ports.model import Delta
from agent_core.ports.tools import Tool
from agent_core.session.services import Connection
from agent_core.subagents.life import Life, awaited
from agent_core.subagents.order import CrewOptions
from agent_core.tools import base
from agent_core.tools.builtin import builtin_tools
from tests.core.agents_support import Office, delegate, results
from tests.core.session_support import call, say
from tests.fakes.raw_server import STREAM_HEAD, raw_server, read_request

ONE_AT_ONCE = CrewOptions(at_once=1)
QUIET = CrewOptions(quiet_seconds=0.3, at_once=1)


class Deaf:
    """Goes on until it is let go, whoever stops it: a model's reply, or what a tool does."""

    def __init__(self, then):
        self.begun, self.free, self.over = threading.Event(), threading.Event(), threading.Event()
        self.then = then
        self.filled = 0

    def wait(self):
        self.begun.set()
        assert self.free.wait(60)
        self.over.set()

    def __call__(self, request, sink, cancel):
        sink(Delta("text", "I have seen "))
        self.wait()
        sink(Delta("retry", "The server is busy."))
        sink(Delta("text", "much more."))
        return self.then

    def tools(self):
        def dig():
            self.wait()
            return base.ToolOutput("late", "late")

        def fill():
            self.filled += 1
            return base.ToolOutput("full", "full")

        return _tool("dig", "write", dig), _tool("fill", "command", fill)  # the second one after the first


def _tool(name, kind, run):
    return Tool(
        name,
        "Needs no consent.",
        base.schema([]),
        lambda args: Effect(kind),
        lambda args: "deep",
        lambda args, ctx: base.prepared(NoAction(), run),
    )


@pytest.fixture
def office(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "AGENT_COLLECT", 0.3)
    made = []

    def make(deaf, parent, child, **more):
        desk = Office(tmp_path, parent, child, tools=(*builtin_tools(), *deaf.tools()), **more)
        made.append((desk, deaf))
        return desk

    yield make
    for desk, deaf in made:
        deaf.free.set()
        desk.session.close()
        desk.session.join(5.0)
        desk.store.close()


def stored(desk):
    """All that the store holds, but for leases, which their own threads give back."""
    with desk.store.database.read() as c:
        tables = [name for (name,) in c.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                  if name != "session_turn_leases" and "fts" not in name]  # fmt: skip
        return {table: c.execute(f'SELECT * FROM "{table}"').fetchall() for table in tables}


def let_go_changes_nothing(desk, deaf):
    """Let what was given up go on to its end; nothing is stored, told or asked by that."""
    desk.until(lambda: not desk.store.leases.is_ours(desk.board[0].session_id))
    before, asked, told = stored(desk), len(desk.child.requests), len(desk.drain())
    threads = {t for t in threading.enumerate() if t.name.startswith(("agent-1-turn", "tool-dig"))}
    assert threads, "it was still at work"
    deaf.free.set()
    assert deaf.over.wait(10)
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert stored(desk) == before
    assert len(desk.child.requests) == asked
    assert len(desk.drain()) == told
    assert not deaf.filled


LATE = "[timed out] It did not end within"


def stop_by_person(desk):
    desk.session.send(intents.StopAgent("agent-1"))


def stop_of_turn(desk):
    desk.session.send(intents.Interrupt())


@pytest.mark.parametrize(
    ("options", "stop", "state", "why"),
    [
        (QUIET, None, "failed", "[timed out] It showed no sign of life"),
        (ONE_AT_ONCE, stop_by_person, "interrupted", "[interrupted] The user stopped this sub-agent."),
        (ONE_AT_ONCE, stop_of_turn, "interrupted", "[interrupted] The user stopped this sub-agent."),
    ],
)
def test_one_whose_model_goes_on_when_it_is_stopped_is_given_up_with_what_it_said_last(
    office, options, stop, state, why
):
    deaf = Deaf(call(("fill", {})))
    desk = office(deaf, [delegate(("worker", "a")), say("I see.")], [deaf], options=options)
    desk.session.send(intents.Submit("go"))
    assert deaf.begun.wait(10)
    if stop is not None:
        stop(desk)
    desk.wait(events.TurnFinished)
    result = next(m.result.text for m in desk.store.messages(desk.session.id) if m.result is not None)
    assert why in result
    assert LATE in result
    assert result.endswith("What it said last:\nI have seen")
    row = desk.board[0]
    assert (row.state, row.ended is not None) == (state, True)
    child = desk.store.messages(row.session_id)
    assert [(m.text, m.interrupted) for m in child[1:]] == [("I have seen", True)], "its transcript has it too"
    assert desk.store.costs.spent(row.session_id).is_partial, "it was paid for, and nobody knows how much"
    let_go_changes_nothing(desk, deaf)


def test_one_whose_tool_goes_on_when_it_is_stopped_is_given_up_and_runs_no_other(office):
    deaf = Deaf(None)
    two = call(("dig", {}), ("fill", {}))
    desk = office(deaf, [delegate(("worker", "a")), say("I see.")], [two, say("never")], options=ONE_AT_ONCE)
    desk.session.send(intents.Submit("go"))
    assert deaf.begun.wait(10)
    stop_by_person(desk)
    assert desk.wait(events.TurnFinished).text == "I see."
    (result,) = results(desk.parent.requests[-1])
    assert "[interrupted]" in result
    assert "It was at: dig deep. What that did, and may still do, is not known" in result
    child = desk.board[0].session_id
    assert [m.role for m in desk.store.messages(child)] == ["user", "assistant"]
    let_go_changes_nothing(desk, deaf)


def test_in_the_background_its_place_goes_to_the_next_and_its_model_is_told(office):
    deaf = Deaf(say("never heard"))
    tasks = [{"goal": "a"}, {"goal": "b"}]
    replies = {"a": deaf, "b": lambda *asked: say("b's word")}
    desk = office(
        deaf,
        [call(("delegate_task", {"tasks": tasks})), say("They look."), say("All is known.")],
        [lambda request, sink, cancel: replies[request.messages[1].text](request, sink, cancel)],
        options=QUIET,
    )
    assert desk.turn("go").text == "They look."
    assert desk.wait(events.TurnFinished, count=2).text == "All is known."
    message = next(m for m in desk.parent.requests[-1].messages if m.origin == "agents")
    assert [row.state for row in message.agents] == ["failed", "done"]
    assert LATE in message.text
    assert "b's word" in message.text
    assert not deaf.over.is_set(), "nobody has waited for it"
    assert not desk.session.goes_on
    let_go_changes_nothing(desk, deaf)


@pytest.mark.parametrize("sent", [b"", STREAM_HEAD], ids=["nothing", "a head and no body"])
def test_a_server_that_sends_nothing_is_left_by_the_stop_itself(tmp_path, sent):
    held = threading.Event()

    def silent(connection, number):
        read_request(connection)
        connection.sendall(sent)
        held.wait(60)

    with raw_server(silent) as server:
        desk = Office(tmp_path, [delegate(("worker", "a")), say("I see.")], [say("never")], options=QUIET)
        parents = desk._connect
        models = iter([parents])  # the first connection is the parent's

        def connect(name, provider="", stand_ins=()):
            if next(models, None) is not None:
                return parents(name, provider, stand_ins)
            servers = {"acme": {"base_url": server.base_url}}
            settings = ProviderOptions(model="m", provider="acme", providers=servers)
            client = make_client(resolve(settings, {}, {}), settings)
            return Connection(client, "test", "m", "M", context_window=100_000)

        object.__setattr__(desk.services, "connect", connect)
        began = time.monotonic()
        desk.turn("go")
        assert time.monotonic() - began < 10
        (result,) = results(desk.parent.requests[-1])
        assert "[timed out] It showed no sign of life for 0 s and was stopped." in result
        assert LATE not in result
        assert not [t for t in threading.enumerate() if t.name.startswith("agent-1-turn")]
        held.set()
        desk.session.close()
        desk.session.join(5.0)
        desk.store.close()


def test_nothing_is_kept_of_what_was_given_up_and_what_has_ended_is_not_given_up():
    life, kept = Life(), []
    with pytest.raises(OSError, match="full"):
        life.end(lambda: (_ for _ in ()).throw(OSError("full")))
    life.keep(lambda: kept.append("before"))
    assert life.give_up(), "an end that was not stored is none"
    for keep in (life.keep, life.end):
        with pytest.raises(StoreError, match="given up"):
            keep(lambda: kept.append("after"))
    with life.held() as counts:
        assert not counts
    assert kept == ["before"]
    ended = Life()
    assert ended.end(lambda: "its end") == "its end"
    assert not ended.give_up()


def test_one_that_ends_just_as_it_is_given_up_has_ended_by_itself(monkeypatch):
    monkeypatch.setattr(limits, "AGENT_COLLECT", 0.0)
    scope, stored_it = CancelScope(), threading.Event()

    def work():
        scope.cancel()
        assert stored_it.wait(10)
        return "its own end"

    def give_up():
        stored_it.set()

    assert awaited("agent", work, scope, give_up) == "its own end"
