"""Sub-agents in the background: what a call gives, what comes back when they have ended, what ends them (SUB-06 to
SUB-12)."""

import dataclasses
import json
import threading

import pytest

from agent_core import events, intents, limits
from agent_core.checkpoints.keeper import Checkpoints, Options
from agent_core.desk.models import Models, ModelSettings
from agent_core.llm.providers import ProviderOptions
from agent_core.messages import from_json, to_json
from agent_core.ports.model import Delta
from agent_core.safety.paths import PathRules
from agent_core.subagents.answers import looked_at
from agent_core.subagents.order import CrewOptions
from agent_core.text.json_schema import problems
from tests.core.agents_support import WORKER, Office, results
from tests.core.image_support import image
from tests.core.session_support import call, say
from tests.rows import each_row


@pytest.fixture
def office(tmp_path):
    made = []

    def make(parent, child, **more):
        made.append(Office(tmp_path, parent, child, **more))
        return made[-1]

    yield make
    for one in made:
        one.session.close()
        one.session.join(2.0)
        one.store.close()


def spawn(*goals, **more):
    return call(("delegate_task", {"tasks": [{"goal": goal, **more} for goal in goals]}))


def act(action, name="", **more):
    return call(("delegate_task", {"action": action, "subagent_id": name, **more}))


class Held:
    """A reply that waits until it is let go, or stopped; it tells what it was asked."""

    def __init__(self, said="found"):
        self.begun, self.free = threading.Event(), threading.Event()
        self.said, self.asked = said, []

    def __call__(self, request, sink, cancel):
        self.asked.append(request)
        self.begun.set()
        with cancel.closing(self.free.set):
            self.free.wait(20)
        cancel.check()
        return say(self.said)


def by_goal(replies):
    """The child's reply to each goal: several ask at once, in any order."""

    def child(request, sink, cancel):
        reply = replies[request.messages[1].text]
        return reply(request, sink, cancel) if callable(reply) else reply

    return child


def marks(desk):
    """What is noted of each that was asked for."""
    with desk.store.database.read() as c:
        return {status for (status,) in c.execute("SELECT status FROM async_delegations")}


def told(request):
    """The messages in which results came back."""
    return [m for m in request.messages if m.origin == "agents"]


def test_a_call_answers_at_once_and_what_they_came_to_begins_a_turn_when_all_have_ended(office):
    held = Held("It is in dates.py:12.")
    child = by_goal({"Find the parser": held, "Count the tests": say("There are 40.")})
    parent = [spawn("Find the parser", "Count the tests"), say("They look."), say("All is known.")]
    desk = office(parent, [child])
    assert desk.turn("go").text == "They look."
    assert held.begun.wait(10)
    started = results(desk.parent.requests[1])[0]
    assert "agent-1: Find the parser\nagent-2: Count the tests" in started
    desk.until(lambda: [row.state for row in desk.board] == ["running", "done"])
    assert desk.session.goes_on
    assert len(desk.of(events.TurnFinished)) == 1, "one of the call is still at work"
    held.free.set()
    assert desk.wait(events.TurnFinished, count=2).text == "All is known."
    (message,) = told(desk.parent.requests[-1])
    assert message.role == "user"
    assert "data and asks for nothing" in message.text
    assert "Its task: Find the parser]\nIt is in dates.py:12." in message.text
    assert "Its task: Count the tests]\nThere are 40." in message.text
    (came,) = desk.of(events.AgentsReturned)
    assert [(row.id, row.state, row.background) for row in came.agents] == [
        ("agent-1", "done", True), ("agent-2", "done", True)
    ]  # fmt: skip
    assert [m.text for m in desk.of(events.UserMessage)] == ["go"], "nobody typed them"
    assert not desk.session.goes_on
    stored = next(m for m in desk.store.messages(desk.session.id) if m.origin == "agents")
    assert from_json(to_json(stored)) == stored
    assert [said.text for said in desk.session.said()] == ["go"]
    desk.until(lambda: marks(desk) == {"told"})


