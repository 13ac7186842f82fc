"""What a server gave, as a model can be given it (R28).

Text stays text. Pictures become parts, which the tools make fit for the model; sound and files are written to a file,
whose path is told. Base64 never becomes text, and `_meta` goes to nobody.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from agent_core import limits
from agent_core.mcp.words import CallResult, Json
from agent_core.messages import PICTURES, ImagePart
from agent_core.text.ansi import clean
from agent_core.text.ends import ends
from agent_core.text.kinds import image_kind
from agent_core.text.printable import printable

Keep = Callable[[bytes, str], str]
"""Writes bytes of this media type to a file and gives its path. Raises OSError."""

_TYPES: Final = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WebP": "image/webp"}


def call(result: Json, keep: Keep | None) -> CallResult:
    """The result of tools/call."""
    out = _Out(keep)
    content = result.get("content")
    for block in content if isinstance(content, list) else []:
        out.block(block)
    if "structuredContent" in result:
        out.structured(result["structuredContent"])
    return out.result(ok=result.get("isError") is not True)


def resource(result: Json, keep: Keep | None) -> CallResult:
    """The result of resources/read."""
    out = _Out(keep)
    contents = result.get("contents")
    for content in contents if isinstance(contents, list) else []:
        out.resource(content)
    return out.result()


def prompt(result: Json, keep: Keep | None) -> CallResult:
    """The result of prompts/get: its messages, each under who says it."""
    out = _Out(keep)
    messages = result.get("messages")
    for message in messages if isinstance(messages, list) else []:
        if isinstance(message, Mapping):
            out.say(f"{_word(message.get('role'))}:")
            out.block(message.get("content"))
    return out.result()


class _Out:
    """Collects the parts of one result."""

    def __init__(self, keep: Keep | None) -> None:
        self._keep = keep
        self._texts: list[str] = []
        self._images: list[ImagePart] = []

    def result(self, *, ok: bool = True) -> CallResult:
        text, left_out = _bounded(self._texts)
        if not text and not self._images:
            text = "[the server gave an empty result]"
        return CallResult(text, ok, tuple(self._images), left_out)

    def say(self, text: str) -> None:
        """With what a terminal would obey still in it: of a long text most is never looked at."""
        self._texts.append(text)

    def block(self, block: object) -> None:
        if not isinstance(block, Mapping):
            self.say(_unsupported(type(block).__name__))
            return
        kind = block.get("type")
        text = block.get("text")
        if kind == "text" and isinstance(text, str):
            self.say(text)
        elif kind in ("image", "audio"):
            self._data(block.get("data"), _word(block.get("mimeType")) or str(kind))
        elif kind == "resource":
            self.resource(block.get("resource"))
        elif kind == "resource_link":
            name, about = _word(block.get("title") or block.get("name")), _word(block.get("description"))
            self.say(f"[resource {_word(block.get('uri'))}: {name}{f', {about}' if about else ''}]")
        else:
            self.say(_unsupported(_word(kind) or "none"))

    def resource(self, content: object) -> None:
        content = content if isinstance(content, Mapping) else {}
        text = content.get("text")
        if isinstance(text, str):
            self.say(text)
        else:
            self._data(content.get("blob"), _word(content.get("mimeType")) or "application/octet-stream")

    def structured(self, value: Any) -> None:
        """Said as JSON, but where a text says it already."""
        inner = value["result"] if isinstance(value, Mapping) and set(value) == {"result"} else value
        whole = "\n".join(self._texts)
        for text in (*self._texts, whole):
            if text in (value, inner) or _json(text) in (value, inner):
                return
        if isinstance(inner, list) and inner and [_json(text) for text in self._texts] == inner:
            return
        self.say(json.dumps(value, ensure_ascii=False))

    def _data(self, data: object, kind: str) -> None:
        try:
            raw = base64.b64decode(data, validate=False) if isinstance(data, str) else b""
        except (binascii.Error, ValueError):
            raw = b""
        if not raw:
            self.say(f"[{kind} that cannot be decoded]")
            return
        media = _TYPES.get(image_kind(raw), "")
        if media in PICTURES and len(raw) <= limits.IMAGE_FILE:
            self._images.append(ImagePart(media, base64.b64encode(raw).decode("ascii")))
            self.say(f"[{media}, {len(raw)} bytes: picture {len(self._images)}]")
            return
        self.say(f"[{kind}, {len(raw)} bytes{self._place(raw, kind)}]")

    def _place(self, raw: bytes, kind: str) -> str:
        if self._keep is None:
            return ", not kept"
        try:
            return f", in the file {printable(self._keep(raw, kind))}"
        except OSError as error:
            return f", which could not be written to a file: {error.strerror or error}"


def _bounded(texts: Sequence[str]) -> tuple[str, int]:
    """The texts as a person would have seen them, one below the other, and how many characters were thrown away.

    Of more than limits.MCP_TEXT both ends are kept.
    """
    whole = "\n".join(texts)
    if len(whole) <= limits.MCP_TEXT:
        return "\n".join(map(clean, texts)), 0
    head, tail = ends(whole, limits.MCP_TEXT)
    left_out = len(whole) - len(head) - len(tail)
    parts = (
        *_cleaned(texts, 0, len(head)),
        f"[{left_out:,} characters were thrown away here]",
        *_cleaned(texts, len(whole) - len(tail), len(whole)),
    )
    return "\n".join(parts), left_out


def _cleaned(texts: Sequence[str], start: int, stop: int) -> Iterator[str]:
    """What stands between two places of the whole, text by text: a sequence that one leaves open ends with it."""
    at = 0
    for text in texts:
        if part := text[max(start - at, 0) : max(stop - at, 0)]:
            yield clean(part)
        at += len(text) + 1


def _unsupported(kind: str) -> str:
    return f"[unsupported content: {kind}]"


def _word(value: object) -> str:
    """A name or a type on one line, bounded."""
    return printable(clean(value))[: limits.SUBJECT_CHARS] if isinstance(value, str) else ""


def _json(text: str) -> Any:
    """What a text is as JSON; itself where it is none, or too long to look."""
    if len(text) > limits.MB:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
