"""Sub-agents: how a session hands work to them, what they may, and what comes back (SUB-01 to SUB-12)."""

import dataclasses
import threading
import time

import pytest

from agent_core import events, intents
from agent_core.checkpoints.keeper import Checkpoints, Options
from agent_core.errors import ConfigError, ProviderError
from agent_core.extras.agents import AgentsExtra
from agent_core.messages import Message, Usage
from agent_core.mind.budget import Budget
from agent_core.ports.model import Delta, LlmReply
from agent_core.safety.paths import PathRules
from agent_core.store.children import Birth
from agent_core.subagents.definitions import Definition, Found
from agent_core.subagents.order import CrewOptions
from tests.core.agents_support import EXPLORER, WORKER, Office, delegate, results
from tests.core.session_support import call, say


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


def test_a_task_is_handed_over_and_its_result_comes_back_whole(office):
    found = "The parser is in dates.py:12. " * 40
    desk = office([delegate(("explorer", "Where is the parser?")), say("It is in dates.py.")], [say(found)])
    finished = desk.turn("Find the parser")
    assert finished.text == "It is in dates.py."
    told = results(desk.parent.requests[-1])[0]
    assert told == f"[agent-1 explorer: done, 1 step]\n{found.strip()}"
    first = desk.child.requests[0].messages
    assert [m.role for m in first] == ["system", "user"]
    assert first[1].text == "Where is the parser?"
    assert "You look around." in first[0].text
    row = desk.board[-1]
    assert (row.id, row.name, row.state, row.steps) == ("agent-1", "explorer", "done", 1)
    assert len(row.preview) == 500
    assert "\n" not in row.preview
    assert desk.closed == 1, "its connection is closed, the session's is not"


@pytest.mark.parametrize(
    ("result", "preview"),
    [
        ("一" * 600, "一" * 500),
        ("one\n\ntwo\r\n\x1b[31mred\x1b[0m", "one two red"),
        ("🙂" * 501, "🙂" * 500),
    ],
)
def test_the_preview_is_one_line_of_at_most_500_whole_characters(office, result, preview):
    desk = office([delegate(("worker", "x")), say("ok")], [say(result)])
    desk.turn("go")
    assert desk.board[-1].preview == preview


def test_what_it_is_told_beside_the_task_and_the_tools_it_has(office):
    asked = ("subagent", {"name": "Explorer", "task": "Look", "context": "It began on Monday."})
    desk = office([call(asked), say("ok")], [say("seen")], rules="PROJECT RULES")
    desk.turn("go")
    request = desk.child.requests[0]
    assert request.messages[1].text == "Look\n\n# What you should know\nIt began on Monday."
    assert "PROJECT RULES" in request.messages[0].text
    assert {tool.name for tool in request.tools} == {"read_file", "grep"}


def test_one_that_may_everything_still_has_nothing_that_speaks_to_the_person_or_delegates(office):
    desk = office([delegate(("worker", "x")), say("ok")], [say("done")])
    desk.turn("go")
    offered = {tool.name for tool in desk.child.requests[0].tools}
    assert {"subagent", "agent_list", "ask_user", "exit_plan", "goal_done"}.isdisjoint(offered)
    assert {"read_file", "edit_file", "run_command", "todo_write"} <= offered


def test_a_tool_that_is_not_its_own_is_unknown_to_it_even_when_it_is_called(office):
    child = [
        call(("subagent", {"name": "worker", "task": "more"})),
        call(("run_command", {"command": "ls"})),
        say("no"),
    ]
    desk = office([delegate(("explorer", "x")), say("ok")], child)
    desk.turn("go")
    refused = results(desk.child.requests[-1])
    assert all(text.startswith("Unknown tool") for text in refused)
    assert len(refused) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"goal": "Count", "context": "c"},
        {"tasks": '[{"goal": "Count", "context": "c", "task": "Count"}]'},
        {"prompt": "Count", "subagent_type": "worker", "context": "c"},
    ],
)
def test_the_names_of_other_agents_are_understood(office, arguments):
    desk = office([call(("subagent", arguments)), say("ok")], [say("3")])
    desk.turn("go")
    assert desk.child.requests[0].messages[1].text == "Count\n\n# What you should know\nc"
    assert desk.board[-1].name == "worker", "the one for any task, where none is named"


