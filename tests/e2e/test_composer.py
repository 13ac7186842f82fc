"""The draft in the running program: the user's editor, pastes, the own shell, and what outlives a crash."""

import os
import re
import shutil
import signal
import sys
import time

import pytest

from tests.e2e.screen import KEYS, ROOT, SLACK, Screen, home_env
from tests.e2e.test_program import server_env, submit
from tests.fakes.model_server import ModelServer, Reply
from tests.tui.test_editor import script

PASTE = "".join(f"第 {n} line of a pasted text\n" for n in range(40))


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def sent(server, number=-1):
    return server.requests[number]["messages"][-1]["content"]


def paste(screen, text):
    screen.send(f"\x1b[200~{text}\x1b[201~")


EDITOR = """
import termios, time
modes = termios.tcgetattr(0)
notes = pathlib.Path(os.environ["NOTES"])
whole = [bool(modes[3] & termios.ICANON), bool(modes[3] & termios.ECHO), os.isatty(1)]
notes.write_text(f"{whole}\\n" + path.read_text())
sys.stdout.write("EDITOR IS OPEN\\n")
sys.stdout.flush()
while not pathlib.Path(os.environ["NOTES"] + ".close").exists():
    time.sleep(0.02)
path.write_text(path.read_text() + "\\n第二行 from the editor\\n")
"""


def test_the_editor_has_the_terminal_and_its_text_becomes_the_draft(home, workspace, tmp_path):
    program, notes = script(tmp_path, EDITOR), tmp_path / "notes"
    more = {"VISUAL": f"'{program}' --wait", "NOTES": str(notes)}
    with ModelServer([Reply(text="Read.")]) as server, \
            Screen(env=server_env(home, server, **more), cwd=workspace) as screen:  # fmt: skip
        screen.wait_for("test-model")
        screen.send("look: ")
        paste(screen, PASTE)
        screen.wait_for("40 lines")
        begun = len(screen.raw)
        screen.send("\x07")
        screen.wait_for("EDITOR IS OPEN")
        before = bytes(screen.raw[begun:])
        for off in (b"\x1b[?1049l", b"\x1b[?2004l", b"\x1b[?25h"):
            assert off in before, off
        first, _, rest = notes.read_text(encoding="utf-8").partition("\n")
        assert first == "[True, True, True]"
        assert rest == f"look: {PASTE}"  # the paste is there whole
        begun = len(screen.raw)
        (tmp_path / "notes.close").touch()
        screen.wait_for("from the editor", "40 lines")  # folded again
        after = bytes(screen.raw[begun:])
        for on in (b"\x1b[?1049h", b"\x1b[?2004h"):
            assert on in after, on
        assert "EDITOR IS OPEN" not in screen.text
        submit(screen, "")
        screen.wait_for("Read.")
        assert sent(server) == f"look: {PASTE}\n第二行 from the editor"


def test_a_stream_goes_on_while_the_editor_is_open_and_is_caught_up(home, workspace, tmp_path):
    program, notes = script(tmp_path, EDITOR), tmp_path / "notes"
    reply = Reply(text="".join(f"word{n} " for n in range(200)) + "the end.", piece=10, gap=0.005)
    more = {"VISUAL": str(program).replace(" ", "\\ "), "NOTES": str(notes)}
    with ModelServer([reply]) as server, Screen(env=server_env(home, server, **more), cwd=workspace) as screen:
        screen.wait_for("test-model")
        submit(screen, "go")
        screen.wait_for("word3")
        screen.send("draft")
        screen.send("\x07")
        screen.wait_for("EDITOR IS OPEN")
        time.sleep(1.5)
        (tmp_path / "notes.close").touch()
        screen.wait_for("the end.", "draft", "from the editor")


@pytest.mark.parametrize(
    ("visual", "words"),
    [("no-such-editor", "not installed"), ("sh -c 'exit 3'", "ended with 3"), ("vi 'x", "cannot be read")],
)
def test_without_a_working_editor_the_reason_is_said_and_the_draft_stays(home, workspace, visual, words):
    with ModelServer([Reply(text="x")]) as server, \
            Screen(env=server_env(home, server, VISUAL=visual), cwd=workspace) as screen:  # fmt: skip
        screen.wait_for("test-model")
        screen.send("keep me")
        screen.wait_for("keep me")
        screen.send("\x07")
        screen.wait_for(words, "keep me")
        screen.send(" still")
        screen.wait_for("keep me still")


