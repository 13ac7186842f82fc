"""The composer: what sends, what makes a line, what is kept; in the pilot and in a real terminal."""

import asyncio
import os
import re
import sys
import time
from ast import literal_eval
from pathlib import Path

import pexpect
import pyte
import pytest
from rich.cells import cell_len
from textual import events
from textual.geometry import Offset, Region
from textual.widgets import TextArea

from agent_core.knowledge import Typed
from nanoherm_tui import i18n, limits
from nanoherm_tui.compat.reading import ReadByRead
from nanoherm_tui.history import History
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import load_keymap
from nanoherm_tui.overlays.slash import Values, offers
from tests.tui.composer_app import ComposerApp

ROOT = Path(__file__).parents[2]


def rows(app):
    """The screen's rows as text."""
    height = app.size.height
    strips = [app.screen._compositor.render_strips()[y] for y in range(height)]
    return ["".join(segment.text for segment in strip) for strip in strips]


async def type_keys(pilot, *keys):
    """Keys one behind the other, and one wait for all of them: the pilot's own presses wait for each."""
    characters = {"space": " ", "backslash": "\\", "slash": "/", "question_mark": "?"}
    for key in keys:
        pilot.app.post_message(events.Key(key, characters.get(key, key if len(key) == 1 else None)))
    # They go through the app's queue into that of whoever has the keyboard: a busy machine is not done after one pause.
    for pump in (lambda: pilot.app, lambda: pilot.app.focused or pilot.app.screen):
        done = asyncio.Event()
        pump().call_later(done.set)
        await done.wait()
    await pilot.pause()


# -- sending and lines --------------------------------------------------------------------------------------------


async def test_enter_sends_and_empties_the_draft():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_keys(pilot, "h", "i", "enter")
        await pilot.pause()
        assert app.posted == [("send", "hi")]
        assert app.composer.is_empty


@pytest.mark.parametrize("key", ["shift+enter", "ctrl+j", "alt+enter", "shift+\r"])
async def test_these_make_a_new_line(key):
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_keys(pilot, "a", key, "b")
        assert app.composer.text == "a\nb"
        assert app.posted == []


async def test_a_backslash_before_enter_makes_a_new_line_and_two_send():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_keys(pilot, "a", "backslash", "enter", "b")
        assert app.composer.text == "a\nb"
        await type_keys(pilot, "backslash", "backslash", "enter")
        await pilot.pause()
        assert app.posted == [("send", "a\nb\\\\")]


async def test_a_blank_draft_is_not_sent():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_keys(pilot, "space", "ctrl+j", "enter")
        assert app.posted == []


async def test_tab_queues_only_while_a_turn_runs():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_keys(pilot, "a", "tab")
        assert app.posted == []
        app.composer.focus()
        app.composer.set_state("running")
        await pilot.press("tab")
        assert app.posted == [("queue", "a")]


async def test_a_remapped_key_works_and_the_old_one_no_longer():
    keymap, _ = load_keymap({"newline": "f8"})
    app = ComposerApp(keymap=keymap)
    async with app.run_test() as pilot:
        await type_keys(pilot, "a", "f8", "b", "ctrl+j", "c")
        assert app.composer.text == "a\nbc"


async def test_undo_takes_typing_back_and_ctrl_z_is_left_to_the_app():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await pilot.press("a")
        app.composer.insert("bc")
        await pilot.press("ctrl+z")
        assert app.composer.text == "abc"
        await pilot.press("ctrl+underscore")
        assert app.composer.text in ("a", "")
        await pilot.press("alt+z")
        assert app.composer.text == "abc"


async def test_undo_of_many_lines_at_once_and_redo():
    app = ComposerApp()
    text = "\n".join(map(str, range(60)))
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.insert(text)
        await pilot.pause()
        await type_keys(pilot, "ctrl+underscore")
        assert app.composer.is_empty
        await type_keys(pilot, "alt+z")
        assert app.composer.text == text
        app.composer.text = "x"
        await type_keys(pilot, "ctrl+underscore", "ctrl+underscore", "alt+z", "alt+z", "end", "y")
        assert app.composer.text == "xy"


