"""What a key means in the pane that has the focus: its own, an answer, or the start of a message. The whole app."""

import pytest
from textual import events
from textual.events import Key
from textual.geometry import Region
from textual.keys import _character_to_key

from nanoherm_tui import commands, limits
from tests.fakes.model_server import Reply
from tests.tui.composer_app import type_keys
from tests.tui.test_app import LONG, Stage


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """A letter answers soon after the last key."""
    monkeypatch.setattr(limits, "APPROVAL_ARM", 0.05)
    monkeypatch.setattr(limits, "APPROVAL_ALONE", 0.05)
    # A terminal without a clipboard: what is copied is found in a file.
    monkeypatch.setenv("TERM", "dumb")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "TMUX", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)


def asking():
    text = "".join(f"line {n}\n" for n in range(3))
    return [Reply(calls=[("write_file", {"path": "new.txt", "content": text})]), Reply(text="Done.")]


def copied(app):
    file = app.host.places.cache_dir / "clipboard.txt"
    return file.read_text() if file.exists() else ""


async def until_armed(stage):
    await stage.until(lambda: stage.app.approval.armed)
    await stage.pilot.pause(0.2)


def foot(dock):
    return " ".join(row.text for row in dock.foot(dock.cells)).split()


BESIDE, OVER = (160, 40), (79, 24)
ANSWERS = [(BESIDE, "y", True), (BESIDE, "a", True), (OVER, "y", True), (OVER, "n", False)]


@pytest.mark.parametrize(("size", "key", "written"), ANSWERS)
async def test_a_letter_that_answers_does_so_in_the_dock_too(tmp_path, size, key, written):
    async with Stage(tmp_path, asking(), size=size) as stage:
        app, pilot = stage.app, stage.pilot
        await stage.type("write it")
        await stage.until(lambda: stage.state == "asking")
        if app.panes.dock == "hidden":
            await pilot.press("f3")
        app.dock.focus()
        await until_armed(stage)
        assert app.dock.has_focus
        assert {"y", "once", "a", "n", "refuse"} <= set(foot(app.dock))
        assert "copy" not in foot(app.dock)
        await pilot.press(key)
        if key == "n":
            await stage.until(lambda: app.approval._field.has_focus)
            assert app.panes.transcript
            await pilot.press("t", "o", "o", "enter")
        await stage.until(lambda: stage.state == "idle")
        assert (tmp_path / "work" / "new.txt").exists() == written
        assert not copied(app)
        assert app.composer.text == ""
        assert "copy" in foot(app.dock) or not app.dock._diffs


async def test_in_the_dock_a_word_is_no_answer(tmp_path):
    async with Stage(tmp_path, asking(), size=(160, 40)) as stage:
        app, pilot = stage.app, stage.pilot
        await stage.type("write it")
        await stage.until(lambda: stage.state == "asking")
        app.dock.focus()
        await until_armed(stage)
        await type_keys(pilot, "y", "e", "s")
        await pilot.pause(0.3)
        assert stage.state == "asking"
        assert app.composer.text == "yes"
        assert not copied(app)


async def test_a_panes_own_key_is_not_typed_and_any_other_letter_is(tmp_path):
    async with Stage(tmp_path, [Reply(text=LONG)], size=(160, 40)) as stage:
        app, pilot = stage.app, stage.pilot
        await stage.type("hi")
        await stage.until(lambda: stage.state == "idle" and len(app.view.model.entries) > 1)
        app.transcript.focus()
        await pilot.press("k", "k", "y")
        await stage.until(lambda: copied(app))
        assert app.composer.text == ""
        assert app.transcript.has_focus
        assert copied(app) in LONG
        await pilot.press("w", "o")
        await pilot.pause()
        assert app.composer.text == "wo"
        assert app.composer.holds_focus


async def test_in_the_conversation_a_letter_answers_too_and_copies_nothing(tmp_path):
    async with Stage(tmp_path, asking(), size=(160, 40)) as stage:
        app, pilot = stage.app, stage.pilot
        await stage.type("write it")
        await stage.until(lambda: stage.state == "asking")
        app.transcript.focus()
        await pilot.press("k")
        await until_armed(stage)
        await pilot.press("y")
        await stage.until(lambda: stage.state == "idle")
        assert (tmp_path / "work" / "new.txt").exists()
        assert not copied(app)
        assert app.composer.text == ""


async def test_who_is_selecting_text_answers_nothing_by_copying_it(tmp_path):
    async with Stage(tmp_path, asking(), size=(160, 40)) as stage:
        app, pilot = stage.app, stage.pilot
        await stage.type("write it")
        await stage.until(lambda: stage.state == "asking")
        app.transcript.focus()
        await until_armed(stage)
        await pilot.press("v", "dollar_sign")
        await pilot.pause(0.3)
        await pilot.press("y")
        await stage.until(lambda: copied(app))
        assert stage.state == "asking"
        assert copied(app) == "write it"
        assert app.composer.text == ""


