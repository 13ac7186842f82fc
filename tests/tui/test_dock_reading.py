"""Reading in the dock: finding, kept outputs, files, old and new side by side, unchanged lines, selecting by key."""

from dataclasses import replace

import pytest
from textual.events import Key

from agent_core.errors import AgentError
from agent_core.limits import TEXT_PAGE
from agent_core.messages import DiffLine, FileDiff, Hunk
from agent_core.spill import Spilled, read_page
from agent_core.text import diff
from agent_core.workspace.preview import FileLines, FilePreview
from nanoherm_tui import i18n, limits
from nanoherm_tui.panes.bodies import paint_row
from nanoherm_tui.panes.diff import FOLD, diff_rows
from nanoherm_tui.panes.dock import Dock
from nanoherm_tui.panes.output import Result
from nanoherm_tui.panes.preview import Preview, preview_rows
from tests.rows import each_row
from tests.tui.panes_app import PaneApp, lines, styles
from tests.tui.transcript_helpers import LOOK

NAME = "20260101-120000-0123abcd.txt"


class ReadingApp(PaneApp):
    """Answers the dock's requests as the app does: pages of a kept output, lines of a file."""

    def __init__(self, *panes, spill=None, file=None, **options):
        super().__init__(*panes, **options)
        self.spill, self.file = spill, file
        self.pages_read = []

    def on_result_tab_page_requested(self, message):
        self.pages_read.append(message.page)
        dock = self.panes[0]
        try:
            page = read_page(self.spill, message.name, message.page)
        except AgentError as error:
            words = error.text
            self.set_timer(0.001, lambda: dock.page_failed(message.name, words))
        else:
            self.set_timer(0.001, lambda: dock.show_page(page))

    def on_diff_tab_lines_requested(self, message):
        self.posted.append(message)
        dock = self.panes[0]
        found = FileLines(tuple(self.file), old=False) if self.file is not None else None
        dock.show_lines(message.change, found, "" if found else "The file has changed since.")

    on_result_tab_spill_copy_requested = PaneApp._keep


def shown(dock):
    return [row.rstrip() for row in lines(dock)]


def marked(dock, app):
    """The words on the screen that are drawn as hits, and those drawn as the hit that was gone to."""
    hit, here = app.look.style("accent", "surface", underline=True), app.look.style("seltext", "selection")
    found = {"hits": [], "here": []}
    for strip in dock.render_lines(dock.region.reset_offset):
        found["hits"] += [s.text for s in strip if s.style == hit]
        found["here"] += [s.text for s in strip if s.style == here]
    return found


async def until(pilot, condition):
    for _ in range(400):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError("it never came")


# -- finding ------------------------------------------------------------------------------------------------------

OUTPUT = "\n".join(f"{n} {'时区不对' if n % 40 == 3 else 'a line'} here" for n in range(1, 200))


async def test_find_marks_every_place_counts_them_and_goes_around():
    dock = Dock()
    app = ReadingApp(dock)
    async with app.run_test(size=(60, 16)) as pilot:
        dock.show_result(Result("run_command", "x", OUTPUT, True))
        dock.focus()
        await pilot.press("slash")
        await pilot.press(*"时区")
        await pilot.pause()
        assert shown(dock)[-1].strip().endswith("1 of 5")
        field = dock.children[0].region
        assert (field.x, field.y, field.height) == (4, 15, 1)
        assert field.right <= 58 - len(" 1 of 5")
        assert marked(dock, app) == {"hits": [], "here": ["时区"]}
        await pilot.press("pagedown")
        assert dock.top > 10
        await pilot.press("enter")
        assert dock.has_focus
        await pilot.press("n", "n")
        assert any("83 时区不对" in row for row in shown(dock))
        assert "/ 时区" in "".join(lines(dock))
        assert any("3 of 5" in row for row in shown(dock))
        await pilot.press("N", "N", "N")
        assert any("163 时区不对" in row for row in shown(dock))
        await pilot.press("n")
        assert any("  3 时区不对" in row for row in shown(dock))
        await pilot.press("escape")
        assert marked(dock, app) == {"hits": [], "here": []}
        assert "/ 时区" not in "".join(lines(dock))


