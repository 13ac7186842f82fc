"""The approval panel: what it shows, which keys answer, and that nothing else does."""

import re
import time
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual import events
from textual.screen import Screen
from textual.widget import Widget

from agent_core.mcp import login
from agent_core.messages import FileDiff
from agent_core.ports.actions import ReadAction, WebAction
from agent_core.ports.asking import Question
from agent_core.safety.policy import Verdict
from agent_core.servers import FormField
from agent_core.text.diff import build
from agent_core.tools import question as questions
from agent_core.tools.skill import LENDS
from nanoherm_tui import limits
from nanoherm_tui.i18n import phrase_key, set_language, texts
from nanoherm_tui.keymap import load_keymap
from nanoherm_tui.overlays.arming import Arming
from nanoherm_tui.overlays.question import LABEL, always_rows, question_rows, time_left
from nanoherm_tui.overlays.question import title as title_of
from nanoherm_tui.panes.keys import PaneKeys
from tests.tui.composer_app import ComposerApp, command_question
from tests.tui.test_composer import rows, type_keys


def text_of(app):
    return "\n".join(rows(app))


def long_enough():
    """Seconds after which an armed panel is armed."""
    return limits.APPROVAL_ARM + 0.25


def alone():
    """Seconds after which a letter stands alone."""
    return limits.APPROVAL_ALONE + 0.1


@pytest.fixture
def at_once(monkeypatch):
    """The panel arms almost at once: for tests about what comes after."""
    monkeypatch.setattr(limits, "APPROVAL_ARM", 0.05)
    monkeypatch.setattr(limits, "APPROVAL_ALONE", 0.05)


