"""The content of a reply while it arrives: text, reasoning written into it, and what may be a written tool call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agent_core.llm import text_tools
from agent_core.messages import clean_surrogates
from agent_core.ports.model import Delta


class Halves:
    """Joins surrogate pairs that were cut between two pieces of text (rule 8)."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        text = self._half + text
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._half = text[-1]
            text = text[:-1]
        return clean_surrogates(text)

    def end(self) -> str:
        half, self._half = self._half, ""
        return clean_surrogates(half)


_THINK: Mapping[str, str] = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<seed:think>": "</seed:think>",
    "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
}
"""How reasoning begins that a server leaves in the text, and how it ends."""
_TAGS = (*_THINK, *_THINK.values())


class TextChannel:
    """The content channel: reasoning between think tags at its very start, then text (rule 15).

    A `<` is held back only as long as it can be a tag. Text from a marker of a written tool call on is held until the
    end, when it is known whether it is one.
    """

    __slots__ = ("_close", "_held", "_marker_checks", "_pending", "_stage", "_strip", "_watch", "reasoning", "text")

    def __init__(self, watch_tools: bool) -> None:
        self._stage = "start"  # start, think, text, held
        self._pending = ""
        self._close = ""
        self._strip = False
        self._watch = watch_tools
        self._marker_checks = 0
        self._held: list[str] = []
        self.text: list[str] = []
        self.reasoning: list[str] = []

    def feed(self, piece: str) -> list[Delta]:
        out: list[Delta] = []
        self._pending += piece
        while self._stage in ("start", "think"):
            if self._stage == "start" and not self._begin():
                return out
            if self._stage == "think":
                end = self._pending.find(self._close)
                if end < 0:
                    keep = _overlap(self._pending, (self._close,))
                    self._say(out, "reasoning", self._pending[: len(self._pending) - keep])
                    self._pending = self._pending[len(self._pending) - keep :]
                    return out
                self._say(out, "reasoning", self._pending[:end])
                self._pending = self._pending[end + len(self._close) :]
                self._stage, self._strip = "start", True  # some models think twice
        if self._stage == "text":
            self._release(out)
        if self._stage == "held":
            self._held.append(self._pending)
            self._pending = ""
        return out

    def _begin(self) -> bool:
        """Whether it is known how the text, or what is left of it after reasoning, begins."""
        seen = self._pending.lstrip()
        tag = next((tag for tag in _TAGS if seen.startswith(tag)), "")
        if tag:
            self._pending = seen[len(tag) :]
            if tag in _THINK:
                self._stage, self._close = "think", _THINK[tag]
            else:  # the end of reasoning that came on a channel of its own
                self._strip = True
                return self._begin()
        elif not seen or any(tag.startswith(seen) for tag in _TAGS):
            return False
        else:
            self._stage = "text"
            self._pending = seen if self._strip else self._pending
        return True

    def _release(self, out: list[Delta]) -> None:
        if not self._watch:
            self._say(out, "text", self._pending)
            self._pending = ""
            return
        start = 0
        while match := text_tools.MARKER.search(self._pending, start):
            if self._marker_checks >= text_tools.MARKER_CHECKS:
                break
            self._marker_checks += 1
            if not text_tools.in_code("".join(self.text) + self._pending, match.start() + sum(map(len, self.text))):
                self._say(out, "text", self._pending[: match.start()])
                self._pending = self._pending[match.start() :]
                self._stage = "held"
                return
            start = match.end()
        keep = _overlap(self._pending[start:], text_tools.MARKERS)
        self._say(out, "text", self._pending[: len(self._pending) - keep])
        self._pending = self._pending[len(self._pending) - keep :]

    def end(self) -> None:
        """Nothing more comes: what was held back is text, or reasoning, after all."""
        rest = "".join(self._held) + self._pending
        self._held.clear()
        self._pending = ""
        (self.reasoning if self._stage == "think" else self.text).append(rest)

    def _say(self, out: list[Delta], kind: str, text: str) -> None:
        if not text:
            return
        if kind == "text":
            self.text.append(text)
            out.append(Delta("text", text))
        else:
            self.reasoning.append(text)
            out.append(Delta("reasoning", text))


def _overlap(text: str, words: tuple[str, ...]) -> int:
    """How many characters at the end of `text` may be the beginning of one of `words`, each of which _OPENER begins."""
    start = max(0, len(text) - max(map(len, words)) + 1)
    for match in _OPENER.finditer(text, start):
        if any(word.startswith(text[match.start() :]) for word in words):
            return len(text) - match.start()
    return 0


_OPENER = re.compile(r"[<\[◁]")


def parts(content: Any) -> list[tuple[str, str]]:
    """Content as (kind, text) pieces, kind "text" or "reasoning": a string, or a list of parts."""
    if isinstance(content, str):
        return [("text", content)] if content else []
    if isinstance(content, dict):
        content = [content]
    pieces: list[tuple[str, str]] = []
    for part in content if isinstance(content, list) else []:
        if isinstance(part, str):
            pieces.append(("text", part))
        elif isinstance(part, dict):
            thinking = part.get("thinking", part.get("reasoning"))
            if part.get("type") in ("thinking", "reasoning") or thinking:
                value = thinking if thinking is not None else part.get("text", part.get("summary"))
                pieces += [("reasoning", text) for _, text in parts(value)]
            else:
                value = part.get("text", part.get("refusal"))
                pieces += [("text", value)] if isinstance(value, str) else []
    return pieces


def bare_thought(reasoning: str) -> str:
    """Reasoning without the tags that some servers leave around it."""
    reasoning = reasoning.strip()
    for begin, end in _THINK.items():
        reasoning = reasoning.removeprefix(begin).removesuffix(end).strip()
    return reasoning


def closed_only(text: str) -> tuple[str, str]:
    """Reasoning that ends with a tag it never began with, as templates that write the opening tag themselves give."""
    end = text.find("</think>")
    if end < 0 or "<think>" in text[:end] or text_tools.in_code(text, end):
        return text, ""
    return text[end + len("</think>") :].lstrip(), text[:end]
