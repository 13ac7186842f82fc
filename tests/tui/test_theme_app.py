"""Themes in the running app: following the terminal, saved while in use, chosen, deleted; and what is really drawn."""

import pytest

from nanoherm_tui import symbols
from nanoherm_tui.compat.told import GroundTold
from nanoherm_tui.overlays.name import NameScreen
from nanoherm_tui.overlays.palette import PaletteScreen
from nanoherm_tui.terminal.eight_bit import MIN_CONTRAST, contrast, shown
from nanoherm_tui.theming.themes import GROUNDS
from tests.fakes.model_server import Reply
from tests.tui.overlay_app import OverlayApp, rows
from tests.tui.test_app import Stage

MINE = "base: nanoherm-light\nroles:\n  accent: '{accent}'\n"
NAVY, WINE = "#000080", "#700020"


def themes_folder(tmp_path):
    folder = tmp_path / "home" / ".nanohermes" / "themes"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def drawn(app):
    """What is on the screen as it goes to the terminal: (text, colour of words, colour of ground, style) a segment."""
    return [
        (segment.text, segment.style.color, segment.style.bgcolor, segment.style)
        for strip in app.screen._compositor.render_strips()
        for segment in strip
        if segment.style is not None
    ]


def colours_drawn(app):
    return {colour.get_truecolor().hex for _, *both, _ in drawn(app) for colour in both if colour and colour.triplet}


async def test_a_theme_in_use_restyles_everything_when_it_is_saved(tmp_path):
    mine = themes_folder(tmp_path) / "mine.yaml"
    mine.write_text(MINE.format(accent=NAVY))
    async with Stage(tmp_path, [Reply(text="x")], **{"display.theme": "mine"}) as stage:
        await stage.pilot.pause()
        assert stage.app.theme == "mine"
        before = colours_drawn(stage.app)
        assert NAVY in before
        mine.write_text(MINE.format(accent=WINE) + "  surface: '#dddddd'\n")
        await stage.until(lambda: stage.app.look.theme.roles["accent"] == WINE)
        await stage.pilot.pause()
        after = colours_drawn(stage.app)
        assert {WINE, "#dddddd"} <= after
        assert not {NAVY, "#e9e9e5"} & after, "the style sheets follow too"
        assert stage.app.theme == "mine"


async def test_a_new_theme_is_offered_and_a_deleted_one_stays_until_another_is_chosen(tmp_path):
    folder = themes_folder(tmp_path)
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        app = stage.app
        (folder / "mine.yaml").write_text(MINE.format(accent=NAVY))
        await stage.until(lambda: "mine" in app.themes.all)
        await stage.type("/theme mine")
        await stage.until(lambda: app.theme == "mine")
        (folder / "mine.yaml").unlink()
        (folder / "other.yaml").write_text(MINE.format(accent=WINE))
        await stage.until(lambda: "other" in app.themes.all)
        assert app.theme == "mine"
        assert app.look.theme.roles["accent"] == NAVY
        await stage.type("/theme ansi")
        await stage.until(lambda: app.theme == "ansi")
        assert "mine" not in app.themes.all
        await stage.type("/theme")
        await stage.until(lambda: isinstance(app.screen, PaletteScreen))
        offered = {item.title for item in app.screen._items}
        assert {"auto", "other", "nanoherm-dark"} <= offered
        assert "mine" not in offered


async def test_a_broken_theme_is_told_in_the_transcript_and_the_last_good_one_stays(tmp_path):
    mine = themes_folder(tmp_path) / "mine.yaml"
    mine.write_text(MINE.format(accent=NAVY))
    async with Stage(tmp_path, [Reply(text="x")], **{"display.theme": "mine"}) as stage:
        mine.write_text(MINE.format(accent="#cccccc"))
        await stage.until(lambda: "mine.yaml:3:accenton" in "".join(stage.transcript().split()))  # wrapped somewhere
        assert stage.app.look.theme.roles["accent"] == NAVY
        mine.write_text(MINE.format(accent=WINE))
        await stage.until(lambda: stage.app.look.theme.roles["accent"] == WINE)


