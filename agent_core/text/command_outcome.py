"""What a command's end means, in a few words: its exit code, a test runner's summary, the lines worth showing. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from agent_core import limits

# -- exit codes -----------------------------------------------------------------------------------------------------

_NO_MATCH: Final = {1: "no match was found, which is no error"}
_DIFFER: Final = {1: "the two differ, which is no error"}
_FALSE: Final = {1: "the condition is false, which is no error"}
_MEANINGS: Final[dict[str, dict[int, str]]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "pgrep"), _NO_MATCH),
    **dict.fromkeys(("diff", "cmp", "colordiff", "sdiff"), _DIFFER),
    **dict.fromkeys(("test", "[", "[["), _FALSE),
    "find": {1: "some folders could not be entered; what was found is still good"},
    "git": {1: "often no error: git uses 1 for differences, no match, or nothing to do"},
    "curl": {
        6: "the host name could not be resolved",
        7: "no connection to the host could be made",
        22: "the server answered with an error status",
        28: "it took too long",
        35: "the TLS connection could not be set up",
        60: "the server's certificate could not be verified",
    },
    "wget": {4: "network failure", 5: "TLS verification failed", 8: "the server answered with an error status"},
}
_HARMLESS: Final = (_NO_MATCH, _DIFFER, _FALSE)
_BEFORE: Final = frozenset({"sudo", "command", "time", "nice", "nohup", "env", "exec", "builtin"})
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_SIGNALS: Final = {
    129: "HUP",
    130: "INT",
    131: "QUIT",
    132: "ILL",
    134: "ABRT",
    135: "BUS",
    136: "FPE",
    137: "KILL: often out of memory",
    139: "SEGV: a crash",
    141: "PIPE: nobody read its output",
    143: "TERM",
}


_GIT_FAILED: Final = re.compile(r"^(?:error|fatal): |^CONFLICT |^Automatic merge failed", re.MULTILINE)
_GIT_NOTHING: Final = re.compile(r"^(?:nothing (?:added )?to commit|no changes added to commit)", re.MULTILINE)


def meaning(command: str, code: int, output: str = "") -> str | None:
    """What `code` says when it comes from the last program of `command`; None when it says nothing special.

    `output`: what was written, where that is known; git's says by itself when its 1 is a failure.
    """
    words = _last_words(command)
    program = _program(words)
    if program == "git" and code == 1:
        end = output[-limits.SUMMARY_CHARS :]
        # A hook refuses a commit in words of its own.
        if _GIT_FAILED.search(end) or (_subcommand(words) == "commit" and not _GIT_NOTHING.search(end)):
            return None
    return _codes_of(program).get(code)


def is_harmless(command: str, code: int) -> bool:
    """An exit code that answers a question (no match, files differ, false) instead of reporting a failure."""
    codes = _codes_of(_last_program(command))
    return any(codes is harmless for harmless in _HARMLESS) and code in codes


_UNREACHED: Final[dict[str, tuple[int, ...]]] = {"curl": (5, 6, 7), "wget": (4,)}


def is_unreached(command: str, code: int) -> bool:
    """An exit code by which the last program says that it came to no host; some say it in no other way."""
    return code in _UNREACHED.get(_last_program(command), ())


def shell_meaning(code: int) -> str | None:
    """What the shell itself says by a code, whatever the command."""
    if code == 126:
        return "found, but it cannot be executed"
    if code == 127:
        return "command not found"
    return f"ended by signal {_SIGNALS[code]}" if code in _SIGNALS else None


_WANTED: Final = (
    (
        re.compile(r"problem with the editor|[Tt]erminal is dumb, but EDITOR unset"),
        "It wanted an editor, and there is none here. Give the text on the command line (git commit -m), or set "
        "GIT_EDITOR or GIT_SEQUENCE_EDITOR to a command that edits the file.",
    ),
    (
        re.compile(r"could not read (?:Username|Password)|terminal prompts disabled|Authentication failed for"),
        "It wanted a name or a password, and nobody can type one here. Only the user can set that up.",
    ),
    (
        re.compile(r"^sudo: .*(?:a terminal is required|password is required|no askpass program)", re.MULTILINE),
        "sudo wanted a password, and nobody can type one here. Do without, or say what the user has to run.",
    ),
    (
        re.compile(r'^sudo: .*(?:"no new privileges" flag|setresuid\(|effective uid is not 0)', re.MULTILINE),
        "No command becomes another user here. Do without sudo, or say what the user has to run.",
    ),
    (
        re.compile(r"Host key verification failed"),
        "The host's key is not known here, and nobody can confirm it. The user has to connect to it once.",
    ),
    (
        re.compile(
            r"EOFError: EOF when reading a line|EOF when reading a line$|"
            r"(?<!allocated because )stdin is not a (?:tty|terminal)|"  # ssh says so of every command
            r"input device is not a TTY|[\[(][Yy](?:es)?/[Nn]o?[\])][?: ]{0,3}\Z",
            re.MULTILINE,
        ),
        "It asked for input, and there is none here. Use its option that asks nothing (-y, --yes, --no-input), or give "
        "the answer on its command line.",
    ),
)


def wanted_input(output: str) -> str:
    """What to do where a command failed because it asked somebody for something; empty where it did not."""
    end = output[-limits.SUMMARY_CHARS :].rstrip()
    return next((words for pattern, words in _WANTED if pattern.search(end)), "")


def _codes_of(program: str) -> dict[int, str]:
    return _MEANINGS.get(program, {})


def _last_program(command: str) -> str:
    """The name of the program whose exit code the shell passes on; empty when that cannot be told."""
    return _program(_last_words(command))


def _program(words: Sequence[str]) -> str:
    return words[0].rpartition("/")[2] if words else ""


def _subcommand(words: Sequence[str]) -> str:
    """What git is to do."""
    rest = iter(words[1:])
    for word in rest:
        if word in ("-C", "-c"):
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return ""


def _last_words(command: str) -> list[str]:
    """The program whose exit code the shell passes on, with its arguments; none when that cannot be told."""
    lexer = shlex.shlex(command.replace("\n", ";"), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # an open quote
        return []
    while words and set(words[-1]) <= set(";&"):
        words.pop()
    start = max((i + 1 for i, word in enumerate(words) if word and set(word) <= set(";|&(")), default=0)
    for number, word in enumerate(words[start:], start):
        if not _ASSIGNMENT.match(word) and word not in _BEFORE:
            return words[number:]
    return []


# -- test runners ---------------------------------------------------------------------------------------------------

_PYTEST: Final = re.compile(
    r"^=* ?((?:\d+ (?:failed|passed|skipped|errors?|warnings?|xfailed|xpassed|deselected|rerun)(?:, )?)+) in [\d.]+ ?s",
    re.MULTILINE,
)
_UNITTEST: Final = re.compile(r"^Ran (\d+) tests? in [\d.]+s\s+^(OK|FAILED)(?: \((.*)\))?", re.MULTILINE)
_CARGO: Final = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed", re.MULTILINE)
_GO: Final = re.compile(r"^(ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\)|\[)", re.MULTILINE)
_JEST: Final = re.compile(r"^\s*Tests:?\s+((?:\d+ \w+(?:, | \| )?)+)(?: ?\(\d+\))?\s*$", re.MULTILINE)
_MOCHA: Final = re.compile(r"^[ \t]+(\d+) passing\b(?:.*\n\s+(\d+) pending)?(?:.*\n\s+(\d+) failing)?", re.MULTILINE)
_TAP: Final = re.compile(r"^[#ℹ] (pass|fail) (\d+)$", re.MULTILINE)


def summary(output: str) -> str:
    """The result of the last test run in `output` ("2 failed, 14 passed"); empty when none is recognised."""
    end = output[-limits.SUMMARY_CHARS :]
    for read in (_pytest, _unittest, _cargo, _go, _jest, _mocha, _tap):
        if found := read(end):
            return found
    return ""


def _pytest(end: str) -> str:
    found = _PYTEST.findall(end)
    if not found:
        return ""
    parts = [part for part in found[-1].split(", ") if part and not re.search("warning|deselected", part)]
    return ", ".join(parts)


def _unittest(end: str) -> str:
    found = _UNITTEST.findall(end)
    if not found:
        return ""
    ran, verdict, details = found[-1]
    bad = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", details))
    return f"{ran} passed" if verdict == "OK" else f"{bad} failed, {int(ran) - bad} passed"


def _cargo(end: str) -> str:
    return _counts(_CARGO.findall(end))


def _counts(found: Sequence[tuple[str, str]]) -> str:
    """Passed and failed over several runs, failures first."""
    if not found:
        return ""
    passed, failed = sum(int(p) for p, _ in found), sum(int(f) for _, f in found)
    return f"{failed} failed, {passed} passed" if failed else f"{passed} passed"


def _go(end: str) -> str:
    found = _GO.findall(end)
    if not found:
        return ""
    failed = found.count("FAIL")
    passed = len(found) - failed
    return f"{failed} failed, {passed} ok (packages)" if failed else f"{passed} ok (packages)"


def _jest(end: str) -> str:
    found = _JEST.findall(end)
    return ", ".join(part for part in re.split(r", | \| ", found[-1]) if not part.endswith("total")) if found else ""


def _mocha(end: str) -> str:
    found = _MOCHA.findall(end)
    return _counts([(found[-1][0], found[-1][2] or "0")]) if found else ""


def _tap(end: str) -> str:
    counts = dict(_TAP.findall(end))
    return _counts([(counts["pass"], counts["fail"])]) if {"pass", "fail"} <= counts.keys() else ""


# -- lines worth showing ----------------------------------------------------------------------------------------------

_TELLING: Final = re.compile(
    r"^E  |\b[A-Z]\w*(?:Error|Exception)\b|\b(?:FAILED|FAIL:|ERROR)\b|"
    r"(?i:\b(?:error(?:\[\w+\])?:|fatal:|panicked at|assert(?:ion)? failed|not found|no such file|permission denied))"
)


def telling_lines(stdout: str, stderr: str, most: int = limits.PREVIEW_LINES) -> tuple[str, ...]:
    """The lines that say most about a failure: those that name an error, else the last ones."""
    lines = [
        line.strip() for line in (stdout[-limits.SUMMARY_CHARS :] + "\n" + stderr[-limits.SUMMARY_CHARS :]).split("\n")
    ]
    lines = [line for line in lines if line]
    telling = [line for line in lines if _TELLING.search(line[: limits.SUBJECT_CHARS])]
    chosen = telling[-most:] if telling else lines[-most:]
    return tuple(line[: limits.SUBJECT_CHARS] for line in dict.fromkeys(chosen))
