"""Whether the sandbox may have stopped a command: a guess from what programs say, with few false alarms."""

from __future__ import annotations

import pytest

from agent_core.sandbox.policy import READ_ONLY, UNCONFINED, Box
from agent_core.text import kept_out
from tests.rows import each_row

WORKSPACE = Box("workspace-write")
ONLINE = Box("workspace-write", network=True)


def missing(box, exit_code, output, command="make"):
    lack = kept_out.missing(box, command, exit_code, output)
    return "" if lack is None else lack.needs


def instead(output, box=WORKSPACE):
    return kept_out.missing(box, "make", 1, output).instead


WRITES = [
    "sh: 1: cannot create f: Permission denied",
    "sh: line 1: f: Permission denied",
    "/bin/bash: line 3: /etc/motd: Permission denied",
    "touch: cannot touch 'a': Read-only file system",
    "mkdir: cannot create directory ‘b’: Permission denied",
    "rm: cannot remove 'a': Permission denied",
    "tee: /etc/motd: Permission denied",
    "chmod: changing permissions of '/etc/motd': Operation not permitted",
    "sed: couldn't open temporary file ./sedXq1: Permission denied",
    "fatal: Unable to create '/ws/.git/index.lock': Permission denied",
    "error: could not lock config file .git/config: Read-only file system",
    "PermissionError: [Errno 13] Permission denied: 'f'",
    "OSError: [Errno 30] Read-only file system: 'f'",
    "npm ERR! Error: EACCES: permission denied, mkdir '/usr/lib/node_modules'",
    "Error: EROFS: read-only file system, open 'x'",
    "/usr/bin/ld: cannot open output file a.out: Permission denied",
    "open /root/x: permission denied",
    "sqlite3.OperationalError: attempt to write a readonly database",
    "Error: unable to open database file",
    "error: could not write config file .git/config: Device or resource busy",
    "error: failed to write `/ws/Cargo.lock`: Permission denied (os error 13)",
]
NETWORK = [
    "curl: (6) Could not resolve host: example.com",
    "curl: (7) Failed to connect to 127.0.0.1 port 80 after 0 ms: Couldn't connect to server",
    "fatal: unable to access 'https://example.com/x/': Could not resolve host: example.com",
    "ssh: Could not resolve hostname example.com: Temporary failure in name resolution",
    "wget: unable to resolve host address 'example.com'",
    "npm ERR! request to https://example.com failed, reason: getaddrinfo EAI_AGAIN example.com",
    "Error: connect EPERM 127.0.0.1:80 - Local (undefined:undefined)",
    "Error: listen EPERM: operation not permitted 127.0.0.1:3000",
    "dial tcp: lookup example.com: dial udp 1.2.3.4:53: socket: operation not permitted",
    "ping: socket: Operation not permitted",
    "NewConnectionError: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
    '  File "/usr/lib/python3.11/socket.py", line 232\nPermissionError: [Errno 1] Operation not permitted',
    "java.net.UnknownHostException: example.com",
    "Connecting to 127.0.0.1:80... failed: Operation not permitted.",
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<x>: Failed to establish a new "
    "connection: [Errno -2] Name or service not known')': /simple/x/\nERROR: No matching distribution found for x",
]
OF_ITSELF = [
    "AssertionError: assert 1 == 2",
    "cat: .env: Permission denied",
    "git@example.com: Permission denied (publickey).",
    "HTTP 403: permission denied while creating the release",
    "cache.py:475: PytestCacheWarning: could not create cache path /ws/.pytest_cache: [Errno 13] Permission denied",
    "find: '/root': Permission denied",
    "make: *** No rule to make target 'x'.  Stop.",
    "E   ConnectionError: mock server said no",
    "tests/test_net.py::test_resolve FAILED",
    "",
]


@each_row("words", WRITES)
def test_a_write_that_was_kept_out_is_seen(words):
    assert missing(READ_ONLY, 1, words) == "write"
    assert missing(WORKSPACE, 1, f"some\n{words}\nmore") == "everything"
    assert missing(ONLINE, 1, words) == "everything"


@each_row("words", NETWORK)
def test_a_network_that_is_off_is_seen_and_one_that_is_on_was_not_the_reason(words):
    assert missing(READ_ONLY, 1, words) == missing(WORKSPACE, 1, words) == "network"
    assert missing(ONLINE, 1, words) in ("", "everything")


@each_row(
    "command, code, needs",
    [
        ("curl -s http://x/", 7, "network"),
        ("wget -qO- x", 4, "network"),
        ("curl -s x", 22, ""),
        ("curl x | jq .", 7, ""),
    ],
)
def test_who_says_by_its_exit_code_alone_that_it_came_to_no_host_is_believed(command, code, needs):
    assert missing(WORKSPACE, code, "", command) == needs
    assert missing(ONLINE, code, "", command) == ""


@each_row("words", OF_ITSELF)
def test_what_fails_of_itself_is_not_put_down_to_the_sandbox(words):
    assert missing(READ_ONLY, 1, words) == missing(WORKSPACE, 1, words) == ""


GIT_SETTINGS = "error: could not write config file .git/config: Device or resource busy"


@each_row("words", [words for words in [*WRITES, *NETWORK] if "config file" not in words])
def test_without_a_sandbox_or_a_failure_nothing_is_said(words):
    assert missing(UNCONFINED, 1, words) == missing(READ_ONLY, 0, words) == ""


@pytest.mark.parametrize("command", ["npm i x 2>&1 | tail -5", "npm i x |& cat", "npm i x || true"])
def test_a_failure_whose_exit_code_a_pipe_has_hidden_is_seen(command):
    assert missing(WORKSPACE, 0, NETWORK[0], command) == "network"
    assert missing(WORKSPACE, 0, WRITES[0], command) == "everything"


@pytest.mark.parametrize("command", ["cat log | tail -5", "grep -r ENOTFOUND src", "make 2>&1 || cat log", "make 2>&1"])
def test_words_of_a_failure_that_was_none_are_no_failure(command):
    assert missing(WORKSPACE, 0, NETWORK[0], command) == ""


def test_what_git_could_not_note_is_said_although_it_succeeded():
    assert missing(WORKSPACE, 0, f"branch 'a' set up to track 'origin/a'.\n{GIT_SETTINGS}") == "everything"
    assert ".git" in instead(GIT_SETTINGS)


@pytest.mark.parametrize("path", ["/tmp/foo", "/var/tmp/foo", "'/tmp/foo'"])
def test_who_writes_to_the_folder_of_all_is_told_of_its_own(path):
    assert "$TMPDIR" in instead(f"sh: 1: cannot create {path}: Read-only file system")


@each_row("path", ["/etc/tmp", "../tmp", "/home/me/tmp/x", "/tmpfs", "/tmp/nanoherm-box-abc/x", "/tmp/shop/x"])
def test_who_writes_elsewhere_is_not(path):
    assert not instead(f"sh: 1: cannot create {path}: Read-only file system")


def test_where_the_repository_lies_outside_the_way_to_take_it_in_is_said():
    lock = "fatal: Unable to create '/tmp/shop/.git/worktrees/it/index.lock': Read-only file system"
    assert "--add-dir" in instead(lock)
    assert not instead(lock, READ_ONLY)


def test_a_file_that_is_not_executable_is_no_matter_of_the_sandbox():
    assert missing(READ_ONLY, 126, "sh: 1: ./run: Permission denied") == ""


def test_a_long_output_is_looked_at_from_its_end():
    assert missing(READ_ONLY, 1, "x" * 100_000 + f"\n{WRITES[0]}") == "write"
