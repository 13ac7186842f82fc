"""The first minutes: setup, the tour, a session with nothing in it."""

from __future__ import annotations

from typing import Final

from nanoherm_tui import commands
from nanoherm_tui.i18n import tell
from nanoherm_tui.overlays.setup import SetupScreen
from screenshots.stage import Stage
from screenshots.views.permissions import BARE
from screenshots.views.view import FRESH, Act, View, fresh, overlay


def _tour(steps: int) -> Act:
    """The tour, so many cards on."""

    async def act(stage: Stage) -> None:
        await fresh(stage)
        commands.run(stage.app, "tour")
        await stage.settle()
        await stage.press(*["tab"] * steps)
        await stage.settle()

    return act


async def _setup_tested(stage: Stage) -> None:
    await overlay("setup")(stage)
    screen = stage.app.screen
    assert isinstance(screen, SetupScreen)
    words = "Nothing answers at 127.0.0.1:8080. Start the server there, or check base_url in the config."
    screen.show_result(False, tell("network_refused", {"host": "127.0.0.1:8080"}, words))
    await stage.settle()


VIEWS: Final[tuple[View, ...]] = (
    View("setup", overlay("setup")),
    View("setup-failed", _setup_tested),
    View("tour", _tour(1), stage=FRESH),
    View("tour-last", _tour(5), stage=FRESH),
    View("tour-demo", _tour(0), stage={"stored": False, "model": "demo"}),
    View("welcome", fresh, stage=FRESH),
    View("welcome-demo", fresh, stage={"stored": False, "model": "demo"}),
    View("welcome-no-model", fresh, stage={"stored": False, "model": "none"}),
    View("welcome-no-sandbox", fresh, stage={"stored": False, "held": BARE}),
    View("welcome-demo-no-sandbox", fresh, stage={"stored": False, "model": "demo", "held": BARE}),
)
