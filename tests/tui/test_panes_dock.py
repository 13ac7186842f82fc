"""The dock: results, changes and plan; nothing hidden while a change waits, nothing obeyed by the terminal."""

import pytest

from agent_core.messages import DiffLine, FileDiff, Hunk
from agent_core.ports.means import TodoItem
from agent_core.text import diff
from nanoherm_tui import i18n, limits, symbols
from nanoherm_tui.panes.bodies import paint_row
from nanoherm_tui.panes.changed_words import compare
from nanoherm_tui.panes.diff import diff_rows, plain_diff
from nanoherm_tui.panes.dock import Dock
from nanoherm_tui.panes.output import Result
from tests.rows import each_row
from tests.tui.panes_app import PaneApp, lines, styles
from tests.tui.transcript_helpers import LOOK


def hunk(old, new, *spec):
    """Lines beginning with " ", "-" or "+", numbered from `old` and `new`."""
    out = []
    for line in spec:
        sign, text = line[0], line[1:]
        if sign == " ":
            out.append(DiffLine("same", text, old, new))
        elif sign == "-":
            out.append(DiffLine("remove", text, old, None))
        else:
            out.append(DiffLine("add", text, None, new))
        old += sign != "+"
        new += sign != "-"
    return Hunk(out[0].old_line or 1, out[0].new_line or 1, tuple(out))


DATES = FileDiff(
    "src/ledger/dates.py",
    (
        hunk(
            38,
            38,
            " def parse_date(text: str) -> datetime:",
            '     """Parse ISO 8601."""',
            "-    stamp = text.strip()[:19]",
            "-    return datetime.fromisoformat(stamp).replace(tzinfo=None)",
            "+    value = datetime.fromisoformat(text.strip())",
            "+    return value.astimezone(UTC)",
        ),
        hunk(60, 60, " # 夏令时开始：柏林这一天只有 23 小时", "-    x = 1", "+    x = 2"),
    ),
    3,
    3,
    lines_after=107,
)
NEW = FileDiff("tests/test_dates.py", (hunk(0, 1, "+def test_it():", "+    assert True"),), 2, 0, "create")
RESULT = Result("run_command", "pytest -q", "2 failed\n", False)
PLAN = (
    TodoItem("Read the parser", "completed"),
    TodoItem("修复 parse_date 的时区问题", "in_progress"),
    TodoItem("Run all tests"),
    TodoItem("Write it down", "cancelled"),
)


async def test_a_browsed_diff_shows_heading_numbers_signs_and_gaps_and_cuts_long_lines():
    dock = Dock()
    async with PaneApp(dock).run_test(size=(54, 24)) as pilot:
        dock.show_diffs([DATES, NEW])
        await pilot.pause()
        rows = [row.rstrip() for row in lines(dock)]
    assert rows[0] == "  Result   Diff   Plan   Tasks   Context   File ⋯"
    assert rows[2:19] == [
        "  src/ledger/dates.py                          +3 −3",
        "    38   def parse_date(text: str) -> datetime:",
        '    39       """Parse ISO 8601."""',
        "    40 −     stamp = text.strip()[:19]",
        "    41 −     return datetime.fromisoformat(stamp).r⋯",
        "    40 +     value = datetime.fromisoformat(text.st⋯",
        "    41 +     return value.astimezone(UTC)",
        "     ⋯   18 unchanged lines",
        "    60   # 夏令时开始：柏林这一天只有 23 小时",
        "    61 −     x = 1",
        "    61 +     x = 2",
        "     ⋯   46 unchanged lines",
        "",
        "  tests/test_dates.py  new file                +2 −0",
        "     1 + def test_it():",
        "     2 +     assert True",
        "",
    ]
    assert rows[-2:] == ["  [ ] previous, next hunk   Enter unfold", "  s side by side   c comment   y copy"]