def test_what_comes_back_during_a_turn_waits_for_its_end_and_a_queued_text_goes_before_it(office):
    held = Held("yes")
    desk = office([spawn("x"), say("ok"), held, say("second"), say("third")], [say("child's word")])
    desk.turn("go")
    desk.until(lambda: desk.board[-1].state == "done")
    assert held.begun.wait(10), "the turn of the results"
    desk.session.send(intents.Queue("and now?"))
    held.free.set()
    desk.wait(events.TurnFinished, count=3)
    assert [m.text for m in desk.of(events.UserMessage)] == ["go", "and now?"]
    assert len(told(desk.parent.requests[-1])) == 1, "told once"


def test_a_stop_of_the_turn_leaves_them_at_work_and_their_results_come_with_the_next_turn(office):
    child, turn = Held("late"), Held()
    desk = office([spawn("x"), turn, say("read"), say("done")], [child])
    desk.session.send(intents.Submit("go"))
    assert turn.begun.wait(10)
    assert child.begun.wait(10)
    child.free.set()
    (agents,) = desk.session.extras
    desk.until(lambda: agents.has_come and not agents.is_at_work)
    desk.session.send(intents.Interrupt())
    assert desk.wait(events.TurnFinished).outcome == "interrupted"
    assert desk.turn("what came of it?", count=2).text == "read"
    asked = desk.parent.requests[-1].messages
    assert [m.origin for m in asked[-2:]] == ["agents", ""], "before the person's own words"
    assert "late" in asked[-2].text


def test_one_that_is_stopped_by_a_person_or_by_its_model_says_what_it_had_said_last(office):
    held = Held()

    def first(request, sink, cancel):
        sink(Delta("text", "I have seen "))
        return held(request, sink, cancel)

    desk = office([spawn("a", group="survey"), say("ok"), act("stop", "survey"), say("stopped"), say("end")], [first])
    desk.turn("go")
    assert held.begun.wait(10)
    desk.turn("enough", count=2)
    assert "agent-1 is being stopped" in results(desk.parent.requests[3])[-1]
    desk.wait(events.TurnFinished, count=3)
    (message,) = told(desk.parent.requests[-1])
    assert "[agent-1 worker [survey]: interrupted. Its task: a]\n[interrupted] It was stopped by your own call." in (
        message.text
    )
    assert message.text.endswith("What it said last:\nI have seen")


def test_words_of_its_model_reach_one_at_its_next_step_and_too_late_ones_nobody(office):
    held = Held()

    def step(request, sink, cancel):
        held(request, sink, cancel)
        return call(("list_dir", {}))

    desk = office(
        [spawn("a"), say("ok"), act("steer", "agent-1", message="only the tests"), say("said"),
         act("steer", "agent-1", message="too late"), say("end")],
        [step, say("seen")],
    )  # fmt: skip
    desk.turn("go")
    assert held.begun.wait(10)
    desk.turn("tell it", count=2)
    held.free.set()
    desk.wait(events.TurnFinished, count=3)
    assert [m.text for m in desk.child.requests[-1].messages if m.origin == "steer"] == ["only the tests"]
    assert "agent-1 has ended before: done." in results(desk.parent.requests[-1])[-1]
    assert not desk.of(events.TextReturned), "the person has not written it"


