"""What a program that is killed in the middle leaves behind: nothing it reported as stored is lost.

A child process lives through turns with parallel calls and prints a line after each thing that the store has
confirmed. It is killed at a moment drawn from a seed. Source: INT-09, SESS-03.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

import pytest

from agent_core.messages import Message
from agent_core.store.sessions import Store

KILLS = 8
"""A round."""

CHILD = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from agent_core.messages import Message, ToolCall, ToolResult, tool, user
from agent_core.store.sessions import Store

store = Store.open(Path(sys.argv[1]))
session = sys.argv[2]
KINDS = ("read", "write", "command", "none")

def say(*words):
    sys.stdout.write(" ".join(words) + "\\n")
    sys.stdout.flush()

def keep(message):
    store.append(session, message)
    say("stored", message.id)

say("ready")
with ThreadPoolExecutor(4) as pool:
    for turn in range(10_000):
        keep(user(f"turn {turn} " + "你好" * turn))
        calls = tuple(ToolCall(f"call_{n}", "run_command", {"n": n}) for n in range(4))
        keep(Message("assistant", f"step {turn}", tool_calls=calls))

        def run(n):
            store.effect_started(session, f"call_{n}", "run_command", KINDS[n])
            say("started", str(turn), f"call_{n}", KINDS[n])
            return tool(ToolResult(f"call_{n}", "run_command", "x" * 2000 * n, effect="done"))

        for result in pool.map(run, range(4)):
            keep(result)
        keep(Message("assistant", "done"))
"""


def live_and_die(path, session: str, seconds: float) -> list[str]:
    """Run the child, kill it `seconds` after it began, and return the lines it got out."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), session], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n", child.stderr.read() if child.stderr else ""
        time.sleep(seconds)
    finally:
        child.send_signal(signal.SIGKILL)
        out, err = child.communicate(timeout=30)
    assert child.returncode == -signal.SIGKILL, err
    return out.splitlines(keepends=True)


def pairing_is_right(conversation: list[Message]) -> bool:
    """Each message with calls is followed by exactly one result for each, in call order; nothing else is a result."""
    waiting: list[str] = []
    for message in conversation:
        if message.result is not None:
            if not waiting or waiting.pop(0) != message.result.call_id:
                return False
        elif waiting:
            return False
        waiting += [call.id for call in message.tool_calls]
    return not waiting


@pytest.mark.parametrize("round_", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, 4))])
def test_what_was_stored_survives_a_kill_at_any_moment(tmp_path, round_):
    path = tmp_path / "state.db"
    store = Store.open(path)
    session = store.create("/w").id
    store.close()
    moments = random.Random(round_)
    confirmed: list[str] = []
    made = 0
    for _ in range(KILLS):
        # A line without its end was cut off by the kill: whatever it would have said was not said.
        lines = [line.split() for line in live_and_die(path, session, moments.uniform(0, 0.12)) if line.endswith("\n")]
        confirmed += [words[1] for words in lines if words[0] == "stored"]
        store = Store.open(path)
        assert store.warnings == ()
        stored = store.messages(session)
        assert set(confirmed) <= {m.id for m in stored}, "a message was reported as stored and is gone"
        recovered = store.recover(session)
        assert pairing_is_right(recovered)
        ids = {m.id for m in stored}
        assert [m.id for m in recovered if m.id in ids] == [m.id for m in stored], "what was whole is there, in order"
        whole = [m.id for m in stored if not m.tool_calls]
        assert [m for m in recovered if m.id in whole] == [m for m in stored if m.id in whole]
        begun = {(turn, call): kind for word, *rest in lines if word == "started" for turn, call, kind in [rest]}
        for message in recovered:
            if message.tool_calls:
                step = message
            elif message.id not in ids:
                made += 1
                assert message.result is not None
                kind = begun.get((step.text.removeprefix("step "), message.result.call_id))
                if kind in ("write", "command"):
                    assert message.result.effect == "unknown", "it may have happened"
                else:
                    assert kind is None, "what changes nothing is dropped"
                assert not message.result.ok
        assert store.messages(session) == recovered
        store.close()
    assert confirmed, "the child did some work before it was killed"
    assert made, "some kills came between a call and its result"
