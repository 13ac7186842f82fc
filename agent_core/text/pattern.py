r"""Regular expressions that mean the same to ripgrep and to Python, or are refused with words.

Lines are searched one by one, without their line end; a carriage return before it does not belong to the line. The
common ground: literals, `.`, classes with POSIX names, groups, alternatives, repeats, `^ $ \b`, `\d \w \s` and their
opposites, `(?i)`. Where the engines differ in detail (what `\s` or `\w` holds, whether `[^x]` takes a carriage
return, which characters may be escaped) both get an explicit form.
"""

from __future__ import annotations

import re
from typing import Final

from agent_core import limits
from agent_core.records import dataclass

_SPACE: Final = r" \t\x0b\x0c\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "digit": "0-9",
    "lower": "a-z",
    "print": r" -\x7e",
    "punct": r"!-/:-@\[-`{-~",
    "space": r" \t\x0b\x0c",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_CONTROLS: Final = {"t": r"\t", "f": r"\x0c", "v": r"\x0b", "a": r"\x07"}
_REPEAT: Final = re.compile(r"\{(\d{1,4})(?:(,)(\d{0,4}))?\}")
_HEX: Final = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})")
_GROUP: Final = re.compile(r"\?(?::|P?<[A-Za-z_]\w*>|(i):)")
_FLAGS: Final = re.compile(r"\(\?([imsu]+)\)")
_PLAIN: Final = re.compile(r"(?:[A-Za-z0-9 _/\"'%,:;<=>@!`]|\\[^\w\s])+", re.ASCII)


