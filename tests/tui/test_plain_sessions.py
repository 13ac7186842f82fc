"""Line by line: what becomes of a session that is left, and what it tells when it is gone back to."""

import re
import time

import pytest

from agent_core import events, intents
from agent_core.desk.host import Host
from agent_core.messages import Message, new_id, user
from agent_core.ports.asking import Question
from nanoherm_tui.plain.face import Face
from nanoherm_tui.plain.greeting import Begin
from nanoherm_tui.plain.looking import inbox
from nanoherm_tui.plain.meanwhile import Meanwhile
from nanoherm_tui.plain.sessions import clear, delete
from tests.fakes.model_server import ModelServer, Reply
from tests.tui.test_app import launch


class Run:
    """A face whose lines are read as `said`."""

    def __init__(self, host):
        self.said = []
        self.face = Face(host, Begin())
        self.face.say = lambda *lines: self.said.extend(lines)

    def until(self, what):
        end = time.monotonic() + 20
        while not what():
            assert time.monotonic() < end, self.said
            self.face.opened.gather()
            time.sleep(0.01)

    def tells(self, *lines):
        self.until(lambda: all(line in self.said for line in lines))


def test_a_session_that_was_left_rests_and_tells_its_end_when_it_is_gone_back_to(tmp_path):
    host = Host(launch(tmp_path))
    said: list[str] = []
    try:
        face = Face(host, Begin())
        face.say = lambda *lines: said.extend(lines)
        ids = []
        for name in ("one", "two"):
            row = host.store.create(str(host.places.workspace), title=name)
            host.store.append(row.id, user(f"question {name}"))
            host.store.append(row.id, Message("assistant", f"answer {name}", id=new_id()))
            ids.append(row.id)

        def gathered(what):
            end = time.monotonic() + 20
            while not what():
                assert time.monotonic() < end, said
                face.opened.gather()
                time.sleep(0.01)

        face.opened.show(host.open(ids[0]))
        first = face.session
        gathered(lambda: any("answer one" in line for line in said))
        face.opened.switch(lambda: host.open(ids[1]))
        gathered(lambda: any("answer two" in line for line in said))
        gathered(lambda: first.rests and not face.opened.all[ids[0]].view.loaded)
        assert "one: It rests until it is opened again." in said
        assert not face.session.rests
        said.clear()
        # What is asked there now is said here, stands among the questions, and its number leads there.
        first.tell(events.StateChanged("asking"))
        first.tell(events.QuestionAsked(Question("command", "", id="q", command="touch it"), time.time() + 299.5))
        gathered(lambda: said)
        assert re.fullmatch(r"one: Question: Run this command\? \(\d:\d\d left, /inbox leads there\)", *said)
        said.clear()
        inbox(face, "")
        assert said[0].startswith("  1. one: Run this command?, touch it, "), said
        inbox(face, "2")
        assert face.session is not first
        inbox(face, "1")
        assert face.session is first
        face.questions.put()
        assert any("Question: Run this command?" in line for line in said)
        first.tell(events.QuestionClosed("q", "refuse", "timeout"))
        said.clear()
        gathered(lambda: any("answer one" in line for line in said))
        assert not any("answer two" in line for line in said)
    finally:
        host.close()


