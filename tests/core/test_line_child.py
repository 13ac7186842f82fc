"""A program of our own that is asked a line at a time: nobody waits for one that hears nothing any more."""

import sys
import time

from agent_core.line_child import LineChild

DEAF = """
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if "deaf" not in request:
        print(json.dumps({"id": request["id"], "said": os.getpid()}), flush=True)
        continue
    os.close(0)
    print(json.dumps({"id": request["deaf"], "left": 1}), flush=True)
    time.sleep(60)
"""


def test_who_waits_for_a_program_that_hears_no_more_is_told_when_it_is_started_anew(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(DEAF)
    child = LineChild((sys.executable, "-I", str(program)), "trying")
    try:
        waits = child.ask(deaf=1)
        while waits.left == 0:  # by then it has closed its input
            time.sleep(0.01)
        assert isinstance(child.ask().wait(10).get("said"), int)
        assert "has ended" in waits.wait(5).get("error", "")
    finally:
        child.close()