def test_the_list_of_agents_is_had_by_either_name(office):
    desk = office(
        [delegate(("worker", "x")), call(("delegate_task", {"action": "list"})), say("ok")], [say("was done")]
    )
    desk.turn("go")
    assert results(desk.parent.requests[-1])[-1].startswith("agent-1 worker: done, 1 step, ")


def test_without_definitions_there_are_no_tools(office):
    desk = office([say("hi")], [say("never")], definitions=())
    desk.turn("hello")
    assert {"subagent", "agent_list"}.isdisjoint(tool.name for tool in desk.parent.requests[0].tools)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": "nobody", "task": "x"}, "There is no sub-agent nobody. There are: explorer, reviewer."),
        ({"task": "x"}, "Say which sub-agent, as name."),
        ({"name": "explorer", "task": "  "}, "Say what is to be done, as task."),
        ({"name": "explorer", "tasks": [{"task": "x"}] * 13}, "At most 12 tasks"),
        ({"name": "explorer", "task": "x" * 20_001}, "more than 20,000 characters"),
    ],
)
def test_a_call_that_cannot_be_meant_says_how_it_can(office, arguments, said):
    two = (EXPLORER, Definition("reviewer", "Reviews.", "You review."))
    desk = office([call(("subagent", arguments)), say("ok")], [say("never")], definitions=two)
    desk.turn("go")
    assert said in results(desk.parent.requests[-1])[0]
    assert not desk.child.requests


class Counting:
    """A child that takes a while, the first ones until four are there, and how many of them were at work at once."""

    def __init__(self):
        self.lock, self.four = threading.Lock(), threading.Event()
        self.now = self.most = self.all = 0

    def __call__(self, request, sink, cancel):
        with self.lock:
            self.now += 1
            self.all += 1
            self.most = max(self.most, self.now)
            if self.now == 4:
                self.four.set()
        self.four.wait(20)
        cancel.wait(0.02)
        with self.lock:
            self.now -= 1
        return say(f"did {request.messages[1].text}")


@pytest.mark.parametrize("in_one_call", [False, True])
def test_twelve_at_once_are_never_more_than_four_and_their_results_are_in_order(office, in_one_call):
    working = Counting()
    tasks = [f"task {n}" for n in range(12)]
    wanted = (
        call(("subagent", {"name": "worker", "tasks": [{"task": task} for task in tasks]}))
        if in_one_call
        else delegate(*(("worker", task) for task in tasks))
    )
    desk = office([wanted, say("ok")], [working])
    desk.turn("go", count=1)
    assert (working.all, working.most) == (12, 4)
    text = "\n\n".join(results(desk.parent.requests[-1]))
    assert [line for line in text.splitlines() if line.startswith("did ")] == [f"did {task}" for task in tasks]
    assert sorted(row.state for row in desk.board) == ["done"] * 12
    assert len({row.id for row in desk.board}) == 12
    if in_one_call:
        numbered = [(f"agent-{n}", task) for n, task in enumerate(tasks, 1)]
        assert [(row.id, row.task) for row in desk.board] == numbered
        assert [(row.id, row.task) for row in desk.store.children.of(desk.session.id)] == numbered


class Stuck:
    """A child that answers only when it is stopped or let go."""

    def __init__(self):
        self.free = threading.Event()
        self.begun = threading.Semaphore(0)

    def __call__(self, request, sink, cancel):
        self.begun.release()
        while not self.free.is_set():
            if cancel.wait(0.01):
                cancel.check()
        return say("let go")


def test_a_stop_of_the_turn_reaches_those_that_run_and_those_that_wait(office):
    stuck = Stuck()
    desk = office([delegate(*(("worker", f"t{n}") for n in range(6))), say("never")], [stuck])
    desk.session.send(intents.Submit("go"))
    for _ in range(4):
        assert stuck.begun.acquire(timeout=10)
    desk.session.send(intents.Interrupt())
    assert desk.wait(events.TurnFinished).outcome == "interrupted"
    assert [row.state for row in desk.board] == ["interrupted"] * 6
    assert len(desk.child.requests) == 4, "who waited was never asked"
    assert all(row.ended is not None for row in desk.board)
    stored = [(row.id, row.state, row.task) for row in desk.store.children.of(desk.session.id)]
    assert sorted(stored) == [(f"agent-{row.id[-1]}", "interrupted", row.task) for row in desk.board], "each on record"