async def test_until_a_new_row_is_laid_out_the_terminal_s_caret_is_behind_what_is_shown():
    app = ComposerApp()
    async with app.run_test(size=(40, 12)) as pilot:
        draft = app.composer.query_one(TextArea)
        await pilot.pause()
        draft.insert("word " + "x" * (draft.region.width - 2))  # its second row has no place as yet
        assert draft.region.height == 1
        draft.render_lines(Region(0, 0, draft.region.width, 1))
        assert draft.drawn_caret == draft.region.offset + Offset(len("word"), 0)
        await pilot.pause()
        assert draft.drawn_caret == draft.cursor_screen_offset
        assert draft.region.height == 2


async def test_ctrl_d_deletes_in_a_draft_and_is_left_to_the_app_without_one():
    heard = []

    class Listening(ComposerApp):
        def on_key(self, event):
            heard.append(event.key)

    app = Listening()
    async with app.run_test() as pilot:
        await type_keys(pilot, "a", "b", "home", "ctrl+d")
        assert app.composer.text == "b"
        assert "ctrl+d" not in heard
        await type_keys(pilot, "ctrl+d", "ctrl+d")
        assert app.composer.text == ""
        assert heard[-1] == "ctrl+d"


async def test_an_alt_letter_is_no_text():
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.post_message(events.Key("alt+v", "v"))
        await pilot.pause()
        assert app.composer.text == ""


# -- pasting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    ["a\nb\nc\n", "a\rb\rc\r", "a\r\rc\r", "你\r好\rc", "\n\nindented", "first line\rsecond", "x\ty\r\nz\r\n"],
)
def test_lines_that_came_in_one_read_are_one_paste(data):
    parser = ReadByRead()
    (event,) = parser.feed(data)
    assert isinstance(event, events.Paste)
    assert event.text == re.sub("\r\n?", "\n", data)


@pytest.mark.parametrize("data", ["hello\r", "\r", "\r\r", "y\rn", "hello", "a\x1b[A\rb\rc\r", "\x03\rlines\rof text"])
def test_keys_that_came_in_one_read_stay_keys(data):
    assert not any(isinstance(event, events.Paste) for event in ReadByRead().feed(data))


@pytest.mark.parametrize("cut", range(1, 30, 3))
def test_a_marked_paste_is_one_paste_wherever_the_reads_cut_it(cut):
    text = "one line\rtwo lines\rthree\r"
    parser = ReadByRead()
    data = f"x\x1b[200~{text}\x1b[201~y"
    seen = [event for part in (data[:cut], data[cut:]) for event in parser.feed(part)]
    assert [event.text for event in seen if isinstance(event, events.Paste)] == [text.replace("\r", "\n")]
    assert [event.key for event in seen if isinstance(event, events.Key)] == ["x", "y"]


def test_after_a_marked_paste_lines_are_still_told_from_keys():
    parser = ReadByRead()
    reads = ["\x1b[200~a\x1b[201~", "b\rc\rd\r", "e\r", "\x1b[20~", "f\rg\r"]
    seen = [event for read in reads for event in parser.feed(read)]
    assert [type(event).__name__ for event in seen] == ["Paste", "Paste", "Key", "Key", "Key", "Paste"]


@pytest.mark.parametrize("rest", ["abc\r", "\r", "half a line", "one\rtwo\r"])
def test_the_rest_of_an_unmarked_paste_is_no_keys_even_where_a_read_cut_it(rest):
    parser = ReadByRead()
    first = "line of text\r" * 300
    seen = [event for read in (first, rest) for event in parser.feed(read)]
    assert all(isinstance(event, events.Paste) for event in seen)
    assert "".join(event.text for event in seen) == (first + rest).replace("\r", "\n")


def test_enter_after_the_last_read_of_an_unmarked_paste_is_a_key(monkeypatch):
    parser = ReadByRead()
    seen = [event for read in ("line of text\r" * 300, "the end\r", "\r") for event in parser.feed(read)]
    assert [type(event).__name__ for event in seen] == ["Paste", "Paste", "Key"]
    monkeypatch.setattr(limits, "PASTE_JOIN", 0.0)
    seen = [event for read in ("line of text\r" * 300, "\r", "\x1b[A") for event in parser.feed(read)]
    assert [type(event).__name__ for event in seen] == ["Paste", "Key", "Key"]


async def test_a_bracketed_paste_is_one_draft_whatever_its_line_ends():
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.post_message(events.Paste("a\r\nb\rc\n"))
        await pilot.pause()
        assert app.composer.text == "a\nb\nc\n"
        assert app.posted == []


