"""What a terminal sends: pastes are told from keys, whatever the reads cut; the composer in a real terminal."""

import os
import re
import sys
import time
from ast import literal_eval
from pathlib import Path

import pexpect
import pyte
import pytest
from textual import events

from nanoherm_tui import limits
from nanoherm_tui.compat.reading import ReadByRead
from tests.rows import each_row
from tests.tui.composer_app import ComposerApp

ROOT = Path(__file__).parents[2]


# -- pasting ------------------------------------------------------------------------------------------------------


@each_row(
    "data",
    ["a\nb\nc\n", "a\rb\rc\r", "a\r\rc\r", "你\r好\rc", "\n\nindented", "first line\rsecond", "x\ty\r\nz\r\n"],
)
def test_lines_that_came_in_one_read_are_one_paste(data):
    parser = ReadByRead()
    (event,) = parser.feed(data)
    assert isinstance(event, events.Paste)
    assert event.text == re.sub("\r\n?", "\n", data)


@each_row("data", ["hello\r", "\r", "\r\r", "y\rn", "hello", "a\x1b[A\rb\rc\r", "\x03\rlines\rof text"])
def test_keys_that_came_in_one_read_stay_keys(data):
    assert not any(isinstance(event, events.Paste) for event in ReadByRead().feed(data))


@each_row("cut", range(1, 30, 3))
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

    def note(self):
        """Have the app note what it has now; what is sent after that belongs to the next note."""
        before, deadline = self._noted(), time.monotonic() + 20
        self.press(F9)
        while len(self._noted()) == len(before):
            assert time.monotonic() < deadline, "nothing was noted"
            self.read(0.02)

    def _noted(self):
        return literal_eval(self.report.read_text(encoding="utf-8")) if self.report.exists() else []

    def notes(self):
        """End the app and give its notes."""
        self.child.send("\x1b[21~")  # F10
        self.child.expect(pexpect.EOF)
        return self._noted()


F9 = "\x1b[20~"


SENTENCE = "春眠不觉晓，处处闻啼鸟。夜来风雨声，花落知多少。👩\u200d💻"
UNPRINTABLE = "全角\u3000空格 👩\u200d💻 می\u200cخواهم \U0001fae8 a\u00a0b"
"""The blank of Chinese typing, joiners, an emoji younger than Python, a blank that does not break."""


def commit(text):
    """As an input method commits it where the terminal speaks the kitty protocol."""
    return f"\x1b[49;;{':'.join(str(ord(one)) for one in text)}u"


def parts(data):
    """In reads of a few bytes, as over a slow line."""
    return (data[at : at + 9] for at in range(0, len(data), 9))


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
        "input method, a sentence": (
            ["a", commit(SENTENCE), "b" + commit("好。") + "\r"],
            [("send", f"a{SENTENCE}b好。")],
            "",
        ),
        "input method, in parts": (list(parts(commit(SENTENCE))), [], SENTENCE),
        "characters Python cannot print": (list(UNPRINTABLE), [], UNPRINTABLE),
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
            terminal.note()
        notes = dict(zip(cases, terminal.notes(), strict=True))
    assert notes == {name: (posted, draft) for name, (_, posted, draft) in cases.items()}


def test_an_asking_panel_takes_nothing_from_somebody_who_is_typing(tmp_path):
    """Twenty keys a second with Enter, y and a among them, while the agent asks: no answer, all of it text."""
    text = "yes okay a y\ray ya\rn e y a"
    with Terminal(tmp_path, 0.4) as terminal:
        terminal.press(*text, gap=0.05)
        terminal.wait_for("Run this command?")
        terminal.note()
        ((posted, draft),) = terminal.notes()
    assert [how for how, _ in posted] == ["send", "send"]
    assert [words for _, words in posted] + [draft] == text.split("\r")


def test_the_draft_is_drawn_at_its_place(tmp_path):
    with Terminal(tmp_path) as terminal:
        terminal.press("ab 中文")
        terminal.wait_for("ab 中")
        row = next(row for row in terminal.screen.display if "ab 中" in row)
    assert row.startswith("  ▐ › ab 中")