async def test_a_configured_theme_that_is_not_there_is_told_and_used_as_soon_as_it_is(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")], **{"display.theme": "mine"}) as stage:
        assert stage.app.theme == "nanoherm-dark"
        await stage.until(lambda: "No theme mine." in stage.transcript())
        (themes_folder(tmp_path) / "mine.yaml").write_text(MINE.format(accent=NAVY))
        await stage.until(lambda: stage.app.theme == "mine")


@pytest.mark.parametrize(
    ("theme", "colorfgbg", "told", "expected"),
    [
        ("auto", "", [], "nanoherm-dark"),
        ("auto", "", ["#ffffff"], "nanoherm-light"),
        ("auto", "", ["#002b36"], "nanoherm-dark"),
        ("auto", "0;15", [], "nanoherm-light"),
        ("auto", "0;15", ["#000000"], "nanoherm-dark"),
        ("auto", "", ["#ffffff", "#000000"], "nanoherm-dark"),
        ("nanoherm-dark", "0;15", ["#ffffff"], "nanoherm-dark"),
        ("high-contrast", "", ["#ffffff"], "high-contrast"),
        ("ansi", "", ["#ffffff"], "ansi"),
    ],
)
async def test_auto_follows_what_the_terminal_tells_and_a_chosen_theme_does_not(
    tmp_path, monkeypatch, theme, colorfgbg, told, expected
):
    monkeypatch.setenv("COLORFGBG", colorfgbg)
    async with Stage(tmp_path, [Reply(text="x")], **{"display.theme": theme}) as stage:
        for colour in told:
            stage.app.post_message(GroundTold(colour))
        await stage.pilot.pause()
        assert stage.app.theme == expected
        assert stage.app.look.theme.name == expected


async def test_an_answer_that_comes_after_a_theme_was_chosen_changes_nothing_until_auto_is_chosen(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.type("/theme high-contrast")
        await stage.until(lambda: stage.app.theme == "high-contrast")
        stage.app.post_message(GroundTold("#ffffff"))
        await stage.pilot.pause()
        assert stage.app.theme == "high-contrast"
        await stage.type("/theme auto")
        await stage.until(lambda: stage.app.theme == "nanoherm-light")
        await stage.until(lambda: stage.host.config.get("display.theme") == "auto")


@pytest.mark.parametrize(("term", "theme"), [("linux", "ansi"), ("xterm-16color", "ansi")])
async def test_with_16_colours_auto_is_ansi_and_the_terminal_is_not_asked(tmp_path, monkeypatch, term, theme):
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", "")
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        assert stage.app.theme == theme
        assert not stage.app.themes.asks_terminal


async def test_ascii_and_reduced_motion_are_switched_by_the_palette_and_kept(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")], size=(80, 24)) as stage:
        app, config = stage.app, stage.host.config
        await stage.type("one")
        await stage.until(lambda: stage.state == "idle" and app.view.usage.total_tokens)
        for typed, key, changed in (
            ("ascii", "display.ascii", symbols.is_ascii),
            ("motion", "display.reduced_motion", symbols.motion_is_reduced),
        ):
            for on in (True, False):
                await stage.pilot.press("ctrl+p", *typed, "enter")
                await stage.until(lambda on=on, changed=changed: changed() == on)
                await stage.until(lambda on=on, key=key: stage.host.config.get(key) == on)
                await stage.pilot.pause()
                shown = "".join(text for text, *_ in drawn(app))
                assert shown.isascii() == (typed == "ascii" and on), shown
        assert config.get("display.ascii") is False


async def test_ascii_reduced_motion_and_language_hold_from_the_first_frame(tmp_path):
    settings = {"display.ascii": True, "display.reduced_motion": True, "display.language": "zh"}
    async with Stage(tmp_path, [Reply(text="x")], **settings) as stage:
        assert symbols.is_ascii()
        assert symbols.motion_is_reduced()
        assert stage.app.animation_level == "none"
        assert "会话" in "".join(text for text, *_ in drawn(stage.app))


# -- what is really drawn -----------------------------------------------------------------------------------------

ANSWER = """\
# Why it failed

The `parse` function **drops** the offset, see [the issue](https://example.org/7) and _this_:

> A quoted line.

1. first
   - nested
2. second

| name | value |
|---|---|
| a | 1 |

```python
@cached
def parse(text: str) -> int:
    'Docs.'
    return 1 if text is None else int(text, 16) + 0x1F  # a comment
```

```diff
-old
+new
```
"""

WORK = [
    Reply(reasoning="Think.", text="I look.", calls=[("read_file", {"path": "a.py"}), ("list_dir", {"path": "x"})]),
    Reply(calls=[("edit_file", {"path": "a.py", "old_text": "return 10", "new_text": "return 22 + 11"})]),
    Reply(text=ANSWER),
]


THEMES = ("nanoherm-dark", "nanoherm-light", "high-contrast", "ansi")


def pairs(app):
    """(words, ground) -> a text, of every piece of two cells and more on the screen. A mark is one cell."""
    found = {}
    for text, fg, bg, style in drawn(app):
        words = text.strip()
        if len(words) < 2 or fg is None or bg is None or fg.is_default or bg.is_default:
            continue
        both = fg.get_truecolor().hex, bg.get_truecolor().hex
        found.setdefault(both[::-1] if style.reverse else both, words)
    return found


async def look_at_everything(stage, seen):
    """A turn with every kind of block, the question about a change, a selection, and the overlays."""
    app, pilot = stage.app, stage.pilot

    async def look(name):
        for theme in seen:
            app.theming.use(theme)
            await pilot.pause()
            for pair, words in pairs(app).items():
                seen[theme].setdefault(pair, (name, words))

    await look("welcome")
    await stage.type("Fix `parse`, 修好它")
    await stage.until(lambda: app.approval.display)
    await pilot.pause(0.6)
    await look("question")
    app.approval.focus()
    await pilot.pause(0.6)
    await look("question in front")
    await pilot.press("y")
    await stage.until(lambda: stage.state == "idle" and "Why it failed" in stage.transcript())
    await look("answer")
    await pilot.press("alt+2", "k", "k", "k")
    await look("transcript in front")
    await pilot.press("ctrl+o")
    await look("details")
    await pilot.press("alt+3", *["j"] * 2)
    await look("changes in front")
    await pilot.press("alt+1")
    await look("sessions in front")
    app.composer.focus()
    app.composer.text = "/the"
    await look("slash")
    app.composer.text = "some words"
    await pilot.press("ctrl+a")
    await look("selection")
    app.composer.text = ""
    for keys in (["ctrl+p", *"theme"], ["f1"], ["ctrl+p", *"connect", "enter"]):
        await pilot.press(*keys)
        await look(f"overlay {keys[0]}")
        await pilot.press("escape")
    app.hint("a hint")
    app.conversations.tell("x", "A warning of the program's own.")
    await look("notice")


@pytest.mark.parametrize(
    ("themes", "eight_bit"),
    [
        pytest.param(THEMES[:2], False, id="true colour"),  # the two that are hard
        pytest.param(THEMES[2:], False, id="the other themes", marks=pytest.mark.long),
        pytest.param(THEMES[:2], True, id="256", marks=pytest.mark.long),
    ],
)
async def test_whatever_is_drawn_can_be_read(tmp_path, monkeypatch, themes, eight_bit):
    if eight_bit:
        monkeypatch.setenv("COLORTERM", "")
    seen = {theme: {} for theme in themes}
    async with Stage(tmp_path, list(WORK), size=(160, 45), **{"display.theme": "nanoherm-dark"}) as stage:
        (tmp_path / "work" / "a.py").write_text("def f():\n    return 10\n")
        await look_at_everything(stage, seen)
        known = stage.app.themes.all
    assert seen.pop("ansi", {}) == {}, "words have the terminal's own colours"
    for theme, found in seen.items():
        for pair, (where, words) in found.items():
            fg, bg = map(shown, pair) if eight_bit else pair
            assert contrast(fg, bg) >= MIN_CONTRAST, (theme, where, words, fg, bg, round(contrast(fg, bg), 2))
        grounds = {ground for _, ground in found}
        assert {known[theme].colour(role) for role in GROUNDS} <= grounds, "everything was looked at"


@pytest.mark.parametrize(("theme", "seen"), [("nanoherm-dark", True), ("ansi", False)])
async def test_words_behind_an_overlay_are_not_read_with_its_own_where_it_has_no_ground(theme, seen):
    app = OverlayApp(theme)
    async with app.run_test(size=(120, 20)) as pilot:
        app.push_screen(NameScreen("A name", "a"))
        await pilot.pause()
        beside = {line[:20].strip() for line in rows(app)} - {""}
        assert bool(beside) == seen


@pytest.mark.parametrize(
    ("columns", "seen"), [(120, True), (116, True), (112, False), (80, False), (60, False)]
)  # of a box of 76
async def test_beside_an_overlay_words_are_seen_only_where_they_say_something(columns, seen):
    app = OverlayApp()
    async with app.run_test(size=(120, 24)) as pilot:
        app.push_screen(NameScreen("A name", "a"))
        await pilot.resize_terminal(columns, 24)
        await pilot.pause()
        halo = app.screen.query_one("#overlay-halo").region
        lines = rows(app)
        beside = {part.strip() for line in lines[halo.y : halo.bottom] for part in (line[: halo.x], line[halo.right :])}
        assert bool(beside - {""}) == seen
        assert "behind" in lines[0] + lines[-1], "above and below they are"
