"""Long pastes as chips: one unit in the draft, and always the whole text wherever the draft goes."""

import time

import pytest
from rich.cells import cell_len
from textual import events

from nanoherm_tui import i18n, limits
from nanoherm_tui.history import History
from nanoherm_tui.panes import chips
from nanoherm_tui.panes.chips import Chips
from tests.tui.composer_app import ComposerApp, rows, type_keys

LONG = "".join(f"第 {n} 行 line\n" for n in range(120))


def draft_of(app):
    return app.composer.query_one("#draft")


async def paste(pilot, text):
    draft_of(pilot.app)._pasted = None  # a paste of its own, however soon after another
    pilot.app.post_message(events.Paste(text))
    await pilot.pause()


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("short", False),
        ("eight\n" * 8, False),
        ("nine\n" * 9, True),
        ("x" * 1_000, False),
        ("字" * 1_001, True),
    ],
)
def test_many_lines_or_many_characters_make_a_chip(text, long):
    assert chips.is_long(text) == long


@pytest.mark.parametrize("text", [LONG, "x" * 5_000, "\n" * 40, "lone \ud83d " * 500, "[120 lines, 4.1 KB #1]\n" * 30])
def test_a_folded_text_comes_back_exactly(text):
    folded = Chips()
    label = folded.fold(text, "")
    assert len(label) < 40
    assert folded.expand(f"before {label} after") == f"before {text} after"
    assert folded.expand(folded.refold(f"a{text}b")) == f"a{text}b"
    assert len(folded.refold(f"a{text}b")) < 50


def test_two_chips_are_told_apart_even_when_their_texts_are_as_long():
    folded = Chips()
    one, two = "a\n" * 20, "b\n" * 20
    first = folded.fold(one, "")
    second = folded.fold(two, first)
    third = folded.fold(two, "")  # in a draft where the first is gone
    assert folded.expand(f"{second}-{first}-{third}") == f"{two}-{one}-{two}"


def test_chips_within_the_text_of_another_come_back_too():
    folded = Chips()
    inner = "inner\n" * 12
    folded.fold(inner, "")
    outer = f"head\n{inner}tail\n" * 3
    folded.fold(outer, "")
    assert folded.expand(folded.refold(outer + inner)) == outer + inner


async def test_a_long_paste_is_one_unit_for_the_caret_and_for_backspace_and_undo_brings_it_back():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        draft = draft_of(app)
        await type_keys(pilot, "a")
        await paste(pilot, LONG)
        await type_keys(pilot, "b")
        assert app.composer.text == f"a{LONG}b"
        assert any("a[120 lines, 1.9 KB #1]b" in row for row in rows(app))
        end = draft.cursor_location[1]
        await type_keys(pilot, "left", "left")
        assert draft.cursor_location == (0, 1)
        await type_keys(pilot, "right")
        assert draft.cursor_location == (0, end - 1)
        for there, back in (("ctrl+left", "ctrl+right"), ("home", "end")):
            await type_keys(pilot, there)
            assert draft.cursor_location[1] in (0, 1)
            await type_keys(pilot, back)
            assert draft.cursor_location[1] in (end - 1, end)
        await type_keys(pilot, "end", "left", "backspace")
        assert app.composer.text == "ab"
        await type_keys(pilot, "ctrl+underscore")
        assert app.composer.text == f"a{LONG}b"
        await type_keys(pilot, "alt+z")
        assert app.composer.text == "ab"
        await type_keys(pilot, "ctrl+underscore", "home", "right", "delete")
        assert app.composer.text == "ab"


@pytest.mark.parametrize("steps", [0, 1])
async def test_no_edit_leaves_half_a_chip(steps):
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        for key in ("ctrl+w", "ctrl+u", "ctrl+k", "ctrl+x", "shift+left", "shift+home"):
            app.composer.clear_to_history()
            await type_keys(pilot, "a", "space")
            await paste(pilot, LONG)
            await type_keys(pilot, *["left"] * steps, key, "x")
            text = app.composer.text
            assert text.replace(LONG, "") in ("a x", "a ", "ax", "x", "xa ", "a x\n"), (key, text)
            assert "lines" not in text, key
            assert text.count("第 ") in (0, 120), key


