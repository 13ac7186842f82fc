"""What the composer tells: each message is `Composer.NAME`, and its handler `on_composer_NAME`."""

from __future__ import annotations

from typing import Literal

from textual.message import Message

How = Literal["send", "queue"]


class Submitted(Message, namespace="composer"):
    """The draft is to be sent: "send" is a steer while a turn runs, "queue" waits for its end."""

    def __init__(self, text: str, how: How, instead: str = "") -> None:
        super().__init__()
        self.text = text
        self.how = how
        self.instead = instead
        """The earlier message that it takes the place of; empty: none."""


class SlashEntered(Message, namespace="composer"):
    """A command that `actions.parse_slash` accepts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ShellEntered(Message, namespace="composer"):
    """A command of the user's own, to be run now; a `private` one is not told to the model."""

    def __init__(self, command: str, private: bool) -> None:
        super().__init__()
        self.command = command
        self.private = private


class DraftChanged(Message, namespace="composer"):
    """What is written and not sent, to be kept on disk under `key`. Told when the keys rest; at once when sent."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__()
        self.key = key
        self.text = text


class ImagesPasted(Message, namespace="composer"):
    """The paths of image files were pasted, or files dropped: `text` is to be written when they are none."""

    def __init__(self, paths: tuple[str, ...], text: str) -> None:
        super().__init__()
        self.paths = paths
        self.text = text


class ImagePreviewRequested(Message, namespace="composer"):
    """The image of a chip is to be shown: the name of its copy, and its words."""

    def __init__(self, name: str, words: str) -> None:
        super().__init__()
        self.name = name
        self.words = words


class ImagePasteRequested(Message, namespace="composer"):
    """The image on the clipboard is wanted in the draft."""


class CommandsWanted(Message, namespace="composer"):
    """A command is being typed: what there is beside the program's own should be known (`typed`)."""


class SnippetsWanted(Message, namespace="composer"):
    """The name of a snippet is being written: what there is should be known (`snippets`)."""


class TakeBackRequested(Message, namespace="composer"):
    """The newest pending text should return to the draft."""