def test_one_is_stopped_by_itself_and_the_model_hears_which(office):
    stuck = Stuck()
    desk = office([delegate(("worker", "a"), ("worker", "b")), say("ok")], [stuck])
    desk.session.send(intents.Submit("go"))
    for _ in range(2):
        assert stuck.begun.acquire(timeout=10)
    desk.until(lambda: len([row for row in desk.board if row.state == "running"]) == 2)
    desk.session.send(intents.StopAgent("agent-1"))
    desk.until(lambda: desk.board[0].state == "interrupted")
    stuck.free.set()
    assert desk.wait(events.TurnFinished).outcome == "completed"
    told = {text.partition(" ")[0]: text for text in results(desk.parent.requests[-1])}
    assert "The user stopped this sub-agent" in told["[agent-1"]
    assert told["[agent-2"].endswith("let go")


def test_what_one_had_said_until_it_was_stopped_is_told(office):
    def first(request, sink, cancel):
        return LlmReply("I found half.", tool_calls=call(("read_file", {"path": "a"})).tool_calls, finish="tool_calls")

    stuck = Stuck()
    desk = office([delegate(("worker", "a")), say("ok")], [first, stuck])
    desk.session.send(intents.Submit("go"))
    assert stuck.begun.acquire(timeout=10)
    desk.session.send(intents.StopAgent("agent-1"))
    desk.wait(events.TurnFinished)
    assert results(desk.parent.requests[-1])[0].endswith("What it said last:\nI found half.")


def test_a_text_of_the_persons_reaches_one_at_its_next_step(office):
    stuck = Stuck()

    def first(request, sink, cancel):
        stuck(request, sink, cancel)
        return call(("read_file", {"path": "a"}))

    desk = office([delegate(("worker", "a")), say("ok")], [first, say("as you say")])
    desk.session.send(intents.Submit("go"))
    assert stuck.begun.acquire(timeout=10)
    desk.session.send(intents.SteerAgent("agent-1", "only the tests"))
    stuck.free.set()
    desk.wait(events.TurnFinished)
    assert [m.text for m in desk.child.requests[-1].messages if m.role == "user"] == ["a", "only the tests"]


def test_one_that_fails_says_why_and_the_others_go_on(office):
    def child(request, sink, cancel):
        if request.messages[1].text == "bad":
            raise ProviderError("quota", "The account has no credit left.")
        return say("fine")

    desk = office([delegate(("worker", "bad"), ("worker", "good")), say("ok")], [child])
    desk.turn("go")
    bad, good = results(desk.parent.requests[-1])
    assert "failed" in bad
    assert "The account has no credit left." in bad
    assert good.endswith("fine")
    assert sorted(row.state for row in desk.board) == ["done", "failed"]
    finished = desk.of(events.ToolFinished)
    assert [event.ok for event in finished] == [False, True]


def test_its_steps_are_its_own_and_their_end_is_told(office):
    short = dataclasses.replace(WORKER, max_steps=2)
    again = [call(("read_file", {"path": f"{n}"})) for n in range(5)]
    desk = office([delegate(("worker", "x")), say("ok")], again, definitions=(short,), max_steps=3)
    assert desk.turn("go").outcome == "completed"
    assert "It has used all of its 2 steps" in results(desk.parent.requests[-1])[0]
    assert desk.board[-1].state == "failed"


def test_what_it_uses_is_its_parents_and_bound_by_its_parents_budget(office):
    usage = Usage(8_000, 100)
    child = [call(("read_file", {"path": "a"}))] * 3
    child = [dataclasses.replace(reply, usage=usage) for reply in child]
    desk = office(
        [dataclasses.replace(delegate(("worker", "x")), usage=usage), say("never")], child,
        budget=lambda: Budget(tokens=20_000),
    )  # fmt: skip
    finished = desk.turn("go")
    assert finished.outcome == "cap", "the parent has nothing left either"
    row = desk.board[-1]
    assert row.state == "failed"
    assert row.tokens == 8_100, "one request of its own, then there was no room"
    assert desk.store.costs.spent(desk.session.id).tokens == 16_200
    assert desk.of(events.UsageLoaded)[-1].usage == Usage(16_000, 200)


def test_a_question_of_its_own_names_it_and_the_answer_goes_to_it(office):
    child = [call(("write_file", {"path": "a.txt", "content": "hi\n"})), say("written")]
    desk = office([delegate(("worker", "write it")), say("ok")], child)
    desk.session.send(intents.Submit("go"))
    asked = desk.wait(events.QuestionAsked)
    assert asked.question.agent == "agent-1 worker"
    assert asked.question.kind == "edit"
    desk.session.send(intents.Answer(asked.question.id, "once"))
    desk.wait(events.TurnFinished)
    assert (desk.workspace / "a.txt").read_text() == "hi\n"
    kinds = [(entry.session_id, entry.decided.kind) for entry in desk.store.audit.list(None)]
    assert (desk.board[-1].session_id, "edit") in kinds, "on record in its own session"


