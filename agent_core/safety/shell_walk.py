"""What a shell text would run: every simple command in it, unwrapped and expanded as far as the text itself says.

Wrappers (sudo, env, timeout, xargs, find -exec ...), scripts in strings (sh -c, eval, here-documents, pipes into a
shell) and substitutions are followed. Variables set in the text, loops, function calls and `cd` are tracked; `echo` and
its like are evaluated. What the text does not say stays UNKNOWN. Nothing is executed, no file is read.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from dataclasses import field, replace
from typing import Final

from agent_core import limits
from agent_core.records import dataclass

from . import shell_words as sw
from .shell_args import (
    HOME,
    ONE,
    SHELLS,
    STAR,
    STREAM,
    UNKNOWN,
    absolute,
    base_name,
    first_operand,
    has_option,
    matches,
    names,
    operands,
    option_value,
    shell_arguments,
)

# More marks (see shell_args), which are gone when a word is expanded.
_OPEN, _COMMA, _CLOSE, _SPLIT = "\ufdd4", "\ufdd5", "\ufdd6", "\ufdd7"
_MARKS: Final = re.compile("[\ufdd0-\ufdef]")
_SHOWN: Final = {ord(UNKNOWN): "…", ord(HOME): "~", ord(STAR): "*", ord(ONE): "?", ord(STREAM): "<()"}

# Wrapper → its short options that take a value, its long ones, and how many operands come before the command.
_WRAPPERS: Final[dict[str, tuple[str, frozenset[str], int]]] = {
    "sudo": ("ugprtTUChDR", frozenset({"user", "group", "prompt", "role", "type", "chdir", "chroot", "host"}), 0),
    "doas": ("uC", frozenset(), 0),
    "env": ("uC", frozenset({"unset", "chdir"}), 0),
    "nohup": ("", frozenset(), 0),
    "setsid": ("", frozenset(), 0),
    "nice": ("n", frozenset({"adjustment"}), 0),
    "ionice": ("cn", frozenset({"class", "classdata"}), 0),
    "chrt": ("TPD", frozenset(), 1),
    "timeout": ("ks", frozenset({"kill-after", "signal"}), 1),
    "gtimeout": ("ks", frozenset({"kill-after", "signal"}), 1),
    "time": ("of", frozenset({"output", "format"}), 0),
    "stdbuf": ("ioe", frozenset({"input", "output", "error"}), 0),
    "exec": ("a", frozenset(), 0),
    "builtin": ("", frozenset(), 0),
    "command": ("", frozenset(), 0),
    "coproc": ("", frozenset(), 0),
    "busybox": ("", frozenset(), 0),
    "toybox": ("", frozenset(), 0),
    "chroot": ("", frozenset(), 1),
    "taskset": ("", frozenset(), 1),
    "flock": ("wE", frozenset({"timeout", "conflict-exit-code"}), 1),
    "gosu": ("", frozenset(), 1),
    "su-exec": ("", frozenset(), 1),
    "xargs": ("ILnPdEas", frozenset({"max-args", "max-procs", "delimiter", "arg-file", "max-lines", "max-chars"}), 0),
}
# Wrappers with options by the dozen: the first word after them that names a program judged here is the command.
_SCANNED: Final = names(
    """strace ltrace unshare nsenter firejail bwrap systemd-run parallel proot fakeroot dbus-run-session dbus-launch sg
    runuser prlimit numactl rlwrap unbuffer caffeinate xvfb-run setarch linux32 linux64 setpriv capsh cgexec ssh-agent
    pkexec chpst daemonize start-stop-daemon entr hyperfine perf valgrind gdb torsocks proxychains
    screen tmux"""
)
# Programs that take a whole script as the value of -c.
_TEXT_OPTION: Final = frozenset({"su", "runuser", "script", "flock", "sg"})
# Names a wildcard in command position, or an operand of the wrappers above, may stand for.
_GUESSES: Final = (
    names(
        """rm dd mkfs mke2fs mkswap wipefs shred shutdown reboot halt poweroff init telinit systemctl kexec kill killall
        killall5 pkill chmod chown mv find cp tee truncate blkdiscard fdisk sgdisk parted unlink rsync python3 perl
        eval"""
    )
    | SHELLS
    | frozenset(_WRAPPERS)
)
_CODE_KEYS: Final = re.compile(
    r"(alias\..*|.*(pager|editor|command|cmd|fsmonitor|external|textconv|proxy|askpass))$", re.I
)
_STDIN_FILES: Final = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_WRITING: Final = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&"})
_LOOP_VALUES: Final = 8  # walked one by one; a longer list, or one in an inner loop, is walked once, as a whole


@dataclass(frozen=True, slots=True)
class Run:
    """One command that would run. `name` is the program's base name in lower case, "" for a bare redirection."""

    name: str
    args: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    """Files its redirections would write."""
    stdin: str | None = None
    """What it is fed, if the text says so."""
    fed: tuple[str, ...] = ()
    """Names of the programs before it in its pipeline."""
    via: tuple[str, ...] = ()
    """Names of the wrappers around it."""
    cwd: str = UNKNOWN
    program: str = ""
    """The command word as expanded."""

    @property
    def shown(self) -> str:
        """The command as a person reads it."""
        words = " ".join((*self.via[-1:], self.program or self.name, *self.args)).strip()
        redirects = " ".join(f"> {path}" for path in self.writes)
        return f"{words} {redirects}".strip().translate(_SHOWN)

    def path(self, operand: str) -> str:
        """`operand` as an absolute path, as far as the text tells."""
        return absolute(operand, self.cwd)


