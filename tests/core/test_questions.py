"""The questions of a session: which answer counts, and what it is without one."""

import threading

import pytest

from agent_core.cancel import CancelScope
from agent_core.errors import Interrupted
from agent_core.events import QuestionAsked
from agent_core.intents import Answer
from agent_core.ports.asking import Question
from agent_core.session.questions import Questions

ASKED = Question("command", "Run a command", id="q")


def asked(*answers, seconds=30.0, unattended=False, scope=None):
    """The reply to a question that is answered with these as soon as it is shown; and what was told."""
    told = []

    def emit(event):
        told.append(event)
        if isinstance(event, QuestionAsked):
            for decision in answers:
                questions.answer(Answer("q", decision))

    questions = Questions(threading.RLock(), emit, told.append, seconds, unattended)
    try:
        reply = questions.ask(ASKED, scope or CancelScope())
    finally:
        assert questions.are_none
    return reply, told


@pytest.mark.parametrize(
    ("answers", "decision", "by"),
    [
        (["once"], "once", "person"),
        (["refuse", "once"], "refuse", "person"),
        (["session", "refuse"], "session", "person"),
        (["always", "refuse"], "refuse", "person"),  # the first was not offered
        ([], "refuse", "timeout"),
    ],
)
def test_the_first_answer_that_was_offered_counts(answers, decision, by):
    reply, told = asked(*answers, seconds=30.0 if answers else 0.01)
    assert (reply.decision, reply.by) == (decision, by)
    assert (told[-1].decision, told[-1].by) == (decision, by)
    assert [one for one in told if isinstance(one, bool)] == [True, False]


def test_where_nobody_is_the_answer_is_no_and_nothing_is_shown():
    reply, told = asked("once", unattended=True)
    assert (reply.decision, reply.by, told) == ("refuse", "unattended", [])


def test_a_stop_is_no_answer():
    scope = CancelScope()
    scope.cancel()
    with pytest.raises(Interrupted):
        asked(scope=scope)
