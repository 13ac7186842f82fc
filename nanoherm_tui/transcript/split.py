"""Markdown that arrives in pieces → blocks that never change again, and an open tail.

The result depends on the text alone, never on how it was cut into pieces. A block ends at a blank line outside fences
and lists, at a heading, and at a fence; what grows too large ends earlier, at the next place that does not show: a list
at its next item, a table at a row, a paragraph at a line, a line at a blank.
"""

from __future__ import annotations

import re
from copy import copy
from dataclasses import replace

from nanoherm_tui import limits
from nanoherm_tui.text import clean
from nanoherm_tui.transcript.blocks import PARAGRAPH, Code, Prose

_FENCE = re.compile(r"( *)(`{3,}|~{3,})(.*)\Z", re.DOTALL)
_ITEM = re.compile(r"( {0,3})([-*+]|(\d{1,9})[.)])(?: {1,4}(?=\S)| |\Z)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|\Z)")
_TABLE_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")


class Splitter:
    """Feed it text; it hands out each block once, when nothing that follows can change it."""

    def __init__(self) -> None:
        self._part = ""  # the line that has no end yet
        self._offset = 0  # characters of the source before `_part`
        self._mid_line = False  # the start of the current line has already been handed out
        self._lines: list[str] = []  # of the open block
        self._size = 0  # characters in `_lines`
        self._key = 0  # where the open block began
        self._join = ""  # between the last block and the open one
        self._after_heading = False
        self._any = False  # a block has been handed out
        # A top-level fence.
        self._fence = ""  # its opening marks
        self._lang = ""
        self._first = True  # no chunk of it has been handed out
        self._fence_indent = 0
        # A list (or indented code) that a blank line does not end.
        self._hold = 0  # the indent that continues it; 0: none is open
        self._is_list = False
        self._blanks = 0  # blank lines seen after its last line
        self._number = 0  # of the next item, when ordered
        self._carry = 0  # the number the open block starts with, when it continues a list
        self._nested = ""  # the opening marks of a fence inside the list
        self._nested_lang = ""
        self._dedent = 0  # taken off the lines that follow a list item too long to keep
        # A table.
        self._head_at = -1  # where in `_lines` it begins
        self._head = ""  # its first part, when the open block continues it

    def feed(self, text: str) -> list[Prose | Code]:
        """Take more text; returns the blocks it has completed."""
        out: list[Prose | Code] = []
        *lines, self._part = (self._part + text).split("\n")
        for line in lines:
            rest = self._shorten(line, out)
            for piece in clean(rest, tab_size=0).split("\n"):
                self._line(piece, out)
            self._offset += len(rest) + 1
            self._mid_line = False
        self._part = self._shorten(self._part, out)
        return out

    def tail(self) -> list[Prose | Code]:
        """The blocks that the text so far would end with; they may still change."""
        if not (self._part or self._lines or self._fence):
            return []
        twin = copy(self)
        twin._lines = self._lines.copy()
        blocks = twin.finish()
        if blocks and (self._fence if isinstance(blocks[-1], Code) else self._nested):
            blocks[-1] = replace(blocks[-1], open=True)
        return blocks

    def finish(self) -> list[Prose | Code]:
        """End the text; returns the remaining blocks. The splitter is of no use afterwards."""
        out: list[Prose | Code] = []
        if self._part:
            for piece in clean(self._part, tab_size=0).split("\n"):
                self._line(piece, out)
        if self._fence:
            if self._lines or self._first:
                self._close_code(out)
        else:
            self._close(out)
        return out

    # -- lines ----------------------------------------------------------------------------------------------------

    def _shorten(self, line: str, out: list[Prose | Code]) -> str:
        """Hand out the start of a line that is too long to be drawn anew with every piece; returns its rest."""
        while len(line) > limits.BLOCK:
            at = line.rfind(" ", limits.BLOCK // 2, limits.BLOCK) + 1 or limits.BLOCK
            if self._nested:
                self._unnest(out)
            start = clean(line[:at], tab_size=0)
            if self._fence:
                self._add(start)
                self._close_code(out)
                self._first = False
            else:
                if not self._mid_line and self._blanks:
                    self._close(out)
                self._add(start)
                self._close(out)
            self._join = ""
            self._mid_line = True
            self._offset += at
            line = line[at:]
        return line

    def _line(self, line: str, out: list[Prose | Code]) -> None:
        if self._fence:
            self._code_line(line, out)
            return
        indent = len(line) - len(line.lstrip(" "))
        blank = indent == len(line)
        if self._dedent and not blank:
            if indent == 0:
                self._dedent = 0
            else:
                line = line[min(indent, self._dedent) :]
                indent = max(0, indent - self._dedent)
        if self._nested:
            self._nested_line(line, indent, out)
        elif self._mid_line:
            if not blank:
                self._add(line)
        elif blank:
            if self._hold:
                self._blanks += 1
            else:
                self._close(out)
        else:
            self._text_line(line, indent, out)

    def _text_line(self, line: str, indent: int, out: list[Prose | Code]) -> None:
        item = _ITEM.match(line)
        inside = self._hold and indent >= self._hold
        sibling = self._is_list and item is not None and not inside
        if self._blanks:
            if not (inside or sibling):
                self._close(out)
                inside = sibling = False
            else:
                self._add("")
            self._blanks = 0
        fence = _FENCE.match(line)
        if fence and not ("`" in fence[2] and "`" in fence[3]):
            if inside:
                self._nested, self._nested_lang = fence[2], _language(fence[3])
                self._add(line)
                return
            if indent < 4:
                self._close(out)
                self._open_fence(fence[2], _language(fence[3]), indent)
                return
        if not inside and _HEADING.match(line):
            self._close(out)
            self._add(line)
            self._close(out, heading=True)
            return
        self._seal_if_large(bool(inside), sibling, out)
        if item and not inside:
            self._hold, self._is_list = max(item.end(), 2), True
            self._number = (self._number or int(item[3])) + 1 if item[3] else 0
        elif not self._lines and indent >= 4:
            self._hold, self._is_list = 4, False
        elif self._lines and not self._hold and self._head_at < 0 and "|" in self._lines[-1] and _is_rule(line):
            self._head_at = len(self._lines) - 1
        self._add(line)

    def _nested_line(self, line: str, indent: int, out: list[Prose | Code]) -> None:
        """A line while a fence inside a list is open."""
        if self._size > limits.BLOCK_HARD:
            self._unnest(out)
            self._code_line(line, out)
            return
        self._add(line)
        if _closes(line, self._nested):
            self._nested = ""
        elif line.strip() and indent == 0:  # the list, and the fence with it, has ended without its marks
            self._lines.pop()
            self._size -= len(line) + 1
            self._nested = ""
            self._close(out)
            self._text_line(line, indent, out)

    def _seal_if_large(self, inside: bool, sibling: bool, out: list[Prose | Code]) -> None:
        if self._size <= (limits.TABLE_PART if self._head_at >= 0 or self._head else limits.BLOCK):
            return
        if self._is_list:
            if sibling:
                number, hold = self._number, self._hold
                self._close(out, join="\n" if self._lines[-1] else PARAGRAPH)
                self._number, self._hold, self._is_list = number, hold, True
                self._carry = number
            elif inside and self._size > limits.BLOCK_HARD:
                hold = self._hold
                self._close(out, join="\n")
                self._dedent = hold
        elif self._head_at >= 0 or self._head:
            head = self._head or "\n".join(self._lines[self._head_at :])
            self._close(out, join="\n")
            self._head = head
        elif not self._hold or self._size > limits.BLOCK_HARD:
            self._close(out, join="\n")

    # -- fences ---------------------------------------------------------------------------------------------------

    def _open_fence(self, marks: str, lang: str, indent: int) -> None:
        self._fence, self._lang, self._fence_indent = marks, lang, indent
        self._first = True
        self._key = self._offset

    def _code_line(self, line: str, out: list[Prose | Code]) -> None:
        if not self._mid_line:
            if _closes(line, self._fence):
                if self._lines or self._first:
                    self._close_code(out)
                self._fence = ""
                self._join = PARAGRAPH
                return
            indent = len(line) - len(line.lstrip(" "))
            line = line[min(indent, self._fence_indent) :]
        if len(self._lines) >= limits.CODE_CHUNK_LINES or self._size > limits.BLOCK:
            self._close_code(out)
            self._first, self._join = False, "\n"
        self._add(line)

    def _unnest(self, out: list[Prose | Code]) -> None:
        """A fence inside a list has grown too large: hand the list out and go on as if the fence stood by itself."""
        marks, lang, hold = self._nested, self._nested_lang, self._hold
        self._nested = ""
        self._close(out, join="\n")
        self._open_fence(marks, lang, hold)
        self._dedent = hold

    def _close_code(self, out: list[Prose | Code]) -> None:
        gap = self._first and self._any and not self._after_heading
        out.append(Code(self._key, "\n".join(self._lines), self._lang, gap, self._join, self._first))
        self._handed_out(heading=False)
        self._join = "\n"

    # -- the open block -------------------------------------------------------------------------------------------

    def _add(self, line: str) -> None:
        if not self._lines:
            self._key = max(self._key, self._offset)
        self._lines.append(line)
        self._size += len(line) + 1

    def _close(self, out: list[Prose | Code], *, join: str = PARAGRAPH, heading: bool = False) -> None:
        """Hand the open block out, if there is one; `join` is what will stand between it and the next."""
        if self._lines and any(line.strip() for line in self._lines):
            gap = self._any and not self._after_heading and self._join == PARAGRAPH
            text = "\n".join(self._lines).rstrip("\n") if join == PARAGRAPH else "\n".join(self._lines)
            out.append(Prose(self._key, text, gap, self._join, self._head, self._carry, heading))
            self._handed_out(heading=heading)
        self._join = join
        self._lines = []
        self._size = 0
        self._hold = self._blanks = self._number = self._carry = 0
        self._is_list = False
        self._head, self._head_at = "", -1

    def _handed_out(self, *, heading: bool) -> None:
        self._lines = []
        self._size = 0
        self._any = True
        self._after_heading = heading
        self._key += 1


def split(text: str) -> list[Prose | Code]:
    """All blocks of a finished text."""
    splitter = Splitter()
    blocks = splitter.feed(text)
    blocks.extend(splitter.finish())
    return blocks


def chunks(text: str) -> list[tuple[int, str, str]]:
    """`text`, not Markdown, in pieces small enough to be drawn on their own.

    Each is (offset, piece, join): what stood before the piece and is in neither, a newline, a blank or nothing.
    """
    out: list[tuple[int, str, str]] = []
    start, join = 0, "\n"
    while len(text) - start > limits.BLOCK:
        end = text.rfind("\n", start + 1, start + limits.BLOCK)
        if end < 0:
            end = text.rfind(" ", start + limits.BLOCK // 2, start + limits.BLOCK)
        next_join = text[end] if end >= 0 else ""
        if end < 0:
            end = start + limits.BLOCK
        out.append((start, text[start:end], join))
        start, join = end + len(next_join), next_join
    out.append((start, text[start:], join))
    return out


def _language(info: str) -> str:
    words = info.strip().split(maxsplit=1)
    return words[0].strip("{}.") if words else ""


def _is_rule(line: str) -> bool:
    return _TABLE_RULE.match(line) is not None


def _closes(line: str, marks: str) -> bool:
    body = line.strip()
    return len(body) >= len(marks) and not body.strip(marks[0])
