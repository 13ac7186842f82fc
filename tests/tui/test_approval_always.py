"""What "always" would write is shown first, and only the same key again writes it."""

import time

import pytest

from nanoherm_tui import limits
from nanoherm_tui.overlays.question import always_rows
from tests.tui.asking import answer, armed, stood_alone, text_of
from tests.tui.composer_app import ComposerApp, command_question

EVERY = ("once", "session", "always", "refuse")


def push_question(**fields):
    fields.setdefault("pattern", "git push *")
    return command_question("git push origin main", decisions=EVERY, sandbox="workspace-write, network", **fields)


async def second_armed(pilot):
    """Wait until what "always" would write is shown and the key would write it."""
    deadline = time.monotonic() + 10
    while not (pilot.app.panel._use == "always" and pilot.app.panel._second.armed(draft_empty=True)):
        assert time.monotonic() < deadline
        await pilot.pause(0.02)
    await pilot.pause(0.05)


@pytest.mark.usefixtures("at_once")
async def test_always_shows_what_it_writes_and_only_the_same_key_again_writes_it():
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask(push_question())
        await answer(pilot, "w")
        await second_armed(pilot)
        assert app.posted == []
        text = text_of(app)
        for words in ("always    git push *", "Whatever begins so.", "workspace-write, network", "write it down"):
            assert words in text
        await pilot.press("w")
        await stood_alone(pilot)
        assert app.posted == [("answer:always", "")]
        assert app.patterns == ["git push *"]
        assert app.composer.holds_focus


@pytest.mark.usefixtures("at_once")
async def test_tab_changes_between_the_words_and_exactly_this():
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask(push_question())
        await answer(pilot, "w")
        await second_armed(pilot)
        await pilot.press("tab")
        assert "always    git push origin main" in text_of(app)
        assert "Exactly this." in text_of(app)
        await pilot.press("tab")
        assert "always    git push *" in text_of(app)
        await pilot.press("tab")
        await second_armed(pilot)
        await pilot.press("w")
        await stood_alone(pilot)
        assert app.patterns == ["git push origin main"]


@pytest.mark.usefixtures("at_once")
async def test_where_only_the_exact_text_can_be_written_there_is_nothing_to_change_to():
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask(push_question(pattern="git push origin main"))
        await answer(pilot, "w")
        await second_armed(pilot)
        assert "Tab" not in text_of(app)


@pytest.mark.parametrize("key", ["escape", "n", "y", "a", "e"])
@pytest.mark.usefixtures("at_once")
async def test_any_other_answer_goes_back_to_the_question_and_decides_nothing(key):
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask(push_question())
        await answer(pilot, "w")
        await second_armed(pilot)
        await pilot.press(key)
        await stood_alone(pilot)
        assert app.posted == []
        assert "write it down" not in text_of(app)
        assert app.panel.display
        assert app.composer.is_empty
        assert app.composer.holds_focus


@pytest.mark.usefixtures("at_once")
async def test_enter_writes_nothing_down():
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask(push_question())
        await answer(pilot, "w")
        await second_armed(pilot)
        await pilot.press("enter", "enter", "space")
        await stood_alone(pilot)
        assert app.posted == []


async def test_a_word_that_begins_like_always_is_text(monkeypatch):
    monkeypatch.setattr(limits, "APPROVAL_ARM", 0.05)
    monkeypatch.setattr(limits, "APPROVAL_ALONE", 60.0)
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask(push_question())
        await armed(pilot)
        await pilot.press(*"www one")
        monkeypatch.setattr(limits, "APPROVAL_ALONE", 0.05)
        await stood_alone(pilot)
        assert app.posted == []
        assert app.composer.text == "www one"


@pytest.mark.usefixtures("at_once")
async def test_letters_while_it_is_shown_begin_a_message_and_none_is_lost():
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask(push_question())
        await answer(pilot, "w")
        await second_armed(pilot)
        await pilot.press(*"ork")
        await stood_alone(pilot)
        assert app.posted == []
        assert app.composer.text == "work"


async def test_the_second_key_counts_after_the_same_rest_as_the_first(monkeypatch):
    monkeypatch.setattr(limits, "APPROVAL_ALONE", 0.05)
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask(push_question())
        app.panel.focus()
        await pilot.pause()
        monkeypatch.setattr(limits, "APPROVAL_ARM", 60.0)  # the keys come sooner, however slow this machine is
        await pilot.press("w", "w", "w")
        await stood_alone(pilot)
        assert app.posted == []


@pytest.mark.parametrize("how", ["closed", "another"])
@pytest.mark.usefixtures("at_once")
async def test_a_question_that_goes_takes_what_it_would_write_with_it(how):
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        question = app.ask(push_question())
        await answer(pilot, "w")
        await second_armed(pilot)
        if how == "another":
            app.ask(command_question())
        app.panel.close(question.id)
        await pilot.pause(0.1)
        assert "write it down" not in text_of(app)
        await pilot.press("w")
        await stood_alone(pilot)
        assert app.posted == []


@pytest.mark.usefixtures("at_once")
async def test_always_is_not_offered_where_the_question_has_none():
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask()
        await armed(pilot)
        assert "always" not in text_of(app)
        await pilot.press("w")
        await stood_alone(pilot)
        assert app.posted == []
        assert app.composer.text == "w"


def test_what_always_writes_is_shown_exactly_and_never_cut():
    command = "echo \u202e\x1b[31m " + "q" * 300
    shown = "".join(r.words.strip() for r in always_rows(command_question(command), command, 40) if r.kind == "strong")
    assert shown.count("q") == 300
    assert "\u202e" not in shown
    assert "\x1b" not in shown
