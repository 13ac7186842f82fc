"""The panel that asks: which keys answer, when, and that nothing else does."""

import pytest
from textual import events
from textual.screen import Screen
from textual.widget import Widget

from nanoherm_tui import limits
from nanoherm_tui.keymap import load_keymap
from nanoherm_tui.overlays.arming import Arming
from nanoherm_tui.overlays.held_key import HeldKey
from tests.rows import each_row
from tests.tui.asking import answer, armed, come, long_enough, stood_alone, text_of
from tests.tui.composer_app import ComposerApp, command_question, type_keys

# -- arming, with a clock of our own ------------------------------------------------------------------------------


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@each_row(
    ("happened", "draft_empty", "armed"),
    [
        ([], True, False),
        ([0.499], True, False),
        ([0.5], True, True),
        ([0.5], False, False),
        ([0.4, "key", 0.4], True, False),
        ([0.4, "key", 0.5], True, True),
        ([0.6, "key"], True, False),
        ([0.6, "asked"], True, False),
        ([0.6, "asked", 0.5], True, True),
        (["explicit"], True, True),
        (["explicit", "key"], False, True),
        (["explicit", "asked"], True, False),
        (["explicit", "back"], True, False),
        (["explicit", "back", 0.5], True, True),
        (["explicit", "back", 0.5, "key", 0.1], True, True),
        (["explicit", "back", 0.4, "key", 0.4], True, False),
        (["explicit", "back", "explicit"], True, True),
        (["explicit", "back", "asked"], True, False),
    ],
)
def test_a_letter_answers_after_half_a_second_without_keys_or_when_the_panel_was_gone_to(happened, draft_empty, armed):
    clock = Clock()
    arming = Arming(clock)
    arming.asked()
    for what in happened:
        if isinstance(what, float):
            clock.now += what
        elif what == "explicit":
            arming.gone_to()
        elif what == "back":
            arming.came_back()
        else:
            getattr(arming, what)()
    assert arming.armed(draft_empty=draft_empty) is armed


def test_the_time_of_a_letter_that_was_dropped_does_not_release_the_next_one():
    waiting, alone = [], []

    class Timed:
        def __init__(self, release):
            self.release = release
            waiting.append(self)

        def stop(self):
            waiting.remove(self)

    class Owner:
        def set_timer(self, seconds, release):
            return Timed(release)

    held = HeldKey(Owner(), lambda does, key: alone.append((does, key)))
    held.hold("once", events.Key("y", "y"))
    held.drop()
    held.hold("refuse", events.Key("n", "n"))
    (timed,) = waiting
    timed.release()
    assert (alone, waiting) == ([("refuse", "n")], [])


# -- answering ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "answered"), [("y", "answer:once"), ("a", "answer:session")])
@pytest.mark.usefixtures("at_once")
async def test_a_lone_letter_answers_once_the_panel_is_armed(key, answered):
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        await answer(pilot, key)
        assert app.posted == [(answered, "")]
        assert not app.panel.display
        assert app.composer.is_empty


@pytest.mark.parametrize("at_panel", [True, False], ids=["at the panel", "at the draft"])
@pytest.mark.usefixtures("at_once")
async def test_a_letter_typed_as_the_window_comes_back_answers_nothing(at_panel, monkeypatch):
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        await armed(pilot)
        if at_panel:
            await pilot.press("tab")
            await come(pilot, lambda: app.panel.has_focus)
        app.post_message(events.AppBlur())
        await come(pilot, lambda: app.focused is None)
        await pilot.pause(0.2)
        monkeypatch.setattr(limits, "APPROVAL_ARM", 30.0)  # however slow the machine, it has not been so long
        app.post_message(events.AppFocus())
        await come(pilot, lambda: app.focused is not None)
        await pilot.press("y")
        await stood_alone(pilot)
        assert app.posted == []
        monkeypatch.setattr(limits, "APPROVAL_ARM", 0.05)
        if not at_panel:
            await pilot.press("backspace")
        await answer(pilot, "y")
        assert app.posted == [("answer:once", "")]


async def test_a_letter_before_the_panel_is_armed_is_text():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        await type_keys(pilot, "y", "a", "n", "e", "enter")
        await stood_alone(pilot)
        assert app.posted == [("send", "yane")]
        assert app.panel.waiting == 1


@pytest.mark.usefixtures("at_once")
async def test_with_a_draft_open_letters_are_text_however_long_the_pause():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, "h", "i")
        app.ask()
        await pilot.pause(long_enough())
        assert not app.panel.armed
        await come(pilot, lambda: "F6 to answer" in text_of(app))
        await pilot.press("y")
        await stood_alone(pilot)
        assert app.posted == []
        assert app.composer.text == "hiy"


