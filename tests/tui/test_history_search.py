"""Ctrl+R: what was sent before, by any part of it, into the draft."""

import random
import time

import pytest
from rich.cells import cell_len

from nanoherm_tui import i18n
from nanoherm_tui.history import History
from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.history import Search, place, shown
from tests.e2e.screen import SLACK
from tests.rows import each_row
from tests.tui.composer_app import ComposerApp, rows, type_keys
from tests.tui.test_chips import LONG, draft_of, paste

SENT = ["fix the Parser", "/model qwen3", "修复解析器", "first\nsecond 解析\nthird", "run pytest -q", "fix the Parser"]


def history():
    kept = History(None)
    for text in SENT:
        kept.add(text)
    return kept


@each_row(
    ("query", "found"),
    [
        ("", ["fix the Parser", "run pytest -q", "first\nsecond 解析\nthird", "修复解析器", "/model qwen3"]),
        ("解析", ["first\nsecond 解析\nthird", "修复解析器"]),
        ("parser", ["fix the Parser"]),
        ("Parser", ["fix the Parser"]),
        ("PARSER", []),
        ("pyt", ["run pytest -q"]),
        ("st\nsec", ["first\nsecond 解析\nthird"]),
        (".*", []),  # letters as they are
        ("/m", ["/model qwen3"]),
    ],
)
def test_entries_are_found_by_any_part_newest_first_and_each_once(query, found):
    assert Search(SENT).find(query) == found


@pytest.mark.parametrize(
    ("query", "entry", "words", "marked"),
    [
        ("pars", "fix the Parser", "fix the Parser", "Pars"),
        ("二", "一\n二\n三", "一 二 三", "二"),
        ("needle", "x" * 3_000 + " needle " + "y" * 3_000, None, "needle"),
        ("ı", "İı mark", "İı mark", "ı"),  # a capital whose small letter is two characters
        ("\x1b[2j", "a\x1b[2Jb", None, ""),
    ],
)
def test_an_entry_is_shown_on_one_line_with_the_hit_in_view(query, entry, words, marked):
    line, at = shown(query, entry)
    assert words is None or line == words
    assert "\x1b" not in line
    assert "\n" not in line
    assert line[at : at + len(query)] == marked if marked else at == -1
    assert at < 60


def test_case_counts_as_soon_as_there_is_a_capital():
    assert place("a", "xA") == 1
    assert place("A", "xa") == -1


def test_a_key_among_ten_thousand_entries_is_answered_within_ten_milliseconds():
    rng = random.Random(7)
    words = [
        "fix",
        "the",
        "parser",
        "修复",
        "时区",
        "pytest",
        "-q",
        "refactor",
        "database",
        "please",
        "looking",
        "会话",
    ]
    entries = [f"{n} " + " ".join(rng.choices(words, k=12)) for n in range(10_000)]
    search = Search(entries)
    took = []
    for query in ("t", "th", "the", "时", "时区", "the 时区", "Q", "zzz", "9", "99"):
        began = time.thread_time()
        search.find(query)
        took.append(time.thread_time() - began)
    assert sorted(took)[len(took) // 2] < 0.010 * SLACK
    assert max(took) < 0.100 * SLACK


async def test_searching_goes_to_older_hits_and_enter_takes_one_into_the_draft_without_sending():
    app = ComposerApp(history())
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, "d", "ctrl+r")
        await pilot.pause()
        assert any("fix the Parser" in row for row in rows(app))
        await type_keys(pilot, *"解析")
        await pilot.pause()
        listed = [row for row in rows(app) if "解析" in row]
        assert "first second 解析 third" in listed[0]
        assert "3 lines" in listed[0]
        assert "修复解析器" in listed[1]
        assert "› 解析" not in "".join(rows(app))  # the sign before it is another
        await type_keys(pilot, "ctrl+r", "down", "up", "up", "enter")
        await pilot.pause()
        assert app.composer.text == "first\nsecond 解析\nthird"
        assert app.posted == []
        assert not app.composer.query_one("HistoryPopup").is_open
        await type_keys(pilot, "ctrl+underscore")
        assert app.composer.text == "d"