def test_where_nobody_can_be_asked_it_is_refused(office):
    child = [call(("write_file", {"path": "a.txt", "content": "hi\n"})), say("could not")]
    desk = office([delegate(("worker", "write it")), say("ok")], child, unattended=True)
    desk.turn("go")
    assert not (desk.workspace / "a.txt").exists()
    assert "nobody is there" in results(desk.child.requests[-1])[0]


@pytest.mark.parametrize(
    ("asked", "is_done"),
    [
        (("write_file", {"path": "a.txt", "content": "hi\n"}), True),
        (("write_file", {"path": ".env", "content": "A=1\n"}), False),
        (("run_command", {"command": "touch made"}), False),  # this machine is said to have no sandbox here
    ],
)
def test_approving_by_itself_goes_as_far_as_the_sandbox(office, asked, is_done):
    desk = office(
        [delegate(("worker", "x")), say("ok")], [call(asked), say("end")], options=CrewOptions(auto_approve=True)
    )
    desk.turn("go")
    assert not desk.of(events.QuestionAsked)
    made = [p.name for p in desk.workspace.iterdir()]
    assert bool(made) == is_done, made


def test_in_plan_mode_it_changes_nothing(office):
    child = [call(("write_file", {"path": "a.txt", "content": "hi\n"})), say("could not")]
    desk = office([delegate(("worker", "write")), say("ok")], child)
    desk.session.send(intents.SetMode("plan"))
    desk.turn("go")
    assert "plan mode nothing is changed" in results(desk.child.requests[-1])[0]
    assert not (desk.workspace / "a.txt").exists()


def test_it_has_not_seen_the_files_its_parent_has_read(office):
    parent = [call(("read_file", {"path": "a.txt"})), delegate(("worker", "write")), say("ok")]
    child = [call(("write_file", {"path": "a.txt", "content": "other\n"})), say("could not")]
    desk = office(parent, child)
    (desk.workspace / "a.txt").write_text("mine\n")
    desk.turn("go")
    assert "you have not read it" in results(desk.child.requests[-1])[0]


def test_its_plan_is_not_the_sessions(office):
    child = [call(("todo_write", {"items": [{"text": "its own step", "status": "pending"}]})), say("end")]
    desk = office([delegate(("worker", "x")), say("ok")], child)
    desk.turn("go")
    assert "its own step" in results(desk.child.requests[-1])[0]
    assert not desk.of(events.PlanChanged)


@pytest.mark.parametrize(
    ("definition", "options", "chosen", "expected"),
    [
        (WORKER, CrewOptions(), None, ("", "")),
        (WORKER, CrewOptions(), ("big", "acme"), ("big", "acme")),
        (WORKER, CrewOptions(model="small", provider="acme"), ("big", "acme"), ("small", "acme")),
        (dataclasses.replace(WORKER, model="own"), CrewOptions(model="small"), None, ("own", "")),
    ],
)
def test_which_model_it_has(office, definition, options, chosen, expected):
    desk = office([delegate(("worker", "x")), say("ok")], [say("end")], definitions=(definition,), options=options)
    if chosen:
        desk.session.send(intents.SetModel(*chosen))
    desk.turn("go")
    assert desk.asked_models[-1] == expected


def test_keys_are_not_on_the_board(office):
    desk = office([delegate(("worker", "use sk-very-secret")), say("ok")], [say("sk-very-secret is used")])
    desk.turn("go")
    row = desk.board[-1]
    assert (row.task, row.preview) == ("use [REDACTED]", "[REDACTED] is used")


def test_its_session_is_stored_with_all_it_said_and_stands_in_no_list(office):
    child = [call(("read_file", {"path": "a"})), say("end")]
    desk = office([delegate(("worker", "look")), say("ok")], child)
    desk.turn("go")
    row = desk.board[-1]
    assert [m.role for m in desk.store.messages(row.session_id)] == ["user", "assistant", "tool", "assistant"]
    assert [listed.id for listed in desk.store.list()] == [desk.session.id]
    assert desk.store.latest(str(desk.workspace)).id == desk.session.id
    assert desk.store.find(row.session_id).id == row.session_id, "by its id it is found"