def test_the_list_shows_who_works_for_which_group(office):
    held = Held()
    desk = office([spawn("a", "b", group="survey"), act("list"), say("ok"), say("end")], [held])
    desk.turn("go")
    held.free.set()
    listed = results(desk.parent.requests[2])[-1]
    assert "agent-1 worker [survey]: " in listed
    assert "agent-2 worker [survey]: " in listed
    desk.wait(events.TurnFinished, count=2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "Say what is to be done, as goal."),
        ({"tasks": [{"goal": "x"}] * 13}, "At most 12 tasks"),
        ({"goal": "x" * 20_001}, "more than 20,000 characters"),
        ({"tasks": [{"goal": "x", "images": ["a.png"] * 5}]}, "At most 4 images"),
        ({"tasks": [{"goal": "x", "images": [".env"]}]}, "cannot be given on unasked"),
        ({"tasks": [{"goal": "x", "images": ["none.png"]}]}, "none.png"),
        ({"tasks": [{"goal": "x", "output_schema": {"enum": ["y" * 17_000]}}]}, "more than 16 KB"),
        ({"action": "steer", "subagent_id": "agent-1"}, "as message"),
        ({"action": "stop"}, "as subagent_id"),
        ({"action": "stop", "subagent_id": "agent-9"}, "There is no sub-agent and no group agent-9. There are: none."),
        ({"action": "dance", "goal": "x"}, "must be one of spawn, list, steer, stop"),
    ],
)
def test_a_call_that_cannot_be_meant_says_how_it_can_and_begins_nothing(office, arguments, said):
    desk = office([call(("delegate_task", arguments)), say("ok")], [say("never")])
    desk.turn("go")
    assert said in results(desk.parent.requests[-1])[0]
    assert not desk.child.requests
    assert not desk.session.goes_on


def test_role_and_its_kin_are_ignored_and_the_goal_is_the_first_message_not_the_prompt(office):
    more = {"role": "orchestrator", "toolsets": ["web"], "max_iterations": 3, "background": False}
    desk = office(
        [call(("delegate_task", {"goal": "Count", "context": "c", **more})), say("ok"), say("end")], [say("3")]
    )
    desk.turn("go")
    desk.wait(events.TurnFinished, count=2)
    system, first = desk.child.requests[0].messages
    assert first.text == "Count\n\n# What you should know\nc"
    assert "Count" not in system.text


def test_it_is_taken_without_definitions_and_offered_when_it_is_switched_on(office):
    desk = office([spawn("x"), say("ok"), say("end")], [say("3")], definitions=())
    desk.turn("go")
    desk.wait(events.TurnFinished, count=2)
    assert "You" in desk.child.requests[0].messages[0].text
    offered = [[tool.name for tool in request.tools] for request in desk.parent.requests]
    assert all("delegate_task" not in names for names in offered)
    desk.session.send(intents.SetOptions(tools_off=()))
    desk.turn("and now", count=3)
    assert "delegate_task" in [tool.name for tool in desk.parent.requests[-1].tools]
    assert "delegate_task" not in [tool.name for tool in desk.child.requests[0].tools]


def test_with_all_of_its_set_switched_off_a_call_is_refused(office):
    desk = office([spawn("x"), say("ok")], [say("3")], tools_off=("delegation",))
    desk.turn("go")
    assert "switched off" in results(desk.parent.requests[-1])[0]
    assert not desk.child.requests


# -- what it answers, what it sees -------------------------------------------------------------------------------------

SHAPE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("answers", "came", "asked"),
    [
        (['```json\n{"n": 3}\n```'], '{"n": 3}', 1),
        (["three", '{"n": 3}'], '{"n": 3}', 2),
        (
            ['{"n": "3"}', '{"m": 3}'],
            '[This does not fit output_schema: n is missing; m must not be there.]\n{"m": 3}',
            2,
        ),
    ],
)
def test_an_answer_has_to_fit_its_schema_and_is_asked_for_once_more(office, answers, came, asked):
    desk = office([spawn("count", output_schema=SHAPE), say("ok"), say("end")], [say(text) for text in answers])
    desk.turn("go")
    desk.wait(events.TurnFinished, count=2)
    assert told(desk.parent.requests[-1])[0].text.endswith(f"Its task: count]\n{came}")
    assert len(desk.child.requests) == asked
    assert desk.board[-1].steps == asked
    assert json.dumps(SHAPE) in desk.child.requests[0].messages[1].text
    if asked == 2:
        assert "does not fit the JSON Schema" in desk.child.requests[1].messages[-1].text


