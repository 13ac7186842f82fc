"""Connect a model: provider, address, key, model; a button that tests them and one that saves.

The key is never drawn, only how long it is; it leaves this view in `SetupValues` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import ClassVar, Final

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from agent_core.records import dataclass
from nanoherm_tui.i18n import phrase, t
from nanoherm_tui.overlays.frame import CssPath, Halo, LineField, Overlay
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import clean, one_line, wrap

_MARK: Final = 2  # cells of the bar or mark before a value
_NARROW: Final = 56  # columns under which the buttons do not fit beside the labels


@dataclass(frozen=True, slots=True)
class Provider:
    """One entry of the list of providers."""

    name: str
    label: str
    base_url: str = ""
    key_env: str = ""
    """The environment variable its key is usually in, for the hint."""
    needs_key: bool = True
    default_model: str = ""


@dataclass(frozen=True, slots=True)
class SetupValues:
    """What stands in the fields."""

    provider: str
    base_url: str
    key: str = field(repr=False)
    model: str = ""


class ProviderField(Painted, can_focus=True):
    """One of a list: Left and Right step, a letter goes to the next that begins with it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", show=False),
        Binding("right,space", "step(1)", show=False),
    ]

    class Changed(Message):
        """Another provider is chosen."""

        def __init__(self, provider: Provider) -> None:
            super().__init__()
            self.provider = provider

    def __init__(self, providers: Sequence[Provider], at: int) -> None:
        super().__init__(id="setup-provider")
        self._providers = providers
        self.at = at

    @property
    def provider(self) -> Provider:
        return self._providers[self.at]

    def action_step(self, step: int) -> None:
        self._choose((self.at + step) % len(self._providers))

    def _choose(self, index: int) -> None:
        if index != self.at:
            self.at = index
            self.refresh()
            self.post_message(self.Changed(self.provider))

    def on_key(self, event: events.Key) -> None:
        letter = (event.character or "").lower()
        if not (letter.isalnum() and event.is_printable):
            return
        event.stop()
        order = [(self.at + n) % len(self._providers) for n in range(1, len(self._providers) + 1)]
        for index in order:
            provider = self._providers[index]
            if provider.label.lower().startswith(letter) or provider.name.startswith(letter):
                self._choose(index)
                return

    def on_click(self) -> None:
        self.action_step(1)

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        ground = "selection" if self.has_focus else "ground"
        words = look.style("seltext" if self.has_focus else "text", ground)
        muted = words if self.has_focus else look.style("muted", ground)
        place = f"{self.at + 1} / {len(self._providers)}"
        return [row(width, [(phrase("providers", one_line(self.provider.label)), words)], words, [(place, muted)])]

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


class KeyField(Painted, can_focus=True):
    """A secret: typed or pasted, shown as stars, taken out whole with Ctrl+U."""

    def __init__(self) -> None:
        super().__init__(id="setup-key")
        self.value = ""
        self.placeholder = ""

    def on_key(self, event: events.Key) -> None:
        if event.key == "backspace":
            self.value = self.value[:-1]
        elif event.key in ("ctrl+u", "ctrl+w"):
            self.value = ""
        elif event.is_printable and event.character and not event.character.isspace():
            self.value += event.character
        else:
            return
        event.stop()
        event.prevent_default()
        self.refresh()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.value += "".join(c for c in event.text if c.isprintable() and not c.isspace())
        self.refresh()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        words, muted = look.style("text", "ground"), look.style("muted", "ground")
        caret: list[Part] = [(" ", look.style("text", "ground", reverse=True))] if self.has_focus else []
        if not self.value:
            return [row(width, [*caret, (self.placeholder, muted)], words)]
        return [row(width, [("*" * min(len(self.value), width - 2), words), *caret], words)]


class SetupButton(Painted, can_focus=True):
    """Pressed by Enter, Space or a click."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "press", show=False)]

    class Pressed(Message):
        def __init__(self, button: SetupButton) -> None:
            super().__init__()
            self.button = button

    def __init__(self, label_key: str, *, id: str) -> None:
        super().__init__(id=id)
        self._label_key = label_key

    def action_press(self) -> None:
        self.post_message(self.Pressed(self))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.action_press()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        ground = "selection" if self.has_focus else "ground"
        words = look.style("seltext" if self.has_focus else "text", ground, bold=True)
        bar = (sym("bar"), look.mark("accent" if self.has_focus else "muted", "surface"))  # as before a field
        return [row(width, [bar, (" ", words), (t(self._label_key), words)], words)]


class SetupRow(Horizontal):
    """A label and its field; the bar before the field is lit while it has the keyboard."""

    def __init__(self, label_key: str, child: Widget) -> None:
        super().__init__()
        self._label = SetupLabel(label_key)
        self._child = child

    def compose(self) -> ComposeResult:
        yield self._label
        yield self._child

    def on_descendant_focus(self) -> None:
        self._label.lit = True
        self._label.refresh()

    def on_descendant_blur(self) -> None:
        self._label.lit = False
        self._label.refresh()


class SetupLabel(Painted):
    lit = False

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        style = look.style("muted", "surface")
        bar = (sym("bar"), look.mark("accent" if self.lit else "muted", "surface"))
        return [row(width, [(t(self._key), style)], style, [bar, (" ", look.style("text", "ground"))])]


class SetupText(Painted):
    """The result of a test, or why this view has opened; wrapped, never cut."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._words, self._mark, self._role = "", "", "text"

    def show(self, words: str, mark: str = "", role: str = "text") -> None:
        self._words, self._mark, self._role = clean(words), mark, role
        self.display = bool(words)
        self.refresh(layout=True)

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill = look.style("text", "surface")
        lines = wrap(self._words, width - _MARK)
        mark = sym(self._mark) if self._mark else " "
        return [
            row(width, [(mark if n == 0 else " ", look.mark(self._role, "surface")), (" ", fill), (line, fill)], fill)
            for n, line in enumerate(lines)
        ]