async def test_letters_of_a_find_are_not_the_docks_keys_and_without_a_find_they_are_not_taken():
    dock = Dock()
    app = ReadingApp(dock)
    async with app.run_test(size=(60, 16)) as pilot:
        dock.show_result(Result("run_command", "x", "yes\nnothing", True))
        dock.focus()
        await pilot.press("ctrl+f")
        assert not dock._field.cursor_blink
        await pilot.press(*"y1s4", "backspace", "up", "down", "left", "end")
        await pilot.pause()
        assert dock.tab == "result"
        assert not app.posted
        assert "no hits" in shown(dock)[-1]
        await pilot.press("escape", "n")
        assert dock.has_focus
        assert dock.cursor is None


async def test_keys_that_come_in_one_read_with_the_find_key_are_what_is_looked_for():
    dock = Dock()
    app = ReadingApp(dock)
    async with app.run_test(size=(60, 16)) as pilot:
        dock.show_result(Result("run_command", "x", OUTPUT, True))
        dock.focus()
        await pilot.pause()
        for key, character in (
            ("slash", "/"),
            ("4", "4"),
            ("3", "3"),
            ("x", "x"),
            ("backspace", None),
            ("enter", "\r"),
            ("n", "n"),
        ):
            app.post_message(Key(key, character))
        await pilot.pause()
        await pilot.pause()
        assert dock.tab == "result"
        assert "/ 43" in "".join(shown(dock))
        assert any(row.strip().startswith("143 ") for row in shown(dock))


async def test_a_find_covers_wrapped_rows_and_other_tabs_too():
    dock = Dock()
    app = ReadingApp(dock)
    change = diff.build("a.py", "value = 1\n" * 3, "value = 2\n" * 3)
    async with app.run_test(size=(24, 20)) as pilot:
        dock.show_result(Result("run_command", "x", "x" * 15 + "needle" + "y" * 15, True))
        dock.focus()
        await pilot.pause()
        dock.look_for("needle")
        assert "".join(marked(dock, app)["here"]) == "needle"
        dock.show_diffs([change])
        assert marked(dock, app) == {"hits": [], "here": []}
        dock.look_for("value")
        await pilot.pause()
        assert len(marked(dock, app)["hits"]) == 5
        assert "1 of 6" in "".join(shown(dock))


async def test_the_keyboard_stays_in_the_dock_when_something_else_is_shown_while_a_find_is_typed():
    dock = Dock()
    async with ReadingApp(dock).run_test(size=(60, 20)) as pilot:
        dock.show_result(Result("run_command", "x", OUTPUT, True))
        dock.focus()
        await pilot.press("slash", "a")
        assert dock.holds_focus
        assert not dock.has_focus
        dock.show_diffs([FOLDED])
        await pilot.pause()
        assert dock.has_focus
        assert not dock.children


async def test_while_a_question_waits_its_letters_are_not_finds():
    dock = Dock()
    async with ReadingApp(dock).run_test(size=(60, 20)) as pilot:
        dock.show_result(Result("run_command", "x", OUTPUT, True))
        dock.show_answers((("y", "once"), ("n", "refuse")), armed=True)
        dock.focus()
        await pilot.press("slash", "n")
        assert "/ " not in "".join(shown(dock)[-3:])
        assert dock.has_focus


# -- kept outputs -------------------------------------------------------------------------------------------------

KEPT = "".join(f"row {n} of the kept output\n" for n in range(60_000))
SPILLED = Result("run_command", "make", "exit code 2 (3.1 s)\nhead\n[...]\ntail", False, Spilled(NAME, False))


@pytest.fixture
def spill(tmp_path):
    (tmp_path / NAME).write_text(KEPT + "the last row\n")
    return tmp_path