def test_it_is_deleted_and_restored_with_its_parent(office):
    desk = office([delegate(("worker", "look")), say("ok")], [say("end")])
    desk.turn("go")
    child = desk.board[-1].session_id
    desk.store.delete(desk.session.id)
    with pytest.raises(Exception, match="no session"):
        desk.store.get(child)
    desk.store.restore(desk.session.id)
    assert desk.store.get(child).id == child
    assert desk.store.expire(time.time() + 1) == 1
    with pytest.raises(Exception, match="no session"):
        desk.store.get(child)


def test_the_board_is_there_again_after_a_restart_and_goes_on_counting(office):
    desk = office([delegate(("worker", "one")), say("ok"), delegate(("worker", "two")), say("ok")], [say("end")])
    desk.turn("go")
    before = desk.board
    desk.session.close()
    desk.session.join(2.0)
    desk.session, desk.seen = desk.open(desk.session.id, stored=True), []
    desk.session.start()
    told = desk.wait(events.AgentsChanged).agents
    assert [(row.id, row.state, row.preview, row.steps) for row in told] == [("agent-1", "done", "end", 1)]
    assert told[0].session_id == before[0].session_id
    desk.turn("again")
    assert [row.id for row in desk.board] == ["agent-1", "agent-2"]


def test_one_whose_program_was_killed_was_interrupted(office, tmp_path):
    desk = office([delegate(("worker", "one")), say("ok")], [say("end")])
    desk.turn("go")
    desk.store.children.begin(desk.session.id, Birth("agent-2", "worker", "cut off", str(tmp_path), "ask"))
    rows = desk.store.children.of(desk.session.id)
    assert [(row.id, row.state) for row in rows] == [("agent-1", "done"), ("agent-2", "interrupted")]
    assert rows[-1].ended is not None


def test_one_that_was_cut_off_shows_its_steps_and_what_it_said_last(office, tmp_path):
    desk = office([delegate(("worker", "one")), say("ok")], [say("end")])
    lost = desk.store.children.begin(desk.session.id, Birth("agent-1", "worker", "cut off", str(tmp_path), "ask"))
    for role, text in (("user", "cut off"), ("assistant", "I look."), ("assistant", "found\x1b[1m it\nin a.py")):
        desk.store.append(lost, Message(role, text))
    desk.turn("go")
    assert [(row.id, row.state, row.steps, row.preview) for row in desk.board] == [
        ("agent-1", "interrupted", 2, "found it in a.py"),
        ("agent-2", "done", 1, "end"),
    ]


def test_what_is_wrong_with_a_definition_is_told_once(office):
    desk = office([say("hi")], [say("never")])
    desk.definitions = Found((WORKER,), (ConfigError("bad_agent", "A sub-agent of x.md cannot be used: why."),))
    desk.turn("one")
    desk.turn("two", count=2)
    assert [event.text for event in desk.of(events.Notice)] == ["A sub-agent of x.md cannot be used: why."]


def test_files_that_it_changes_belong_to_its_parents_turn(tmp_path, office):
    home = tmp_path / "home"
    kept = Checkpoints(home, home / ".nanohermes", Options, lambda ws: PathRules(ws, home, home), lambda text: text)
    child = [call(("write_file", {"path": "a.txt", "content": "hi\n"})), say("written")]
    desk = office([delegate(("worker", "write it")), say("ok")], child, checkpoints=lambda: kept)
    desk.session.send(intents.SetPolicy("never"))
    desk.turn("go")
    assert (desk.workspace / "a.txt").exists()
    (turn,) = kept.list(desk.session.id)
    desk.session.send(intents.Rollback(turn.turn_id))
    desk.wait(events.FilesRolledBack)
    assert not (desk.workspace / "a.txt").exists()
    kept.close()


def test_of_several_one_that_ends_first_is_told_of_at_once(office):
    stuck = Stuck()
    desk = office([delegate(("worker", "a"), ("worker", "b")), say("ok")], [stuck])
    desk.session.send(intents.Submit("go"))
    for _ in range(2):
        assert stuck.begun.acquire(timeout=10)
    desk.until(lambda: len([row for row in desk.board if row.state == "running"]) == 2)
    tasks = {row.id: row.task for row in desk.board}
    second = next(agent_id for agent_id, task in tasks.items() if task == "b")
    desk.session.send(intents.StopAgent(second))
    ended = desk.wait(events.ToolEnded)
    assert (ended.ok, ended.outcome) == (False, "stopped")
    assert ended.call_id == desk.of(events.ToolQueued)[1].call_id
    assert not desk.of(events.ToolFinished), "its result is stored behind that of the call before it"
    stuck.free.set()
    desk.wait(events.TurnFinished)
    assert [event.call_id for event in desk.of(events.ToolFinished)] == [e.call_id for e in desk.of(events.ToolQueued)]


