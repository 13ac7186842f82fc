"""The list of files over the composer: when it opens, what its keys do, what taking writes, what lines are told."""

import asyncio
import time
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual import events
from textual.screen import Screen

from agent_core.workspace.index import Answer, FileIndex, Hit
from nanoherm_tui.file_picker import FilePicker
from nanoherm_tui.overlays.mention import fitted
from tests.rows import each_row
from tests.tui.composer_app import ComposerApp, rows

WAIT = 20.0


class Picking(ComposerApp):
    """The composer over the files of a folder."""

    def __init__(self, root, **options):
        super().__init__(**options)
        self.root = root
        self.previews = []

    def on_mount(self):
        super().on_mount()
        self.picker = FilePicker(asyncio.get_running_loop())
        self.picker.show(self.root, FileIndex)
        self.composer.mention.files = self.picker

    def on_unmount(self):
        self.picker.close()

    def on_mention_popup_preview_requested(self, message):
        self.previews.append((message.path, message.first, message.last))


NAMES = {
    "#": "number_sign",
    "@": "at",
    " ": "space",
    "/": "slash",
    ".": "full_stop",
    "-": "minus",
    '"': "quotation_mark",
}


async def type_in(pilot, text, *keys):
    for character in text:
        pilot.app.post_message(events.Key(NAMES.get(character, character), character))
    for key in keys:
        pilot.app.post_message(events.Key(key, None))
    await pilot.pause()


async def until(pilot, fits):
    deadline = time.monotonic() + WAIT
    while not fits():
        assert time.monotonic() < deadline, "\n".join(rows(pilot.app))
        await pilot.pause(0.01)


def listed(app):
    """What the list shows."""
    popup = app.composer.mention
    return [strip.text.strip(" ▐") for strip in popup.rows(popup.size.width)] if popup.is_open else []


async def answered(pilot, query):
    """Wait for the whole answer to what is typed."""
    popup = pilot.app.composer.mention
    await until(pilot, lambda: popup._answer and popup._answer.query == query and popup._answer.count is not None)
    await pilot.pause()


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "账本"
    for path in ("src/date.py", "src/ledger/parse_date.py", "my notes.md", "日期说明.md", "README.md"):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("line\n" * 30, encoding="utf-8")
    return root


async def test_an_at_sign_lists_the_files_and_letters_narrow_them(root):
    app = Picking(root)
    async with app.run_test(size=(80, 24)) as pilot:
        await type_in(pilot, "look at @")
        await answered(pilot, "")
        assert listed(app)[-1].endswith("7 of 7")
        await type_in(pilot, "dat")
        await answered(pilot, "dat")
        assert listed(app)[:2] == ["src/date.py", "src/ledger/parse_date.py"]
        assert listed(app)[-1].endswith("2 of 7")
        screen = rows(app)
        assert all(cell_len(line) == 80 for line in screen)


async def test_letters_lay_the_screen_out_anew_only_when_the_list_becomes_longer_or_shorter(root, monkeypatch):
    for number in range(30):
        (root / f"date_{number}.md").touch()
    app, laid_out = Picking(root), []
    lay_out = Screen._refresh_layout

    def counted(screen, *args, **options):
        laid_out.append(app.composer.text)
        lay_out(screen, *args, **options)

    async with app.run_test(size=(80, 24)) as pilot:
        await type_in(pilot, "@d")
        await answered(pilot, "d")
        monkeypatch.setattr(Screen, "_refresh_layout", counted)
        for query in ("da", "dat", "date", "date_"):
            await type_in(pilot, query[-1])
            await answered(pilot, query)
        assert laid_out == []
        await type_in(pilot, "17")
        await answered(pilot, "date_17")
        assert laid_out
        assert listed(app) == ["date_17.md", listed(app)[-1]]
        assert [line.find("date_17.md") >= 0 for line in rows(app)].count(True) == 1


@pytest.mark.parametrize("key", ["enter", "tab"])
async def test_enter_and_tab_take_the_chosen_file_and_send_nothing(root, key):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "fix @dat")
        await answered(pilot, "dat")
        await type_in(pilot, "", "down", key)
        assert app.composer.text == "fix @src/ledger/parse_date.py "
        assert listed(app) == []
        await type_in(pilot, "now", "enter")
        assert app.posted == [("send", "fix @src/ledger/parse_date.py now")]