async def test_a_large_paste_is_taken_whole():
    text = "line of 中文 and more\n" * 10_000
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.post_message(events.Paste(text))
        await pilot.pause()
        await pilot.press("x")
        assert app.composer.text == text + "x"
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted == [("send", text + "x")]


# -- size, caret, glyphs ------------------------------------------------------------------------------------------


async def test_the_draft_grows_to_a_third_of_the_screen():
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        assert app.composer.size.height == 3
        app.composer.insert("\n".join(map(str, range(4))))
        await pilot.pause()
        assert app.composer.size.height == 6
        app.composer.insert("\n" * 40)
        await pilot.pause()
        assert app.composer.size.height == 12
        await pilot.resize_terminal(80, 12)  # a short screen: no blank rows
        await pilot.pause()
        assert app.composer.size.height == 4
        app.composer.clear_to_history()
        await pilot.pause()
        assert app.composer.size.height == 1


async def test_wide_text_wraps_at_the_edge_without_ghosts():
    app = ComposerApp()
    async with app.run_test(size=(31, 24)) as pilot:  # 20 cells for the draft and one for the caret
        draft = app.composer.query_one("#draft")
        assert draft.size.width == 21
        await type_keys(pilot, *"你" * 10, "，")
        await pilot.pause()
        assert draft.size.height == 2
        assert app.cursor_position.x - draft.region.x == 4  # a comma begins no row
        assert app.cursor_position.y - draft.region.y == 1
        await type_keys(pilot, *["backspace"] * 11)
        assert app.composer.is_empty
        assert not any("你" in row or "，" in row for row in rows(app))


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("parse_date 丢掉了时区，请修好", ["parse_date 丢掉了时", "区，请修好"]),
        ("parse_date drops the offset", ["parse_date drops", "the offset"]),
        ("看 src/ledger/dates.py 的第三行", ["看", "src/ledger/dates.py", "的第三行"]),
        ("一二三四五六七八（九）十", ["一二三四五六七八", "（九）十"]),
        ("e\u0301" * 9 + " 中文和英文字", ["e\u0301" * 9 + " 中文和英文", "字"]),
    ],
)
async def test_a_draft_breaks_its_rows_as_all_other_prose_does(text, drawn):
    app = ComposerApp()
    async with app.run_test(size=(31, 24)) as pilot:  # 20 cells for the draft and one for the caret
        app.composer.insert(text)
        await pilot.pause()
        draft = app.composer.query_one("#draft")
        lines = draft.wrapped_document.get_sections(0)
        assert [line.rstrip() for line in lines] == drawn
        assert "".join(lines) == text


@pytest.mark.parametrize("text", ["你好", "ab你", "mid 中 line", "x" * 200, "a\nb\n中"])
async def test_the_terminal_caret_stands_where_the_next_letter_goes(text):
    app = ComposerApp()
    async with app.run_test(size=(60, 24)) as pilot:
        draft = app.composer.query_one("#draft")
        app.composer.insert(text)
        await pilot.pause()
        last = text.split("\n")[-1]
        assert app.cursor_position.x == draft.region.x + cell_len(last) % (draft.size.width - 1)
        assert app.cursor_position.y == draft.region.y + draft.size.height - 1


