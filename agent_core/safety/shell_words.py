"""A shell parser: text in, commands out; nothing is expanded or run.

It reads what bash and POSIX shells read: quotes, escapes, line joins, comments, expansions, substitutions,
here-documents, redirections, pipelines, groups, loops, conditionals, cases and functions. It never raises: a shell runs
the lines before a syntax error, so the parser notes the error, steps over it and goes on. `Script.ok` says whether it
understood all.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from agent_core import limits
from agent_core.records import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Characters that stand for themselves; unquoted ones may still glob, brace-expand or begin with a tilde."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name` or `${name<op><word>}`; `op` is "" without an operator."""

    name: str
    op: str
    word: Word | None
    quoted: bool


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(...)`, backticks, or `<(...)` and `>(...)` (`process`)."""

    script: Script
    quoted: bool
    process: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$((...))`: a number nobody computes here; the substitutions inside still run."""

    word: Word


Part: TypeAlias = Text | Variable | Substitution | Arithmetic


@dataclass(frozen=True, slots=True)
class Word:
    """One word as written, in parts."""

    parts: tuple[Part, ...]

    @property
    def bare(self) -> str | None:
        """The text if no part is quoted or expanded: only such a word can be a reserved word or a name."""
        if all(isinstance(part, Text) and not part.quoted for part in self.parts):
            return "".join(part.text for part in self.parts if isinstance(part, Text))
        return None


@dataclass(slots=True)
class Redirect:
    """`fd op target`; for `<<` the target is the here-document's body, filled in when the parser reaches it."""

    op: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments, words, redirections."""

    assigns: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class Compound:
    """A group, subshell, conditional, loop or case. All branches lie in `body`; `for` has a name and words."""

    kind: Literal["group", "subshell", "if", "loop", "for", "case"]
    body: tuple[Pipeline, ...]
    redirects: tuple[Redirect, ...]
    name: str = ""
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A function definition."""

    name: str
    body: tuple[Pipeline, ...]


Command: TypeAlias = Simple | Compound | Function


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`; `background` if it ends with `&`."""

    commands: tuple[Command, ...]
    background: bool


@dataclass(frozen=True, slots=True)
class Script:
    """A parsed text. `ok` is false after a syntax error, `deep` when nesting passed the bound and was not read."""

    pipelines: tuple[Pipeline, ...]
    ok: bool
    deep: bool


_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)+")
_PLAIN: Final = re.compile(r"[^ \t\n'\"\\$`;&|<>()]+")
_IN_QUOTES: Final = re.compile(r'[^"\\$`]+')
_IN_DOCUMENT: Final = re.compile(r"[^\\$`]+")
_IN_BRACES: Final = re.compile(r"[^}'\"\\$`]+")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_BRACED_NAME: Final = re.compile(r"([!#]?)([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*?$!-]|#(?=[}:%#/+=?-]))(\[[^]]*\])?")
_BRACED_OP: Final = re.compile(r":?[-=?+]|%%?|##?|//?|\^\^?|,,?|:|@")
_ASSIGN: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^]]*\])?\+?=")
_REDIRECT: Final = re.compile(r"(?:[0-9]+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<>|<&|>>|>&|>\||<|>)|(&>>|&>)")
_OPERATOR: Final = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|\n]")
_ANSI_C: Final = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.S)
_ANSI_C_LETTERS: Final = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))

_SKIPPED: Final = frozenset({"then", "else", "elif", "do", "!"})
_CLOSERS: Final = frozenset({"fi", "done", "esac", "}"})


def parse(text: str) -> Script:
    """Parse shell text."""
    return _Parser(text, 0).script()


def decode_ansi_c(text: str) -> str:
    """Undo the escapes of `$'...'`, `echo -e` and `printf`."""

    def one(match: re.Match[str]) -> str:
        body = match[1]
        if body[0] in "xuU" and len(body) > 1:
            code = int(body[1:], 16)
        elif body[0] in "01234567":
            code = int(body, 8) & 0xFF
        elif body[0] == "c":
            code = ord(body[1]) & 0x1F
        else:
            return _ANSI_C_LETTERS.get(body, body)
        return chr(code) if code < 0x110000 else ""

    return _ANSI_C.sub(one, text)