class UnsupportedPattern(ValueError):
    """The text says what cannot be used and what to write instead."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One expression, spelled for each engine."""

    rust: str
    python: str
    ignore_case: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is ASCII text as it stands: in nearly every encoding its bytes are in each file that has it."""
        return not self.ignore_case and _PLAIN.fullmatch(self.rust) is not None


def compile_pattern(text: str, *, fixed: bool = False, ignore_case: bool = False) -> Pattern:
    """`text` for both engines; `fixed`: it is no expression but the text to look for.

    Raises UnsupportedPattern, in words for whoever wrote it.
    """
    if not text:
        raise UnsupportedPattern("the pattern is empty")
    if len(text) > limits.PATTERN_CHARS:
        raise UnsupportedPattern(f"the pattern is longer than {limits.PATTERN_CHARS} characters")
    if "\n" in text or "\r" in text:
        raise UnsupportedPattern("lines are searched one by one, so a pattern has no line breaks")
    if fixed:
        literal = "".join(map(_literal, text))
        return Pattern(literal, literal, ignore_case)
    flags = _FLAGS.match(text)
    if flags:
        text, ignore_case = text[flags.end() :], ignore_case or "i" in flags[1]
    translation = _Translation(text)
    translation.run()
    pattern = Pattern("".join(translation.rust), "".join(translation.python), ignore_case)
    try:
        re.compile(pattern.python)
    except (re.error, OverflowError, RecursionError) as error:
        raise UnsupportedPattern(f"it is not a valid regular expression: {error}") from None
    return pattern


def _literal(char: str) -> str:
    """One character as itself in both engines, in and outside classes."""
    if char.isascii() and not char.isalnum() and char not in " _/\"'%,:;<=>@!`":
        return f"\\x{ord(char):02x}" if ord(char) < 32 or ord(char) == 127 else f"\\{char}"
    return char


class _Translation:
    """One pass over a pattern, writing both spellings."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.rust: list[str] = []
        self.python: list[str] = []
        self.repeatable = False
        """Whether what was written last may be repeated."""

    def run(self) -> None:
        while self.at < len(self.text):
            self._next()
        if self.depth:
            raise UnsupportedPattern("a ( is not closed; write \\( for the character")

    def _write(self, rust: str, python: str | None = None, *, repeatable: bool) -> None:
        self.rust.append(rust)
        self.python.append(rust if python is None else python)
        self.repeatable = repeatable

    def _next(self) -> None:
        char = self.text[self.at]
        self.at += 1
        match char:
            case "\\":
                self._escape()
            case "[":
                self._class()
            case "(":
                self._open()
            case ")":
                self.depth -= 1
                if self.depth < 0:
                    raise UnsupportedPattern("a ) has no (; write \\) for the character")
                self._write(")", repeatable=True)
            case "|":
                self._write("|", repeatable=False)
            case "*" | "+" | "?":
                self._repeat(char)
            case "{" if found := _REPEAT.match(self.text, self.at - 1):
                self.at = found.end()
                self._counted(found)
            case ".":
                self._write(r"[^\r\n]", repeatable=True)
            case "^":
                if self.rust and self.rust[-1] not in ("(?:", "(?i:", "|"):
                    raise UnsupportedPattern("a ^ stands at the start; write \\^ for the character")
                self._write("^", repeatable=False)
            case "$":
                if self.text[self.at : self.at + 1] not in ("", ")", "|"):
                    raise UnsupportedPattern("a $ stands at the end; write \\$ for the character")
                self._write(r"\r?$", "$", repeatable=False)
            case _:
                self._write(_literal(char), repeatable=True)

    def _open(self) -> None:
        self.depth += 1
        if not self.text.startswith("?", self.at):
            self._write("(?:", repeatable=False)
            return
        found = _GROUP.match(self.text, self.at)
        if found is None:
            raise UnsupportedPattern(
                f"groups like ({self.text[self.at : self.at + 3]} (look-around, flags inside) are not supported; "
                "search for the part itself"
            )
        self.at = found.end()
        self._write("(?i:" if found[1] else "(?:", repeatable=False)

    def _counted(self, found: re.Match[str]) -> None:
        low, high = int(found[1]), int(found[3]) if found[3] else None
        if max(low, high or 0) > limits.PATTERN_REPEAT:
            raise UnsupportedPattern(f"a repeat of more than {limits.PATTERN_REPEAT} is not supported")
        if high is not None and high < low:
            raise UnsupportedPattern(f"the repeat {found[0]} is the wrong way round")
        self._repeat(found[0])

    def _repeat(self, repeat: str) -> None:
        if not self.repeatable:
            raise UnsupportedPattern(f"{repeat} has nothing to repeat; write \\{repeat} for the characters")
        if self.text.startswith("?", self.at):
            self.at += 1
            repeat += "?"
        self._write(repeat, repeatable=False)

    def _escape(self) -> None:
        char = self._escaped()
        match char:
            case "b":
                # By ASCII: the engines disagree on what else is a word, and Chinese text stands next to names unparted.
                self._write(r"(?-u:\b)", r"(?a:\b)", repeatable=False)
            case "w":
                self._write(r"[\p{L}\p{N}_]", r"\w", repeatable=True)
            case "W":
                self._write(r"[^\p{L}\p{N}_\r\n]", r"[^\w\r\n]", repeatable=True)
            case "s":
                self._write(f"[{_SPACE}]", repeatable=True)
            case "S":
                self._write(rf"[^{_SPACE}\r\n]", repeatable=True)
            case "d":
                self._write("[0-9]", repeatable=True)
            case "D":
                self._write(r"[^0-9\r\n]", repeatable=True)
            case _:
                self._write(self._character(char), repeatable=True)

    def _escaped(self) -> str:
        if self.at == len(self.text):
            raise UnsupportedPattern("it ends with a backslash; write \\\\ for the character")
        char = self.text[self.at]
        self.at += 1
        return char

    def _character(self, char: str) -> str:
        """The spelling of an escape that stands for one character."""
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in "xuU" and (found := _HEX.match(self.text, self.at - 1)):
            self.at = found.end()
            return self._code(int(found[1] or found[2] or found[3], 16))
        if char in "nr":
            raise UnsupportedPattern("lines are searched one by one, so \\n and \\r match nothing; use $ for the end")
        if char.isascii() and (char.isalnum() or char in "<>"):
            hint = {
                "B": "; use \\b",
                "<": "; use \\b",
                ">": "; use \\b",
                "A": "; use ^",
                "Z": "; use $",
                "z": "; use $",
            }.get(char, "")
            raise UnsupportedPattern(f"\\{char} is not supported{hint}")
        return _literal(char)

    @staticmethod
    def _code(code: int) -> str:
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF or code in (10, 13):
            raise UnsupportedPattern(f"the character U+{code:04X} cannot be searched for")
        return _literal(chr(code))

    def _class(self) -> None:
        text = self.text
        negated = text.startswith("^", self.at)
        self.at += negated
        rust, python = [], []
        first = True
        while True:
            if self.at >= len(text):
                raise UnsupportedPattern("a [ is not closed; write \\[ for the character")
            if text[self.at] == "]" and not first:
                self.at += 1
                break
            first = False
            in_rust, in_python, single = self._member()
            if single and text.startswith("-", self.at) and not text.startswith("-]", self.at):
                self.at += 1
                end, _, end_single = self._member()
                if not end_single:
                    raise UnsupportedPattern("a range in [] needs a character at both ends")
                in_rust = in_python = f"{in_rust}-{end}"
            rust.append(in_rust)
            python.append(in_python)
        start, end = ("[^", r"\r\n]") if negated else ("[", "]")
        self._write(f"{start}{''.join(rust)}{end}", f"{start}{''.join(python)}{end}", repeatable=True)

    def _member(self) -> tuple[str, str, bool]:
        """The next member of a class: its two spellings, and whether it is one character."""
        if self.at >= len(self.text):
            raise UnsupportedPattern("a [ is not closed; write \\[ for the character")
        char = self.text[self.at]
        self.at += 1
        if char == "[" and (found := re.compile(r":(\w+):\]").match(self.text, self.at)):
            if found[1] not in _POSIX:
                raise UnsupportedPattern(f"[:{found[1]}:] is not supported")
            self.at = found.end()
            return _POSIX[found[1]], _POSIX[found[1]], False
        if char != "\\":
            return _literal(char), _literal(char), True
        char = self._escaped()
        match char:
            case "w":
                return r"\p{L}\p{N}_", r"\w", False
            case "s":
                return _SPACE, _SPACE, False
            case "d":
                return "0-9", "0-9", False
            case "W" | "S" | "D" | "b" | "B":
                raise UnsupportedPattern(f"\\{char} inside [] is not supported")
        spelled = self._character(char)
        return spelled, spelled, True
