"""Hunks of an edit that waits: refused and taken back, by key or mouse, and what the screen says of it."""

import pytest
from rich.cells import cell_len

from agent_core.messages import DiffLine, FileDiff, Hunk
from nanoherm_tui import limits
from nanoherm_tui.i18n import set_language
from nanoherm_tui.overlays.question import question_rows, title
from nanoherm_tui.panes.dock import Dock
from nanoherm_tui.panes.hunks import hunk_keys, left_of
from nanoherm_tui.theming.themes import Look
from tests.fakes.model_server import Reply
from tests.tui.composer_app import ComposerApp, Question
from tests.tui.overlay_app import shown
from tests.tui.panes_app import THEMES, PaneApp, lines, painted
from tests.tui.test_app import Stage

FILE = "".join(f"value_{n} = {n}\n" for n in range(1, 61))
EDITS = [{"old_text": f"value_{n} = {n}\n", "new_text": f"value_{n} = 'new'\n"} for n in (10, 30, 50)]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """A letter answers soon after the last key."""
    monkeypatch.setattr(limits, "APPROVAL_ARM", 0.05)
    monkeypatch.setattr(limits, "APPROVAL_ALONE", 0.05)


class Asked(Stage):
    """The app with an edit of three hunks that waits for an answer."""

    def __init__(self, tmp_path, size=(160, 50)):
        read = Reply(calls=[("read_file", {"path": "a.py"})])
        edit = Reply(calls=[("edit_file", {"path": "a.py", "edits": EDITS})])
        super().__init__(tmp_path, [read, edit, Reply(text="Done.")], size=size)

    async def __aenter__(self):
        await super().__aenter__()
        self.file = self._tmp_path / "work" / "a.py"
        self.file.write_text(FILE)
        await self.type("edit it")
        await self.until(lambda: self.state == "asking" and self.app.approval.armed)
        return self

    async def press(self, *keys):
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause(0.02)

    def dock(self):
        return [row[:-1].rstrip() for row in lines(self.app.dock)]

    def hunks(self):
        """The headings of hunks in the dock, without the bar of the cursor."""
        return [row[2:] for row in self.dock() if row[4:8] == "hunk"]

    def screen(self):
        return shown(self.app)

    async def idle(self):
        await self.until(lambda: self.state == "idle")

    @property
    def changed(self):
        return [int(line.split("_")[1].split()[0]) for line in self.file.read_text().splitlines() if "new" in line]


async def test_hunks_are_refused_by_key_and_mouse_are_remembered_and_yes_applies_the_rest(tmp_path):
    async with Asked(tmp_path) as stage:
        app, first = stage.app, stage.app.view
        await stage.until(lambda: [row.split()[0] for row in stage.hunks()] == ["◦"] * 3)
        app.dock.focus()
        await stage.until(lambda: app.approval.armed)
        await stage.press("right_square_bracket", "space")
        assert [row.split() for row in stage.hunks()] == [
            ["✓", "hunk", "1", "of", "3", "accepted"],
            ["✗", "hunk", "2", "of", "3", "refused"],
            ["✓", "hunk", "3", "of", "3", "accepted"],
        ]
        assert "Apply 2 of 3 hunks?" in stage.screen()
        assert "a.py  +2 −2" in stage.screen()
        assert "Space take hunk back" in stage.screen()
        # From the panel itself.
        await stage.press("alt+3", "tab")
        assert app.approval.has_focus
        await stage.press("left_square_bracket", "space", "space")
        assert app.approval.refused == {"0.1"}
        at = next(y for y, row in enumerate(stage.dock()) if "hunk 3 of 3" in row)
        await stage.pilot.click(app.dock, offset=(6, at))
        await stage.until(lambda: app.approval.refused == {"0.1", "0.2"})
        await stage.pilot.click(app.dock, offset=(6, at))
        await stage.until(lambda: app.approval.refused == {"0.1"})
        # Another session, and back.
        await stage.press("ctrl+n")
        await stage.until(lambda: app.view is not first)
        assert not app.approval.refused
        app.conversations.show(first.session)
        await stage.until(lambda: app.view is first and app.approval.current is not None)
        await stage.until(lambda: any("✗ hunk 2 of 3" in row for row in stage.dock()))
        app.dock.focus()
        await stage.until(lambda: app.approval.armed)
        await stage.press("y")
        await stage.idle()
        assert stage.changed == [10, 50]
        assert "+2 −2, 1 hunk refused" in stage.transcript()
        assert not app.approval.refused