@pytest.mark.parametrize("theme", ["nanoherm-dark", "ansi"])
async def test_every_row_is_as_wide_as_the_screen_and_no_glyph_is_ambiguous(theme):
    app = ComposerApp(theme=theme)
    async with app.run_test(size=(120, 36)) as pilot:
        app.composer.set_state("running")
        app.composer.set_pending(("先看 [b]这个[/b]",), ("再跑一遍 mypy", "third", "fourth [/"))
        app.composer.insert("draft [/ 中文 [r")
        for size in ((120, 36), (80, 24), (40, 10), (20, 6), (2, 2), (1, 1)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            for row in rows(app):
                assert cell_len(row) == size[0]
                assert not set(row) & set("…·│─▌■●◐→×—")


async def test_a_list_above_the_draft_stays_there_when_the_screen_gets_lower():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, "/", "r", "e")
        popup = app.composer.query_one("SlashPopup")
        for size in ((80, 24), (40, 10)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            await pilot.pause()
            assert popup.region.bottom == app.composer.region.y


async def test_the_bar_is_lit_only_while_the_composer_has_the_keyboard():
    app = ComposerApp()
    async with app.run_test(size=(60, 12)) as pilot:
        bar = app.composer.query_one("DraftBar")
        await pilot.pause()
        lit = bar.render_line(0)
        assert lit.text == "  ▐"
        assert list(lit)[1].style == app.look.mark("accent", "ground")
        app.set_focus(None)
        await pilot.pause()
        assert list(bar.render_line(0))[1].style == app.look.mark("muted", "ground")


# -- what is shown ------------------------------------------------------------------------------------------------


async def test_the_state_is_told_in_words_with_and_without_a_draft():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        for state, words in [
            ("idle", "Message, /command"),
            ("running", "Enter steers, Tab queues for after, Esc stops"),
            ("stopping", "Stopping"),
            ("idle", "Message, /command"),
        ]:
            app.composer.set_state(state)
            await pilot.pause()
            assert any(words in row for row in rows(app)), state
        app.composer.insert("draft")
        for state, words in [("running", "Esc stop   Enter steer   Tab queue"), ("stopping", "Stopping")]:
            app.composer.set_state(state)
            await pilot.pause()
            assert any(words in row for row in rows(app)), state


@pytest.mark.parametrize("language", i18n.LANGUAGES)
@pytest.mark.parametrize("size", [(80, 24), (40, 10), (30, 8)])
async def test_running_and_stopping_are_told_whole_on_every_screen(size, language):
    i18n.set_language(language)
    app = ComposerApp()
    async with app.run_test(size=size) as pilot:
        for state, kinds in [("running", ("running", "running_short", "running_least")),
                             ("stopping", ("stopping", "stopping_short")),
                             ("running", ("running", "running_short", "running_least"))]:  # fmt: skip
            app.composer.set_state(state)
            await pilot.pause()
            keys = {"send": "Enter", "queue": "Tab", "stop": "Esc"}
            said = [t(f"composer.{kind}", **keys) for kind in kinds]
            assert any(words in row.rstrip() for words in said for row in rows(app)), rows(app)
        app.composer.insert("草稿")
        await pilot.pause()
        assert any(f"Esc {t('composer.hint_stop')}" in row for row in rows(app))
        app.composer.set_state("stopping")
        await pilot.pause()
        assert any(t("composer.stopping")[:8] in row for row in rows(app))
        app.composer.set_state("idle")
        await pilot.pause()
        assert not any(t("composer.stopping")[:8] in row or "Esc" in row for row in rows(app))
        assert "草稿" in "".join(rows(app))


# -- shell --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draft", "posted"),
    [
        ("!ls -la", ("shell", "ls -la")),
        ("! git status", ("shell", "git status")),
        ("!!env | sort", ("private shell", "env | sort")),
        ("!echo one\necho 二", ("shell", "echo one\necho 二")),
        (" !important", ("send", " !important")),
        ("no!", ("send", "no!")),
        ("!!!x", ("private shell", "!x")),
    ],
)
@pytest.mark.parametrize("state", ["idle", "running"])
async def test_a_draft_that_begins_with_an_exclamation_mark_is_the_users_own_command(draft, posted, state):
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.set_state(state)
        app.composer.insert(draft)
        await pilot.press("tab" if state == "running" and draft.startswith("!") else "enter")
        assert app.posted == [posted]
        assert app.composer.is_empty
        await pilot.press("up")
        assert app.composer.text == draft


async def test_it_is_seen_that_a_draft_will_run_as_a_command_and_whether_the_model_hears_of_it():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.text = "!ls"
        await pilot.pause()
        assert any("▐ $ !ls" in row for row in rows(app))
        assert any(t("composer.shell") in row for row in rows(app))
        app.composer.text = "!!ls"
        await pilot.pause()
        assert any(t("composer.shell_private") in row for row in rows(app))
        app.composer.text = " !ls"
        await pilot.pause()
        assert any("▐ ›  !ls" in row for row in rows(app))
        assert not any("shell" in row for row in rows(app))


@pytest.mark.parametrize("draft", ["!", "!!", "!  ", "!!\n "])
async def test_an_empty_command_is_not_run(draft):
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.text = draft
        await pilot.press("enter")
        assert app.posted == []
        assert app.composer.text == draft