async def test_a_kept_output_is_paged_through_to_its_end_and_only_what_is_looked_at_is_read(spill):
    dock = Dock()
    app = ReadingApp(dock, spill=spill)
    async with app.run_test(size=(60, 80)) as pilot:
        dock.show_result(SPILLED)
        dock.focus()
        await until(pilot, lambda: any("row 0 of" in row for row in shown(dock)))
        assert "    exit code 2 (3.1 s)" in shown(dock)
        assert "    The whole output, from the file it was kept in." in shown(dock)
        seen = []
        for _ in range(40):
            seen += [row.strip() for row in shown(dock) if "of the kept output" in row]
            await pilot.press("pagedown")
            await until(pilot, lambda: not dock._asked)
        numbers = [int(row.split()[1]) for row in seen]
        assert sorted(set(numbers)) == list(range(max(numbers) + 1))
        assert max(numbers) > 2 * TEXT_PAGE // len("row 1000 of the kept output") - 2_000
        assert max(app.pages_read) <= 3
        await pilot.press("G")
        await until(pilot, lambda: any("the last row" in row for row in shown(dock)))
        await pilot.pause(0.05)
        assert any("the last row" in row for row in shown(dock))
        assert any("row 59999 of" in row for row in shown(dock))
        await pilot.press("pageup")
        await until(pilot, lambda: any("row 59900 of" in row for row in shown(dock)))
        assert len(app.pages_read) < 12
        assert len(dock._book._kept) <= limits.PAGES_KEPT


async def test_a_kept_output_that_filled_its_file_ends_as_the_output_did(spill):
    dock = Dock()
    app = ReadingApp(dock, spill=spill)
    async with app.run_test(size=(60, 20)) as pilot:
        dock.show_result(replace(SPILLED, spilled=Spilled(NAME, True)))
        dock.focus()
        await pilot.press("G")
        await until(pilot, lambda: any(row.strip("▐ ") == "tail" for row in shown(dock)))
        text = " ".join(" ".join(shown(dock)).replace("▐", "").split())
        assert "the last row The kept file is full here. Below is what the model was given" in text


