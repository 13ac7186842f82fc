"""Choosing a folder: its own folders as a list, what is typed narrows it, Tab goes in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.strip import Strip
from textual.widgets import TextArea

from nanoherm_tui.i18n import t
from nanoherm_tui.overlays.frame import CssPath, LineField, Overlay, boxed
from nanoherm_tui.overlays.palette import PaletteItem, PaletteList, search
from nanoherm_tui.overlays.typed_line import TypedLine
from nanoherm_tui.strips import Painted, flow, hints, look_of, row
from nanoherm_tui.text import cut_path, shorten_home, visible

_PAGE = 10


class _Where(Painted):
    """The folder whose folders are listed."""

    words = ""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        style = look.style("text", "surface", bold=True)
        where = shorten_home(visible(self.words), str(Path.home()))
        return [row(width, [(cut_path(where, width), style)], look.style("text", "surface"))]


class _Foot(Painted):
    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        keys = [("Enter", t("folders.take")), ("Tab", t("folders.enter")), ("Shift+Tab", t("folders.up"))]
        return flow(width, hints(look, [*keys, ("Esc", t("folders.close"))]), look.style("text", "surface"), indent=2)


class FolderScreen(Overlay[Path | None]):
    """Gives the chosen folder. `on_list` is called with a folder whose content is wanted; `show` brings it."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/palette.tcss", "../css/folders.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", f"move(-{_PAGE})", show=False),
        Binding("pagedown", f"move({_PAGE})", show=False),
        Binding("enter", "take", show=False),
        Binding("tab", "go_in", show=False, priority=True),
        Binding("shift+tab", "go_up", show=False, priority=True),
    ]

    def __init__(self, start: Path) -> None:
        super().__init__()
        self.on_list: Callable[[Path], None] = lambda folder: None
        self._folder = start
        self._wanted = start
        self._found: tuple[Path, ...] = ()
        self._narrowed: tuple[str, Path, tuple[Path, ...]] | None = None  # what the list shows the hits of
        self._where, self._field, self._list = _Where(id="folders-where"), LineField(id="palette-field"), PaletteList()

    def compose(self) -> ComposeResult:
        yield boxed(self._where, TypedLine(self._field), self._list, _Foot(id="palette-foot"))

    def on_mount(self) -> None:
        self._field.ask(t("folders.ask"))
        self._field.focus()
        self._go(self._folder)

    def _go(self, folder: Path) -> None:
        self._wanted = folder
        self.on_list(folder)

    def show(self, folder: Path, found: Sequence[Path]) -> None:
        """The folders in `folder`. An answer that is not wanted any more is passed over."""
        if folder != self._wanted or not self.is_attached:
            return
        self._folder, self._found = folder, tuple(found)
        self._where.words = str(folder)
        self._where.refresh()
        self._field.put("")
        self._narrow()

    def _narrow(self) -> None:
        typed = self._field.text.strip()
        if (typed, self._folder, self._found) == self._narrowed:
            return
        self._narrowed = typed, self._folder, self._found
        items = [PaletteItem(str(path), "folder", visible(path.name)) for path in self._found]
        hits = search(items, typed)
        if not typed:
            here = PaletteItem(str(self._folder), "folder", ".", t("folders.here"))
            hits = [*search([here], ""), *hits]
        self._list.show([("folder", hits)] if hits else [], t("folders.nothing"))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if (path := self._typed_path()) is not None and self._field.text.endswith("/"):
            self._go(path)  # a path that is typed or pasted is gone to a folder at a time
        else:
            self._narrow()

    def _typed_path(self) -> Path | None:
        """What is typed, when it is a path and no part of a name."""
        typed = self._field.text.strip()
        return self._folder / Path(typed).expanduser() if "/" in typed or typed.startswith("~") else None

    @property
    def _chosen(self) -> Path | None:
        if (typed := self._typed_path()) is not None:
            return typed
        self._narrow()  # keys of one read come before the change they made is told
        item = self._list.current
        return Path(item.id) if item is not None else None

    def action_move(self, step: int) -> None:
        self._narrow()
        self._list.move(step)

    def action_take(self) -> None:
        if (chosen := self._chosen) is not None:
            self.dismiss(chosen)

    def action_go_in(self) -> None:
        chosen = self._chosen
        if chosen is not None and chosen != self._folder:
            self._go(chosen)

    def action_go_up(self) -> None:
        self._go(self._folder.parent)

    def on_palette_list_picked(self, message: PaletteList.Picked) -> None:
        message.stop()
        self.dismiss(Path(message.item.id))