async def test_a_key_in_the_same_read_as_a_change_of_panes_goes_to_the_new_one(tmp_path):
    async with Stage(tmp_path, [Reply(text=LONG)], size=(120, 30)) as stage:
        app = stage.app
        await stage.type("hi")
        await stage.until(lambda: stage.state == "idle" and len(app.view.model.entries) > 1)
        for keys, reached in (
            (("alt+2", "pageup"), lambda: app.transcript.scroll_y < app.transcript.max_scroll_y),
            (("alt+3", "x"), lambda: app.composer.text == "x"),
        ):
            for key in keys:
                character = key if len(key) == 1 else None
                app.post_message(events.Key(key, character))
            await stage.until(reached)
        assert app.composer.text == "x"


async def test_tab_in_an_idle_composer_does_nothing(tmp_path):
    async with Stage(tmp_path, size=(160, 40)) as stage:
        app, pilot = stage.app, stage.pilot
        await stage.until(lambda: not app.composer.is_empty)  # the demo's own words come by themselves
        for draft in ("", "a draft"):
            app.composer.text = draft
            await pilot.press("tab")
            await pilot.pause()
            assert app.composer.holds_focus
            assert app.composer.text == draft


async def test_a_pane_that_a_resize_folds_leaves_the_keyboard_to_the_composer(tmp_path):
    async with Stage(tmp_path, size=(200, 40)) as stage:
        app, pilot = stage.app, stage.pilot
        for pane in (app.dock, app.sessions_pane):
            await pilot.resize_terminal(200, 40)
            await stage.until(lambda: app.panes.dock == "side")
            pane.focus()
            await stage.until(lambda pane=pane: app.focused in pane.walk_children(with_self=True))
            await pilot.resize_terminal(80, 24)
            await stage.until(lambda: app.panes.dock == "hidden")
            await stage.until(lambda: app.composer.holds_focus)


async def test_behind_an_overlay_no_caret_is_drawn(tmp_path):
    def carets(app):
        strips = app.composer._draft.render_lines(Region(0, 0, *app.composer._draft.size))
        return [segment.text for strip in strips for segment in strip if segment.style and segment.style.reverse]

    async with Stage(tmp_path, size=(120, 30)) as stage:
        app, pilot = stage.app, stage.pilot
        await pilot.pause()
        assert len(carets(app)) == 1
        commands.run(app, "palette")
        await pilot.pause(0.2)
        assert not carets(app)
        await pilot.press("escape")
        await pilot.pause(0.2)
        assert len(carets(app)) == 1


async def test_every_panes_keys_can_be_changed_and_a_conflict_is_told(tmp_path):
    keymap = {"next": "f9", "copy_block": "z", "toggle_dock": "f8", "redraw": [], "fold": "ctrl+n"}
    async with Stage(tmp_path, [Reply(text=LONG[:2000])], size=(160, 40), keymap=keymap) as stage:
        app, pilot = stage.app, stage.pilot
        await stage.type("hi")
        await stage.until(lambda: stage.state == "idle" and len(app.view.model.entries) > 1)
        told = [entry.text for entry in app.view.model.entries if entry.kind == "note"]
        assert len(told) == 1
        assert "fold: Ctrl+N belongs to new" in told[0]
        app.transcript.focus()
        await pilot.press("k")
        await pilot.press("f9")
        before = app.transcript._page.cursor.block()
        await pilot.press("z")
        await stage.until(lambda: copied(app))
        assert app.composer.text == ""
        assert before is not None
        await pilot.press("f8")
        await pilot.pause()
        assert app.panes.dock == "hidden"
        app.transcript.focus()
        await pilot.press("j")  # is nobody's key now: it begins a message
        await pilot.pause()
        assert app.composer.text == "j"


@pytest.mark.parametrize("pane", ["dock", "transcript", "sessions"])
async def test_what_is_typed_at_a_pane_in_one_read_is_all_in_the_message(tmp_path, pane):
    async with Stage(tmp_path, [Reply(text=LONG[:2000])], size=(160, 40)) as stage:
        app, pilot = stage.app, stage.pilot
        await stage.type("hi")
        await stage.until(lambda: stage.state == "idle" and len(app.view.model.entries) > 1)
        app.pane(pane).focus()
        await pilot.pause()
        for character in "!ls -jk dg":
            app.post_message(Key(key=_character_to_key(character), character=character))
        await stage.until(lambda: app.composer.text == "!ls -jk dg")
        assert app.composer.holds_focus
