"""What a folder brings that would act, in whole, and what to do about it. Enter accepts nothing.

As with every question, it cannot catch what is being typed: an answer counts after a while without keys and when no
other key follows at once; any other letter closes it and goes into the draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual import events
from textual.app import ComposeResult
from textual.strip import Strip
from textual.timer import Timer

from nanoherm_tui import limits
from nanoherm_tui.i18n import series, t
from nanoherm_tui.keymap import show
from nanoherm_tui.overlays.arming import Arming
from nanoherm_tui.overlays.frame import CssPath, Overlay, boxed
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of, row
from nanoherm_tui.text import clean, fit, shorten_home, wrap, wrap_code_spans

if TYPE_CHECKING:
    from agent_core.trust import Row, Standing

_TICK: Final = 0.1  # seconds between two looks at whether an answer would count
_KIND: Final = 10  # cells of what a row is
_LEAST: Final = 40  # cells below which that stands in a row of its own

Said = Literal["trust", "never", "forget", "later"]


def lines(standing: Standing, cells: int) -> list[tuple[str, str, str]]:
    """(role, left, words) of every line: each file with what it would do, nothing of it cut."""
    out: list[tuple[str, str, str]] = []
    kinds = {
        "setting": t("trust.setting"),
        "hook": t("trust.hook"),
        "server": t("trust.server"),
        "command": t("trust.command"),
        "agent": t("trust.agent"),
        "skill": t("trust.skill"),
        "snippet": t("trust.snippet"),
        "problem": t("trust.problem"),
    }
    for name, rows in groupby(standing.offer.rows, key=lambda row: row.name):
        if out:
            out.append(("text", "", ""))
        changed = f"  ({t('trust.changed')})" if name in standing.changed else ""
        if name:
            out += [("title", "", piece) for piece in wrap(clean(name) + changed, cells)]
        for one in rows:
            out += _row(one, kinds[one.what], cells)
    gone = [name for name in standing.changed if name not in standing.offer.digests]
    if gone:
        out += [("muted", "", piece) for piece in wrap(t("trust.gone", files=clean(series(gone))), cells)]
    return out


def _row(one: Row, kind: str, cells: int) -> Iterable[tuple[str, str, str]]:
    role, words = "warn" if one.what == "problem" else "text", clean(one.words)
    beside = cells >= _LEAST
    spans, hang = wrap_code_spans(words, max(8, cells - (_KIND if beside else 2)))
    if not beside:
        yield "muted", "", kind
    for number, (start, end) in enumerate(spans):
        left = (fit(kind, _KIND) if number == 0 else " " * _KIND) if beside else "  "
        yield role, left, (" " * hang if start else "") + words[start:end]


class TrustHead(Painted):
    def __init__(self, standing: Standing, home: str) -> None:
        super().__init__(id="trust-head")
        self._standing, self._home = standing, home

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill, muted = look.style("text", "surface"), look.style("muted", "surface")
        state = self._standing.state
        title = t("trust.title_none") if state == "none" else t("trust.title")
        folder = shorten_home(clean(str(self._standing.offer.root)), self._home)
        text = {
            "none": t("trust.none"),
            "new": t("trust.new"),
            "changed": t("trust.has_changed"),
            "trusted": t("trust.trusted"),
            "refused": t("trust.refused"),
        }[state]
        return [
            *(row(width, [(line, look.style("text", "surface", bold=True))], fill) for line in wrap(title, width)),
            *(row(width, [(line, muted)], fill) for line in wrap(folder, width)),
            *(row(width, [(line, fill)], fill) for line in wrap(text, width)),
        ]


class TrustText(Painted):
    """The rows, scrolled where there are more than fit."""

    def __init__(self, standing: Standing) -> None:
        super().__init__(id="trust-text")
        self._standing = standing
        self._top = 0
        self.room = 1
        """Rows it has on the screen."""

    def count(self, cells: int) -> int:
        return len(lines(self._standing, cells))

    def scroll_rows(self, step: int) -> None:
        self._top = max(0, min(self._top + step, self.count(self.size.width) - self.room))
        self.refresh()

    @property
    def has_more(self) -> bool:
        return self.count(self.size.width) > self._top + self.room

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        return self.count(width)

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill, muted = look.style("text", "surface"), look.style("muted", "surface")
        all_lines = lines(self._standing, width)
        self._top = max(0, min(self._top, len(all_lines) - self.room))
        out = []
        for role, left, words in all_lines[self._top : self._top + self.room]:
            style = look.style("text", "surface", bold=True) if role == "title" else look.style(role, "surface")
            parts: Sequence[Part] = [(left, muted), (words, style)] if left else [(words, style)]
            out.append(row(width, parts, fill))
        return out


class TrustFoot(Painted):
    more = False
    armed = False

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        super().__init__(id="trust-foot")
        self._keys = keys

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        muted, accent = look.style("muted", "surface"), look.style("accent", "surface", bold=True)
        items = hints(look, [*self._keys, (show("pagedown") if self.more else "", t("trust.more"))])
        for item in items:
            key, style = item[0]
            item[0] = (key, (accent if len(key) == 1 else style) if self.armed else muted)
        return flow(width, items, look.style("text", "surface"))


class TrustScreen(Overlay[Said]):
    """Gives what was answered; "later" for n, Esc, and whatever begins a message."""

    CSS_PATH: ClassVar[CssPath] = ["../css/overlay.tcss", "../css/trust.tcss"]

    def __init__(self, standing: Standing, home: str) -> None:
        super().__init__()
        self._answers: dict[str, Said] = {}
        keys: list[tuple[str, str]] = []
        if standing.asks:
            self._answers = {"t": "trust", "n": "later", "N": "never"}
            keys = [("t", t("trust.trust")), ("n", t("trust.not_now")), ("N", t("trust.never"))]
        elif standing.state in ("trusted", "refused"):
            self._answers = {"r": "forget"}
            keys = [("r", t("trust.take_back")), (show("escape"), t("trust.close"))]
        else:
            keys = [(show("escape"), t("trust.close"))]
        self._head, self._text = TrustHead(standing, home), TrustText(standing)
        self._text.display = bool(standing.offer.rows)
        self._foot = TrustFoot(keys)
        self._arming = Arming()
        self._held: tuple[str, Timer] | None = None
        """An answer that waits to be the only key."""

    def compose(self) -> ComposeResult:
        yield boxed(self._head, self._text, self._foot)

    def on_mount(self) -> None:
        self._arming.asked()
        self.set_interval(_TICK, self._look)
        self.call_after_refresh(self._fit)

    def refresh_look(self) -> None:
        super().refresh_look()
        self.call_after_refresh(self._fit)

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """The rows take what the screen leaves between head and foot."""
        if not self.is_current or not self._text.size.width:  # it may have been closed meanwhile
            return
        frame = 0 if self.has_class("-short") else limits.TRUST_FRAME
        cells = self._text.size.width
        room = self.size.height - frame - len(self._head.rows(cells)) - len(self._foot.rows(cells))
        self._text.room = max(1, min(self._text.count(cells), room))
        self._text.styles.height = self._text.room
        self._text.refresh()
        self._show_more()

    def _show_more(self) -> None:
        if self._foot.more != self._text.has_more:
            self._foot.more = self._text.has_more
            self._foot.refresh(layout=True)
            self._fit()  # it may need another row now

    @property
    def armed(self) -> bool:
        """Whether an answer would count."""
        return self._arming.armed(draft_empty=True)

    def _look(self) -> None:
        if self.armed != self._foot.armed:
            self._foot.armed = self.armed
            self._foot.refresh()

    def on_key(self, event: events.Key) -> None:
        page = max(1, self._text.room - 1)
        steps = {"up": -1, "down": 1, "pageup": -page, "pagedown": page, "home": -10_000, "end": 10_000}
        if event.key in steps:
            self._scroll(steps[event.key])
            event.stop()
            event.prevent_default()
            return
        armed = self.armed
        self._arming.key()
        self._look()
        if event.key == "escape" or event.key.startswith("ctrl+"):
            return  # the overlay's own, and the program's
        event.stop()
        event.prevent_default()
        letter = event.character if event.is_printable else None
        if self._held is not None:
            first, timer = self._held
            timer.stop()
            self._typed((first, letter))
        elif letter is not None and armed and letter in self._answers:
            said = self._answers[letter]
            self._held = letter, self.set_timer(limits.APPROVAL_ALONE, self._giving(said))
        elif letter is not None:
            self._typed((letter,))

    def _giving(self, said: Said) -> Callable[[], None]:
        def give() -> None:
            self.dismiss(said)

        return give

    def _scroll(self, step: int) -> None:
        self._text.scroll_rows(step)
        self._show_more()

    def on_mouse_scroll_down(self) -> None:
        self._scroll(3)

    def on_mouse_scroll_up(self) -> None:
        self._scroll(-3)

    def _typed(self, letters: Iterable[str | None]) -> None:
        """They begin a message: nothing typed is lost, and nothing was accepted."""
        self.dismiss("later")
        for letter in letters:
            if letter is not None:
                self.app.post_message(events.Key(letter, letter))

    def action_close(self) -> None:
        if self._held is not None:
            self._held[1].stop()
        self.dismiss("later")
