"""The end of the process: what has to come before it comes, and nothing of it is lost."""

import os
import subprocess
import sys

import pytest

ENDS = {
    "in a pipe": "print('x' * 100_000, end='')",
    "registered for the end": "atexit.register(lambda: print('x' * 100_000, end=''))",
    "of a thread": "threading.Thread(target=lambda: (time.sleep(0.2), print('x' * 100_000, end=''))).start()",
}


def left(code, **options):
    """A process that runs `code` after the module was loaded, as the program does."""
    lines = "import sys\nfrom nanoherm_tui import leaving\nimport atexit, os, threading, time\n" + code
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([sys.executable, "-c", lines], text=True, timeout=30, check=False, **options)


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_what_is_said_before_the_end_is_said_whole(code):
    done = left(f"{code}\nsys.exit(leaving.with_code(3))")
    assert (done.returncode, len(done.stdout), done.stderr) == (3, 100_000, "")


def test_nothing_is_taken_apart():
    slow = "class Slow:\n    def __del__(self): print('taken apart')\nkept = Slow()\n"
    assert left(slow + "sys.exit(leaving.with_code(0))").stdout == ""
    assert "taken apart" in left(slow + "sys.exit(0)").stdout


ENDED = [
    ("raise ValueError('no')", 1, "ValueError: no"),
    ("sys.exit('in words')", 1, "in words"),
    ("sys.exit(2)", 2, ""),
]


@pytest.mark.parametrize(("code", "wanted", "words"), ENDED)
def test_an_end_in_another_way_keeps_its_code_and_words(code, wanted, words):
    done = left(code)
    assert done.returncode == wanted
    assert words in done.stderr


def test_a_reader_that_is_gone_is_told_by_the_code():
    read, write = os.pipe()
    os.close(read)
    code = "print('x')\nsys.exit(leaving.with_code(0))"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    assert left(code, stdout=write, stderr=subprocess.PIPE, env=env).returncode == 120
    os.close(write)
