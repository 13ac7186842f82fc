"""A transcript alone on a screen, and a turn to put on it."""

from __future__ import annotations

from textual.app import App, ComposeResult

from agent_core import events as ev
from agent_core.messages import Message, ToolCall, ToolResult, tool
from nanoherm_tui.theming.files import load_themes
from nanoherm_tui.theming.themes import Look
from nanoherm_tui.transcript.model import TranscriptModel
from nanoherm_tui.transcript.render import Moment, render
from nanoherm_tui.transcript.view import TranscriptView

NOON = 1_700_000_000.0


def look(theme: str = "nanoherm-dark") -> Look:
    return Look(load_themes()[0][theme], no_color=False)


LOOK = look()


class Stage(App[None]):
    """The widget, its app's look, and the messages it posts."""

    def __init__(self, look: Look = LOOK) -> None:
        super().__init__()
        self.look = look
        self.view = TranscriptView()
        self.posted: list[tuple[str, str]] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_transcript_view_open_requested(self, message: TranscriptView.OpenRequested) -> None:
        self.posted.append(("open", message.call_id))

    def on_transcript_view_copy_requested(self, message: TranscriptView.CopyRequested) -> None:
        self.posted.append(("copy", message.text or message.missing))

    def on_transcript_view_path_requested(self, message: TranscriptView.PathRequested) -> None:
        self.posted.append(("path", f"{message.path}:{message.line}"))


START = Moment(0, NOON)


class Clock:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


def model(**options) -> TranscriptModel:
    return TranscriptModel(clock=Clock(), **options)


def rows_of(transcript: TranscriptModel, width: int = 89, theme: Look = LOOK, moment: Moment = START):
    """Every row of a transcript, drawn block by block, as lists of segments."""
    return [
        row.segments
        for entry in transcript.entries
        for block in entry.blocks
        for row in render(block, width, theme, moment)
    ]


def text_of(transcript: TranscriptModel, width: int = 89) -> list[str]:
    return ["".join(s.text for s in row).rstrip() for row in rows_of(transcript, width)]


def shown(view: TranscriptView) -> list[str]:
    """The rows of the window as they are painted."""
    from textual.geometry import Region

    return [strip.text.rstrip() for strip in view.render_lines(Region(0, 0, view._width, view.size.height))]


def conversation(turns: int) -> list[Message]:
    """Stored messages: a question, a thought with a call, its result, an answer; four messages a turn."""
    out: list[Message] = []
    for n in range(turns):
        call = ToolCall(f"call-{n}", "read_file", {"path": f"src/part/module{n}.py"})
        out.append(Message("user", f"Question {n}: 第 {n} 个问题。", created=NOON))
        out.append(Message("assistant", "", reasoning=f"thinking about {n}\nmore of it", tool_calls=(call,)))
        out.append(tool(ToolResult(call.id, call.name, "\n".join(["line"] * 30), outcome="30 lines", seconds=0.25)))
        out.append(
            Message("assistant", f"Answer {n} with `code`.\n\n- a point\n- another\n\n```py\nx = {n}\n```\n\nDone {n}.")
        )
    return out


def call_events(call_id: str, name: str = "run_command", subject: str = "pytest -q", **result):
    """Queued, started, finished."""
    fields = {"ok": True, "outcome": "ok", "text": "out\nput", "seconds": 1.5} | result
    return [ev.ToolQueued(call_id, name, subject), ev.ToolStarted(call_id), ev.ToolFinished(call_id, name, **fields)]


async def staged(pilot, messages=(), batch=()):
    transcript = model()
    transcript.load(messages)
    pilot.app.view.show(transcript)
    pilot.app.view.apply(list(batch))
    pilot.app.view.focus()
    await pilot.pause()
    return pilot.app.view


def run(size=(80, 24)):
    return Stage().run_test(size=size)
