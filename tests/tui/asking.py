"""What the tests of the panel that asks share: waiting until a letter answers, and reading the screen."""

import time

from nanoherm_tui import limits
from tests.tui.composer_app import rows


def text_of(app):
    return "\n".join(rows(app))


def long_enough():
    """Seconds after which an armed panel is armed."""
    return limits.APPROVAL_ARM + 0.25


def alone():
    """Seconds after which a letter stands alone."""
    return limits.APPROVAL_ALONE + 0.1


async def come(pilot, condition, seconds=10.0):
    """Wait until `condition()` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        await pilot.pause(0.02)


async def armed(pilot):
    """Wait until a letter would answer."""
    await come(pilot, lambda: pilot.app.panel.armed)
    await pilot.pause(0.1)


async def answer(pilot, *keys):
    await armed(pilot)
    await pilot.press(*keys)
    await pilot.pause(alone())
