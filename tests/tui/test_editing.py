"""What the caret steps over, kills and yanks, several edits as one step of undo, and vim's keys in the draft itself."""

import pytest
from textual import events

from nanoherm_tui import i18n, limits
from nanoherm_tui.editing import units
from nanoherm_tui.editing.kill_ring import Kill, KillRing
from nanoherm_tui.keymap import load_keymap
from tests.rows import each_row
from tests.tui.composer_app import ComposerApp, rows, type_keys
from tests.tui.test_chips import LONG, draft_of, paste

CHIP = "[\x0e3 lines #1\x0f]"
FAMILY = "👨‍👩‍👧"


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("ab", [0, 1, 2]),
        ("你好", [0, 1, 2]),
        ("ae\u0301x", [0, 1, 3, 4]),
        (f"a{FAMILY}b", [0, 1, 6, 7]),
        ("👍🏽☁\ufe0f", [0, 2, 4]),
        ("🇩🇪🇫🇷a", [0, 2, 4, 5]),
        ("a\n\u0301", [0, 1, 2, 3]),
        (f"a{CHIP}{CHIP}", [0, 1, 1 + len(CHIP), 1 + 2 * len(CHIP)]),
        ("각" + "é" * 400, list(range(402))),
        ("か\u3099" * 300, list(range(0, 601, 2))),
        ("при" * 200, list(range(601))),
        (f"a\u200d{CHIP}\u0301\u200dé\n\u0301", [0, 2, 2 + len(CHIP), 5 + len(CHIP), 6 + len(CHIP), 7 + len(CHIP)]),
    ],
)
def test_a_step_is_a_character_as_it_is_seen_or_a_chip_forwards_and_back(text, edges):
    forwards = [0]
    while forwards[-1] < len(text):
        forwards.append(units.after(text, forwards[-1]))
    back = [len(text)]
    while back[-1]:
        back.append(units.before(text, back[-1]))
    assert forwards == edges
    assert back[::-1] == edges
    assert [at for at in range(len(text) + 1) if units.snap(text, at) == at] == edges


@each_row(
    ("text", "word", "to_a_blank"),
    [
        ("foo bar.baz", 8, 4),
        ("foo bar. ", 4, 4),
        ("你好，世界", 3, 3),
        ("你好世界ok", 4, 0),
        ("a\n", 1, 1),
        (f"a {CHIP}", 2, 2),
        ("", 0, 0),
    ],
)
def test_words_end_at_blanks_marks_and_where_the_script_changes(text, word, to_a_blank):
    assert units.word_left(text, len(text)) == word
    assert units.big_word_left(text, len(text)) == to_a_blank


def test_the_ring_turns_joins_and_keeps_to_its_bounds(monkeypatch):
    ring = KillRing()
    assert ring.current is None
    assert ring.turn() is None
    for text in ("one", "two", "", "three"):
        ring.add(text)
    assert [ring.current.text, *(ring.turn().text for _ in range(3))] == ["three", "two", "one", "three"]
    ring.turn()
    ring.join(" more", in_front=False)
    ring.join("no ", in_front=True)
    assert ring.current == Kill("no three more")
    monkeypatch.setattr(limits, "KILLS_LENGTH", 20)
    ring.add("x" * 30)
    assert (ring.current.text, ring.turn().text) == ("x" * 30, "x" * 30), "the newest is kept, whatever its length"
    monkeypatch.setattr(limits, "KILLS", 2)
    for text in "abc":
        ring.add(text)
    assert [ring.turn().text for _ in range(2)] == ["b", "c"]


