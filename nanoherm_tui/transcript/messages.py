"""What the transcript tells: each message is `TranscriptView.NAME`, and its handler `on_transcript_view_NAME`."""

from __future__ import annotations

from textual.message import Message


class OpenRequested(Message, namespace="transcript_view"):
    """A tool card's result is wanted in the dock, at `find` when that is not empty."""

    def __init__(self, call_id: str, find: str = "") -> None:
        super().__init__()
        self.call_id = call_id
        self.find = find


class EarlierRequested(Message, namespace="transcript_view"):
    """What the session holds before its entries is wanted: `prepend`."""


class Placed(Message, namespace="transcript_view"):
    """The widget has a size, its first or another: what is shown has its places."""


class StopRequested(Message, namespace="transcript_view"):
    """Whose conversation it is is to be stopped; asked for only where `can_stop`."""


class CopyRequested(Message, namespace="transcript_view"):
    """This text is wanted on the clipboard; `missing` says what there is not, when it is empty."""

    def __init__(self, text: str, missing: str = "") -> None:
        super().__init__()
        self.text = text
        self.missing = missing


class PathRequested(Message, namespace="transcript_view"):
    """A file that is named in the conversation is wanted, at a line when that is not 0."""

    def __init__(self, path: str, line: int) -> None:
        super().__init__()
        self.path = path
        self.line = line
