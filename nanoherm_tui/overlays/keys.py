"""All actions with their keys, by the place where they work: searched as one types, changed with Enter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from nanoherm_tui import limits
from nanoherm_tui.actions import ACTIONS, Action, Context
from nanoherm_tui.i18n import series, t
from nanoherm_tui.keymap import Keymap, show
from nanoherm_tui.overlays.confirm import ConfirmScreen
from nanoherm_tui.overlays.grouped import Detail, FollowedList, Heading
from nanoherm_tui.overlays.key_capture import KeyCapture
from nanoherm_tui.overlays.searched import SaidFoot, SearchedScreen
from nanoherm_tui.strips import flow, hints, led, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, fit
from nanoherm_tui.words.key_changes import caution, fitting, keys_of, place, refusals

_KEYS: Final = 22  # cells of the column of keys; less on a narrow screen
_WITH_ID: Final = 70  # columns below which a row has no room for what the config calls it
_ID: Final = max(len(action.id) for action in ACTIONS)


class _KeyList(FollowedList[Context, Action]):
    DEFAULT_CSS = "_KeyList { height: 1fr; }"

    def __init__(self, moved: Callable[[], None], chosen: Callable[[], None]) -> None:
        super().__init__("keys-list", moved)
        self._chosen = chosen
        self.keymap = Keymap()

    def show(self, keymap: Keymap, found: Sequence[Action], stays: str) -> None:
        """Show them under their places, the cursor on the action called `stays` if it is there."""
        self.keymap = keymap
        lines: list[Heading[Context] | Action] = []
        for action in found:
            if not lines or (isinstance(last := lines[-1], Action) and last.context != action.context):
                lines += [*([Heading[Context]()] if lines else []), Heading(action.context)]
            lines.append(action)
        self.put(lines, t("keys.none"))
        ids = [action.id for _, action in self._rows]
        self.at = ids.index(stays) if stays in ids else 0
        self._moved()

    def clicked(self, line: Action) -> None:
        if line is self.row:
            self._chosen()
        else:
            super().clicked(line)

    def draw_heading(self, of: Context | None, cells: int) -> Strip:
        look = look_of(self)
        words = look.style("text", "surface")
        title = place(of) if of is not None else ""
        return row(cells, [("  ", words), (title, look.style("text", "surface", bold=True))], words)

    def draw_row(self, line: Action, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        muted = words if here else look.style("muted", ground)
        keys = min(_KEYS, cells * 2 // 5)
        side = t("keys.is_fixed") if line.fixed else line.id
        wide = cells >= _WITH_ID
        room = cells - 4 - keys - (_ID + 2 if wide else 0)
        changed = self.keymap.keys(line.id) != line.keys
        left = led(look, here, words)
        left += [(fit(cut(keys_of(self.keymap, line), keys), keys), words if changed else muted), (" ", words)]
        left.append((cut(t(line.title), max(1, room)), words))
        return row(cells, left, words, [(side, muted)] if wide else [])


class _Foot(SaidFoot):
    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill = look.style("text", "surface")
        most = max(1, self.app.size.height // 6)
        lines = self.said(width)
        if len(lines) > most:
            lines = [*lines[: most - 1], cut(f"{lines[most - 1]} {sym('cut')}", width - 2)]
        keys = [
            (show("enter"), t("keys.change")),
            ("Esc", t("keys.close")),
            (show("ctrl+r"), t("keys.reset")),
            (show("ctrl+k"), t("keys.no_keys")),
            (show("ctrl+x"), t("keys.reset_all")),
            (show("ctrl+o"), t("keys.export")),
        ]
        said = self.paint_said(lines, width)
        foot, height = flow(width, hints(look, keys), fill, indent=2), self.app.size.height
        return [*said, *(foot[: max(1, height // 4 - len(said))] if height < limits.SHORT else foot)]


class _KeyDetail(Detail):
    """What an action does, its keys, and what is to be said of one; on a short screen only the first."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        height = self.app.size.height
        return 1 if height < limits.SHORT else max(4, min(6, height // 6))


class KeysScreen(SearchedScreen):
    """`save` is called with the keys of actions by their ids, None for the default ones; the answer is `show`.

    `reset_all` and `export` are called with nothing.
    """

    ASKS: ClassVar[str] = "keys.ask"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "change", show=False),
        Binding("ctrl+r", "reset", show=False, priority=True),
        Binding("ctrl+k", "no_keys", show=False, priority=True),
        Binding("ctrl+x", "reset_all", show=False, priority=True),
        Binding("ctrl+o", "export", show=False, priority=True),
    ]

    def __init__(self, keymap: Keymap, config: object, problems: Sequence[str] = (), query: str = "") -> None:
        """`config`: its `keymap`; `problems`: what is wrong with that, in words."""
        super().__init__(query)
        self.save: Callable[[Mapping[str, Sequence[str] | None]], None] = lambda keys: None
        self.reset_all: Callable[[], None] = lambda: None
        self.export: Callable[[], None] = lambda: None
        self._keymap, self._config = keymap, config
        self._list: _KeyList = _KeyList(self._follow, self.action_change)
        self._detail = _KeyDetail(id="settings-detail")
        self._foot = _Foot(id="settings-foot")
        self._foot.words, self._foot.wrong = tuple(problems), bool(problems)

    def show(self, keymap: Keymap, config: object, words: Sequence[str], *, wrong: bool = False) -> None:
        """The keys as they are now, and what came of the change."""
        self._keymap, self._config = keymap, config
        self._look()
        self._say(*words, wrong=wrong)

    def _look(self) -> None:
        found = fitting(self._keymap, self._field.text)
        here = self._list.row.id if self._list.row is not None else ""
        self._count.words = t("keys.count_one") if len(found) == 1 else t("keys.count", n=len(found))
        self._count.refresh()
        self._list.show(self._keymap, found, here)

    def _follow(self) -> None:
        action = self._list.row
        if action is None:
            self._detail.say(())
            return
        keys = self._keymap.keys(action.id)
        command = f"  /{action.slash}" if action.slash else ""
        lines = [t("keys.about", title=t(action.title), help=t(action.help)) + command]
        now = series(map(show, keys)) or "-"
        default = series(map(show, action.keys)) or "-"
        if action.fixed:
            lines.append(t("keys.stays", keys=now))
        else:
            lines.append(t("keys.are", action=action.id, keys=now, default=default))
        lines += [words for key in keys if key not in action.keys and (words := caution(key))]
        self._detail.say(tuple(lines))

    # -- changing -------------------------------------------------------------------------------------------------

    def _changeable(self) -> Action | None:
        """The action at hand; None, and why, where its key is a promise."""
        self._look()  # keys of one read come before the change they made is told
        action = self._list.row
        if action is not None and action.fixed:
            self._say(t("keys.fixed", action=action.id), wrong=True)
            return None
        return action

    def action_change(self) -> None:
        action = self._changeable()
        if action is None:
            return

        def pressed(keys: tuple[str, ...] | None) -> None:
            if keys is not None and keys != self._keymap.keys(action.id):
                self.save({action.id: keys})

        screen = KeyCapture(
            t("keys.new_keys", action=t(action.title), place=place(action.context)),
            self._keymap.keys(action.id),
            lambda keys: refusals(action.id, keys, self._config),
        )
        self.app.push_screen(screen, pressed)

    def action_reset(self) -> None:
        action = self._changeable()
        if action is None:
            return
        if against := refusals(action.id, None, self._config):
            self._say(*against, wrong=True)
        else:
            self.save({action.id: None})

    def action_no_keys(self) -> None:
        action = self._changeable()
        if action is None or not self._keymap.keys(action.id):
            return
        if against := refusals(action.id, (), self._config):
            self._say(*against, wrong=True)
        else:
            self.save({action.id: ()})

    def action_reset_all(self) -> None:
        def answered(agreed: bool | None) -> None:
            if agreed:
                self.reset_all()

        words = t("keys.sure_text")
        self.app.push_screen(ConfirmScreen(t("keys.sure"), words, t("keys.reset_all")), answered)

    def action_export(self) -> None:
        self.export()