KILLS = [
    ("one two three", ["ctrl+w"], "one two "),
    ("one two three", ["alt+backspace"] * 2, "one "),
    ("one two three", ["home", "alt+d"], " two three"),
    ("one two three", ["home", "ctrl+k"], ""),
    ("one two three", ["ctrl+u"], ""),
    ("one two three", ["ctrl+left", "ctrl+u"], "three"),
    ("one two three", ["ctrl+w", "ctrl+w", "ctrl+y"], "one two three"),
    ("one two three", ["ctrl+w", "ctrl+w", "ctrl+y", "ctrl+y"], "one two threetwo three"),
    ("one two three", ["home", "alt+d", "alt+d", "end", "ctrl+y"], " threeone two"),
    ("one two three", ["ctrl+w", "left", "ctrl+w", "end", "ctrl+y"], "one  two"),
    ("one two three", ["ctrl+w", "left", "ctrl+w", "end", "ctrl+y", "alt+y"], "one  three"),
    ("one two three", ["ctrl+w", "left", "ctrl+w", "end", "ctrl+y", "alt+y", "alt+y"], "one  two"),
    ("one two three", ["ctrl+w", "ctrl+y", "left", "alt+y"], "one two three"),
    ("one two three", ["shift+left", "shift+left", "ctrl+w", "home", "ctrl+y"], "eeone two thr"),
    ("你好，世界", ["ctrl+w", "ctrl+w", "ctrl+y", "ctrl+y"], "你好，世界你好，世界"),
    ("a" + FAMILY, ["left", "ctrl+k", "ctrl+y", "ctrl+y"], f"a{FAMILY}{FAMILY}"),
    ("a" + FAMILY, ["backspace"], "a"),
    ("ce\u0301", ["backspace"], "c"),
    ("e\u0301c", ["home", "right", "x"], "e\u0301xc"),
    ("🇩🇪🇫🇷", ["left", "delete"], "🇩🇪"),
]


async def test_kills_are_joined_yanked_and_turned_through():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        for text, keys, left in KILLS:
            app.composer.text = text
            draft_of(app).ring.__init__()
            await type_keys(pilot, "end", *keys)
            assert app.composer.text == left, (text, keys)


async def test_a_kill_is_yanked_in_another_session_with_what_its_chips_stand_for_and_undone():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.show_draft("one")
        await type_keys(pilot, *"ab")
        await paste(pilot, LONG)
        await type_keys(pilot, "ctrl+u")
        assert app.composer.text == ""
        await type_keys(pilot, "ctrl+y")
        assert app.composer.text == f"ab{LONG}"
        assert any("ab[120 lines, 1.9 KB #1]" in row for row in rows(app)), "as a chip, where it is one"
        app.composer.show_draft("two")
        await type_keys(pilot, "ctrl+y")
        assert app.composer.text == f"ab{LONG}"
        await type_keys(pilot, "ctrl+underscore")
        assert app.composer.text == ""
        await type_keys(pilot, "alt+z")
        assert app.composer.text == f"ab{LONG}"


async def test_what_is_looked_for_in_the_history_is_killed_and_yanked_too():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        await type_keys(pilot, *"kept", "ctrl+r", *"query", "ctrl+u", "escape", "ctrl+y")
        assert app.composer.text == "keptquery"


def test_the_keys_of_kills_can_be_changed_and_conflicts_are_told():
    keymap, problems = load_keymap({"yank": "alt+p", "kill_word": "ctrl+k"})
    assert keymap.keys("yank") == ("alt+p",)
    assert [(p.key, p.params["holder"]) for p in problems] == [("keymap.taken", "kill_line_end")]
    assert keymap.keys("kill_word") == ("alt+d", "alt+delete")


# -- vim's keys ------------------------------------------------------------------------------------------------------