async def test_while_a_change_waits_every_character_of_it_is_on_the_screen():
    dock = Dock()
    long = "    return " + "".join(f"call_{n}(中文{n}, " for n in range(30))
    change = FileDiff("a/very/long/path/" * 6 + "name.py", (hunk(1, 1, "-" + long, "+" + long + "x"),), 1, 1)
    async with PaneApp(dock).run_test(size=(40, 80)) as pilot:
        dock.show_diffs([change], asking=True)
        await pilot.pause()
        rows = lines(dock)[1:]  # below the titles of the tabs
    shown = "".join("".join(rows).split())
    assert "⋯" not in shown
    for text in (long, long + "x"):
        assert "".join(text.split()) in shown.replace("+1−1", "")
    assert "".join(change.path.split()) in shown.replace("+1−1", "")
    assert any("hunk 1 of 1" in row for row in rows)


async def test_wrapped_code_hangs_four_deeper_and_only_its_first_row_has_number_and_sign():
    dock = Dock()
    async with PaneApp(dock).run_test(size=(40, 30)) as pilot:
        dock.show_diffs([DATES], asking=True)
        await pilot.pause()
        rows = [row.rstrip() for row in lines(dock)]
    at = next(i for i, row in enumerate(rows) if "41 −" in row)
    assert rows[at : at + 3] == [
        "    41 −     return datetime",
        "                 .fromisoformat(stamp)",
        "                 .replace(tzinfo=None)",
    ]


async def test_added_and_removed_rows_have_their_grounds_and_changed_words_a_stronger_one():
    dock = Dock()
    app = PaneApp(dock)
    async with app.run_test(size=(60, 24)) as pilot:
        dock.show_diffs([FileDiff("a.txt", (hunk(1, 1, "-the old word here", "+the new word here"),), 1, 1)])
        await pilot.pause()
        look = app.look
        assert styles(dock, 3, 7, 8) == [look.mark("fail", "removed_bg", bold=True)]
        assert styles(dock, 4, 7, 8) == [look.mark("ok", "added_bg", bold=True)]
        assert styles(dock, 3, 2, 6) == [look.style("muted", "removed_bg")]
        assert styles(dock, 3, 13, 16) == [look.style("text", "removed_word")]
        assert styles(dock, 4, 13, 16) == [look.style("text", "added_word")]
        assert styles(dock, 4, 17, 57) == [look.style("text", "added_bg")] * len(styles(dock, 4, 17, 57))
        assert styles(dock, 4, 58, 60)[0].bgcolor == look.style("text", "panel").bgcolor


async def test_code_is_coloured_by_its_file_name():
    dock = Dock()
    app = PaneApp(dock)
    async with app.run_test(size=(60, 24)) as pilot:
        dock.show_diffs([FileDiff("a.py", (hunk(1, 1, '+def go():  # "no"', '+    return "yes"'),), 2, 0)])
        await pilot.pause()
        look = app.look
        assert styles(dock, 3, 9, 12) == [look.style("keyword", "added_bg")]
        assert styles(dock, 3, 13, 15) == [look.style("text", "added_bg", bold=True)]
        assert styles(dock, 3, 20, 26) == [look.style("muted", "added_bg")]
        assert set(styles(dock, 4, 20, 25)) == {look.style("string", "added_bg")}


HOSTILE = [
    ("\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"),
    ("a\u202eb\u200bc\ufeffd", "a\\u202eb\\u200bc\\ufeffd"),
    ("\x00\x9b31m", "\\x00\\x9b31m"),
    ("\ta\tb", "    a   b"),
    ("[b]markup[/b] [/] {x}", "[b]markup[/b] [/] {x}"),
    ("\U000e0041tag", "\\U000e0041tag"),
    ("\ud800", "\\ud800"),
]


@each_row(("line", "expected"), HOSTILE)
def test_what_a_terminal_would_obey_or_hide_is_spelled_out_in_a_change(line, expected):
    rows = diff_rows([FileDiff("a.txt", (Hunk(1, 1, (DiffLine("add", line, None, 1),)),), 1, 0)], 60, wrap=False)
    assert rows[1].text == expected


async def test_hostile_text_is_shown_as_text_in_every_tab():
    dock = Dock()
    nasty = "".join(line for line, _ in HOSTILE if "\ud800" not in line)
    app = PaneApp(dock)
    async with app.run_test(size=(90, 24)) as pilot:
        dock.show_diffs([FileDiff(nasty, (hunk(1, 1, "+" + nasty),), 1, 0)], asking=True)
        dock.show_plan([TodoItem(nasty)])
        await pilot.pause()
        assert "\\x1b[2J" in "".join(lines(dock))
        dock.show_result(Result("run_command", nasty, nasty + "\r\nnext", True))
        await pilot.pause()
        assert "[b]markup[/b] [/] {x}" in "".join(lines(dock))
        dock.show_tab("plan")
        await pilot.pause()
        assert "[b]markup[/b] [/] {x}" in "".join(lines(dock))


