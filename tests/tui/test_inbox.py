"""Questions of several sessions in one list: it leads to each, refuses, and approves nothing."""

import re
import time

import pytest

from agent_core import events, intents
from agent_core.events import Envelope
from agent_core.ports.asking import Question
from nanoherm_tui import commands, limits
from nanoherm_tui.commands.inbox import waiting
from nanoherm_tui.overlays.inbox import InboxScreen, about
from nanoherm_tui.session_view import Waiting
from tests.fakes.model_server import Reply
from tests.tui.test_app import Stage
from tests.tui.test_attention import View, question


def shown(app):
    """What the overlay's rows say."""
    screen = app.screen
    return "\n".join(strip.text for widget in (screen._list, screen._detail, screen._foot)
                     for strip in widget.paint(widget.size.width))  # fmt: skip


async def armed(stage):
    await stage.until(lambda: stage.app.screen._under and stage.app.screen.arming.armed(draft_empty=True))


def test_sessions_come_by_whose_time_is_over_first_and_their_questions_too():
    first = View("a", "one", [Waiting(question("late"), 90.0), Waiting(question("soon"), 30.0)])
    second = View("b", "", [Waiting(question("sooner"), 20.0)])
    assert [(one.title, one.question.id) for one in waiting([first, View("c", "idle"), second])] == [
        ("New session", "sooner"),
        ("one", "soon"),
        ("one", "late"),
    ]


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        (Question("command", "", "mode ask", "a\x1b[2J\nb", "/w"), ("a\\x1b[2J", "b", "/w   mode ask")),
        (Question("read", "", path="a\nb"), ("a\\nb",)),
        (Question("ask_user", "", text="Which port?\x07\nOr none"), ("Which port?␇", "Or none")),
    ],
)
def test_what_is_asked_is_told_without_a_byte_that_a_terminal_obeys(asked, lines):
    assert about(asked) == lines


def ask(stage, view, *questions):
    """Have these come in, as if the session asked."""
    for n, one in enumerate(questions, 1):
        event = events.QuestionAsked(one, time.time() + 100 * n)
        stage.app.conversations.deliver([Envelope(view.id, n, 0.0, event)])


async def test_the_inbox_leads_to_each_question_and_enter_approves_none(tmp_path, monkeypatch):
    asks = [Reply(calls=[("run_command", {"command": f"touch {name}"})]) for name in ("one", "two")]
    async with Stage(tmp_path, [*asks, Reply(text="Over."), Reply(text="Over.")], size=(120, 36)) as stage:
        app, pilot = stage.app, stage.pilot
        views = []
        for name in ("first", "second"):
            await stage.type(name)
            await stage.until(lambda: app.view.waiting)
            views.append(app.view)
            app.conversations.bring(app.host.new)
            await stage.until(lambda: app.view.id not in {view.id for view in views})
        assert not app.approval.display
        await stage.until(lambda: "? 2 waiting elsewhere (F7)" in app.status.render_line(0).text)
        # A click on what the status line says of them opens the list, as its key and its command do.
        at = app.status.render_line(0).text.index("? 2 waiting")
        await pilot.click(app.status, offset=(at + 3, 0))
        await stage.until(lambda: isinstance(app.screen, InboxScreen))
        told = shown(app)
        assert [words in told for words in ("first", "touch one", "second", "touch two")] == [True] * 4
        assert re.search(r"Run this command\?  touch one +[45]:\d\d", told)
        await armed(stage)
        for key in "y", "a", "w", "e":
            await pilot.press(key)
        with monkeypatch.context() as patch:
            patch.setattr(limits, "APPROVAL_ARM", 1_000.0)  # however slow the machine: the keys have not rested
            await pilot.press("down", "enter")
            await stage.until(lambda: app.view is views[1] and app.approval.display)
            assert app.approval.current is views[1].waiting[0].question
            assert not app.approval.armed
            await pilot.press("enter")
            assert [len(view.waiting) for view in views] == [1, 1]
        await stage.until(lambda: app.approval.armed)
        await pilot.pause(0.1)
        await pilot.press("y")
        await stage.until(lambda: stage.state == "idle" and not views[1].waiting)
        assert "? 1 waiting elsewhere (F7)" in app.status.render_line(0).text
        # A refusal counts at once, but not for who is still typing.
        await pilot.press("f7")
        await stage.until(lambda: isinstance(app.screen, InboxScreen))
        await pilot.press("x", "n")
        assert app.conversations.questions == 1
        await armed(stage)
        await pilot.press("n")
        await stage.until(lambda: app.conversations.questions == 0 and views[0].state == "idle")
        await stage.until(lambda: "Nothing waits" in shown(app))
        await pilot.press("escape")
        await stage.type("/inbox")
        await stage.until(lambda: "Nothing waits" in app._hint)
    assert sorted(path.name for path in (tmp_path / "work").iterdir() if path.name in ("one", "two")) == ["two"]


async def test_all_of_a_session_are_refused_with_the_key_pressed_twice_and_of_no_other(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")], size=(80, 24)) as stage:
        app, pilot, first = stage.app, stage.pilot, stage.app.view
        sent = []
        ask(stage, first, question("a"), question("b"), Question("visit", "", id="c", decisions=("once",)))
        app.conversations.bring(app.host.new)
        await stage.until(lambda: app.view is not first)
        second = app.view
        ask(stage, second, question("d"))
        for view in (first, second):
            view.session.send = sent.append
        commands.run(app, "inbox")
        await stage.until(lambda: isinstance(app.screen, InboxScreen))
        await armed(stage)
        await pilot.press("N")
        assert "N again refuses all 2" in shown(app)
        await pilot.press("N")  # the same breath: not meant twice
        assert sent == []
        await pilot.press("down")
        assert "again" not in shown(app)
        await armed(stage)
        await pilot.press("N")
        await armed(stage)
        await pilot.press("N")
        assert [(type(one), one.question_id, one.decision) for one in sent] == [
            (intents.Answer, "a", "refuse"),
            (intents.Answer, "b", "refuse"),
        ]
        # What was meant for a question that is answered meanwhile does not reach the next one.
        await armed(stage)
        under = app.screen._list.row.asked
        closed = events.QuestionClosed(under.question.id, "once", "person")
        app.conversations.deliver([Envelope(under.session, 9, 0.0, closed)])
        await stage.until(lambda: app.screen._list.row.asked.question.id != under.question.id)
        sent.clear()
        await pilot.press("n")
        assert sent == []
        await pilot.press("escape")


async def test_the_inbox_stands_at_every_size(tmp_path):
    async with Stage(tmp_path, size=(200, 60)) as stage:
        ask(stage, stage.app.view, question("a"), question("b"))
        commands.run(stage.app, "inbox")
        for size in (200, 60), (40, 10), (20, 5), (1, 1):
            await stage.pilot.resize_terminal(*size)
            await stage.pilot.pause()
            assert isinstance(stage.app.screen, InboxScreen)
            if size[0] >= 40:
                assert "echo a" in shown(stage.app)
                assert "Esc" in shown(stage.app)
