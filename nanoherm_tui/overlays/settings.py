"""The settings: a list under headings that is searched as one types; Enter changes the one at hand, ^R takes it back.

What there is comes from the table of settings alone, each with the kind of editor that fits it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from agent_core.config import schema
from agent_core.config.settings import Setting, in_words, loosens, typed
from agent_core.safety.redact import MARK
from nanoherm_tui import limits
from nanoherm_tui.i18n import language, series, t, texts
from nanoherm_tui.keymap import show as key_name
from nanoherm_tui.overlays.confirm import ConfirmScreen
from nanoherm_tui.overlays.frame import CssPath, Overlay, boxed
from nanoherm_tui.overlays.grouped import MOVES, Detail, FollowedList, Heading
from nanoherm_tui.overlays.name import NameScreen
from nanoherm_tui.overlays.searched import SaidFoot, SearchedScreen
from nanoherm_tui.strips import Painted, flow, hints, led, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import cut, cut_path, fit, one_line, shorten_home, visible, width

if TYPE_CHECKING:
    from agent_core.config.schema import Key

_WITH_ORIGIN: Final = 70  # columns below which a row has no room to say where its value is from
_NAME: Final = max(len(key.name) for key in schema.KEYS) + 1
_NEXT_START: Final = frozenset({"keymap", "logging", "checkpoints", "sessions", "memory.engine", "memory.tokenizer"})
"""Sections and settings that are read when the program starts."""
_WITH_MODEL: Final = frozenset({"providers", "fallback", "fallback_model", "fallback_providers", "moa"})
_ALONE: Final = frozenset({"personalities", "hooks", "after_edit", "mcp_servers", "keymap"})
"""Settings that are a section by themselves; they stand together at the end."""


def section_of(key: Key) -> str:
    """The heading a setting stands under: a text `settings.section_NAME`."""
    name = key.name.partition(".")[0]
    return "model" if name in _WITH_MODEL else "other" if name in _ALONE else name


def sections() -> tuple[str, ...]:
    """All headings in the order of the table, the one of what stands alone last."""
    found = dict.fromkeys(section_of(key) for key in schema.KEYS)
    return (*(name for name in found if name != "other"), "other")


def fitting(settings: Sequence[Setting], query: str) -> list[Setting]:
    """Those in whose name, words, value or heading all that is typed stands, by heading."""
    words, english = query.casefold().split(), texts("en")
    order = {name: at for at, name in enumerate(sections())}

    def stands(one: Setting) -> bool:
        name = f"settings.section_{section_of(one.key)}"
        heading = f"{t(name)} {english[name]}"
        text = f"{one.key.name} {one.key.doc} {about(one.key)} {in_words(one.value)} {heading}".casefold()
        return all(word in text for word in words)

    return sorted((one for one in settings if stands(one)), key=lambda one: order[section_of(one.key)])


def allowed(key: Key) -> str:
    """What it takes, in the person's language."""
    if key.choices:
        return t("settings.takes_one_of", choices=series(choice or '""' for choice in key.choices))
    words = t(f"settings.takes_{key.kind}")
    if key.least > float("-inf") and key.most < float("inf"):
        words = t("settings.from_to", words=words, least=f"{key.least:g}", most=f"{key.most:g}")
    elif key.least > float("-inf"):
        words = t("settings.at_least", words=words, least=f"{key.least:g}")
    return t("settings.endless", words=words) if key.endless else words


def origin(one: Setting, home: str) -> str:
    """Where its value is from."""
    if not one.source.startswith("/"):
        return t(f"settings.from_{one.source.replace(' ', '_')}")
    place = visible(shorten_home(one.source, home))
    return f"{place}:{one.line}" if one.line else place


def about(key: Key) -> str:
    """What it does, in the person's language; its English stands in the table of settings alone."""
    return texts(language()).get(f"setting_docs.{key.name}", key.doc)


def acts(key: Key) -> str:
    """When a change of it counts."""
    section = key.name.partition(".")[0]
    when = "at_once" if section == "display" else "next_start" if {section, key.name} & _NEXT_START else "new_session"
    return t(f"settings.acts_{when}")


def read(key: Key, text: str) -> Any:
    """What `text`, as it was typed, stands for. Raises ValueError."""
    bracketed = text.startswith("[")
    entries = [part.strip() for part in text.split(",")] if key.kind == "texts" and not bracketed else [text]
    return schema.checked(key, typed(key, [entry for entry in entries if entry]))