async def test_pending_texts_stand_above_the_draft_and_come_back():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("alt+up")
        assert app.posted == []
        app.composer.set_pending(("look at x",), ("then y",))
        await pilot.pause()
        shown = [row for row in rows(app) if "look at x" in row or "then y" in row]
        assert shown[0].strip(" ▐").startswith("steer")
        assert shown[1].strip(" ▐").startswith("queued")
        assert "Alt+Up take back" in shown[1]
        await pilot.press("alt+up")
        assert app.posted == [("take_back", "")]
        await pilot.press("d")
        app.composer.bring_back("then y")
        assert app.composer.text == "then y\nd"


async def test_a_wrong_command_is_named_and_stays_in_the_draft():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.text = "/xyzzy [b]"
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted == []
        assert app.composer.text == "/xyzzy [b]"
        assert any("No command /xyzzy" in row for row in rows(app))
        await type_keys(pilot, "home", "space")
        await pilot.pause()
        assert not any("No command" in row for row in rows(app))
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted == [("send", " /xyzzy [b]")]


# -- commands -----------------------------------------------------------------------------------------------------


async def test_a_command_is_completed_from_the_list_above():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, "/", "e", "x")
        await pilot.pause()
        listed = [row for row in rows(app) if "/ex" in row]
        assert "/exit" in listed[0]
        assert "/export [path]" in listed[1]
        await type_keys(pilot, "down", "tab")
        assert app.composer.text == "/export "
        await type_keys(pilot, "x", "enter")
        await pilot.pause()
        assert app.posted == [("slash", "/export x")]
        assert app.composer.is_empty


async def test_enter_runs_the_chosen_command():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, "/", "h", "e", "enter")
        await pilot.pause()
        assert app.posted == [("slash", "/help")]


FRUIT = {
    "mode": Values((("ask", "asks"), ("plan", "reads only"), ("auto", "asks nothing")), closed=True),
    "model": Values((("qwen3-coder", ""), ("qwen3-coder-plus", ""), ("[b]odd", "")), closed=False),
    "theme": Values((("auto", "light or dark"), ("own-light", "")), closed=True),
}


@pytest.mark.parametrize(
    ("draft", "names", "chosen"),
    [
        ("/mode ", ["ask", "plan", "auto"], False),
        ("/mode a", ["ask", "auto", "plan"], True),  # "a" begins two, and is within the third
        ("/mode asks", ["ask", "auto"], True),  # by what it means
        ("/mode ask", ["ask", "auto"], True),
        ("/theme light", ["own-light", "auto"], True),  # a name says it before what it means does
        ("/mode plan", [], False),  # nothing left to complete
        ("/model qwen3-coder", ["qwen3-coder", "qwen3-coder-plus"], False),
        ("/model zz", [], False),
        ("/MODE pl", ["plan"], True),
        ("/clear x", [], False),  # takes no argument
        ("/nothing x", [], False),
        ("/mode a\nb", [], False),
        (" /mode a", [], False),
        ("message /mode a", [], False),
    ],
)
def test_a_commands_known_values_are_offered(draft, names, chosen):
    rows, first = offers(draft, lambda action: FRUIT.get(action.id, Values()))
    assert ([row.name for row in rows], first) == (names, chosen)


async def test_a_value_is_completed_and_what_was_typed_wins_where_more_is_possible():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.values_of = lambda action: FRUIT.get(action.id, Values())
        await type_keys(pilot, *"/mode pl", "enter")
        await type_keys(pilot, *"/model qwen3-coder", "enter")
        await type_keys(pilot, *"/model qwen", "down", "down", "enter")
        await type_keys(pilot, *"/mode", "space", "tab")
        assert app.composer.text == "/mode ask"
        await pilot.press("enter")
        await pilot.pause()
        assert [text for _, text in app.posted] == [
            "/mode plan", "/model qwen3-coder", "/model qwen3-coder-plus", "/mode ask"
        ]  # fmt: skip


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (20, 6)])
async def test_the_offers_speak_chinese_and_keep_their_columns(size):
    i18n.set_language("zh")
    app = ComposerApp()
    async with app.run_test(size=size) as pilot:
        await type_keys(pilot, "/", "e", "x")
        await pilot.pause()
        listed = [row for row in rows(app) if "/ex" in row and "›" not in row]
        assert len(listed) == 2
        assert all(cell_len(row) == size[0] for row in rows(app))
        if size[0] >= 80:
            assert t("actions.export_help") in listed[1]


