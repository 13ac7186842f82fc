"""What turns leave in cycles is taken when they have ended, and what was frozen and closed since while hands rest.

Nor does another thread keep the interpreter from the screen's.
"""

import gc
import sys
import weakref

from textual._styles_cache import StylesCache

from agent_core.desk.host import Host
from nanoherm_tui import limits
from nanoherm_tui.app import NanohermApp, run
from nanoherm_tui.compat.letting_go import forget_closed
from tests.fakes.model_server import Reply
from tests.tui.test_app import Stage, launch, start


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


def test_a_thread_that_computes_gives_way_to_the_screen_soon(tmp_path, monkeypatch):
    def first_turn(app):
        told.append(sys.getswitchinterval())
        return 0

    told, before = [], sys.getswitchinterval()
    monkeypatch.setattr(NanohermApp, "run", first_turn)
    host = Host(launch(tmp_path))
    try:
        assert run(start(host)) == 0
    finally:
        sys.setswitchinterval(before)
        host.close()
    assert told[0] <= before / 4