async def test_all_of_a_kept_output_is_searched_and_the_hit_is_brought(spill):
    dock = Dock()
    app = ReadingApp(dock, spill=spill)
    async with app.run_test(size=(60, 20)) as pilot:
        dock.show_result(SPILLED)
        dock.focus()
        await pilot.press("slash", *"the last row", "enter")
        await until(pilot, lambda: any("1 of 1" in row for row in shown(dock)))
        await until(pilot, lambda: marked(dock, app)["here"] == ["the last row"])
        await pilot.press("escape", "g")
        dock.look_for("row 3")
        await until(pilot, lambda: dock._find.to_count is None)
        assert dock._find.total == KEPT.count("row 3")
        await pilot.press("N")
        await until(pilot, lambda: any("row 39999 of" in row for row in shown(dock)))
        assert len(app.pages_read) <= (len("the last row") + 3) * (len(KEPT) // TEXT_PAGE + 1)


async def test_a_kept_output_that_is_gone_says_so_and_shows_what_there_is(tmp_path):
    dock = Dock()
    app = ReadingApp(dock, spill=tmp_path)
    async with app.run_test(size=(60, 24)) as pilot:
        dock.show_result(SPILLED)
        await until(pilot, lambda: "  tail" in shown(dock))
        text = " ".join(" ".join(shown(dock)).split())
        assert "The file with the whole output is not there any more. What follows is what the model was given." in text


async def test_a_kept_output_is_copied_whole_by_whoever_can_read_it(spill):
    dock = Dock()
    app = ReadingApp(dock, spill=spill)
    async with app.run_test(size=(60, 20)) as pilot:
        dock.show_result(SPILLED)
        dock.focus()
        await pilot.press("y")
        await pilot.pause()
        assert [(type(m).__name__, m.name) for m in app.posted] == [("SpillCopyRequested", NAME)]


async def test_a_page_of_another_output_changes_nothing(spill):
    dock = Dock()
    async with ReadingApp(dock).run_test(size=(60, 20)) as pilot:
        dock.show_result(Result("grep", "x", "here", True))
        await pilot.pause()
        before = shown(dock)
        dock.show_page(read_page(spill, NAME, 0))
        dock.page_failed(NAME, "gone")
        await pilot.pause()
        assert shown(dock) == before


async def test_another_width_keeps_the_row_of_a_long_result_and_a_tab_keeps_its_place(spill):
    dock = Dock()
    app = ReadingApp(dock, spill=spill)
    async with app.run_test(size=(60, 20)) as pilot:
        dock.show_result(SPILLED)
        dock.focus()
        await pilot.press("G")
        await until(pilot, lambda: any("the last row" in row for row in shown(dock)))
        await pilot.press(*["pageup"] * 5)
        await until(pilot, lambda: not dock._asked)
        top = shown(dock)[2]
        for size in (30, 20, 90, 60):
            await pilot.resize_terminal(size, 20)
            await until(pilot, lambda: not dock._asked)
            assert shown(dock)[2].split()[:2] == top.split()[:2]
        await pilot.press("3", "1")
        await until(pilot, lambda: not dock._asked)
        assert shown(dock)[2] == top


async def test_another_language_or_theme_keeps_the_row_that_is_read():
    dock = Dock()
    app = ReadingApp(dock)
    async with app.run_test(size=(60, 20)) as pilot:
        dock.show_result(Result("grep", "x", KEPT, True))
        dock.focus()
        await pilot.press("G", *["pageup"] * 40)
        top = shown(dock)[2]
        i18n.set_language("zh")
        dock.refresh_look()
        await pilot.pause()
        assert shown(dock)[2] == top
        assert "结果" in shown(dock)[0]


# -- files --------------------------------------------------------------------------------------------------------


def preview(count=400, first=1, total=None, **options):
    code = tuple(f"def function_{n}():  # 注释" for n in range(first, first + count))
    return Preview("src/a.py", file=FilePreview("src/a.py", code, first, total or count), **options)


async def test_a_file_is_numbered_and_the_lines_asked_for_stand_at_a_third_of_the_height_on_a_tint():
    dock = Dock()
    app = ReadingApp(dock)
    async with app.run_test(size=(60, 30)) as pilot:
        dock.show_preview(preview(400, 1_000, 9_000))
        await pilot.pause()
        assert "src/a.py" in shown(dock)[2]
        assert shown(dock)[2].endswith("lines 1000-1399 of 9000")
        dock.show_preview(Preview("src/a.py", 1_200, 1_202, preview(400, 1_000, 9_000).file))
        await pilot.pause()
        at = next(y for y, row in enumerate(shown(dock)) if row.startswith("  1200  def"))
        assert at - 3 == dock.view_height // 3
        tint = app.look.style("text", "surface").bgcolor
        assert [styles(dock, at + n, 30, 32)[0].bgcolor == tint for n in (-1, 0, 1, 2, 3)] == [
            False,
            True,
            True,
            True,
            False,
        ]
        assert styles(dock, at, 8, 11) == [app.look.style("keyword", "surface")]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Preview("a.bin", problem="a.bin is no text and is not shown."), "a.bin is no text and is not shown."),
        (Preview("empty", file=FilePreview("empty", (), 1, 0)), "The file is empty."),
    ],
)
async def test_a_file_that_cannot_be_shown_says_why(given, words):
    dock = Dock()
    async with ReadingApp(dock).run_test(size=(60, 12)) as pilot:
        dock.show_preview(given)
        await pilot.pause()
        assert words in "\n".join(shown(dock))


async def test_a_file_is_found_in_and_copied_without_its_numbers():
    dock = Dock()
    app = ReadingApp(dock)
    async with app.run_test(size=(60, 12)) as pilot:
        dock.show_preview(preview(50))
        dock.focus()
        await pilot.pause()
        dock.look_for("function_49")
        await pilot.pause()
        assert marked(dock, app)["here"] == ["function_49"]
        await pilot.press("y")
        await pilot.pause()
        assert app.posted[-1].text == "\n".join(preview(50).file.lines) + "\n"


@each_row("inside", ["\r", "\x0b", "\x0c", "\x85", "\u2028", "\r\r"])
def test_a_line_of_a_file_is_one_whatever_it_holds_and_the_numbers_stay(inside):
    lines = (inside.join("abc"), *["x = 1"] * 100, inside, "last")
    rows = preview_rows(Preview("a.py", file=FilePreview("a.py", lines, 1, len(lines))), 60)
    rows.settle(0, 20)
    assert [paint_row(row, 60, LOOK).text.rstrip() for row in rows][-1] == f"{len(lines):>4}  last"
    assert len(rows) == len(lines)


