"""What holds for all tests: property tests are judged by what they find, not by how busy the machine is."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import prepared_store

# Ignored in what a shell starts in the background, and then in all that the tests start.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

settings.register_profile("steady", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")


@pytest.fixture(scope="session", autouse=True)
def databases_are_copied():
    with prepared_store.copied():
        yield


@pytest.fixture(scope="session", autouse=True)
def temporary_files_go_at_the_end():
    """A program that a test kills removes nothing of its own. As /tmp is, so that other users may write there too."""
    with (
        tempfile.TemporaryDirectory(prefix="t-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        os.chmod(folder, 0o1777)
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", None)  # asks again
        yield


@pytest.fixture(scope="session")
def dictionary(tmp_path_factory):
    """A folder with jieba's cache, which takes a second to make. The program makes its own where it finds none."""
    folder = tmp_path_factory.mktemp("jieba")
    code = "import sys; from pathlib import Path; from agent_core.store.index_child import Dictionary as D; "
    subprocess.run([sys.executable, "-c", f"{code} D(Path(sys.argv[1])).cut('词典')", str(folder)], check=True)
    return folder


def pytest_addoption(parser):
    parser.addoption(
        "--mcp-servers",
        default="~/.cache/mcp-bench",
        help="folder with the public MCP servers, for tests/real/test_mcp_servers.py",
    )


ORDER = ("architecture", "e2e", "real", "tui", "core")
"""Folders whose files take longest come first: the short files of the core then fill the last seconds of all cores."""


def pytest_collection_modifyitems(items):
    root = Path(__file__).parent
    ranks = {root / name: rank for rank, name in enumerate(ORDER)}
    # In a folder what has most text and most tests comes first, and takes longest as a rule: no long file is left for
    # the end.
    counts = Counter(item.path for item in items)
    weights = {path: path.stat().st_size + 400 * count for path, count in counts.items()}
    items.sort(key=lambda item: (ranks.get(item.path.parent, len(ORDER)), -weights[item.path], item.path))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Thousands of tests are made, and all stay: to look for garbage among them, then and in each test, takes longer
    than many a test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