async def until(pilot, condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        await pilot.pause(0.05)


async def armed(pilot):
    """Wait until a letter would answer."""
    await until(pilot, lambda: pilot.app.panel.armed)
    await pilot.pause(0.1)


async def come(pilot, condition, seconds=10.0):
    """Wait until `condition()` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        await pilot.pause(0.02)


async def answer(pilot, *keys):
    await armed(pilot)
    await pilot.press(*keys)
    await pilot.pause(alone())


# -- arming, with a clock of our own ------------------------------------------------------------------------------


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(
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
            await until(pilot, lambda: app.panel.has_focus)
        app.post_message(events.AppBlur())
        await until(pilot, lambda: app.focused is None)
        await pilot.pause(0.2)
        monkeypatch.setattr(limits, "APPROVAL_ARM", 30.0)  # however slow the machine, it has not been so long
        app.post_message(events.AppFocus())
        await until(pilot, lambda: app.focused is not None)
        await pilot.press("y")
        await pilot.pause(alone())
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
        await pilot.pause(alone())
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
        assert "F6 to answer" in text_of(app)
        await pilot.press("y")
        await pilot.pause(alone())
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
        await pilot.pause(alone())
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
        await pilot.pause(alone())
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
        await pilot.pause(alone())
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
        await pilot.pause(alone())
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


async def test_the_next_question_is_not_answered_by_what_was_meant_for_the_one_before():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        first, _second = app.ask(), app.ask(command_question("rm -rf build"))
        await pilot.pause(0.15)
        assert "1 of 2" in text_of(app)
        await answer(pilot, "y")
        await pilot.press("y")
        await pilot.pause(alone())
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
        assert "F6 to answer" in text_of(app)
        app.composer.focus()
        app.push_screen(Screen())
        await pilot.pause(long_enough())
        monkeypatch.setattr(limits, "APPROVAL_ARM", 60)  # the key comes too soon, however slow this machine is
        app.pop_screen()
        await pilot.press("y")
        await pilot.pause(alone())
        assert app.posted == []
        assert app.composer.text == "y"


# -- refusing, editing, replying ----------------------------------------------------------------------------------


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
        await pilot.pause(alone())
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
            await until(pilot, lambda: not app.composer.holds_focus)  # the field took the keyboard
            await pilot.press("enter")  # nothing is marked: nothing is answered
            assert app.panel.waiting == 1
            await type_keys(pilot, *keys, "enter")
            await until(pilot, lambda: app.panel.waiting == 0 and app.composer.holds_focus)
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


# -- what is shown ------------------------------------------------------------------------------------------------


async def test_everything_about_a_command_is_shown():
    app = ComposerApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.ask(command_question("rm -rf build", rule="dangerous: recursive removal"), seconds=299)
        await pilot.pause(0.15)
        shown = text_of(app)
        for words in ("Run this command?", "rm -rf build", "/home/me/ledger", "dangerous: recursive removal"):
            assert words in shown
        assert "this exact command, in this folder" in shown
        assert "4:5" in shown
        assert "pause typing to answer" in shown
        keys = app.panel.query_one("ApprovalKeys")
        muted = app.look.style("muted", "surface")
        assert {s.style for s in keys.render_line(1) if s.text == "y"} == {muted}
        await armed(pilot)
        assert "pause typing" not in text_of(app)
        assert {s.style for s in keys.render_line(1) if s.text == "y"} == {
            app.look.style("accent", "surface", bold=True)
        }


async def test_arming_moves_nothing():
    app = ComposerApp()
    async with app.run_test(size=(60, 24)) as pilot:
        app.ask()
        await pilot.pause(0.15)
        before = [(w.region, type(w).__name__) for w in app.panel.query("*")]
        await armed(pilot)
        assert [(w.region, type(w).__name__) for w in app.panel.query("*")] == before


async def test_files_are_shown_with_what_changes():
    diffs = (FileDiff("src/dates.py", (), 7, 4), FileDiff("tests/[b]x.py", (), 8, 0, "create"))
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(Question("edit", "Change 2 files", rule="mode ask", diffs=diffs, grant="every change"))
        await pilot.pause(0.15)
        shown = text_of(app)
        assert "Change 2 files?" in shown
        assert "src/dates.py  +7 −4" in shown
        assert "tests/[b]x.py  +8 −0" in shown
        assert "e edit first" not in shown


@pytest.mark.parametrize("cells", [4, 11, 40, 80])
@pytest.mark.parametrize(
    "line", ["x" * 500, "echo 你好，世界 " * 30, "a --long=option,with,commas " * 20, "  indented"]
)
def test_a_wrapped_command_leaves_nothing_out(line, cells):
    shown = [r for r in question_rows(Question("command", "Run", command=line), cells + LABEL) if r.kind == "value"]
    assert all(cell_len(r.words) <= cells for r in shown)
    assert "".join(r.words for r in shown).replace(" ", "") == line.replace(" ", "")


async def test_a_long_command_scrolls_to_its_end_and_says_that_there_is_more():
    lines = [f"step {n} --with 'an argument'" for n in range(60)]
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask(command_question("\n".join(lines)))
        await pilot.pause(0.3)
        assert "rows below" in text_of(app)
        seen = text_of(app)
        app.panel.focus()
        for _ in range(12):
            await type_keys(pilot, "pagedown")
            seen += text_of(app)
        assert [line for line in lines if line not in seen] == []
        await pilot.pause(0.15)
        assert "rows below" not in text_of(app)
        assert app.panel.size.height <= 14


def test_a_huge_command_is_wrapped_without_delay():
    begun = time.monotonic()
    assert len(question_rows(command_question("x" * 300_000), 72)) > 4_000
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("cwd", "shown"), [("/home/ann/code/ledger", "~/code/ledger"), ("/home/ann", "~"), ("/home/anna/x", "/home/anna/x")]
)
def test_a_commands_folder_is_written_as_in_the_title(monkeypatch, cwd, shown):
    monkeypatch.setenv("HOME", "/home/ann")
    assert [r.words for r in question_rows(command_question("ls", cwd=cwd), 72)][1] == shown


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_panel_fits_every_size_and_takes_nothing_as_markup(language):
    set_language(language)
    app = ComposerApp()
    async with app.run_test(size=(120, 36)) as pilot:
        app.ask(command_question("echo '[/' '[b + 1' 你好 " * 9, rule="[r", grant="[data: /x?y=z-]", cwd="/[0]"))
        for size in ((120, 36), (80, 24), (40, 10), (20, 8), (3, 3), (1, 1)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            for row in rows(app):
                assert cell_len(row) == size[0]
                assert not set(row) & set("…·│─▌■●◐→×—")


@pytest.mark.parametrize("size", [(40, 10), (80, 12), (44, 14)])
async def test_on_a_short_screen_question_keys_and_draft_are_all_there(size):
    app = ComposerApp()
    async with app.run_test(size=size) as pilot:
        app.ask(command_question("make all && make check || make clean " * 5))
        await pilot.pause(0.3)
        shown = text_of(app)
        for words in ("Run this command?", "command   make all", "y once", "n refuse", "e edit", "rows below", "› "):
            assert words in shown


async def test_on_the_lowest_screen_the_draft_keeps_its_row_before_and_after_a_key_answers():
    set_language("zh")
    app = ComposerApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.ask(command_question("make " * 40, decisions=("once", "session", "always", "refuse")))
        while not app.panel.query_one("ApprovalKeys").warning:  # it is looked at once it is laid out
            await pilot.pause(0.01)
        await pilot.pause()
        assert "› " in text_of(app)
        height = app.panel.size.height
        await armed(pilot)
        assert "PgDn：下面还有" in text_of(app)
        assert "› " in text_of(app)
        assert app.panel.size.height == height


def test_the_rule_and_the_grant_are_told_in_the_interfaces_language():
    question = command_question(rule="dangerous: recursive removal")
    assert [r.words for r in question_rows(question, 70)][2:] == [
        "dangerous: recursive removal",
        "this exact command, in this folder",
    ]
    set_language("zh")
    assert [r.words for r in question_rows(question, 70)][2:] == ["危险：recursive removal", "这条命令，限此文件夹"]
    assert [r.words for r in question_rows(command_question(rule="mode ask"), 70)][2] == "ask 模式"
    assert [r.words for r in question_rows(command_question(rule="a new one"), 70)][2] == "a new one"


def test_why_a_command_asks_is_told_in_the_interfaces_language():
    set_language("zh")
    for text, words in [
        ("removes recursively: rm -r build", "递归删除：rm -r build"),
        ("changes a system file: tee /etc/hosts", "改动系统文件：tee /etc/hosts"),
        ("some words: of another kind", "some words: of another kind"),
    ]:
        assert words in [r.words for r in question_rows(command_question(text=text), 70)]


@pytest.mark.parametrize("cells", [74, 34])
async def test_why_a_command_asks_is_shown_in_whole(cells):
    app = ComposerApp()
    async with app.run_test(size=(cells + 6, 60)) as pilot:
        app.ask(command_question(text="removes recursively: rm -rf " + " ".join(f"folder-{n}" for n in range(20))))
        await pilot.pause()
        shown = text_of(app)
        assert [n for n in range(20) if f"folder-{n}" not in shown] == []
        assert "reason    removes" in shown


PAGE = WebAction("https://docs.example/" + "/".join(f"part-{n}" for n in range(40)), "docs.example")
WORDS = WebAction("tidal-streams-" * 20 + "潮汐", "search.example", is_search=True)


def test_the_file_that_would_be_read_is_shown_in_whole():
    path = "/srv/" + "/".join(f"folder-{n}" for n in range(20)) + "/.env"
    question = questions.question_for(ReadAction(path), True, Verdict("ask", "protected: secrets", ""), "c1")
    assert title_of(question) == "Read this file?"
    found = question_rows(question, 70)
    assert "".join(r.words.strip() for r in found).startswith(path)
    assert max(cell_len(r.words) for r in found) <= 70 - LABEL
    set_language("zh")
    assert title_of(question) == "读取这个文件？"


@pytest.mark.parametrize(
    ("language", "heading", "labels"),
    [
        ("en", "Let commands have these variables?", ["variables", "skill", "rule", "session"]),
        ("zh", "让命令得到这些变量？", ["变量", "技能", "规则", "本会话"]),
    ],
)
def test_a_skill_that_lends_variables_is_asked_about_by_their_names(language, heading, labels):
    set_language(language)
    action = ReadAction("~/skills/gifs/SKILL.md", ("GIF_TOKEN", "GIF_HOST"))
    question = questions.question_for(action, True, Verdict("ask", LENDS, ""), "c1")
    rows = question_rows(question, 70)
    assert title_of(question) == heading
    assert [row.label for row in rows if row.label] == labels
    assert [row.words for row in rows][:2] == ["GIF_TOKEN, GIF_HOST", "~/skills/gifs/SKILL.md"]
    if language == "zh":
        assert [row.words for row in rows][2:] == ["它的命令会得到你的变量", "命令在会话结束前一直有这些变量"]


def test_a_sentence_that_is_to_be_remembered_stands_in_the_question_and_a_long_change_in_its_pane():
    def asked(old, new):
        return [row.words for row in question_rows(Question("keep", "", diffs=(build("memory", old, new),)), 40)]

    text = f"fact: Use 制表符 \x1b[2J {'in Makefiles ' * 4}"
    shown = asked(None, text)
    assert "".join(shown[1:]).replace(" ", "") == "+" + text.replace("\x1b", "\\x1b").replace(" ", "")
    assert max(map(cell_len, shown)) <= 40 - LABEL
    assert asked("a\nb\n", "a\nc\n")[1:] == ["− b", "+ c"]
    assert len(asked(None, "line\n" * 4)) == 1


@pytest.mark.parametrize(
    ("action", "language", "heading", "labels", "holds"),
    [
        (PAGE, "en", "Fetch this page?", ["page", "goes to", "rule", "session"], "Every page of this host."),
        (PAGE, "zh", "读取这个网页？", ["网页", "发往", "规则", "本会话"], "这个主机的全部网页。"),
        (WORDS, "en", "Search the web for this?", ["words", "goes to", "rule", "session"], "Every search there."),
        (WORDS, "zh", "上网搜索这些内容？", ["搜索词", "发往", "规则", "本会话"], "在那里的全部搜索。"),
    ],
)
def test_what_the_web_is_asked_is_shown_in_whole_with_whom_it_goes_to(action, language, heading, labels, holds):
    set_language(language)
    question = questions.question_for(action, False, Verdict("ask", "the web", ""), "c1", action.host)
    assert title_of(question) == heading
    found = question_rows(question, 60)
    assert [row.label for row in found if row.label] == labels
    at = [row.label for row in found].index(labels[1])
    assert "".join(row.words.strip() for row in found[:at]) == action.url
    assert found[at].words == action.host
    assert max(cell_len(row.words) for row in found) <= 60 - LABEL
    always = always_rows(question, question.pattern, 60)
    assert [row.words for row in always][:2] == [action.host, holds]


def test_every_grant_of_the_core_has_its_words():
    source = Path(questions.__file__).read_text(encoding="utf-8")
    grants = re.findall(r'"((?:this|every|reading) [a-z ,]+)"', source)
    assert len(grants) == 7
    assert {g for g in grants if f"questions.{phrase_key(g)}" not in texts("zh")} == set()


def test_the_time_left_is_never_negative():
    assert [time_left(100, now) for now in (100 - 299.2, 40, 99.5, 100, 200)] == [
        "5:00",
        "1:00",
        "0:01",
        "0:00",
        "0:00",
    ]


async def test_clearing_drops_all_questions_without_an_answer():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.ask()
        app.ask()
        app.panel.clear()
        await pilot.pause()
        assert (app.panel.waiting, app.panel.display, app.posted) == (0, False, [])


# -- always -------------------------------------------------------------------------------------------------------

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
        await pilot.pause(alone())
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
        await pilot.pause(alone())
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
        await pilot.pause(alone())
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
        await pilot.pause(alone())
        assert app.posted == []


async def test_a_word_that_begins_like_always_is_text(monkeypatch):
    monkeypatch.setattr(limits, "APPROVAL_ARM", 0.05)
    monkeypatch.setattr(limits, "APPROVAL_ALONE", 0.3)
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask(push_question())
        await armed(pilot)
        await pilot.press(*"www one")
        await pilot.pause(0.5)
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
        await pilot.pause(alone())
        assert app.posted == []
        assert app.composer.text == "work"


async def test_the_second_key_counts_after_the_same_rest_as_the_first(monkeypatch):
    monkeypatch.setattr(limits, "APPROVAL_ALONE", 0.05)
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask(push_question())
        app.panel.focus()
        await pilot.pause()
        await pilot.press("w", "w", "w")
        await pilot.pause(0.2)
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
        await pilot.pause(alone())
        assert app.posted == []


@pytest.mark.usefixtures("at_once")
async def test_always_is_not_offered_where_the_question_has_none():
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.ask()
        await armed(pilot)
        assert "always" not in text_of(app)
        await pilot.press("w")
        await pilot.pause(alone())
        assert app.posted == []
        assert app.composer.text == "w"


@pytest.mark.parametrize(
    ("sandbox", "title", "row", "warns"),
    [
        ("workspace-write", "Run this command?", "workspace-write, no network", False),
        ("read-only", "Run this command?", "read-only, no network", False),
        ("workspace-write, network", "With the network: run this command?", "workspace-write, and the network", True),
        ("no sandbox", "No sandbox: run this command?", "no sandbox: nothing holds it back", True),
    ],
)
def test_a_question_says_what_the_command_runs_in(sandbox, title, row, warns):
    question = command_question(sandbox=sandbox)
    assert title_of(question) == title
    [found] = [r for r in question_rows(question, 80) if r.label == "sandbox"]
    assert found.words == row
    assert (found.kind == "warn") is warns


def test_what_always_writes_is_shown_exactly_and_never_cut():
    command = "echo \u202e\x1b[31m " + "q" * 300
    shown = "".join(r.words.strip() for r in always_rows(command_question(command), command, 40) if r.kind == "strong")
    assert shown.count("q") == 300
    assert "\u202e" not in shown
    assert "\x1b" not in shown
