"""Looks at the files of workspaces, as a program of its own.

    python -I child.py FOLDER

A program, because looking at 200,000 files takes seconds and would hold the interpreter; it runs with the lowest
priority. FOLDER is <home>/checkpoints. Reads one JSON object a line: {"id": N, "look": {workspace, home, data_home,
deny_read, roots, file, tree}} is answered with {"id": N, "seconds": S} when the workspace has been looked at and what
commands of turns had changed is recorded, or with {"id": N, "error": WORDS}. What is asked for the same workspace while
another look waits is answered with that. Ends with its input, or when nobody has asked for long.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import sqlite3
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # started by its path, isolated from everything that the environment may name
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from agent_core import limits
from agent_core.checkpoints.records import Records
from agent_core.checkpoints.tree import Caps, Tree
from agent_core.safety.hidden import deny_read_patterns, hiding

CHANGES = "changes.db"
TREES = "trees"


def tree_file(folder: Path, workspace: str) -> Path:
    """Where what a workspace's files are like is kept."""
    return folder / TREES / f"{hashlib.sha256(os.fsencode(workspace)).hexdigest()[:32]}.db"


def look(folder: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    """Look at a workspace; gives the answer."""
    began = time.monotonic()
    try:
        records = Records(folder / CHANGES)
        try:
            patterns = deny_read_patterns(
                wanted["deny_read"], map(Path, wanted["roots"]), Path(wanted["home"]), Path(wanted["data_home"])
            )
            file = tree_file(folder, wanted["workspace"])
            caps = Caps(wanted["file"], wanted["tree"])
            tree = Tree(
                file, wanted["workspace"], records, hiding(patterns), caps, os.path.realpath(wanted["data_home"])
            )
            try:
                for _ in tree.look():
                    pass
            finally:
                tree.close()
            with suppress(FileNotFoundError):  # or has gone already: what was found is recorded
                os.utime(file)  # a tree that nobody has looked at for long goes
        finally:
            records.close()
    except (sqlite3.Error, OSError) as error:  # the next look opens everything anew
        return {"error": str(error)}
    return {"seconds": time.monotonic() - began}


class Program:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._requests: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self._requests.put(line)
        os._exit(0)  # who asked is gone; what is under way is as if it had not begun

    def run(self) -> None:
        waiting: list[dict[str, Any]] = []
        while True:
            with suppress(queue.Empty):
                waiting.append(json.loads(self._requests.get(timeout=0 if waiting else limits.CHECKPOINT_IDLE)))
                continue
            if not waiting:
                return
            wanted = waiting[0]["look"]
            same = [request for request in waiting if request["look"]["workspace"] == wanted["workspace"]]
            waiting = [request for request in waiting if request not in same]
            answer = look(self._folder, wanted)
            for request in same:
                print(json.dumps({"id": request["id"], **answer}), flush=True)


if __name__ == "__main__":
    os.nice(19)
    Program(Path(sys.argv[1])).run()
