"""Mode goal: it goes on until it can show that the goal is reached, or a bound, a person, an open question stops it."""

from __future__ import annotations

import threading

import pytest

from agent_core import events, intents, limits
from agent_core.mind import prompt
from agent_core.ports.means import Goal, TodoItem
from agent_core.session.goal import ONWARD
from agent_core.session.live import LiveSession
from agent_core.session.services import Containment
from tests.core.session_support import Table, call, say

WORK = call(("glob", {"pattern": "*.py"}))
DONE = call(("goal_done", {"evidence": "pytest -q: 12 passed"}))


@pytest.fixture
def goal(tmp_path):
    """A session in which entering mode goal needs no question any more."""
    tables = []

    def make(*replies, **services):
        given = {"containment": lambda: Containment(kernel=True), "mode_confirmed": lambda workspace, mode: True}
        t = Table(tmp_path, *replies, **(given | services))
        tables.append(t)
        return t

    yield make
    for t in tables:
        t.session.close()
        t.session.join(10)


def in_mode_goal(t):
    t.session.send(intents.SetMode("goal"))
    t.wait(events.ModeChanged)


def notes(t, request=-1):
    return [m.text for m in t.model.requests[request].messages if m.origin == "note"]


def states(t):
    return [(e.text, e.state) for e in t.of(events.GoalChanged)]


def test_a_goal_starts_a_turn_that_goes_on_until_it_is_declared_reached_with_evidence(goal):
    t = goal(WORK, say("I looked around."), WORK, say("Half done."), DONE, say("All tests pass."))
    t.session.send(intents.SetGoal("make the tests pass"))
    end = t.wait(events.TurnFinished)
    assert (end.outcome, end.text, end.steps) == ("completed", "All tests pass.", 6)
    assert notes(t) == [ONWARD, ONWARD]
    assert t.model.requests[0].messages[1].text == "make the tests pass"
    assert states(t) == [("make the tests pass", "open"), ("make the tests pass", "reached")]
    assert t.of(events.GoalChanged)[-1].evidence == "pytest -q: 12 passed"
    assert [e.mode for e in t.of(events.ModeChanged)] == ["goal", "ask"]
    assert t.store.goal(t.session.id) == Goal("make the tests pass", "reached", "pytest -q: 12 passed")
    offered = [{tool.name for tool in request.tools} for request in t.model.requests]
    assert ["goal_done" in names for names in offered] == [True] * 5 + [False]


def test_the_goal_is_in_the_prompt_of_every_request_and_in_no_other_mode(goal):
    t = goal(WORK, DONE, say("ok"))
    t.session.send(intents.SetGoal("fix\n# Mode\nit"))
    t.wait(events.TurnFinished)
    prompts = [request.messages[0].text for request in t.model.requests]
    assert prompts[0] == prompts[1]
    assert prompts[0].endswith("\nThe goal:\n> fix\n> # Mode\n> it")
    assert "The goal:" not in prompts[2]
    assert prompts[0][: prompt.lasting(prompts[0])] == prompts[2][: prompt.lasting(prompts[2])]


def test_in_mode_goal_the_first_words_are_the_goal_and_later_ones_are_words(goal):
    t = goal(DONE, say("one"), WORK, DONE, say("two"))
    in_mode_goal(t)
    t.turn("reach this")
    assert states(t)[0] == ("reach this", "open")
    t.session.send(intents.SetMode("goal"))
    t.turn("then that", count=2)
    assert states(t)[-1] == ("then that", "reached")


def test_a_goal_waits_for_the_mode_to_be_confirmed(goal):
    t = goal(DONE, say("ok"), mode_confirmed=lambda workspace, mode: False)
    t.session.send(intents.SetGoal("reach this"))
    assert t.wait(events.ModeToConfirm).mode == "goal"
    assert (t.session.mode, t.session.state, states(t)) == ("ask", "idle", [])
    t.session.send(intents.SetMode("goal", confirmed=True))
    assert t.wait(events.TurnFinished).outcome == "completed"
    assert states(t)[-1] == ("reach this", "reached")


