"""The search engine for machines without ripgrep, as a program of its own.

    python -I -S scan_child.py FLAGS PATTERN MAX FILE...

A program, because a Python regular expression holds the interpreter while it runs: apart it can be killed, and the
screen never waits for it. FLAGS: "i" to ignore case, "-" for none. Writes FILE NUL LINE-NUMBER ":" LF for at most
MAX matching lines a file, as ripgrep does with the options of scan.py. Imports only the standard library.
"""

import re
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE


def text_of(data: bytes) -> str | None:
    """The text of a file by the first encoding it fits; None for a binary file."""
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        return wide_text(data)
    for encoding in ("utf-8-sig", "gb18030", "latin-1"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return None


def wide_text(data: bytes) -> str | None:
    """The text of a file that may be UTF-16 without a mark. Whoever shows its lines looks closer at what it is."""
    even, odd = data[::2].count(0), data[1::2].count(0)
    try:
        return data.decode("utf-16-le" if odd > even else "utf-16-be")
    except UnicodeDecodeError:
        return None


def matching_lines(text: str, pattern: re.Pattern[str], most: int) -> list[int]:
    """Numbers, from 1, of the first `most` lines that match. Nothing is a line after the last line end."""
    found = []
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        if pattern.search(line.removesuffix("\r")):
            found.append(number)
            if len(found) == most:
                break
    return found


def main(flags: str, pattern: str, most: str, *files: str) -> None:
    expression = re.compile(pattern, re.IGNORECASE if "i" in flags else 0)
    out = sys.stdout.buffer
    for file in files:
        try:
            with open(file, "rb") as opened:
                text = text_of(opened.read())
        except OSError:  # gone or closed to us: as if it did not match, like ripgrep without messages
            continue
        name = file.encode("utf-8", "surrogateescape")
        for number in matching_lines(text or "", expression, int(most)):
            out.write(b"%s\0%d:\n" % (name, number))
        out.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
