"""A question of the panel that is answered with words: a refusal, an edited command, a reply, an address."""

import pytest
from rich.cells import cell_len
from textual import events

from agent_core.mcp import login
from agent_core.ports.asking import Question
from agent_core.servers import FormField
from nanoherm_tui.i18n import phrase_key, set_language, texts
from nanoherm_tui.overlays.question import LABEL, question_rows
from nanoherm_tui.panes.keys import PaneKeys
from tests.tui.asking import answer, armed, come, long_enough, stood_alone
from tests.tui.composer_app import ComposerApp, command_question, rows, type_keys


@pytest.mark.usefixtures("at_once")
async def test_a_refusal_may_carry_words():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        await answer(pilot, "n")
        assert app.posted == []
        await type_keys(pilot, *"no 不", "enter")
        assert app.posted == [("answer:refuse", "no 不")]
        assert app.composer.holds_focus


@pytest.mark.usefixtures("at_once")
async def test_a_refusal_may_be_silent_and_esc_takes_it_back():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        await answer(pilot, "n")
        await pilot.press("escape")
        assert app.panel.waiting == 1
        assert app.composer.holds_focus
        await answer(pilot, "n", "enter")
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted == [("answer:refuse", "")]


@pytest.mark.usefixtures("at_once")
async def test_words_being_written_when_the_question_goes_are_not_lost():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        question = app.ask()
        await answer(pilot, "n")
        await type_keys(pilot, *"because")
        app.panel.close(question.id)  # its time ran out
        await pilot.pause()
        assert app.posted == []
        assert app.composer.text == "because"
        assert app.composer.holds_focus


@pytest.mark.usefixtures("at_once")
async def test_a_command_can_be_edited_and_only_its_own_key_runs_it():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(command_question("pytest"))
        await answer(pilot, "e")
        await type_keys(pilot, " ", "-", "q", "enter", "ctrl+j", "y")
        await stood_alone(pilot)
        assert app.posted == []
        await type_keys(pilot, "backspace", "backspace", "backspace", "ctrl+y")
        assert app.posted == [("answer:once", "pytest -q")]


# What a terminal obeys, and what turns the order of the rest around: a link, the title, clear, C1's CSI, shift out.
OBEYED = "a\x1b]8;;http://x\x07b\x1b]0;title\x1b\\c\x1b[2Jd\x9b31me\x0ef\u202eg\u200bh\ud800"


@pytest.mark.usefixtures("at_once")
async def test_a_command_that_is_edited_is_text_to_the_terminal_and_stays_what_it_is():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(command_question(command=OBEYED))
        await answer(pilot, "e")
        assert app.panel._field.text == OBEYED
        app.composer.text = OBEYED
        await pilot.pause()
        assert all(row.isprintable() for row in rows(app))
        assert {cell_len(row) for row in rows(app)} == {80}
        assert app.composer.text == OBEYED.replace("\x0e", "")  # the mark of a chip


@pytest.mark.usefixtures("at_once")
async def test_an_edit_that_changes_nothing_is_the_command_itself_and_an_empty_one_runs_nothing():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(command_question("ls"))
        await answer(pilot, "e")
        await type_keys(pilot, "backspace", "backspace", "ctrl+y")
        assert app.panel.waiting == 1
        await type_keys(pilot, "l", "s", "ctrl+y")
        assert app.posted == [("answer:once", "")]


def asking(*choices):
    return Question("ask_user", "A question", text="Which one?", choices=choices, decisions=("once", "refuse"))


@pytest.mark.usefixtures("at_once")
async def test_a_question_is_answered_by_number_by_arrow_or_in_own_words():
    cases = [
        ("2", "second"),
        (["down"], "first"),
        (["up"], "second"),
        (["down", "down"], "second"),
        ("8080", "8080"),
        ("own 词", "own 词"),
    ]
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        for keys, _ in cases:
            app.ask(asking("first", "second"))
            await come(pilot, lambda: not app.composer.holds_focus)  # the field took the keyboard
            await pilot.press("enter")  # nothing is marked: nothing is answered
            assert app.panel.waiting == 1
            await type_keys(pilot, *keys, "enter")
            await come(pilot, lambda: app.panel.waiting == 0 and app.composer.holds_focus)
        assert app.posted == [("answer:once", words) for _, words in cases]


