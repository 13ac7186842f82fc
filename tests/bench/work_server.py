"""A model server for long work: a message "work KIND MARK" is answered with a call of KIND's tool, or with text.

What is said after it ends with MARK read backwards, so that its end can be waited for. Everything else, such as the
request for a title, gets a few words. A process of its own: `python -m tests.bench.work_server` prints its port.
"""

from __future__ import annotations

import re
import time
from typing import Any

from tests.bench.content import KINDS, end_of
from tests.fakes.model_server import ModelServer, Reply

FILE = "notes.txt"
LINES = 120
"""Of the file that is edited; each edit changes one of them."""
_WORK = re.compile(r"^work (\w+) ([A-Z]{8}) (\d+)$", re.MULTILINE)


def line(number: int, written: int) -> str:
    """A line of the file, as its edit number `written` left it."""
    return f"line {number:03}: value = {written}  # 解析器 keeps the offset\n"


def call(kind: str, mark: str, number: int) -> tuple[str, dict[str, Any]] | None:
    """The tool that a kind of work calls, and with what; None where it is answered at once."""
    at, turn = number % LINES, number // LINES
    calls: dict[str, tuple[str, dict[str, Any]]] = {
        "read": ("read_file", {"path": FILE}),
        "grep": ("grep", {"pattern": f"value = {turn}"}),
        "edit": ("edit_file", {"path": FILE, "edits": [{"old_text": line(at, turn), "new_text": line(at, turn + 1)}]}),
        "command": ("run_command", {"command": f"echo {mark}; seq 400"}),
        "task": ("task_start", {"command": f"echo {mark}; seq 200; sleep 1"}),
        "plan": ("todo_write", {"todos": [{"content": f"{mark} {n}", "status": "pending"} for n in range(4)]}),
    }
    return calls.get(kind)


def answer(body: dict[str, Any], number: int) -> Reply:
    # What a task has to say may come as a message of its own, or before what is asked.
    asked = [(at, _WORK.search(str(m["content"]))) for at, m in enumerate(body["messages"]) if m["role"] == "user"]
    at, found = next(((at, found) for at, found in reversed(asked) if found is not None), (0, None))
    if found is None or not body.get("tools"):
        return Reply("A title")
    kind, mark, count = found[1], found[2], int(found[3])
    wanted = call(kind, mark, count)
    if wanted is not None and not any(m["role"] == "tool" for m in body["messages"][at + 1 :]):
        return Reply("I look.", calls=[wanted], reasoning="which file is it in?")
    size = 2_400 if kind == "talk" else 240
    text = f"{KINDS['mixed'](size)}\n```\n\n{end_of(mark)}"
    return Reply(text, reasoning="the offset is read, then thrown away", piece=24, gap=0.004 if kind == "talk" else 0.0)


def main() -> None:
    with ModelServer(answer) as server:
        print(server.server_address[1], flush=True)
        while True:
            time.sleep(5.0)
            # A session's requests are as long as it is, and there are hundreds: their number is all that counts.
            server.requests[:] = [{}] * len(server.requests)


if __name__ == "__main__":
    main()