def test_a_long_file_is_coloured_only_where_it_is_seen(monkeypatch):
    from nanoherm_tui.panes import preview as module

    seen = []
    real = module.coloured
    monkeypatch.setattr(module, "coloured", lambda texts, path: seen.append(len(texts)) or real(texts, path))
    rows = module.preview_rows(preview(1_000), 60)
    rows.settle(0, 20)
    assert len(rows) == 1_000
    assert seen == []
    for index in (500, 501):
        paint_row(rows[index], 60, LOOK)
    assert seen == [limits.HIGHLIGHT_LINES]


# -- old and new side by side -------------------------------------------------------------------------------------

OLD = "def go():\n    first = 1\n    second = '时区'\n    return first\n"
NEW = "def go():\n    first = 2\n    added = 3\n    second = '时区'\n    return first\n"


def wide(app):
    return app.run_test(size=(110, 20))


async def test_from_a_width_on_old_and_new_stand_side_by_side_and_a_key_changes_that():
    dock = Dock()
    app = ReadingApp(dock)
    async with wide(app) as pilot:
        dock.show_diffs([diff.build("a.py", OLD, NEW)])
        dock.focus()
        await pilot.pause()
        rows = shown(dock)
        side = (dock.cells - 2) // 2
        assert rows[3] == "     1   def go():" + " " * (side - 16) + "     1   def go():"
        assert rows[4] == "     2 −     first = 1" + " " * (side - 20) + "     2 +     first = 2"
        assert rows[5] == " " * (side + 4) + "   3 +     added = 3"
        assert rows[6].split() == ["3", "second", "=", "'时区'", "4", "second", "=", "'时区'"]
        look = app.look
        assert look.style("text", "removed_word") in styles(dock, 4, 2, 2 + side)
        assert look.style("text", "added_word") in styles(dock, 4, 4 + side, 108)
        assert styles(dock, 4, side, side + 2)[-1].bgcolor == look.style("text", "removed_bg").bgcolor
        assert styles(dock, 5, 10, 20)[0].bgcolor == look.style("text", "panel").bgcolor
        assert "unified" in shown(dock)[-1]
        await pilot.press("s")
        assert "     2 +     first = 2" in shown(dock)
        assert dock.state() == {"tab": "diff", "split": False}
        await pilot.press("s")
        assert shown(dock) == rows


async def test_narrow_docks_and_changes_that_wait_are_unified_whatever_was_chosen():
    dock = Dock()
    async with ReadingApp(dock).run_test(size=(40, 20)) as pilot:
        dock.restore({"split": True, "tab": "diff"})
        dock.show_diffs([diff.build("a.py", OLD, NEW)])
        await pilot.pause()
        assert "     2 −     first = 1" in shown(dock)
        await pilot.resize_terminal(110, 20)
        await pilot.pause()
        assert "     2 −     first = 1" not in shown(dock)
        dock.show_diffs([diff.build("a.py", OLD, NEW)], asking=True)
        await pilot.pause()
        assert "     2 −     first = 1" in shown(dock)


async def test_the_hunk_at_the_top_stays_when_the_shape_changes():
    many = diff.build(
        "a.txt", "".join(f"{n}\n" for n in range(400)), "".join(f"{n}{'!' * (n % 30 == 7)}\n" for n in range(400))
    )
    dock = Dock()
    async with wide(ReadingApp(dock)) as pilot:
        dock.show_diffs([many])
        dock.focus()
        await pilot.press("right_square_bracket", "right_square_bracket", "right_square_bracket")
        top = shown(dock)[2]
        await pilot.press("s")
        assert shown(dock)[2].split()[:2] == top.split()[:2]
        await pilot.press("s")
        assert shown(dock)[2] == top


@pytest.mark.parametrize("cells", [50, 51, 73, 120])
def test_both_sides_are_always_as_wide_as_the_pane(cells):
    texts = ["中文" * 60, "x" * 200, "", "\x1b[2J", "short", "e\u0301" * 50]
    lines_ = [DiffLine(("same", "remove", "add", "add")[n % 4], text, n, n) for n, text in enumerate(texts * 3)]
    for row in diff_rows([FileDiff("a.py", (Hunk(1, 1, tuple(lines_)),), 1, 1)], cells, wrap=False, split=True):
        strip = paint_row(row, cells, LOOK)
        assert strip.cell_length == cells
        if row.words is not None:
            assert strip.text.rstrip() == row.text.rstrip()
            assert strip.text.isprintable()