@pytest.mark.usefixtures("at_once")
async def test_a_question_does_not_take_the_keyboard_from_a_draft_or_after_esc():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("d")
        app.ask(asking())
        await pilot.pause(long_enough())
        assert app.composer.holds_focus
        await pilot.press("backspace")
        await pilot.pause(long_enough())
        assert not app.composer.holds_focus
        await pilot.press("escape")
        await pilot.pause(long_enough())
        assert app.composer.holds_focus
        assert app.panel.waiting == 1


def log_in(**changes):
    address = "https://login.example.com/authorize?" + "&".join(f"part{n}=0123456789abcdef" for n in range(30))
    fields = {"url": address, "host": "login.example.com", "server": "docs", "decisions": ("once", "refuse")}
    return Question("visit", "Log in", **{**fields, **changes})


@pytest.mark.usefixtures("at_once")
async def test_an_address_is_opened_or_refused_by_a_key_and_then_one_is_pasted_or_the_waiting_ends():
    app, waits = ComposerApp(), (FormField("address", "Address"),)
    async with app.run_test(size=(80, 24)) as pilot:
        for question, keys in (
            (log_in(), ["y"]),
            (log_in(), ["n"]),
            (log_in(form=waits), ["enter", *"http://127.0.0.1:1/callback?x", "enter"]),
            (log_in(form=waits), ["h", "t", "escape"]),
        ):
            app.ask(question)
            await armed(pilot)
            if question.form:
                await come(pilot, lambda: getattr(app.focused, "id", "") == "approval-field")
            await pilot.press(*keys)
            await come(pilot, lambda: app.panel.waiting == 0)
            assert app.composer.holds_focus
            assert app.composer.is_empty
    assert app.posted == [
        ("answer:once", ""),
        ("answer:refuse", ""),
        ("answer:once", "http://127.0.0.1:1/callback?x"),
        ("answer:refuse", ""),
    ]


@pytest.mark.usefixtures("at_once")
async def test_after_a_yes_from_a_pane_the_address_is_pasted_where_it_is_waited_for_and_is_no_message():
    class Pane(PaneKeys, can_focus=True):
        pass

    app, pane = ComposerApp(), Pane()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.mount(pane)
        app.panel.attach(app.composer)
        pane.focus()
        app.ask(log_in())
        await answer(pilot, "y")
        await come(pilot, lambda: app.panel.waiting == 0)
        app.ask(log_in(form=(FormField("address", "Address"),)))
        await come(pilot, lambda: getattr(app.focused, "id", "") == "approval-field")
        app.focused.post_message(events.Paste("http://127.0.0.1:1/callback?code=x"))
        await pilot.press("enter")
        await come(pilot, lambda: app.panel.waiting == 0)
        assert app.posted == [("answer:once", ""), ("answer:once", "http://127.0.0.1:1/callback?code=x")]
        # One that asks for words waits until its pane is left: who reads there is not interrupted.
        pane.focus()
        app.ask(Question("ask_user", "", text="Which?", decisions=("once",), id="q"))
        await armed(pilot)
        assert app.focused is pane


def test_a_log_in_is_told_with_whom_and_why_before_its_whole_address():
    set_language("zh")
    for words in (login.TO_LOG_IN, login.OPENED, login.ELSEWHERE):
        assert f"questions.{phrase_key(words)}" in texts("zh")
        question = log_in(text=words)
        told = question_rows(question, 60)
        labels = [row.label for row in told if row.label]
        assert labels == ["服务器", "发往", "原因", "网页"]
        assert "".join(row.words.strip() for row in told[-20:]).endswith(question.url[-200:])
        assert max(cell_len(row.words) for row in told) <= 60 - LABEL
