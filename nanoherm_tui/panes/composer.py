"""Where messages are written: a draft of many lines, what waits to be sent above it, commands and history."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, Literal

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import TextArea

from agent_core.events import SessionState
from nanoherm_tui import limits
from nanoherm_tui.actions import SlashProblem, parse_slash
from nanoherm_tui.compat import read_lines_as_pastes, teach_alt_keys
from nanoherm_tui.history import History, Walk
from nanoherm_tui.i18n import t
from nanoherm_tui.keymap import Keymap
from nanoherm_tui.overlays.slash import SlashPopup
from nanoherm_tui.strips import Painted, Part, hint, look_of, row
from nanoherm_tui.symbols import sym
from nanoherm_tui.text import fit, one_line
from nanoherm_tui.text import width as cell_width

How = Literal["send", "queue"]
KeyFilter = Callable[[events.Key], bool]

# Keys of Textual's TextArea that mean something else here: the app's, or the keymap's.
_NOT_OURS: Final = frozenset(
    {"ctrl+c", "super+c", "ctrl+z", "super+z", "ctrl+y", "super+y", "ctrl+v", "ctrl+d", "f6", "f7"}
)


def editing_keys(without: frozenset[str] = frozenset()) -> dict[str, str]:
    """Textual's keys for editing and their actions, less those that belong to the app and those in `without`."""
    return {
        key: binding.action
        for binding in TextArea.BINDINGS
        if isinstance(binding, Binding)
        for key in binding.key.split(",")
        if key not in _NOT_OURS | without
    }


class DraftArea(TextArea, inherit_bindings=False):
    """A text area without Textual's keys that the app needs, and with a caret that does not blink."""

    EDITING: ClassVar[dict[str, str]] = editing_keys()
    """Run as the keys come: bindings would run after the keys behind them, when several come in one read."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, soft_wrap=True, tab_behavior="focus", show_line_numbers=False, compact=True)
        self.cursor_blink = False
        self.highlight_cursor_line = False
        self.match_cursor_bracket = False

    @property
    def rows(self) -> int:
        """The rows the draft takes at the present width."""
        return self.wrapped_document.height

    @property
    def on_first_row(self) -> bool:
        return self.wrapped_document.location_to_offset(self.cursor_location).y == 0

    @property
    def on_last_row(self) -> bool:
        return self.wrapped_document.location_to_offset(self.cursor_location).y >= self.rows - 1

    def put(self, value: str) -> None:
        """Replace the whole text, undoably, with the caret at its end."""
        self.replace(value, (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    def type_in(self, value: str) -> None:
        """Insert at the caret, over a selection."""
        result = self.replace(value, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def place_terminal_caret(self) -> None:
        """Keep the terminal's own caret on ours, where an input method opens its window."""
        if self.has_focus:
            self.app.cursor_position = self.cursor_screen_offset

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        # An empty line inside a selection is drawn as a half block, which is two cells wide in some terminals.
        if strip.text.startswith("▌") and not strip.text.strip("▌ ") and "▌" not in self.text:
            style = self.get_component_rich_style("text-area--selection")
            first, rest = strip.divide([1, strip.cell_length])
            return Strip([Segment(" ", style), *rest], first.cell_length + rest.cell_length)
        return strip

    async def _on_key(self, event: events.Key) -> None:
        if action := self.EDITING.get(event.key):
            event.stop()
            event.prevent_default()
            await self.run_action(action)
        elif event.key.startswith("alt+"):  # some terminals send the letter with it; it is no text
            event.prevent_default()

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.type_in(event.text.replace("\r\n", "\n").replace("\r", "\n"))


class _Draft(DraftArea):
    """The composer's own text area: every key goes to the composer first."""

    def __init__(self, composer: Composer) -> None:
        super().__init__(id="draft")
        self._composer = composer

    async def _on_key(self, event: events.Key) -> None:
        if self._composer.draft_key(event):
            event.stop()
            event.prevent_default()

    def on_resize(self) -> None:
        self._composer.fit_height()


class ComposerBar(Painted):
    """Two blank columns and the bar: in its role's colour while lit, else muted."""

    lit = False
    role = "accent"

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        mark = look.mark(self.role if self.lit else "muted", "ground")
        return [row(width, [("  ", look.style()), (sym("bar"), mark)], look.style())] * self.size.height

    def get_content_height(self, *_: object) -> int:
        return 1


class ComposerPrompt(Painted):
    lit = False

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        style = look.mark("accent" if self.lit else "muted", "surface")
        return [row(width, [(sym("prompt"), style)], look.style("text", "surface"))]


class PendingRows(Painted):
    """Texts that wait for a step boundary or for the turn's end."""

    steers: tuple[str, ...] = ()
    queued: tuple[str, ...] = ()
    take_back_key = ""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        muted, words = look.style("muted", "surface"), look.style("text", "surface")
        labels = t("composer.steer"), t("composer.queued")
        pad = max(map(cell_width, labels)) + 2
        waiting = [(labels[0], s) for s in self.steers] + [(labels[1], q) for q in self.queued]
        shown = waiting[-limits.PENDING_ROWS :]
        rows = []
        for index, (label, value) in enumerate(shown):
            left: list[Part] = [(fit(label, pad), muted), (one_line(value), words)]
            last = index == len(shown) - 1
            right = hint(look, [(self.take_back_key, t("composer.take_back"))]) if last else []
            rows.append(row(width, left, words, right))
        if len(waiting) > len(shown):
            rows.insert(0, row(width, [(t("composer.more", n=len(waiting) - len(shown)), muted)], words))
        return rows


