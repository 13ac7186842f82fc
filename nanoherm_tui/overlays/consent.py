"""What a person agrees to once: a mode that acts unasked, commands without a sandbox. Only y, on its own, is yes.

It cannot catch what is being typed, as the approval panel cannot: y counts after a while without keys and when no other
key follows at once; any other letter closes it and goes into the draft. Enter does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final, Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.strip import Strip
from textual.timer import Timer

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import show
from nanoherm_tui.overlays.arming import Arming
from nanoherm_tui.overlays.frame import CssPath, Overlay, boxed
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of, row
from nanoherm_tui.text import clean, fit, width, wrap

_TICK: Final = 0.1  # seconds between two looks at whether y would count
_SCROLLS: Final = {"down": 1, "up": -1, "pagedown": 5, "pageup": -5}
_LEAST: Final = 24  # cells beside the names, below which those stand in rows of their own

Agreed = Literal["yes", "no", "onward"]


@dataclass(frozen=True, slots=True)
class Consent:
    """What is shown. `facts` are a name, what holds, and whether that is a warning."""

    title: str
    text: str
    facts: tuple[tuple[str, str, bool], ...] = ()
    yes: str = ""
    no: str = ""
    onward: tuple[str, ...] = ()
    """Keys that go on to the next thing in turn without agreeing to this one."""
    onward_words: str = ""


class ConsentText(Painted):
    def __init__(self, consent: Consent) -> None:
        super().__init__()
        self._consent = consent

    def paint(self, width: int) -> list[Strip]:
        consent, look = self._consent, look_of(self)
        fill, muted = look.style("text", "surface"), look.style("muted", "surface")
        bold = look.style("text", "surface", bold=True)
        out = [row(width, [(line, bold)], fill) for line in wrap(clean(consent.title), width)]
        out += [row(width, [(line, fill)], fill) for line in wrap(clean(consent.text), width)]
        if consent.facts and self.app.size.height >= limits.SHORT:
            out.append(row(width, [], fill))
        for left, line, warning in _facts(consent, width):
            words: Part = (line, look.style("warn", "surface") if warning else fill)
            out.append(row(width, [(left, muted), words], fill))
        return out


class ConsentKeys(Painted):
    """What the keys do; muted while a y would not count."""

    def __init__(self, consent: Consent) -> None:
        super().__init__(id="consent-keys")
        self._consent = consent
        self.armed = False
        self.below = 0
        """Rows of the text that are out of sight."""

    def paint(self, width: int) -> list[Strip]:
        consent, look = self._consent, look_of(self)
        fill, muted = look.style("text", "surface"), look.style("muted", "surface")
        keys = [("y", consent.yes), (show("escape"), consent.no)]
        if consent.onward:
            keys.append((show(consent.onward[0]), consent.onward_words))
        items = hints(look, keys)
        if self.armed:
            items[0][0] = ("y", look.style("accent", "surface", bold=True))
        else:
            items = [[(words, muted) for words, _ in item] for item in items]
        if self.below:
            items.append([(t("consent.below", n=self.below, key=show("down")), look.style("warn", "surface"))])
        return flow(width, items, fill)


def _facts(consent: Consent, cells: int) -> list[tuple[str, str, bool]]:
    """The facts in rows: what stands on the left, the words, and whether they warn."""
    names = max((width(name) for name, _, _ in consent.facts), default=0) + 2
    out: list[tuple[str, str, bool]] = []
    for name, words, warning in consent.facts:
        if cells - names >= _LEAST:
            lines = wrap(clean(words), cells - names)
            out += [(fit("" if n else name, names), line, warning) for n, line in enumerate(lines)]
        else:
            lines = wrap(t("text.pair", name=name, value=clean(words)), cells)
            out += [("", line, warning) for line in lines]
    return out


class ConsentScreen(Overlay[Agreed]):
    """Gives "yes" for y, "onward" for a key that goes on, "no" for n, Esc, and whatever begins a message."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/consent.tcss"]

    def __init__(self, consent: Consent) -> None:
        super().__init__()
        self.consent = consent
        self._body = VerticalScroll(ConsentText(consent), id="consent-body", can_focus=False)
        self._keys = ConsentKeys(consent)
        self._arming = Arming()
        self._held: Timer | None = None
        """Runs while a y waits to be the only key."""

    def compose(self) -> ComposeResult:
        yield boxed(self._body, self._keys)

    def on_mount(self) -> None:
        self._arming.asked()
        self.set_interval(_TICK, self._look)

    @property
    def armed(self) -> bool:
        """Whether a y would count."""
        return self._arming.armed(draft_empty=True)

    def _look(self) -> None:
        keys, now = self._keys, (self.armed, self._below)
        if now != (keys.armed, keys.below):
            keys.armed, keys.below = now
            keys.refresh(layout=True)

    @property
    def _below(self) -> int:
        """Rows of the text under those that are shown."""
        return max(0, round(self._body.max_scroll_y - self._body.scroll_target_y))

    def on_key(self, event: events.Key) -> None:
        armed = self.armed
        self._arming.key()
        self._look()
        if event.key == "escape" or event.key.startswith("ctrl+"):
            return  # the overlay's own, and the program's
        event.stop()
        event.prevent_default()
        if event.key in _SCROLLS:
            self._body.scroll_relative(y=_SCROLLS[event.key], animate=False)
        elif event.key in self.consent.onward:
            self.dismiss("onward")
        elif self._held is not None:
            self._typed(("y", event.character) if event.is_printable else ("y",))
        elif armed and event.key == "n":
            self.dismiss("no")
        elif armed and event.key == "y":
            self._held = self.set_timer(limits.APPROVAL_ALONE, self._agreed)
        elif event.is_printable:
            self._typed((event.character,))

    def _agreed(self) -> None:
        self.dismiss("yes")

    def _typed(self, letters: Iterable[str | None]) -> None:
        """They begin a message: nothing typed is lost, and nothing was agreed to."""
        if self._held is not None:
            self._held.stop()
        self.dismiss("no")
        for letter in letters:
            if letter is not None:
                self.app.post_message(events.Key(letter, letter))

    def action_close(self) -> None:
        if self._held is not None:
            self._held.stop()
        self.dismiss("no")