async def test_a_result_shows_tool_subject_and_all_of_its_text():
    dock = Dock()
    text = "\n".join(f"line {n}" for n in range(100)) + "\n" + "x" * 200
    async with PaneApp(dock).run_test(size=(40, 20)) as pilot:
        dock.show_result(Result("run_command", "pytest -q\n--maxfail=1", text, False))
        await pilot.pause()
        rows = [row[:-1].rstrip() for row in lines(dock)]
        assert rows[2] == "  ✗ run_command  failed"
        assert rows[3:5] == ["    pytest -q", "    --maxfail=1"]
        assert rows[6] == "  line 0"
        body = [r.left for r in dock.rows]
        assert sum(span.text.count("x") for left in body[4:] for span in left) == 200
        dock.focus()
        await pilot.press("G")
        assert "x" in lines(dock)[-4]
        await pilot.press("g")
        assert lines(dock)[6].startswith("  line 0 ")


async def test_an_empty_result_says_so():
    dock = Dock()
    async with PaneApp(dock).run_test(size=(40, 10)) as pilot:
        dock.show_result(Result("write_file", "a.txt", "\n", True))
        await pilot.pause()
        assert lines(dock)[5].strip() == "No output."


async def test_the_plan_shows_each_step_with_its_mark():
    dock = Dock()
    async with PaneApp(dock).run_test(size=(24, 14)) as pilot:
        dock.show_plan(PLAN, bring=True)
        await pilot.pause()
        rows = [row.rstrip() for row in lines(dock)]
    assert rows[2] == "  1 of 4 done"
    assert rows[4:9] == [
        "  ✓ Read the parser",
        "  ▸ 修复 parse_date 的",
        "    时区问题",
        "  ◦ Run all tests",
        "  ✗ Write it down",
    ]


async def test_empty_tabs_say_what_would_be_there():
    dock = Dock()
    async with PaneApp(dock).run_test(size=(60, 10)) as pilot:
        dock.focus()
        empty = {
            "1": "No result opened.",
            "2": "No changes in this session.",
            "3": "No plan yet.",
            "4": "No tasks and no sub-agents.",
            "5": "Nothing is",
            "6": "No file",
            "7": "Told in this turn",
            "8": "Looking.",
            "9": "Looking.",
        }
        for key, words in empty.items():
            await pilot.press(key)
            assert lines(dock)[2].strip().startswith(words)


async def test_tabs_turn_by_key_and_mouse_and_each_keeps_its_place():
    dock = Dock()
    async with PaneApp(dock).run_test(size=(60, 12)) as pilot:
        dock.show_result(Result("grep", "x", "\n".join(map(str, range(99))), True))
        dock.show_diffs([DATES], bring=False)
        dock.focus()
        await pilot.press("pagedown", "j")
        top = dock.top
        assert top > 5
        await pilot.press("right")
        assert (dock.tab, dock.top) == ("diff", 0)
        await pilot.press("left")
        assert (dock.tab, dock.top) == ("result", top)
        await pilot.press("3", "left", "left", "left")
        assert dock.tab == "turns"
        await pilot.press("6")
        assert dock.tab == "file"
        await pilot.click(dock, offset=(12, 0))
        assert dock.tab == "diff"
        await pilot.click(dock, offset=(2, 0))
        assert dock.tab == "result"


async def test_brackets_go_from_hunk_to_hunk():
    many = FileDiff("a.txt", tuple(hunk(n, n, *[" same"] * 5, "+new") for n in range(1, 200, 20)), 10, 0)
    dock = Dock()
    app = PaneApp(dock)
    async with app.run_test(size=(60, 12)) as pilot:
        dock.show_diffs([many])
        dock.focus()
        await pilot.press("right_square_bracket", "right_square_bracket")
        assert "  41   same" in lines(dock)[2]
        await pilot.press("left_square_bracket")
        assert "  21   same" in lines(dock)[2]
        dock.show_diffs([many], asking=True)
        await pilot.pause()
        assert lines(dock)[3].startswith("▐ ◦ hunk 1 of 10")
        await pilot.press("right_square_bracket")
        assert lines(dock)[2].startswith("▐ ◦ hunk 2 of 10")
        await pilot.press("left_square_bracket", "left_square_bracket")
        assert any(row.startswith("▐ ◦ hunk 1 of 10") for row in lines(dock))