async def test_esc_hides_the_list_until_the_draft_is_another():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        popup = app.composer.query_one("SlashPopup")
        await type_keys(pilot, "/", "h")
        assert popup.is_open
        await pilot.press("escape")
        assert not popup.is_open
        assert app.composer.text == "/h"
        await type_keys(pilot, "backspace", "backspace", "/", "m")
        assert popup.is_open


async def test_a_question_mark_in_an_empty_draft_asks_for_help_and_is_text_in_another():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        assert app.posted == [("slash", "/help")]
        await type_keys(pilot, "a", "question_mark")
        assert app.composer.text == "a?"


async def test_an_empty_line_in_a_selection_is_drawn_without_block_glyphs():
    app = ComposerApp()
    async with app.run_test(size=(60, 24)) as pilot:
        app.composer.insert("one\n\nthree")
        await pilot.pause()
        await type_keys(pilot, "shift+up", "shift+up", "shift+home")
        await pilot.pause()
        assert app.composer.selected_text == "one\n\nthree"
        assert not set("".join(rows(app))) & set("▌")


# -- history ------------------------------------------------------------------------------------------------------


async def test_up_and_down_walk_the_history_at_the_edges_and_keep_the_draft(tmp_path):
    history = History(tmp_path / "history")
    history.add("first")
    history.add("second\nof two lines")
    app = ComposerApp(History(tmp_path / "history"))
    async with app.run_test() as pilot:
        await type_keys(pilot, "d", "up")
        assert app.composer.text == "second\nof two lines"
        await pilot.press("up")  # within the entry
        assert app.composer.text == "second\nof two lines"
        await pilot.press("up")
        assert app.composer.text == "first"
        await pilot.press("up")
        assert app.composer.text == "first"
        await type_keys(pilot, "down", "down")
        assert app.composer.text == "d"


async def test_what_was_sent_cleared_or_commanded_is_in_the_history(tmp_path):
    path = tmp_path / "history"
    app = ComposerApp(History(path))
    async with app.run_test() as pilot:
        await type_keys(pilot, "a", "enter", "b")
        app.composer.clear_to_history()
        await type_keys(pilot, "/", "h", "e", "l", "p", "enter")
        await pilot.pause()
    later = History(path)
    later.load()
    assert later.entries == ["a", "b", "/help"]


async def test_a_draft_wrapped_into_more_rows_by_a_narrower_screen_is_shown_whole():
    app = ComposerApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.composer.text = " ".join(f"word{n}" for n in range(24))
        await pilot.pause()
        for columns in (50, 34, 100):
            await pilot.resize_terminal(columns, 30)
            await pilot.pause(0.1)
            shown = " ".join(rows(app))
            assert all(f"word{n}" in shown for n in range(24)), columns


# -- drafts of several sessions ----------------------------------------------------------------------------------


async def test_each_session_has_its_own_draft_with_caret_undo_and_pastes():
    app = ComposerApp()
    async with app.run_test() as pilot:
        composer = app.composer
        await type_keys(pilot, "a")
        assert composer.show_draft("one")  # what was typed before the first session belongs to it
        assert composer.text == "a"
        composer.restore("one", "")
        app.post_message(events.Paste("line\n" * 50))
        await type_keys(pilot, "b", "left")
        composer.show_draft("two")
        assert composer.is_empty
        await type_keys(pilot, "ctrl+underscore")
        assert composer.is_empty  # undoing does not reach into the other's draft
        composer.restore("two", "")
        await type_keys(pilot, "二")
        composer.show_draft("one")
        assert composer.text == "a" + "line\n" * 50 + "b"
        await type_keys(pilot, "x")
        assert composer.text.endswith("xb")
        await type_keys(pilot, "ctrl+underscore", "ctrl+underscore", "ctrl+underscore")
        assert composer.text == "a"
        composer.show_draft("two")
        assert composer.text == "二"
        await pilot.pause()
        assert ("one", "a" + "line\n" * 50 + "b") in app.kept
        assert app.kept[-2:] == [("two", "二"), ("one", "a")]


