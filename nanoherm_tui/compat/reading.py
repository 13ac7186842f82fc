"""What comes in from the terminal: keys, pastes with marks and without, and answers among them."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterable
from typing import Final

from textual import constants, events
from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.message import Message

from nanoherm_tui import limits
from nanoherm_tui.compat import text_keys
from nanoherm_tui.compat.told import GroundTold, NameTold
from nanoherm_tui.terminal import answers as terminal_answers
from nanoherm_tui.terminal import colours as terminal_colours
from nanoherm_tui.text import pasted

_PASTE_BEGINS: Final = "\x1b[200~"
_PASTE_ENDS: Final = "\x1b[201~"
_UNFINISHED = re.compile("\x1b(?:\\[[0-?]*|O)?\\Z")
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# What programs print and no key sends: colours, erasing, modes, titles and links, character sets.
_PRINTED = re.compile(
    "\x1b(?:\\[[0-9;:]*m|\\[[0-3]?[JK]|\\[\\?[0-9;]+[hl]|\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)|[()][0AB])"
)
_LINE_END = re.compile("\r\n?|\n")


def looks_pasted(data: str) -> bool:
    """Whether what came in one read is lines of text rather than keys: text after a line end, and more than a few keys.

    One line with Enter at its end is typed, or sent by a script: it stays keys. The text may hold what a program
    printed, its colours say; a sequence that a key sends makes all of it keys.
    """
    data = _PRINTED.sub("", data)
    if _NO_TEXT.search(data) or not _LINE_END.search(data.rstrip()):
        return False
    return len(_LINE_END.findall(data)) > 1 or len(data) >= limits.PASTE_LENGTH


class ReadByRead(XTermParser):
    """Textual's parser of terminal input, but no part of a paste or of a terminal's answer is ever read as keys.

    Lines that came in one read without paste marks are a paste. What stands between the marks is gathered here:
    Textual takes what follows an escape sequence in it for keys. An answer may come late and in pieces.
    """

    _pasting = False
    _pasted = ""
    _tail = ""
    _more_until = 0.0
    """Until when text belongs to the lines that came before it: they filled a read, so more was on its way."""
    _held = ""
    """What may be the start of an answer, until more is read or the time for it is over."""
    _held_until = 0.0
    _late = ""
    """What was held until its time was over: an answer whose end comes only now is no keys either."""

    def feed(self, data: str) -> Iterable[Message]:
        if not data:
            yield from super().feed(data)
        late = terminal_answers.ANSWER.match(self._late + data)
        begun = self._late if late is not None and terminal_answers.is_whole(late) else self._held
        data, self._held, self._late = begun + data, "", ""
        while data:
            if self._pasting:
                data = yield from self._gather(data)
            else:
                data = yield from self._read((yield from self._take_answers(data)))

    def tick(self) -> Iterable[Message]:
        yield from super().tick()
        if self._held and not self._pasting and time.monotonic() >= self._held_until:
            held, self._held = self._held, ""
            if held == "\x1b":
                yield events.Key("escape", held)
            elif not terminal_answers.is_only_answer(held):  # Alt+] and what was typed behind it
                yield from super().feed(held)
            self._late = held

    def _take_answers(self, data: str) -> Generator[Message, None, str]:
        """Take the terminal's answers out of `data` up to a paste; hold the start of one back. Returns the rest."""
        data, mark, paste = data.partition(_PASTE_BEGINS)
        if not mark and (begun := terminal_answers.BEGUN.search(data)):
            self._held, data = begun[0], data[: begun.start()]
            wait = constants.ESCAPE_DELAY if self._held in terminal_answers.ALSO_KEYS else limits.ANSWER_PART
            self._held_until = time.monotonic() + wait
        for answer in filter(terminal_answers.is_whole, terminal_answers.ANSWER.finditer(data)):
            if answer["name"] is not None:
                yield NameTold(answer["name"].strip())
            elif answer["which"] == terminal_colours.GROUND:
                colour = terminal_colours.read_colour(answer["colour"])
                if colour is not None:
                    yield GroundTold(colour)
        return terminal_answers.ANSWER.sub("", data) + mark + paste

    def _read(self, data: str) -> Generator[Message, None, str]:
        """Read keys up to the mark that begins a paste, the mark too. Returns what follows it."""
        seen = self._tail + data
        begins = seen.find(_PASTE_BEGINS)
        text = data if begins < 0 else data[: max(0, begins - len(self._tail))]
        end = len(data) if begins < 0 else begins + len(_PASTE_BEGINS) - len(self._tail)
        start = 0
        if not _UNFINISHED.search(self._tail) and (looks_pasted(text) or self._goes_on(text)):
            self._more_until = time.monotonic() + limits.PASTE_JOIN if len(text) >= limits.PASTE_PART else 0.0
            yield events.Paste(pasted(text))
            start = len(text)
        last = seen[1 - len(_PASTE_BEGINS) :]
        self._tail = last if begins < 0 and not start and "\x1b" in last else ""
        self._pasting = begins >= 0
        if start < end:
            yield from self._read_keys(data[start:end])
        return data[end:]

    def _read_keys(self, data: str) -> Iterable[Message]:
        """Textual's keys; but a long text that an input method commits at once is more than it waits for."""
        at = 0
        for commit in text_keys.COMMIT.finditer(data):
            text = text_keys.committed(commit)
            if len(text) > 1:
                if before := data[at : commit.start()]:
                    yield from super().feed(before)
                at = commit.end()
                for one in filter(text_keys.is_text, text):
                    yield from self._sequence_to_key_events(one)
        if at < len(data):
            yield from super().feed(data[at:])

    def _goes_on(self, text: str) -> bool:
        """Whether `text` is the rest of lines without paste marks that came in several reads."""
        return bool(text) and time.monotonic() < self._more_until and not _NO_TEXT.search(_PRINTED.sub("", text))

    def _gather(self, data: str) -> Generator[Message, None, str]:
        """Keep the text of a paste up to the mark that ends it. Returns what follows the mark."""
        seen = max(0, len(self._pasted) + 1 - len(_PASTE_ENDS))
        self._pasted += data
        ends = self._pasted.find(_PASTE_ENDS, seen)
        if ends < 0:
            return ""
        text, rest = self._pasted[:ends], self._pasted[ends + len(_PASTE_ENDS) :]
        self._pasting, self._pasted = False, ""
        for message in super().feed(_PASTE_ENDS):
            if not isinstance(message, events.Paste):  # Textual's own, of nothing
                yield message
        yield events.Paste(pasted(text))
        return rest


def read_lines_as_pastes() -> None:
    """Have Textual's driver, from its next start on, read with `ReadByRead`, and widgets take all that is text.

    A terminal, multiplexer or script without bracketed paste sends a pasted text as keys, each line end an Enter: a
    message a line. In the driver it is still known what came together.
    """
    text_keys.take_all_text()
    setattr(linux_driver, "XTermParser", ReadByRead)  # noqa: B010  # the module does not export the name