def test_slash_editor_opens_it_too(home, workspace, tmp_path):
    program = script(tmp_path, "path.write_text('from nothing')")
    more = {"EDITOR": f"'{program}'", "VISUAL": ""}
    with ModelServer([Reply(text="x")]) as server, \
            Screen(env=server_env(home, server, **more), cwd=workspace) as screen:  # fmt: skip
        screen.wait_for("test-model")
        submit(screen, "/editor")
        screen.wait_for("from nothing")


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_the_editor_works_in_tmux(tmp_path):
    from tests.e2e.test_tmux import Pane

    program, notes = script(tmp_path, EDITOR, "editor.py"), tmp_path / "notes"
    more = {"VISUAL": str(program), "NOTES": str(notes), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    env = {**home_env(tmp_path / "home"), **more}
    with Pane(tmp_path, f"{sys.executable} -m nanoherm_tui --demo", env, 100, 30) as pane:
        pane.wait_for("Scripted demo, not an AI.")
        pane.run("send-keys", "C-c")
        pane.run("send-keys", "-l", "你好")
        pane.wait_for("你好")
        pane.run("send-keys", "C-g")
        pane.wait_for("EDITOR IS OPEN")
        assert notes.read_text(encoding="utf-8") == "[True, True, True]\n你好"
        (tmp_path / "notes.close").touch()
        shown = pane.wait_for("你好", "第二行 from the editor")
        assert "EDITOR IS OPEN" not in shown
        pane.run("send-keys", "-l", " 再写")
        pane.wait_for("from the editor 再写")


@pytest.mark.parametrize("marks", [True, False], ids=["marked", "unmarked"])
def test_a_long_paste_is_one_word_in_the_draft_and_is_sent_whole(home, workspace, marks):
    text = PASTE * 60  # many reads of the terminal
    with ModelServer([Reply(text="Read.")]) as server, Screen(env=server_env(home, server), cwd=workspace) as screen:
        screen.wait_for("test-model")
        if marks:
            paste(screen, text)
        else:
            screen.send(text.replace("\n", "\r"))
        # Without marks a pause is the end of a paste: of a machine that made one, a second word may come.
        screen.until(lambda: sum(map(int, re.findall(r"\[(\d+) lines", screen.text))) >= 2400)
        assert not marks or "[2400 lines" in screen.text
        assert server.requests == []
        submit(screen, " what is it?")
        screen.wait_for("Read.")
        assert sent(server) == text + " what is it?"
        assert len(server.requests) == 1


def test_five_megabytes_are_pasted_and_the_keys_go_on(home, workspace):
    text = PASTE * 4_500
    assert len(text.encode()) > 5_000_000
    with ModelServer([Reply(text="x")]) as server, Screen(env=server_env(home, server), cwd=workspace) as screen:
        screen.wait_for("test-model")
        paste(screen, text)
        screen.wait_for("180000 lines", seconds=20 * SLACK)
        screen.send("typed after it")
        screen.wait_for("typed after it")


def test_an_own_command_runs_and_is_marked_while_it_is_typed(home, workspace):
    with ModelServer([Reply(text="x")]) as server, Screen(env=server_env(home, server), cwd=workspace) as screen:
        screen.wait_for("test-model")
        screen.send("!!echo o'n'ly h'e're")
        screen.wait_for("$ !!echo", "Kept from the model.")
        screen.send(KEYS["enter"])
        screen.wait_for("shell", "echo o'n'ly h'e're", "exit 0")
        assert server.requests == []


@pytest.mark.parametrize("end", ["kill", "exit"])
def test_a_draft_outlives_the_program(home, workspace, end):
    with ModelServer([Reply(text="First."), Reply(text="Second.")]) as server:
        env = server_env(home, server)
        with Screen(env=env, cwd=workspace) as screen:
            screen.wait_for("test-model")
            submit(screen, "hello")
            screen.wait_for("First.")
            screen.send("写了一半 ")
            paste(screen, PASTE)
            screen.wait_for("40 lines")
            if end == "kill":
                time.sleep(2)
                os.kill(screen.pid, signal.SIGKILL)
            else:
                os.kill(screen.pid, signal.SIGTERM)
            screen.wait_exit()
        with Screen(["-c"], env=env, cwd=workspace) as screen:
            screen.wait_for("First.", "39 line of a pasted text")
            screen.send(KEYS["enter"])
            screen.wait_for("Second.")
        assert sent(server) == f"写了一半 {PASTE}".rstrip()


def test_each_session_keeps_its_draft(home, workspace):
    with ModelServer([Reply(text="First.")]) as server, Screen(env=server_env(home, server), cwd=workspace) as screen:
        screen.wait_for("test-model")
        submit(screen, "the first session")
        screen.wait_for("First.")
        screen.send("draft of the first")
        screen.wait_for("draft of the first")
        screen.send(KEYS["ctrl+n"])
        screen.wait_for("draft of the first", gone=True)
        screen.send("another draft")
        screen.wait_for("another draft")
        screen.send(KEYS["ctrl+p"])
        screen.wait_for("Actions")
        screen.type("the first session")
        screen.send(KEYS["enter"], settle=0.2)
        screen.wait_for("First.", "draft of the first")
        assert "another draft" not in screen.text