async def test_a_lone_key_in_the_draft_goes_to_the_hunks_typing_does_not_and_with_all_refused_yes_is_no(
    tmp_path, monkeypatch
):
    async with Asked(tmp_path) as stage:
        app = stage.app
        await stage.until(lambda: "[ ] Space choose hunks" in stage.screen())
        monkeypatch.setattr(limits, "APPROVAL_ALONE", 60.0)
        await stage.press("space", "left_square_bracket", "right_square_bracket")
        assert (app.composer.text, app.approval.refused) == (" []", frozenset())
        app.dock.focus()  # a draft is open
        await stage.press("space")
        assert not app.approval.refused
        app.composer.clear_to_history()
        monkeypatch.setattr(limits, "APPROVAL_ALONE", 0.05)
        app.composer.focus()
        await stage.until(lambda: app.approval.armed)
        await stage.press("right_square_bracket")
        await stage.until(lambda: app.dock.has_focus)
        monkeypatch.setattr(limits, "APPROVAL_ARM", 60.0)
        await stage.press("right_square_bracket", "space")  # at once: nobody is typing
        assert (app.composer.text, app.approval.refused) == ("", {"0.2"})
        app.approval.arming.asked()
        await stage.press("alt+3", "space", "alt+4", "space")  # too early
        assert app.approval.refused == {"0.2"}
        app.composer.clear_to_history()
        monkeypatch.setattr(limits, "APPROVAL_ARM", 0.05)
        await stage.until(lambda: app.approval.armed)
        await stage.press("left_square_bracket", "space", "left_square_bracket", "space")
        assert "Every hunk is refused" in stage.screen()
        assert "y refuse, tell why   n refuse, tell why" in stage.screen()
        assert "left out  a.py" in stage.screen()
        assert "this session" not in stage.screen()
        assert "every change of a file" not in stage.screen()
        await stage.press("a")  # is not offered: a letter like any other
        assert app.composer.text == "a"
        await stage.press("backspace", "alt+4")
        await stage.until(lambda: app.approval.armed)
        await stage.press("y")
        await stage.until(lambda: app.approval._field.has_focus)
        await stage.press("n", "o", "enter")
        await stage.idle()
        assert stage.changed == []
        assert "refused" in stage.transcript()


async def test_a_hunk_out_of_sight_is_first_brought_into_view(tmp_path):
    async with Asked(tmp_path, size=(79, 14)) as stage:
        app = stage.app
        assert "F3 changes" in stage.screen()  # nothing is chosen that is not seen
        await stage.press("f3")
        assert app.dock.has_focus
        await stage.until(lambda: app.approval.armed)
        await stage.press("G", "space")
        assert not app.approval.refused
        assert any("hunk 1 of 3" in row for row in stage.dock())
        await stage.press("space")
        assert app.approval.refused == {"0.0"}
        assert any("✗ hunk 1 of 3" in row for row in stage.dock())
        # With the panel out of sight the dock says what yes would do.
        assert any("y 2 of 3" in row for row in stage.dock())


# -- data ---------------------------------------------------------------------------------------------------------


def hunk(start, *texts):
    kinds = {"+": "add", "-": "remove", " ": "same"}
    return Hunk(start, start, tuple(DiffLine(kinds[t[0]], t[1:], start, start) for t in texts))


EDIT = FileDiff("a.py", (hunk(1, "-a", "+b", "+c"), hunk(9, "-d")), 2, 2)
MOVE = (
    FileDiff("new/位置.py", (hunk(1, "+x"),), 1, 0, "create", old_path="old.py"),
    FileDiff("old.py", (hunk(1, "-x"),), 0, 1, "delete"),
)
MOVED = FileDiff("b.py", (hunk(1, "-x", "+y"),), 1, 1, old_path="was.py")


async def test_only_of_a_change_of_files_are_hunks_left_out():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)):
        for kind, refused in (("keep", set()), ("edit", {"0.1"})):
            question = app.ask(Question(kind, "Change a.py", diffs=(EDIT,)))
            app.panel.toggle_hunk((EDIT,), "0.1", by_mouse=True)
            assert app.panel.refused == refused
            app.panel.close(question.id)


