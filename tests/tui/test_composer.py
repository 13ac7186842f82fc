"""The composer: what sends, what makes a line, what is kept; in the pilot and in a real terminal."""

import os
import sys
import time
from ast import literal_eval

import pexpect
import pyte
import pytest
from rich.cells import cell_len
from textual import events

from nanoherm_tui import compat
from nanoherm_tui.history import History
from nanoherm_tui.keymap import load_keymap
from tests.tui.composer_app import ComposerApp


def rows(app):
    """The screen's rows as text."""
    width, height = app.size
    strips = [app.screen._compositor.render_strips()[y] for y in range(height)]
    return ["".join(segment.text for segment in strip) for strip in strips]


async def type_text(pilot, text):
    for character in text:
        pilot.app.post_message(events.Key(character, character))
        await pilot.pause()


# -- sending and lines --------------------------------------------------------------------------------------------


async def test_enter_sends_and_empties_the_draft():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await pilot.press("h", "i", "enter")
        await pilot.pause()
        assert app.posted == [("send", "hi")]
        assert app.composer.is_empty


@pytest.mark.parametrize("key", ["shift+enter", "ctrl+j", "alt+enter", "shift+\r"])
async def test_these_make_a_new_line(key):
    app = ComposerApp()
    async with app.run_test() as pilot:
        await pilot.press("a", key, "b")
        assert app.composer.text == "a\nb"
        assert app.posted == []


async def test_a_backslash_before_enter_makes_a_new_line_and_two_send():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await pilot.press("a", "backslash", "enter", "b")
        assert app.composer.text == "a\nb"
        await pilot.press("backslash", "backslash", "enter")
        await pilot.pause()
        assert app.posted == [("send", "a\nb\\\\")]


async def test_a_blank_draft_is_not_sent():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await pilot.press("space", "ctrl+j", "enter")
        assert app.posted == []


async def test_tab_queues_only_while_a_turn_runs():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await pilot.press("a", "tab")
        assert app.posted == []
        app.composer.focus()
        app.composer.set_state("running")
        await pilot.press("tab")
        assert app.posted == [("queue", "a")]


async def test_a_remapped_key_works_and_the_old_one_no_longer():
    keymap, _ = load_keymap({"newline": "f8"})
    app = ComposerApp(keymap=keymap)
    async with app.run_test() as pilot:
        await pilot.press("a", "f8", "b", "ctrl+j", "c")
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
        await pilot.press("ctrl+y")
        assert app.composer.text == "abc"


async def test_ctrl_d_deletes_in_a_draft_and_is_left_to_the_app_without_one():
    heard = []

    class Listening(ComposerApp):
        def on_key(self, event):
            heard.append(event.key)

    app = Listening()
    async with app.run_test() as pilot:
        await pilot.press("a", "b", "home", "ctrl+d")
        assert app.composer.text == "b"
        assert "ctrl+d" not in heard
        await pilot.press("ctrl+d", "ctrl+d")
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
    parser = compat._ReadByRead()
    (event,) = parser.feed(data)
    assert isinstance(event, events.Paste)
    assert event.text == data


@pytest.mark.parametrize("data", ["hello\r", "\r", "\r\r", "y\rn", "hello", "a\x1b[A\rb\rc\r", "\x03\rlines\rof text"])
def test_keys_that_came_in_one_read_stay_keys(data):
    assert not any(isinstance(event, events.Paste) for event in compat._ReadByRead().feed(data))


@pytest.mark.parametrize("cut", range(1, 30, 3))
def test_a_marked_paste_is_one_paste_wherever_the_reads_cut_it(cut):
    text = "one line\rtwo lines\rthree\r"
    parser = compat._ReadByRead()
    data = f"x\x1b[200~{text}\x1b[201~y"
    seen = [event for part in (data[:cut], data[cut:]) for event in parser.feed(part)]
    assert [event.text for event in seen if isinstance(event, events.Paste)] == [text]
    assert [event.key for event in seen if isinstance(event, events.Key)] == ["x", "y"]


def test_after_a_marked_paste_lines_are_still_told_from_keys():
    parser = compat._ReadByRead()
    seen = [*parser.feed("\x1b[200~a\x1b[201~"), *parser.feed("b\rc\rd\r"), *parser.feed("e\r")]
    assert [type(event).__name__ for event in seen] == ["Paste", "Paste", "Key", "Key"]


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
        await pilot.resize_terminal(80, 12)
        await pilot.pause()
        assert app.composer.size.height == 6
        app.composer.clear_to_history()
        await pilot.pause()
        assert app.composer.size.height == 3


