"""That another program is at work here is told above the draft; what the disk holds is told in a table."""

import re
import time

import pytest
from rich.cells import cell_len

from agent_core.desk.disk_report import DiskReport
from agent_core.store.rows import SessionSize
from nanoherm_tui import i18n, limits
from nanoherm_tui.overlays.disk import DiskScreen
from nanoherm_tui.words.disk import parts, sessions
from tests.tui.composer_app import ComposerApp, rows
from tests.tui.overlay_app import OverlayApp

AMBIGUOUS = set("…·│─▌■●◐→×—")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 10)])
async def test_the_other_program_and_the_ways_on_are_named_at_every_size(language, size):
    i18n.set_language(language)
    app = ComposerApp()
    try:
        async with app.run_test(size=size) as pilot:
            app.composer.insert("draft")
            app.composer.set_held(4242, time.mktime((2026, 1, 2, 14, 3, 0, 0, 0, -1)))
            await pilot.pause()
            shown = "\n".join(rows(app))
            assert re.search(r"4242\D*14:03", shown)
            assert "/fork" in shown
            assert "Enter" in shown
            assert "draft" in shown
            assert all(cell_len(row) == size[0] for row in rows(app))
            assert not set(shown) & AMBIGUOUS
            app.composer.set_state("running")
            await pilot.pause()
            assert "Esc" in "\n".join(rows(app)), "what was sent can be taken back"
            app.composer.set_held(0, 0.0)
            await pilot.pause()
            assert "4242" not in "\n".join(rows(app))
    finally:
        i18n.set_language("en")


def report(count: int) -> DiskReport:
    found = [
        SessionSize(f"s{n}", "" if n == 1 else f"会话 {n}", "/w", 0.0, n, 5_000_000 - n, n == 2) for n in range(count)
    ]
    return DiskReport((("database", 5_000_000), ("damaged", 0), ("spill", 2_048)), tuple(found))


def test_parts_that_hold_nothing_are_left_out_and_the_sum_comes_last():
    assert parts(report(0)) == [("sessions", "4.8 MB"), ("long outputs", "2.0 KB"), ("all", "4.8 MB")]


def test_the_largest_sessions_are_named_and_the_others_counted():
    shown = sessions(report(limits.DISK_SESSIONS + 3))
    assert len(shown) == limits.DISK_SESSIONS + 1
    assert shown[0] == ("会话 0", "0", "4.8 MB")
    assert shown[1][0] == i18n.t("sessions.untitled")
    assert shown[2][0].endswith("(deleted)")
    assert shown[-1] == ("3 more", "27", "14.3 MB")


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (40, 10)])
@pytest.mark.parametrize("count", [0, 11])
async def test_the_table_fits_every_size_and_any_closing_key_closes_it(size, count):
    app = OverlayApp()
    async with app.run_test(size=size) as pilot:
        app.push_screen(DiskScreen(report(count)))
        await pilot.pause()
        lines = rows(app)
        assert all(cell_len(line) == size[0] for line in lines)
        assert not set("".join(lines)) & AMBIGUOUS
        assert "4.8 MB" in "\n".join(lines)
        assert "Esc close" in "\n".join(lines)
        await pilot.press("q")
        await pilot.pause()
        assert not isinstance(app.screen, DiskScreen)


async def test_on_a_short_screen_the_table_scrolls_to_its_end_and_the_way_out_stays_in_view():
    app = OverlayApp()
    async with app.run_test(size=(40, 10)) as pilot:
        app.push_screen(DiskScreen(report(11)))
        await pilot.pause()
        assert i18n.t("disk.title") in rows(app)[0]
        assert "PgUp PgDn scroll" in rows(app)[-1]
        await pilot.press("space", "space", "space", "space")  # goes on, and at the end closes nothing
        await pilot.pause()
        assert i18n.t("disk.keep").split()[-1] in rows(app)[-2]
        assert "Esc close" in rows(app)[-1]
        await pilot.press("home")
        await pilot.pause()
        assert i18n.t("disk.title") in rows(app)[0]
