import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.import_hygiene import CHECKS, loaded_by

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("statement", CHECKS, ids=lambda s: s.splitlines()[0])
def test_importing_the_core_loads_no_screen_library_and_no_client(statement):
    assert not loaded_by(statement) & set(CHECKS[statement])


def test_the_core_never_names_asyncio_or_a_screen_library():
    banned = ("textual", "rich", "asyncio", "nanoherm_tui")
    for path in (ROOT / "agent_core").rglob("*.py"):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            words = line.split()
            if words[:1] in (["import"], ["from"]):
                assert words[1].partition(".")[0].rstrip(",") not in banned, f"{path}:{number}: {line}"


def test_the_import_contracts_hold():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], check=False, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
