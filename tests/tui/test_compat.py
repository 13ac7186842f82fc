"""What the screen takes for granted about Textual's inside: a new Textual that differs fails here first."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.css import stylesheet
from textual.css.stylesheet import StylesheetParseError
from textual.drivers import linux_driver
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Label

from nanoherm_tui.compat import reading
from nanoherm_tui.compat.compositor import TightScreen
from nanoherm_tui.compat.driver import OwnDriver, Writer, look_at_size
from nanoherm_tui.compat.few_bytes import FewBytes
from nanoherm_tui.compat.kept_rules import keep_rules
from nanoherm_tui.compat.reading import ReadByRead, read_lines_as_pastes
from nanoherm_tui.compat.scrolling import set_scroll, thin_scrollbar
from nanoherm_tui.compat.told import GroundTold, NameTold
from nanoherm_tui.terminal import colours as terminal_colours
from tests.rows import each_row
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
        thin_scrollbar(self, lambda: LOOK.mark("thumb"))

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
        set_scroll(paper, 100, 90)
        await pilot.pause()
        resized = paper.resized
        assert thumb(paper) == " " * 9 + "▐"
        set_scroll(paper, 100, 0)
        await pilot.pause()
        assert thumb(paper) == "▐" + " " * 9
        assert paper.scroll_y == 0
        assert paper.virtual_size == Size(19, 100)
        assert paper.resized == resized


async def test_a_scrollbar_whose_thumb_stays_is_not_drawn_again():
    async with Desk().run_test(size=(20, 10)) as pilot:
        paper = pilot.app.query_one(Paper)
        set_scroll(paper, 100_000, 99_990)
        await pilot.pause()
        drawn: list[bool] = []
        paper.vertical_scrollbar.refresh = lambda *regions, **options: drawn.append(True)
        set_scroll(paper, 100_001, 99_991)
        assert not drawn
        set_scroll(paper, 100_001, 0)
        assert drawn


async def test_everything_visible_means_a_blank_track():
    async with Desk().run_test(size=(20, 10)) as pilot:
        paper = pilot.app.query_one(Paper)
        set_scroll(paper, 4, 0)
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
        set_scroll(paper, 100, 50)
        await pilot.pause()
        actions = [
            next(iter(segment.style.meta.values()))
            for strip in paper.vertical_scrollbar.render_lines(Region(0, 0, 1, 10))
            for segment in strip
        ]
        assert actions == ["scroll_up"] * 5 + ["grab"] + ["scroll_down"] * 4


class Curtain(App[None]):
    """A paper that is not shown, and a label whose place can be asked for."""

    def get_default_screen(self) -> Screen[None]:
        return TightScreen()

    def compose(self) -> ComposeResult:
        paper = Paper()
        paper.display = False
        yield paper
        yield Label("here")


async def test_what_is_shown_hears_of_its_size_and_is_drawn_whoever_asks_where_things_are_in_between():
    async with Curtain().run_test(size=(20, 10)) as pilot:
        paper, compositor = pilot.app.query_one(Paper), pilot.app.screen._compositor
        paper.display = True
        paper._check_refresh()  # it asks for its layout
        compositor._full_map_invalidated = True  # as from the start to the first question, and after each scrolling
        assert paper in compositor.full_map  # somebody asks before the layout comes
        assert not paper.painted
        await pilot.pause()
        assert paper.resized == 1
        assert paper.painted


WRITES = {"_running": True, "_closed": False, "_batch_count": 0, "is_headless": False, "_driver": object()}


@pytest.mark.parametrize("differs", [{}, *({name: not value} for name, value in WRITES.items() if name != "_driver")])
def test_a_frame_counts_as_shown_only_where_textual_writes_it(differs):
    app = SimpleNamespace(**{**WRITES, **differs})
    assert FewBytes._writes(app) == (not differs)


class Seen(FewBytes, Desk):
    """Its frames are worked out as for a terminal."""

    def _writes(self) -> bool:
        return True


@pytest.mark.parametrize("owed", ["changes", "all"])
async def test_what_is_owed_is_drawn_also_before_the_new_size_of_the_terminal_is_laid_out(owed):
    async with Seen().run_test(size=(20, 10)) as pilot:
        paper = pilot.app.query_one(Paper)
        for size in (Size(40, 30), Size(10, 3)):
            pilot.app._size, pilot.app._owes, painted = size, owed, paper.painted  # its screens hear of it later
            pilot.app.draw_what_is_owed()
            assert (pilot.app._owes, paper.painted) == ("", painted + 1)


COMMITTED = ("你", "好", "fullwidth_comma", "space", "A")
"""No control byte of it is a key, and no number beyond all characters one either."""

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
    "a commit of an input method, by its characters": (
        ["a\x1b[;;20320:22909:65292:27:13:32:1114112:65u"],
        ["a", *COMMITTED],
    ),
    "a commit in two reads": (["\x1b[49;;20320:22", "909u\r"], ["你", "好", "enter"]),
    "keys with their text": (["\x1b[97;;97u\x1b[13;2u"], ["a", "shift+enter"]),
    "one typed line": (["\x1b[A\r"], ["up", "enter"]),
}


@each_row(("reads", "expected"), PASTES.values(), ids=PASTES)
def test_no_part_of_a_paste_is_read_as_keys(reads, expected):
    read_lines_as_pastes()
    parser = linux_driver.XTermParser()
    came = [message for read in reads for message in parser.feed(read)]
    assert [f"paste:{m.text}" if isinstance(m, events.Paste) else m.key for m in came] == expected


WHITE = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"

NAME = "\x1bP>|WezTerm 20240203\x1b\\"

ANSWERS = {
    "a name": (["x" + NAME + "y"], ["name:WezTerm 20240203", "x", "y"]),
    "a name and the ground": ([WHITE + NAME], ["ground:#ffffff", "name:WezTerm 20240203"]),
    "a name before a paste": ([NAME + "\x1b[200~x\x1b[201~"], ["name:WezTerm 20240203", "paste:x"]),
    "by itself": ([WHITE], ["ground:#ffffff"]),
    "ended by BEL": (["\x1b]11;#000000\x07"], ["ground:#000000"]),
    "between keys": (["ab" + WHITE + "c\r"], ["ground:#ffffff", "a", "b", "c", "enter"]),
    "before a function key": ([WHITE + "\x1b[A"], ["ground:#ffffff", "up"]),
    "two of them": ([WHITE + "\x1b]11;rgb:00/00/00\x07"], ["ground:#ffffff", "ground:#000000"]),
    "of another colour": (["\x1b]10;rgb:ffff/ffff/ffff\x1b\\x"], ["x"]),
    "that makes no sense": (["\x1b]11;rgb:ffff\x07x"], ["x"]),
    "without its end, then a key": (["\x1b]11;rgb:ffff/ff", "\x1b[A"], ["up"]),
    "without its end, then text": (["\x1b]11;rgb:ffff/ff", "hello"], ["h", "e", "l", "l", "o"]),
    "cut, before a paste": ([WHITE[:9], WHITE[9:] + "\x1b[200~x\x1b[201~"], ["ground:#ffffff", "paste:x"]),
    "within a paste": (["\x1b[200~x" + WHITE + "y\x1b", "[201~z"], ["paste:xy", "z"]),
    "lines in the same read": ([WHITE + "one\rtwo\rthree"], ["ground:#ffffff", "paste:one\ntwo\nthree"]),
}


def told(message):
    if isinstance(message, GroundTold):
        return f"ground:{message.colour}"
    if isinstance(message, NameTold):
        return f"name:{message.name}"
    return f"paste:{message.text}" if isinstance(message, events.Paste) else message.key


@each_row(("reads", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_of_the_terminal_is_never_read_as_keys(reads, expected):
    parser = ReadByRead()
    assert [told(message) for read in reads for message in parser.feed(read)] == expected


@pytest.mark.parametrize("late", [False, True], ids=["at once", "after a while"])
@pytest.mark.parametrize(
    ("answer", "cut", "said"),
    [(WHITE, cut, "ground:#ffffff") for cut in range(1, len(WHITE))]
    + [(NAME, cut, "name:WezTerm 20240203") for cut in (1, 2, 3, 4, 9, len(NAME) - 1)],
)
def test_an_answer_may_come_in_two_parts(answer, cut, said, late, monkeypatch):
    clock = 0.0
    monkeypatch.setattr(reading.time, "monotonic", lambda: clock)
    parser = ReadByRead()
    came = list(parser.feed(answer[:cut]))
    clock += 0.5 if late else 0.0
    came += parser.tick()
    came += parser.feed(answer[cut:])
    assert [told(m) for m in came if told(m) != "escape"] == [said]
    assert ("escape" in map(told, came)) == (late and cut == 1)
    assert parser._held == ""


def test_an_escape_by_itself_is_the_key_after_the_usual_time_and_begins_a_longer_one_before(monkeypatch):
    clock = 0.0
    monkeypatch.setattr(reading.time, "monotonic", lambda: clock)
    parser = ReadByRead()
    assert [m.key for m in parser.feed("a\x1b")] == ["a"]
    assert list(parser.tick()) == []
    clock += 0.11
    assert [m.key for m in parser.tick()] == ["escape"]
    assert [m.key for m in parser.feed("[A")] == ["left_square_bracket", "A"]
    assert [m.key for read in ("\x1b", "[A") for m in parser.feed(read)] == ["up"]


def test_the_rest_of_an_answer_that_comes_after_its_time_is_no_keys(monkeypatch):
    clock = 0.0
    monkeypatch.setattr(reading.time, "monotonic", lambda: clock)
    parser = ReadByRead()
    assert list(parser.feed(WHITE[:15])) == []
    clock += 5.0
    assert list(parser.tick()) == []
    assert [told(m) for m in parser.feed(WHITE[15:] + "x")] == ["ground:#ffffff", "x"]
    assert list(parser.feed(WHITE[:15])) == []
    clock += 5.0
    assert list(parser.tick()) == []
    assert [told(m) for m in parser.feed("add")] == ["a", "d", "d"]


@pytest.mark.parametrize("asks", [True, False])
async def test_only_an_app_that_wants_to_know_asks_the_terminal_for_its_ground(asks, monkeypatch):
    class Asking(OwnDriver, App[None]):
        asks_ground = asks

    def starts(self):
        self._writer_thread = object()

    monkeypatch.setattr(linux_driver.LinuxDriver, "start_application_mode", starts)
    monkeypatch.setattr(linux_driver.LinuxDriver, "stop_application_mode", lambda self: None)
    app = Asking()
    driver = app.get_driver_class()(app)
    written: list[str] = []
    driver.write = written.append
    driver.flush = lambda: None
    for _ in range(2):  # suspended and back
        driver.start_application_mode()
        driver.start_application_mode()  # SIGCONT's handler comes late
        driver.stop_application_mode()
    assert ["ground" for words in written if words == terminal_colours.ASK_GROUND] == ["ground"] * asks
    assert [words for words in written if words.startswith("\x1b[>4")] == ["\x1b[>4;1m", "\x1b[>4m"] * 2


async def test_a_size_that_an_older_one_was_told_behind_is_found(monkeypatch):
    class Sized(OwnDriver, App[None]):
        pass

    app = Sized()
    async with app.run_test(size=(200, 60)) as pilot:
        driver = app.get_driver_class()(app)
        monkeypatch.setattr(driver, "_get_terminal_size", lambda: (120, 36))
        with monkeypatch.context() as patch:
            patch.setattr(app, "_driver", driver)
            look_at_size(app)
        await pilot.pause()
        assert (app.size, app.screen.size) == ((120, 36), (120, 36))


def test_what_is_written_to_a_terminal_that_is_gone_is_dropped_and_nobody_waits():
    gone, kept = os.pipe()
    os.close(gone)
    with os.fdopen(kept, "w", buffering=1) as file:
        writer = Writer(file)
        writer.start()
        for number in range(200):  # many times what the queue holds
            writer.write(f"{number}\n")
        writer.stop()
        assert not writer.is_alive()
        os.dup2(os.open(os.devnull, os.O_WRONLY), kept)  # what the file still holds can go somewhere


class Striped(Screen[None]):
    CSS = "Striped Label { color: $stripe; }"

    def compose(self) -> ComposeResult:
        yield Label("on it")


class Sheets(App[None]):
    CSS = "Label { color: $stripe; width: 7; }"
    stripe = "#102030"

    def __init__(self) -> None:
        super().__init__()
        keep_rules(self)

    def get_css_variables(self) -> dict[str, str]:
        return {**super().get_css_variables(), "stripe": self.stripe}

    def compose(self) -> ComposeResult:
        yield Label("under it")


async def test_a_screen_with_rules_of_its_own_has_only_these_parsed_and_a_changed_variable_all(monkeypatch):
    parsed: list[str] = []
    parse = stylesheet.parse

    def noted(scope, css, *rest, **more):
        parsed.append(css)
        return parse(scope, css, *rest, **more)

    monkeypatch.setattr(stylesheet, "parse", noted)
    app = Sheets()
    async with app.run_test() as pilot:
        assert {App.DEFAULT_CSS, Sheets.CSS} <= set(parsed)
        parsed.clear()
        await app.push_screen(Striped())
        assert parsed.count(Striped.CSS) == 1
        assert not {App.DEFAULT_CSS, Sheets.CSS} & set(parsed)
        label = app.screen.query_one(Label)
        assert (label.styles.color.hex, label.styles.width.value) == ("#102030", 7)
        app.stripe = "#405060"
        app.refresh_css(animate=False)
        await pilot.pause()
        assert label.styles.color.hex == "#405060"
        assert {Striped.CSS, Sheets.CSS} <= set(parsed)


async def test_rules_that_cannot_be_parsed_leave_those_before_them():
    app = Sheets()
    async with app.run_test():
        before = app.stylesheet.rules
        app.stylesheet.add_source("Label { nonsense: 1; }", read_from=("", "bad"))
        with pytest.raises(StylesheetParseError):
            app.stylesheet.reparse()
        assert app.stylesheet._rules == before
