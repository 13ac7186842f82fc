import os
import subprocess
import sys

from tests.architecture.test_imports import ROOT


def test_nothing_that_may_block_runs_on_the_screen_s_thread():
    """Tools, network, store, programs, and files but for an explicit few: see ALLOWED there."""
    command = [sys.executable, "-m", "tests.architecture.screen_thread"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    actions = int(done.stdout.splitlines()[-1].split()[0])
    assert actions > 30
