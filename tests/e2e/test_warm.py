"""A copy of the warm interpreter is to the program what a real start is; what a screen tells of it."""

import ast
import os
import signal
import sys

import pytest

from tests.e2e import warm
from tests.e2e.screen import ROOT, Screen

ENV = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT), "ODD": "一 'x'"}
ENV |= {name: value for name, value in os.environ.items() if name.startswith(warm.ONCE) and name != "PYTHONPATH"}
TELL = """
import os, signal, sys
wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD, signal.SIGWINCH)
told = {
    "argv": sys.argv, "name": __name__, "path": sys.path[0], "folder": os.getcwd(), "env": dict(os.environ),
    "signals": [str(signal.getsignal(number)) for number in wanted], "blocked": list(signal.pthread_sigmask(0, [])),
    "streams": [(s.isatty(), s.encoding, s.errors, s.line_buffering) for s in (sys.stdin, sys.stdout, sys.stderr)],
    "terminal": os.path.exists("/dev/tty") and os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp(),
    "open": sorted(os.listdir("/proc/self/fd"))[:4], "umask": os.umask(0), "main": sys.modules["__main__"].__name__,
}
sys.stdout.write(repr(told) + "\\n")
"""


@pytest.mark.parametrize("module", [False, True], ids=["-c", "-m"])
def test_a_copy_sees_what_a_real_start_sees(tmp_path, module):
    (tmp_path / "tell.py").write_text(TELL)
    command = [sys.executable, *(("-m", "tell") if module else ("-c", TELL)), "one", "二"]
    assert warm.can_be_warm(command, ENV)
    told = []
    for fresh in (True, False):
        done = warm.run(command, env=ENV, cwd=tmp_path, input="given\n", fresh=fresh)
        assert (done.returncode, done.stderr) == (0, "")
        told.append(ast.literal_eval(done.stdout))
    assert told[0] == told[1]


def test_a_copy_in_a_terminal_sees_what_a_real_start_sees(tmp_path):
    told = []
    for fresh in (True, False):
        command = [sys.executable, "-c", TELL + "print('END')"]
        with Screen(command=command, env={**ENV, "COLUMNS": ""}, cwd=tmp_path, columns=3000, fresh=fresh) as screen:
            screen.wait_for("END")
            assert screen.wait_exit() == 0
            told.append(ast.literal_eval(screen.lines[0]))
            told[-1].pop("open")  # pytest leaves one open to what a terminal is forked for
    assert told[0] == told[1]


ENDS = {
    "at its end": ("pass", 0, ""),
    "with a code": ("import sys; sys.exit(75)", 75, ""),
    "with words": ("import sys; sys.exit('no')", 1, "no\n"),
    "an exception": ("import atexit; atexit.register(print, 'bye'); 1 / 0", 1, "ZeroDivisionError"),
    "a signal": ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL, ""),
    "a thread goes on": ("import threading, time; threading.Thread(target=time.sleep, args=(0.1,)).start()", 0, ""),
}


@pytest.mark.parametrize(("code", "status", "words"), ENDS.values(), ids=ENDS)
def test_its_end_is_told(tmp_path, code, status, words):
    done = warm.run([sys.executable, "-c", code], env=ENV, cwd=tmp_path)
    assert done.returncode == status
    assert words in done.stderr


def test_two_copies_know_nothing_of_each_other(tmp_path):
    leaves = [sys.executable, "-c", "import os, agent_core.limits as l; l.LEFT = 1; os.environ['LEFT'] = '1'"]
    looks = [sys.executable, "-c", "import os, agent_core.limits as l; print(hasattr(l, 'LEFT'), 'LEFT' in os.environ)"]
    warm.run(leaves, env=ENV, cwd=tmp_path)
    assert warm.run(looks, env=ENV, cwd=tmp_path).stdout == "False False\n"


@pytest.mark.parametrize(
    "more", [{"LC_ALL": "C"}, {"LANG": "de_DE.ISO-8859-1"}, {"PYTHONHASHSEED": "7"}, {"TEXTUAL_FPS": "1"}], ids=str
)
def test_what_is_read_once_makes_it_a_real_start(more):
    assert not warm.can_be_warm([sys.executable, "-m", "nanoherm_tui"], ENV | more)


MOMENT = """
import sys, time
input()
sys.stdout.write("a moment")
sys.stdout.flush()
time.sleep(0.3)
sys.stdout.write("\\r\\x1b[KNEXT")
sys.stdout.flush()
time.sleep(60)
"""


class Slow(Screen):
    """Who looks at it comes when all is over."""

    def _there(self, words):
        if b"NEXT" not in self.raw:
            self.send("\n")
            self.until(lambda: "NEXT" in self.text)
        return super()._there(words)


def test_what_was_on_the_screen_for_a_moment_is_found_and_a_wait_in_vain_tells_where_the_program_stands(tmp_path):
    with Slow(command=[sys.executable, "-c", MOMENT], env=ENV, cwd=tmp_path) as screen:
        screen.wait_for("a moment")
        assert "a moment" not in screen.text
        with pytest.raises(AssertionError, match=r"(?s)no \('never',\).*NEXT.*last written .* waits.*in <module>"):
            screen.wait_for("never", seconds=0.1)