async def test_a_draft_from_the_disk_stands_before_what_was_typed_meanwhile_and_comes_once():
    app = ComposerApp()
    async with app.run_test() as pilot:
        composer = app.composer
        assert composer.show_draft("one")
        await type_keys(pilot, "n", "e", "w")
        composer.restore("one", "kept")
        composer.restore("one", "again")
        assert composer.text == "kept\nnew"
        assert not composer.show_draft("one")
        assert composer.show_draft("two")
        composer.restore("one", "too late")
        assert composer.is_empty
        assert composer.show_draft("two")  # its own has not come yet
        composer.restore("two", "  \n")
        assert composer.is_empty
        assert not composer.show_draft("one")
        assert composer.text == "kept\nnew"


async def test_a_draft_is_told_when_the_keys_rest_and_at_once_when_it_is_sent_or_left():
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.show_draft("s")
        await type_keys(pilot, "a")
        app.set_focus(None)
        await pilot.pause()
        assert app.kept == []  # the disk may have more, and must not lose it
        app.composer.focus()
        app.composer.restore("s", "")
        await type_keys(pilot, "b")
        assert app.kept == []
        await pilot.pause(limits.DRAFT_REST * 3)
        assert app.kept == [("s", "ab")]
        await type_keys(pilot, "c")
        app.set_focus(None)
        await pilot.pause()
        assert app.kept[1:] == [("s", "abc")]
        app.composer.focus()
        await pilot.press("enter")
        await pilot.pause()
        assert app.kept[2:] == [("s", "")]
        await pilot.pause(limits.DRAFT_REST * 2)
        assert len(app.kept) == 3  # nothing is told twice


# -- in a real terminal -------------------------------------------------------------------------------------------


