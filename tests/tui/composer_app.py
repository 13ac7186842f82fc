"""A tiny app around composer and approval panel. Run as a program it serves the tests that need a real terminal."""

import asyncio
import sys
import time
from pathlib import Path

from textual import events
from textual.app import App
from textual.widgets import Static

import nanoherm_tui
from agent_core.ports.asking import Question
from nanoherm_tui.history import History
from nanoherm_tui.overlays.approval import ApprovalPanel
from nanoherm_tui.panes.composer import Composer
from nanoherm_tui.theming.files import load_themes
from nanoherm_tui.theming.themes import Look, to_textual

CSS = Path(nanoherm_tui.__file__).parent / "css"


class ComposerApp(App):
    CSS_PATH = sorted(CSS / name for name in ("composer.tcss", "approval.tcss"))
    CSS = "#above { height: 1fr; }"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, history=None, keymap=None, theme="nanoherm-dark", ask_after=None):
        super().__init__()
        self.look = Look(load_themes()[0][theme])
        self.register_theme(to_textual(self.look.theme))
        self.theme = theme
        self.composer = Composer(history, keymap)
        self.panel = ApprovalPanel(keymap)
        self.posted = []
        self.patterns = []
        self.kept = []
        self.ask_after = ask_after
        self.typed = ()

    def compose(self):
        yield Static(id="above")
        yield self.panel
        yield self.composer

    def on_mount(self):
        self.panel.attach(self.composer)
        self.composer.focus()
        if self.ask_after is not None:
            self.set_timer(self.ask_after, self.ask)

    def ask(self, question=None, seconds=300):
        question = question or command_question()
        self.panel.ask(question, time.time() + seconds)
        return question

    def on_composer_commands_wanted(self):
        if self.typed is not None:  # else it is not known yet
            self.composer.typed = self.typed

    def on_composer_submitted(self, message):
        self.posted.append((message.how, message.text))

    def on_composer_slash_entered(self, message):
        self.posted.append(("slash", message.text))

    def on_composer_shell_entered(self, message):
        self.posted.append(("private shell" if message.private else "shell", message.command))

    def on_composer_draft_changed(self, message):
        self.kept.append((message.key, message.text))

    def on_composer_take_back_requested(self, message):
        self.posted.append(("take_back", ""))

    def on_approval_panel_answered(self, message):
        self.posted.append((f"answer:{message.decision}", message.text))
        self.patterns.append(message.pattern)


def command_question(command="pytest -q", **fields):
    fields.setdefault("cwd", "/home/me/ledger")
    fields.setdefault("rule", "mode ask")
    fields.setdefault("grant", "this exact command, in this folder")
    return Question("command", "Run a command", command=command, **fields)


def rows(app):
    """The screen's rows as text."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips[: app.size.height]]


async def type_keys(pilot, *keys):
    """Keys one behind the other, and one wait for all of them: the pilot's own presses wait for each."""
    characters = {"space": " ", "backslash": "\\", "slash": "/", "question_mark": "?"}
    for key in keys:
        pilot.app.post_message(events.Key(key, characters.get(key, key if len(key) == 1 else None)))
    # They go through the app's queue into that of whoever has the keyboard: a busy machine is not done after one pause.
    for pump in (lambda: pilot.app, lambda: pilot.app.focused or pilot.app.screen):
        done = asyncio.Event()
        pump().call_later(done.set)
        await done.wait()
    await pilot.pause()


class ReportingApp(ComposerApp):
    """F9 notes what was posted and the draft, and starts afresh; F10 ends. The notes so far are in a file."""

    def __init__(self, report, **options):
        super().__init__(**options)
        self.report = Path(report)
        self.notes = []

    def on_key(self, event: events.Key):
        if event.key == "f9":
            self.notes.append((self.posted, self.composer.text))
            self.posted = []
            self.composer.clear_to_history()
            whole = self.report.with_suffix(".new")
            whole.write_text(repr(self.notes), encoding="utf-8")
            whole.replace(self.report)
        elif event.key == "f10":
            self.exit()


if __name__ == "__main__":
    ReportingApp(sys.argv[1], ask_after=float(sys.argv[2]) if len(sys.argv) > 2 else None, history=History(None)).run()