@dataclass(frozen=True, slots=True)
class Walk:
    """All runs of a text. `whole` is false when bounds stopped the walk: what was not seen cannot be judged."""

    runs: tuple[Run, ...]
    fork_bomb: bool
    whole: bool


def walk(text: str) -> Walk:
    """Say what `text` would run."""
    if len(text) > limits.SHELL_JUDGED:
        return Walk((), False, False)
    walker = _Walker()
    walker.text(_MARKS.sub("\ufffd", text), _Feed())
    return Walk(tuple(walker.runs), walker.fork_bomb, walker.whole)


def variants(text: str) -> tuple[str, ...]:
    """The text, and the text as it looks on a screen if that differs: without escape sequences, control and invisible
    characters, with compatibility characters (full-width letters) made plain. Both are judged."""
    seen = _TERMINAL.sub("", text).replace("\r", " ")
    seen = "".join(char for char in seen if char in "\t\n" or unicodedata.category(char) not in ("Cc", "Cf"))
    seen = unicodedata.normalize("NFKC", seen)
    return (text,) if seen == text else (text, seen)


_TERMINAL: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]"
)


@dataclass(frozen=True, slots=True)
class _Feed:
    """What surrounds a command: its input, the programs before it, the wrappers around it, its redirections."""

    stdin: str | None = None
    fed: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Walker:
    """The state of one walk. Each method that walks commands returns what they print, or None if that is not known."""

    runs: list[Run] = field(default_factory=list)
    fork_bomb: bool = False
    whole: bool = True
    variables: dict[str, str] = field(default_factory=lambda: {"HOME": HOME, "IFS": " ", "@": "", "*": ""})
    functions: dict[str, tuple[sw.Pipeline, ...]] = field(default_factory=dict)
    cwd: str = UNKNOWN
    depth: int = 0
    loops: int = 0
    calls: set[str] = field(default_factory=set)
    steps: int = 0
    room: int = limits.SHELL_EXPANDED
    processes: list[tuple[str | None, tuple[str, ...]]] = field(default_factory=list)
    """Process substitutions met so far: what they print, and the programs in them. A field names one by number."""

    def text(self, text: str, feed: _Feed, arguments: list[str] | None = None) -> str | None:
        """Walk a script given as text; `arguments` are its `$1`, `$2`..."""
        if self.depth >= limits.SHELL_DEPTH or len(text) > limits.SHELL_JUDGED:
            self.whole = False
            return None
        script = sw.parse(text)
        self.whole &= not script.deep
        outer = self.variables
        if arguments is not None:
            self.variables = outer | self.positional(arguments)
        self.depth += 1
        output = self.pipelines(script.pipelines, feed)
        self.depth -= 1
        if arguments is not None:
            self.variables = outer
        return output

    def positional(self, arguments: list[str]) -> dict[str, str]:
        numbered = {str(at): value for at, value in enumerate(arguments, 1) if at < 10}
        joined = _SPLIT.join(arguments)
        return {str(at): "" for at in range(1, 10)} | numbered | {"@": joined, "*": joined}

    def pipelines(self, items: tuple[sw.Pipeline, ...], feed: _Feed) -> str | None:
        outputs = [self.pipeline(item, feed) for item in items]
        known = [output for output in outputs if output is not None]
        return "".join(known) if len(known) == len(outputs) else None

    def pipeline(self, item: sw.Pipeline, feed: _Feed) -> str | None:
        stdin, fed = feed.stdin, feed.fed
        self.fork_bomb |= item.background and sum(map(_runs_itself, item.commands)) > 1
        for command in item.commands:
            before = len(self.runs)
            stdin = self.command(command, replace(feed, stdin=stdin, fed=fed))
            fed = tuple(dict.fromkeys((*fed, *(run.name for run in self.runs[before:]))))[-limits.SHELL_FED :]
        return stdin

    def command(self, command: sw.Command, feed: _Feed) -> str | None:
        self.steps += 1
        if self.steps > limits.SHELL_STEPS:
            self.whole = False
            return None
        if isinstance(command, sw.Simple):
            return self.simple(command, feed)
        if isinstance(command, sw.Function):
            return self.define(command, feed)
        feed = self.redirected(command.redirects, feed)
        if feed.writes:
            self.runs.append(Run("", writes=feed.writes, via=feed.via, cwd=self.cwd, program="{"))
            feed = replace(feed, writes=())
        values = [value for word in command.words for value in self.expand(word)]
        if command.kind == "for":
            return self.for_loop(command, values, feed)
        cwd = self.cwd
        output = self.pipelines(command.body, feed)
        if command.kind == "subshell":
            self.cwd = cwd
        # Only a plain sequence prints what its parts print; the others print some of it, or it again and again.
        return output if command.kind in ("group", "subshell") else None

    def for_loop(self, command: sw.Compound, values: list[str], feed: _Feed) -> str | None:
        one_by_one = len(values) <= _LOOP_VALUES and self.loops == 0
        output: str | None = ""
        self.loops += 1
        for value in values if one_by_one else [_SPLIT.join(values)]:
            self.variables[command.name] = value
            printed = self.pipelines(command.body, feed)
            output = output + printed if output is not None and printed is not None else None
        if not values:
            output = self.pipelines(command.body, feed)
        self.loops -= 1
        return output if one_by_one else None

    def define(self, command: sw.Function, feed: _Feed) -> str:
        """Note a function, and judge its body even if nothing calls it."""
        if command.name in self.functions:
            return ""
        self.functions[command.name] = command.body
        self.fork_bomb |= _multiplies(command.name, command.body)
        outer = self.variables
        self.variables = outer | {str(at): UNKNOWN for at in range(1, 10)} | {"@": UNKNOWN, "*": UNKNOWN}
        self.called(command.name, command.body, feed)
        self.variables = outer
        return ""

    def called(self, name: str, body: tuple[sw.Pipeline, ...], feed: _Feed) -> str | None:
        if name in self.calls or self.depth >= limits.SHELL_DEPTH:
            return None
        self.calls.add(name)
        self.depth += 1
        output = self.pipelines(body, feed)
        self.depth -= 1
        self.calls.discard(name)
        return output

    def redirected(self, redirects: tuple[sw.Redirect, ...], feed: _Feed) -> _Feed:
        """Apply redirections to `feed`."""
        writes: list[str] = []
        for redirect in redirects:
            if redirect.op in ("<<", "<<<"):
                text = self.joined(redirect.target)
                feed = replace(feed, stdin=text if redirect.op == "<<" else text + "\n")
                continue
            for target in self.expand(redirect.target):
                if redirect.op in _WRITING and not re.fullmatch(r"\d+-?|-", target):
                    writes.append(target)
                elif redirect.op == "<":
                    output, names = self.process(target)
                    feed = replace(feed, stdin=output, fed=feed.fed + names)
        return replace(feed, writes=feed.writes + tuple(writes))

    def process(self, operand: str) -> tuple[str | None, tuple[str, ...]]:
        """What a file operand holds, if it is a process substitution: its output and the programs in it."""
        match = re.fullmatch(f"{STREAM}(\\d+)", operand)
        return self.processes[int(match[1])] if match else (None, ())

    def simple(self, command: sw.Simple, feed: _Feed) -> str | None:
        for name, word in command.assigns:
            self.variables[name] = self.joined(word)
        feed = self.redirected(command.redirects, feed)
        fields = [text for word in command.words for text in self.expand(word)]
        if len(fields) > limits.SHELL_FIELDS:
            self.whole = False
            return None
        if not fields:
            if feed.writes:
                self.runs.append(Run("", writes=feed.writes, stdin=feed.stdin, via=feed.via, cwd=self.cwd))
            return ""
        return self.argv(fields, feed)

    # -- programs ----------------------------------------------------------------------------------------------

    def argv(self, fields: list[str], feed: _Feed) -> str | None:
        """Record one command, and what it would run in turn."""
        program, args = fields[0], fields[1:]
        if program == UNKNOWN:
            # It may be a wrapper or nothing at all ($SUDO rm ...), so what follows is judged as a command, too.
            self.record(UNKNOWN, program, args, feed)
            if args:
                self.argv(args, replace(feed, via=(*feed.via, UNKNOWN)))
            return None
        last = program.rpartition("/")[2]
        if (STAR in last or ONE in last) and (guesses := [one for one in sorted(_GUESSES) if matches(last, one)]):
            for guess in guesses:
                self.argv([guess, *args], feed)
            return None
        name = base_name(program)
        if program in self.functions:
            outer = self.variables
            self.variables = outer | self.positional(args)
            output = self.called(program, self.functions[program], feed)
            self.variables = outer
            return output
        self.record(name, program, args, feed)
        if self.depth >= limits.SHELL_DEPTH:
            self.whole = False
            return None
        self.depth += 1
        output = self.unwrap(name, args, replace(feed, via=(*feed.via, name), writes=()))
        self.depth -= 1
        return output

    def record(self, name: str, program: str, args: list[str], feed: _Feed) -> None:
        run = Run(name, tuple(args), feed.writes, feed.stdin, feed.fed, feed.via, self.cwd, program)
        if len(self.runs) > limits.SHELL_STEPS:
            self.whole = False
        else:
            self.runs.append(run)

    def unwrap(self, name: str, args: list[str], feed: _Feed) -> str | None:
        """Follow what a program is asked to run; else say what it prints."""
        if name in SHELLS:
            return self.shell(args, feed)
        if name in _TEXT_OPTION and (script := option_value(args, "c", "command")) is not None:
            return self.text(script, feed)
        match name:
            case "eval":
                return self.text(" ".join(args), feed)
            case "watch":
                start = first_operand(args, "nq", frozenset({"interval", "equexit"}))
                return self.text(" ".join(args[start:]), feed)
            case "alias":
                for arg in args:  # judged when it is defined: when it is used, its name says nothing
                    self.text(arg.partition("=")[2], feed)
            case "trap" if args and not args[0].startswith("-"):
                self.text(args[0], feed)
            case "source" | "." if args:
                output, names = self.process(args[0])
                script = feed.stdin if args[0] in _STDIN_FILES else output
                if script is not None:
                    self.text(script, replace(feed, fed=feed.fed + names))
            case "at" | "batch" if feed.stdin is not None:
                self.text(feed.stdin, replace(feed, stdin=None))
            case "find" | "gfind":
                self.find(args, feed)
            case "fd" | "fdfind":
                for at, arg in enumerate(args[:-1]):
                    if arg in ("-x", "-X", "--exec", "--exec-batch"):
                        self.argv(args[at + 1 :], feed)
                        break
            case "git":
                self.git(args, feed)
            case "tar" | "bsdtar":
                for arg in args:
                    if match := re.match(
                        r"--(?:checkpoint-action=exec|to-command|use-compress-program)=(.*)", arg, re.S
                    ):
                        self.text(match[1], feed)
            case "cd" | "pushd" if operands(args):
                self.cwd = absolute(operands(args)[0], self.cwd)
            case "cd":
                self.cwd = HOME
            case "read":
                for variable in operands(args, "adinNptu"):
                    self.variables[variable] = UNKNOWN if feed.stdin is None else feed.stdin.strip()
            case "export" | "declare" | "local" | "readonly" | "typeset":
                for arg in args:
                    variable, equals, value = arg.partition("=")
                    if equals:
                        self.variables[variable] = value
            case "xargs":
                return self.xargs(args, feed)
            case _ if name in _WRAPPERS:
                return self.wrapper(name, args, feed)
            case _ if name in _SCANNED or name.startswith(("ld-linux", "ld.so", "ld-musl")):
                for at, arg in enumerate(args):
                    first = arg.split()[:1]
                    if base_name(arg) in _GUESSES:
                        return self.argv(args[at:], feed)
                    if first and first != [arg] and base_name(first[0]) in _GUESSES:
                        return self.text(arg, feed)
        return _printed(name, args, feed.stdin)

    def wrapper(self, name: str, args: list[str], feed: _Feed) -> str | None:
        valued, long_valued, skipped = _WRAPPERS[name]
        if name == "env" and (script := option_value(args, "S", "split-string")) is not None:
            return self.text(script, feed)
        at = first_operand(args, valued, long_valued)
        if name == "command" and has_option(args[:at], "vV"):
            return None
        if name == "sudo" and has_option(args[:at], "lvVkKe", "list", "validate", "version", "edit"):
            return None
        while name == "env" and at < len(args) and args[at] == "-":
            at += 1
        at += skipped
        while at < len(args) and name in ("env", "sudo", "doas") and (pair := _ASSIGNMENT.fullmatch(args[at])):
            self.variables[pair[1]] = pair[2]
            at += 1
        return self.argv(args[at:], feed) if at < len(args) else None

    def shell(self, args: list[str], feed: _Feed) -> str | None:
        """A shell: -c TEXT, a script operand that is a stream, or its standard input."""
        command, rest = shell_arguments(args)
        if command:
            return self.text(rest[0], feed, rest[2:]) if rest else None
        output, names = self.process(rest[0]) if rest else (None, ())
        script = feed.stdin if not rest or rest[0] in _STDIN_FILES else output
        if script is None:
            return None
        return self.text(script, replace(feed, stdin=None, fed=feed.fed + names), rest[1:])

    def xargs(self, args: list[str], feed: _Feed) -> str | None:
        valued, long_valued, _ = _WRAPPERS["xargs"]
        at = first_operand(args, valued, long_valued)
        if at >= len(args):
            return feed.stdin
        gap = r"[\0\n]+" if has_option(args[:at], "0d", "null", "delimiter") else r"\s+"
        given = [UNKNOWN] if feed.stdin is None else re.split(gap, feed.stdin.strip("\0 \t\r\n"))
        mark = option_value(args[:at], "I", "replace") or ("{}" if has_option(args[:at], "i") else "")
        command = args[at:]
        if len(given) * (len(command) if mark else 1) > limits.SHELL_FIELDS:
            self.whole = False
            return None
        if mark:
            words = [word.replace(mark, value) for word in command for value in (given if mark in word else [""])]
        else:
            words = command + given
        return self.argv(words, replace(feed, stdin=None))

    def find(self, args: list[str], feed: _Feed) -> None:
        for at, arg in enumerate(args):
            if arg in ("-exec", "-execdir", "-ok", "-okdir"):
                command = args[at + 1 :]
                ends = [end for end, word in enumerate(command) if word in (";", "+")]
                command = [word.replace("{}", UNKNOWN) for word in command[: ends[0] if ends else None]]
                if command:
                    self.argv(command, feed)

    def git(self, args: list[str], feed: _Feed) -> None:
        """Commands git runs for its user: configured programs, aliases, --exec, bisect run, submodule foreach."""
        for at, arg in enumerate(args):
            following = args[at + 1] if at + 1 < len(args) else ""
            if arg == "-c" or (arg.startswith("-c") and "=" in arg and "." in arg):
                key, _, value = (following if arg == "-c" else arg[2:]).partition("=")
                if value.startswith("!") or (_CODE_KEYS.match(key) and not key.startswith("alias.")):
                    self.text(value.lstrip("!"), feed)
            elif arg in ("-x", "--exec") or arg.endswith("-filter"):
                self.text(following, feed)
            elif arg.startswith("--exec="):
                self.text(arg[7:], feed)
            elif (arg, following) == ("bisect", "run"):
                self.argv(args[at + 2 :] or [UNKNOWN], feed)
            elif (arg, following) == ("submodule", "foreach"):
                script = args[at + 2 :]
                self.text(" ".join(script[first_operand(script, "", frozenset()) :]), feed)

    # -- expansion ---------------------------------------------------------------------------------------------

    def joined(self, word: sw.Word) -> str:
        """The word as one string: an assignment's value, a here-document's body."""
        return self.marked(word).replace(_SPLIT, " ").translate(_PLAIN_BRACES)

    def expand(self, word: sw.Word) -> list[str]:
        """The fields a word becomes."""
        fields: list[str] = []
        for text in self.marked(word).split(_SPLIT):
            fields += [one.translate(_PLAIN_BRACES) for one in _brace_expand(text)]
        self.room -= sum(map(len, fields))
        kept = [text for text in fields if text]
        empty = any(isinstance(part, sw.Text) and part.quoted for part in word.parts) and not kept
        return [""] if empty else kept

    def marked(self, word: sw.Word) -> str:
        out: list[str] = []
        for at, part in enumerate(word.parts):
            if isinstance(part, sw.Text):
                text = part.text if part.quoted else self.active(part.text, first=at == 0)
            elif isinstance(part, sw.Variable):
                text = _split(self.variable(part), part.quoted)
            elif isinstance(part, sw.Arithmetic):
                self.marked(part.word)
                text = UNKNOWN
            else:
                text = self.substituted(part)
            self.room -= len(text)
            if self.room < 0:  # variables that double each other must not fill memory
                self.whole = False
                return UNKNOWN
            out.append(text)
        return "".join(out)

    def active(self, text: str, first: bool) -> str:
        """Mark what is special in unquoted text."""
        prefix = ""
        if first and (match := re.match(r"~([\w.-]*|\+)(?=/|$)", text)):
            prefix = self.cwd if match[1] == "+" else HOME
            text = text[match.end() :]
        text = re.sub(r"\[[!^]?[^]/\s]+\]", ONE, text)
        return prefix + text.translate(_ACTIVE)

    def substituted(self, part: sw.Substitution) -> str:
        self.whole &= not part.script.deep
        before, cwd = len(self.runs), self.cwd
        if self.depth >= limits.SHELL_DEPTH:
            self.whole = False
            return UNKNOWN
        self.depth += 1
        output = self.pipelines(part.script.pipelines, _Feed())
        self.depth -= 1
        self.cwd = cwd
        if part.process:
            self.processes.append((output, tuple(run.name for run in self.runs[before:])))
            return f"{STREAM}{len(self.processes) - 1}"
        return UNKNOWN if output is None else _split(output.rstrip("\n"), part.quoted)

    def variable(self, part: sw.Variable) -> str:
        """The value of `$name` or `${name op word}`."""
        word = self.joined(part.word) if part.word else ""  # always walked: it may hold a substitution
        value = self.variables.get(part.name, "" if part.name in "123456789" else None)
        match part.op:
            case "":
                if part.name == "PWD":
                    return self.cwd
                return UNKNOWN if value is None else value
            case ":-" | "-" | ":=" | "=":
                return value or word
            case ":?" | "?":
                return value or UNKNOWN
            case ":+" | "+":
                return word if value != "" else ""
            case "%" | "%%" | "#" | "##" if value == HOME and word in ("/", "/" + STAR):
                return HOME if word == "/" else "/home"
            case ":" if re.fullmatch(r"\s*0?\s*:\s*1\s*", word) and part.name in ("HOME", "PATH", "PWD", "SHELL"):
                return "/"
        return UNKNOWN


