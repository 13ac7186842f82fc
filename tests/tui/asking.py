"""What the tests of the panel that asks share: waiting until a letter answers, and reading the screen."""

import time

from nanoherm_tui import limits
from tests.tui.composer_app import rows


def text_of(app):
    return "\n".join(rows(app))


def long_enough():
    """Seconds after which an armed panel is armed."""
    return limits.APPROVAL_ARM + 0.25


async def come(pilot, condition, seconds=30.0):
    """Wait until `condition()` holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        await pilot.pause(0.02)


async def armed(pilot):
    """Wait until a letter would answer."""
    await come(pilot, lambda: pilot.app.panel.armed)
    await pilot.pause(0.1)


async def stood_alone(pilot):
    """Wait until it is known of the last letter whether it answers."""
    await pilot.pause()
    await come(pilot, lambda: not pilot.app.panel._held)
    await pilot.pause()


async def answer(pilot, *keys):
    await armed(pilot)
    await pilot.press(*keys)
    await stood_alone(pilot)
