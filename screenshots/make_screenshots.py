"""Pictures of every pane and overlay, in every theme, language and size, and a check of each of them.

    make screenshots                            sheets in build/screenshots, the README's pictures beside this file
    make screenshots ARGS="--only 'dock-*'"     some views; may be given several times
    make screenshots ARGS=--check               no pictures: only what is wrong

Nothing leaves this machine: the program runs in this process, its model on the loopback. The text in the pictures
needs the DejaVu and Noto CJK fonts.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Coroutine, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

if __name__ in ("__main__", "__mp_main__"):
    from screenshots import clock

    clock.hold()

from nanoherm_tui.i18n import LANGUAGES, Language
from screenshots import render
from screenshots.checks import faults
from screenshots.frame import Frame
from screenshots.stage import NeverCame, Stage
from screenshots.views import VIEWS, View

HERE: Final = Path(__file__).parent
SHEETS: Final = HERE.parent / "build" / "screenshots"
SIZES: Final = ((200, 60), (120, 36), (80, 24), (79, 24), (40, 10))
THEMES: Final = ("nanoherm-dark", "nanoherm-light", "high-contrast", "ansi")
_SCALE: Final = 2 / 3  # of the sheets: small, and can still be read
_LONGEST: Final = 240.0
"""Seconds for all pictures of a view in one language: five on a quiet machine."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: which, and what it shows."""

    view: str
    theme: str
    language: Language
    size: tuple[int, int]
    frame: Frame

    @property
    def label(self) -> str:
        columns, rows = self.size
        return f"{self.view}  {self.theme}  {self.language}  {columns}x{rows}"

    def faults(self) -> list[str]:
        return [f"{self.label}  {fault}" for fault in faults(self.frame)]


# The pictures the READMEs show: (file, view, theme, language, size).
SHOWN: Final[tuple[tuple[str, str, str, Language, tuple[int, int]], ...]] = (
    ("main", "main", "nanoherm-dark", "en", (200, 55)),
    ("main-zh", "main", "nanoherm-light", "zh", (160, 45)),
    ("approval", "approval-edit", "nanoherm-dark", "en", (120, 36)),
    ("approval-zh", "approval-edit", "nanoherm-dark", "zh", (120, 36)),
    ("mention", "composer-mention", "nanoherm-dark", "en", (80, 24)),
    ("mention-zh", "composer-mention", "nanoherm-dark", "zh", (80, 24)),
)


async def shoot(
    view: View,
    language: Language,
    sizes: Sequence[tuple[int, int]] = SIZES,
    themes: Sequence[str] = THEMES,
) -> list[Shot]:
    """A view in every size and theme, from one run of the program. Sizes go from the largest down."""
    shots = []
    async with Stage(language, sizes[0], **{"display.theme": themes[0]}, **view.stage) as stage:
        await view.act(stage)
        for size in sizes:
            await stage.resize(size)
            if view.follow is not None:
                await view.follow(stage)
            for theme in themes:
                await stage.use_theme(theme)
                shots.append(Shot(view.name, theme, language, size, stage.take()))
    return shots


async def _within(shots: Coroutine[Any, Any, list[Shot]], name: str) -> list[Shot]:
    """Wait for pictures, but not without end. Raises NeverCame; before that it is said where each thread stands."""
    faulthandler.dump_traceback_later(_LONGEST)
    try:
        return await asyncio.wait_for(shots, _LONGEST)
    except TimeoutError:
        raise NeverCame(f"{name} took longer than {_LONGEST:g} s") from None
    finally:
        faulthandler.cancel_dump_traceback_later()


def _job(name: str, language: Language, picture: bool) -> list[str]:
    """All pictures of a view in one language; returns what is wrong with them."""
    try:
        shots = asyncio.run(_within(shoot(VIEWS[name], language), f"{name} {language}"))
    except NeverCame as missed:
        return [f"{name}  {language}  never came to its state: {missed}"]
    except Exception:  # one view that fails is a fault of its own: the others are drawn
        return [f"{name}  {language}  failed:\n{traceback.format_exc()}"]
    if picture:
        rows = [[(shot.label, shot.frame) for shot in shots if shot.theme == theme] for theme in THEMES]
        render.save_png(render.sheet(rows, _SCALE), SHEETS / f"{name}-{language}.png")
    return [fault for shot in shots for fault in shot.faults()]


def _show(file: str, name: str, theme: str, language: Language, size: tuple[int, int]) -> list[str]:
    """One of the README's pictures."""
    try:
        [shot] = asyncio.run(_within(shoot(VIEWS[name], language, [size], [theme]), file))
    except Exception:
        return [f"{file}.png failed:\n{traceback.format_exc()}"]
    render.save_png(render.svg(shot.frame), HERE / f"{file}.png")
    return shot.faults()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="make screenshots", description="Pictures of the program, checked.")
    parser.add_argument("--only", action="append", metavar="GLOB", help="views, by name")
    parser.add_argument("--check", action="store_true", help="no pictures, only the checks")
    options = parser.parse_args(arguments)
    names = [name for name in VIEWS if any(fnmatchcase(name, glob) for glob in options.only or ["*"])]
    if not names:
        parser.error(f"no view is called that; there are {', '.join(VIEWS)}")
    began = time.perf_counter()
    SHEETS.mkdir(parents=True, exist_ok=True)
    wrong: list[str] = []
    spawn = multiprocessing.get_context("spawn")  # forked, a child would have the parent's threads' locks
    with ProcessPoolExecutor(max_workers=os.cpu_count(), mp_context=spawn) as pool:
        jobs = [pool.submit(_job, name, code, not options.check) for name in names for code in LANGUAGES]
        if not options.check:
            jobs += [pool.submit(_show, *shown) for shown in SHOWN if shown[1] in names]
        try:
            for done, job in enumerate(as_completed(jobs), 1):
                found = job.result()
                for fault in found:
                    print(fault, flush=True)
                wrong += found
                if sys.stderr.isatty():
                    print(f"\r\x1b[K{done} of {len(jobs)}", end="\r", file=sys.stderr, flush=True)
        except BaseException:  # a worker was killed, or somebody has had enough: nothing else is begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    pictures = len(names) * len(LANGUAGES) * len(SIZES) * len(THEMES)
    print(f"{pictures} screens, {len(wrong)} faults, {time.perf_counter() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
