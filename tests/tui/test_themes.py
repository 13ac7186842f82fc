"""Themes: every pair that is used can be read, a broken file is named by line, words stay plain where they must."""

import asyncio
import math

import pytest
from textual.app import App
from textual.color import Color
from textual.widgets import Static

from agent_core.errors import ConfigError
from nanoherm_tui import symbols
from nanoherm_tui.i18n import texts
from nanoherm_tui.panes import hunk_rows, sessions
from nanoherm_tui.terminal.eight_bit import _oklab, shown
from nanoherm_tui.theming import safe_diffs
from nanoherm_tui.theming.files import find_themes_dir, load_theme, load_themes
from nanoherm_tui.theming.themes import MIN_CONTRAST, ROLES, USED_ON, Look, contrast, to_textual
from nanoherm_tui.transcript import render

SHIPPED = ("ansi", "high-contrast", "nanoherm-dark", "nanoherm-light")


@pytest.fixture(scope="module")
def themes():
    found, broken = load_themes(colours="true")
    assert not broken
    return found


def test_the_four_shipped_themes_load_with_every_role(themes):
    assert tuple(sorted(themes)) == SHIPPED
    assert "nanoherm-dark" in themes
    assert find_themes_dir().is_dir()
    for theme in themes.values():
        assert set(theme.roles) == set(ROLES)


@pytest.mark.parametrize(("a", "b", "ratio"), [("#000000", "#ffffff", 21.0), ("#777777", "#777777", 1.0)])
def test_contrast_is_that_of_wcag_2_whichever_colour_comes_first(a, b, ratio):
    assert contrast(a, b) == pytest.approx(ratio)
    assert contrast(b, a) == pytest.approx(ratio)


def test_contrast_of_a_known_pair():
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("name", [n for n in SHIPPED if n != "ansi"])
def test_every_word_can_be_read_on_every_ground_it_is_used_on(themes, name):
    look = Look(themes[name], no_color=False)
    for ground, words in USED_ON.items():
        for word in words:
            style = look.style(word, ground)
            ratio = contrast(style.color.get_truecolor().hex, style.bgcolor.get_truecolor().hex)
            assert ratio >= MIN_CONTRAST, (word, ground, ratio)


@pytest.mark.parametrize("name", [n for n in SHIPPED if n != "ansi"])
def test_a_role_that_cannot_be_read_on_a_selection_becomes_the_selections_own_word_colour(themes, name):
    look = Look(themes[name], no_color=False)
    for word in ("text", "muted", "code"):
        assert look.style(word, "selection").color == look.style("seltext", "selection").color


def test_in_an_ansi_theme_words_are_the_terminals_default_and_only_marks_have_colour(themes):
    look = Look(themes["ansi"], no_color=False)
    for word in ("text", "muted", "accent", "ok", "warn", "fail", "code", "string"):
        style = look.style(word, "panel")
        assert style.color.is_default
        assert style.bgcolor.is_default
    assert look.mark("accent").color.name == "cyan"
    assert look.mark("fail", "added_bg").color.name == "bright_red"
    assert look.style("text", "selection").reverse
    assert look.style("text", "added_word").underline
    assert look.style("keyword").bold
    assert not look.style("accent").bold


def test_changed_words_are_underlined_in_high_contrast_too(themes):
    assert Look(themes["high-contrast"], no_color=False).style("text", "removed_word").underline
    assert not Look(themes["nanoherm-dark"], no_color=False).style("text", "removed_word").underline