def fault(key: Key, text: str) -> str:
    """Why `text` cannot be written for the key, in the person's language; "" where it can."""
    try:
        read(key, text)
    except ValueError:
        return t("settings.not_taken", key=key.name, allowed=allowed(key))
    return ""


def value_words(one: Setting) -> str:
    """Its value in one line; "-" where it has none."""
    return visible(one_line(in_words(one.value))) or "-"


class SettingsList(FollowedList[str, Setting]):
    DEFAULT_CSS = "SettingsList { height: 1fr; }"

    def __init__(self, home: str, moved: Callable[[], None], chosen: Callable[[], None]) -> None:
        super().__init__("settings-list", moved)
        self._home, self._chosen = home, chosen
        self._side = 0
        """Cells of the longest place that a value is from."""

    def show(self, found: Sequence[Setting], empty: str, stays: str) -> None:
        """Show them under their headings, the cursor on the setting called `stays` if it is there."""
        self._side = max((width(origin(one, self._home)) for one in found), default=0)
        lines: list[Heading[str] | Setting] = []
        for section, members in groupby(found, key=lambda one: section_of(one.key)):
            lines += [*([Heading[str]()] if lines else []), Heading(section), *members]
        self.put(lines, empty)
        names = [one.key.name for _, one in self._rows]
        self.at = names.index(stays) if stays in names else 0
        self._moved()

    def clicked(self, line: Setting) -> None:
        if line is self.row:
            self._chosen()
        else:
            super().clicked(line)

    def draw_heading(self, of: str | None, cells: int) -> Strip:
        look = look_of(self)
        words = look.style("text", "surface")
        title = t(f"settings.section_{of}") if of is not None else ""
        return row(cells, [("  ", words), (title, look.style("text", "surface", bold=True))], words)

    def draw_row(self, line: Setting, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        muted = words if here else look.style("muted", ground)
        room = cells - 3
        wide = min(self._side, room // 3) if cells >= _WITH_ORIGIN else 0
        side = cut_path(origin(line, self._home), wide) if wide else ""
        room -= wide + 2 if wide else 0
        name = min(_NAME, room * 3 // 5)
        left = led(look, here, words)
        left += [(fit(line.key.name, name), words if not line.is_default else muted), (" ", words)]
        left.append((cut(value_words(line), max(1, room - name - 1)), words if not line.is_default else muted))
        return row(cells, left, words, [(side, muted)] if side else [])


class _Foot(SaidFoot):
    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill = look.style("text", "surface")
        said = self.paint_said(self.said(width), width)
        keys = [(key_name("enter"), t("settings.change")), (key_name("ctrl+r"), t("settings.reset")),
                ("Esc", t("settings.close"))]  # fmt: skip
        return [*said, *flow(width, hints(look, keys), fill, indent=2)]


class SettingsDetail(Detail):
    """As tall as its words are on most screens: what a setting does, what holds, what it takes; less on a short one."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        height = self.app.size.height
        return 2 if height < limits.SHORT else max(3, min(7, height // 6))


class SettingsScreen(SearchedScreen):
    """`save` is called with a key's name and its new value, None to take it out; the answer is `show`."""

    ASKS: ClassVar[str] = "settings.ask"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "change", show=False),
        Binding("ctrl+r", "reset", show=False, priority=True),
    ]

    def __init__(
        self,
        settings: Sequence[Setting],
        home: str,
        query: str = "",
        choices: Callable[[Key], Sequence[str]] = lambda key: key.choices,
    ) -> None:
        super().__init__(query)
        self._choices = choices
        self.save: Callable[[str, Any], None] = lambda name, value: None
        self.edit_keys: Callable[[], None] = lambda: None
        """Goes on to the editor that `keymap` has."""
        self._settings, self._home = settings, home
        self._list: SettingsList = SettingsList(home, self._follow, self.action_change)
        self._detail = SettingsDetail(id="settings-detail")
        self._foot = _Foot(id="settings-foot")

    def show(self, settings: Sequence[Setting], words: str, *, wrong: bool = False) -> None:
        """The settings as they are now, and what came of the change."""
        self._settings = settings
        self._look()
        self._say(words, wrong=wrong)

    def _look(self) -> None:
        found = fitting(self._settings, self._field.text)
        here = self._list.row.key.name if self._list.row is not None else ""
        self._count.words = t("settings.count_one") if len(found) == 1 else t("settings.count", n=len(found))
        self._count.refresh()
        self._list.show(found, t("settings.none"), here)

    def _follow(self) -> None:
        one = self._list.row
        if one is None:
            self._detail.say(())
            return
        default = in_words(one.key.default) or "-"
        lines = [t("text.pair", name=one.key.name, value=about(one.key))]  # the row may have no room for the whole name
        if not one.is_default:
            lines.append(t("settings.value_from", value=value_words(one), origin=origin(one, self._home)))
        takes = allowed(replace(one.key, choices=tuple(self._choices(one.key))))
        lines.append(t("settings.takes", allowed=takes, value=default, acts=acts(one.key)))
        self._detail.say(tuple(lines))

    # -- changing -------------------------------------------------------------------------------------------------

    def action_change(self) -> None:
        self._look()  # keys of one read come before the change they made is told
        one = self._list.row
        if one is None:
            return
        key = one.key
        if key.kind == "flag":
            self._put(one, not one.value)
        elif choices := self._choices(key):
            screen = ChoiceScreen(key.name, choices, str(one.value))
            self.app.push_screen(screen, lambda choice: self._chosen(one, choice))
        elif key.name == "keymap":
            self.dismiss()
            self.edit_keys()
        elif key.kind in ("mapping", "list"):
            place = origin(one, self._home) if one.source.startswith("/") else "config.yaml"
            self._say(t("settings.in_the_file", place=place, key=key.name))
        else:
            now = ", ".join(one.value) if key.kind == "texts" else in_words(one.value)
            now = "" if MARK in now or now == '""' else now  # what is covered must not be written back as it is shown
            title = t("text.pair", name=key.name, value=allowed(key))
            field = NameScreen(title, now, t("settings.change"), lambda text: fault(key, text))
            self.app.push_screen(field, lambda text: self._typed(one, text))

    def _chosen(self, one: Setting, choice: str | None) -> None:
        if choice is not None and choice != one.value:
            self._put(one, choice)

    def _typed(self, one: Setting, text: str | None) -> None:
        if text is None:
            return
        value = read(one.key, text)
        if value != one.value:
            self._put(one, value)

    def action_reset(self) -> None:
        one = self._list.row
        if one is not None and one.key.kind in ("mapping", "list"):
            self.action_change()  # says where it stands: nobody's servers and hooks go with one key
        elif one is not None and not one.is_default:
            self._put(one, one.key.default, take_out=True)

    def _put(self, one: Setting, value: Any, *, take_out: bool = False) -> None:
        """Have it saved; what lowers a guard is confirmed first."""

        def answered(agreed: bool | None) -> None:
            if agreed:
                self.save(one.key.name, None if take_out else value)

        if loosens(one.key, value, one.value):
            title = t("settings.sure", key=one.key.name, value=visible(in_words(value)) or "-")
            self.app.push_screen(ConfirmScreen(title, about(one.key), t("settings.change")), answered)
        else:
            answered(True)


# -- one of several -----------------------------------------------------------------------------------------------


class _Choices(FollowedList[str, str]):
    DEFAULT_CSS = "_Choices { height: auto; max-height: 60vh; }"
    chosen = ""

    def draw_row(self, line: str, here: bool, cells: int) -> Strip:
        look = look_of(self)
        ground = "selection" if here else "surface"
        words = look.style("seltext" if here else "text", ground)
        mark = (f"{sym('done')} ", look.mark("ok", ground)) if line == self.chosen else ("  ", words)
        return row(cells, [*led(look, here, words), mark, (line or '""', words)], words)

    def get_content_height(self, container: Any, viewport: Any, width: int) -> int:
        return max(1, len(self._lines))


class _ChoiceFoot(Painted):
    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        keys = hints(look, [(key_name("enter"), t("settings.choose")), ("Esc", t("name.cancel"))])
        return flow(width, keys, look.style("text", "surface"), indent=2)


class ChoiceScreen(Overlay[str | None]):
    """Gives the choice, or None."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/settings.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [*MOVES, Binding("enter,space", "choose", show=False)]

    def __init__(self, name: str, choices: Sequence[str], value: str) -> None:
        """`name`: of the setting; `value`: what it is now."""
        super().__init__()
        self._list = _Choices("settings-choices", lambda: None)
        self._list.chosen = value
        at = list(choices).index(value) if value in choices else 0
        self._start: tuple[list[Heading[str] | str], int] = ([Heading(name), *choices], at)

    def compose(self) -> ComposeResult:
        yield boxed(self._list, _ChoiceFoot(id="settings-choice-foot"))

    def on_mount(self) -> None:
        self._list.put_at(*self._start)

    def action_move(self, step: int) -> None:
        self._list.move(step)

    def action_choose(self) -> None:
        self.dismiss(self._list.row)
