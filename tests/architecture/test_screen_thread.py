import os
import sys

from tests.architecture.test_imports import ROOT
from tests.e2e import warm


def test_nothing_that_may_block_runs_on_the_screen_s_thread():
    """Tools, network, store, programs, and files but for an explicit few: see ALLOWED there."""
    command = [sys.executable, "-m", "tests.architecture.screen_thread"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    done = warm.run(command, cwd=ROOT, env=env, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    actions = int(done.stdout.splitlines()[-1].split()[0])
    assert actions > 30
