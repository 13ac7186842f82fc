"""Comments on hunks: written beside them, collected, put into one message, or said with a refusal."""

import pytest

from agent_core.desk.host import Host
from agent_core.messages import DiffLine, FileDiff, Hunk
from nanoherm_tui import limits
from nanoherm_tui.app import NanohermApp
from nanoherm_tui.panes.comment_field import CommentField
from nanoherm_tui.panes.comments import Comments, anchor_of, place_of
from nanoherm_tui.panes.dock import Dock
from nanoherm_tui.panes.hunks import hunk_keys
from tests.tui.panes_app import PaneApp, lines
from tests.tui.test_app import launch, start
from tests.tui.test_hunks import Asked
from tests.tui.test_hunks import at_once as at_once  # a letter answers soon


def hunk(start, *words):
    kinds = {" ": "same", "+": "add", "-": "remove"}
    made, old, new = [], start, start
    for word in words:
        kind = kinds[word[0]]
        numbers = (old if kind != "add" else None, new if kind != "remove" else None)
        made.append(DiffLine(kind, word[1:], *numbers))
        old, new = old + (kind != "add"), new + (kind != "remove")
    return Hunk(start, start, tuple(made))


A = FileDiff("src/a.py", (hunk(3, " x", "-old", "+new"), hunk(40, "+```", "+    @diff")), 3, 1)
B = FileDiff("文档.md", (hunk(1, "-only"),), 0, 1, change="delete")


class Commented(PaneApp):
    """A dock with what it would put into the draft."""

    def __init__(self, *panes):
        super().__init__(*panes)
        self.drafted = []

    def on_comments_tab_message_wanted(self, message):
        self.drafted.append(message.text)


def body(dock):
    return [row.rstrip() for row in lines(dock)]


@pytest.mark.parametrize(
    ("diff", "at", "place"),
    [(A, 0, "src/a.py:3-4"), (A, 1, "src/a.py:40-41"), (B, 0, "文档.md:1")],
)
def test_a_comment_names_the_lines_as_they_are_after_the_change_and_of_a_deletion_as_they_were(diff, at, place):
    assert place_of(anchor_of(diff, diff.hunks[at])) == place


def test_a_message_quotes_each_hunk_within_bounds_in_a_fence_that_no_line_ends():
    comments, long = Comments(), hunk(1, *(f"+{'x' * 9_000}" for _ in range(limits.COMMENT_LINES + 2)))
    big = FileDiff("big", (long,), 42, 0)
    for diff, index, words in ((A, 1, "不要这样\n"), (big, 0, "\x1b[2Jno")):
        comments.put(anchor_of(diff, diff.hunks[index]), words)
    first, second = comments.message(comments.by_anchor).split("\n\n", 1)
    assert first == "src/a.py:40-41\n````diff\n+```\n+    @diff\n````\n不要这样"
    assert "[2 more lines]" in second
    assert "\x1b" not in second
    assert max(map(len, second.splitlines())) == limits.COMMENT_LINE
    assert len(second.splitlines()) == limits.COMMENT_LINES + 5


async def test_comments_are_collected_over_hunks_and_files_and_become_one_draft():
    dock = Dock()
    app = Commented(dock)
    async with app.run_test(size=(60, 30)) as pilot:
        dock.show_diffs([A, B])
        dock.focus()
        await pilot.press("c", *"why?", "ctrl+j", *"不", "enter")
        assert [row for row in body(dock) if "▐" in row and ("why" in row or "不" in row)] == [
            "       ▐ why?", "       ▐ 不"
        ]  # fmt: skip
        await pilot.press("right_square_bracket", "c", *"second", "escape")
        assert len(dock.comments) == 1, "left as it was"
        await pilot.press("right_square_bracket", "c", *"keep it", "enter")
        assert dock.has_focus
        assert "C 2 comments into the message" in "\n".join(body(dock))
        await pilot.press("3", "2")
        assert any("keep it" in row for row in body(dock)), "another tab, and back"
        await pilot.press("C")
        (text,) = app.drafted
        assert text.startswith("src/a.py:3-4\n```diff\n x\n-old\n+new\n```\nwhy?\n不\n\n文档.md:1\n")
        assert text.endswith("\nkeep it")
        assert not dock.comments
        assert not any("keep it" in row for row in body(dock))


