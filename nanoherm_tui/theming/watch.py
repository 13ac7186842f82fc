"""A user's themes, read again as they are saved.

One daemon thread looks at the folder when the system tells a change, and every few seconds in case it cannot: the
folder is not there yet, lies on a share, or its files are links. A theme whose file is broken stays as it was last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_core.errors import ConfigError
from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.theming.files import load_shipped, load_theme, shown_themes, theme_files

if TYPE_CHECKING:
    from nanoherm_tui.theming.themes import Theme

Stamp = tuple[int, int, int]
"""What of a file changes when it is saved: its time in nanoseconds, its size, its inode."""


@dataclass(frozen=True, slots=True)
class ThemeChange:
    """What there is after files were saved, renamed or deleted."""

    themes: Mapping[str, Theme]
    """All themes by name, the shipped ones too, in colours that the terminal shows."""
    broken: tuple[ConfigError, ...] = ()
    """What is wrong with files that were saved since the last change: each save is told once."""


@dataclass(frozen=True, slots=True)
class Watching:
    """A thread that watches."""

    _stop: threading.Event
    _thread: threading.Thread

    def stop(self) -> None:
        """End it; does not block."""
        self._stop.set()

    def wait(self) -> None:
        """Wait for its end, a fraction of a second after `stop`.

        Left alone it might come out of its sleep while the interpreter is being taken down.
        """
        self._thread.join(limits.THEME_LOOK)


def watch_themes(
    folder: Path,
    on_change: Callable[[ThemeChange], object],
    *,
    known: Mapping[str, Theme],
    told: Collection[ConfigError] = (),
) -> Watching:
    """Call `on_change` when `folder` no longer holds the themes `known` and the faults `told`.

    It is called in the watching thread.
    """
    stop = threading.Event()

    def run() -> None:
        _watch(_Shelf(folder, known, told), on_change, stop)  # made here: it reads files

    thread = threading.Thread(target=run, name="themes", daemon=True)
    thread.start()
    return Watching(stop, thread)


class _Shelf:
    """The last good theme of each file, and what has been told of them."""

    def __init__(self, folder: Path, known: Mapping[str, Theme], told: Collection[ConfigError]) -> None:
        self.folder: Final = folder
        self.unsettled = False
        """At the last look a broken file was passed over: it may still be being written."""
        self._shipped = load_shipped()
        self._stamps: dict[Path, Stamp] = {}
        self._good: dict[Path, Theme] = {}
        self._themes = known
        self._told = {error.text for error in told}

    def look(self) -> ThemeChange | None:
        """Read the files that were saved since the last look. None when that changes nothing."""
        self.unsettled = False
        files = theme_files(self.folder)
        for path in self._stamps.keys() - files:
            del self._stamps[path]
            self._good.pop(path, None)
        faults = [fault for path in files if (fault := self._read(path)) is not None]
        broken = tuple(fault for fault in faults if fault.text not in self._told)
        if not self.unsettled:
            self._told.clear()  # it was about the files as they were when the watching began
        themes = shown_themes(self._shipped, [self._good[path] for path in files if path in self._good])
        if themes == self._themes and not broken:
            return None
        self._themes = themes
        return ThemeChange(themes, broken)

    def _read(self, path: Path) -> ConfigError | None:
        """Read a file if it was saved since the last look. Returns what is wrong with it."""
        stamp = _stamp(path)
        if stamp is None or stamp == self._stamps.get(path):
            return None
        try:
            self._good[path] = load_theme(path, self._shipped)
        except ConfigError as fault:
            if 0 <= time.time_ns() - stamp[0] < limits.THEME_SETTLE * 1e9:
                self.unsettled = True
                return None
            self._stamps[path] = stamp
            return fault
        self._stamps[path] = stamp
        return None


def _watch(shelf: _Shelf, on_change: Callable[[ThemeChange], object], stop: threading.Event) -> None:
    for _ in _wakes(shelf.folder, stop):
        while True:
            change = shelf.look()
            if change is not None:
                on_change(change)
            if not shelf.unsettled or stop.wait(limits.THEME_SETTLE):
                break


def _wakes(folder: Path, stop: threading.Event) -> Iterator[None]:
    """Yield at once, and then whenever the folder may have changed, until `stop`."""
    import watchfiles

    yield
    while not stop.is_set():
        watched = _stamp(folder)
        try:
            for _ in watchfiles.watch(
                folder,
                watch_filter=None,
                step=round(limits.THEME_STEP * 1000),
                rust_timeout=round(limits.THEME_LOOK * 1000),
                yield_on_timeout=True,
                stop_event=stop,
                raise_interrupt=False,
                recursive=False,
            ):
                yield
                now = _stamp(folder)
                if watched is None or now is None or now[2] != watched[2]:
                    break  # removed or replaced: the system would tell nothing more
        except (OSError, RuntimeError):  # no such folder yet, no watches left; the second is watchfiles' own failure
            pass
        if not stop.wait(limits.THEME_LOOK):
            yield


def _stamp(path: Path) -> Stamp | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
