"""What comes and goes below a folder, told by watchfiles, as a program of its own.

    python -I watch_child.py ROOT STEP REST MOST

A program, because watchfiles holds the interpreter while it sets its watches: a second for 40,000 folders, in which
the screen would stand still. Looks every STEP milliseconds. Writes one JSON value a line: null when all has to be
looked at again, first of all when the watches are set; else {FOLDER: [NAME, ...]}, the folders relative, "" or with a
slash at the end. A change of content is told of a .gitignore alone. More than MOST changes at once are told as null.
When watchfiles fails it begins anew REST seconds later. Ends when its input does; with the reason when there is
nothing to watch, a folder is closed to us, or the kernel has no more watches. Imports only the standard library and
watchfiles.
"""

import json
import os
import sys
import threading
import time
import types

# Its core alone, which watchfiles documents: all of the package is logging, inspect and more, two thirds of what this
# program costs, at each start of a session.
_package = types.ModuleType("watchfiles")
_package.__path__ = [os.path.join(folder, "watchfiles") for folder in sys.path]
sys.modules["watchfiles"] = _package
from watchfiles._rust_notify import RustNotify  # noqa: E402

_MODIFIED = 2  # watchfiles.Change
_GROUP = 1_600  # milliseconds in which changes are told together at the latest, as watchfiles has it
_QUEUE = 8_192  # changes at once of which the kernel may have dropped some; its queue holds 16,384
_STORES = frozenset({".git", ".hg", ".svn"})


def told(root: str, changes: set[tuple[int, str]]) -> dict[str, list[str]]:
    """The names that came or went, by folder."""
    below = root.rstrip("/") + "/"
    folders: dict[str, list[str]] = {}
    for change, path in changes:
        folder, _, name = path[len(below) :].rpartition("/")
        if change == _MODIFIED and name != ".gitignore":
            continue
        if path.startswith(below) and _STORES.isdisjoint(folder.split("/")):
            folders.setdefault(folder + "/" * bool(folder), []).append(name)
    return folders


def follow(root: str, step: int, most: int) -> bool:
    """Tell what changes until all has to be watched anew. Whether it has come to watch at all."""
    ready = False
    try:
        # Never by polling, which reads all of it again and again.
        with RustNotify([root], False, False, 0, True, False) as watcher:
            while True:
                seen = watcher.watch(_GROUP, step, step, None)  # returns after a step, and so says that watches are set
                if seen in ("signal", "stop"):
                    return ready
                changes = set() if isinstance(seen, str) else seen
                if not ready or len(changes) > most:
                    print("null", flush=True)
                elif folders := told(root, changes):
                    print(json.dumps(folders), flush=True)
                ready = True
                if len(changes) > _QUEUE or any(path == root for _, path in changes):
                    return True
    except RuntimeError as problem:  # watchfiles' own failure, a name that is no Unicode among them
        if not ready:
            sys.exit(str(problem))
    return ready


def end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)  # the other thread sleeps in watchfiles


def main(root: str, step: str, rest: str, most: str) -> None:
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        while follow(root, int(step), int(most)):
            time.sleep(float(rest))
    except OSError as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main(*sys.argv[1:])