async def test_a_comment_is_mended_taken_away_by_nothing_and_kept_when_its_session_goes():
    dock = Dock()
    async with Commented(dock).run_test(size=(45, 16)) as pilot:
        first = Comments()
        dock.use_comments(first)
        dock.show_diffs([A])
        dock.focus()
        await pilot.press("c", "a", "enter", "c", "b", "enter")
        assert list(first.by_anchor.values()) == ["ab"]
        await pilot.press("c", "backspace", "backspace", "enter")
        assert not first
        await pilot.press("c", *"half")
        dock.use_comments(Comments())
        await pilot.pause()
        assert list(first.by_anchor.values()) == ["half"]
        assert not any("half" in row for row in body(dock))


@pytest.mark.parametrize("size", [(40, 10), (21, 9), (9, 5), (1, 1)])
async def test_the_field_fits_any_size(size):
    dock = Dock()
    async with Commented(dock).run_test(size=(60, 20)) as pilot:
        dock.show_diffs([A])
        dock.focus()
        await pilot.press("c", *"中文 words", "ctrl+j", "x")
        await pilot.resize_terminal(*size)
        await pilot.pause()
        assert len(lines(dock)) == size[1]
        field = dock.query_one(CommentField)
        for _ in range(20):
            if field.size.width == max(1, dock.cells):
                break
            await pilot.pause(0.02)
        assert field.size.width == max(1, dock.cells), "it is as wide as the dock is now"
        await pilot.press("enter")
        assert list(dock.comments.by_anchor.values()) == ["中文 words\nx"]


async def test_while_a_change_waits_letters_of_a_comment_answer_nothing_and_yes_says_it_of_the_refused_hunk(tmp_path):
    async with Asked(tmp_path) as stage:
        app = stage.app
        app.dock.focus()
        await stage.press("right_square_bracket", "c")
        await stage.until(lambda: not app.dock.has_focus and app.dock.holds_focus)
        await stage.press(*"any way", "enter")
        assert stage.state == "asking"
        assert len(app.dock.comments) == 1
        await stage.until(lambda: app.approval.armed)
        await stage.press("space")
        await stage.until(lambda: app.approval.refused == {"0.1"} and app.approval.armed)
        await stage.press("y")
        await stage.idle()
        assert stage.changed == [10, 50]
        told = next(call.text for call in app.view.calls.values() if "hunk" in call.text)
        assert "The user says: a.py:27-33: any way" in told
        assert not app.dock.comments


async def test_comments_and_what_is_being_written_are_beside_their_hunks_after_a_restart(tmp_path):
    async with Asked(tmp_path) as stage:
        app = stage.app
        app.dock.focus()
        await stage.until(lambda: app.approval.armed)
        await stage.press("y")
        await stage.idle()
        await stage.until(lambda: app.view.comments.restored)
        session = app.view.id
        await stage.press("c", *"why", "enter", "right_square_bracket", "c", *"half")
        await stage.until(lambda: len(app.host.comments(session)) == 2, 10)
    host = Host(launch(tmp_path))
    try:
        opened = host.open(session)
        app = NanohermApp(start(host))
        async with app.run_test(size=(160, 50)) as pilot:
            await pilot.pause()
            app.conversations.show(opened)
            for _ in range(200):
                if app.view.comments.restored and app.dock.comment_hints():
                    break
                await pilot.pause(0.05)
            shown = [row.strip() for row in body(app.dock)]
            assert [row.split()[-1] for row in shown if "▐" in row] == ["why", "half"]
            app.dock.focus()
            await pilot.press("C")
            await pilot.pause()
            assert "why" in app.composer.text
            assert "\nhalf" in app.composer.text
            assert host.flush_notes(5.0)
            assert (host.comments(session), host.draft(session)) == ((), app.composer.text)
    finally:
        host.close()


async def test_refusing_all_begins_with_what_was_said_of_the_hunks(tmp_path):
    async with Asked(tmp_path) as stage:
        app = stage.app
        (change,) = app.approval.current.diffs
        app.dock.comments.put(anchor_of(change, change.hunks[0]), "先问我")
        assert hunk_keys([change]) == ("0.0", "0.1", "0.2")
        app.dock.focus()
        await stage.until(lambda: app.approval.armed)
        await stage.press("n")
        await stage.until(lambda: "先问我" in app.approval._field.text)
        assert len(app.dock.comments) == 1, "nothing is said yet"
        await stage.press("enter")
        await stage.idle()
        assert stage.changed == []
        assert not app.dock.comments
        assert any("先问我" in call.text for call in app.view.calls.values())