async def test_copy_gives_the_unwrapped_text_of_the_tab():
    dock = Dock()
    app = PaneApp(dock)
    async with app.run_test(size=(30, 12)) as pilot:
        dock.focus()
        await pilot.press("y")
        dock.show_result(Result("grep", "x", "long " * 40 + "\x1b[1mend", True))
        await pilot.press("y")
        dock.show_diffs([NEW])
        await pilot.press("y")
        await pilot.pause()
        texts = [m.text for m in app.posted if type(m).__name__ == "CopyRequested"]
    assert texts == ["long " * 40 + "␛[1mend", plain_diff([NEW])]
    assert "@@ -1,0 +1,2 @@\n+def test_it():\n+    assert True\n" in texts[1]


async def test_nothing_is_painted_when_the_dock_is_told_what_it_already_shows():
    dock = Dock()
    async with PaneApp(dock).run_test(size=(60, 20)) as pilot:
        dock.show_result(RESULT)
        dock.show_diffs([DATES], bring=False)
        await pilot.pause()
        builds, paints = dock.builds, dock.paints
        dock.show_result(Result(*[getattr(RESULT, f) for f in ("name", "subject", "text", "ok")]))
        dock.show_diffs([DATES], bring=False)
        dock.show_diffs([DATES, NEW], bring=False)  # another tab's business
        dock.show_plan(PLAN)
        await pilot.pause()
        assert (dock.builds, dock.paints) == (builds, paints)
        dock.show_tab("plan")
        await pilot.pause()
        assert (dock.builds, dock.paints) == (builds + 1, paints + 1)


async def test_clear_forgets_everything():
    dock = Dock()
    async with PaneApp(dock).run_test(size=(60, 20)) as pilot:
        dock.show_plan(PLAN)
        dock.show_diffs([DATES])
        dock.show_result(RESULT)
        dock.clear()
        await pilot.pause()
        for tab in ("result", "diff", "plan", "file"):
            dock.show_tab(tab)
            assert lines(dock)[2].strip().startswith("No ")


@pytest.mark.parametrize(("language", "theme"), [("en", "nanoherm-light"), ("zh", "ansi")])
async def test_every_row_is_exactly_as_wide_as_the_dock_at_any_size(language, theme):
    i18n.set_language(language)
    dock = Dock()
    async with PaneApp(dock, theme=theme).run_test(size=(76, 20)) as pilot:
        dock.show_diffs([DATES, NEW], asking=language == "zh")
        dock.show_result(Result("grep", "中文 " * 30, "中文，标点。" * 40 + "\n" + "word " * 90, True), bring=False)
        dock.show_plan(PLAN)
        for width, height in [(76, 20), (45, 12), (21, 9), (13, 5), (11, 3), (6, 4), (4, 2), (1, 1)]:
            await pilot.resize_terminal(width, height)
            for tab in ("result", "diff", "plan", "file"):
                dock.show_tab(tab)
                await pilot.pause()
                assert len(lines(dock)) == height


async def test_the_scrollbar_shows_where_the_view_is_and_can_be_dragged():
    dock = Dock()
    async with PaneApp(dock).run_test(size=(40, 13)) as pilot:
        dock.show_result(Result("grep", "x", "\n".join(map(str, range(200))), True))
        await pilot.pause()
        assert [row[-1] for row in lines(dock)].index("▐") == 2
        await pilot.mouse_down(dock, offset=(39, 2))
        await pilot.hover(dock, offset=(39, 10))
        await pilot.mouse_up(dock, offset=(39, 10))
        await pilot.pause()
        assert dock.top == len(dock.rows) - dock.view_height
        assert [row[-1] for row in lines(dock)].index("▐") == 10
        await pilot.hover(dock, offset=(39, 3))  # the button is up
        assert dock.top == len(dock.rows) - dock.view_height