class ComposerHint(Painted):
    """The row under the draft: blank, or what the keys do while something runs, or what is wrong with a command."""

    problem = ""
    keys: tuple[tuple[str, str], ...] = ()
    words = ""

    def paint(self, width: int) -> list[Strip]:
        look = look_of(self)
        fill = look.style("text", "surface")
        if self.problem:
            return [row(width, [(self.problem, look.style("warn", "surface"))], fill)]
        parts: list[Part] = [(self.words, look.style("muted", "surface"))] if self.words else []
        return [row(width, parts or hint(look, self.keys), fill)]


class Composer(Widget):
    """The draft and all that stands around it. Give it the focus, and its keys are the keymap's."""

    class Submitted(Message):
        """The draft is to be sent: "send" is a steer while a turn runs, "queue" waits for its end."""

        def __init__(self, text: str, how: How) -> None:
            super().__init__()
            self.text = text
            self.how = how

    class SlashEntered(Message):
        """A command that `actions.parse_slash` accepts."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class TakeBackRequested(Message):
        """The newest pending text should return to the draft."""

    def __init__(self, history: History | None = None, keymap: Keymap | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        teach_alt_keys()
        read_lines_as_pastes()
        self._history = history or History(None)
        self._walk = Walk(self._history)
        self.keymap = keymap or Keymap()
        self.key_filter: KeyFilter | None = None
        """Is given each key before the composer; True means it took it."""
        self._state: SessionState = "idle"
        self._was_empty = True
        self._problem_draft = ""
        self._screen_height = 0
        self._draft = _Draft(self)
        self._popup = SlashPopup()
        self._bar, self._prompt = ComposerBar(), ComposerPrompt()
        self._pending, self._hint = PendingRows(), ComposerHint()

    def compose(self) -> ComposeResult:
        yield self._popup
        with Horizontal(id="composer-row"):
            yield self._bar
            with Vertical(id="composer-body"):
                yield self._pending
                with Horizontal(id="composer-line"):
                    yield self._prompt
                    yield self._draft
                yield self._hint

    def on_mount(self) -> None:
        self._history.load()
        self.screen.screen_layout_refresh_signal.subscribe(self, self._follow_screen)
        self._show_state()
        self.fit_height()

    # -- what the app calls ------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        return self._draft.text

    @text.setter
    def text(self, value: str) -> None:
        self._draft.put(value)

    @property
    def is_empty(self) -> bool:
        document = self._draft.document
        return document.line_count == 1 and not document[0]

    @property
    def selected_text(self) -> str:
        return self._draft.selected_text

    def insert(self, text: str) -> None:
        """Put `text` at the caret, over a selection."""
        self._draft.type_in(text)

    def bring_back(self, text: str) -> None:
        """A pending text has been taken back: it stands before the present draft."""
        draft = self._draft.text
        self._draft.put(f"{text}\n{draft}" if draft.strip() else text)

    def clear_to_history(self) -> None:
        """Empty the draft; the history keeps it."""
        self._history.add(self._draft.text)
        self._reset()

    def set_state(self, state: SessionState) -> None:
        """What the session is doing, shown in words."""
        if state != self._state:
            self._state = state
            self._show_state()

    def set_pending(self, steers: tuple[str, ...], queued: tuple[str, ...]) -> None:
        """The texts that wait, oldest first."""
        if (steers, queued) != (self._pending.steers, self._pending.queued):
            self._pending.steers, self._pending.queued = steers, queued
            self._pending.take_back_key = self.keymap.label("take_back")
            self._pending.refresh(layout=True)
            self.call_after_refresh(self._draft.place_terminal_caret)

    def refresh_look(self) -> None:
        """Theme or language have changed."""
        self._show_state()
        for widget in (self._bar, self._prompt, self._pending, self._popup):
            widget.refresh()

    def focus(self, scroll_visible: bool = True) -> Composer:
        self._draft.focus(scroll_visible)
        return self

    @property
    def holds_focus(self) -> bool:
        return self._draft.has_focus

    # -- state and size ----------------------------------------------------------------------------------------------

    @property
    def _is_running(self) -> bool:
        return self._state in ("running", "asking", "stopping")

    def _show_state(self) -> None:
        label = self.keymap.label
        keys: tuple[tuple[str, str], ...] = ()
        if self._state == "stopping":
            words = t("composer.stopping")
        elif self._is_running:
            words = t("composer.running", send=label("send"), queue=label("queue"), stop=label("stop"))
            keys = (
                (label("send"), t("composer.hint_steer")),
                (label("queue"), t("composer.hint_queue")),
                (label("stop"), t("composer.hint_stop")),
            )
        else:
            words = t("composer.placeholder")
        self._draft.placeholder = Content(words)
        # With a draft the placeholder is gone, so its words move to the row below.
        self._hint.keys = () if self.is_empty else keys
        self._hint.words = words if self._state == "stopping" and not self.is_empty else ""
        self._hint.refresh()
        self._draft.refresh()

    def fit_height(self) -> None:
        """As many rows as the draft needs, up to a third of the screen."""
        if not self.is_mounted:
            return
        most = max(1, self.app.size.height // limits.COMPOSER_SHARE)
        rows = max(1, min(self._draft.rows, most))
        height = self._draft.styles.height
        if height is None or height.value != rows:
            self._draft.styles.height = rows
        self.call_after_refresh(self._draft.place_terminal_caret)

    def _follow_screen(self, screen: Screen[object]) -> None:
        """On a short screen the blank rows above and below go."""
        if self._screen_height != screen.size.height:
            self._screen_height = screen.size.height
            self.set_class(screen.size.height < limits.SHORT, "-short")
            self.fit_height()

    def on_descendant_focus(self) -> None:
        self._light(True)

    def on_descendant_blur(self) -> None:
        self._light(False)

    def _light(self, on: bool) -> None:
        self._bar.lit = self._prompt.lit = on
        self._bar.refresh()
        self._prompt.refresh()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._popup.update(self.text)
        if self._hint.problem and self.text != self._problem_draft:
            self._say("")
        if self._was_empty != self.is_empty:
            self._was_empty = self.is_empty
            self._show_state()
        self.fit_height()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()

    # -- keys --------------------------------------------------------------------------------------------------------

    def draft_key(self, event: events.Key) -> bool:
        """Take a key before the text area does; False leaves it to the text area and the app."""
        if self.key_filter is not None and self.key_filter(event):
            return True

        # xterm's modifyOtherKeys reports Enter with its own character.
        key = event.key.replace("+\r", "+enter")
        if self._draft.document[0].startswith("/"):
            self._popup.update(self.text)  # keys of one read come before the change they made is told
        if self._popup.is_open and self._popup_key(key):
            return True
        if self.keymap.action(key, "composer") == "send":
            self._enter()
            return True
        return self._edit_key(key, event)

    def _edit_key(self, key: str, event: events.Key) -> bool:
        draft = self._draft
        action = self.keymap.action(key, "running") or self.keymap.action(key, "composer")
        if action == "newline":
            draft.type_in("\n")
        elif action == "queue" and self._is_running and not self.is_empty:
            self._submit("queue")
        elif action == "take_back" and (self._pending.steers or self._pending.queued):
            self.post_message(self.TakeBackRequested())
        elif action == "history_previous" and draft.on_first_row:
            self._recall(self._walk.previous(self.text))
        elif action == "history_next" and draft.on_last_row:
            self._recall(self._walk.next())
        elif action == "undo_edit":
            draft.undo()
        elif action == "redo_edit":
            draft.redo()
        elif action == "help_empty" and self.is_empty:
            self.post_message(self.SlashEntered("/help"))
        elif key == "ctrl+d" and not self.is_empty:
            draft.action_delete_right()
        elif key == "escape" and not self._is_running and draft.selected_text:
            draft.move_cursor(draft.cursor_location)
        else:
            return False
        return True

    def _popup_key(self, key: str) -> bool:
        chosen = self._popup.chosen
        if key in ("up", "down"):
            self._popup.move(-1 if key == "up" else 1)
        elif key == "escape":
            self._popup.dismiss(self.text)
        elif key == "tab" and chosen is not None:
            self._draft.put(f"/{chosen.slash}" + (" " if chosen.argument else ""))
            self._popup.dismiss(self.text)
        else:
            return False
        return True

    def _enter(self) -> None:
        draft = self._draft
        row_index, column = draft.cursor_location
        line = draft.document[row_index]
        if line[:column].endswith("\\") and not line[:column].endswith("\\\\"):
            draft.replace("\n", (row_index, column - 1), (row_index, column), maintain_selection_offset=False)
            draft.move_cursor((row_index + 1, 0))
            return
        if not self.text.strip():
            return
        chosen = self._popup.chosen
        if chosen is not None:
            self._draft.put(f"/{chosen.slash}" + (" " if chosen.argument_required else ""))
            if chosen.argument_required:
                return
        command = parse_slash(self.text)
        if command is None:
            self._submit("send")
        elif isinstance(command, SlashProblem):
            self._problem_draft = self.text
            self._say(t(command.key, **command.params))
        else:
            text = self.text.strip()
            self._history.add(text)
            self._reset()
            self.post_message(self.SlashEntered(text))

    def _say(self, problem: str) -> None:
        self._hint.problem = problem
        self._hint.set_class(bool(problem), "-problem")
        self._hint.refresh()

    def _submit(self, how: How) -> None:
        text = self.text.rstrip()
        if not text:
            return
        self._history.add(text)
        self._reset()
        self.post_message(self.Submitted(text, how))

    def _reset(self) -> None:
        self._walk.reset()
        self._draft.put("")

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self._draft.put(text)
