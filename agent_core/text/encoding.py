"""Bytes of a file to text and back without changing a byte that was not edited."""

from __future__ import annotations

import codecs
import re
from typing import Final

from agent_core.errors import ToolFailure
from agent_core.records import dataclass
from agent_core.text.kinds import kind_of

_BOMS: Final = (
    # UTF-32 first: its little-endian mark begins like that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE: Final = 65_536  # bytes or characters a guess is made from; the decoding itself always covers everything
_ODD_CONTROLS: Final = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_ASCII: Final = re.compile(r"[\x00-\x7f]+")
_FOREIGN_RUN: Final = re.compile(r"[\x80-\xff]{3,}")
_ODD_IN_TEXT: Final = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")
_KOREAN_LEAST: Final = 8  # characters; of fewer, Chinese text too has all in the rows where EUC-KR has its syllables


@dataclass(frozen=True, slots=True)
class Decoded:
    """`text` has its line ends as they are in the file, and no byte order mark."""

    text: str
    encoding: str
    """A Python codec: utf-8, utf-16-le, utf-16-be, utf-32-le, utf-32-be, gb18030, latin-1, cp1252."""
    bom: bool
    newline: str
    """The line end most lines have, LF or CRLF; CR where it is the only one. LF when there is none."""


UTF8: Final = Decoded("", "utf-8", False, "\n")
"""How a new file is written."""


def decode(data: bytes, *, cut: bool = False) -> Decoded:
    """The text of a file. `cut`: `data` is only its beginning and may end inside a character.

    UTF-8, any UTF with its byte order mark, UTF-16 without one, GB18030, Latin-1 (or Windows-1252) where it is clearly
    text. Raises ToolFailure with code "binary" for anything else; what is returned encodes to exactly `data` again.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            text = _decoded(data[len(mark) :], encoding, cut)
            if text is None:
                raise _binary(data)
            return Decoded(text, encoding, True, _newline(text))
    sample = data[:_SAMPLE]
    if (wide := _wide_without_mark(data, sample, cut)) is not None:
        return wide
    if b"\0" in data or len(_ODD_CONTROLS.findall(sample)) > len(sample) // 10:
        raise _binary(data)
    for encoding, plausible in (("utf-8", True), ("gb18030", None), ("latin-1", None), ("cp1252", None)):
        text = _decoded(data, encoding, cut)
        if text is not None and (plausible or _plausible(text, encoding, sample)):
            return Decoded(text, encoding, False, _newline(text))
    raise _binary(data)


def encode(text: str, like: Decoded) -> bytes:
    """`text` in the encoding of `like`, with its byte order mark; line ends are written as they are in `text`.

    Raises ToolFailure with code "encoding" for a character the encoding does not have, and where the bytes would no
    longer tell their encoding: they would be read as other text next time.
    """
    try:
        data = text.encode(like.encoding)
    except UnicodeEncodeError as error:
        raise ToolFailure(
            f"The file is in {like.encoding}, which has no {text[error.start]!a}. "
            "Write the text without it, or ask the person whether the file may become UTF-8.",
            code="encoding",
        ) from None
    if not like.bom and like.encoding != UTF8.encoding and not _tells_itself(data, text):
        raise ToolFailure(
            f"The file is in {like.encoding}, and with this change nothing in it would show that any more. "
            "Ask the person whether the file may become UTF-8 first.",
            code="encoding",
        )
    mark = next((mark for mark, encoding in _BOMS if encoding == like.encoding), b"")
    return mark + data if like.bom else data


def _tells_itself(data: bytes, text: str) -> bool:
    try:
        return decode(data).text == text
    except ToolFailure:
        return False


def fit_newlines(text: str, like: Decoded) -> str:
    """`text`, whose lines end in LF, with the line ends of `like`. Text that has carriage returns is left alone."""
    return text if like.newline == "\n" or "\r" in text else text.replace("\n", like.newline)


def plain_newlines(file: Decoded) -> str:
    """The text with each line end as a line feed."""
    return file.text.replace("\r", "\n") if file.newline == "\r" else file.text.replace("\r\n", "\n")


def lines_of(text: str) -> list[str]:
    """Without their ends, which are LF or CRLF; no empty one after the last."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _decoded(data: bytes, encoding: str, cut: bool) -> str | None:
    try:
        text: str = codecs.getincrementaldecoder(encoding)("strict").decode(data, final=not cut)
        again = text.encode(encoding)
    except UnicodeError:
        return None
    return text if (data.startswith(again) if cut else again == data) else None


def _plausible(text: str, encoding: str, sample: bytes) -> bool:
    """Whether bytes that can be read in an old encoding are likely to have been written in it."""
    foreign = _ASCII.sub("", text[:_SAMPLE])
    if encoding == "gb18030":
        # Any two high bytes are some character; in Chinese text nearly all are of the common set, in Latin-1 text
        # read this way hardly any.
        return len(foreign.encode("gb2312", "ignore")) > len(foreign) and not _is_neighbour(foreign)
    # A few foreign characters are no sign in a short text.
    if len(foreign) > 4 + 3 * len(text[:_SAMPLE]) // 10 or _ODD_CONTROLS.search(sample):
        return False
    # In Latin text they stand among letters; in runs, and different ones, they are another alphabet, or characters of
    # several bytes. A line drawn of one of them is no run.
    in_runs = sum(len(run) for run in _FOREIGN_RUN.findall(text[:_SAMPLE]) if len(set(run)) > 1) if foreign else 0
    if 5 * in_runs > len(foreign):
        return False
    return encoding == "cp1252" or not re.search("[\x80-\x9f]", text)


def _is_neighbour(foreign: str) -> bool:
    """Whether characters read as Chinese were written as Japanese (EUC-JP, by its kana) or Korean (EUC-KR).

    Those two have their own characters where GB2312 has common ones.
    """
    pairs = [pair for character in foreign if len(pair := character.encode("gb18030")) == 2]
    kana = sum(pair[0] in (0xA4, 0xA5) for pair in pairs)
    if 8 * kana > len(pairs):
        return True
    return len(pairs) >= _KOREAN_LEAST and all(0xB0 <= pair[0] <= 0xC8 and pair[1] >= 0xA1 for pair in pairs)


def _wide_without_mark(data: bytes, sample: bytes, cut: bool) -> Decoded | None:
    """UTF-16 that does not say so: zeros stand in every other place of it where it has ASCII, and nowhere else."""
    if len(data) < 8 or (len(data) % 2 and not cut):
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if min(even, odd) or 4 * max(even, odd) < len(sample) // 2:
        return None
    encoding = "utf-16-le" if odd else "utf-16-be"
    text = _decoded(data, encoding, cut)
    if text is None or _ODD_IN_TEXT.search(text):
        return None
    return Decoded(text, encoding, False, _newline(text))


def _newline(text: str) -> str:
    lines = text.count("\n")
    if not lines:  # beside a line feed a carriage return is no line end: it draws a progress bar anew
        return "\r" if "\r" in text else "\n"
    return "\r\n" if 2 * text.count("\r\n") > lines else "\n"


def _binary(data: bytes) -> ToolFailure:
    kind = kind_of(data)
    text = (
        f"This is {kind}, not text. Look at it with a command made for its kind."
        if kind
        else "This is a binary file, or text in an encoding that is not told by its bytes. Look at it with a command: "
        "file says what it is, iconv -f ENCODING -t UTF-8 shows text of an old encoding, xxd shows bytes."
    )
    return ToolFailure(
        text,
        code="binary",
        outcome="binary",
    )