async def test_vims_keys_edit_the_draft_tell_their_mode_and_each_command_is_one_step_of_undo():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        composer, draft = app.composer, draft_of(app)
        composer.vim = True
        await type_keys(pilot, *"one two", "ctrl+j", *"three", "escape")
        assert draft.cursor_location == (1, 4)
        assert [row.strip(" ▐") for row in rows(app)[-4:]][1:] == ["N one two", "three", "normal"]
        await type_keys(pilot, *"ggcw", *"第一", "ctrl+j", *"x", "escape")
        assert composer.text == "第一\nx two\nthree"
        await type_keys(pilot, "u")
        assert composer.text == "one two\nthree", "typed lines and what they took the place of go together"
        await type_keys(pilot, "ctrl+r")
        assert composer.text == "第一\nx two\nthree"
        await type_keys(pilot, *"ggVG", ">", "u")
        assert composer.text == "第一\nx two\nthree"
        await type_keys(pilot, *"2d")
        assert "normal 2d" in rows(app)[-1]
        await type_keys(pilot, "d", "p")
        assert composer.text == "three\n第一\nx two"
        await type_keys(pilot, *"ggV")
        assert "visual line" in rows(app)[-1]
        await type_keys(pilot, "escape", "enter")
        assert app.posted == [("send", "three\n第一\nx two")]
        await type_keys(pilot, *"dd")
        assert composer.text == "dd", "another message begins with typing"


class Hearing(ComposerApp):
    """Notes the keys that nobody took."""

    def on_mount(self):
        super().on_mount()
        self.heard = []

    def on_key(self, event):
        self.heard.append(event.key)


async def test_escape_leaves_typing_first_and_is_the_programs_then():
    app = Hearing()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.vim = True
        app.composer.set_state("running")
        await type_keys(pilot, "a")
        assert "Esc" not in rows(app)[-1], "it stops nothing while text is typed"
        await type_keys(pilot, "escape")
        assert "Esc stop" in rows(app)[-1]
        assert app.heard == []
        await type_keys(pilot, "escape")
        assert app.heard == ["escape"]


async def test_a_letter_right_behind_escape_is_that_letter():
    """Over a slow line both come in one read, which is what Alt and the letter send."""
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.vim = True
        await type_keys(pilot, *"ab", "alt+h", "alt+shift+d")
        assert app.composer.text == ""


async def test_alt_and_a_letter_are_the_programs_key_once_typing_is_left():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.vim = True
        await paste(pilot, LONG)
        await type_keys(pilot, "escape", "alt+o")
        assert draft_of(app).text == LONG, "the chip is opened"
        await type_keys(pilot, "i", "alt+o", *"x")
        assert draft_of(app).text.count("\n") == LONG.count("\n") + 1, "while text is typed it is Esc and o"


async def test_j_and_k_walk_the_history_at_the_edges_and_a_paste_ends_a_selection():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.vim = True
        await type_keys(pilot, *"first", "enter", *"second", "enter", *"now", "escape", "k")
        assert app.composer.text == "second"
        await type_keys(pilot, "k", "j", "j")
        assert app.composer.text == "now"
        await type_keys(pilot, "v", "h")
        pilot.app.post_message(events.Paste("X"))
        await pilot.pause()
        assert app.composer.text == "nX"
        await type_keys(pilot, "x")
        assert app.composer.text == "n"


async def test_vims_keys_take_chips_whole_and_put_them_back():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.vim = True
        await type_keys(pilot, "a")
        await paste(pilot, LONG)
        await type_keys(pilot, "b", "escape", "h", "x")
        assert app.composer.text == "ab"
        await type_keys(pilot, "p")
        assert app.composer.text == f"ab{LONG}"
        assert any("ab[120 lines" in row for row in rows(app))


async def test_the_mode_is_told_in_both_languages_and_moves_nothing_on_a_short_screen():
    app = ComposerApp()
    async with app.run_test(size=(200, 60)) as pilot:
        app.composer.vim = True
        for size in ((200, 60), (80, 24), (40, 10)):
            await pilot.resize_terminal(*size)
            for language, words in (("en", "normal"), ("zh", "普通")):
                i18n.set_language(language)
                app.composer.text = ""
                await type_keys(pilot, "i", "escape", "i", *"ab")
                before = app.composer.region
                await type_keys(pilot, "escape")
                assert app.composer.region == before
                shown = rows(app)
                assert any("N ab" in row for row in shown), (size, language)
                assert any(words in row for row in shown) == (size[1] >= limits.SHORT), (size, language)