@each_row(
    ("value", "schema", "wrong"),
    [
        (3, {"type": "integer"}, ""),
        (3.0, {"type": "integer"}, ""),
        (True, {"type": "integer"}, "it must be integer, not true"),
        (None, {"type": ["string", "null"]}, ""),
        ([1, "b"], {"items": {"type": "number"}}, "[1] must be number"),
        ({"b": [{}]}, {"properties": {"b": {"items": {"required": ["c"]}}}}, "b[0].c is missing"),
        ({"x": 1}, {"additionalProperties": {"type": "string"}}, "x must be string"),
        (1, {"enum": [True, 2]}, "must be one of"),
        ("d", {"const": "c"}, 'must be "c"'),
        ("", {"minLength": 1}, "at least 1 characters"),
        ("", {"minLength": 1_234_567}, "at least 1234567 characters"),
        (1, {"minimum": 10**400}, "at least 1000"),
        ([1, 2], {"maxItems": 1}, "at most 1 items"),
        (5, {"exclusiveMaximum": 5}, "less than 5"),
        (5, {"anyOf": [{"type": "string"}, {"minimum": 5}]}, ""),
        (4, {"anyOf": [{"type": "string"}, {"minimum": 5}]}, "none of what anyOf"),
        (5, {"oneOf": [{"type": "integer"}, {"minimum": 5}]}, "more than one"),
        (5, {"allOf": [{"type": "integer"}, {"maximum": 4}]}, "at most 4"),
        ("aaaa", {"pattern": "(a+)+$", "$ref": "#/x"}, ""),
        ({"a": 1}, {"type": 7, "properties": [], "required": 3, "enum": "a", "minLength": "x"}, "it must be 7"),
        ({"a": 1}, {"properties": [], "required": 3, "enum": "a", "minLength": "x", "anyOf": {}}, ""),
    ],
)  # fmt: skip
def test_what_a_schema_says_is_looked_at_and_the_rest_is_left(value, schema, wrong):
    found = problems(value, schema)
    assert wrong in "; ".join(found)
    assert bool(found) == bool(wrong)


def test_a_schema_without_end_and_numbers_that_json_has_not_are_refused():
    deep: dict = {}
    value: list = []
    for _ in range(limits.AGENT_SCHEMA_DEPTH + 5):
        deep, value = {"items": deep}, [value]
    assert "nested too deeply" in "".join(problems(value, deep))
    assert looked_at("NaN", {})[1] == ("it is not JSON (NaN is no JSON)",)


@pytest.mark.parametrize("sees", [True, False])
def test_images_of_the_workspace_come_with_the_task_for_a_model_that_sees(office, sees):
    desk = office([spawn("look", images=["a.png"]), say("ok"), say("end")], [say("a dot")],
                  sees=lambda provider, model: sees)  # fmt: skip
    (desk.workspace / "a.png").write_bytes(image(4, 4))
    desk.turn("go")
    desk.wait(events.TurnFinished, count=2)
    first = desk.child.requests[0].messages[1]
    assert len(first.parts) == int(sees)
    assert ("You cannot be shown images" in first.text) != sees


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_no_more_run_at_once_than_the_config_says_and_no_more_wait_than_there_is_room_for(office, monkeypatch):
    monkeypatch.setattr(limits, "AGENTS_BESIDE", 4)
    held = Held()
    desk = office(
        [spawn("a", "b", "c", "d"), spawn("one more"), say("ok"), say("end")], [held], options=CrewOptions(at_once=2)
    )
    desk.turn("go")
    assert "4 sub-agents are at work in the background" in results(desk.parent.requests[2])[-1]
    desk.until(lambda: len(held.asked) == 2)
    assert [row.state for row in desk.board].count("running") == 2
    held.free.set()
    desk.until(lambda: not desk.session.goes_on, 30)
    assert [row.state for row in desk.board] == ["done"] * 4