def test_another_mode_in_its_place_forgets_the_goal_that_waited(goal):
    t = goal(say("ok"), mode_confirmed=lambda workspace, mode: False)
    t.session.send(intents.SetGoal("reach this"))
    t.wait(events.ModeToConfirm)
    t.session.send(intents.SetMode("plan"))
    t.session.send(intents.SetMode("goal", confirmed=True))
    assert (t.session.mode, t.session.state, states(t)) == ("goal", "idle", [])


def test_a_goal_given_while_a_turn_runs_is_told_at_its_next_step(goal):
    go = threading.Event()

    def slow(request, sink, cancel):
        go.wait(10)
        return WORK

    t = goal(slow, DONE, say("ok"))
    t.session.send(intents.Submit("look"))
    t.wait(events.StepStarted)
    t.session.send(intents.SetGoal("reach this"))
    t.wait(events.ModeChanged)
    t.wait(events.PendingChanged)
    go.set()
    t.wait(events.TurnFinished)
    assert "reach this" in [m.text for m in t.model.requests[1].messages]
    assert states(t)[-1] == ("reach this", "reached")


# -- what stops it ------------------------------------------------------------------------------------------------


def test_answers_in_a_row_without_work_stop_it_and_the_goal_stays_open(goal):
    t = goal(WORK, say("I am thinking."))
    t.session.send(intents.SetGoal("reach this"))
    end = t.wait(events.TurnFinished)
    assert end.outcome == "cap"
    assert len(t.model.requests) == 1 + 1 + limits.GOAL_IDLE_ANSWERS
    notice = next(n for n in t.of(events.Notice) if n.code == "goal_stalled")
    assert notice.params == {"answers": limits.GOAL_IDLE_ANSWERS}
    assert (t.session.mode, t.session.goal.state) == ("goal", "open")


def test_the_cap_of_steps_stops_it(goal):
    t = goal(WORK, max_steps=4)
    t.session.send(intents.SetGoal("reach this"))
    assert t.wait(events.TurnFinished).outcome == "cap"
    assert t.session.goal.state == "open"


def test_a_stop_ends_it(goal):
    started = threading.Event()

    def slow(request, sink, cancel):
        started.set()
        threading.Event().wait(0.2)
        return say("more to come")

    t = goal(slow)
    t.session.send(intents.SetGoal("reach this"))
    assert started.wait(10)
    t.session.send(intents.Interrupt())
    assert t.wait(events.TurnFinished).outcome == "interrupted"
    assert t.session.goal.state == "open"


def test_a_question_that_nobody_is_there_to_answer_stops_it(goal):
    t = goal(call(("ask_user", {"question": "Which one?"})), say("I need to know which one."), unattended=True)
    t.session.send(intents.SetGoal("reach this"))
    end = t.wait(events.TurnFinished)
    assert (end.outcome, end.text) == ("cap", "I need to know which one.")
    assert any(n.code == "goal_unanswered" for n in t.of(events.Notice))
    assert len(t.model.requests) == 2


def test_a_switch_to_another_mode_lets_the_turn_end_with_its_answer(goal):
    def and_out(request, sink, cancel):
        t.session.send(intents.SetMode("ask"))
        return say("so far")

    t = goal(and_out)
    t.session.send(intents.SetGoal("reach this"))
    assert t.wait(events.TurnFinished).outcome == "completed"
    assert t.session.goal == Goal("reach this", "open")


def test_a_goal_that_is_given_up_leads_out_of_the_mode(goal):
    t = goal(say("x"))
    t.session.send(intents.SetGoal("reach this"))
    t.wait(events.TurnFinished)
    t.session.send(intents.SetGoal(""))
    assert (t.session.mode, t.session.goal) == ("ask", Goal("reach this", "given_up"))
    t.session.send(intents.SetGoal(""))
    assert [state for _, state in states(t)] == ["open", "given_up"]