class SetupNote(Painted):
    """Heading, the remark about the key, and the foot: words that only change with the language."""

    def __init__(self, part: str, *, id: str) -> None:
        super().__init__(id=id)
        self._part = part

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill, muted = look.style("text", "surface"), look.style("muted", "surface")
        if self._part == "head":
            title: list[Part] = [(t("setup.title"), look.style("text", "surface", bold=True))]
            return [row(width, title, fill)]
        if self._part == "note":
            return [row(width, [(line, muted)], fill) for line in wrap(t("setup.stored"), width)]
        keys = [("Tab", t("setup.next")), ("Enter", t("setup.press")), ("Esc", t("setup.close"))]
        return flow(width, hints(look, keys), fill)


class SetupScreen(Overlay[None]):
    """The view. The app sets `on_test` and `on_save`, and answers a test with `show_result`."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/setup.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "go(1)", show=False),
        Binding("up", "go(-1)", show=False),
        Binding("enter", "go(1)", show=False),
    ]

    def __init__(self, providers: Sequence[Provider], *, problem: str = "", start: SetupValues | None = None) -> None:
        """`problem` says why the view has opened by itself. `start` fills the fields; else the first provider does."""
        super().__init__()
        if not providers:
            raise ValueError("the setup view needs at least one provider")
        names = [p.name for p in providers]
        at = names.index(start.provider) if start is not None and start.provider in names else 0
        self.on_test: Callable[[SetupValues], None] = lambda values: None
        self.on_save: Callable[[SetupValues], None] = lambda values: None
        self._problem = problem
        self._start = start
        self._provider = ProviderField(providers, at)
        self._address, self._model = LineField(id="setup-address"), LineField(id="setup-model")
        self._key = KeyField()
        self._result = SetupText(id="setup-result")
        self._why = SetupText(id="setup-problem")
        self._test = SetupButton("setup.test", id="setup-test")
        self._save = SetupButton("setup.save", id="setup-save")

    def compose(self) -> ComposeResult:
        with Halo(), VerticalScroll(id="overlay-box", can_focus=False):
            yield SetupNote("head", id="setup-head")
            yield self._why
            yield SetupRow("setup.provider", self._provider)
            yield SetupRow("setup.address", self._address)
            yield SetupRow("setup.key", self._key)
            yield SetupRow("setup.model", self._model)
            with Horizontal(id="setup-buttons"):
                yield self._test
                yield self._save
            yield self._result
            yield SetupNote("note", id="setup-note")
            yield SetupNote("foot", id="setup-foot")

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < _NARROW, "-narrow")

    def on_mount(self) -> None:
        self._why.show(self._problem, "asks", "warn")
        self._tell("")
        self._fill(self._provider.provider)
        if self._start is not None:
            self._address.put(self._start.base_url or self._provider.provider.base_url)
            self._model.put(self._start.model or self._provider.provider.default_model)
        self._provider.focus()

    def _fill(self, provider: Provider) -> None:
        """Put a provider's own address and model into their fields."""
        self._address.put(provider.base_url)
        self._model.put(provider.default_model)
        self._model.ask(t("setup.model_hint"))
        self._address.ask(t("setup.address_hint"))
        if not provider.needs_key:
            self._key.placeholder = t("setup.key_optional")
        elif provider.key_env:
            self._key.placeholder = t("setup.key_env", name=provider.key_env)
        else:
            self._key.placeholder = t("setup.key_hint")
        self._key.refresh()

    @property
    def values(self) -> SetupValues:
        return SetupValues(
            self._provider.provider.name, self._address.text.strip(), self._key.value, self._model.text.strip()
        )

    def _tell(self, words: str, mark: str = "", role: str = "text") -> None:
        """What came of a test; on a short screen the remark about the key gives it its room."""
        self._result.show(words, mark, role)
        self.set_class(bool(words), "-told")

    def show_result(self, ok: bool, text: str) -> None:
        """How a test or a save came out, in words."""
        self._tell(text, "done" if ok else "failed", "ok" if ok else "fail")

    def on_provider_field_changed(self, message: ProviderField.Changed) -> None:
        message.stop()
        self._fill(message.provider)
        self._tell("")

    def on_setup_button_pressed(self, message: SetupButton.Pressed) -> None:
        message.stop()
        values = self.values
        if not values.base_url:
            self.show_result(False, t("setup.no_address"))
        elif message.button is self._test:
            self._tell(t("setup.testing"), "waiting", "muted")
            self.on_test(values)
        else:
            self._tell(t("setup.saving"), "waiting", "muted")
            self.on_save(values)

    def action_go(self, step: int) -> None:
        """To the next or previous field or button."""
        if step > 0:
            self.focus_next()
        else:
            self.focus_previous()
