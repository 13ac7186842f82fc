"""A long paste as a few words in the draft: "[120 lines, 4.1 KB #1]" stands for its text until the text is needed.

An image is one too: "[image 1: shot.png 800x600 PNG]" stands for the reference to its kept copy.

The label is kept in the draft with two marks inside its brackets that no key sends and no paste leaves in place, so a
label typed by hand is only text, and undoing brings a chip back like any other text.
"""

from __future__ import annotations

import re
from typing import Final

from agent_core.text.image_refs import REFERENCE
from nanoherm_tui import limits
from nanoherm_tui.i18n import t
from nanoherm_tui.text import cut_path, one_line, size

_MARKS: Final = re.compile("[\x0e\x0f]")
_CHIP: Final = re.compile("\\[\x0e[^\x0e\x0f\n]*\x0f\\]")
_NO_BREAK: Final = "\u2800"  # blank to the eye; unlike U+00A0 no place where Textual breaks a row


def is_long(text: str) -> bool:
    """Whether a pasted text becomes a chip."""
    return len(text) > limits.CHIP_LENGTH or text.count("\n") >= limits.CHIP_LINES


def spans(line: str) -> list[tuple[int, int]]:
    """Where the chips of one line of a draft begin and end, in characters."""
    return [found.span() for found in _CHIP.finditer(line)] if "\x0e" in line else []


def unmarked(text: str) -> str:
    """`text` from elsewhere, unable to pass for a chip."""
    return _MARKS.sub("", text) if "\x0e" in text or "\x0f" in text else text


def drawn(words: str) -> str:
    """A part of a draft as it is drawn: without the marks."""
    return unmarked(words).replace(_NO_BREAK, " ")


class Chips:
    """What the chips of one draft stand for."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}  # by label, marks and all

    @property
    def length(self) -> int:
        """Characters of all the texts."""
        return sum(map(len, self._texts.values()))

    def fold(self, text: str, draft: str) -> str:
        """A chip for `text`, numbered after those of `draft`."""
        number = len(_CHIP.findall(draft)) + 1
        while self._texts.get(label := _label(text, number), text) != text or label in draft:
            number += 1
        self._texts[label] = text
        return label

    def fold_images(self, text: str, draft: str = "") -> str:
        """`text` with a chip for each image it refers to, numbered after those of `draft`."""
        number = sum(self.is_image(label) for label in _CHIP.findall(draft))

        def chip(found: re.Match[str]) -> str:
            nonlocal number
            label = next((label for label, whole in self._texts.items() if whole == found[0]), "")
            if not label or label in draft:
                number += 1
                label = _image_label(found[2], number)
                while self._texts.get(label, found[0]) != found[0]:
                    number += 1
                    label = _image_label(found[2], number)
                self._texts[label] = found[0]
            return label

        return REFERENCE.sub(chip, text)

    def is_image(self, label: str) -> bool:
        return self.image(label) is not None

    def image(self, label: str) -> tuple[str, str] | None:
        """The name of the copy, and the words, that a chip stands for; None: it stands for a text."""
        found = REFERENCE.fullmatch(self._texts.get(label, ""))
        return (found[1], found[2]) if found is not None else None

    def expand(self, draft: str) -> str:
        """The draft with every chip replaced by its text."""
        return _CHIP.sub(lambda found: self._texts.get(found[0], found[0]), draft) if "\x0e" in draft else draft

    def refold(self, text: str) -> str:
        """`text` with what was folded before as chips again: it came back from the history, the queue, an editor."""
        text = unmarked(text)
        for label, whole in self._texts.items():
            text = text.replace(whole, label, 1)
        return self.fold_images(text, text)

    def keep_only(self, draft: str) -> None:
        """Forget the texts of chips that `draft` does not hold."""
        self._texts = {label: text for label, text in self._texts.items() if label in draft}


def _image_label(words: str, number: int) -> str:
    """`words`: the image's name, then its size and kind."""
    name, size_, kind = words.rsplit(" ", 2) if words.count(" ") > 1 else (words, "", "")
    shown = f"{cut_path(one_line(name), limits.CHIP_NAME).strip()} {size_} {kind}".strip()
    return f"[\x0e{t('composer.chip_image', n=number, name=shown)}\x0f]".replace(" ", _NO_BREAK)


def _label(text: str, number: int) -> str:
    lines = text.count("\n") + (not text.endswith("\n"))
    weight = size(len(text.encode("utf-8", "surrogatepass")))
    words = t("composer.chip_one", size=weight) if lines == 1 else t("composer.chip", n=lines, size=weight)
    return f"[\x0e{words} #{number}\x0f]".replace(" ", _NO_BREAK)