# -- what is special about a change -------------------------------------------------------------------------------


def words(*diffs, **options):
    rows = diff_rows(diffs, 60, wrap=options.pop("wrap", False), **options)
    return [paint_row(row, 60, LOOK).text.rstrip() for row in rows]


@pytest.mark.parametrize("wrap", [False, True])
def test_a_missing_line_end_is_told(wrap):
    rows = words(diff.build("a.txt", "one\ntwo", "one\ntwo\n"), wrap=wrap)
    at = next(n for n, row in enumerate(rows) if "−" in row and "two" in row)
    assert rows[at + 1].strip() == "no line end at the end of the file"
    assert rows[at + 2].endswith("+ two")
    assert sum("no line end" in row for row in rows) == 1


@pytest.mark.parametrize("wrap", [False, True])
def test_other_line_ends_are_named_and_the_same_ones_are_not(wrap):
    rows = words(diff.build("a.txt", "one\ntwo\n", "one\r\ntwo\r\n"), wrap=wrap)
    assert [row.split()[-1] for row in rows if row.strip()[:1] in "12" and ("−" in row or "+ " in row)] == [
        "LF",
        "LF",
        "CRLF",
        "CRLF",
    ]
    rows = words(diff.build("a.txt", "one\r\n", "two\r\n"), wrap=wrap)
    assert not any("CRLF" in row for row in rows)


def test_a_file_that_only_moved_is_one_heading_and_what_waits_is_shown_whole():
    text = "".join(f"line {n}\n" for n in range(50))
    moved = (diff.build("old/a.py", text, None), diff.build("new/a.py", None, text))
    for pair in (moved, moved[::-1]):
        assert words(*pair) == ["new/a.py  moved, unchanged; before:", "  old/a.py"]
        assert sum("line 49" in row for row in words(*pair, wrap=True)) == 2
    changed = (moved[0], diff.build("new/a.py", None, text + "more\n"))
    assert sum("line 49" in row for row in words(*changed)) == 2


# -- unchanged lines ----------------------------------------------------------------------------------------------

BEFORE = [f"line {n}" for n in range(1, 101)]
AFTER = [*BEFORE[:9], "line ten", *BEFORE[10:59], "line sixty", *BEFORE[60:]]
FOLDED = diff.build("a.txt", "\n".join(BEFORE) + "\n", "\n".join(AFTER) + "\n")


async def test_unchanged_lines_unfold_and_fold_by_keys():
    dock = Dock()
    app = ReadingApp(dock, file=AFTER)
    async with app.run_test(size=(60, 90)) as pilot:
        dock.show_diffs([FOLDED])
        dock.focus()
        await pilot.pause()
        assert "     ⋯   43 unchanged lines" in shown(dock)
        before = shown(dock)
        await pilot.press("enter")
        assert not app.posted
        assert any(row.startswith("▐    ⋯   43 unchanged") for row in shown(dock))
        assert any("Enter unfold " in row for row in shown(dock))
        await pilot.press("enter")
        await pilot.pause()
        rows = shown(dock)
        assert any(row.startswith("▐    ▾   43 unchanged lines") for row in rows)
        at = next(n for n, row in enumerate(rows) if "▾" in row)
        assert rows[at + 1 : at + 44] == [f"    {n}   line {n}" for n in range(14, 57)]
        assert any("Enter fold " in row for row in rows)
        await pilot.press("f")
        assert any(row.startswith("▐    ⋯   37 unchanged lines") for row in shown(dock))
        assert any("Enter unfold " in row for row in shown(dock)), "these are folded still"
        await pilot.press("space")
        await pilot.pause()
        assert "   100   line 100" in shown(dock) or any("line 100" in row.text for row in dock.rows)
        await pilot.press("f", "space", "f", "enter")
        await pilot.pause()
        assert [row.removeprefix("▐").strip() for row in shown(dock)] == [row.strip() for row in before]
        assert len(app.posted) == 2


