"""Typing while a change waits, at twenty keys a second in a real terminal: nothing is chosen and nothing approved."""

import time
from itertools import pairwise

import pytest

from nanoherm_tui import limits
from tests.e2e.screen import KEYS, Screen
from tests.fakes.model_server import ModelServer, Reply

FILE = "".join(f"value_{n} = {n}\n" for n in range(1, 61))
EDITS = [{"old_text": f"value_{n} = {n}\n", "new_text": f"value_{n} = 'new'\n"} for n in (10, 30, 50)]
TYPED = ("y [y] n [ ] a ]y[ w", "] y [ n", " [y]")
"""Keys that would answer or choose, in another order each time; the first comes when a letter would answer."""
GAP = 0.05
BACKSPACE = "\x7f"


def type_fast(screen, keys):
    sent = []
    for key in keys:
        screen.send(key)
        sent.append(time.monotonic())
        time.sleep(GAP)
    if max(later - one for one, later in pairwise(sent)) >= 0.8 * limits.APPROVAL_ALONE:
        pytest.skip("this machine stood still meanwhile: that was no fast typing")


def test_typing_at_twenty_keys_a_second_refuses_and_approves_nothing(workspace, server_env):
    (workspace / "a.py").write_text(FILE)
    replies = [
        Reply(calls=[("read_file", {"path": "a.py"})]),
        Reply(calls=[("edit_file", {"path": "a.py", "edits": EDITS})]),
        Reply(text="I see."),
    ]
    env = server_env(server := ModelServer(replies))
    with server, Screen(env=env, cwd=workspace, columns=120, rows=40) as screen:
        screen.wait_for("test-model")
        screen.submit("edit")
        screen.wait_for("[ ] Space choose hunks", "hunk 3 of 3")
        for keys in TYPED:
            time.sleep(limits.APPROVAL_ARM * 2)
            type_fast(screen, keys)
            screen.wait_for(f"› {keys}")
            screen.send(BACKSPACE * len(keys))
            screen.wait_for("› Enter steers")
        type_fast(screen, "] y" + KEYS["enter"])
        screen.wait_for("steer   ] y")
        assert "Change a.py?" in screen.text
        assert "accepted" not in screen.text  # is said of every other hunk once one is refused
        assert (workspace / "a.py").read_text() == FILE
        # Slowly, one key chooses and another approves: the keys above could have.
        time.sleep(limits.APPROVAL_ARM * 2)
        for keys, seen in (("]", "] hunk"), (" ", "Apply 2 of 3 hunks?"), ("y", "I see.")):
            screen.send(keys)
            screen.wait_for(seen)
            time.sleep(limits.APPROVAL_ARM * 2)
        assert (workspace / "a.py").read_text().count("new") == 2
    told = [message["content"] for message in server.requests[-1]["messages"] if message["role"] == "tool"][-1]
    assert "refused" in told
    assert "value_30 = 'new'" in told