async def test_wide_text_wraps_at_the_edge_without_ghosts():
    app = ComposerApp()
    async with app.run_test(size=(31, 24)) as pilot:  # 20 cells for the draft and one for the caret
        draft = app.composer.query_one("#draft")
        assert draft.size.width == 21
        await type_text(pilot, "你" * 10 + "，")
        await pilot.pause()
        assert draft.size.height == 2
        assert app.cursor_position.x - draft.region.x == 2
        assert app.cursor_position.y - draft.region.y == 1
        for _ in range(11):
            await pilot.press("backspace")
        assert app.composer.is_empty
        assert not any("你" in row or "，" in row for row in rows(app))


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


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 10), (20, 6), (2, 2), (1, 1)])
@pytest.mark.parametrize("theme", ["nanoherm-dark", "ansi"])
async def test_every_row_is_as_wide_as_the_screen_and_no_glyph_is_ambiguous(size, theme):
    app = ComposerApp(theme=theme)
    async with app.run_test(size=size) as pilot:
        app.composer.set_state("running")
        app.composer.set_pending(("先看 [b]这个[/b]",), ("再跑一遍 mypy", "third", "fourth [/"))
        app.composer.insert("draft [/ 中文 [r")
        await pilot.pause()
        for row in rows(app):
            assert cell_len(row) == size[0]
            assert not set(row) & set("…·│─▌■●◐→×—")


async def test_the_bar_is_lit_only_while_the_composer_has_the_keyboard():
    app = ComposerApp()
    async with app.run_test(size=(60, 12)) as pilot:
        bar = app.composer.query_one("ComposerBar")
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
        for state, words in [("running", "Enter steer   Tab queue   Esc stop"), ("stopping", "Stopping")]:
            app.composer.set_state(state)
            await pilot.pause()
            assert any(words in row for row in rows(app)), state


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
        await pilot.press("home", "space")
        await pilot.pause()
        assert not any("No command" in row for row in rows(app))
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted == [("send", " /xyzzy [b]")]


# -- commands -----------------------------------------------------------------------------------------------------


async def test_a_command_is_completed_from_the_list_above():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("/", "e", "x")
        await pilot.pause()
        listed = [row for row in rows(app) if "/ex" in row]
        assert "/exit" in listed[0]
        assert "/export [path]" in listed[1]
        await pilot.press("down", "tab")
        assert app.composer.text == "/export "
        await pilot.press("x", "enter")
        await pilot.pause()
        assert app.posted == [("slash", "/export x")]
        assert app.composer.is_empty


async def test_enter_runs_the_chosen_command_but_waits_for_an_argument_it_needs():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("/", "h", "e", "enter")
        await pilot.pause()
        assert app.posted == [("slash", "/help")]
        await pilot.press("/", "r", "e", "n", "enter")
        await pilot.pause()
        assert app.composer.text == "/rename "
        assert len(app.posted) == 1


async def test_esc_hides_the_list_until_the_draft_is_another():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        popup = app.composer.query_one("SlashPopup")
        await pilot.press("/", "h")
        assert popup.is_open
        await pilot.press("escape")
        assert not popup.is_open
        assert app.composer.text == "/h"
        await pilot.press("backspace", "backspace", "/", "m")
        assert popup.is_open


# -- history ------------------------------------------------------------------------------------------------------


async def test_up_and_down_walk_the_history_at_the_edges_and_keep_the_draft(tmp_path):
    history = History(tmp_path / "history")
    history.add("first")
    history.add("second\nof two lines")
    app = ComposerApp(History(tmp_path / "history"))
    async with app.run_test() as pilot:
        await pilot.press("d", "up")
        assert app.composer.text == "second\nof two lines"
        await pilot.press("up")  # within the entry
        assert app.composer.text == "second\nof two lines"
        await pilot.press("up")
        assert app.composer.text == "first"
        await pilot.press("up")
        assert app.composer.text == "first"
        await pilot.press("down", "down")
        assert app.composer.text == "d"


async def test_what_was_sent_cleared_or_commanded_is_in_the_history(tmp_path):
    path = tmp_path / "history"
    app = ComposerApp(History(path))
    async with app.run_test() as pilot:
        await pilot.press("a", "enter", "b")
        app.composer.clear_to_history()
        await pilot.press("/", "h", "e", "l", "p", "enter")
        await pilot.pause()
    later = History(path)
    later.load()
    assert later.entries == ["a", "b", "/help"]


