"""Copies of the images in drafts and queues: a text names them, and so they survive whatever the text survives.

A draft is text, on the screen, in the history and on disk. An image in it is a reference by its content,
"[image 3f9a2c41d0e8b7a6 shot.png 800x600 PNG]"; when the message begins its turn the image takes its place beside the
text, and only its name stays.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from agent_core import limits
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError
from agent_core.images import reader as images
from agent_core.images.reader import Drawing, Picture
from agent_core.messages import ImagePart, Message
from agent_core.plain_files import atomic_write, read_regular
from agent_core.records import dataclass
from agent_core.text.ansi import clean
from agent_core.text.image_refs import REFERENCE, plain

FOLDER: Final = "images"
_ENDINGS: Final = {"image/png": ".png", "image/jpeg": ".jpg"}
_BRACKETS: Final = str.maketrans("[]\n", "()_")


@dataclass(frozen=True, slots=True)
class WithImages:
    """A message that has its images, and what is to be told of those it does not have."""

    message: Message
    problems: tuple[AgentError, ...] = ()


class KeptImages:
    """The copies, in a folder of our own home. Safe to use from several threads and programs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take_file(self, path: Path | str, shown: str, cancel: CancelScope | None = None) -> str:
        """A reference to the image in a file that a person named. Raises AgentError with the reason if it is not."""
        return self.take(images.read(path), shown, cancel)

    def take(self, data: bytes, shown: str, cancel: CancelScope | None = None) -> str:
        """A reference to the image in `data`, called `shown`. Raises AgentError, Interrupted."""
        return self.keep(images.fit(data, shown, cancel), shown)

    def keep(self, picture: Picture, shown: str) -> str:
        """A reference to a picture. Raises AgentError when the copy cannot be written."""
        data = base64.b64decode(picture.part.data)
        name = hashlib.sha256(data).hexdigest()[:16]
        try:
            atomic_write(self._folder / f"{name}{_ENDINGS[picture.part.media_type]}", data)
        except OSError as error:
            why = error.strerror or str(error)
            raise AgentError("image_not_kept", f"The image could not be kept: {why}.", why=why) from error
        self._drop_oldest()
        words = f"{clean(shown).translate(_BRACKETS)[-120:].strip() or 'image'} {picture.words}"
        return f"[image {name} {words}]"

    def find(self, name: str) -> ImagePart | None:
        """The image with this name in a reference, if its copy is still there."""
        for media_type, ending in _ENDINGS.items():
            with suppress(OSError):
                data = read_regular(self._folder / f"{name}{ending}", limits.IMAGE_FILE, follow=False)
                if data is not None and hashlib.sha256(data).hexdigest().startswith(name):
                    return ImagePart(media_type, base64.b64encode(data).decode("ascii"))
        return None

    def draw(self, name: str, shown: str, columns: int, rows: int, ground: str) -> Drawing:
        """The image with this name in a reference, in cells. Raises AgentError."""
        part = self.find(name)
        if part is None:
            raise _gone(shown)
        return images.draw(base64.b64decode(part.data), shown, columns, rows, ground)

    def attach(self, message: Message, had: int = 0) -> WithImages:
        """A person's message with the images that its text names; with the `had` of its turn limits.IMAGES_A_TURN.

        Their names stay in the text, without what only we can read.
        """
        if "[image " not in message.text:
            return WithImages(message)
        parts, problems = list(message.parts), []
        for name, words in dict.fromkeys(REFERENCE.findall(message.text)):
            part = self.find(name)
            if part is None:
                problems.append(_gone(words))
            elif part not in parts and had + len(parts) >= limits.IMAGES_A_TURN:
                problems.append(too_many())
            elif part not in parts:
                parts.append(part)
        attached = replace(message, text=plain(message.text), parts=tuple(parts))
        return WithImages(attached, tuple({problem.text: problem for problem in problems}.values()))

    def _drop_oldest(self) -> None:
        with suppress(OSError):
            entries = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(self._folder) if entry.is_file()]
            for _, path in sorted(entries)[: -limits.IMAGES_KEPT]:
                os.unlink(path)


def _gone(words: str) -> AgentError:
    text = f"The copy of {words} is gone; the message goes without it. Add the image again."
    return AgentError("image_gone", text, name=words)


def too_many() -> AgentError:
    most = limits.IMAGES_A_TURN
    return AgentError(images.TOO_MANY, f"A turn takes at most {most} images; this one was left out.", most=most)


def at_most(taken: Sequence[object]) -> None:
    """Raise AgentError when there are more images than one turn takes."""
    if len(taken) > limits.IMAGES_A_TURN:
        most = limits.IMAGES_A_TURN
        raise AgentError(images.TOO_MANY, f"A turn takes at most {most} images, not {len(taken)}.", most=most)
