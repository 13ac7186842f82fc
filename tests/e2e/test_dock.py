"""The dock in a real terminal: all of a long output is read and searched, by keys that follow one another at once."""

import pytest

from tests.e2e.screen import KEYS, Screen
from tests.e2e.test_program import server_env
from tests.fakes.model_server import ModelServer, Reply

COMMAND = "!!for i in $(seq 1 20000); do echo line $i 时区; done"


@pytest.mark.parametrize(("columns", "rows"), [(160, 40), (44, 14)], ids=["beside", "over"])
def test_a_long_output_is_searched_and_read_to_its_end(tmp_path, columns, rows):
    work = tmp_path / "work"
    work.mkdir()
    env = server_env(tmp_path / "home", server := ModelServer([Reply(text="x")]))
    with server, Screen(env=env, cwd=work, columns=columns, rows=rows) as screen:
        screen.wait_for("test-m")
        screen.send(COMMAND + KEYS["enter"])
        screen.wait_for("exit 0")
        screen.send("\x1b2")  # to the conversation, on its last card
        screen.send("k" + KEYS["enter"])
        screen.wait_for("line 1 时区")
        screen.send("\x1b4")
        screen.send("/line 12345")
        screen.wait_for("/ line 12345", "1 of 1", "line 12345 时区")
        screen.send(KEYS["enter"] + "G")
        screen.wait_for("line 20000 时区", "n N")
        screen.send("n")
        screen.wait_for("line 12345 时区")
        screen.send("\x1b")
        screen.wait_for("/ line 12345", gone=True)
