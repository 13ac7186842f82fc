"""Images, as a model can be given them and a terminal can draw them; what cannot be taken is refused with the reason.

They are decoded by a program of its own (child.py), which ends when its memory or its time is over: an image
comes from anybody. Source: LIM-09, NUM-09.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from agent_core import helper, limits
from agent_core.cancel import CancelScope
from agent_core.errors import AgentError, SandboxError
from agent_core.messages import ImagePart
from agent_core.plain_files import read_regular
from agent_core.records import dataclass
from agent_core.sandbox.policy import SandboxPolicy
from agent_core.text.kinds import image_kind, is_svg, kind_of

_CHILD: Final = str(Path(__file__).with_name("child.py"))
TOO_MANY: Final = "too_many_images"
"""Code of what is told when a turn has more than limits.IMAGES_A_TURN."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that a model can be given."""

    part: ImagePart
    width: int
    """Pixels, as in the file; what is given may be smaller."""
    height: int
    kind: str
    """PNG, JPEG, GIF, WebP or BMP: what it was in the file."""

    @property
    def words(self) -> str:
        return f"{self.width}x{self.height} {self.kind}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """An image in cells of a terminal, row by row."""

    width: int
    """Pixels of the image."""
    height: int
    kind: str
    across: int
    """Cells of a row."""
    cells: bytes
    """Seven a cell: see image_child.cells."""


def read(path: Path | str) -> bytes:
    """The bytes of an image file that a person named. Raises AgentError with the reason when it cannot be taken."""
    shown = os.fspath(path)
    try:
        data = read_regular(path, limits.IMAGE_FILE)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "the name is not valid"
        raise AgentError("image_unreadable", f"{shown} cannot be read: {why}.", path=shown, why=why) from error
    if data is None:
        if os.path.exists(path):
            raise AgentError("image_no_file", f"{shown} is no file with an image in it.", path=shown)
        raise AgentError("image_missing", f"{shown} does not exist.", path=shown)
    return data


def fit(data: bytes, name: str, cancel: CancelScope | None = None, sandbox: SandboxPolicy | None = None) -> Picture:
    """The image in `data` as a model can be given it: upright, its longer side at most limits.IMAGE_SIDE, pixels only.

    `name` is what a refusal calls it. Raises AgentError with the reason when it cannot be taken, Interrupted, and
    SandboxError when the program that decodes it could not be held (helper.ask).
    """
    check(data, name)
    about, out = _decoded(("fit", str(limits.IMAGE_SIDE)), data, name, cancel, sandbox)
    part = ImagePart(str(about["media_type"]), base64.b64encode(out).decode("ascii"))
    return Picture(part, int(about["width"]), int(about["height"]), image_kind(data))


def draw(data: bytes, name: str, columns: int, rows: int, ground: str, cancel: CancelScope | None = None) -> Drawing:
    """The image in at most so many cells, its transparent parts on the colour `ground` (RRGGBB). Raises as `fit`."""
    check(data, name)
    most = limits.IMAGE_CELLS
    size = str(max(1, min(columns, most[0]))), str(max(1, min(rows, most[1])))
    about, out = _decoded(("cells", *size, ground), data, name, cancel, None)
    return Drawing(int(about["width"]), int(about["height"]), image_kind(data), int(about["across"]), out)


def check(data: bytes, name: str) -> None:
    """Raise AgentError for what is refused before it is decoded: by its size, and by what its first bytes say."""
    if len(data) > limits.IMAGE_FILE:
        raise too_large(name)
    if not data:
        raise AgentError("image_empty", f"{name} is empty: there is no image in it.", path=name)
    if is_svg(data):
        raise AgentError(
            "image_svg", f"{name} is an SVG, a drawing in text: no image to look at. Send a PNG of it.", path=name
        )
    if not image_kind(data):
        kind = kind_of(data) or "no image"
        raise AgentError(
            "image_kind",
            f"{name} is {kind}. Images are taken as PNG, JPEG, GIF, WebP or BMP.",
            path=name,
            kind=kind,
        )


def too_large(name: str) -> AgentError:
    mb = limits.IMAGE_FILE // limits.MB
    text = f"{name} is larger than {mb} MB, the most that is taken of an image. Send a smaller one."
    return AgentError("image_too_large", text, path=name, mb=mb)


def _refused(reason: str, name: str) -> AgentError:
    if reason == "too_many_pixels":
        most = limits.IMAGE_PIXELS // 1_000_000
        text = f"{name} has more than {most} million pixels and is not decoded. Send a smaller one."
        return AgentError("image_too_many_pixels", text, path=name, most=most)
    if reason == "empty":
        return AgentError("image_empty", f"{name} is empty: there is no image in it.", path=name)
    return AgentError("image_undecodable", f"{name} cannot be decoded: it is broken, or cut short.", path=name)


def _decoded(
    what: Sequence[str], data: bytes, name: str, cancel: CancelScope | None, sandbox: SandboxPolicy | None
) -> tuple[dict[str, Any], bytes]:
    """What the decoding program gives. A program of ours that dies at an image has refused it."""
    try:
        answer = helper.ask(
            _CHILD,
            (*what, str(limits.IMAGE_PIXELS)),
            data,
            memory=limits.IMAGE_MEMORY,
            seconds=limits.IMAGE_SECONDS,
            most=limits.IMAGE_FILE,
            cancel=cancel,
            sandbox=sandbox,
        )
    except SandboxError:
        raise
    except OSError as error:
        raise AgentError("image_program", f"The program that decodes images could not be started: {error}.") from error
    if answer.is_late:
        raise AgentError("image_slow", f"{name} takes too long to decode and was given up.", path=name)
    about = answer.about
    if (
        "refused" in about or "width" not in about or answer.is_cut
    ):  # with neither its memory or its time was over, or the decoder fell
        raise _refused(str(about.get("refused", "undecodable")), name)
    return about, answer.out
