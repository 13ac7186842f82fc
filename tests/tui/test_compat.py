"""What the screen takes for granted about Textual's inside: a new Textual that differs fails here first."""

from __future__ import annotations

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.drivers import linux_driver
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from nanoherm_tui import compat
from tests.tui.transcript_helpers import LOOK


class Paper(ScrollView):
    """A hundred numbered rows, which counts how often it is painted and laid out."""

    DEFAULT_CSS = "Paper { overflow-x: hidden; overflow-y: scroll; scrollbar-size: 1 1; }"

    def __init__(self) -> None:
        super().__init__()
        self.painted = 0
        self.asked: list[int] = []
        self.resized = 0

    def on_mount(self) -> None:
        compat.thin_scrollbar(self, lambda: LOOK.mark("thumb"))

    def on_resize(self) -> None:
        self.resized += 1

    def render_lines(self, crop: Region) -> list[Strip]:
        self.painted += 1
        return [Strip.blank(crop.width)] * crop.height

    def render_line(self, y: int) -> Strip:
        self.asked.append(y)
        return Strip.blank(self.size.width).apply_offsets(0, 1000 + y)


class Desk(App[None]):
    def compose(self) -> ComposeResult:
        yield Paper()


def thumb(paper: Paper) -> str:
    strips = paper.vertical_scrollbar.render_lines(Region(0, 0, 1, paper.size.height))
    return "".join(strip.text for strip in strips)


async def test_the_scrollbar_follows_without_a_layout():
    async with Desk().run_test(size=(20, 10)) as pilot:
        paper = pilot.app.query_one(Paper)
        compat.set_scroll(paper, 100, 90)
        await pilot.pause()
        resized = paper.resized
        assert thumb(paper) == " " * 9 + "▐"
        compat.set_scroll(paper, 100, 0)
        await pilot.pause()
        assert thumb(paper) == "▐" + " " * 9
        assert paper.scroll_y == 0
        assert paper.virtual_size == Size(19, 100)
        assert paper.resized == resized


async def test_a_scrollbar_whose_thumb_stays_is_not_drawn_again():
    async with Desk().run_test(size=(20, 10)) as pilot:
        paper = pilot.app.query_one(Paper)
        compat.set_scroll(paper, 100_000, 99_990)
        await pilot.pause()
        drawn: list[bool] = []
        paper.vertical_scrollbar.refresh = lambda *regions, **options: drawn.append(True)
        compat.set_scroll(paper, 100_001, 99_991)
        assert not drawn
        compat.set_scroll(paper, 100_001, 0)
        assert drawn


async def test_everything_visible_means_a_blank_track():
    async with Desk().run_test(size=(20, 10)) as pilot:
        paper = pilot.app.query_one(Paper)
        compat.set_scroll(paper, 4, 0)
        await pilot.pause()
        assert thumb(paper) == " " * 10


async def test_painting_goes_by_render_lines_and_only_the_mouse_asks_for_single_rows():
    async with Desk().run_test(size=(20, 10)) as pilot:
        paper = pilot.app.query_one(Paper)
        paper.refresh()
        await pilot.pause()
        assert paper.painted
        paper.asked.clear()
        widget, offset = pilot.app.screen.get_widget_and_offset_at(3, 4)
        assert widget is paper
        assert offset is not None
        assert offset.y == 1004
        assert paper.asked == [4]


async def test_the_thumb_can_be_dragged_and_the_track_clicked():
    async with Desk().run_test(size=(20, 10)) as pilot:
        paper = pilot.app.query_one(Paper)
        compat.set_scroll(paper, 100, 50)
        await pilot.pause()
        actions = [
            next(iter(segment.style.meta.values()))
            for strip in paper.vertical_scrollbar.render_lines(Region(0, 0, 1, 10))
            for segment in strip
        ]
        assert actions == ["scroll_up"] * 5 + ["grab"] + ["scroll_down"] * 4


PASTES = {
    "marks and escapes cut by reads": (
        ["\x1b[20", "0~one\x1b", "[31m\rtwo\x1b", "]0;title\x07\r", "three\x1b[20", "1~", "x"],
        ["paste:one\ntwo\nthree", "x"],
    ),
    "a lone escape": (["\x1b[200~a\x1b\rb\x1b[201~"], ["paste:a\nb"]),
    "a begin mark within": (["\x1b[200~a\x1b[200~\rb\x1b[201~c"], ["paste:a\nb", "c"]),
    "control bytes": (["\x1b[200~a\x00b\x07\x9b1m\tc\x1b[201~"], ["paste:ab1m\tc"]),
    "two pastes in one read": (["\x1b[200~a\x1b[201~-\x1b[200~b\x1b[201~"], ["paste:a", "minus", "paste:b"]),
    "lines without marks before marks": (["one\rtwo\rthree\x1b[200~x\x1b[201~"], ["paste:one\ntwo\nthree", "paste:x"]),
    "lines a program coloured": (["one\r\x1b[1;31mtwo\x1b[0m\rthree\r"], ["paste:one\ntwo\nthree\n"]),
    "keys with Enter among them": (["a\r\x1b[Ab\r"], ["a", "enter", "up", "b", "enter"]),
    "one typed line": (["\x1b[A\r"], ["up", "enter"]),
}


@pytest.mark.parametrize(("reads", "expected"), PASTES.values(), ids=PASTES)
def test_no_part_of_a_paste_is_read_as_keys(reads, expected):
    compat.read_lines_as_pastes()
    parser = linux_driver.XTermParser()
    came = [message for read in reads for message in parser.feed(read)]
    assert [f"paste:{m.text}" if isinstance(m, events.Paste) else m.key for m in came] == expected
