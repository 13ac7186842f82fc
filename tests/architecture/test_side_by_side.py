"""`--processes`: what the copies tell is the whole, and a copy that dies is no success."""

import subprocess
import sys

import pytest

from tests.side_by_side import __file__ as ROOM

CONFTEST = "from tests.side_by_side import add_option as pytest_addoption, pytest_runtestloop"

FILES = {
    "good": "import os, pytest\n"
    "@pytest.fixture(scope='session', autouse=True)\n"
    "def told():\n    yield\n    open(f'ended-{os.getpid()}', 'w')\n"
    "@pytest.mark.parametrize('n', range(30))\ndef test_good(n): pass",
    "bad": "def test_bad():\n    print('seen before')\n    assert 1 == 2",
    "odd": "import pytest, warnings\n"
    "def test_warns(): warnings.warn('look here')\ndef test_skips(): pytest.skip('why not')",
}
DIES = "import os\ndef test_before(): pass\ndef test_dies(): os.kill(os.getpid(), 9)\ndef test_after(): pass"


def run(folder, files, *arguments):
    (folder / "conftest.py").write_text(CONFTEST)
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "--rootdir", folder, *arguments, folder]
    root = ROOM.rpartition("/tests/")[0]
    env = {"PYTHONPATH": root}
    return subprocess.run(command, check=False, cwd=folder, env=env, capture_output=True, text=True, timeout=60)


def test_the_tests_of_all_copies_are_told_as_those_of_one_process(tmp_path):
    done = run(tmp_path, FILES, "--processes", "3")
    assert done.returncode == 1
    assert "1 failed, 31 passed, 1 skipped, 1 warning" in done.stdout
    for words in ("assert 1 == 2", "seen before", "look here", "why not"):
        assert words in done.stdout, done.stdout
    assert 1 <= len(list(tmp_path.glob("ended-*"))) <= 3  # what a session shares ends with each copy that had it


@pytest.mark.parametrize("processes", [2, 3])
def test_a_copy_that_dies_is_named_with_its_test_and_what_has_not_run(tmp_path, processes):
    done = run(tmp_path, {**FILES, "dies": DIES}, "--processes", str(processes))
    assert done.returncode == 2
    assert "2 tests have not run; processes ended in: test_dies.py::test_dies (exit -9)" in done.stdout
    assert "1 failed, 32 passed" in done.stdout