async def test_another_width_keeps_the_line_at_the_top():
    dock = Dock()
    text = "\n".join(f"line {n} " + "and some more words " * 5 for n in range(50))
    async with PaneApp(dock).run_test(size=(80, 20)) as pilot:
        dock.show_result(Result("grep", "x", text, True))
        await pilot.pause()
        at = next(i for i, row in enumerate(dock.rows) if row.text.startswith("line 20 "))
        dock.scroll_to_row(at)
        for cells in (40, 120, 30, 80):
            await pilot.resize_terminal(cells, 20)
            await pilot.pause()
            assert lines(dock)[2].startswith("  line 20 ")


async def drag(pilot, widget, start, end):
    await pilot.mouse_down(widget, offset=start)
    await pilot.hover(widget, offset=end)
    await pilot.mouse_up(widget, offset=end)
    await pilot.pause()
    return widget.screen.get_selected_text()


async def test_text_can_be_dragged_over_and_wrapped_lines_come_out_whole():
    dock = Dock()
    app = PaneApp(dock)
    line = "E  assert parse_date(value) == expected, '时区 不对'"
    async with app.run_test(size=(34, 20)) as pilot:
        dock.show_result(Result("run_command", "pytest", f"first line\n{line}\nlast line", True))
        await pilot.pause()
        rows = [row.rstrip() for row in lines(dock)]
        assert rows[5:9] == [
            "  first line",
            "  E  assert parse_date(value)",
            "      == expected, '时区 不对'",
            "  last line",
        ]
        assert await drag(pilot, dock, (8, 5), (5, 8)) == f"line\n{line}\nlast"
        chosen = app.look.style("seltext", "selection")
        assert set(styles(dock, 6, 2, 20)) == {chosen}
        assert set(styles(dock, 7, 2, 6)) == {app.look.style("text", "panel")}
        assert set(styles(dock, 5, 2, 8)) == {app.look.style("text", "panel")}
        assert len(lines(dock)) == 20
        dock.show_tab("plan")
        await pilot.pause()
        assert not dock.screen.selections


async def test_numbers_and_signs_of_a_change_are_not_copied():
    dock = Dock()
    async with PaneApp(dock).run_test(size=(60, 20)) as pilot:
        dock.show_diffs([NEW])
        await pilot.pause()
        assert await drag(pilot, dock, (3, 3), (40, 4)) == "def test_it():\n    assert True"


async def test_dragging_the_scrollbar_selects_nothing():
    dock = Dock()
    async with PaneApp(dock).run_test(size=(40, 13)) as pilot:
        dock.show_result(Result("grep", "x", "\n".join(map(str, range(200))), True))
        await pilot.pause()
        assert not await drag(pilot, dock, (39, 2), (39, 9))
        assert dock.top > 100


async def test_without_utf8_the_dock_is_ascii():
    symbols.set_ascii(True)
    dock = Dock()
    async with PaneApp(dock, theme="high-contrast").run_test(size=(60, 20)) as pilot:
        dock.show_diffs([NEW, FileDiff("a" * 90, (hunk(1, 1, "-a", "+b" * 90), hunk(9, 9, " c")), 1, 1)])
        await pilot.pause()
        assert all(row.isascii() for row in lines(dock))


@pytest.mark.parametrize(
    ("lines_after", "omitted", "last"),
    [(8, 0, "⋯   5 unchanged lines"), (4, 0, "⋯   1 unchanged line"), (3, 0, "3 + c"), (0, 0, "3 + c"),
     (90, 7, "⋯   7 more lines, too many to show")],
)  # fmt: skip
def test_what_stays_the_same_below_the_last_hunk_is_counted_where_it_is_known(lines_after, omitted, last):
    change = FileDiff("a.txt", (hunk(1, 1, " a", " b", "+c"),), 1, 0, omitted_lines=omitted, lines_after=lines_after)
    assert paint_row(diff_rows([change], 40, wrap=False)[-1], 40, LOOK).text.strip() == last


def test_nothing_is_left_below_a_file_that_was_emptied():
    emptied = diff.build("a.txt", "a\nb\n", "")
    assert [row.text.strip() for row in diff_rows([emptied], 40, wrap=False)][1:] == ["a", "b"]


# -- words in lines -----------------------------------------------------------------------------------------------