async def test_enter_before_the_answer_takes_what_comes(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@parse", "enter")
        await until(pilot, lambda: app.composer.text == "@src/ledger/parse_date.py ")
        assert app.posted == []


class Slow:
    """Files that answer when told to."""

    def __init__(self):
        self.asked = []
        self.rest = self.count_lines = self.taken = lambda *args: None

    def ask(self, query, then):
        self.asked.append((query, then))


async def test_letters_after_an_early_enter_take_it_back(root):
    app, slow = Picking(root), Slow()
    async with app.run_test() as pilot:
        app.composer.mention.files = slow
        await type_in(pilot, "@pars", "enter")
        await type_in(pilot, "e")
        query, then = slow.asked[-1]
        then(Answer(query, (Hit("parse_date.py", ()),), 1, 1))
        await pilot.pause()
        assert app.composer.text == "@parse"
        await type_in(pilot, "", "enter")
        assert app.composer.text == "@parse_date.py "


async def test_enter_waits_until_the_best_is_known_and_the_one_moved_to_stays(root):
    app, slow = Picking(root), Slow()
    early = Answer("a", (Hit("la", ()), Hit("ba", ())), None, 9, settled=False)
    whole = Answer("a", (Hit("a", ()), Hit("ba", ()), Hit("la", ())), 3, 9)
    async with app.run_test() as pilot:
        app.composer.mention.files = slow
        await type_in(pilot, "@a")
        slow.asked[-1][1](early)
        await type_in(pilot, "", "enter")
        assert app.composer.text == "@a"
        slow.asked[-1][1](whole)
        await type_in(pilot, "@a")
        assert app.composer.text == "@a @a"
        slow.asked[-1][1](early)
        await type_in(pilot, "", "down")
        slow.asked[-1][1](whole)
        await pilot.pause()
        assert app.composer.mention.chosen == Hit("ba", ())


async def test_files_changed_in_the_session_count_as_used_lately(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        app.picker.taken("my notes.md")
        app.picker.changed(["src/date.py", "README.md"])  # the last one first
        await type_in(pilot, "@")
        await answered(pilot, "")
        assert listed(app)[:3] == ["src/date.py", "README.md", "my notes.md"]
        await type_in(pilot, "", "escape")
        app.picker.taken("my notes.md")
        app.picker.changed(["日期说明.md", "src/date.py", "README.md"])  # only the first is new
        await type_in(pilot, " @")
        await answered(pilot, "")
        assert listed(app)[:4] == ["日期说明.md", "my notes.md", "src/date.py", "README.md"]


async def test_a_path_written_in_full_is_sent_with_enter(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@src/date.py")
        await answered(pilot, "src/date.py")
        await type_in(pilot, "", "enter")
        assert app.posted == [("send", "@src/date.py")]


async def test_a_name_no_file_has_is_said_and_sent(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@zzz")
        await answered(pilot, "zzz")
        assert listed(app)[0].startswith("No file fits zzz.")
        await type_in(pilot, "", "enter")
        assert app.posted == [("send", "@zzz")]


async def test_a_folder_is_gone_on_in(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@sr")
        await answered(pilot, "sr")
        await type_in(pilot, "", "tab")
        await answered(pilot, "src/")
        assert app.composer.text == "@src/"
        assert listed(app)[0] in ("src/date.py", "src/ledger/")
        await type_in(pilot, "pars")
        await answered(pilot, "src/pars")
        await type_in(pilot, "", "tab")
        assert app.composer.text == "@src/ledger/parse_date.py "


async def test_escape_closes_for_this_word_and_the_next_opens_again(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@da")
        await answered(pilot, "da")
        await type_in(pilot, "", "escape")
        assert listed(app) == []
        await type_in(pilot, "te")
        await pilot.pause(0.1)
        assert listed(app) == []
        await type_in(pilot, " @da")
        await answered(pilot, "da")
        assert listed(app)


async def test_the_list_follows_the_caret_away_and_back(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "a @da")
        await answered(pilot, "da")
        await type_in(pilot, "", "home")
        assert listed(app) == []
        await type_in(pilot, "", "end")
        await answered(pilot, "da")
        assert listed(app)


async def test_a_path_with_blanks_is_quoted_and_survives(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@notes")
        await answered(pilot, "notes")
        await type_in(pilot, "", "tab")
        assert app.composer.text == '@"my notes.md" '
        await type_in(pilot, "#2-3")
        assert app.composer.text == '@"my notes.md"#2-3'
        await until(pilot, lambda: listed(app) == ["Lines 2 to 3"])


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("", "Lines: 20, or 20-45, of 30"),
        ("4-", "Lines: 20, or 20-45, of 30"),
        ("4-30", "Lines 4 to 30"),
        ("0", "Lines are counted from 1."),
        ("9-4", "The lines run backwards: 4-9?"),
        ("4-31", "The file has only 30 lines."),
    ],
)
async def test_a_hash_behind_a_taken_file_asks_for_lines(root, lines, words):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@date.py")
        await answered(pilot, "date.py")
        await type_in(pilot, "", "tab")
        await type_in(pilot, "#" + lines)
        assert app.composer.text == f"@src/date.py#{lines}"
        await until(pilot, lambda: listed(app) == [words])
        await type_in(pilot, "", "enter")
        assert app.posted == [("send", f"@src/date.py#{lines}")]


async def test_a_hash_anywhere_else_is_a_hash(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@date.py")
        await answered(pilot, "date.py")
        await type_in(pilot, "", "tab")
        await type_in(pilot, "see #12")
        assert app.composer.text == "@src/date.py see #12"


async def test_lines_of_a_file_that_is_not_there_are_told_so(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@gone.py#1")
        await until(pilot, lambda: listed(app) == ["No text file gone.py."])


async def test_the_preview_key_asks_for_the_chosen_file_or_its_lines(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@date.py")
        await answered(pilot, "date.py")
        await type_in(pilot, "", "f4", "tab")
        await type_in(pilot, "#2-9", "f4")
        assert app.previews == [("src/date.py", 0, 0), ("src/date.py", 2, 9)]
        await type_in(pilot, " ", "f4")
        assert len(app.previews) == 2


async def test_keys_move_through_the_list_and_a_fuller_answer_keeps_the_choice(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        popup = app.composer.mention
        await type_in(pilot, "@")
        await answered(pilot, "")
        await type_in(pilot, "", "down", "down")
        chosen = popup.chosen.path
        (root / "AAA").write_text("")
        await until(pilot, lambda: popup._answer.total == 8)
        assert popup.chosen.path == chosen
        await type_in(pilot, "", "pagedown", "pagedown")
        assert popup.at == 7
        await type_in(pilot, "", "pageup", "pageup", "up")
        assert popup.at == 7  # round the end


async def test_what_was_taken_is_offered_first_the_next_time(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@date.py")
        await answered(pilot, "date.py")
        await type_in(pilot, "", "tab")
        await type_in(pilot, "and @")
        await answered(pilot, "")
        assert listed(app)[0] == "src/date.py"


async def test_the_home_folder_is_said_to_be_too_wide(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    app = Picking(tmp_path)
    async with app.run_test(size=(100, 24)) as pilot:
        await type_in(pilot, "@a")
        await until(pilot, lambda: listed(app) != [])
        assert listed(app) == ["The home folder is too wide to search. Start in a project, or write the path."]


async def test_on_the_narrowest_screen_the_list_costs_nobody_the_program(root):
    app = Picking(root)
    async with app.run_test(size=(1, 12)) as pilot:
        for width in range(1, 12):
            await pilot.resize_terminal(width, 12)
            app.composer.clear_to_history()
            await type_in(pilot, "@")
            await answered(pilot, "")
            assert {cell_len(row) for row in rows(app)} == {width}


async def test_while_it_is_read_the_number_so_far_is_shown(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "@da")
        await answered(pilot, "da")
        popup = app.composer.mention
        popup._answered(Answer("da", (Hit("date", (0, 1)),), None, 45_000, growing=True))
        await pilot.pause()
        assert listed(app)[-1].endswith("indexing 45,000")
        popup._answered(Answer("other", (), 0, 45_000))  # to a question asked before
        assert listed(app)[0] == "date"


async def test_an_address_or_a_version_opens_nothing(root):
    app = Picking(root)
    async with app.run_test() as pilot:
        await type_in(pilot, "me@example pkg@1")
        await pilot.pause(0.1)
        assert listed(app) == []
        assert app.picker._index is None  # nobody has asked: nothing is read


@each_row(
    ("path", "places", "cells", "shown", "marked"),
    [
        ("src/date.py", (4, 5), 20, "src/date.py", "da"),
        ("source/ledger/dates.py", (0, 14, 15), 16, "source⋯/dates.py", "sda"),
        ("源码/账本/日期.py", (6, 7), 13, "源码⋯/日期.py", "日期"),
        ("a/averylongfilename.py", (2, 20, 21), 10, "⋯lename.py", "py"),
        ("tools/deep/er/", (11, 12), 10, "tools⋯/er/", "er"),
        ("odd\x1b/x", (0,), 20, "odd\\x1b/x", ""),
    ],
)
def test_a_long_path_is_cut_in_its_middle_and_the_marks_follow(path, places, cells, shown, marked):
    words, at, name = fitted(path, places, cells)
    assert (words, "".join(words[place] for place in sorted(at))) == (shown, marked)
    assert cell_len(words) <= cells
    assert Path(path).name[-4:] in words[name:] or "\x1b" in path