async def test_a_change_that_reaches_into_a_chip_takes_the_whole_of_it_and_what_is_put_in_comes_behind_it():
    app = ComposerApp()
    async with app.run_test() as pilot:
        draft = draft_of(app)
        for begin, end, words, left in (
            (4, 7, "x", "axb"),  # within
            (0, 4, "x", "xb"),  # from before it
            (4, None, "x", "ax"),  # to behind it
            (0, None, "x", "x"),  # around it
            (4, 4, "x", f"a{LONG}xb"),
            (4, 4, "", f"a{LONG}b"),
        ):
            draft.load_text("")
            await type_keys(pilot, "a")
            await paste(pilot, LONG)
            await type_keys(pilot, "b")
            to = len(draft.document[0]) if end is None else end
            draft.replace(words, (0, begin), (0, to), maintain_selection_offset=False)
            assert app.composer.text == left, (begin, end)


async def test_a_click_within_a_chip_puts_the_caret_at_its_nearer_end():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await paste(pilot, LONG)
        draft = draft_of(app)
        for x, expected in ((2, 0), (20, len(draft.document[0]))):
            await pilot.click("#draft", offset=(x, 0))
            assert draft.cursor_location[1] == expected


@pytest.mark.parametrize(
    "leave",
    ["send", "queue", "history", "clear", "copy", "cut", "cut line", "selection", "draft on disk", "other session"],
)
async def test_wherever_a_draft_goes_a_chip_goes_as_its_text(leave, tmp_path):
    app = ComposerApp(History(tmp_path / "history"))
    async with app.run_test() as pilot:
        composer = app.composer
        composer.show_draft("one")
        composer.restore("one", "")
        await type_keys(pilot, "a")
        await paste(pilot, LONG.rstrip())
        whole = "a" + LONG.rstrip()
        if leave == "queue":
            composer.set_state("running")
        keys = {"send": "enter", "queue": "tab", "history": "enter", "cut line": "ctrl+x"}
        if leave in keys:
            await type_keys(pilot, keys[leave])
        came = None
        if leave in ("send", "queue"):
            ((_, came),) = app.posted
        elif leave == "history":
            later = History(tmp_path / "history")
            later.load()
            (came,) = later.entries
            await type_keys(pilot, "up")
            assert composer.text == whole
        elif leave == "clear":
            composer.clear_to_history()
            await type_keys(pilot, "up")
            came = composer.text
        elif leave in ("copy", "cut"):
            draft_of(app).select_all()
            await type_keys(pilot, "ctrl+x" if leave == "cut" else "super+c")
            came = app.clipboard if leave == "cut" else composer.selected_text
        elif leave == "cut line":
            came = app.clipboard.removesuffix("\n")
            assert composer.is_empty
        elif leave == "selection":
            draft_of(app).select_all()
            came = composer.selected_text
        elif leave == "draft on disk":
            composer.tell_draft()
            await pilot.pause()
            ((_, came),) = app.kept
        elif leave == "other session":
            composer.show_draft("two")
            composer.show_draft("one")
            came = composer.text
        assert came == whole


async def test_a_text_that_comes_back_is_folded_as_it_was():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, "a")
        await paste(pilot, LONG.rstrip())
        await type_keys(pilot, "enter")
        ((_, sent),) = app.posted
        app.composer.bring_back(sent)
        await pilot.pause()
        assert app.composer.text == sent
        assert any("a[120 lines, 1.9 KB #1]" in row for row in rows(app))


async def test_a_label_typed_or_pasted_is_only_text():
    app = ComposerApp()
    async with app.run_test() as pilot:
        await paste(pilot, LONG)
        await type_keys(pilot, *"[120 lines, 1.9 KB #1]")
        label = draft_of(app).document[0][: draft_of(app).document[0].index("]") + 1]
        await paste(pilot, label)  # with its very marks
        app.composer.insert(label)
        assert app.composer.text.startswith(LONG + "[120 lines, 1.9 KB #1]")
        assert app.composer.text.count("第 0 行") == 1


