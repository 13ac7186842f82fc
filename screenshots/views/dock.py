"""The dock's results, changes, files and images."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from nanoherm_tui import commands
from nanoherm_tui.commands.looking import open_call, preview
from screenshots.stage import Stage
from screenshots.views.view import View, dock, nothing


async def _result(stage: Stage) -> None:
    failed = next(call_id for call_id, call in stage.app.view.calls.items() if not call.ok)
    open_call(stage.app, failed)
    await stage.settle()


async def _result_find(stage: Stage) -> None:
    await _result(stage)
    await dock(stage)
    await stage.press("slash", *"assert", "enter")
    await stage.settle()


async def _diff(stage: Stage) -> None:
    stage.app.dock.restore({"split": False})
    commands.run(stage.app, "diff")
    await stage.settle()


async def _diff_split(stage: Stage) -> None:
    commands.run(stage.app, "diff")
    await stage.settle()
    stage.app.dock.action_split()
    await stage.settle()


async def _diff_unfolded(stage: Stage) -> None:
    await _diff(stage)
    await dock(stage)
    await stage.press("f", "enter")
    await stage.shown("return instant.isoformat")


async def _plan(stage: Stage) -> None:
    commands.run(stage.app, "show_plan")
    await stage.settle()


async def _file(stage: Stage) -> None:
    preview(stage.app, "src/ledger/dates.py", 32, 37)
    await stage.shown("def parse_date")


def chart(stage: Stage) -> Path:
    """An image in the workspace: bars of a chart."""
    from PIL import Image, ImageDraw

    view = stage.app.view
    assert view is not None
    picture = Image.new("RGB", (800, 500), "white")
    pen = ImageDraw.Draw(picture)
    for number, height in enumerate((120, 260, 180, 390, 310, 440, 220)):
        pen.rectangle((40 + number * 105, 470 - height, 115 + number * 105, 470), fill=(60, 80 + 20 * number, 190))
    pen.line((30, 30, 30, 470, 770, 470), fill="black", width=6)
    path = Path(view.session.workspace, "chart.png")
    picture.save(path)
    return path


async def _image(stage: Stage) -> None:
    preview(stage.app, chart(stage).name, 0, 0)
    await stage.shown("800x500 PNG")


VIEWS: Final[tuple[View, ...]] = (
    View("dock-result", _result, dock),
    View("dock-find", _result_find, dock),
    View("dock-diff", _diff, dock),
    View("dock-split", _diff_split, dock),
    View("dock-unfolded", _diff_unfolded, dock),
    View("dock-plan", _plan, dock),
    View("dock-file", _file, _file),
    View("dock-image", _image, dock),
    View("dock-empty", nothing, dock, {"stored": False}),
)
