"""The composer: what sends, what makes a line, how it is drawn, what is kept."""

import pytest
from rich.cells import cell_len
from textual import events
from textual.geometry import Offset, Region
from textual.widgets import TextArea

from nanoherm_tui import i18n, limits
from nanoherm_tui.history import History
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import load_keymap
from nanoherm_tui.panes.composer_rows import PendingRows
from tests.tui.composer_app import ComposerApp, rows, type_keys

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


@pytest.mark.parametrize(
    ("high", "shown"), [(36, ["1 more", "steer a", "steer b", "steer c"]), (24, ["3 more", "steer c"])]
)
async def test_on_a_low_screen_what_waits_leaves_room_for_a_question_and_its_field(high, shown):
    app = ComposerApp()
    async with app.run_test(size=(80, high)) as pilot:
        app.composer.set_pending(("first", "steer a", "steer b", "steer c"), ())
        await pilot.pause()
        lines = [strip.text for strip in app.composer.query_one(PendingRows).rows(60)]
        assert [words for words, line in zip(shown, lines, strict=True) if words in line] == shown


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


async def test_an_empty_line_in_a_selection_is_drawn_without_block_glyphs():
    app = ComposerApp()
    async with app.run_test(size=(60, 24)) as pilot:
        app.composer.insert("one\n\nthree")
        await pilot.pause()
        await type_keys(pilot, "shift+up", "shift+up", "shift+home")
        await pilot.pause()
        assert app.composer.selected_text == "one\n\nthree"
        assert not set("".join(rows(app))) & set("▌")


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


# -- drafts of several sessions -----------------------------------------------------------------------------------


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
