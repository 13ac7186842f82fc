"""Two sessions side by side: what is the same, what stands beside what, what is told of each, and going there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_core.messages import (
    DiffLine,
    FileDiff,
    Hunk,
    Message,
    ToolCall,
    ToolResult,
    Usage,
    tool,
    user,
)
from agent_core.store.compare import changed_files, common, compare
from agent_core.store.sessions import Store
from agent_core.store.usage import Booking
from nanoherm_tui.overlays.compare import CompareBody, CompareScreen
from nanoherm_tui.overlays.compare_rows import Drawn
from nanoherm_tui.overlays.palette import PaletteScreen
from nanoherm_tui.plain.comparing import compared_lines
from nanoherm_tui.text import width
from nanoherm_tui.theming.files import load_themes
from nanoherm_tui.theming.themes import Look
from nanoherm_tui.transcript.pairs import align
from nanoherm_tui.words.compare import facts
from tests.fakes.model_server import Reply
from tests.rows import each_row
from tests.tui.overlay_app import OverlayApp, rows, shown
from tests.tui.test_app import Stage


def step(number, text="done", path=""):
    """A step with one call, as three messages."""
    call = f"c{number}"
    diffs = (FileDiff(path, (Hunk(1, 1, (DiffLine("add", "x", None, 1),)),), 1, 0),) if path else ()
    return [
        Message("assistant", "", tool_calls=(ToolCall(call, "edit_file" if path else "read_file", {"path": "a.py"}),)),
        tool(ToolResult(call, "edit_file" if path else "read_file", "1 line", diffs=diffs)),
        Message("assistant", text),
    ]


BEGUN = [user("fix 时区"), *step(1)]


@each_row(
    ("left", "right", "equal"),
    [
        ([], [], 0),
        (BEGUN, BEGUN, 4),
        (BEGUN, [*BEGUN, user("more")], 4),
        # Said again word by word, with other ids.
        (BEGUN, [replace(message, id=f"n{n}") for n, message in enumerate(BEGUN)], 4),
        (BEGUN, [BEGUN[0], *step(1, "otherwise")], 3),
        # A call whose result is another one is no common step.
        (BEGUN, [*BEGUN[:2], tool(ToolResult("c1", "read_file", "nothing")), BEGUN[3]], 1),
        ([user("a")], [user("b")], 0),
    ],
)
def test_the_common_beginning_is_whole_steps_that_say_and_do_the_same(left, right, equal):
    assert common(left, right) == equal
    assert common(right, left) == equal


def test_changed_files_are_named_once_and_where_they_were_before_too():
    moved = FileDiff("b.py", (), 0, 0, old_path="a.py")
    messages = [*step(1, path="x.py"), *step(2, path="x.py"), tool(ToolResult("m", "apply_patch", "", diffs=(moved,)))]
    assert changed_files(messages) == ("x.py", "a.py", "b.py")


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "state.db")
    yield store
    store.close()


def filled(store, workspace="/w"):
    """A session and its fork: both begin with one turn; then each goes its own way. Their ids."""
    first = store.create(workspace, title="修复时区", model="qwen3").id
    for message in BEGUN:
        store.append(first, message)
    fork = store.fork(first).id
    for message in [
        user("with a table"),
        *step(2, "a table", "table.py"),
        user("and then?"),
        Message("assistant", "end"),
    ]:
        store.append(first, message)
    other = Message("assistant", "", tool_calls=(ToolCall("c9", "grep", {"pattern": "x"}),))
    more = [other, tool(ToolResult("c9", "grep", "no match"))]
    for message in [user("without one"), *more, *step(3, "no table", "plain.py"), *step(4, "more", "both.py")]:
        store.append(fork, message)
    for message in step(5, "last", "both.py"):
        store.append(first, message)
    store.costs.book(first, Booking("qwen3", Usage(1_000, 200, 1_200), 0.5), 30.0)
    store.costs.book(fork, Booking("qwen3", Usage(10, 2, 12), None), 90.0)
    return first, fork


def test_what_each_has_used_and_changed_is_told(store):
    comparison = compare(store, *filled(store))
    assert comparison.equal == 4
    assert comparison.only == (("table.py",), ("plain.py",))
    told = facts(comparison, 0)
    assert (told.title, told.models) == ("修复时区", "qwen3")
    assert told.used == "3 turns   1.2k tokens   $0.50   30.0 s"
    assert told.changed == "2 files changed   only here: table.py"
    assert told.use(60) == "qwen3   " + told.used
    told = facts(comparison, 1)
    assert told.title == "修复时区 (fork)"
    assert told.used == "2 turns   12 tokens   $?   1m 30s"
    assert told.changed == "2 files changed   only here: plain.py"


def test_line_by_line_the_same_is_told_and_what_follows_in_each(store):
    lines = compared_lines(compare(store, *filled(store)))
    assert lines[lines.index("What follows in B:") + 1] == "  you: without one"
    assert lines[:7] == [
        "A: 修复时区, qwen3, 3 turns, 1.2k tokens, $0.50, 30.0 s, 2 files changed, only here: table.py",
        "B: 修复时区 (fork), qwen3, 2 turns, 12 tokens, $?, 1m 30s, 2 files changed, only here: plain.py",
        "4 equal messages",
        "What follows in A:", "  you: with a table", "  edit_file", "  answer: a table",
    ]  # fmt: skip


def aligned_of(comparison):
    return align(comparison.left.messages, comparison.right.messages, comparison.equal)


def screen_of(comparison):
    return CompareScreen((facts(comparison, 0), facts(comparison, 1)), aligned_of(comparison))


def kinds(pair):
    return tuple(entry and (entry.card.name if entry.card else entry.kind) for entry in pair.entries)


def test_what_is_of_the_same_kind_stands_side_by_side_turn_by_turn(store):
    aligned = aligned_of(compare(store, *filled(store)))
    assert [kinds(pair) for pair in aligned.common] == [
        ("user", "user"), ("read_file", "read_file"), ("answer", "answer"),
    ]  # fmt: skip
    first, second = aligned.turns
    assert [kinds(pair) for pair in first] == [
        ("user", "user"), (None, "grep"), ("edit_file", "edit_file"), ("answer", "answer"),
        (None, "edit_file"), (None, "answer"),
    ]  # fmt: skip
    assert [kinds(pair) for pair in second] == [
        ("user", None), ("answer", None), ("edit_file", None), ("answer", None),
    ]  # fmt: skip
    assert [pair.starts for pair in second] == [True, False, False, False]


def test_the_turn_in_which_two_part_is_shown_from_its_beginning(store):
    sides = []
    for answer in ("this way", "that way"):
        sides.append(store.create("/w").id)
        for message in [*BEGUN, user("how?"), *step(2), Message("assistant", answer)]:
            store.append(sides[-1], message)
    comparison = compare(store, *sides)
    aligned = aligned_of(comparison)
    assert (comparison.equal, aligned.messages) == (8, 4)
    assert [kinds(pair) for pair in aligned.turns[0]] == [
        ("user", "user"), ("read_file", "read_file"), ("answer", "answer"), ("answer", "answer"),
    ]  # fmt: skip


@pytest.mark.parametrize("size", [(200, 60), (80, 24), (40, 10), (12, 3)])
async def test_both_are_shown_whole_in_every_size(store, size):
    comparison = compare(store, *filled(store))
    app = OverlayApp()
    async with app.run_test(size=size) as pilot:
        app.push_screen(screen_of(comparison))
        await pilot.pause()
        for key in ("space", "j", "pagedown", "right_curly_bracket", "tab", "up", "G", "space", "k", "g"):
            await pilot.press(key)
            body = app.screen.query_one(CompareBody)
            assert all(strip.cell_length == body.size.width for strip in body.rows(body.size.width))
        assert all(width(line) == size[0] for line in rows(app))
        if size[0] >= 120:
            line = next(line for line in rows(app) if "with a table" in line)
            assert "without one" in line
            assert "only here: plain.py" in shown(app)


@pytest.mark.parametrize("cells", [1, 2, 5, 9])
@pytest.mark.parametrize("stacked", [True, False])
def test_a_window_of_hardly_any_width_has_rows_of_that_width(store, cells, stacked):
    look = Look(load_themes()[0]["high-contrast"])
    units = aligned_of(compare(store, *filled(store))).units(stacked=stacked, unfolded=True)
    drawn = Drawn(units, cells, look, stacked=stacked, unfolded=True)
    assert all(strip.cell_length == cells for n in range(len(units)) for strip in drawn.rows(n))


async def test_two_that_are_equal_say_so(store):
    first = filled(store)[0]
    comparison = compare(store, first, store.fork(first).id)
    app = OverlayApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(screen_of(comparison), app.results.append)
        await pilot.pause()
        assert "13 equal messages, and nothing else." in shown(app)
        await pilot.press("enter")
        await pilot.pause()
    assert app.results == [(first, comparison.left.messages[-1].id)]


async def test_keys_move_through_both_and_enter_gives_the_side_that_is_lit(store):
    first, fork = filled(store)
    comparison = compare(store, first, fork)
    app = OverlayApp()
    async with app.run_test(size=(120, 40)) as pilot:
        app.push_screen(screen_of(comparison), app.results.append)
        await pilot.pause()
        assert "4 equal messages" in shown(app)
        assert "fix 时区" not in shown(app)
        await pilot.press("space")
        assert "fix 时区" in shown(app)
        await pilot.press("space", "right_curly_bracket", "right", "j")
        assert "open B here" in shown(app)
        assert "turn 1 of 2" in shown(app)
        # The next turn is on the left alone: the other side cannot be lit there.
        await pilot.press("right_curly_bracket", "right")
        assert "open A here" in shown(app)
        await pilot.press("left_curly_bracket", "tab", "enter")
    (place,) = app.results
    assert place[0] == fork
    assert place[1] == next(m.id for m in comparison.right.messages if m.text == "without one")


async def test_a_very_long_answer_and_thousands_of_messages_are_drawn_only_where_they_are_looked_at(store):
    ids = []
    for side in range(2):
        session = store.create("/w", title=f"long {side}").id
        ids.append(session)
        store.append(session, user("begin"))
        for number in range(150):
            for message in step(number, f"answer {side} {number} " + "word " * 60):
                store.append(session, message)
        store.append(session, Message("assistant", "\n\n".join(f"paragraph {n}" for n in range(2_000))))
    comparison = compare(store, *ids)
    aligned = aligned_of(comparison)
    app = OverlayApp()
    async with app.run_test(size=(160, 50)) as pilot:
        app.push_screen(CompareScreen((facts(comparison, 0), facts(comparison, 1)), aligned))
        await pilot.pause()
        drawn = app.screen.query_one(CompareBody).drawn
        assert len(drawn._kept) < 60
        assert sum(entry.is_split for model in aligned.models for entry in model.entries) < 120
        await pilot.press("G")
        assert "The rest is in the session." in shown(app)
        assert sum(entry.is_split for model in aligned.models for entry in model.entries) < 240


async def test_sessions_are_named_marked_or_chosen_and_gone_to(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")], size=(160, 50)) as stage:
        app, pilot = stage.app, stage.pilot
        first, fork = filled(stage.host.store, str(stage.host.places.workspace))
        await stage.type("/compare 修复时区 nobody")
        await stage.until(lambda: "nobody" in stage.transcript())
        await stage.type(f'/compare "修复时区" {fork[:8]}')
        await stage.until(lambda: isinstance(app.screen, CompareScreen))
        await pilot.press("right_curly_bracket", "right", "enter")
        await stage.until(lambda: app.view.id == fork and "without one" in stage.transcript())
        # A fork is compared with what it was forked from.
        await pilot.press("alt+3")
        await stage.type("/compare")
        await stage.until(lambda: isinstance(app.screen, CompareScreen))
        assert app.screen.sides[0].session == first
        await pilot.press("escape")
        # In the list: one is marked, then another.
        app.conversations.reload()
        await stage.until(lambda: {first, fork} <= {item.id for item in app.sessions_pane._items})
        await pilot.press("alt+1")
        pane = app.sessions_pane
        pane.set_cursor(next(n for n, row in enumerate(pane.rows) if row.key == first))
        await pilot.press("c")
        assert "修复时区 is marked" in app._hint
        await pilot.press("c")
        assert "Nothing is marked" in app._hint
        await pilot.press("c")
        pane.set_cursor(next(n for n, row in enumerate(pane.rows) if row.key == fork))
        await pilot.press("c")
        await stage.until(lambda: isinstance(app.screen, CompareScreen))
        assert app.screen.sides[1].session == fork
        await pilot.press("escape")
        # Where nothing is related, the other one is chosen from a list.
        alone = stage.host.store.create(str(stage.host.places.workspace), title="alone")
        stage.host.store.append(alone.id, user("hello"))
        await pilot.press("alt+3")
        await stage.type("/resume alone")
        await stage.until(lambda: app.view.id == alone.id and app.view.loaded)
        app.conversations.reload()
        await stage.type("/compare")
        await stage.until(lambda: isinstance(app.screen, PaletteScreen))
        await pilot.press("enter")
        await stage.until(lambda: isinstance(app.screen, CompareScreen))
        assert app.screen.sides[0].session == alone.id