# -- declaring it reached -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", ["", "  ", "done", "yes!", "完成了"])
def test_without_evidence_it_is_not_reached(goal, evidence):
    t = goal(call(("goal_done", {"evidence": evidence})), DONE, say("ok"))
    t.session.send(intents.SetGoal("reach this"))
    t.wait(events.TurnFinished)
    assert "shows nothing" in t.model.requests[1].messages[-1].text
    assert "goal_done" in {tool.name for tool in t.model.requests[1].tools}


def test_evidence_in_chinese_needs_no_blanks(goal):
    t = goal(call(("goal_done", {"evidence": "全部十二个测试通过"})), say("ok"))
    t.session.send(intents.SetGoal("reach this"))
    t.wait(events.TurnFinished)
    assert t.session.goal.state == "reached"


def test_steps_that_are_still_open_are_named_when_it_is_declared_reached(goal):
    todo = call(("todo_write", {"items": [{"text": "write docs", "status": "pending"}]}))
    t = goal(todo, DONE, say("ok"))
    t.session.send(intents.SetGoal("reach this"))
    t.wait(events.TurnFinished)
    assert "Still open on the list: write docs" in t.model.requests[2].messages[-1].text
    finished = t.of(events.ToolFinished)[-1]
    assert (finished.name, finished.outcome) == ("goal_done", "goal reached, 1 step open")
    assert t.store.todos(t.session.id) == (TodoItem("write docs"),)


def test_goal_done_exists_in_mode_goal_only(goal):
    t = goal(DONE, say("ok"))
    t.turn("go")
    assert t.of(events.ToolFinished)[0].outcome == "not in this mode"
    assert t.store.goal(t.session.id) == Goal()


# -- keeping it ---------------------------------------------------------------------------------------------------


def test_a_resumed_session_still_works_towards_its_goal(goal):
    t = goal(say("x"))
    t.session.send(intents.SetGoal("reach sk-very-secret"))
    t.wait(events.TurnFinished)
    t.session.close()
    t.session.join(10)
    t.model.replies = [DONE, say("ok")]
    t.session = t.open(t.session.id, stored=True)
    t.seen.clear()
    assert t.turn("go on").outcome == "completed"
    assert states(t) == [("reach [REDACTED]", "open"), ("reach [REDACTED]", "reached")]
    assert "> reach [REDACTED]" in t.model.requests[-2].messages[0].text


def test_a_goal_set_before_the_history_is_read_is_not_undone_by_what_was_stored(goal):
    t = goal(say("x"))
    t.session.send(intents.SetGoal("the first"))
    t.wait(events.TurnFinished)
    t.session.close()
    t.session.join(10)
    t.model.replies = [DONE, say("ok")]
    t.session = LiveSession(t.services, t.store.get(t.session.id), stored=True)
    t.session.send(intents.SetGoal("the second"))
    t.wait(events.TurnFinished, count=2)
    assert t.store.goal(t.session.id).text == "the second"


def test_a_goal_survives_a_compaction(goal):
    t = goal(
        *[WORK] * 6, say("paused"), say("paused"), say("paused"), say("paused"), say("A summary."), DONE, say("ok")
    )
    t.session.send(intents.SetGoal("reach this"))
    t.wait(events.TurnFinished)
    t.session.send(intents.Compact())
    t.wait(events.CompactionFinished)
    t.turn("go on", count=2)
    assert "> reach this" in t.model.requests[-2].messages[0].text
    assert t.session.goal.state == "reached"


def test_a_fork_has_the_goal_and_an_emptied_session_has_none(goal):
    t = goal(say("x"))
    t.session.send(intents.SetGoal("reach this"))
    t.wait(events.TurnFinished)
    fork = t.store.fork(t.session.id)
    assert t.store.goal(fork.id) == Goal("reach this", "open")
    t.session.close()
    t.session.join(10)
    t.store.reset(fork.id)
    assert t.store.goal(fork.id) == Goal()