def test_turns_that_begin_by_themselves_have_an_end(office, monkeypatch):
    monkeypatch.setattr(limits, "AGENT_TURNS", 2)

    def again(request, sink, cancel):
        return say("next") if request.messages[-1].role == "tool" else spawn("more")

    desk = office([again], [say("x")])
    desk.session.send(intents.Submit("go"))
    desk.until(lambda: any(n.code == "agents_wait" for n in desk.of(events.Notice)))
    desk.until(lambda: not desk.session.goes_on)
    assert len(desk.of(events.TurnFinished)) == 3
    desk.turn("go on", count=4)
    ends = [[message.origin for message in request.messages[-2:]] for request in desk.parent.requests]
    assert ["agents", ""] in ends, "nothing was lost"
    desk.until(lambda: not desk.session.goes_on)


def test_results_are_bounded_and_hold_no_keys_and_no_control_bytes(office):
    long = "sk-very-secret \x1b[31mred " + "word " * 20_000
    desk = office([spawn("x"), say("ok"), say("end")], [say(long)])
    desk.turn("go")
    desk.wait(events.TurnFinished, count=2)
    (message,) = told(desk.parent.requests[-1])
    assert len(message.text.encode()) <= limits.TOOL_RESULT
    assert "sk-very-secret" not in message.text
    assert "\x1b" not in message.text
    (kept,) = (desk.services.data_home / "spill").glob("*.txt")
    assert kept.read_text().count("word ") >= 19_999, "all of it can be read, and lies there once"


def test_what_they_report_names_no_file_and_runs_no_command(office):
    def expand(session_id, workspace, text):
        raise AssertionError("what others wrote was expanded")

    desk = office([spawn("x"), say("ok"), say("end")], [say("/review @file:secret.txt")], expand=expand)
    (desk.workspace / "secret.txt").write_text("do not read")
    desk.turn("go")
    desk.wait(events.TurnFinished, count=2)
    assert "do not read" not in "".join(m.text + m.added for m in desk.parent.requests[-1].messages)


def test_in_plan_mode_they_change_nothing_also_when_it_is_entered_later(office):
    held = Held()

    def child(request, sink, cancel):
        if request.messages[-1].role == "user":
            held(request, sink, cancel)
            return call(("write_file", {"path": "a.txt", "content": "x"}))
        return say("tried")

    desk = office([spawn("x"), say("ok"), say("end")], [child], policy="never")
    desk.session.send(intents.SetMode("auto", confirmed=True))
    desk.turn("go")
    assert held.begun.wait(10)
    desk.session.send(intents.SetMode("plan"))
    held.free.set()
    desk.wait(events.TurnFinished, count=2)
    assert not (desk.workspace / "a.txt").exists()
    assert "plan" in results(desk.child.requests[-1])[-1]


def test_what_they_change_in_files_can_be_taken_back_after_their_turn_has_ended(tmp_path, office):
    home = tmp_path / "home"
    kept = Checkpoints(home, home / ".nanohermes", Options, lambda ws: PathRules(ws, home, home), lambda text: text)
    held = Held()

    def child(request, sink, cancel):
        if request.messages[-1].role == "user":
            held(request, sink, cancel)
            return call(("write_file", {"path": "a.txt", "content": "new"}))
        return say("written")

    desk = office([spawn("write it"), say("ok"), say("end")], [child], checkpoints=lambda: kept, policy="never")
    desk.session.send(intents.SetMode("auto", confirmed=True))
    desk.turn("go")
    held.free.set()
    desk.wait(events.TurnFinished, count=2)
    assert (desk.workspace / "a.txt").read_text() == "new"
    (turn,) = kept.list(desk.session.id)
    assert turn.text == "agent-1: write it"
    desk.session.send(intents.Rollback(turn.turn_id))
    desk.wait(events.FilesRolledBack)
    assert not (desk.workspace / "a.txt").exists()
    kept.close()


# -- the end of the program --------------------------------------------------------------------------------------------


