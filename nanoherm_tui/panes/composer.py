"""Where messages are written: a draft of many lines, what waits to be sent above it, commands and history."""

from __future__ import annotations

from typing import Literal

from textual import events
from textual.app import ComposeResult
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
from nanoherm_tui.panes.draft import DraftArea, DraftBar, DraftPrompt
from nanoherm_tui.panes.keys import KeyFilter
from nanoherm_tui.strips import Painted, Part, flow, hints, look_of, row
from nanoherm_tui.text import fit, one_line
from nanoherm_tui.text import width as cell_width

How = Literal["send", "queue"]


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
        self.call_after_refresh(self._composer.fit_height)  # once the text is wrapped to the new width


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
            keys = hints(look, [(self.take_back_key, t("composer.take_back"))])
            right = keys[0] if last and keys else []
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
        words: list[Part] = [(self.words, look.style("muted", "surface"))]
        return flow(width, [words] if self.words else hints(look, self.keys), fill)[:1]  # it stays one row


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
        self._bar, self._prompt = DraftBar(), DraftPrompt()
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
        self._draft.refresh_look()
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
        elif key == "tab":
            pass  # with nothing to queue or to complete it does nothing: it never moves the keyboard away
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