class Terminal:
    """The app in a pty, with a screen that shows what it draws."""

    def __init__(self, tmp_path, *arguments):
        self.report = tmp_path / "report"
        self.screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self.screen)
        environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
        command = ["-m", "tests.tui.composer_app", str(self.report), *map(str, arguments)]
        self.child = pexpect.spawn(
            sys.executable, command, env=environment, cwd=str(ROOT), dimensions=(24, 80), timeout=20
        )

    def __enter__(self):
        self.wait_for("/command")
        return self

    def __exit__(self, *exc):
        self.child.close(force=True)

    def wait_for(self, words, seconds=20):
        deadline = time.monotonic() + seconds
        while not any(words in row for row in self.screen.display):
            assert time.monotonic() < deadline, "\n".join(self.screen.display)
            self.read(0.1)

    def read(self, seconds):
        """Draw what comes within `seconds`, at least."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                self._stream.feed(self.child.read_nonblocking(65536, timeout=left))
            except pexpect.TIMEOUT:
                return
            except pexpect.EOF:  # its last words say why
                raise AssertionError("the app has ended:\n" + "\n".join(self.screen.display)) from None

    def press(self, *chunks, gap=0.08):
        """Write the chunks, one read each."""
        for chunk in chunks:
            self.child.send(chunk)
            self.read(gap)

    def notes(self):
        """End the app and give its notes."""
        self.child.send("\x1b[21~")  # F10
        self.child.expect(pexpect.EOF)
        return literal_eval(self.report.read_text(encoding="utf-8"))


F9 = "\x1b[20~"


def test_what_terminals_send_means_what_people_pressed(tmp_path):
    cases = {
        "burst of lines": (["a\nb\nc\n"], [], "a\nb\nc\n"),
        "burst with returns": (["a\rb\rc\r"], [], "a\nb\nc\n"),
        "bracketed": (["\x1b[200~a\nb\nc\n\x1b[201~"], [], "a\nb\nc\n"),
        "bracketed, many reads": (["\x1b[200~" + "中文 line\r" * 2000 + "\x1b[201~"], [], "中文 line\n" * 2000),
        "bracketed with escapes": (
            ["\x1b[200~one\rtwo\x1b[31mred\x1b[0m\rthree\tx\r\x1b[201~"],
            [],
            "one\ntwored\nthree\tx\n",
        ),
        "bracketed, with keys around": (["a\x1b[200~b\rc\x1b[201~d\x7f"], [], "ab\nc"),
        "bracketed, then sent": (["\x1b[200~b\x1b[1m\rc\x1b[201~\r"], [("send", "b\nc")], ""),
        "unmarked with colours": (["one\rtwo\x1b[31mred\x1b[0m\rthree\r"], [], "one\ntwored\nthree\n"),
        "input method": (["\x1b[49;;20320:22909u"], [], "你好"),
        "kitty shift+enter": (["a", "\x1b[13;2u", "b"], [], "a\nb"),
        "modifyOtherKeys shift+enter": (["a", "\x1b[27;2;13~", "b"], [], "a\nb"),
        "esc return": (["a", "\x1b\r", "b"], [], "a\nb"),
        "ctrl+j": (["a", "\n", "b"], [], "a\nb"),
        "backslash": (["a\\", "\r", "b"], [], "a\nb"),
        "a script's line": (["hello\r"], [("send", "hello")], ""),
        "ctrl+_": (["a", "\x1f"], [], ""),
        "typed, erased and sent in one read": (["ab\x7f\x7fcd\x1b[De\r"], [("send", "ced")], ""),
        "alt+1": (["x", "\x1b1", "y"], [], "xy"),
    }
    with Terminal(tmp_path) as terminal:
        for chunks, _, _ in cases.values():
            terminal.press(*chunks)
            terminal.press(F9, gap=0.15)
        notes = dict(zip(cases, terminal.notes(), strict=True))
    assert notes == {name: (posted, draft) for name, (_, posted, draft) in cases.items()}


def test_an_asking_panel_takes_nothing_from_somebody_who_is_typing(tmp_path):
    """Twenty keys a second with Enter, y and a among them, while the agent asks: no answer, all of it text."""
    text = "yes okay a y\ray ya\rn e y a"
    with Terminal(tmp_path, 0.4) as terminal:
        terminal.press(*text, gap=0.05)
        terminal.wait_for("Run this command?")
        terminal.press(F9, gap=0.15)
        ((posted, draft),) = terminal.notes()
    assert [how for how, _ in posted] == ["send", "send"]
    assert [words for _, words in posted] + [draft] == text.split("\r")


def test_the_draft_is_drawn_at_its_place(tmp_path):
    with Terminal(tmp_path) as terminal:
        terminal.press("ab 中文")
        terminal.wait_for("ab 中")
        row = next(row for row in terminal.screen.display if "ab 中" in row)
    assert row.startswith("  ▐ › ab 中")


TYPED = (
    Typed("review", "what it says itself", "[files]", place="built-in"),
    Typed("git:commit", "commit [b]all[/b]", place="yours"),
    Typed("deploy", "to the server", "<where>", kind="skill", place="project"),
    Typed("clear", "hidden by the action", place="project"),
)


async def test_own_commands_are_offered_behind_the_actions_with_what_they_are():
    app = ComposerApp()
    app.typed = TYPED
    async with app.run_test(size=(100, 24)) as pilot:
        await type_keys(pilot, "/", "d")
        await pilot.pause()
        shown = [row for row in rows(app) if "/d" in row]
        assert shown[-2].split() == ["/deploy", "<where>", "to", "the", "server", "skill,", "project"]
        await type_keys(pilot, "e", "p", "tab")
        assert app.composer.text == "/deploy "


@pytest.mark.parametrize(
    ("draft", "posted"),
    [
        ("/git:commit", [("send", "/git:commit")]),
        ("/git:commit now\nand here", [("send", "/git:commit now\nand here")]),
        ("/review", [("send", "/review")]),
        ("/clear", [("slash", "/clear")]),
    ],
)
async def test_own_commands_are_sent_as_messages_and_actions_stay_actions(draft, posted):
    app = ComposerApp()
    app.typed = TYPED
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.text = draft
        await pilot.pause()
        await pilot.press("escape", "enter")
        await pilot.pause()
        assert app.posted == posted


async def test_an_unknown_name_gives_the_nearest_of_ones_own_too():
    app = ComposerApp()
    app.typed = TYPED
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.text = "/git:comitt"
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted == []
        assert any("the nearest is /git:commit" in row for row in rows(app))


@pytest.mark.parametrize(("typed", "posted"), [(TYPED, [("send", "/git:commit")]), ((), [])])
async def test_a_command_sent_before_the_list_is_there_waits_for_it(typed, posted):
    app = ComposerApp()
    app.typed = None
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.text = "/git:commit"
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert (app.posted, app.composer.text) == ([], "/git:commit")
        app.composer.typed = typed
        await pilot.pause()
        assert app.posted == posted
        assert any("No command /git:commit" in row for row in rows(app)) == (not posted)
