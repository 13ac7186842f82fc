"""Text for a terminal: made harmless, measured in cells rather than characters, cut and wrapped by them.

Everything that comes from users, models, tools or servers goes through `clean` before it reaches the screen. Widths
are Rich's, because they are what Textual lays out by.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePath
from typing import Final, Literal

from rich.cells import cell_len, split_graphemes

from agent_core.records import dataclass
from nanoherm_tui.i18n import t
from nanoherm_tui.symbols import is_ascii, sym

TAB: Final = 8

# Escape sequences in their 7-bit form: CSI, the strings that end with BEL or ST, character sets, and two-byte ones.
_ESCAPES = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"
    r"|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"
    r"|[()*+\-./#%][0-~]"
    r"|[0-Z\\^-~]"
    r")"
)
# What a terminal obeys: C0 (but tab and newline), DEL, C1.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# What shows nothing and may change how the rest is read: soft hyphen, zero-width and bidirectional controls, invisible
# operators, tags.
_UNSEEN = re.compile(
    "[\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Joiners that join nothing: Rich lets them swallow the character after, so a width would no longer be a sum.
_LOOSE_JOINERS = re.compile("(?:(?<=[\x00-\x7f])|^)[\u200d\ufe0f]+|\u200d+(?![^\x00-\x7f\u200d\ufe0f])", re.MULTILINE)
_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_PASTED_ENDS = re.compile("\r\n?")
_SURROGATES = re.compile("[\ud800-\udfff]")
# All of these that take no cell.
_NO_CELL = re.compile(f"{_CONTROLS.pattern}|(?!\xad){_UNSEEN.pattern}|[\u2028\u2029]")
_PLAIN = re.compile(r"[ -~\n]*\Z")
_ODD = re.compile(r"[^ -~\n]")
_WORD_WITH_BLANKS: Final = re.compile(r"\S+\s*|\s+")
_LONG: Final = 512  # characters; Rich remembers the widths of shorter texts, and walks longer ones

# No row starts with the first, none ends with the second.
_NOT_FIRST: Final = frozenset("，。、；：！？）」』】》〉〕｝”’…％·,.!?;:)]}%")
_NOT_LAST: Final = frozenset("（「『【《〈〔｛“‘([{")
_WIDE_NOT_FIRST: Final = frozenset(mark for mark in _NOT_FIRST if not mark.isascii())
_WIDE_NOT_LAST: Final = frozenset(mark for mark in _NOT_LAST if not mark.isascii())


def clean(text: str, tab_size: int = TAB) -> str:
    """`text` fit for a terminal: control bytes as pictures of themselves, bidirectional and invisible characters out.

    Line ends of every kind become a newline and tabs blanks (`tab_size` 0 keeps tabs). Nothing is ever markup. Each
    character is looked at by itself, so a text that comes in pieces looks as it does in one.
    """
    if _PLAIN.match(text):
        return text
    text = _ENDS.sub("\n", text)
    text = _CONTROLS.sub(lambda found: _picture(found[0]), text)
    text = _UNSEEN.sub("", text)
    text = _SURROGATES.sub("\ufffd", text)
    if "\u200d" in text or "\ufe0f" in text:
        text = _LOOSE_JOINERS.sub("", text)
    return text.expandtabs(tab_size) if tab_size and "\t" in text else text


def _picture(control: str) -> str:
    """A control byte as something to see: ESC is ␛, in ASCII ^[, and CSI, which has no picture, \\x9b."""
    code = ord(control)
    if code >= 0x80:
        return _escape(control)
    if is_ascii():
        return "^" + chr(code ^ 0x40)
    return chr(0x2421 if code == 0x7F else 0x2400 + code)


def harmless(text: str) -> str:
    """A part of a text that is being edited as it is drawn: in the same cells, without what a terminal would obey."""
    return text if _PLAIN.match(text) else _SURROGATES.sub("\ufffd", _NO_CELL.sub("", text))


def pasted(text: str) -> str:
    """A pasted text fit for a draft: its line ends newlines, escape sequences and control bytes taken out.

    What is left is what somebody sees before sending it; the text itself is not changed for the screen's sake.
    """
    return _CONTROLS.sub("", _PASTED_ENDS.sub("\n", _ESCAPES.sub("", text)))


def visible(text: str, *, tab_size: int = 0) -> str:
    r"""`text` with every character that does not show itself written out: ESC as \x1b, a direction override as \u202e.

    For what is approved: it has to be read as it is, and must not look like something else. Newlines stay; a tab
    becomes blanks, or with `tab_size` 0 a \t.
    """
    if _PLAIN.match(text):
        return text
    if tab_size:
        text = text.expandtabs(tab_size)
    text = _LOOSE_JOINERS.sub(lambda found: "".join(map(_escape, found[0])), text)
    return _ODD.sub(lambda found: _written_out(found[0]), text)


@lru_cache(maxsize=4096)
def _written_out(character: str) -> str:
    if character == "\t":
        return "\\t"
    # Letters, marks, digits, punctuation and symbols show, and so does an accent on the letter before it; separators
    # but the blank, controls and formats do not.
    kind = unicodedata.category(character)[0]
    shows = kind == "M" or (kind in "LNPS" and cell_len(character) > 0)
    return character if shows else _escape(character)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """`text` cleaned and on one line: runs of blanks and newlines become one blank."""
    return " ".join(clean(text).split())


def width(text: str) -> int:
    """The cells `text` takes on the screen."""
    if len(text) > _LONG and text.isascii() and text.isprintable():
        return len(text)
    return cell_len(text)


def take(text: str, cells: int) -> str:
    """The longest start of `text` that fits into `cells`, never half a character."""
    if cells <= 0:
        return ""
    start = text
    # A look at as many characters as there are cells nearly always does; marks without a width may make it more.
    for reach in (cells + 8, 8 * cells + 64):
        start = text[:reach]
        if start.isascii() and start.isprintable():
            return start[:cells]
        if cell_len(start) > cells:
            break
        if len(start) == len(text):
            return start
    used = 0
    for at, _end, size in _graphemes(start):
        if used + size > cells:
            return start[:at]
        used += size
    return start


def _take_end(text: str, cells: int) -> str:
    used = 0
    for start, end, size in reversed(_graphemes(text)):
        if used + size > cells:
            return text[end:]
        used += size
        if start == 0:
            break
    return text


def cut(text: str, cells: int) -> str:
    """`text`, its end replaced by ⋯ when it is wider than `cells`; then it is exactly `cells` wide."""
    if width(text) <= cells:
        return text
    if cells <= 1:
        return sym("cut") if cells == 1 else ""
    kept = take(text, cells - 1)
    return kept + sym("cut") + " " * (cells - 1 - cell_len(kept))


def cut_path(text: str, cells: int) -> str:
    """`text`, a path with perhaps a line range, cut in the middle so that its last part stays.

    `src/ledger/dates.py:30-80` → `src/ledg⋯/dates.py:30-80`. When even the last part is too wide, its start goes.
    """
    if width(text) <= cells:
        return text
    slash = text.rstrip("/").rfind("/")
    tail = text[slash:] if slash > 0 else text
    room = cells - 1 - cell_len(tail)
    if slash > 0 and room >= 1:
        head = take(text[:slash], room)
        return head + sym("cut") + tail + " " * (room - cell_len(head))
    if cells <= 1:
        return sym("cut") if cells == 1 else ""
    end = _take_end(text, cells - 1)
    return sym("cut") + end + " " * (cells - 1 - cell_len(end))


def cut_middle(text: str, cells: int) -> str:
    """`text`, cut in the middle when it is wider than `cells`, so that both its ends stay."""
    if width(text) <= cells or cells < 3:
        return cut(text, cells)
    end = _take_end(text, cells // 2)
    return cut(text[: len(text) - len(end)], cells - cell_len(end)) + end


def fit(text: str, cells: int, align: Literal["left", "right"] = "left") -> str:
    """`text` cut or padded to exactly `cells`."""
    text = cut(text, cells)
    pad = " " * (cells - cell_len(text))
    return pad + text if align == "right" else text + pad


def shorten_home(path: str, home: str) -> str:
    """`path` with the user's home written as ~."""
    try:
        inside = PurePath(path).relative_to(home)
    except ValueError:
        return path
    return "~" if inside == PurePath() else f"~/{inside}"


# -- wrapping -----------------------------------------------------------------------------------------------------


def wrap_spans(text: str, cells: int) -> list[tuple[int, int]]:
    """Where to break one line of prose: (start, end) of each row in `text`, at least one row.

    Breaks after blanks (which are left out) and around wide characters, keeping 、。）at a row's end and （「 at its
    start; a word wider than the row is broken anywhere.
    """
    cells = max(cells, 2)  # a wide character needs two
    if width(text) <= cells:
        return [(0, len(text))]
    if text.isascii():
        return _wrap_narrow(text, cells)
    return _wrap_graphemes(text, cells)


def _wrap_narrow(text: str, cells: int) -> list[tuple[int, int]]:
    """Wrapping where every character is one cell: a search for blanks instead of a walk."""
    rows: list[tuple[int, int]] = []
    start, size = 0, len(text)
    while size - start > cells:
        blank = text.rfind(" ", start, start + cells + 1)
        word_start = start + len(text[start : start + cells + 1]) - len(text[start : start + cells + 1].lstrip(" "))
        if blank < word_start:  # only leading blanks, or none: break inside the word
            end = after = start + cells
        else:
            end = after = blank
            while end > start and text[end - 1] == " ":
                end -= 1
        while after < size and text[after] == " ":
            after += 1
        rows.append((start, end))
        start = after
    if start < size or not rows:
        rows.append((start, size))
    return rows


def _wrap_graphemes(text: str, cells: int) -> list[tuple[int, int]]:
    rows: list[tuple[int, int]] = []
    marks = _graphemes(text)
    start = 0  # of the row, in characters
    used = 0  # cells of the row so far
    fallback = -1  # index in marks of the last place to break before
    first = 0  # index in marks of the row's first grapheme
    index = 0
    inked = False  # the row has more than blanks
    while index < len(marks):
        begin, end, size = marks[index]
        if text[begin:end] == " ":  # an accent on a blank shows
            # Blanks never start a row, so they may hang over the edge.
            used += size
            index += 1
            continue
        if inked and _may_break(text, marks, index):
            fallback = index
        if used + size > cells and index > first:
            at = fallback if fallback > first else _least_bad(text, marks, first, index)
            row_end = marks[at][0]
            rows.append((start, start + len(text[start:row_end].rstrip(" "))))
            first = at
            start, used, fallback, index, inked = row_end, 0, -1, at, False
            continue
        used += size
        index += 1
        inked = True
    rows.append((start, len(text.rstrip(" ")) if len(text.rstrip(" ")) > start else len(text)))
    return rows


def _may_break(text: str, marks: list[tuple[int, int, int]], index: int) -> bool:
    """Whether a row may end before grapheme `index` (which is not a blank)."""
    begin = marks[index][0]
    before_begin, _, before_size = marks[index - 1]
    before, char = text[before_begin], text[begin]
    if before == " ":
        return char not in _NOT_FIRST or marks[index][2] < 2
    if before_size < 2 and marks[index][2] < 2:
        return False
    return char not in _NOT_FIRST and before not in _NOT_LAST


def unbroken(text: str) -> Iterator[tuple[int, int, str]]:
    """The parts of one line that no row is broken within: where each begins and ends, and itself with the blanks after.

    A word, or one wide character with the punctuation that stays with it. The same places as in `wrap_spans`.
    """
    if text.isascii():
        for word in _WORD_WITH_BLANKS.finditer(text):
            yield word.start(), word.end(), word[0]
        return
    marks = _graphemes(text)
    start = 0
    for index, (begin, end, _) in enumerate(marks):
        if (
            index
            and not text[begin:end].isspace()
            and (text[marks[index - 1][0]] in " \t" or _may_break(text, marks, index))
        ):
            yield start, begin, text[start:begin]
            start = begin
    if start < len(text):
        yield start, len(text), text[start:]


def _least_bad(text: str, marks: list[tuple[int, int, int]], first: int, index: int) -> int:
    """Where to break a row that offers no place before `index`: there, or up to three earlier to heed punctuation."""
    for at in range(index, max(first + 1, index - 3) - 1, -1):
        if text[marks[at][0]] not in _NOT_FIRST and text[marks[at - 1][0]] not in _NOT_LAST:
            return at
    return index


def _graphemes(text: str) -> list[tuple[int, int, int]]:
    return split_graphemes(text)[0]


def wrap(text: str, cells: int) -> list[str]:
    """`text` as rows of prose no wider than `cells`; its own newlines are kept."""
    return [line[a:b] for line in text.split("\n") for a, b in wrap_spans(line, cells)]


def wrap_code_spans(line: str, cells: int) -> tuple[list[tuple[int, int]], int]:
    """Where to break one line of code: (start, end) of each row, nothing left out, and the hang in cells.

    Rows after the first are meant to be drawn `hang` cells in: four deeper than the line, less on narrow screens.
    Breaks after a blank, a comma or the opener of a call or before `.name`, else anywhere but before 、。） and after
    （「.
    """
    cells = max(cells, 2)
    if width(line) <= cells:
        return [(0, len(line))], 0
    indent = len(line) - len(line.lstrip(" "))
    hang = min(indent + 4, cells // 2)
    rows: list[tuple[int, int]] = []
    start, room = 0, cells
    while True:
        end = max(start + len(take(line[start : start + 4 * room], room)), start + 1)
        if end >= len(line):
            break
        least = start + max(1, (end - start) // 2, (indent + 1 if start == 0 else 0))
        for at in range(end, least - 1, -1):
            after = line[at - 1] in " ," or (line[at - 1] in "([{" and line[at - 2 : at - 1] != " ")
            if after or (line[at : at + 1] == "." and line[at + 1 : at + 2].isidentifier()):
                end = at
                break
        else:
            end = _heeding(line, end, least)
        rows.append((start, end))
        start, room = end, cells - hang
    rows.append((start, len(line)))
    return rows, hang


def _heeding(line: str, end: int, least: int) -> int:
    """Where to break a line of code instead of at `end`: up to three characters earlier for wide punctuation."""
    for at in range(end, max(end - 4, least - 1), -1):
        if line[at] not in _WIDE_NOT_FIRST and line[at - 1] not in _WIDE_NOT_LAST and (at == end or width(line[at])):
            return at
    return end


# -- figures ------------------------------------------------------------------------------------------------------


def age(seconds: float) -> str:
    """How long ago, in a few cells: "now", "18m", "3h", "4d"."""
    minutes = int(max(0.0, seconds)) // 60
    if minutes < 1:
        return t("text.now")
    if minutes < 60:
        return t("text.minutes", n=minutes)
    hours = minutes // 60
    return t("text.hours", n=hours) if hours < 24 else t("text.days", n=hours // 24)


def duration(seconds: float, *, running: bool = False) -> str:
    """A time span in at most 7 cells: "3.1 s", "12 s" while running, "1m 15s", "2h 05m"."""
    seconds = max(0.0, seconds)
    if running:
        seconds = float(int(seconds))
    if seconds < 59.95:
        return f"{int(seconds)} s" if running else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    return f"{minutes // 60}h {minutes % 60:02d}m"


def count(n: int) -> str:
    """A number in at most 5 cells: 980, "12.3k", "123k", "1.2M"."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        scaled = n / size
        if scaled >= 0.99995:
            return f"{scaled:.1f}{unit}" if scaled < 99.95 else f"{scaled:.0f}{unit}"
    return str(n)


@dataclass(frozen=True, slots=True)
class Cost:
    """US dollars; `amount` None: no price is known; `at_least`: some are not, so it is more."""

    amount: float | None
    at_least: bool = False


def money(cost: Cost) -> str:
    """A cost in at most 6 cells: "$0.04", "$12.3+" for at least so much, "<$0.01", "$?" for one that is not known."""
    if cost.amount is None:
        return "$?"
    more = "+" if cost.at_least else ""
    if 0 < cost.amount < 0.005:
        return "$0.01+" if more else "<$0.01"
    texts = (f"${cost.amount:.{places}f}{more}" for places in (2, 1, 0))
    return next((text for text in texts if len(text) <= 6), f"${cost.amount / 1_000:.0f}k{more}")


def size(n: int) -> str:
    """A number of bytes for people: "980 B", "4.1 KB", "5.0 MB"."""
    if n < 1_000:
        return f"{n} B"
    scaled, unit = (n / 1024, "KB") if n < 1_000 * 1024 else (n / 1024**2, "MB")
    return f"{scaled:.1f} {unit}" if scaled < 99.95 else f"{scaled:.0f} {unit}"