def test_whoever_looks_at_one_hears_all_of_it_from_its_beginning(office, tmp_path):
    (tmp_path / "ws").mkdir(exist_ok=True)
    (tmp_path / "ws" / "a.py").write_text("x = 1\n")
    stuck = Stuck()
    desk = office([delegate(("worker", "a")), say("ok")], [call(("read_file", {"path": "a.py"})), stuck])
    extra = next(one for one in desk.session.extras if isinstance(one, AgentsExtra))
    assert extra.heard("agent-1") is None
    desk.session.send(intents.Submit("go"))
    assert stuck.begun.acquire(timeout=10)
    mailbox = extra.heard("agent-1")
    letters = mailbox.drain()
    assert {letter.session_id for letter in letters} == {desk.board[0].session_id}
    kinds = [type(letter.event).__name__ for letter in letters]
    wanted = ["UserMessage", "StepStarted", "ToolQueued", "ToolStarted", "ToolFinished", "StepStarted"]
    assert [kind for kind in kinds if kind in wanted] == wanted
    stuck.free.set()
    desk.wait(events.TurnFinished)
    assert [type(letter.event).__name__ for letter in mailbox.drain()][-1] == "TurnFinished"
    assert extra.heard("agent-1") is None, "what has ended is read from the store"


class Silent(Stuck):
    """Says a word every now and then, as often as it is told to, and then nothing more."""

    def __init__(self, words, every):
        super().__init__()
        self.words, self.every = words, every

    def __call__(self, request, sink, cancel):
        for _ in range(self.words):
            sink(Delta("text", "word "))
            cancel.wait(self.every)
            cancel.check()
        return super().__call__(request, sink, cancel)


@pytest.mark.parametrize(("words", "seconds"), [(0, 0.3), (4, 0.6)])
def test_one_without_a_sign_of_life_is_stopped_and_any_sign_resets_its_time(office, words, seconds):
    desk = office([delegate(("worker", "a")), say("ok")], [Silent(words, 0.2)], options=CrewOptions(quiet_seconds=0.3))
    began = time.monotonic()
    desk.turn("go")
    assert time.monotonic() - began >= seconds
    assert "[timed out] It showed no sign of life" in results(desk.parent.requests[-1])[0]
    assert [(row.state, row.preview[:11]) for row in desk.board] == [("failed", "[timed out]")]


def test_waiting_for_a_person_is_no_silence(office):
    desk = office(
        [delegate(("worker", "a")), say("ok")],
        [call(("run_command", {"command": "touch x"})), say("done")],
        options=CrewOptions(quiet_seconds=0.2),
    )
    desk.session.send(intents.Submit("go"))
    question = desk.wait(events.QuestionAsked).question
    time.sleep(0.5)
    desk.session.send(intents.Answer(question.id, "refuse"))
    desk.wait(events.TurnFinished)
    assert [row.state for row in desk.board] == ["done"]


def test_an_emptied_session_has_nothing_of_its_sub_agents_but_what_they_used(office):
    desk = office([delegate(("worker", "one")), say("ok")], [say("The secret is 42.", usage=Usage(70, 7))])
    desk.turn("go")
    child = desk.board[0].session_id
    before = desk.store.costs.spent(desk.session.id)
    desk.session.close()
    desk.session.join(2.0)
    desk.store.reset(desk.session.id)
    assert desk.store.children.of(desk.session.id) == ()
    assert desk.store.messages(child) == []
    assert desk.store.costs.spent(desk.session.id) == before


def test_a_text_that_one_did_not_hear_before_its_end_comes_back(office):
    stuck = Stuck()
    desk = office([delegate(("worker", "a")), say("ok")], [stuck])
    desk.session.send(intents.Submit("go"))
    assert stuck.begun.acquire(timeout=10)
    desk.session.send(intents.SteerAgent("agent-1", "only the tests"))
    desk.session.send(intents.StopAgent("agent-1"))
    desk.wait(events.TurnFinished)
    assert [event.text for event in desk.of(events.TextReturned)] == ["only the tests"]