@pytest.mark.parametrize("name", SHIPPED)
def test_no_color_leaves_no_colour_in_any_theme_but_keeps_selection_and_changed_words(themes, name, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    look = Look(themes[name])
    for fg in (*ROLES, "keyword"):
        for bg in USED_ON:
            for style in (look.style(fg, bg), look.mark(fg, bg)):
                assert style.color.is_default, (fg, bg)
                assert style.bgcolor.is_default
    assert look.style("text", "selection").reverse
    assert look.style("text", "added_word").underline


def test_behind_an_overlay_every_word_is_muted_and_no_tint_is_left(themes):
    look = Look(themes["nanoherm-dark"], no_color=False, behind=True)
    plain = look.style("muted", "panel")
    for fg in ("text", "accent", "fail"):
        for bg in ("panel", "selection", "added_bg", "removed_word"):
            assert look.style(fg, bg, bold=True, underline=True) == plain


def test_a_look_makes_each_style_once(themes):
    look = Look(themes["nanoherm-dark"], no_color=False)
    assert look.style("text", "panel", bold=True) is look.style("text", "panel", bold=True)


async def _css_colours(themes, name):
    theme = themes[name]

    class Probe(App):
        CSS = "Static { background: $panel; color: $muted; }"

        def compose(self):
            yield Static("x")

    app = Probe()
    app.register_theme(to_textual(theme))
    app.theme = theme.name
    async with app.run_test():
        return app.query_one(Static).styles


@pytest.mark.parametrize("name", SHIPPED)
def test_css_variables_carry_the_roles(themes, name):
    styles = asyncio.run(_css_colours(themes, name))
    theme = themes[name]
    if theme.ansi:
        assert styles.background.ansi == -1
        assert styles.color.ansi == -1
    else:
        assert styles.background == Color.parse(theme.roles["panel"])
        assert styles.color == Color.parse(theme.roles["muted"])


# -- eyes that see fewer colours ----------------------------------------------------------------------------------

# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
BLIND = {
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
APART = 0.04
"""Of two grounds in OKLab; a step of 0.02 is just seen where they touch, the default pair is 0.002 apart."""


def seen(colour, kind):
    """#rrggbb as these eyes see it."""
    values = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    light = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values]
    mixed = [min(1.0, max(0.0, sum(a * b for a, b in zip(row, light, strict=True)))) for row in BLIND[kind]]
    return "#" + "".join(
        f"{round(255 * (12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055)):02x}" for v in mixed
    )


@pytest.fixture
def safe():
    safe_diffs.use("safe")
    yield
    safe_diffs.use("theme")


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("colours", ["true", "256"])
@pytest.mark.parametrize("name", [n for n in SHIPPED if n != "ansi"])
def test_with_safe_colours_added_and_removed_differ_for_colour_blind_eyes_and_can_be_read(safe, name, colours, kind):
    theme = load_themes(colours=colours)[0][name]
    for added, removed in (("added_bg", "removed_bg"), ("added_word", "removed_word")):
        a, b = (theme.colour(role) if colours == "true" else shown(theme.colour(role)) for role in (added, removed))
        assert math.dist(_oklab(seen(a, kind)), _oklab(seen(b, kind))) >= APART, (added, a, b)
    look = Look(theme, no_color=False)
    for ground in ("added_bg", "removed_bg", "added_word", "removed_word"):
        for word in USED_ON[ground]:
            style = look.style(word, ground)
            words, behind = (c.get_truecolor().hex for c in (style.color, style.bgcolor))
            assert contrast(words, behind) >= MIN_CONTRAST, (word, ground)


SHARED = ("lost", "arriving")


@pytest.mark.parametrize("ascii_only", [False, True], ids=["glyphs", "ascii"])
def test_no_state_is_told_by_its_colour_alone(ascii_only):
    """Each has a sign of its own; where two share one, words stand beside it: what is lost is a failure too, and a call
    that is being written is at work as one that runs."""
    symbols.set_ascii(ascii_only)
    for signs in (
        [symbols.sym(sign) for sign, _ in sessions._MARKS.values()],
        [symbols.sym(sign) for state, (sign, _, _) in render._STATES.items() if state not in SHARED],
        [hunk_rows._sign(kind) for kind in ("add", "remove", "keep")],
    ):
        assert len(set(signs)) == len(signs), signs
    assert texts("en")["transcript.lost"]


def test_safe_colours_are_not_taken_by_a_theme_that_could_not_be_read_on_them_nor_by_the_terminals_own(safe, tmp_path):
    roles = {"text": "'#7f858f'", "ground": "'#000000'", "panel": "'#000000'", "surface": "'#000000'",
             "muted": "'#808080'", "added_bg": "'#000000'", "removed_bg": "'#010000'", "added_word": "'#000100'",
             "removed_word": "'#020000'", "selection": "'#ffffff'", "seltext": "'#000000'"}  # fmt: skip
    lines = "".join(f"  {role}: {colour}\n" for role, colour in roles.items())
    (tmp_path / "dim.yaml").write_text(f"base: nanoherm-dark\nroles:\n{lines}")
    found, broken = load_themes(tmp_path, colours="true")
    assert not broken
    assert found["dim"].colour("removed_bg") == "#010000"
    assert found["ansi"].roles["added_bg"] == "default"
    assert found["nanoherm-dark"].colour("added_bg") != found["nanoherm-light"].colour("added_bg")


# -- a user's own files -------------------------------------------------------------------------------------------

BROKEN = [
    ("not yaml", "name: x\nroles: [\n", 3, "is not YAML"),
    ("a list", "- a\n- b\n", 1, "expected"),
    ("empty", "", 1, "expected"),
    ("unknown key", "name: x\nbase: nanoherm-dark\ncolours: {}\n", 3, "'colours' is not known"),
    ("unknown role", "base: nanoherm-dark\nroles:\n  ground: '#000000'\n  txt: '#ffffff'\n", 4, "'txt'"),
    ("not a colour", "base: nanoherm-dark\nroles:\n  text: blueish\n", 3, "write the colour in quotes"),
    ("unquoted hash", "base: nanoherm-dark\nroles:\n  text: #ffffff\n", 3, "one colour"),
    ("two colours", "base: nanoherm-dark\nroles:\n  text: '#ffffff #000000'\n", 3, "one colour"),
    ("hex in ansi", "base: ansi\nroles:\n  accent: '#ffffff'\n", 3, "ansi theme"),
    ("missing roles", "name: x\nroles:\n  text: '#ffffff'\n", 1, "lacks ground"),
    ("unknown base", "name: x\nbase: solarized\n", 2, "'solarized'"),
    ("bad flag", "base: nanoherm-dark\ndark: maybe\n", 2, "true or false"),
    ("bad name", "name: My Theme!\nbase: nanoherm-dark\n", 1, "small letters"),
    ("too deep", "roles: " + "[" * 20_000, 1, "brackets"),
    ("words on a ground", "base: nanoherm-dark\nroles:\n  panel: '#808080'\n", 3, "on panel has a contrast of"),
    ("words", "base: nanoherm-light\nroles:\n  string: '#6f4a12'\n  ok: '#90ee90'\n", 4, "and 3 more pairs"),
    ("the later of two", "base: nanoherm-dark\nroles:\n  text: '#888888'\n  ground: '#777777'\n", 4, "text on "),
    ("words on the selection", "base: nanoherm-dark\nroles:\n  selection: '#f0f0f0'\n", 3, "seltext on selection"),
    ("control character", "base: nanoherm-dark\n\x00\n", 1, "is not YAML"),
]


@pytest.mark.parametrize(("text", "line", "words"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_a_broken_theme_is_named_with_file_and_line_and_skipped(tmp_path, text, line, words):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    (tmp_path / "good.yaml").write_text("base: nanoherm-dark\nroles:\n  accent: '#ff9999'\n")
    found, broken = load_themes(tmp_path)
    assert found["good"].roles["accent"] == "#ff9999"
    assert "mine" not in found
    assert len(broken) == 1
    assert str(broken[0]).startswith(f"{path}:{line}: ")
    assert words in str(broken[0])
    assert broken[0].code == "theme_broken"


def test_bytes_that_are_not_text_and_oversized_files_are_refused(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.yaml").write_bytes(b"# " + b"x" * 100_000)
    found, broken = load_themes(tmp_path)
    assert sorted(found) == list(SHIPPED)
    assert [e.params["reason"] for e in broken] == ["is not UTF-8 text", "is larger than 64 KB, which no theme needs"]


def test_a_user_theme_takes_what_it_does_not_say_from_its_base_and_may_replace_a_shipped_one(tmp_path):
    (tmp_path / "dark.yaml").write_text("name: nanoherm-dark\nbase: nanoherm-light\nroles:\n  accent: '#000080'\n")
    found, broken = load_themes(tmp_path)
    assert not broken
    mine = found["nanoherm-dark"]
    assert (mine.dark, mine.ansi) == (False, False)
    assert mine.roles["accent"] == "#000080"
    assert mine.roles["ground"] == found["nanoherm-light"].roles["ground"]


def test_a_folder_that_is_not_there_is_no_error(tmp_path):
    found, broken = load_themes(tmp_path / "themes")
    assert sorted(found) == list(SHIPPED)
    assert broken == []


def test_a_file_that_cannot_be_read_says_so(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_theme(tmp_path / "gone.yaml", {})


# -- terminals with fewer colours ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in SHIPPED if n != "ansi"])
def test_with_256_colours_every_pair_can_be_read_and_tints_differ(name):
    theme = load_themes(colours="256")[0][name]
    look = Look(theme, no_color=False)
    for ground, words in USED_ON.items():
        for word in words:
            style = look.style(word, ground)
            ratio = contrast(shown(style.color.name), shown(style.bgcolor.name))
            assert ratio >= MIN_CONTRAST, (word, ground, ratio)
    seen = {role: shown(theme.colour(role)) for role in ("ground", "panel", "surface", "added_bg", "removed_bg")}
    same = {"ground", "panel"} if name == "high-contrast" else {"ground"}
    assert len(set(seen.values())) == 6 - len(same)
    red, green, blue = (int(seen["added_bg"][i : i + 2], 16) for i in (1, 3, 5))
    assert green > max(red, blue)
    red, green, blue = (int(seen["removed_bg"][i : i + 2], 16) for i in (1, 3, 5))
    assert red > max(green, blue)
    for word, line in (("added_word", "added_bg"), ("removed_word", "removed_bg")):
        assert look.style("text", word) != look.style("text", line)


def test_with_16_colours_every_theme_is_drawn_as_ansi_and_keeps_its_name(tmp_path):
    (tmp_path / "own.yaml").write_text("base: ansi\nroles:\n  accent: magenta\n")
    (tmp_path / "ansi.yaml").write_text("base: ansi\nroles:\n  accent: blue\n")
    found, _ = load_themes(tmp_path, colours="16")
    for name in SHIPPED:
        assert (found[name].name, found[name].ansi) == (name, True)
    assert found["nanoherm-light"].roles["accent"] == "cyan"
    assert found["own"].roles["accent"] == "magenta"
    assert found["ansi"].roles["accent"] == "blue"


@pytest.mark.parametrize("no_color", [False, True])
def test_with_16_colours_or_none_what_colours_say_can_be_told_otherwise(no_color):
    look = Look(load_themes(colours="16")[0]["nanoherm-dark"], no_color=no_color)
    plain = look.style("text", "panel")
    assert look.style("text", "selection").reverse
    assert look.style("text", "added_word").underline
    assert look.style("text", "removed_word").underline
    assert not plain.reverse
    assert not plain.underline
    if not no_color:
        assert len({look.mark(role).color.name for role in ("accent", "ok", "warn", "fail", "thumb")}) == 5


@pytest.mark.parametrize(
    ("term", "colorterm", "eight_bit", "ansi"),
    [
        ("xterm-256color", "", True, False),
        ("screen-256color", "", True, False),
        ("xterm-256color", "truecolor", False, False),
        ("xterm-kitty", "", True, False),
        ("xterm-16color", "", False, True),
        ("linux", "", False, True),
        ("xterm", "", False, True),
        ("linux", "truecolor", False, False),
    ],
)
def test_the_colours_are_those_the_terminal_has(monkeypatch, term, colorterm, eight_bit, ansi):
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", colorterm)
    theme = load_themes()[0]["nanoherm-dark"]
    assert (theme.eight_bit, theme.ansi) == (eight_bit, ansi)


async def test_with_no_color_nothing_has_a_colour_and_the_selection_is_reversed(monkeypatch, tmp_path):
    from tests.tui.test_app import Stage

    monkeypatch.setenv("NO_COLOR", "1")
    async with Stage(tmp_path, size=(120, 30)) as stage:
        stage.app.composer.text = "some words"
        await stage.pilot.press("ctrl+a")
        await stage.pilot.pause()
        filters = stage.app.get_line_filters()
        segments = []
        for strip in stage.app.screen._compositor.render_strips():
            done = list(strip)
            for each in filters:
                done = each.apply(done, Color.parse("#000000"))
            segments += done
    styles = [segment.style for segment in segments if segment.style]
    assert all(s.color is None or s.color.is_default for s in styles)
    assert all(s.bgcolor is None or s.bgcolor.is_default for s in styles)
    assert any(s.reverse for s in styles)