@pytest.mark.usefixtures("at_once")
async def test_a_letter_that_begins_a_word_is_text():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        await armed(pilot)
        for character in "yes":
            app.post_message(events.Key(character, character))
        await stood_alone(pilot)
        assert app.posted == []
        assert app.composer.text == "yes"


async def test_the_letter_and_enter_by_habit_is_that_letter():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        await armed(pilot)
        app.post_message(events.Key("y", "y"))
        await pilot.pause(0.03)
        app.post_message(events.Key("enter", "\r"))
        await stood_alone(pilot)
        assert app.posted == [("answer:once", "")]


@pytest.mark.usefixtures("at_once")
async def test_the_letter_and_enter_in_one_read_are_text():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        await armed(pilot)
        letter, enter = events.Key("y", "y"), events.Key("enter", "\r")
        enter.time = letter.time
        app.post_message(letter)
        app.post_message(enter)
        await stood_alone(pilot)
        assert app.posted == [("send", "y")]
        assert app.panel.waiting == 1


@pytest.mark.usefixtures("at_once")
async def test_no_other_key_answers():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        for key in ("enter", "space", "o", "Y", "ctrl+j", "1", "w"):
            app.composer.clear_to_history()
            await answer(pilot, key)
            assert app.panel.waiting == 1
        app.panel.focus()
        await type_keys(pilot, "enter", "space", "o", "Y", "ctrl+j", "1", "w", "enter")
        assert app.panel.waiting == 1
        assert app.posted == []


@pytest.mark.usefixtures("at_once")
async def test_a_paste_is_text_even_with_the_panel_focused():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        await armed(pilot)
        app.panel.focus()
        await pilot.pause()
        app.post_message(events.Paste("y\na\n"))
        await stood_alone(pilot)
        assert app.posted == []
        assert app.composer.text == "y\na\n"


async def test_going_to_the_panel_by_a_key_arms_it_at_once_even_with_a_draft():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("d")
        app.ask()
        app.panel.focus()  # what F6 and a click do
        await pilot.pause()
        assert app.panel.armed
        await pilot.press("y")
        assert app.posted == [("answer:once", "")]
        assert app.composer.text == "d"
        assert app.composer.holds_focus


async def test_tab_goes_to_the_panel_only_without_a_draft():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.set_state("asking")
        app.ask()
        await type_keys(pilot, "d", "tab")
        assert app.posted == [("queue", "d")]
        await pilot.press("tab")
        assert app.panel.has_focus
        await pilot.press("escape")
        assert app.composer.holds_focus
        assert app.panel.waiting == 1


async def test_the_next_question_is_not_answered_by_what_was_meant_for_the_one_before(monkeypatch):
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        first, _second = app.ask(), app.ask(command_question("rm -rf build"))
        await come(pilot, lambda: "1 of 2" in text_of(app))
        await armed(pilot)
        await pilot.press("y")
        monkeypatch.setattr(limits, "APPROVAL_ARM", 60.0)
        await come(pilot, lambda: app.posted)
        await pilot.press("y")
        await stood_alone(pilot)
        assert [how for how, _ in app.posted] == ["answer:once"]
        assert app.composer.text == "y"
        assert app.panel.current.command == "rm -rf build"
        app.panel.close(first.id)  # already gone: no error
        assert app.panel.waiting == 1


@pytest.mark.usefixtures("at_once")
async def test_what_is_not_offered_does_not_answer():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(command_question(decisions=("once", "refuse")))
        await armed(pilot)
        assert "this session" not in text_of(app)
        await answer(pilot, "a")
        assert app.posted == []
        assert app.composer.text == "a"


@pytest.mark.usefixtures("at_once")
async def test_a_remapped_answer_works_and_is_shown():
    keymap, problems = load_keymap({"allow_once": "1"})
    assert problems == []
    app = ComposerApp(keymap=keymap)
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        await armed(pilot)
        assert "1 once" in text_of(app)
        await answer(pilot, "1")
        assert app.posted == [("answer:once", "")]


async def test_what_is_typed_into_an_overlay_or_another_pane_does_not_arm_the_panel(monkeypatch):
    class Other(Widget, can_focus=True):
        pass

    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        other = Other()
        await app.mount(other)
        app.ask()
        other.focus()
        await pilot.pause(long_enough())
        assert not app.panel.armed
        await come(pilot, lambda: "F6 to answer" in text_of(app))
        app.composer.focus()
        app.push_screen(Screen())
        await pilot.pause(long_enough())
        monkeypatch.setattr(limits, "APPROVAL_ARM", 60)  # the key comes too soon, however slow this machine is
        app.pop_screen()
        await pilot.press("y")
        await stood_alone(pilot)
        assert app.posted == []
        assert app.composer.text == "y"


async def test_clearing_drops_all_questions_without_an_answer():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        app.ask()
        app.panel.clear()
        await pilot.pause()
        assert (app.panel.waiting, app.panel.display, app.posted) == (0, False, [])
