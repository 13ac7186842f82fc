"""What people run all day works inside the sandbox: for root, and for a user without rights."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.sandbox.probe import layers
from tests.corpus import Skip, sandbox

pytestmark = pytest.mark.skipif(not layers().can_confine, reason="this kernel cannot confine commands")

PYTHON = sys.executable
SECONDS = 60.0
"""Of one job; each takes a second or two when nothing else runs."""

GIT = 'g() { git -c user.name=A -c user.email=a@b.c "$@"; };'

WRITING = {
    "git": f"""{GIT}
        echo a > a && g add a && g commit -qm a && g branch b && g checkout -q b && echo b > a && g stash -q
        g stash pop -q && g diff --stat && g commit -qam b && g worktree add -q wt HEAD && (cd wt && g status -s)
        g worktree remove wt && g gc -q && g tag t && g rebase -q b && g log --oneline | grep -c . && g fsck""",
    "git init": f"{GIT} git init -q made && cd made && git config user.name A && touch f && g add . && g commit -qm a",
    "git clone": f"{GIT} touch f && g add f && g commit -qm a && git clone -q . copy && test -f copy/f",
    "pytest": f"""mkdir tests
        printf 'def test_it(tmp_path):\\n    (tmp_path / "f").write_text("x")\\n' > tests/test_it.py
        {PYTHON} -m pytest -q tests && test -d .pytest_cache""",
    "venv": f"""{PYTHON} -m venv --without-pip env
        env/bin/python -c 'import sys; assert sys.prefix.endswith("env")'""",
    "make": "printf 'all: a b\\na b:\\n\\techo $@ > $@\\n' > Makefile && make -s -j4 && test -s a && test -s b",
    "gcc": """printf '#include <stdio.h>\\nint main(void) { return puts("hi") < 0; }\\n' > a.c
        gcc -O1 -o a a.c && ./a""",
    "node": """cat > a.mjs <<'END'
import { Worker, isMainThread } from 'node:worker_threads';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
if (isMainThread) {
  await new Promise((done) => new Worker(new URL(import.meta.url)).on('exit', done));
  writeFileSync('out.txt', execFileSync('echo', ['hi']));
}
END
        node a.mjs && test "$(cat out.txt)" = hi""",
    "npm": """mkdir lib && echo 'module.exports = 1' > lib/i.js
        echo '{"name":"lib","version":"1.0.0","main":"i.js"}' > lib/package.json
        echo '{"name":"app","version":"1.0.0","scripts":{"it":"node a.js"}}' > package.json
        echo 'require("lib")' > a.js
        npm install --silent --no-audit --no-fund ./lib && npm run --silent it && npm pack --silent ./lib""",
    "tar": "mkdir d && echo x > d/f && tar czf d.tgz d && rm -r d && tar xzf d.tgz && test -s d/f",
    "sqlite": f"""{PYTHON} - <<'END'
import sqlite3
with sqlite3.connect("a.db") as db:
    assert db.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    db.execute("CREATE TABLE t (x)")
    db.execute("INSERT INTO t VALUES (1)")
END""",
    "multiprocessing": f"""cat > m.py <<'END'
import multiprocessing as m
def square(n):
    return n * n
if __name__ == "__main__":
    for way in ("fork", "spawn"):  # the third one connects a socket, as network
        with m.get_context(way).Pool(2) as pool:
            assert pool.map(square, range(9)) == [n * n for n in range(9)]
    queue, lock, value = m.Queue(), m.Lock(), m.Value("i", 1)
    queue.put(1)
    assert queue.get() == 1
END
        {PYTHON} -I m.py""",
    "pty": f"""{PYTHON} -I -c 'import pty; assert pty.spawn(["sh", "-c", "test -t 0 && tty"]) == 0'""",
    "shell": """cat > here <<END
$HOME
END
        sed -i s/x/y/ here && find . -name here | xargs wc -l && (sleep 0.1 & wait) && mkfifo p && (echo a > p & cat p)
        t=$(mktemp -d) && cp here "$t" && diff here "$t/here" && echo ok | tee log | sort > sorted && rm -r "$t" p""",
    "threads": f"""{PYTHON} -I -c '
import concurrent.futures as c
assert sum(c.ThreadPoolExecutor(8).map(int, range(99))) == 4851'""",
    "patch": "printf 'a\\n' > a && printf 'b\\n' > b && (diff -u a b > p; true) && patch -s a p && cmp a b",
}  # fmt: skip

READING = {
    "git": "git status --short && git branch && git config --get core.bare && git rev-parse --git-dir",
    "ripgrep": "rg -q in . && rg --files | grep in.txt",
    "find": "find . -name 'in*' -type f | grep -q in.txt && ls -la && cat in.txt && du -sh . && wc -l in.txt",
    "python": f"{PYTHON} -c 'import json, ssl, sqlite3, ctypes; print(json.dumps(1))'",
    "pytest": f"{PYTHON} -m pytest --version",
    "node": 'node -e \'console.log(require("fs").readdirSync("."))\'',
}

PROGRAM = {"ripgrep": "rg", "git init": "git", "git clone": "git", "npm": "npm"}
NO_PROGRAM = {"venv", "pytest", "sqlite", "multiprocessing", "pty", "shell", "threads", "python", "find"}

Check = Callable[[dict[str, Any]], str]


@pytest.fixture(scope="module", params=["as ourselves", "as a user without rights"])
def check(request) -> Iterator[Check]:
    lesser = request.param == "as a user without rights"
    if lesser and os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    with sandbox.opened(Path(), as_root=not lesser) as check:
        yield check


def job(check: Check, name: str, script: str, mode: str) -> None:
    program = PROGRAM.get(name, name)
    if name not in NO_PROGRAM and shutil.which(program) is None:
        pytest.skip(f"there is no {program} here")
    given = {"lang": "sh", "script": f"set -e\n{script}", "mode": mode, "network": "off"}
    try:
        wrong = check({"id": name, "input": given, "expected": "allowed", "seconds": SECONDS})
    except Skip as lacking:
        pytest.skip(str(lacking))
    assert not wrong


@pytest.mark.parametrize("name", WRITING)
def test_tools_that_write_the_workspace_work(check, name):
    job(check, name, WRITING[name], "workspace-write")


@pytest.mark.parametrize("name", READING)
def test_tools_that_only_read_work_in_a_read_only_box(check, name):
    job(check, name, READING[name], "read-only")
