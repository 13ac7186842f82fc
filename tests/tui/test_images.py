"""Images in the composer and the dock: chips, the ways in, what is said when there is none, and the drawing."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from rich.cells import cell_len
from textual import events

from agent_core.images.child import PARTS
from agent_core.images.reader import Drawing
from agent_core.text.image_refs import REFERENCE
from nanoherm_tui import i18n, symbols
from nanoherm_tui.commands.looking import open_call
from nanoherm_tui.panes.bodies import paint_row
from nanoherm_tui.panes.chips import Chips
from nanoherm_tui.panes.image import Picture, can_draw, picture_rows
from nanoherm_tui.terminal.dropped import image_paths
from nanoherm_tui.theming.files import load_themes
from nanoherm_tui.theming.themes import Look
from tests.core.image_support import image
from tests.fakes.model_server import Reply
from tests.rows import each_row
from tests.tui.composer_app import ComposerApp, rows
from tests.tui.test_app import Stage
from tests.tui.test_chips import draft_of, paste

ONE = "[image 0123456789abcdef shot.png 800x600 PNG]"
TWO = "[image fedcba9876543210 图/一张很长名字的截图文件放在很深的文件夹里.png 40x30 PNG]"

# -- chips ------------------------------------------------------------------------------------------------------------


async def test_an_image_is_a_chip_that_one_backspace_takes_and_undo_brings_back():
    app = ComposerApp()
    async with app.run_test(size=(80, 12)) as pilot:
        app.composer.insert("Look at ")
        app.composer.add_image(ONE)
        app.composer.add_image(TWO)
        await pilot.pause()
        shown = "\n".join(rows(app))
        assert "Look at [image 1: shot.png 800x600 PNG]" in shown
        assert "[image 2: " in shown
        assert "0123456789" not in shown
        assert app.composer.text == f"Look at {ONE} {TWO} "
        await pilot.press("backspace", "backspace")
        assert app.composer.text == f"Look at {ONE} "
        await pilot.press("ctrl+underscore")
        assert app.composer.text.rstrip() == f"Look at {ONE} {TWO}"
        await pilot.press("enter")
        assert app.posted == [("send", f"Look at {ONE} {TWO}")]


async def test_a_draft_that_comes_back_has_its_images_as_chips_and_no_text_is_put_in_their_place():
    app = ComposerApp()
    async with app.run_test(size=(80, 12)) as pilot:
        app.composer.bring_back(f"{ONE} what is it?")
        await pilot.pause()
        assert "[image 1: shot.png 800x600 PNG] what is it?" in "\n".join(rows(app))
        await pilot.press("alt+o")  # there is no text that could be shown
        assert app.composer.text == f"{ONE} what is it?"
        assert draft_of(app).image_at_caret() == ("0123456789abcdef", "shot.png 800x600 PNG")


async def test_a_second_image_is_added_by_its_command_behind_the_first():
    app = ComposerApp()
    async with app.run_test(size=(80, 12)) as pilot:
        app.composer.add_image(ONE)
        app.composer.insert("/image b.png")
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted == [("slash", "/image b.png")]
        app.composer.begin_command("image")  # from the palette
        assert app.composer.text == f"{ONE} /image "
        app.composer.text = f"{ONE} "
        app.composer.add_image(TWO)
        app.composer.insert("/usr/bin is a folder")
        await pilot.press("enter")
        await pilot.pause()
        assert app.posted[1:] == [("send", f"{ONE} {TWO} /usr/bin is a folder")]
        app.composer.insert("half a thought")
        app.composer.begin_command("image")
        assert app.composer.text == "/image "
        assert app.composer._history.entries[-1] == "half a thought"


async def test_an_image_takes_the_place_of_what_was_written_for_it():
    app = ComposerApp()
    async with app.run_test(size=(80, 12)) as pilot:
        app.composer.insert("see @shot.png and more")
        app.composer.add_image(ONE, "@shot.png ")
        await pilot.pause()
        assert app.composer.text == f"see {ONE} and more"
        app.composer.add_image(TWO, "@gone.png ")  # it was changed meanwhile
        assert TWO in app.composer.text


def test_a_label_is_short_and_two_of_one_name_are_told_apart():
    folded = Chips()
    same = ONE.replace("0123", "9999")
    text = folded.fold_images(f"{ONE} {same} {TWO}")
    assert folded.expand(text) == f"{ONE} {same} {TWO}"
    assert all(cell_len(part) < 70 for part in text.split(" "))
    assert folded.fold_images("[image: a.png]") == "[image: a.png]"


# -- dropped files ----------------------------------------------------------------------------------------------------


@each_row(
    ("text", "paths"),
    [
        ("/tmp/a.png", ["/tmp/a.png"]),
        ("'/tmp/a b.png' ", ["/tmp/a b.png"]),
        ("/tmp/a\\ b.PNG", ["/tmp/a b.PNG"]),
        ("/tmp/截图 一.png", ["/tmp/截图 一.png"]),
        ("file:///tmp/a%20b.jpeg", ["/tmp/a b.jpeg"]),
        ("/a.png /b.webp", ["/a.png", "/b.webp"]),
        ("'/a.png'\n'/b.gif'", ["/a.png", "/b.gif"]),
        ("file://elsewhere/a.png", []),
        ("file://[a.png", []),  # brackets around no address
        ("file://\u2100/a.png", []),
        ("a.png", []),
        ("see /tmp/a.png", []),
        ("/tmp/a.txt", []),
        ("/tmp/a.png\nand then", []),
        ("/" + "x" * 5_000 + ".png", []),
        ("it's", []),
        ("", []),
    ],
)
def test_a_pasted_text_is_files_only_when_it_is_nothing_else(text, paths):
    assert list(image_paths(text)) == paths


async def test_a_pasted_path_asks_for_the_image_but_not_in_a_command():
    asked = []

    class App(ComposerApp):
        def on_composer_images_pasted(self, message):
            asked.append((message.paths, message.text))

    app = App()
    async with app.run_test(size=(80, 12)) as pilot:
        await paste(pilot, "/tmp/a.png")
        assert asked == [(("/tmp/a.png",), "/tmp/a.png")]
        assert app.composer.text == ""
        app.composer.text = "!ls "
        await paste(pilot, "/tmp/a.png")
        assert app.composer.text == "!ls /tmp/a.png"


# -- the whole app ----------------------------------------------------------------------------------------------------


async def test_images_come_by_command_mention_drop_and_clipboard_and_are_sent(tmp_path, monkeypatch):
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "xclip").write_text(
        f'#!/bin/sh\ncase "$*" in *TARGETS*) echo image/png;; *) cat "{tmp_path}/$(cat "{tmp_path}/which")";; esac\n'
    )
    (bin_ / "xclip").chmod(0o755)
    for name in ("SSH_CONNECTION", "SSH_TTY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", f"{bin_}{os.pathsep}{os.environ['PATH']}")
    async with Stage(tmp_path, [Reply(text="Four.")]) as stage:
        app, press = stage.app, stage.pilot.press

        def chips(count: int) -> bool:
            return len(REFERENCE.findall(app.composer.text)) == count

        for number, name in enumerate(("shot.png", "b.png", "c.png", "d.png", "e.png")):
            (tmp_path / "work" / name).write_bytes(image(80 + number, 60))
        await stage.type("/image shot.png")
        await stage.until(lambda: chips(1))
        app.post_message(events.Paste(str(tmp_path / "work" / "b.png")))
        await stage.until(lambda: chips(2))
        (tmp_path / "which").write_text("work/d.png")
        await press("ctrl+v")
        await stage.until(lambda: chips(3))
        await press(*"@c.p")
        await stage.until(lambda: app.composer.mention.chosen is not None)
        await press("tab")
        await stage.until(lambda: chips(4))
        assert "@c.png" not in app.composer.text
        (tmp_path / "which").write_text("work/e.png")
        await press("alt+v")
        await stage.until(lambda: "4 images" in app._hint)
        assert chips(4)
        fifth = str(tmp_path / "work" / "e.png")
        app.post_message(events.Paste(fifth))  # there is no room for it: it stays a text
        await stage.until(lambda: fifth in app.composer.text)
        assert chips(4)
        app.post_message(events.Paste("/nowhere/at/all.png"))  # no file after all: it is a text
        await stage.until(lambda: "/nowhere/at/all.png" in app.composer.text)
        assert "/nowhere/at/all.png does not exist." in [
            e.note.text for e in app.view.model.entries if e.note is not None
        ]

        await press("f4")
        await stage.until(lambda: isinstance(app.dock._preview, Picture) and app.dock._preview.drawing is not None)
        assert app.dock.tab == "file"
        app.composer.focus()
        await press("enter")
        await stage.until(lambda: stage.state == "idle" and stage._server.requests)
        parts = stage._server.requests[-1]["messages"][-1]["content"]
        assert [part["type"] for part in parts] == ["text"] + ["image_url"] * 4
        assert REFERENCE.search(parts[0]["text"]) is None
        assert next(e.images for e in app.view.model.entries if e.kind == "user") == 4


async def test_a_picture_that_read_file_saw_is_looked_at_and_a_missing_one_says_so(tmp_path):
    replies = [Reply(calls=[("read_file", {"path": "a.png"})]), Reply(text="Seen.")]
    async with Stage(tmp_path, replies) as stage:
        app = stage.app
        (tmp_path / "work" / "a.png").write_bytes(image(80, 60))
        await stage.type("look")
        await stage.until(lambda: stage.state == "idle" and app.view.calls)
        open_call(app, next(iter(app.view.calls)))
        await stage.until(lambda: isinstance(app.dock._preview, Picture) and app.dock._preview.drawing is not None)
        (tmp_path / "work" / "a.png").unlink()
        open_call(app, next(iter(app.view.calls)))
        await stage.until(lambda: app.dock._preview.problem)
        assert "a.png" in app.dock._preview.problem


# -- the drawing ------------------------------------------------------------------------------------------------------


@pytest.fixture
def looks(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    symbols.set_ascii(False)
    yield {name: Look(theme, no_color=False) for name, theme in load_themes()[0].items()}
    symbols.set_ascii(None)


CELLS = b"".join(bytes((index, 255, 0, 0, 0, 0, 255)) for index in range(len(PARTS)))
DRAWN = Picture("a.png", drawing=Drawing(800, 600, "PNG", len(PARTS), CELLS * 2))


def test_every_cell_is_one_cell_wide_in_its_own_colours(looks):
    look = looks["nanoherm-dark"]
    body = picture_rows(DRAWN, look, 40)
    assert len(body) == 2
    strip = paint_row(body[0], 40, look)
    assert strip.cell_length == 40
    assert strip.text[: len(PARTS)] == " ▐▘▝▖▗▚"
    assert all(cell_len(glyph) == 1 for glyph in strip.text)
    first = next(iter(strip))
    assert (first.style.color.name, first.style.bgcolor.name) == ("#ff0000", "#0000ff")
    assert body[0].text == ""  # pixels are nothing to copy or to find
    behind = paint_row(body[0], 40, Look(look.theme, no_color=False, behind=True))
    assert "#ff0000" not in {segment.style.color.name for segment in behind if segment.style and segment.style.color}


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_where_there_are_no_colours_it_is_told_of_in_words(looks, language):
    i18n.set_language(language)
    dark, ansi = looks["nanoherm-dark"], looks["ansi"]
    assert can_draw(dark)
    for look in (ansi, Look(dark.theme, no_color=True)):
        assert not can_draw(look)
        assert "800x600 PNG" in "".join(row.text for row in picture_rows(DRAWN, look, 60))
    symbols.set_ascii(True)
    assert not can_draw(dark)
    waits = "".join(row.text for row in picture_rows(Picture("a"), dark, 60))
    assert waits
    failed = picture_rows(replace(DRAWN, problem="It is \x1b[31mbroken."), dark, 60)
    assert "\x1b" not in "".join(row.text for row in failed)


def test_until_a_drawing_for_a_narrower_pane_is_there_words_say_that_it_is_on_its_way(looks):
    waits = [row.text for row in picture_rows(Picture("a"), looks["nanoherm-dark"], len(PARTS) - 1)]
    assert waits
    assert [row.text for row in picture_rows(DRAWN, looks["nanoherm-dark"], len(PARTS) - 1)] == waits
    assert [row.text for row in picture_rows(DRAWN, looks["nanoherm-dark"], len(PARTS))] != waits