def leave_as_a_kill_does(desk):
    """Nobody has noted the end of what was interrupted."""

    def work(c):
        c.execute(
            "UPDATE async_delegations SET status = 'running', finished_at = NULL, result = ? WHERE status = ?",
            (json.dumps({"owner": f"{2**22 + 1}:x::"}), "interrupted"),
        )
        c.execute("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE end_reason = 'interrupted'")

    desk.store.database.write(work, "transcript")


@pytest.mark.parametrize("killed", [False, True])
def test_what_has_ended_but_was_not_told_and_what_was_cut_off_is_told_once_after_a_restart(office, killed):
    held = Held()
    child = by_goal({"a": say("a's word"), "b": held})
    desk = office([spawn("a", "b"), say("ok"), say("never")], [child])
    desk.turn("go")
    assert held.begun.wait(10)
    desk.until(lambda: any(row.state == "done" for row in desk.board))
    desk.session.close()
    desk.session.join(5.0)
    desk.until(lambda: "interrupted" in [row.state for row in desk.board])
    desk.until(lambda: len(desk.store.delegations.left(desk.session.id)) == 2)
    if killed:
        leave_as_a_kill_does(desk)
    desk.model.requests.clear()
    desk.parent.replies[:] = [say("I see."), say("Yes.")]
    desk.session = desk.open(desk.session.id, stored=True)
    desk.session.start()
    notice = desk.wait(events.Notice)
    assert (notice.code, notice.params) == ("agents_left", {"count": 2})
    desk.turn("hello", count=2)
    (message,) = told(desk.parent.requests[-1])
    assert "a's word" in message.text
    assert "The program ended, or the session was closed" in message.text
    desk.turn("again", count=3)
    assert len(told(desk.parent.requests[-1])) == 1
    assert marks(desk) == {"told"}
    assert not desk.store.delegations.left(desk.session.id)


def test_an_emptied_session_is_told_nothing_of_what_was_at_work(office):
    held = Held()
    desk = office([spawn("a"), say("ok")], [held])
    desk.turn("go")
    assert held.begun.wait(10)
    desk.session.close()
    desk.session.join(5.0)
    desk.store.reset(desk.session.id)
    assert not desk.store.delegations.left(desk.session.id)


# -- who answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("definition", "options", "asked"),
    [
        (WORKER, CrewOptions(fallbacks=("b",)), ("", "")),
        (dataclasses.replace(WORKER, model="own"), CrewOptions(fallbacks=("b",)), ("own", "", "b")),
        (WORKER, CrewOptions(model="small", provider="acme", fallbacks=("b",)), ("small", "acme", "b")),
        (WORKER, CrewOptions(provider="acme", fallbacks=("b",)), ("", "acme", "b")),
    ],
)
def test_what_stands_in_for_a_childs_model_is_its_parents_or_its_own(office, definition, options, asked):
    desk = office([spawn("x"), say("ok"), say("end")], [say("3")], definitions=(definition,), options=options)
    desk.turn("go")
    desk.wait(events.TurnFinished, count=2)
    assert asked in desk.asked_models


def test_what_is_to_stand_in_for_a_chosen_model_does_and_nothing_else():
    servers = {name: {"base_url": f"http://127.0.0.1:1/{name}", "api_key_env": "KEY"} for name in ("a", "b", "c")}
    options = ProviderOptions(provider="a", model="one", providers=servers)
    settings = ModelSettings(options, fallbacks=[{"provider": "b", "model": "two"}])
    models = Models(lambda: settings, {"KEY": "k"}, dict, lambda: None)

    def asked(*chosen):
        return [(one.provider, one.model) for one in models.plan(settings, *chosen).endpoints]

    assert asked() == [("a", "one"), ("b", "two")]
    assert asked("own", "a") == [("a", "own")]
    assert asked("", "a") == [("a", "one")]
    assert asked("own", "a", [{"provider": "c", "model": "three"}]) == [("a", "own"), ("c", "three")]
