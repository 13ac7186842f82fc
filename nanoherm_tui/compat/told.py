"""What a terminal tells of itself when it was asked."""

from __future__ import annotations

from typing import Final

from textual.message import Message


class GroundTold(Message):
    """The terminal has said what its ground is: #rrggbb. Sent to the app, at any time after it was asked."""

    def __init__(self, colour: str) -> None:
        super().__init__()
        self.colour: Final = colour


class NameTold(Message):
    """The terminal has said what it calls itself, with its version."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
