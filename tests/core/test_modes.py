"""A session's mode: what entering one needs, when a switch acts, and where plan mode leads back to."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from agent_core import events, intents
from agent_core.errors import ConfigError, TurnHalted
from agent_core.messages import ToolCall, new_id
from agent_core.ports.actions import Effect, NoAction
from agent_core.ports.commands import ExecResult
from agent_core.ports.model import LlmReply
from agent_core.ports.tools import Prepared, Tool, ToolOutput
from agent_core.session.services import Containment
from agent_core.tools.builtin import builtin_tools
from tests.core.session_support import Table, call, say

BOXED = {"containment": lambda: Containment(kernel=True)}


class Confirmed:
    """What a machine remembers of confirmed modes."""

    def __init__(self, *modes):
        self.modes = set(modes)
        self.noted = threading.Event()

    def known(self, workspace, mode):
        return mode in self.modes

    def note(self, workspace, mode):
        self.modes.add(mode)
        self.noted.set()

    @property
    def services(self):
        return BOXED | {"mode_confirmed": self.known, "confirm_mode": self.note}


class Backend:
    """Runs nothing, and says in which box it was to."""

    def __init__(self):
        self.ran = []

    def execute(self, command, cwd, *, box, timeout, env, cancel, on_output=None):
        self.ran.append((command, box.words))
        return ExecResult(0, "", "", 0.1)


@pytest.fixture
def boxed(tmp_path):
    """A session on a machine whose kernel confines commands; where they would run is in `t.backend.ran`."""
    tables = []

    def make(*replies, mode="ask", **services):
        t = Table(tmp_path, *replies, **(BOXED | services))
        t.backend = Backend()
        t.services = replace(t.services, backend=lambda confine: t.backend)
        t.session.close()
        t.session = open_in(t, mode)
        tables.append(t)
        return t

    yield make
    for t in tables:
        t.session.close()
        t.session.join(10)


def open_in(t, mode):
    """A new session that begins in a mode, as a flag of the command line has it."""
    from agent_core.session.live import LiveSession
    from agent_core.store.rows import SessionRow

    return LiveSession(
        t.services, SessionRow(new_id(), "", str(t.workspace), "", "", mode, 0.0, 0.0, 0, 0, 0, 0), stored=False
    )


def run(command):
    return call(("run_command", {"command": command}))


# -- entering a mode ----------------------------------------------------------------------------------------------


def test_a_mode_in_which_the_model_acts_alone_is_confirmed_once_in_a_workspace(boxed):
    confirmed = Confirmed()
    t = boxed(say("x"), **confirmed.services)
    t.session.send(intents.SetMode("auto"))
    asked = t.wait(events.ModeToConfirm)
    assert (asked.mode, asked.sandbox) == ("auto", "workspace-write")
    assert t.session.mode == "ask"
    t.session.send(intents.SetMode("auto", confirmed=True))
    assert t.session.mode == "auto"
    assert confirmed.noted.wait(10)
    t.session.send(intents.SetMode("ask"))
    t.session.send(intents.SetMode("auto"))
    assert t.session.mode == "auto"
    other = open_in(t, "ask")
    other.send(intents.SetMode("auto"))
    for _ in range(500):
        if other.mode == "auto":
            break
        threading.Event().wait(0.01)
    assert other.mode == "auto"
    assert len(t.of(events.ModeToConfirm)) == 1
    other.close()
    other.join(10)


def test_a_mode_that_was_passed_by_asks_nothing_any_more(boxed):
    looked, go = threading.Event(), threading.Event()

    def slow(workspace, mode):
        looked.set()
        return bool(go.wait(10)) and False

    t = boxed(say("x"), mode_confirmed=slow)
    t.session.send(intents.SetMode("auto"))
    assert looked.wait(10)
    t.session.send(intents.SetMode("plan"))
    go.set()
    t.turn("go")
    assert t.session.mode == "plan"
    assert t.of(events.ModeToConfirm) == []


def test_a_confirmation_that_cannot_be_kept_is_told_and_holds_for_now(boxed):
    def note(workspace, mode):
        raise ConfigError("grants_unwritable", "It could not be written.")

    t = boxed(say("x"), confirm_mode=note)
    t.session.send(intents.SetMode("auto", confirmed=True))
    assert t.wait(events.ErrorRaised).code == "grants_unwritable"
    assert t.session.mode == "auto"


@pytest.mark.parametrize(("known", "mode"), [((), "ask"), (("auto",), "auto")])
def test_a_stored_session_is_back_in_such_a_mode_only_where_it_was_confirmed(boxed, known, mode):
    t = boxed(say("x"), mode="auto", **Confirmed(*known).services)
    assert t.session.mode == "auto"  # it was named for this run
    t.turn("go")
    again = t.open(t.session.id, stored=True)
    assert again.mode == mode


@pytest.mark.parametrize(
    ("now", "modes"),
    [
        (Containment(), 3),
        (Containment(accepted=True), 5),
        (Containment(sandbox="danger-full-access"), 5),
        (Containment(kernel=True), 5),
    ],
)
def test_without_a_kernel_that_confines_the_free_modes_need_the_persons_word(boxed, now, modes):
    t = boxed(say("x"), containment=lambda: now)
    assert len(t.session.modes) == modes
    t.session.send(intents.SetMode("auto", confirmed=True))
    if modes == 3:
        error = t.wait(events.ErrorRaised)
        assert error.code == "mode_needs_sandbox"
        assert "--yolo" in error.text
    assert t.session.mode == ("ask" if modes == 3 else "auto")


# -- when a switch acts -------------------------------------------------------------------------------------------


def test_a_switch_acts_on_the_next_step_of_a_running_turn(boxed):
    def then_plan(request, sink, cancel):
        t.session.send(intents.SetMode("plan"))
        return run("make two")

    t = boxed(run("make one"), then_plan, say("done"), mode="auto")
    t.turn("go")
    assert t.backend.ran == [("make one", "workspace-write")]
    refused = t.model.requests[2].messages[-1]
    assert "plan mode" in refused.text
    assert "Mode plan" in t.model.requests[2].messages[0].text


def test_a_mode_chosen_while_a_turn_runs_is_on_disk_from_the_next_step_on(boxed):
    stored = []  # what a killed program would come back in

    def switch(request, sink, cancel):
        t.session.send(intents.SetMode("plan"))
        return call(("glob", {"pattern": "*"}))

    def look(request, sink, cancel):
        stored.append(t.store.get(t.session.id).mode)
        return say("ok")

    t = boxed(switch, look, mode="auto")
    t.turn("go")
    assert stored == ["plan"]


def test_what_a_person_is_being_asked_stays_when_the_mode_is_switched(boxed):
    t = boxed(run("make one"), say("done"))
    t.session.send(intents.Submit("go"))
    question = t.wait(events.QuestionAsked).question
    t.session.send(intents.SetMode("plan"))
    t.session.send(intents.Answer(question.id, "once"))
    t.wait(events.TurnFinished)
    assert t.backend.ran == [("make one", question.sandbox)] == [("make one", "workspace-write")]


@pytest.mark.parametrize("before", ["ask", "debug", "auto"])
def test_an_approved_plan_leads_back_to_the_mode_before_it(boxed, before):
    t = boxed(call(("exit_plan", {"plan": "1. do it"})), say("ok"), mode=before)
    t.session.send(intents.SetMode("plan"))
    t.session.send(intents.Submit("plan it"))
    t.session.send(intents.Answer(t.wait(events.QuestionAsked).question.id, "once"))
    t.wait(events.TurnFinished)
    assert t.session.mode == before
    assert f"mode {before} now" in t.model.requests[1].messages[-1].text


@pytest.mark.parametrize(
    ("switches", "back"),
    [
        (["plan"], "ask"),
        (["debug", "plan"], "debug"),
        (["goal", "plan"], "goal"),
        (["auto", "goal", "plan"], "goal"),
        (["auto", "plan", "goal", "plan"], "goal"),
    ],
)
def test_a_plan_leads_back_to_what_it_was_made_in(boxed, switches, back):
    t = boxed(call(("exit_plan", {"plan": "1. do it"})), say("ok"))
    for mode in switches:
        t.session.send(intents.SetMode(mode, confirmed=True))
    t.session.send(intents.Submit("plan it"))
    t.session.send(intents.Answer(t.wait(events.QuestionAsked).question.id, "once"))
    t.wait(events.TurnFinished)
    assert t.session.mode == back


@pytest.mark.parametrize(
    ("switches", "back"),
    [
        (["goal"], "ask"),
        (["auto", "goal"], "auto"),
        (["auto", "plan", "goal"], "auto"),
        (["auto", "goal", "plan"], "goal"),
    ],
)
def test_a_way_back_is_never_a_circle(boxed, switches, back):
    t = boxed(say("x"))
    for mode in switches:
        t.session.send(intents.SetMode(mode, confirmed=True))
    modes = t.session._modes
    assert modes.back(modes.mode) == back
    assert modes.back(modes.mode) == ("auto" if back == "goal" else back)
    assert modes.back(modes.mode) == ("auto" if back == "goal" else back)


@pytest.mark.parametrize("chosen", ["debug", "goal"])
def test_who_has_chosen_another_mode_while_the_plan_was_read_keeps_it(boxed, chosen):
    t = boxed(call(("exit_plan", {"plan": "1. do it"})), *[say("ok")] * 4, mode="auto")
    t.session.send(intents.SetMode("plan"))
    t.session.send(intents.Submit("plan it"))
    question = t.wait(events.QuestionAsked).question
    t.session.send(intents.SetMode(chosen, confirmed=True))
    t.session.send(intents.Answer(question.id, "once"))
    t.wait(events.TurnFinished)
    assert t.session.mode == chosen
    assert f"mode {chosen} now" in t.model.requests[1].messages[-1].text


def test_a_goal_that_is_declared_reached_does_not_lead_out_of_a_plan_begun_meanwhile(boxed):
    t = boxed(mode="goal")
    t.session.send(intents.SetMode("plan"))
    t.wait(events.ModeChanged)
    assert t.session._modes.back("goal") == "plan"
    assert t.session.mode == "plan"


def test_a_session_that_began_in_plan_mode_leads_to_mode_ask(boxed):
    t = boxed(call(("exit_plan", {"plan": "1. do it"})), say("ok"), mode="plan")
    t.session.send(intents.Submit("plan it"))
    t.session.send(intents.Answer(t.wait(events.QuestionAsked).question.id, "once"))
    t.wait(events.TurnFinished)
    assert t.session.mode == "ask"


# -- what runs where ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "command", "needs", "box"),
    [
        ("ask", "ls", "", "read-only"),
        ("plan", "ls", "", "read-only"),
        ("plan", "make", "", None),
        ("plan", "make", "everything", None),
        ("debug", "make", "", "read-only"),
        ("auto", "make", "", "workspace-write"),
        ("goal", "make", "", "workspace-write"),
        ("auto", "make", "network", None),
        ("ask", "make", "", None),
        ("debug", "make", "write", None),
    ],
)
def test_alone_the_sandboxed_part_runs_and_what_would_ask_is_refused_at_once(boxed, mode, command, needs, box):
    arguments = {"command": command} | ({"needs": needs} if needs else {})
    done = call(("goal_done", {"evidence": "make said so"})) if mode == "goal" else say("done")
    t = boxed(call(("run_command", arguments)), done, say("done"), mode=mode, unattended=True)
    assert t.turn("go").outcome == "completed"
    assert t.backend.ran == ([(command, box)] if box else [])
    assert t.of(events.QuestionAsked) == []
    if not box:
        assert "Refused" in t.model.requests[1].messages[-1].text


def test_what_a_call_says_ends_a_turn_leaves_a_result_for_every_call(boxed):
    def prepare(args, ctx):
        if args.get("halt"):
            raise TurnHalted("reviewer_breaker", "Refused three times in a row.")
        return Prepared(NoAction(), lambda box: ToolOutput("fine"))

    schema = {"type": "object", "properties": {"halt": {"type": "boolean"}}, "required": []}
    tool = Tool("odd", "for a test", schema, lambda args: Effect("command"), lambda args: "", prepare)
    calls = tuple(ToolCall(f"c{n}", "odd", {"halt": n == 1}) for n in range(3))
    reply = LlmReply(tool_calls=calls, finish="tool_calls", model="m")
    t = boxed(reply, say("and on"), tools=(*builtin_tools(), tool))
    end = t.turn("go")
    assert (end.outcome, end.error_code) == ("failed", "reviewer_breaker")
    results = {m.result.call_id: m.result for m in t.store.messages(t.session.id) if m.result is not None}
    assert {name: result.ok for name, result in results.items()} == {"c0": True, "c1": False, "c2": False}
    assert "three times" in results["c1"].text
    assert t.turn("again", count=2).text == "and on"