def test_figures_are_those_of_what_is_left():
    assert hunk_keys((EDIT, *MOVE, MOVED)) == ("0.0", "0.1", "1.0", "3.0")
    kept = [left_of(EDIT, 0, refused) for refused in ((), ("0.0",), ("0.1",), ("1.0",), ("0.0", "0.1"))]
    assert [(one.added, one.removed, one.is_nothing) for one in kept] == [
        (2, 2, False),
        (0, 1, False),
        (2, 1, False),
        (2, 2, False),
        (2, 2, True),
    ]


@pytest.mark.parametrize(
    ("diffs", "refused", "en", "zh"),
    [
        ((EDIT,), (), "Change a.py?", "改动 a.py？"),
        ((FileDiff("a.py", (), 1, 0, "create"),), (), "Create a.py?", "新建 a.py？"),
        ((FileDiff("a.py", (), 0, 1, "delete"),), (), "Delete a.py?", "删除 a.py？"),
        (
            (FileDiff("a", (), 1, 0, "create"), FileDiff("b", (), 1, 0, "create")),
            (),
            "Create 2 files?",
            "新建 2 个文件？",
        ),
        (MOVE, (), "Move old.py?", "移动 old.py？"),
        ((*MOVE, MOVED), (), "Move 2 files?", "移动 2 个文件？"),
        ((EDIT, *MOVE), (), "Change 2 files?", "改动 2 个文件？"),
        ((EDIT, *MOVE), ("0.1",), "Apply 2 of 3 hunks?", "应用 3 块中的 2 块？"),
        (MOVE, ("0.0",), "Every hunk is refused", "所有改动块都已拒绝"),
    ],
)
def test_the_heading_says_what_would_be_done(diffs, refused, en, zh):
    question = Question("edit", "", diffs=diffs)
    assert title(question, frozenset(refused)) == en
    set_language("zh")
    assert title(question, frozenset(refused)) == zh


def test_a_move_is_two_rows_of_the_panel_and_says_where_from_and_where_to():
    rows = question_rows(Question("edit", "", diffs=(*MOVE, MOVED, EDIT)), 60, frozenset({"2.0", "3.1"}))
    assert [(r.label, r.words, r.kind, r.added, r.removed) for r in rows] == [
        ("move", "old.py", "value", 0, 0),
        ("to", "new/位置.py", "value", 0, 0),
        ("left out", "was.py", "muted", 0, 0),
        ("to", "b.py", "left out", 1, 1),
        ("change", "a.py", "file", 2, 1),
    ]


async def test_a_refused_hunk_has_no_tints_in_any_theme():
    dock = Dock()
    app = PaneApp(dock)
    async with app.run_test(size=(60, 30)) as pilot:
        dock.show_diffs([EDIT], asking=True)
        dock.show_refused(frozenset({"0.0"}))
        for theme in ("nanoherm-dark", "nanoherm-light", "high-contrast", "ansi"):
            app.look = Look(THEMES[theme])
            dock.refresh_look()
            await pilot.pause()
            strips = painted(dock)
            rows = [strip.text for strip in strips]
            styles = [{segment.style for segment in strip.crop(4, 12) if segment.text.strip()} for strip in strips]
            refused, kept = (next(y for y, row in enumerate(rows) if words in row) for words in ("− a", "− d"))
            assert len(styles[refused]) == 1, theme
            assert styles[refused] == styles[refused + 1] == styles[refused + 2], theme  # what goes, what comes
            assert styles[kept] - styles[refused], theme


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_refused_and_moved_fit_every_size(language):
    set_language(language)
    dock = Dock()
    async with PaneApp(dock).run_test(size=(80, 24)) as pilot:
        dock.show_diffs([EDIT, *MOVE, MOVED], asking=True)
        dock.show_answers((("y", "once"),), armed=True)
        dock.show_refused(frozenset({"0.0", "1.0", "3.0"}))
        for size in ((80, 24), (40, 10), (200, 60), (12, 5), (1, 1)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            fitted = lines(dock)  # checks each row's width
            assert {cell_len(row) for row in fitted} == {size[0]}, size
            assert len(dock._hunks()) == 4, size
