"""Whether a command's output looks as if the sandbox had stopped it, and what it would have needed. Pure.

A guess from words: it only tells a model why something may have failed, and decides nothing. It is meant to miss rather
than to cry wolf: a file that is not executable, or a key that a server refuses, says "Permission denied" too.
"""

from __future__ import annotations

import re
from typing import Final

from agent_core import limits
from agent_core.names import Needs
from agent_core.records import dataclass
from agent_core.sandbox.policy import UNCONFINED, Box
from agent_core.text.command_outcome import is_unreached

# fmt: off
# Without a network there are no sockets at all, so these can only come of that.
_NO_NETWORK: Final = re.compile(
    r"network is (unreachable|down)|temporary failure resolving|name resolution|name or service not known"
    r"|(could ?n[o']t|cannot|can't|unable to|failed to) (resolve|look ?up|translate) \S*(host|address|name|proxy|')"
    r"|unknown ?host|nodename nor servname|no address associated with|dns (error|lookup)|spurious network error"
    r"|could ?n[o']t connect to|failed to connect to|failed to open tcp connection|failed to establish a new connection"
    r"|\b(EAI_AGAIN|ENOTFOUND|ENETUNREACH)\b|\b(connect|listen|bind|send|sendto|getaddrinfo) (EPERM|EACCES)\b"
    r"|\b(socket|dial (tcp|udp)|connect|listen|bind)\w*\b[^\n]{0,160}\boperation not permitted|\[errno (-2|-3|101)\]",
    re.IGNORECASE,
)
_SOCKETS: Final = re.compile(r"\bsockets?\b|\burllib3?\b|\bhttp\.client\b", re.IGNORECASE)
_NOT_PERMITTED: Final = re.compile(r"PermissionError: \[Errno 1\]")
_READ_ONLY: Final = re.compile(r"read-?only file ?system|\bEROFS\b|\[errno 30\]|os error 30\b|readonly database|unable to open database", re.IGNORECASE)  # noqa: E501
_DENIED: Final = re.compile(
    # Busy is what a place is that stays as it is while its folder can be written.
    r"permission denied|operation not permitted|device or resource busy|\b(EACCES|EPERM|EBUSY)\b|os error (1|13)\b",
    re.IGNORECASE,
)
# What programs say of a change they could not make. Python names no verb: any file it may not open counts.
_CHANGING: Final = re.compile(
    r"(cannot|can't|can not|could not|couldn't|unable to|failed to|error|failure|while|trying to) "
    r"(create|creating|creat|touch|mkdir|make|making|remove|removing|unlink|delete|deleting|move|moving|rename|renaming"
    r"|overwrite|write|writing|lock|append|change|save|saving|install|copy|link|set|open (temporary|output|lock)"
    r"|open \S+ for (writing|output|append))"
    r"|\b(open|openat|mkdir|unlink|rename|rmdir|symlink|link|copyfile|chmod|chown|utime|futime)[ (]['\"/]"
    r"|PermissionError: \[Errno (1|13)\]|(changing|setting|preserving) (permissions|ownership|group|times)|^tee: ",
    re.IGNORECASE,
)
_SHELL_WRITE: Final = re.compile(r"^(\S*/)?\w*sh: (line \d+: |\d+: )?[^:\n]+: permission denied$", re.IGNORECASE)
# A server that refuses a login, and a cache that a test runner does without.
_LOGIN: Final = re.compile(r"\((publickey|password|keyboard)|authentic|\b40[13]\b", re.IGNORECASE)
_WARNING: Final = re.compile(r"warning", re.IGNORECASE)
# Said also by git commands that succeed: a branch is pushed, but what it follows cannot be noted.
_GIT_SETTINGS: Final = re.compile(r"^(error|fatal): could not (write|lock) config file .*: (Device or resource busy|Read-only)", re.IGNORECASE)  # noqa: E501
_TMP: Final = re.compile(r"""(?<![\w./-])/(var/)?tmp(/[^/\s'"`’:,)]*)?(?![^\s'"`’:,)])""")
# Of a workspace's own repository this can all be written.
_GIT_OUTSIDE: Final = re.compile(r"\.git/[^'\"]*(\.lock|_HEAD|_MSG|/objects[^'\"]*)['\"]?: Read-only", re.IGNORECASE)
# The exit code is that of what showed the output, not of the program.
_HIDES_FAILURE: Final = re.compile(r"2>&1\s*\|(?!\|)|\|&|\|\|\s*(true|:)\s*$")
# fmt: on
_NOT_EXECUTABLE: Final = 126


@dataclass(frozen=True, slots=True)
class Lack:
    needs: Needs
    instead: str = ""
    """What to know or do in its place; a sentence."""


def missing(box: Box, command: str, exit_code: int, output: str) -> Lack | None:
    """What `command`, which ended so in `box`, probably needs beyond it; None: it failed of itself, or did not fail.

    "write" of a command that may only read; "everything" of one whose write went where its box does not reach.
    """
    if box == UNCONFINED:
        return None
    output = output[-limits.KEPT_OUT_CHARS :]
    lines = [line for line in output.splitlines() if not _LOGIN.search(line)]
    write: Needs = "write" if box.mode == "read-only" else "everything"
    if any(map(_GIT_SETTINGS.search, lines)):
        instead = (
            "" if box.mode == "read-only" else "What names programs in .git, as its config and hooks, stays as it is."
        )
        return Lack(write, instead)
    if exit_code == 0 and not _HIDES_FAILURE.search(command):
        return None
    unreached = is_unreached(command, exit_code)
    if not box.network and (unreached or any(_is_no_network(line, output) for line in lines)):
        return Lack("network")
    kept = [line for line in lines if not _WARNING.search(line) and _is_kept_write(line, exit_code)]
    if not kept:
        return None
    instead = ""
    if write == "everything" and any(map(_GIT_OUTSIDE.search, kept)):
        instead = "The repository lies outside the workspace; the user may add its folder with --add-dir."
    elif any(map(_TMP.search, kept)):
        instead = "Temporary files go to $TMPDIR, which can be written."
    return Lack(write, instead)


def _is_no_network(line: str, output: str) -> bool:
    return bool(_NO_NETWORK.search(line) or (_NOT_PERMITTED.search(line) and _SOCKETS.search(output)))


def _is_kept_write(line: str, exit_code: int) -> bool:
    if _READ_ONLY.search(line):
        return True
    if not _DENIED.search(line):
        return False
    return bool(_CHANGING.search(line) or (exit_code != _NOT_EXECUTABLE and _SHELL_WRITE.search(line)))
