"""What a terminal is told on the wire: who looks elsewhere is called once, and the window has its title back."""

import re
import signal
import time

import pytest

from nanoherm_tui import limits
from tests.e2e.screen import KEYS, Screen
from tests.fakes.model_server import ModelServer, Reply

FOCUS, BLUR = "\x1b[I", "\x1b[O"
SECRET = "sk-" + "ant-api03-" + "Zx8Qw3Lr7Tn5Vb2Ky9Mp4Dh6Jf1Gs0Ca" * 2
_TITLE = re.compile(rb"\x1b\]2;([^\x1b]*)\x1b\\")
_NOTES = re.compile(rb"\x1b\](9;|777;notify;)([^\x1b]*)\x1b\\")


def titles(screen):
    return [title.decode() for title in _TITLE.findall(bytes(screen.raw))]


def notes(screen):
    return [(kind.decode(), words.decode()) for kind, words in _NOTES.findall(bytes(screen.raw))]


def bells(screen):
    """How often it rang: the same byte may end a sequence."""
    return re.sub(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", b"", bytes(screen.raw)).count(b"\x07")


ASKS = Reply(hang=0.3, calls=[("run_command", {"command": "touch approved"})])


def test_a_terminal_that_reports_is_told_once_nobody_looks_and_no_word_of_the_command(workspace, server_env):
    replies = [ASKS, Reply(text="Over."), ASKS]
    server = ModelServer(replies)
    env = server_env(server, TERM="xterm-kitty")
    with server, Screen(env=env, cwd=workspace) as screen:
        screen.wait_for("test-model")
        screen.send(FOCUS)
        screen.submit("first 一")
        screen.wait_for("Run this command?", "y once")
        screen.until(lambda: titles(screen)[-1] == "? asks you - first 一")
        time.sleep(2 * limits.APPROVAL_ARM)
        assert (notes(screen), bells(screen)) == ([], 0)  # it was seen
        screen.send("n")
        screen.wait_for("Why not?")
        screen.send(KEYS["enter"])
        screen.wait_for("Over.")
        screen.until(lambda: titles(screen)[-1] == "first 一 - nanoherm-tui")
        screen.submit("again")
        screen.send(BLUR)
        screen.until(lambda: notes(screen))
        assert notes(screen) == [("777;notify;", "nanoherm-tui;first 一 asks you")]
        assert bells(screen) == 0
        # The shell's title is back while the program is stopped, and ours afterwards.
        since = len(screen.raw)
        screen.send(KEYS["ctrl+z"])
        screen.until(lambda: b"\x1b[23;2t" in bytes(screen.raw)[since:])
        time.sleep(0.3)
        since = len(screen.raw)
        screen.signal(signal.SIGCONT)
        screen.until(lambda: _TITLE.search(bytes(screen.raw), since))
        assert titles(screen)[-1] == "? asks you - first 一"
        screen.send(FOCUS + KEYS["ctrl+c"])
        screen.until(lambda: titles(screen)[-1] == "first 一 - nanoherm-tui")
        screen.send(KEYS["ctrl+d"])
        assert screen.wait_exit() == 0
        raw = bytes(screen.raw)
        assert raw.index(b"\x1b[22;2t") < raw.index(b"\x1b]2;")
        assert raw.rindex(b"\x1b[23;2t") > raw.rindex(b"\x1b]2;\x1b\\") > raw.rindex(b"- nanoherm-tui\x1b\\")


@pytest.mark.parametrize(
    ("config", "rings"),
    [("", True), ("display:\n  notify: 'off'\n  title: false\n", False)],
    ids=["as it is", "switched off"],
)
def test_a_terminal_that_does_not_report_rings_when_a_question_stays_unseen(home, workspace, server_env, config, rings):
    (home / ".nanohermes").mkdir(parents=True, exist_ok=True)
    (home / ".nanohermes" / "config.yaml").write_text(config)
    server = ModelServer([ASKS, Reply(text="Over."), ASKS])
    with server, Screen(env=server_env(server), cwd=workspace) as screen:
        screen.wait_for("test-model")
        screen.submit(f"go {SECRET}")
        screen.wait_for("Run this command?")
        assert bells(screen) == 0
        if rings:
            screen.until(lambda: bells(screen) == 1)
        time.sleep(limits.APPROVAL_ARM)
        assert (bells(screen), notes(screen)) == (int(rings), [])
        assert bool(titles(screen)) is rings
        assert not any(SECRET in title for title in titles(screen))
        assert (b"\x1b[22;2t" in bytes(screen.raw)) is rings
        assert (b"\x1b[>0q" in bytes(screen.raw)) is rings, "it was asked what it is, before it rang"
        if rings:
            screen.send("\x1bP>|WezTerm 20240203\x1b\\n")  # late, and a key behind it
            screen.wait_for("Why not?")
            screen.send(KEYS["enter"])
            screen.wait_for("Over.")
            screen.submit("again")
            screen.until(lambda: notes(screen))
            assert [kind for kind, _ in notes(screen)] == ["777;notify;"]
            assert bells(screen) == 1