_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S)
_ACTIVE: Final = {ord("*"): STAR, ord("?"): ONE, ord("{"): _OPEN, ord(","): _COMMA, ord("}"): _CLOSE}
_PLAIN_BRACES: Final = {ord(_OPEN): "{", ord(_COMMA): ",", ord(_CLOSE): "}"}


def _split(value: str, quoted: bool) -> str:
    return value if quoted else re.sub(r"[ \t\n]+", _SPLIT, value).replace("*", STAR)


def _brace_expand(text: str) -> list[str]:
    """`a{b,c}` → `ab`, `ac`; a range stays unknown text. Bounded: beyond it the rest is left unexpanded."""
    waiting: list[str] = [text]
    done: list[str] = []
    size = len(text)
    while waiting and len(waiting) + len(done) <= limits.SHELL_FIELDS and size <= limits.SHELL_EXPANDED:
        item = waiting.pop()
        found = re.search(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}", item)
        if not found:
            done.append(item)
            continue
        before, inner, after = item[: found.start()], found[1], item[found.end() :]
        if _COMMA in inner:
            choices = inner.split(_COMMA)
        elif re.fullmatch(r"\w+\.\.\w+(\.\.\w+)?", inner):
            choices = [UNKNOWN]
        else:  # no list: the braces are ordinary characters
            choices = ["{" + inner + "}"]
        waiting += [before + choice + after for choice in reversed(choices)]
        size += len(choices) * (len(before) + len(after)) + len(inner)
    return done + waiting