# -- in a real terminal -------------------------------------------------------------------------------------------


def in_terminal(tmp_path, chunks, *, ask_after=None, gap=0.25):
    """Start the app in a pty, write the chunks one read each, and give (posted, draft) when it has ended."""
    report = tmp_path / "report"
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": os.getcwd()}
    arguments = ["-m", "tests.tui.composer_app", str(report), *([str(ask_after)] if ask_after is not None else [])]
    child = pexpect.spawn(sys.executable, arguments, env=environment, dimensions=(24, 80), timeout=20)
    try:
        child.expect("/command")
        time.sleep(gap)
        for chunk in chunks:
            if isinstance(chunk, float):
                time.sleep(chunk)
            else:
                child.send(chunk)
        time.sleep(gap)
        child.send("\x1b[21~")  # F10
        child.expect(pexpect.EOF)
        return literal_eval(report.read_text(encoding="utf-8"))
    finally:
        child.close(force=True)


@pytest.mark.parametrize(
    ("chunks", "posted", "draft"),
    [
        (["a\nb\nc\n"], [], "a\nb\nc\n"),
        (["a\rb\rc\r"], [], "a\nb\nc\n"),
        (["\x1b[200~a\nb\nc\n\x1b[201~"], [], "a\nb\nc\n"),
        (["\x1b[200~" + "中文 line\r" * 2000 + "\x1b[201~"], [], "中文 line\n" * 2000),
        (["\x1b[49;;20320:22909u"], [], "你好"),
        (["a", 0.1, "\x1b[13;2u", 0.1, "b"], [], "a\nb"),
        (["a", 0.1, "\x1b[27;2;13~", 0.1, "b"], [], "a\nb"),
        (["a", 0.1, "\x1b\r", 0.1, "b"], [], "a\nb"),
        (["a", 0.1, "\n", 0.1, "b"], [], "a\nb"),
        (["a\\", 0.1, "\r", 0.1, "b"], [], "a\nb"),
        (["hello", 0.1, "\r"], [("send", "hello")], ""),
        (["abc", 0.1, "\x1f"], [], ""),
        (["x", 0.1, "\x1b1", 0.2, "y"], [], "xy"),
    ],
    ids=[
        "burst of lines", "burst with returns", "bracketed", "large bracketed", "input method", "kitty shift+enter",
        "modifyOtherKeys shift+enter", "esc return", "ctrl+j", "backslash", "plain return", "ctrl+_", "alt+1",
    ],
)  # fmt: skip
def test_what_terminals_send_means_what_people_pressed(tmp_path, chunks, posted, draft):
    assert in_terminal(tmp_path, chunks) == (posted, draft)


def test_an_asking_panel_takes_nothing_from_somebody_who_is_typing(tmp_path):
    """Twenty keys a second with Enter, y and a among them, while the agent asks: no answer, all of it text."""
    text = "yes okay a y\ray ya\rn e y a"
    chunks = [part for character in text for part in (character, 0.05)]
    posted, draft = in_terminal(tmp_path, chunks, ask_after=0.4)
    assert [how for how, _ in posted] == ["send", "send"]
    assert [words for _, words in posted] + [draft] == text.split("\r")


def test_the_screen_shows_the_draft_in_a_terminal(tmp_path):
    screen = pyte.Screen(80, 24)
    stream = pyte.ByteStream(screen)
    environment = {**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONPATH": os.getcwd()}
    child = pexpect.spawn(
        sys.executable,
        ["-m", "tests.tui.composer_app", str(tmp_path / "report")],
        env=environment,
        dimensions=(24, 80),
        timeout=20,
    )
    try:
        seen = child.read_nonblocking(65536, timeout=20)
        stream.feed(seen)
        child.expect("/command")
        stream.feed(child.before + child.after)
        child.send("ab 中文")
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and not any("ab 中" in row for row in screen.display):
            try:
                stream.feed(child.read_nonblocking(65536, timeout=0.2))
            except pexpect.TIMEOUT:
                continue
        row = next(row for row in screen.display if "ab 中" in row)
        assert row.startswith("  ▐ › ab 中")
        child.send("\x1b[21~")
        child.expect(pexpect.EOF)
    finally:
        child.close(force=True)
