"""The launcher: each row is really run in a box, and afterwards nothing outside may have changed or be left running.

The rows run in a worker of their own. Started as root it becomes user 65534 first, unless root is to be kept. That
user cannot always enter the folders this program and its interpreter lie in: the worker then lives in a view of the
machine of its own, in which exactly those are put where it can reach them, under their usual names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import Skip

ROOT = Path(__file__).parents[2]
NOBODY = 65534


@contextmanager
def opened(path: Path, *, as_root: bool) -> Iterator[Callable[[dict[str, Any]], str]]:
    drop = os.geteuid() == 0 and not as_root
    scratch = Path(tempfile.mkdtemp(prefix="nht-", dir="/tmp"))
    try:
        if drop:
            os.chown(scratch, NOBODY, NOBODY)
        with _worker(scratch, drop) as ask:

            def check(row: dict[str, Any]) -> str:
                answer = ask(row)
                if "skip" in answer:
                    raise Skip(answer["skip"])
                return str(answer["wrong"])

            yield check
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def _worker(scratch: Path, drop: bool) -> Iterator[Callable[[dict[str, Any]], dict[str, str]]]:
    module = "tests.corpus.sandbox_user" if drop else "tests.corpus.sandbox_scene"
    env = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL")}
    env |= {"HOME": str(scratch / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", module, str(scratch)],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None

        def ask(row: dict[str, Any]) -> dict[str, str]:
            assert worker.stdin is not None
            assert worker.stdout is not None
            print(json.dumps(row), file=worker.stdin, flush=True)
            line = worker.stdout.readline()
            if not line:
                raise RuntimeError(f"the worker has ended with {worker.wait()}")
            answer: dict[str, str] = json.loads(line)
            if "crash" in answer:
                raise RuntimeError(answer["crash"])
            return answer

        try:
            yield ask
        finally:
            worker.stdin.close()  # it ends by itself
            try:
                worker.wait(20)
            finally:
                worker.kill()
