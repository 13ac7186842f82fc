"""What a person says about hunks: kept beside them, and put into one message for the model. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final

from agent_core.records import dataclass
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.text import clean, visible

if TYPE_CHECKING:
    from agent_core.messages import Comment, FileDiff, Hunk

_SIGNS: Final = {"same": " ", "add": "+", "remove": "-"}
_TICKS: Final = re.compile(r"`{3,}")

Anchor = tuple[str, "Hunk"]
"""What a comment is about: the path and the hunk itself. It stays the same wherever the hunk is shown."""


def anchor_of(diff: FileDiff, hunk: Hunk) -> Anchor:
    return diff.path, hunk


def place_of(anchor: Anchor) -> str:
    """The path with the lines of the hunk: as they are after the change, of a deletion as they were."""
    path, hunk = anchor
    numbers = [line.new_line for line in hunk.lines if line.new_line is not None]
    numbers = numbers or [line.old_line for line in hunk.lines if line.old_line is not None]
    if not numbers:
        return visible(path)
    first, last = min(numbers), max(numbers)
    return f"{visible(path)}:{first}" if first == last else f"{visible(path)}:{first}-{last}"


@dataclass(slots=True)
class Comments:
    """The comments of one session that are not sent yet, in the order in which they were begun."""

    by_anchor: dict[Anchor, str] = field(default_factory=dict)
    writing: tuple[Anchor, str] | None = None
    """What is being written now, and about what."""
    restored: bool = False
    """What the disk had is among them: from then on they are kept there."""

    def __len__(self) -> int:
        return len(self.by_anchor)

    def on(self, anchor: Anchor) -> str:
        return self.by_anchor.get(anchor, "") if self.by_anchor else ""

    def put(self, anchor: Anchor, words: str) -> None:
        """Keep what is said about a hunk; nothing takes it away."""
        if words.strip():
            self.by_anchor[anchor] = clean(words.strip())
        else:
            self.by_anchor.pop(anchor, None)

    def among(self, anchors: Iterable[Anchor]) -> list[Anchor]:
        """Those of these hunks that something is said about, in their order."""
        return [anchor for anchor in anchors if anchor in self.by_anchor] if self.by_anchor else []

    def take(self, anchors: Sequence[Anchor]) -> None:
        """They are said now."""
        for anchor in anchors:
            self.by_anchor.pop(anchor, None)

    def restore(self, kept: Iterable[Comment]) -> None:
        """What the disk had stands before what was said since."""
        self.by_anchor = {(one.path, one.hunk): one.text for one in kept} | self.by_anchor
        self.restored = True

    def to_keep(self) -> tuple[tuple[Anchor, str], ...]:
        """All of them, with what is being written as if it were entered: it, too, outlives a killed program."""
        anchor, words = self.writing or (None, "")
        said = self.by_anchor | ({anchor: clean(words.strip())} if anchor is not None and words.strip() else {})
        return tuple(said.items())

    def message(self, anchors: Iterable[Anchor]) -> str:
        """What the model is to read of these: each place, the hunk's lines as far as they are wanted, the comment."""
        return "\n\n".join(f"{place_of(one)}\n{_quoted(one[1])}\n{self.by_anchor[one]}" for one in anchors)

    def reasons(self, anchors: Iterable[Anchor]) -> str:
        """The same where the model is shown the lines anyway: each place and the comment."""
        return "\n".join(f"{place_of(one)}: {self.by_anchor[one]}" for one in anchors)


def _quoted(hunk: Hunk) -> str:
    """The lines of a hunk in a fence that none of them ends."""
    most = limits.COMMENT_LINES
    lines = [(_SIGNS[line.kind] + clean(line.text))[: limits.COMMENT_LINE] for line in hunk.lines[:most]]
    if (more := len(hunk.lines) - most) > 0:
        lines.append(t("comments.more_lines", n=more))
    longest = max((len(ticks) for line in lines for ticks in _TICKS.findall(line)), default=2)
    fence = "`" * (longest + 1)
    return "\n".join((f"{fence}diff", *lines, fence))