class _Parser:
    """One pass over one text; `at` is the position. Nested backticks get a parser of their own."""

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self.depth = depth
        self.ok = True
        self.deep = False
        self.documents: list[tuple[Redirect, str, bool, bool]] = []
        """Here-documents whose bodies begin after the next line end: delimiter, strip tabs, quoted."""

    def script(self) -> Script:
        pipelines = list(self.list_until(frozenset(), closer=""))
        while self.at < len(self.text):  # a stray closer: step over it and go on
            self.ok = False
            self.at += 1
            pipelines += self.list_until(frozenset(), closer="")
        return Script(tuple(pipelines), self.ok, self.deep)

    # -- lists and commands ------------------------------------------------------------------------------------

    def list_until(self, stops: frozenset[str], closer: str) -> tuple[Pipeline, ...]:
        """Read pipelines up to a reserved word in `stops` (consumed), the character `closer` (left) or the end."""
        self.depth += 1
        if self.depth > limits.SHELL_DEPTH:
            self.deep = True
            self.at = len(self.text)
            return ()
        pipelines: list[Pipeline] = []
        commands: list[Command] = []

        def end(background: bool = False) -> None:
            if commands:
                pipelines.append(Pipeline(tuple(commands), background))
                commands.clear()

        while True:
            self.blanks()
            if self.at >= len(self.text):
                if stops or closer:
                    self.ok = False
                break
            if self.text[self.at] == ")":
                if closer == ")" or not stops:
                    break
                self.ok = False
                self.at += 1
                continue
            operator = None if _REDIRECT.match(self.text, self.at) else _OPERATOR.match(self.text, self.at)
            if operator:
                self.at = operator.end()
                if operator[0] == "\n":
                    self.here_documents()
                if operator[0] in ("|", "|&"):
                    continue
                if operator[0] in (";;", ";&", ";;&") and ";;" in stops:
                    break
                end(background=operator[0] == "&")
                continue
            before = self.at
            reserved = self.reserved()
            if reserved in stops:
                break
            if reserved in _SKIPPED or reserved in _CLOSERS:
                if reserved in _CLOSERS:
                    self.ok = False
                continue
            self.at = before
            commands.append(self.command())
            if self.at == before:  # cannot happen by the grammar above; without it a slip would loop for ever
                self.ok = False
                self.at += 1
        end()
        self.depth -= 1
        return tuple(pipelines)

    def reserved(self) -> str:
        """Read a bare word; "" if something else stands here."""
        match = _PLAIN.match(self.text, self.at)
        if not match or (match.end() < len(self.text) and self.text[match.end()] in "'\"\\$`"):
            return ""
        self.at = match.end()
        return match[0]

    def command(self) -> Command:
        """Read one command with its redirections."""
        if self.text[self.at] == "(":
            return self.parenthesis()
        start = self.at
        word = self.reserved()
        match word:
            case "{":
                return self.compound("group", frozenset({"}"}))
            case "if":
                return self.compound("if", frozenset({"fi"}))
            case "while" | "until":
                return self.compound("loop", frozenset({"done"}))
            case "for" | "select":
                return self.for_loop()
            case "case":
                return self.case()
            case "function":
                self.blanks()
                name = self.reserved()
                self.skip_empty_parentheses()
                return self.function(name)
        self.at = start
        return self.simple()

    def compound(self, kind: Literal["group", "if", "loop"], stops: frozenset[str]) -> Compound:
        body = self.list_until(stops, closer="")
        return Compound(kind, body, self.redirects())

    def parenthesis(self) -> Compound:
        """`( list )`, or `(( expression ))`, which an older shell would run as two subshells: read as a list, too."""
        end = self.arithmetic_end(self.at + 2) if self.text.startswith("((", self.at) else -1
        if end >= 0:
            inner = _Parser(self.text[self.at + 2 : end], self.depth)
            self.at = end + 2
            script = inner.script()
            self.deep |= script.deep
            return Compound("subshell", script.pipelines, self.redirects())
        self.at += 1
        body = self.list_until(frozenset(), closer=")")
        self.at += 1
        return Compound("subshell", body, self.redirects())

    def arithmetic_end(self, at: int) -> int:
        """Where the `))` that closes an expression begins; -1 if these parentheses hold commands."""
        level = 0
        for match in re.compile(r"[()'\"`\n]").finditer(self.text, at):
            if match[0] == "(":
                level += 1
            elif match[0] == ")":
                if level == 0:
                    return match.start() if self.text.startswith("))", match.start()) else -1
                level -= 1
            elif match[0] != "\n":
                return -1
        return -1

    def for_loop(self) -> Compound:
        self.blanks()
        if self.text.startswith("((", self.at):
            end = self.arithmetic_end(self.at + 2)
            self.at = end + 2 if end >= 0 else self.at + 2
            return Compound("loop", self.list_until(frozenset({"done"}), closer=""), self.redirects())
        name = self.reserved()
        words: list[Word] = []
        self.blanks(lines=True)
        start = self.at
        if self.reserved() == "in":
            while True:
                self.blanks()
                word = self.word()
                if word is None:
                    break
                words.append(word)
        else:
            self.at = start
        body = self.list_until(frozenset({"done"}), closer="")
        return Compound("for", body, self.redirects(), name, tuple(words))

    def case(self) -> Compound:
        self.blanks()
        subject = self.word()
        self.blanks(lines=True)
        if self.reserved() != "in":
            self.ok = False
        body: list[Pipeline] = []
        while self.at < len(self.text):
            self.blanks(lines=True)
            start = self.at
            if self.reserved() == "esac":
                break
            self.at = start
            while self.at < len(self.text) and self.text[self.at] != ")":  # the pattern
                if self.word() is None:
                    self.at += 1
            self.at += 1
            before = self.at
            body += self.list_until(frozenset({";;", "esac"}), closer="")
            if self.text[before : self.at].endswith("esac"):
                break
        return Compound("case", tuple(body), self.redirects(), words=(subject,) if subject else ())

    def function(self, name: str) -> Function:
        self.blanks(lines=True)
        self.depth += 1
        self.deep |= self.depth > limits.SHELL_DEPTH
        if self.at >= len(self.text) or self.deep:
            self.ok = False
            self.at = len(self.text)
            return Function(name, ())
        body = self.command()
        self.depth -= 1
        return Function(name, (Pipeline((body,), False),))

    def skip_empty_parentheses(self) -> bool:
        match = re.compile(r"[ \t]*\([ \t]*\)").match(self.text, self.at)
        if match:
            self.at = match.end()
        return match is not None

    def simple(self) -> Command:
        assigns: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        test = self.text.startswith("[[", self.at)
        while self.at < len(self.text):
            self.blanks()
            found = None if test else self.redirect()
            if found:
                redirects.append(found)
                continue
            assign = None if words else _ASSIGN.match(self.text, self.at)
            if assign:
                self.at = assign.end()
                value = self.array() if self.text.startswith("(", self.at) else self.word()
                assigns.append((assign[1], value or Word(())))
                continue
            word = self.word()
            if word is None:
                # Inside [[ ]] the operators are ordinary: only the closing word or a line end ends the test.
                if test and self.at < len(self.text) and self.text[self.at] != "\n":
                    self.at += 1
                    continue
                break
            words.append(word)
            if test and word.bare == "]]":
                test = False
            if len(words) == 1 and not assigns and word.bare and self.skip_empty_parentheses():
                return self.function(word.bare)
        return Simple(tuple(assigns), tuple(words), tuple(redirects))

    def array(self) -> Word:
        """`name=( words )`, as one word of its parts."""
        self.at += 1
        parts: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] != ")":
            self.blanks(lines=True)
            word = self.word()
            if word is None:
                if self.at < len(self.text) and self.text[self.at] != ")":
                    self.at += 1
                continue
            parts += [*word.parts, Text(" ", True)]
        self.at += 1
        return Word(tuple(parts[:-1]))

    def redirects(self) -> tuple[Redirect, ...]:
        found: list[Redirect] = []
        while True:
            self.blanks()
            redirect = self.redirect()
            if redirect is None:
                return tuple(found)
            found.append(redirect)

    def redirect(self) -> Redirect | None:
        match = _REDIRECT.match(self.text, self.at)
        if not match or (match[1] in ("<", ">") and self.text.startswith("(", match.end())):
            return None  # <( and >( begin a word
        self.at = match.end()
        op = match[1] or match[2]
        self.blanks()
        if op in ("<<", "<<-"):
            start = self.at
            delimiter = self.word()
            if delimiter is None:
                self.ok = False
                return Redirect("<<", Word(()))
            text = "".join(part.text for part in delimiter.parts if isinstance(part, Text))
            quoted = any(mark in self.text[start : self.at] for mark in "'\"\\")
            redirect = Redirect("<<", Word(()))
            self.documents.append((redirect, text, op == "<<-", quoted))
            return redirect
        return Redirect(op, self.word() or Word(()))

    def here_documents(self) -> None:
        """Read the bodies that begin here."""
        waiting, self.documents = self.documents, []
        for redirect, delimiter, strip, quoted in waiting:
            lines: list[str] = []
            closed = False
            while self.at < len(self.text) and not closed:
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                line = line.lstrip("\t") if strip else line
                closed = line == delimiter
                if not closed:
                    lines.append(line + "\n")
            self.ok &= closed
            body = "".join(lines)
            redirect.target = Word((Text(body, True),)) if quoted else self.nested(body).document()

    def document(self) -> Word:
        """The whole text as the body of an unquoted here-document."""
        parts: list[Part] = []
        while self.at < len(self.text):
            self.quoted_part(parts, _IN_DOCUMENT, '"')
        return Word(tuple(parts))

    def nested(self, text: str) -> _Parser:
        return _Parser(text, self.depth + 1)

    # -- words -------------------------------------------------------------------------------------------------

    def blanks(self, lines: bool = False) -> None:
        """Skip blanks, line joins and comments; with `lines` line ends, too."""
        while self.at < len(self.text):
            match = _BLANKS.match(self.text, self.at)
            if match:
                self.at = match.end()
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif lines and self.text[self.at] == "\n":
                self.at += 1
                self.here_documents()
            else:
                return

    def word(self) -> Word | None:
        """Read one word; None if none begins here."""
        start = self.at
        parts: list[Part] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                parts.append(Text(plain[0], False))
                self.at = plain.end()
            elif char == "'":
                self.single_quotes(parts)
            elif char == '"':
                self.double_quotes(parts)
            elif char == "\\":
                if self.text.startswith("\n", self.at + 1):
                    self.at += 2
                    continue
                self.ok &= self.at + 1 < len(self.text)
                parts.append(Text(self.text[self.at + 1 : self.at + 2], True))
                self.at += 2
            elif char == "$":
                self.dollar(parts, quoted=False)
            elif char == "`":
                self.backticks(parts, quoted=False)
            elif char in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 2
                parts.append(Substitution(self.parenthesised(), False, process=True))
            else:
                break
        return Word(tuple(parts)) if self.at > start and parts else None

    def single_quotes(self, parts: list[Part]) -> None:
        end = self.text.find("'", self.at + 1)
        self.ok &= end >= 0
        end = len(self.text) if end < 0 else end
        parts.append(Text(self.text[self.at + 1 : end], True))
        self.at = end + 1

    def double_quotes(self, parts: list[Part]) -> None:
        self.at += 1
        parts.append(Text("", True))  # "" is a word, even an empty one
        while self.at < len(self.text) and self.text[self.at] != '"':
            self.quoted_part(parts, _IN_QUOTES, '"')
        self.ok &= self.at < len(self.text)
        self.at += 1

    def quoted_part(self, parts: list[Part], plain: re.Pattern[str], escapable: str) -> None:
        """Read one part inside double quotes or a here-document."""
        char = self.text[self.at]
        match = plain.match(self.text, self.at)
        if match:
            parts.append(Text(match[0], True))
            self.at = match.end()
        elif char == "\\":
            following = self.text[self.at + 1 : self.at + 2]
            if following != "\n":
                escaped = following and following in "$`\\" + escapable
                parts.append(Text(following if escaped else char + following, True))
            self.at += 2
        elif char == "$":
            self.dollar(parts, quoted=True)
        else:
            self.backticks(parts, quoted=True)

    def backticks(self, parts: list[Part], quoted: bool) -> None:
        match = re.compile(r"`((?:[^`\\]|\\.)*)(`?)", re.S).match(self.text, self.at)
        assert match is not None  # the caller stands on a backtick
        self.at = match.end()
        self.ok &= match[2] == "`"
        inner = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", match[1])
        script = self.nested(inner).script()
        self.ok &= script.ok
        self.deep |= script.deep
        parts.append(Substitution(script, quoted))

    def parenthesised(self) -> Script:
        """The commands up to the closing parenthesis, which is consumed."""
        waiting, self.documents = self.documents, []
        body = self.list_until(frozenset(), closer=")")
        self.documents = waiting
        self.at += 1
        return Script(body, self.ok, self.deep)

    def dollar(self, parts: list[Part], quoted: bool) -> None:
        """Read what begins with `$`."""
        text, at = self.text, self.at
        following = text[at + 1 : at + 2]
        if following == "(":
            end = self.arithmetic_end(at + 3) if text.startswith("((", at + 1) else -1
            if end >= 0:
                self.at = end + 2
                parts.append(Arithmetic(self.nested(text[at + 3 : end]).document()))
            else:
                self.at += 2
                parts.append(Substitution(self.parenthesised(), quoted))
        elif following == "{":
            self.braces(parts, quoted)
        elif following == "'" and not quoted:
            match = re.compile(r"'((?:[^'\\]|\\.)*)('?)", re.S).match(text, at + 1)
            assert match is not None  # a quote stands there
            self.at = match.end()
            self.ok &= match[2] == "'"
            parts.append(Text(decode_ansi_c(match[1]), True))
        elif following == '"' and not quoted:
            self.at += 1
            self.double_quotes(parts)
        elif name := _NAME.match(text, at + 1):
            self.at = name.end()
            parts.append(Variable(name[0], "", None, quoted))
        else:
            parts.append(Text("$", True))
            self.at += 1

    def braces(self, parts: list[Part], quoted: bool) -> None:
        """`${...}`."""
        self.at += 2
        self.depth += 1
        head = _BRACED_NAME.match(self.text, self.at)
        if not head or self.depth > limits.SHELL_DEPTH:
            self.ok = False
            self.deep |= self.depth > limits.SHELL_DEPTH
            parts.append(Variable("?", "?", None, quoted))
            self.depth -= 1
            return
        self.at = head.end()
        op = _BRACED_OP.match(self.text, self.at)
        operator = head[1] + (op[0] if op else "")
        if op:
            self.at = op.end()
        if head[3]:
            operator = "[" + operator  # an array element: its value is not followed
        inner: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] != "}":
            char = self.text[self.at]
            plain = _IN_BRACES.match(self.text, self.at)
            if plain:
                inner.append(Text(plain[0], quoted))
                self.at = plain.end()
            elif char == "'" and not quoted:
                self.single_quotes(inner)
            elif char == "'":
                inner.append(Text(char, True))
                self.at += 1
            elif char == '"':
                self.double_quotes(inner)
            else:
                self.quoted_part(inner, _IN_BRACES, '"}')
        self.ok &= self.at < len(self.text)
        self.at += 1
        self.depth -= 1
        parts.append(Variable(head[2], operator, Word(tuple(inner)) if inner else None, quoted))