async def test_a_command_hidden_in_a_paste_is_a_message():
    app = ComposerApp()
    async with app.run_test() as pilot:
        for text in ("/delete\n" * 20, "!rm -rf x\n" * 20):
            await paste(pilot, text)
            await type_keys(pilot, "enter")
        assert [how for how, _ in app.posted] == ["send", "send"]


async def test_a_chip_is_opened_in_place_and_folded_by_undo():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        text = "line of text\n" * 20
        await type_keys(pilot, "a")
        await paste(pilot, text)
        await type_keys(pilot, "b", "alt+o")
        assert draft_of(app).text == f"a{text}b"
        await type_keys(pilot, "ctrl+underscore")
        assert len(draft_of(app).text) < 50
        await paste(pilot, "x" * (limits.DRAFT_PLAIN + 1))
        await type_keys(pilot, "alt+o")
        await pilot.pause()
        assert len(draft_of(app).text) < 100
        assert any("Ctrl+G opens it in your editor" in row for row in rows(app))


async def test_the_parts_of_an_unmarked_paste_are_one_chip_and_one_undo():
    text = LONG * 30
    app = ComposerApp()
    async with app.run_test() as pilot:
        await type_keys(pilot, "a")
        for at in range(0, len(text), 4_000):
            app.post_message(events.Paste(text[at : at + 4_000]))
        await pilot.pause()
        assert app.composer.text == "a" + text
        assert len(chips.spans(draft_of(app).document[0])) == 1
        await type_keys(pilot, "ctrl+underscore")
        assert app.composer.text == "a"


async def test_a_paste_of_five_megabytes_does_not_hold_up_the_keys():
    text = "中文 and more, some eighty bytes of it in every single line of the file\n" * 70_000
    assert len(text.encode()) > 5_000_000
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        began = time.process_time()
        await paste(pilot, text)
        assert time.process_time() - began < 1.0
        began = time.process_time()
        await type_keys(pilot, *"twenty letters more.")
        assert time.process_time() - began < 1.0
        assert app.composer.text == text + "twenty letters more."
        await type_keys(pilot, "enter")
        assert app.posted == [("send", text + "twenty letters more.")]


async def test_a_very_long_text_that_is_put_into_the_draft_is_a_chip():
    text = "from the disk\n" * 10_000
    app = ComposerApp()
    async with app.run_test() as pilot:
        app.composer.text = text
        await pilot.pause()
        assert app.composer.text == text
        assert len(draft_of(app).text) < 50


async def test_the_memory_of_pastes_is_bounded_and_the_draft_is_never_hurt(monkeypatch):
    monkeypatch.setattr(limits, "CHIPS_KEPT", 10_000)
    app = ComposerApp()
    async with app.run_test() as pilot:
        for n in range(10):
            await paste(pilot, f"{n}" * 3_000)
            if n < 8:
                app.composer.text = ""
        assert app.composer.text == "8" * 3_000 + "9" * 3_000
        for _ in range(20):
            await type_keys(pilot, "ctrl+underscore")
            assert "#" not in app.composer.text, "a chip came back whose text is gone"
        assert draft_of(app)._chips.length <= 10_000


@pytest.mark.parametrize("language", i18n.LANGUAGES)
async def test_a_chip_is_drawn_without_its_marks_at_every_width(language):
    i18n.set_language(language)
    app = ComposerApp()
    async with app.run_test(size=(120, 36)) as pilot:
        await type_keys(pilot, *"ab中")
        await paste(pilot, LONG)
        await type_keys(pilot, *"cd")
        draft_of(app).select_all()
        for size in ((120, 36), (80, 24), (40, 10), (24, 8), (12, 6)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            drawn = rows(app)
            assert all(cell_len(row) == size[0] for row in drawn)
            assert not set("".join(drawn)) & set("\x0e\x0f\u2800")
        draft = draft_of(app)
        draft.move_cursor((0, 3))
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert app.cursor_position.x - draft.region.x == 4  # on the bracket