@each_row(
    ("old", "new", "was", "now"),
    [
        ("the old word", "the new word", ["old"], ["new"]),
        ("f(a)", "f(a, b)", [], [", b"]),
        ("    if x:", "        if x:", ["    "], ["        "]),
        ("    go(1)", "        go(2)", ["1"], ["2"]),
        ("修复 时区 问题", "修复 日期 问题", ["时区"], ["日期"]),
        ("same", "same", [], []),
    ],
)
def test_the_words_that_changed_are_found(old, new, was, now):
    _, before, after = compare(old, new)
    assert [old[a:b] for a, b in before] == was
    assert [new[a:b] for a, b in after] == now


def test_lines_with_little_in_common_get_no_marks_and_very_long_ones_are_not_compared():
    assert compare("return start + timedelta(hours=24)", "import os").likeness < 0.5
    assert compare("total = price * 0.9", "total = price * 0.95").likeness > 0.5
    assert compare("x" * 1000, "x" * 1000).likeness == 0.0


def test_a_large_change_is_laid_out_without_looking_into_its_lines(monkeypatch):
    from nanoherm_tui.panes import hunk_rows as module

    seen = []
    real = module.coloured
    monkeypatch.setattr(module, "coloured", lambda texts, path: seen.append(len(texts)) or real(texts, path))
    added = tuple(DiffLine("add", f"x = {n}", None, n + 1) for n in range(limits.HIGHLIGHT_LINES * 20))
    rows = diff_rows([FileDiff("a.py", (Hunk(0, 1, added),), len(added), 0)], 60, wrap=False)
    assert len(rows) == len(added) + 1
    assert seen == []
    rows[700].left()
    rows[701].left()
    assert sum(seen) == limits.HIGHLIGHT_LINES


def test_lines_left_out_of_a_huge_change_are_counted():
    rows = diff_rows([FileDiff("a.py", (hunk(1, 1, "+x"),), 5000, 0, omitted_lines=3000)], 60, wrap=True)
    assert "".join(s.text for s in rows[-1].left).strip() == "⋯   3000 more lines, too many to show"


def test_of_very_many_changes_the_first_are_laid_out_and_the_others_counted_but_all_of_what_is_asked():
    lines = tuple(DiffLine("add", f"x = {n}", None, n + 1) for n in range(100))
    diffs = [FileDiff(f"f{n}.py", (Hunk(0, 1, lines),), len(lines), 0) for n in range(2 * limits.DIFF_ROWS // 100)]
    rows = diff_rows(diffs, 60, wrap=False)
    assert limits.DIFF_ROWS < len(rows) < limits.DIFF_ROWS + 110
    headings = sum(row.key.endswith(".0") for row in rows)
    assert rows[-1].text.strip() == f"⋯   {len(diffs) - headings} older changes, on their tool cards"
    assert sum("x = 99" in row.text for row in diff_rows(diffs, 60, wrap=True)) == len(diffs)


@pytest.mark.parametrize("cells", [20, 61])
def test_a_line_of_a_quarter_megabyte_is_wrapped_whole(cells):
    line = "x = [1, 2];修" * 20_000
    rows = diff_rows([FileDiff("a.js", (Hunk(0, 1, (DiffLine("add", line, None, 1),)),), 1, 0)], cells, wrap=True)
    assert "".join(row.join.strip("\n") + row.text for row in rows[2:]) == line


def test_a_long_rewrite_is_compared_only_while_that_is_quick(monkeypatch):
    from nanoherm_tui.panes import hunk_rows as module

    seen = []
    real = module.compare
    monkeypatch.setattr(module, "compare", lambda old, new: seen.append(1) or real(old, new))

    def look(removed, added, length):
        seen.clear()
        text = "word " * (length // 5)
        lines = [DiffLine("remove", text, n, None) for n in range(removed)]
        lines += [DiffLine("add", text, None, n) for n in range(added)]
        rows = diff_rows([FileDiff("a.txt", (Hunk(1, 1, tuple(lines)),), added, removed)], 60, wrap=False)
        for row in rows:
            paint_row(row, 60, LOOK)
        return len(seen)

    assert look(3, 3, 60) == 3
    assert 0 < look(3, 4, 60) <= 12
    assert look(23, 24, 200) == 0