async def test_unchanged_lines_unfold_by_a_click_and_what_has_changed_since_says_so():
    dock = Dock()
    app = ReadingApp(dock)
    async with app.run_test(size=(60, 30)) as pilot:
        dock.show_diffs([FOLDED])
        await pilot.pause()
        at = next(y for y, row in enumerate(shown(dock)) if "43 unchanged" in row)
        await pilot.click(dock, offset=(12, at))
        await pilot.pause()
        assert "The file has changed since." in shown(dock)[at + 1]
        app.file = AFTER
        await pilot.click(dock, offset=(12, at))
        await pilot.pause()
        assert "    14   line 14" in shown(dock)


async def test_a_change_recorded_without_versions_says_that_its_lines_are_not_known():
    dock = Dock()
    app = ReadingApp(dock)
    async with app.run_test(size=(80, 30)) as pilot:
        dock.show_diffs([FileDiff("a.txt", FOLDED.hunks, 2, 2, lines_after=100)])
        dock.focus()
        await pilot.press("enter", "enter")
        assert any("Recorded without a version" in row for row in shown(dock))
        assert not app.posted


async def test_a_long_run_of_unchanged_lines_unfolds_in_parts():
    count = limits.UNFOLD_LINES * 2 + 200
    old = [f"line {n}" for n in range(count)]
    new = ["first", *old[1:-1], "last"]
    change = diff.build("a.txt", "\n".join(old), "\n".join(new))
    dock = Dock()
    app = ReadingApp(dock, file=new)
    async with app.run_test(size=(60, 30)) as pilot:
        dock.show_diffs([change])
        dock.focus()
        await pilot.press("enter", "enter")
        await pilot.pause()
        keys = [row.key for row in dock.rows if row.key.startswith(FOLD)]
        assert keys == [f"{FOLD}0.1", f"{FOLD}0.1+"]
        for left in (count - 8 - 2 * limits.UNFOLD_LINES, 0):
            await pilot.press("f", "enter")
            await pilot.pause()
            rest = [row for row in dock.rows if row.key.endswith("+")]
            assert [row.text.split()[1] for row in rest] == ([str(left)] if left else [])


async def test_space_is_a_page_where_there_is_nothing_to_unfold():
    dock = Dock()
    async with ReadingApp(dock).run_test(size=(60, 20)) as pilot:
        dock.show_result(Result("grep", "x", OUTPUT, True))
        dock.focus()
        await pilot.press("space")
        assert dock.top == dock.view_height - 1


# -- selecting with keys ------------------------------------------------------------------------------------------


async def test_rows_and_characters_are_selected_by_key_and_copied():
    dock = Dock()
    app = ReadingApp(dock)
    async with app.run_test(size=(60, 20)) as pilot:
        dock.show_result(Result("grep", "x", "first 行\nsecond\nthird\n" + "more\n" * 40, True))
        dock.focus()
        dock.scroll_to_row(3)
        await pilot.press("shift+down", "shift+right", "shift+right", "y")
        await pilot.pause()
        assert app.posted[-1].text == "first 行\nse"
        await pilot.press("shift+left", "shift+left", "shift+left", "y")
        await pilot.pause()
        assert app.posted[-1].text == "first 行"
        await pilot.press("shift+up", "shift+up", "y")
        await pilot.pause()
        assert len(app.posted[-1].text.split("\n")) <= 3
        await pilot.press(*["shift+down"] * 20)
        assert dock.top > 3
        await pilot.press("y")
        await pilot.pause()
        assert app.posted[-1].text.count("more") > 12


async def test_the_state_worth_keeping_survives_and_nonsense_is_left_out():
    dock = Dock()
    async with ReadingApp(dock).run_test(size=(60, 20)):
        dock.restore({"tab": "plan", "split": True})
        assert dock.state() == {"tab": "plan", "split": True}
        dock.restore({"tab": "nonsense", "split": "yes"})
        assert dock.state() == {"tab": "plan", "split": None}
        dock.restore({})


async def test_the_new_words_are_there_in_chinese():
    i18n.set_language("zh")
    dock = Dock()
    async with ReadingApp(dock).run_test(size=(70, 24)) as pilot:
        dock.show_diffs([FOLDED])
        await pilot.pause()
        assert "展开" in "".join(shown(dock)[-2:])
        dock.show_preview(preview(30))
        await pilot.pause()
        assert "30 行" in shown(dock)[2]
