"""Who hears of the end of a command in the background, and the tools that look at one."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from agent_core import events, limits
from agent_core.errors import Interrupted, ToolFailure
from agent_core.intents import KillTask
from agent_core.jobs.registry import Runner
from agent_core.process.command import LocalBackend
from agent_core.sandbox.policy import UNCONFINED
from tests.core.job_support import Desk, heard

from .test_process import alive, gone
from .tool_support import call, context, later, prepare

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a relay finds descendants through /proc")


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    made.jobs.close()


@pytest.fixture
def ctx(tmp_path, desk):
    runner = Runner(desk.session, lambda box: None, None)
    return context(tmp_path, tasks=runner, backend=LocalBackend(adopt=desk.session.adopt))


# -- who is told --------------------------------------------------------------------------------------------------


def test_a_person_and_the_model_hear_of_an_end_once(desk):
    desk.start("sleep 1; exit 7")
    deadline = time.monotonic() + 10
    while not (notices := [event for event in desk.told if isinstance(event, events.Notice)]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (notices[0].code, notices[0].params["n"], notices[0].level) == ("task_failed", 7, "warning")
    assert isinstance(desk.told[-1], events.TasksChanged) or isinstance(desk.told[-2], events.TasksChanged)
    assert "Task t1 (sleep 1; exit 7) ended with exit code 7" in heard(desk.session)
    assert heard(desk.session) == ""


def test_an_end_that_could_not_be_told_is_told_later_and_by_the_next_program_too(tmp_path, desk):
    desk.start("exit 5")
    desk.ended("t1")
    with pytest.raises(OSError, match="disk full"), desk.session.news():
        raise OSError("disk full")
    other = Desk(tmp_path)
    other.session.find()
    assert "ended with exit code 5" in heard(other.session)
    assert "ended with exit code 5" in heard(desk.session)
    other.jobs.close()


def test_an_end_that_came_after_the_model_was_told_how_it_is_is_still_news(desk):
    runs = desk.start("sleep 0.3; exit 5")
    desk.ended("t1")
    desk.session.saw_end(runs)
    assert "ended with exit code 5" in heard(desk.session)


def test_an_end_that_a_tool_has_told_is_no_news_but_for_a_program_that_comes_before_that_is_stored(tmp_path, desk, ctx):
    desk.start("exit 5")
    desk.ended("t1")
    assert "ended with exit code 5" in call(ctx, "task_list").text
    killed = Desk(tmp_path)  # who opens the session after ours was killed right here
    killed.session.find()
    with killed.session.news() as news:
        assert "ended with exit code 5" in news
        assert heard(desk.session) == ""
    again = Desk(tmp_path)
    again.session.find()
    assert heard(again.session) == ""


def test_an_end_that_had_no_room_in_the_list_is_still_news(desk, ctx):
    for _ in range(2):
        desk.start("exit 5")
    for name in ("t1", "t2"):
        desk.ended(name)
    room = replace(ctx.bounds, most=limits.NOTE_BYTES + 100)
    listed = call(replace(ctx, bounds=room), "task_list").text
    assert "Task t2" in listed
    assert "Task t1" not in listed
    assert heard(desk.session).startswith("[Task t1 ")


def test_growing_output_is_told_now_and_then_only(desk):
    desk.start("for i in $(seq 60); do echo $i; sleep 0.03; done")
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        desk.session.list()
        time.sleep(0.01)
    assert len(desk.told) <= 7


def test_what_a_person_has_ended_is_no_news_to_them(desk):
    desk.start("sleep 7331")
    desk.session.obey(KillTask("t1"))
    desk.until("t1", lambda task: task.state == "killed")
    assert not [event for event in desk.told if isinstance(event, events.Notice)]
    assert "Task t1 (sleep 7331) was ended" in heard(desk.session), "and to the model it is"
    desk.session.obey(KillTask("t9"))
    deadline = time.monotonic() + 5
    while not (notices := [event for event in desk.told if isinstance(event, events.Notice)]):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert notices[0].code == "no_task"


# -- the tools ----------------------------------------------------------------------------------------------------


def test_a_command_that_cannot_work_says_so_at_once(ctx):
    result = call(ctx, "task_start", command="nosuchprogram")
    assert (result.ok, result.outcome) == (False, "exit 127")
    assert "command not found" in result.text
    assert "nosuchprogram: not found" in result.text


def test_what_is_new_is_read_and_waited_for(ctx):
    begun = call(ctx, "task_start", command="echo first; sleep 1.2; echo second; sleep 30")
    assert begun.outcome == "running"
    assert "Task t1 has begun" in begun.text
    assert begun.text.endswith("first")
    assert "(no new output)" in call(ctx, "task_output", task="t1").text
    waited = call(ctx, "task_output", task="t1", wait=20)
    assert waited.text.endswith("\nsecond")
    again = call(ctx, "task_output", task="t1", since=0)
    assert again.text.endswith("\nfirst\nsecond")
    listed = call(ctx, "task_list").text
    assert "Task t1 (echo first" in listed
    assert "newest: second" in listed
    assert call(ctx, "task_kill", task="t1").outcome == "killed"


def test_of_much_that_is_new_the_newest_is_given_and_the_rest_can_be_read(ctx, desk):
    call(ctx, "task_start", command="seq 1 30000")
    desk.ended("t1")
    ctx.tasks.read_to["t1"] = 0
    newest = call(ctx, "task_output", task="t1")
    assert len(newest.text.encode()) <= limits.TOOL_RESULT
    assert newest.text.endswith("\n30000")
    assert "bytes of output left out before this" in newest.text
    from_the_start = call(ctx, "task_output", task="t1", since=0)
    assert "\n1\n2\n3\n" in from_the_start.text
    assert "[more: since=" in from_the_start.text


def test_a_wait_ends_with_the_turn(ctx):
    call(ctx, "task_start", command="sleep 7341")
    later(0.3, ctx.cancel.cancel)
    begun = time.monotonic()
    with pytest.raises(Interrupted):
        call(ctx, "task_output", task="t1", wait=60)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("tool", ["task_output", "task_kill"])
def test_a_task_that_is_not_there_is_named_with_those_that_are(ctx, tool):
    call(ctx, "task_start", command="true")
    with pytest.raises(ToolFailure, match="There are: t1"):
        call(ctx, tool, task="x\x1b[2J")


def test_more_time_than_there_is_makes_a_task(ctx):
    result = call(ctx, "run_command", command="echo up; sleep 7351", timeout=900)
    assert "[run_command waits 600 s at most and 900 were asked for" in result.text
    assert "Task t1 has begun" in result.text
    assert prepare(ctx, "run_command", command="true", timeout=600).run(UNCONFINED).outcome == "exit 0"


@pytest.mark.parametrize(
    "command", ["sleep 7361 & echo ok", "nohup sh -c 'sleep 7361' & echo ok", "setsid sleep 7361 & echo ok"]
)
def test_what_a_command_leaves_running_is_a_task(ctx, desk, command):
    begun = time.monotonic()
    result = call(ctx, "run_command", command=command)
    assert time.monotonic() - begun < 15
    assert result.text.split("\n")[1] == "ok"
    assert "as task t1 now" in result.text
    (task,) = desk.session.list()
    assert (task.state, task.origin) == ("running", "promoted")
    assert alive("sleep 7361")
    desk.jobs.let_go("s1")
    assert gone("sleep 7361", 3)


def test_what_was_left_running_is_read_on(ctx, desk):
    call(ctx, "run_command", command="(sleep 1; echo after; sleep 7371) & echo ok")
    desk.written("t1", "after")
    assert call(ctx, "task_kill", task="t1").outcome == "killed"
    assert gone("sleep 7371", 2)
