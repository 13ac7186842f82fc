"""What turns leave in cycles is taken when they have ended, and what was frozen and closed since while hands rest."""

import gc
import weakref

from textual._styles_cache import StylesCache

from nanoherm_tui import limits
from nanoherm_tui.compat.letting_go import forget_closed
from tests.fakes.model_server import Reply
from tests.tui.test_app import Stage


async def test_an_overlay_that_was_closed_is_not_kept(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        await stage.pilot.press("f1")
        overlay = weakref.ref(stage.app.screen)
        await stage.pilot.press("escape")
        await stage.until(lambda: len(stage.app.screen_stack) == 1)
        try:
            await stage.type("go")
            await stage.until(lambda: gc.collect() is not None and overlay() is None)
        finally:
            gc.unfreeze()


def kept_rows():
    """How many caches of drawn rows there are, one a widget that is not forgotten."""
    gc.collect()
    return sum(isinstance(thing, StylesCache) for thing in gc.get_objects())


async def test_what_an_overlay_has_drawn_goes_with_it(tmp_path):
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        counts = []
        for _ in range(3):
            await stage.pilot.press("f1")
            await stage.until(lambda: len(stage.app.screen_stack) == 2)
            await stage.pilot.pause()
            await stage.pilot.press("escape")
            await stage.until(lambda: len(stage.app.screen_stack) == 1)
            await stage.pilot.pause()
            forget_closed(stage.app)
            counts.append(kept_rows())
        assert counts[1:] == counts[:-1]


class Knot:
    """Garbage that only the collector finds."""

    def __init__(self):
        self.me = self


async def test_garbage_that_is_no_longer_young_goes_when_a_turn_has_ended_and_frozen_garbage_while_hands_rest(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(limits, "GC_REST", 0.3)
    frozen = Knot()
    async with Stage(tmp_path, [Reply(text="x")]) as stage:
        stage.app.collecting.settle()
        old = Knot()
        gc.collect(0)
        knots = [weakref.ref(frozen), weakref.ref(old)]
        del frozen, old
        try:
            await stage.type("go")
            await stage.until(lambda: stage.state == "idle" and stage.app.view.usage.total_tokens)
            await stage.until(lambda: knots[1]() is None)
            await stage.until(lambda: knots[0]() is None)
            assert stage.app.collecting.whole == 1
        finally:
            gc.unfreeze()