def test_a_turn_that_is_left_goes_on_tells_its_end_at_once_and_its_course_when_it_is_gone_back_to(
    tmp_path, monkeypatch
):
    """And it can still ask: its question is told, with the way there, and once more when its end is near."""

    def answer(body, number):
        if body["messages"][-1]["role"] == "tool":
            return Reply("**made** it")
        return Reply("I make it.\n", calls=[("run_command", {"command": "touch made"})])

    with ModelServer(answer) as server:
        host = Host(launch(tmp_path, server))
        try:
            run = Run(host)
            face, opened = run.face, run.face.opened
            first = host.new()
            opened.show(first)
            first.send(intents.Rename("one"))
            first.send(intents.Steer("make it"))
            run.until(lambda: face.view.waiting)
            face.questions.put()
            question = face.view.waiting[0]
            for command in (delete, clear):  # neither ends what runs
                command(face, "")
                while face.questions._choices:
                    face.questions._choices.popleft().take("y")
                assert run.said[-1] == "A turn is running. Ctrl+C stops it; then do this again."
                assert face.session is first
            run.said.clear()
            opened.switch(host.new)
            face.questions.put()
            assert not face.questions.is_open, "what is typed here answers nothing there"
            assert run.said[0].startswith("one: Its turn goes on."), run.said
            assert "one: Question: Run this command?" in run.said[1]
            assert not first.rests
            near = question.deadline - time.time() - 60
            assert near - 5 < opened.next_word - time.monotonic() < near + 5
            run.said.clear()
            inbox(face, "1")
            assert face.session is first
            assert run.said[0].startswith("A session in ")
            assert run.said[1] == "Session: one"
            assert run.said[2].startswith("Its turn goes on, "), run.said
            face.questions.put()
            assert face.questions.is_open
            opened.switch(host.new)
            run.said.clear()
            first.send(intents.Answer(question.question.id, "once"))
            run.until(lambda: any(line.startswith("one: The turn is done") for line in run.said))
            assert (first.workspace / "made").exists()
            assert not any("**made**" in line or "Done: run_command" in line for line in run.said), run.said
            assert not first.rests, "what it has to tell would have to be told again"
            run.said.clear()
            opened.switch(lambda: first)
            assert run.said[1:3] == ["Session: one", "Meanwhile:"]
            assert [line for line in run.said if "**made**" in line or "Done: run_command" in line][-1] == "**made** it"
            opened.switch(host.new)
            monkeypatch.setattr("nanoherm_tui.limits.SESSION_ASKED", 0.1)
            run.until(lambda: first.rests)
        finally:
            host.close()


def test_at_the_end_of_the_input_what_a_session_out_of_view_asks_is_refused_and_its_turn_is_waited_for(tmp_path):
    host = Host(launch(tmp_path))
    try:
        run = Run(host)
        face, opened = run.face, run.face.opened
        first = host.new()
        opened.show(first)
        run.until(lambda: face.view.loaded)
        first.tell(events.QuestionAsked(Question("command", "", id="q", command="touch it"), time.time() + 299.5))
        run.until(lambda: face.view.waiting)
        opened.switch(host.new)
        sent = []
        first.send = sent.append
        face.questions.refuse()
        face.questions.refuse()
        assert sent == [intents.Answer("q", "refuse")]
    finally:
        host.close()


def test_of_what_waits_to_be_told_the_newest_is_kept_and_the_rest_counted(monkeypatch):
    monkeypatch.setattr("nanoherm_tui.limits.PLAIN_MISSED", 20)
    kept = Meanwhile()
    for number in range(5):
        assert kept.sort(events.TextDelta("x"), [f"line {number}"]) == []
    assert kept.sort(events.ErrorRaised("x", "x"), ["Error: x"]) == ["Error: x"]
    assert kept.sort(events.TurnFinished("t", "failed", 1, 1.0), ["rest", "The turn has failed"]) == [
        "The turn has failed"
    ]
    left_out = "Earlier lines left out: 3. /export writes all of the session."
    assert kept.take() == ["Meanwhile:", left_out, "line 3", "line 4", "rest"]
    assert kept.take() == []


@pytest.mark.parametrize(("left", "told"), [(299.0, 0), (59.0, 1)])
def test_a_question_out_of_view_is_told_again_once_when_its_end_is_near(tmp_path, left, told):
    host = Host(launch(tmp_path))
    try:
        run = Run(host)
        first = host.new()
        run.face.opened.show(first)
        run.until(lambda: run.face.view.loaded)
        first.tell(events.QuestionAsked(Question("command", "", id="q", command="touch it"), time.time() + left))
        run.until(lambda: run.face.view.waiting)
        run.face.opened.switch(host.new)
        run.said.clear()
        for _ in range(3):
            run.face.opened.gather()
        assert sum("/inbox leads there" in line for line in run.said) == told
    finally:
        host.close()