async def test_esc_gives_the_draft_back_with_its_pastes_its_caret_and_its_undo():
    app = ComposerApp(history())
    async with app.run_test() as pilot:
        await type_keys(pilot, "a")
        await paste(pilot, LONG)
        await type_keys(pilot, "b", "left")
        before = draft_of(app).text, draft_of(app).selection
        await type_keys(pilot, "ctrl+r", *"fix")
        assert app.composer.text == f"a{LONG}b"  # what a crash or a switch would keep
        assert not app.composer.is_empty
        await type_keys(pilot, "escape")
        assert (draft_of(app).text, draft_of(app).selection) == before
        await type_keys(pilot, "ctrl+underscore", "ctrl+underscore")
        assert app.composer.text == "a"


@pytest.mark.parametrize("query", ["?", "/", "!", "@", "a b", "!!"])
async def test_signs_that_mean_something_in_a_draft_are_letters_here(query):
    kept = History(None)
    kept.add(f"before {query} after")
    app = ComposerApp(kept)
    async with app.run_test() as pilot:
        names = {"?": "question_mark", "/": "slash", " ": "space"}
        await type_keys(pilot, "ctrl+r", *[names.get(letter, letter) for letter in query], "enter")
        assert app.composer.text == f"before {query} after"
        assert app.posted == []


async def test_without_a_hit_enter_does_nothing_and_the_reason_is_said():
    app = ComposerApp(history())
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, "d", "ctrl+r", *"zzz[b]")
        await pilot.pause()
        assert any("Nothing you sent holds zzz[b]." in row for row in rows(app))
        await type_keys(pilot, "enter", "down")
        assert app.composer.query_one("HistoryPopup").is_open
        await type_keys(pilot, "escape")
        assert app.composer.text == "d"
    app = ComposerApp(History(None))
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, "ctrl+r")
        await pilot.pause()
        assert any(t("composer.history_empty") in row for row in rows(app))


@pytest.mark.parametrize("leave", ["clear", "text", "bring back", "focus", "session"])
async def test_whatever_else_happens_to_the_draft_ends_the_search(leave):
    app = ComposerApp(history())
    async with app.run_test() as pilot:
        app.composer.show_draft("one")
        await type_keys(pilot, "d", "ctrl+r", *"fix")
        if leave == "clear":
            app.composer.clear_to_history()
        elif leave == "text":
            app.composer.text = "new"
        elif leave == "bring back":
            app.composer.bring_back("back")
        elif leave == "focus":
            app.set_focus(None)
            await pilot.pause()
        else:
            app.composer.show_draft("two")
            assert app.composer.is_empty
            app.composer.show_draft("one")
        expected = {"text": "new", "bring back": "back\nd"}
        assert app.composer.text == expected.get(leave, "d")
        assert not app.composer.query_one("HistoryPopup").is_open
        assert not any("fix" in text for _, text in app.kept)  # what was looked for is no draft


@pytest.mark.parametrize("language", i18n.LANGUAGES)
async def test_the_list_keeps_to_the_screen_at_every_size(language):
    i18n.set_language(language)
    kept = history()
    for n in range(30):
        kept.add(f"{n} " + "很长的一条消息 with words " * 20)
    app = ComposerApp(kept)
    async with app.run_test(size=(120, 36)) as pilot:
        await type_keys(pilot, "ctrl+r", *"消息")
        for size in ((120, 36), (80, 24), (40, 10), (20, 6), (4, 3), (1, 1)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            drawn = rows(app)
            assert all(cell_len(row) == size[0] for row in drawn)
            assert not set("".join(drawn)) & set("…·│─▌■●◐→×—")
            if size[0] >= 40:
                assert sum("消息 with" in row for row in drawn) >= 3
                assert any(t("composer.history_take") in row for row in drawn)
