"""What the composer says of a draft that is longer, and in words that are longer, than its room."""

import pytest

from nanoherm_tui import i18n
from nanoherm_tui.i18n import t
from tests.tui.composer_app import ComposerApp


def rows(app, first, last=None):
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips[first:last]]


async def test_a_draft_longer_than_its_room_shows_where_it_goes_on_and_a_sign_that_says_something_stays():
    app = ComposerApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.composer.text = "\n".join(map(str, range(30)))
        await pilot.pause()
        assert [row[2:8].rstrip() for row in rows(app, -11, -1)] == ["▐ ⋯ 20", *(f"▐   {n}" for n in range(21, 30))]
        app.composer.query_one("#draft").move_cursor((0, 0))
        await pilot.pause()
        shown = [row[2:8].rstrip() for row in rows(app, -11, -1)]
        assert shown == ["▐ › 0", *(f"▐   {n}" for n in range(1, 9)), "▐ ⋯ 9"]
        app.composer.text = "!echo\n" + "\n".join(map(str, range(30)))
        await pilot.pause()
        assert [row[2:8].rstrip() for row in rows(app, -11, -1)][:3] == ["▐ ⋯ 20", "▐ $ 21", "▐   22"]
        app.composer.text = "one row"
        await pilot.pause()
        assert [row[2:].rstrip() for row in rows(app, -2, -1)] == ["▐ › one row"]


async def test_that_a_command_is_the_users_own_is_told_whole_on_every_screen():
    app = ComposerApp()
    async with app.run_test(size=(80, 24)) as pilot:
        for language in i18n.LANGUAGES:
            i18n.set_language(language)
            for columns, end in ((80, ""), (60, "_short"), (40, "_short")):
                await pilot.resize_terminal(columns, 24)
                for draft, key in (("!ls", "composer.shell"), ("!!ls", "composer.shell_private")):
                    app.composer.text = draft
                    await pilot.pause()
                    words = {t(key), t(key + end)}
                    assert any(one in row for row in rows(app, -2) for one in words), (language, columns, draft)


@pytest.mark.parametrize("theme", ["nanoherm-dark", "nanoherm-light", "high-contrast", "ansi"])
@pytest.mark.parametrize(("keys", "at"), [(("shift+left",) * 2, 2), (("home", *("shift+right",) * 2), 2)])
async def test_the_caret_is_told_from_what_is_selected_beside_it(theme, keys, at):
    app = ComposerApp(theme=theme)
    async with app.run_test(size=(80, 24)) as pilot:
        app.composer.text = "abcd"
        await pilot.press("end", *keys)
        await pilot.pause()
        cells = [(character, s.style) for s in app.composer._draft.render_line(0) for character in s.text][:5]
        selected = look_style(cells[3 if at == 2 and keys[0] == "shift+left" else 0][1])
        caret = look_style(cells[at][1])
        assert caret != selected
        assert caret != look_style(cells[4][1]), "nor from what is not"
        await pilot.press("escape")
        await pilot.pause()
        again = [s.style for s in app.composer._draft.render_line(0) for _ in s.text][at]
        assert again.reverse, "with nothing selected it is what it always was"


def look_style(style):
    """What is seen of a blank in this style."""
    fg, bg = (style.bgcolor, style.color) if style.reverse else (style.color, style.bgcolor)
    return bg, fg if style.underline else None