def _printed(name: str, args: list[str], stdin: str | None) -> str | None:
    """What a few harmless programs print, as far as the text tells."""
    match name:
        case "echo":
            at = 0
            while at < len(args) and re.fullmatch(r"-[neE]+", args[at]):
                at += 1
            flags, text = "".join(args[:at]), " ".join(args[at:])
            text = sw.decode_ansi_c(text) if "e" in flags else text
            return text if "n" in flags else text + "\n"
        case "printf" if args:
            return _printf(args[0], args[1:])
        case "cat" | "tee" if name == "tee" or not operands(args) or operands(args) == ["-"]:
            return stdin
        case "true" | ":" | "cd" | "export" | "read" | "set" | "local" | "declare" | "sleep":
            return ""
        case "base64" if stdin is not None and has_option(args, "dD", "decode", shortest=1):
            try:
                return base64.b64decode(stdin.encode("ascii", "ignore")).decode("utf-8", "replace")
            except binascii.Error:
                return None
        case "rev" if stdin is not None and not args:
            return "\n".join(line[::-1] for line in stdin.split("\n"))
    return None


def _printf(template: str, args: list[str]) -> str:
    left = list(args)

    def one(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        value = left.pop(0) if left else ""
        return sw.decode_ansi_c(value) if match[1] == "b" else value

    out = ""
    for _ in range(len(args) + 1):  # the template is used again until the arguments are
        out += re.sub(r"%%|%[-0-9.]*([a-zA-Z])", one, sw.decode_ansi_c(template))
        if not left or not re.search(r"%[-0-9.]*[a-zA-Z]", template) or len(out) > limits.SHELL_JUDGED:
            break
    return out


def _runs_itself(command: sw.Command) -> bool:
    """Whether a command is the script that holds it: `$0`."""
    if not isinstance(command, sw.Simple) or not command.words:
        return False
    return any(isinstance(part, sw.Variable) and part.name == "0" for part in command.words[0].parts)


def _multiplies(name: str, body: tuple[sw.Pipeline, ...]) -> bool:
    """Whether a function calls itself twice in a pipeline or in the background: a fork bomb."""
    return any(_multiplies_in(name, pipeline) for pipeline in body)


def _multiplies_in(name: str, pipeline: sw.Pipeline) -> bool:
    calls = 0
    for command in pipeline.commands:
        if isinstance(command, sw.Simple):
            calls += bool(command.words) and command.words[0].bare == name
        elif _multiplies(name, command.body):
            return True
    return calls > 1 or (calls == 1 and pipeline.background)
